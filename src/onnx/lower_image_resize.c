/* lower_image_resize.c — Resize and Upsample, one axis after the other.
 *
 * Along an axis, result element i looks at input coordinate x(i), computed in f64 as the operator's text says. Nearest
 * gathers one element. The others sum a few neighbours p with weights kernel((p - x) * s): a triangle or Keys' cubic
 * ("Cubic convolution interpolation for digital image processing", 1981); antialias widens the kernel by 1/s where the
 * image shrinks and divides by the sum of the weights. Weights and indices are arithmetic on iota, so they are folded
 * where the sizes are known and computed by the model where they are not.
 */
#include "onnx/lower_image_int.h"

#include <math.h>
#include <string.h>

typedef struct resize {
    hn_lower *c;
    hn_builder *b;
    hn_type x;
    size_t n; /* axes that may change */
    int64_t axis[HN_RANK_MAX];
    hn_dim out[HN_RANK_MAX];   /* per entry of axis, as the next ones */
    hn_val scale[HN_RANK_MAX]; /* f64 scalar */
    double known[HN_RANK_MAX]; /* the same, NaN where not known */
    hn_val roi;                /* f64 vector, 0: none */
    const char *mode, *coordinate, *nearest;
    double cubic_a, extrapolation;
    bool antialias, exclude_outside;
} resize;

static const double SCALE_MOST = 1e6, SIZE_MOST = 1e12; /* beyond is no image */

static hn_val f64_const(resize *r, double x) { return hn_const_f(r->b, HONE_F64, x); }

/* -- which sizes and scales */

static bool is_given(hn_lower *c, size_t i) {
    hn_val v = hn_in(c, i);
    return v && !(hn_rank(hn_lower_builder(c), v) == 1 &&
                  hn_dim_is(hn_lower_builder(c), hn_dim_of(hn_lower_builder(c), v, 0), 0));
}

static bool read_axes(resize *r) {
    const int64_t *axes;
    size_t n = hn_ints(r->c, "axes", &axes);
    r->n = n ? n : r->x.rank;
    if (n > r->x.rank) hn_wrong(r->c, "%zu axes for rank %u", n, r->x.rank);
    for (size_t i = 0; i < r->n && !hn_lower_failed(r->c); i++) {
        r->axis[i] = n ? hn_axis(r->c, axes[i], r->x.rank) : (int64_t)i;
        for (size_t k = 0; k < i; k++)
            if (r->axis[k] == r->axis[i]) hn_wrong(r->c, "axis %lld is named twice", (long long)r->axis[i]);
    }
    return !hn_lower_failed(r->c);
}

static bool has_length(resize *r, hn_val v, size_t n, const char *what) {
    if (hn_rank(r->b, v) == 1 && hn_dim_is(r->b, hn_dim_of(r->b, v, 0), (int64_t)n)) return true;
    hn_wrong(r->c, "'%s' needs %zu entries, one per axis", what, n);
    return false;
}

static hn_dim dim_at(const resize *r, size_t i) { return r->x.dim[r->axis[i]]; }

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

