/* pass/joint.c — products of the same rows with several packed weights become one product with all of their rows, whose
 * columns are then taken apart: queries, keys and values; the gate and what it gates. One kernel begins instead of
 * several, and its work divides better. Exact: a column's sum does not depend on others. */
#include "base/err.h"
#include "ir/packed.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <string.h>

typedef struct product {
    uint32_t first; /* id + 1 of the product that it joins, its own for the first one; 0: none */
    int64_t at;     /* its first column */
    int64_t all;    /* of the first one: columns of them all */
    hn_val value;   /* of the first one, once it is made: the joint product */
} product;

/* What is multiplied, before it is rounded; 0: the product cannot join others. */
static hn_val operand(const hn_graph *g, const hn_node *n) {
    const hn_tensor *w = n->op == HN_OP_PACKED_DOT && !hn_dot_chooses(g, n) ? hn_const_of(g, n->in[0]) : NULL;
    if (!w || w->rank != 2 || hn_attr_i(n, HN_A_PANEL, 0)) return 0;
    const hn_node *q = hn_def_op(g, n->in[1], HN_OP_QUANTIZE_BLOCKS);
    return q ? q->in[0] : n->in[1];
}

static int64_t rows_of(const hn_graph *g, const hn_node *n) { return hn_const_of(g, n->in[0])->dim[0]; }

/* How its operand is rounded. */
static hn_digits digits_of(const hn_graph *g, const hn_node *n) {
    const hn_node *q = hn_def_op(g, n->in[1], HN_OP_QUANTIZE_BLOCKS);
    return q ? hn_digits_of(q) : HN_DIGITS_ONE;
}

static bool alike(const hn_graph *g, const hn_node *a, const hn_node *b) {
    return operand(g, a) == operand(g, b) && hn_dot_of_bytes(g, a) == hn_dot_of_bytes(g, b) &&
           hn_codec_of(a) == hn_codec_of(b) && digits_of(g, a) == digits_of(g, b);
}

/* The first product of the block that node i can join, if it is not the first itself. */
static void find_first(const hn_graph *g, const hn_blk *b, uint32_t i, product *all) {
    uint32_t id = b->node[i];
    const hn_node *n = &g->node[id];
    if (!operand(g, n)) return;
    product *p = &all[id];
    *p = (product){.first = id + 1, .all = rows_of(g, n)};
    for (uint32_t k = 0; k < i; k++) {
        product *o = &all[b->node[k]];
        if (o->first != b->node[k] + 1 || !alike(g, n, &g->node[b->node[k]])) continue;
        p->first = o->first;
        p->at = o->all;
        o->all += rows_of(g, n);
        return;
    }
}

/* The rows of all products of a group, in order. */
static hn_val rows(hn_rewriter *r, const product *all, uint32_t n_node, uint32_t first, int64_t row_b) {
    int64_t dim[2] = {all[first].all, row_b};
    hn_tensor out;
    if (!hn_tensor_new(&r->g->arena, HONE_U8, 2, dim, &out)) return 0;
    for (uint32_t i = 0; i < n_node; i++) {
        if (all[i].first != first + 1) continue;
        const hn_tensor *t = hn_const_of(r->g, r->g->node[i].in[0]);
        memcpy((uint8_t *)out.data + all[i].at * row_b, t->data, (size_t)(t->dim[0] * row_b));
    }
    return hn_const(&r->b, &out);
}

typedef struct groups {
    product *all; /* by node */
    uint32_t n;
} groups;

static hn_val join(hn_rewriter *r, const hn_node *node) {
    const groups *f = r->arg;
    if (r->id >= f->n || !f->all[r->id].first) return HN_KEEP;
    const hn_node n = *node;
    const product *p = &f->all[r->id];
    uint32_t first = p->first - 1;
    int64_t columns = hn_const_of(r->g, n.in[0])->dim[0];
    if (f->all[first].all == columns) return HN_KEEP; /* alone */
    if (first == r->id) {
        const hn_val in[3] = {rows(r, f->all, f->n, first, hn_const_of(r->g, n.in[0])->dim[1]), n.in[1],
                              n.n_in > 2 ? n.in[2] : 0};
        const hn_dim shape[2] = {hn_dim_of(&r->b, n.out[0], 0), hn_lit(&r->b, p->all)};
        const hn_attr attr[] = {{.id = HN_A_SHAPE, .kind = HN_K_DIMS, .n = 2, .dims = shape},
                                *hn_attr_get(&n, HN_A_CODEC)};
        f->all[first].value = in[0] ? hn_emit(r->g, r->b.b, HN_OP_PACKED_DOT, n.n_in, in, 2, attr, 1) : 0;
    }
    if (!f->all[first].value) return HN_KEEP;
    return hn_slice_axis(&r->b, f->all[first].value, 1, hn_lit(&r->b, p->at), hn_lit(&r->b, columns), 1);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    hn_arena a = {0};
    groups f = {HN_NEW_N(&a, product, g->n_node + 1), g->n_node};
    if (!f.all) return hn_fail(err, HONE_E_NOMEM, "out of memory in pass 'joint'");
    for (hn_block b = 0; b < g->n_block && ctx->layout->panel == HN_PANEL; b++)
        for (uint32_t i = 0; i < g->block[b].n_node; i++) find_first(g, &g->block[b], i, f.all);
    hn_rewriter r = {.g = g, .layout = ctx->layout, .arg = &f};
    hn_rewrite(&r, join);
    hn_arena_free(&a);
    if (r.n_rewrites) hn_sweep(g);
    ctx->n_rewrites += r.n_rewrites;
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_joint = {
    .name = "joint",
    .summary = "makes one product of those of the same rows with several packed weights",
    .breaks = HN_FACT_NO_DEAD | HN_FACT_CANONICAL,
    .run = run,
};
