/* The quantised operators of com.microsoft. What is not a product is computed on dequantised values in f32. */
#include "onnx/lower_contrib_int.h"
#include "onnx/lower_quant_int.h"

#include <string.h>

static hn_val f32(hn_builder *b, hn_val v) { return hn_cast(b, v, HONE_F32); }

/* Inputs i, i+1, i+2: a tensor with its scale and zero point (which may be absent), both of one element. */
static hn_val dequantised(hn_lower *c, size_t i) {
    hn_builder *b = hn_lower_builder(c);
    hn_val zero = hn_in(c, i + 2);
    hn_val x = f32(b, hn_centred(b, hn_in(c, i), zero ? hn_scalar(b, zero) : 0));
    return hn_bin(b, HN_OP_MUL, x, hn_scalar(b, f32(b, hn_in(c, i + 1))));
}
/* Inputs i, i+1: scale and zero point of the result, of type t where the latter is absent. */
static hn_val quantised(hn_lower *c, hn_val y, size_t i, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    hn_val zero = hn_in(c, i + 1);
    y = hn_bin(b, HN_OP_DIV, y, hn_scalar(b, f32(b, hn_in(c, i))));
    return hn_to_quantised(b, y, zero ? hn_scalar(b, zero) : 0, zero ? hn_dt(b, zero) : t);
}
static bool have(hn_lower *c, size_t n, const size_t *which) {
    for (size_t i = 0; i < n; i++)
        if (!hn_in(c, which[i])) {
            if (!hn_lower_failed(c)) hn_wrong(c, "input %zu is missing", which[i]);
            return false;
        }
    return true;
}

void hn_lower_qlinear_pair(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!have(c, 5, (size_t[]){0, 1, 3, 4, 6})) return;
    hn_val y = hn_bin(b, (hn_op)hn_lower_arg(c), dequantised(c, 0), dequantised(c, 3));
    hn_out(c, 0, quantised(c, y, 6, hn_dt(b, hn_in(c, 0))));
}

static hn_val global_mean(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    int64_t axes[HN_RANK_MAX];
    bool last = hn_int(c, "channels_last", 0) != 0;
    if (!x || !hn_need_rank(c, 0, 3, HN_RANK_MAX)) return 0;
    size_t n = hn_rank(b, x) - 2;
    for (size_t i = 0; i < n; i++) axes[i] = (int64_t)i + (last ? 1 : 2);
    return hn_mean(b, x, n, axes, true);
}

/* Over `axis` alone since opset 13 of the attribute `opset`, over all dimensions from it on before. */
static hn_val softmax(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    size_t rank = hn_rank(b, x);
    int64_t axis = hn_axis(c, hn_int(c, "axis", -1), rank);
    if (hn_lower_failed(c)) return 0;
    if (hn_int(c, "opset", 13) >= 13) return hn_softmax(b, x, axis);
    hn_dim shape[HN_RANK_MAX],
        flat[2] = {hn_dim_product(b, x, 0, (size_t)axis), hn_dim_product(b, x, (size_t)axis, rank)};
    for (size_t i = 0; i < rank; i++) shape[i] = hn_dim_of(b, x, i);
    return hn_reshape(b, hn_softmax(b, hn_reshape(b, x, 2, flat), 1), rank, shape);
}

void hn_lower_qlinear_unary(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!have(c, 3, (size_t[]){0, 1, 3})) return;
    hn_val x = dequantised(c, 0), y;
    switch (hn_lower_arg(c)) {
    case HN_OP_SIGMOID: y = hn_un(b, HN_OP_SIGMOID, x); break;
    case HN_OP_MAX:
        y = hn_where(b, hn_bin_f(b, HN_OP_LT, x, 0), hn_bin_f(b, HN_OP_MUL, x, hn_float(c, "alpha", 0.01)), x);
        break;
    case HN_OP_EXP: y = softmax(c, x); break;
    default: y = global_mean(c, x); break;
    }
    if (y) hn_out(c, 0, quantised(c, y, 3, hn_dt(b, hn_in(c, 0))));
}

void hn_lower_qlinear_average(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_window w;
    if (!have(c, 3, (size_t[]){0, 1, 3})) return;
    if (hn_int(c, "channels_last", 0)) {
        hn_refuse(c, "channels_last");
        return;
    }
    if (!hn_window_read(c, hn_in(c, 0), NULL, &w)) return;
    hn_val x = dequantised(c, 0);
    hn_val n = hn_window_counts(b, x, &w, hn_int(c, "count_include_pad", 0) != 0, HONE_F32);
    hn_val y = hn_bin(b, HN_OP_DIV, hn_window_emit(b, HN_OP_WSUM, x, &w), n);
    hn_out(c, 0, quantised(c, y, 3, hn_dt(b, hn_in(c, 0))));
}

