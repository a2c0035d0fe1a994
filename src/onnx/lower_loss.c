/* Losses over classes. */
#include "onnx/lower_util.h"

#include <string.h>

static bool reduction_of(hn_lower *c, hn_reduction *out) {
    static const char *const name[] = {"mean", "sum", "none"};
    const char *s = hn_string(c, "reduction", "mean");
    for (int i = 0; i < 3; i++)
        if (!strcmp(s, name[i])) {
            *out = (hn_reduction)i;
            return true;
        }
    hn_wrong(c, "'reduction' is '%s'; it must be mean, sum or none", s);
    return false;
}

/* arg: 1 where the input is scores, 0 where it is log probabilities already. */
static void lower_loss(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_reduction how;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 2, HN_RANK_MAX) || !reduction_of(c, &how)) return;
    hn_val in = hn_in(c, 0), x = hn_work(b, in);
    if (!hn_need_rank(c, 1, hn_rank(b, x) - 1, hn_rank(b, x) - 1)) return;
    if (hn_in(c, 2) && !hn_need_rank(c, 2, 1, 1)) return;
    if (hn_lower_arg(c)) {
        x = hn_log_softmax(b, x, 1);
        hn_out(c, 1, hn_cast(b, x, hn_dt(b, in)));
    }
    int64_t ignored = hn_int(c, "ignore_index", 0);
    const int64_t *ignore = hn_has(c, "ignore_index") ? &ignored : NULL;
    hn_out(c, 0, hn_cast(b, hn_class_loss(b, x, hn_in(c, 1), hn_in(c, 2), ignore, how), hn_dt(b, in)));
}

const hn_lower_row hn_lower_loss[] = {
    {"", "NegativeLogLikelihoodLoss", 12, HN_OPSET_MAX, lower_loss, 0},
    {"", "SoftmaxCrossEntropyLoss", 12, HN_OPSET_MAX, lower_loss, 1},
    {0},
};
