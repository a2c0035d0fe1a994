/* resize.c — images made larger or smaller, one axis after the other.
 *
 * Along an axis, result element i looks at input coordinate x(i), computed in f64. Nearest gathers one element. The
 * others sum a few neighbours p with weights kernel((p - x) * s): a triangle or Keys' cubic ("Cubic convolution
 * interpolation for digital image processing", 1981); antialias widens the kernel by 1/s where the image shrinks and
 * divides by the sum of the weights. Weights and indices are arithmetic on iota, so they are folded where the sizes are
 * known and computed by the model where they are not.
 */
#include "base/err.h"
#include "compose/image.h"

#include <math.h>
#include <string.h>

typedef struct resize {
    hn_builder *b;
    hn_type type;
    hn_resize o;
    hn_dim out[HN_RANK_MAX];   /* per entry of o.axis, as the next ones */
    hn_val scale[HN_RANK_MAX]; /* f64 scalar */
    double known[HN_RANK_MAX]; /* the same, NaN where not known */
    hone_err *err;
} resize;

static const double SCALE_MOST = 1e6, SIZE_MOST = 1e12; /* beyond is no image */

static hn_val f64_const(resize *r, double x) { return hn_const_f(r->b, HONE_F64, x); }

static hn_dim dim_at(const resize *r, size_t i) { return r->type.dim[r->o.axis[i]]; }

/* floor(n * s) as an expression; 0 where s has no short binary fraction. */
static hn_dim scaled_dim(resize *r, hn_dim n, double s) {
    hn_dims *t = r->b->g->dims;
    int64_t size;
    if (hn_dim_is_int(t, n, &size)) return hn_lit(r->b, (int64_t)fmin((double)size * s, SIZE_MOST));
    for (int64_t q = 1; q <= 1024; q *= 2)
        if (s * (double)q == floor(s * (double)q) && s * (double)q < 1e9)
            return hn_dim_floordiv(t, hn_dim_mul(t, n, hn_lit(r->b, (int64_t)(s * (double)q))), hn_lit(r->b, q));
    return 0;
}

static bool bind_one(resize *r, hn_val size_f64, hn_dim *out) {
    size_t n;
    hn_val v = hn_cast(r->b, size_f64, HONE_I64);
    return hn_bind_dims(r->b, v, "size", out, 1, &n) && n == 1;
}

static bool set_scales(resize *r, hn_val scales) {
    hn_val s64 = hn_cast(r->b, scales, HONE_F64);
    const hn_tensor *known = hn_known_tensor(r->b, scales);
    for (size_t i = 0; i < r->o.n; i++) {
        r->known[i] = known ? hn_get_f(known, (int64_t)i) : (double)NAN;
        if (known && !(r->known[i] > 0 && r->known[i] < SCALE_MOST)) {
            hn_fail(r->err, HONE_E_INPUT, "a scale of %g", r->known[i]);
            return false;
        }
        r->scale[i] = known ? f64_const(r, r->known[i]) : hn_vec_at(r->b, s64, i);
        r->out[i] = known ? scaled_dim(r, dim_at(r, i), r->known[i]) : 0;
        hn_val size = r->out[i] ? 0 : hn_bin(r->b, HN_OP_MUL, r->scale[i], hn_size_value(r->b, dim_at(r, i), HONE_F64));
        if (!r->out[i] && !bind_one(r, hn_un(r->b, HN_OP_FLOOR, size), &r->out[i])) return false;
    }
    return true;
}

static hn_val ratio(resize *r, size_t i, double *known) {
    int64_t in, out;
    *known = NAN;
    if (hn_dim_known(r->b, dim_at(r, i), &in) && hn_dim_known(r->b, r->out[i], &out)) {
        *known = in ? (double)out / (double)in : 1;
        return f64_const(r, *known);
    }
    return hn_bin(r->b, HN_OP_DIV, hn_size_value(r->b, r->out[i], HONE_F64),
                  hn_size_value(r->b, dim_at(r, i), HONE_F64));
}

