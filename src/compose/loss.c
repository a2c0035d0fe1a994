/* loss.c — losses over classes: the log probability of each label is gathered, weighted, negated and reduced. */
#include "compose/compose.h"

static hn_val total(hn_builder *b, hn_val x) {
    int64_t axes[HN_RANK_MAX];
    for (size_t i = 0; i < hn_rank(b, x); i++) axes[i] = (int64_t)i;
    return hn_rank(b, x) ? hn_reduce(b, HN_OP_RSUM, x, hn_rank(b, x), axes, false) : x;
}

/* Weight of each label's element: weights[label], 0 where the label is ignored; 0 (no value) where all are 1. */
static hn_val label_weights(hn_builder *b, hn_val weights, hn_val label, hn_val kept, hone_dtype t) {
    if (!weights) return kept ? hn_cast(b, kept, t) : 0;
    hn_val w = hn_gather(b, hn_cast(b, weights, t), label, 0);
    return kept ? hn_where(b, kept, w, hn_const_f(b, t, 0)) : w;
}

hn_val hn_class_loss(hn_builder *b, hn_val log_prob, hn_val label, hn_val weights, const int64_t *ignored,
                     hn_reduction how) {
    hone_dtype t = hn_dt(b, log_prob);
    hn_val kept = 0;
    if (ignored) {
        kept = hn_bin(b, HN_OP_NE, label, hn_const_i(b, hn_dt(b, label), *ignored));
        label = hn_where(b, kept, label, hn_const_i(b, hn_dt(b, label), 0));
    }
    hn_val weight = label_weights(b, weights, label, kept, t);
    hn_val in[2] = {log_prob, hn_unsqueeze(b, label, 1)};
    hn_attr axis = hn_a_int(HN_A_AXIS, 1);
    hn_val picked = hn_squeeze(b, hn_emit(b->g, b->b, HN_OP_GATHER_ELEMENTS, 2, in, 1, &axis, 1), 1);
    hn_val loss = hn_un(b, HN_OP_NEG, picked);
    if (kept) loss = hn_where(b, kept, loss, hn_const_f(b, t, 0)); /* 0 also where the picked one is infinite */
    if (weight && weights) loss = hn_bin(b, HN_OP_MUL, loss, weight);
    if (how == HN_REDUCE_NONE) return loss;
    if (how == HN_REDUCE_SUM) return total(b, loss);
    if (weight) return hn_bin(b, HN_OP_DIV, total(b, loss), total(b, weight));
    hn_dim n = hn_dim_product(b, loss, 0, hn_rank(b, loss));
    return hn_bin(b, HN_OP_DIV, total(b, loss), hn_cast(b, hn_scalar(b, hn_dims_value(b, 1, &n)), t));
}
