/* activation.c — activation functions. Formulas: the operators' documents; softplus as max(x, 0) + log1p(exp(-|x|)),
 * which neither overflows nor cancels. */
#include "compose/compose.h"

#include <strings.h>

static hn_val positive(hn_builder *b, hn_val x) { return hn_bin(b, HN_OP_LT, hn_const_f(b, hn_dt(b, x), 0), x); }

hn_val hn_relu(hn_builder *b, hn_val x) { return hn_bin_f(b, HN_OP_MAX, x, 0); }

hn_val hn_leaky_relu(hn_builder *b, hn_val x, double alpha) {
    hn_val negative = hn_bin(b, HN_OP_LT, x, hn_const_f(b, hn_dt(b, x), 0));
    return hn_where(b, negative, hn_bin_f(b, HN_OP_MUL, x, alpha), x);
}

hn_val hn_elu(hn_builder *b, hn_val x, double alpha) {
    hn_val low = hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_EXPM1, x), alpha);
    return hn_where(b, positive(b, x), x, low);
}

hn_val hn_selu(hn_builder *b, hn_val x, double alpha, double gamma) {
    hn_val low = hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_EXPM1, x), alpha);
    return hn_bin_f(b, HN_OP_MUL, hn_where(b, positive(b, x), x, low), gamma);
}

hn_val hn_celu(hn_builder *b, hn_val x, double alpha) {
    hn_val low = hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_EXPM1, hn_bin_f(b, HN_OP_DIV, x, alpha)), alpha);
    return hn_bin(b, HN_OP_ADD, hn_relu(b, x), hn_bin_f(b, HN_OP_MIN, low, 0));
}

hn_val hn_thresholded_relu(hn_builder *b, hn_val x, double alpha) {
    hn_val low = hn_const_f(b, hn_dt(b, x), alpha);
    return hn_where(b, hn_bin(b, HN_OP_LT, low, x), x, hn_const_f(b, hn_dt(b, x), 0));
}

hn_val hn_hard_sigmoid(hn_builder *b, hn_val x, double alpha, double beta) {
    hn_val y = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, x, alpha), beta);
    return hn_bin_f(b, HN_OP_MAX, hn_bin_f(b, HN_OP_MIN, y, 1), 0);
}

hn_val hn_softplus(hn_builder *b, hn_val x) {
    hn_val tail = hn_un(b, HN_OP_LOG1P, hn_un(b, HN_OP_EXP, hn_un(b, HN_OP_NEG, hn_un(b, HN_OP_ABS, x))));
    return hn_bin(b, HN_OP_ADD, hn_relu(b, x), tail);
}

hn_val hn_gelu(hn_builder *b, hn_val x, bool tanh) {
    hn_val s;
    if (tanh) {
        hn_val cube = hn_bin(b, HN_OP_MUL, hn_bin(b, HN_OP_MUL, x, x), x);
        hn_val inner = hn_bin(b, HN_OP_ADD, x, hn_bin_f(b, HN_OP_MUL, cube, 0.044715));
        s = hn_un(b, HN_OP_TANH, hn_bin_f(b, HN_OP_MUL, inner, 0.79788456080286535588)); /* sqrt(2 / pi) */
    } else {
        s = hn_un(b, HN_OP_ERF, hn_bin_f(b, HN_OP_MUL, x, 0.70710678118654752440));
    }
    return hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_MUL, x, 0.5), hn_bin_f(b, HN_OP_ADD, s, 1));
}

hn_val hn_swish(hn_builder *b, hn_val x, double alpha) {
    hn_val y = alpha == 1 ? x : hn_bin_f(b, HN_OP_MUL, x, alpha);
    return hn_bin(b, HN_OP_MUL, x, hn_un(b, HN_OP_SIGMOID, y));
}

hn_val hn_hard_swish(hn_builder *b, hn_val x) { return hn_bin(b, HN_OP_MUL, x, hn_hard_sigmoid(b, x, 1.0 / 6, 0.5)); }

hn_val hn_softsign(hn_builder *b, hn_val x) {
    return hn_bin(b, HN_OP_DIV, x, hn_bin_f(b, HN_OP_ADD, hn_un(b, HN_OP_ABS, x), 1));
}

hn_val hn_mish(hn_builder *b, hn_val x) { return hn_bin(b, HN_OP_MUL, x, hn_un(b, HN_OP_TANH, hn_softplus(b, x))); }

hn_val hn_shrink(hn_builder *b, hn_val x, double lambda, double bias) {
    hone_dtype t = hn_dt(b, x);
    hn_val low = hn_bin(b, HN_OP_LT, x, hn_const_f(b, t, -lambda)),
           high = hn_bin(b, HN_OP_LT, hn_const_f(b, t, lambda), x);
    hn_val up = hn_where(b, high, hn_bin_f(b, HN_OP_SUB, x, bias), hn_const_f(b, t, 0));
    return hn_where(b, low, hn_bin_f(b, HN_OP_ADD, x, bias), up);
}

