/* lower_signal.c — Fourier transforms, windows, the mel matrix.
 *
 * A transform of a constant length is a fast one (compose/fft.c). Of a length that only the run knows, of a short real
 * signal and of a one-sided spectrum it is a contraction with the matrix cos/sin(2 pi j k / n): its angles are taken of
 * (j * k) mod n in i64, so that they are exact however long the signal is.
 */
#include "compose/signal.h"
#include "onnx/lower_image_int.h"

#include <string.h>

static const double PI = 3.14159265358979323846;

/* -- the transform */

typedef struct dft {
    hn_builder *b;
    hone_dtype t;   /* of matrices: f64, so that what cancels in a spectrum is 0 to the precision of f32 */
    hone_dtype own; /* of fast transforms, whose error does not grow with n: that of the signal, at least f32 */
    hn_dim n;       /* length of the transform */
    hn_dim in, out; /* elements that are read, elements that are made */
    bool inverse;
} dft;

/* f64 [in, out] angles, in the sense of the transform. */
static hn_val angles(const dft *d) {
    hn_builder *b = d->b;
    hn_dim shape[] = {d->in, d->out};
    hn_val jk = hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_I64, 2, shape, 0), hn_iota(b, HONE_I64, 2, shape, 1));
    hn_val turn = hn_cast(b, hn_bin(b, HN_OP_MOD, jk, hn_size_value(b, d->n, HONE_I64)), HONE_F64);
    hn_val angle = hn_bin_f(b, HN_OP_MUL, turn, d->inverse ? 2 * PI : -2 * PI);
    return hn_bin(b, HN_OP_DIV, angle, hn_size_value(b, d->n, HONE_F64));
}

/* x with its dimension `axis` of size `in` against m [in, out]: out takes its place. */
static hn_val apply(const dft *d, hn_val x, hn_val m, size_t axis) {
    int64_t lhs[HN_RANK_MAX], out[HN_RANK_MAX], rhs[2] = {(int64_t)axis, HN_RANK_MAX};
    size_t rank = hn_rank(d->b, x);
    for (size_t i = 0; i < rank; i++) {
        lhs[i] = (int64_t)i;
        out[i] = i == axis ? HN_RANK_MAX : (int64_t)i;
    }
    return hn_contract(d->b, x, m, lhs, rhs, rank, out, d->t);
}

enum { REAL_SHORT = 256 };

/* One part of x [..., 1 or 2] as [rows, n], n being the dimension `axis`. */
static hn_val rows_of(const dft *d, hn_val x, size_t axis, int64_t part, hn_dim rows) {
    hn_builder *b = d->b;
    size_t last = hn_rank(b, x) - 1;
    int64_t perm[HN_RANK_MAX];
    hn_val v = hn_squeeze(b, hn_slice_axis(b, x, (int64_t)last, hn_lit(b, part), hn_lit(b, 1), 1), (int64_t)last);
    for (size_t i = 0, k = 0; i < last; i++)
        if (i != axis) perm[k++] = (int64_t)i;
    perm[last - 1] = (int64_t)axis;
    return hn_reshape(b, hn_transpose(b, v, perm), 2, (hn_dim[]){rows, d->n});
}

/* [rows, n] back to the shape of x with one part, cut to what is wanted along axis. */
static hn_val rows_back(const dft *d, hn_val v, hn_val x, size_t axis) {
    hn_builder *b = d->b;
    size_t last = hn_rank(b, x) - 1, k = 0;
    int64_t perm[HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX];
    if (hn_dim_equal(b->g->dims, d->out, d->n) != HN_EQUAL) v = hn_slice_axis(b, v, 1, hn_lit(b, 0), d->out, 1);
    for (size_t i = 0; i < last; i++) {
        if (i == axis) continue;
        shape[k] = hn_dim_of(b, x, i);
        perm[i] = (int64_t)k++;
    }
    shape[k] = d->out;
    perm[axis] = (int64_t)k;
    return hn_unsqueeze(b, hn_transpose(b, hn_reshape(b, v, last, shape), perm), (int64_t)last);
}

