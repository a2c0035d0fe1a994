/* measure/stats.c — statistics of one sample. Lack of memory gives NAN, as these functions return no error. */
#include "base/rng.h"
#include "measure/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_FROM = 20000 }; /* with more values resampling takes seconds and gives the same interval */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double *hn_sorted_copy(const double *x, size_t n) {
    double *copy = n > 0 && n <= SIZE_MAX / sizeof *copy ? malloc(n * sizeof *copy) : NULL;
    if (!copy) return NULL;
    memcpy(copy, x, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, by_value);
    return copy;
}

double hn_percentile_sorted(const double *x, size_t n, double p) {
    double at = fmin(fmax(p, 0), 100) / 100 * (double)(n - 1), whole = floor(at);
    size_t i = (size_t)whole;
    if (i + 1 >= n) return x[n - 1];
    return x[i] + (at - whole) * (x[i + 1] - x[i]);
}

double hone_stat_percentile(const double *x, size_t n, double p) {
    double *s = hn_sorted_copy(x, n);
    if (!s) return NAN;
    double v = hn_percentile_sorted(s, n, p);
    free(s);
    return v;
}

double hone_stat_median(const double *x, size_t n) { return hone_stat_percentile(x, n, 50); }

double hone_stat_mean(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return n > 0 ? sum / (double)n : NAN;
}

/* Two passes: the textbook one-pass formula cancels when sd is small beside the mean. */
double hone_stat_sd(const double *x, size_t n) {
    if (n == 0) return NAN;
    double mean = hone_stat_mean(x, n), sum = 0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : 0;
}

double hone_stat_mad(const double *x, size_t n) {
    double *d = hn_sorted_copy(x, n);
    if (!d) return NAN;
    double median = hn_percentile_sorted(d, n, 50);
    for (size_t i = 0; i < n; i++) d[i] = fabs(d[i] - median);
    qsort(d, n, sizeof *d, by_value);
    double mad = hn_percentile_sorted(d, n, 50);
    free(d);
    return 1.4826 * mad;
}

double hone_stat_geomean(const double *x, const double *weight, size_t n) {
    double sum = 0, total = 0;
    for (size_t i = 0; i < n; i++) {
        double w = weight ? weight[i] : 1;
        if (w == 0) continue;
        sum += w * log(x[i]);
        total += w;
    }
    return total > 0 ? exp(sum / total) : NAN;
}

/* Median of a resample of sorted x, from how often each index was drawn: no sort per resample. */
static double resampled_median(const double *x, size_t n, unsigned *times, hn_rng *rng) {
    memset(times, 0, n * sizeof *times);
    for (size_t i = 0; i < n; i++) times[hn_rng_below(rng, n)]++;
    size_t lo_at = (n - 1) / 2, hi_at = n / 2, seen = 0;
    double lo = 0;
    bool have_lo = false;
    for (size_t i = 0; i < n; i++) {
        seen += times[i];
        if (!have_lo && seen > lo_at) {
            lo = x[i];
            have_lo = true;
        }
        if (seen > hi_at) return lo + (x[i] - lo) / 2;
    }
    return lo;
}

hone_interval hn_percentile_interval(double *value, size_t n, double confidence, double mid) {
    qsort(value, n, sizeof *value, by_value);
    double tail = 50 * (1 - confidence);
    return (hone_interval){hn_percentile_sorted(value, n, tail), mid, hn_percentile_sorted(value, n, 100 - tail)};
}

/* The limit of resampling for large n: the median of a resample is the value at index n * U, U ~ Beta(n / 2, n / 2),
 * which is normal with mean 1/2 and standard deviation 1 / (2 sqrt(n)) for large n (David and Nagaraja, Order
 * Statistics, 7.1). */
static hone_interval median_by_ranks(const double *x, size_t n, double confidence) {
    double *s = hn_sorted_copy(x, n), mid = 0.5 * (double)n;
    double far = hone_stat_t_quantile(0.5 + confidence / 2, 1e9) * 0.5 * sqrt((double)n);
    hone_interval out = {NAN, NAN, NAN};
    if (s)
        out = (hone_interval){s[(size_t)fmax(mid - far, 0)], hn_percentile_sorted(s, n, 50),
                              s[(size_t)fmin(mid + far, (double)n - 1)]};
    free(s);
    return out;
}

hone_interval hone_stat_bootstrap_median(const double *x, size_t n, double confidence, size_t n_boot, uint64_t seed) {
    hone_interval out = {NAN, NAN, NAN};
    if (n > RANKS_FROM) return median_by_ranks(x, n, confidence);
    if (n_boot == 0) n_boot = 2000;
    double *s = hn_sorted_copy(x, n), *m = n_boot <= SIZE_MAX / sizeof *m ? malloc(n_boot * sizeof *m) : NULL;
    unsigned *times = s ? malloc(n * sizeof *times) : NULL;
    if (s && m && times) {
        hn_rng rng = hn_rng_make(seed, n);
        for (size_t i = 0; i < n_boot; i++) m[i] = resampled_median(s, n, times, &rng);
        out = hn_percentile_interval(m, n_boot, confidence, hn_percentile_sorted(s, n, 50));
    }
    free(s);
    free(m);
    free(times);
    return out;
}

hone_interval hone_stat_bootstrap_median_at(const double *x, size_t n, double confidence, const size_t *index,
                                            size_t n_boot) {
    hone_interval out = {NAN, NAN, NAN};
    if (n == 0 || n_boot == 0 || n > SIZE_MAX / n_boot / sizeof(double)) return out;
    double *m = malloc(n_boot * sizeof *m), *drawn = malloc(n * sizeof *drawn);
    bool fine = m && drawn;
    for (size_t b = 0; fine && b < n_boot; b++) {
        for (size_t i = 0; fine && i < n; i++) {
            size_t at = index[b * n + i];
            fine = at < n;
            if (fine) drawn[i] = x[at];
        }
        if (fine) m[b] = hone_stat_median(drawn, n);
    }
    if (fine) out = hn_percentile_interval(m, n_boot, confidence, hone_stat_median(x, n));
    free(m);
    free(drawn);
    return out;
}

double hone_stat_trimmed_mean(const double *x, size_t n, double share) {
    double *s = hn_sorted_copy(x, n);
    size_t cut = (size_t)(fmin(fmax(share, 0), 0.5) * (double)n);
    if (2 * cut >= n && n > 0) cut = (n - 1) / 2; /* something is left: the median */
    double mean = s ? hone_stat_mean(s + cut, n - 2 * cut) : NAN;
    free(s);
    return mean;
}
