/* pass/simplify.c — algebra as a table of rules, tried in order until none applies. Commutative operations first get
 * their constant operand on the right, so that rules look for it in one place. */
#include "pass/simplify.h"

#include "pass/passes.h"

enum { WALKS_MAX = 16 };

/* 2: the same everywhere; 1: made of one constant by movement; 0: depends on more. */
static int constness(const hn_graph *g, hn_val v) {
    hn_tensor one;
    if (hn_splat_of(g, v, &one)) return 2;
    const hn_node *n = hn_def(g, v);
    while (n && (n->op == HN_OP_BROADCAST || n->op == HN_OP_RESHAPE)) n = hn_def(g, n->in[0]);
    return n && n->op == HN_OP_CONST;
}

/* Inputs are swapped in place: the node stays the same value. */
static void order_inputs(hn_rewriter *r, const hn_node *n) {
    if (!(hn_op_of(n->op)->flags & HN_COMMUTES) || n->n_in != 2) return;
    if (constness(r->g, n->in[0]) <= constness(r->g, n->in[1])) return;
    hn_val x = n->in[0];
    n->in[0] = n->in[1];
    n->in[1] = x;
    r->n_rewrites++;
}

static hn_val apply(hn_rewriter *r, const hn_node *n, const hn_simplify_rule *rule) {
    for (; rule->apply; rule++) {
        if (rule->op != n->op || (rule->exactness == HN_RELAXED && !r->relaxed)) continue;
        hn_val with = rule->apply(r, n);
        if (with) return with;
    }
    return HN_KEEP;
}

static hn_val simplify(hn_rewriter *r, const hn_node *n) {
    if (n->n_out != 1) return HN_KEEP;
    order_inputs(r, n);
    hn_val with = apply(r, n, hn_rules_math);
    if (!with) with = hn_simplify_pointwise(r, n);
    if (!with) with = apply(r, n, hn_rules_move);
    return with ? with : apply(r, n, hn_rules_contract);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    return hn_rewrite_all(g, ctx, simplify, WALKS_MAX, err);
}

const hn_pass hn_pass_simplify = {
    .name = "simplify",
    .summary = "algebra: identities, inverses, movements that cancel",
    .gives = HN_FACT_CANONICAL,
    .breaks = HN_FACT_FOLDED | HN_FACT_NO_DEAD,
    .run = run,
};
