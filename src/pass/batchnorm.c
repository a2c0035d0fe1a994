/* pass/batchnorm.c — per-channel scales behind a convolution or contraction go into its constant weights, and shifts
 * into one bias.
 *
 * Legal in both numeric modes: each weight is rounded once more, a relative error of half a unit in the last place per
 * product, which the sum of products has anyway (its order and intermediate precision are not part of the contract of
 * `contract` and `conv`). Constants are computed in double. Weights that would overflow, or underflow, stay.
 */
#include "pass/channel.h"
#include "pass/passes.h"

#include <math.h>
#include <string.h>

/* --- the node in front: conv or contract with constant weights ---------------------------------------------------- */

typedef struct base {
    const hn_node *node;
    size_t side; /* which input is the constant */
    const hn_tensor *weights;
    size_t axis, weight_axis; /* the channel dimension of the result and of the weights */
} base;

static bool find_label(const hn_attr *labels, int64_t label, size_t *at_dim) {
    for (uint32_t i = 0; i < labels->n; i++)
        if (labels->ints[i] == label) return *at_dim = i, true;
    return false;
}

/* The last dimension of the result that the weights have. */
static bool contract_base(hn_rewriter *r, const hn_node *n, base *out) {
    const hn_attr *to = hn_attr_get(n, HN_A_OUT);
    for (size_t side = 0; side < 2; side++) {
        const hn_tensor *w = hn_const_of(r->g, n->in[side]);
        const hn_attr *labels = hn_attr_get(n, side ? HN_A_RHS : HN_A_LHS);
        for (size_t i = to->n; w && i-- > 0;) {
            *out = (base){n, side, w, i, 0};
            if (find_label(labels, to->ints[i], &out->weight_axis)) return true;
        }
    }
    return false;
}

static bool base_of(hn_rewriter *r, hn_val v, base *out) {
    const hn_node *n = hn_def(r->g, v);
    if (!n || !hn_used_once(r, v)) return false;
    const hn_type *t = hn_type_of(r->g, v);
    if (t->dtype != HONE_F32 && t->dtype != HONE_F64) return false;
    if (n->op == HN_OP_CONV) {
        *out = (base){n, 1, hn_const_of(r->g, n->in[1]), 1, 0};
        return out->weights && out->weights->dtype == t->dtype;
    }
    return n->op == HN_OP_CONTRACT && contract_base(r, n, out) && out->weights->dtype == t->dtype;
}

/* --- new constants ------------------------------------------------------------------------------------------------ */

static bool keeps_normal(hone_dtype t, double x, double was) {
    double smallest = t == HONE_F64 ? 0x1p-1022 : 0x1p-126;
    return !isfinite(was) || (isfinite(x) && (x == 0 || fabs(x) >= smallest));
}

/* weights * s or weights / s along the channel. */
static hn_val scaled_base(hn_rewriter *r, const base *b, const hn_channel *s, bool divide) {
    const hn_tensor *w = b->weights;
    int64_t inner = 1, size = w->dim[b->weight_axis], n = hn_tensor_n(w);
    hn_tensor out;
    if ((s->n != 1 && s->n != size) || !hn_tensor_new(&r->g->arena, w->dtype, w->rank, w->dim, &out)) return 0;
    for (size_t i = b->weight_axis + 1; i < w->rank; i++) inner *= w->dim[i];
    for (int64_t i = 0; i < n; i++) {
        double x = hn_get_f(w, i), y = hn_channel_at(s, i / inner % size);
        hn_set_f(&out, i, divide ? x / y : x * y);
        bool vanishes = hn_get_f(&out, i) == 0 && x != 0 && y != 0;
        if ((divide && y == 0) || vanishes || !keeps_normal(w->dtype, hn_get_f(&out, i), x)) return 0;
    }
    hn_val in[2] = {b->node->in[0], b->node->in[1]};
    const hn_node node = *b->node;
    in[b->side] = hn_const(&r->b, &out);
    return hn_emit(r->g, r->b.b, node.op, 2, in, node.n_attr, node.attr, 1);
}

