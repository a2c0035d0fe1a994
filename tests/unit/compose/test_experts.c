/* Mixtures of experts, run by the interpreter and held against plain loops; scaling of rotary positions against its
 * definitions. */
#include "compose/compose.h"
#include "compose/experts.h"
#include "compose/rotary.h"
#include "tap.h"

#include <hone/ir.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_IN = 8, MAX_N = 4096 };

typedef struct trial {
    hn_builder b;
    hone_array in[MAX_IN];
    size_t n_in;
} trial;

static trial begin(void) {
    trial t = {.b = {.g = hn_graph_new()}};
    if (!t.b.g) abort();
    return t;
}

static double noise(size_t i) { return sin((double)(i * i + 3 * i + 1)); }

/* An input of these sizes (0: the symbol n, which is 3 when it runs), filled with noise. */
static hn_val input(trial *t, hone_dtype type, size_t rank, const int64_t *size) {
    hn_type ty = {.dtype = type, .rank = (uint8_t)rank};
    hone_array *a = &t->in[t->n_in];
    char name[8];
    size_t n = 1;
    *a = (hone_array){.dtype = type, .rank = (uint32_t)rank};
    for (size_t i = 0; i < rank; i++) {
        ty.dim[i] = size[i] ? hn_lit(&t->b, size[i]) : hn_dim_symbol(t->b.g->dims, "n", 1, 8);
        a->dim[i] = size[i] ? size[i] : 3;
        n *= (size_t)a->dim[i];
    }
    if (!(a->data = calloc(n + 1, 8))) abort();
    for (size_t i = 0; i < n; i++)
        if (type == HONE_F32)
            ((float *)a->data)[i] = (float)noise(i + 100 * t->n_in);
        else
            ((int64_t *)a->data)[i] = (int64_t)i;
    snprintf(name, sizeof name, "i%zu", t->n_in++);
    return hn_param(t->b.g, 0, name, &ty);
}

static const float *in(const trial *t, size_t i) { return t->in[i].data; }

/* Runs the graph for value y; out has room for MAX_N floats. */
static void run(trial *t, hn_val y, float *out, const char *name) {
    hone_err err = {0};
    hone_array got = {0};
    hn_result(t->b.g, 0, y, "y");
    hone_rc rc = t->b.g->err.rc ? hone_graph_verify(t->b.g, &err) : HONE_OK;
    if (!rc && hn_graph_ok(t->b.g)) rc = hone_graph_run(t->b.g, t->in, t->n_in, &got, 1, &err);
    if (!ok(!rc && got.data, "compose/%s_runs", name)) printf("#   %s%s\n", err.text, t->b.g->err.text);
    size_t n = 1;
    for (uint32_t i = 0; i < got.rank; i++) n *= (size_t)got.dim[i];
    if (got.data && n <= MAX_N) memcpy(out, got.data, n * sizeof *out);
    hone_free(got.data);
}

static void end(trial *t) {
    for (size_t i = 0; i < t->n_in; i++) free(t->in[i].data);
    hone_graph_free(t->b.g);
}

static void close_to(const float *got, const double *want, size_t n, const char *name) {
    size_t at = 0;
    while (at < n && fabs((double)got[at] - want[at]) <= 1e-5 + 1e-5 * fabs(want[at])) at++;
    if (!ok(at == n, "compose/%s", name)) printf("#   element %zu: %g instead of %g\n", at, (double)got[at], want[at]);
}

/* --- experts ------------------------------------------------------------------------------------------------------ */

enum { TOKENS = 3, WIDTH = 4, EXPERTS = 5 };

typedef struct matrices {
    hn_val w;
    size_t calls;
} matrices;

static hn_val one_product(void *arg, hn_builder *b, hn_val rows, hn_val expert) {
    matrices *m = arg;
    m->calls++;
    return hn_experts_product(b, rows, m->w, expert);
}

/* By the definition: the shares of the largest scores, times each expert's matrix times the token. */
static void experts_plain(const trial *t, size_t used, bool normalised, double scale, double *out) {
    for (size_t r = 0; r < TOKENS; r++) {
        const float *x = in(t, 0) + r * WIDTH, *score = in(t, 1) + r * EXPERTS;
        double share[EXPERTS], all = 0, taken = 0;
        bool chosen[EXPERTS] = {false};
        for (size_t e = 0; e < EXPERTS; e++) all += share[e] = exp((double)score[e]);
        for (size_t k = 0; k < used; k++) {
            size_t best = EXPERTS;
            for (size_t e = 0; e < EXPERTS; e++)
                if (!chosen[e] && (best == EXPERTS || share[e] > share[best])) best = e;
            chosen[best] = true;
            taken += share[best];
        }
        for (size_t i = 0; i < WIDTH; i++) {
            double *y = out + r * WIDTH + i;
            *y = 0;
            for (size_t e = 0; e < EXPERTS; e++)
                for (size_t k = 0; chosen[e] && k < WIDTH; k++)
                    *y += scale * share[e] / (normalised ? taken : all) *
                          (double)in(t, 2)[(e * WIDTH + i) * WIDTH + k] * (double)x[k];
        }
    }
}

