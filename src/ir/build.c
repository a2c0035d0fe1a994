/* ir/build.c — numpy-style helpers over hn_emit. */
#include "ir/build.h"

#include <inttypes.h>
#include <string.h>

/* --- attributes and nodes ---------------------------------------------------------------------------------------- */

static hn_attr attr_i(hn_attr_id id, int64_t i) { return (hn_attr){.id = id, .kind = hn_attr_of(id)->kind, .i = i}; }
static hn_attr attr_ints(hn_attr_id id, size_t n, const int64_t *x) {
    return (hn_attr){.id = id, .kind = HN_K_INTS, .n = (uint32_t)n, .ints = x};
}
static hn_attr attr_dims(hn_attr_id id, size_t n, const hn_dim *x) {
    return (hn_attr){.id = id, .kind = HN_K_DIMS, .n = (uint32_t)n, .dims = x};
}
static hn_attr attr_name(hn_attr_id id, const char *name) {
    return (hn_attr){.id = id, .kind = HN_K_NAME, .name = name};
}

static hn_val emit(hn_builder *b, hn_op op, size_t n_in, const hn_val *in, size_t n_attr, const hn_attr *attr) {
    return hn_emit(b->g, b->b, op, n_in, in, n_attr, attr, 1);
}
static hn_val emit1(hn_builder *b, hn_op op, hn_val x, size_t n_attr, const hn_attr *attr) {
    return emit(b, op, 1, &x, n_attr, attr);
}

static hn_val wrong(hn_builder *b, const char *what) {
    if (hn_graph_ok(b->g)) hn_graph_fail(b->g, HONE_E_INPUT, "%s", what);
    return 0;
}
static hn_val wrong_axis(hn_builder *b, int64_t axis, size_t rank) {
    if (hn_graph_ok(b->g)) hn_graph_fail(b->g, HONE_E_INPUT, "axis %" PRId64 " is outside rank %zu", axis, rank);
    return 0;
}

/* Makes a negative axis positive; false when it is out of range. */
static bool fix_axis(hn_builder *b, int64_t *axis, size_t rank) {
    int64_t i = *axis < 0 ? *axis + (int64_t)rank : *axis;
    if (i < 0 || i >= (int64_t)rank) return wrong_axis(b, *axis, rank);
    *axis = i;
    return true;
}

/* --- types ------------------------------------------------------------------------------------------------------- */

const hn_type *hn_t(const hn_builder *b, hn_val v) { return &b->g->value[v].type; }
size_t hn_rank(const hn_builder *b, hn_val v) { return hn_t(b, v)->rank; }
hone_dtype hn_dt(const hn_builder *b, hn_val v) { return hn_t(b, v)->dtype; }
hn_dim hn_dim_of(const hn_builder *b, hn_val v, size_t axis) {
    return axis < hn_rank(b, v) ? hn_t(b, v)->dim[axis] : 0;
}
hn_dim hn_lit(hn_builder *b, int64_t n) { return hn_dim_int(b->g->dims, n); }

static bool is_one(const hn_builder *b, hn_dim d) {
    int64_t n;
    return hn_dim_is_int(b->g->dims, d, &n) && n == 1;
}
static bool equal(const hn_builder *b, hn_dim x, hn_dim y) {
    return x == y || hn_dim_equal(b->g->dims, x, y) == HN_EQUAL;
}
static bool has_shape(const hn_builder *b, hn_val v, size_t rank, const hn_dim *shape) {
    if (hn_rank(b, v) != rank) return false;
    for (size_t i = 0; i < rank; i++)
        if (!equal(b, hn_dim_of(b, v, i), shape[i])) return false;
    return true;
}

/* --- constants --------------------------------------------------------------------------------------------------- */

hn_val hn_const(hn_builder *b, const hn_tensor *t) {
    hn_attr a = {.id = HN_A_VALUE, .kind = HN_K_TENSOR, .n = 1, .tensor = t};
    return emit(b, HN_OP_CONST, 0, NULL, 1, &a);
}

hn_val hn_const_f(hn_builder *b, hone_dtype t, double x) {
    hn_tensor c;
    if (!hn_tensor_new(&b->g->arena, t, 0, NULL, &c)) return 0;
    hn_set_f(&c, 0, x);
    return hn_const(b, &c);
}

hn_val hn_const_i(hn_builder *b, hone_dtype t, int64_t x) {
    hn_tensor c;
    if (!hn_tensor_new(&b->g->arena, t, 0, NULL, &c)) return 0;
    hn_set_i(&c, 0, x);
    return hn_const(b, &c);
}

