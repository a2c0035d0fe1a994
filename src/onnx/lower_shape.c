/* lower_shape.c — shapes and what is made from shapes alone. Sizes and axes may come at run time: they are computed in
 * the graph as vectors and bound to symbols. */
#include "onnx/lower_fns.h"

/* --- Reshape and its kin ---------------------------------------------------------------------------------------------
 */

/* 0 copies the input's size, -1 takes what is left; the vector is not known now. */
static hn_val reshape_vector(hn_lower *c, hn_val x, hn_val v, size_t n, bool zero_copies) {
    hn_builder *b = hn_lower_builder(c);
    hn_type t = *hn_t(b, x);
    hn_val zero = hn_const_i(b, HONE_I64, 0), one = hn_const_i(b, HONE_I64, 1);
    hn_dim shape[HN_RANK_MAX];
    for (size_t i = 0; i < n; i++) shape[i] = i < t.rank ? t.dim[i] : hn_lit(b, 1);
    if (zero_copies) v = hn_where(b, hn_bin(b, HN_OP_EQ, v, zero), hn_dims_value(b, n, shape), v);
    hn_dim count = hn_type_count(b->g, &t);
    hn_val open = hn_bin(b, HN_OP_LT, v, zero);
    hn_val rest = hn_reduce1(b, HN_OP_RPROD, hn_where(b, open, one, v), 0, false);
    hn_val total = hn_squeeze(b, hn_dims_value(b, 1, &count), 0);
    return hn_where(b, open, hn_bin(b, HN_OP_DIV, total, rest), v);
}

/* The same on known dimensions, in place. */
static void reshape_dims(hn_lower *c, const hn_type *t, hn_dim *d, size_t n, bool zero_copies) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim rest = hn_lit(b, 1);
    size_t open = n;
    int64_t k;
    for (size_t i = 0; i < n; i++) {
        bool known = hn_dim_is_int(b->g->dims, d[i], &k);
        if (known && k == 0 && zero_copies) {
            if (i >= t->rank) hn_wrong(c, "size 0 at %zu copies a dimension that the input lacks", i);
            d[i] = i < t->rank ? t->dim[i] : rest;
        }
        if (known && k == -1) {
            if (open < n) hn_wrong(c, "more than one size is -1");
            open = i;
        } else {
            if (known && k < -1) hn_wrong(c, "size %lld", (long long)k);
            rest = hn_dim_mul(b->g->dims, rest, d[i]);
        }
    }
    if (open == n) return;
    if (hn_dim_is_int(b->g->dims, rest, &k) && k == 0)
        hn_wrong(c, "-1 beside a size of 0");
    else
        d[open] = hn_dim_floordiv(b->g->dims, hn_type_count(b->g, t), rest);
}

static void reshape(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    hn_dim d[HN_RANK_MAX];
    size_t n = 0;
    bool zero_copies = !hn_int(c, "allowzero", 0);
    if (!x) return;
    hn_type t = *hn_t(b, x);
    hn_val v = hn_vec_input(c, 1, &n);
    if (!v) return;
    if (n > HN_RANK_MAX) {
        hn_refuse(c, "a result of rank %zu", n);
        return;
    }
    if (hn_known_dims(b, v, d, HN_RANK_MAX, &n))
        reshape_dims(c, &t, d, n, zero_copies);
    else if (!hn_vec_dims(c, reshape_vector(c, x, v, n, zero_copies), n, d))
        return;
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_reshape(b, x, n, d));
}

static void flatten(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    hn_type t = *hn_t(b, x);
    int64_t axis = hn_int(c, "axis", 1);
    axis = axis == t.rank ? axis : hn_axis(c, axis, t.rank);
    hn_dim d[2] = {hn_lit(b, 1), hn_lit(b, 1)};
    for (int64_t i = 0; i < t.rank; i++) d[i >= axis] = hn_dim_mul(b->g->dims, d[i >= axis], t.dim[i]);
    hn_out(c, 0, hn_reshape(b, x, 2, d));
}

static void transpose(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    const int64_t *list;
    int64_t perm[HN_RANK_MAX];
    unsigned seen = 0;
    if (!x) return;
    size_t rank = hn_rank(b, x), n = hn_ints(c, "perm", &list);
    if (n && n != rank) hn_wrong(c, "perm has %zu entries for rank %zu", n, rank);
    for (size_t i = 0; i < rank && !hn_lower_failed(c); i++) {
        perm[i] = n ? hn_axis(c, list[i], rank) : (int64_t)(rank - 1 - i);
        if (seen & 1u << perm[i]) hn_wrong(c, "perm names dimension %lld twice", (long long)perm[i]);
        seen |= 1u << perm[i];
    }
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_transpose(b, x, perm));
}

