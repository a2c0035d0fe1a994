/* rmsnorm.c — RMSNorm with a residual connection, as before every block of a transformer.
 *
 * h[i][j] = x[i][j] + r[i][j]
 * y[i][j] = h[i][j] / sqrt(mean_j h[i][j]^2 + eps) * g[j]
 *
 * No parameters of its own: all that can change is what the compiler makes of it. The sum of squares is kept in 16
 * partial sums, as an engineer writes it who must not switch on -ffast-math.
 *
 * Arguments: rows=N dim=N seed=N.
 */
#include <hone/bench.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LANES 16

struct problem {
    size_t rows, dim;
    float *x, *residual, *gain, *hidden, *y;
};

static float add_square_sum(const float *restrict x, const float *restrict residual, float *restrict hidden, size_t n) {
    float lane[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++) {
            float h = x[j + l] + residual[j + l];
            hidden[j + l] = h;
            lane[l] += h * h;
        }
    for (; j < n; j++) {
        hidden[j] = x[j] + residual[j];
        sum += hidden[j] * hidden[j];
    }
    for (size_t l = 0; l < LANES; l++) sum += lane[l];
    return sum;
}

static void rmsnorm(void *ctx) {
    const struct problem *p = ctx;
    for (size_t i = 0; i < p->rows; i++) {
        float *hidden = p->hidden + i * p->dim, *y = p->y + i * p->dim;
        float sum = add_square_sum(p->x + i * p->dim, p->residual + i * p->dim, hidden, p->dim);
        float scale = 1.0f / sqrtf(sum / (float)p->dim + 1e-5f);
        for (size_t j = 0; j < p->dim; j++) y[j] = hidden[j] * scale * p->gain[j];
    }
    hone_bench_sink(p->y);
}

static float uniform(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * (1.0f / 16777216.0f);
}

static float *filled(size_t n, uint32_t *seed, float lo, float hi) {
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = lo + (hi - lo) * uniform(seed);
    return x;
}

int main(int argc, char **argv) {
    hone_bench *b = hone_bench_open(argc, argv);
    struct problem p = {.rows = (size_t)hone_bench_arg_int(b, "rows", 16),
                        .dim = (size_t)hone_bench_arg_int(b, "dim", 2048)};
    uint32_t seed = (uint32_t)hone_bench_arg_int(b, "seed", 1);
    size_t n = p.rows * p.dim;
    p.x = filled(n, &seed, -1, 1);
    p.residual = filled(n, &seed, -1, 1);
    p.gain = filled(p.dim, &seed, 0.5f, 1.5f);
    p.hidden = filled(n, &seed, 0, 0);
    p.y = filled(n, &seed, 0, 0);
    if (n == 0 || !p.x || !p.residual || !p.gain || !p.hidden || !p.y) {
        fputs("rmsnorm: rows and dim must be at least 1 and fit into memory\n", stderr);
        return 2;
    }
    hone_bench_run(b, "latency", rmsnorm, &p);
    hone_bench_output(b, "y", p.y, n, HONE_BENCH_F32);
    hone_bench_output(b, "hidden", p.hidden, n, HONE_BENCH_F32);
    free(p.x);
    free(p.residual);
    free(p.gain);
    free(p.hidden);
    free(p.y);
    return hone_bench_close(b);
}
