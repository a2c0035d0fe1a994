/* The decision on evidence that is made up: verdict, reason, sentence, and what is refused. */
#include <hone/rollout.h>

#include "rollout/bets.h"
#include "tap.h"

#include <math.h>

enum { N = 400 };

/* n log-ratios around `middle`: a regular comb, so that the median is the middle. */
static void comb(double *z, size_t n, double middle, double width) {
    for (size_t i = 0; i < n; i++) z[i] = middle + width * ((double)(i * 7919 % n) / (double)(n - 1) - 0.5);
}

typedef struct scene {
    const char *name;
    double middle;
    size_t n;
    hone_rollout_evidence e;
    double min_gain;
    hone_rollout_verdict verdict;
    hone_rollout_reason why;
    const char *says;
} scene;

#define FINE .compared = 400, .elements = 5000, .runs_now = 40000, .runs_next = 2300
static const scene scenes[] = {
    {"nothing_waits",
     0,
     0,
     {.size = 0},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "waits: no pair was run yet; a "
     "promotion needs 100 pairs, 2300 runs (0 were made), 4610 compared elements (0 were)"},
    {"equal_is_promoted", 0, N, {FINE}, 0, HONE_ROLLOUT_PROMOTE, HONE_ROLLOUT_NOT_SLOWER, "promoted: a run takes 1.0"},
    {"faster_is_promoted",
     -0.05,
     N,
     {FINE},
     0,
     HONE_ROLLOUT_PROMOTE,
     HONE_ROLLOUT_FASTER,
     "2300 runs without a failure"},
    {"too_few_runs_wait",
     -0.05,
     N,
     {.elements = 5000, .compared = 400, .runs_now = 9, .runs_next = 2299},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "; a promotion needs 2300 runs (2299 were made)"},
    {"too_few_elements_wait",
     -0.05,
     N,
     {.elements = 4609, .compared = 400, .runs_now = 9, .runs_next = 2300},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "4610 compared elements (4609 were)"},
    {"too_few_pairs_wait",
     -0.05,
     99,
     {FINE},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "; a promotion needs 100 pairs"},
    {"slower_is_rolled_back", 0.03, N, {FINE}, 0, HONE_ROLLOUT_ROLL_BACK, HONE_ROLLOUT_SLOWER, "more than 1 % longer"},
    {"slower_within_margin_waits",
     0.01,
     N,
     {FINE},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "needs an interval below 1.01"},
    {"old_is_held",
     0.01,
     N,
     {FINE, .age_s = 90000},
     0,
     HONE_ROLLOUT_HOLD,
     HONE_ROLLOUT_AGE,
     "held: undecided after 25 h: "},
    {"old_but_slow_is_rolled_back",
     0.03,
     N,
     {FINE, .age_s = 90000},
     0,
     HONE_ROLLOUT_ROLL_BACK,
     HONE_ROLLOUT_SLOWER,
     "rolled back"},
    {"wrong_is_rolled_back",
     -0.05,
     N,
     {FINE, .differing = 1},
     0,
     HONE_ROLLOUT_ROLL_BACK,
     HONE_ROLLOUT_WRONG,
     "rolled back: 1 of 400 answers are out of tolerance"},
    {"crash_is_rolled_back",
     -0.05,
     N,
     {FINE, .crashes_next = 1},
     0,
     HONE_ROLLOUT_ROLL_BACK,
     HONE_ROLLOUT_CRASHES,
     "rolled back: 1 of 2300 runs crashed, 0 of 40000"},
    {"crashes_of_both_wait",
     -0.05,
     N,
     {FINE, .crashes_next = 1, .crashes_now = 17},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "needs fewer failures than 1 in 2300 runs"},
    {"rare_failures_are_promoted",
     -0.05,
     N,
     {.compared = 400, .elements = 5000, .runs_now = 40000, .runs_next = 9000, .failures_next = 1, .failures_now = 1},
     0,
     HONE_ROLLOUT_PROMOTE,
     HONE_ROLLOUT_FASTER,
     "1 of 9000 runs failed, no more than before"},
    {"one_failure_waits",
     -0.05,
     N,
     {FINE, .failures_next = 1},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "; a promotion needs fewer failures than 1 in 2300 runs"},
    {"failures_of_both_are_no_reason",
     -0.05,
     N,
     {FINE, .failures_next = 23, .failures_now = 400},
     0,
     HONE_ROLLOUT_WAIT,
     HONE_ROLLOUT_UNDECIDED,
     "waits"},
    {"failures_are_rolled_back",
     -0.05,
     N,
     {FINE, .failures_next = 4},
     0,
     HONE_ROLLOUT_ROLL_BACK,
     HONE_ROLLOUT_FAILS,
     "rolled back: 4 of 2300 runs failed, 0 of 40000"},
    {"no_gain_is_held", 0, N, {FINE}, 0.02, HONE_ROLLOUT_HOLD, HONE_ROLLOUT_NO_GAIN, "which is not a gain of 2 %"},
    {"gain_is_promoted", -0.05, N, {FINE}, 0.02, HONE_ROLLOUT_PROMOTE, HONE_ROLLOUT_FASTER, "promoted"},
};

