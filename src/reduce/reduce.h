/* reduce/reduce.h — which parts of a winner carry its gain: the search for the fewest, with a noisy measurement as the
 * only oracle. Knows nothing of compilers: it sends out subsets and receives gains, so that tests can use synthetic
 * answers.
 *
 * A subset is bool[n]: true = the part stays, false = it goes back to the baseline. A part goes back with its parent. A
 * gain is log(baseline / candidate), turned so that more is better; the first of each row is the one to keep, the
 * others must not get worse. Method: docs/minimize.md.   Units: log ratios.   Threads: one at a time. Errors: what the
 * lab returns; E_NOMEM. E_INTERRUPTED after the whole was measured ends the budget and is not an error.
 */
#ifndef HN_REDUCE_H
#define HN_REDUCE_H

#include "base/arena.h"

#include <hone/stat.h>

typedef struct hn_reduce_lab {
    void *ctx;
    size_t n, n_gains;    /* parts; gains in a row */
    const size_t *parent; /* per part the one it needs, SIZE_MAX: none, always an earlier one; NULL: all stand alone */
    bool steady;          /* measurements are deterministic: one suffices */
    /* key[i]: what program subset i (row i of k * n) makes, equal for equal ones, 0 when it cannot be built or is not
     * allowed. Builds, but measures nothing. NULL: not known. */
    hone_rc (*identify)(void *ctx, const bool *keep, size_t k, uint64_t *key, hone_err *err);
    /* `count` fresh rows of n_gains. *works false: the subset fails (wrong result, crash …). */
    hone_rc (*measure)(void *ctx, const bool *keep, size_t count, double *gain, bool *works, hone_err *err);
    /* After each step, with the measurements so far: the share of the time that is left; 0: stop and return what is
     * known. May be NULL: no time limit. */
    double (*time_left)(void *ctx, size_t n_measured);
} hn_reduce_lab;

typedef struct hn_reduce_rules {
    uint64_t seed;
    size_t most; /* measurements; 0: 800 */
    double lose; /* share of the first gain that may always be lost, 0 … 1; 0: only as much as its interval leaves
                    uncertain */
} hn_reduce_rules;

typedef struct hn_reduced {
    bool *keep;
    hone_interval *share; /* of each part kept: the gain lost when it alone (and what needs it) goes; else NANs */
    hone_interval before, after; /* gain of all parts, of those kept; 95 % */
    bool no_gain;                /* the gain's interval reaches 0: there is nothing to keep, and nothing is kept */
    bool complete;               /* false: the budget ended first, and fewer might do or shares are missing */
    size_t n_measured, n_tried;  /* measurements; different subsets measured */
} hn_reduced;

/* Arrays are in the arena. */
hone_rc hn_reduce_point(const hn_reduce_lab *lab, const hn_reduce_rules *rules, hn_arena *a, hn_reduced *out,
                        hone_err *err);

#endif
