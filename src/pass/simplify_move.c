/* pass/simplify_move.c — rules of movement: what moves nothing goes, what moves twice moves once. All are exact. */
#include "pass/simplify.h"

#include <string.h>

enum { BIG_SPLAT = 64 };

/* --- helpers ---------------------------------------------------------------------------------------------------- */

static const hn_type *type_of(const hn_rewriter *r, hn_val v) { return hn_type_of(r->g, v); }
static bool equal(const hn_rewriter *r, hn_dim a, hn_dim b) {
    return a == b || hn_dim_equal(r->g->dims, a, b) == HN_EQUAL;
}
static bool is_number(const hn_rewriter *r, hn_dim d, int64_t x) {
    int64_t n;
    return hn_dim_is_int(r->g->dims, d, &n) && n == x;
}
static bool is_unit(const hn_rewriter *r, hn_dim d) { return is_number(r, d, 1); }
static bool same_shape(const hn_rewriter *r, const hn_node *n) {
    return hn_type_same(r->g, type_of(r, n->in[0]), type_of(r, n->out[0]));
}
static hn_val reshape_like(hn_rewriter *r, hn_val x, const hn_node *n) {
    const hn_type t = *type_of(r, n->out[0]);
    return hn_reshape(&r->b, x, t.rank, t.dim);
}
static hn_attr ints(hn_attr_id id, size_t n, const int64_t *x) {
    return (hn_attr){.id = id, .kind = HN_K_INTS, .n = (uint32_t)n, .ints = x};
}
static hn_attr dims(hn_attr_id id, size_t n, const hn_dim *x) {
    return (hn_attr){.id = id, .kind = HN_K_DIMS, .n = (uint32_t)n, .dims = x};
}
static hn_val emit1(hn_rewriter *r, hn_op op, hn_val x, size_t n_attr, const hn_attr *attr) {
    return hn_emit(r->g, r->b.b, op, 1, &x, n_attr, attr, 1);
}

/* A value that is the same everywhere, of the type of n's result. */
static hn_val splat_like(hn_rewriter *r, const hn_tensor *one, const hn_node *n) {
    const hn_type t = *type_of(r, n->out[0]);
    return hn_broadcast_to(&r->b, hn_const(&r->b, one), t.rank, t.dim);
}

/* --- uniform values --------------------------------------------------------------------------------------------- */

static hn_val const_splat(hn_rewriter *r, const hn_node *n) {
    hn_tensor one;
    const hn_tensor *t = hn_const_of(r->g, n->out[0]);
    return t->rank && hn_tensor_n(t) > BIG_SPLAT && hn_splat_of(r->g, n->out[0], &one) ? splat_like(r, &one, n) : 0;
}

static hn_val move_splat(hn_rewriter *r, const hn_node *n) {
    hn_tensor one;
    /* a broadcast of a scalar is the form that all others come to */
    return hn_splat_of(r->g, n->in[0], &one) && !hn_def_op(r->g, n->in[0], HN_OP_CONST) ? splat_like(r, &one, n) : 0;
}
static hn_val broadcast_splat(hn_rewriter *r, const hn_node *n) {
    hn_tensor one;
    return type_of(r, n->in[0])->rank && hn_splat_of(r->g, n->in[0], &one) ? splat_like(r, &one, n) : 0;
}

/* Pointwise operations on uniform values alone: once, on scalars. */
static hn_val pointwise_splats(hn_rewriter *r, const hn_node *n) {
    hn_tensor one;
    hn_val in[3];
    if (!type_of(r, n->out[0])->rank || n->n_in > 3) return 0;
    for (size_t i = 0; i < n->n_in; i++)
        if (!hn_splat_of(r->g, n->in[i], &one)) return 0;
    for (size_t i = 0; i < n->n_in; i++) {
        hn_splat_of(r->g, n->in[i], &one);
        in[i] = hn_const(&r->b, &one);
    }
    hn_val scalar = hn_emit(r->g, r->b.b, n->op, n->n_in, in, n->n_attr, n->attr, 1);
    const hn_type t = *type_of(r, n->out[0]);
    return hn_broadcast_to(&r->b, scalar, t.rank, t.dim);
}

