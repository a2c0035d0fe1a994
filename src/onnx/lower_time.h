/* onnx/lower_time.h — recurrences: one step after the other over the leading dimension.
 *
 * A short recurrence of known length is written out step by step, so that fusion sees it whole; any other becomes a
 * `loop` whose body is one step. Threads: one at a time.   Errors: sticky in the graph.
 */
#ifndef HN_LOWER_TIME_H
#define HN_LOWER_TIME_H

#include "onnx/lower_util.h"

enum { HN_UNROLL_STEPS = 8, HN_STATES_MAX = 4 };

typedef struct hn_moment {
    hn_val index; /* i64 scalar: 0 … steps-1, counted backwards when reversed */
    int64_t k;    /* the same as a number where written out, else -1 */
} hn_moment;
/* Element `at` of x along its dimension 0, without that dimension. */
hn_val hn_at_time(hn_builder *b, hn_val x, hn_moment at);

/* One step, emitted into b: reads and replaces state[], sets scan[]. A state keeps its type. */
typedef void hn_step_fn(void *arg, hn_builder *b, hn_moment at, hn_val *state, hn_val *scan);
/* Runs `steps` steps, last index first when reversed. state[]: initial values, replaced by the final ones. scan[]:
 * receives [steps, …] with the entry of index i at i, whichever came first. */
void hn_over_time(hn_builder *b, hn_dim steps, bool reversed, size_t n_state, hn_val *state, size_t n_scan,
                  hn_val *scan, hn_step_fn *step, void *arg);

#endif