static bool read_scales(resize *r, hn_val scales) {
    if (!has_length(r, scales, r->n, "scales")) return false;
    hn_val s64 = hn_cast(r->b, scales, HONE_F64);
    const hn_tensor *known = hn_known_tensor(r->b, scales);
    for (size_t i = 0; i < r->n; i++) {
        r->known[i] = known ? hn_get_f(known, (int64_t)i) : (double)NAN;
        if (known && !(r->known[i] > 0 && r->known[i] < SCALE_MOST)) {
            hn_wrong(r->c, "a scale of %g", r->known[i]);
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
    for (size_t i = 1; i < r->n; i++) {
        all = hn_bin(r->b, pick, all, r->scale[i]);
        if (isnan(r->known[i]) || isnan(known))
            known = NAN;
        else
            known = pick == HN_OP_MIN ? fmin(known, r->known[i]) : fmax(known, r->known[i]);
    }
    for (size_t i = 0; i < r->n; i++) {
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

static bool read_sizes(resize *r, size_t input) {
    size_t n;
    const char *policy = hn_string(r->c, "keep_aspect_ratio_policy", "stretch");
    if (!has_length(r, hn_in(r->c, input), r->n, "sizes") || !hn_in_dims(r->c, input, r->out, HN_RANK_MAX, &n))
        return false;
    for (size_t i = 0; i < r->n; i++) r->scale[i] = ratio(r, i, &r->known[i]);
    if (!strcmp(policy, "stretch")) return true;
    if (!strcmp(policy, "not_larger")) return keep_ratio(r, HN_OP_MIN);
    if (!strcmp(policy, "not_smaller")) return keep_ratio(r, HN_OP_MAX);
    hn_wrong(r->c, "keep_aspect_ratio_policy '%s'", policy);
    return false;
}

/* -- coordinates */

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
    hn_val start = hn_vec_at(b, r->roi, i), end = hn_vec_at(b, r->roi, i + r->n);
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
    const char *m = r->coordinate;
    if (!strcmp(m, "asymmetric")) return hn_bin(b, HN_OP_DIV, y, r->scale[i]);
    if (!strcmp(m, "half_pixel")) return half_pixel(r, i, y);
    if (!strcmp(m, "tf_half_pixel_for_nn")) return hn_bin_f(b, HN_OP_ADD, half_pixel(r, i, y), 0.5);
    if (!strcmp(m, "pytorch_half_pixel")) {
        hn_val one = r->c && hn_lower_opset(r->c) < 19 ? f64_const(r, 0) : f64_const(r, -0.5);
        return if_one(r, width, one, half_pixel(r, i, y));
    }
    if (!strcmp(m, "align_corners")) {
        hn_val step = hn_bin(b, HN_OP_MUL, y, hn_bin_f(b, HN_OP_SUB, in, 1));
        return if_one(r, width, f64_const(r, 0), hn_bin(b, HN_OP_DIV, step, hn_bin_f(b, HN_OP_SUB, width, 1)));
    }
    if (!strcmp(m, "half_pixel_symmetric")) {
        hn_val whole = hn_bin(b, HN_OP_DIV, hn_size_value(b, r->out[i], HONE_F64), width);
        hn_val offset = hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_MUL, in, 0.5), hn_f_bin(b, HN_OP_SUB, 1, whole));
        return hn_bin(b, HN_OP_ADD, offset, half_pixel(r, i, y));
    }
    if (!strcmp(m, "tf_crop_and_resize")) {
        if (r->roi) return crop_coordinates(r, i, y, in, width);
        hn_wrong(r->c, "tf_crop_and_resize needs the input 'roi'");
        return 0;
    }
    hn_wrong(r->c, "coordinate_transformation_mode '%s'", m);
    return 0;
}

/* -- one axis */

static hn_val to_index(resize *r, size_t i, hn_val p) {
    hn_val last = hn_bin_f(r->b, HN_OP_SUB, hn_size_value(r->b, dim_at(r, i), HONE_F64), 1);
    return hn_cast(r->b, hn_clip(r->b, p, f64_const(r, 0), last), HONE_I64);
}

static hn_val nearest(resize *r, hn_val v, size_t i, hn_val x) {
    hn_builder *b = r->b;
    hn_val p = 0;
    if (!strcmp(r->nearest, "round_prefer_floor"))
        p = hn_un(b, HN_OP_CEIL, hn_bin_f(b, HN_OP_SUB, x, 0.5));
    else if (!strcmp(r->nearest, "round_prefer_ceil"))
        p = hn_un(b, HN_OP_FLOOR, hn_bin_f(b, HN_OP_ADD, x, 0.5));
    else if (!strcmp(r->nearest, "floor"))
        p = hn_un(b, HN_OP_FLOOR, x);
    else if (!strcmp(r->nearest, "ceil"))
        p = hn_un(b, HN_OP_CEIL, x);
    else
        hn_wrong(r->c, "nearest_mode '%s'", r->nearest);
    return p ? hn_gather(b, v, to_index(r, i, p), r->axis[i]) : 0;
}

/* Neighbours on each side: 1 or 2, more where antialias spreads the kernel. As a size and as an f64 scalar. */
static bool reach(resize *r, size_t i, hn_val shrink, hn_dim *taps, hn_val *half) {
    double radius = strcmp(r->mode, "cubic") ? 1 : 2;
    if (!r->antialias || r->known[i] >= 1)
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
    hn_val w = strcmp(r->mode, "cubic") ? hn_kernel_linear(b, d) : hn_kernel_cubic(b, d, r->cubic_a);
    if (r->exclude_outside) {
        hn_val in = hn_size_value(b, dim_at(r, i), HONE_F64);
        hn_val inside = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, f64_const(r, 0), p), hn_bin(b, HN_OP_LT, p, in));
        w = hn_where(b, inside, w, f64_const(r, 0));
    }
    return r->exclude_outside || r->antialias ? normalised(r, w) : w;
}

