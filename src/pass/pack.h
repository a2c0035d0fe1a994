/* pass/pack.h — what the files of pass `pack` share. */
#ifndef HN_PACK_H
#define HN_PACK_H

#include "pass/rewrite.h"

/* Neighbouring steps of the sum of a product with constant weights that lie together in them: a word of bytes or of
 * bf16, else 1; 0: weights of such a type are not packed. */
int64_t hn_word_of(const hn_graph *g, const hn_node *n, const hn_layout_facts *layout);
/* A copy with so many zeros more behind dimension `axis`, in the graph's arena; NULL: out of memory. And a value of
 * bf16, which fills what it was rounded from, where it was: so that the kernel that rounds it stores it whole. */
const hn_tensor *hn_filled(hn_graph *g, const hn_tensor *t, size_t axis, int64_t by);
hn_val hn_fill_halves(hn_rewriter *r, hn_val x, size_t axis, int64_t by);

hn_val hn_pack_conv(hn_rewriter *r, const hn_node *node); /* a rule (pass/rewrite.h) for convolutions */

#endif
