/* lower_image.c — the family of image operators: its table, and the rearrangements. */
#include "onnx/lower_image_int.h"

#include <string.h>

/* -- depth and space */

static bool read_block(hn_lower *c, int64_t *block) {
    *block = hn_int(c, "blocksize", 0);
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 4, 4)) return false;
    if (*block > 0 && *block < INT16_MAX) return true;
    hn_wrong(c, "blocksize %lld", (long long)*block);
    return false;
}

/* The row's number is 1 where depth becomes space. */
static void depth_and_space(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t block;
    if (!read_block(c, &block)) return;
    const char *mode = hn_string(c, "mode", "DCR");
    bool depth_first = !strcmp(mode, "CRD");
    if (!depth_first && strcmp(mode, "DCR") != 0)
        hn_wrong(c, "mode '%s'", mode);
    else
        hn_out(c, 0, (hn_lower_arg(c) ? hn_depth_to_space : hn_space_to_depth)(b, hn_in(c, 0), block, depth_first));
}

/* -- crop and pad around the centre: one of the two does nothing along each axis */

static void center_crop_pad(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    hn_dim want[HN_RANK_MAX], zero = hn_lit(b, 0), two = hn_lit(b, 2);
    const int64_t *axes;
    size_t n, n_axes = hn_ints(c, "axes", &axes);
    if (!hn_need(c, 2) || !hn_in_dims(c, 1, want, HN_RANK_MAX, &n)) return;
    hn_val v = hn_in(c, 0);
    size_t rank = hn_rank(b, v);
    if (n != (n_axes ? n_axes : rank)) {
        hn_wrong(c, "%zu sizes for %zu axes", n, n_axes ? n_axes : rank);
        return;
    }
    for (size_t i = 0; i < n && !hn_lower_failed(c); i++) {
        int64_t axis = n_axes ? hn_axis(c, axes[i], rank) : (int64_t)i;
        hn_dim have = hn_dim_of(b, v, (size_t)axis), less = hn_dim_min(t, have, want[i]);
        hn_dim cut = hn_dim_floordiv(t, hn_dim_sub(t, have, less), two);
        hn_dim add = hn_dim_sub(t, want[i], less), front = hn_dim_floordiv(t, add, two);
        if (hn_dim_equal(t, have, want[i]) == HN_EQUAL) continue;
        if (hn_dim_equal(t, less, have) != HN_EQUAL) v = hn_slice_axis(b, v, axis, cut, less, 1);
        if (hn_dim_equal(t, add, zero) != HN_EQUAL) v = hn_pad_axis(b, v, axis, front, hn_dim_sub(t, add, front), 0);
    }
    hn_out(c, 0, v);
}

/* -- unpooling, folding of columns */

static bool list_of(hn_lower *c, const char *name, size_t n, int64_t otherwise, int64_t *out) {
    const int64_t *list;
    size_t m = hn_ints(c, name, &list);
    if (m && m != n) hn_wrong(c, "'%s' has %zu entries instead of %zu", name, m, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = m == n ? list[i] : otherwise;
        if (out[i] < INT32_MIN || out[i] > INT32_MAX) hn_wrong(c, "'%s' holds %lld", name, (long long)out[i]);
    }
    return !hn_lower_failed(c);
}

/* The indices are flat in the shape that the pooled tensor had; output_shape may ask for more behind it. */
static void max_unpool(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 3, HN_RANK_MAX)) return;
    hn_val x = hn_in(c, 0);
    size_t rank = hn_rank(b, x), n = rank - 2, got;
    int64_t kernel[HN_RANK_MAX], stride[HN_RANK_MAX], pad[2 * HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX], want[HN_RANK_MAX];
    if (!list_of(c, "kernel_shape", n, 0, kernel) || !list_of(c, "strides", n, 1, stride) ||
        !list_of(c, "pads", 2 * n, 0, pad))
        return;
    for (size_t i = 0; i < rank; i++) {
        shape[i] = hn_dim_of(b, x, i);
        if (i >= 2) {
            size_t d = i - 2;
            hn_dim steps = hn_dim_mul(t, hn_dim_sub(t, shape[i], hn_lit(b, 1)), hn_lit(b, stride[d]));
            shape[i] = hn_dim_add(t, steps, hn_lit(b, kernel[d] - pad[d] - pad[n + d]));
        }
    }
    hn_val y = hn_unpool(b, x, hn_in(c, 1), shape);
    if (hn_has_in(c, 2)) {
        if (!hn_in_dims(c, 2, want, HN_RANK_MAX, &got)) return;
        if (got != rank) hn_wrong(c, "output_shape has %zu entries for rank %zu", got, rank);
        for (size_t i = 0; i < rank && !hn_lower_failed(c); i++)
            if (hn_dim_equal(t, want[i], shape[i]) != HN_EQUAL)
                y = hn_pad_axis(b, y, (int64_t)i, hn_lit(b, 0), hn_dim_sub(t, want[i], shape[i]), 0);
    }
    hn_out(c, 0, y);
}