static hn_val fast(const dft *d, hn_val x, size_t axis, int64_t n, bool is_complex) {
    hn_builder *b = d->b;
    size_t last = hn_rank(b, x) - 1;
    hn_dim rows = hn_lit(b, 1);
    for (size_t i = 0; i < last; i++)
        if (i != axis) rows = hn_dim_mul(b->g->dims, rows, hn_dim_of(b, x, i));
    x = hn_cast(b, x, d->own);
    if (!x) return 0;
    hn_complex v = {rows_of(d, x, axis, 0, rows), 0};
    v.im = is_complex ? rows_of(d, x, axis, 1, rows) : hn_full(b, d->own, 2, (hn_dim[]){rows, d->n}, 0);
    v = hn_fft(b, v, rows, n, d->inverse);
    hn_val y = hn_concat(b, 2, (hn_val[]){rows_back(d, v.re, x, axis), rows_back(d, v.im, x, axis)}, (int64_t)last);
    return d->inverse ? hn_bin_f(b, HN_OP_MUL, y, 1 / (double)n) : y;
}

/* x [..., 1 or 2] (real, or real and imaginary) transformed along axis: [..., 2]. */
static hn_val transform(const dft *d, hn_val x, size_t axis) {
    hn_builder *b = d->b;
    if (!x) return 0; /* a failure before */
    size_t last = hn_rank(b, x) - 1;
    bool is_complex = hn_dim_is(b, hn_dim_of(b, x, last), 2);
    int64_t n;
    if (hn_dim_known(b, d->n, &n) && n > 1 && (is_complex || n > REAL_SHORT) && hn_fft_fits(n))
        return fast(d, x, axis, n, is_complex);
    hn_val angle = angles(d), re = hn_cast(b, hn_un(b, HN_OP_COS, angle), d->t),
           im = hn_cast(b, hn_un(b, HN_OP_SIN, angle), d->t);
    hn_dim one = hn_lit(b, 1);
    hn_val xr = hn_slice_axis(b, x, (int64_t)last, hn_lit(b, 0), one, 1), yr = apply(d, xr, re, axis),
           yi = apply(d, xr, im, axis);
    if (is_complex) {
        hn_val xi = hn_slice_axis(b, x, (int64_t)last, one, one, 1);
        yr = hn_bin(b, HN_OP_SUB, yr, apply(d, xi, im, axis));
        yi = hn_bin(b, HN_OP_ADD, yi, apply(d, xi, re, axis));
    }
    hn_val y = hn_concat(b, 2, (hn_val[]){yr, yi}, (int64_t)last);
    return d->inverse ? hn_bin(b, HN_OP_DIV, y, hn_size_value(b, d->n, d->t)) : y;
}

/* The signal cut or filled with zeros to n elements along axis. */
static hn_val fitted(hn_builder *b, hn_val x, size_t axis, hn_dim n) {
    hn_dims *t = b->g->dims;
    hn_dim have = hn_dim_of(b, x, axis), less = hn_dim_min(t, have, n);
    if (hn_dim_equal(t, less, have) != HN_EQUAL) x = hn_slice_axis(b, x, (int64_t)axis, hn_lit(b, 0), less, 1);
    if (hn_dim_equal(t, less, n) != HN_EQUAL)
        x = hn_pad_axis(b, x, (int64_t)axis, hn_lit(b, 0), hn_dim_sub(t, n, less), 0);
    return x;
}

/* The real signal of length n whose one-sided spectrum is x [..., n/2 + 1, ..., 2]: the missing half is the conjugate
 * of the given one, so bins 1 … (n - 1)/2 count twice; imaginary parts of the first and (for even n) middle bin do not
 * count. */
