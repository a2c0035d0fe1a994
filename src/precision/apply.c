/* apply.c — a plan put into a graph: operands quantised and dequantised in front of their product.
 *
 * x becomes (byte - zero) * scale with u8 bytes, the weights of a column i8 bytes times the column's scale. Smoothing
 * (Xiao et al., "SmoothQuant", ICML 2023) moves powers of two from one operand to the other, which rounds nothing.
 */
#include "precision/precision.h"

#include "base/err.h"
#include "compose/compose.h"

#include <math.h>
#include <string.h>

typedef struct applier {
    const hn_narrow_plan *plan;
    const hn_narrow_choice **of; /* by node, NULL: as it is */
    const hn_narrow_product *product;
    uint32_t n_product, n_node;
    hn_val switches; /* the input; 0: none */
} applier;

static const hn_narrow_product *product_of(const applier *a, uint32_t node) {
    for (uint32_t i = 0; i < a->n_product; i++)
        if (a->product[i].node == node) return &a->product[i];
    return NULL;
}

/* --- weights -------------------------------------------------------------------------------------------------------
 */

static int64_t stride_of(const hn_tensor *t, size_t axis) {
    int64_t n = 1;
    for (size_t i = axis + 1; i < t->rank; i++) n *= t->dim[i];
    return n;
}

/* A copy times 2 to the smoothing of the dimension that is summed over. */
static bool smooth_weights(hn_graph *g, const hn_tensor *from, size_t sum, const hn_narrow_choice *c, hn_tensor *out) {
    int64_t inner = stride_of(from, sum), size = from->dim[sum];
    if (!hn_tensor_new(&g->arena, HONE_F32, from->rank, from->dim, out)) return false;
    for (int64_t i = 0, n = hn_tensor_n(from); i < n; i++)
        ((float *)out->data)[i] = ldexpf(((const float *)from->data)[i], (int)c->smooth[i / inner % size]);
    return true;
}

static bool quantise_weights(hn_graph *g, const hn_tensor *w, size_t axis, bool least, hn_tensor *q, hn_tensor *scale) {
    int64_t size = w->dim[axis], inner = stride_of(w, axis), outer = hn_tensor_n(w) / (size * inner);
    const float *x = w->data;
    if (!hn_tensor_new(&g->arena, HONE_I8, w->rank, w->dim, q)) return false;
    if (!hn_tensor_new(&g->arena, HONE_F32, 1, &size, scale)) return false;
    for (int64_t c = 0; c < size; c++)
        ((float *)scale->data)[c] = hn_weight_scale(x + c * inner, size * inner, inner, outer, least);
    for (int64_t i = 0, n = hn_tensor_n(w); i < n; i++) {
        float step = ((const float *)scale->data)[i / inner % size];
        ((int8_t *)q->data)[i] = (int8_t)fminf(fmaxf(nearbyintf(x[i] / step), -127), 127);
    }
    return true;
}

static hn_val narrow_weights(hn_rewriter *r, const hn_tensor *w, const hn_narrow_product *p, const hn_narrow_choice *c,
                             bool least) {
    hn_tensor smooth = *w, q, scale;
    if (c->smooth && !smooth_weights(r->g, w, p->form.sum, c, &smooth)) return 0;
    if (p->form.own) return hn_const(&r->b, &smooth);
    if (!quantise_weights(r->g, &smooth, p->form.axis, least, &q, &scale)) return 0;
    hn_val s = hn_along(&r->b, hn_const(&r->b, &scale), w->rank, p->form.axis);
    return hn_dequantise(&r->b, hn_const(&r->b, &q), s, 0, HONE_F32);
}

/* --- what they are multiplied by -----------------------------------------------------------------------------------
 */

static hn_val smooth_input(hn_rewriter *r, hn_val x, size_t axis, const hn_narrow_choice *c) {
    hn_tensor t;
    if (!hn_tensor_new(&r->g->arena, HONE_F32, 1, &c->n_smooth, &t)) return 0;
    for (int64_t i = 0; i < c->n_smooth; i++) ((float *)t.data)[i] = ldexpf(1, -(int)c->smooth[i]);
    return hn_bin(&r->b, HN_OP_MUL, x, hn_along(&r->b, hn_const(&r->b, &t), hn_rank(&r->b, x), axis));
}

