/* Device code as a prior: what ranks first, what is not timed. Figures are made up. */
#include "tap.h"
#include "tune/code.h"
#include "tune/trial.h"

#include <math.h>

static hn_build build(double spills, double occupancy, double instructions, double local_b) {
    hn_build b = {.cls = HONE_RUN_OK};
    b.prior[HN_PRIOR_SPILLS] = spills;
    b.prior[HN_PRIOR_OCCUPANCY] = occupancy;
    b.prior[HN_PRIOR_INSTRUCTIONS] = instructions;
    b.prior[HN_PRIOR_LOCAL_BYTES] = local_b;
    return b;
}

static void test_prunes(const hone_workload *w) {
    const hn_build base = build(0, 0.5, 700, 0);
    static const struct {
        const char *name;
        double spills, occupancy, instructions, local_b;
        bool prunes;
    } c[] = {
        {"equal", 0, 0.5, 700, 0, false},         {"better", 0, 1, 400, 0, false},
        {"unrolled", 0, 0.5, 7000, 0, false}, /* one sign alone */
        {"one_block", 0, 0.125, 700, 0, false},   {"does_not_fit", 0, 0, 700, 0, false},
        {"spills", 4000, 0.5, 900, 4000, true},   {"unrolled_and_spilling", 900, 0.5, 7000, 900, true},
        {"few_spills", 64, 0.25, 900, 64, false}, {"slow_all_over", 900, 0.1, 7000, 0, true},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_build b = build(c[i].spills, c[i].occupancy, c[i].instructions, c[i].local_b);
        char why[400] = "";
        bool prunes = hn_prior_prunes(w, &base, &b, why, sizeof why);
        ok(prunes == c[i].prunes && prunes == (strstr(why, "not timed") != NULL), "prior/%s %s", c[i].name, why);
    }
    hn_build b = build(4000, 0.1, 9000, 4000);
    char why[400];
    hone_workload none = {0};
    ok(!hn_prior_prunes(&none, &base, &b, why, sizeof why), "prior/only_where_asked_for");
}

static void test_order(const hone_workload *w) {
    const hn_build base = build(0, 0.5, 700, 0);
    hn_build b[] = {build(900, 0.5, 900, 900), build(0, 0.5, 700, 0),  build(0, 1, 500, 0),
                    {.cls = HONE_BUILD_ERROR}, build(0, 0.25, 700, 0), build(0, 1, 400, 0)};
    static const size_t want[] = {2, 1, 0, 3, 5, 4};
    size_t order[6], plain[6], right = 0, as_is = 0;
    hone_workload none = {0};
    hn_prior_order(w, &base, b, 6, order);
    hn_prior_order(&none, &base, b, 6, plain);
    for (size_t i = 0; i < 6; i++) right += order[i] == want[i], as_is += plain[i] == i;
    ok(right == 6, "prior/order: %zu %zu %zu %zu %zu %zu", order[0], order[1], order[2], order[3], order[4], order[5]);
    ok(as_is == 6, "prior/order_as_it_is_without");
}

static void test_violations(void) {
    static const struct {
        const char *name;
        hn_limit_rule rule;
        double value, base, want;
    } c[] = {
        {"equal", {.equal = true, .bound = 0}, 0, 5, 0},
        {"equal_above", {.equal = true, .bound = 4}, 6, 5, 0.5},
        {"equal_below", {.equal = true, .bound = 4}, 2, 5, 0.5},
        {"at_most", {.bound = 128}, 160, 5, 0.25},
        {"baseline_kept", {.at_least = true, .of_baseline = true}, 0.5, 0.5, 0},
        {"below_baseline", {.at_least = true, .of_baseline = true}, 0.25, 0.5, 0.5},
        {"above_baseline", {.of_baseline = true}, 12, 10, 0.2},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        double got = hn_violation(&c[i].rule, c[i].value, c[i].base);
        ok(fabs(got - c[i].want) < 1e-12, "violation/%s is %g", c[i].name, got);
    }
}

static void test_log(void) {
    hn_str s = {0};
    hn_str_add(&s, "cc x.cu");
    hn_code_keep_log(&s);
    ok(s.text && strstr(s.text, "(\ncc x.cu\n) 2>"), "code/what_the_build_says_is_kept");
    hn_str_free(&s);
}

int main(void) {
    hone_workload w = {.code = {.prior = true}};
    test_prunes(&w);
    test_order(&w);
    test_violations();
    test_log();
    return done_testing();
}