static hn_val real_inverse(const dft *d, hn_val x, size_t axis) {
    hn_builder *b = d->b;
    if (!x) return 0; /* a failure before */
    size_t last = hn_rank(b, x) - 1;
    hn_val k = hn_iota(b, HONE_I64, 1, &d->in, 0), n = hn_size_value(b, d->n, HONE_I64);
    hn_val twice = hn_bin_f(b, HN_OP_MUL, k, 2);
    hn_val edge = hn_bin(b, HN_OP_OR, hn_bin_f(b, HN_OP_EQ, k, 0), hn_bin(b, HN_OP_EQ, twice, n));
    hn_val weight = hn_where(b, edge, hn_const_f(b, d->t, 1), hn_const_f(b, d->t, 2));
    hn_val angle = angles(d), w = hn_unsqueeze(b, weight, 1);
    hn_val re = hn_bin(b, HN_OP_MUL, hn_cast(b, hn_un(b, HN_OP_COS, angle), d->t), w);
    hn_val sine = hn_where(b, hn_unsqueeze(b, edge, 1), hn_const_f(b, HONE_F64, 0), hn_un(b, HN_OP_SIN, angle));
    hn_val im = hn_bin(b, HN_OP_MUL, hn_cast(b, sine, d->t), w);
    hn_dim one = hn_lit(b, 1);
    hn_val y = apply(d, hn_slice_axis(b, x, (int64_t)last, hn_lit(b, 0), one, 1), re, axis);
    if (hn_dim_is(b, hn_dim_of(b, x, last), 2))
        y = hn_bin(b, HN_OP_SUB, y, apply(d, hn_slice_axis(b, x, (int64_t)last, one, one, 1), im, axis));
    return hn_bin(b, HN_OP_DIV, y, hn_size_value(b, d->n, d->t));
}

static bool has_parts(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    if (!x) return false;
    hn_dim last = hn_dim_of(b, x, hn_rank(b, x) - 1);
    if (hn_dim_is(b, last, 1) || hn_dim_is(b, last, 2)) return true;
    hn_refuse(c, "the last dimension of the signal is not known to be 1 (real) or 2 (complex)");
    return false;
}

static hn_dim half_plus_one(hn_builder *b, hn_dim n) {
    return hn_dim_add(b->g->dims, hn_dim_floordiv(b->g->dims, n, hn_lit(b, 2)), hn_lit(b, 1));
}

/* Along `axis` of x: its length, and that of the result, follow from dft_length and from what is wanted. */
static hn_val dft_along(hn_lower *c, hn_val x, size_t axis) {
    hn_builder *b = hn_lower_builder(c);
    bool inverse = hn_int(c, "inverse", 0) != 0, onesided = hn_int(c, "onesided", 0) != 0;
    hn_dim n = hn_dim_of(b, x, axis);
    size_t count;
    if (hn_has_in(c, 1)) {
        if (!hn_in_dims(c, 1, &n, 1, &count)) return 0;
    } else if (inverse && onesided)
        n = hn_dim_mul(b->g->dims, hn_lit(b, 2), hn_dim_sub(b->g->dims, n, hn_lit(b, 1)));
    hn_dim half = half_plus_one(b, n);
    hone_dtype own = hn_work_type(hn_dt(b, hn_in(c, 0)));
    dft d = {b, HONE_F64, own, n, inverse && onesided ? half : n, onesided && !inverse ? half : n, inverse};
    x = fitted(b, x, axis, d.in);
    return inverse && onesided ? real_inverse(&d, x, axis) : transform(&d, x, axis);
}

/* An axis that is known only when the model runs, where the transform keeps the shape and that shape is known: all of
 * them, and a choice. */
static hn_val dft_chosen(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    hn_val axis = hn_cast(b, hn_scalar(b, hn_in(c, 2)), HONE_I64), y = 0;
    size_t rank = hn_rank(b, x);
    axis = hn_where(b, hn_bin_f(b, HN_OP_LT, axis, 0), hn_bin_f(b, HN_OP_ADD, axis, (double)rank), axis);
    for (size_t i = 0; i + 1 < rank; i++) {
        hn_val v = hn_cast(b, dft_along(c, x, i), HONE_F64);
        y = y ? hn_where(b, hn_bin_f(b, HN_OP_EQ, axis, (double)i), v, y) : v;
    }
    return y;
}

