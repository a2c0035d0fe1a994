/* target/loops.h — loops of a function from its instructions: basic blocks, their graph, natural loops.
 *
 * A jump whose target is not known is taken to lead to every block that nothing else leads to (the cases of a switch).
 * Cold code that was moved away and jumps back is not a loop.
 */
#ifndef HN_LOOPS_H
#define HN_LOOPS_H

#include <hone/base.h>

typedef struct hn_flow {
    uint64_t at, target; /* address; of a jump, 0: not known */
    bool jumps;          /* may go to target */
    bool ends;           /* never goes on to the next instruction */
} hn_flow;

typedef struct hn_loops {
    size_t n, n_inner;    /* loops; those without a loop inside */
    size_t largest_inner; /* instructions */
    size_t n_aligned;     /* inner ones that begin at a multiple of 32 bytes */
} hn_loops;

/* depth[i]: instruction i lies in 0 no loop, 1 a loop, 2 an inner loop. False: out of memory. */
bool hn_find_loops(const hn_flow *f, size_t n, unsigned char *depth, hn_loops *out);

#endif
