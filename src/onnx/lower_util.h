/* onnx/lower_util.h — what several families of lowerings share: checks of inputs, the attributes of
 * sliding windows; what composition says is wrong is said of the node.
 *
 * Borrows: the lowering context.   Errors: as in lower.h, through hn_refuse and hn_wrong.
 */
#ifndef HN_LOWER_UTIL_H
#define HN_LOWER_UTIL_H

#include "compose/compose.h"
#include "onnx/lower.h"

/* The first n inputs are all present (hn_wrong names the missing one), and nothing failed before. */
bool hn_need(hn_lower *c, size_t n);
/* Input i has a rank between low and high. */
bool hn_need_rank(hn_lower *c, size_t i, size_t low, size_t high);

/* Attributes kernel_shape, strides, dilations, pads, auto_pad, ceil_mode and group for an input x. kernel: sizes that
 * come from the weights, or NULL where kernel_shape is required. False after hn_refuse or hn_wrong. */
bool hn_window_read(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w);
/* As above without padding: for operators that compute their own (transposed convolution). */
bool hn_window_sizes(hn_lower *c, hn_val x, const int64_t *kernel, hn_window *w);
/* A failure of a composition, if there is one: hn_refuse or hn_wrong with its text. */
void hn_told(hn_lower *c, const hone_err *err);
/* Sizes of the spatial dimensions of a weight tensor [M, C, kernel…]; refuses unknown ones. */
bool hn_kernel_sizes(hn_lower *c, size_t input, int64_t *kernel);

#endif