static bool read_fold(hn_lower *c, hn_fold *f) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    size_t n;
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 3, 3) || !hn_in_dims(c, 1, f->image, HN_RANK_MAX / 2, &f->n) ||
        !hn_in_dims(c, 2, f->kernel, HN_RANK_MAX, &n))
        return false;
    if (n != f->n) hn_wrong(c, "image_shape has %zu entries, block_shape %zu", f->n, n);
    if (hn_lower_failed(c) || !list_of(c, "dilations", n, 1, f->dilation) || !list_of(c, "strides", n, 1, f->stride) ||
        !list_of(c, "pads", 2 * n, 0, f->pad))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (f->stride[i] < 1 || f->dilation[i] < 1) {
            hn_wrong(c, "a stride or dilation below 1");
            return false;
        }
        hn_dim extent = hn_dim_mul(t, hn_dim_sub(t, f->kernel[i], hn_lit(b, 1)), hn_lit(b, f->dilation[i]));
        hn_dim room = hn_dim_sub(t, hn_dim_add(t, f->image[i], hn_lit(b, f->pad[i] + f->pad[n + i] - 1)), extent);
        f->blocks[i] = hn_dim_add(t, hn_dim_floordiv(t, room, hn_lit(b, f->stride[i])), hn_lit(b, 1));
    }
    return true;
}

static void col2im(hn_lower *c) {
    hn_fold f;
    if (read_fold(c, &f)) hn_out(c, 0, hn_fold_columns(hn_lower_builder(c), hn_in(c, 0), &f));
}

/* -- RoiAlign */

static void roi_align(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 4, 4) || !hn_need_rank(c, 1, 2, 2) || !hn_need_rank(c, 2, 1, 1)) return;
    const char *where =
        hn_string(c, "coordinate_transformation_mode", hn_lower_opset(c) < 16 ? "output_half_pixel" : "half_pixel");
    const char *mode = hn_string(c, "mode", "avg");
    hn_roi_align how = {.bins = {hn_int(c, "output_height", 1), hn_int(c, "output_width", 1)},
                        .ratio = hn_int(c, "sampling_ratio", 0),
                        .scale = hn_float(c, "spatial_scale", 1),
                        .half_pixel = !strcmp(where, "half_pixel"),
                        .largest = !strcmp(mode, "max")};
    if (!how.half_pixel && strcmp(where, "output_half_pixel") != 0)
        hn_wrong(c, "coordinate_transformation_mode '%s'", where);
    if (!how.largest && strcmp(mode, "avg") != 0) hn_wrong(c, "mode '%s'", mode);
    if (how.bins[0] < 1 || how.bins[1] < 1 || how.ratio > INT16_MAX) hn_wrong(c, "output sizes and sampling_ratio");
    if (hn_lower_failed(c)) return;
    hn_val y = hn_align_regions(b, hn_in(c, 0), hn_in(c, 1), hn_in(c, 2), &how);
    if (y) hn_out_as(c, 0, y, hn_dt(b, hn_in(c, 0)));
}

const hn_lower_row hn_lower_image[] = {
    {"", "Resize", 10, HN_OPSET_MAX, hn_lower_resize, 0},
    {"", "Upsample", 1, 9, hn_lower_upsample, 0},
    {"", "GridSample", 16, HN_OPSET_MAX, hn_lower_grid_sample, 0},
    {"", "AffineGrid", 20, HN_OPSET_MAX, hn_lower_affine_grid, 0},
    {"", "RoiAlign", 10, HN_OPSET_MAX, roi_align, 0},
    {"", "DeformConv", 19, HN_OPSET_MAX, hn_lower_deform_conv, 0},
    {"", "CenterCropPad", 18, HN_OPSET_MAX, center_crop_pad, 0},
    {"", "Col2Im", 18, HN_OPSET_MAX, col2im, 0},
    {"", "MaxUnpool", 9, HN_OPSET_MAX, max_unpool, 0},
    {"", "DepthToSpace", 1, HN_OPSET_MAX, depth_and_space, 1},
    {"", "SpaceToDepth", 1, HN_OPSET_MAX, depth_and_space, 0},
    {0},
};