hn_val hn_const_ints(hn_builder *b, size_t n, const int64_t *x) {
    hn_tensor c;
    int64_t dim = (int64_t)n;
    if (!hn_tensor_new(&b->g->arena, HONE_I64, 1, &dim, &c)) return 0;
    if (n) memcpy(c.data, x, n * sizeof *x);
    return hn_const(b, &c);
}

hn_val hn_full(hn_builder *b, hone_dtype t, size_t rank, const hn_dim *shape, double x) {
    return hn_broadcast_to(b, hn_const_f(b, t, x), rank, shape);
}

hn_val hn_iota(hn_builder *b, hone_dtype t, size_t rank, const hn_dim *shape, size_t axis) {
    hn_attr a[] = {attr_dims(HN_A_SHAPE, rank, shape), attr_i(HN_A_DTYPE, t), attr_i(HN_A_AXIS, (int64_t)axis)};
    return emit(b, HN_OP_IOTA, 0, NULL, 3, a);
}

hn_val hn_dims_value(hn_builder *b, size_t n, const hn_dim *d) {
    int64_t value[64];
    bool known = n <= 64;
    for (size_t i = 0; i < n && known; i++) known = hn_dim_is_int(b->g->dims, d[i], &value[i]);
    if (known) return hn_const_ints(b, n, value);
    hn_attr a = attr_dims(HN_A_SHAPE, n, d);
    return emit(b, HN_OP_DIMS, 0, NULL, 1, &a);
}

hn_val hn_shape_value(hn_builder *b, hn_val x) {
    hn_type t = *hn_t(b, x);
    return x ? hn_dims_value(b, t.rank, t.dim) : 0;
}

/* --- broadcasting ------------------------------------------------------------------------------------------------ */

/* One dimension of the result: the first that is not 1; false when another one must differ from it. Constants win, so
 * that relations give symbols values. */
static bool join_dim(hn_builder *b, hn_dim *to, hn_dim d) {
    hn_dims *t = b->g->dims;
    if (is_one(b, d)) return true;
    if (is_one(b, *to)) {
        *to = d;
        return true;
    }
    switch (hn_dim_equal(t, *to, d)) {
    case HN_EQUAL: return true;
    case HN_DIFFERENT: return false;
    default: break;
    }
    hn_dim_assume_equal(t, *to, d);
    if (hn_dim_is_int(t, d, NULL)) *to = d;
    return true;
}

bool hn_common_shape(hn_builder *b, size_t n, const hn_val *v, size_t *rank, hn_dim *shape) {
    hn_dim joint[HN_RANK_MAX];
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        if (hn_rank(b, v[i]) > most) most = hn_rank(b, v[i]);
    for (size_t i = 0; i < most; i++) joint[i] = hn_lit(b, 1);
    for (size_t i = 0; i < n; i++) {
        size_t r = hn_rank(b, v[i]);
        for (size_t k = 0; k < r; k++)
            if (!join_dim(b, &joint[most - r + k], hn_dim_of(b, v[i], k))) return false;
    }
    memcpy(shape, joint, most * sizeof *shape);
    *rank = most;
    return true;
}

hn_val hn_broadcast_to(hn_builder *b, hn_val x, size_t rank, const hn_dim *shape) {
    int64_t map[HN_RANK_MAX];
    size_t r = hn_rank(b, x);
    if (!x || has_shape(b, x, rank, shape)) return x;
    if (rank > HN_RANK_MAX || r > rank) return wrong(b, "a value cannot be broadcast to a smaller rank");
    for (size_t i = 0; i < r; i++) map[i] = (int64_t)(rank - r + i);
    hn_attr a[] = {attr_dims(HN_A_SHAPE, rank, shape), attr_ints(HN_A_MAP, r, map)};
    return emit1(b, HN_OP_BROADCAST, x, 2, a);
}

/* Brings n values to one shape, in place. */
static bool broadcast_all(hn_builder *b, size_t n, hn_val *v) {
    size_t rank;
    hn_dim shape[HN_RANK_MAX];
    if (!hn_graph_ok(b->g)) return false;
    for (size_t i = 0; i < n; i++)
        if (!v[i]) return wrong(b, "an input is missing");
    if (!hn_common_shape(b, n, v, &rank, shape))
        return wrong(b, "the shapes of the inputs cannot be broadcast together");
    for (size_t i = 0; i < n; i++) v[i] = hn_broadcast_to(b, v[i], rank, shape);
    return hn_graph_ok(b->g);
}

/* --- pointwise --------------------------------------------------------------------------------------------------- */

hn_val hn_un(hn_builder *b, hn_op op, hn_val x) { return emit1(b, op, x, 0, NULL); }

