/* nest/body_arg.c — places of maxima and minima.
 *
 * Along a dimension that has others inside of it the lines side by side go together (body_prefix.c), with a row of the
 * best values so far and one of their places. A line along the innermost dimension has such a row of its own, element
 * k*LANES + x in place x; the best of the row, and what the line has left over, are found one by one.
 */
#include "nest/body.h"

enum { LANES = 32 };

typedef struct best {
    hn_buf from, to, value, place; /* rows, or registers: of values, and of places */
    hone_dtype dtype;
    bool max, last; /* of equal values the last */
} best;

static hn_sv logic(hn_nest_lowering *l, hn_op op, hn_sv a, hn_sv b) { return hn_place_op(l, op, HONE_BOOL, a, b, 0); }

/* Is x better? NaN is better than any number. last: an equal one is, too. */
static hn_sv is_better(hn_nest_lowering *l, const best *b, hn_sv x, hn_sv than, bool last) {
    hn_sv better = logic(l, last ? HN_OP_LE : HN_OP_LT, b->max ? than : x, b->max ? x : than);
    if (!hn_is_float(b->dtype)) return better;
    hn_sv nan = logic(l, HN_OP_ISNAN, x, 0);
    if (!last) nan = logic(l, HN_OP_AND, nan, logic(l, HN_OP_NOT, logic(l, HN_OP_ISNAN, than, 0), 0));
    return logic(l, HN_OP_OR, better, nan);
}

/* Is x better? Of two equal ones, which may come in any order, their places decide. */
static hn_sv is_better_at(hn_nest_lowering *l, const best *b, hn_sv x, hn_sv at, hn_sv than, hn_sv than_at) {
    hn_sv before = logic(l, HN_OP_LT, b->last ? than_at : at, b->last ? at : than_at);
    hn_sv worse = is_better(l, b, than, x, false), better = is_better(l, b, x, than, false);
    return logic(l, HN_OP_OR, better, logic(l, HN_OP_AND, logic(l, HN_OP_NOT, worse, 0), before));
}

static void take(hn_nest_lowering *l, const best *b, hn_ix x, hn_sv better, hn_sv value, hn_sv place) {
    hn_sv so_far = hn_place_load(l, b->value, x), at = hn_place_load(l, b->place, x);
    hn_store(l, b->value, x, hn_place_op(l, HN_OP_SELECT, b->dtype, better, value, so_far));
    hn_store(l, b->place, x, hn_place_op(l, HN_OP_SELECT, HONE_I32, better, place, at));
}

static hn_sv small_index(hn_nest_lowering *l, hn_ix i) {
    return hn_place_cast(l, hn_place_index(l, i), HONE_I32, false);
}

static hn_ix open_loop(hn_nest_lowering *l, hn_ix extent) {
    return hn_ix_var(l->n, hn_open_loop(l, extent, HN_SERIAL));
}

/* -- lines side by side */
/* for x { the first of the rows is the best so far }; `at`: its elements */
static void first_row(hn_nest_lowering *l, const best *b, hn_ix m, hn_ix at) {
    hn_sv zero = hn_place_number(l, HONE_I32, 0, 0);
    hn_ix x = open_loop(l, m);
    hn_store(l, b->value, x, hn_place_load(l, b->from, hn_ix_add(l->n, at, x)));
    hn_store(l, b->place, x, zero);
    hn_close_loop(l);
}

/* for x { what is better in row k, at `at`, is the best so far } */
static void next_row(hn_nest_lowering *l, const best *b, hn_ix m, hn_ix at, hn_ix k) {
    hn_ix x = open_loop(l, m);
    hn_sv value = hn_place_load(l, b->from, hn_ix_add(l->n, at, x)), place = small_index(l, k);
    take(l, b, x, is_better(l, b, value, hn_place_load(l, b->value, x), b->last), value, place);
    hn_close_loop(l);
}

static void result_row(hn_nest_lowering *l, const best *b, const hn_lines *s) {
    hn_ix x = open_loop(l, s->together);
    hn_ix at = hn_ix_add(l->n, hn_ix_scale(l->n, s->outer_at, s->inner), hn_ix_add(l->n, s->first, x));
    hn_store(l, b->to, at, hn_place_cast(l, hn_place_load(l, b->place, x), HONE_I64, false));
    hn_close_loop(l);
}

static void side_by_side(hn_nest_lowering *l, best *b, hn_lines *s, int64_t length) {
    hn_nest *n = l->n;
    hn_lines_open(l, s);
    b->value = hn_lines_row(l, b->dtype);
    b->place = hn_lines_row(l, HONE_I32);
    first_row(l, b, s->together, hn_lines_at(l, s, hn_ix_int(n, 0)));
    hn_ix k = hn_ix_add(n, open_loop(l, hn_ix_int(n, length - 1)), hn_ix_int(n, 1));
    next_row(l, b, s->together, hn_lines_at(l, s, k), k);
    hn_close_loop(l);
    result_row(l, b, s);
    hn_lines_close(l);
}

