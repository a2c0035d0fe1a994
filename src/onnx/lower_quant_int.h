/* onnx/lower_quant_int.h — what quantised operators of all domains share. */
#ifndef HN_LOWER_QUANT_INT_H
#define HN_LOWER_QUANT_INT_H

#include "onnx/lower_util.h"

void hn_lower_quantize(hn_lower *c);
void hn_lower_dequantize(hn_lower *c);

#endif