typedef double combine(double a, double b);
static double times(double a, double b) { return a * b; }
static double over(double a, double b) { return a / b; }
static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }

/* f(a, b) element by element as a value of the type of `like`. */
static hn_val combined(hn_rewriter *r, const hn_channel *a, const hn_channel *b, combine *f, size_t axis, hn_val like) {
    int64_t n = a->n > b->n ? a->n : b->n, map = (int64_t)axis;
    const hn_type t = *hn_type_of(r->g, like);
    hn_tensor out;
    if ((a->n != 1 && a->n != n) || (b->n != 1 && b->n != n)) return 0;
    if (!hn_tensor_new(&r->g->arena, t.dtype, n > 1, &n, &out)) return 0;
    for (int64_t i = 0; i < n; i++) {
        hn_set_f(&out, i, f(hn_channel_at(a, i), hn_channel_at(b, i)));
        if (!isfinite(hn_get_f(&out, i))) return 0;
    }
    hn_val c = hn_const(&r->b, &out);
    hn_attr attr[] = {{.id = HN_A_SHAPE, .n = t.rank, .dims = t.dim}, {.id = HN_A_MAP, .n = n > 1, .ints = &map}};
    return hn_emit(r->g, r->b.b, HN_OP_BROADCAST, 1, &c, 2, attr, 1);
}

/* --- the rules ---------------------------------------------------------------------------------------------------- */

/* base * s */
static hn_val scale_of_base(hn_rewriter *r, const hn_node *n) {
    base b;
    hn_channel s;
    if (!base_of(r, n->in[0], &b) || !hn_channel_of(r, n->in[1], b.axis, &s)) return 0;
    return scaled_base(r, &b, &s, n->op == HN_OP_DIV);
}

/* (base + a) * s = base * s + a * s */
static hn_val scale_of_shift(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def(r->g, n->in[0]);
    base b;
    hn_channel a, s;
    bool divide = n->op == HN_OP_DIV;
    if (!inner || (inner->op != HN_OP_ADD && inner->op != HN_OP_SUB) || !hn_used_once(r, n->in[0])) return 0;
    if (!base_of(r, inner->in[0], &b) || !hn_channel_of(r, inner->in[1], b.axis, &a)) return 0;
    if (!hn_channel_of(r, n->in[1], b.axis, &s)) return 0;
    hn_val shift = combined(r, &a, &s, divide ? over : times, b.axis, n->out[0]);
    hn_val scaled = shift ? scaled_base(r, &b, &s, divide) : 0;
    return scaled ? hn_bin(&r->b, inner->op, scaled, shift) : 0;
}

/* (base + a) + c = base + (a + c), with signs */
static hn_val shift_of_shift(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def(r->g, n->in[0]);
    base b;
    hn_channel a, c;
    if (!inner || (inner->op != HN_OP_ADD && inner->op != HN_OP_SUB) || !hn_used_once(r, n->in[0])) return 0;
    if (!base_of(r, inner->in[0], &b) || !hn_channel_of(r, inner->in[1], b.axis, &a)) return 0;
    if (!hn_channel_of(r, n->in[1], b.axis, &c)) return 0;
    hn_op op = inner->op;
    hn_val shift = combined(r, &a, &c, op == n->op ? plus : minus, b.axis, n->out[0]);
    return shift ? hn_bin(&r->b, op, inner->in[0], shift) : 0;
}

static hn_val merge(hn_rewriter *r, const hn_node *n) {
    hn_val with = 0;
    if (n->op == HN_OP_MUL || n->op == HN_OP_DIV) {
        with = scale_of_base(r, n);
        return with ? with : scale_of_shift(r, n);
    }
    return n->op == HN_OP_ADD || n->op == HN_OP_SUB ? shift_of_shift(r, n) : HN_KEEP;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) { return hn_rewrite_all(g, ctx, merge, 8, err); }

const hn_pass hn_pass_batchnorm = {
    .name = "batchnorm",
    .summary = "per-channel scales and shifts go into weights and bias",
    .needs = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .breaks = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .run = run,
};