hn_val hn_log_softmax(hn_builder *b, hn_val x, int64_t axis) {
    hn_val d = hn_bin(b, HN_OP_SUB, x, hn_reduce1(b, HN_OP_RMAX, x, axis, true));
    hn_val sum = hn_reduce1(b, HN_OP_RSUM, hn_un(b, HN_OP_EXP, d), axis, true);
    return hn_bin(b, HN_OP_SUB, d, hn_un(b, HN_OP_LOG, sum));
}

hn_val hn_hardmax(hn_builder *b, hn_val x, int64_t axis) {
    hn_dim shape[HN_RANK_MAX];
    hn_attr attr[] = {{.id = HN_A_AXIS, .kind = HN_K_INT, .i = axis},
                      {.id = HN_A_KEEP, .kind = HN_K_INT, .i = 1},
                      {.id = HN_A_LAST, .kind = HN_K_INT, .i = 0}};
    for (size_t i = 0; i < hn_rank(b, x); i++) shape[i] = hn_dim_of(b, x, i);
    hn_val first = hn_emit(b->g, b->b, HN_OP_ARGMAX, 1, &x, sizeof attr / sizeof attr[0], attr, 1);
    hn_val at = hn_iota(b, HONE_I64, hn_rank(b, x), shape, (size_t)axis);
    return hn_cast(b, hn_bin(b, HN_OP_EQ, at, first), hn_dt(b, x));
}

/* --- by name ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int n_params; /* takes alpha; alpha and beta */
    double alpha, beta;
} acts[] = {
    [HN_NAMED_RELU] = {"Relu", 0, 0, 0},
    [HN_NAMED_TANH] = {"Tanh", 0, 0, 0},
    [HN_NAMED_SIGMOID] = {"Sigmoid", 0, 0, 0},
    [HN_NAMED_AFFINE] = {"Affine", 2, 1, 0},
    [HN_NAMED_LEAKY] = {"LeakyRelu", 1, 0.01, 0},
    [HN_NAMED_THRESHOLDED] = {"ThresholdedRelu", 1, 1, 0},
    [HN_NAMED_SCALED_TANH] = {"ScaledTanh", 2, 1, 1},
    [HN_NAMED_HARD_SIGMOID] = {"HardSigmoid", 2, 0.2, 0.5},
    [HN_NAMED_ELU] = {"Elu", 1, 1, 0},
    [HN_NAMED_SOFTSIGN] = {"Softsign", 0, 0, 0},
    [HN_NAMED_SOFTPLUS] = {"Softplus", 0, 0, 0},
};
enum { N_ACTS = sizeof acts / sizeof acts[0] };

static hn_val affine(hn_builder *b, hn_val x, double alpha, double beta) {
    return hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, x, alpha), beta);
}

hn_val hn_act_emit(hn_builder *b, hn_act a, hn_val x) {
    hn_val zero = hn_const_f(b, hn_dt(b, x), 0), y;
    switch (a.kind) {
    case HN_NAMED_RELU: return hn_bin(b, HN_OP_MAX, x, zero);
    case HN_NAMED_TANH: return hn_un(b, HN_OP_TANH, x);
    case HN_NAMED_SIGMOID: return hn_un(b, HN_OP_SIGMOID, x);
    case HN_NAMED_AFFINE: return affine(b, x, a.alpha, a.beta);
    case HN_NAMED_LEAKY: return hn_where(b, hn_bin(b, HN_OP_LT, x, zero), hn_bin_f(b, HN_OP_MUL, x, a.alpha), x);
    case HN_NAMED_THRESHOLDED: return hn_where(b, hn_f_bin(b, HN_OP_LE, a.alpha, x), x, zero);
    case HN_NAMED_SCALED_TANH:
        return hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_TANH, hn_bin_f(b, HN_OP_MUL, x, a.beta)), a.alpha);
    case HN_NAMED_HARD_SIGMOID:
        return hn_bin_f(b, HN_OP_MIN, hn_bin_f(b, HN_OP_MAX, affine(b, x, a.alpha, a.beta), 0), 1);
    case HN_NAMED_ELU:
        y = hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_EXPM1, x), a.alpha);
        return hn_where(b, hn_bin(b, HN_OP_LT, x, zero), y, x);
    case HN_NAMED_SOFTSIGN: return hn_bin(b, HN_OP_DIV, x, hn_bin_f(b, HN_OP_ADD, hn_un(b, HN_OP_ABS, x), 1));
    case HN_NAMED_SOFTPLUS: /* max(x, 0) + log1p(exp(-|x|)): no overflow */
        y = hn_un(b, HN_OP_LOG1P, hn_un(b, HN_OP_EXP, hn_un(b, HN_OP_NEG, hn_un(b, HN_OP_ABS, x))));
        return hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_MAX, x, zero), y);
    }
    return x;
}

hn_act hn_act_of(hn_act_kind kind) { return (hn_act){kind, acts[kind].n_params, acts[kind].alpha, acts[kind].beta}; }

bool hn_act_named(const char *name, hn_act *out) {
    for (int k = 0; k < N_ACTS; k++)
        if (!strcasecmp(acts[k].name, name)) {
            *out = hn_act_of((hn_act_kind)k);
            return true;
        }
    return false;
}
