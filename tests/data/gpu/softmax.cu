// Rows of a matrix to probabilities: one block a row, reductions in shared memory.
extern "C" __global__ void softmax(float *out, const float *in, int n) {
    __shared__ float part[256];
    const float *row = in + (long)blockIdx.x * n;
    float most = -3.4e38f, sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, row[i]);
    part[threadIdx.x] = most;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    }
    __syncthreads();
    most = part[0];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - most);
    part[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[(long)blockIdx.x * n + i] = expf(row[i] - most) / part[0];
}
