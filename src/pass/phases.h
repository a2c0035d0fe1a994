/* pass/phases.h — transposed convolutions as convolutions of the image as it is, one for each phase of the stride; for
 * pass layout. Threads: one at a time per graph. Errors: sticky in the graph. */
#ifndef HN_PHASES_H
#define HN_PHASES_H

#include "pass/rewrite.h"

/* A convolution with n's attributes and weights w of x, which has its channels last, as has the result. Borrows n,
 * which need be in no graph, and its inputs, which are not looked at. */
typedef hn_val hn_conv_last(hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w);

/* Convolution n (channels first in its attributes and type) over x, its image with the channels last, and weights w,
 * made of `conv`: the result with its channels last. HN_KEEP: its image is not spread, or not in a form that has
 * phases. */
hn_val hn_phases(hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w, hn_conv_last *conv);

#endif
