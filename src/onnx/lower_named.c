#include "onnx/lower_named.h"

#include <strings.h>

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