static bool keeps_shape(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    int64_t dim[HN_RANK_MAX];
    return !hn_has_in(c, 1) && !hn_int(c, "onesided", 0) && hn_rank(b, x) > 1 && hn_rank(b, x) <= 5 &&
           hn_type_static(b->g, hn_t(b, x), dim);
}

/* An axis that is known only when the model runs: x becomes [outer, n, inner, parts] with sizes bound then, the result
 * gets its shape back the same way. */
static hn_val dft_along_unknown(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    size_t rank = hn_rank(b, x), got;
    hn_dim count = hn_lit(b, (int64_t)rank - 1), part[3], shape[HN_RANK_MAX];
    hn_val axis = hn_cast(b, hn_scalar(b, hn_in(c, 2)), HONE_I64);
    axis = hn_where(b, hn_bin_f(b, HN_OP_LT, axis, 0), hn_bin_f(b, HN_OP_ADD, axis, (double)rank), axis);
    hn_val i = hn_iota(b, HONE_I64, 1, &count, 0), is = hn_bin(b, HN_OP_EQ, i, axis);
    hn_val size = hn_dims_value(b, rank - 1, hn_t(b, x)->dim), one = hn_const_i(b, HONE_I64, 1);
    hn_val own[] = {hn_where(b, hn_bin(b, HN_OP_LT, i, axis), size, one), hn_where(b, is, size, one),
                    hn_where(b, hn_bin(b, HN_OP_LT, axis, i), size, one)};
    for (size_t k = 0; k < 3; k++) own[k] = hn_reduce1(b, HN_OP_RPROD, own[k], 0, true);
    if (!hn_bind_dims(b, hn_concat(b, 3, own, 0), "axis", part, 3, &got)) return 0;
    hn_dim last = hn_dim_of(b, x, rank - 1);
    hn_val y = dft_along(c, hn_reshape(b, x, 4, (hn_dim[]){part[0], part[1], part[2], last}), 1);
    if (!y) return 0;
    memcpy(shape, hn_t(b, x)->dim, sizeof shape);
    if (hn_dim_equal(b->g->dims, hn_dim_of(b, y, 1), part[1]) != HN_EQUAL) {
        hn_val made = hn_where(b, is, hn_size_value(b, hn_dim_of(b, y, 1), HONE_I64), size);
        if (!hn_bind_dims(b, made, "size", shape, HN_RANK_MAX, &got)) return 0;
    }
    shape[rank - 1] = hn_dim_of(b, y, 3);
    return hn_reshape(b, y, rank, shape);
}

/* Opset 17: attribute axis; 20: input 2, default -2. */
static void lower_dft(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 2, HN_RANK_MAX - 1)) return;
    hn_val x = hn_cast(b, hn_in(c, 0), HONE_F64), y = 0;
    bool as_input = hn_lower_opset(c) >= 20 && hn_has_in(c, 2);
    const hn_tensor *known = as_input ? hn_known_tensor(b, hn_in(c, 2)) : NULL;
    if (!has_parts(c, x)) return;
    if (as_input && !known) {
        y = keeps_shape(c, x) ? dft_chosen(c, x) : dft_along_unknown(c, x);
    } else {
        int64_t otherwise = hn_lower_opset(c) < 20 ? hn_int(c, "axis", 1) : -2;
        size_t axis = (size_t)hn_axis(c, known ? hn_get_i(known, 0) : otherwise, hn_rank(b, x));
        if (axis + 1 == hn_rank(b, x)) hn_wrong(c, "the axis is the last dimension");
        if (!hn_lower_failed(c)) y = dft_along(c, x, axis);
    }
    if (y)
        hn_out_as(c, 0, y, hn_dt(b, hn_in(c, 0)));
    else if (!hn_lower_failed(c))
        hn_refuse(c, "sizes that are computed in a way hone cannot follow");
}

