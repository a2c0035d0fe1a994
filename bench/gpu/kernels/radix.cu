/* One pass of a radix sort by 4 bits: keys of a block (BLOCK * ITEMS) go to where offset says that its keys of each digit begin, in
 * the order they had. offset: 16 x blocks. Ranks come from votes of the warp, then from counts of the warps. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 128);
HONE_SIZE(ITEMS, 4);

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(radix)(const unsigned *HONE_RESTRICT keys, const int *HONE_RESTRICT offset, unsigned *HONE_RESTRICT sorted, int n, int shift) {
    HONE_KERNEL_BEGIN();
    __shared__ int count[BLOCK / 32][16], next[16];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x < 16) next[threadIdx.x] = offset[threadIdx.x * gridDim.x + blockIdx.x];
    HONE_UNROLL(ITEMS)
    for (int item = 0; item < ITEMS; item++) {
        const int i = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
        const bool there = i < n;
        const unsigned key = there ? HONE_LOAD(KEYS, &keys[i]) : 0u, digit = key >> shift & 15;
        unsigned same = __ballot_sync(0xffffffffu, there);
        HONE_UNROLL(BITS)
        for (int b = 0; b < 4; b++) {
            const unsigned set = __ballot_sync(0xffffffffu, digit >> b & 1);
            same &= digit >> b & 1 ? set : ~set;
        }
        HONE_UNROLL(CLEAR)
        for (int e = threadIdx.x; e < BLOCK / 32 * 16; e += BLOCK) count[e / 16][e % 16] = 0;
        __syncthreads();
        const int rank = __popc(same & ((1u << lane) - 1));
        if (there && rank == 0) count[warp][digit] = __popc(same);
        __syncthreads();
        int before = next[digit] + rank, all = 0;
        HONE_UNROLL(WARPS)
        for (int w = 0; w < BLOCK / 32; w++) {
            if (w < warp) before += count[w][digit];
            if (threadIdx.x < 16) all += count[w][threadIdx.x];
        }
        if (there) HONE_STORE(SORTED, &sorted[before], key);
        __syncthreads();
        if (threadIdx.x < 16) next[threadIdx.x] += all; /* read behind the next turn's barriers */
    }
}
