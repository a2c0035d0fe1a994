/* onnx/lower_quant_int.h — what quantised operators of all domains share. */
#ifndef HN_LOWER_QUANT_INT_H
#define HN_LOWER_QUANT_INT_H

#include "onnx/lower_util.h"

/* round(x) + zero, saturated to the type t: x is a float value, zero a value that broadcasts to it, or 0. */
hn_val hn_to_quantised(hn_builder *b, hn_val x, hn_val zero, hone_dtype t);
/* x - zero as i32 (as f32 for 8-bit floats, whose zero point is 0); zero may be 0. */
hn_val hn_centred(hn_builder *b, hn_val x, hn_val zero);
/* A parameter of the rows, or columns, of a matrix operand: [M] as [M, 1]; of one element as a scalar; 0 stays 0. */
hn_val hn_per_row(hn_builder *b, hn_val v);
hn_val hn_per_column(hn_builder *b, hn_val v);
/* acc * (sx * sw / sy), rounded, shifted and saturated to the type of `zero`. */
hn_val hn_requantised(hn_builder *b, hn_val acc, hn_val sx, hn_val sw, hn_val sy, hn_val zero);
/* u8 with scale and zero point out of the range of x, which is widened to hold 0. A range of 0 has scale 1. */
typedef struct hn_dynamic {
    hn_val y, scale, zero;
} hn_dynamic;
hn_dynamic hn_quantise_dynamic(hn_builder *b, hn_val x);

void hn_lower_quantize(hn_lower *c);
void hn_lower_dequantize(hn_lower *c);

#endif
