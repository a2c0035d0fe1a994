/* sample.c — images sampled at computed points: by a grid, by an affine map, by a convolution with moved windows. */
#include "compose/image.h"

/* --- grids -------------------------------------------------------------------------------------------------------- */

/* From [-1, 1] to pixels. */
static hn_val denormalised(hn_builder *b, hn_val g, hn_dim size, bool align_corners) {
    hn_val n = hn_size_value(b, size, hn_dt(b, g)), up = hn_bin_f(b, HN_OP_ADD, g, 1);
    if (align_corners) return hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_MUL, up, 0.5), hn_bin_f(b, HN_OP_SUB, n, 1));
    return hn_bin_f(b, HN_OP_MUL, hn_bin_f(b, HN_OP_SUB, hn_bin(b, HN_OP_MUL, up, n), 1), 0.5);
}

hn_val hn_grid_sample(hn_builder *b, hn_val x, hn_val grid, hn_image_sampler s) {
    size_t rank = hn_rank(b, x), n = rank - 2;
    hone_dtype t = hn_dt(b, x);
    hn_val at[HN_RANK_MAX];
    hn_val g = hn_work(b, grid);
    hn_dim points[] = {hn_dim_of(b, grid, 0), hn_dim_product(b, grid, 1, rank - 1)}, shape[HN_RANK_MAX];
    for (size_t i = 0; i < n; i++) { /* x comes first in the grid */
        hn_val one = hn_slice_axis(b, g, (int64_t)rank - 1, hn_lit(b, (int64_t)(n - 1 - i)), hn_lit(b, 1), 1);
        at[i] = denormalised(b, hn_reshape(b, one, 2, points), hn_dim_of(b, x, i + 2), s.align_corners);
    }
    for (size_t i = 0; i < rank; i++) shape[i] = i < 2 ? hn_dim_of(b, x, i) : hn_dim_of(b, grid, i - 1);
    hn_val data = s.mode != HN_NEAREST && !hn_is_float(t) ? hn_cast(b, x, HONE_F32) : hn_work(b, x);
    return hn_reshape(b, hn_sample(b, data, at, s), rank, shape);
}

/* Centres of the pixels (or the corners, aligned) of a dimension in [-1, 1], along `axis` of the grid's shape. */
static hn_val base_coordinates(hn_builder *b, const hn_dim *shape, size_t n, size_t axis, bool align, hone_dtype t) {
    hn_val i = hn_iota(b, t, n, shape, axis), size = hn_size_value(b, shape[axis], t);
    if (align)
        return hn_bin_f(b, HN_OP_SUB,
                        hn_bin(b, HN_OP_DIV, hn_bin_f(b, HN_OP_MUL, i, 2), hn_bin_f(b, HN_OP_SUB, size, 1)), 1);
    hn_val twice = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, i, 2), 1);
    return hn_bin_f(b, HN_OP_SUB, hn_bin(b, HN_OP_DIV, twice, size), 1);
}

hn_val hn_affine_grid(hn_builder *b, hn_val affine, const hn_dim *size, size_t rank, bool align) {
    hn_val theta = hn_work(b, affine), part[HN_RANK_MAX];
    hn_dim points = hn_lit(b, 1), all[HN_RANK_MAX];
    size_t n = rank - 2;
    hone_dtype t = hn_dt(b, theta);
    for (size_t i = 0; i < n; i++) points = hn_dim_mul(b->g->dims, points, size[i + 2]);
    hn_dim row[] = {points, hn_lit(b, 1)};
    for (size_t i = 0; i < n; i++) /* x first */
        part[i] = hn_reshape(b, base_coordinates(b, size + 2, n, n - 1 - i, align, t), 2, row);
    part[n] = hn_full(b, t, 2, row, 1);
    hn_val base = hn_concat(b, n + 1, part, 1); /* [points, n + 1] */
    hn_val y = hn_contract(b, base, theta, (int64_t[]){0, 1}, (int64_t[]){2, 3, 1}, 3, (int64_t[]){2, 0, 3}, t);
    all[0] = size[0];
    for (size_t i = 0; i < n; i++) all[i + 1] = size[i + 2];
    all[n + 1] = hn_lit(b, (int64_t)n);
    return hn_reshape(b, y, n + 2, all);
}

