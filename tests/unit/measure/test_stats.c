/* Statistics against values worked out by hand (or with R's quantile type 7). */
#include <hone/machine.h>
#include <hone/stat.h>
#include <math.h>

#include "tap.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fmax(1, fabs(b)); }

static void test_percentiles(void) {
    static const double four[] = {4, 1, 3, 2}, one[] = {7};
    static const struct {
        const double *x;
        size_t n;
        double p, want;
    } c[] = {
        {four, 4, 0, 1},  {four, 4, 100, 4}, {four, 4, 50, 2.5}, {four, 4, 25, 1.75}, {four, 4, 90, 3.7},
        {four, 4, -5, 1}, {four, 4, 150, 4}, {one, 1, 50, 7},    {one, 1, 99, 7},     {four, 3, 50, 3},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        ok(near(hone_stat_percentile(c[i].x, c[i].n, c[i].p), c[i].want), "stats/percentile_%g", c[i].p);
    ok(four[0] == 4 && four[1] == 1, "stats/sample_is_not_modified");
}

static void test_moments(void) {
    static const double x[] = {2, 4, 4, 4, 5, 5, 7, 9}, big[] = {1e9 + 1, 1e9 + 2, 1e9 + 3}, g[] = {1, 8}, w[] = {2, 1};
    ok(near(hone_stat_mean(x, 8), 5), "stats/mean");
    ok(near(hone_stat_sd(x, 8), sqrt(32.0 / 7)), "stats/sd");
    ok(near(hone_stat_sd(big, 3), 1), "stats/sd_beside_a_large_mean");
    ok(hone_stat_sd(x, 1) == 0, "stats/sd_of_one_is_0");
    ok(near(hone_stat_mad(x, 8), 1.4826 * 0.5), "stats/mad");
    ok(near(hone_stat_geomean(g, NULL, 2), sqrt(8)), "stats/geomean");
    ok(near(hone_stat_geomean(g, w, 2), 2), "stats/geomean_weighted");
}

static void test_bootstrap(void) {
    double same[10], x[101];
    for (int i = 0; i < 10; i++) same[i] = 3;
    for (int i = 0; i < 101; i++) x[i] = i;
    hone_interval a = hone_stat_bootstrap_median(same, 10, 0.95, 0, 1);
    ok(a.lo == 3 && a.mid == 3 && a.hi == 3, "stats/bootstrap_of_equal_samples");
    a = hone_stat_bootstrap_median(same, 1, 0.95, 100, 1);
    ok(a.lo == 3 && a.hi == 3, "stats/bootstrap_of_one");
    a = hone_stat_bootstrap_median(x, 101, 0.95, 0, 7);
    /* Order statistics around the median: 50 -+ 1.96 * sqrt(101) / 2, so 40 .. 60. */
    ok(a.mid == 50 && a.lo > 36 && a.lo < 44 && a.hi > 56 && a.hi < 64, "stats/bootstrap_interval");
    hone_interval b = hone_stat_bootstrap_median(x, 101, 0.95, 0, 7), c = hone_stat_bootstrap_median(x, 101, 0.5, 0, 7);
    ok(a.lo == b.lo && a.hi == b.hi, "stats/bootstrap_is_a_function_of_the_seed");
    ok(c.lo > a.lo && c.hi < a.hi, "stats/bootstrap_narrows_with_confidence");
    static double many[20001];
    for (size_t i = 0; i < 20001; i++) many[i] = (double)((i * 7919) % 20001);
    a = hone_stat_bootstrap_median(many, 20000, 0.95, 500, 7), b = hone_stat_bootstrap_median(many, 20001, 0.95, 0, 7);
    ok(fabs(a.lo - b.lo) < 25 && fabs(a.hi - b.hi) < 25 && b.mid == 10000 && fabs(b.hi - b.lo - 277.2) < 3,
       "stats/bootstrap_of_many_is_by_ranks %g %g, %g %g", a.lo, a.hi, b.lo, b.hi);
}

static void test_machine(void) {
    hone_machine a, b;
    hone_noise n;
    hone_machine_get(&a);
    hone_machine_get(&b);
    ok(*a.cpu && a.n_cpu >= 1 && a.n_usable >= 1 && a.memory_b > 0, "machine/is_described");
    ok(strlen(a.hash) == 32 && strcmp(a.hash, b.hash) == 0, "machine/hash_is_stable");
    ok(hone_noise_measure(0.05, &n, NULL) == HONE_OK && n.rel_mad >= 0 && n.cpu >= 0, "machine/noise_is_measured");
    ok(hone_noise_measure(NAN, &n, NULL) == HONE_E_USAGE, "machine/noise_of_nan_seconds");
}

int main(void) {
    test_percentiles();
    test_moments();
    test_bootstrap();
    test_machine();
    return done_testing();
}
