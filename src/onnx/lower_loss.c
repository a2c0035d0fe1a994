/* Losses over classes: the log probability of each label is gathered, weighted, negated and reduced. */
#include "onnx/lower_util.h"

#include <string.h>

typedef enum reduction { R_MEAN, R_SUM, R_NONE } reduction;

static bool reduction_of(hn_lower *c, reduction *out) {
    static const char *const name[] = {"mean", "sum", "none"};
    const char *s = hn_string(c, "reduction", "mean");
    for (int i = 0; i < 3; i++)
        if (!strcmp(s, name[i])) {
            *out = (reduction)i;
            return true;
        }
    hn_wrong(c, "'reduction' is '%s'; it must be mean, sum or none", s);
    return false;
}

static hn_val total(hn_builder *b, hn_val x) {
    int64_t axes[HN_RANK_MAX];
    for (size_t i = 0; i < hn_rank(b, x); i++) axes[i] = (int64_t)i;
    return hn_rank(b, x) ? hn_reduce(b, HN_OP_RSUM, x, hn_rank(b, x), axes, false) : x;
}

/* Weight of each label's element: weights[label], 0 where the label is ignored; 0 (no value) where all are 1. */
static hn_val label_weights(hn_lower *c, hn_val label, hn_val kept, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    hn_val weights = hn_in(c, 2);
    if (!weights) return kept ? hn_cast(b, kept, t) : 0;
    hn_val w = hn_gather(b, hn_cast(b, weights, t), label, 0);
    return kept ? hn_where(b, kept, w, hn_const_f(b, t, 0)) : w;
}

/* log_prob [N, C, d…] in the working type; labels [N, d…] come from input 1. */
static hn_val loss_of(hn_lower *c, hn_val log_prob, reduction how) {
    hn_builder *b = hn_lower_builder(c);
    hone_dtype t = hn_dt(b, log_prob);
    hn_val label = hn_in(c, 1), kept = 0;
    if (hn_has(c, "ignore_index")) {
        hn_val ignored = hn_const_i(b, hn_dt(b, label), hn_int(c, "ignore_index", 0));
        kept = hn_bin(b, HN_OP_NE, label, ignored);
        label = hn_where(b, kept, label, hn_const_i(b, hn_dt(b, label), 0));
    }
    hn_val weight = label_weights(c, label, kept, t);
    hn_val in[2] = {log_prob, hn_unsqueeze(b, label, 1)};
    hn_attr axis = {.id = HN_A_AXIS, .kind = HN_K_INT, .i = 1};
    hn_val picked = hn_squeeze(b, hn_emit(b->g, b->b, HN_OP_GATHER_ELEMENTS, 2, in, 1, &axis, 1), 1);
    hn_val loss = hn_un(b, HN_OP_NEG, picked);
    if (kept) loss = hn_where(b, kept, loss, hn_const_f(b, t, 0)); /* 0 also where the picked one is infinite */
    if (weight && hn_in(c, 2)) loss = hn_bin(b, HN_OP_MUL, loss, weight);
    if (how == R_NONE) return loss;
    if (how == R_SUM) return total(b, loss);
    if (weight) return hn_bin(b, HN_OP_DIV, total(b, loss), total(b, weight));
    hn_dim n = hn_dim_product(b, loss, 0, hn_rank(b, loss));
    return hn_bin(b, HN_OP_DIV, total(b, loss), hn_cast(b, hn_scalar(b, hn_dims_value(b, 1, &n)), t));
}

/* arg: 1 where the input is scores, 0 where it is log probabilities already. */
static void lower_loss(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    reduction how;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 2, HN_RANK_MAX) || !reduction_of(c, &how)) return;
    hn_val in = hn_in(c, 0), x = hn_work(b, in);
    if (!hn_need_rank(c, 1, hn_rank(b, x) - 1, hn_rank(b, x) - 1)) return;
    if (hn_in(c, 2) && !hn_need_rank(c, 2, 1, 1)) return;
    if (hn_lower_arg(c)) {
        x = hn_log_softmax(b, x, 1);
        hn_out(c, 1, hn_cast(b, x, hn_dt(b, in)));
    }
    hn_out(c, 0, hn_cast(b, loss_of(c, x, how), hn_dt(b, in)));
}

const hn_lower_row hn_lower_loss[] = {
    {"", "NegativeLogLikelihoodLoss", 12, HN_OPSET_MAX, lower_loss, 0},
    {"", "SoftmaxCrossEntropyLoss", 12, HN_OPSET_MAX, lower_loss, 1},
    {0},
};
