/* Steps after which z^2 + c leaves a circle of radius 2, at most steps, for a picture of width x height; a thread has PX pixels. */
#include <hone/cuda_controls.h>

HONE_SIZE(BX, 32);
HONE_SIZE(BY, 4);
HONE_SIZE(PX, 1);

extern "C" __global__ void HONE_LAUNCH(BX *BY)
    HONE_KERNEL_NAME(mandelbrot)(int *HONE_RESTRICT y, int width, int height, int steps, float left, float top, float step) {
    HONE_KERNEL_BEGIN();
    const int col = (blockIdx.x * BX + threadIdx.x) * PX, row = blockIdx.y * BY + threadIdx.y;
    if (row >= height) return;
    HONE_UNROLL(PX)
    for (int p = 0; p < PX; p++) {
        if (col + p >= width) break;
        const float cx = left + step * (col + p), cy = top + step * row;
        float zx = 0, zy = 0;
        int n = 0;
        HONE_UNROLL(STEPS)
        for (; n < steps; n++) {
            const float xx = zx * zx, yy = zy * zy;
            if (xx + yy > 4.0f) break;
            zy = 2.0f * zx * zy + cy;
            zx = xx - yy + cx;
        }
        HONE_STORE(Y, &y[row * width + col + p], n);
    }
}
