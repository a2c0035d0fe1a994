/* nest/nest.h — loop nests: what a kernel computes (index maps and scalar operations) and in which order it does so
 * (the kinds and the shape of its loops, changed by the checked rewrites of nest/schedule.h).
 *
 * A nest has buffers (parameters and results of the kernel, local memory, registers), and a tree of statements: loops,
 * scalar definitions, stores, updates. Everything is an id into an array of the nest; 0 is "none".
 *
 * Index expressions (hn_ix) are sums coefficient * atom + offset; coefficient and offset are dimension expressions, an
 * atom is a loop variable, a scalar of type i64 (gather), or floordiv / mod by a dimension, min, max, xor of such sums
 * (xor: of the bits of sums that are never negative; swizzles of shared memory). They
 * are interned in one canonical form: equal ids are equal expressions. Buffers are indexed flat, in elements.
 * A guard is a list of index expressions that must all be >= 0.
 *
 * Loops run over 0 <= var < extent. Kinds: serial; parallel (only around everything else: the work items of the
 * kernel); unroll and vector (constant extents): their iterations are *lanes* that run the body in lockstep, statement
 * by statement, and every register buffer declared inside exists once per lane. So an unroll loop around a serial loop
 * is unroll-and-jam, and its registers are the named accumulators of a register tile. An update of a register that all
 * lanes share adds them in order (unroll) or folded in halves: lane l and l + n/2, then n/4 … (vector).
 *
 * Machines with blocks of threads: the iterations of parallel loops are the blocks, those of *group* loops the threads
 * of a block. One to three group loops stand directly inside each other (the innermost is x) and directly in the
 * parallel ones; there may be several side by side, those of a level of one length. Threads run in lockstep as lanes
 * do: a register exists once for every thread of the group loops around it, so one declared in front of all of them
 * holds one value for the block, and an update of it further in folds over the threads that share it (hn_stmt.op), each
 * of which sees the result in the next statement. A statement outside of a group loop is executed once for its threads.
 * Shared memory is a block's: it starts undefined, and threads fill it and read it with ordinary statements. Role loops
 * stand where group loops may and have group loops inside: neighbours run side by side, each iteration with threads of
 * its own. They wait for each other at *gates*, slots that count phases: a phase of a slot is over when every thread of
 * the roles that arrive there has arrived once, and what these did before is there for those that have waited. A
 * loop whose extent differs from thread to thread is divergent: no barrier in it, no update over threads but
 * those of one warp of 32. Barriers are derived (hn_nest_barriers); schedules never write them.
 *
 * A *cluster* loop stands directly in the parallel ones, around all group loops: its iterations are blocks that run at
 * the same time, and the work item is the cluster. Each block has shared memory of its own; *pushes* write to that of
 * the others, and a barrier of the cluster is one for the threads of all of its blocks. There is one at the begin and
 * the end of every item, which no nest writes.
 *
 * Text: docs/loop-nests.md.   Owns: everything in the arena handed in; borrows the dimension table.
 * Threads: one at a time.   Errors: sticky in the arena; hn_nest_verify checks the invariants:
 * 1 variables and scalars are used inside the scope that defines them; 2 stores go to results, locals and registers,
 * loads never to results; 3 scalar types fit the operations; 4 parallel loops have only loops parallel around them;
 * 5 the extents of unroll and vector loops are constant, 1..1024, and vector loops do not nest; 6 registers have
 * constant sizes, and their indices depend on unroll and vector loops alone; 7 group and role loops stand as said
 * above, have constant extents, and a block has at most 1024 threads; 8 shared memory has a constant size, in nests
 * with group loops; 9 a register that threads share gets one value for all of them, at one index, and is updated where
 * all of them are; 10 barriers stand where all threads of a block come by; 11 copies are of 4, 8 or 16 bytes, from a
 * parameter to shared memory of its type, made by threads, not in vectors; 12 tile products are those of mma.def, on a
 * thread's registers, where all threads of the block come by, whole warps; 13 gates have a constant size, 1 to 64,
 * stand in role loops, where all threads of the role come by, and those that arrive at one are one role's; roles have
 * no barriers; 14 there is at most one cluster loop, of 2 to 8 blocks, beside nothing but definitions, in a nest
 * without roles and local memory; pushes are of 4, 8 or 16 bytes of shared memory, made by threads of a cluster, not in
 * vectors, and barriers of the cluster stand there where the threads of all of its blocks come by.
 */
