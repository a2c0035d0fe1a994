/* lower_image_sample.c — values between pixels: GridSample, AffineGrid, DeformConv. */
#include "onnx/lower_image_int.h"

#include <string.h>

/* -- GridSample */

static bool read_sampler(hn_lower *c, hn_image_sampler *s) {
    static const struct {
        const char *name;
        hn_image_sampling mode;
    } mode[] = {{"nearest", HN_NEAREST},
                {"linear", HN_LINEAR},
                {"bilinear", HN_LINEAR},
                {"cubic", HN_CUBIC},
                {"bicubic", HN_CUBIC}};
    static const char *const outside[] = {"zeros", "border", "reflection"};
    const char *m = hn_string(c, "mode", "linear"), *o = hn_string(c, "padding_mode", "zeros");
    size_t i = 0, k = 0;
    while (i < 5 && strcmp(m, mode[i].name) != 0) i++;
    while (k < 3 && strcmp(o, outside[k]) != 0) k++;
    if (i == 5) hn_wrong(c, "mode '%s'", m);
    if (k == 3) hn_wrong(c, "padding_mode '%s'", o);
    if (hn_lower_failed(c)) return false;
    *s = (hn_image_sampler){mode[i].mode, (hn_outside)k, hn_int(c, "align_corners", 0) != 0};
    return true;
}

/* From [-1, 1] to pixels. */
static hn_val denormalised(hn_builder *b, hn_val g, hn_dim size, bool align_corners) {
    hn_val n = hn_size_value(b, size, hn_dt(b, g)), up = hn_bin_f(b, HN_OP_ADD, g, 1);
    if (align_corners) return hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_MUL, up, 0.5), hn_bin_f(b, HN_OP_SUB, n, 1));
    return hn_bin_f(b, HN_OP_MUL, hn_bin_f(b, HN_OP_SUB, hn_bin(b, HN_OP_MUL, up, n), 1), 0.5);
}

void hn_lower_grid_sample(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_image_sampler s;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 3, HN_RANK_MAX - 1) || !read_sampler(c, &s)) return;
    hn_val x = hn_in(c, 0), grid = hn_in(c, 1), at[HN_RANK_MAX];
    size_t rank = hn_rank(b, x), n = rank - 2;
    hone_dtype t = hn_dt(b, x);
    if (!hn_need_rank(c, 1, rank, rank)) return;
    if (!hn_dim_is(b, hn_dim_of(b, grid, rank - 1), (int64_t)n)) {
        hn_wrong(c, "the last dimension of the grid must be %zu", n);
        return;
    }
    hn_val g = hn_work(b, grid);
    hn_dim points[] = {hn_dim_of(b, grid, 0), hn_dim_product(b, grid, 1, rank - 1)}, shape[HN_RANK_MAX];
    for (size_t i = 0; i < n; i++) { /* x comes first in the grid */
        hn_val one = hn_slice_axis(b, g, (int64_t)rank - 1, hn_lit(b, (int64_t)(n - 1 - i)), hn_lit(b, 1), 1);
        at[i] = denormalised(b, hn_reshape(b, one, 2, points), hn_dim_of(b, x, i + 2), s.align_corners);
    }
    for (size_t i = 0; i < rank; i++) shape[i] = i < 2 ? hn_dim_of(b, x, i) : hn_dim_of(b, grid, i - 1);
    hn_val data = s.mode != HN_NEAREST && !hn_is_float(t) ? hn_cast(b, x, HONE_F32) : hn_work(b, x);
    hn_out_as(c, 0, hn_reshape(b, hn_sample(b, data, at, s), rank, shape), t);
}

/* -- AffineGrid */

/* Centres of the pixels (or the corners, aligned) of a dimension in [-1, 1], along `axis` of the grid's shape. */
static hn_val base_coordinates(hn_builder *b, const hn_dim *shape, size_t n, size_t axis, bool align, hone_dtype t) {
    hn_val i = hn_iota(b, t, n, shape, axis), size = hn_size_value(b, shape[axis], t);
    if (align)
        return hn_bin_f(b, HN_OP_SUB,
                        hn_bin(b, HN_OP_DIV, hn_bin_f(b, HN_OP_MUL, i, 2), hn_bin_f(b, HN_OP_SUB, size, 1)), 1);
    hn_val twice = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, i, 2), 1);
    return hn_bin_f(b, HN_OP_SUB, hn_bin(b, HN_OP_DIV, twice, size), 1);
}

void hn_lower_affine_grid(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim size[HN_RANK_MAX], points = hn_lit(b, 1), all[HN_RANK_MAX];
    size_t rank;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 3, 3) || !hn_in_dims(c, 1, size, HN_RANK_MAX - 1, &rank)) return;
    if (rank < 4 || rank > 5) {
        hn_wrong(c, "'size' has %zu entries; 4 or 5 are possible", rank);
        return;
    }
    hn_val theta = hn_work(b, hn_in(c, 0)), part[HN_RANK_MAX];
    size_t n = rank - 2;
    hone_dtype t = hn_dt(b, theta);
    bool align = hn_int(c, "align_corners", 0) != 0;
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
    hn_out_as(c, 0, hn_reshape(b, y, n + 2, all), hn_dt(b, hn_in(c, 0)));
}

