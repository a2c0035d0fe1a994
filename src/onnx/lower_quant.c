/* Quantisation. Products of quantised tensors are integer contractions of i32 values with the zero points subtracted:
 * exact. */
#include "onnx/lower_quant_int.h"

/* ---- scales and zero points over the elements of x ---- */

/* A scale or zero point as a value that broadcasts to x: per tensor, per element of an axis, or per block of it. */
static hn_val granular(hn_lower *c, hn_val v, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    size_t rank = hn_rank(b, x), own = hn_rank(b, v);
    int64_t block = hn_int(c, "block_size", 0), axis = hn_int(c, "axis", 1);
    if (own == 0) return v;
    if (block < 0 || block > INT32_MAX) {
        hn_wrong(c, "'block_size' is %lld", (long long)block);
        return 0;
    }
    if (own == 1 && !(block && rank == 1)) {
        if (hn_dim_is(b, hn_dim_of(b, v, 0), 1)) return hn_scalar(b, v);
        size_t at = rank == 1 ? 0 : (size_t)hn_axis(c, axis, rank);
        return hn_lower_failed(c) ? 0 : hn_along(b, v, rank, at);
    }
    if (own != rank || rank >= HN_RANK_MAX) {
        hn_wrong(c, "a scale or zero point of rank %zu does not fit an input of rank %zu", own, rank);
        return 0;
    }
    size_t at = rank == 1 ? 0 : (size_t)hn_axis(c, axis, rank);
    if (hn_lower_failed(c)) return 0;
    return block ? hn_spread_blocks(b, v, x, at, block) : v;
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

static bool quantised_type(hn_lower *c, hn_val zero, hone_dtype *out) {
    hn_builder *b = hn_lower_builder(c);
    hone_dtype asked;
    *out = zero ? hn_dt(b, zero) : HONE_U8;
    if (!hn_int(c, "output_dtype", 0)) return true;
    if (!hn_dtype_attr(c, "output_dtype", &asked)) return false;
    if (zero && asked != *out) {
        hn_wrong(c, "'output_dtype' is %s where the zero point is %s", hone_dtype_name(asked), hone_dtype_name(*out));
        return false;
    }
    *out = asked;
    return true;
}

/* The type in which x is divided by the scale: attribute precision, else that of the scale; f32 where the scale cannot
 * divide (8-bit exponents, integers). */
static bool division_type(hn_lower *c, hn_val scale, hone_dtype *out) {
    hn_builder *b = hn_lower_builder(c);
    *out = hn_dt(b, scale);
    if (hn_int(c, "precision", 0) && !hn_dtype_attr(c, "precision", out)) return false;
    if (!hn_is_float(*out) || hn_is_small_float(*out)) *out = HONE_F32;
    return true;
}

void hn_lower_quantize(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hone_dtype t, division;
    if (!hn_need(c, 2)) return;
    hn_val x = hn_in(c, 0), zero = hn_in(c, 2);
    if (!quantised_type(c, zero, &t) || !division_type(c, hn_in(c, 1), &division)) return;
    if (!hn_is_int(t) && !hn_is_small_float(t)) {
        hn_wrong(c, "%s is no type to quantise to", hone_dtype_name(t));
        return;
    }
    hn_val scale = granular(c, hn_cast(b, hn_in(c, 1), division), x);
    if (zero) zero = granular(c, zero, x);
    if (hn_lower_failed(c)) return;
    hn_out(c, 0, hn_quantise(b, x, scale, zero, t, hn_int(c, "saturate", 1) != 0));
}

/* (x - zero) * scale, in f32, rounded once. */
void hn_lower_dequantize(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 2)) return;
    hn_val x = hn_in(c, 0), zero = hn_in(c, 2);
    hone_dtype t = hn_dt(b, hn_in(c, 1));
    if (hn_is_small_float(t)) t = HONE_F32;
    if (hn_int(c, "output_dtype", 0) && !hn_dtype_attr(c, "output_dtype", &t)) return;
    if (!hn_is_float(t)) {
        hn_wrong(c, "%s is no type to dequantise to", hone_dtype_name(t));
        return;
    }
    hone_dtype work = hn_work_type(t);
    hn_val scale = granular(c, hn_cast(b, hn_in(c, 1), work), x);
    if (zero) zero = granular(c, zero, x);
    if (hn_lower_failed(c)) return;
    hn_out(c, 0, hn_dequantise(b, x, scale, zero, t));
}