#ifndef HN_NEST_H
#define HN_NEST_H

#include "ir/graph.h"

typedef uint32_t hn_ix;  /* index expression */
typedef uint32_t hn_at;  /* atom of one */
typedef uint32_t hn_var; /* loop variable */
typedef uint32_t hn_sv;  /* scalar value */
typedef uint32_t hn_buf; /* buffer */
typedef uint32_t hn_st;  /* statement */

typedef enum hn_at_kind { HN_AT_VAR, HN_AT_VALUE, HN_AT_DIV, HN_AT_MOD, HN_AT_MIN, HN_AT_MAX, HN_AT_XOR } hn_at_kind;
typedef struct hn_atom {
    hn_at_kind kind;
    uint32_t id; /* variable or scalar */
    hn_ix a, b;  /* operands of min, max and xor; a alone of floordiv and mod */
    hn_dim by;   /* divisor */
} hn_atom;
typedef struct hn_term {
    hn_at atom;
    hn_dim coef;
} hn_term;
typedef struct hn_linear {
    hn_dim offset;
    uint32_t n;
    const hn_term *term; /* ascending by atom, coefficients not 0 */
} hn_linear;

/* WORDS: a parameter of 8-bit integers or of bf16 again, as i32: element i is its bytes 4*i … 4*i + 3, the first one
 * lowest.
 * LOCAL: memory of a work item; on machines with blocks, of a block. SHARED: fast memory of a block, of constant size.
 * GATE: an i64 for each slot at which roles wait for each other.
 */
typedef enum hn_space { HN_PARAM, HN_RESULT, HN_LOCAL, HN_REG, HN_WORDS, HN_SHARED, HN_GATE } hn_space;
typedef struct hn_nbuf {
    hn_space space;
    hone_dtype dtype;
    hn_dim size;    /* elements */
    uint32_t index; /* which parameter (that of words, too), result, local, register, shared */
} hn_nbuf;

/* What of the products of the two bf16 of words: of both, added up (BOTH: as vdpbf16ps does it, below), or one. */
typedef enum hn_pairs { HN_PAIRS_NONE, HN_PAIRS_BOTH, HN_PAIRS_LOW, HN_PAIRS_HIGH } hn_pairs;

typedef enum hn_sv_kind { HN_SV_CONST, HN_SV_LOAD, HN_SV_INDEX, HN_SV_OP, HN_SV_PICK, HN_SV_WRAP } hn_sv_kind;
typedef struct hn_scalar {
    hn_sv_kind kind;
    hone_dtype dtype;
    hn_op op; /* OP: unary, binary, ternary of ops.def */
    uint8_t n_arg;
    bool saturate;
    bool fused;     /* OP mul: an update that adds it may round once for both (contractions) */
    bool bytes;     /* OP mul of words: the sum of the products of their bytes, unsigned in arg[0], signed in arg[1] */
    hn_pairs pairs; /* OP mul of words, of type f32: the sum of the products of their bf16, or the product of the low or
                       the high ones. An update that adds both rounds once for each; subnormal numbers are zeros there
                       where the processor has an instruction for it */
    bool part;      /* OP div: of 0 … 1 by a sum that all of them are part of, 1 at least once (or NaN) */
    hn_sv arg[3]; /* PICK: arg[0] where the guard holds, else arg[1]. WRAP: an index from data: negative ones count from
                     `below`; what is outside is reported to the run and clamped into [0, below) */
    hn_buf buf;
    hn_ix at; /* LOAD, INDEX */
    uint32_t n_guard;
    const hn_ix *guard; /* LOAD: reads nothing and is 0 where it does not hold */
    double f;           /* CONST of a float type */
    int64_t i;          /* CONST of another */
    hn_dim below;       /* an i64 known to lie in [0, below); 0: not known. LOAD: of local memory that was filled with
                           such ones before the loop around */
} hn_scalar;

