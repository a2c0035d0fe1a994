/* window.c — sliding windows over the spatial dimensions 2.. of [N, C, spatial…]. */
#include "compose/compose.h"

static int64_t extent(const hn_window *w, size_t i) { return (w->kernel[i] - 1) * w->dilation[i] + 1; }

/* SAME_UPPER, SAME_LOWER: as many results as ceil(input / stride); the padding is what they need, the odd one behind
 * (upper) or in front. */
void hn_window_pad_same(hn_builder *b, hn_val x, hn_window *w, bool upper) {
    hn_dims *t = b->g->dims;
    for (size_t i = 0; i < w->n; i++) {
        hn_dim in = hn_dim_of(b, x, i + 2), s = hn_lit(b, w->stride[i]);
        hn_dim last = hn_dim_sub(t, hn_dim_ceildiv(t, in, s), hn_lit(b, 1));
        hn_dim total = hn_dim_sub(t, hn_dim_add(t, hn_dim_mul(t, last, s), hn_lit(b, extent(w, i))), in);
        /* ceil(in / s) * s >= in, so only a stride beyond the window can make it negative */
        if (w->stride[i] > extent(w, i)) total = hn_dim_max(t, total, hn_lit(b, 0));
        hn_dim half = hn_dim_floordiv(t, total, hn_lit(b, 2)), rest = hn_dim_sub(t, total, half);
        w->low[i] = upper ? half : rest;
        w->high[i] = upper ? rest : half;
        if (!hn_dim_is(b, total, 0)) w->empty = false;
    }
}

/* ceil_mode: one more result where a window would begin inside the input or its front padding. */
void hn_window_pad_ceil(hn_builder *b, hn_val x, hn_window *w, int64_t low, size_t i) {
    hn_dims *t = b->g->dims;
    int64_t ext = extent(w, i);
    hn_dim in = hn_dim_add(t, hn_dim_of(b, x, i + 2), hn_lit(b, low)), s = hn_lit(b, w->stride[i]);
    hn_dim all = hn_dim_ceildiv(t, hn_dim_add(t, in, hn_lit(b, w->pad_high[i] - ext)), s);
    hn_dim inside = hn_dim_floordiv(t, hn_dim_sub(t, in, hn_lit(b, 1)), s);
    hn_dim last = hn_dim_min(t, all, inside);
    hn_dim high = hn_dim_sub(t, hn_dim_add(t, hn_dim_mul(t, last, s), hn_lit(b, ext)), in);
    if (w->stride[i] > ext) high = hn_dim_max(t, high, hn_lit(b, 0));
    w->ceil = w->ceil || hn_dim_equal(t, high, hn_lit(b, w->pad_high[i])) != HN_EQUAL;
    w->high[i] = high;
}

#define INTS(which, list, count)                                                                                       \
    { .id = (which), .kind = HN_K_INTS, .n = (uint32_t)(count), .ints = (list) }
#define DIMS(which, list, count)                                                                                       \
    { .id = (which), .kind = HN_K_DIMS, .n = (uint32_t)(count), .dims = (list) }

hn_val hn_window_emit(hn_builder *b, hn_op op, hn_val x, const hn_window *w) {
    hn_attr attr[] = {INTS(HN_A_KERNEL, w->kernel, w->n), INTS(HN_A_STRIDE, w->stride, w->n),
                      INTS(HN_A_DILATION, w->dilation, w->n), DIMS(HN_A_LOW, w->low, w->n),
                      DIMS(HN_A_HIGH, w->high, w->n)};
    return hn_emit(b->g, b->b, op, 1, &x, sizeof attr / sizeof attr[0], attr, 1);
}

hn_val hn_conv_emit(hn_builder *b, hn_val x, hn_val weight, const hn_window *w, hone_dtype out) {
    hn_val in[2] = {x, weight};
    hn_attr attr[] = {INTS(HN_A_STRIDE, w->stride, w->n),
                      INTS(HN_A_DILATION, w->dilation, w->n),
                      INTS(HN_A_INFLATE, w->inflate, w->n),
                      {.id = HN_A_GROUPS, .kind = HN_K_INT, .i = w->groups},
                      DIMS(HN_A_LOW, w->low, w->n),
                      DIMS(HN_A_HIGH, w->high, w->n),
                      {.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = out}};
    return hn_emit(b->g, b->b, HN_OP_CONV, 2, in, sizeof attr / sizeof attr[0], attr, 1);
}

