#include "onnx/lower_contrib_int.h"
#include "onnx/lower_fns.h"
#include "onnx/lower_nn_int.h"
#include "onnx/lower_quant_int.h"

#include <math.h>
#include <string.h>

/* ---- products ---- */

/* Axis order of one operand: batch: its first dimension stands behind the other leading ones (transBatch); then the
 * last two swap (trans). */
static hn_val turned(hn_builder *b, hn_val x, bool batch, bool swap) {
    int64_t perm[HN_RANK_MAX];
    size_t rank = hn_rank(b, x);
    if (rank < 2 || (!batch && !swap)) return x;
    for (size_t i = 0; i < rank; i++) perm[i] = (int64_t)i;
    if (batch) { /* [a, batch…, z] as [batch…, a, z] */
        for (size_t i = 0; i + 2 < rank; i++) perm[i] = (int64_t)i + 1;
        perm[rank - 2] = 0;
    }
    if (swap) {
        int64_t p = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = p;
    }
    return hn_transpose(b, x, perm);
}

static void lower_fused_matmul(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 1, HN_RANK_MAX) || !hn_need_rank(c, 1, 1, HN_RANK_MAX)) return;
    double alpha = hn_float(c, "alpha", 1);
    hn_val x = turned(b, hn_in(c, 0), hn_int(c, "transBatchA", 0) != 0, hn_int(c, "transA", 0) != 0);
    hn_val y = turned(b, hn_in(c, 1), hn_int(c, "transBatchB", 0) != 0, hn_int(c, "transB", 0) != 0);
    hn_val z = hn_matmul(b, x, y, hn_dt(b, x));
    hn_out(c, 0, alpha == 1 ? z : hn_bin_f(b, HN_OP_MUL, z, alpha));
}

/* ---- with an activation behind ---- */

/* Attribute `activation`; its parameters are a list (FusedConv) or attributes of their own (FusedGemm). */
static hn_val with_activation(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    const char *name = hn_string(c, "activation", "");
    const float *p;
    hn_act a;
    size_t n = hn_floats(c, "activation_params", &p);
    if (!name[0] || !x) return x;
    if (!strcmp(name, "Clip") && n == 2)
        return hn_bin_f(b, HN_OP_MIN, hn_bin_f(b, HN_OP_MAX, x, (double)p[0]), (double)p[1]);
    if (!hn_act_named(name, &a)) {
        hn_refuse(c, "activation '%s'", name);
        return 0;
    }
    a.alpha = n > 0 ? (double)p[0] : hn_float(c, "activation_alpha", a.alpha);
    a.beta = n > 1 ? (double)p[1] : hn_float(c, "activation_beta", a.beta);
    return hn_act_emit(b, a, x);
}

/* Input 3, where there is one, is added in front of the activation. */
static void lower_fused_conv(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val y = hn_convolved(c);
    if (y && hn_in(c, 3)) y = hn_bin(b, HN_OP_ADD, y, hn_cast(b, hn_in(c, 3), hn_dt(b, y)));
    y = with_activation(c, y);
    if (y) hn_out(c, 0, hn_cast(b, y, hn_dt(b, hn_in(c, 0))));
}

static void lower_fused_gemm(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 2)) return;
    hn_val y = with_activation(c, hn_gemm(c));
    if (y) hn_out(c, 0, hn_cast(b, y, hn_dt(b, hn_in(c, 0))));
}

/* ---- activations ---- */

enum { GELU, GELU_FAST, GELU_QUICK };

/* arg: which. Input 1, where there is one, is a bias. */
static void lower_gelu(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 1)) return;
    hn_val in = hn_in(c, 0), x = hn_work(b, in), y;
    if (hn_in(c, 1)) x = hn_bin(b, HN_OP_ADD, x, hn_cast(b, hn_in(c, 1), hn_dt(b, x)));
    if (hn_lower_arg(c) == GELU_QUICK)
        y = hn_swish(b, x, hn_float(c, "alpha", 1.702));
    else
        y = hn_gelu(b, x, hn_lower_arg(c) == GELU_FAST);
    hn_out(c, 0, hn_cast(b, y, hn_dt(b, in)));
}

