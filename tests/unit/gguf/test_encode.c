/* Encoders: what is written decodes to values that err no more than plain rounding does, for weights of every kind;
 * edges; the search for a scale against one over a dense grid. */
#include "base/rng.h"
#include "gguf/encode_int.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256 };

static const char *const names[] = {"F32",  "F16",  "BF16", "Q4_0", "Q4_1", "Q5_0",
                                    "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", NULL};

static double half(double x) { return (double)hn_half_value(hn_half_of((float)x)); }

/* --- plain rounding: the scale that covers the range ---------------------------------------------------------------
 */

typedef struct plain {
    const char *type;
    int group, low, high; /* levels -low .. high */
    bool minimum;
    int steps; /* of the scales' own numbers; 0: halves */
} plain;

static const plain plains[] = {
    {"Q4_0", 32, 8, 7, false, 0},  {"Q5_0", 32, 16, 15, false, 0},    {"Q8_0", 32, 127, 127, false, 0},
    {"Q4_1", 32, 0, 15, true, 0},  {"Q5_1", 32, 0, 31, true, 0},      {"Q4_K", 32, 0, 15, true, 63},
    {"Q5_K", 32, 0, 31, true, 63}, {"Q6_K", 16, 32, 31, false, -128},
};

static void range_of(const plain *p, const float *x, double *d, double *m) {
    double low = p->steps > 0 ? 0 : (double)x[0], top = low, furthest = 0;
    for (int i = 0; i < p->group; i++) {
        double v = (double)x[i];
        low = v < low ? v : low, top = v > top ? v : top;
        furthest = fabs(v) > fabs(furthest) ? v : furthest;
    }
    *m = p->minimum ? low : 0;
    *d = p->minimum ? (top - low) / p->high : furthest / -p->low;
    if (p->low == p->high) *d = fabs(*d);
}

static double plain_error(const plain *p, const float *x, const float *w) {
    double d[N], m[N], most = 0, least = 0, error = 0;
    int groups = N / p->group;
    for (int j = 0; j < groups; j++) {
        range_of(p, x + p->group * j, &d[j], &m[j]);
        most = fabs(d[j]) > fabs(most) ? d[j] : most;
        least = m[j] < least ? m[j] : least;
    }
    for (int j = 0; j < groups; j++) {
        double step = half(most / p->steps), low = half(-least / p->steps);
        d[j] = !p->steps ? half(d[j]) : step != 0 ? step * rint(d[j] / step) : 0;
        m[j] = !p->steps ? half(m[j]) : low != 0 ? -low * rint(-m[j] / low) : 0;
        for (int i = p->group * j; i < p->group * (j + 1); i++) {
            double v = (double)x[i] - m[j], q = d[j] != 0 ? rint(v / d[j]) : 0;
            q = q < -p->low ? -p->low : q > p->high ? p->high : q;
            error += (double)w[i] * (v - d[j] * q) * (v - d[j] * q);
        }
    }
    return error;
}

static double error_of(const hn_block_type *t, const float *x, const float *weight, const float *w) {
    uint8_t block[N * 4];
    float back[N];
    double error = 0;
    if (hn_block_encode(t, x, weight, N, block) != N) return INFINITY;
    hn_block_decode(t, block, N, back);
    for (int i = 0; i < N; i++)
        error += (double)w[i] * ((double)x[i] - (double)back[i]) * ((double)x[i] - (double)back[i]);
    return error;
}

enum kind { NORMAL, HEAVY, POSITIVE, NEGATIVE, TINY, SPARSE, MIXED, KINDS };

static void draw(hn_rng *r, enum kind kind, float *x) {
    for (int i = 0; i < N; i++) {
        double u = hn_rng_unit(r) + hn_rng_unit(r) + hn_rng_unit(r) - 1.5, v = hn_rng_unit(r);
        x[i] = (float)(kind == NORMAL     ? u * 0.03
                       : kind == HEAVY    ? u * u * u * 4
                       : kind == POSITIVE ? 1 + v
                       : kind == NEGATIVE ? -5 - v * v
                       : kind == TINY     ? u * 1e-6
                       : kind == SPARSE   ? (v < 0.05 ? u : 0)
                                          : u * pow(10, 4 * hn_rng_unit(r) - 4));
    }
}

static void never_worse(uint64_t seed) {
    for (size_t k = 0; k < sizeof plains / sizeof *plains; k++) {
        const hn_block_type *t = hn_block_type_named(plains[k].type);
        double worst = 0, worst_weighted = 0, sum = 0, plain_sum = 0;
        for (int c = 0; c < 40 * KINDS; c++) {
            hn_rng r = hn_rng_make(seed, (uint64_t)c);
            float x[N], w[N], one[N];
            draw(&r, (enum kind)(c % KINDS), x);
            for (int i = 0; i < N; i++) one[i] = 1, w[i] = (float)pow(hn_rng_unit(&r), 4);
            double a = error_of(t, x, NULL, one), b = plain_error(&plains[k], x, one), scale = 1e-12;
            for (int i = 0; i < N; i++) scale += 1e-9 * (double)(x[i] * x[i]);
            worst = fmax(worst, a / (b + scale));
            worst_weighted = fmax(worst_weighted, error_of(t, x, w, w) / (plain_error(&plains[k], x, w) + scale));
            if (c % KINDS == NORMAL) sum += a, plain_sum += b;
        }
        ok(worst <= 1.000001, "encode/never_worse_%s: %g, seed %llu", t->name, worst, (unsigned long long)seed);
        ok(worst_weighted <= 1.000001, "encode/never_worse_weighted_%s: %g", t->name, worst_weighted);
        ok(sum < 0.95 * plain_sum, "encode/better_%s: %g of plain rounding", t->name, sum / plain_sum);
    }
}

