#include "onnx/lower_util.h"

#include <string.h>

bool hn_need(hn_lower *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (hn_in(c, i)) continue;
        if (!hn_lower_failed(c)) hn_wrong(c, "input %zu is missing", i);
        return false;
    }
    return !hn_lower_failed(c);
}

bool hn_need_rank(hn_lower *c, size_t i, size_t low, size_t high) {
    size_t r = hn_rank(hn_lower_builder(c), hn_in(c, i));
    if (r >= low && r <= high) return true;
    hn_wrong(c, "input %zu has rank %zu; it must be %s%zu", i, r,
             low == high ? ""
             : r < low   ? "at least "
                         : "at most ",
             r < low ? low : high);
    return false;
}

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

/* ---- windows ---- */

enum { SIZE_MOST = INT32_MAX }; /* of kernels, strides, dilations, pads: keeps all products inside int64 */

/* A list attribute with one entry per spatial dimension (`per` of them each), all at least `least`. */
static bool sizes(hn_lower *c, const char *name, size_t n, int64_t otherwise, int64_t least, int64_t *out) {
    const int64_t *given;
    size_t m = hn_ints(c, name, &given);
    if (m && m != n) {
        hn_wrong(c, "'%s' has %zu entries; this input needs %zu", name, m, n);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = m ? given[i] : otherwise;
        if (out[i] >= least && out[i] <= SIZE_MOST) continue;
        hn_wrong(c, "'%s' holds %lld; it must be at least %lld and below 2^31", name, (long long)out[i],
                 (long long)least);
        return false;
    }
    return true;
}

bool hn_window_sizes(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w) {
    hn_builder *b = hn_lower_builder(c);
    *w = (hn_window){.groups = hn_int(c, "group", 1), .empty = true};
    if (hn_rank(b, x) < 3) {
        hn_wrong(c, "input 0 has rank %zu; it must be at least 3: batch, channels, and spatial dimensions",
                 hn_rank(b, x));
        return false;
    }
    w->n = hn_rank(b, x) - 2;
    if (!kernel && !hn_has(c, "kernel_shape")) {
        hn_wrong(c, "'kernel_shape' is missing");
        return false;
    }
    if (!sizes(c, "kernel_shape", w->n, 1, 1, w->kernel) || !sizes(c, "strides", w->n, 1, 1, w->stride) ||
        !sizes(c, "dilations", w->n, 1, 1, w->dilation))
        return false;
    for (size_t i = 0; i < w->n; i++) {
        w->inflate[i] = 1;
        w->low[i] = w->high[i] = hn_lit(b, 0);
        if (!kernel) continue;
        if (hn_has(c, "kernel_shape") && kernel[i] != w->kernel[i]) {
            hn_wrong(c, "'kernel_shape' says %lld where the weights have %lld", (long long)w->kernel[i],
                     (long long)kernel[i]);
            return false;
        }
        w->kernel[i] = kernel[i];
    }
    return !hn_lower_failed(c);
}

static int64_t extent(const hn_window *w, size_t i) { return (w->kernel[i] - 1) * w->dilation[i] + 1; }

/* SAME_UPPER, SAME_LOWER: as many results as ceil(input / stride); the padding is what they need, the odd one behind
 * (upper) or in front. */
static void pad_same(hn_builder *b, hn_val x, hn_window *w, bool upper) {
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
static void pad_ceil(hn_builder *b, hn_val x, hn_window *w, int64_t low, size_t i) {
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

static bool pad_explicit(hn_lower *c, hn_val x, hn_window *w, bool ceil_mode) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *pads;
    size_t n = hn_ints(c, "pads", &pads);
    if (n && n != 2 * w->n) {
        hn_wrong(c, "'pads' has %zu entries; this input needs %zu", n, 2 * w->n);
        return false;
    }
    for (size_t i = 0; i < w->n; i++) {
        int64_t low = n ? pads[i] : 0, high = n ? pads[i + w->n] : 0;
        if (low < 0 || high < 0 || low > SIZE_MOST || high > SIZE_MOST) {
            hn_refuse(c, "'pads' holds a negative number, or one beyond 2^31");
            return false;
        }
        w->pad_high[i] = high;
        w->low[i] = hn_lit(b, low);
        w->high[i] = hn_lit(b, high);
        if (low || high) w->empty = false;
        if (ceil_mode) pad_ceil(b, x, w, low, i);
    }
    return true;
}

bool hn_window_read(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w) {
    if (!hn_window_sizes(c, x, kernel, w)) return false;
    const char *mode = hn_string(c, "auto_pad", "NOTSET");
    bool ceil_mode = hn_int(c, "ceil_mode", 0) != 0;
    if (!strcmp(mode, "SAME_UPPER") || !strcmp(mode, "SAME_LOWER")) {
        pad_same(hn_lower_builder(c), x, w, mode[5] == 'U');
    } else if (!strcmp(mode, "NOTSET") || !*mode) {
        return pad_explicit(c, x, w, ceil_mode);
    } else if (strcmp(mode, "VALID") != 0) {
        hn_wrong(c, "'auto_pad' is '%s'; it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
        return false;
    }
    return true;
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

/* Of one dimension, as [1, 1, …, windows, …, 1]. */
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

bool hn_kernel_sizes(hn_lower *c, size_t input, int64_t *kernel) {
    hn_builder *b = hn_lower_builder(c);
    hn_val w = hn_in(c, input);
    for (size_t i = 2; i < hn_rank(b, w); i++) {
        if (!hn_dim_known(b, hn_dim_of(b, w, i), &kernel[i - 2])) {
            hn_refuse(c, "the size of the kernel (dimension %zu of input %zu) is not known at compile time", i, input);
            return false;
        }
        if (kernel[i - 2] >= 1 && kernel[i - 2] <= SIZE_MOST) continue;
        hn_wrong(c, "dimension %zu of input %zu is %lld; a kernel has at least one element", i, input,
                 (long long)kernel[i - 2]);
        return false;
    }
    return true;
}

hn_val hn_log_softmax(hn_builder *b, hn_val x, int64_t axis) {
    hn_val d = hn_bin(b, HN_OP_SUB, x, hn_reduce1(b, HN_OP_RMAX, x, axis, true));
    hn_val sum = hn_reduce1(b, HN_OP_RSUM, hn_un(b, HN_OP_EXP, d), axis, true);
    return hn_bin(b, HN_OP_SUB, d, hn_un(b, HN_OP_LOG, sum));
}
