/* measure/two_samples.c — classical tests of two samples, of differences, and of many p-values at once.
 *
 * They agree with SciPy to rounding: exact distributions are used where its method='auto' uses them, by counting, and
 * the normal approximations correct for ties (and Mann-Whitney's for continuity) in the same way.
 */
#include "measure/order.h"

#include <math.h>
#include <stdlib.h>

static const hone_stat_test nothing = {NAN, NAN, NAN};

/* fmin would turn a NAN into 1. */
static double two_sided(double tail) { return 2 * tail > 1 ? 1 : 2 * tail; }

/* --- means -------------------------------------------------------------------------------------------------------- */

/* Welch 1947; degrees of freedom by Satterthwaite 1946. */
hone_stat_test hone_stat_welch(const double *a, size_t n_a, const double *b, size_t n_b) {
    if (n_a < 2 || n_b < 2) return nothing;
    double s_a = hone_stat_sd(a, n_a), s_b = hone_stat_sd(b, n_b);
    double v_a = s_a * s_a / (double)n_a, v_b = s_b * s_b / (double)n_b, v = v_a + v_b;
    if (!(v > 0)) return nothing;
    double t = (hone_stat_mean(a, n_a) - hone_stat_mean(b, n_b)) / sqrt(v), r_a = v_a / v, r_b = v_b / v;
    double freedom = 1 / (r_a * r_a / (double)(n_a - 1) + r_b * r_b / (double)(n_b - 1));
    return (hone_stat_test){t, two_sided(hone_stat_t_tail(fabs(t), freedom)), freedom};
}

/* The correction is the exact one, gamma functions and all, not its rational approximation. */
double hone_stat_hedges_g(const double *a, size_t n_a, const double *b, size_t n_b) {
    if (n_a < 2 || n_b < 2) return NAN;
    double f_a = (double)(n_a - 1), f_b = (double)(n_b - 1), f = f_a + f_b, s_a = hone_stat_sd(a, n_a),
           s_b = hone_stat_sd(b, n_b);
    double pooled = sqrt((f_a * s_a * s_a + f_b * s_b * s_b) / f);
    if (!(pooled > 0)) return NAN;
    double correction = exp(lgamma(f / 2) - lgamma((f - 1) / 2)) / sqrt(f / 2);
    return correction * (hone_stat_mean(a, n_a) - hone_stat_mean(b, n_b)) / pooled;
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double key;  /* ordered by this */
    double rank; /* from 1; the average rank of those tied */
    size_t side; /* 0, 1 */
} ranked;

static int by_key(const void *a, const void *b) {
    double x = ((const ranked *)a)->key, y = ((const ranked *)b)->key;
    return (x > y) - (x < y);
}

/* Orders and ranks; gives the tie term, the sum of t^3 - t over groups of t equal keys. */
static double set_ranks(ranked *r, size_t n) {
    double ties = 0;
    qsort(r, n, sizeof *r, by_key);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && r[end].key == r[i].key;) end++;
        double t = (double)(end - i);
        for (size_t k = i; k < end; k++) r[k].rank = (double)i + (t + 1) / 2;
        ties += t * t * t - t;
    }
    return ties;
}

static double rank_sum(const ranked *r, size_t n, size_t side) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].side == side) sum += r[i].rank;
    return sum;
}

/* --- Mann and Whitney --------------------------------------------------------------------------------------------- */

/* Ranks both samples together. Gives U of a, or NAN without memory. */
static double mann_whitney_u(const double *a, size_t n_a, const double *b, size_t n_b, double *ties) {
    if (n_a == 0 || n_b == 0 || n_a > SIZE_MAX / 2 / sizeof(ranked) - n_b) return NAN;
    ranked *r = malloc((n_a + n_b) * sizeof *r);
    if (!r) return NAN;
    for (size_t i = 0; i < n_a; i++) r[i] = (ranked){a[i], 0, 0};
    for (size_t i = 0; i < n_b; i++) r[n_a + i] = (ranked){b[i], 0, 1};
    *ties = set_ranks(r, n_a + n_b);
    double u = rank_sum(r, n_a + n_b, 0) - (double)n_a * ((double)n_a + 1) / 2;
    free(r);
    return u;
}

enum { EXACT_SIDE = 8, EXACT_OTHER = 10000 }; /* counts below fit 128 bits: C(10008, 8) is 2^91 */
__extension__ typedef unsigned __int128 wide;

/* P(U <= k) without ties, n_a <= EXACT_SIDE: arrangements are counted by the Gaussian binomial, the product of
 * (1 - q^(n_b + i)) / (1 - q^i), term by term and in whole numbers. NAN without memory. */
static double mann_whitney_exact(size_t n_a, size_t n_b, size_t k) {
    wide *count = calloc(k + 1, sizeof *count), sum = 0, all = 1;
    if (!count) return NAN;
    count[0] = 1;
    for (size_t i = 1; i <= n_a; i++) {
        for (size_t u = k + 1; u-- > n_b + i;) count[u] -= count[u - n_b - i];
        for (size_t u = i; u <= k; u++) count[u] += count[u - i];
        all = all * (n_b + i) / i;
    }
    for (size_t u = 0; u <= k; u++) sum += count[u];
    free(count);
    return (double)sum / (double)all;
}

