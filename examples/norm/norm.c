/* norm.c — RMSNorm of the rows of a matrix, as one writes it first: one running sum for each row.
 *
 * y[i][j] = x[i][j] / sqrt(mean_j x[i][j]^2 + eps) * g[j]
 *
 * Strict floating point fixes the order of the sum, so each addition waits for the one before it. A contract that lets
 * the compiler reorder it, and a tolerance that says how much the result may then differ, give the processor's vectors
 * something to do. rmsnorm.c is the same kernel with partial sums written by hand.
 *
 * Arguments: rows=N dim=N seed=N.
 */
#include <hone/bench.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct problem {
    size_t rows, dim;
    float *x, *gain, *y;
};

static void norm(void *ctx) {
    const struct problem *p = ctx;
    for (size_t i = 0; i < p->rows; i++) {
        const float *restrict x = p->x + i * p->dim, *restrict gain = p->gain;
        float *restrict y = p->y + i * p->dim, sum = 0;
        for (size_t j = 0; j < p->dim; j++) sum += x[j] * x[j];
        float scale = 1.0f / sqrtf(sum / (float)p->dim + 1e-5f);
        for (size_t j = 0; j < p->dim; j++) y[j] = x[j] * scale * gain[j];
    }
    hone_bench_sink(p->y);
}

static float *filled(size_t n, uint32_t *seed) {
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        x[i] = (float)(*seed >> 8) * (1.0f / 16777216.0f) - 0.4f;
    }
    return x;
}

int main(int argc, char **argv) {
    hone_bench *b = hone_bench_open(argc, argv);
    struct problem p = {.rows = (size_t)hone_bench_arg_int(b, "rows", 16),
                        .dim = (size_t)hone_bench_arg_int(b, "dim", 2048)};
    uint32_t seed = (uint32_t)hone_bench_arg_int(b, "seed", 1);
    size_t n = p.rows * p.dim;
    p.x = filled(n, &seed);
    p.gain = filled(p.dim, &seed);
    p.y = filled(n, &seed);
    if (n == 0 || !p.x || !p.gain || !p.y) {
        fputs("norm: rows and dim must be at least 1 and fit into memory\n", stderr);
        return 2;
    }
    hone_bench_run(b, "latency", norm, &p);
    hone_bench_output(b, "y", p.y, n, HONE_BENCH_F32);
    free(p.x);
    free(p.gain);
    free(p.y);
    return hone_bench_close(b);
}
