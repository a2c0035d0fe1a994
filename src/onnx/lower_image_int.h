/* onnx/lower_image_int.h — the parts of the family hn_lower_image. */
#ifndef HN_LOWER_IMAGE_INT_H
#define HN_LOWER_IMAGE_INT_H

#include "onnx/lower_vec.h"

/* lower_image.c */
hn_val hn_size_value(hn_builder *b, hn_dim d, hone_dtype t); /* a dimension as a scalar */
hn_val hn_clip(hn_builder *b, hn_val x, hn_val low, hn_val high);
/* Interpolation kernels of the distance |d|: a triangle, and Keys' cubic convolution with coefficient a. */
hn_val hn_kernel_linear(hn_builder *b, hn_val d);
hn_val hn_kernel_cubic(hn_builder *b, hn_val d, double a);

/* lower_image_resize.c */
void hn_lower_resize(hn_lower *c);
void hn_lower_upsample(hn_lower *c);

/* lower_image_sample.c: values of an image between its pixels. */
typedef enum hn_sampling { HN_NEAREST, HN_LINEAR, HN_CUBIC } hn_sampling;
typedef enum hn_outside { HN_ZEROS, HN_BORDER, HN_REFLECTION } hn_outside;
typedef struct hn_sampler {
    hn_sampling mode;
    hn_outside outside;
    bool align_corners;
} hn_sampler;
/* x [N, C, spatial…] at the points whose coordinate along spatial dimension i is at[i] [N, points], in pixels: [N, C,
 * points]. */
hn_val hn_sample(hn_builder *b, hn_val x, const hn_val *at, hn_sampler s);
void hn_lower_grid_sample(hn_lower *c);
void hn_lower_affine_grid(hn_lower *c);
void hn_lower_deform_conv(hn_lower *c);
/* lower_image_roi.c */
void hn_lower_roi_align(hn_lower *c);

#endif