/* Keeps 1 where axis does not stand: [0, 1, 0] for axis {0, 2} and rank 3. */
static hn_val kept(hn_builder *b, size_t rank, hn_val axis, size_t n) {
    hn_dim r = hn_lit(b, (int64_t)rank), k = hn_lit(b, (int64_t)n);
    return hn_vec_spread(b, axis, hn_full(b, HONE_I64, 1, &k, 0), hn_full(b, HONE_I64, 1, &r, 1));
}

/* How many elements are kept before each position, at most `most`. */
static hn_val places(hn_builder *b, hn_val keep, int64_t most) {
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 0), hn_a_int(HN_A_EXCLUSIVE, 1), hn_a_int(HN_A_REVERSE, 0)};
    hn_val at = hn_emit(b->g, b->b, HN_OP_CUMSUM, 1, &keep, 3, attr, 1);
    return hn_bin(b, HN_OP_MIN, at, hn_const_i(b, HONE_I64, most));
}

hn_val hn_lower_compact(hn_builder *b, size_t rank, hn_val axis, size_t n, hn_val sizes) {
    if (n >= rank) return hn_const_ints(b, 0, NULL);
    hn_dim left = hn_lit(b, (int64_t)(rank - n));
    hn_val in[] = {hn_full(b, HONE_I64, 1, &left, 1), places(b, kept(b, rank, axis, n), (int64_t)(rank - n) - 1),
                   sizes};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 0), hn_a_word(HN_A_MODE, "mul")};
    return hn_emit(b->g, b->b, HN_OP_SCATTER_ELEMENTS, 3, in, 2, attr, 1);
}

static bool axes_known(hn_lower *c, size_t input) {
    hn_val v = hn_has_in(c, input) ? hn_in(c, input) : 0;
    return !v || hn_known_tensor(hn_lower_builder(c), v);
}

static void squeeze_at_run_time(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim d[HN_RANK_MAX];
    size_t n = 0, rank = hn_rank(b, x);
    hn_val axis = hn_vec_input(c, 1, &n);
    if (!axis) return;
    if (n > rank) {
        hn_wrong(c, "%zu axes for rank %zu", n, rank);
        return;
    }
    hn_val sizes = hn_lower_compact(b, rank, axis, n, hn_shape_value(b, x));
    if (hn_vec_dims(c, sizes, rank - n, d)) hn_out(c, 0, hn_reshape(b, x, rank - n, d));
}

/* In a region a size that has to be 1 is cut to it: that it is 1 holds where the region runs, and nowhere else. */
static void squeeze(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    int64_t axes[HN_RANK_MAX];
    hn_dim d[HN_RANK_MAX];
    size_t n, left = 0, k = 0;
    if (!x) return;
    if (!axes_known(c, 1)) {
        squeeze_at_run_time(c, x);
        return;
    }
    hn_type t = *hn_t(b, x);
    if (!hn_axes(c, 1, t.rank, axes, &n)) return;
    bool all = !n && !hn_has(c, "axes") && !hn_has_in(c, 1);
    for (size_t i = 0; i < t.rank; i++) {
        hn_known_equal one = hn_dim_equal(b->g->dims, t.dim[i], hn_lit(b, 1));
        bool named = k < n && axes[k] == (int64_t)i;
        k += named;
        if (named && one == HN_DIFFERENT) hn_wrong(c, "dimension %zu is not 1", i);
        if (named && one == HN_MAYBE && b->b) x = hn_slice_axis(b, x, (int64_t)i, hn_lit(b, 0), hn_lit(b, 1), 1);
        if (named ? false : !(all && one == HN_EQUAL)) d[left++] = t.dim[i];
    }
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_reshape(b, x, left, d));
}

static void unsqueeze_at_run_time(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim d[HN_RANK_MAX], shape;
    size_t n = 0, rank = hn_rank(b, x);
    hn_val axis = hn_vec_input(c, 1, &n), sizes;
    if (!axis) return;
    shape = hn_lit(b, (int64_t)(rank + n));
    if (rank + n > HN_RANK_MAX) {
        hn_refuse(c, "a result of rank %zu", rank + n);
        return;
    }
    sizes = hn_full(b, HONE_I64, 1, &shape, 1);
    if (rank) {
        hn_val keep = kept(b, rank + n, axis, n);
        hn_val old = hn_gather(b, hn_shape_value(b, x), places(b, keep, (int64_t)rank - 1), 0);
        sizes = hn_where(b, hn_cast(b, keep, HONE_BOOL), old, sizes);
    }
    if (hn_vec_dims(c, sizes, rank + n, d)) hn_out(c, 0, hn_reshape(b, x, rank + n, d));
}

