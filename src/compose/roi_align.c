/* roi_align.c — regions of images: each bin of each region is sampled at a grid of points, each point interpolated
 * between four pixels; the mean or the largest weighted pixel of a bin is the result.
 *
 * Regions, bins and points are dimensions [regions, bins high, bins wide, points high, points wide]. With
 * sampling_ratio 0 the number of points depends on a region's size: the largest number is bound at run time, and points
 * beyond a region's own number are masked.
 */
#include "compose/image.h"

#include <math.h>

typedef struct side {     /* one of the two directions; values broadcast to the five dimensions */
    hn_val low, high;     /* i64: the two pixels */
    hn_val w_low, w_high; /* their weights, 0 where the point lies outside the image */
    hn_val valid;         /* the point belongs to the region's grid; 0: all do */
    hn_val count;         /* f [regions]: number of points of a bin */
    hn_dim points;
} side;

typedef struct roi {
    hn_builder *b;
    hone_dtype t;
    hn_val regions; /* [R, 4], work type */
    hn_roi_align how;
} roi;

/* Column k of the regions, scaled: [R]. */
static hn_val corner(roi *r, int64_t k) {
    hn_builder *b = r->b;
    hn_val v = hn_squeeze(b, hn_slice_axis(b, r->regions, 1, hn_lit(b, k), hn_lit(b, 1), 1), 1);
    v = hn_bin_f(b, HN_OP_MUL, v, r->how.scale);
    return r->how.half_pixel ? hn_bin_f(b, HN_OP_SUB, v, 0.5) : v;
}

static hn_val five(roi *r, hn_val v, size_t axis) {
    hn_dim shape[5];
    for (size_t i = 0; i < 5; i++) shape[i] = i == axis ? hn_dim_of(r->b, v, 0) : hn_lit(r->b, 1);
    return hn_reshape(r->b, v, 5, shape);
}

static bool count_points(roi *r, side *s, hn_val size, size_t dir) {
    hn_builder *b = r->b;
    size_t n;
    if (r->how.ratio > 0) {
        s->points = hn_lit(b, r->how.ratio);
        s->count = hn_const_f(b, r->t, (double)r->how.ratio);
        return true;
    }
    s->count = hn_bin_f(b, HN_OP_MAX, hn_un(b, HN_OP_CEIL, hn_bin_f(b, HN_OP_DIV, size, (double)r->how.bins[dir])), 0);
    hn_val most = hn_reduce1(b, HN_OP_RMAX,
                             hn_concat(b, 2, (hn_val[]){s->count, hn_full(b, r->t, 1, (hn_dim[]){hn_lit(b, 1)}, 1)}, 0),
                             0, false);
    return hn_bind_dims(b, hn_cast(b, most, HONE_I64), "points", &s->points, 1, &n) && n == 1;
}

/* dir: 0 high, 1 wide. */
static bool make_side(roi *r, size_t dir, hn_dim pixels, side *s) {
    hn_builder *b = r->b;
    *s = (side){0};
    hn_val start = corner(r, dir ? 0 : 1), end = corner(r, dir ? 2 : 3), size = hn_bin(b, HN_OP_SUB, end, start);
    if (!r->how.half_pixel) size = hn_bin_f(b, HN_OP_MAX, size, 1);
    if (!count_points(r, s, size, dir)) return false;
    hn_dim bins = hn_lit(b, r->how.bins[dir]);
    hn_val bin = five(r, hn_bin_f(b, HN_OP_DIV, size, (double)r->how.bins[dir]), 0);
    hn_val k = five(r, hn_iota(b, r->t, 1, &bins, 0), 1 + dir),
           i = five(r, hn_iota(b, r->t, 1, &s->points, 0), 3 + dir);
    hn_val count = hn_rank(b, s->count) ? five(r, s->count, 0) : s->count;
    hn_val step = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_MUL, hn_bin_f(b, HN_OP_ADD, i, 0.5), bin),
                         hn_bin_f(b, HN_OP_MAX, count, 1));
    hn_val p = hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_ADD, five(r, start, 0), hn_bin(b, HN_OP_MUL, k, bin)), step);
    hn_val zero = hn_const_f(b, r->t, 0), pix = hn_size_value(b, pixels, r->t), last = hn_bin_f(b, HN_OP_SUB, pix, 1);
    hn_val outside = hn_bin(b, HN_OP_OR, hn_bin_f(b, HN_OP_LT, p, -1), hn_bin(b, HN_OP_LT, pix, p));
    if (r->how.ratio <= 0) s->valid = hn_bin(b, HN_OP_LT, i, count);
    p = hn_clip(b, p, zero, last);
    hn_val low = hn_un(b, HN_OP_FLOOR, p), part = hn_bin(b, HN_OP_SUB, p, low);
    s->low = hn_cast(b, low, HONE_I64);
    s->high = hn_cast(b, hn_bin(b, HN_OP_MIN, hn_bin_f(b, HN_OP_ADD, low, 1), last), HONE_I64);
    s->w_low = hn_where(b, outside, zero, hn_f_bin(b, HN_OP_SUB, 1, part));
    s->w_high = hn_where(b, outside, zero, part);
    return true;
}

