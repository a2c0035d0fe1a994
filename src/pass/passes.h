/* pass/passes.h — the rows that registry.c lists; each is defined in the file of its name. */
#ifndef HN_PASSES_H
#define HN_PASSES_H

#include "pass/pass.h"

extern const hn_pass hn_pass_fold, hn_pass_simplify, hn_pass_shapes, hn_pass_cse, hn_pass_dce, hn_pass_bytes,
    hn_pass_batchnorm, hn_pass_transpose, hn_pass_attention, hn_pass_layout, hn_pass_pack, hn_pass_joint,
    hn_pass_panels, hn_pass_fuse, hn_pass_winograd, hn_pass_subnormal;

/* attention.c: x of div(e, sum(e)) with e = exp(x - max(x)), one value of each whatever is broadcast; 0: v is no
 * softmax. */
hn_val hn_softmax_input(const hn_graph *g, hn_val v);
/* split_keys.c: where the layout says that there are many processors. */
void hn_split_keys(hn_graph *g, hn_pass_ctx *ctx);

#endif
