/* Mixtures of experts, run by the interpreter and held against plain loops; scaling of rotary positions against its
 * definitions. */
#include "compose/experts.h"
#include "compose/rotary.h"
#include "trial.h"

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
