/* compose/image.h — images [N, C, spatial…]: pools, values between pixels, sizes changed. Errors: as in compose.h. */
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

/* --- sample.c ------------------------------------------------------------------------------------------------------
 */

/* x [N, C, spatial…] at the points of grid [N, points…, n], x first, in [-1, 1]: [N, C, points…], in the working type.
 */
hn_val hn_grid_sample(hn_builder *b, hn_val x, hn_val grid, hn_image_sampler s);
/* The grid of an image of these sizes [N, C, spatial…], rank 4 or 5, under maps [N, n, n + 1], in the working type. */
hn_val hn_affine_grid(hn_builder *b, hn_val affine, const hn_dim *size, size_t rank, bool align);
typedef struct hn_deform {
    size_t n; /* spatial dimensions */
    int64_t kernel[HN_RANK_MAX], taps, groups, offset_groups;
    hn_window w;
    hn_dim batch, out, out_shape[HN_RANK_MAX]; /* number of result positions, and their shape */
} hn_deform;
/* A convolution of image [N, C, spatial…] whose window elements are moved by `moves` [N, offset groups * taps * n,
 * out…]; bias and mask, a factor of every window element, may be 0. In the working type. */
hn_val hn_deform_conv(hn_builder *b, hn_val image, hn_val kernels, hn_val moves, hn_val bias, hn_val mask,
                      const hn_deform *d);

/* --- unfold.c ------------------------------------------------------------------------------------------------------
 */

/* Blocks of block * block channels of x [N, C, H, W] become space, and back. depth_first: a block's channels lie beside
 * each other; else they are the slowest. */
hn_val hn_depth_to_space(hn_builder *b, hn_val x, int64_t block, bool depth_first);
hn_val hn_space_to_depth(hn_builder *b, hn_val x, int64_t block, bool depth_first);
/* Zeros of this shape, of x's rank, with x's elements at flat places `index`. */
hn_val hn_unpool(hn_builder *b, hn_val x, hn_val index, const hn_dim *shape);
typedef struct hn_fold {
    size_t n;
    int64_t dilation[HN_RANK_MAX], stride[HN_RANK_MAX], pad[2 * HN_RANK_MAX];
    hn_dim image[HN_RANK_MAX], kernel[HN_RANK_MAX], blocks[HN_RANK_MAX]; /* sizes; positions of the window */
} hn_fold;
/* Adds every column of x [N, C * kernel…, blocks…] back to where its window lay: [N, C, image…]. */
hn_val hn_fold_columns(hn_builder *b, hn_val x, const hn_fold *f);

/* --- roi_align.c ---------------------------------------------------------------------------------------------------
 */

typedef struct hn_roi_align {
    int64_t bins[2], ratio; /* bins high and wide; points of a bin in each direction, 0: as its size asks for */
    double scale;           /* of the regions' corners */
    bool half_pixel;        /* pixels lie at halves; else a region is at least one pixel large */
    bool largest;           /* of a bin's points; else their mean */
} hn_roi_align;
/* images [N, C, H, W], regions [R, 4] (x, y, x, y), image_of [R]: [R, C, bins], in the working type. 0: it failed. */
hn_val hn_align_regions(hn_builder *b, hn_val images, hn_val regions, hn_val image_of, const hn_roi_align *how);

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

/* --- resize.c: an image made larger or smaller along some of its axes ----------------------------------------------
 */

/* Input coordinate of result element y, s being the scale. */
typedef enum hn_coordinate {
    HN_ASYMMETRIC,         /* y / s */
    HN_HALF_PIXEL,         /* (y + 0.5) / s - 0.5 */
    HN_HALF_PIXEL_NEAREST, /* (y + 0.5) / s */
    HN_HALF_PIXEL_ONE,     /* as half pixel; one_at where the result has one element */
    HN_ALIGN_CORNERS,      /* first on first, last on last */
    HN_SYMMETRIC,          /* half pixel, centred where the size was rounded */
    HN_CROP,               /* of the region roi; outside it: extrapolation */
} hn_coordinate;
typedef enum hn_nearest_mode { HN_PREFER_FLOOR, HN_PREFER_CEIL, HN_FLOOR, HN_CEIL } hn_nearest_mode;
typedef struct hn_resize {
    size_t n; /* axes that may change */
    int64_t axis[HN_RANK_MAX];
    hn_image_sampling mode;
    hn_coordinate coordinate;
    hn_nearest_mode nearest; /* mode HN_NEAREST */
    hn_val roi;              /* HN_CROP: f64 [2 n], starts then ends, of 1 */
    double one_at, cubic_a, extrapolation;
    bool antialias;       /* not with HN_NEAREST */
    bool exclude_outside; /* elements outside of the image have no weight, instead of that of the border */
} hn_resize;
/* scales [n], a number for each axis. E_INPUT: one that is not above 0, or above 10^6; E_UNSUPPORTED: rank 16. */
hn_val hn_resize_scales(hn_builder *b, hn_val x, const hn_resize *o, hn_val scales, hone_err *err);
/* To these sizes; or one scale for all axes, so that none is larger, or smaller, than its size. */
typedef enum hn_keep { HN_STRETCH, HN_NOT_LARGER, HN_NOT_SMALLER } hn_keep;
hn_val hn_resize_sizes(hn_builder *b, hn_val x, const hn_resize *o, const hn_dim *size, hn_keep keep, hone_err *err);

#endif