static void unsqueeze(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    int64_t axes[HN_RANK_MAX];
    const int64_t *list;
    size_t n = hn_ints(c, "axes", &list);
    if (!x) return;
    if (!n && !axes_known(c, 1)) {
        unsqueeze_at_run_time(c, x);
        return;
    }
    if (!n && hn_has_in(c, 1)) {
        const hn_tensor *t = hn_in_const(c, 1);
        if (!t) return;
        n = (size_t)hn_tensor_n(t);
    }
    size_t rank = hn_rank(b, x) + n;
    if (rank > HN_RANK_MAX) {
        hn_refuse(c, "a result of rank %zu", rank);
        return;
    }
    if (!hn_axes(c, 1, rank, axes, &n)) return;
    for (size_t i = 0; i < n; i++) x = hn_unsqueeze(b, x, axes[i]);
    hn_out(c, 0, x);
}

/* --- Expand, Tile, Concat ----------------------------------------------------------------------------------------- */

/* The broadcast of a size and the wanted size: the one that is not 1; 0 where neither is known and they may differ. */
static hn_dim broadcast_dim(hn_lower *c, hn_dim have, hn_dim want) {
    hn_dims *d = hn_lower_builder(c)->g->dims;
    int64_t h = -1, w = -1;
    bool h_known = hn_dim_is_int(d, have, &h), w_known = hn_dim_is_int(d, want, &w);
    if (have == want || (w_known && (w == 1 || w == h))) return have;
    if (h_known && h == 1) return want;
    if (h_known && w_known) hn_wrong(c, "a dimension of %lld cannot become %lld", (long long)h, (long long)w);
    if (h_known) return have;
    if (w_known) return want;
    return hn_dim_equal(d, have, want) == HN_EQUAL ? have : 0;
}

/* Dimension i of x takes a size that is decided at run time: its own, or `want` where its own is 1. */
static hn_val expand_open(hn_lower *c, hn_val x, size_t i, hn_dim want) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim have = hn_dim_of(b, x, i), size;
    hn_val one = hn_const_i(b, HONE_I64, 1), n = hn_dims_value(b, 1, &have);
    hn_val to = hn_where(b, hn_bin(b, HN_OP_EQ, n, one), hn_dims_value(b, 1, &want), n);
    if (!hn_vec_dims(c, to, 1, &size)) return 0;
    hn_val at = hn_bin(b, HN_OP_MIN, hn_iota(b, HONE_I64, 1, &size, 0), hn_bin(b, HN_OP_SUB, hn_scalar(b, n), one));
    return hn_gather(b, x, at, (int64_t)i);
}

static void expand(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    hn_dim d[HN_RANK_MAX], out[HN_RANK_MAX];
    size_t n;
    if (!x || !hn_in_dims(c, 1, d, HN_RANK_MAX, &n)) return;
    hn_type t = *hn_t(b, x);
    size_t rank = n > t.rank ? n : t.rank;
    for (size_t i = 0; i < rank; i++) {
        hn_dim have = i + t.rank < rank ? hn_lit(b, 1) : t.dim[i + t.rank - rank];
        hn_dim want = i + n < rank ? hn_lit(b, 1) : d[i + n - rank];
        out[i] = broadcast_dim(c, have, want);
        if (hn_lower_failed(c)) return;
        if (out[i]) continue;
        size_t at = i + t.rank - rank;
        if (!(x = expand_open(c, x, at, want))) return;
        out[i] = hn_dim_of(b, x, at);
    }
    hn_out(c, 0, hn_broadcast_to(b, x, rank, out));
}

