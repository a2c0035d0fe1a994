/* lower_image_sample.c — values between pixels, read and checked: GridSample, AffineGrid, DeformConv. */
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

void hn_lower_grid_sample(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_image_sampler s;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 3, HN_RANK_MAX - 1) || !read_sampler(c, &s)) return;
    hn_val x = hn_in(c, 0), grid = hn_in(c, 1);
    size_t rank = hn_rank(b, x), n = rank - 2;
    if (!hn_need_rank(c, 1, rank, rank)) return;
    if (!hn_dim_is(b, hn_dim_of(b, grid, rank - 1), (int64_t)n)) {
        hn_wrong(c, "the last dimension of the grid must be %zu", n);
        return;
    }
    hn_out_as(c, 0, hn_grid_sample(b, x, grid, s), hn_dt(b, x));
}

/* -- AffineGrid */

void hn_lower_affine_grid(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim size[HN_RANK_MAX];
    size_t rank;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 3, 3) || !hn_in_dims(c, 1, size, HN_RANK_MAX - 1, &rank)) return;
    if (rank < 4 || rank > 5) {
        hn_wrong(c, "'size' has %zu entries; 4 or 5 are possible", rank);
        return;
    }
    hn_val grid = hn_affine_grid(b, hn_in(c, 0), size, rank, hn_int(c, "align_corners", 0) != 0);
    hn_out_as(c, 0, grid, hn_dt(b, hn_in(c, 0)));
}

/* -- DeformConv */

static bool read_deform(hn_lower *c, hn_deform *d) {
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

void hn_lower_deform_conv(hn_lower *c) {
    hn_deform d;
    if (!read_deform(c, &d)) return;
    hn_val bias = hn_has_in(c, 3) ? hn_in(c, 3) : 0, mask = hn_has_in(c, 4) ? hn_in(c, 4) : 0;
    hn_val y = hn_deform_conv(hn_lower_builder(c), hn_in(c, 0), hn_in(c, 1), hn_in(c, 2), bias, mask, &d);
    hn_out_as(c, 0, y, hn_dt(hn_lower_builder(c), hn_in(c, 0)));
}