/* Scale and zero point of the result, then three inputs for each part. */
void hn_lower_qlinear_concat(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val part[64];
    size_t n = hn_n_in(c) / 3;
    if (hn_n_in(c) % 3 != 2 || n < 1 || n > sizeof part / sizeof part[0]) {
        hn_refuse(c, "%zu inputs", hn_n_in(c));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!have(c, 3, (size_t[]){0, 2 + 3 * i, 3 + 3 * i})) return;
        part[i] = dequantised(c, 2 + 3 * i);
    }
    int64_t axis = hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, part[0]));
    if (hn_lower_failed(c)) return;
    hn_out(c, 0, quantised(c, hn_concat(b, n, part, axis), 0, hn_dt(b, hn_in(c, 2))));
}

/* a, its scale, its zero point, b, its scale, its zero point, bias, scale and zero point of the result; without the
 * last two it is f32. */
void hn_lower_qgemm(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!have(c, 4, (size_t[]){0, 1, 3, 4}) || !hn_need_rank(c, 0, 2, 2) || !hn_need_rank(c, 3, 2, 2)) return;
    double alpha = hn_float(c, "alpha", 1);
    hn_val x = hn_in(c, 0), w = hn_in(c, 3), bias = hn_in(c, 6), w_zero = hn_in(c, 5), sw = f32(b, hn_in(c, 4));
    hn_val x_zero = hn_in(c, 2);
    bool turn = hn_int(c, "transB", 0) != 0;
    x = hn_centred(b, x, x_zero ? hn_scalar(b, x_zero) : 0);
    if (hn_int(c, "transA", 0)) x = hn_swap(b, x, 0, 1);
    w = hn_centred(b, turn ? hn_swap(b, w, 0, 1) : w, hn_per_column(b, w_zero));
    hn_val acc = hn_matmul(b, x, w, HONE_I32);
    if (bias) acc = hn_bin(b, HN_OP_ADD, acc, hn_cast(b, bias, HONE_I32));
    hn_val factor = hn_bin(b, HN_OP_MUL, hn_scalar(b, f32(b, hn_in(c, 1))), hn_per_column(b, sw));
    if (alpha != 1) factor = hn_bin_f(b, HN_OP_MUL, factor, alpha);
    hn_val y = hn_bin(b, HN_OP_MUL, f32(b, acc), factor);
    hn_out(c, 0, hn_in(c, 7) ? quantised(c, y, 7, hn_dt(b, hn_in(c, 0))) : y);
}

/* MatMulIntegerToFloat: a, b, scale of a, scale of b, zero points, bias. DynamicQuantizeMatMul (arg 1): a in f32, b,
 * scale of b, zero point of b, bias. */
void hn_lower_matmul_to_float(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    bool dynamic = hn_lower_arg(c) != 0;
    size_t scale = dynamic ? 2 : 3, zero = dynamic ? 3 : 5, add = dynamic ? 4 : 6;
    if (!have(c, 3, (size_t[]){0, 1, scale}) || (!dynamic && !have(c, 1, (size_t[]){2}))) return;
    hn_val x = hn_in(c, 0), x_scale, x_zero;
    if (dynamic) {
        hn_dynamic q = hn_quantise_dynamic(b, f32(b, x));
        x = q.y;
        x_scale = q.scale;
        x_zero = q.zero;
    } else {
        x_scale = hn_per_row(b, hn_in(c, 2));
        x_zero = hn_per_row(b, hn_in(c, 4));
    }
    hn_val w = hn_centred(b, hn_in(c, 1), hn_per_column(b, hn_in(c, zero)));
    hn_val acc = hn_matmul(b, hn_centred(b, x, x_zero), w, HONE_I32);
    hn_val factor = hn_bin(b, HN_OP_MUL, f32(b, x_scale), f32(b, hn_per_column(b, hn_in(c, scale))));
    hn_val y = hn_bin(b, HN_OP_MUL, f32(b, acc), factor);
    if (hn_in(c, add)) y = hn_bin(b, HN_OP_ADD, y, f32(b, hn_in(c, add)));
    hn_out(c, 0, y);
}
