/* hone/stat.h — statistics of samples.
 *
 * Threads: all functions are re-entrant.   Units: those of the values; shares and ratios.
 */
#ifndef HONE_STAT_H
#define HONE_STAT_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- statistics of one sample: x is n finite values, not modified, n >= 1 ------------------------------------- */

/* Percentile p in 0..100, linear interpolation between order statistics (Hyndman & Fan 1996, type 7). */
HONE_API double hone_stat_percentile(const double *x, size_t n, double p);
HONE_API double hone_stat_median(const double *x, size_t n);
HONE_API double hone_stat_mean(const double *x, size_t n);
HONE_API double hone_stat_sd(const double *x, size_t n);  /* n - 1 in the divisor; 0 for n = 1 */
HONE_API double hone_stat_mad(const double *x, size_t n); /* median absolute deviation * 1.4826 */
HONE_API double hone_stat_geomean(const double *x, const double *weight, size_t n); /* weight NULL: equal */

typedef struct hone_interval {
    double lo, mid, hi;
} hone_interval;
/* Percentile bootstrap of the median with n_boot resamples (0: 2000); pure function of seed. Of more than 20,000
 * values: its limit, computed from order statistics. */
HONE_API hone_interval hone_stat_bootstrap_median(const double *x, size_t n, double confidence, size_t n_boot,
                                                  uint64_t seed);
/* The same over given resamples: index holds n_boot rows of n indices below n. An index beyond gives NANs. */
HONE_API hone_interval hone_stat_bootstrap_median_at(const double *x, size_t n, double confidence, const size_t *index,
                                                     size_t n_boot);
/* Mean of what is left when the share (0 .. 0.5) of the sample, rounded down, is cut off at each end. */
HONE_API double hone_stat_trimmed_mean(const double *x, size_t n, double share);

/* --- distributions: sources and accuracy in docs/measuring.md ---------------------------------------------------- */

HONE_API double hone_stat_normal_tail(double z);                /* P(Z > z) */
HONE_API double hone_stat_t_tail(double t, double freedom);     /* P(T > t), freedom > 0, may be INFINITY */
HONE_API double hone_stat_t_quantile(double p, double freedom); /* t with P(T <= t) = p */

/* --- tests: two-sided. NAN where they say nothing (too few values, no spread at all) ------------------------------ */

typedef enum hone_stat_method {
    HONE_TEST_AUTO,      /* exact for small samples, as SciPy's method='auto' */
    HONE_TEST_ASYMPTOTIC /* normal approximation, corrected for ties */
} hone_stat_method;
typedef struct hone_stat_test {
    double statistic, p;
    double freedom; /* Welch; else NAN */
} hone_stat_test;
/* Welch's t test of the means; statistic: t, positive when a is larger. Needs two values a side. */
HONE_API hone_stat_test hone_stat_welch(const double *a, size_t n_a, const double *b, size_t n_b);
/* Mann & Whitney's U; statistic: pairs in which a is larger, ties counting half. Continuity is corrected. */
HONE_API hone_stat_test hone_stat_mann_whitney(const double *a, size_t n_a, const double *b, size_t n_b,
                                               hone_stat_method method);
/* Wilcoxon's signed-rank test of n differences; zeros are left out; statistic: the smaller rank sum. */
HONE_API hone_stat_test hone_stat_wilcoxon(const double *d, size_t n, hone_stat_method method);
/* Holm's step-down adjustment of n p-values; NANs stay NAN and do not count. adjusted may be p. False: no memory. */
HONE_API bool hone_stat_holm(const double *p, size_t n, double *adjusted);
/* P(a > b) - P(a < b) over all pairs, -1 … 1 (Cliff 1993). */
HONE_API double hone_stat_cliffs_delta(const double *a, size_t n_a, const double *b, size_t n_b);
/* (mean a - mean b) / pooled standard deviation, with Hedges's correction for small samples (g, 1981). */
HONE_API double hone_stat_hedges_g(const double *a, size_t n_a, const double *b, size_t n_b);

/* --- clustered samples: x[i] is of cluster[i] (any numbers); a cluster is the sampling unit ------------------------
 */

typedef enum hone_stat_center { HONE_CENTER_MEDIAN, HONE_CENTER_TRIMMED /* 20 % off each end */ } hone_stat_center;
/* Percentile bootstrap in two stages: clusters with replacement, then values inside each drawn cluster with
 * replacement. mid: the center of all values. n_boot 0: 2000. Pure function of seed. One cluster alone is a plain
 * bootstrap of its values, which does not include the spread between clusters. */
HONE_API hone_interval hone_stat_bootstrap_clustered(const double *x, const unsigned *cluster, size_t n,
                                                     hone_stat_center center, double confidence, size_t n_boot,
                                                     uint64_t seed);
/* t interval of the mean of the clusters' centers; mid: that mean. Infinite ends with fewer than two clusters. */
HONE_API hone_interval hone_stat_cluster_t(const double *x, const unsigned *cluster, size_t n, hone_stat_center center,
                                           double confidence);

#ifdef __cplusplus
}
#endif
#endif
