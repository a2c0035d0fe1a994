/* pools.c — averages, norms and largest elements of windows, planes, channels and regions. */
#include "compose/image.h"

#include <math.h>

hn_val hn_average_pool(hn_builder *b, hn_val in, const hn_window *w, bool with_pad) {
    hn_val x = hn_work(b, in);
    hn_val n = hn_window_counts(b, x, w, with_pad, hn_dt(b, x));
    return hn_cast(b, hn_bin(b, HN_OP_DIV, hn_window_emit(b, HN_OP_WSUM, x, w), n), hn_dt(b, in));
}

static hn_val to_power(hn_builder *b, hn_val x, double p) {
    if (p == 2) return hn_bin(b, HN_OP_MUL, x, x);
    x = hn_un(b, HN_OP_ABS, x);
    return p == 1 ? x : hn_bin_f(b, HN_OP_POW, x, p);
}

static hn_val to_root(hn_builder *b, hn_val x, double p) {
    if (p == 2) return hn_un(b, HN_OP_SQRT, x);
    return p == 1 ? x : hn_bin_f(b, HN_OP_POW, x, 1 / p);
}

hn_val hn_lp_pool(hn_builder *b, hn_val x, const hn_window *w, double p) {
    hn_val sum = hn_window_emit(b, HN_OP_WSUM, to_power(b, hn_work(b, x), p), w);
    return hn_cast(b, to_root(b, sum, p), hn_dt(b, x));
}

hn_val hn_global_pool(hn_builder *b, hn_op op, hn_val in, double p) {
    int64_t axes[HN_RANK_MAX];
    hn_val x = op == HN_OP_RMAX ? in : hn_work(b, in);
    if (!x) return 0;
    size_t n = hn_rank(b, x) - 2;
    for (size_t i = 0; i < n; i++) axes[i] = (int64_t)i + 2;
    if (op == HN_OP_RSUM)
        x = hn_mean(b, x, n, axes, true);
    else if (op == HN_OP_RMAX)
        x = hn_reduce(b, HN_OP_RMAX, x, n, axes, true);
    else
        x = to_root(b, hn_reduce(b, HN_OP_RSUM, to_power(b, x, p), n, axes, true), p);
    return hn_cast(b, x, hn_dt(b, in));
}

/* The channels are the window's first spatial dimension, all others are flattened into the second. */
hn_val hn_response_norm(hn_builder *b, hn_val in, int64_t size, double alpha, double beta, double bias) {
    hn_val x = hn_work(b, in);
    size_t rank = hn_rank(b, x);
    hn_dim shape[HN_RANK_MAX],
        plane[4] = {hn_dim_of(b, x, 0), hn_lit(b, 1), hn_dim_of(b, x, 1), hn_dim_product(b, x, 2, rank)};
    hn_window w = {.n = 2,
                   .kernel = {size, 1},
                   .stride = {1, 1},
                   .dilation = {1, 1},
                   .low = {hn_lit(b, (size - 1) / 2), hn_lit(b, 0)},
                   .high = {hn_lit(b, size / 2), hn_lit(b, 0)}};
    for (size_t i = 0; i < rank; i++) shape[i] = hn_dim_of(b, x, i);
    hn_val square = hn_reshape(b, hn_bin(b, HN_OP_MUL, x, x), 4, plane);
    hn_val sum = hn_reshape(b, hn_window_emit(b, HN_OP_WSUM, square, &w), rank, shape);
    sum = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, sum, alpha / (double)size), bias);
    return hn_cast(b, hn_bin(b, HN_OP_DIV, x, hn_bin_f(b, HN_OP_POW, sum, beta)), hn_dt(b, in));
}

/* --- regions ------------------------------------------------------------------------------------------------------ */

typedef struct edges {
    hn_val begin, end; /* i64 [rois, cells] */
} edges;

/* Along one spatial axis: region r covers rows round(first * scale) to round(last * scale); cell p of n covers
 * floor(p * size / n) to ceil((p + 1) * size / n) of it, clipped to the image. */
