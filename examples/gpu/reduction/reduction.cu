/* Sum of n floats in two launches: each block adds up its share, then one block adds up what the blocks found.
 * Threads of a block: HONE_SIZE_BLOCK, a multiple of 32. x is aligned to 16 bytes. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 256);
HONE_SIZE(ITEMS, 4); /* loads of 16 bytes that a thread has under way */

static __device__ __forceinline__ float add_lanes(float v) {
    HONE_UNROLL(LANES)
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

/* The sum over the block, in thread 0. */
static __device__ __forceinline__ float add_block(float v) {
    __shared__ float part[BLOCK / 32];
    v = add_lanes(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) v = add_lanes(threadIdx.x < BLOCK / 32 ? part[threadIdx.x] : 0.0f);
    return v;
}

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(sum_parts)(const float *HONE_RESTRICT x, float *HONE_RESTRICT parts, int n) {
    HONE_KERNEL_BEGIN();
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    const int n4 = n / 4, stride = gridDim.x * BLOCK * ITEMS;
    float sum[ITEMS] = {};
    for (int i = blockIdx.x * BLOCK * ITEMS + threadIdx.x; i < n4; i += stride) {
        HONE_UNROLL(ITEMS)
        for (int k = 0; k < ITEMS; k++) {
            if (i + k * BLOCK >= n4) break;
            const float4 v = HONE_LOAD(X, &x4[i + k * BLOCK]);
            sum[k] += (v.x + v.y) + (v.z + v.w);
        }
    }
    float all = 0;
    for (int k = 0; k < ITEMS; k++) all += sum[k];
    if (blockIdx.x == 0 && (int)threadIdx.x < n - 4 * n4) all += x[4 * n4 + threadIdx.x];
    all = add_block(all);
    if (threadIdx.x == 0) HONE_STORE(PARTS, &parts[blockIdx.x], all);
}

/* One block. */
extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(sum_last)(const float *HONE_RESTRICT parts, float *HONE_RESTRICT y, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += BLOCK) sum += parts[i];
    sum = add_block(sum);
    if (threadIdx.x == 0) *y = sum;
}
