/* pass/shapes.c — shape arithmetic becomes dimensions.
 *
 * An integer vector whose elements are known as expressions over symbols is written as one `dims` node (or a constant);
 * a `bind` whose vector is known gives its symbols away: they are equal to the expressions from then on. What an
 * importer could not see, because it looked at one node at a time, is often plain after folding and inlining.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <stdlib.h>

enum { ROOM = 64 };

/* All symbols of d are older than s: then s is the one that an equality replaces, and what d needs is defined earlier.
 */
static bool older(const hn_graph *g, hn_dim d, hn_symbol s) {
    size_t n = hn_dims_symbols(g->dims);
    bool *used = calloc(n + 1, sizeof *used), good = used != NULL;
    if (used) hn_dim_mark(g->dims, d, used);
    for (size_t i = s; good && i < n; i++) good = !used[i];
    free(used);
    return good;
}

static hn_val drop_bind(hn_rewriter *r, const hn_node *n) {
    hn_dim d[ROOM];
    size_t k;
    const hn_attr *a = hn_attr_get(n, HN_A_DEFINES);
    if (!a || !hn_known_dims(&r->b, n->in[0], d, ROOM, &k) || k != a->n) return HN_KEEP;
    for (size_t i = 0; i < k; i++) {
        hn_symbol s;
        int64_t low, high;
        hn_dim_range(r->g->dims, d[i], &low, &high);
        if (low < 0 || !hn_dim_is_symbol(r->g->dims, a->dims[i], &s) || !older(r->g, d[i], s)) return HN_KEEP;
    }
    for (size_t i = 0; i < k; i++) hn_dim_assume_equal(r->g->dims, a->dims[i], d[i]);
    return HN_DROPPED;
}

/* `dims`, and what only reshapes or converts it, is what this pass makes. */
static bool is_plain(const hn_graph *g, hn_val v) {
    const hn_node *n = hn_def(g, v);
    while (n && (n->op == HN_OP_RESHAPE || n->op == HN_OP_CAST)) n = hn_def(g, n->in[0]);
    return !n || n->op == HN_OP_DIMS || n->op == HN_OP_CONST;
}

static hn_val write_dims(hn_rewriter *r, const hn_node *n) {
    const hn_type t = *hn_type_of(r->g, n->out[0]);
    hn_dim d[ROOM];
    size_t k;
    if ((t.dtype != HONE_I64 && t.dtype != HONE_I32) || t.rank > 1 || is_plain(r->g, n->out[0])) return HN_KEEP;
    if (!hn_known_dims(&r->b, n->out[0], d, ROOM, &k)) return HN_KEEP;
    hn_val v = hn_cast(&r->b, hn_dims_value(&r->b, k, d), t.dtype);
    return t.rank ? v : hn_reshape(&r->b, v, 0, NULL);
}

static hn_val refine(hn_rewriter *r, const hn_node *n) {
    if (n->op == HN_OP_BIND) return drop_bind(r, n);
    return n->n_out == 1 && (hn_op_of(n->op)->flags & HN_PURE) && n->op != HN_OP_KERNEL ? write_dims(r, n) : HN_KEEP;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) { return hn_rewrite_all(g, ctx, refine, 4, err); }

const hn_pass hn_pass_shapes = {
    .name = "shapes",
    .summary = "shape arithmetic becomes dimensions; known sizes need no bind",
    .needs = HN_FACT_FOLDED,
    .breaks = HN_FACT_NO_DEAD | HN_FACT_FOLDED | HN_FACT_CANONICAL,
    .run = run,
};
