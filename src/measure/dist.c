/* measure/dist.c — tails of the normal and of Student's t distribution.
 *
 * The t tail is half a regularised incomplete beta function, by its continued fraction (Abramowitz & Stegun 26.5.8,
 * evaluated by the modified Lentz method, Thompson & Barnett 1986). It is taken on the side where it converges fast,
 * and factors are kept as logarithms, so that a tail is right to about 12 digits also where it is tiny.
 */
#include <hone/stat.h>

#include <float.h>
#include <math.h>

double hone_stat_normal_tail(double z) { return erfc(z * M_SQRT1_2) / 2; }

/* log(gamma(a + 1/2) / gamma(a)). lgamma's difference loses digits as a grows; there Stirling's series of the ratio
 * (Tricomi & Erdelyi 1951) is exact enough: the first term left out is 1e-17 of the whole at a = 50. */
static double log_gamma_step(double a) {
    if (a < 50) return lgamma(a + 0.5) - lgamma(a);
    double r = 1 / a;
    double series = r * (-1.0 / 8 + r * (1.0 / 128 + r * (5.0 / 1024 + r * (-21.0 / 32768 - r * 399.0 / 262144))));
    series += r * r * r * r * r * r * (869.0 / 4194304 + r * 39325.0 / 33554432);
    return 0.5 * log(a) + log1p(series);
}

static double away_from_zero(double x) { return fabs(x) < DBL_MIN ? DBL_MIN : x; }

/* The continued fraction of I_x(a, b), without its factor in front. */
static double beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
    for (double m = 1; m < 1e6; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        h *= d * c;
        if (fabs(d * c - 1) < DBL_EPSILON) break;
    }
    return h;
}

/* P(T > t) for t >= 0: I_x(v/2, 1/2) / 2 with x = v / (v + t^2). */
static double upper_tail(double t, double v) {
    double a = v / 2, q = t / v * t; /* x = 1 / (1 + q) */
    if (q == 0) return 0.5;
    if (isinf(q)) { /* t^2 overflows: use the power law of the tail */
        double ln = a * (log(v) - 2 * log(t)) - log(a) + log_gamma_step(a) - log(M_PI) / 2;
        return exp(ln) / 2;
    }
    double front = exp(log_gamma_step(a) - log(M_PI) / 2 - a * log1p(q) + 0.5 * (log(q) - log1p(q)));
    double x = 1 / (1 + q);
    if (x < (a + 1) / (a + 2.5)) return front * beta_fraction(a, 0.5, x) / a / 2;
    return 0.5 - front * beta_fraction(0.5, a, q / (1 + q)); /* the complement: its b is 1/2, so 1 / b / 2 = 1 */
}

double hone_stat_t_tail(double t, double freedom) {
    if (isnan(t) || !(freedom > 0)) return NAN;
    if (isinf(freedom) || freedom > 1e12) return hone_stat_normal_tail(t); /* they differ by less than 1e-12 */
    if (isinf(t)) return t > 0 ? 0 : 1;
    return t >= 0 ? upper_tail(t, freedom) : 1 - upper_tail(-t, freedom);
}

/* The t >= 0 with that upper tail (0 < tail <= 1/2): a bracket found by doubling, then bisection, which is slow and
 * cannot fail. */
static double tail_quantile(double tail, double freedom) {
    double lo = 0, hi = 1;
    while (hone_stat_t_tail(hi, freedom) > tail && hi < DBL_MAX / 2) {
        lo = hi;
        hi *= 2;
    }
    for (int i = 0; i < 200; i++) {
        double mid = lo + (hi - lo) / 2;
        if (mid <= lo || mid >= hi) break;
        if (hone_stat_t_tail(mid, freedom) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return lo + (hi - lo) / 2;
}

double hone_stat_t_quantile(double p, double freedom) {
    if (!(p >= 0 && p <= 1) || !(freedom > 0)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    if (p == 0.5) return 0;
    return p < 0.5 ? -tail_quantile(p, freedom) : tail_quantile(1 - p, freedom);
}
