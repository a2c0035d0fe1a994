/* norm.c — normalisations. Their common form, which row fusion recognises: mean, centred, mean of squares, rsqrt,
 * scale, shift. */
#include "compose/compose.h"

hn_moments hn_moments_of(hn_builder *b, hn_val x, size_t n, const int64_t *axes, double epsilon) {
    hn_moments m;
    m.mean = hn_mean(b, x, n, axes, true);
    m.centred = hn_bin(b, HN_OP_SUB, x, m.mean);
    m.variance = hn_mean(b, hn_bin(b, HN_OP_MUL, m.centred, m.centred), n, axes, true);
    m.inv = hn_un(b, HN_OP_RSQRT, hn_bin_f(b, HN_OP_ADD, m.variance, epsilon));
    return m;
}

hn_val hn_normalised(hn_builder *b, hn_moments m) { return hn_bin(b, HN_OP_MUL, m.centred, m.inv); }

static size_t axes_from(size_t first, size_t rank, int64_t *axes) {
    for (size_t i = first; i < rank; i++) axes[i - first] = (int64_t)i;
    return rank > first ? rank - first : 0;
}

/* y * scale + shift in the type t, both [C] along axis 1. */
static hn_val scale_shift(hn_builder *b, hn_val y, hn_val scale, hn_val shift, hone_dtype t) {
    size_t rank = hn_rank(b, y);
    y = hn_bin(b, HN_OP_MUL, hn_cast(b, y, t), hn_along(b, hn_cast(b, scale, t), rank, 1));
    return hn_bin(b, HN_OP_ADD, y, hn_along(b, hn_cast(b, shift, t), rank, 1));
}

hn_val hn_layer_norm(hn_builder *b, hn_val x, size_t n, const int64_t *axes, hn_val scale, hn_val shift, double epsilon,
                     hone_dtype stage, hn_moments *m) {
    hone_dtype second = hn_work_type(hn_dt(b, x));
    hn_moments own = hn_moments_of(b, hn_cast(b, x, hn_work_type(stage)), n, axes, epsilon);
    hn_val y = hn_cast(b, hn_normalised(b, own), second);
    y = hn_bin(b, HN_OP_MUL, y, hn_cast(b, scale, second));
    if (shift) y = hn_bin(b, HN_OP_ADD, y, hn_cast(b, shift, second));
    if (m) *m = own;
    return hn_cast(b, y, hn_dt(b, x));
}

hn_val hn_rms_norm(hn_builder *b, hn_val x, size_t n, const int64_t *axes, hn_val scale, double epsilon,
                   hone_dtype stage) {
    x = hn_cast(b, x, hn_work_type(stage));
    hn_val square = hn_mean(b, hn_bin(b, HN_OP_MUL, x, x), n, axes, true);
    hn_val inv = hn_un(b, HN_OP_RSQRT, hn_bin_f(b, HN_OP_ADD, square, epsilon));
    hone_dtype out = hn_dt(b, scale), second = hn_work_type(out);
    hn_val y = hn_cast(b, hn_bin(b, HN_OP_MUL, x, inv), second);
    return hn_cast(b, hn_bin(b, HN_OP_MUL, y, hn_cast(b, scale, second)), out);
}

hn_row_norm hn_row_norm_of(hn_builder *b, hn_val x, hn_val scale, hn_val shift, bool rms, double epsilon) {
    int64_t axis = (int64_t)hn_rank(b, x) - 1;
    hn_row_norm n = {0};
    if (!rms) {
        n.mean = hn_mean(b, x, 1, &axis, true);
        x = hn_bin(b, HN_OP_SUB, x, n.mean);
    }
    hn_val square = hn_mean(b, hn_bin(b, HN_OP_MUL, x, x), 1, &axis, true);
    n.inv = hn_un(b, HN_OP_RSQRT, hn_bin_f(b, HN_OP_ADD, square, epsilon));
    n.y = hn_bin(b, HN_OP_MUL, hn_bin(b, HN_OP_MUL, x, n.inv), hn_cast(b, scale, hn_dt(b, x)));
    if (shift) n.y = hn_bin(b, HN_OP_ADD, n.y, hn_cast(b, shift, hn_dt(b, x)));
    return n;
}

/* Opset 18 has scale and shift per group, 21 per channel. Both accept the other's length: existing files mix them.
 */
