/* As much work as steps says: what takes 1100 steps takes 10 % longer than what takes 1000. */
extern "C" __global__ void planted(const float *x, float *y, int n, int steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (int k = 0; k < steps; k++) v = v * 0.9999f + 0.0001f;
    y[i] = v;
}
