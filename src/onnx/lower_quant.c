/* Quantisation. Products of quantised tensors are integer contractions of i32 values with the zero points subtracted:
 * exact. Results are rounded half to even in f32, shifted by the zero point there (exact wherever the target's range
 * is), and saturate in the cast. */
#include "onnx/lower_quant_int.h"

static bool is_small_float(hone_dtype t) {
    const hn_dtype_info *d = hn_dtype_of(t);
    return d->cls == HN_CLASS_FLOAT && d->bits <= 8;
}
static bool is_int(hone_dtype t) {
    hn_dclass k = hn_dtype_of(t)->cls;
    return k == HN_CLASS_INT || k == HN_CLASS_UINT;
}

static hn_val cast_how(hn_builder *b, hn_val x, hone_dtype t, bool saturate) {
    hn_attr attr[] = {{.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = t},
                      {.id = HN_A_SATURATE, .kind = HN_K_INT, .i = saturate}};
    return saturate ? hn_cast(b, x, t) : hn_emit(b->g, b->b, HN_OP_CAST, 1, &x, 2, attr, 1);
}

/* ---- scales and zero points over the elements of x ---- */

/* Blocked: [.., S, ..] repeated `block` times along axis and cut to the size of x. */
static hn_val spread_blocks(hn_builder *b, hn_val v, hn_val x, size_t axis, int64_t block) {
    hn_dims *t = b->g->dims;
    size_t rank = hn_rank(b, v);
    hn_dim wide[HN_RANK_MAX], merged[HN_RANK_MAX], n = hn_dim_of(b, x, axis), size = hn_lit(b, block);
    for (size_t i = 0; i < rank; i++) {
        merged[i] = hn_dim_of(b, v, i);
        wide[i < axis + 1 ? i : i + 1] = merged[i];
    }
    wide[axis + 1] = size;
    merged[axis] = hn_dim_mul(t, merged[axis], size);
    v = hn_broadcast_to(b, hn_unsqueeze(b, v, (int64_t)axis + 1), rank + 1, wide);
    v = hn_reshape(b, v, rank, merged);
    return hn_dim_equal(t, merged[axis], n) == HN_EQUAL ? v : hn_slice_axis(b, v, (int64_t)axis, hn_lit(b, 0), n, 1);
}

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
    return block ? spread_blocks(b, v, x, at, block) : v;
}

hn_val hn_to_quantised(hn_builder *b, hn_val x, hn_val zero, hone_dtype t) {
    x = hn_cast(b, hn_un(b, HN_OP_ROUND, x), HONE_F32);
    if (zero) x = hn_bin(b, HN_OP_ADD, x, hn_cast(b, zero, HONE_F32));
    return hn_cast(b, x, t);
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
    if (!hn_is_float(*out) || is_small_float(*out)) *out = HONE_F32;
    return true;
}

void hn_lower_quantize(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hone_dtype t, division;
    if (!hn_need(c, 2)) return;
    hn_val x = hn_in(c, 0), zero = hn_in(c, 2);
    if (!quantised_type(c, zero, &t) || !division_type(c, hn_in(c, 1), &division)) return;
    if (!is_int(t) && !is_small_float(t)) {
        hn_wrong(c, "%s is no type to quantise to", hone_dtype_name(t));
        return;
    }
    hn_val scale = granular(c, hn_cast(b, hn_in(c, 1), division), x);
    if (zero) zero = granular(c, zero, x);
    if (hn_lower_failed(c)) return;
    hn_val q = hn_bin(b, HN_OP_DIV, hn_cast(b, x, division), scale);
    if (is_int(t))
        q = hn_to_quantised(b, q, zero, t);
    else if (t == HONE_F4E2M1 && zero)
        q = hn_cast(b, hn_bin(b, HN_OP_ADD, hn_cast(b, q, HONE_F32), hn_cast(b, zero, HONE_F32)), t);
    else /* the zero point of an 8-bit float is 0 */
        q = cast_how(b, q, t, t == HONE_F4E2M1 || hn_int(c, "saturate", 1) != 0);
    hn_out(c, 0, q);
}

