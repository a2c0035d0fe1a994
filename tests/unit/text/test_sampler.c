/* Sampling: filters keep what their definitions say, draws have the right frequencies, the same seed the same tokens.
 */
#include "tap.h"
#include "text/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8 };
/* Probabilities .4 .2 .15 .1 .08 .04 .02 .01, by token 3 0 5 1 7 2 6 4 */
static const double probability[N] = {.2, .1, .04, .4, .01, .15, .02, .08};
static float logits[N];

static void set_logits(void) {
    for (int i = 0; i < N; i++) logits[i] = (float)(log(probability[i]) + 3);
}

static hn_sampling plain(void) {
    return (hn_sampling){.temperature = 1,
                         .top_p = 1,
                         .typical_p = 1,
                         .repeat = 1,
                         .penalty_window = 64,
                         .mirostat_tau = 5,
                         .mirostat_eta = 0.1};
}

/* Frequencies of 20,000 draws with other seeds. */
static void frequencies(hn_sampling o, double *f, const int32_t *past, size_t n_past) {
    enum { DRAWS = 20000 };
    hone_err err;
    memset(f, 0, N * sizeof *f);
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        hn_sampler *s = NULL;
        int32_t token = 0;
        o.seed = seed;
        if (hn_sampler_new(&o, N, &s, &err)) abort();
        for (size_t i = 0; i < n_past; i++) hn_sampler_accept(s, past[i], NULL);
        if (hn_sampler_pick(s, logits, NULL, &token, NULL, &err)) abort();
        f[token] += 1.0 / DRAWS;
        hn_sampler_free(s);
    }
}

/* The largest distance to what is expected: expected weights, not normalised. */
static double distance(hn_sampling o, const double *expected, const int32_t *past, size_t n_past) {
    double f[N], sum = 0, worst = 0;
    frequencies(o, f, past, n_past);
    for (int i = 0; i < N; i++) sum += expected[i];
    for (int i = 0; i < N; i++) worst = fmax(worst, fabs(f[i] - expected[i] / sum));
    return worst;
}

static void test_filters(void) {
    static const double top3[N] = {.2, 0, 0, .4, 0, .15, 0, 0}, min[N] = {.2, .1, 0, .4, 0, .15, 0, .08};
    hn_sampling o = plain();
    ok(distance(o, probability, NULL, 0) < 0.015, "sampler/plain_draws_follow_the_probabilities");
    o.top_k = 3;
    ok(distance(o, top3, NULL, 0) < 0.015, "sampler/top_k_keeps_the_first_three");
    o = plain();
    o.top_p = 0.7; /* .4 + .2 are less, with .15 they are not */
    ok(distance(o, top3, NULL, 0) < 0.015, "sampler/top_p_keeps_the_fewest_that_reach_it");
    o = plain();
    o.min_p = 0.19; /* .08 and more */
    ok(distance(o, min, NULL, 0) < 0.015, "sampler/min_p_is_relative_to_the_largest");
    double hot[N];
    for (int i = 0; i < N; i++) hot[i] = sqrt(probability[i]);
    o = plain();
    o.temperature = 2;
    ok(distance(o, hot, NULL, 0) < 0.015, "sampler/temperature_divides_logits");
    double entropy = 0, typical[N] = {0};
    for (int i = 0; i < N; i++) entropy -= probability[i] * log(probability[i]);
    o = plain();
    o.typical_p = 0.15; /* -ln .2 = 1.61 is nearest to the entropy of 1.66 */
    typical[0] = 1;
    ok(entropy > 1.6 && entropy < 1.75 && distance(o, typical, NULL, 0) < 1e-9,
       "sampler/typical_keeps_what_surprises_as_expected");
}

static void test_penalties(void) {
    static const int32_t past[] = {3, 3, 0};
    double expected[N];
    hn_sampling o = plain();
    memcpy(expected, probability, sizeof expected);
    o.frequency = 0.5;
    o.presence = 0.25;
    expected[3] *= exp(-1.25);
    expected[0] *= exp(-0.75);
    ok(distance(o, expected, past, 3) < 0.015, "sampler/penalties_count");
    memcpy(expected, probability, sizeof expected);
    o.penalty_window = 1;
    expected[0] *= exp(-0.75);
    ok(distance(o, expected, past, 3) < 0.015, "sampler/penalties_have_a_window");
    o = plain();
    o.repeat = 2; /* all logits here: positive ones are divided, others multiplied */
    for (int i = 0; i < N; i++) expected[i] = exp((double)logits[i]);
    for (int k = 0; k < 2; k++) expected[past[2 * k]] = exp((double)logits[past[2 * k]] / 2);
    ok(distance(o, expected, past, 3) < 0.015, "sampler/the_repetition_penalty_divides");
    hn_bias bias[] = {{3, -INFINITY}, {4, 3}};
    o = plain();
    o.bias = bias;
    o.n_bias = 2;
    memcpy(expected, probability, sizeof expected);
    expected[3] = 0;
    expected[4] *= exp(3);
    ok(distance(o, expected, NULL, 0) < 0.015, "sampler/a_bias_is_added");
}

