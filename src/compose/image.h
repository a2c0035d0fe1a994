/* compose/image.h — images [N, C, spatial…]: values between pixels. Errors: as in compose.h. */
#ifndef HN_COMPOSE_IMAGE_H
#define HN_COMPOSE_IMAGE_H

#include "compose/compose.h"

/* --- between.c ---------------------------------------------------------------------------------------------------- */

/* Interpolation kernels of the distance |d|: a triangle, and Keys' cubic convolution with coefficient a. */
hn_val hn_kernel_linear(hn_builder *b, hn_val d);
hn_val hn_kernel_cubic(hn_builder *b, hn_val d, double a);

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

#endif
