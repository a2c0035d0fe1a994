/* onnx/lower_util.h — what several families of lowerings share: checks of inputs, working precision, sliding windows.
 *
 * Borrows: the lowering context.   Errors: as in lower.h, through hn_refuse and hn_wrong.
 */
#ifndef HN_LOWER_UTIL_H
#define HN_LOWER_UTIL_H

#include "onnx/lower.h"

/* The first n inputs are all present (hn_wrong names the missing one), and nothing failed before. */
bool hn_need(hn_lower *c, size_t n);
/* Input i has a rank between low and high. */
bool hn_need_rank(hn_lower *c, size_t i, size_t low, size_t high);

/* Working precision: f32 for floats below 32 bits, else the type itself. */
hone_dtype hn_work_type(hone_dtype t);
hn_val hn_work(hn_builder *b, hn_val x);
/* Is this dimension the constant n / one constant, stored to n? */
bool hn_dim_known(const hn_builder *b, hn_dim d, int64_t *n);
bool hn_dim_is(const hn_builder *b, hn_dim d, int64_t n);
/* A vector [C] as [1, … C …, 1] of this rank with C at axis; scalars and vectors of one element become scalars. */
hn_val hn_along(hn_builder *b, hn_val v, size_t rank, size_t axis);
/* A value of one element as a scalar of rank 0. */
hn_val hn_scalar(hn_builder *b, hn_val v);
/* Product of the dimensions from..to-1 of x. */
hn_dim hn_dim_product(hn_builder *b, hn_val x, size_t from, size_t to);
/* true where the index along `axis` of a shape is below n (a value that broadcasts to it). */
hn_val hn_index_below(hn_builder *b, size_t rank, const hn_dim *shape, size_t axis, hn_val n);

/* A sliding window over the spatial dimensions 2.. of an input [N, C, spatial…]. */
typedef struct hn_window {
    size_t n; /* spatial dimensions */
    int64_t kernel[HN_RANK_MAX], stride[HN_RANK_MAX], dilation[HN_RANK_MAX], inflate[HN_RANK_MAX];
    int64_t pad_high[HN_RANK_MAX]; /* as the model says, without what ceil_mode adds; explicit padding only */
    hn_dim low[HN_RANK_MAX], high[HN_RANK_MAX];
    bool ceil;  /* `high` holds more than pad_high */
    bool empty; /* no padding at all */
    int64_t groups;
} hn_window;
/* Attributes kernel_shape, strides, dilations, pads, auto_pad, ceil_mode and group for an input x. kernel: sizes that
 * come from the weights, or NULL where kernel_shape is required. False after hn_refuse or hn_wrong. */
bool hn_window_read(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w);
/* As above without padding: for operators that compute their own (transposed convolution). */
bool hn_window_sizes(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w);
/* WSUM, WMAX or WARGMAX. */
hn_val hn_window_emit(hn_builder *b, hn_op op, hn_val x, const hn_window *w);
hn_val hn_conv_emit(hn_builder *b, hn_val x, hn_val weight, const hn_window *w, hone_dtype out);
/* How many elements count in each window, as a value that broadcasts to the result: a constant where padding is none or
 * counts itself, else the product over the dimensions of sums over windows of ones. What ceil_mode adds behind the
 * padding never counts. */
hn_val hn_window_counts(hn_builder *b, hn_val x, const hn_window *w, bool with_pad, hone_dtype t);
/* Sizes of the spatial dimensions of a weight tensor [M, C, kernel…]; refuses unknown ones. */
bool hn_kernel_sizes(hn_lower *c, size_t input, int64_t *kernel);

/* log(softmax(x)) along one axis. */
hn_val hn_log_softmax(hn_builder *b, hn_val x, int64_t axis);

#endif
