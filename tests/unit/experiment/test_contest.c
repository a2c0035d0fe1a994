/* Contests of made-up candidates: who is taken in, measured, left out and found better, and when it ends. The numbers
 * come from a generator; nothing is built, run or timed. */
#include "base/clock.h"
#include "experiment/contest.h"
#include "tap.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 4, MOST = 12 };

/* Candidates with gains as stated, and noise: between builds, and from pair to pair. */
typedef struct lab {
    double gain[HN_CONTENDERS], noise, build_noise, shift[HN_CONTENDERS];
    uint64_t key[HN_CONTENDERS];
    unsigned fails_in[HN_CONTENDERS]; /* round + 1 in which it breaks */
    unsigned build_fails_in, n_built, n_pairs[HN_CONTENDERS];
    hn_rng rng;
    hone_rc trouble; /* of pair, in round 2 */
    size_t first[MOST];
} lab;

static uint64_t key_of(void *ctx, size_t i) { return i == HN_BASELINE ? 1 : ((lab *)ctx)->key[i]; }

static hone_rc build(void *ctx, hn_contest *c, hone_err *err) {
    lab *l = ctx;
    (void)err;
    l->n_built++;
    for (size_t i = 0; i < c->n; i++) {
        hn_contender *x = &c->x[i];
        l->shift[x->candidate] = l->build_noise * hn_rng_normal(&l->rng);
        if (l->build_fails_in == c->n_rounds + 1 && i == 0) x->failed = true;
    }
    return HONE_OK;
}

static hone_rc pair(void *ctx, hn_contest *c, hn_contender *x, hone_err *err) {
    lab *l = ctx;
    size_t k = x->candidate;
    if (l->trouble && c->n_rounds == 2) return l->trouble;
    if (c->n_rounds < MOST && !l->first[c->n_rounds]) l->first[c->n_rounds] = k + 1;
    l->n_pairs[k]++;
    x->failed = l->fails_in[k] == c->n_rounds + 1;
    for (int i = 0; i < PAIRS && !x->failed; i++) {
        hone_rc rc = hn_contest_add(c, x, log(l->gain[k]) + l->shift[k] + l->noise * hn_rng_normal(&l->rng), err);
        if (rc) return rc;
    }
    return HONE_OK;
}

static bool judge(void *ctx, hn_contest *c) {
    (void)ctx;
    return hn_judge_gains(c);
}

static const hn_experiment proof = {key_of, build, pair, judge}, plain = {NULL, NULL, pair, NULL};

static hn_contest contest_of(lab *l, const hn_experiment *e, size_t n) {
    hn_contest c = {.of = e, .ctx = l};
    c.rules = (hn_contest_rules){.least = 4,
                                 .most = MOST,
                                 .until_s = INFINITY,
                                 .last_s = INFINITY,
                                 .margin = log1p(0.01),
                                 .alpha = 0.05,
                                 .early = 2,
                                 .seed = 7};
    for (size_t i = 0; i < n; i++) hn_contest_enter(&c, i);
    return c;
}

static void test_entering(void) {
    lab l = {.key = {5, 6, 5, 1, 0, 0, 7}};
    hn_contest c = contest_of(&l, &proof, 7);
    ok(c.n == 5 && c.x[0].candidate == 0 && c.x[1].candidate == 1, "contest/equal_keys_are_one_contender");
    ok(c.x[2].candidate == 4 && c.x[3].candidate == 5, "contest/who_has_no_key_is_like_no_other");
    ok(c.x[4].candidate == 6, "contest/the_baselines_program_is_not_taken_in");
    for (size_t i = 0; i < HN_CONTENDERS; i++) l.key[i] = 10 + i;
    c.n = 0;
    size_t n = 0;
    for (size_t i = 0; i < HN_CONTENDERS; i++) n += hn_contest_enter(&c, i);
    ok(n == HN_CONTENDERS && !hn_contest_enter(&c, 0), "contest/room_ends");
}

