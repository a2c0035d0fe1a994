/* pass/rewrite.h — one walk over a graph that replaces nodes by other code, in place; what most passes are made of.
 *
 * Nodes are visited in order, regions before the node they belong to; bodies of kernels are left alone. When a node is
 * visited its inputs are the replaced ones already. The rule may emit nodes through r->b: they come to stand in front
 * of it. It answers with the value that takes the place of result 0 (of a node with one result), HN_KEEP, or HN_DROPPED
 * after setting r->map for every result itself. A replacement has the same type; code that is no longer used stays
 * until hn_sweep. Threads: one at a time.   Errors: sticky in the graph.
 */
#ifndef HN_REWRITE_H
#define HN_REWRITE_H

#include "ir/build.h"
#include "pass/pass.h"

enum { HN_KEEP = 0 };
#define HN_DROPPED UINT32_MAX

typedef struct hn_rewriter {
    hn_graph *g;
    hn_builder b; /* in front of the node that is visited */
    bool relaxed;
    const hn_layout_facts *layout; /* of hn_pass_ctx; NULL where the rule does not look at it */
    void *arg;
    uint64_t n_rewrites;
    hn_val *map;     /* of values there were at the beginning; 0: stays */
    uint32_t *n_use; /* of them, at the beginning: by nodes and results in scope */
    uint32_t n_map;
    uint32_t id;                                      /* of the node that is visited */
    void (*enter)(struct hn_rewriter *r, hn_block b); /* NULL, or told of every block */
    void (*leave)(struct hn_rewriter *r, hn_block b);
} hn_rewriter;

typedef hn_val hn_rewrite_fn(hn_rewriter *r, const hn_node *n);

/* One walk. r: g, relaxed, arg, enter and leave are set by the caller, the rest is not looked at. */
void hn_rewrite(hn_rewriter *r, hn_rewrite_fn *rule);
/* Walks until nothing changes, `most` times at most, sweeping in between; adds to ctx->n_rewrites; the failure of the
 * graph, if any, is the result. */
hone_rc hn_rewrite_all(hn_graph *g, hn_pass_ctx *ctx, hn_rewrite_fn *rule, unsigned most, hone_err *err);

/* Moves the nodes of a region of the node that is visited in front of it. map receives nothing: read the block's
 * results. */
void hn_inline_block(hn_rewriter *r, hn_block body);

/* --- looking ---------------------------------------------------------------------------------------------------- */

/* The node that defines v if it has this operation, else NULL. */
const hn_node *hn_def_op(const hn_graph *g, hn_val v, hn_op op);
const hn_tensor *hn_const_of(const hn_graph *g, hn_val v); /* NULL: no const node */
/* v has the same value everywhere: a constant, or a broadcast or reshape of one. *one has rank 0. */
bool hn_splat_of(const hn_graph *g, hn_val v, hn_tensor *one);
bool hn_splat_is(const hn_graph *g, hn_val v, double x);      /* a splat equal to x (0 is not -0) */
int64_t hn_label_place(const hn_attr *labels, int64_t label); /* where among a contraction's labels; -1: nowhere */
bool hn_used_once(const hn_rewriter *r, hn_val v); /* false for values made in this walk: the next one knows */
/* The number of nodes in all blocks that are in use. */
uint32_t hn_count_nodes(const hn_graph *g);
hone_rc hn_graph_failure(const hn_graph *g, hone_err *err); /* E_NOMEM, or g->err */

#endif
