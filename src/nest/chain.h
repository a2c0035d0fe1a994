/* nest/chain.h — the loops around a body, and how memory is walked in them: what sketches look at before they decide.
 * Nothing here changes a nest but by interning expressions and variables.
 */
#ifndef HN_CHAIN_H
#define HN_CHAIN_H

#include "nest/nest.h"

enum { HN_CHAIN_MAX = HN_RANK_MAX + 2 };

/* Loops from the outermost in, each with definitions and one loop as its body; the last has another body. */
typedef struct hn_chain {
    hn_st loop[HN_CHAIN_MAX];
    int n;
} hn_chain;

hn_chain hn_chain_of(const hn_nest *n, hn_st first);
/* The only loop of a list of definitions and one loop; 0: it is another list. */
hn_st hn_lone_loop(const hn_nest *n, hn_st first);
bool hn_has_loop(const hn_nest *n, hn_st first);

/* Are runs of `lanes` iterations of v, from a multiple of it on, next to each other in memory? */
bool hn_ix_contiguous(hn_nest *n, hn_ix at, hn_var v, int64_t lanes);

#endif
