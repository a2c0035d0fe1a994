/* C = A B, halves in, floats out, row-major; n and k are multiples of 8. A block of four warps makes 64 x 64 of it by mma.sync; tiles
 * of A and B come by cp.async, STAGES of them on the way; chunks of 16 bytes are swizzled, so that ldmatrix reads eight rows
 * without bank conflicts. Blocks: (n / 64, m / 64, rounded up); threads: 128. */
#include "async.cuh"

constexpr int BM = 64, BN = 64, BK = 32, STAGES = 3, THREADS = 128;


/* Where a chunk of 8 halves of a tile lies. */
static __device__ __forceinline__ int chunk_a(int row, int chunk) { return row * BK + 8 * (chunk ^ (row >> 1 & 3)); }
static __device__ __forceinline__ int chunk_b(int row, int chunk) { return row * BN + 8 * (chunk ^ (row & 7)); }

static __device__ __forceinline__ void fill(__half *at, __half *bt, const __half *a, const __half *b, int row, int col, int first,
                                            int m, int n, int k) {
    for (int e = threadIdx.x; e < BM * BK / 8; e += THREADS) {
        const int i = e / (BK / 8), c = e % (BK / 8);
        const bool there = row + i < m && first + 8 * c < k;
        hnr_cp_async16_guard(&at[chunk_a(i, c)], there ? &a[(long long)(row + i) * k + first + 8 * c] : a, there ? 16 : 0);
    }
    for (int e = threadIdx.x; e < BK * BN / 8; e += THREADS) {
        const int i = e / (BN / 8), c = e % (BN / 8);
        const bool there = first + i < k && col + 8 * c < n;
        hnr_cp_async16_guard(&bt[chunk_b(i, c)], there ? &b[(long long)(first + i) * n + col + 8 * c] : b, there ? 16 : 0);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    product(const __half *a, const __half *b, float *c, int m, int n, int k) {
    __shared__ __align__(128) __half at[STAGES][BM * BK];
    __shared__ __align__(128) __half bt[STAGES][BK * BN];
    const int row = blockIdx.y * BM, col = blockIdx.x * BN, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int i0 = warp / 2 * 32, j0 = warp % 2 * 32, steps = (k + BK - 1) / BK;
    float sum[2][4][4] = {};

    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) fill(at[s], bt[s], a, b, row, col, s * BK, m, n, k);
        hnr_cp_commit();
    }
    for (int s = 0; s < steps; s++) {
        hnr_cp_wait<STAGES - 2>();
        __syncthreads();
        const int next = s + STAGES - 1;
        if (next < steps) fill(at[next % STAGES], bt[next % STAGES], a, b, row, col, next * BK, m, n, k);
        hnr_cp_commit();
        const __half *as = at[s % STAGES], *bs = bt[s % STAGES];
        for (int l = 0; l < BK; l += 16) {
            unsigned x[2][4], y[4][2];
            for (int i = 0; i < 2; i++) hnr_ldmatrix_x4(x[i], &as[chunk_a(i0 + 16 * i + lane % 16, l / 8 + lane / 16)]);
            for (int j = 0; j < 4; j++) hnr_ldmatrix_x2_trans(y[j], &bs[chunk_b(l + lane % 16, j0 / 8 + j)]);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++) hnr_mma_m16n8k16_f16(sum[i][j], x[i], y[j]);
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int r = 0; r < 4; r++) {
                const int y = row + i0 + 16 * i + lane / 4 + 8 * (r / 2), x = col + j0 + 8 * j + 2 * (lane % 4) + r % 2;
                if (y < m && x < n) c[(long long)y * n + x] = sum[i][j][r];
            }
}