/* Mann & Whitney 1947; variance with ties: Lehmann 1975. */
static double mann_whitney_normal(double u_larger, double n_a, double n_b, double ties) {
    double n = n_a + n_b, s = sqrt(n_a * n_b / 12 * ((n + 1) - ties / (n * (n - 1))));
    return s > 0 ? hone_stat_normal_tail((u_larger - n_a * n_b / 2 - 0.5) / s) : 1; /* all values are equal */
}

hone_stat_test hone_stat_mann_whitney(const double *a, size_t n_a, const double *b, size_t n_b,
                                      hone_stat_method method) {
    double ties = 0, u = mann_whitney_u(a, n_a, b, n_b, &ties);
    if (isnan(u)) return nothing;
    size_t less = n_a < n_b ? n_a : n_b, more = n_a < n_b ? n_b : n_a;
    double pairs = (double)n_a * (double)n_b, larger = fmax(u, pairs - u), tail;
    if (method == HONE_TEST_AUTO && ties == 0 && less <= EXACT_SIDE && more <= EXACT_OTHER)
        tail = mann_whitney_exact(less, more, (size_t)(pairs - larger));
    else
        tail = mann_whitney_normal(larger, (double)n_a, (double)n_b, ties);
    return (hone_stat_test){u, two_sided(tail), NAN};
}

double hone_stat_cliffs_delta(const double *a, size_t n_a, const double *b, size_t n_b) {
    double ties, u = mann_whitney_u(a, n_a, b, n_b, &ties);
    return 2 * u / ((double)n_a * (double)n_b) - 1;
}

/* --- Wilcoxon ----------------------------------------------------------------------------------------------------- */

enum { EXACT_PAIRS = 50, EXACT_TIED = 13 };

/* P(sum of the positive ranks <= w) when every sign is positive with probability 1/2: counts the sums of all subsets.
 * Ranks may be halves, so all is doubled; 2^50 subsets are whole numbers in a double. NAN without memory. */
static double wilcoxon_exact(const ranked *r, size_t n, double w) {
    size_t most = (size_t)(2 * w), top = 0;
    double *count = calloc(most + 1, sizeof *count), sum = 0;
    if (!count) return NAN;
    count[0] = 1;
    for (size_t i = 0; i < n; i++) {
        size_t step = (size_t)(2 * r[i].rank);
        top = top + step < most ? top + step : most;
        for (size_t s = top + 1; s-- > step;) count[s] += count[s - step];
    }
    for (size_t s = 0; s <= most; s++) sum += count[s];
    free(count);
    return ldexp(sum, -(int)n);
}

/* Wilcoxon 1945; variance with ties: Lehmann 1975. No correction for continuity, as SciPy's default. */
static double wilcoxon_normal(double n, double w, double ties) {
    double s = sqrt((n * (n + 1) * (2 * n + 1) - ties / 2) / 24);
    return s > 0 ? hone_stat_normal_tail((n * (n + 1) / 4 - w) / s) : NAN;
}

hone_stat_test hone_stat_wilcoxon(const double *d, size_t n, hone_stat_method method) {
    ranked *r = n > 0 && n <= SIZE_MAX / sizeof *r ? malloc(n * sizeof *r) : NULL;
    if (!r) return nothing;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (d[i] != 0) r[k++] = (ranked){fabs(d[i]), 0, d[i] > 0};
    double ties = set_ranks(r, k), w = fmin(rank_sum(r, k, 0), rank_sum(r, k, 1));
    bool plain = ties == 0 && k == n, exact = method == HONE_TEST_AUTO && n <= (plain ? EXACT_PAIRS : EXACT_TIED);
    double tail = exact ? wilcoxon_exact(r, k, w) : wilcoxon_normal((double)k, w, ties);
    free(r);
    return k > 0 ? (hone_stat_test){w, two_sided(tail), NAN} : nothing;
}

/* --- Holm --------------------------------------------------------------------------------------------------------- */

/* Holm 1979: the i-th smallest of m is multiplied by m - i + 1, and no adjusted value is below an earlier one. */
bool hone_stat_holm(const double *p, size_t n, double *adjusted) {
    ranked *r = n <= SIZE_MAX / sizeof *r - 1 ? malloc((n + 1) * sizeof *r) : NULL;
    if (!r) return false;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) r[m++] = (ranked){p[i], 0, i};
    qsort(r, m, sizeof *r, by_key);
    for (size_t i = 0; i < n; i++) adjusted[i] = p[i];
    double least = 0;
    for (size_t i = 0; i < m; i++) {
        least = fmax(least, fmin((double)(m - i) * r[i].key, 1));
        adjusted[r[i].side] = least;
    }
    free(r);
    return true;
}