typedef enum hn_st_kind {
    HN_ST_LOOP,
    HN_ST_LET,
    HN_ST_STORE,
    HN_ST_UPDATE,
    HN_ST_REG,
    HN_ST_PREFETCH,
    HN_ST_BARRIER, /* what threads of the block wrote before is there for all of them behind it */
    HN_ST_COPY,    /* count elements from constant memory to shared memory, zeros where a guard is below 0; they are
                      there for the thread behind a WAIT for it, for others behind a barrier after that */
    HN_ST_COMMIT,  /* the thread's copies since the last one are one more group under way */
    HN_ST_WAIT,    /* until no more than count of the thread's latest groups are under way */
    HN_ST_MMA,     /* row count of mma.def, by the 32 threads of each warp: buf[at …] += from[0] * from[1] */
    HN_ST_ARRIVE,  /* at slot `at` of gate buf; count 1: when the thread's copies so far are there */
    HN_ST_AWAIT, /* until the phase of slot `at` whose number is odd or even as from_at[0] (0 or 1) is over; before the
                    first one the odd one is */
    HN_ST_PUSH   /* count elements of shared memory at `at`, which the thread has copied, go to the same place of the
                    cluster's other blocks; they are there behind a barrier of the cluster */
} hn_st_kind;
typedef enum hn_loop_kind {
    HN_SERIAL,
    HN_PARALLEL,
    HN_VECTOR,
    HN_UNROLL,
    HN_GROUP,
    HN_ROLE,
    HN_CLUSTER,
    HN_N_LOOP_KINDS
} hn_loop_kind;
typedef struct hn_stmt {
    hn_st_kind kind;
    hn_st next;
    hn_st body;        /* LOOP: first statement */
    hn_loop_kind loop; /* LOOP */
    hn_var var;        /* LOOP */
    hn_sv value;       /* LET, STORE, UPDATE */
    hn_buf buf;        /* STORE, UPDATE, REG, PREFETCH: memory that will be read or, of results, written; the element
                          need not be there */
    hn_ix at;
    hn_op op; /* UPDATE: add, mul, min, max: buf[at] = buf[at] op value. Over threads: in halves of every 32 neighbours
                 (x is the fastest), then in halves of what those gave */
    uint32_t n_guard;
    const hn_ix *guard; /* STORE, UPDATE: no effect where one is below 0 */
    hn_buf from[2];     /* COPY: the source; MMA: registers of A and B */
    hn_ix from_at[2];
    int64_t count; /* COPY, PUSH, WAIT, MMA */
    bool cluster;  /* BARRIER: of all blocks of the cluster */
} hn_stmt;

typedef struct hn_nest {
    hn_arena *a;
    hn_dims *dims;
    hn_linear *ix;
    hn_atom *atom;
    hn_nbuf *buf;
    hn_scalar *sv;
    hn_stmt *st;
    hn_ix *extent; /* of variable v: extent[v] */
    uint32_t n_ix, n_atom, n_buf, n_sv, n_st, n_var;
    uint32_t room_ix, room_atom, room_buf, room_sv, room_st, room_var;
    uint32_t n_in, n_out; /* parameters and results: buffers 1 … n_in, then n_in + 1 … n_in + n_out */
    bool repeats;         /* some results are computed twice: no parameter may lie in their memory */
    hn_st first;
} hn_nest;

hn_nest *hn_nest_new(hn_arena *a, hn_dims *dims); /* NULL: out of memory */