static void test_choice(void) {
    hn_sampler *s = NULL;
    hone_err err = {0};
    int32_t token = -1, best[3];
    double p = 0, top[3];
    uint64_t allowed = ~(1u << 3), none = 0;
    hn_sampling o = plain();
    o.temperature = 0;
    ok(!hn_sampler_new(&o, N, &s, &err), "sampler/new");
    ok(!hn_sampler_pick(s, logits, NULL, &token, &p, &err) && token == 3 && fabs(p - log(.4)) < 1e-6, "sampler/greedy");
    ok(!hn_sampler_pick(s, logits, &allowed, &token, &p, &err) && token == 0,
       "sampler/what_is_not_allowed_does_not_come");
    ok(hn_sampler_pick(s, logits, &none, &token, &p, &err) == HONE_E_EMPTY && err.text[0], "sampler/nothing_allowed");
    hn_sampler_free(s);
    hn_most_likely(logits, N, 3, best, top);
    ok(best[0] == 3 && best[1] == 0 && best[2] == 5 && fabs(top[2] - log(.15)) < 1e-6, "sampler/most_likely");
    o.top_p = 1.5;
    s = NULL;
    ok(hn_sampler_new(&o, N, &s, &err) == HONE_E_USAGE && !s && strstr(err.text, "top-p"),
       "sampler/an_option_out_of_range");
}

/* Mirostat's surprise comes to its target: the mean over many draws, in bits. */
static void test_mirostat(void) {
    enum { WIDE = 4096, DRAWS = 3000 };
    static float flat[WIDE];
    hn_sampler *s = NULL;
    hone_err err = {0};
    hn_sampling o = plain();
    double mean = 0;
    o.mirostat = 2;
    o.mirostat_tau = 4;
    o.seed = 7;
    for (int i = 0; i < WIDE; i++) flat[i] = (float)(-1.1 * log(i + 1.0));
    if (hn_sampler_new(&o, WIDE, &s, &err)) abort();
    for (int i = 0; i < DRAWS; i++) {
        int32_t token = 0;
        double p = 0;
        if (hn_sampler_pick(s, flat, NULL, &token, &p, &err)) abort();
        if (i >= DRAWS / 2) mean -= p / log(2) / (DRAWS - DRAWS / 2);
    }
    hn_sampler_free(s);
    ok(fabs(mean - 4) < 1, "sampler/mirostat_comes_to_its_target: %.2f bits", mean);
}

static void test_many(void) {
    enum { WIDE = 5000 };
    static float wide[WIDE];
    hn_sampling o = plain();
    hone_err err = {0};
    int same = 0, inside = 0;
    for (int i = 0; i < WIDE; i++) wide[i] = (float)((i * 7919) % WIDE) / 1000;
    o.top_k = 40;
    for (uint64_t seed = 0; seed < 200; seed++) {
        int32_t token[2] = {0};
        for (int k = 0; k < 2; k++) {
            hn_sampler *s = NULL;
            o.seed = seed;
            if (hn_sampler_new(&o, WIDE, &s, &err) || hn_sampler_pick(s, wide, NULL, &token[k], NULL, &err)) abort();
            hn_sampler_free(s);
        }
        same += token[0] == token[1];
        inside += (token[0] * 7919) % WIDE >= WIDE - 40;
    }
    ok(same == 200, "sampler/the_same_seed_gives_the_same_token");
    ok(inside == 200, "sampler/top_k_of_many: %d of 200", inside);
}

static int32_t picked(hn_sampling o, const float *l, size_t n, hone_rc *rc) {
    hn_sampler *s = NULL;
    hone_err err;
    int32_t token = -1;
    if (hn_sampler_new(&o, n, &s, &err)) abort();
    *rc = hn_sampler_pick(s, l, NULL, &token, NULL, &err);
    hn_sampler_free(s);
    return token;
}

/* The most likely token is the same whether the logits are looked at as they are, or as a list (a bias of 0 makes one).
 */
static void test_greedy(void) {
    static const hn_bias none = {0, 0};
    hn_sampling direct = plain(), list = plain();
    hone_rc a, b;
    float l[23];
    bool same = true;
    direct.temperature = list.temperature = 0;
    list.bias = &none, list.n_bias = 1;
    for (size_t n = 1; n <= 23; n++)
        for (uint32_t k = 0; k < 200; k++) {
            for (size_t i = 0; i < n; i++) {
                uint32_t x = (uint32_t)(i * 2654435761u + k * 40503u + n * 97u) >> 7 & 15;
                l[i] = x == 15 ? NAN : x == 14 ? -INFINITY : (float)x - 9; /* many are equal */
            }
            same = same && picked(direct, l, n, &a) == picked(list, l, n, &b) && a == b;
        }
    ok(same, "sampler/the_first_of_the_largest");
}

/* --- the quick way against the plain one ------------------------------------------------------------------------- */

enum { MOST = 3000, TURNS = 12 };

static double uniform(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0;
}