static hn_val narrow_input(hn_rewriter *r, hn_val x, const hn_narrow_product *p, const hn_narrow_choice *c) {
    hn_builder *b = &r->b;
    if (c->smooth) x = smooth_input(r, x, p->form.x_sum, c);
    hn_val scale = hn_const_f(b, HONE_F32, (double)c->x.scale), zero = hn_const_i(b, HONE_U8, c->x.zero);
    hn_val steps = hn_bin_f(b, HN_OP_MUL, x, 1 / (double)c->x.scale); /* a division takes as long as all else here */
    hn_val bytes = hn_to_quantised(b, steps, c->x.zero ? zero : 0, HONE_U8);
    return hn_dequantise(b, bytes, scale, c->x.zero ? zero : 0, HONE_F32);
}

/* Both versions, and the switch that takes one. */
static hn_val either(hn_rewriter *r, const hn_node *n, hn_val narrow, size_t at) {
    const applier *a = r->arg;
    hn_builder *b = &r->b;
    hn_val as_is = hn_emit(r->g, b->b, n->op, n->n_in, n->in, n->n_attr, n->attr, 1);
    hn_val one = hn_slice_axis(b, a->switches, 0, hn_lit(b, (int64_t)at), hn_lit(b, 1), 1);
    return hn_where(b, hn_scalar(b, one), narrow, as_is);
}

/* Both operands as bf16, rounded to nearest even. A product of two such numbers is exact in f32, so what is rounded
 * besides is the sum, in the order of f32 products. */
static hn_val half_product(hn_rewriter *r, const hn_node *n, const hn_tensor *w) {
    hn_tensor half;
    if (!hn_tensor_new(&r->g->arena, HONE_BF16, w->rank, w->dim, &half)) return 0;
    for (int64_t i = 0, count = hn_tensor_n(w); i < count; i++) hn_set_f(&half, i, hn_get_f(w, i));
    const hn_val in[] = {hn_cast(&r->b, n->in[0], HONE_BF16), hn_const(&r->b, &half)};
    return hn_emit(r->g, r->b.b, n->op, 2, in, n->n_attr, n->attr, 1);
}

static hn_val narrow_rule(hn_rewriter *r, const hn_node *node) {
    const applier *a = r->arg;
    const hn_narrow_choice *c = r->id < a->n_node ? a->of[r->id] : NULL;
    if (!c) return HN_KEEP;
    const hn_narrow_product p = *product_of(a, r->id);
    const hn_node n = *node;
    const hn_tensor w = *hn_const_of(r->g, n.in[1]);
    if (c->half && !a->switches) return half_product(r, &n, &w);
    const hn_val x = narrow_input(r, n.in[0], &p, c);
    const hn_val in[] = {x, narrow_weights(r, &w, &p, c, a->plan->least)};
    const hn_val narrow = hn_emit(r->g, r->b.b, n.op, 2, in, n.n_attr, n.attr, 1);
    return a->switches ? either(r, &n, narrow, (size_t)(c - a->plan->choice)) : narrow;
}

/* --- a plan and a graph --------------------------------------------------------------------------------------------
 */

static bool same_weights(const hn_narrow_choice *c, const hn_tensor *w) {
    char hex[33];
    if (!c->hash) return true;
    hn_weights_hash(w, hex);
    return !strcmp(hex, c->hash);
}

