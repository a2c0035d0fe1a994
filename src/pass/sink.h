/* pass/sink.h — transposes through operations: what passes `transpose` and `layout` share (pass/transpose.c,
 * pass/transpose_reshape.c). */
#ifndef HN_SINK_H
#define HN_SINK_H

#include "pass/rewrite.h"

/* May the transpose that defines v sink? NULL in r->arg: where one node alone uses it, so that their number never
 * grows.
 */
typedef bool hn_may_sink(const hn_rewriter *r, hn_val v);
typedef struct hn_sinking {
    hn_may_sink *may;
} hn_sinking;

/* A rule (pass/rewrite.h): the node behind which its inputs' transposes stand now, or which takes them as labels. */
hn_val hn_sink_transpose(hn_rewriter *r, const hn_node *n);
/* Likewise for reshapes that merge and split dimensions that are neighbours before the transpose as well. */
hn_val hn_sink_reshape(hn_rewriter *r, const hn_node *n);

/* A reshape from x to y as runs of dimensions with as many elements on both sides, in order. False: sizes do not say.
 */
typedef struct hn_dim_run {
    size_t in, n_in, out, n_out; /* first and number of dimensions */
} hn_dim_run;
typedef struct hn_dim_runs {
    hn_dim_run at[2 * HN_RANK_MAX];
    size_t n;
} hn_dim_runs;
bool hn_find_runs(hn_graph *g, const hn_type *x, const hn_type *y, hn_dim_runs *s);

/* The transpose that defines v, if it may sink, else NULL. */
const hn_node *hn_sinking_def(const hn_rewriter *r, hn_val v);
/* transpose(v, perm), without a node where that is the inverse of the transpose that defines v. */
hn_val hn_transposed(hn_rewriter *r, hn_val v, const int64_t *perm);

#endif
