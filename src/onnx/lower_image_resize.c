/* lower_image_resize.c — Resize and Upsample: attributes and inputs. */
#include "onnx/lower_image_int.h"

#include <string.h>

static bool is_given(hn_lower *c, size_t i) {
    hn_val v = hn_in(c, i);
    return v && !(hn_rank(hn_lower_builder(c), v) == 1 &&
                  hn_dim_is(hn_lower_builder(c), hn_dim_of(hn_lower_builder(c), v, 0), 0));
}

static bool read_axes(hn_lower *c, hn_resize *o, size_t rank) {
    const int64_t *axes;
    size_t n = hn_ints(c, "axes", &axes);
    o->n = n ? n : rank;
    if (n > rank) hn_wrong(c, "%zu axes for rank %zu", n, rank);
    for (size_t i = 0; i < o->n && !hn_lower_failed(c); i++) {
        o->axis[i] = n ? hn_axis(c, axes[i], rank) : (int64_t)i;
        for (size_t k = 0; k < i; k++)
            if (o->axis[k] == o->axis[i]) hn_wrong(c, "axis %lld is named twice", (long long)o->axis[i]);
    }
    return !hn_lower_failed(c);
}

static bool has_length(hn_lower *c, hn_val v, size_t n, const char *what) {
    hn_builder *b = hn_lower_builder(c);
    if (hn_rank(b, v) == 1 && hn_dim_is(b, hn_dim_of(b, v, 0), (int64_t)n)) return true;
    hn_wrong(c, "'%s' needs %zu entries, one per axis", what, n);
    return false;
}

/* Which of n words an attribute is; hn_wrong where it is none. */
static int word_of(hn_lower *c, const char *attribute, const char *given, const char *const *word, int n) {
    for (int i = 0; i < n; i++)
        if (!strcmp(given, word[i])) return i;
    hn_wrong(c, "%s '%s'", attribute, given);
    return 0;
}

