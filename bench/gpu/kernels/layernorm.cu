/* Layer norm of the rows of a matrix, a block for each: mean and variance in one pass by Welford's sums, joined by Chan's formula. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 128);

struct moments {
    float n, mean, square; /* square: sum of squared differences */
};

static __device__ __forceinline__ moments join(moments a, moments b) {
    const float n = a.n + b.n, part = n > 0 ? b.n / n : 0.0f, d = b.mean - a.mean;
    return {n, a.mean + d * part, a.square + b.square + d * d * a.n * part};
}

static __device__ __forceinline__ moments join_lanes(moments m) {
    HONE_UNROLL(LANES)
    for (int d = 16; d > 0; d /= 2)
        m = join(m, {__shfl_xor_sync(0xffffffffu, m.n, d), __shfl_xor_sync(0xffffffffu, m.mean, d), __shfl_xor_sync(0xffffffffu, m.square, d)});
    return m;
}

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(layernorm)(const float *HONE_RESTRICT x, const float *HONE_RESTRICT gain, const float *HONE_RESTRICT bias,
                                float *HONE_RESTRICT y, int cols, float tiny) {
    HONE_KERNEL_BEGIN();
    __shared__ moments part[BLOCK / 32];
    const float *from = x + (long long)blockIdx.x * cols;
    float *to = y + (long long)blockIdx.x * cols;
    moments m = {0.0f, 0.0f, 0.0f};
    HONE_UNROLL(READ)
    for (int i = threadIdx.x; i < cols; i += BLOCK) {
        const float v = HONE_LOAD(FIRST, &from[i]), d = v - m.mean;
        m.n += 1;
        m.mean += d / m.n;
        m.square += d * (v - m.mean);
    }
    m = join_lanes(m);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
    __syncthreads();
    m = part[0];
    HONE_UNROLL(WARPS)
    for (int w = 1; w < BLOCK / 32; w++) m = join(m, part[w]);
    const float scale = rsqrtf(m.square / m.n + tiny);
    HONE_UNROLL(WRITE)
    for (int i = threadIdx.x; i < cols; i += BLOCK)
        HONE_STORE(Y, &to[i], (HONE_LOAD(AGAIN, &from[i]) - m.mean) * scale * HONE_LOAD(GAIN, &gain[i]) + HONE_LOAD(BIAS, &bias[i]));
}