/* Few neighbours: their weighted elements one after the other, which fusion turns into one pass. */
static hn_val sum_few(resize *r, hn_val v, size_t i, hn_val index, hn_val w, int64_t taps) {
    hn_builder *b = r->b;
    hn_val sum = 0;
    for (int64_t k = 0; k < taps; k++) {
        hn_val at = hn_squeeze(b, hn_slice_axis(b, index, 1, hn_lit(b, k), hn_lit(b, 1), 1), 1);
        hn_val wk = hn_squeeze(b, hn_slice_axis(b, w, 1, hn_lit(b, k), hn_lit(b, 1), 1), 1);
        hn_dim shape[HN_RANK_MAX];
        for (size_t d = 0; d < r->x.rank; d++) shape[d] = (int64_t)d == r->axis[i] ? r->out[i] : hn_lit(b, 1);
        hn_val part = hn_bin(b, HN_OP_MUL, hn_gather(b, v, at, r->axis[i]), hn_reshape(b, wk, r->x.rank, shape));
        sum = sum ? hn_bin(b, HN_OP_ADD, sum, part) : part;
    }
    return sum;
}

static hn_val sum_many(resize *r, hn_val v, size_t i, hn_val index, hn_val w) {
    int64_t lhs[HN_RANK_MAX], out[HN_RANK_MAX], rhs[2] = {r->axis[i], HN_RANK_MAX};
    size_t rank = r->x.rank;
    if (rank + 1 > HN_RANK_MAX) {
        hn_refuse(r->c, "rank %zu", rank);
        return 0;
    }
    for (size_t d = 0, k = 0; d < rank; d++) {
        out[d] = lhs[k++] = (int64_t)d;
        if ((int64_t)d == r->axis[i]) lhs[k++] = HN_RANK_MAX;
    }
    return hn_contract(r->b, hn_gather(r->b, v, index, r->axis[i]), w, lhs, rhs, rank, out, hn_dt(r->b, v));
}

static hn_val interpolate(resize *r, hn_val v, size_t i, hn_val x) {
    hn_builder *b = r->b;
    hn_val one = f64_const(r, 1), half;
    hn_val shrink = r->antialias && !(r->known[i] >= 1) ? hn_bin(b, HN_OP_MIN, r->scale[i], one) : one;
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
           strcmp(r->coordinate, "tf_crop_and_resize") != 0;
}

static hn_val along(resize *r, hn_val v, size_t i) {
    hn_builder *b = r->b;
    hn_val x = coordinates(r, i);
    if (!x) return 0;
    v = strcmp(r->mode, "nearest") ? interpolate(r, v, i, x) : nearest(r, v, i, x);
    if (!v || strcmp(r->coordinate, "tf_crop_and_resize") != 0) return v;
    hn_val last = hn_bin_f(b, HN_OP_SUB, hn_size_value(b, dim_at(r, i), HONE_F64), 1);
    hn_val outside = hn_bin(b, HN_OP_OR, hn_bin_f(b, HN_OP_LT, x, 0), hn_bin(b, HN_OP_LT, last, x));
    return hn_where(b, hn_along(b, outside, r->x.rank, (size_t)r->axis[i]),
                    hn_const_f(b, hn_dt(b, v), r->extrapolation), v);
}