/* (x - zero) * scale, in f32, rounded once. */
void hn_lower_dequantize(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 2)) return;
    hn_val x = hn_in(c, 0), zero = hn_in(c, 2);
    hone_dtype t = hn_dt(b, hn_in(c, 1));
    if (is_small_float(t)) t = HONE_F32;
    if (hn_int(c, "output_dtype", 0) && !hn_dtype_attr(c, "output_dtype", &t)) return;
    if (!hn_is_float(t)) {
        hn_wrong(c, "%s is no type to dequantise to", hone_dtype_name(t));
        return;
    }
    hone_dtype work = hn_work_type(t);
    hn_val scale = granular(c, hn_cast(b, hn_in(c, 1), work), x);
    if (zero) zero = granular(c, zero, x);
    if (hn_lower_failed(c)) return;
    hn_val y;
    if (is_int(hn_dt(b, x))) {
        y = hn_cast(b, x, HONE_I32);
        if (zero) y = hn_bin(b, HN_OP_SUB, y, hn_cast(b, zero, HONE_I32));
        y = hn_cast(b, y, work);
    } else {
        y = hn_cast(b, x, work);
        if (zero && hn_dt(b, x) == HONE_F4E2M1) y = hn_bin(b, HN_OP_SUB, y, hn_cast(b, zero, work));
    }
    hn_out(c, 0, hn_cast(b, hn_bin(b, HN_OP_MUL, y, scale), t));
}

hn_dynamic hn_quantise_dynamic(hn_builder *b, hn_val x) {
    int64_t axes[HN_RANK_MAX];
    hn_dynamic q;
    hn_val low = x, high = x;
    size_t rank = hn_rank(b, x);
    for (size_t i = 0; i < rank; i++) axes[i] = (int64_t)i;
    if (rank) {
        low = hn_reduce(b, HN_OP_RMIN, x, rank, axes, false);
        high = hn_reduce(b, HN_OP_RMAX, x, rank, axes, false);
    }
    low = hn_bin_f(b, HN_OP_MIN, low, 0);
    hn_val range = hn_bin(b, HN_OP_SUB, hn_bin_f(b, HN_OP_MAX, high, 0), low);
    q.scale =
        hn_where(b, hn_bin_f(b, HN_OP_EQ, range, 0), hn_const_f(b, HONE_F32, 1), hn_bin_f(b, HN_OP_DIV, range, 255));
    q.zero = hn_un(b, HN_OP_NEG, hn_bin(b, HN_OP_DIV, low, q.scale));
    q.zero = hn_cast(b, hn_un(b, HN_OP_ROUND, q.zero), HONE_U8);
    q.y = hn_to_quantised(b, hn_bin(b, HN_OP_DIV, x, q.scale), q.zero, HONE_U8);
    return q;
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

hn_val hn_centred(hn_builder *b, hn_val x, hn_val zero) {
    if (!is_int(hn_dt(b, x))) return hn_cast(b, x, HONE_F32);
    x = hn_cast(b, x, HONE_I32);
    return zero ? hn_bin(b, HN_OP_SUB, x, hn_cast(b, zero, HONE_I32)) : x;
}

hn_val hn_per_row(hn_builder *b, hn_val v) {
    if (!v || hn_rank(b, v) != 1) return v;
    return hn_dim_is(b, hn_dim_of(b, v, 0), 1) ? hn_scalar(b, v) : hn_unsqueeze(b, v, 1);
}
hn_val hn_per_column(hn_builder *b, hn_val v) {
    if (!v || hn_rank(b, v) != 1) return v;
    return hn_dim_is(b, hn_dim_of(b, v, 0), 1) ? hn_scalar(b, v) : v;
}
static hn_val as_f32(hn_builder *b, hn_val v) { return hn_cast(b, v, HONE_F32); }

hn_val hn_requantised(hn_builder *b, hn_val acc, hn_val sx, hn_val sw, hn_val sy, hn_val zero) {
    hn_val factor = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_MUL, as_f32(b, sx), as_f32(b, sw)), as_f32(b, sy));
    hn_val y = hn_bin(b, HN_OP_MUL, as_f32(b, acc), factor);
    return is_int(hn_dt(b, zero)) ? hn_to_quantised(b, y, zero, hn_dt(b, zero)) : hn_cast(b, y, hn_dt(b, zero));
}

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
