/* lower_activation.c — activation functions of one tensor, in floats of at least 32 bits. */
#include "onnx/lower_fns.h"

static hn_val activate(hn_lower *c, hn_builder *b, hn_val x) {
    switch (hn_lower_arg(c)) {
    case HN_ACT_LEAKY_RELU: return hn_leaky_relu(b, x, hn_float(c, "alpha", 0.01f));
    case HN_ACT_ELU: return hn_elu(b, x, hn_float(c, "alpha", 1));
    case HN_ACT_SELU:
        return hn_selu(b, x, hn_float(c, "alpha", 1.67326319217681884765625),
                       hn_float(c, "gamma", 1.05070102214813232421875));
    case HN_ACT_CELU: return hn_celu(b, x, hn_float(c, "alpha", 1));
    case HN_ACT_THRESHOLDED_RELU: return hn_thresholded_relu(b, x, hn_float(c, "alpha", 1));
    case HN_ACT_HARD_SIGMOID: return hn_hard_sigmoid(b, x, hn_float(c, "alpha", 0.2f), hn_float(c, "beta", 0.5));
    case HN_ACT_HARD_SWISH: return hn_hard_swish(b, x);
    case HN_ACT_SOFTPLUS: return hn_softplus(b, x);
    case HN_ACT_SOFTSIGN: return hn_softsign(b, x);
    case HN_ACT_GELU: return hn_gelu(b, x, !strcmp(hn_string(c, "approximate", "none"), "tanh"));
    case HN_ACT_MISH: return hn_mish(b, x);
    case HN_ACT_SWISH: return hn_swish(b, x, hn_float(c, "alpha", 1));
    default: return hn_relu(b, x);
    }
}

void hn_lower_activation(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    hone_dtype t = hn_dt(b, x);
    bool simple = hn_lower_arg(c) == HN_ACT_RELU;
    if (!simple && !hn_is_float(t)) {
        hn_refuse(c, "element type %s", hn_dtype_of(t)->text);
        return;
    }
    hn_out_as(c, 0, activate(c, b, simple ? x : hn_work(b, x)), t);
}

void hn_lower_prelu(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), slope = hn_in(c, 1);
    if (!x || !slope) return;
    hn_type t = *hn_t(b, x);
    if (hn_lower_opset(c) < 7 && hn_rank(b, slope) == 1 && t.rank > 1) slope = hn_along(b, slope, t.rank, 1);
    slope = hn_broadcast_to(b, slope, t.rank, t.dim);
    hn_val negative = hn_bin(b, HN_OP_LT, x, hn_const_f(b, t.dtype, 0));
    hn_out(c, 0, hn_where(b, negative, hn_bin(b, HN_OP_MUL, x, slope), x));
}

/* Integers are shrunk as floats wide enough to hold them. */
void hn_lower_shrink(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    double lambd = hn_float(c, "lambd", 0.5), bias = hn_float(c, "bias", 0);
    hone_dtype t = hn_dt(b, x);
    hn_val y = hn_is_float(t) ? hn_work(b, x) : hn_cast(b, x, HONE_F64);
    hn_out_as(c, 0, hn_shrink(b, y, lambd, bias), t);
}
