/* The decision on made-up evidence: what is kept, what is rejected and why, how sentences name it. */
#include "../../../bench/proof/synthetic.h"
#include "tap.h"

#include <math.h>

static const hn_rules rules = {.min_gain = 0.01, .pairs_least = 100, .pairs_most = 300};

/* --- one candidate ------------------------------------------------------------------------------------------------ */

typedef struct kind {
    const char *name;
    synthetic model;
    const char *why;  /* expected, "" = kept */
    const char *says; /* in the sentence */
} kind;

static const kind kinds[] = {
    {"gain_of_five_percent_is_kept",
     {.gain = {1.05}, .noise = 0.01, .layout = 0.003},
     "",
     "kept: median(latency) is better"},
    {"identical_is_rejected", {.noise = 0.005, .layout = 0.001}, "gain", "not beyond the minimum of 1 %"},
    {"slower_loses", {.gain = {0.95}, .noise = 0.01, .layout = 0.003}, "gain", "worse than the baseline's"},
    {"too_noisy_is_undecided", {.gain = {1.01}, .noise = 0.15, .layout = 0.01}, "undecided", "measure.min_time"},
    {"layout_alone_decides_nothing", {.gain = {1.02}, .noise = 0.002, .layout = 0.05}, "undecided", "may or may not"},
    {"heavier_tail_is_rejected", {.gain = {1.05}, .noise = 0.01, .layout = 0.003, .tail = 1.2}, "tail", "p95(latency)"},
    {"heavier_tail_equal_median", {.noise = 0.01, .layout = 0.001, .tail = 1.1}, "tail", "the tail is worse"},
    {"growing_spread", {.gain = {1.1}, .noise = 0.01, .spread = 3, .layout = 0.001}, "spread", "more than a quarter"},
    {"large_gain_disturbed_as_before", {.gain = {6}, .noise = 0.01, .spread = 5, .layout = 0.001}, "", "kept"},
    {"large_rate_disturbed_as_before",
     {.gain = {6}, .noise = 0.01, .spread = 5, .layout = 0.001, .maximize = true},
     "",
     "kept"},
    {"large_gain_that_spreads", {.gain = {3}, .noise = 0.01, .spread = 20, .layout = 0.001}, "spread", "a quarter"},
    {"tail_over_runs_even", {.gain = {1.05}, .noise = 0.01, .layout = 0.002, .single = true}, "", "kept"},
    {"loses_on_held_out",
     {.gain = {1.06, 1.06, 0.9}, .n_inputs = 3, .held_out = true, .noise = 0.01, .layout = 0.003},
     "held_out",
     "held-out input 'odd'"},
    {"gains_on_held_out",
     {.gain = {1.06, 1.06, 1.05}, .n_inputs = 3, .held_out = true, .noise = 0.01, .layout = 0.003},
     "",
     "; gain on held-out inputs 1.0"},
    {"even_on_held_out_says_so",
     {.gain = {1.06, 1.06, 1.0}, .n_inputs = 3, .held_out = true, .noise = 0.01, .layout = 0.003},
     "",
     "; no gain is shown on held-out inputs, "},
    {"names_the_losing_input",
     {.gain = {1.2, 1.2, 0.95}, .n_inputs = 3, .noise = 0.01, .layout = 0.003},
     "",
     "; loses on input 'odd', 0.95"},
    {"maximized", {.gain = {1.05}, .noise = 0.01, .layout = 0.003, .maximize = true}, "", "kept"},
    {"maximized_loss", {.gain = {0.96}, .noise = 0.01, .layout = 0.003, .maximize = true}, "gain", "worse"},
    {"values_below_zero", {.gain = {1.2}, .noise = 0.01, .layout = 0.003, .plain = true}, "", "kept"},
    {"values_below_zero_loss", {.gain = {0.8}, .noise = 0.01, .layout = 0.003, .plain = true}, "gain", "worse"},
    {"smaller_code_is_a_gain",
     {.gain = {1.0}, .noise = 0.01, .layout = 0.002, .n_objectives = 2, .size_gain = 1.1},
     "",
     "kept: code_size"},
    {"smaller_code_slower",
     {.gain = {0.9}, .noise = 0.01, .layout = 0.002, .n_objectives = 2, .size_gain = 1.1},
     "",
     "; median(latency) is worse, 0."},
    {"larger_code_faster",
     {.gain = {1.1}, .noise = 0.01, .layout = 0.002, .n_objectives = 2, .size_gain = 0.5},
     "",
     "; code_size is worse, 0.5"},
};

