/* backend/gpu/print.h — a scheduled nest as a device's kernel. Private to the folder.
 *
 * Iterations of unroll and vector loops are lanes (nest/nest.h): every statement is written once per combination of the
 * lanes that it depends on, on named scalars. Names: p0, r0, t0 (buffers), a0_<element>_<lanes> (registers), i0 (loop
 * variables), v0_<lanes> (scalars), s_0 (symbols), s (error slot), w (work item).
 */
#ifndef HN_GPU_PRINT_H
#define HN_GPU_PRINT_H

#include "backend/gpu/gpu.h"
#include "backend/spelling.h"
#include "base/err.h"
#include "base/str.h"
#include "nest/nest.h"
#include "nest/threads.h"

enum { HN_GPU_LANES_MAX = 8 };

typedef struct hn_gpu_lane { /* an unroll or vector loop around the statement being written */
    hn_var var;
    bool vector;
    int64_t n, at; /* the iteration being written */
} hn_gpu_lane;

typedef struct hn_gp {
    hn_nest *n;
    hn_str *out;
    int indent;
    bool group;                     /* a work item is a block's, or a cluster's */
    int64_t cluster;                /* blocks of a cluster; 1: there are none */
    bool clusters;                  /* the target has them */
    hn_threads threads;             /* what differs between threads */
    int n_level;                    /* group loops inside each other */
    int64_t size[3];                /* threads of each level, from the outside */
    int64_t n_threads;              /* of a block */
    int64_t role_threads, role_at;  /* of the role being written and where they begin; 0: none */
    int64_t role_next;              /* where the next role's begin */
    bool roles;                     /* threads are in roles */
    bool folds;                     /* values of threads are folded: memory for that is needed */
    bool mma;                       /* the language has products of tiles */
    bool pool;                      /* shared memory is one array, as large as the launch says */
    bool narrow;                    /* indices fit in 32 bits */
    bool part_scalar, part_convert; /* of the runtime, that are used */
    hn_gpu_lane lane[HN_GPU_LANES_MAX];
    int n_lane;
    uint32_t *sv_mask;          /* lanes that a scalar depends on, bit per place in lane[] */
    uint32_t *buf_mask;         /* of registers: lanes around the declaration */
    uint32_t *uses;             /* of scalars */
    bool *inlined;              /* scalars written where they are used */
    uint32_t *symbol, n_symbol; /* that the text written so far reads, each once */
    bool *is_used;              /* scratch, by symbol */
    const char *why;            /* first reason why it cannot be written */
} hn_gp;

/* print_index.c */
uint32_t hn_gp_ix_mask(const hn_gp *c, hn_ix i);
void hn_gp_ix(hn_gp *c, hn_str *out, hn_ix i);
void hn_gp_dim(hn_gp *c, hn_str *out, hn_dim d);
bool hn_gp_constant(hn_gp *c, hn_ix i, int64_t *value); /* with the lanes being written in place */
void hn_gp_guards(hn_gp *c, hn_str *out, uint32_t n, const hn_ix *guard);
/* 1: all hold in the lanes being written, 0: one does not, -1: that is known at run time alone. */
int hn_gp_known_guards(hn_gp *c, uint32_t n, const hn_ix *guard);
bool hn_gp_narrow(hn_nest *n); /* do all indices fit in 32 bits? */
const char *hn_gp_ix_type(const hn_gp *c);

/* print_scalar.c */
void hn_gp_line(hn_gp *c, const char *fmt, ...) HONE_PRINTF(2, 3);
void hn_gp_name(const hn_gp *c, hn_str *out, hn_sv x);
void hn_gp_let(hn_gp *c, hn_sv x);
void hn_gp_reg(hn_gp *c, hn_str *out, hn_buf b, hn_ix at);
void hn_gp_access(hn_gp *c, hn_str *out, hn_buf b, hn_ix at);
uint32_t hn_gp_mask(const hn_gp *c, const hn_scalar *x);
const char *hn_gp_type(hone_dtype t); /* of a scalar in a register */

/* print_op.c: one operation on operands given as text */
void hn_gp_op(hn_gp *c, hn_str *out, const hn_scalar *x, const char *const arg[3]);
void hn_gp_fold(hn_gp *c, hn_str *out, hn_op op, hone_dtype t, const char *a, const char *b);
void hn_gp_put(hn_gp *c, hn_str *out, hone_dtype t, const char *value); /* from register to memory form */
void hn_gp_get(hn_gp *c, hn_str *out, hone_dtype t, const char *value); /* … and back */

/* print_wide.c: as accesses of 4, 8 or 16 bytes, where lanes of a vector loop lie next to each other. */
bool hn_gp_wide_let(hn_gp *c, hn_sv x); /* writes the definition for all lanes of the vector loop; false: it does not */
bool hn_gp_wide_store(hn_gp *c, const hn_stmt *s); /* likewise */

/* print_group.c: blocks of threads */
bool hn_gp_group_set_up(hn_gp *c);                       /* false: no such blocks are made, c->why */
void hn_gp_group_var(hn_gp *c, hn_st loop);              /* the thread's place in a group loop */
int hn_gp_sharers(const hn_gp *c, const hn_stmt *s);     /* levels whose threads share the register that s writes */
bool hn_gp_first_thread(hn_gp *c, hn_str *out, hn_st s); /* a condition for what is done once; false: each does it */
void hn_gp_fold_threads(hn_gp *c, const hn_stmt *s);     /* an update of a register that threads share */
void hn_gp_thread(const hn_gp *c, hn_str *out);          /* the thread's number in its block or role */
bool hn_gp_role_begin(hn_gp *c, hn_st loop);             /* sets the role up; false with c->why */
void hn_gp_role_end(hn_gp *c);

/* print_tile.c: copies to shared memory, products of tiles by warps; for one combination of lanes */
void hn_gp_copy(hn_gp *c, const hn_stmt *s);
void hn_gp_mma(hn_gp *c, const hn_stmt *s);
void hn_gp_gate(hn_gp *c, const hn_stmt *s); /* an arrival, or a wait */
void hn_gp_push(hn_gp *c, const hn_stmt *s);
void hn_gp_gates_open(hn_gp *c);  /* at the start of an item */
void hn_gp_gates_close(hn_gp *c); /* at its end */

/* print_stmt.c: the body; false with c->why set. */
bool hn_gp_nest(hn_gp *c);

#endif