/* --- convolution: the image sampled at every (shifted) window element, then one without a window ----------------- */

/* Coordinate along spatial dimension i of every window element of every result: [batch * offset groups, taps * out]. */
static hn_val deform_at(hn_builder *b, const hn_deform *d, hn_val moves, size_t i) {
    hn_dims *t = b->g->dims;
    hn_val offset = hn_work(b, moves);
    hone_dtype ft = hn_dt(b, offset);
    hn_dim grid[2 * HN_RANK_MAX], planes = hn_dim_mul(t, d->batch, hn_lit(b, d->offset_groups));
    for (size_t k = 0; k < d->n; k++) grid[k] = hn_lit(b, d->kernel[k]), grid[d->n + k] = d->out_shape[k];
    hn_val tap = hn_bin_f(b, HN_OP_MUL, hn_iota(b, ft, 2 * d->n, grid, i), (double)d->w.dilation[i]);
    hn_val at = hn_bin_f(b, HN_OP_MUL, hn_iota(b, ft, 2 * d->n, grid, d->n + i), (double)d->w.stride[i]);
    hn_val base = hn_bin(b, HN_OP_SUB, hn_bin(b, HN_OP_ADD, tap, at), hn_size_value(b, d->w.low[i], ft));
    hn_dim points[] = {hn_dim_mul(t, hn_lit(b, d->taps), d->out)};
    hn_dim split[] = {planes, hn_lit(b, d->taps), hn_lit(b, (int64_t)d->n), d->out}, two[] = {planes, points[0]};
    hn_val own = hn_slice_axis(b, hn_reshape(b, offset, 4, split), 2, hn_lit(b, (int64_t)i), hn_lit(b, 1), 1);
    return hn_bin(b, HN_OP_ADD, hn_reshape(b, own, 2, two), hn_reshape(b, base, 1, points));
}

hn_val hn_deform_conv(hn_builder *b, hn_val image, hn_val kernels, hn_val moves, hn_val bias, hn_val mask,
                      const hn_deform *d) {
    hn_dims *t = b->g->dims;
    hn_val at[HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX];
    hn_val x = hn_work(b, image), w = hn_work(b, kernels);
    hn_dim og = hn_lit(b, d->offset_groups), planes = hn_dim_mul(t, d->batch, og), channels = hn_dim_of(b, x, 1);
    for (size_t i = 0; i < d->n; i++) at[i] = deform_at(b, d, moves, i);
    shape[0] = planes, shape[1] = hn_dim_floordiv(t, channels, og);
    for (size_t i = 0; i < d->n; i++) shape[i + 2] = hn_dim_of(b, x, i + 2);
    hn_val v = hn_sample(b, hn_reshape(b, x, d->n + 2, shape), at, (hn_image_sampler){HN_LINEAR, HN_ZEROS, true});
    hn_dim taps = hn_lit(b, d->taps), points = hn_dim_mul(t, taps, d->out);
    if (mask) {
        hn_val m = hn_reshape(b, hn_work(b, mask), 3, (hn_dim[]){planes, hn_lit(b, 1), points});
        v = hn_bin(b, HN_OP_MUL, v, m);
    }
    /* [batch, group, channels of a group, taps, out] with [group, results of a group, channels of a group, taps] */
    hn_dim g = hn_lit(b, d->groups), results = hn_dim_of(b, w, 0), per = hn_dim_floordiv(t, channels, g);
    v = hn_reshape(b, v, 5, (hn_dim[]){d->batch, g, per, taps, d->out});
    hn_val k = hn_reshape(b, w, 4, (hn_dim[]){g, hn_dim_floordiv(t, results, g), per, taps});
    hn_val y = hn_contract(b, v, k, (int64_t[]){0, 1, 2, 3, 4}, (int64_t[]){1, 5, 2, 3}, 4, (int64_t[]){0, 1, 5, 4},
                           hn_dt(b, v));
    shape[0] = d->batch, shape[1] = results;
    for (size_t i = 0; i < d->n; i++) shape[i + 2] = d->out_shape[i];
    y = hn_reshape(b, y, d->n + 2, shape);
    if (bias) y = hn_bin(b, HN_OP_ADD, y, hn_along(b, hn_work(b, bias), d->n + 2, 1));
    return y;
}
