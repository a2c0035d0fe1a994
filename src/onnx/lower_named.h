/* onnx/lower_named.h — activations that a node names as a word: of recurrent cells and of fused operators. */
#ifndef HN_LOWER_NAMED_H
#define HN_LOWER_NAMED_H

#include "onnx/lower.h"

typedef enum hn_act_kind {
    HN_NAMED_RELU,
    HN_NAMED_TANH,
    HN_NAMED_SIGMOID,
    HN_NAMED_AFFINE,
    HN_NAMED_LEAKY,
    HN_NAMED_THRESHOLDED,
    HN_NAMED_SCALED_TANH,
    HN_NAMED_HARD_SIGMOID,
    HN_NAMED_ELU,
    HN_NAMED_SOFTSIGN,
    HN_NAMED_SOFTPLUS
} hn_act_kind;
typedef struct hn_act {
    hn_act_kind kind;
    int n_params; /* takes alpha; alpha and beta */
    double alpha, beta;
} hn_act;

hn_act hn_act_of(hn_act_kind kind); /* with the usual alpha and beta */
/* Compared without case, as older exporters need; false: none of them. */
bool hn_act_named(const char *name, hn_act *out);
hn_val hn_act_emit(hn_builder *b, hn_act a, hn_val x);

#endif
