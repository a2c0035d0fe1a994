/* pass/fold.h — for pass fold: what known indices make of a gather. */
#ifndef HN_FOLD_H
#define HN_FOLD_H

#include "pass/rewrite.h"

/* Gather n of these indices as a slice, repeated; HN_KEEP where they are not regular, or not inside for certain. */
hn_val hn_gather_regular(hn_rewriter *r, const hn_node *n, const hn_tensor *index);

#endif
