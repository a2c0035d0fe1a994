/* Softmax over the rows of a matrix of floats, a block for each row: one pass finds the largest value and the sum of powers
 * (the sum is rescaled whenever the largest value grows), a second one writes. Threads of a block: HONE_SIZE_BLOCK. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 256);

struct state { /* of a running softmax */
    float most, sum;
};

static __device__ __forceinline__ state join(state a, state b) {
    const float most = fmaxf(a.most, b.most);
    return {most, a.sum * __expf(a.most - most) + b.sum * __expf(b.most - most)};
}

static __device__ __forceinline__ state join_lanes(state s) {
    HONE_UNROLL(LANES)
    for (int d = 16; d > 0; d /= 2)
        s = join(s, {__shfl_xor_sync(0xffffffffu, s.most, d), __shfl_xor_sync(0xffffffffu, s.sum, d)});
    return s;
}

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(softmax)(const float *HONE_RESTRICT x, float *HONE_RESTRICT y, int cols) {
    HONE_KERNEL_BEGIN();
    const float *from = x + (long long)blockIdx.x * cols;
    float *to = y + (long long)blockIdx.x * cols;
    state s = {-3e38f, 0.0f};
    HONE_UNROLL(READ)
    for (int i = threadIdx.x; i < cols; i += BLOCK) s = join(s, {HONE_LOAD(FIRST, &from[i]), 1.0f});

    __shared__ float most[BLOCK / 32], sum[BLOCK / 32];
    s = join_lanes(s);
    if (threadIdx.x % 32 == 0) {
        most[threadIdx.x / 32] = s.most;
        sum[threadIdx.x / 32] = s.sum;
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    s = lane < BLOCK / 32 ? state{most[lane], sum[lane]} : state{-3e38f, 0.0f};
    s = join_lanes(s);

    const float scale = 1.0f / s.sum;
    HONE_UNROLL(WRITE)
    for (int i = threadIdx.x; i < cols; i += BLOCK) HONE_STORE(Y, &to[i], __expf(HONE_LOAD(AGAIN, &from[i]) - s.most) * scale);
}
