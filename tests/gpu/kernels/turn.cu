/* y = the transpose of x (rows x cols floats) by tiles of 32 x 32 in shared memory, without padding: element (r, c) of a tile lies at
 * column c ^ r, so that neither rows nor columns fall into one bank. Blocks: (cols / 32, rows / 32, rounded up); threads: 32 x 8. */
extern "C" __global__ void turn(const float *x, float *y, int rows, int cols) {
    __shared__ float tile[32][32];
    const int row = blockIdx.y * 32, col = blockIdx.x * 32, t = threadIdx.x;
    for (int i = threadIdx.y; i < 32; i += 8)
        if (row + i < rows && col + t < cols) tile[i][t ^ i] = x[(long long)(row + i) * cols + col + t];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        if (col + i < cols && row + t < rows) y[(long long)(col + i) * rows + row + t] = tile[t][i ^ t];
}
