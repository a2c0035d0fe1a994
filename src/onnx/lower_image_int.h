/* onnx/lower_image_int.h — the parts of the family hn_lower_image. */
#ifndef HN_LOWER_IMAGE_INT_H
#define HN_LOWER_IMAGE_INT_H

#include "compose/image.h"
#include "onnx/lower_vec.h"

/* lower_image_resize.c */
void hn_lower_resize(hn_lower *c);
void hn_lower_upsample(hn_lower *c);

/* lower_image_sample.c */
void hn_lower_grid_sample(hn_lower *c);
void hn_lower_affine_grid(hn_lower *c);
void hn_lower_deform_conv(hn_lower *c);

#endif
