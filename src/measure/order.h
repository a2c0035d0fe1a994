/* measure/order.h — order statistics that the files of statistics share. */
#ifndef HN_ORDER_H
#define HN_ORDER_H

#include <hone/stat.h>

/* x in ascending order; free with free; NULL for n = 0 or without memory. */
double *hn_sorted_copy(const double *x, size_t n);
/* hone_stat_percentile of x in ascending order. */
double hn_percentile_sorted(const double *x, size_t n, double p);
/* The interval between the two percentiles of n values (which are put in order) that hold `confidence` of them. */
hone_interval hn_percentile_interval(double *value, size_t n, double confidence, double mid);

#endif
