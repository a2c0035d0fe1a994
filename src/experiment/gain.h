/* experiment/gain.h — how large a gain is, from pairs: one number per pair, clustered by what was built anew.
 *
 * Scale: z, the logarithm of the gain (baseline / candidate, or a difference for what can be 0 or less); above 0 is
 * better. Why these intervals: docs/proof.md.   Threads: re-entrant, pure for a seed.
 */
#ifndef HN_GAIN_H
#define HN_GAIN_H

#include <hone/stat.h>

/* The interval of the middle of z at 1 - alpha: the union of the clustered bootstrap's and a t interval over the
 * clusters' medians, as a bootstrap of ten clusters is too narrow. One value alone is its own interval. */
hone_interval hn_z_interval(const double *z, const unsigned *cluster, size_t n, double alpha, uint64_t seed);
/* The t interval alone: a quick look that is never wider than the union. */
hone_interval hn_z_quick(const double *z, const unsigned *cluster, size_t n, double alpha);

/* Where an interval lies: HN_ACROSS also where nothing is known. */
typedef enum hn_finding { HN_BELOW = -1, HN_ACROSS, HN_ABOVE } hn_finding;
hn_finding hn_find(hone_interval x, double at);

#endif