/* ---- norms ---- */

/* arg: 1 without a mean (input, skip, scale, bias), 0 with (input, skip, scale, shift, bias). */
static void lower_skip_norm(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    bool rms = hn_lower_arg(c) != 0;
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 2, 3)) return;
    hn_val in = hn_in(c, 0), x = hn_work(b, in), bias = hn_in(c, rms ? 3 : 4);
    hone_dtype t = hn_dt(b, x), own = hn_dt(b, in);
    x = hn_bin(b, HN_OP_ADD, x, hn_cast(b, hn_in(c, 1), t));
    if (bias) x = hn_bin(b, HN_OP_ADD, x, hn_cast(b, bias, t));
    hn_row_norm n = hn_row_norm_of(b, x, hn_in(c, 2), rms ? 0 : hn_in(c, 3), rms, hn_float(c, "epsilon", 1e-12));
    hn_out(c, 0, hn_cast(b, n.y, own));
    if (n.mean) hn_out(c, 1, n.mean);
    hn_out(c, 2, n.inv);
    hn_out(c, 3, hn_cast(b, x, own));
}

/* ai.onnx without a version, as that runtime has it: Y, InvStdDev. */
static void lower_simplified_norm(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 1, HN_RANK_MAX)) return;
    hn_val in = hn_in(c, 0);
    int64_t axis = hn_axis(c, hn_int(c, "axis", -1), hn_rank(b, in));
    if (hn_lower_failed(c)) return;
    if ((size_t)axis + 1 != hn_rank(b, in)) {
        hn_refuse(c, "an axis that is not the last");
        return;
    }
    hn_row_norm n = hn_row_norm_of(b, hn_work(b, in), hn_in(c, 1), 0, true, hn_float(c, "epsilon", 1e-5));
    hn_out(c, 0, hn_cast(b, n.y, hn_dt(b, in)));
    hn_out(c, 1, n.inv);
}

/* Word, position and segment embeddings, added and normalised. Output 1: the number of unmasked tokens. */
static void lower_embed_norm(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    static const size_t needed[] = {0, 2, 3, 5, 6};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!hn_in(c, needed[i])) {
            if (!hn_lower_failed(c)) hn_wrong(c, "input %zu is missing", needed[i]);
            return;
        }
    hn_val ids = hn_in(c, 0), segment = hn_in(c, 1), place = hn_in(c, 8), mask = hn_in(c, 7);
    if (!hn_need_rank(c, 0, 2, 2) || (mask && !hn_need_rank(c, 7, 2, 2))) return;
    hn_val sum = hn_gather(b, hn_in(c, 2), ids, 0), rows;
    if (place) {
        rows = hn_gather(b, hn_in(c, 3), place, 0);
    } else {
        rows = hn_slice_axis(b, hn_in(c, 3), 0, hn_lit(b, 0), hn_dim_of(b, ids, 1), 1);
    }
    sum = hn_bin(b, HN_OP_ADD, hn_work(b, sum), hn_work(b, rows));
    if (segment && hn_in(c, 4)) sum = hn_bin(b, HN_OP_ADD, sum, hn_work(b, hn_gather(b, hn_in(c, 4), segment, 0)));
    hone_dtype own = hn_dt(b, hn_in(c, 2));
    hn_out(c, 0,
           hn_cast(b, hn_row_norm_of(b, sum, hn_in(c, 5), hn_in(c, 6), false, hn_float(c, "epsilon", 1e-12)).y, own));
    hn_dim batch = hn_dim_of(b, ids, 0);
    hn_out(c, 1,
           mask ? hn_reduce1(b, HN_OP_RSUM, hn_cast(b, mask, HONE_I32), 1, false) : hn_full(b, HONE_I32, 1, &batch, 0));
    hn_out(c, 2, hn_cast(b, sum, own));
}