/* [d0, d1] -> [1, d0, 1, d1] -> [r0, d0, r1, d1] -> [r0*d0, r1*d1]. */
static void tile(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    hn_dim r[HN_RANK_MAX], apart[HN_RANK_MAX], wide[HN_RANK_MAX], out[HN_RANK_MAX];
    size_t n;
    if (!x || !hn_in_dims(c, 1, r, HN_RANK_MAX, &n)) return;
    hn_type t = *hn_t(b, x);
    if (n != t.rank) hn_wrong(c, "%zu repeats for rank %d", n, t.rank);
    if (2 * n > HN_RANK_MAX) hn_refuse(c, "rank %zu", n);
    for (size_t i = 0; i < n && !hn_lower_failed(c); i++) {
        apart[2 * i] = hn_lit(b, 1), apart[2 * i + 1] = t.dim[i];
        wide[2 * i] = r[i], wide[2 * i + 1] = t.dim[i];
        out[i] = hn_dim_mul(b->g->dims, r[i], t.dim[i]);
    }
    if (hn_lower_failed(c)) return;
    x = hn_broadcast_to(b, hn_reshape(b, x, 2 * n, apart), 2 * n, wide);
    hn_out(c, 0, hn_reshape(b, x, n, out));
}

static void concat(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    size_t n = hn_n_in(c);
    hn_val *x = hn_alloc_n(&b->g->arena, n, sizeof *x);
    if (!x || !n) return;
    for (size_t i = 0; i < n; i++)
        if (!(x[i] = hn_in(c, i))) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", 1), hn_rank(b, x[0]));
    if (!hn_lower_failed(c)) hn_out(c, 0, n == 1 ? x[0] : hn_concat(b, n, x, axis));
}

/* --- Shape, Size, constants --------------------------------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t rank) {
    if (x < 0) x += rank;
    return x < 0 ? 0 : x > rank ? rank : x;
}

static void shape_of(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    hn_type t = *hn_t(b, x);
    int64_t start = clamp(hn_int(c, "start", 0), t.rank), end = clamp(hn_int(c, "end", t.rank), t.rank);
    hn_out(c, 0, hn_dims_value(b, end > start ? (size_t)(end - start) : 0, t.dim + start));
}

static void size_of(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    hn_type t = *hn_t(b, x);
    hn_dim n = hn_type_count(b->g, &t);
    hn_out(c, 0, hn_squeeze(b, hn_dims_value(b, 1, &n), 0));
}

static hn_val const_list(hn_lower *c, hone_dtype dtype, size_t n, const void *data, bool scalar) {
    hn_builder *b = hn_lower_builder(c);
    hn_tensor t;
    int64_t dim[1] = {(int64_t)n};
    if (!hn_tensor_new(&b->g->arena, dtype, scalar ? 0 : 1, dim, &t)) return 0;
    if (n) memcpy(t.data, data, n * hn_dtype_of(dtype)->size_b);
    return hn_const(b, &t);
}

static void constant(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *ints;
    const float *floats;
    hn_val v = 0;
    if (hn_has(c, "value")) {
        const hn_tensor *t = hn_tensor_attr(c, "value");
        v = t ? hn_const(b, t) : 0;
    } else if (hn_has(c, "sparse_value")) {
        hn_tensor t;
        v = hn_sparse_attr(c, "sparse_value", &t) ? hn_const(b, &t) : 0;
    } else if (hn_has(c, "value_int")) {
        int64_t i = hn_int(c, "value_int", 0);
        v = const_list(c, HONE_I64, 1, &i, true);
    } else if (hn_has(c, "value_float")) {
        float f = (float)hn_float(c, "value_float", 0);
        v = const_list(c, HONE_F32, 1, &f, true);
    } else if (hn_has(c, "value_ints")) {
        size_t n = hn_ints(c, "value_ints", &ints);
        v = const_list(c, HONE_I64, n, ints, false);
    } else if (hn_has(c, "value_floats")) {
        size_t n = hn_floats(c, "value_floats", &floats);
        v = const_list(c, HONE_F32, n, floats, false);
    } else if (hn_has(c, "value_string") || hn_has(c, "value_strings")) {
        hn_refuse(c, "a constant of strings");
    } else {
        hn_wrong(c, "a constant without a value");
    }
    hn_out(c, 0, v);
}

static void constant_of_shape(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim d[HN_RANK_MAX];
    size_t n;
    const hn_tensor *t = hn_tensor_attr(c, "value");
    if (hn_lower_failed(c) || !hn_in_dims(c, 0, d, HN_RANK_MAX, &n)) return;
    hn_val v = hn_const_f(b, HONE_F32, 0);
    if (t) {
        if (hn_tensor_n(t) != 1) {
            hn_wrong(c, "its value has more than one element");
            return;
        }
        hn_tensor scalar = *t;
        scalar.rank = 0;
        v = hn_const(b, &scalar);
    }
    hn_out(c, 0, hn_broadcast_to(b, v, n, d));
}

/* --- ramps and patterns ------------------------------------------------------------------------------------------- */