/* --- the search ----------------------------------------------------------------------------------------------------
 */

static void scale_is_best(void) {
    double worst = 0;
    for (uint64_t c = 0; c < 50; c++) {
        hn_rng r = hn_rng_make(7, c);
        float x[N], w[N];
        int8_t q[HN_GROUP];
        hn_group g = {x, w, 8};
        draw(&r, NORMAL, x);
        for (int i = 0; i < 8; i++) w[i] = (float)hn_rng_unit(&r);
        double d = hn_search_scale(&g, 8, 7, 2, 24), found = hn_assign_scale(&g, d, 8, 7, q), best = INFINITY, most = 0;
        for (int i = 0; i < 8; i++) most = fmax(most, (double)fabsf(x[i]));
        for (int k = -4000; k <= 4000; k++) {
            double level = k < 0 ? k / 4000.0 * 22 - 2 : k / 4000.0 * 22 + 2;
            best = fmin(best, hn_assign_scale(&g, most / level, 8, 7, q));
        }
        worst = fmax(worst, found / best);
    }
    ok(worst <= 1.0000001, "encode/no_scale_of_a_dense_grid_is_better: %.9f", worst);
}

static void line_is_near_best(void) {
    double sum = 0, best_sum = 0;
    for (uint64_t c = 0; c < 10; c++) {
        hn_rng r = hn_rng_make(8, c);
        float x[N], w[N];
        uint8_t q[HN_GROUP];
        hn_group g = {x, w, 32};
        draw(&r, NORMAL, x);
        for (int i = 0; i < 32; i++) w[i] = 1;
        double low = 1, top = -1, best = INFINITY;
        for (int i = 0; i < 32; i++) low = fmin(low, (double)x[i]), top = fmax(top, (double)x[i]);
        for (int a = -40; a <= 40; a++)
            for (int b = 0; b < 100; b++) {
                hn_affine t = {(top - low) / 15 * (0.7 + 0.004 * b), low + (top - low) / 15 * a * 0.05};
                best = fmin(best, hn_assign_affine(&g, t, 15, q));
            }
        sum += hn_assign_affine(&g, hn_search_affine(&g, 15, false), 15, q);
        best_sum += best;
    }
    ok(sum <= best_sum, "encode/a_line_is_as_good_as_the_best_of_a_grid: %g", sum / best_sum);
}

/* --- edges ---------------------------------------------------------------------------------------------------------
 */

static void edges(const hn_block_type *t) {
    float x[N] = {0}, back[N];
    uint8_t out[N * 4];
    bool zero = hn_block_encode(t, x, NULL, N, out) == N, same = true;
    hn_block_decode(t, out, N, back);
    for (int i = 0; i < N; i++) zero = zero && back[i] == 0;
    ok(zero, "encode/zeros_stay_%s", t->name);
    for (int i = 0; i < N; i++) x[i] = 0.375f;
    same = hn_block_encode(t, x, NULL, N, out) == N;
    hn_block_decode(t, out, N, back);
    for (int i = 0; i < N; i++) same = same && fabsf(back[i] - x[i]) <= 0.375f / 500;
    ok(same, "encode/a_constant_stays_%s", t->name);
    x[77] = INFINITY;
    ok(hn_block_encode(t, x, NULL, N, out) == 77, "encode/infinity_is_refused_%s", t->name);
    x[3] = -NAN;
    ok(hn_block_encode(t, x, NULL, N, out) == 3, "encode/nan_is_refused_%s", t->name);
    x[3] = 3e38f, x[77] = 0;
    bool wide = t->id == hn_block_type_named("F32")->id || t->id == hn_block_type_named("BF16")->id;
    ok(hn_block_encode(t, x, NULL, N, out) == (wide ? N : 3), "encode/too_large_is_refused_%s", t->name);
    float w[N] = {0}, most = 65504; /* what every type holds */
    x[3] = most;
    bool held = hn_block_encode(t, x, NULL, N, out) == N;
    hn_block_decode(t, out, N, back);
    ok(held && fabsf(back[3] - most) < most / 100, "encode/large_values_are_held_%s: %g", t->name, (double)back[3]);
    x[3] = 1;
    ok(hn_block_encode(t, x, w, N, out) == N, "encode/weights_of_zero_are_none_%s", t->name);
    hn_block_decode(t, out, N, back);
    ok(fabsf(back[3] - 1) < 0.1f, "encode/weights_of_zero_still_encode_%s: %g", t->name, (double)back[3]);
}

/* Every half goes to itself; between two halves, to the nearer one, at the middle to the even one. */
static void halves(void) {
    size_t wrong = 0;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float a = hn_half_value((uint16_t)h), b = h + 1 < 0x7c00 ? hn_half_value((uint16_t)(h + 1)) : 65536;
        float mid = (a + b) / 2;
        wrong += hn_half_of(a) != h || hn_half_of(-a) != (h | 0x8000);
        wrong += hn_half_of(mid) != h + (h & 1) || hn_half_of(nextafterf(mid, a)) != h;
        wrong += hn_half_of(nextafterf(mid, b)) != h + 1;
    }
    ok(!wrong, "encode/halves_round_to_nearest_even: %zu wrong", wrong);
}

int main(void) {
    never_worse(20);
    scale_is_best();
    line_is_near_best();
    halves();
    for (size_t i = 0; names[i]; i++) {
        ok(hn_block_encodes(hn_block_type_named(names[i])), "encode/writes_%s", names[i]);
        edges(hn_block_type_named(names[i]));
    }
    ok(!hn_block_encodes(hn_block_type_named("IQ4_NL")), "encode/not_all_types");
    return done_testing();
}
