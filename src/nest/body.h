/* nest/body.h — a body being lowered: where statements go, and what has been evaluated already.
 *
 * A value of the IR is evaluated at an index (one index expression per dimension). What it needs is placed in the
 * outermost open scope (loop) in which all its variables are known, and remembered there: so rows' reductions end up
 * around the loops over the row's elements, and nothing is computed twice in one scope.
 */
#ifndef HN_BODY_H
#define HN_BODY_H

#include "base/err.h"
#include "nest/nest_int.h"

typedef struct hn_body_scope {
    struct hn_body_scope *up;
    int depth;
    hn_loop_kind kind;
    hn_var var;       /* 0: the outermost scope */
    hn_st head, tail; /* statements so far */
    hn_sv *seen;      /* scalars defined here */
    uint32_t n_seen, room_seen;
} hn_body_scope;

typedef struct hn_memo { /* value `v` at `at` (its rank of index expressions) is `sv`, or row buffer `row` */
    struct hn_memo *next;
    const hn_body_scope *scope;
    const hn_ix *guard;
    uint32_t n_guard;
    const hn_ix *at;
    hn_sv sv;
    hn_buf row;
} hn_memo;

typedef struct hn_nest_lowering {
    hn_graph *g;
    hn_nest *n;
    hn_buf *buf;          /* of a value: the parameter's buffer, or 0 */
    hn_memo **memo;       /* of a value */
    uint8_t *keep;        /* value is to be kept in a row buffer */
    bool map;             /* elements move and change, nothing is reduced */
    hn_body_scope *scope; /* where statements go now */
    hn_body_scope **home; /* of scalars: scope */
    uint32_t n_home;
    hn_ix guard[32]; /* holds where we are */
    uint32_t n_guard;
    int level;
    hone_err *err;
    hone_rc rc;
} hn_nest_lowering;

/* nest/body_place.c */
hn_var hn_open_loop(hn_nest_lowering *l, hn_ix extent, hn_loop_kind kind);
void hn_close_loop(hn_nest_lowering *l);
void hn_append(hn_nest_lowering *l, const hn_stmt *s);
hn_sv hn_place(hn_nest_lowering *l, const hn_scalar *x); /* an equal one that is in scope, or a new definition */
hn_body_scope *hn_home_of_ix(hn_nest_lowering *l, hn_ix i);
hn_body_scope *hn_home_of_guards(hn_nest_lowering *l);
hn_body_scope *hn_deeper(hn_body_scope *a, hn_body_scope *b);
bool hn_in_sight(const hn_nest_lowering *l, const hn_body_scope *s);
hn_sv hn_place_op(hn_nest_lowering *l, hn_op op, hone_dtype t, hn_sv a, hn_sv b, hn_sv c);
hn_sv hn_place_cast(hn_nest_lowering *l, hn_sv x, hone_dtype t, bool saturate);
hn_sv hn_place_number(hn_nest_lowering *l, hone_dtype t, double f, int64_t i);
hn_sv hn_place_index(hn_nest_lowering *l, hn_ix i);
hn_sv hn_place_load(hn_nest_lowering *l, hn_buf b, hn_ix at);
hn_sv hn_place_pick(hn_nest_lowering *l, uint32_t n_guard, const hn_ix *guard, hn_sv yes, hn_sv no);
/* Guards hold between push and pop; guards that always hold are left out. Returns how many to pop. */
uint32_t hn_push_guards(hn_nest_lowering *l, uint32_t n, const hn_ix *guard);
void hn_store(hn_nest_lowering *l, hn_buf b, hn_ix at, hn_sv x);

/* Marks the divisions of a row's elements by their sum (nest/body_parts.c). */
void hn_mark_parts(hn_nest *n);
void hn_update(hn_nest_lowering *l, hn_buf b, hn_ix at, hn_op op, hn_sv x);
hn_buf hn_register(hn_nest_lowering *l, hone_dtype t);

/* nest/body.c */
hn_sv hn_value_at(hn_nest_lowering *l, hn_val v, const hn_ix *at);
hn_sv hn_decline(hn_nest_lowering *l, const char *fmt, ...) HONE_PRINTF(2, 3);
hn_ix hn_flat(hn_nest_lowering *l, const hn_type *t, const hn_ix *at);
/* nest/body_move.c, body_reduce.c */
hn_sv hn_move_at(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at);
hn_sv hn_gather_at(hn_nest_lowering *l, const hn_node *x, const hn_ix *at);
hn_sv hn_reduce_at(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at);

/* nest/body_prefix.c: lines along a dimension with others inside of it, some hundred side by side at once. */
typedef struct hn_lines {
    hn_dim outer, length, inner;
    hn_ix outer_at, first, together; /* inside hn_lines_open: where, and how many */
} hn_lines;
typedef enum hn_lines_fit {
    HN_LINES_ODD,
    HN_LINES_FEW,
    HN_LINES_SIDE
} hn_lines_fit; /* odd: of a type without vectors */
hn_lines_fit hn_lines_of(hn_nest_lowering *l, const hn_type *t, size_t axis, hn_lines *s);
void hn_lines_open(hn_nest_lowering *l, hn_lines *s);
void hn_lines_close(hn_nest_lowering *l);
hn_ix hn_lines_at(hn_nest_lowering *l, const hn_lines *s, hn_ix k); /* where element k of the first of them lies */
hn_buf hn_lines_row(hn_nest_lowering *l, hone_dtype t);             /* local memory with an element for each */
/* The loops that store the node's result (nest/body_prefix.c, body_arg.c). */
void hn_prefix_into(hn_nest_lowering *l, const hn_node *x, hn_buf to);
void hn_arg_into(hn_nest_lowering *l, const hn_node *x, hn_buf to);

#endif
