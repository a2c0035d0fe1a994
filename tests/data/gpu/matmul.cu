// A product of matrices: tiles of 64 x 64 in shared memory, 4 x 4 values a thread, 256 threads a block.
extern "C" __global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
    __shared__ float sa[16][64], sb[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
    float acc[4][4] = {{0.0f}};
    for (int at = 0; at < k; at += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            int r = row + i / 16, s = at + i % 16;
            sa[i % 16][i / 16] = r < m && s < k ? a[(long)r * k + s] : 0.0f;
            r = at + i / 64, s = col + i % 64;
            sb[i / 64][i % 64] = r < k && s < n ? b[(long)r * n + s] : 0.0f;
        }
        __syncthreads();
        for (int p = 0; p < 16; p++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) acc[i][j] += sa[p][ty * 4 + i] * sb[p][tx * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int r = row + ty * 4 + i, s = col + tx * 4 + j;
            if (r < m && s < n) c[(long)r * n + s] = acc[i][j];
        }
}
