#include "onnx/lower_util.h"

#include <string.h>

bool hn_need(hn_lower *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (hn_in(c, i)) continue;
        if (!hn_lower_failed(c)) hn_wrong(c, "input %zu is missing", i);
        return false;
    }
    return !hn_lower_failed(c);
}

bool hn_need_rank(hn_lower *c, size_t i, size_t low, size_t high) {
    size_t r = hn_rank(hn_lower_builder(c), hn_in(c, i));
    if (r >= low && r <= high) return true;
    hn_wrong(c, "input %zu has rank %zu; it must be %s%zu", i, r,
             low == high ? ""
             : r < low   ? "at least "
                         : "at most ",
             r < low ? low : high);
    return false;
}

/* ---- windows ---- */

enum { SIZE_MOST = INT32_MAX }; /* of kernels, strides, dilations, pads: keeps all products inside int64 */

/* A list attribute with one entry per spatial dimension (`per` of them each), all at least `least`. */
static bool sizes(hn_lower *c, const char *name, size_t n, int64_t otherwise, int64_t least, int64_t *out) {
    const int64_t *given;
    size_t m = hn_ints(c, name, &given);
    if (m && m != n) {
        hn_wrong(c, "'%s' has %zu entries; this input needs %zu", name, m, n);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = m ? given[i] : otherwise;
        if (out[i] >= least && out[i] <= SIZE_MOST) continue;
        hn_wrong(c, "'%s' holds %lld; it must be at least %lld and below 2^31", name, (long long)out[i],
                 (long long)least);
        return false;
    }
    return true;
}

bool hn_window_sizes(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w) {
    hn_builder *b = hn_lower_builder(c);
    *w = (hn_window){.groups = hn_int(c, "group", 1), .empty = true};
    if (hn_rank(b, x) < 3) {
        hn_wrong(c, "input 0 has rank %zu; it must be at least 3: batch, channels, and spatial dimensions",
                 hn_rank(b, x));
        return false;
    }
    w->n = hn_rank(b, x) - 2;
    if (!kernel && !hn_has(c, "kernel_shape")) {
        hn_wrong(c, "'kernel_shape' is missing");
        return false;
    }
    if (!sizes(c, "kernel_shape", w->n, 1, 1, w->kernel) || !sizes(c, "strides", w->n, 1, 1, w->stride) ||
        !sizes(c, "dilations", w->n, 1, 1, w->dilation))
        return false;
    for (size_t i = 0; i < w->n; i++) {
        w->inflate[i] = 1;
        w->low[i] = w->high[i] = hn_lit(b, 0);
        if (!kernel) continue;
        if (hn_has(c, "kernel_shape") && kernel[i] != w->kernel[i]) {
            hn_wrong(c, "'kernel_shape' says %lld where the weights have %lld", (long long)w->kernel[i],
                     (long long)kernel[i]);
            return false;
        }
        w->kernel[i] = kernel[i];
    }
    return !hn_lower_failed(c);
}

static bool pad_explicit(hn_lower *c, hn_val x, hn_window *w, bool ceil_mode) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *pads;
    size_t n = hn_ints(c, "pads", &pads);
    if (n && n != 2 * w->n) {
        hn_wrong(c, "'pads' has %zu entries; this input needs %zu", n, 2 * w->n);
        return false;
    }
    for (size_t i = 0; i < w->n; i++) {
        int64_t low = n ? pads[i] : 0, high = n ? pads[i + w->n] : 0;
        if (low < 0 || high < 0 || low > SIZE_MOST || high > SIZE_MOST) {
            hn_refuse(c, "'pads' holds a negative number, or one beyond 2^31");
            return false;
        }
        w->pad_high[i] = high;
        w->low[i] = hn_lit(b, low);
        w->high[i] = hn_lit(b, high);
        if (low || high) w->empty = false;
        if (ceil_mode) hn_window_pad_ceil(b, x, w, low, i);
    }
    return true;
}

bool hn_window_read(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w) {
    if (!hn_window_sizes(c, x, kernel, w)) return false;
    const char *mode = hn_string(c, "auto_pad", "NOTSET");
    bool ceil_mode = hn_int(c, "ceil_mode", 0) != 0;
    if (!strcmp(mode, "SAME_UPPER") || !strcmp(mode, "SAME_LOWER")) {
        hn_window_pad_same(hn_lower_builder(c), x, w, mode[5] == 'U');
    } else if (!strcmp(mode, "NOTSET") || !*mode) {
        return pad_explicit(c, x, w, ceil_mode);
    } else if (strcmp(mode, "VALID") != 0) {
        hn_wrong(c, "'auto_pad' is '%s'; it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
        return false;
    }
    return true;
}

bool hn_kernel_sizes(hn_lower *c, size_t input, int64_t *kernel) {
    hn_builder *b = hn_lower_builder(c);
    hn_val w = hn_in(c, input);
    for (size_t i = 2; i < hn_rank(b, w); i++) {
        if (!hn_dim_known(b, hn_dim_of(b, w, i), &kernel[i - 2])) {
            hn_refuse(c, "the size of the kernel (dimension %zu of input %zu) is not known at compile time", i, input);
            return false;
        }
        if (kernel[i - 2] >= 1 && kernel[i - 2] <= SIZE_MOST) continue;
        hn_wrong(c, "dimension %zu of input %zu is %lld; a kernel has at least one element", i, input,
                 (long long)kernel[i - 2]);
        return false;
    }
    return true;
}

void hn_told(hn_lower *c, const hone_err *err) {
    if (err->rc == HONE_E_UNSUPPORTED)
        hn_refuse(c, "%s", err->text);
    else if (err->rc)
        hn_wrong(c, "%s", err->text);
}