static void test_scenes(void) {
    double z[N];
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const scene *s = &scenes[i];
        hone_rollout_evidence e = s->e;
        hone_rollout_rules r = hone_rollout_defaults();
        hone_rollout_decision d = {.verdict = HONE_N_ROLLOUT_VERDICT};
        hone_err err = {0};
        if (s->n) comb(z, s->n, s->middle, 0.05);
        e.size = sizeof e, e.log_ratio = z, e.n = s->n;
        r.min_gain = s->min_gain;
        hone_rc rc = hone_rollout_decide(&r, &e, &d, &err);
        if (!ok(!rc && d.verdict == s->verdict && d.why == s->why && strstr(d.text, s->says), "rollout/%s", s->name))
            printf("# %s: %s (%s): %s %s\n", s->name, hone_rollout_verdict_name(d.verdict),
                   hone_rollout_reason_name(d.why), d.text, err.text);
    }
}

/* The median is equal, but one pair of ten takes twice as long. */
static void test_tail(void) {
    double z[N];
    hone_rollout_evidence e = hone_rollout_no_evidence();
    hone_rollout_decision d;
    comb(z, N, 0, 0.02);
    for (size_t i = 0; i < N; i += 10) z[i] = log(2);
    e.log_ratio = z, e.n = N, e.runs_next = e.runs_now = N;
    ok(!hone_rollout_decide(NULL, &e, &d, NULL) && d.verdict == HONE_ROLLOUT_ROLL_BACK && d.why == HONE_ROLLOUT_TAIL &&
           strstr(d.text, "of 40 pairs that differ by a quarter and more, 40 are slower"),
       "rollout/tail_is_rolled_back");
    for (size_t i = 0; i < N; i += 20) z[i] = -log(2);
    ok(!hone_rollout_decide(NULL, &e, &d, NULL) && d.verdict == HONE_ROLLOUT_WAIT,
       "rollout/tails_on_both_sides_are_no_reason");
}

static void test_refusals(void) {
    const double nan_ratio = NAN;
    hone_rollout_decision d = {.pairs = 77};
    hone_rollout_rules r = hone_rollout_defaults();
    hone_rollout_evidence e = hone_rollout_no_evidence();
    hone_err err = {0};
    r.alpha = 0;
    ok(hone_rollout_decide(&r, &e, &d, &err) == HONE_E_INPUT && strstr(err.text, "'alpha'"),
       "rollout/alpha_0_is_input");
    r = hone_rollout_defaults(), r.margin = NAN;
    ok(hone_rollout_decide(&r, &e, &d, &err) == HONE_E_INPUT, "rollout/margin_nan_is_input");
    e.log_ratio = &nan_ratio, e.n = 1;
    ok(hone_rollout_decide(NULL, &e, &d, &err) == HONE_E_INPUT, "rollout/ratio_nan_is_input");
    e.n = 0, e.differing = 1;
    ok(hone_rollout_decide(NULL, &e, &d, &err) == HONE_E_INPUT, "rollout/more_differ_than_compared_is_input");
    e.differing = 0, e.failures_next = 1;
    ok(hone_rollout_decide(NULL, &e, &d, &err) == HONE_E_INPUT, "rollout/more_failures_than_runs_is_input");
    e.size = 0;
    ok(hone_rollout_decide(NULL, &e, &d, &err) == HONE_E_USAGE && d.pairs == 77, "rollout/size_0_is_usage");
}

static void test_bets(void) {
    bool rises = true, dual = true;
    for (uint64_t n = 1; n < 300; n += 7)
        for (uint64_t k = 0; k < n; k++) rises &= hn_bet_capital(k + 1, n, 0.3) > hn_bet_capital(k, n, 0.3);
    ok(rises, "bets/capital_rises_with_successes");
    ok(fabs(hn_bet_capital(0, 0, 0.5)) < 1e-12, "bets/capital_begins_at_1");
    /* one draw: the mean over bets of q / p, and of (1 - q) / (1 - p), weighted by the chances, is 1 */
    for (double p = 0.01; p < 1; p += 0.07)
        dual &= fabs(p * exp(hn_bet_capital(1, 1, p)) + (1 - p) * exp(hn_bet_capital(0, 1, p)) - 1) < 1e-9;
    ok(dual, "bets/one_draw_is_fair");
    uint64_t least = hn_bet_least(100, 0.5, 0.01);
    ok(hn_bet_capital(least, 100, 0.5) >= log(100) && hn_bet_capital(least - 1, 100, 0.5) < log(100),
       "bets/least_is_least");
    ok(hn_bet_least(3, 0.5, 0.001) == 4, "bets/few_draws_are_never_enough");
    double z[N];
    for (size_t i = 0; i < N; i++) z[i] = (double)i;
    hone_interval x = hn_bet_median(z, N, 0.01), few = hn_bet_median(z, 4, 0.01), none = hn_bet_median(z, 0, 0.01);
    ok(x.mid == 199.5 && x.lo + x.hi == 399 && x.lo > 150 && x.lo < 180, "bets/median_interval_is_symmetric: %g", x.lo);
    ok(isinf(few.lo) && isinf(few.hi) && few.mid == 1.5 && isnan(none.mid), "bets/median_of_few_is_open");
}

int main(void) {
    test_scenes();
    test_tail();
    test_refusals();
    test_bets();
    hone_rollout_decision d = hone_rollout_by_hand(HONE_ROLLOUT_ROLL_BACK, NULL);
    ok(d.verdict == HONE_ROLLOUT_ROLL_BACK && d.why == HONE_ROLLOUT_BY_HAND && !strcmp(d.text, "by hand"),
       "rollout/by_hand");
    return done_testing();
}