/* -- DeformConv: the image sampled at every (shifted) window element, then a convolution without a window */

typedef struct deform {
    size_t n;
    int64_t kernel[HN_RANK_MAX], taps, groups, offset_groups;
    hn_window w;
    hn_dim batch, out, out_shape[HN_RANK_MAX]; /* number of result positions, and their shape */
} deform;

static bool read_deform(hn_lower *c, deform *d) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 3, HN_RANK_MAX / 2)) return false;
    size_t rank = hn_rank(b, hn_in(c, 0));
    if (!hn_need_rank(c, 1, rank, rank) || !hn_need_rank(c, 2, rank, rank) || !hn_kernel_sizes(c, 1, d->kernel) ||
        !hn_window_read(c, hn_in(c, 0), d->kernel, &d->w))
        return false;
    d->n = rank - 2;
    d->groups = d->w.groups;
    d->offset_groups = hn_int(c, "offset_group", 1);
    d->taps = 1;
    d->batch = hn_dim_of(b, hn_in(c, 0), 0);
    d->out = hn_dim_product(b, hn_in(c, 2), 2, rank);
    for (size_t i = 0; i < d->n; i++) {
        d->taps *= d->kernel[i];
        d->out_shape[i] = hn_dim_of(b, hn_in(c, 2), i + 2);
    }
    int64_t channels;
    if (!hn_dim_known(b, hn_dim_of(b, hn_in(c, 0), 1), &channels))
        hn_refuse(c, "a number of channels that is not known");
    else if (d->offset_groups < 1 || channels % d->offset_groups || d->groups < 1 || channels % d->groups)
        hn_wrong(c, "%lld channels for %lld groups and %lld offset groups", (long long)channels, (long long)d->groups,
                 (long long)d->offset_groups);
    return !hn_lower_failed(c);
}

/* Coordinate along spatial dimension i of every window element of every result: [batch * offset groups, taps * out]. */
static hn_val deform_at(hn_lower *c, const deform *d, size_t i) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    hn_val offset = hn_work(b, hn_in(c, 2));
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

void hn_lower_deform_conv(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    deform d;
    hn_val at[HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX];
    if (!read_deform(c, &d)) return;
    hn_val x = hn_work(b, hn_in(c, 0)), w = hn_work(b, hn_in(c, 1));
    hn_dim og = hn_lit(b, d.offset_groups), planes = hn_dim_mul(t, d.batch, og), channels = hn_dim_of(b, x, 1);
    for (size_t i = 0; i < d.n; i++) at[i] = deform_at(c, &d, i);
    shape[0] = planes, shape[1] = hn_dim_floordiv(t, channels, og);
    for (size_t i = 0; i < d.n; i++) shape[i + 2] = hn_dim_of(b, x, i + 2);
    hn_val v = hn_sample(b, hn_reshape(b, x, d.n + 2, shape), at, (hn_image_sampler){HN_LINEAR, HN_ZEROS, true});
    hn_dim taps = hn_lit(b, d.taps), points = hn_dim_mul(t, taps, d.out);
    if (hn_has_in(c, 4)) {
        hn_val mask = hn_reshape(b, hn_work(b, hn_in(c, 4)), 3, (hn_dim[]){planes, hn_lit(b, 1), points});
        v = hn_bin(b, HN_OP_MUL, v, mask);
    }
    /* [batch, group, channels of a group, taps, out] with [group, results of a group, channels of a group, taps] */
    hn_dim g = hn_lit(b, d.groups), results = hn_dim_of(b, w, 0), per = hn_dim_floordiv(t, channels, g);
    v = hn_reshape(b, v, 5, (hn_dim[]){d.batch, g, per, taps, d.out});
    hn_val k = hn_reshape(b, w, 4, (hn_dim[]){g, hn_dim_floordiv(t, results, g), per, taps});
    hn_val y = hn_contract(b, v, k, (int64_t[]){0, 1, 2, 3, 4}, (int64_t[]){1, 5, 2, 3}, 4, (int64_t[]){0, 1, 5, 4},
                           hn_dt(b, v));
    shape[0] = d.batch, shape[1] = results;
    for (size_t i = 0; i < d.n; i++) shape[i + 2] = d.out_shape[i];
    y = hn_reshape(b, y, d.n + 2, shape);
    if (hn_has_in(c, 3)) y = hn_bin(b, HN_OP_ADD, y, hn_along(b, hn_work(b, hn_in(c, 3)), d.n + 2, 1));
    hn_out_as(c, 0, y, hn_dt(b, hn_in(c, 0)));
}
