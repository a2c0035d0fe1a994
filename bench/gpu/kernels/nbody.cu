/* Accelerations of n bodies (x, y, z, mass) by all others; BLOCK bodies are in shared memory at a time, a thread has BODIES. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 128);
HONE_SIZE(BODIES, 1);

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(nbody)(const float4 *HONE_RESTRICT body, float4 *HONE_RESTRICT pull, int n, float soft) {
    HONE_KERNEL_BEGIN();
    __shared__ float4 tile[BLOCK];
    const int first = blockIdx.x * BLOCK * BODIES + threadIdx.x;
    float x[BODIES], y[BODIES], z[BODIES], ax[BODIES] = {}, ay[BODIES] = {}, az[BODIES] = {};
    for (int b = 0; b < BODIES; b++) {
        const int i = first + b * BLOCK < n ? first + b * BLOCK : n - 1;
        const float4 own = HONE_LOAD(OWN, &body[i]);
        x[b] = own.x, y[b] = own.y, z[b] = own.z;
    }
    for (int from = 0; from < n; from += BLOCK) {
        const int i = from + threadIdx.x;
        float4 other = {0.0f, 0.0f, 0.0f, 0.0f}; /* no mass: no pull */
        if (i < n) other = HONE_LOAD(OTHER, &body[i]);
        tile[threadIdx.x] = other;
        __syncthreads();
        HONE_UNROLL(TILE)
        for (int j = 0; j < BLOCK; j++)
            for (int b = 0; b < BODIES; b++) {
                const float dx = tile[j].x - x[b], dy = tile[j].y - y[b], dz = tile[j].z - z[b];
                const float near = rsqrtf(dx * dx + dy * dy + dz * dz + soft);
                const float s = tile[j].w * (near * near * near);
                ax[b] += dx * s, ay[b] += dy * s, az[b] += dz * s;
            }
        __syncthreads();
    }
    for (int b = 0; b < BODIES; b++) {
        const float4 all = {ax[b], ay[b], az[b], 0.0f};
        if (first + b * BLOCK < n) HONE_STORE(PULL, &pull[first + b * BLOCK], all);
    }
}
