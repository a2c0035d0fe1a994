/* lower_image.c — the family of image operators: its table, and the rearrangements. */
#include "onnx/lower_image_int.h"

#include <string.h>

/* -- depth and space */

static hn_val rearranged(hn_builder *b, hn_val x, const hn_dim *six, const int64_t *perm, const hn_dim *four) {
    return hn_reshape(b, hn_transpose(b, hn_reshape(b, x, 6, six), perm), 4, four);
}

static bool read_block(hn_lower *c, int64_t *block) {
    *block = hn_int(c, "blocksize", 0);
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 4, 4)) return false;
    if (*block > 0 && *block < INT16_MAX) return true;
    hn_wrong(c, "blocksize %lld", (long long)*block);
    return false;
}

static void depth_to_space(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    int64_t s;
    if (!read_block(c, &s)) return;
    hn_type x = *hn_t(b, hn_in(c, 0));
    hn_dim k = hn_lit(b, s), deep = hn_dim_floordiv(t, x.dim[1], hn_lit(b, s * s)), n = x.dim[0], h = x.dim[2],
           w = x.dim[3];
    hn_dim four[] = {n, deep, hn_dim_mul(t, h, k), hn_dim_mul(t, w, k)};
    const char *mode = hn_string(c, "mode", "DCR");
    if (!strcmp(mode, "DCR"))
        hn_out(c, 0, rearranged(b, hn_in(c, 0), (hn_dim[]){n, k, k, deep, h, w}, (int64_t[]){0, 3, 4, 1, 5, 2}, four));
    else if (!strcmp(mode, "CRD"))
        hn_out(c, 0, rearranged(b, hn_in(c, 0), (hn_dim[]){n, deep, k, k, h, w}, (int64_t[]){0, 1, 4, 2, 5, 3}, four));
    else
        hn_wrong(c, "mode '%s'", mode);
}

static void space_to_depth(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    int64_t s;
    if (!read_block(c, &s)) return;
    hn_type x = *hn_t(b, hn_in(c, 0));
    hn_dim k = hn_lit(b, s), h = hn_dim_floordiv(t, x.dim[2], k), w = hn_dim_floordiv(t, x.dim[3], k);
    hn_dim six[] = {x.dim[0], x.dim[1], h, k, w, k};
    hn_dim four[] = {x.dim[0], hn_dim_mul(t, x.dim[1], hn_lit(b, s * s)), h, w};
    const char *mode = hn_string(c, "mode", "DCR");
    if (!strcmp(mode, "DCR"))
        hn_out(c, 0, rearranged(b, hn_in(c, 0), six, (int64_t[]){0, 3, 5, 1, 2, 4}, four));
    else if (!strcmp(mode, "CRD"))
        hn_out(c, 0, rearranged(b, hn_in(c, 0), six, (int64_t[]){0, 1, 3, 5, 2, 4}, four));
    else
        hn_wrong(c, "mode '%s'", mode);
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

/* Scatters x into zeros of `size` elements; index and x have the same shape. */
static hn_val scatter_flat(hn_builder *b, hn_val x, hn_val index, hn_dim size, const char *mode) {
    hn_dim count = hn_dim_product(b, x, 0, hn_rank(b, x));
    hn_val in[] = {hn_full(b, hn_dt(b, x), 1, &size, 0), hn_reshape(b, index, 1, &count), hn_reshape(b, x, 1, &count)};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 0), hn_a_word(HN_A_MODE, mode)};
    return hn_emit(b->g, b->b, HN_OP_SCATTER_ELEMENTS, 3, in, 2, attr, 1);
}

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
    hn_dim shape[HN_RANK_MAX], want[HN_RANK_MAX], size = hn_lit(b, 1);
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
        size = hn_dim_mul(t, size, shape[i]);
    }
    hn_val y = hn_reshape(b, scatter_flat(b, x, hn_in(c, 1), size, "set"), rank, shape);
    if (hn_has_in(c, 2)) {
        if (!hn_in_dims(c, 2, want, HN_RANK_MAX, &got)) return;
        if (got != rank) hn_wrong(c, "output_shape has %zu entries for rank %zu", got, rank);
        for (size_t i = 0; i < rank && !hn_lower_failed(c); i++)
            if (hn_dim_equal(t, want[i], shape[i]) != HN_EQUAL)
                y = hn_pad_axis(b, y, (int64_t)i, hn_lit(b, 0), hn_dim_sub(t, want[i], shape[i]), 0);
    }
    hn_out(c, 0, y);
}

