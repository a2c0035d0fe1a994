/* A 2-D convolution of an image of floats with a filter of SIZE x SIZE, its edges held: a work-group of TX x TY makes a tile of
 * TX * PX by TY pixels, a work-item PX of them in a row. STAGE 1: the tile and its border go through local memory.
 * Global size: a multiple of TX x TY; the grid covers width / (TX * PX) by height / TY tiles, rounded up. */
#ifndef SIZE
#define SIZE 5
#endif
#ifndef TX
#define TX 16
#endif
#ifndef TY
#define TY 4
#endif
#ifndef PX
#define PX 1
#endif
#ifndef STAGE
#define STAGE 0
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#define EDGE (SIZE / 2)
#define WIDE (TX * PX + 2 * EDGE)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define UNROLLED _Pragma(TEXT(unroll UNROLL))

static float pixel(__global const float *x, int row, int col, int height, int width) {
    return x[clamp(row, 0, height - 1) * width + clamp(col, 0, width - 1)];
}

__kernel __attribute__((reqd_work_group_size(TX, TY, 1))) void convolution(__global const float *restrict x,
                                                                           __constant float *restrict filter,
                                                                           __global float *restrict y, int height, int width) {
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int left = get_group_id(0) * (TX * PX), top = get_group_id(1) * TY;
    float sum[PX];
    for (int p = 0; p < PX; p++) sum[p] = 0;
#if STAGE
    __local float tile[(TY + 2 * EDGE) * WIDE];
    for (int e = ly * TX + lx; e < (TY + 2 * EDGE) * WIDE; e += TX * TY)
        tile[e] = pixel(x, top + e / WIDE - EDGE, left + e % WIDE - EDGE, height, width);
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    UNROLLED
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            const float f = filter[i * SIZE + j];
            for (int p = 0; p < PX; p++)
#if STAGE
                sum[p] += f * tile[(ly + i) * WIDE + lx * PX + p + j];
#else
                sum[p] += f * pixel(x, top + ly + i - EDGE, left + lx * PX + p + j - EDGE, height, width);
#endif
        }
    for (int p = 0; p < PX; p++)
        if (top + ly < height && left + lx * PX + p < width) y[(top + ly) * width + left + lx * PX + p] = sum[p];
}
