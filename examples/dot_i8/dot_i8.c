/* dot_i8.c — int8 matrix-vector product, the inner loop of quantised inference at batch size 1.
 *
 * y[i] = sum_k w[i][k] * x[k]        w: s8, x: u8 (asymmetric activations), y: s32
 *
 * ROWS rows share each load of x; K_STEP values of a row are summed before the next row's turn. Both are a
 * programmer's guess that depends on cache, vector width and what the compiler makes of the loop.
 *
 * Arguments: m=N k=N seed=N. Parameters: -DROWS=N -DK_STEP=N (0: whole rows).
 */
#include <hone/bench.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef ROWS
#define ROWS 4
#endif
#ifndef K_STEP
#define K_STEP 0
#endif

struct problem {
    size_t m, k;
    int8_t *w;
    uint8_t *x;
    int32_t *y;
};

static inline int32_t dot(const int8_t *restrict w, const uint8_t *restrict x, size_t n) {
    int32_t sum = 0;
    for (size_t j = 0; j < n; j++) sum += w[j] * x[j];
    return sum;
}

static void rows_at_once(const struct problem *p, size_t i) {
    int32_t sum[ROWS] = {0};
    size_t step = K_STEP ? K_STEP : p->k;
    for (size_t k0 = 0; k0 < p->k; k0 += step) {
        size_t n = p->k - k0 < step ? p->k - k0 : step;
        for (size_t r = 0; r < ROWS; r++) sum[r] += dot(p->w + (i + r) * p->k + k0, p->x + k0, n);
    }
    for (size_t r = 0; r < ROWS; r++) p->y[i + r] = sum[r];
}

static void gemv(void *ctx) {
    const struct problem *p = ctx;
    size_t i = 0;
    for (; i + ROWS <= p->m; i += ROWS) rows_at_once(p, i);
    for (; i < p->m; i++) p->y[i] = dot(p->w + i * p->k, p->x, p->k);
    hone_bench_sink(p->y);
}

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 24;
}

int main(int argc, char **argv) {
    hone_bench *b = hone_bench_open(argc, argv);
    struct problem p = {.m = (size_t)hone_bench_arg_int(b, "m", 256), .k = (size_t)hone_bench_arg_int(b, "k", 1024)};
    uint32_t seed = (uint32_t)hone_bench_arg_int(b, "seed", 1);
    p.w = malloc(p.m * p.k);
    p.x = malloc(p.k);
    p.y = calloc(p.m, sizeof *p.y);
    if (p.m == 0 || p.k == 0 || !p.w || !p.x || !p.y) {
        fputs("dot_i8: m and k must be at least 1 and fit into memory\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < p.m * p.k; i++) p.w[i] = (int8_t)((int)next(&seed) - 128);
    for (size_t i = 0; i < p.k; i++) p.x[i] = (uint8_t)next(&seed);
    hone_bench_run(b, "latency", gemv, &p);
    hone_bench_output(b, "y", p.y, p.m, HONE_BENCH_I32);
    free(p.w);
    free(p.x);
    free(p.y);
    return hone_bench_close(b);
}
