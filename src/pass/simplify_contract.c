/* pass/simplify_contract.c — products of matrices that are written in another form. Weights of three dimensions (a
 * dense layer of tf.keras that makes heads: "abc,cde->abde") are a matrix with two of them together; what is added to
 * the result comes before it is taken apart. Products and convolutions of half precision are those of single precision,
 * rounded. So such layers get panels, register tiles and epilogues like any other. */
#include "pass/simplify.h"

#include <string.h>

static int64_t place_of(const hn_attr *a, int64_t label) {
    for (uint32_t i = 0; i < a->n; i++)
        if (a->ints[i] == label) return i;
    return -1;
}

/* b follows a directly, or neither is there. */
static bool side_by_side(const hn_attr *labels, int64_t a, int64_t b) {
    int64_t i = place_of(labels, a), j = place_of(labels, b);
    return i < 0 ? j < 0 : j == i + 1;
}

/* Two labels of a constant that are one in every operand and the result; not of a batch. */
static bool find_pair(const hn_attr *of, const hn_attr *const all[3], int64_t *a, int64_t *b) {
    for (uint32_t i = 0; i + 1 < of->n; i++) {
        bool one = true, batch = true;
        *a = of->ints[i], *b = of->ints[i + 1];
        for (size_t k = 0; k < 3; k++) {
            one &= side_by_side(all[k], *a, *b);
            batch &= place_of(all[k], *a) >= 0;
        }
        if (one && !batch) return true;
    }
    return false;
}

/* The dimensions with number at and at + 1 become one. */
static hn_val join(hn_rewriter *r, hn_val v, int64_t at) {
    hn_type t = *hn_type_of(r->g, v);
    if (at < 0) return v;
    t.dim[at] = hn_dim_mul(r->g->dims, t.dim[at], t.dim[at + 1]);
    for (int64_t d = at + 1; d + 1 < t.rank; d++) t.dim[d] = t.dim[d + 1];
    return hn_reshape(&r->b, v, t.rank - 1u, t.dim);
}

static size_t without(const hn_attr *labels, int64_t b, int64_t *out) {
    size_t n = 0;
    for (uint32_t i = 0; i < labels->n; i++)
        if (labels->ints[i] != b) out[n++] = labels->ints[i];
    return n;
}

static hn_val join_labels(hn_rewriter *r, const hn_node *n) {
    const hn_attr *all[3] = {hn_attr_get(n, HN_A_LHS), hn_attr_get(n, HN_A_RHS), hn_attr_get(n, HN_A_OUT)};
    int64_t a, b, lhs[HN_RANK_MAX], rhs[HN_RANK_MAX], out[HN_RANK_MAX];
    int side = hn_const_of(r->g, n->in[1]) ? 1 : hn_const_of(r->g, n->in[0]) ? 0 : -1;
    if (side < 0 || hn_const_of(r->g, n->in[!side]) || !find_pair(all[side], all, &a, &b)) return 0;
    const hn_type t = *hn_type_of(r->g, n->out[0]);
    hn_val x = join(r, n->in[0], place_of(all[0], a)), y = join(r, n->in[1], place_of(all[1], a));
    without(all[0], b, lhs), without(all[1], b, rhs);
    size_t rank = without(all[2], b, out);
    return hn_reshape(&r->b, hn_contract(&r->b, x, y, lhs, rhs, rank, out, t.dtype), t.rank, t.dim);
}

/* The value that v repeats along all dimensions but those from `first` on; 0: v is something else. */
static hn_val repeated(const hn_rewriter *r, hn_val v, size_t first) {
    const hn_node *n = hn_def_op(r->g, v, HN_OP_BROADCAST);
    if (!n) return 0;
    const hn_attr *map = hn_attr_get(n, HN_A_MAP);
    const hn_type *x = hn_type_of(r->g, n->in[0]), *y = hn_type_of(r->g, v);
    if (first + x->rank != y->rank) return 0;
    for (size_t d = 0; d < x->rank; d++)
        if (map->ints[d] != (int64_t)(first + d) || hn_dim_equal(r->g->dims, x->dim[d], y->dim[first + d]) != HN_EQUAL)
            return 0;
    return n->in[0];
}

/* The reshape takes nothing but the last dimension apart. */
static bool splits_last(const hn_rewriter *r, const hn_type *x, const hn_type *y) {
    if (!x->rank || x->rank >= y->rank) return false;
    for (size_t d = 0; d + 1 < x->rank; d++)
        if (hn_dim_equal(r->g->dims, x->dim[d], y->dim[d]) != HN_EQUAL) return false;
    return true;
}

static hn_val before_split(hn_rewriter *r, const hn_node *n) {
    for (size_t i = 0; i < 2; i++) {
        const hn_node *split = hn_def_op(r->g, n->in[i], HN_OP_RESHAPE);
        const hn_node *product =
            split && hn_used_once(r, n->in[i]) ? hn_def_op(r->g, split->in[0], HN_OP_CONTRACT) : NULL;
        if (!product) continue;
        const hn_type x = *hn_type_of(r->g, split->in[0]), y = *hn_type_of(r->g, n->out[0]);
        hn_val v = splits_last(r, &x, &y) ? repeated(r, n->in[1 - i], x.rank - 1u) : 0, from = split->in[0];
        if (!v) continue;
        v = hn_broadcast_to(&r->b, hn_reshape(&r->b, v, 1, &x.dim[x.rank - 1]), x.rank, x.dim);
        v = hn_bin(&r->b, n->op, i ? v : from, i ? from : v);
        return hn_reshape(&r->b, v, y.rank, y.dim);
    }
    return 0;
}

/* Sums are of 32 bits at least in any case (docs/ir.md), so only their rounding is written out. */
static hn_val in_single(hn_rewriter *r, const hn_node *n) {
    hn_attr attr[HN_N_ATTRS];
    hone_dtype t = hn_type_of(r->g, n->out[0])->dtype;
    if (r->layout && r->layout->halves) return 0;
    if (!hn_is_half(hn_type_of(r->g, n->in[0])->dtype) && !hn_is_half(hn_type_of(r->g, n->in[1])->dtype)) return 0;
    const hn_op op = n->op;
    const uint16_t n_attr = n->n_attr;
    memcpy(attr, n->attr, n_attr * sizeof *attr);
    for (uint16_t i = 0; i < n_attr; i++)
        if (attr[i].id == HN_A_DTYPE && hn_is_half(t)) attr[i].i = HONE_F32;
    const hn_val in[] = {n->in[0], n->in[1]};
    const hn_val single[] = {hn_cast(&r->b, in[0], HONE_F32), hn_cast(&r->b, in[1], HONE_F32)};
    return hn_cast(&r->b, hn_emit(r->g, r->b.b, op, 2, single, n_attr, attr, 1), t);
}

const hn_simplify_rule hn_rules_contract[] = {
    {HN_OP_CONTRACT, HN_EXACT, in_single, "contract(x, y) of halves = cast(contract(cast(x), cast(y))), in f32"},
    {HN_OP_CONV, HN_EXACT, in_single, "conv(x, y) of halves = cast(conv(cast(x), cast(y))), in f32"},
    {HN_OP_CONTRACT, HN_EXACT, join_labels, "labels of weights that always stand together are one"},
    {HN_OP_ADD, HN_EXACT, before_split, "reshape(x) + broadcast(y) = reshape(x + broadcast(reshape(y))), x a product"},
    {HN_OP_MUL, HN_EXACT, before_split, "reshape(x) * broadcast(y) = reshape(x * broadcast(reshape(y))), x a product"},
    {HN_OP_CONST, HN_EXACT, NULL, NULL},
};