/* Four seeds each: the effects are far beyond the noise, so all of them must agree. */
static void check_kinds(void) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind *k = &kinds[i];
        size_t as_expected = 0;
        char last[600] = "";
        for (uint64_t seed = 1; seed <= 4; seed++) {
            hn_arena a = {0};
            hone_proof p = synthetic_validate(&k->model, seed, 10, rules, &a);
            bool same = !strcmp(hone_proof_reject_name(p.why), k->why) && strstr(p.verdict, k->says) != NULL;
            as_expected += same && p.kept == !*k->why;
            if (!same) snprintf(last, sizeof last, "%s", p.verdict);
            hn_arena_free(&a);
        }
        ok(as_expected == 4, "verdict/%s", k->name);
        if (*last) printf("#   %s\n", last);
    }
}

/* --- rates: few and rough here, thousands in bench/proof.sh ----------------------------------------------------------
 */

static size_t count_kept(const synthetic *m, hn_rules r, size_t n) {
    size_t kept = 0;
    for (uint64_t seed = 1; seed <= n; seed++) {
        hn_arena a = {0};
        kept += synthetic_validate(m, seed, 10, r, &a).kept;
        hn_arena_free(&a);
    }
    return kept;
}

static void check_rates(void) {
    hn_rules no_margin = {.min_gain = 0, .pairs_least = 40, .pairs_most = 40};
    synthetic even = {.noise = 0.01, .layout = 0.01, .outliers = 0.03};
    synthetic gain = {.gain = {1.02}, .noise = 0.01, .layout = 0.003, .outliers = 0.03};
    hn_rules small = {.min_gain = 0.003, .pairs_least = 100, .pairs_most = 100};
    size_t alarms = count_kept(&even, no_margin, 40), found = count_kept(&gain, small, 20);
    ok(alarms <= 4, "verdict/false_alarms_without_a_margin_are_few (%zu of 40)", alarms);
    ok(found >= 18, "verdict/two_percent_is_found (%zu of 20)", found);
}

static void check_too_few(void) {
    hn_rules r = {.min_gain = 0.01, .pairs_least = 100, .pairs_most = 400};
    hone_comparison c = {.quantity = "time", .gain = {1.4, 1.5, 1.6}};
    hone_proof p = {.why = HONE_REJECT_UNDECIDED, .n_objectives = 1, .overall = &c, .n_pairs = 9};
    hone_comparison tail = {0};
    hn_arena a = {0};
    p.tail = &tail;
    ok(strstr(hn_sentence(&p, &r, &a), "9 pairs are too few: a large gain needs 20") != NULL,
       "verdict/too_few_pairs_say_so");
    hn_arena_free(&a);
}

/* --- looks -------------------------------------------------------------------------------------------------------- */

static void check_looks(void) {
    hn_rules r = {.min_gain = 0.01, .pairs_least = 100, .pairs_most = 230};
    size_t seen[8], n = 0, want[] = {20, 40, 70, 100, 150, 200, 230};
    for (size_t at = 0; n < 8 && (at = hn_next_look(&r, at)) != 0;) seen[n++] = at;
    ok(n == 7 && !memcmp(seen, want, sizeof want), "verdict/looks_rise_to_the_most");
    r.pairs_least = r.pairs_most = 20;
    ok(hn_next_look(&r, 0) == 20 && hn_next_look(&r, 20) == 0, "verdict/a_single_look");
}

/* A loss ends early, and so does a gain that nothing can take back: one beyond doubt, or one whose tail and spread are
 * clear, too. A gain with a heavier tail goes on, and is found out. */
