/* C = A B in floats, row-major, any sizes: a block makes a tile of BM x BN, a thread TM x TN of it; tiles of A (BM x BK,
 * transposed) and of B (BK x BN) go through shared memory. Threads of a block: (BM / TM) * (BN / TN). */
#include <hone/cuda_controls.h>

HONE_SIZE(BM, 64);
HONE_SIZE(BN, 64);
HONE_SIZE(BK, 16);
HONE_SIZE(TM, 4);
HONE_SIZE(TN, 4);
constexpr int THREADS = (BM / TM) * (BN / TN);
static_assert(BM % TM == 0 && BN % TN == 0 && THREADS <= 1024, "BM, BN, TM, TN: tiles of threads fill the tile of the block");

extern "C" __global__ void HONE_LAUNCH(THREADS)
    HONE_KERNEL_NAME(gemm)(const float *HONE_RESTRICT a, const float *HONE_RESTRICT b, float *HONE_RESTRICT c, int m, int n, int k) {
    HONE_KERNEL_BEGIN();
    __shared__ float at[BK][BM + 4], bt[BK][BN]; /* + 4: a column of A does not fall into one bank */
    const int row = blockIdx.y * BM, col = blockIdx.x * BN, t = threadIdx.x;
    const int i0 = t / (BN / TN) * TM, j0 = t % (BN / TN) * TN;
    float sum[TM][TN] = {};

    for (int first = 0; first < k; first += BK) {
        HONE_UNROLL(COPY_A)
        for (int e = t; e < BM * BK; e += THREADS) {
            const int i = e / BK, j = e % BK;
            at[j][i] = row + i < m && first + j < k ? HONE_LOAD(A, &a[(long long)(row + i) * k + first + j]) : 0.0f;
        }
        HONE_UNROLL(COPY_B)
        for (int e = t; e < BK * BN; e += THREADS) {
            const int i = e / BN, j = e % BN;
            bt[i][j] = first + i < k && col + j < n ? HONE_LOAD(B, &b[(long long)(first + i) * n + col + j]) : 0.0f;
        }
        __syncthreads();
        HONE_UNROLL(K)
        for (int l = 0; l < BK; l++) {
            float x[TM], y[TN];
            for (int i = 0; i < TM; i++) x[i] = at[l][i0 + i];
            for (int j = 0; j < TN; j++) y[j] = bt[l][j0 + j];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            if (row + i0 + i < m && col + j0 + j < n) HONE_STORE(C, &c[(long long)(row + i0 + i) * n + col + j0 + j], sum[i][j]);
}
