/* nest/threads.h — what holds for the threads of a block: which values differ from thread to thread, and where only
 * some of the threads come by. Barriers, the verifier, the interpreter and printers ask here.
 *
 * Levels: group loops inside each other are levels 0, 1, 2 from the outside; the innermost of a nest is x. What differs
 * is a set of levels: bit k is set where the value may differ between threads that differ in level k alone.
 */
#ifndef HN_NEST_THREADS_H
#define HN_NEST_THREADS_H

#include "nest/nest.h"

enum {
    HN_ROLE_BIT = 8,
    HN_CLUSTER_BIT = 16
}; /* differs between the iterations of a role loop, the blocks of a cluster */

/* By id of the nest, for the nest as it stands; in the arena handed in. */
typedef struct hn_threads {
    uint8_t *var, *sv; /* levels in which they may differ */
    uint8_t *content;  /* register: levels in which what is in it may differ */
    uint8_t *depth;    /* register: group loops around it; it exists once per thread of those */
    uint8_t *apart;    /* statement: levels in which the extents of the loops around it may differ; 0: all come by */
    uint8_t *level;    /* statement: group loops around it. It is executed once for all threads of those further in */
} hn_threads;
bool hn_nest_threads(hn_nest *n, hn_arena *a, hn_threads *t); /* false: out of memory */
uint8_t hn_threads_differ(const hn_nest *n, const hn_threads *t, hn_ix i);

/* Threads of a block: sizes of its group loops, x the innermost (1 where there is none), and all together, those of all
 * roles too (then x is all of them). All 0 where the nest has no group loop. The nest is verified. */
typedef struct hn_block_size {
    int64_t x, y, z, all;
} hn_block_size;
hn_block_size hn_nest_block(const hn_nest *n);
int64_t hn_role_threads(const hn_nest *n, hn_st role);   /* of one iteration */
int64_t hn_gate_arrivals(const hn_nest *n, hn_buf gate); /* in a phase; 0: nobody arrives there */
/* Bytes of shared memory of a block; each buffer begins at a multiple of 16. */
int64_t hn_shared_room_b(int64_t elements, hone_dtype t); /* of one buffer */
int64_t hn_nest_shared_b(const hn_nest *n);

#endif
