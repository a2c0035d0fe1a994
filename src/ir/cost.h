/* ir/cost.h — what a block costs, counted off its nodes: for rooflines, cost models and the split over threads.
 *
 * Symbolic sizes give dimension expressions. Nothing here says how long a block takes.
 * Errors: 0 where an expression is too large (as in ir/dim.h).
 */
#ifndef HN_COST_H
#define HN_COST_H

#include "ir/graph.h"

typedef struct hn_cost {
    /* Arithmetic: a multiply-add is two, every other operation of one element is one, whatever it is (an exponential,
     * too); moving and indexing count nothing. */
    hn_dim flops;
    hn_dim steps; /* innermost steps, about: a multiply-add, an operation on an element, or an element that is moved */
    /* Parameters and results once, in memory; of a parameter that is only sliced or looked up in: what is taken. */
    hn_dim read_b, write_b;
} hn_cost;

/* Kernels in the block count with their bodies; the regions of `if` and `loop` do not, since data decides them. */
hn_cost hn_block_cost(hn_graph *g, hn_block b);

#endif
