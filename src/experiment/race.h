/* experiment/race.h — when to stop measuring a candidate: decisions on samples, no processes.
 *
 * A sample is a ratio: the candidate's cost over the baseline's, measured beside each other, so that drift cancels;
 * lower is better (the caller hands in the inverse for what is maximised). Comparisons are between logarithms.
 * Units: ratios.   Threads: re-entrant, pure.   Evidence: docs/measuring.md.
 * Use: take config.first ratios; then, while the verdict is HN_RACE_MORE, take n_more further interleaved pairs.
 */
#ifndef HN_RACE_H
#define HN_RACE_H

#include <hone/stat.h>

typedef enum hn_race_verdict {
    HN_RACE_DROP, /* clearly worse than the incumbent: stop here */
    HN_RACE_MORE, /* cannot be told apart: take n_more further ratios */
    HN_RACE_KEEP, /* clearly better, or there is no incumbent yet */
    HN_RACE_DONE, /* still not told apart with all samples taken: `ratio` is the best guess */
} hn_race_verdict;

typedef struct hn_race_config {
    double drop_ratio; /* beyond this ratio to the incumbent it is dropped, whatever the noise; 0: 1.3 */
    double n_sigma;    /* two candidates count as different from this many standard errors on; 0: 2 */
    double noise;      /* relative standard deviation of one ratio where known (e.g. hone_noise.rel_mad), 0: 0.02 */
    size_t most;       /* ratios at most; 0: 8 */
    uint64_t seed;     /* of the bootstrap */
} hn_race_config;

typedef struct hn_race_result {
    hn_race_verdict verdict;
    size_t n_more;    /* MORE: doubles the ratios taken: 1, 2, 4, 8 */
    double ratio;     /* candidate over incumbent, medians */
    hone_interval ci; /* of that ratio */
} hn_race_result;

/* n_incumbent may be 0. Ratios that are not finite and positive are left out; a candidate with none left is dropped. */
hn_race_result hn_race_decide(const double *incumbent, size_t n_incumbent, const double *candidate, size_t n_candidate,
                              const hn_race_config *config);

/* The early end of a measurement: is a cost so far above the baseline's that no further reading will help? limit: that
 * ratio; 0: never. */
bool hn_race_gives_up(double cost, double baseline, double limit);

/* How many ratios to take before the first decision: one run, two when a run is shorter than 10 ms. */
size_t hn_race_first(double run_s);

/* The verdict alone, on gains: logarithms of baseline / candidate, so that higher is better. All are finite. */
hn_race_verdict hn_race_gains(const double *lead, size_t n_lead, const double *mine, size_t n_mine,
                              const hn_race_config *config);

#endif
