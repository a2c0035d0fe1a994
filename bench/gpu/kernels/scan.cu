/* Running sums of the rows of a matrix, a block for each row, BLOCK * ITEMS values at a time. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 128);
HONE_SIZE(ITEMS, 4);

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(scan)(const float *HONE_RESTRICT x, float *HONE_RESTRICT y, int cols) {
    HONE_KERNEL_BEGIN();
    __shared__ float ends[BLOCK / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *from = x + (long long)blockIdx.x * cols;
    float *to = y + (long long)blockIdx.x * cols, carry = 0;
    for (int first = 0; first < cols; first += BLOCK * ITEMS) {
        float v[ITEMS], sum = 0;
        const int at = first + threadIdx.x * ITEMS;
        HONE_UNROLL(READ)
        for (int k = 0; k < ITEMS; k++) v[k] = sum += at + k < cols ? HONE_LOAD(X, &from[at + k]) : 0.0f;
        float up = sum; /* sums of the lanes up to this one */
        HONE_UNROLL(LANES)
        for (int d = 1; d < 32; d *= 2) {
            const float below = __shfl_up_sync(0xffffffffu, up, d);
            if (lane >= d) up += below;
        }
        if (lane == 31) ends[warp] = up;
        __syncthreads();
        float before = carry;
        HONE_UNROLL(WARPS)
        for (int w = 0; w < BLOCK / 32; w++) {
            if (w < warp) before += ends[w];
            carry += ends[w];
        }
        before += up - sum;
        HONE_UNROLL(WRITE)
        for (int k = 0; k < ITEMS; k++)
            if (at + k < cols) HONE_STORE(Y, &to[at + k], before + v[k]);
        __syncthreads();
    }
}