hn_val hn_bin(hn_builder *b, hn_op op, hn_val x, hn_val y) {
    hn_val in[] = {x, y};
    return broadcast_all(b, 2, in) ? emit(b, op, 2, in, 0, NULL) : 0;
}

hn_val hn_bin_f(hn_builder *b, hn_op op, hn_val x, double y) { return hn_bin(b, op, x, hn_const_f(b, hn_dt(b, x), y)); }
hn_val hn_f_bin(hn_builder *b, hn_op op, double x, hn_val y) { return hn_bin(b, op, hn_const_f(b, hn_dt(b, y), x), y); }

hn_val hn_where(hn_builder *b, hn_val c, hn_val x, hn_val y) {
    hn_val in[] = {c, x, y};
    return broadcast_all(b, 3, in) ? emit(b, HN_OP_SELECT, 3, in, 0, NULL) : 0;
}

hn_val hn_cast(hn_builder *b, hn_val x, hone_dtype t) {
    hn_attr a[] = {attr_i(HN_A_DTYPE, t), attr_i(HN_A_SATURATE, 1)};
    return x && hn_dt(b, x) == t ? x : emit1(b, HN_OP_CAST, x, 2, a);
}

/* --- movement ---------------------------------------------------------------------------------------------------- */

hn_val hn_reshape(hn_builder *b, hn_val x, size_t rank, const hn_dim *shape) {
    hn_attr a = attr_dims(HN_A_SHAPE, rank, shape);
    return x && has_shape(b, x, rank, shape) ? x : emit1(b, HN_OP_RESHAPE, x, 1, &a);
}

hn_val hn_transpose(hn_builder *b, hn_val x, const int64_t *perm) {
    size_t rank = hn_rank(b, x);
    bool same = true;
    for (size_t i = 0; i < rank; i++) same &= perm[i] == (int64_t)i;
    hn_attr a = attr_ints(HN_A_PERM, rank, perm);
    return same ? x : emit1(b, HN_OP_TRANSPOSE, x, 1, &a);
}

hn_val hn_swap(hn_builder *b, hn_val x, int64_t axis1, int64_t axis2) {
    int64_t perm[HN_RANK_MAX];
    size_t rank = hn_rank(b, x);
    if (!fix_axis(b, &axis1, rank) || !fix_axis(b, &axis2, rank)) return 0;
    for (size_t i = 0; i < rank; i++) perm[i] = (int64_t)i;
    perm[axis1] = axis2;
    perm[axis2] = axis1;
    return hn_transpose(b, x, perm);
}

hn_val hn_unsqueeze(hn_builder *b, hn_val x, int64_t axis) {
    hn_dim shape[HN_RANK_MAX + 1];
    hn_type t = *hn_t(b, x);
    if (!fix_axis(b, &axis, t.rank + 1u)) return 0;
    if (t.rank == HN_RANK_MAX) return wrong(b, "the result has too many dimensions");
    for (size_t i = 0, k = 0; i <= t.rank; i++) shape[i] = i == (size_t)axis ? hn_lit(b, 1) : t.dim[k++];
    return hn_reshape(b, x, t.rank + 1u, shape);
}

hn_val hn_squeeze(hn_builder *b, hn_val x, int64_t axis) {
    hn_dim shape[HN_RANK_MAX];
    hn_type t = *hn_t(b, x);
    size_t n = 0;
    if (!fix_axis(b, &axis, t.rank)) return 0;
    for (size_t i = 0; i < t.rank; i++)
        if (i != (size_t)axis) shape[n++] = t.dim[i];
    return hn_reshape(b, x, n, shape);
}

hn_val hn_slice_axis(hn_builder *b, hn_val x, int64_t axis, hn_dim start, hn_dim length, int64_t step) {
    hn_dim from[HN_RANK_MAX];
    int64_t by[HN_RANK_MAX], zero;
    hn_type t = *hn_t(b, x);
    if (!fix_axis(b, &axis, t.rank)) return 0;
    bool whole = step == 1 && hn_dim_is_int(b->g->dims, start, &zero) && zero == 0;
    if (whole && equal(b, t.dim[axis], length)) return x;
    for (size_t i = 0; i < t.rank; i++) {
        from[i] = hn_lit(b, 0);
        by[i] = 1;
    }
    from[axis] = start;
    by[axis] = step;
    t.dim[axis] = length;
    hn_attr a[] = {attr_dims(HN_A_SHAPE, t.rank, t.dim), attr_dims(HN_A_START, t.rank, from),
                   attr_ints(HN_A_STEP, t.rank, by)};
    return emit1(b, HN_OP_SLICE, x, 3, a);
}