static hn_val scalar_in(hn_lower *c, size_t i) {
    hn_val v = hn_in(c, i);
    return v ? hn_scalar(hn_lower_builder(c), v) : 0;
}

/* ceil((limit - start) / delta), at least 0, as an i64 vector of one. */
static hn_val range_count(hn_builder *b, hn_val start, hn_val limit, hn_val delta) {
    hn_val n;
    if (hn_is_float(hn_dt(b, start))) {
        hn_val gap = hn_bin(b, HN_OP_SUB, hn_cast(b, limit, HONE_F64), hn_cast(b, start, HONE_F64));
        n = hn_cast(b, hn_un(b, HN_OP_CEIL, hn_bin(b, HN_OP_DIV, gap, hn_cast(b, delta, HONE_F64))), HONE_I64);
    } else {
        hn_val zero = hn_const_i(b, HONE_I64, 0);
        hn_val d = hn_cast(b, delta, HONE_I64);
        hn_val gap = hn_bin(b, HN_OP_SUB, hn_cast(b, limit, HONE_I64), hn_cast(b, start, HONE_I64));
        hn_val whole = hn_bin(b, HN_OP_DIV, gap, d), rest = hn_bin(b, HN_OP_REM, gap, d);
        hn_val towards = hn_bin(b, HN_OP_EQ, hn_bin(b, HN_OP_LT, gap, zero), hn_bin(b, HN_OP_LT, d, zero));
        hn_val more = hn_bin(b, HN_OP_AND, towards, hn_bin(b, HN_OP_NE, rest, zero));
        n = hn_bin(b, HN_OP_ADD, whole, hn_cast(b, more, HONE_I64));
    }
    return hn_unsqueeze(b, hn_bin(b, HN_OP_MAX, n, hn_const_i(b, HONE_I64, 0)), 0);
}

/* The number of elements as an expression, where start, limit and a step of 1 are known as dimensions. */
static bool range_dim(hn_builder *b, hn_val start, hn_val limit, hn_val delta, hn_dim *out) {
    hn_dim s, l, d;
    size_t n;
    int64_t step;
    if (hn_is_float(hn_dt(b, start))) return false;
    if (!hn_known_dims(b, start, &s, 1, &n) || !hn_known_dims(b, limit, &l, 1, &n) ||
        !hn_known_dims(b, delta, &d, 1, &n) || !hn_dim_is_int(b->g->dims, d, &step) || step < 1)
        return false;
    hn_dim gap = hn_dim_sub(b->g->dims, l, s);
    *out = hn_dim_max(b->g->dims, hn_dim_ceildiv(b->g->dims, gap, d), hn_lit(b, 0));
    return true;
}

static void range(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val start = scalar_in(c, 0), limit = scalar_in(c, 1), delta = scalar_in(c, 2);
    hn_dim n;
    if (!start || !limit || !delta) return;
    if (!range_dim(b, start, limit, delta, &n) && !hn_vec_dims(c, range_count(b, start, limit, delta), 1, &n)) return;
    hone_dtype t = hn_dt(b, start), w = hn_is_float(t) && hn_dtype_of(t)->bits < 32 ? HONE_F32 : t;
    hn_val ramp = hn_bin(b, HN_OP_MUL, hn_iota(b, w, 1, &n, 0), hn_cast(b, delta, w));
    hn_out_as(c, 0, hn_bin(b, HN_OP_ADD, ramp, hn_cast(b, start, w)), t);
}

static void eye_like(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    hn_type t = *hn_t(b, x);
    hone_dtype to = t.dtype;
    if (t.rank != 2) hn_wrong(c, "its input has rank %d, not 2", t.rank);
    if (hn_lower_failed(c) || (hn_has(c, "dtype") && !hn_dtype_attr(c, "dtype", &to))) return;
    hn_val row = hn_iota(b, HONE_I64, 2, t.dim, 0), column = hn_iota(b, HONE_I64, 2, t.dim, 1);
    row = hn_bin(b, HN_OP_ADD, row, hn_const_i(b, HONE_I64, hn_int(c, "k", 0)));
    hn_out_as(c, 0, hn_bin(b, HN_OP_EQ, row, column), to);
}