typedef struct fold {
    size_t n;
    int64_t dilation[HN_RANK_MAX], stride[HN_RANK_MAX], pad[2 * HN_RANK_MAX];
    hn_dim image[HN_RANK_MAX], kernel[HN_RANK_MAX], blocks[HN_RANK_MAX]; /* sizes; positions of the window */
} fold;

static bool read_fold(hn_lower *c, fold *f) {
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

/* Where in the padded image element `kernel…` of block `…` lies: i64 [kernel…, blocks…]. */
static hn_val fold_index(hn_builder *b, const fold *f, const hn_dim *padded) {
    hn_dim grid[HN_RANK_MAX];
    hn_val flat = 0;
    for (size_t i = 0; i < f->n; i++) {
        grid[i] = f->kernel[i];
        grid[f->n + i] = f->blocks[i];
    }
    for (size_t i = 0; i < f->n; i++) {
        hn_val tap = hn_bin_f(b, HN_OP_MUL, hn_iota(b, HONE_I64, 2 * f->n, grid, i), (double)f->dilation[i]);
        hn_val at = hn_bin_f(b, HN_OP_MUL, hn_iota(b, HONE_I64, 2 * f->n, grid, f->n + i), (double)f->stride[i]);
        hn_val p = hn_bin(b, HN_OP_ADD, tap, at);
        if (flat) flat = hn_bin(b, HN_OP_MUL, flat, hn_size_value(b, padded[i], HONE_I64));
        flat = flat ? hn_bin(b, HN_OP_ADD, flat, p) : p;
    }
    return flat;
}

/* Adds every column [C * kernel…, blocks…] back to where its window lay: a scatter with addition over the padded image,
 * all (n, c) planes at once, whose border is cut off again. */
static void col2im(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    fold f;
    if (!read_fold(c, &f)) return;
    hn_val x = hn_in(c, 0);
    hn_dim padded[HN_RANK_MAX], size = hn_lit(b, 1), taps = hn_lit(b, 1), blocks = hn_lit(b, 1);
    for (size_t i = 0; i < f.n; i++) {
        padded[i] = hn_dim_add(t, f.image[i], hn_lit(b, f.pad[i] + f.pad[f.n + i]));
        size = hn_dim_mul(t, size, padded[i]);
        taps = hn_dim_mul(t, taps, f.kernel[i]);
        blocks = hn_dim_mul(t, blocks, f.blocks[i]);
    }
    hn_dim channels = hn_dim_floordiv(t, hn_dim_of(b, x, 1), taps),
           planes = hn_dim_mul(t, hn_dim_of(b, x, 0), channels);
    hn_dim spread = hn_dim_mul(t, taps, blocks), two[] = {planes, spread};
    hn_val one = hn_reshape(b, fold_index(b, &f, padded), 1, &spread);
    hn_val base = hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_I64, 2, two, 0), hn_size_value(b, size, HONE_I64));
    hn_val index = hn_bin(b, HN_OP_ADD, base, one);
    hn_val y = scatter_flat(b, hn_reshape(b, x, 2, two), index, hn_dim_mul(t, planes, size), "add");
    hn_dim shape[HN_RANK_MAX] = {hn_dim_of(b, x, 0), channels};
    for (size_t i = 0; i < f.n; i++) shape[i + 2] = padded[i];
    y = hn_reshape(b, y, f.n + 2, shape);
    for (size_t i = 0; i < f.n; i++)
        if (f.pad[i] || f.pad[f.n + i]) y = hn_slice_axis(b, y, (int64_t)i + 2, hn_lit(b, f.pad[i]), f.image[i], 1);
    hn_out(c, 0, y);
}

const hn_lower_row hn_lower_image[] = {
    {"", "Resize", 10, HN_OPSET_MAX, hn_lower_resize, 0},
    {"", "Upsample", 1, 9, hn_lower_upsample, 0},
    {"", "GridSample", 16, HN_OPSET_MAX, hn_lower_grid_sample, 0},
    {"", "AffineGrid", 20, HN_OPSET_MAX, hn_lower_affine_grid, 0},
    {"", "RoiAlign", 10, HN_OPSET_MAX, hn_lower_roi_align, 0},
    {"", "DeformConv", 19, HN_OPSET_MAX, hn_lower_deform_conv, 0},
    {"", "CenterCropPad", 18, HN_OPSET_MAX, center_crop_pad, 0},
    {"", "Col2Im", 18, HN_OPSET_MAX, col2im, 0},
    {"", "MaxUnpool", 9, HN_OPSET_MAX, max_unpool, 0},
    {"", "DepthToSpace", 1, HN_OPSET_MAX, depth_to_space, 0},
    {"", "SpaceToDepth", 1, HN_OPSET_MAX, space_to_depth, 0},
    {0},
};