/* Peaked, flat, of few different values, or steep; some of them no numbers, or infinitely small. */
static void draw_logits(uint32_t *state, float *l, size_t n) {
    int kind = (int)(4 * uniform(state));
    bool holes = uniform(state) < 0.3;
    double wide = kind == 0 ? 12 : kind == 1 ? 0.5 : 60;
    for (size_t i = 0; i < n; i++) {
        double x = wide * (uniform(state) + uniform(state) + uniform(state) - 1.5);
        l[i] = (float)(kind == 2 ? floor(8 * uniform(state)) : x);
        if (holes && uniform(state) < 0.1) l[i] = uniform(state) < 0.5 ? NAN : -INFINITY;
    }
    l[(size_t)((double)n * uniform(state))] = (float)wide; /* there is one at least */
}

static hn_sampling draw_options(uint32_t *state, hn_bias *bias, size_t n) {
    static const double heat[] = {1, 1, 0.7, 0.1, 2.5, 30}, part[] = {1, 1, 0.95, 0.5, 0.05, 0, 0.999999},
                        least[] = {0, 0, 0, 0.05, 0.5, 1e-9};
    static const int32_t first[] = {0, 0, 0, 1, 5, 40, 5000};
    hn_sampling o = plain();
    o.temperature = heat[(int)(6 * uniform(state))];
    o.top_p = part[(int)(7 * uniform(state))];
    o.min_p = least[(int)(6 * uniform(state))];
    o.top_k = first[(int)(7 * uniform(state))];
    if (uniform(state) < 0.1) o.typical_p = 0.5;
    if (uniform(state) < 0.1) o.mirostat = 2;
    if (uniform(state) < 0.3) o.repeat = 1.3, o.frequency = 0.2, o.presence = -0.1;
    if (uniform(state) < 0.3) {
        *bias = (hn_bias){(int32_t)((double)n * uniform(state)), uniform(state) < 0.5 ? -INFINITY : 5};
        o.bias = bias, o.n_bias = 1;
    }
    o.seed = (uint64_t)(1e6 * uniform(state));
    return o;
}

/* The same draws one after another, each token accepted; how many differ. */
static int differing(hn_sampling o, const float *l, size_t n, const uint64_t *allowed, uint64_t *sorted) {
    hn_sampler *s[2] = {NULL, NULL};
    hone_err err;
    int wrong = 0;
    for (int k = 0; k < 2; k++, o.plain = true)
        if (hn_sampler_new(&o, n, &s[k], &err)) abort();
    for (int turn = 0; turn < TURNS; turn++) {
        int32_t token[2] = {-1, -1};
        hone_rc rc[2];
        for (int k = 0; k < 2; k++) rc[k] = hn_sampler_pick(s[k], l, allowed, &token[k], NULL, &err);
        wrong += token[0] != token[1] || rc[0] != rc[1];
        for (int k = 0; k < 2 && !rc[k]; k++) hn_sampler_accept(s[k], token[k], NULL);
    }
    *sorted = hn_sampler_sorted(s[0]);
    for (int k = 0; k < 2; k++) hn_sampler_free(s[k]);
    return wrong;
}

static void test_quick(void) {
    static float l[MOST];
    static uint64_t mask[MOST / 64 + 1];
    uint32_t state = 17;
    int wrong = 0;
    uint64_t sorted = 0, asked = 0;
    for (int i = 0; i < 600; i++) {
        size_t n = 1 + (size_t)((i % 3 ? 300 : MOST - 1) * uniform(&state));
        hn_bias bias;
        hn_sampling o = draw_options(&state, &bias, n);
        bool some = uniform(&state) < 0.3;
        draw_logits(&state, l, n);
        for (size_t k = 0; k <= n / 64; k++) mask[k] = (uint64_t)(4294967296.0 * uniform(&state)) * 0x9e3779b97f4a7c15u;
        uint64_t own;
        wrong += differing(o, l, n, some ? mask : NULL, &own);
        if (o.typical_p < 1 || o.mirostat || o.top_k || o.top_p > 0.99999 || o.min_p > 0) continue;
        asked += TURNS;
        sorted += own;
    }
    ok(!wrong, "sampler/the_quick_way_gives_the_same_tokens: %d differ", wrong);
    ok(asked > 500 && sorted < asked / 50, "sampler/the_quick_way_is_taken: %d of %d sorted", (int)sorted, (int)asked);
}

/* A draw that falls on the end of a token's part to the last bit: the plain way has to say. */
static void test_close(void) {
    static const float same[4] = {1, 1, 1, 1};
    hn_sampling o = plain();
    uint64_t sorted;
    o.top_p = 0.5; /* two of four, exactly */
    ok(!differing(o, same, 4, NULL, &sorted) && sorted == TURNS, "sampler/what_is_too_close_is_sorted");
}

int main(void) {
    set_logits();
    test_filters();
    test_penalties();
    test_choice();
    test_mirostat();
    test_many();
    test_greedy();
    test_quick();
    test_close();
    return done_testing();
}
