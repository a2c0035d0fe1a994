/* y = the transpose of x (rows x cols floats), by tiles of TILE x TILE in shared memory; LINES rows of threads. */
#include <hone/cuda_controls.h>

HONE_SIZE(TILE, 32);
HONE_SIZE(LINES, 8);
HONE_SIZE(PAD, 1);

extern "C" __global__ void HONE_LAUNCH(TILE *LINES)
    HONE_KERNEL_NAME(transpose)(const float *HONE_RESTRICT x, float *HONE_RESTRICT y, int rows, int cols) {
    HONE_KERNEL_BEGIN();
    __shared__ float tile[TILE][TILE + PAD];
    const int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    HONE_UNROLL(READ)
    for (int i = 0; i < TILE; i += LINES)
        if (row + i < rows && col < cols) tile[threadIdx.y + i][threadIdx.x] = HONE_LOAD(X, &x[(long long)(row + i) * cols + col]);
    __syncthreads();
    const int to_col = blockIdx.y * TILE + threadIdx.x, to_row = blockIdx.x * TILE + threadIdx.y;
    HONE_UNROLL(WRITE)
    for (int i = 0; i < TILE; i += LINES)
        if (to_row + i < cols && to_col < rows) HONE_STORE(Y, &y[(long long)(to_row + i) * rows + to_col], tile[threadIdx.x][threadIdx.y + i]);
}