/* x [batch, length, 1 or 2], frame_step, window, frame_length: [batch, frames, bins, 2]. Frames are gathered. */
static void lower_stft(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    hn_dim step, length;
    size_t count;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 2, 3)) return;
    hn_val x = hn_cast(b, hn_in(c, 0), HONE_F64);
    if (hn_rank(b, x) == 2) x = hn_unsqueeze(b, x, 2);
    if (!has_parts(c, x) || !hn_in_dims(c, 1, &step, 1, &count)) return;
    if (hn_has_in(c, 3)) {
        if (!hn_in_dims(c, 3, &length, 1, &count)) return;
    } else
        length = hn_has_in(c, 2) ? hn_dim_of(b, hn_in(c, 2), 0) : hn_dim_of(b, x, 1);
    hn_dim room = hn_dim_sub(t, hn_dim_of(b, x, 1), length);
    hn_dim frames = hn_dim_add(t, hn_dim_floordiv(t, room, step), hn_lit(b, 1)), shape[] = {frames, length};
    hn_val start = hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_I64, 2, shape, 0), hn_size_value(b, step, HONE_I64));
    hn_val index = hn_bin(b, HN_OP_ADD, start, hn_iota(b, HONE_I64, 2, shape, 1));
    hn_val y = hn_gather(b, x, index, 1); /* [batch, frames, length, parts] */
    if (hn_has_in(c, 2)) {
        hn_val window = hn_cast(b, hn_in(c, 2), hn_dt(b, y));
        y = hn_bin(b, HN_OP_MUL, y,
                   hn_reshape(b, window, 4, (hn_dim[]){hn_lit(b, 1), hn_lit(b, 1), length, hn_lit(b, 1)}));
    }
    bool onesided = hn_int(c, "onesided", 1) != 0;
    hone_dtype own = hn_work_type(hn_dt(b, hn_in(c, 0)));
    dft d = {b, HONE_F64, own, length, length, onesided ? half_plus_one(b, length) : length, false};
    hn_out_as(c, 0, transform(&d, y, 2), hn_dt(b, hn_in(c, 0)));
}

/* -- windows: a sum of cosines, a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n) */

static const double window_terms[][3] = {
    {0.5, 0.5, 0}, {25.0 / 46.0, 1 - 25.0 / 46.0, 0}, {0.42, 0.5, 0.08}}; /* Hann, Hamming, Blackman */

static bool result_type(hn_lower *c, hone_dtype *t) {
    *t = HONE_F32;
    return !hn_has(c, "output_datatype") || hn_dtype_attr(c, "output_datatype", t);
}

static void lower_window(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const double *a = window_terms[hn_lower_arg(c)];
    hn_dim n;
    size_t count;
    hone_dtype t;
    if (!hn_need(c, 1) || !result_type(c, &t) || !hn_in_dims(c, 0, &n, 1, &count)) return;
    hn_val i = hn_iota(b, HONE_F64, 1, &n, 0), size = hn_size_value(b, n, HONE_F64);
    if (!hn_int(c, "periodic", 1)) size = hn_bin_f(b, HN_OP_SUB, size, 1);
    hn_val angle = hn_bin(b, HN_OP_DIV, hn_bin_f(b, HN_OP_MUL, i, 2 * PI), size);
    hn_val y = hn_f_bin(b, HN_OP_SUB, a[0], hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_COS, angle), a[1]));
    if (a[2] != 0) {
        hn_val second = hn_un(b, HN_OP_COS, hn_bin_f(b, HN_OP_MUL, angle, 2));
        y = hn_bin(b, HN_OP_ADD, y, hn_bin_f(b, HN_OP_MUL, second, a[2]));
    }
    hn_out_as(c, 0, y, t);
}

/* -- mel */

static hn_val scalar_f64(hn_lower *c, size_t i) {
    hn_builder *b = hn_lower_builder(c);
    return hn_cast(b, hn_scalar(b, hn_in(c, i)), HONE_F64);
}

