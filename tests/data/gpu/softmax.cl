// Rows of a matrix to probabilities: one work-group a row, reductions in local memory.
kernel void softmax(global float *out, global const float *in, int n) {
    local float part[256];
    int me = get_local_id(0), all = get_local_size(0);
    global const float *row = in + (long)get_group_id(0) * n;
    float most = -3.4e38f, sum = 0.0f;
    for (int i = me; i < n; i += all) most = fmax(most, row[i]);
    part[me] = most;
    for (int s = all / 2; s > 0; s >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < s) part[me] = fmax(part[me], part[me + s]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    most = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = me; i < n; i += all) sum += exp(row[i] - most);
    part[me] = sum;
    for (int s = all / 2; s > 0; s >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < s) part[me] += part[me + s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = me; i < n; i += all) out[(long)get_group_id(0) * n + i] = exp(row[i] - most) / part[0];
}
