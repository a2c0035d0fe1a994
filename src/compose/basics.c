/* basics.c — what all compositions use: see compose.h. */
#include "compose/compose.h"

hone_dtype hn_work_type(hone_dtype t) {
    const hn_dtype_info *d = hn_dtype_of(t);
    return d->cls == HN_CLASS_FLOAT && d->bits < 32 ? HONE_F32 : t;
}

hn_val hn_work(hn_builder *b, hn_val x) { return hn_cast(b, x, hn_work_type(hn_dt(b, x))); }

bool hn_dim_known(const hn_builder *b, hn_dim d, int64_t *n) { return d && hn_dim_is_int(b->g->dims, d, n); }

bool hn_dim_is(const hn_builder *b, hn_dim d, int64_t n) {
    int64_t k;
    return hn_dim_known(b, d, &k) && k == n;
}

hn_val hn_scalar(hn_builder *b, hn_val v) { return hn_rank(b, v) ? hn_reshape(b, v, 0, NULL) : v; }

hn_val hn_along(hn_builder *b, hn_val v, size_t rank, size_t axis) {
    hn_dim shape[HN_RANK_MAX];
    if (!hn_rank(b, v)) return v;
    if (hn_rank(b, v) == 1 && hn_dim_is(b, hn_dim_of(b, v, 0), 1)) return hn_scalar(b, v);
    for (size_t i = 0; i < rank; i++) shape[i] = i == axis ? hn_dim_of(b, v, 0) : hn_lit(b, 1);
    return hn_reshape(b, v, rank, shape);
}

hn_dim hn_dim_product(hn_builder *b, hn_val x, size_t from, size_t to) {
    hn_dim n = hn_lit(b, 1);
    for (size_t i = from; i < to; i++) n = hn_dim_mul(b->g->dims, n, hn_dim_of(b, x, i));
    return n;
}

hn_val hn_index_below(hn_builder *b, size_t rank, const hn_dim *shape, size_t axis, hn_val n) {
    return hn_bin(b, HN_OP_LT, hn_iota(b, hn_dt(b, n), rank, shape, axis), n);
}

hn_val hn_size_value(hn_builder *b, hn_dim d, hone_dtype t) {
    int64_t n;
    if (hn_dim_known(b, d, &n)) return hn_is_float(t) ? hn_const_f(b, t, (double)n) : hn_const_i(b, t, n);
    return hn_cast(b, hn_scalar(b, hn_dims_value(b, 1, &d)), t);
}

hn_val hn_clip(hn_builder *b, hn_val x, hn_val low, hn_val high) {
    return hn_bin(b, HN_OP_MAX, hn_bin(b, HN_OP_MIN, x, high), low);
}

hn_val hn_vec_at(hn_builder *b, hn_val v, size_t i) {
    return hn_squeeze(b, hn_slice_axis(b, v, 0, hn_lit(b, (int64_t)i), hn_lit(b, 1), 1), 0);
}

hn_val hn_vec_of(hn_builder *b, size_t n, const hn_val *scalar) {
    hn_val one[HN_RANK_MAX * 2];
    if (!n || n > HN_RANK_MAX * 2) return hn_const_ints(b, 0, NULL);
    for (size_t i = 0; i < n; i++) one[i] = hn_unsqueeze(b, scalar[i], 0);
    return n == 1 ? one[0] : hn_concat(b, n, one, 0);
}

hn_val hn_vec_spread(hn_builder *b, hn_val axis, hn_val value, hn_val otherwise) {
    hn_val in[] = {otherwise, axis, value};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 0), hn_a_word(HN_A_MODE, "set")};
    return hn_emit(b->g, b->b, HN_OP_SCATTER_ELEMENTS, 3, in, 2, attr, 1);
}
