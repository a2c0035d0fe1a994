/* between.c — values of an image between its pixels.
 *
 * A point's value is the weighted sum of the pixels around it: one nearest, or every combination of 2 (linear) or 4
 * (cubic) neighbours per spatial dimension, the weights being products of one-dimensional ones. Each combination is one
 * gather from the image with its spatial dimensions flattened, so any number of dimensions is handled alike.
 */
#include "compose/image.h"

/* -- kernels */

hn_val hn_kernel_linear(hn_builder *b, hn_val d) {
    return hn_bin_f(b, HN_OP_MAX, hn_f_bin(b, HN_OP_SUB, 1, hn_un(b, HN_OP_ABS, d)), 0);
}

/* ((c3 * d + c2) * d + c1) * d + c0 */
static hn_val cubic_polynomial(hn_builder *b, hn_val d, const double c[4]) {
    hn_val v = hn_bin_f(b, HN_OP_MUL, d, c[3]);
    for (size_t i = 3; i-- > 0;) {
        v = hn_bin_f(b, HN_OP_ADD, v, c[i]);
        if (i) v = hn_bin(b, HN_OP_MUL, v, d);
    }
    return v;
}

hn_val hn_kernel_cubic(hn_builder *b, hn_val d, double a) {
    hn_val m = hn_un(b, HN_OP_ABS, d), zero = hn_const_f(b, hn_dt(b, d), 0);
    hn_val near = cubic_polynomial(b, m, (double[]){1, 0, -(a + 3), a + 2});
    hn_val far = cubic_polynomial(b, m, (double[]){-4 * a, 8 * a, -5 * a, a});
    return hn_where(b, hn_bin_f(b, HN_OP_LE, m, 1), near, hn_where(b, hn_bin_f(b, HN_OP_LT, m, 2), far, zero));
}

/* -- sampling */

typedef struct axis_taps { /* neighbours along one spatial dimension, each [N, points] */
    size_t n;
    hn_val index[4], weight[4]; /* i64 inside the image; weight 0 where it was outside and zeros are wanted; 0: 1 */
} axis_taps;

/* Reflection between low and high, as often as it takes: a triangle wave of period 2 (high - low). */
static hn_val reflect(hn_builder *b, hn_val x, hn_val low, hn_val high) {
    hone_dtype t = hn_dt(b, x);
    hn_val span = hn_bin(b, HN_OP_SUB, high, low), one = hn_const_f(b, t, 1);
    hn_val safe = hn_where(b, hn_bin_f(b, HN_OP_EQ, span, 0), one, span);
    hn_val wave = hn_bin(b, HN_OP_MOD, hn_bin(b, HN_OP_SUB, x, low), hn_bin_f(b, HN_OP_MUL, safe, 2));
    hn_val back = hn_bin(b, HN_OP_SUB, hn_bin_f(b, HN_OP_MUL, safe, 2), wave);
    hn_val inside = hn_bin(b, HN_OP_ADD, low, hn_bin(b, HN_OP_MIN, wave, back));
    return hn_where(b, hn_bin_f(b, HN_OP_EQ, span, 0), low, inside);
}

/* Limits between which reflection happens, and those of pixels. */
typedef struct limits {
    hn_val last, low, high;
} limits;

static limits limits_of(hn_builder *b, hn_dim size, hone_dtype t, bool align_corners) {
    hn_val n = hn_size_value(b, size, t), last = hn_bin_f(b, HN_OP_SUB, n, 1);
    if (align_corners) return (limits){last, hn_const_f(b, t, 0), last};
    return (limits){last, hn_const_f(b, t, -0.5), hn_bin_f(b, HN_OP_SUB, n, 0.5)};
}

/* A coordinate beyond the limits comes back to the border or is reflected; one between the last pixel and the limit
 * stays, its neighbours are settled one by one. */
static hn_val settled(hn_builder *b, hn_val x, const limits *l, hn_image_sampler s) {
    hn_val zero = hn_const_f(b, hn_dt(b, x), 0);
    if (s.outside == HN_ZEROS) return x;
    hn_val out = hn_bin(b, HN_OP_OR, hn_bin(b, HN_OP_LT, x, l->low), hn_bin(b, HN_OP_LT, l->high, x));
    hn_val in = s.outside == HN_BORDER ? hn_clip(b, x, zero, l->last) : reflect(b, x, l->low, l->high);
    return hn_where(b, out, in, x);
}