static hn_val group_param(hn_builder *b, hn_val v, hn_dim groups, hn_dim channels, hone_dtype t) {
    hn_dims *d = b->g->dims;
    v = hn_cast(b, v, t);
    hn_dim each = hn_dim_floordiv(d, channels, groups);
    if (hn_dim_equal(d, hn_dim_of(b, v, 0), groups) != HN_EQUAL || hn_dim_is(b, each, 1)) {
        return hn_reshape(b, v, 3, (hn_dim[]){groups, each, hn_lit(b, 1)});
    }
    return hn_reshape(b, v, 3, (hn_dim[]){groups, hn_lit(b, 1), hn_lit(b, 1)});
}

hn_val hn_group_norm(hn_builder *b, hn_val in, int64_t groups, hn_val scale, hn_val shift, double epsilon,
                     hone_dtype stage) {
    size_t rank = hn_rank(b, in);
    hone_dtype t = hn_dt(b, in), second = hn_work_type(t);
    if (!in) return 0;
    hn_dim each = hn_dim_floordiv(b->g->dims, hn_dim_of(b, in, 1), hn_lit(b, groups)), shape[HN_RANK_MAX];
    hn_dim flat[4] = {hn_dim_of(b, in, 0), hn_lit(b, groups), each, hn_dim_product(b, in, 2, rank)};
    for (size_t i = 0; i < rank; i++) shape[i] = hn_dim_of(b, in, i);
    hn_val x = hn_cast(b, hn_reshape(b, in, 4, flat), hn_work_type(stage));
    hn_val y = hn_normalised(b, hn_moments_of(b, x, 2, (int64_t[]){2, 3}, epsilon));
    y = hn_cast(b, y, second);
    y = hn_bin(b, HN_OP_MUL, y, group_param(b, scale, flat[1], hn_dim_of(b, in, 1), second));
    y = hn_bin(b, HN_OP_ADD, y, group_param(b, shift, flat[1], hn_dim_of(b, in, 1), second));
    return hn_cast(b, hn_reshape(b, y, rank, shape), t);
}

hn_val hn_instance_norm(hn_builder *b, hn_val in, hn_val scale, hn_val shift, double epsilon) {
    int64_t axes[HN_RANK_MAX];
    hn_val x = hn_work(b, in);
    size_t n = axes_from(2, hn_rank(b, x), axes);
    hn_val y = hn_normalised(b, hn_moments_of(b, x, n, axes, epsilon));
    return hn_cast(b, scale_shift(b, y, scale, shift, hn_dt(b, x)), hn_dt(b, in));
}

hn_val hn_batch_norm(hn_builder *b, hn_val x, hn_val scale, hn_val shift, hn_val mean, hn_val variance,
                     double epsilon) {
    hn_val inv = hn_un(b, HN_OP_RSQRT, hn_bin_f(b, HN_OP_ADD, variance, epsilon));
    scale = hn_bin(b, HN_OP_MUL, scale, inv);
    shift = hn_bin(b, HN_OP_SUB, shift, hn_bin(b, HN_OP_MUL, mean, scale));
    return hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_MUL, x, scale), shift);
}

hn_val hn_batch_norm_trained(hn_builder *b, hn_val x, hn_val scale, hn_val shift, bool spatial, double epsilon,
                             hn_moments *m) {
    int64_t axes[HN_RANK_MAX] = {0};
    size_t n = 1;
    for (size_t i = 2; spatial && i < hn_rank(b, x); i++) axes[n++] = (int64_t)i;
    *m = hn_moments_of(b, x, n, axes, epsilon);
    return hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_MUL, hn_normalised(b, *m), scale), shift);
}

hn_val hn_lp_norm(hn_builder *b, hn_val in, int p, int64_t axis) {
    hn_val x = hn_work(b, in), part = p == 1 ? hn_un(b, HN_OP_ABS, x) : hn_bin(b, HN_OP_MUL, x, x);
    hn_val norm = hn_reduce1(b, HN_OP_RSUM, part, axis, true);
    if (p == 2) norm = hn_un(b, HN_OP_SQRT, norm);
    norm = hn_where(b, hn_bin_f(b, HN_OP_EQ, norm, 0), hn_const_f(b, hn_dt(b, x), 1), norm);
    return hn_cast(b, hn_bin(b, HN_OP_DIV, x, norm), hn_dt(b, in));
}
