/* backend/cpu/nest_c.h — a scheduled nest as the body of a C function. Private to the backend.
 *
 * Iterations of unroll and vector loops are lanes (nest/nest.h): a statement is written once per combination of the
 * unroll lanes it depends on, with vector types where it depends on the vector loop. C names: p0, r0, t0 (buffers),
 * a0_<element>_<lanes> (registers), i0 (loop variables), v0_<lanes> (scalars), s_0 (symbols), l (lane of a vector).
 */
#ifndef HN_NEST_C_H
#define HN_NEST_C_H

#include "backend/backend.h"
#include "backend/spelling.h"
#include "base/err.h"
#include "base/str.h"
#include "nest/nest.h"

enum { HN_LANES_MAX = 8, HN_BASES_MAX = 16 };

typedef struct hn_lane { /* an unroll or vector loop around the statement being written */
    hn_var var;
    bool vector;
    int64_t n, at; /* unroll: the iteration being written */
} hn_lane;

/* The part of an index that a loop does not change, as a pointer named b<id> set in front of the loop. */
typedef struct hn_c_base {
    hn_buf buf;
    hn_ix at;
    hn_var loop;
    unsigned id;
} hn_c_base;

typedef struct hn_c_guard hn_c_guard; /* the name of a guard in c->folds, and the one written before it */
struct hn_c_guard {
    const char *name;
    const hn_c_guard *next;
};

enum { HN_NAMED_MAX = 64 };
/* A constant that stands in front of all loops; one that is read behind reductions. */
enum { HN_C_OUTSIDE = 1, HN_C_LATE, HN_C_LATE_SAID };
typedef struct hn_c {
    hn_nest *n;
    hn_str *out;
    int width;       /* elements per vector in the vector loop being written */
    uint32_t widths; /* that occur: bit k for 2^k; 1: functions on single floats */
    bool clears;     /* HNK_CLEAR occurs */
    uint32_t math;   /* files of functions that occur (nest_c_math.c) */
    int vector_b;    /* of a vector register; 0: none */
    bool fma, relaxed;
    bool calls;  /* functions such as exp follow reductions */
    hn_var tile; /* of the loop being written, if that is the reduction of a register tile; else 0 */
    int indent;
    hn_lane lane[HN_LANES_MAX];
    int n_lane;
    uint32_t *sv_mask;            /* lanes that a scalar depends on, bit per place in lane[] */
    uint32_t *buf_mask;           /* of registers: lanes around the declaration */
    uint16_t *chunked;            /* of registers accessed as whole vectors: elements of one; else 0 */
    uint32_t *uses;               /* of scalars */
    bool *inlined;                /* scalars written where they are used */
    uint8_t *late;                /* of scalars: HN_C_OUTSIDE… */
    hn_c_base base[HN_BASES_MAX]; /* of the loops being written */
    unsigned n_base, n_base_ever;
    struct {
        hn_at atom;
        unsigned id;
        int indent;        /* of the block that it is declared in */
    } named[HN_NAMED_MAX]; /* long terms of indices that have a name in the blocks being written */
    unsigned n_named, n_named_ever;
    uint32_t *symbol, n_symbol; /* that the text written so far reads, each once */
    bool *is_used;              /* scratch, by symbol */
    const hn_c_guard *guards;   /* of what stands in folds */
    hn_str *folds;              /* functions that few kernels need: folds of a vector's lanes, rounding, squares */
    const char *why;            /* first reason why it cannot be written */
} hn_c;