/* One scale for all axes: the smallest or largest; sizes follow from it, rounded half up. */
static bool keep_ratio(resize *r, hn_op pick) {
    hn_val all = r->scale[0];
    double known = r->known[0];
    for (size_t i = 1; i < r->o.n; i++) {
        all = hn_bin(r->b, pick, all, r->scale[i]);
        if (isnan(r->known[i]) || isnan(known))
            known = NAN;
        else
            known = pick == HN_OP_MIN ? fmin(known, r->known[i]) : fmax(known, r->known[i]);
    }
    for (size_t i = 0; i < r->o.n; i++) {
        int64_t in;
        r->scale[i] = all;
        r->known[i] = known;
        if (!isnan(known) && hn_dim_known(r->b, dim_at(r, i), &in)) {
            r->out[i] = hn_lit(r->b, (int64_t)fmin(known * (double)in + 0.5, SIZE_MOST));
            continue;
        }
        hn_val size = hn_bin(r->b, HN_OP_MUL, all, hn_size_value(r->b, dim_at(r, i), HONE_F64));
        if (!bind_one(r, hn_un(r->b, HN_OP_FLOOR, hn_bin_f(r->b, HN_OP_ADD, size, 0.5)), &r->out[i])) return false;
    }
    return true;
}

/* where(one, x, y) by a scalar condition */
static hn_val if_one(resize *r, hn_val size, hn_val x, hn_val y) {
    return hn_where(r->b, hn_bin_f(r->b, HN_OP_EQ, size, 1), x, y);
}

/* (y + 0.5) / scale - 0.5 */
static hn_val half_pixel(resize *r, size_t i, hn_val y) {
    hn_builder *b = r->b;
    return hn_bin_f(b, HN_OP_SUB, hn_bin(b, HN_OP_DIV, hn_bin_f(b, HN_OP_ADD, y, 0.5), r->scale[i]), 0.5);
}

static hn_val crop_coordinates(resize *r, size_t i, hn_val y, hn_val in, hn_val width) {
    hn_builder *b = r->b;
    hn_val start = hn_vec_at(b, r->o.roi, i), end = hn_vec_at(b, r->o.roi, i + r->o.n);
    hn_val last = hn_bin_f(b, HN_OP_SUB, in, 1), span = hn_bin(b, HN_OP_MUL, hn_bin(b, HN_OP_SUB, end, start), last);
    hn_val many = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_MUL, y, span), hn_bin_f(b, HN_OP_SUB, width, 1));
    hn_val x = if_one(r, width, hn_bin_f(b, HN_OP_MUL, span, 0.5), many);
    return hn_bin(b, HN_OP_ADD, x, hn_bin(b, HN_OP_MUL, start, last));
}

/* Input coordinate of each result index along axis i, f64 [out]; 0 after a failure. */
static hn_val coordinates(resize *r, size_t i) {
    hn_builder *b = r->b;
    hn_val y = hn_iota(b, HONE_F64, 1, &r->out[i], 0), in = hn_size_value(b, dim_at(r, i), HONE_F64);
    hn_val width = hn_bin(b, HN_OP_MUL, r->scale[i], in);
    hn_val step;
    switch (r->o.coordinate) {
    case HN_ASYMMETRIC: return hn_bin(b, HN_OP_DIV, y, r->scale[i]);
    case HN_HALF_PIXEL: return half_pixel(r, i, y);
    case HN_HALF_PIXEL_NEAREST: return hn_bin_f(b, HN_OP_ADD, half_pixel(r, i, y), 0.5);
    case HN_HALF_PIXEL_ONE: step = f64_const(r, r->o.one_at); return if_one(r, width, step, half_pixel(r, i, y));
    case HN_ALIGN_CORNERS:
        step = hn_bin(b, HN_OP_MUL, y, hn_bin_f(b, HN_OP_SUB, in, 1));
        return if_one(r, width, f64_const(r, 0), hn_bin(b, HN_OP_DIV, step, hn_bin_f(b, HN_OP_SUB, width, 1)));
    case HN_SYMMETRIC: {
        hn_val whole = hn_bin(b, HN_OP_DIV, hn_size_value(b, r->out[i], HONE_F64), width);
        hn_val offset = hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_MUL, in, 0.5), hn_f_bin(b, HN_OP_SUB, 1, whole));
        return hn_bin(b, HN_OP_ADD, offset, half_pixel(r, i, y));
    }
    case HN_CROP: return crop_coordinates(r, i, y, in, width);
    }
    return 0;
}

static hn_val to_index(resize *r, size_t i, hn_val p) {
    hn_val last = hn_bin_f(r->b, HN_OP_SUB, hn_size_value(r->b, dim_at(r, i), HONE_F64), 1);
    return hn_cast(r->b, hn_clip(r->b, p, f64_const(r, 0), last), HONE_I64);
}

