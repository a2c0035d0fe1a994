/* Convolutions. The bias is a broadcast add behind the convolution (an epilogue for fusion). Floats below 32 bits are
 * summed and biased in f32 and rounded once. */
#include "onnx/lower_nn_int.h"

#include <string.h>

/* Channels of x, of the weights and groups belong together; weights are [M, C/groups, …]. */
static bool channels_fit(hn_lower *c, hn_val x, hn_val w, const hn_window *win) {
    hn_builder *b = hn_lower_builder(c);
    int64_t m, n;
    if (win->groups < 1 || win->groups > INT32_MAX) {
        hn_wrong(c, "'group' is %lld; it must be at least 1", (long long)win->groups);
        return false;
    }
    if (hn_dim_known(b, hn_dim_of(b, w, 0), &m) && m % win->groups) {
        hn_wrong(c, "%lld output channels cannot be split into %lld groups", (long long)m, (long long)win->groups);
        return false;
    }
    hn_dim have = hn_dim_of(b, x, 1), want = hn_dim_mul(b->g->dims, hn_dim_of(b, w, 1), hn_lit(b, win->groups));
    if (hn_dim_equal(b->g->dims, have, want) == HN_DIFFERENT) {
        if (hn_dim_known(b, have, &m) && hn_dim_known(b, want, &n))
            hn_wrong(c, "the input has %lld channels where weights and groups need %lld", (long long)m, (long long)n);
        else
            hn_wrong(c, "the channels of the input do not fit weights and groups");
        return false;
    }
    return true;
}

hn_val hn_convolved(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t kernel[HN_RANK_MAX];
    hn_window win;
    if (!hn_need(c, 2)) return 0;
    hn_val x = hn_in(c, 0), w = hn_in(c, 1), bias = hn_in(c, 2);
    if (!hn_need_rank(c, 1, hn_rank(b, x), hn_rank(b, x)) || !hn_kernel_sizes(c, 1, kernel) ||
        !hn_window_read(c, x, kernel, &win) || !channels_fit(c, x, w, &win))
        return 0;
    return hn_channel_bias(b, hn_conv_emit(b, x, w, &win, hn_work_type(hn_dt(b, x))), bias);
}

void hn_lower_conv(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val y = hn_convolved(c);
    if (y) hn_out(c, 0, hn_cast(b, y, hn_dt(b, hn_in(c, 0))));
}

static bool list_of(hn_lower *c, const char *name, size_t n, const int64_t **out, size_t *m) {
    *m = hn_ints(c, name, out);
    for (size_t i = 0; i < *m; i++)
        if ((*out)[i] < 0 || (*out)[i] > INT32_MAX) {
            hn_wrong(c, "'%s' holds %lld; it must be between 0 and 2^31", name, (long long)(*out)[i]);
            return false;
        }
    if (!*m || *m == n) return true;
    hn_wrong(c, "'%s' has %zu entries; this input needs %zu", name, *m, n);
    return false;
}

/* What the result loses in front and behind: `pads`, or what brings it to output_shape or to input * stride. */
static bool crops(hn_lower *c, hn_val x, const int64_t *extra, hn_window *w) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    const char *mode = hn_string(c, "auto_pad", "NOTSET");
    const int64_t *pads, *shape;
    size_t n_pads, n_shape, n = w->n;
    bool upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER");
    n_shape = hn_ints(c, "output_shape", &shape);
    if (n_shape == n + 2) { /* batch and channels were allowed in it before opset 11 */
        shape += 2;
        n_shape = n;
    }
    if (!list_of(c, "pads", 2 * n, &pads, &n_pads)) return false;
    if (n_shape && n_shape != n) {
        hn_wrong(c, "'output_shape' has %zu entries; this input needs %zu", n_shape, n);
        return false;
    }
    bool use = n_pads && strcmp(mode, "VALID") != 0;
    for (size_t i = 0; i < n; i++) {
        hn_dim full = hn_window_full(b, x, w, extra[i], i);
        hn_dim wide = hn_dim_mul(t, hn_dim_of(b, x, i + 2), hn_lit(b, w->stride[i]));
        w->low[i] = hn_lit(b, use ? pads[i] : 0);
        w->high[i] = hn_lit(b, use ? pads[i + n] : 0);
        if (n_shape)
            hn_window_crop(b, hn_dim_sub(t, full, hn_lit(b, shape[i])), upper, w, i);
        else if (same)
            hn_window_crop(b, hn_dim_max(t, hn_dim_sub(t, full, wide), hn_lit(b, 0)), upper, w, i);
    }
    return true;
}