static void test_gains(void) {
    lab l = {
        .gain = {1.10, 0.90, 1.30}, .noise = 0.01, .build_noise = 0.005, .key = {2, 3, 4}, .rng = hn_rng_make(1, 1)};
    hn_contest c = contest_of(&l, &proof, 3);
    ok(hn_contest_run(&c, NULL) == HONE_OK, "gains/run");
    ok(c.x[2].finding == HN_ABOVE && !c.x[2].out && exp(c.x[2].gain.lo) > 1.2, "gains/the_best_gains");
    ok(c.x[1].out && l.n_pairs[1] == 2, "gains/a_loser_leaves_early");
    ok(c.x[0].out && l.n_pairs[0] == 4, "gains/who_is_behind_the_best_leaves");
    ok(c.n_rounds == 4 && l.n_built == 4, "gains/it_ends_when_all_are_decided (%u rounds)", c.n_rounds);
    ok(c.x[2].n == 4 * PAIRS && c.x[2].round[0] == 0 && c.x[2].round[4 * PAIRS - 1] == 3,
       "gains/readings_know_their_round");
    ok(hn_contest_leader(&c) == &c.x[2], "gains/leader");
    hn_contest_close(&c);
}

static void test_nothing_to_gain(void) {
    unsigned kept = 0, decided = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        lab l = {.gain = {1, 1}, .noise = 0.01, .build_noise = 0.01, .key = {2, 3}, .rng = hn_rng_make(seed, 2)};
        hn_contest c = contest_of(&l, &proof, 2);
        c.rules.margin = 0;
        c.rules.seed = seed;
        hn_contest_run(&c, NULL);
        for (size_t i = 0; i < 2; i++) kept += !c.x[i].failed && c.x[i].finding == HN_ABOVE;
        decided += c.n_rounds < MOST;
        hn_contest_close(&c);
    }
    ok(kept < 6, "gains/equals_are_rarely_kept: %u of 24", kept);
    ok(decided > 0, "gains/losers_end_a_contest_early: %u of 12", decided);
}

static void test_failures(void) {
    lab l = {.gain = {1.2, 1.2, 1.2}, .noise = 0.5, .key = {2, 3, 4}, .rng = hn_rng_make(3, 3), .fails_in = {0, 2, 0}};
    l.build_fails_in = 3;
    hn_contest c = contest_of(&l, &plain, 3);
    ok(hn_contest_run(&c, NULL) == HONE_OK && c.n_rounds == MOST, "failures/no_judge_runs_all_rounds");
    ok(c.x[1].failed && l.n_pairs[1] == 2 && c.x[1].n == PAIRS, "failures/who_fails_is_not_measured_again");
    hn_contest_close(&c);
    l.noise = 0.01;
    c = contest_of(&l, &proof, 1);
    c.rules.margin = log(1.2);
    ok(hn_contest_run(&c, NULL) == HONE_OK && c.x[0].failed && c.n_rounds == 3, "failures/none_left_ends_it");
    hn_contest_close(&c);
    l = (lab){.gain = {1.2}, .noise = 0.01, .key = {2}, .rng = hn_rng_make(3, 4), .trouble = HONE_E_BASELINE};
    c = contest_of(&l, &proof, 1);
    ok(hn_contest_run(&c, NULL) == HONE_E_BASELINE && c.n_rounds == 2, "failures/trouble_ends_it_at_once");
    hn_contest_close(&c);
    c = contest_of(&l, &proof, 0);
    ok(hn_contest_run(&c, NULL) == HONE_OK && !c.n_rounds, "failures/no_contender_no_round");
}

static void test_time(void) {
    lab l = {.gain = {1.2, 1.2}, .noise = 0.5, .key = {2, 3}, .rng = hn_rng_make(4, 4)};
    hn_contest c = contest_of(&l, &plain, 2);
    c.rules.until_s = hn_now_s() - 1;
    hn_contest_run(&c, NULL);
    ok(c.n_rounds == 4, "time/the_least_is_run_whatever_the_time (%u)", c.n_rounds);
    hn_contest_close(&c);
    c = contest_of(&l, &plain, 2);
    c.rules.last_s = hn_now_s() - 1;
    hn_contest_run(&c, NULL);
    ok(c.n_rounds == 1, "time/it_ends_early_where_the_least_cannot_be_had (%u)", c.n_rounds);
    hn_contest_close(&c);
}

