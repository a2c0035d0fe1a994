/* controls/check.h — what hone_check_controls is put together from.
 *
 * Owns: nothing; texts go into the arena handed in.
 */
#ifndef HN_CHECK_H
#define HN_CHECK_H

#include "controls/key.h"

#include <hone/check.h>

typedef struct hn_checker {
    const char *path;
    const hone_check_options *o;
    hone_controls *c;
    hone_workload *w; /* NULL when it cannot be opened */
    hn_arena *a;
    hn_differences diff;
    hone_check_status status;
    const char *text; /* the reason, when the differences do not show it */
    hone_interval gain;
} hn_checker;

/* Measures the controls again; sets gain, and status and text when the gain is gone. */
hone_rc hn_check_measure(hn_checker *k, hone_err *err);
/* The status that a fresh proof gives: HONE_CHECK_VALID or HONE_CHECK_REGRESSED, with the reason. Pure. */
hone_check_status hn_check_proof(const hone_controls *claim, const hone_proof *now, double min_gain, hn_arena *a,
                                 const char **why);

#endif