/* --- reshape ---------------------------------------------------------------------------------------------------- */

static hn_val reshape_same(hn_rewriter *r, const hn_node *n) { return same_shape(r, n) ? n->in[0] : 0; }
static hn_val reshape_reshape(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def_op(r->g, n->in[0], HN_OP_RESHAPE);
    return inner ? reshape_like(r, inner->in[0], n) : 0;
}

/* --- transpose -------------------------------------------------------------------------------------------------- */

static const int64_t *perm_of(const hn_node *n) { return hn_attr_get(n, HN_A_PERM)->ints; }

static hn_val transpose_same(hn_rewriter *r, const hn_node *n) {
    for (size_t i = 0; i < type_of(r, n->in[0])->rank; i++)
        if (perm_of(n)[i] != (int64_t)i) return 0;
    return n->in[0];
}
static hn_val transpose_transpose(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def_op(r->g, n->in[0], HN_OP_TRANSPOSE);
    int64_t perm[HN_RANK_MAX];
    if (!inner) return 0;
    for (size_t i = 0; i < type_of(r, n->in[0])->rank; i++) perm[i] = perm_of(inner)[perm_of(n)[i]];
    return hn_transpose(&r->b, inner->in[0], perm);
}
/* Dimensions of 1 may go anywhere without moving data. */
static hn_val transpose_units(hn_rewriter *r, const hn_node *n) {
    const hn_type *t = type_of(r, n->in[0]);
    int64_t last = -1;
    for (size_t i = 0; i < t->rank; i++) {
        int64_t from = perm_of(n)[i];
        if (is_unit(r, t->dim[from])) continue;
        if (from < last) return 0;
        last = from;
    }
    return reshape_like(r, n->in[0], n);
}

/* --- broadcast -------------------------------------------------------------------------------------------------- */

static const int64_t *map_of(const hn_node *n) { return hn_attr_get(n, HN_A_MAP)->ints; }

static hn_val broadcast_same(hn_rewriter *r, const hn_node *n) { return same_shape(r, n) ? n->in[0] : 0; }

/* Nothing is repeated: new dimensions are 1. */
static hn_val broadcast_units(hn_rewriter *r, const hn_node *n) {
    const hn_type *x = type_of(r, n->in[0]), *y = type_of(r, n->out[0]);
    if (!x->rank) return 0;
    for (size_t j = 0, i = 0; j < y->rank; j++) {
        bool mapped = i < x->rank && map_of(n)[i] == (int64_t)j;
        if (mapped ? !equal(r, x->dim[i], y->dim[j]) : !is_unit(r, y->dim[j])) return 0;
        i += mapped;
    }
    return reshape_like(r, n->in[0], n);
}

static hn_val emit_broadcast(hn_rewriter *r, hn_val x, const hn_node *like, const int64_t *map) {
    const hn_type t = *type_of(r, like->out[0]);
    hn_attr a[] = {dims(HN_A_SHAPE, t.rank, t.dim), ints(HN_A_MAP, type_of(r, x)->rank, map)};
    return emit1(r, HN_OP_BROADCAST, x, 2, a);
}

static hn_val broadcast_broadcast(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def_op(r->g, n->in[0], HN_OP_BROADCAST);
    int64_t map[HN_RANK_MAX];
    if (!inner) return 0;
    for (size_t i = 0; i < type_of(r, inner->in[0])->rank; i++) map[i] = map_of(n)[map_of(inner)[i]];
    return emit_broadcast(r, inner->in[0], n, map);
}

