// A product of matrices: tiles of 16 x 16 in local memory.
kernel void matmul(global float *c, global const float *a, global const float *b, int m, int n, int k) {
    local float sa[16][16], sb[16][16];
    int x = get_local_id(0), y = get_local_id(1), row = get_global_id(1), col = get_global_id(0);
    float sum = 0.0f;
    for (int at = 0; at < k; at += 16) {
        sa[y][x] = row < m && at + x < k ? a[(long)row * k + at + x] : 0.0f;
        sb[y][x] = at + y < k && col < n ? b[(long)(at + y) * n + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = 0; p < 16; p++) sum += sa[y][p] * sb[p][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && col < n) c[(long)row * n + col] = sum;
}
