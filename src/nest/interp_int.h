/* nest/interp_int.h — what the parts of the interpreter of nests share. */
#ifndef HN_NEST_INTERP_INT_H
#define HN_NEST_INTERP_INT_H

#include "base/err.h"
#include "ir/interp_int.h"
#include "nest/interp.h"
#include "nest/nest_int.h"

enum { HN_RUN_DEPTH = 64, HN_RUN_MANY = -3, HN_RUN_ROLES = 4 }; /* many: threads; roles: most side by side */

/* One open loop around what is executed. Lanes of all open lane loops have one flat number, the innermost the fastest.
 */
typedef struct hn_run_loop {
    hn_var var;
    hn_loop_kind kind;
    int64_t extent;
    int64_t lanes; /* of all lane loops up to this one */
} hn_run_loop;

/* What was done last to an element that threads share. */
typedef struct hn_shadow {
    int64_t written;                   /* moment of the last write, 0: never */
    int64_t read;                      /* moment of the last reads */
    int32_t writer, reader;            /* threads; HN_RUN_MANY: several */
    int64_t item;                      /* work item that wrote it; 0: none, outside of all */
    int32_t copy;                      /* number of the copy under way, 0: none */
    uint8_t by, to;                    /* roles of the last write and read, from 1; 0: none */
    uint32_t wrote, saw[HN_RUN_ROLES]; /* their clocks then; of reads, by role */
} hn_shadow;

typedef struct hn_run_memory {
    hn_tensor data;
    hn_shadow *shadow;   /* of memory that is written */
    uint8_t *set;        /* register: element has a value */
    int64_t lanes, size; /* register: of how many lanes, elements each */
} hn_run_memory;

typedef struct hn_value_of { /* a scalar, one element per lane that was open where it was defined */
    hn_tensor data;
    int64_t lanes, room;
} hn_value_of;

typedef struct hn_copy_way { /* a copy under way */
    hn_buf to;
    int64_t at, count;
    int32_t thread, group; /* group 0: not committed */
    int role;
    int64_t gate; /* slot at which it was said to arrive, plus one; 0: none */
    uint32_t clock;
} hn_copy_way;

typedef struct hn_run_state {
    hn_nest *n;
    hn_nest_run *run;
    hn_arena a;
    hn_run_memory *mem;
    int64_t **form; /* of an index expression: offset and coefficients as numbers; NULL: not met yet */
    int64_t *by;    /* of an atom: the divisor, 0: not met yet */
    hn_value_of *value;
    int64_t *var;  /* of loops that are no lanes */
    int *var_loop; /* of lane loops: which open loop, plus one */
    hn_run_loop loop[HN_RUN_DEPTH];
    int depth;
    const uint8_t *mask; /* lanes that take part, by lane of mask_lanes; NULL: all */
    int64_t mask_lanes;
    int64_t threads; /* lanes of the group loops open, 1 without */
    int64_t block;   /* threads of a block, of all blocks of a cluster, or of the role; 1 without */
    int64_t cluster; /* blocks of a cluster; 1 without */
    int64_t met;     /* moment of the last barrier of the cluster */
    int64_t base;    /* threads of the roles in front */
    int role;        /* from 1; 0: no roles run */
    struct hn_run_roles *roles;
    int64_t item, moment, steps;
    hn_copy_way *way;
    uint32_t n_way, room_way;
    int32_t n_group, n_copy;
    hn_st at; /* for messages */
    hone_err *err;
} hn_run_state;

static inline int64_t hn_run_lanes(const hn_run_state *s) { return s->depth ? s->loop[s->depth - 1].lanes : 1; }
static inline bool hn_run_takes_part(const hn_run_state *s, int64_t lane) {
    return !s->mask || s->mask[lane / (hn_run_lanes(s) / s->mask_lanes)];
}
hone_rc hn_run_wrong(hn_run_state *s, const char *fmt, ...) HONE_PRINTF(2, 3);

/* interp.c */
hone_rc hn_run_index(hn_run_state *s, hn_ix i, int64_t lane, int64_t *out);
hone_rc hn_run_holds(hn_run_state *s, uint32_t n, const hn_ix *guard, int64_t lane, bool *holds);
/* interp_memory.c */
int32_t hn_run_thread(const hn_run_state *s, int64_t lane, bool *several);
hone_rc hn_run_read(hn_run_state *s, hn_buf b, int64_t at, int64_t lane, void *out);
hone_rc hn_run_write(hn_run_state *s, hn_buf b, int64_t at, int64_t lane, const void *from);
hone_rc hn_run_copy(hn_run_state *s, const hn_stmt *x);
hone_rc hn_run_push(hn_run_state *s, const hn_stmt *x);
void hn_run_commit(hn_run_state *s);
void hn_run_wait(hn_run_state *s, int64_t most);
hone_rc hn_run_declare(hn_run_state *s, hn_buf b);
void hn_run_land(hn_run_state *s, int64_t slot); /* copies that arrive at a slot are there */
/* interp_roles.c */
hone_rc hn_run_side_by_side(hn_run_state *s, hn_st first, hn_st *last); /* the role loop and those right behind it */
hone_rc hn_run_arrive(hn_run_state *s, const hn_stmt *x);
hone_rc hn_run_await(hn_run_state *s, const hn_stmt *x);
bool hn_run_may_see(const hn_run_state *s, int role, uint32_t clock); /* what the role did then comes before now */
uint32_t hn_run_clock(const hn_run_state *s);
/* interp.c */
hone_rc hn_run_lanes_of(hn_run_state *s, const hn_stmt *x); /* a loop whose iterations are lanes */
/* interp_scalar.c */
hone_rc hn_run_let(hn_run_state *s, hn_sv x);
hone_rc hn_run_update(hn_run_state *s, const hn_stmt *x);
hone_rc hn_run_mma(hn_run_state *s, const hn_stmt *x);
const void *hn_run_element(hn_run_state *s, hn_sv x, int64_t lane); /* of a scalar in scope */

#endif
