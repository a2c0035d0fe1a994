/* reduce/reduce_int.h — the parts of reduce: trials (what was measured, and comparisons), same (what leaves the program
 * as it is), screen (which parts matter, by a factorial design), reduce (the search itself). */
#ifndef HN_REDUCE_INT_H
#define HN_REDUCE_INT_H

#include "reduce/reduce.h"

/* --- trials ------------------------------------------------------------------------------------------------------- */

/* One subset and all that was measured of it. */
typedef struct hn_subset {
    bool *keep;
    double *gain; /* n rows of n_gains */
    size_t n, room;
    bool fails, identified;
    uint64_t key;
    int verdict; /* answer of hn_holds: 1 yes, -1 no, 0 not asked yet */
} hn_subset;

typedef struct hn_trials {
    const hn_reduce_lab *lab;
    hn_arena *arena;
    hn_subset **subset;
    size_t n, room;
    size_t n_measured, most;
    double reserve;    /* share of time and measurements that is not for the stage at work */
    bool over;         /* the budget is used up or a stop was requested: no further measurement is taken */
    hn_subset *whole;  /* all parts */
    double *tolerance; /* n_gains: a loss up to this is within the whole's interval */
} hn_trials;

bool *hn_copy_keep(hn_arena *a, const bool *keep, size_t n);
/* The record of a subset, made when there is none; parts whose parent is removed count as removed. */
hone_rc hn_subset_of(hn_trials *t, const bool *keep, hn_subset **out, hone_err *err);
/* Measures until there are n rows, it fails, or the budget is over. */
hone_rc hn_measure_up_to(hn_trials *t, hn_subset *s, size_t n, hone_err *err);
/* Fills the keys of k subsets at once. */
hone_rc hn_identify(hn_trials *t, hn_subset *const *s, size_t k, hone_err *err);
/* Location of gain k, robust against single outliers; its 95 % interval. */
double hn_center(const hn_trials *t, const hn_subset *s, size_t k);
hone_interval hn_gain_interval(const hn_trials *t, const hn_subset *s, size_t k);
/* Interval of the first gain of a less that of b. */
hone_interval hn_loss_interval(const hn_trials *t, const hn_subset *a, const hn_subset *b);
/* Does the subset keep the whole's gains within its tolerance? Measures both until that is clear or `most` rows; a
 * subset that builds to an already tested program gets that answer. */
hone_rc hn_holds(hn_trials *t, hn_subset *s, size_t most, bool *yes, hone_err *err);

/* --- same -----------------------------------------------------------------------------------------------------------
 */

/* Takes parts out of keep that leave the program byte for byte as it is, with a bounded number of builds. */
hone_rc hn_drop_same(hn_trials *t, bool *keep, hone_err *err);

/* --- screen ---------------------------------------------------------------------------------------------------------
 */

typedef struct hn_screen {
    size_t n_rows, room;
    bool **row;     /* which parts stayed */
    double **gain;  /* n_gains each */
    double *effect; /* per part: effect on the first gain */
    double *sure;   /* per part: the largest t value over the gains; below 0: it harms the first */
} hn_screen;

/* Measures `more` further random halves of the parts that are `open` (the others stay as in `fixed`), then estimates
 * every effect. Subsets that fail are left out. */
hone_rc hn_screen_more(hn_trials *t, hn_screen *s, const bool *fixed, const bool *open, size_t more, uint64_t seed,
                       hone_err *err);

#endif
