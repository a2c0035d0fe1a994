/* compose/image.h — images [N, C, spatial…]: pools, values between pixels. Errors: as in compose.h. */
#ifndef HN_COMPOSE_IMAGE_H
#define HN_COMPOSE_IMAGE_H

#include "compose/compose.h"

/* --- between.c ---------------------------------------------------------------------------------------------------- */

/* Interpolation kernels of the distance |d|: a triangle, and Keys' cubic convolution with coefficient a. */
hn_val hn_kernel_linear(hn_builder *b, hn_val d);
hn_val hn_kernel_cubic(hn_builder *b, hn_val d, double a);

typedef enum hn_image_sampling { HN_NEAREST, HN_LINEAR, HN_CUBIC } hn_image_sampling;
typedef enum hn_outside { HN_ZEROS, HN_BORDER, HN_REFLECTION } hn_outside;
typedef struct hn_image_sampler {
    hn_image_sampling mode;
    hn_outside outside;
    bool align_corners;
} hn_image_sampler;
/* x [N, C, spatial…] at the points whose coordinate along spatial dimension i is at[i] [N, points], in pixels: [N, C,
 * points]. */
hn_val hn_sample(hn_builder *b, hn_val x, const hn_val *at, hn_image_sampler s);

/* --- pools.c: averages and norms of floats below 32 bits are computed in f32 ---------------------------------------
 */

hn_val hn_average_pool(hn_builder *b, hn_val x, const hn_window *w, bool with_pad); /* with_pad: padding counts */
hn_val hn_lp_pool(hn_builder *b, hn_val x, const hn_window *w, double p);           /* p > 0 */
/* Over all spatial dimensions, which stay as 1. op: HN_OP_RSUM the mean, HN_OP_RMAX the largest, HN_OP_POW the p-norm
 */
hn_val hn_global_pool(hn_builder *b, hn_op op, hn_val x, double p);
/* x / (bias + alpha / size * sum of squares over `size` neighbouring channels)^beta, rank 2 or more. */
hn_val hn_response_norm(hn_builder *b, hn_val x, int64_t size, double alpha, double beta, double bias);
/* x [N, C, H, W], rois [R, 5] (image, then corners in pixels / scale): the largest of each cell, [R, C, pooled]. */
hn_val hn_max_roi_pool(hn_builder *b, hn_val x, hn_val rois, const int64_t pooled[2], double scale);

#endif