#define MS "com.microsoft"
const hn_lower_row hn_lower_contrib[] = {
    {MS, "FusedMatMul", 1, HN_OPSET_MAX, lower_fused_matmul, 0},
    {MS, "TransposeMatMul", 1, HN_OPSET_MAX, lower_fused_matmul, 0},
    {MS, "FusedConv", 1, HN_OPSET_MAX, lower_fused_conv, 0},
    {MS, "FusedGemm", 1, HN_OPSET_MAX, lower_fused_gemm, 0},
    {MS, "Gelu", 1, HN_OPSET_MAX, lower_gelu, GELU},
    {MS, "BiasGelu", 1, HN_OPSET_MAX, lower_gelu, GELU},
    {MS, "FastGelu", 1, HN_OPSET_MAX, lower_gelu, GELU_FAST},
    {MS, "QuickGelu", 1, HN_OPSET_MAX, lower_gelu, GELU_QUICK},
    {MS, "SkipLayerNormalization", 1, HN_OPSET_MAX, lower_skip_norm, 0},
    {MS, "SkipSimplifiedLayerNormalization", 1, HN_OPSET_MAX, lower_skip_norm, 1},
    {"", "SimplifiedLayerNormalization", 1, HN_OPSET_MAX, lower_simplified_norm, 0},
    {MS, "EmbedLayerNormalization", 1, HN_OPSET_MAX, lower_embed_norm, 0},
    {MS, "MultiHeadAttention", 1, HN_OPSET_MAX, hn_lower_multi_head, 0},
    {MS, "Attention", 1, HN_OPSET_MAX, hn_lower_packed_attention, 0},
    {MS, "QAttention", 1, HN_OPSET_MAX, hn_lower_quantised_attention, 0},
    {MS, "GroupQueryAttention", 1, HN_OPSET_MAX, hn_lower_group_query, 0},
    {MS, "RotaryEmbedding", 1, HN_OPSET_MAX, hn_lower_rotary_contrib, 0},
    {MS, "QuantizeLinear", 1, HN_OPSET_MAX, hn_lower_quantize, 0},
    {MS, "DequantizeLinear", 1, HN_OPSET_MAX, hn_lower_dequantize, 0},
    {MS, "QLinearAdd", 1, HN_OPSET_MAX, hn_lower_qlinear_pair, HN_OP_ADD},
    {MS, "QLinearMul", 1, HN_OPSET_MAX, hn_lower_qlinear_pair, HN_OP_MUL},
    {MS, "QLinearSigmoid", 1, HN_OPSET_MAX, hn_lower_qlinear_unary, HN_OP_SIGMOID},
    {MS, "QLinearLeakyRelu", 1, HN_OPSET_MAX, hn_lower_qlinear_unary, HN_OP_MAX},
    {MS, "QLinearSoftmax", 1, HN_OPSET_MAX, hn_lower_qlinear_unary, HN_OP_EXP},
    {MS, "QLinearGlobalAveragePool", 1, HN_OPSET_MAX, hn_lower_qlinear_unary, HN_OP_RSUM},
    {MS, "QLinearAveragePool", 1, HN_OPSET_MAX, hn_lower_qlinear_average, 0},
    {MS, "QLinearConcat", 1, HN_OPSET_MAX, hn_lower_qlinear_concat, 0},
    {MS, "QGemm", 1, HN_OPSET_MAX, hn_lower_qgemm, 0},
    {MS, "MatMulIntegerToFloat", 1, HN_OPSET_MAX, hn_lower_matmul_to_float, 0},
    {MS, "DynamicQuantizeMatMul", 1, HN_OPSET_MAX, hn_lower_matmul_to_float, 1},
    {MS, "MatMulNBits", 1, HN_OPSET_MAX, hn_lower_matmul_bits, 0},
    {MS, "GatherBlockQuantized", 1, HN_OPSET_MAX, hn_lower_gather_bits, 0},
    {0},
};
