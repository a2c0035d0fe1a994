/* prove/compare.h — the intervals behind a verdict: one number per row, clustered by variant. Internal to the room.
 *
 * Scale: z, the log-ratio of the gain (above 0 is better), or the difference over the baseline's size where a quantity
 * can be 0 or less.
 */
#ifndef HN_COMPARE_H
#define HN_COMPARE_H

#include "prove/verdict.h"

/* One number per row: inputs put together by weight. */
typedef struct hn_series_view {
    size_t n;
    const unsigned *variant;
    double *z, *baseline, *tuned; /* sides: geometric means over inputs, plain: means */
} hn_series_view;
/* weight: n_inputs, 0 leaves an input out. In the arena (sticky failure). */
hn_series_view hn_view_of(const hn_goal *g, const hn_series *s, const double *weight, hn_arena *a);

/* Interval of a statistic of both sides' logarithms (plain: values) by the two-stage bootstrap of rows. */
typedef double (*hn_statistic)(double *baseline, double *tuned, size_t n);
hone_interval hn_resampled(const hn_series_view *v, bool plain, hn_statistic of, double alpha, uint64_t seed,
                           hn_arena *a);

/* z as a gain: above 1 is better. */
double hn_gain_of(const hn_goal *g, double z);
/* A minimum gain such as 0.01 on the scale of z. */
double hn_margin_of(const hn_goal *g, double min_gain);

#endif
