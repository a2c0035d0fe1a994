/* The search for mixed precision on a planted model; points that are kept; how certain a mean is. */
#include "../failalloc.h"
#include "../tap.h"
#include "base/err.h"
#include "mixed/mixed.h"

#include <math.h>
#include <string.h>

/* --- the search ----------------------------------------------------------------------------------------------------
 */

enum { N = 12, FIRST = 3, SECOND = 8 };

typedef struct planted {
    unsigned n_calls, fails_at;
    double now_s; /* a clock that goes on by a second with each call */
    bool cancels; /* the two sensitive products make up for each other; the first product is sensitive, too */
} planted;

/* Two products are sensitive; errors add in squares, and the second way to take ranges doubles them. */
static hone_rc planted_error(void *arg, const bool *narrow, uint32_t ranges, double *out, hone_err *err) {
    planted *p = arg;
    double sum = 0;
    p->now_s++;
    if (++p->n_calls == p->fails_at) return hn_fail(err, HONE_E_FAILED, "the metric fails");
    bool both = p->cancels && narrow[FIRST] && narrow[SECOND];
    for (int i = 0; i < N; i++) {
        bool sensitive = (i == FIRST || i == SECOND) && !both;
        double e = sensitive || (p->cancels && !i) ? .05 : .001;
        sum += narrow[i] ? e * e : 0;
    }
    *out = (ranges ? 2 : 1) * sqrt(sum);
    return HONE_OK;
}

static hn_mixed_problem problem_of(planted *p) {
    static double change[N];
    static uint64_t wide[N], slim[N];
    for (int i = 0; i < N; i++) change[i] = -.03, wide[i] = 400, slim[i] = 100;
    return (hn_mixed_problem){
        .n = N, .n_ranges = 2, .change = change, .wide = wide, .slim = slim, .error = planted_error, .arg = p};
}

static const hn_mixed_point *fastest(hn_mixed *m, double most) {
    size_t *front, n;
    const hn_mixed_point *best = NULL;
    if (hn_mixed_front(m, &front, &n, NULL)) return NULL;
    for (size_t i = 0; i < n; i++) {
        const hn_mixed_point *x = &m->point[front[i]];
        if (x->error <= most && (!best || x->latency < best->latency)) best = x;
    }
    return best;
}

static void test_planted(void) {
    planted p = {0};
    hn_mixed_problem problem = problem_of(&p);
    hn_mixed m, again;
    hone_err err = {0};
    if (!ok(hn_mixed_run(&problem, &m, &err) == HONE_OK, "search/planted: %s", err.text)) return;
    const hn_mixed_point *x = fastest(&m, .01);
    ok(x && !x->narrow[FIRST] && !x->narrow[SECOND] && fabs(x->latency - .7) < 1e-9 && x->ranges == 0,
       "search/two_sensitive_products_stay_in_f32");
    ok(x && x->weights_b == 10 * 100 + 2 * 400, "search/weights_are_counted");
    x = fastest(&m, 1);
    ok(x && fabs(x->latency - (1 - N * .03)) < 1e-9, "search/everything_is_narrow_where_it_may");
    x = fastest(&m, 0);
    ok(x && x == &m.point[0] && x->latency == 1, "search/nothing_is_where_it_may_not");
    ok(m.order[N - 1] + m.order[N - 2] == FIRST + SECOND, "search/sensitive_ones_come_last");
    ok(p.n_calls == m.n && m.n > N + 3, "search/no_point_is_evaluated_twice: %u calls", p.n_calls);
    p = (planted){0};
    bool same = hn_mixed_run(&problem, &again, NULL) == HONE_OK && again.n == m.n;
    for (size_t i = 0; same && i < m.n; i++)
        same = !memcmp(m.point[i].narrow, again.point[i].narrow, N) && m.point[i].ranges == again.point[i].ranges;
    ok(same, "search/the_same_again");
    size_t *front, n;
    bool apart = hn_mixed_front(&m, &front, &n, NULL) == HONE_OK && front[0] == 0;
    for (size_t i = 1; apart && i < n; i++)
        for (size_t k = 1; k < n; k++) {
            const hn_mixed_point *a = &m.point[front[i]], *b = &m.point[front[k]];
            apart = apart && (i == k || a->error < b->error || a->latency < b->latency || a->weights_b < b->weights_b);
        }
    ok(apart, "front/no_point_is_dominated");
    hn_mixed_free(&m), hn_mixed_free(&again);
}

static bool all_narrow(const hn_mixed_point *x) { return x && !memchr(x->narrow, false, N); }
static double planted_now(void *arg) { return ((const planted *)arg)->now_s; }
static double two_seconds(void *arg) { return (void)arg, 2; }