/* -- a line by itself */
/* Registers with the best of the row; b becomes them. */
static void best_of_row(hn_nest_lowering *l, best *b) {
    hn_ix zero = hn_ix_int(l->n, 0);
    best one = *b;
    one.value = hn_register(l, b->dtype);
    one.place = hn_register(l, HONE_I32);
    hn_store(l, one.value, zero, hn_place_load(l, b->value, zero));
    hn_sv lanes = hn_place_number(l, HONE_I32, 0, LANES);
    hn_store(l, one.place, zero, hn_place_op(l, HN_OP_MUL, HONE_I32, hn_place_load(l, b->place, zero), lanes, 0));
    hn_ix x = open_loop(l, hn_ix_int(l->n, LANES));
    hn_sv value = hn_place_load(l, b->value, x);
    hn_sv place = hn_place_op(l, HN_OP_MUL, HONE_I32, hn_place_load(l, b->place, x), lanes, 0);
    place = hn_place_op(l, HN_OP_ADD, HONE_I32, place, small_index(l, x), 0);
    hn_sv than = hn_place_load(l, one.value, zero), than_at = hn_place_load(l, one.place, zero);
    take(l, &one, zero, is_better_at(l, b, value, place, than, than_at), value, place);
    hn_close_loop(l);
    *b = one;
}

/* The elements of the line from `first` on, one by one. */
static void one_by_one(hn_nest_lowering *l, const best *b, hn_ix line, int64_t first, int64_t count) {
    hn_nest *n = l->n;
    hn_ix zero = hn_ix_int(n, 0);
    if (!count) return;
    hn_ix x = hn_ix_add(n, open_loop(l, hn_ix_int(n, count)), hn_ix_int(n, first));
    hn_sv value = hn_place_load(l, b->from, hn_ix_add(n, line, x));
    take(l, b, zero, is_better(l, b, value, hn_place_load(l, b->value, zero), b->last), value, small_index(l, x));
    hn_close_loop(l);
}

static void by_itself(hn_nest_lowering *l, best *b, hn_dim lines, int64_t length) {
    hn_nest *n = l->n;
    hn_dim lanes = hn_dim_int(n->dims, LANES);
    hn_ix m = hn_ix_int(n, LANES), zero = hn_ix_int(n, 0), line = open_loop(l, hn_ix_dim(n, lines));
    hn_ix from = hn_ix_scale(n, line, hn_dim_int(n->dims, length));
    b->value = hn_nest_buf(n, HN_LOCAL, b->dtype, lanes);
    b->place = hn_nest_buf(n, HN_LOCAL, HONE_I32, lanes);
    first_row(l, b, m, from);
    hn_ix k = hn_ix_add(n, open_loop(l, hn_ix_int(n, length / LANES - 1)), hn_ix_int(n, 1));
    next_row(l, b, m, hn_ix_add(n, from, hn_ix_scale(n, k, lanes)), k);
    hn_close_loop(l);
    best_of_row(l, b);
    one_by_one(l, b, from, length - length % LANES, length % LANES);
    hn_store(l, b->to, line, hn_place_cast(l, hn_place_load(l, b->place, zero), HONE_I64, false));
    hn_close_loop(l);
}

void hn_arg_into(hn_nest_lowering *l, const hn_node *x, hn_buf to) {
    const hn_type *t = hn_type_of(l->g, x->in[0]);
    size_t axis = (size_t)hn_attr_i(x, HN_A_AXIS, 0);
    hn_lines s;
    int64_t length, inner;
    best b = {.from = l->buf[x->in[0]], .to = to, .dtype = t->dtype, .max = x->op == HN_OP_ARGMAX};
    b.last = hn_attr_i(x, HN_A_LAST, 0) != 0;
    bool known = b.from && hn_dim_is_int(l->n->dims, t->dim[axis], &length) && length > 0 && length <= INT32_MAX;
    hn_lines_fit fit = hn_lines_of(l, t, axis, &s);
    bool alone = hn_dim_is_int(l->n->dims, s.inner, &inner) && inner == 1;
    if (known && fit == HN_LINES_SIDE)
        side_by_side(l, &b, &s, length);
    else if (known && fit == HN_LINES_FEW && alone && length >= 2 * LANES)
        by_itself(l, &b, s.outer, length);
    else
        hn_decline(l, "'%s' of few lines side by side, or of an odd type", hn_op_of(x->op)->text);
}
