/* Designs over a few choices, and main effects from synthetic measurements. */
#include "experiment/factorial.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* Two compilers, three contracts, four levels, three widths, two yes-or-no controls. */
static const hn_factors five = {
    .n = 6,
    .n_levels = {2, 3, 4, 3, 2, 2},
    .sd = {{0, 0.2}, {0, 0.5, 0.1}, {0, 0.15, 0.08, 0.08}, {0, 0.1, 0.1}, {0, 0.1}, {0, 0.1}},
};
enum { N_ALL = 2 * 3 * 4 * 3 * 2 * 2, N_TERMS = 10 };
static const double truth[N_TERMS] = {-0.05, -0.65, -0.02, 0.01, 0.2, 0.3, 0.04, 0, 0.1, 0};

static void list_all(hn_combination *all) {
    for (size_t i = 0; i < N_ALL; i++) {
        size_t left = i;
        memset(&all[i], 0, sizeof all[i]);
        for (size_t k = 0; k < five.n; k++) {
            all[i].level[k] = (unsigned char)(left % five.n_levels[k]);
            left /= five.n_levels[k];
        }
    }
}

static double true_value(const hn_combination *c) {
    double sum = 0;
    for (size_t k = 0; k < five.n; k++) {
        size_t at = hn_factor_term(&five, k, c->level[k]);
        if (at != SIZE_MAX) sum += truth[at];
    }
    return sum;
}

static void test_terms(void) {
    ok(hn_factor_term(&five, 0, 0) == SIZE_MAX && hn_factor_term(&five, 0, 1) == 0, "factorial/level_0_has_no_term");
    ok(hn_factor_term(&five, 2, 3) == 5 && hn_factor_term(&five, 5, 1) == N_TERMS - 1, "factorial/terms_in_order");
    hn_effects e;
    hn_effects_begin(&five, &e);
    ok(e.n == N_TERMS && e.cov[1][1] == 0.25, "factorial/begins_with_the_priors");
}

/* The effects come back from a design a tenth as long as the full factorial, and their intervals hold them. */
static void test_recovers(void) {
    hn_combination all[N_ALL], seen[20];
    double cost[N_ALL], y[20];
    size_t chosen[20], n_in = 0, n_fast_first = 0, n_trial = 200;
    double worst = 0;
    list_all(all);
    for (size_t i = 0; i < N_ALL; i++) cost[i] = 1;
    size_t n = hn_design_order(&five, all, cost, N_ALL, 0.02, 0, N_TERMS + 3, chosen);
    ok(n == N_TERMS + 3, "factorial/a_design_as_long_as_asked (%zu)", n);
    for (size_t i = 0; i < 2; i++) n_fast_first += all[chosen[i]].level[1] == 1;
    ok(n_fast_first >= 1, "factorial/what_may_bring_the_most_comes_first");
    bool twice = false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) twice |= chosen[i] == chosen[k];
    ok(!twice, "factorial/nothing_is_measured_twice");
    hn_rng rng = hn_rng_make(7, 0);
    for (size_t trial = 0; trial < n_trial; trial++) {
        hn_effects e;
        for (size_t i = 0; i < n; i++) {
            seen[i] = all[chosen[i]];
            y[i] = true_value(&seen[i]) + 0.01 * hn_rng_normal(&rng);
        }
        hn_effects_fit(&five, seen, y, n, 0.01, &e);
        for (size_t k = 0; k < N_TERMS; k++) {
            double miss = fabs(e.mean[k] - truth[k]);
            n_in += miss < 1.96 * sqrt(e.cov[k][k]);
            worst = miss > worst ? miss : worst;
        }
    }
    ok(worst < 0.12, "factorial/effects_are_found (worst miss %.3f)", worst);
    ok((double)n_in > 0.93 * (double)(n_trial * N_TERMS), "factorial/intervals_hold_them (%zu of %zu)", n_in,
       n_trial * N_TERMS);
}

/* What choices bring only together widens the intervals of all. */
static void test_lack_of_fit(void) {
    hn_combination all[N_ALL], seen[20];
    double cost[N_ALL], y[20], odd[20];
    size_t chosen[20];
    list_all(all);
    for (size_t i = 0; i < N_ALL; i++) cost[i] = 1;
    size_t n = hn_design_order(&five, all, cost, N_ALL, 0.02, 0, 18, chosen);
    for (size_t i = 0; i < n; i++) {
        seen[i] = all[chosen[i]];
        y[i] = odd[i] = true_value(&seen[i]);
        if (seen[i].level[0] && seen[i].level[1] == 1 && seen[i].level[3]) odd[i] -= 0.4;
    }
    hn_effects plain, e;
    hn_effects_fit(&five, seen, y, n, 0.005, &plain);
    hn_effects_fit(&five, seen, odd, n, 0.005, &e);
    ok(e.cov[1][1] > 2 * plain.cov[1][1], "factorial/interactions_widen_the_intervals");
    ok(e.mean[1] < -0.4, "factorial/a_large_effect_survives_them (%.2f)", e.mean[1]);
}

/* Costs move a choice back, and a given beginning stays. */
static void test_order(void) {
    hn_combination all[N_ALL];
    double cost[N_ALL];
    size_t chosen[20], before = 0, n;
    list_all(all);
    for (size_t i = 0; i < N_ALL; i++) cost[i] = all[i].level[5] ? 40 : 1;
    chosen[0] = 2; /* the second contract's level 1 alone */
    n = hn_design_order(&five, all, cost, N_ALL, 0.02, 1, 12, chosen);
    ok(chosen[0] == 2 && n == 12, "factorial/what_is_given_stays");
    while (before < n && !all[chosen[before]].level[5]) before++;
    ok(before >= 6, "factorial/what_costs_much_comes_late (%zu)", before);
    hn_factors none = {.n = 0};
    hn_combination only = {{0}};
    double one = 1;
    ok(hn_design_order(&none, &only, &one, 1, 0.02, 0, 5, chosen) == 0, "factorial/nothing_to_choose_needs_nothing");
    hn_effects e;
    hn_effects_fit(&five, all, cost, 0, 0.01, &e);
    ok(e.mean[0] == 0 && e.cov[0][0] == five.sd[0][1] * five.sd[0][1], "factorial/no_measurement_leaves_the_prior");
}

int main(void) {
    test_terms();
    test_recovers();
    test_lack_of_fit();
    test_order();
    return done_testing();
}