/* A reshape that only puts dimensions of 1 between: the broadcast takes its input as it is. */
static hn_val broadcast_reshape(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def_op(r->g, n->in[0], HN_OP_RESHAPE);
    int64_t map[HN_RANK_MAX];
    if (!inner) return 0;
    const hn_type *x = type_of(r, inner->in[0]), *y = type_of(r, n->in[0]);
    size_t i = 0;
    for (size_t j = 0; j < y->rank; j++) {
        if (is_unit(r, y->dim[j])) continue;
        if (i == x->rank || is_unit(r, x->dim[i]) || !equal(r, x->dim[i], y->dim[j])) return 0;
        map[i++] = map_of(n)[j];
    }
    return i == x->rank && i ? emit_broadcast(r, inner->in[0], n, map) : 0;
}

/* --- slice, pad, concat ------------------------------------------------------------------------------------------ */

static const hn_dim *start_of(const hn_node *n) { return hn_attr_get(n, HN_A_START)->dims; }
static const int64_t *step_of(const hn_node *n) { return hn_attr_get(n, HN_A_STEP)->ints; }

static hn_val slice_same(hn_rewriter *r, const hn_node *n) {
    const hn_type *t = type_of(r, n->in[0]);
    for (size_t i = 0; i < t->rank; i++)
        if (!is_number(r, start_of(n)[i], 0) || (step_of(n)[i] != 1 && !is_unit(r, t->dim[i]))) return 0;
    return same_shape(r, n) ? n->in[0] : 0;
}

static hn_val emit_slice(hn_rewriter *r, hn_val x, const hn_type *t, const hn_dim *start, const int64_t *step) {
    hn_attr a[] = {dims(HN_A_SHAPE, t->rank, t->dim), dims(HN_A_START, t->rank, start), ints(HN_A_STEP, t->rank, step)};
    return emit1(r, HN_OP_SLICE, x, 3, a);
}

static hn_val slice_slice(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def_op(r->g, n->in[0], HN_OP_SLICE);
    hn_dims *t = r->g->dims;
    hn_dim start[HN_RANK_MAX];
    int64_t step[HN_RANK_MAX];
    const hn_type type = *type_of(r, n->out[0]);
    if (!inner) return 0;
    for (size_t i = 0; i < type.rank; i++) {
        start[i] = hn_dim_add(t, start_of(inner)[i], hn_dim_mul(t, start_of(n)[i], hn_dim_int(t, step_of(inner)[i])));
        if (!start[i] || __builtin_mul_overflow(step_of(n)[i], step_of(inner)[i], &step[i])) return 0;
    }
    return emit_slice(r, inner->in[0], &type, start, step);
}

static hn_val pad_none(hn_rewriter *r, const hn_node *n) {
    const hn_attr *low = hn_attr_get(n, HN_A_LOW), *high = hn_attr_get(n, HN_A_HIGH);
    for (uint32_t i = 0; i < low->n; i++)
        if (!is_number(r, low->dims[i], 0) || !is_number(r, high->dims[i], 0)) return 0;
    return n->in[0];
}

static hn_val concat_one(hn_rewriter *r, const hn_node *n) {
    (void)r;
    return n->n_in == 1 ? n->in[0] : 0;
}

enum { CONCAT_MAX = 256 };
static hn_val concat_concat(hn_rewriter *r, const hn_node *n) {
    int64_t axis = hn_attr_i(n, HN_A_AXIS, 0);
    hn_val in[CONCAT_MAX];
    size_t k = 0;
    bool any = false;
    for (size_t i = 0; i < n->n_in; i++) {
        const hn_node *inner = hn_def_op(r->g, n->in[i], HN_OP_CONCAT);
        bool open = inner && hn_attr_i(inner, HN_A_AXIS, 0) == axis && hn_used_once(r, n->in[i]);
        size_t m = open ? inner->n_in : 1;
        if (k + m > CONCAT_MAX) return 0;
        memcpy(in + k, open ? inner->in : &n->in[i], m * sizeof *in);
        k += m;
        any |= open;
    }
    return any ? hn_emit(r->g, r->b.b, HN_OP_CONCAT, k, in, n->n_attr, n->attr, 1) : 0;
}