static void emit_resize(resize *r) {
    hn_builder *b = r->b;
    hn_val v = hn_in(r->c, 0);
    bool is_nearest = !strcmp(r->mode, "nearest"), whole = !hn_is_float(r->x.dtype);
    if (!is_nearest && strcmp(r->mode, "linear") && strcmp(r->mode, "cubic")) {
        hn_wrong(r->c, "mode '%s'", r->mode);
        return;
    }
    if (is_nearest && r->antialias) {
        hn_wrong(r->c, "antialias with mode 'nearest'");
        return;
    }
    if (!is_nearest) v = whole ? hn_cast(b, v, HONE_F64) : hn_work(b, v);
    for (size_t i = 0; v && i < r->n && !hn_lower_failed(r->c); i++)
        if (!is_identity(r, i)) v = along(r, v, i);
    if (!v) return;
    if (!is_nearest && whole) v = hn_un(b, HN_OP_ROUND, v);
    hn_out_as(r->c, 0, v, r->x.dtype);
}

void hn_lower_resize(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int opset = hn_lower_opset(c);
    size_t at_scales = opset < 11 ? 1 : 2;
    if (!hn_need(c, 1)) return;
    resize r = {.c = c,
                .b = b,
                .x = *hn_t(b, hn_in(c, 0)),
                .mode = hn_string(c, "mode", "nearest"),
                .coordinate = hn_string(c, "coordinate_transformation_mode", opset < 11 ? "asymmetric" : "half_pixel"),
                .nearest = hn_string(c, "nearest_mode", opset < 11 ? "floor" : "round_prefer_floor"),
                .cubic_a = hn_float(c, "cubic_coeff_a", -0.75),
                .extrapolation = hn_float(c, "extrapolation_value", 0),
                .antialias = hn_int(c, "antialias", 0) != 0,
                .exclude_outside = hn_int(c, "exclude_outside", 0) != 0};
    if (!read_axes(&r)) return;
    if (opset >= 11 && is_given(c, 1)) r.roi = hn_cast(b, hn_in(c, 1), HONE_F64);
    if (r.roi && !strcmp(r.coordinate, "tf_crop_and_resize") && !has_length(&r, r.roi, 2 * r.n, "roi")) return;
    bool scales = is_given(c, at_scales), sizes = opset >= 11 && is_given(c, 3);
    if (scales == sizes)
        hn_wrong(c, "it needs 'scales' or 'sizes', one of the two");
    else if (scales ? read_scales(&r, hn_in(c, at_scales)) : read_sizes(&r, 3))
        emit_resize(&r);
}

/* Opset 1: two attributes; 7: an attribute; 9: an input. */
static hn_val upsample_scales(resize *r) {
    const float *list;
    float hw[4] = {1, 1, (float)hn_float(r->c, "height_scale", 1), (float)hn_float(r->c, "width_scale", 1)};
    if (hn_lower_opset(r->c) >= 9) return hn_need(r->c, 2) ? hn_in(r->c, 1) : 0;
    size_t n = hn_floats(r->c, "scales", &list);
    if (!n) {
        list = hw;
        n = 4;
    }
    hn_tensor t = {.dtype = HONE_F32, .rank = 1, .dim = {(int64_t)n}};
    if (!hn_tensor_new(&r->b->g->arena, HONE_F32, 1, t.dim, &t)) return 0;
    memcpy(t.data, list, n * sizeof *list);
    return hn_const(r->b, &t);
}

void hn_lower_upsample(hn_lower *c) {
    if (!hn_need(c, 1)) return;
    resize r = {.c = c,
                .b = hn_lower_builder(c),
                .x = *hn_t(hn_lower_builder(c), hn_in(c, 0)),
                .mode = hn_string(c, "mode", "nearest"),
                .coordinate = "asymmetric",
                .nearest = "floor"};
    if (!strcmp(r.mode, "bilinear")) r.mode = "linear";
    hn_val scales = upsample_scales(&r);
    r.n = r.x.rank;
    for (size_t i = 0; i < r.n; i++) r.axis[i] = (int64_t)i;
    if (scales && read_scales(&r, scales)) emit_resize(&r);
}