/* The counts along one dimension, as [1, 1, …, windows, …, 1]. */
static hn_val counts_along(hn_builder *b, hn_val x, const hn_window *w, size_t i, bool with_pad, hone_dtype t) {
    hn_window ones = {.n = w->n, .groups = 1};
    hn_dim shape[HN_RANK_MAX];
    shape[0] = shape[1] = hn_lit(b, 1);
    for (size_t k = 0; k < w->n; k++) {
        ones.kernel[k] = ones.stride[k] = ones.dilation[k] = ones.inflate[k] = 1;
        ones.low[k] = ones.high[k] = hn_lit(b, 0);
        shape[k + 2] = hn_lit(b, 1);
    }
    ones.kernel[i] = w->kernel[i], ones.stride[i] = w->stride[i], ones.dilation[i] = w->dilation[i];
    ones.low[i] = w->low[i], ones.high[i] = w->high[i];
    shape[i + 2] = hn_dim_of(b, x, i + 2);
    if (with_pad) {
        hn_dim pads = hn_dim_add(b->g->dims, w->low[i], hn_lit(b, w->pad_high[i]));
        shape[i + 2] = hn_dim_add(b->g->dims, shape[i + 2], pads);
        ones.low[i] = hn_lit(b, 0);
        ones.high[i] = hn_dim_sub(b->g->dims, w->high[i], hn_lit(b, w->pad_high[i]));
    }
    return hn_window_emit(b, HN_OP_WSUM, hn_full(b, t, w->n + 2, shape, 1), &ones);
}

hn_val hn_window_counts(hn_builder *b, hn_val x, const hn_window *w, bool with_pad, hone_dtype t) {
    double n = 1;
    for (size_t i = 0; i < w->n; i++) n *= (double)w->kernel[i];
    if (!w->ceil && (with_pad || w->empty)) return hn_const_f(b, t, n);
    hn_val all = counts_along(b, x, w, 0, with_pad, t);
    for (size_t i = 1; i < w->n; i++) all = hn_bin(b, HN_OP_MUL, all, counts_along(b, x, w, i, with_pad, t));
    return all;
}

hn_val hn_channel_bias(hn_builder *b, hn_val y, hn_val bias) {
    if (!bias) return y;
    return hn_bin(b, HN_OP_ADD, y, hn_along(b, hn_cast(b, bias, hn_dt(b, y)), hn_rank(b, y), 1));
}

/* Weights [C, M/g, k…] of a transposed convolution as those of the convolution that it is: [M, C/g, k…] with every
 * kernel mirrored. */
hn_val hn_mirror_weights(hn_builder *b, hn_val w, int64_t groups) {
    size_t rank = hn_rank(b, w);
    hn_dims *t = b->g->dims;
    hn_dim g = hn_lit(b, groups), c = hn_dim_floordiv(t, hn_dim_of(b, w, 0), g), m = hn_dim_of(b, w, 1);
    hn_dim shape[HN_RANK_MAX + 1] = {g, c, m};
    int64_t perm[HN_RANK_MAX + 1] = {0, 2, 1};
    for (size_t i = 2; i < rank; i++) {
        shape[i + 1] = hn_dim_of(b, w, i);
        perm[i + 1] = (int64_t)i + 1;
    }
    if (groups == 1) {
        w = hn_swap(b, w, 0, 1);
    } else {
        w = hn_transpose(b, hn_reshape(b, w, rank + 1, shape), perm);
        shape[1] = hn_dim_mul(t, g, m);
        shape[2] = c;
        w = hn_reshape(b, w, rank, shape + 1);
    }
    for (size_t i = 2; i < rank; i++) w = hn_flip(b, w, (int64_t)i);
    return w;
}

/* --- transposed convolutions -------------------------------------------------------------------------------------- */

hn_dim hn_window_full(hn_builder *b, hn_val x, const hn_window *w, int64_t extra, size_t i) {
    hn_dims *t = b->g->dims;
    hn_dim last = hn_dim_sub(t, hn_dim_of(b, x, i + 2), hn_lit(b, 1));
    return hn_dim_add(t, hn_dim_mul(t, last, hn_lit(b, w->stride[i])), hn_lit(b, extent(w, i) + extra));
}

void hn_window_crop(hn_builder *b, hn_dim total, bool upper, hn_window *w, size_t i) {
    hn_dims *t = b->g->dims;
    hn_dim most = hn_dim_max(t, total, hn_lit(b, 0)), half = hn_dim_floordiv(t, most, hn_lit(b, 2));
    w->low[i] = upper ? half : hn_dim_sub(t, most, half);
    w->high[i] = hn_dim_sub(t, total, w->low[i]);
}

/* A convolution of stride 1 over the input spread by the stride (inflate), with mirrored weights and extent - 1 - crop
 * zeros around (Dumoulin & Visin, "A guide to convolution arithmetic", ch. 4). */
hn_val hn_conv_transposed(hn_builder *b, hn_val x, hn_val weight, const hn_window *w, const int64_t *extra,
                          hone_dtype out) {
    hn_dims *t = b->g->dims;
    hn_window win = *w;
    for (size_t i = 0; i < w->n; i++) {
        hn_dim reach = hn_lit(b, extent(w, i) - 1);
        win.low[i] = hn_dim_sub(t, reach, w->low[i]);
        win.high[i] = hn_dim_sub(t, hn_dim_add(t, reach, hn_lit(b, extra[i])), w->high[i]);
        win.inflate[i] = w->stride[i];
        win.stride[i] = 1;
    }
    return hn_conv_emit(b, x, hn_mirror_weights(b, weight, w->groups), &win, out);
}
