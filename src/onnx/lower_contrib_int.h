/* onnx/lower_contrib_int.h — the parts of the family hn_lower_contrib: operators of the domain com.microsoft, which
 * ONNX Runtime's optimisers and quantisers write into models. Their semantics are those of that runtime's documents. */
#ifndef HN_LOWER_CONTRIB_INT_H
#define HN_LOWER_CONTRIB_INT_H

#include "onnx/lower_util.h"

/* lower_contrib_attention.c */
void hn_lower_multi_head(hn_lower *c);
void hn_lower_packed_attention(hn_lower *c);
void hn_lower_quantised_attention(hn_lower *c);
void hn_lower_group_query(hn_lower *c);
void hn_lower_rotary_contrib(hn_lower *c);
/* lower_contrib_quant.c */
void hn_lower_qlinear_pair(hn_lower *c);  /* arg: HN_OP_ADD, HN_OP_MUL */
void hn_lower_qlinear_unary(hn_lower *c); /* arg: HN_OP_SIGMOID, HN_OP_MAX leaky, HN_OP_EXP softmax, HN_OP_RSUM mean */
void hn_lower_qlinear_average(hn_lower *c);
void hn_lower_qlinear_concat(hn_lower *c);
void hn_lower_qgemm(hn_lower *c);
void hn_lower_matmul_to_float(hn_lower *c); /* arg: 1 where the left operand is quantised at run time */
void hn_lower_matmul_bits(hn_lower *c);
void hn_lower_gather_bits(hn_lower *c);

#endif
