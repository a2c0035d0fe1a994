/* candidates.h — which points of a record are worth proving.
 *
 * Owns: everything, until cli_candidates_free.
 */
#ifndef CLI_CANDIDATES_H
#define CLI_CANDIDATES_H

#include "session.h"

#include <hone/tune.h>

typedef struct cli_candidate {
    int64_t trial;                       /* 0: of no trial */
    double claimed[HONE_MAX_OBJECTIVES]; /* what the search saw, as gains; NAN where it is not known */
} cli_candidate;

typedef struct cli_candidates {
    int64_t session; /* 0: none */
    const char **point;
    cli_candidate *one;
    size_t n;
} cli_candidates;

/* From --point, --controls, or the session named by the operand: of several objectives the Pareto front, else the best
 * --top, each with a program of its own, trials of the closing race first. E_MISMATCH when the session is another
 * workload's. */
hone_rc cli_candidates_choose(const cli *c, const hone_workload *w, cli_candidates *out, hone_err *err);
void cli_candidates_free(cli_candidates *x);

#endif
