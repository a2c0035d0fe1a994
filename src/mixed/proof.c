/* proof.c — how far a mean is certain. */
#include "mixed/mixed.h"

#include <hone/stat.h>

#include <math.h>

double hn_upper_mean(const double *x, size_t n) {
    if (n < 2) return INFINITY;
    double mean = hone_stat_mean(x, n), sd = hone_stat_sd(x, n);
    return mean + hone_stat_t_quantile(.95, (double)n - 1) * sd / sqrt((double)n);
}