hn_val hn_pad(hn_builder *b, hn_val x, const hn_dim *low, const hn_dim *high, hn_val value) {
    size_t rank = hn_rank(b, x);
    hn_attr a[] = {attr_dims(HN_A_LOW, rank, low), attr_dims(HN_A_HIGH, rank, high), attr_name(HN_A_MODE, "constant")};
    hn_val in[] = {x, value};
    return emit(b, HN_OP_PAD, 2, in, 3, a);
}

hn_val hn_pad_axis(hn_builder *b, hn_val x, int64_t axis, hn_dim low, hn_dim high, double value) {
    hn_dim before[HN_RANK_MAX], behind[HN_RANK_MAX];
    size_t rank = hn_rank(b, x);
    int64_t l, h;
    if (!fix_axis(b, &axis, rank)) return 0;
    if (hn_dim_is_int(b->g->dims, low, &l) && hn_dim_is_int(b->g->dims, high, &h) && l == 0 && h == 0) return x;
    for (size_t i = 0; i < rank; i++) before[i] = behind[i] = hn_lit(b, 0);
    before[axis] = low;
    behind[axis] = high;
    return hn_pad(b, x, before, behind, hn_const_f(b, hn_dt(b, x), value));
}

hn_val hn_concat(hn_builder *b, size_t n, const hn_val *x, int64_t axis) {
    if (n == 0) return wrong(b, "nothing to concatenate");
    if (!fix_axis(b, &axis, hn_rank(b, x[0]))) return 0;
    hn_attr a = attr_i(HN_A_AXIS, axis);
    return n == 1 ? x[0] : emit(b, HN_OP_CONCAT, n, x, 1, &a);
}

hn_val hn_flip(hn_builder *b, hn_val x, int64_t axis) {
    if (!fix_axis(b, &axis, hn_rank(b, x))) return 0;
    hn_dim n = hn_dim_of(b, x, (size_t)axis);
    return hn_slice_axis(b, x, axis, hn_dim_sub(b->g->dims, n, hn_lit(b, 1)), n, -1);
}

hn_val hn_gather(hn_builder *b, hn_val x, hn_val index, int64_t axis) {
    if (!fix_axis(b, &axis, hn_rank(b, x))) return 0;
    hn_attr a[] = {attr_i(HN_A_AXIS, axis), attr_i(HN_A_BATCH, 0)};
    hn_val in[] = {x, index};
    return emit(b, HN_OP_GATHER, 2, in, 2, a);
}

/* --- reductions -------------------------------------------------------------------------------------------------- */

static hn_val arg_reduce(hn_builder *b, hn_op op, hn_val x, int64_t axis, bool keep) {
    hn_attr a[] = {attr_i(HN_A_AXIS, axis), attr_i(HN_A_KEEP, keep), attr_i(HN_A_LAST, 0)};
    return emit1(b, op, x, 3, a);
}

hn_val hn_reduce(hn_builder *b, hn_op op, hn_val x, size_t n_axes, const int64_t *axes, bool keep) {
    int64_t sorted[HN_RANK_MAX];
    size_t rank = hn_rank(b, x), n = 0;
    unsigned set = 0;
    for (size_t i = 0; i < n_axes; i++) {
        int64_t axis = axes[i];
        if (!fix_axis(b, &axis, rank)) return 0;
        set |= 1u << axis;
    }
    for (size_t i = 0; i < rank; i++)
        if (set >> i & 1) sorted[n++] = (int64_t)i;
    if (n == 0) return x;
    if (op == HN_OP_ARGMIN || op == HN_OP_ARGMAX) return arg_reduce(b, op, x, sorted[0], keep);
    hn_attr a[] = {attr_ints(HN_A_AXES, n, sorted), attr_i(HN_A_KEEP, keep)};
    return emit1(b, op, x, 2, a);
}

hn_val hn_reduce1(hn_builder *b, hn_op op, hn_val x, int64_t axis, bool keep) {
    return hn_reduce(b, op, x, 1, &axis, keep);
}

/* Floats below 32 bits would overflow or lose their last bits in a sum that is rounded on its way. */
static bool is_small_float(hone_dtype t) { return hn_is_float(t) && hone_dtype_size_b(t) < 4; }

static hn_val as_number(hn_builder *b, hn_dim n, hone_dtype t) {
    int64_t known;
    if (hn_dim_is_int(b->g->dims, n, &known)) return hn_const_f(b, t, (double)known);
    return hn_cast(b, hn_reshape(b, hn_dims_value(b, 1, &n), 0, NULL), t);
}

