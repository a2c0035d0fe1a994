/* pass/subnormal.c — subnormal weights of products and convolutions become zero.
 *
 * Training with weight decay leaves channels that are never used with weights of 1e-40 or so, and x86 processors take
 * more than 100 cycles for each multiplication that reads one: a convolution of 384 channels of which one is dead takes
 * five times as long. A constant whose largest element is LARGE or more loses its subnormal elements: each term of the
 * sum changes by less than 2^-26 of what the largest weight makes of the same input, as a rounding would. Legal in both
 * numeric modes: the intermediate precision of `contract` and `conv` is not part of their contract.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <math.h>

static const float SUBNORMAL = 0x1p-126f, LARGE = 0x1p-100f;

static bool has_lost(const hn_tensor *w) {
    const float *x = w->data;
    float largest = 0;
    int64_t n = hn_tensor_n(w), n_subnormal = 0;
    for (int64_t i = 0; i < n; i++) {
        float a = fabsf(x[i]);
        n_subnormal += a < SUBNORMAL && a > 0;
        largest = a > largest ? a : largest;
    }
    return n_subnormal && largest >= LARGE;
}

static hn_val without(hn_rewriter *r, const hn_tensor *w) {
    hn_tensor out;
    if (!hn_tensor_new(&r->g->arena, w->dtype, w->rank, w->dim, &out)) return 0;
    const float *from = w->data;
    float *to = out.data;
    for (int64_t i = 0, n = hn_tensor_n(w); i < n; i++) to[i] = fabsf(from[i]) < SUBNORMAL ? 0 : from[i];
    return hn_const(&r->b, &out);
}

static hn_val flush(hn_rewriter *r, const hn_node *n) {
    if (n->op != HN_OP_CONV && n->op != HN_OP_CONTRACT) return HN_KEEP;
    const hn_node node = *n;
    hn_val in[3];
    bool changed = false;
    for (uint32_t i = 0; i < node.n_in; i++) {
        const hn_tensor *w = i < 2 ? hn_const_of(r->g, node.in[i]) : NULL;
        bool lost = w && w->dtype == HONE_F32 && has_lost(w);
        in[i] = lost ? without(r, w) : node.in[i];
        changed |= lost;
    }
    return changed ? hn_emit(r->g, r->b.b, node.op, node.n_in, in, node.n_attr, node.attr, 1) : HN_KEEP;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) { return hn_rewrite_all(g, ctx, flush, 2, err); }

const hn_pass hn_pass_subnormal = {
    .name = "subnormal",
    .summary = "subnormal weights of products become zero",
    .needs = HN_FACT_FOLDED | HN_FACT_NO_DEAD,
    .breaks = HN_FACT_NO_DEAD,
    .run = run,
};