static edges roi_edges(hn_builder *b, hn_val rois, int64_t first, int64_t last, hn_dim image, int64_t n, double scale) {
    hn_dim one = hn_lit(b, 1), cells[2] = {one, hn_lit(b, n)};
    hone_dtype t = hn_dt(b, rois);
    hn_val at[2];
    for (int i = 0; i < 2; i++) {
        hn_val v = hn_slice_axis(b, rois, 1, hn_lit(b, i ? last : first), one, 1);
        v = hn_bin_f(b, HN_OP_MUL, v, scale);
        /* half away from zero, as C's round */
        hn_val away = hn_un(b, HN_OP_FLOOR, hn_bin_f(b, HN_OP_ADD, hn_un(b, HN_OP_ABS, v), 0.5));
        at[i] = hn_bin(b, HN_OP_MUL, hn_un(b, HN_OP_SIGN, v), away);
    }
    hn_val size = hn_bin_f(b, HN_OP_ADD, hn_bin(b, HN_OP_SUB, at[1], at[0]), 1);
    hn_val bin = hn_bin_f(b, HN_OP_DIV, hn_bin_f(b, HN_OP_MAX, size, 1), (double)n);
    hn_val p = hn_iota(b, t, 2, cells, 1);
    hn_val begin = hn_un(b, HN_OP_FLOOR, hn_bin(b, HN_OP_MUL, p, bin));
    hn_val end = hn_un(b, HN_OP_CEIL, hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_ADD, p, 1), bin));
    hn_val most = hn_cast(b, hn_scalar(b, hn_dims_value(b, 1, &image)), t);
    edges e;
    e.begin = hn_bin(b, HN_OP_MIN, hn_bin_f(b, HN_OP_MAX, hn_bin(b, HN_OP_ADD, begin, at[0]), 0), most);
    e.end = hn_bin(b, HN_OP_MIN, hn_bin_f(b, HN_OP_MAX, hn_bin(b, HN_OP_ADD, end, at[0]), 0), most);
    return e;
}

/* The largest of x [r, c, a…, n] over the last axis, for each cell: [r, c, a…, cells]; -inf where a cell is empty. */
static hn_val roi_largest(hn_builder *b, hn_val x, edges e) {
    size_t rank = hn_rank(b, x), wide = rank + 1;
    hn_dim shape[HN_RANK_MAX], edge[HN_RANK_MAX];
    if (!x) return 0;
    for (size_t i = 0; i < wide; i++) shape[i] = edge[i] = hn_lit(b, 1);
    shape[wide - 1] = hn_dim_of(b, x, rank - 1);
    edge[0] = hn_dim_of(b, e.begin, 0);
    edge[wide - 2] = hn_dim_of(b, e.begin, 1);
    hn_val at = hn_iota(b, hn_dt(b, e.begin), wide, shape, wide - 1);
    hn_val begin = hn_reshape(b, e.begin, wide, edge), end = hn_reshape(b, e.end, wide, edge);
    hn_val inside = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, begin, at), hn_bin(b, HN_OP_LT, at, end));
    hn_val y = hn_where(b, inside, hn_unsqueeze(b, x, (int64_t)rank - 1), hn_const_f(b, hn_dt(b, x), -INFINITY));
    return hn_reduce1(b, HN_OP_RMAX, y, (int64_t)wide - 1, false);
}

hn_val hn_max_roi_pool(hn_builder *b, hn_val in, hn_val rois, const int64_t pooled[2], double scale) {
    hn_val x = hn_work(b, in);
    rois = hn_cast(b, rois, hn_dt(b, x));
    hn_val image = hn_cast(b, hn_squeeze(b, hn_slice_axis(b, rois, 1, hn_lit(b, 0), hn_lit(b, 1), 1), 1), HONE_I64);
    edges row = roi_edges(b, rois, 2, 4, hn_dim_of(b, x, 2), pooled[0], scale);
    edges column = roi_edges(b, rois, 1, 3, hn_dim_of(b, x, 3), pooled[1], scale);
    hn_val y = roi_largest(b, hn_gather(b, x, image, 0), column); /* [r, c, h, pooled columns] */
    y = hn_swap(b, roi_largest(b, hn_swap(b, y, 2, 3), row), 2, 3);
    hn_val none = hn_bin_f(b, HN_OP_EQ, y, -INFINITY);
    return hn_cast(b, hn_where(b, none, hn_const_f(b, hn_dt(b, x), 0), y), hn_dt(b, in));
}