static hn_val nearest(resize *r, hn_val v, size_t i, hn_val x) {
    hn_builder *b = r->b;
    hn_val p = 0;
    switch (r->o.nearest) {
    case HN_PREFER_FLOOR: p = hn_un(b, HN_OP_CEIL, hn_bin_f(b, HN_OP_SUB, x, 0.5)); break;
    case HN_PREFER_CEIL: p = hn_un(b, HN_OP_FLOOR, hn_bin_f(b, HN_OP_ADD, x, 0.5)); break;
    case HN_FLOOR: p = hn_un(b, HN_OP_FLOOR, x); break;
    case HN_CEIL: p = hn_un(b, HN_OP_CEIL, x); break;
    }
    return hn_gather(b, v, to_index(r, i, p), r->o.axis[i]);
}

/* Neighbours on each side: 1 or 2, more where antialias spreads the kernel. As a size and as an f64 scalar. */
static bool reach(resize *r, size_t i, hn_val shrink, hn_dim *taps, hn_val *half) {
    double radius = r->o.mode == HN_CUBIC ? 2 : 1;
    if (!r->o.antialias || r->known[i] >= 1)
        *half = f64_const(r, radius);
    else if (!isnan(r->known[i]))
        *half = f64_const(r, ceil(radius / r->known[i]));
    else
        *half = hn_un(r->b, HN_OP_CEIL, hn_f_bin(r->b, HN_OP_DIV, radius, shrink));
    return bind_one(r, hn_bin_f(r->b, HN_OP_MUL, *half, 2), taps);
}

static hn_val normalised(resize *r, hn_val w) {
    hn_val sum = hn_reduce1(r->b, HN_OP_RSUM, w, 1, true);
    hn_val safe = hn_where(r->b, hn_bin_f(r->b, HN_OP_EQ, sum, 0), f64_const(r, 1), sum);
    return hn_bin(r->b, HN_OP_DIV, w, safe);
}

/* Weights [out, taps] of the neighbours p [out, taps] of x [out, 1]. */
static hn_val weights(resize *r, size_t i, hn_val p, hn_val x, hn_val shrink) {
    hn_builder *b = r->b;
    hn_val d = hn_bin(b, HN_OP_MUL, hn_un(b, HN_OP_ABS, hn_bin(b, HN_OP_SUB, p, x)), shrink);
    hn_val w = r->o.mode == HN_CUBIC ? hn_kernel_cubic(b, d, r->o.cubic_a) : hn_kernel_linear(b, d);
    if (r->o.exclude_outside) {
        hn_val in = hn_size_value(b, dim_at(r, i), HONE_F64);
        hn_val inside = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, f64_const(r, 0), p), hn_bin(b, HN_OP_LT, p, in));
        w = hn_where(b, inside, w, f64_const(r, 0));
    }
    return r->o.exclude_outside || r->o.antialias ? normalised(r, w) : w;
}

/* Few neighbours: their weighted elements one after the other, which fusion turns into one pass. */
static hn_val sum_few(resize *r, hn_val v, size_t i, hn_val index, hn_val w, int64_t taps) {
    hn_builder *b = r->b;
    hn_val sum = 0;
    for (int64_t k = 0; k < taps; k++) {
        hn_val at = hn_squeeze(b, hn_slice_axis(b, index, 1, hn_lit(b, k), hn_lit(b, 1), 1), 1);
        hn_val wk = hn_squeeze(b, hn_slice_axis(b, w, 1, hn_lit(b, k), hn_lit(b, 1), 1), 1);
        hn_dim shape[HN_RANK_MAX];
        for (size_t d = 0; d < r->type.rank; d++) shape[d] = (int64_t)d == r->o.axis[i] ? r->out[i] : hn_lit(b, 1);
        hn_val part = hn_bin(b, HN_OP_MUL, hn_gather(b, v, at, r->o.axis[i]), hn_reshape(b, wk, r->type.rank, shape));
        sum = sum ? hn_bin(b, HN_OP_ADD, sum, part) : part;
    }
    return sum;
}