static void lower_dynamic(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 1)) return;
    hn_dynamic q = hn_quantise_dynamic(b, hn_cast(b, hn_in(c, 0), HONE_F32));
    hn_out(c, 0, q.y);
    hn_out(c, 1, q.scale);
    hn_out(c, 2, q.zero);
}

/* ---- products ---- */

static void lower_matmul_integer(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 1, HN_RANK_MAX) || !hn_need_rank(c, 1, 1, HN_RANK_MAX)) return;
    hn_val x = hn_centred(b, hn_in(c, 0), hn_per_row(b, hn_in(c, 2)));
    hn_val y = hn_centred(b, hn_in(c, 1), hn_per_column(b, hn_in(c, 3)));
    hn_out(c, 0, hn_matmul(b, x, y, HONE_I32));
}

static void lower_qlinear_matmul(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 8) || !hn_need_rank(c, 0, 1, HN_RANK_MAX) || !hn_need_rank(c, 3, 1, HN_RANK_MAX)) return;
    hn_val x = hn_centred(b, hn_in(c, 0), hn_per_row(b, hn_in(c, 2)));
    hn_val y = hn_centred(b, hn_in(c, 3), hn_per_column(b, hn_in(c, 5)));
    hn_val acc = hn_matmul(b, x, y, hn_dt(b, x));
    hn_out(c, 0,
           hn_requantised(b, acc, hn_per_row(b, hn_in(c, 1)), hn_per_column(b, hn_in(c, 4)), hn_per_row(b, hn_in(c, 6)),
                          hn_per_row(b, hn_in(c, 7))));
}

/* The zero point of the weights: one, or one for each output channel. */
static hn_val conv_acc(hn_lower *c, hn_val x, hn_val x_zero, size_t weights, hn_val w_zero) {
    hn_builder *b = hn_lower_builder(c);
    int64_t kernel[HN_RANK_MAX];
    hn_window win;
    hn_val w = hn_in(c, weights);
    if (!hn_need_rank(c, weights, hn_rank(b, x), hn_rank(b, x)) || !hn_kernel_sizes(c, weights, kernel) ||
        !hn_window_read(c, x, kernel, &win))
        return 0;
    if (win.groups < 1 || win.groups > INT32_MAX) {
        hn_wrong(c, "'group' is %lld; it must be at least 1", (long long)win.groups);
        return 0;
    }
    if (w_zero) w_zero = hn_along(b, w_zero, hn_rank(b, w), 0);
    /* padding has the value of the zero point: 0 once that is subtracted */
    return hn_conv_emit(b, hn_centred(b, x, x_zero ? hn_scalar(b, x_zero) : 0), hn_centred(b, w, w_zero), &win,
                        HONE_I32);
}

static void lower_conv_integer(hn_lower *c) {
    if (!hn_need(c, 2)) return;
    hn_val y = conv_acc(c, hn_in(c, 0), hn_in(c, 2), 1, hn_in(c, 3));
    if (y) hn_out(c, 0, y);
}

static void lower_qlinear_conv(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 8)) return;
    hn_val x = hn_in(c, 0), acc = conv_acc(c, x, hn_in(c, 2), 3, hn_in(c, 5));
    if (!acc) return;
    size_t rank = hn_rank(b, x);
    if (hn_in(c, 8)) acc = hn_bin(b, HN_OP_ADD, acc, hn_along(b, hn_cast(b, hn_in(c, 8), HONE_I32), rank, 1));
    hn_val sx = hn_scalar(b, hn_in(c, 1)), sy = hn_scalar(b, hn_in(c, 6)), sw = hn_along(b, hn_in(c, 4), rank, 1);
    hn_out(c, 0, hn_requantised(b, acc, sx, sw, sy, hn_scalar(b, hn_in(c, 7))));
}

const hn_lower_row hn_lower_quant[] = {
    {"", "QuantizeLinear", 10, HN_OPSET_MAX, hn_lower_quantize, 0},
    {"", "DequantizeLinear", 10, HN_OPSET_MAX, hn_lower_dequantize, 0},
    {"", "DynamicQuantizeLinear", 11, HN_OPSET_MAX, lower_dynamic, 0},
    {"", "MatMulInteger", 10, HN_OPSET_MAX, lower_matmul_integer, 0},
    {"", "QLinearMatMul", 10, HN_OPSET_MAX, lower_qlinear_matmul, 0},
    {"", "ConvInteger", 10, HN_OPSET_MAX, lower_conv_integer, 0},
    {"", "QLinearConv", 10, HN_OPSET_MAX, lower_qlinear_conv, 0},
    {0},
};