hn_val hn_mean(hn_builder *b, hn_val x, size_t n_axes, const int64_t *axes, bool keep) {
    hone_dtype t = hn_dt(b, x);
    if (is_small_float(t)) return hn_cast(b, hn_mean(b, hn_cast(b, x, HONE_F32), n_axes, axes, keep), t);
    hn_dim n = hn_lit(b, 1);
    unsigned seen = 0;
    for (size_t i = 0; i < n_axes; i++) {
        int64_t axis = axes[i];
        if (!fix_axis(b, &axis, hn_rank(b, x))) return 0;
        if (!(seen >> axis & 1)) n = hn_dim_mul(b->g->dims, n, hn_dim_of(b, x, (size_t)axis));
        seen |= 1u << axis;
    }
    hn_val sum = hn_reduce(b, HN_OP_RSUM, x, n_axes, axes, keep);
    return hn_bin(b, HN_OP_DIV, sum, as_number(b, n, t));
}

hn_val hn_softmax(hn_builder *b, hn_val x, int64_t axis) {
    hone_dtype t = hn_dt(b, x);
    if (is_small_float(t)) return hn_cast(b, hn_softmax(b, hn_cast(b, x, HONE_F32), axis), t);
    hn_val e = hn_un(b, HN_OP_EXP, hn_bin(b, HN_OP_SUB, x, hn_reduce1(b, HN_OP_RMAX, x, axis, true)));
    return hn_bin(b, HN_OP_DIV, e, hn_reduce1(b, HN_OP_RSUM, e, axis, true));
}

/* --- contractions ------------------------------------------------------------------------------------------------ */

hn_val hn_contract(hn_builder *b, hn_val x, hn_val y, const int64_t *lhs, const int64_t *rhs, size_t n_out,
                   const int64_t *out, hone_dtype t) {
    hn_attr a[] = {attr_ints(HN_A_LHS, hn_rank(b, x), lhs), attr_ints(HN_A_RHS, hn_rank(b, y), rhs),
                   attr_ints(HN_A_OUT, n_out, out), attr_i(HN_A_DTYPE, t)};
    hn_val in[] = {x, y};
    return emit(b, HN_OP_CONTRACT, 2, in, 4, a);
}

enum { LABEL_ROW = HN_RANK_MAX, LABEL_COLUMN, LABEL_SUM };

/* Labels of one operand of a matmul: its batch dimensions by their place from the right in the result. A batch
 * dimension of 1 that the other operand has as more is left out (a reshape is free, a broadcast is not). */
static hn_val label_operand(hn_builder *b, hn_val x, hn_val other, size_t batch, int64_t first, int64_t second,
                            int64_t *label) {
    hn_dim shape[HN_RANK_MAX];
    hn_type t = *hn_t(b, x), o = *hn_t(b, other);
    size_t n = 0, own = t.rank > 2 ? t.rank - 2u : 0, others = o.rank > 2 ? o.rank - 2u : 0;
    for (size_t i = 0; i < own; i++) {
        size_t place = batch - own + i;
        bool shared = place + others >= batch;
        if (shared && is_one(b, t.dim[i]) && !is_one(b, o.dim[place + others - batch])) continue;
        label[n] = (int64_t)place;
        shape[n++] = t.dim[i];
    }
    for (size_t i = own; i < t.rank; i++) {
        label[n] = t.rank == 1 ? LABEL_SUM : i == own ? first : second;
        shape[n++] = t.dim[i];
    }
    return hn_reshape(b, x, n, shape);
}

hn_val hn_matmul(hn_builder *b, hn_val x, hn_val y, hone_dtype out) {
    int64_t lhs[HN_RANK_MAX], rhs[HN_RANK_MAX], label[HN_RANK_MAX + 2];
    size_t rx = hn_rank(b, x), ry = hn_rank(b, y), n = 0;
    if (!hn_graph_ok(b->g)) return 0;
    if (!rx || !ry) return wrong(b, "a matrix product needs inputs of rank 1 or more");
    size_t bx = rx > 2 ? rx - 2 : 0, by = ry > 2 ? ry - 2 : 0, batch = bx > by ? bx : by;
    hn_val l = label_operand(b, x, y, batch, LABEL_ROW, LABEL_SUM, lhs);
    hn_val r = label_operand(b, y, x, batch, LABEL_SUM, LABEL_COLUMN, rhs);
    for (size_t i = 0; i < batch; i++) label[n++] = (int64_t)i;
    if (rx > 1) label[n++] = LABEL_ROW;
    if (ry > 1) label[n++] = LABEL_COLUMN;
    return l && r ? hn_contract(b, l, r, lhs, rhs, n, label, out) : 0;
}
