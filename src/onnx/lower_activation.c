/* lower_activation.c — activation functions of one tensor, in floats of at least 32 bits. Formulas: the operators'
 * documents; softplus as max(x, 0) + log1p(exp(-|x|)), which neither overflows nor cancels. */
#include "onnx/lower_fns.h"

static hn_val positive(hn_builder *b, hn_val x) { return hn_bin(b, HN_OP_LT, hn_const_f(b, hn_dt(b, x), 0), x); }

static hn_val relu(hn_builder *b, hn_val x) { return hn_bin_f(b, HN_OP_MAX, x, 0); }

static hn_val leaky_relu(hn_lower *c, hn_builder *b, hn_val x) {
    hn_val negative = hn_bin(b, HN_OP_LT, x, hn_const_f(b, hn_dt(b, x), 0));
    return hn_where(b, negative, hn_bin_f(b, HN_OP_MUL, x, hn_float(c, "alpha", 0.01f)), x);
}

static hn_val elu(hn_lower *c, hn_builder *b, hn_val x) {
    hn_val low = hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_EXPM1, x), hn_float(c, "alpha", 1));
    return hn_where(b, positive(b, x), x, low);
}

static hn_val selu(hn_lower *c, hn_builder *b, hn_val x) {
    double alpha = hn_float(c, "alpha", 1.67326319217681884765625);
    double gamma = hn_float(c, "gamma", 1.05070102214813232421875);
    hn_val low = hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_EXPM1, x), alpha);
    return hn_bin_f(b, HN_OP_MUL, hn_where(b, positive(b, x), x, low), gamma);
}

static hn_val celu(hn_lower *c, hn_builder *b, hn_val x) {
    double alpha = hn_float(c, "alpha", 1);
    hn_val low = hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_EXPM1, hn_bin_f(b, HN_OP_DIV, x, alpha)), alpha);
    return hn_bin(b, HN_OP_ADD, relu(b, x), hn_bin_f(b, HN_OP_MIN, low, 0));
}

static hn_val thresholded_relu(hn_lower *c, hn_builder *b, hn_val x) {
    hn_val alpha = hn_const_f(b, hn_dt(b, x), hn_float(c, "alpha", 1));
    return hn_where(b, hn_bin(b, HN_OP_LT, alpha, x), x, hn_const_f(b, hn_dt(b, x), 0));
}

static hn_val hard_sigmoid(hn_builder *b, hn_val x, double alpha, double beta) {
    hn_val y = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, x, alpha), beta);
    return hn_bin_f(b, HN_OP_MAX, hn_bin_f(b, HN_OP_MIN, y, 1), 0);
}

static hn_val softplus(hn_builder *b, hn_val x) {
    hn_val tail = hn_un(b, HN_OP_LOG1P, hn_un(b, HN_OP_EXP, hn_un(b, HN_OP_NEG, hn_un(b, HN_OP_ABS, x))));
    return hn_bin(b, HN_OP_ADD, relu(b, x), tail);
}

static hn_val gelu(hn_lower *c, hn_builder *b, hn_val x) {
    const char *approximate = hn_string(c, "approximate", "none");
    hn_val s;
    if (!strcmp(approximate, "tanh")) {
        hn_val cube = hn_bin(b, HN_OP_MUL, hn_bin(b, HN_OP_MUL, x, x), x);
        hn_val inner = hn_bin(b, HN_OP_ADD, x, hn_bin_f(b, HN_OP_MUL, cube, 0.044715));
        s = hn_un(b, HN_OP_TANH, hn_bin_f(b, HN_OP_MUL, inner, 0.79788456080286535588)); /* sqrt(2 / pi) */
    } else {
        s = hn_un(b, HN_OP_ERF, hn_bin_f(b, HN_OP_MUL, x, 0.70710678118654752440));
    }
    return hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_MUL, x, 0.5), hn_bin_f(b, HN_OP_ADD, s, 1));
}

static hn_val swish(hn_lower *c, hn_builder *b, hn_val x) {
    double alpha = hn_float(c, "alpha", 1);
    hn_val y = alpha == 1 ? x : hn_bin_f(b, HN_OP_MUL, x, alpha);
    return hn_bin(b, HN_OP_MUL, x, hn_un(b, HN_OP_SIGMOID, y));
}

static hn_val activate(hn_lower *c, hn_builder *b, hn_val x) {
    switch (hn_lower_arg(c)) {
    case HN_ACT_LEAKY_RELU: return leaky_relu(c, b, x);
    case HN_ACT_ELU: return elu(c, b, x);
    case HN_ACT_SELU: return selu(c, b, x);
    case HN_ACT_CELU: return celu(c, b, x);
    case HN_ACT_THRESHOLDED_RELU: return thresholded_relu(c, b, x);
    case HN_ACT_HARD_SIGMOID: return hard_sigmoid(b, x, hn_float(c, "alpha", 0.2f), hn_float(c, "beta", 0.5));
    case HN_ACT_HARD_SWISH: return hn_bin(b, HN_OP_MUL, x, hard_sigmoid(b, x, 1.0 / 6, 0.5));
    case HN_ACT_SOFTPLUS: return softplus(b, x);
    case HN_ACT_SOFTSIGN: return hn_bin(b, HN_OP_DIV, x, hn_bin_f(b, HN_OP_ADD, hn_un(b, HN_OP_ABS, x), 1));
    case HN_ACT_GELU: return gelu(c, b, x);
    case HN_ACT_MISH: return hn_bin(b, HN_OP_MUL, x, hn_un(b, HN_OP_TANH, softplus(b, x)));
    case HN_ACT_SWISH: return swish(c, b, x);
    default: return relu(b, x);
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
    hone_dtype w = hn_dt(b, y);
    hn_val low = hn_bin(b, HN_OP_LT, y, hn_const_f(b, w, -lambd)),
           high = hn_bin(b, HN_OP_LT, hn_const_f(b, w, lambd), y);
    hn_val up = hn_where(b, high, hn_bin_f(b, HN_OP_SUB, y, bias), hn_const_f(b, w, 0));
    hn_out_as(c, 0, hn_where(b, low, hn_bin_f(b, HN_OP_ADD, y, bias), up), t);
}
