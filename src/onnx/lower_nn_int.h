/* onnx/lower_nn_int.h — the parts of the family hn_lower_nn: convolutions and pools; softmax and kin are in
 * lower_nn.c. */
#ifndef HN_LOWER_NN_INT_H
#define HN_LOWER_NN_INT_H

#include "onnx/lower_util.h"

/* lower_nn_conv.c */
/* x * w + bias of inputs 0 to 2, in the working type; 0 after a failure. */
hn_val hn_convolved(hn_lower *c);
void hn_lower_conv(hn_lower *c);
void hn_lower_conv_transpose(hn_lower *c);
void hn_lower_causal_conv(hn_lower *c);
/* lower_nn_pool.c */
void hn_lower_max_pool(hn_lower *c);
void hn_lower_average_pool(hn_lower *c);
void hn_lower_lp_pool(hn_lower *c);
void hn_lower_global_pool(hn_lower *c); /* arg: HN_OP_RSUM the mean, HN_OP_RMAX the largest, HN_OP_POW the norm */
void hn_lower_max_roi_pool(hn_lower *c);
void hn_lower_lrn(hn_lower *c);

#endif