static hone_rc match(const hn_narrow_choice *c, const applier *a, const hn_graph *g, hone_err *err) {
    for (uint32_t i = 0; i < a->n_product; i++) {
        const hn_narrow_product *p = &a->product[i];
        if (strcmp(p->name, c->name) != 0) continue;
        if (strcmp(p->shape, c->shape) != 0)
            return hn_fail(err, HONE_E_MISMATCH,
                           "'%s' has weights of %s, not %s as the precision says: it is of another model", c->name,
                           p->shape, c->shape);
        if (c->half && p->form.bytes_alone)
            return hn_fail(err, HONE_E_MISMATCH, "'%s' can be int8 or f32, not bf16: it has few weights", c->name);
        const hn_tensor *w = hn_const_of(g, g->node[p->node].in[1]);
        if (!same_weights(c, w))
            return hn_fail(
                err, HONE_E_MISMATCH,
                "'%s' has other weights than those that the precision was chosen on: it is of another model; "
                "choose again on samples",
                c->name);
        if (c->smooth && c->n_smooth != w->dim[p->form.sum])
            return hn_fail(err, HONE_E_MISMATCH, "'%s' sums over another number of elements than are smoothed",
                           c->name);
        if (c->narrow) a->of[p->node] = c;
        return HONE_OK;
    }
    return hn_fail(err, HONE_E_MISMATCH,
                   "the model has no product '%s', which the precision names: it is of another model", c->name);
}

static hone_rc apply(const hn_narrow_plan *plan, hn_graph *g, bool switched, hone_err *err) {
    hn_narrow_product *product;
    applier a = {.plan = plan, .n_node = g->n_node};
    hone_rc rc = hn_products_find(g, &product, &a.n_product, err);
    a.product = product;
    a.of = rc ? NULL : hn_alloc_n(&g->arena, g->n_node, sizeof *a.of);
    if (!rc && !a.of) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < plan->n && !rc; i++) rc = match(&plan->choice[i], &a, g, err);
    if (rc) return rc;
    hn_type type = {.dtype = HONE_BOOL, .rank = 1, .dim = {hn_dim_int(g->dims, (int64_t)plan->n)}};
    if (switched) a.switches = hn_param(g, 0, HN_SWITCHES, &type);
    hn_rewriter r = {.g = g, .arg = &a};
    hn_rewrite(&r, narrow_rule);
    hn_sweep(g);
    return hn_graph_failure(g, err);
}

hone_rc hn_plan_apply(const hn_narrow_plan *plan, hn_graph *g, hone_err *err) { return apply(plan, g, false, err); }

hone_rc hn_plan_apply_switched(const hn_narrow_plan *plan, hn_graph *g, hone_err *err) {
    return apply(plan, g, true, err);
}

hone_rc hn_plan_half(hn_graph *g, hn_narrow_plan *out, hone_err *err) {
    hn_narrow_product *product;
    hn_narrow_plan plan = {.kind = "bf16", .calibrate = "none", .data = "none"};
    uint32_t n;
    hone_rc rc = hn_products_find(g, &product, &n, err);
    if (rc) return rc;
    plan.choice = HN_NEW_N(&plan.arena, hn_narrow_choice, n + 1);
    for (uint32_t i = 0; plan.choice && i < n; i++) {
        char hash[33];
        if (product[i].form.bytes_alone) continue;
        hn_weights_hash(hn_const_of(g, g->node[product[i].node].in[1]), hash);
        plan.choice[plan.n++] = (hn_narrow_choice){.name = hn_strdup(&plan.arena, product[i].name),
                                                   .shape = hn_strdup(&plan.arena, product[i].shape),
                                                   .hash = hn_strdup(&plan.arena, hash),
                                                   .narrow = true,
                                                   .half = true};
    }
    if (!hn_arena_ok(&plan.arena)) {
        hn_plan_free(&plan);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    *out = plan;
    return HONE_OK;
}

hone_rc hn_plan_graph(const char *text, const hn_graph *g, hn_narrow_plan *plan, hn_graph **out, hone_err *err) {
    hone_rc rc = hn_plan_parse(text, strlen(text), "precision", plan, err);
    if (rc) return rc;
    hn_graph *copy = hn_copy_graph(g);
    rc = copy ? hn_graph_failure(copy, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hn_products_prepare(copy, err);
    if (!rc) rc = hn_plan_apply(plan, copy, err);
    if (!rc) {
        hn_graph_seal(copy);
        *out = copy;
        return HONE_OK;
    }
    hn_plan_free(plan);
    if (copy) hn_graph_free(copy);
    return rc;
}
