/* unfold.c — elements of an image put elsewhere: between channels and space, unpooled, columns folded back. */
#include "compose/image.h"

/* --- depth and space --------------------------------------------------------------------------------------------- */

static hn_val rearranged(hn_builder *b, hn_val x, const hn_dim *six, const int64_t *perm, const hn_dim *four) {
    return hn_reshape(b, hn_transpose(b, hn_reshape(b, x, 6, six), perm), 4, four);
}

hn_val hn_depth_to_space(hn_builder *b, hn_val x, int64_t block, bool depth_first) {
    hn_dims *t = b->g->dims;
    hn_type s = *hn_t(b, x);
    hn_dim k = hn_lit(b, block), deep = hn_dim_floordiv(t, s.dim[1], hn_lit(b, block * block)), n = s.dim[0],
           h = s.dim[2], w = s.dim[3];
    hn_dim four[] = {n, deep, hn_dim_mul(t, h, k), hn_dim_mul(t, w, k)};
    if (depth_first) return rearranged(b, x, (hn_dim[]){n, deep, k, k, h, w}, (int64_t[]){0, 1, 4, 2, 5, 3}, four);
    return rearranged(b, x, (hn_dim[]){n, k, k, deep, h, w}, (int64_t[]){0, 3, 4, 1, 5, 2}, four);
}

hn_val hn_space_to_depth(hn_builder *b, hn_val x, int64_t block, bool depth_first) {
    hn_dims *t = b->g->dims;
    hn_type s = *hn_t(b, x);
    hn_dim k = hn_lit(b, block), h = hn_dim_floordiv(t, s.dim[2], k), w = hn_dim_floordiv(t, s.dim[3], k);
    hn_dim six[] = {s.dim[0], s.dim[1], h, k, w, k};
    hn_dim four[] = {s.dim[0], hn_dim_mul(t, s.dim[1], hn_lit(b, block * block)), h, w};
    return rearranged(b, x, six, depth_first ? (int64_t[]){0, 1, 3, 5, 2, 4} : (int64_t[]){0, 3, 5, 1, 2, 4}, four);
}

/* --- unpooling, folding of columns -------------------------------------------------------------------------------- */

/* Scatters x into zeros of `size` elements; index and x have the same shape. */
static hn_val scatter_flat(hn_builder *b, hn_val x, hn_val index, hn_dim size, const char *mode) {
    hn_dim count = hn_dim_product(b, x, 0, hn_rank(b, x));
    hn_val in[] = {hn_full(b, hn_dt(b, x), 1, &size, 0), hn_reshape(b, index, 1, &count), hn_reshape(b, x, 1, &count)};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 0), hn_a_word(HN_A_MODE, mode)};
    return hn_emit(b->g, b->b, HN_OP_SCATTER_ELEMENTS, 3, in, 2, attr, 1);
}

hn_val hn_unpool(hn_builder *b, hn_val x, hn_val index, const hn_dim *shape) {
    size_t rank = hn_rank(b, x);
    hn_dim size = hn_lit(b, 1);
    for (size_t i = 0; i < rank; i++) size = hn_dim_mul(b->g->dims, size, shape[i]);
    return hn_reshape(b, scatter_flat(b, x, index, size, "set"), rank, shape);
}

/* Where in the padded image element `kernel…` of block `…` lies: i64 [kernel…, blocks…]. */
static hn_val fold_index(hn_builder *b, const hn_fold *f, const hn_dim *padded) {
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

/* A scatter with addition over the padded image, all (n, c) planes at once, whose border is cut off again. */
hn_val hn_fold_columns(hn_builder *b, hn_val x, const hn_fold *f) {
    hn_dims *t = b->g->dims;
    hn_dim padded[HN_RANK_MAX], size = hn_lit(b, 1), taps = hn_lit(b, 1), blocks = hn_lit(b, 1);
    for (size_t i = 0; i < f->n; i++) {
        padded[i] = hn_dim_add(t, f->image[i], hn_lit(b, f->pad[i] + f->pad[f->n + i]));
        size = hn_dim_mul(t, size, padded[i]);
        taps = hn_dim_mul(t, taps, f->kernel[i]);
        blocks = hn_dim_mul(t, blocks, f->blocks[i]);
    }
    hn_dim channels = hn_dim_floordiv(t, hn_dim_of(b, x, 1), taps),
           planes = hn_dim_mul(t, hn_dim_of(b, x, 0), channels);
    hn_dim spread = hn_dim_mul(t, taps, blocks), two[] = {planes, spread};
    hn_val one = hn_reshape(b, fold_index(b, f, padded), 1, &spread);
    hn_val base = hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_I64, 2, two, 0), hn_size_value(b, size, HONE_I64));
    hn_val index = hn_bin(b, HN_OP_ADD, base, one);
    hn_val y = scatter_flat(b, hn_reshape(b, x, 2, two), index, hn_dim_mul(t, planes, size), "add");
    hn_dim shape[HN_RANK_MAX] = {hn_dim_of(b, x, 0), channels};
    for (size_t i = 0; i < f->n; i++) shape[i + 2] = padded[i];
    y = hn_reshape(b, y, f->n + 2, shape);
    for (size_t i = 0; i < f->n; i++)
        if (f->pad[i] || f->pad[f->n + i])
            y = hn_slice_axis(b, y, (int64_t)i + 2, hn_lit(b, f->pad[i]), f->image[i], 1);
    return y;
}