/* data [C, all pixels]: the pixels at (y, x) of each region's image times the weights: [C, five dimensions]. */
static hn_val weighted(roi *r, hn_val data, hn_val base, hn_val width, hn_val y, hn_val x, hn_val wy, hn_val wx) {
    hn_builder *b = r->b;
    hn_val index = hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_ADD, base, hn_bin(b, HN_OP_MUL, y, width)), x);
    return hn_bin(b, HN_OP_MUL, hn_gather(b, data, index, 1), hn_bin(b, HN_OP_MUL, wy, wx));
}

static hn_val mean(roi *r, const hn_val part[4], const side *y, const side *x, hn_val valid) {
    hn_builder *b = r->b;
    hn_val sum = hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_ADD, part[0], part[1]), hn_bin(b, HN_OP_ADD, part[2], part[3]));
    if (valid) sum = hn_where(b, valid, sum, hn_const_f(b, r->t, 0));
    hn_val count = hn_bin_f(b, HN_OP_MAX, hn_bin(b, HN_OP_MUL, y->count, x->count), 1);
    if (hn_rank(b, count)) count = hn_along(b, count, 4, 1);
    return hn_bin(b, HN_OP_DIV, hn_reduce(b, HN_OP_RSUM, sum, 2, (int64_t[]){4, 5}, false), count);
}

static hn_val largest(roi *r, const hn_val part[4], hn_val valid) {
    hn_builder *b = r->b;
    hn_val low = hn_const_f(b, r->t, -(double)INFINITY);
    hn_val most = hn_bin(b, HN_OP_MAX, hn_bin(b, HN_OP_MAX, part[0], part[1]), hn_bin(b, HN_OP_MAX, part[2], part[3]));
    if (valid) most = hn_where(b, valid, most, low);
    hn_val y = hn_reduce(b, HN_OP_RMAX, most, 2, (int64_t[]){4, 5}, false);
    return valid ? hn_where(b, hn_bin(b, HN_OP_EQ, y, low), hn_const_f(b, r->t, 0), y) : y;
}

hn_val hn_align_regions(hn_builder *b, hn_val images, hn_val regions, hn_val image_of, const hn_roi_align *how) {
    roi own = {b, hn_work_type(hn_dt(b, images)), hn_cast(b, regions, hn_work_type(hn_dt(b, images))), *how}, *r = &own;
    hn_dims *t = b->g->dims;
    hn_val x = hn_work(b, images), part[4];
    hn_dim h = hn_dim_of(b, x, 2), w = hn_dim_of(b, x, 3), plane = hn_dim_mul(t, h, w);
    side sy, sx;
    if (!make_side(r, 0, h, &sy) || !make_side(r, 1, w, &sx)) return 0;
    hn_dim all[] = {hn_dim_of(b, x, 1), hn_dim_mul(t, hn_dim_of(b, x, 0), plane)};
    hn_val data = hn_reshape(b, hn_swap(b, x, 0, 1), 2, all);
    hn_val image = five(r, hn_cast(b, image_of, HONE_I64), 0);
    hn_val base = hn_bin(b, HN_OP_MUL, image, hn_size_value(b, plane, HONE_I64)), width = hn_size_value(b, w, HONE_I64);
    part[0] = weighted(r, data, base, width, sy.low, sx.low, sy.w_low, sx.w_low);
    part[1] = weighted(r, data, base, width, sy.low, sx.high, sy.w_low, sx.w_high);
    part[2] = weighted(r, data, base, width, sy.high, sx.low, sy.w_high, sx.w_low);
    part[3] = weighted(r, data, base, width, sy.high, sx.high, sy.w_high, sx.w_high);
    hn_val valid = sy.valid ? hn_bin(b, HN_OP_AND, sy.valid, sx.valid) : 0;
    hn_val y = how->largest ? largest(r, part, valid) : mean(r, part, &sy, &sx, valid);
    return hn_swap(b, y, 0, 1);
}
