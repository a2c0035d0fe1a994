/* docs/code/idempotent.c — the example pass of docs/how-to-add-a-pass.md: max(max(x, y), y) is max(x, y). */
#include "pass/passes.h"
#include "pass/rewrite.h"

/* Exact: NaN wins in both, and so does the greater value. */
static hn_val once(hn_rewriter *r, const hn_node *n) {
    if (n->op != HN_OP_MAX && n->op != HN_OP_MIN) return HN_KEEP;
    const hn_node *inner = hn_def_op(r->g, n->in[0], n->op);
    return inner && inner->in[1] == n->in[1] ? n->in[0] : HN_KEEP;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) { return hn_rewrite_all(g, ctx, once, 4, err); }

const hn_pass hn_pass_idempotent = {
    .name = "idempotent",
    .summary = "clamp to the same limit once",
    .needs = HN_FACT_CANONICAL,
    .breaks = HN_FACT_NO_DEAD,
    .run = run,
};