/* Pixel p (a whole number, anywhere) as an index; *weight loses what lies outside when zeros are wanted. */
static hn_val pixel(hn_builder *b, hn_val p, const limits *l, hn_image_sampler s, hn_val *weight) {
    hone_dtype t = hn_dt(b, p);
    hn_val zero = hn_const_f(b, t, 0);
    if (s.outside == HN_REFLECTION) p = hn_un(b, HN_OP_TRUNC, settled(b, p, l, s));
    if (s.outside == HN_ZEROS) {
        hn_val in = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, zero, p), hn_bin(b, HN_OP_LE, p, l->last));
        *weight = *weight ? hn_where(b, in, *weight, zero) : hn_cast(b, in, t);
    }
    return hn_cast(b, hn_clip(b, p, zero, l->last), HONE_I64);
}

static axis_taps taps_of(hn_builder *b, hn_val x, hn_dim size, hn_image_sampler s) {
    limits l = limits_of(b, size, hn_dt(b, x), s.align_corners);
    axis_taps a = {.n = s.mode == HN_NEAREST ? 1 : s.mode == HN_LINEAR ? 2 : 4};
    if (s.mode == HN_NEAREST) x = hn_un(b, HN_OP_ROUND, x);
    x = settled(b, x, &l, s);
    if (s.mode == HN_NEAREST) {
        a.index[0] = pixel(b, s.outside == HN_REFLECTION ? hn_un(b, HN_OP_TRUNC, x) : x, &l, s, &a.weight[0]);
        return a;
    }
    hn_val floor = hn_un(b, HN_OP_FLOOR, x);
    for (size_t k = 0; k < a.n; k++) {
        hn_val p = hn_bin_f(b, HN_OP_ADD, floor, (double)k - (s.mode == HN_LINEAR ? 0 : 1));
        hn_val d = hn_bin(b, HN_OP_SUB, x, p);
        a.weight[k] = s.mode == HN_LINEAR ? hn_kernel_linear(b, d) : hn_kernel_cubic(b, d, -0.75);
        a.index[k] = pixel(b, p, &l, s, &a.weight[k]);
    }
    return a;
}

static hn_val times(hn_builder *b, hn_val x, hn_val y) { return x && y ? hn_bin(b, HN_OP_MUL, x, y) : x ? x : y; }

/* data [N, C, size], index and weight [N, points]: weighted elements [N, C, points]. */
static hn_val gather_weighted(hn_builder *b, hn_val data, hn_val index, hn_val weight) {
    hn_val in[] = {data, index};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 2), hn_a_int(HN_A_BATCH, 1)};
    hn_val v = hn_emit(b->g, b->b, HN_OP_GATHER, 2, in, 2, attr, 1);
    if (!weight) return v;
    /* a weight of 0 hides what is there: 0 * inf must not become NaN */
    hn_val w = hn_unsqueeze(b, weight, 1), zero = hn_const_f(b, hn_dt(b, v), 0);
    hn_val safe = hn_where(b, hn_bin_f(b, HN_OP_EQ, w, 0), zero, v);
    return hn_bin(b, HN_OP_MUL, safe, hn_cast(b, w, hn_dt(b, v)));
}

hn_val hn_sample(hn_builder *b, hn_val x, const hn_val *at, hn_image_sampler s) {
    if (!x || hn_rank(b, x) < 3) return 0; /* a failure before */
    size_t n = hn_rank(b, x) - 2, step[HN_RANK_MAX] = {0};
    axis_taps taps[HN_RANK_MAX];
    hn_dim flat[] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), hn_dim_product(b, x, 2, n + 2)};
    hn_val data = hn_reshape(b, x, 3, flat), sum = 0;
    for (size_t i = 0; i < n; i++) taps[i] = taps_of(b, at[i], hn_dim_of(b, x, i + 2), s);
    for (bool more = true; more;) {
        hn_val index = 0, weight = 0;
        for (size_t i = 0; i < n; i++) {
            hn_val k = taps[i].index[step[i]];
            if (index) index = hn_bin(b, HN_OP_MUL, index, hn_size_value(b, hn_dim_of(b, x, i + 2), HONE_I64));
            index = index ? hn_bin(b, HN_OP_ADD, index, k) : k;
            weight = times(b, weight, taps[i].weight[step[i]]);
        }
        hn_val part = gather_weighted(b, data, index, weight);
        sum = sum ? hn_bin(b, HN_OP_ADD, sum, part) : part;
        more = false;
        for (size_t i = n; i-- > 0 && !more;) {
            more = ++step[i] < taps[i].n;
            if (!more) step[i] = 0;
        }
    }
    return sum;
}