static void check_stopping(void) {
    static const struct {
        const char *name;
        synthetic model;
        size_t least, most;
        hone_proof_reject why;
    } cases[] = {
        {"a_loss_ends_early", {.gain = {0.8}, .noise = 0.01}, 20, 40, HONE_REJECT_GAIN},
        {"a_large_gain_ends_early", {.gain = {1.4}, .noise = 0.01}, 20, 20, HONE_NOT_REJECTED},
        {"a_large_gain_of_single_values_too",
         {.gain = {1.4}, .noise = 0.01, .single = true},
         20,
         20,
         HONE_NOT_REJECTED},
        {"a_small_gain_of_single_values_does_not",
         {.gain = {1.05}, .noise = 0.01, .single = true},
         100,
         100,
         HONE_NOT_REJECTED},
        {"nor_one_with_a_heavier_tail",
         {.gain = {1.05}, .noise = 0.01, .layout = 0.003, .tail = 1.2},
         100,
         300,
         HONE_REJECT_TAIL},
        {"nor_one_that_spreads",
         {.gain = {1.1}, .noise = 0.01, .layout = 0.001, .spread = 3},
         100,
         300,
         HONE_REJECT_SPREAD},
        {"nor_one_that_held_out_inputs_lack",
         {.gain = {1.4, 1.4, 0.9}, .n_inputs = 3, .held_out = true, .noise = 0.01, .layout = 0.003},
         100,
         300,
         HONE_REJECT_HELD_OUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_arena a = {0};
        hone_proof p = synthetic_validate(&cases[i].model, 3, 10, rules, &a);
        if (!ok(p.n_pairs >= cases[i].least && p.n_pairs <= cases[i].most && p.why == cases[i].why, "verdict/%s",
                cases[i].name))
            printf("# %zu pairs: %s\n", p.n_pairs, p.verdict);
        hn_arena_free(&a);
    }
}

/* The time is over before there were enough pairs: twenty are enough for a gain beyond doubt, fifteen for none. */
static void check_cut_short(void) {
    synthetic fast = {.gain = {1.4}, .noise = 0.01};
    for (int n = 15; n <= 30; n += 15) {
        static synthetic_run r;
        hn_arena a = {0};
        hone_proof p = {0};
        bool carries[1][HONE_MAX_OBJECTIVES] = {{false}};
        synthetic_begin(&r, &fast, 5, 10);
        for (int i = 0; i < n; i++) synthetic_pair(&r);
        hone_rc rc = hn_judge_evidence(&r.e, &rules, &a, &p, carries[0], NULL);
        if (!rc) rc = hn_conclude(&p, carries, 1, &rules, &a, NULL);
        if (n < 20)
            ok(!rc && !p.kept && p.why == HONE_REJECT_UNDECIDED, "verdict/too_few_pairs_keep_nothing");
        else
            ok(!rc && p.kept, "verdict/cut_short_a_gain_beyond_doubt_is_kept");
        hn_evidence_free(&r.e);
        hn_arena_free(&a);
    }
}

/* --- limits, several candidates ----------------------------------------------------------------------------------- */

static void check_limit(void) {
    static const hn_limit_rule limit = {.bound = 0.9, .text = "median(latency) <= 0.9"};
    synthetic fast = {.gain = {1.05}, .noise = 0.001};
    for (int held_out = 0; held_out < 2; held_out++) {
        static synthetic_run r;
        hn_arena a = {0};
        hone_proof p = {0};
        bool carries[1][HONE_MAX_OBJECTIVES] = {{false}};
        fast.n_inputs = held_out ? 2 : 1;
        fast.gain[1] = 1.05;
        fast.held_out = held_out;
        synthetic_begin(&r, &fast, 5, 10);
        for (int i = 0; i < 100; i++) synthetic_pair(&r);
        r.e.limit = &limit;
        r.e.n_limits = 1;
        /* Above the bound on the tuned-on input; or on the held-out one alone, where the baseline is above it too. */
        double base[2] = {held_out ? 0.8 : 1.0, 1.0}, tuned[2] = {held_out ? 0.8 : 0.95, 0.95};
        hn_series_add(&r.e.bound[0], r.e.n_inputs, 0, base, tuned, NULL);
        hone_rc rc = hn_judge_evidence(&r.e, &rules, &a, &p, carries[0], NULL);
        if (!rc) rc = hn_conclude(&p, carries, 1, &rules, &a, NULL);
        if (held_out)
            ok(!rc && p.kept, "verdict/a_limit_the_baseline_breaks_on_a_held_out_input_too");
        else
            ok(!rc && p.why == HONE_REJECT_LIMIT && strstr(p.verdict, "input 'one'"), "verdict/a_broken_limit");
        hn_evidence_free(&r.e);
        hn_arena_free(&a);
    }
}

/* Holm: a gain that one candidate alone would be believed is not among many. */
static void check_holm(void) {
    enum { N = 4 };
    hone_proof p[N];
    bool carries[N][HONE_MAX_OBJECTIVES] = {{false}};
    static hone_comparison c[N], none[N];
    hn_arena a = {0};
    static const double raw[N] = {0.001, 0.02, 0.04, 0.5};
    for (size_t i = 0; i < N; i++) {
        c[i] = (hone_comparison){.quantity = "time", .input = "", .gain = {1.02, 1.03, 1.04}, .p_wilcoxon = raw[i]};
        c[i].finding = HONE_GAINS;
        p[i] = (hone_proof){.kept = true, .n_objectives = 1, .n_inputs = 1, .n_pairs = 100, .n_variants = 10};
        p[i].overall = &c[i];
        p[i].tail = &none[i];
        p[i].by_input = &c[i];
        carries[i][0] = true;
    }
    hone_rc rc = hn_conclude(p, carries, N, &rules, &a, NULL);
    ok(!rc && fabs(c[0].p_adjusted - 0.004) < 1e-12 && fabs(c[1].p_adjusted - 0.06) < 1e-12, "verdict/holm_adjusts");
    ok(p[0].kept && !p[1].kept && !p[2].kept && !p[3].kept, "verdict/holm_takes_back_what_may_be_chance");
    ok(p[1].why == HONE_REJECT_GAIN && strstr(p[1].verdict, "after Holm"), "verdict/holm_is_named");
    hn_arena_free(&a);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void check_json(void) {
    synthetic m = {.gain = {1.05, 1.04, 1.03}, .n_inputs = 3, .held_out = true, .noise = 0.01, .n_objectives = 2};
    hn_arena a = {0};
    hone_proof p = synthetic_validate(&m, 9, 10, rules, &a);
    p.point = "{\"x\":1}";
    p.argv = "gcc -O3";
    p.layout = "none";
    char *text = NULL, *again = NULL;
    hone_proofs back = {0};
    hone_err err;
    hone_rc rc = hone_proof_to_json(&p, true, &text, &err);
    if (!rc) rc = hone_proofs_from_json((const char *const *)&text, 1, &back, &err);
    if (!rc) rc = hone_proof_to_json(&back.proof[0], true, &again, &err);
    ok(!rc && !strcmp(text, again), "verdict/json_comes_back_the_same");
    ok(!rc && back.n == 1 && back.proof[0].n_samples == p.n_samples &&
           back.proof[0].sample[7].tuned == p.sample[7].tuned,
       "verdict/json_keeps_the_samples");
    ok(!rc && !back.proof[0].tail[1].quantity && back.proof[0].held_out && back.proof[0].by_input[5].held_out,
       "verdict/json_keeps_what_is_missing");
    hone_free(text);
    hone_free(again);
    hone_proofs_free(&back);
    static const char *const bad[] = {"", "[]", "{}", "{\"point\": 3}",
                                      "{\"point\":\"\",\"argv\":\"\",\"why\":\"tale\"}"};
    size_t refused = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused += hone_proofs_from_json(&bad[i], 1, &back, &err) == HONE_E_INPUT;
    ok(refused == sizeof bad / sizeof *bad && !back.block, "verdict/bad_json_is_refused");
    hn_arena_free(&a);
}

static void check_names(void) {
    bool distinct = true;
    for (int i = 0; i < HONE_N_REJECT; i++)
        for (int k = 0; k < i; k++)
            distinct &=
                strcmp(hone_proof_reject_name((hone_proof_reject)i), hone_proof_reject_name((hone_proof_reject)k)) != 0;
    ok(distinct && !*hone_proof_reject_name(HONE_NOT_REJECTED), "verdict/every_reason_has_a_name");
}

int main(void) {
    check_kinds();
    check_rates();
    check_too_few();
    check_looks();
    check_stopping();
    check_cut_short();
    check_limit();
    check_holm();
    check_json();
    check_names();
    return done_testing();
}