/* --- reductions and indexing ------------------------------------------------------------------------------------- */

static hn_val reduce_nothing(hn_rewriter *r, const hn_node *n) {
    const hn_attr *axes = hn_attr_get(n, HN_A_AXES);
    for (uint32_t i = 0; i < axes->n; i++)
        if (!is_unit(r, type_of(r, n->in[0])->dim[axes->ints[i]])) return 0;
    return reshape_like(r, n->in[0], n);
}

/* Indices that are first, first + 1 … and inside [0, size) for certain. */
static bool consecutive(const hn_rewriter *r, const hn_tensor *t, hn_dim size, int64_t *first) {
    int64_t n = hn_tensor_n(t), low, high;
    if (t->rank > 1 || n < 1) return false;
    hn_dim_range(r->g->dims, size, &low, &high);
    *first = hn_get_i(t, 0);
    if (*first < 0 && low == high) *first += low;
    if (*first < 0 || n > low || *first > low - n) return false;
    for (int64_t i = 1; i < n; i++)
        if (hn_get_i(t, i) != hn_get_i(t, 0) + i || hn_get_i(t, i) == 0) return false;
    return true;
}

static hn_val gather_slice(hn_rewriter *r, const hn_node *n) {
    const hn_tensor *index = hn_const_of(r->g, n->in[1]);
    int64_t axis = hn_attr_i(n, HN_A_AXIS, 0), first, step[HN_RANK_MAX];
    hn_dim start[HN_RANK_MAX];
    hn_type t = *type_of(r, n->in[0]);
    if (!index || hn_attr_i(n, HN_A_BATCH, 0) || !consecutive(r, index, t.dim[axis], &first)) return 0;
    for (size_t i = 0; i < t.rank; i++) {
        start[i] = hn_dim_int(r->g->dims, (int64_t)i == axis ? first : 0);
        step[i] = 1;
    }
    t.dim[axis] = hn_dim_int(r->g->dims, hn_tensor_n(index));
    return reshape_like(r, emit_slice(r, n->in[0], &t, start, step), n);
}

/* The vector that indices repeat along all dimensions but `axis`; 0: they are no such. */
static hn_val repeated_vector(hn_rewriter *r, hn_val index, int64_t axis) {
    const hn_node *repeat = hn_def_op(r->g, index, HN_OP_BROADCAST);
    if (!repeat) return 0;
    const hn_type x = *type_of(r, repeat->in[0]), y = *type_of(r, index);
    bool found = false;
    for (size_t i = 0; i < x.rank; i++) {
        bool here = map_of(repeat)[i] == axis;
        if (here ? !equal(r, x.dim[i], y.dim[axis]) : !is_unit(r, x.dim[i])) return 0;
        found |= here;
    }
    if (!found) return 0;
    return x.rank == 1 ? repeat->in[0] : hn_reshape(&r->b, repeat->in[0], 1, &y.dim[axis]);
}

/* Are the dimensions of both alike, but for `axis`? */
static bool alike_beside(const hn_rewriter *r, hn_val a, hn_val b, int64_t axis) {
    const hn_type *x = type_of(r, a), *y = type_of(r, b);
    for (size_t i = 0; i < x->rank; i++)
        if ((int64_t)i != axis && !equal(r, x->dim[i], y->dim[i])) return false;
    return x->rank == y->rank;
}

static hn_val gather_rows(hn_rewriter *r, const hn_node *n) {
    int64_t axis = hn_attr_i(n, HN_A_AXIS, 0);
    hn_val data = n->in[0], index = alike_beside(r, data, n->in[1], axis) ? repeated_vector(r, n->in[1], axis) : 0;
    return index ? reshape_like(r, hn_gather(&r->b, data, index, axis), n) : 0;
}

