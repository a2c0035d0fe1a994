/* One step of Jacobi's iteration with seven points on nx x ny x nz floats; the boundary is copied. A thread walks DEPTH planes up. */
#include <hone/cuda_controls.h>

HONE_SIZE(BX, 32);
HONE_SIZE(BY, 4);
HONE_SIZE(DEPTH, 4);

extern "C" __global__ void HONE_LAUNCH(BX *BY)
    HONE_KERNEL_NAME(stencil)(const float *HONE_RESTRICT x, float *HONE_RESTRICT y, int nx, int ny, int nz, float mid, float side) {
    HONE_KERNEL_BEGIN();
    const int i = blockIdx.x * BX + threadIdx.x, j = blockIdx.y * BY + threadIdx.y, plane = nx * ny;
    if (i >= nx || j >= ny) return;
    const bool edge = i == 0 || j == 0 || i == nx - 1 || j == ny - 1;
    HONE_UNROLL(Z)
    for (int d = 0; d < DEPTH; d++) {
        const int z = blockIdx.z * DEPTH + d, at = z * plane + j * nx + i;
        if (z >= nz) break;
        float v = HONE_LOAD(MID, &x[at]);
        if (!edge && z > 0 && z < nz - 1)
            v = mid * v + side * (HONE_LOAD(ROW, &x[at - 1]) + HONE_LOAD(ROW, &x[at + 1]) + HONE_LOAD(COL, &x[at - nx]) +
                                  HONE_LOAD(COL, &x[at + nx]) + HONE_LOAD(PLANE, &x[at - plane]) + HONE_LOAD(PLANE, &x[at + plane]));
        HONE_STORE(Y, &y[at], v);
    }
}
