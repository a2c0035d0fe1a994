// Divisions, roots, a switch, integers, a call.
float step(float x, int how) {
    switch (how % 5) {
    case 0: return x / 3.0f;
    case 1: return sqrt(x);
    case 2: return x * x + 1.0f;
    case 3: return sin(x);
    default: return x - (float)how;
    }
}
kernel void mixed(global float *out, global const float *x, global const int *how, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    float v = x[i];
    for (int k = 0; k < 8; k++) v = step(v, how[i] + k) + x[(i + k * 32) % n];
    out[i] = v;
}
