/* loop/body_arg.c — places of maxima and minima along a dimension that has others inside of it: the lines side by side
 * go together (body_prefix.c), with a row of the best values so far and one of their places.
 */
#include "loop/body.h"

typedef struct best {
    hn_buf from, to, value, place; /* rows: of values, and of places */
    hone_dtype dtype;
    bool max, last; /* of equal values the last */
} best;

static hn_ix open_loop(hn_lowering *l, const hn_lines *s) {
    return hn_ix_var(l->n, hn_open_loop(l, s->together, HN_SERIAL));
}

/* Does x take the place of `than`? Not a number is better than any. */
static hn_sv is_better(hn_lowering *l, const best *b, hn_sv x, hn_sv than) {
    hn_op compare = b->last ? HN_OP_LE : HN_OP_LT;
    hn_sv better = hn_place_op(l, compare, HONE_BOOL, b->max ? than : x, b->max ? x : than, 0);
    if (!hn_is_float(b->dtype)) return better;
    hn_sv nan = hn_place_op(l, HN_OP_ISNAN, HONE_BOOL, x, 0, 0);
    if (!b->last) {
        hn_sv is = hn_place_op(l, HN_OP_ISNAN, HONE_BOOL, than, 0, 0);
        nan = hn_place_op(l, HN_OP_AND, HONE_BOOL, nan, hn_place_op(l, HN_OP_NOT, HONE_BOOL, is, 0, 0), 0);
    }
    return hn_place_op(l, HN_OP_OR, HONE_BOOL, better, nan, 0);
}

static void first_row(hn_lowering *l, const best *b, const hn_lines *s) {
    hn_sv zero = hn_place_number(l, HONE_I32, 0, 0);
    hn_ix x = open_loop(l, s), at = hn_ix_add(l->n, hn_lines_at(l, s, hn_ix_int(l->n, 0)), x);
    hn_store(l, b->value, x, hn_place_load(l, b->from, at));
    hn_store(l, b->place, x, zero);
    hn_close_loop(l);
}

static void next_row(hn_lowering *l, const best *b, const hn_lines *s, hn_ix k) {
    hn_ix x = open_loop(l, s), at = hn_ix_add(l->n, hn_lines_at(l, s, k), x);
    hn_sv value = hn_place_load(l, b->from, at), here = hn_place_cast(l, hn_place_index(l, k), HONE_I32, false);
    hn_sv so_far = hn_place_load(l, b->value, x), place = hn_place_load(l, b->place, x);
    hn_sv better = is_better(l, b, value, so_far);
    hn_store(l, b->value, x, hn_place_op(l, HN_OP_SELECT, b->dtype, better, value, so_far));
    hn_store(l, b->place, x, hn_place_op(l, HN_OP_SELECT, HONE_I32, better, here, place));
    hn_close_loop(l);
}

static void result_row(hn_lowering *l, const best *b, const hn_lines *s) {
    hn_ix x = open_loop(l, s);
    hn_ix at = hn_ix_add(l->n, hn_ix_scale(l->n, s->outer_at, s->inner), hn_ix_add(l->n, s->first, x));
    hn_store(l, b->to, at, hn_place_cast(l, hn_place_load(l, b->place, x), HONE_I64, false));
    hn_close_loop(l);
}

void hn_arg_into(hn_lowering *l, const hn_node *x, hn_buf to) {
    const hn_type *t = hn_type_of(l->g, x->in[0]);
    hn_lines s;
    int64_t length;
    best b = {.from = l->buf[x->in[0]], .to = to, .dtype = t->dtype, .max = x->op == HN_OP_ARGMAX};
    b.last = hn_attr_i(x, HN_A_LAST, 0) != 0;
    if (!b.from || !hn_lines_of(l, t, (size_t)hn_attr_i(x, HN_A_AXIS, 0), &s) ||
        !hn_dim_is_int(l->n->dims, s.length, &length) || length < 1 || length > INT32_MAX) {
        hn_decline(l, "'%s' of lines that do not lie side by side", hn_op_of(x->op)->text);
        return;
    }
    hn_lines_open(l, &s);
    b.value = hn_lines_row(l, b.dtype);
    b.place = hn_lines_row(l, HONE_I32);
    first_row(l, &b, &s);
    hn_var k = hn_open_loop(l, hn_ix_int(l->n, length - 1), HN_SERIAL);
    next_row(l, &b, &s, hn_ix_add(l->n, hn_ix_var(l->n, k), hn_ix_int(l->n, 1)));
    hn_close_loop(l);
    result_row(l, &b, &s);
    hn_lines_close(l);
}
