/* Fourier transforms of 256 complex points, a block of 64 threads for each: four passes of radix 4 through shared memory
 * (Stockham's order, so that no digits are reversed). x and y: batch x 256 pairs. */
#include <hone/cuda_controls.h>

HONE_SIZE(BATCH, 2); /* transforms of a block */
constexpr int POINTS = 256, QUARTER = POINTS / 4;

static __device__ __forceinline__ float2 turn(float2 a, float part) { /* a * exp(-2 pi i part) */
    float s, c;
    sincospif(-2.0f * part, &s, &c);
    return {a.x * c - a.y * s, a.x * s + a.y * c};
}

extern "C" __global__ void HONE_LAUNCH(QUARTER *BATCH)
    HONE_KERNEL_NAME(fft)(const float2 *HONE_RESTRICT x, float2 *HONE_RESTRICT y, int batch) {
    HONE_KERNEL_BEGIN();
    __shared__ float2 data[BATCH][POINTS];
    const int own = blockIdx.x * BATCH + threadIdx.y, t = threadIdx.x;
    const bool there = own < batch;
    float2 v[4];
    HONE_UNROLL(READ)
    for (int k = 0; k < 4; k++) {
        v[k] = {0.0f, 0.0f};
        if (there) v[k] = HONE_LOAD(X, &x[(long long)own * POINTS + t + k * QUARTER]);
    }
    HONE_UNROLL(PASS)
    for (int size = 1; size < POINTS; size *= 4) { /* of the transforms that are joined by fours */
        const int at = t % size;
        for (int k = 1; k < 4; k++) v[k] = turn(v[k], (float)(k * at) / (4 * size));
        const float2 a = {v[0].x + v[2].x, v[0].y + v[2].y}, b = {v[0].x - v[2].x, v[0].y - v[2].y};
        const float2 c = {v[1].x + v[3].x, v[1].y + v[3].y}, d = {v[1].y - v[3].y, v[3].x - v[1].x}; /* d: times -i */
        const int to = (t - at) * 4 + at;
        float2 *own_data = data[threadIdx.y];
        own_data[to] = {a.x + c.x, a.y + c.y};
        own_data[to + size] = {b.x + d.x, b.y + d.y};
        own_data[to + 2 * size] = {a.x - c.x, a.y - c.y};
        own_data[to + 3 * size] = {b.x - d.x, b.y - d.y};
        __syncthreads();
        for (int k = 0; k < 4; k++) v[k] = own_data[t + k * QUARTER];
        __syncthreads();
    }
    HONE_UNROLL(WRITE)
    for (int k = 0; k < 4; k++)
        if (there) HONE_STORE(Y, &y[(long long)own * POINTS + t + k * QUARTER], v[k]);
}
