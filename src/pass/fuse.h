/* pass/fuse.h — what the files of the pass "fuse" share: groups of nodes that will be one kernel each.
 *
 * A block is cut into stretches at nodes that define symbols and at control flow; groups stay inside a stretch, so
 * symbols are defined in time whatever order the kernels get. Broadcasts and scalar constants are *shadows*: no group
 * owns them, every kernel that uses one has its own copy, for nothing is computed by them.
 */
#ifndef HN_FUSE_H
#define HN_FUSE_H

#include "ir/graph.h"

typedef struct hn_fgroup {
    hn_kernel_kind kind;
    uint32_t *node; /* ids, ascending by place in the block */
    uint32_t n_node;
    bool fixed;     /* nothing may join it */
    hn_type main;   /* MAP, CONTRACT, WINDOW: of the results; REDUCE, ROW: of what is reduced */
    hn_type narrow; /* REDUCE, ROW: of a reduction's result, dimensions kept as 1 */
    uint32_t stretch;
} hn_fgroup;

typedef struct hn_fuse {
    hn_graph *g;
    hn_block b;
    const bool *reached; /* blocks that run: the main one and regions of nodes in them, without kernels */
    hn_arena *a;
    hn_fgroup *group; /* by place of the node that founded it; n_node = 0: joined another */
    uint32_t n;       /* nodes in the block */
    uint32_t *place;  /* of a node id in the block + 1; 0: elsewhere */
    uint32_t *in;     /* group of the node at a place */
    bool *shadow;     /* of values */
    uint32_t **user;  /* of values: places of the nodes of this block that use it, through shadows too */
    uint32_t *n_user;
    bool *outside;  /* of values: used by regions, results, nodes that are no kernel */
    uint32_t *mark; /* of groups, for searches */
    uint32_t n_mark;
} hn_fuse;

/* fuse_graph.c */
bool hn_fuse_open(hn_fuse *f, hn_graph *g, hn_block b, const bool *reached, hn_arena *a);
hn_fgroup *hn_fuse_group_of(const hn_fuse *f, hn_val v); /* NULL: defined outside the block's kernels */
/* Values of p that others than p and c use (c may be NULL): results that the merged kernel has to store. */
bool hn_fuse_escapes(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c, hn_val v);
bool hn_fuse_any_escape(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c);
/* A path from p to c through a third group: merging them would close a cycle. */
bool hn_fuse_cycle(hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c);
void hn_fuse_join(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_kernel_kind kind); /* p's nodes go to c */
/* Through shadows: what v is a copy of. *spread: there are more elements of v than of it. */
hn_val hn_fuse_behind(const hn_fuse *f, hn_val v, bool *spread);
bool hn_fuse_same_shape(const hn_type *a, const hn_type *b);

/* fuse_rules.c */
void hn_fuse_found(hn_fuse *f, hn_fgroup *x, const hn_node *n); /* the group of one node */
/* Merges p into c, which uses v of it, where that is legal and no work is done twice. */
bool hn_fuse_try(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_val v);
void hn_fuse_attention(hn_fuse *f);
uint64_t hn_fuse_side_by_side(hn_fuse *f); /* contracts of one shape that share an input */

/* fuse_build.c: kernels in place of the groups. */
void hn_fuse_build(hn_fuse *f);

#endif