static void one_hot(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val at = hn_in(c, 0), depth = scalar_in(c, 1), value = hn_in(c, 2);
    hn_dim shape[HN_RANK_MAX], n;
    if (!at || !depth || !value) return;
    hn_type t = *hn_t(b, at);
    size_t rank = (size_t)t.rank + 1;
    if (rank > HN_RANK_MAX) {
        hn_refuse(c, "a result of rank %zu", rank);
        return;
    }
    int64_t axis = hn_axis(c, hn_int(c, "axis", -1), rank);
    depth = hn_cast(b, depth, HONE_I64);
    if (hn_lower_failed(c) || !hn_vec_dims(c, hn_unsqueeze(b, depth, 0), 1, &n)) return;
    for (size_t i = 0, k = 0; i < rank; i++) shape[i] = (int64_t)i == axis ? n : t.dim[k++];
    at = hn_cast(b, at, HONE_I64);
    hn_val negative = hn_bin(b, HN_OP_LT, at, hn_const_i(b, HONE_I64, 0));
    at = hn_unsqueeze(b, hn_where(b, negative, hn_bin(b, HN_OP_ADD, at, depth), at), axis);
    hn_val on = hn_bin(b, HN_OP_EQ, hn_iota(b, HONE_I64, rank, shape, (size_t)axis), at);
    hn_out(c, 0, hn_where(b, on, hn_vec_at(b, value, 1), hn_vec_at(b, value, 0)));
}

static void reverse_sequence(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), length = hn_in(c, 1);
    if (!x || !length) return;
    hn_type t = *hn_t(b, x);
    int64_t batch = hn_axis(c, hn_int(c, "batch_axis", 1), t.rank),
            time = hn_axis(c, hn_int(c, "time_axis", 0), t.rank);
    if (hn_lower_failed(c)) return;
    hn_dim shape[HN_RANK_MAX];
    for (size_t i = 0; i < t.rank; i++) shape[i] = (int64_t)i == batch ? t.dim[i] : hn_lit(b, 1);
    length = hn_broadcast_to(b, hn_reshape(b, hn_cast(b, length, HONE_I64), t.rank, shape), t.rank, t.dim);
    hn_val at = hn_iota(b, HONE_I64, t.rank, t.dim, (size_t)time);
    hn_val back = hn_bin(b, HN_OP_SUB, hn_bin(b, HN_OP_SUB, length, hn_const_i(b, HONE_I64, 1)), at);
    hn_val in[] = {x, hn_where(b, hn_bin(b, HN_OP_LT, at, length), back, at)};
    hn_attr attr = hn_a_int(HN_A_AXIS, time);
    hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_GATHER_ELEMENTS, 2, in, 1, &attr, 1));
}

static void compress(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), keep = hn_in(c, 1);
    if (!x || !keep) return;
    hn_type t = *hn_t(b, x);
    int64_t axis = 0;
    if (hn_has(c, "axis")) {
        axis = hn_axis(c, hn_int(c, "axis", 0), t.rank);
    } else {
        hn_dim n = hn_type_count(b->g, &t);
        x = hn_reshape(b, x, 1, &n);
    }
    if (!hn_lower_failed(c)) hn_out(c, 0, hn_gather(b, x, hn_squeeze(b, hn_lower_where_true(b, keep), 0), axis));
}

#define M HN_OPSET_MAX
const hn_lower_row hn_lower_shape[] = {
    {"", "Reshape", 5, M, reshape, 0},
    {"", "Flatten", 1, M, flatten, 0},
    {"", "Transpose", 1, M, transpose, 0},
    {"", "Squeeze", 1, M, squeeze, 0},
    {"", "Unsqueeze", 1, M, unsqueeze, 0},
    {"", "Expand", 8, M, expand, 0},
    {"", "Tile", 6, M, tile, 0},
    {"", "Concat", 4, M, concat, 0},
    {"", "Shape", 1, M, shape_of, 0},
    {"", "Size", 1, M, size_of, 0},
    {"", "Constant", 1, M, constant, 0},
    {"", "ConstantOfShape", 9, M, constant_of_shape, 0},
    {"", "Range", 11, M, range, 0},
    {"", "EyeLike", 9, M, eye_like, 0},
    {"", "OneHot", 9, M, one_hot, 0},
    {"", "ReverseSequence", 10, M, reverse_sequence, 0},
    {"", "Compress", 9, M, compress, 0},
    {"", "Slice", 1, 9, hn_lower_slice_attr, 0},
    {"", "Slice", 10, M, hn_lower_slice, 0},
    {"", "Split", 2, M, hn_lower_split, 0},
    {"", "Pad", 2, 10, hn_lower_pad_attr, 0},
    {"", "Pad", 11, M, hn_lower_pad, 0},
    {0},
};
