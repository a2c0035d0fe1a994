/* y = A x with bytes: rows of A and x in blocks of 32 signed bytes, each with a scale in float. LANES threads share a row. */
#include <hone/cuda_controls.h>

HONE_SIZE(BLOCK, 128);
HONE_SIZE(LANES, 32);

extern "C" __global__ void HONE_LAUNCH(BLOCK)
    HONE_KERNEL_NAME(dot_q8)(const int4 *HONE_RESTRICT a, const float *HONE_RESTRICT a_scale, const int4 *HONE_RESTRICT x,
                             const float *HONE_RESTRICT x_scale, float *HONE_RESTRICT y, int rows, int blocks) {
    HONE_KERNEL_BEGIN();
    const int row = (blockIdx.x * BLOCK + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0;
    if (row < rows) {
        HONE_UNROLL(ROW)
        for (int b = lane; b < blocks; b += LANES) {
            const long long at = (long long)row * blocks + b;
            int dot = 0;
            HONE_UNROLL(HALF)
            for (int h = 0; h < 2; h++) {
                const int4 p = HONE_LOAD(A, &a[at * 2 + h]), q = HONE_LOAD(X, &x[b * 2 + h]);
                dot = __dp4a(p.x, q.x, dot);
                dot = __dp4a(p.y, q.y, dot);
                dot = __dp4a(p.z, q.z, dot);
                dot = __dp4a(p.w, q.w, dot);
            }
            sum += (float)dot * (HONE_LOAD(SCALE, &a_scale[at]) * HONE_LOAD(SCALE, &x_scale[b]));
        }
    }
    HONE_UNROLL(ADD)
    for (int d = LANES / 2; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (row < rows && lane == 0) HONE_STORE(Y, &y[row], sum);
}
