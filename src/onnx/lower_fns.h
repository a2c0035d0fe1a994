/* onnx/lower_fns.h — lowerings that stand in one file and are listed in the table of another. */
#ifndef HN_LOWER_FNS_H
#define HN_LOWER_FNS_H

#include "onnx/lower_vec.h"

#include <string.h>

/* lower_math.c: arg is the primitive. */
void hn_lower_unary(hn_lower *c);
void hn_lower_binary(hn_lower *c);
void hn_lower_binary_old(hn_lower *c);
/* A cast with the attributes `saturate` and `round_mode` of the node. */
hn_val hn_lower_cast(hn_lower *c, hn_val x, hone_dtype to);

/* lower_activation.c: arg is one of these. */
enum {
    HN_ACT_RELU,
    HN_ACT_LEAKY_RELU,
    HN_ACT_ELU,
    HN_ACT_SELU,
    HN_ACT_CELU,
    HN_ACT_THRESHOLDED_RELU,
    HN_ACT_HARD_SIGMOID,
    HN_ACT_HARD_SWISH,
    HN_ACT_SOFTPLUS,
    HN_ACT_SOFTSIGN,
    HN_ACT_GELU,
    HN_ACT_MISH,
    HN_ACT_SWISH,
};
void hn_lower_activation(hn_lower *c);
void hn_lower_prelu(hn_lower *c);
void hn_lower_shrink(hn_lower *c);

/* lower_linear.c */
void hn_lower_matmul(hn_lower *c);
/* The result of Gemm in f32 for floats below 32 bits, else in the type of input 0; 0 after a failure. */
hn_val hn_gemm(hn_lower *c);
void hn_lower_gemm(hn_lower *c);
void hn_lower_det(hn_lower *c);
void hn_lower_einsum(hn_lower *c);

/* lower_shape.c: of the sizes of a tensor those whose dimension `axis` (n of rank) does not name; the others have to
 * be 1. */
hn_val hn_lower_compact(hn_builder *b, size_t rank, hn_val axis, size_t n, hn_val sizes);

/* lower_slice.c */
void hn_lower_slice_attr(hn_lower *c);
void hn_lower_slice(hn_lower *c);
void hn_lower_split(hn_lower *c);
void hn_lower_pad_attr(hn_lower *c);
void hn_lower_pad(hn_lower *c);

/* lower_order.c */
void hn_lower_topk(hn_lower *c);
void hn_lower_arg_reduce(hn_lower *c);
hn_val hn_lower_where_true(hn_builder *b, hn_val x); /* i64 [rank, s], as NonZero */
void hn_lower_nonzero(hn_lower *c);
void hn_lower_unique(hn_lower *c);
void hn_lower_nms(hn_lower *c);

/* lower_if.c */
void hn_lower_if(hn_lower *c);

/* lower_sequence.c */
void hn_lower_optional(hn_lower *c);
void hn_lower_optional_has(hn_lower *c);
void hn_lower_optional_get(hn_lower *c);
void hn_lower_sequence_construct(hn_lower *c);
void hn_lower_sequence_at(hn_lower *c);
void hn_lower_sequence_length(hn_lower *c);
void hn_lower_sequence_insert(hn_lower *c);
void hn_lower_sequence_erase(hn_lower *c);
void hn_lower_sequence_map(hn_lower *c);
void hn_lower_concat_from_sequence(hn_lower *c);
void hn_lower_split_to_sequence(hn_lower *c);

#endif