/* nest_c_index.c */
uint32_t hn_c_ix_mask(const hn_c *c, hn_ix i);
/* lane: text for the vector loop's variable ("0", "l"). */
void hn_c_ix(hn_c *c, hn_str *out, hn_ix i, const char *lane);
void hn_c_dim(hn_c *c, hn_str *out, hn_dim d); /* text that is dropped again: set c->n_symbol back as well */
/* Pointers for the loads and prefetches in a reduction's loop, which is about to be written: one for all lanes. */
void hn_c_bases(hn_c *c, const hn_stmt *loop);
/* buf[at], relative to such a pointer where there is one. */
void hn_c_access(hn_c *c, hn_str *out, hn_buf b, hn_ix at, const char *lane);
/* Its address, likewise, computed in integers: the element need not be there. */
void hn_c_address(hn_c *c, hn_str *out, hn_buf b, hn_ix at);
/* From here on the compiler does not know where the pointer that serves buf[at] points. */
void hn_c_forget(hn_c *c, hn_buf b, hn_ix at);
void hn_c_guards(hn_c *c, hn_str *out, uint32_t n, const hn_ix *guard, const char *lane);
/* 1: all hold in the lanes being written, 0: one does not, -1: that is known at run time alone. */
int hn_c_known_guards(hn_c *c, uint32_t n, const hn_ix *guard);
bool hn_c_constant(hn_c *c, hn_ix i, int64_t *value); /* with unroll lanes in place, the vector's variable 0 */
bool hn_c_step(hn_c *c, hn_ix i, int64_t *step);      /* the stride in the vector loop's variable, if it is a number */
bool hn_c_unit_stride(hn_c *c, hn_ix i);              /* it is 1 */
int hn_c_vector_lane(const hn_c *c);                  /* place of the vector loop in lane[], or -1 */

/* nest_c_shared.c: of a register tile's reduction */
/* Before statement `let` of the list `first`: what it reads is kept apart from what other lanes read. */
void hn_c_keep_apart(hn_c *c, hn_st first, hn_st let);

/* nest_c_late.c */
/* Finds the constants that statements behind a reduction in vectors need. */
void hn_c_find_late(hn_c *c);
/* A reduction is written; those that the list behind it needs are read here. */
void hn_c_late(hn_c *c, hn_st behind);

/* nest_c_scalar.c */
uint32_t hn_c_mask(const hn_c *c, const hn_scalar *x);
void hn_c_name(const hn_c *c, hn_str *out, hn_sv x);
/* As an operand of a statement that is (vector) or is not written with vectors; lane: as above, for one lane of it. */
void hn_c_operand(hn_c *c, hn_str *out, hn_sv x, bool vector, const char *lane);
void hn_c_let(hn_c *c, hn_sv x);
void hn_c_reg(hn_c *c, hn_str *out, hn_buf b, hn_ix at, bool vector);
const char *hn_c_type(hone_dtype t); /* of a scalar in a register */
void hn_c_vtype(const hn_c *c, hn_str *out, hone_dtype t);
bool hn_c_vectorisable(hone_dtype t);
/* The element type of a vector register: masks are i32, small floats f32. Halves are converted where they are loaded
 * and stored, and rounded in between. */
const char *hn_c_lane(hone_dtype t);
/* a, a vector of element type `from`, with its elements as `to`, by the names of hn_c_lane; nest_c_types.c. */
void hn_c_converted(hn_str *out, int width, const char *from, const char *to, const char *a);
void hn_c_line(hn_c *c, const char *fmt, ...) HONE_PRINTF(2, 3);
/* buf = buf op value, both as text; vectors or scalars. */
void hn_c_fold(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *a, const char *b, bool vector);
/* The lanes of a vector folded by op, in halves; writes the function where it is new. */
void hn_c_fold_lanes(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *vector);
void hn_c_put(hn_c *c, hn_str *out, hone_dtype t, const char *value); /* scalar from register to memory form */

/* nest_c_compare.c: the mask of a comparison of indices, or of conditions, in the vector loop's lanes. False: they do
 * not grow evenly from lane to lane; what is written then is of no use. */
bool hn_c_compare(hn_c *c, hn_str *out, const hn_scalar *x);
bool hn_c_guard_mask(hn_c *c, hn_str *out, uint32_t n, const hn_ix *guard);

/* nest_c_across.c: the definition of x as a square turned in registers; false: it is none. */
bool hn_c_across(hn_c *c, hn_sv x);

/* nest_c_shuffle.c: elements of `type` in memory whose places differ from lane to lane by numbers, as vectors and
 * shuffles; false: there are none, or it takes too many. alone: only where this vector reads is memory for sure. */
bool hn_c_shuffled(hn_c *c, hn_str *out, const hn_scalar *x, const char *type, bool alone);

/* nest_c_op.c: one operation on operands given as text */
void hn_c_scalar_op(hn_c *c, hn_str *out, const hn_scalar *x, const char *const arg[3]);
bool hn_c_has_vectors(hone_dtype t); /* vectors of it stand for their elements as they are */
bool hn_c_vector_op(hn_c *c, hn_str *out, const hn_scalar *x, const char *const arg[3]); /* false: lane by lane */

