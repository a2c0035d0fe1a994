/* y = A x for a sparse A in compressed rows; LANES threads share a row. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 128);
HONE_SIZE(LANES, 8);

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(spmv)(const int *HONE_RESTRICT start, const int *HONE_RESTRICT column, const float *HONE_RESTRICT value,
                           const float *HONE_RESTRICT x, float *HONE_RESTRICT y, int rows) {
    HONE_KERNEL_BEGIN();
    const int row = (blockIdx.x * BLOCK + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0;
    if (row < rows) {
        const int end = start[row + 1];
        HONE_UNROLL(ROW)
        for (int e = start[row] + lane; e < end; e += LANES) sum += HONE_LOAD(A, &value[e]) * HONE_LOAD(X, &x[HONE_LOAD(COLUMN, &column[e])]);
    }
    HONE_UNROLL(ADD)
    for (int d = LANES / 2; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (row < rows && lane == 0) HONE_STORE(Y, &y[row], sum);
}
