/* Tails, tests and clustered intervals against values from tables or worked out by hand. Agreement with SciPy on random
 * cases is tests/py/stats.t. */
#include <hone/stat.h>

#include "base/rng.h"

#include <math.h>

#include "tap.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-10 * fmax(1e-3, fabs(b)); }

static void test_tails(void) {
    static const struct {
        double t, freedom, tail;
    } c[] = {
        {0, 3, 0.5},
        {1, 1, 0.25},
        {-1, 1, 0.75},
        {M_SQRT2, 2, (1 - M_SQRT1_2) / 2},
        {INFINITY, 4, 0},
        {-INFINITY, 4, 1},
        {1e200, 1, 1e-200 / M_PI},
        {1.959963984540054, INFINITY, 0.025},
        {1e-200, 2.5, 0.5},
        {12.706204736432095, 1, 0.025},
        {2, 1e13, 0.02275013194817921},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        ok(near(hone_stat_t_tail(c[i].t, c[i].freedom), c[i].tail), "dist/t_tail_%g_%g", c[i].t, c[i].freedom);
    ok(near(hone_stat_normal_tail(1.959963984540054), 0.025) && near(hone_stat_normal_tail(0), 0.5),
       "dist/normal_tail");
    ok(isnan(hone_stat_t_tail(NAN, 3)) && isnan(hone_stat_t_tail(1, 0)) && isnan(hone_stat_t_tail(1, NAN)),
       "dist/t_tail_of_nonsense");
    ok(near(hone_stat_t_quantile(0.975, 9), 2.2621571627409915), "dist/t_quantile");
    ok(near(hone_stat_t_quantile(0.025, 9), -2.2621571627409915) && hone_stat_t_quantile(0.5, 9) == 0,
       "dist/t_quantile_below");
    ok(isinf(hone_stat_t_quantile(1, 9)) && isnan(hone_stat_t_quantile(1.1, 9)), "dist/t_quantile_ends");
}

static void test_two_samples(void) {
    static const double a[] = {3, 4, 5, 6}, b[] = {1, 2, 2.5}, flat[] = {2, 2, 2};
    hone_stat_test r = hone_stat_mann_whitney(a, 4, b, 3, HONE_TEST_AUTO);
    ok(r.statistic == 12 && near(r.p, 2.0 / 35), "tests/mann_whitney_exact");
    r = hone_stat_mann_whitney(b, 3, a, 4, HONE_TEST_AUTO);
    ok(r.statistic == 0 && near(r.p, 2.0 / 35), "tests/mann_whitney_swapped");
    r = hone_stat_mann_whitney(flat, 3, flat, 3, HONE_TEST_AUTO);
    ok(r.statistic == 4.5 && r.p == 1, "tests/mann_whitney_all_equal");
    ok(isnan(hone_stat_mann_whitney(a, 0, b, 3, HONE_TEST_AUTO).p), "tests/mann_whitney_of_nothing");
    r = hone_stat_welch(a, 4, flat, 3);
    ok(near(r.statistic, 2.5 / sqrt(5.0 / 12)) && near(r.freedom, 3), "tests/welch_one_side_flat");
    ok(isnan(hone_stat_welch(flat, 3, flat, 3).p) && isnan(hone_stat_welch(a, 1, b, 3).p), "tests/welch_says_nothing");
    ok(hone_stat_cliffs_delta(a, 4, b, 3) == 1 && hone_stat_cliffs_delta(b, 3, a, 4) == -1, "tests/cliff_apart");
    ok(hone_stat_cliffs_delta(flat, 3, flat, 3) == 0, "tests/cliff_equal");
    ok(hone_stat_hedges_g(a, 4, b, 3) > 0 && isnan(hone_stat_hedges_g(flat, 3, flat, 3)), "tests/hedges");
}

static void test_wilcoxon(void) {
    static const double up[] = {1, 2, 3, 4, 5}, mixed[] = {-1, 2, 3, -4, 5}, zero[] = {0, 0, 0}, tied[] = {1, 1, 1, 0};
    hone_stat_test r = hone_stat_wilcoxon(up, 5, HONE_TEST_AUTO);
    ok(r.statistic == 0 && near(r.p, 2.0 / 32), "tests/wilcoxon_exact");
    r = hone_stat_wilcoxon(mixed, 5, HONE_TEST_AUTO);
    ok(r.statistic == 5 && near(r.p, 2 * 10.0 / 32), "tests/wilcoxon_mixed");
    r = hone_stat_wilcoxon(tied, 4, HONE_TEST_AUTO);
    ok(r.statistic == 0 && near(r.p, 2.0 / 8), "tests/wilcoxon_ties_and_zero");
    ok(isnan(hone_stat_wilcoxon(zero, 3, HONE_TEST_AUTO).p) && isnan(hone_stat_wilcoxon(up, 0, HONE_TEST_AUTO).p),
       "tests/wilcoxon_of_nothing");
}

static void test_holm(void) {
    double p[] = {0.01, NAN, 0.04, 0.03, 0.5};
    static const double want[] = {0.04, NAN, 0.09, 0.09, 0.5};
    bool fine = hone_stat_holm(p, 5, p);
    for (size_t i = 0; i < 5; i++) fine = fine && (isnan(want[i]) ? isnan(p[i]) : near(p[i], want[i]));
    ok(fine, "tests/holm_in_place_and_nan");
    ok(hone_stat_holm(p, 0, p), "tests/holm_of_none");
}

static void test_given_indices(void) {
    static const double x[] = {10, 20, 30};
    static const size_t index[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 2}, beyond[] = {0, 1, 3};
    hone_interval r = hone_stat_bootstrap_median_at(x, 3, 0.5, index, 4);
    ok(near(r.lo, 17.5) && near(r.mid, 20) && near(r.hi, 22.5), "cluster/bootstrap_with_given_indices");
    ok(isnan(hone_stat_bootstrap_median_at(x, 3, 0.5, beyond, 1).lo), "cluster/bootstrap_index_beyond");
}

enum { K = 10, PER = 20 };

/* K clusters with a shift of their own each. */
static void make_clusters(uint64_t seed, double between, double *x, unsigned *cluster) {
    hn_rng rng = hn_rng_make(seed, 0);
    for (unsigned c = 0; c < K; c++) {
        double shift = between * hn_rng_normal(&rng);
        for (unsigned i = 0; i < PER; i++) {
            x[c * PER + i] = shift + hn_rng_normal(&rng);
            cluster[c * PER + i] = 100 - c;
        }
    }
}

static double width(hone_interval r) { return r.hi - r.lo; }

static void test_clusters(void) {
    double x[K * PER];
    unsigned cluster[K * PER];
    size_t n = K * PER, n_wider = 0, n_covered = 0, n_plain = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        make_clusters(seed, 1, x, cluster);
        hone_interval two = hone_stat_bootstrap_clustered(x, cluster, n, HONE_CENTER_MEDIAN, 0.95, 300, seed);
        hone_interval one = hone_stat_bootstrap_median(x, n, 0.95, 300, seed);
        n_wider += width(two) > 1.5 * width(one);
        n_covered += two.lo <= 0 && 0 <= two.hi;
        n_plain += one.lo <= 0 && 0 <= one.hi;
    }
    ok(n_wider >= 190, "cluster/interval_knows_the_spread_between_clusters (%zu of 200)", n_wider);
    ok(n_covered >= 165 && n_plain < 120, "cluster/covers_where_the_plain_one_fails (%zu, plain %zu of 200)", n_covered,
       n_plain);
    hone_interval a = hone_stat_bootstrap_clustered(x, cluster, n, HONE_CENTER_TRIMMED, 0.95, 0, 7);
    hone_interval b = hone_stat_bootstrap_clustered(x, cluster, n, HONE_CENTER_TRIMMED, 0.95, 0, 7);
    ok(a.lo == b.lo && a.hi == b.hi && a.lo < a.mid && a.mid < a.hi, "cluster/is_a_function_of_the_seed");
    ok(a.mid == hone_stat_trimmed_mean(x, n, 0.2), "cluster/center_is_the_trimmed_mean");
    a = hone_stat_cluster_t(x, cluster, n, HONE_CENTER_MEDIAN, 0.95);
    b = hone_stat_cluster_t(x, cluster, PER, HONE_CENTER_MEDIAN, 0.95);
    ok(a.lo < a.mid && isinf(b.lo) && b.lo < 0 && isinf(b.hi) && b.mid == hone_stat_median(x, PER),
       "cluster/t_interval_of_one_cluster_is_infinite");
    ok(isnan(hone_stat_cluster_t(x, cluster, 0, HONE_CENTER_MEDIAN, 0.95).lo), "cluster/of_nothing");
}

/* Equal values in every cluster leave no freedom to any resample. */
static void test_uneven_clusters(void) {
    static const double x[] = {5, 5, 5, 5, 5, 5}, y[] = {1, 2, 3, 4, 5, 6};
    static const unsigned cluster[] = {7, 0, 7, 7, 3, 7}, one[] = {0, 1, 2, 3, 4, 5};
    hone_interval r = hone_stat_bootstrap_clustered(x, cluster, 6, HONE_CENTER_MEDIAN, 0.95, 100, 1);
    ok(r.lo == 5 && r.mid == 5 && r.hi == 5, "cluster/equal_values");
    r = hone_stat_bootstrap_clustered(y, one, 6, HONE_CENTER_MEDIAN, 0.9, 4000, 1);
    hone_interval plain = hone_stat_bootstrap_median(y, 6, 0.9, 4000, 2);
    ok(r.lo == plain.lo && r.hi == plain.hi, "cluster/clusters_of_one_are_a_plain_bootstrap");
}

int main(void) {
    test_tails();
    test_two_samples();
    test_wilcoxon();
    test_holm();
    test_given_indices();
    test_clusters();
    test_uneven_clusters();
    return done_testing();
}
