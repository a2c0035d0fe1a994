/* softmax.c — fp32 softmax over the rows of a matrix, as in attention or a classifier's last layer.
 *
 * y[i][j] = exp(x[i][j] - max_i) / sum_j exp(x[i][j] - max_i)
 *
 * exp is a range reduction and a polynomial of degree 6 (Cephes' expf coefficients), written without branches so
 * that compilers can vectorise it. Sums run in LANES partial sums: floating-point addition is not associative, so a
 * compiler that keeps to the letter may only vectorise what the source already splits.
 *
 * Arguments: rows=N cols=N seed=N. Parameters: -DLANES=N (partial sums), -DFUSE_SUM=0|1 (sum while exponentiating, or
 * in a pass of its own).
 */
#include <hone/bench.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef LANES
#define LANES 16
#endif
#ifndef FUSE_SUM
#define FUSE_SUM 0
#endif

struct problem {
    size_t rows, cols;
    float *x, *y;
};

/* For x <= 0, which is all softmax needs; below -87 the result is flushed to about 1e-38. */
static inline float exp_neg(float x) {
    x = x > -87.0f ? x : -87.0f;
    float n = rintf(x * 1.44269504088896341f);
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

static float row_max(const float *x, size_t n) {
    float lane[LANES];
    size_t j = 0;
    for (size_t l = 0; l < LANES; l++) lane[l] = x[0];
    for (; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
    float max = x[0];
    for (size_t l = 0; l < LANES; l++) max = lane[l] > max ? lane[l] : max;
    for (; j < n; j++) max = x[j] > max ? x[j] : max;
    return max;
}

#if FUSE_SUM
static float row_exp_sum(const float *restrict x, float *restrict y, size_t n, float max) {
    float lane[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++) {
            float e = exp_neg(x[j + l] - max);
            y[j + l] = e;
            lane[l] += e;
        }
    for (size_t l = 0; l < LANES; l++) sum += lane[l];
    for (; j < n; j++) sum += y[j] = exp_neg(x[j] - max);
    return sum;
}
#else
static float row_exp_sum(const float *restrict x, float *restrict y, size_t n, float max) {
    for (size_t j = 0; j < n; j++) y[j] = exp_neg(x[j] - max);
    float lane[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] += y[j + l];
    for (size_t l = 0; l < LANES; l++) sum += lane[l];
    for (; j < n; j++) sum += y[j];
    return sum;
}
#endif

static void softmax(void *ctx) {
    const struct problem *p = ctx;
    for (size_t i = 0; i < p->rows; i++) {
        const float *x = p->x + i * p->cols;
        float *y = p->y + i * p->cols;
        float scale = 1.0f / row_exp_sum(x, y, p->cols, row_max(x, p->cols));
        for (size_t j = 0; j < p->cols; j++) y[j] *= scale;
    }
    hone_bench_sink(p->y);
}

static float uniform(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * (1.0f / 16777216.0f);
}

int main(int argc, char **argv) {
    hone_bench *b = hone_bench_open(argc, argv);
    struct problem p = {.rows = (size_t)hone_bench_arg_int(b, "rows", 64),
                        .cols = (size_t)hone_bench_arg_int(b, "cols", 1000)};
    uint32_t seed = (uint32_t)hone_bench_arg_int(b, "seed", 1);
    size_t n = p.rows * p.cols;
    p.x = malloc(n * sizeof *p.x);
    p.y = malloc(n * sizeof *p.y);
    if (n == 0 || !p.x || !p.y) {
        fputs("softmax: rows and cols must be at least 1 and fit into memory\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < n; i++) p.x[i] = 20.0f * uniform(&seed) - 10.0f;
    hone_bench_run(b, "latency", softmax, &p);
    hone_bench_output(b, "y", p.y, n, HONE_BENCH_F32);
    free(p.x);
    free(p.y);
    return hone_bench_close(b);
}
