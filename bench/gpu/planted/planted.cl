/* As much work as steps says: what takes 1100 steps takes 10 % longer than what takes 1000. */
__kernel void planted(__global const float *x, __global float *y, int n, int steps) {
    const int i = get_global_id(0);
    if (i >= n) return;
    float v = x[i];
    for (int k = 0; k < steps; k++) v = v * 0.9999f + 0.0001f;
    y[i] = v;
}
