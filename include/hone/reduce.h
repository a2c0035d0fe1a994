/* hone/reduce.h — a point reduced to the parts that carry its gain, with their shares; docs/minimize.md.
 *
 * Owns, units, errors: as hone/prove.h.
 */
#ifndef HONE_REDUCE_H
#define HONE_REDUCE_H

#include <hone/prove.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_reduction {
    const char *point; /* JSON: the reduced one */
    const char *argv;
    size_t n_before, n_after; /* controls and parameters that differ from the baseline */
    size_t n_measurements;
    hone_interval gain_before, gain_after; /* of the objective whose gain is kept */
    hone_share *share; /* n_after, the largest first; controls without the prefix of their compiler */
    bool complete; /* false: time, measurements or `stop` ended it early; a smaller set may exist, or shares are missing
                    */
    void *block;
} hone_reduction;
/* The fewest parts of a point that keep its gain, within the gain's interval, and do not worsen the other objectives;
 * docs/minimize.md. A point without a gain is reduced to the baseline. It is a measurement, not a proof: the reduced
 * point is for hone_prove_validate to judge. variants: layouts of each program (0: 4). Stopped once the point itself is
 * measured, it gives the smallest set known by then to keep the gain; before, E_INTERRUPTED. */
HONE_API hone_rc hone_prove_minimize(const hone_workload *workload, const char *point,
                                     const hone_prove_options *options, hone_reduction *out, hone_err *err);
HONE_API void hone_reduction_free(hone_reduction *reduction);

#ifdef __cplusplus
}
#endif
#endif