/* 2595 log10(1 + f / 700) */
static hn_val to_mel(hn_builder *b, hn_val hertz) {
    hn_val l = hn_un(b, HN_OP_LOG, hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_DIV, hertz, 700), 1));
    return hn_bin_f(b, HN_OP_MUL, l, 2595 / 2.302585092994045684);
}

/* Bin of the spectrum that band edge k of bins + 2 falls into; f64 vector. */
static hn_val mel_edges(hn_lower *c, hn_dim bins, hn_val dft_length) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim edges = hn_dim_add(b->g->dims, bins, hn_lit(b, 2));
    hn_val low = to_mel(b, scalar_f64(c, 3)), high = to_mel(b, scalar_f64(c, 4));
    hn_val step = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_SUB, high, low), hn_size_value(b, edges, HONE_F64));
    hn_val mel = hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_F64, 1, &edges, 0), step), low);
    hn_val power = hn_bin(b, HN_OP_POW, hn_full(b, HONE_F64, 1, &edges, 10), hn_bin_f(b, HN_OP_DIV, mel, 2595));
    hn_val hertz = hn_bin_f(b, HN_OP_MUL, hn_bin_f(b, HN_OP_SUB, power, 1), 700);
    hn_val scaled = hn_bin(b, HN_OP_MUL, hertz, hn_bin_f(b, HN_OP_ADD, dft_length, 1));
    return hn_un(b, HN_OP_FLOOR, hn_bin(b, HN_OP_DIV, scaled, scalar_f64(c, 2)));
}

static void lower_mel(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim bins, length, one = hn_lit(b, 1);
    size_t count;
    hone_dtype t;
    if (!hn_need(c, 5) || !result_type(c, &t) || !hn_in_dims(c, 0, &bins, 1, &count) ||
        !hn_in_dims(c, 1, &length, 1, &count))
        return;
    hn_val edge = mel_edges(c, bins, hn_size_value(b, length, HONE_F64)), zero = hn_const_f(b, HONE_F64, 0);
    hn_val left = hn_slice_axis(b, edge, 0, hn_lit(b, 0), bins, 1), centre = hn_slice_axis(b, edge, 0, one, bins, 1),
           right = hn_slice_axis(b, edge, 0, hn_lit(b, 2), bins, 1);
    hn_dim shape[] = {half_plus_one(b, length), bins};
    hn_val j = hn_iota(b, HONE_F64, 2, shape, 0), rise = hn_bin(b, HN_OP_SUB, centre, left),
           fall = hn_bin(b, HN_OP_SUB, right, centre);
    hn_val up = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_SUB, j, left), rise),
           down = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_SUB, right, j), fall);
    /* rising up to the centre (1 there alone where it does not rise), falling from it where it falls at all */
    hn_val flat = hn_where(b, hn_bin(b, HN_OP_EQ, j, centre), hn_const_f(b, HONE_F64, 1), zero);
    hn_val in_rise = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, left, j), hn_bin(b, HN_OP_LE, j, centre));
    hn_val y = hn_where(b, hn_bin_f(b, HN_OP_EQ, rise, 0), flat, hn_where(b, in_rise, up, zero));
    hn_val in_fall = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, centre, j), hn_bin(b, HN_OP_LT, j, right));
    hn_out_as(c, 0, hn_where(b, in_fall, down, y), t);
}

const hn_lower_row hn_lower_signal[] = {
    {"", "DFT", 17, HN_OPSET_MAX, lower_dft, 0},
    {"", "STFT", 17, HN_OPSET_MAX, lower_stft, 0},
    {"", "HannWindow", 17, HN_OPSET_MAX, lower_window, 0},
    {"", "HammingWindow", 17, HN_OPSET_MAX, lower_window, 1},
    {"", "BlackmanWindow", 17, HN_OPSET_MAX, lower_window, 2},
    {"", "MelWeightMatrix", 17, HN_OPSET_MAX, lower_mel, 0},
    {0},
};