static bool transposed_fits(hn_lower *c, hn_val x, hn_val w, int64_t groups) {
    hn_builder *b = hn_lower_builder(c);
    int64_t n;
    if (groups < 1 || groups > INT32_MAX || (hn_dim_known(b, hn_dim_of(b, w, 0), &n) && n % groups)) {
        hn_wrong(c, "the input channels of the weights cannot be split into %lld groups", (long long)groups);
        return false;
    }
    if (hn_dim_equal(b->g->dims, hn_dim_of(b, x, 1), hn_dim_of(b, w, 0)) != HN_DIFFERENT) return true;
    hn_wrong(c, "the channels of the input differ from dimension 0 of the weights");
    return false;
}

void hn_lower_conv_transpose(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t kernel[HN_RANK_MAX], extra[HN_RANK_MAX] = {0};
    const int64_t *given;
    size_t n_given;
    hn_window win;
    if (!hn_need(c, 2)) return;
    hn_val x = hn_in(c, 0), w = hn_in(c, 1), bias = hn_in(c, 2);
    if (!hn_need_rank(c, 1, hn_rank(b, x), hn_rank(b, x)) || !hn_kernel_sizes(c, 1, kernel) ||
        !hn_window_sizes(c, x, kernel, &win) || !transposed_fits(c, x, w, win.groups) ||
        !list_of(c, "output_padding", win.n, &given, &n_given))
        return;
    if (win.groups > 1 && hn_rank(b, w) >= HN_RANK_MAX) {
        hn_refuse(c, "a grouped transposed convolution of rank %d", HN_RANK_MAX);
        return;
    }
    for (size_t i = 0; i < n_given; i++) extra[i] = given[i];
    if (!crops(c, x, extra, &win)) return;
    hone_dtype t = hn_dt(b, x);
    hn_val y = hn_conv_transposed(b, x, w, &win, extra, bias ? hn_work_type(t) : t);
    hn_out(c, 0, hn_cast(b, hn_channel_bias(b, y, bias), t));
}

static bool causal_activation(hn_lower *c, bool *silu) {
    const char *name = hn_string(c, "activation", "none");
    *silu = !strcmp(name, "silu") || !strcmp(name, "swish");
    if (*silu || !strcmp(name, "none")) return true;
    hn_wrong(c, "'activation' is '%s'; it must be none, silu or swish", name);
    return false;
}

/* Depthwise convolution over past and present; the last k-1 positions are the next call's past. */
void hn_lower_causal_conv(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t kernel[HN_RANK_MAX], channels;
    bool silu;
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 3, 3) || !hn_need_rank(c, 1, 3, 3) || !causal_activation(c, &silu) ||
        !hn_kernel_sizes(c, 1, kernel))
        return;
    hn_val x = hn_in(c, 0), w = hn_in(c, 1), past = hn_in(c, 3);
    hone_dtype t = hn_dt(b, x);
    hn_window win = {.n = 1, .kernel = {kernel[0]}, .stride = {1}, .dilation = {1}, .inflate = {1}};
    if (!hn_dim_known(b, hn_dim_of(b, w, 0), &channels) || channels < 1) {
        hn_refuse(c, "the number of channels is not known at compile time");
        return;
    }
    win.groups = channels;
    win.low[0] = win.high[0] = hn_lit(b, 0);
    hn_dim reach = hn_lit(b, kernel[0] - 1);
    if (!past) {
        hn_dim shape[3] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), reach};
        past = hn_full(b, t, 3, shape, 0);
    }
    hn_val both[2] = {past, x};
    hn_val all = hn_concat(b, 2, both, 2);
    hn_val y = hn_channel_bias(b, hn_conv_emit(b, all, w, &win, hn_work_type(t)), hn_in(c, 2));
    if (silu) y = hn_bin(b, HN_OP_MUL, y, hn_un(b, HN_OP_SIGMOID, y));
    hn_out(c, 0, hn_cast(b, y, t));
    hn_out(c, 1, hn_slice_axis(b, all, 2, hn_dim_of(b, x, 2), reach, 1));
}