/* Each goes first about as often as the others, and the order is the seed's. */
static void test_turns(void) {
    lab l = {.gain = {1, 1, 1}, .noise = 0.1, .key = {2, 3, 4}, .rng = hn_rng_make(5, 5)}, again = l;
    unsigned n[3] = {0};
    hn_contest c = contest_of(&l, &plain, 3), d = contest_of(&again, &plain, 3);
    hn_contest_run(&c, NULL);
    hn_contest_run(&d, NULL);
    for (int i = 0; i < MOST; i++) n[l.first[i] - 1]++;
    ok(n[0] && n[1] && n[2], "turns/all_are_first_at_times: %u %u %u", n[0], n[1], n[2]);
    ok(!memcmp(l.first, again.first, sizeof l.first), "turns/order_follows_from_the_seed");
    hn_contest_close(&c);
    hn_contest_close(&d);
    bool abba = true;
    for (size_t i = 0; i < 16; i++) abba = abba && hn_base_first(i) == (i % 4 == 0 || i % 4 == 3);
    ok(abba, "turns/pairs_are_abba");
}

static void test_race(void) {
    lab l = {.gain = {1.0, 1.1, 1.11}, .noise = 0.002, .key = {2, 3, 4}, .rng = hn_rng_make(6, 6)};
    hn_contest c = contest_of(&l, &plain, 3);
    const hn_race_config config = {.noise = 0.02, .most = 100};
    c.rules.most = 1;
    hn_contest_run(&c, NULL);
    hn_judge_race(&c, PAIRS + 1, &config);
    ok(hn_contest_is_in(&c.x[0]), "race/too_few_readings_drop_nobody");
    hn_judge_race(&c, PAIRS, &config);
    ok(!hn_contest_is_in(&c.x[0]) && hn_contest_is_in(&c.x[1]) && hn_contest_is_in(&c.x[2]),
       "race/those_clearly_behind_leave");
    hn_contest_close(&c);
}

static void test_intervals(void) {
    const double z[] = {0.1, 0.11, 0.12, 0.2, 0.21, 0.22, 0.15, 0.16, 0.17};
    const unsigned cluster[] = {0, 0, 0, 1, 1, 1, 2, 2, 2}, one[9] = {0};
    const double same[] = {0.3, 0.3, 0.3};
    hone_interval x = hn_z_interval(z, cluster, 9, 0.05, 1), quick = hn_z_quick(z, cluster, 9, 0.05);
    ok(x.lo <= quick.lo && x.hi >= quick.hi && fabs(x.mid - 0.16) < 0.011, "interval/the_union_holds_the_quick_one");
    ok(hn_z_interval(z, one, 9, 0.05, 1).hi < x.hi, "interval/one_cluster_has_the_bootstrap_alone");
    x = hn_z_interval(same, cluster, 3, 0.05, 1);
    ok(x.lo == 0.3 && x.hi == 0.3, "interval/equal_values");
    ok(isnan(hn_z_interval(z, cluster, 0, 0.05, 1).mid), "interval/of_nothing");
    ok(hn_find((hone_interval){1, 2, 3}, 0.5) == HN_ABOVE && hn_find((hone_interval){1, 2, 3}, 4) == HN_BELOW &&
           hn_find((hone_interval){1, 2, 3}, 2) == HN_ACROSS && hn_find((hone_interval){NAN, NAN, NAN}, 2) == HN_ACROSS,
       "interval/findings");
}

int main(void) {
    test_entering();
    test_gains();
    test_nothing_to_gain();
    test_failures();
    test_time();
    test_turns();
    test_race();
    test_intervals();
    return done_testing();
}
