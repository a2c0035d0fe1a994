/* compose/experts.h — mixtures of experts: every token goes through a few of many MLPs, and the results are added by
 * their shares.
 *
 * The graph is a loop over the experts that some token chose, in their order: an expert's rows are gathered, go through
 * its MLP, and are added where they came from. So what is computed is what was chosen, for one token and for many; and
 * a token's sum has one order whatever tokens are beside it. Memory: one expert's weights where a product cannot read
 * them in place, and its rows. Sources: Shazeer et al. 2017; Jiang et al. 2024 (Mixtral).
 */
#ifndef HN_EXPERTS_H
#define HN_EXPERTS_H

#include "ir/build.h"

typedef struct hn_experts {
    hn_val x;        /* f32 [tokens, width] */
    hn_val scores;   /* [tokens, experts]: the router's, before softmax */
    int64_t used;    /* experts of a token */
    bool normalised; /* the shares are the softmax over the chosen ones; else over all */
    double scale;    /* of the shares; 0: 1 */
    /* An expert's result [rows, width] for rows [rows, width]; expert: i64 scalar. b is inside the loop. */
    hn_val (*mlp)(void *arg, hn_builder *b, hn_val rows, hn_val expert);
    void *arg;
} hn_experts;

hn_val hn_experts_emit(hn_builder *b, const hn_experts *e); /* [tokens, width] */

/* x [rows, summed] times matrix `expert` of w [experts, results, summed]: [rows, results]. */
hn_val hn_experts_product(hn_builder *b, hn_val x, hn_val w, hn_val expert);

#endif