static void test_experts(int64_t used, bool normalised, double scale, const char *name) {
    trial t = begin();
    matrices m = {0};
    hn_experts e = {.used = used, .normalised = normalised, .scale = scale, .mlp = one_product, .arg = &m};
    e.x = input(&t, HONE_F32, 2, (int64_t[]){0, WIDTH});
    e.scores = input(&t, HONE_F32, 2, (int64_t[]){0, EXPERTS});
    m.w = input(&t, HONE_F32, 3, (int64_t[]){EXPERTS, WIDTH, WIDTH});
    float got[MAX_N] = {0};
    double want[TOKENS * WIDTH];
    run(&t, hn_experts_emit(&t.b, &e), got, name);
    experts_plain(&t, (size_t)used, normalised, scale > 0 ? scale : 1, want);
    close_to(got, want, TOKENS * WIDTH, name);
    ok(m.calls == 1, "compose/%s_is_written_once", name);
    end(&t);
}

/* --- scaling of rotary positions ---------------------------------------------------------------------------------- */

enum { SIZE = 16, PAIRS = SIZE / 2 };

static double plain_speed(size_t k) { return pow(10000, -2.0 * (double)k / SIZE); }

static void speeds_are(const hn_rotary_scaling *r, double factor, const double *share, const char *name) {
    float got[PAIRS];
    double want[PAIRS];
    hn_rotary_speeds(r, 10000, factor, 4096, SIZE, got);
    for (size_t k = 0; k < PAIRS; k++) want[k] = plain_speed(k) * (1 - share[k] + share[k] / factor);
    close_to(got, want, PAIRS, name);
}

static void test_scaling(void) {
    hone_err err = {0};
    double share[PAIRS];
    for (size_t k = 0; k < PAIRS; k++) share[k] = 1;
    speeds_are(&(hn_rotary_scaling){0}, 4, share, "rotary_linear");
    /* wavelengths below 64 / 4 keep their speed, those above 64 / 1 are divided, between them it goes over */
    hn_rotary_scaling wave = {.kind = HN_ROTARY_WAVELENGTH, .low = 1, .high = 4, .original = 64};
    for (size_t k = 0; k < PAIRS; k++) {
        double length = 2 * acos(-1) / plain_speed(k);
        share[k] = length < 16 ? 0 : length > 64 ? 1 : 1 - (64 / length - 1) / 3;
    }
    speeds_are(&wave, 8, share, "rotary_wavelength");
    /* pairs that turn 32 and 1 times within 64: size log(64 / (turns 2 pi)) / (2 log base) = -1.0 and 2.02 */
    hn_rotary_scaling yarn = {.kind = HN_ROTARY_YARN, .original = 64};
    for (size_t k = 0; k < PAIRS; k++) share[k] = k < 3 ? (double)k / 3 : 1;
    speeds_are(&yarn, 4, share, "rotary_yarn");
    ok(fabs(hn_rotary_length(&yarn, 4, 4096) - (0.1 * log(4) + 1)) < 1e-12, "compose/rotary_yarn_length");
    hn_rotary_scaling far = {.kind = HN_ROTARY_LONG, .original = 1024};
    ok(fabs(hn_rotary_length(&far, 0, 4096) - sqrt(1 + log(4) / log(1024))) < 1e-12, "compose/rotary_long_length");
    far.attention = 1.5;
    ok(hn_rotary_length(&far, 0, 4096) == 1.5, "compose/rotary_length_given");
    wave.high = 1;
    ok(hn_rotary_check(&wave, 8, 4096, &err) == HONE_E_INPUT && strstr(err.text, "low factor below"),
       "compose/rotary_low_above_high");
    ok(hn_rotary_check(&yarn, NAN, 4096, &err) == HONE_E_INPUT, "compose/rotary_no_number");
    ok(!hn_rotary_check(&far, 4, 4096, &err), "compose/rotary_is_right");
}

int main(void) {
    test_experts(2, true, 0, "experts_of_chosen_shares");
    test_experts(3, false, 0, "experts_of_all_shares");
    test_experts(1, true, 2.5, "one_expert_scaled");
    test_experts(EXPERTS, false, 0, "all_experts");
    test_scaling();
    return done_testing();
}