/* nest_c_bytes.c: a product of words' bytes onto a sum */
void hn_c_bytes(hn_c *c, hn_str *out, const char *sum, const char *a, const char *b, bool vector);

/* nest_c_pairs.c: a product of words' two bf16 onto a sum; one of the two as f32. */
void hn_c_pairs(hn_c *c, hn_str *out, const char *sum, const char *a, const char *b, bool vector);
void hn_c_pair(hn_c *c, hn_str *operand, hn_pairs which, bool vector);

/* nest_c_round.c: of a vector of floats, the function beside the kernel (c->folds); false: it has none. */
bool hn_c_round(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *a); /* floor, ceil, round, trunc, sign */
/* Likewise for the least or the greatest of a vector of f32 and a number that is no NaN: NaN stays. */
bool hn_c_bound(hn_c *c, hn_str *out, const hn_scalar *x, const char *const a[3]);
/* Likewise for functions of two vectors: rem, mod. */
bool hn_c_remainder(hn_c *c, hn_str *out, hn_op op, hone_dtype t, const char *a, const char *b);
void hn_c_wrap(hn_c *c, hn_str *out, const char *index, const char *size); /* a vector of indices; hnr_index of each */
bool hn_c_to_int(hn_c *c, hn_str *out, const hn_scalar *x, hone_dtype from, const char *a); /* a cast */
/* Opens the guard of function `name` for t in c->folds; false: it is written already. */
bool hn_c_opens(hn_c *c, const char *name, hone_dtype t);
void hn_c_need_any(hn_c *c); /* hnk_any_x<width>: is any lane of a mask set? */
/* v, a cast of floats to integers of few bits, before it was narrowed: as i32. gcc takes the lanes one by one where
 * narrowing and widening follow each other. False: v is none. */
bool hn_c_clipped(hn_c *c, hn_str *out, hn_sv v);

/* nest_c_divide.c: vector `a` divided by x's second operand; false: that is no number, or a division is as fast. */
bool hn_c_quotient(hn_c *c, hn_str *out, const hn_scalar *x, const char *a);
/* RN(x*high + RN(x*low)) is x / by for every f32 x for which x*low is zero or a normal number. False: it is not. */
bool hn_c_divisor(float by, float *high, float *low);

/* nest_c_types.c: types, and functions on vectors, guarded so that they may be repeated in one file */
void hn_c_prelude(hn_str *out, int width, uint32_t math);
void hn_c_prelude_once(hn_str *out); /* what that of vectors begins with, for a kernel without */
/* A template for vectors of t: @ becomes the width, $ the element type, # the integer of its size, and #C that type in
 * C (of the element). */
void hn_c_template(hn_str *out, const char *text, int width, hone_dtype t);
/* Functions of vectors with rows in builtins.def. Adds `directive CONDITION, return TEXT` for each row of this vector
 * of f32 or f64, #elif from the second on; gives how many there are. */
typedef enum hn_c_builtin {
    HN_C_FMA,
    HN_C_SQRT,
    HN_C_WIDEN,
    HN_C_NARROW,
    HN_C_ROUND,
    HN_C_FLOOR,
    HN_C_CEIL,
    HN_C_TRUNC,
    HN_C_MIN,
    HN_C_MAX,
    HN_C_UNDER,
    HN_C_OVER,
    HN_C_NEAR_ZERO
} hn_c_builtin;
unsigned hn_c_builtins(hn_str *out, hn_c_builtin f, int width, hone_dtype t, const char *directive);
/* Opens the guard of a function in c->folds; the caller writes it, and #endif. False: it is there already. */
bool hn_c_once(hn_c *c, const char *guard);

/* nest_c_math.c: functions of floats, the same bits for every width */
/* What stands between "hnk_" and the vector type (of hn_c_lane(t)) in the name of the function for results of type t;
 * notes which files are needed. NULL: there is none. */
const char *hn_c_function(hn_c *c, hn_op op, hone_dtype t);
void hn_c_math_text(hn_str *out, int width, uint32_t files);

/* nest_c.c: the body; false with c->why set. */
bool hn_c_nest(hn_c *c);

#endif
