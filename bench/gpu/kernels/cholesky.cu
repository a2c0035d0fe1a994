/* Cholesky factors of a batch of symmetric positive definite matrices of N x N floats, a thread for each, in registers. Element (i, j)
 * of matrix b lies at (i * N + j) * batch + b; what is above the diagonal of the result is 0. */

/* The matrix stays in registers only when the loops are unrolled, so that is the plain code. */
#ifndef HONE_UNROLL_READ
#define HONE_UNROLL_READ full
#endif
#ifndef HONE_UNROLL_COLUMN
#define HONE_UNROLL_COLUMN full
#endif
#ifndef HONE_UNROLL_ROW
#define HONE_UNROLL_ROW full
#endif
#ifndef HONE_UNROLL_WRITE
#define HONE_UNROLL_WRITE full
#endif
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 128);
constexpr int N = 8;

extern "C" __global__ void HONE_LAUNCH(BLOCK) HONE_KERNEL_NAME(cholesky)(const float *HONE_RESTRICT a, float *HONE_RESTRICT l, int batch) {
    HONE_KERNEL_BEGIN();
    const int b = blockIdx.x * BLOCK + threadIdx.x;
    if (b >= batch) return;
    float m[N][N];
    HONE_UNROLL(READ)
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) m[i][j] = HONE_LOAD(A, &a[(long long)(i * N + j) * batch + b]);
    HONE_UNROLL(COLUMN)
    for (int j = 0; j < N; j++) {
        float d = m[j][j];
        HONE_UNROLL(DIAGONAL)
        for (int k = 0; k < j; k++) d -= m[j][k] * m[j][k];
        const float inverse = rsqrtf(d);
        m[j][j] = d * inverse;
        HONE_UNROLL(ROW)
        for (int i = j + 1; i < N; i++) {
            float s = m[i][j];
            for (int k = 0; k < j; k++) s -= m[i][k] * m[j][k];
            m[i][j] = s * inverse;
        }
    }
    HONE_UNROLL(WRITE)
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) HONE_STORE(L, &l[(long long)(i * N + j) * batch + b], j <= i ? m[i][j] : 0.0f);
}