static hn_val sum_many(resize *r, hn_val v, size_t i, hn_val index, hn_val w) {
    int64_t lhs[HN_RANK_MAX], out[HN_RANK_MAX], rhs[2] = {r->o.axis[i], HN_RANK_MAX};
    size_t rank = r->type.rank;
    if (rank + 1 > HN_RANK_MAX) {
        hn_fail(r->err, HONE_E_UNSUPPORTED, "rank %zu", rank);
        return 0;
    }
    for (size_t d = 0, k = 0; d < rank; d++) {
        out[d] = lhs[k++] = (int64_t)d;
        if ((int64_t)d == r->o.axis[i]) lhs[k++] = HN_RANK_MAX;
    }
    return hn_contract(r->b, hn_gather(r->b, v, index, r->o.axis[i]), w, lhs, rhs, rank, out, hn_dt(r->b, v));
}

static hn_val interpolate(resize *r, hn_val v, size_t i, hn_val x) {
    hn_builder *b = r->b;
    hn_val one = f64_const(r, 1), half;
    hn_val shrink = r->o.antialias && !(r->known[i] >= 1) ? hn_bin(b, HN_OP_MIN, r->scale[i], one) : one;
    hn_dim shape[2] = {r->out[i], 0};
    int64_t few;
    if (!reach(r, i, shrink, &shape[1], &half)) return 0;
    hn_val x2 = hn_unsqueeze(b, x, 1);
    hn_val first = hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_SUB, hn_un(b, HN_OP_FLOOR, x2), half), one);
    hn_val p = hn_bin(b, HN_OP_ADD, first, hn_iota(b, HONE_F64, 2, shape, 1));
    hn_val w = hn_cast(b, weights(r, i, p, x2, shrink), hn_dt(b, v)), index = to_index(r, i, p);
    if (hn_dim_known(b, shape[1], &few) && few <= 4) return sum_few(r, v, i, index, w, few);
    return sum_many(r, v, i, index, w);
}

static bool is_identity(resize *r, size_t i) {
    return r->known[i] == 1 && hn_dim_equal(r->b->g->dims, r->out[i], dim_at(r, i)) == HN_EQUAL &&
           r->o.coordinate != HN_CROP;
}

static hn_val along(resize *r, hn_val v, size_t i) {
    hn_builder *b = r->b;
    hn_val x = coordinates(r, i);
    if (!x) return 0;
    v = r->o.mode == HN_NEAREST ? nearest(r, v, i, x) : interpolate(r, v, i, x);
    if (!v || r->o.coordinate != HN_CROP) return v;
    hn_val last = hn_bin_f(b, HN_OP_SUB, hn_size_value(b, dim_at(r, i), HONE_F64), 1);
    hn_val outside = hn_bin(b, HN_OP_OR, hn_bin_f(b, HN_OP_LT, x, 0), hn_bin(b, HN_OP_LT, last, x));
    return hn_where(b, hn_along(b, outside, r->type.rank, (size_t)r->o.axis[i]),
                    hn_const_f(b, hn_dt(b, v), r->o.extrapolation), v);
}

static hn_val emit_resize(resize *r, hn_val v) {
    hn_builder *b = r->b;
    bool is_nearest = r->o.mode == HN_NEAREST, whole = !hn_is_float(r->type.dtype);
    if (!is_nearest) v = whole ? hn_cast(b, v, HONE_F64) : hn_work(b, v);
    for (size_t i = 0; v && i < r->o.n; i++)
        if (!is_identity(r, i)) v = along(r, v, i);
    if (v && !is_nearest && whole) v = hn_un(b, HN_OP_ROUND, v);
    return v ? hn_cast(b, v, r->type.dtype) : 0;
}

hn_val hn_resize_scales(hn_builder *b, hn_val x, const hn_resize *o, hn_val scales, hone_err *err) {
    resize r = {.b = b, .type = *hn_t(b, x), .o = *o, .err = err};
    return set_scales(&r, scales) ? emit_resize(&r, x) : 0;
}

hn_val hn_resize_sizes(hn_builder *b, hn_val x, const hn_resize *o, const hn_dim *size, hn_keep keep, hone_err *err) {
    resize r = {.b = b, .type = *hn_t(b, x), .o = *o, .err = err};
    memcpy(r.out, size, o->n * sizeof *size);
    for (size_t i = 0; i < o->n; i++) r.scale[i] = ratio(&r, i, &r.known[i]);
    if (keep != HN_STRETCH && !keep_ratio(&r, keep == HN_NOT_LARGER ? HN_OP_MIN : HN_OP_MAX)) return 0;
    return emit_resize(&r, x);
}