/* -- index expressions (nest/nest_index.c) */
hn_ix hn_ix_dim(hn_nest *n, hn_dim d);
hn_ix hn_ix_int(hn_nest *n, int64_t i);
hn_ix hn_ix_var(hn_nest *n, hn_var v);
hn_ix hn_ix_value(hn_nest *n, hn_sv v); /* a scalar of type i64 with `below` set */
hn_ix hn_ix_add(hn_nest *n, hn_ix a, hn_ix b);
hn_ix hn_ix_sub(hn_nest *n, hn_ix a, hn_ix b);
hn_ix hn_ix_scale(hn_nest *n, hn_ix a, hn_dim by);
hn_ix hn_ix_div(hn_nest *n, hn_ix a, hn_dim by); /* floor; simplified where ranges and divisibility allow it */
hn_ix hn_ix_mod(hn_nest *n, hn_ix a, hn_dim by); /* of the divisor's sign */
hn_ix hn_ix_min(hn_nest *n, hn_ix a, hn_ix b);
hn_ix hn_ix_max(hn_nest *n, hn_ix a, hn_ix b);
hn_ix hn_ix_xor(hn_nest *n, hn_ix a, hn_ix b);           /* neither is ever negative */
bool hn_ix_is_dim(const hn_nest *n, hn_ix i, hn_dim *d); /* no atom in it; d may be NULL */
bool hn_ix_is_int(const hn_nest *n, hn_ix i, int64_t *v);
/* Bounds over all iterations as dimension expressions, 0 where none can be given. */
hn_dim hn_ix_low(hn_nest *n, hn_ix i);
hn_dim hn_ix_high(hn_nest *n, hn_ix i);
bool hn_ix_never_negative(hn_nest *n, hn_ix i); /* provably */
/* Provably below every value of the other dimension: a < b. */
bool hn_dim_below(hn_dims *t, hn_dim a, hn_dim b);
/* The coefficient of variable v where the expression is linear in it (0 as the constant 0); false: it is not. */
bool hn_ix_stride(hn_nest *n, hn_ix i, hn_var v, hn_dim *stride);
/* Likewise; false also where the coefficient is no number. *step is written only where it is. */
bool hn_ix_step(hn_nest *n, hn_ix i, hn_var v, int64_t *step);
bool hn_ix_uses(const hn_nest *n, hn_ix i, hn_var v);
/* Also through scalars: does the value of i depend on v? */
bool hn_ix_depends(const hn_nest *n, hn_ix i, hn_var v);
bool hn_sv_depends(const hn_nest *n, hn_sv x, hn_var v);
/* A copy with variables and scalars replaced: var[v], sv[x] are 0 where they stay. */
typedef struct hn_subst {
    const hn_ix *var;
    const hn_sv *sv;
    uint32_t n_var, n_sv;
} hn_subst;
hn_ix hn_ix_subst(hn_nest *n, hn_ix i, const hn_subst *s);

/* -- parts of a nest (nest/nest.c) */
hn_buf hn_nest_buf(hn_nest *n, hn_space space, hone_dtype dtype, hn_dim size);
hn_buf hn_nest_words(hn_nest *n, hn_buf param);    /* the words of a parameter: those there are, or new ones */
bool hn_nest_constant(const hn_nest *n, hn_buf b); /* memory that nothing in the nest writes: parameters, words */
hn_var hn_nest_var(hn_nest *n, hn_ix extent);
hn_sv hn_nest_scalar(hn_nest *n, const hn_scalar *x);
hn_st hn_nest_stmt(hn_nest *n, const hn_stmt *s);
/* How statements that write are made, with conditions (n_guard may be 0; borrowed). */
hn_st hn_nest_store(hn_nest *n, hn_buf b, hn_ix at, hn_sv value, uint32_t n_guard, const hn_ix *guard);
hn_st hn_nest_update(hn_nest *n, hn_buf b, hn_ix at, hn_op op, hn_sv value, uint32_t n_guard, const hn_ix *guard);
hn_st hn_nest_barrier(hn_nest *n);
/* Structural equality of two definitions (not of what they load from memory that changes). */
bool hn_scalar_same(const hn_scalar *a, const hn_scalar *b);
/* Copies a list of statements with everything defined inside renewed, outer things replaced by s (may be NULL). */
hn_st hn_nest_clone(hn_nest *n, hn_st first, const hn_subst *s);
/* Likewise where these conditions, as they stand before the copy, always hold. */
hn_st hn_nest_clone_where(hn_nest *n, hn_st first, const hn_subst *s, uint32_t n_holds, const hn_ix *holds);

hone_rc hn_nest_verify(hn_nest *n, hone_err *err);
bool hn_nest_has_group(const hn_nest *n);  /* is it for a machine with blocks of threads? */
int64_t hn_nest_cluster(const hn_nest *n); /* blocks of a cluster; 1: there are none */
struct hn_str;
void hn_nest_print(const hn_nest *n, struct hn_str *out);
hone_rc hn_nest_parse(const char *text, hn_arena *a, hn_dims *dims, hn_nest **out, hone_err *err);

/* -- from the IR (nest/body.c): a kernel's body with one loop per dimension of its results, not yet scheduled.
 * E_UNSUPPORTED with a reason for bodies with operations that have no definition element by element. */
hone_rc hn_nest_lower(hn_graph *g, hn_block body, const char *kind, hn_arena *a, hn_nest **out, hone_err *err);

#endif
