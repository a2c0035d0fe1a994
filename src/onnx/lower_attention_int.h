/* onnx/lower_attention_int.h — the parts of the family hn_lower_attention. */
#ifndef HN_LOWER_ATTENTION_INT_H
#define HN_LOWER_ATTENTION_INT_H

#include "onnx/lower_util.h"

/* hn_attend_emit; what it says is wrong is said of the node. */
hn_val hn_attended(hn_lower *c, hn_attend *a, hone_dtype out);
void hn_lower_linear_attention(hn_lower *c); /* lower_attention_linear.c */
void hn_lower_rotary(hn_lower *c);           /* lower_attention_rotary.c */

#endif
