/* pass/attention.c — recognises softmax(q·k) · v and brings it to the form that fusion looks for:
 *
 *     scores = contract(q, k);  scaled = mul(scores, uniform);  masked = add or select with a mask;
 *     softmax over one dimension, as reduce_max, sub, exp, sum, div;  contract(softmax, v)
 *
 * Exporters scale q, k or both in front of the first contraction; the factors move behind it. That is exact for powers
 * of two, as long as nothing overflows, and relaxed otherwise. Operands are put in this order (an Einsum may name the
 * keys or the values first). What lies between the contractions may be any pointwise
 * code over values of the scores' shape.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <math.h>

enum { CHAIN_MAX = 16 };

static hn_val behind(const hn_graph *g, hn_val v, hn_op op, size_t i) {
    const hn_node *n = hn_def_op(g, v, op);
    return n ? n->in[i] : 0;
}

static hn_val skip_broadcast(const hn_graph *g, hn_val v) {
    hn_val x = behind(g, v, HN_OP_BROADCAST, 0);
    return x ? x : v;
}

hn_val hn_softmax_input(const hn_graph *g, hn_val v) {
    const hn_node *div = hn_def_op(g, v, HN_OP_DIV);
    if (!div) return 0;
    hn_val e = div->in[0], total = behind(g, skip_broadcast(g, div->in[1]), HN_OP_RSUM, 0);
    const hn_node *sub = total == e && e ? hn_def_op(g, behind(g, e, HN_OP_EXP, 0), HN_OP_SUB) : NULL;
    if (!sub || behind(g, skip_broadcast(g, sub->in[1]), HN_OP_RMAX, 0) != sub->in[0]) return 0;
    return sub->in[0];
}

/* Along pointwise code from the softmax's input to a contraction; 0: there is none. Of two inputs the one that is not
 * made by movement from elsewhere carries the scores. */
static hn_val scores_of(const hn_graph *g, hn_val v) {
    for (int i = 0; v && i < CHAIN_MAX; i++) {
        const hn_node *n = hn_def(g, v);
        if (!n) return 0;
        if (n->op == HN_OP_CONTRACT) return v;
        switch (hn_op_of(n->op)->cls) {
        case HN_UNARY: v = n->in[0]; break;
        case HN_BINARY: v = hn_def_op(g, n->in[0], HN_OP_BROADCAST) ? n->in[1] : n->in[0]; break;
        case HN_TERNARY: v = hn_def_op(g, n->in[1], HN_OP_BROADCAST) ? n->in[2] : n->in[1]; break;
        default: return 0;
        }
    }
    return 0;
}

static bool may_move(const hn_rewriter *r, const hn_tensor *one) {
    double x = hn_get_f(one, 0);
    int e;
    return isfinite(x) && x != 0 && (r->relaxed || fabs(frexp(x, &e)) == 0.5);
}

/* The factor of a scaled operand, and what it scales. */
static hn_val scaled(const hn_rewriter *r, hn_val v, hn_val *factor) {
    const hn_node *n = hn_def_op(r->g, v, HN_OP_MUL);
    hn_tensor one;
    if (!n || !hn_splat_of(r->g, n->in[1], &one) || !may_move(r, &one)) return 0;
    *factor = n->in[1];
    return n->in[0];
}

typedef struct marks {
    bool *scores; /* values that are the scores of an attention */
    bool *mixed;  /* values that are a softmax of scores times something, the softmax second */
    uint32_t n;
} marks;

/* The softmax runs over the last dimension of the scores: the operand that has it is the keys. */
static bool keys_first(const hn_node *n) {
    const hn_attr *lhs = hn_attr_get(n, HN_A_LHS), *out = hn_attr_get(n, HN_A_OUT);
    for (uint32_t i = 0; i < lhs->n && out->n; i++)
        if (lhs->ints[i] == out->ints[out->n - 1]) return true;
    return false;
}

static hn_val swapped(hn_rewriter *r, const hn_node *n) {
    const hn_attr *lhs = hn_attr_get(n, HN_A_LHS), *rhs = hn_attr_get(n, HN_A_RHS), *out = hn_attr_get(n, HN_A_OUT);
    return hn_contract(&r->b, n->in[1], n->in[0], rhs->ints, lhs->ints, out->n, out->ints,
                       hn_type_of(r->g, n->out[0])->dtype);
}

static hn_val move_scales(hn_rewriter *r, const hn_node *n) {
    const marks *m = r->arg;
    if (n->op != HN_OP_CONTRACT || n->out[0] >= m->n) return HN_KEEP;
    if (m->mixed[n->out[0]]) return swapped(r, n);
    if (!m->scores[n->out[0]]) return HN_KEEP;
    hn_val in[2] = {n->in[0], n->in[1]}, factor[2] = {0, 0};
    bool any = false;
    for (size_t i = 0; i < 2; i++) {
        hn_val x = scaled(r, in[i], &factor[i]);
        if (x) in[i] = x;
        any |= x != 0;
    }
    if (!any) return keys_first(n) ? swapped(r, n) : HN_KEEP;
    const hn_type t = *hn_type_of(r->g, n->out[0]);
    hn_val y = hn_emit(r->g, r->b.b, HN_OP_CONTRACT, 2, in, n->n_attr, n->attr, 1);
    if (keys_first(n)) y = swapped(r, hn_def(r->g, y));
    for (size_t i = 0; i < 2; i++) {
        hn_tensor one;
        if (!factor[i] || !hn_splat_of(r->g, factor[i], &one)) continue;
        hn_val s = hn_cast(&r->b, hn_const(&r->b, &one), t.dtype);
        y = hn_bin(&r->b, HN_OP_MUL, y, hn_broadcast_to(&r->b, s, t.rank, t.dim));
    }
    return y;
}

/* Every contraction whose one input is a softmax over scores. */
static void mark(hn_graph *g, hn_block b, marks *m) {
    const hn_blk *k = &g->block[b];
    for (uint32_t i = 0; i < k->n_node; i++) {
        const hn_node *n = &g->node[k->node[i]];
        const hn_attr *body = hn_attr_get(n, HN_A_BODY);
        for (uint32_t j = 0; body && n->op != HN_OP_KERNEL && j < body->n; j++) mark(g, body->blocks[j], m);
        for (size_t j = 0; n->op == HN_OP_CONTRACT && j < 2; j++) {
            hn_val x = hn_softmax_input(g, n->in[j]), scores = x ? scores_of(g, x) : 0;
            if (scores) m->scores[scores] = true;
            if (scores && j == 1) m->mixed[n->out[0]] = true;
        }
    }
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    marks m = {HN_NEW_N(&g->arena, bool, g->n_value), HN_NEW_N(&g->arena, bool, g->n_value), g->n_value};
    if (!m.scores || !m.mixed) return hn_graph_failure(g, err);
    mark(g, 0, &m);
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .arg = &m};
    hn_rewrite(&r, move_scales);
    ctx->n_rewrites += r.n_rewrites;
    if (r.n_rewrites) hn_sweep(g);
    hn_split_keys(g, ctx);
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_attention = {
    .name = "attention",
    .summary = "scales of attention move behind the product of queries and keys; for devices, few queries take many "
               "keys in parts",
    .needs = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .breaks = HN_FACT_CANONICAL,
    .run = run,
};
