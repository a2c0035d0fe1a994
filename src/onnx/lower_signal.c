/* lower_signal.c — Fourier transforms, windows, the mel matrix. */
#include "compose/signal.h"
#include "onnx/lower_image_int.h"

#include <string.h>

static bool has_parts(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    if (!x) return false;
    hn_dim last = hn_dim_of(b, x, hn_rank(b, x) - 1);
    if (hn_dim_is(b, last, 1) || hn_dim_is(b, last, 2)) return true;
    hn_refuse(c, "the last dimension of the signal is not known to be 1 (real) or 2 (complex)");
    return false;
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
    hn_dim half = hn_half_spectrum(b, n);
    hone_dtype own = hn_work_type(hn_dt(b, hn_in(c, 0)));
    hn_dft d = {b, HONE_F64, own, n, inverse && onesided ? half : n, onesided && !inverse ? half : n, inverse};
    x = hn_dft_fitted(b, x, axis, d.in);
    return inverse && onesided ? hn_dft_real_inverse(&d, x, axis) : hn_dft_transform(&d, x, axis);
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
    hn_dft d = {b, HONE_F64, own, length, length, onesided ? hn_half_spectrum(b, length) : length, false};
    hn_out_as(c, 0, hn_dft_transform(&d, y, 2), hn_dt(b, hn_in(c, 0)));
}

/* -- windows */

static bool result_type(hn_lower *c, hone_dtype *t) {
    *t = HONE_F32;
    return !hn_has(c, "output_datatype") || hn_dtype_attr(c, "output_datatype", t);
}

static void lower_window(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim n;
    size_t count;
    hone_dtype t;
    if (!hn_need(c, 1) || !result_type(c, &t) || !hn_in_dims(c, 0, &n, 1, &count)) return;
    hn_out_as(c, 0, hn_cosine_window(b, (hn_taper)hn_lower_arg(c), n, hn_int(c, "periodic", 1) != 0), t);
}

static void lower_mel(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim bins, length;
    size_t count;
    hone_dtype t;
    if (!hn_need(c, 5) || !result_type(c, &t) || !hn_in_dims(c, 0, &bins, 1, &count) ||
        !hn_in_dims(c, 1, &length, 1, &count))
        return;
    hn_val y = hn_mel_matrix(b, bins, length, hn_in(c, 2), hn_in(c, 3), hn_in(c, 4));
    hn_out_as(c, 0, y, t);
}

const hn_lower_row hn_lower_signal[] = {
    {"", "DFT", 17, HN_OPSET_MAX, lower_dft, 0},
    {"", "STFT", 17, HN_OPSET_MAX, lower_stft, 0},
    {"", "HannWindow", 17, HN_OPSET_MAX, lower_window, HN_HANN},
    {"", "HammingWindow", 17, HN_OPSET_MAX, lower_window, HN_HAMMING},
    {"", "BlackmanWindow", 17, HN_OPSET_MAX, lower_window, HN_BLACKMAN},
    {"", "MelWeightMatrix", 17, HN_OPSET_MAX, lower_mel, 0},
    {0},
};
