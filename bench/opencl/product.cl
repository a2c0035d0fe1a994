/* y = a · b for square matrices of n: a work-item makes PX elements of a row; a work-group TX columns by TY rows of them. */
#ifndef TX
#define TX 1
#endif
#ifndef TY
#define TY 1
#endif
#ifndef PX
#define PX 1
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

__kernel __attribute__((reqd_work_group_size(TX, TY, 1))) void product(__global const float *restrict a, __global const float *restrict b,
                                                                       __global float *restrict y, int n) {
    const int col = get_global_id(0), row = get_global_id(1) * PX;
    float sum[PX];
    for (int p = 0; p < PX; p++) sum[p] = 0;
    _Pragma(TEXT(unroll UNROLL)) for (int k = 0; k < n; k++) {
        const float v = b[k * n + col];
        for (int p = 0; p < PX; p++) sum[p] += a[(row + p) * n + k] * v;
    }
    for (int p = 0; p < PX; p++) y[(row + p) * n + col] = sum[p];
}