/* Of all time .3 is for ways to take ranges, behind f32, and .6 until no product alone is begun. */
static void test_time_is_short(void) {
    static const struct {
        const char *name;
        double until_s;
        uint32_t n_ranges, n_alone, n_asked;
        bool late;
    } cases[] = {
        {"over_at_once", 1, 1, 0, 4, true},
        {"ranges_then_some_products", 10, 2, 3, 4, true},
        {"all_products_some_points", 26, 2, 12, 11, true},
        {"enough", 1e6, 2, 12, 64, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        planted p = {0};
        hn_mixed_problem problem = problem_of(&p);
        hn_mixed m;
        problem.until_s = cases[i].until_s, problem.now_s = planted_now;
        if (!ok(hn_mixed_run(&problem, &m, NULL) == HONE_OK, "time/%s", cases[i].name)) continue;
        ok(m.n_ranges == cases[i].n_ranges && m.n_alone == cases[i].n_alone, "time/%s/parts: %u %u", cases[i].name,
           m.n_ranges, m.n_alone);
        ok(m.n_asked == cases[i].n_asked && m.late == cases[i].late, "time/%s/engine: %u %d", cases[i].name, m.n_asked,
           m.late);
        ok(all_narrow(fastest(&m, 1)) && fastest(&m, 0) == &m.point[0], "time/%s/ends", cases[i].name);
        hn_mixed_free(&m);
    }
}

/* What saves most is tried alone, and what there was no time for stands behind it, by what it saves. */
static void test_order_without_time(void) {
    static const double change[N] = {-.01, -.02, -.03, -.2, -.05, .01, -.07, -.08, -.1, -.04, -.06, -.09};
    static const uint32_t order[N] = {11, 3, 8, 7, 6, 10, 4, 9, 2, 1, 0, 5};
    planted p = {0};
    hn_mixed_problem problem = problem_of(&p);
    hn_mixed m;
    problem.until_s = 10, problem.now_s = planted_now, problem.change = change;
    if (!ok(hn_mixed_run(&problem, &m, NULL) == HONE_OK, "time/order")) return;
    bool same = m.n_alone == 3 && !memcmp(m.order, order, sizeof order);
    ok(same, "time/order/%u tried: %u %u %u %u", m.n_alone, m.order[0], m.order[1], m.order[2], m.order[3]);
    hn_mixed_free(&m);
}

static bool yes(void *arg, const bool *narrow, uint32_t ranges) { return (void)arg, (void)narrow, (void)ranges, true; }

static void test_what_is_known_takes_no_time(void) {
    planted p = {0};
    hn_mixed_problem problem = problem_of(&p);
    hn_mixed m;
    problem.until_s = 1, problem.now_s = planted_now, problem.known = yes;
    if (!ok(hn_mixed_run(&problem, &m, NULL) == HONE_OK, "time/known")) return;
    ok(m.n_ranges == 2 && m.n_alone == N && m.n_asked == 64 && !m.late, "time/known/all: %u %u", m.n_alone, m.n_asked);
    hn_mixed_free(&m);
}

/* The engine ends while there is time to prove the front. */
static void test_time_for_the_proof(void) {
    unsigned asked[2];
    for (int i = 0; i < 2; i++) {
        planted p = {0};
        hn_mixed_problem problem = problem_of(&p);
        hn_mixed m;
        problem.until_s = 60, problem.now_s = planted_now, problem.proof_s = i ? two_seconds : NULL;
        if (!ok(hn_mixed_run(&problem, &m, NULL) == HONE_OK, "time/proof")) return;
        size_t *front, n;
        bool good = hn_mixed_front(&m, &front, &n, NULL) == HONE_OK;
        ok(good && (!i || p.now_s + 2 * (double)n < 63), "time/proof/%zu points at %g", n, p.now_s);
        asked[i] = m.n_asked;
        hn_mixed_free(&m);
    }
    ok(asked[1] + 10 < asked[0], "time/proof/fewer points of the engine: %u %u", asked[1], asked[0]);
}

/* What prefixes of the order cannot have: the engine's part. */
static void test_cancelling(void) {
    planted p = {.cancels = true};
    hn_mixed_problem problem = problem_of(&p);
    hn_mixed m;
    if (!ok(hn_mixed_run(&problem, &m, NULL) == HONE_OK, "search/cancelling")) return;
    const hn_mixed_point *x = fastest(&m, .01);
    ok(x && x->narrow[FIRST] && x->narrow[SECOND] && !x->narrow[0], "search/errors_that_cancel_are_found");
    hn_mixed_free(&m);
    p = (planted){.fails_at = 20};
    hone_err err = {0};
    ok(hn_mixed_run(&problem, &m, &err) == HONE_E_FAILED && strstr(err.text, "metric"), "search/a_failure_ends_it");
}

/* --- what is kept --------------------------------------------------------------------------------------------------
 */

#define HEAD "points: 1\nkey: \"ab\"\nchange: [-0.5, 0.25]\n"

static void test_kept(void) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "no 'points'"},
        {"points: 2\n", "'points' is 1"},
        {"points: 1\nkey: a\n", "'change' is a list"},
        {"points: 1\nkey: a\nchange: [.inf]\n", "number"},
        {HEAD "list: 3\n", "'list' is a list"},
        {HEAD "list:\n  - 3\n", "a point is a map"},
        {HEAD "list:\n  - {ranges: most, narrow: \"01\", error: 1}\n", "'ranges' is"},
        {HEAD "list:\n  - {ranges: mse, narrow: \"011\", error: 1}\n", "2 digits"},
        {HEAD "list:\n  - {ranges: mse, narrow: \"0x\", error: 1}\n", "2 digits"},
        {HEAD "list:\n  - {ranges: mse, narrow: \"01\"}\n", "no 'error'"},
        {HEAD "list:\n  - {ranges: mse, narrow: \"01\", error: 1, more: 2}\n", "more"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hn_kept k;
        hone_err err = {0};
        hone_rc rc = hn_kept_parse(bad[i].text, strlen(bad[i].text), "k", &k, &err);
        ok(rc == HONE_E_INPUT && strstr(err.text, bad[i].says), "kept/refused: %s", err.text);
    }
    static const char good[] = HEAD "list:\n  - {ranges: mse, narrow: \"01\", error: 0.5}\n"
                                    "  - {ranges: entropy, narrow: \"11\", error: 1e-3}\n  - {ranges: mse, nar";
    hn_kept k;
    hone_err err = {0};
    if (!ok(hn_kept_parse(good, strlen(good), "k", &k, &err) == HONE_OK, "kept/read: %s", err.text)) return;
    ok(k.n == 2 && k.change[1] == .25, "kept/a_line_that_was_cut_short_is_left_out");
    ok(hn_kept_add(&k, "minmax", "10", .125, NULL) == HONE_OK, "kept/added");
    const hn_kept_point *p = hn_kept_find(&k, "entropy", "11");
    ok(p && p->error == 1e-3 && !hn_kept_find(&k, "mse", "11"), "kept/found_by_both");
    hn_str a = {0};
    hn_kept_print_head(&k, &a);
    for (size_t i = 0; i < k.n; i++) hn_kept_print_point(&k.point[i], &a);
    hn_kept again = {0};
    ok(hn_kept_parse(a.text, a.n, "k", &again, &err) == HONE_OK && again.n == 3 && again.change[0] == -.5 &&
           !strcmp(again.key, "ab"),
       "kept/what_is_written_is_read: %s", err.text);
    hn_str_free(&a);
    hn_kept_free(&k), hn_kept_free(&again);
}

