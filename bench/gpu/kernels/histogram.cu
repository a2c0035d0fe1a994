/* Counts of the 256 values of n bytes, added to bins: each block counts in COPIES arrays of shared memory first. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 256);
HONE_SIZE(COPIES, 2);

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(histogram)(const unsigned *HONE_RESTRICT words, const unsigned char *HONE_RESTRICT bytes, unsigned *HONE_RESTRICT bins,
                                int n) {
    HONE_KERNEL_BEGIN();
    __shared__ unsigned count[COPIES][256 + 1];
    HONE_UNROLL(CLEAR)
    for (int i = threadIdx.x; i < COPIES * 257; i += BLOCK) count[i / 257][i % 257] = 0;
    __syncthreads();
    unsigned *own = count[threadIdx.x % COPIES];
    HONE_UNROLL(READ)
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n / 4; i += gridDim.x * BLOCK) {
        const unsigned w = HONE_LOAD(X, &words[i]);
        HONE_UNROLL(BYTES)
        for (int b = 0; b < 4; b++) atomicAdd(&own[w >> (8 * b) & 255], 1u);
    }
    if (blockIdx.x == 0 && (int)threadIdx.x < n % 4) atomicAdd(&own[bytes[n / 4 * 4 + threadIdx.x]], 1u);
    __syncthreads();
    HONE_UNROLL(ADD)
    for (int i = threadIdx.x; i < 256; i += BLOCK) {
        unsigned sum = 0;
        for (int c = 0; c < COPIES; c++) sum += count[c][i];
        if (sum) atomicAdd(&bins[i], sum);
    }
}
