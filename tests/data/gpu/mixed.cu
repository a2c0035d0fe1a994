// Divisions, roots, a switch, atomics, integers, a call: something for every kind of option.
__device__ __noinline__ float step(float x, int how) {
    switch (how % 7) {
    case 0: return x / 3.0f;
    case 1: return sqrtf(x);
    case 2: return x * x + 1.0f;
    case 3: return 1.0f / (1.0f + x);
    case 4: return sinf(x);
    case 5: return x - (float)how;
    default: return x * 0.5f + sqrtf(x + 2.0f);
    }
}
extern "C" __global__ void mixed(float *out, float *total, const float *x, const int *how, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], keep[8];
    int code = how[i];
    for (int k = 0; k < 8; k++) keep[k] = v = step(v, code + k);
    for (int k = 0; k < 8; k++) v += keep[(k * code) & 7] * x[(i + k * 32) % n];
    out[i] = v;
    atomicAdd(total, v * v);
}