static hone_rc parse_kept(void *ctx) {
    hn_kept k;
    hone_rc rc = hn_kept_parse(ctx, strlen(ctx), "k", &k, NULL);
    if (!rc) hn_kept_free(&k);
    return rc;
}

/* --- the proof -----------------------------------------------------------------------------------------------------
 */

static void test_upper(void) {
    static const double x[] = {1, 2, 3, 4, 5};
    /* scipy.stats.t.ppf(.95, 4) * sqrt(2.5 / 5) + 3 */
    ok(fabs(hn_upper_mean(x, 5) - 4.507443) < 1e-5, "upper/as_scipy_has_it: %.9g", hn_upper_mean(x, 5));
    ok(isinf(hn_upper_mean(x, 1)), "upper/one_value_says_nothing");
}

static void test_parts_of_a_budget(void) {
    ok(hone_mixed_choice_s(100) == 50, "mixed/the_choice_has_half_of_a_budget");
    ok(hone_mixed_kernels_s(100, 40, false) == 60, "mixed/kernels_have_what_is_left");
    ok(hone_mixed_kernels_s(100, 40, true) == 50, "mixed/a_tenth_is_left_for_judging");
    ok(hone_mixed_kernels_s(100, 300, true) == 10, "mixed/kernels_have_a_tenth_in_any_case");
}

static void test_division(void) {
    float data[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    hone_array a[9];
    hone_precision_samples all = {a, 9, 1}, taken, held;
    hone_err err;
    for (int i = 0; i < 9; i++) a[i] = (hone_array){.dtype = HONE_F32, .data = &data[i]};
    ok(!hone_precision_divide(&all, &taken, &held, &err) && taken.n == 7 && held.n == 2, "mixed/every_fourth_is_held");
    ok(held.a[0].data == &data[3] && held.a[1].data == &data[7] && taken.a[3].data == &data[4],
       "mixed/those_after_three_others");
    hone_precision_free_samples(&taken);
    hone_precision_free_samples(&held);
}

int main(void) {
    test_parts_of_a_budget();
    test_division();
    test_planted();
    test_time_is_short();
    test_order_without_time();
    test_time_for_the_proof();
    test_what_is_known_takes_no_time();
    test_cancelling();
    test_kept();
    sweep_allocations("kept/nth_allocation_fails", parse_kept,
                      HEAD "list:\n  - {ranges: mse, narrow: \"01\", error: 0.5}\n");
    test_upper();
    return done_testing();
}