/* Scatters of whole rows, as graph networks use to add messages up at their nodes. */
static hn_val scatter_rows(hn_rewriter *r, const hn_node *n) {
    hn_val data = n->in[0], updates = n->in[2];
    const hn_attr *mode = hn_attr_get(n, HN_A_MODE);
    if (hn_attr_i(n, HN_A_AXIS, 0) || !alike_beside(r, data, n->in[1], 0) || !alike_beside(r, updates, n->in[1], -1))
        return 0;
    hn_val index = repeated_vector(r, n->in[1], 0);
    if (!index) return 0;
    const hn_dim tuples[] = {type_of(r, index)->dim[0], hn_dim_int(r->g->dims, 1)};
    const hn_val in[] = {data, hn_reshape(&r->b, index, 2, tuples), updates};
    return hn_emit(r->g, r->b.b, HN_OP_SCATTER_ND, 3, in, mode ? 1 : 0, mode, 1);
}

#define MOVE(op, fn, text)                                                                                             \
    { HN_OP_##op, HN_EXACT, fn, text }
const hn_simplify_rule hn_rules_move[] = {
    MOVE(CONST, const_splat, "a large uniform constant is a broadcast scalar"),
    MOVE(RESHAPE, reshape_same, "reshape to the same shape"),
    MOVE(RESHAPE, reshape_reshape, "reshape(reshape(x)) = reshape(x)"),
    MOVE(RESHAPE, move_splat, "reshape of a uniform value"),
    MOVE(TRANSPOSE, transpose_same, "transpose by the identity"),
    MOVE(TRANSPOSE, move_splat, "transpose of a uniform value"),
    MOVE(TRANSPOSE, transpose_transpose, "transpose(transpose(x)) = transpose(x)"),
    MOVE(TRANSPOSE, transpose_units, "transpose that moves dimensions of 1 alone = reshape"),
    MOVE(BROADCAST, broadcast_same, "broadcast to the same shape"),
    MOVE(BROADCAST, broadcast_splat, "broadcast of a uniform value"),
    MOVE(BROADCAST, broadcast_broadcast, "broadcast(broadcast(x)) = broadcast(x)"),
    MOVE(BROADCAST, broadcast_units, "broadcast that repeats nothing = reshape"),
    MOVE(BROADCAST, broadcast_reshape, "broadcast(reshape(x)) = broadcast(x) where the reshape puts 1s between"),
    MOVE(SLICE, slice_same, "slice of everything"),
    MOVE(SLICE, move_splat, "slice of a uniform value"),
    MOVE(SLICE, slice_slice, "slice(slice(x)) = slice(x)"),
    MOVE(PAD, pad_none, "pad by nothing"),
    MOVE(CONCAT, concat_one, "concat of one value"),
    MOVE(CONCAT, concat_concat, "concat(concat(x, y), z) = concat(x, y, z)"),
    MOVE(RSUM, reduce_nothing, "sum over dimensions of 1"),
    MOVE(RPROD, reduce_nothing, "prod over dimensions of 1"),
    MOVE(RMIN, reduce_nothing, "min over dimensions of 1"),
    MOVE(RMAX, reduce_nothing, "max over dimensions of 1"),
    MOVE(GATHER, gather_slice, "gather of known consecutive indices = slice"),
    MOVE(GATHER_ELEMENTS, gather_rows, "gather_elements(x, broadcast(i)) = gather(x, i)"),
    MOVE(SCATTER_ELEMENTS, scatter_rows, "scatter_elements(x, broadcast(i), u) = scatter_nd(x, i, u)"),
    {HN_OP_CONST, HN_EXACT, NULL, NULL},
};

/* Unary, binary and ternary operations share one rule; it is tried for every pointwise node. */
hn_val hn_simplify_pointwise(hn_rewriter *r, const hn_node *n) {
    hn_op_class cls = hn_op_of(n->op)->cls;
    return cls == HN_UNARY || cls == HN_BINARY || cls == HN_TERNARY ? pointwise_splats(r, n) : 0;
}