static bool read_modes(hn_lower *c, hn_resize *o) {
    static const char *const mode[] = {[HN_NEAREST] = "nearest", [HN_LINEAR] = "linear", [HN_CUBIC] = "cubic"};
    static const char *const where[] = {
        [HN_ASYMMETRIC] = "asymmetric",
        [HN_HALF_PIXEL] = "half_pixel",
        [HN_HALF_PIXEL_NEAREST] = "tf_half_pixel_for_nn",
        [HN_HALF_PIXEL_ONE] = "pytorch_half_pixel",
        [HN_ALIGN_CORNERS] = "align_corners",
        [HN_SYMMETRIC] = "half_pixel_symmetric",
        [HN_CROP] = "tf_crop_and_resize",
    };
    static const char *const nearest[] = {[HN_PREFER_FLOOR] = "round_prefer_floor",
                                          [HN_PREFER_CEIL] = "round_prefer_ceil",
                                          [HN_FLOOR] = "floor",
                                          [HN_CEIL] = "ceil"};
    bool old = hn_lower_opset(c) < 11;
    const char *at = hn_string(c, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
    const char *pick = hn_string(c, "nearest_mode", old ? "floor" : "round_prefer_floor");
    o->mode = (hn_image_sampling)word_of(c, "mode", hn_string(c, "mode", "nearest"), mode, 3);
    o->coordinate = (hn_coordinate)word_of(c, "coordinate_transformation_mode", at, where, 7);
    if (o->mode == HN_NEAREST) o->nearest = (hn_nearest_mode)word_of(c, "nearest_mode", pick, nearest, 4);
    o->one_at = hn_lower_opset(c) < 19 ? 0 : -0.5;
    o->cubic_a = hn_float(c, "cubic_coeff_a", -0.75);
    o->extrapolation = hn_float(c, "extrapolation_value", 0);
    o->antialias = hn_int(c, "antialias", 0) != 0;
    o->exclude_outside = hn_int(c, "exclude_outside", 0) != 0;
    if (o->mode == HN_NEAREST && o->antialias) hn_wrong(c, "antialias with mode 'nearest'");
    return !hn_lower_failed(c);
}

/* The input 'roi', where the coordinates need it. */
static bool read_roi(hn_lower *c, hn_resize *o) {
    if (o->coordinate != HN_CROP) return true;
    if (hn_lower_opset(c) < 11 || !is_given(c, 1)) {
        hn_wrong(c, "tf_crop_and_resize needs the input 'roi'");
        return false;
    }
    o->roi = hn_cast(hn_lower_builder(c), hn_in(c, 1), HONE_F64);
    return has_length(c, o->roi, 2 * o->n, "roi");
}

static void by_scales(hn_lower *c, const hn_resize *o, hn_val scales) {
    hone_err err = {0};
    if (!has_length(c, scales, o->n, "scales")) return;
    hn_val y = hn_resize_scales(hn_lower_builder(c), hn_in(c, 0), o, scales, &err);
    hn_told(c, &err);
    if (y) hn_out(c, 0, y);
}

static void by_sizes(hn_lower *c, const hn_resize *o, size_t input) {
    static const char *const policy[] = {
        [HN_STRETCH] = "stretch", [HN_NOT_LARGER] = "not_larger", [HN_NOT_SMALLER] = "not_smaller"};
    hone_err err = {0};
    hn_dim size[HN_RANK_MAX];
    size_t n;
    const char *given = hn_string(c, "keep_aspect_ratio_policy", "stretch");
    if (!has_length(c, hn_in(c, input), o->n, "sizes") || !hn_in_dims(c, input, size, HN_RANK_MAX, &n)) return;
    hn_keep keep = (hn_keep)word_of(c, "keep_aspect_ratio_policy", given, policy, 3);
    if (hn_lower_failed(c)) return;
    hn_val y = hn_resize_sizes(hn_lower_builder(c), hn_in(c, 0), o, size, keep, &err);
    hn_told(c, &err);
    if (y) hn_out(c, 0, y);
}

void hn_lower_resize(hn_lower *c) {
    size_t at_scales = hn_lower_opset(c) < 11 ? 1 : 2;
    hn_resize o = {0};
    if (!hn_need(c, 1) || !read_axes(c, &o, hn_rank(hn_lower_builder(c), hn_in(c, 0))) || !read_modes(c, &o) ||
        !read_roi(c, &o))
        return;
    bool scales = is_given(c, at_scales), sizes = hn_lower_opset(c) >= 11 && is_given(c, 3);
    if (scales == sizes)
        hn_wrong(c, "it needs 'scales' or 'sizes', one of the two");
    else if (scales)
        by_scales(c, &o, hn_in(c, at_scales));
    else
        by_sizes(c, &o, 3);
}

/* Opset 1: two attributes; 7: an attribute; 9: an input. */
static hn_val upsample_scales(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const float *list;
    float hw[4] = {1, 1, (float)hn_float(c, "height_scale", 1), (float)hn_float(c, "width_scale", 1)};
    if (hn_lower_opset(c) >= 9) return hn_need(c, 2) ? hn_in(c, 1) : 0;
    size_t n = hn_floats(c, "scales", &list);
    if (!n) {
        list = hw;
        n = 4;
    }
    hn_tensor t = {.dtype = HONE_F32, .rank = 1, .dim = {(int64_t)n}};
    if (!hn_tensor_new(&b->g->arena, HONE_F32, 1, t.dim, &t)) return 0;
    memcpy(t.data, list, n * sizeof *list);
    return hn_const(b, &t);
}

void hn_lower_upsample(hn_lower *c) {
    static const char *const mode[] = {"nearest", "linear", "cubic", "bilinear"};
    if (!hn_need(c, 1)) return;
    hn_resize o = {.coordinate = HN_ASYMMETRIC, .nearest = HN_FLOOR, .n = hn_rank(hn_lower_builder(c), hn_in(c, 0))};
    int which = word_of(c, "mode", hn_string(c, "mode", "nearest"), mode, 4);
    o.mode = which == 3 ? HN_LINEAR : (hn_image_sampling)which;
    hn_val scales = upsample_scales(c);
    for (size_t i = 0; i < o.n; i++) o.axis[i] = (int64_t)i;
    if (scales && !hn_lower_failed(c)) by_scales(c, &o, scales);
}
