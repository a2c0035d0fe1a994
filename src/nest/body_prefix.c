/* nest/body_prefix.c — prefix sums and products along a dimension that has others inside of it: rows of running values.
 *
 * The lines side by side go together: memory is walked as it lies, and no line's sum waits for itself. Their running
 * values are a row of local memory, short enough for the first cache; floats are summed in double, as the interpreter
 * does. Along the innermost dimension there is nothing side by side: the reference emitter's loop is as good.
 */
#include "nest/body.h"

enum { ROW = 512, INNER_MIN = 8 };

/* -- lines side by side */
static hn_dim product(hn_nest_lowering *l, const hn_type *t, size_t from, size_t to) {
    hn_dim all = hn_dim_int(l->n->dims, 1);
    for (size_t d = from; d < to; d++) all = hn_dim_mul(l->n->dims, all, t->dim[d]);
    return all;
}

hn_lines_fit hn_lines_of(hn_nest_lowering *l, const hn_type *t, size_t axis, hn_lines *s) {
    int64_t inner;
    const hn_dtype_info *info = hn_dtype_of(t->dtype);
    bool is_float = t->dtype == HONE_F32 || t->dtype == HONE_F64 || hn_is_half(t->dtype);
    *s = (hn_lines){product(l, t, 0, axis), t->dim[axis], product(l, t, axis + 1, t->rank), 0, 0, 0};
    if (!is_float && (info->cls == HN_CLASS_FLOAT || info->cls == HN_CLASS_BOOL || info->bits < 8)) return HN_LINES_ODD;
    return hn_dim_is_int(l->n->dims, s->inner, &inner) && inner < INNER_MIN ? HN_LINES_FEW : HN_LINES_SIDE;
}

static hn_ix open_loop(hn_nest_lowering *l, hn_ix extent) {
    return hn_ix_var(l->n, hn_open_loop(l, extent, HN_SERIAL));
}

void hn_lines_open(hn_nest_lowering *l, hn_lines *s) {
    hn_nest *n = l->n;
    hn_dim size = hn_dim_int(n->dims, ROW);
    s->outer_at = open_loop(l, hn_ix_dim(n, s->outer));
    s->first = hn_ix_scale(n, open_loop(l, hn_ix_dim(n, hn_dim_ceildiv(n->dims, s->inner, size))), size);
    s->together = hn_ix_min(n, hn_ix_int(n, ROW), hn_ix_sub(n, hn_ix_dim(n, s->inner), s->first));
}
void hn_lines_close(hn_nest_lowering *l) {
    hn_close_loop(l);
    hn_close_loop(l);
}

hn_ix hn_lines_at(hn_nest_lowering *l, const hn_lines *s, hn_ix k) {
    hn_ix step = hn_ix_add(l->n, hn_ix_scale(l->n, s->outer_at, s->length), k);
    return hn_ix_add(l->n, hn_ix_scale(l->n, step, s->inner), s->first);
}

hn_buf hn_lines_row(hn_nest_lowering *l, hone_dtype t) {
    return hn_nest_buf(l->n, HN_LOCAL, t, hn_dim_int(l->n->dims, ROW));
}

/* -- prefix operations */
typedef struct prefix {
    hn_op op;
    hone_dtype dtype, sum; /* of elements, of running values */
    hn_buf from, to, row;
    bool exclusive, reverse;
} prefix;

/* for x { row[x] = the operation's identity } */
static void begin_row(hn_nest_lowering *l, const prefix *p, const hn_lines *s) {
    int identity = p->op == HN_OP_MUL;
    hn_sv init = hn_place_number(l, p->sum, identity, identity);
    hn_store(l, p->row, open_loop(l, s->together), init);
    hn_close_loop(l);
}

/* for x { row[x] = row[x] op from[at + x], and one of the two is to[at + x] } */
static void add_row(hn_nest_lowering *l, const prefix *p, const hn_lines *s, hn_ix at) {
    hn_ix x = open_loop(l, s->together);
    at = hn_ix_add(l->n, at, x);
    hn_sv term = hn_place_cast(l, hn_place_load(l, p->from, at), p->sum, false);
    hn_sv before = hn_place_load(l, p->row, x);
    hn_sv sum = hn_place_op(l, p->op, p->sum, before, term, 0);
    hn_store(l, p->row, x, sum);
    hn_store(l, p->to, at, hn_place_cast(l, p->exclusive ? before : sum, p->dtype, true));
    hn_close_loop(l);
}

static void all_rows(hn_nest_lowering *l, prefix *p, hn_lines *s) {
    hn_nest *n = l->n;
    hn_lines_open(l, s);
    p->row = hn_lines_row(l, p->sum);
    begin_row(l, p, s);
    hn_ix k = open_loop(l, hn_ix_dim(n, s->length));
    if (p->reverse) k = hn_ix_sub(n, hn_ix_dim(n, hn_dim_sub(n->dims, s->length, hn_dim_int(n->dims, 1))), k);
    add_row(l, p, s, hn_lines_at(l, s, k));
    hn_close_loop(l);
    hn_lines_close(l);
}

void hn_prefix_into(hn_nest_lowering *l, const hn_node *x, hn_buf to) {
    const hn_type *t = hn_type_of(l->g, x->in[0]);
    hn_lines s;
    prefix p = {.op = x->op == HN_OP_CUMPROD ? HN_OP_MUL : HN_OP_ADD,
                .dtype = t->dtype,
                .sum = hn_is_float(t->dtype) ? HONE_F64 : t->dtype,
                .from = l->buf[x->in[0]],
                .to = to,
                .exclusive = hn_attr_i(x, HN_A_EXCLUSIVE, 0) != 0,
                .reverse = hn_attr_i(x, HN_A_REVERSE, 0) != 0};
    if (p.from && hn_lines_of(l, t, (size_t)hn_attr_i(x, HN_A_AXIS, 0), &s) == HN_LINES_SIDE)
        all_rows(l, &p, &s);
    else
        hn_decline(l, "'%s' of lines that do not lie side by side", hn_op_of(x->op)->text);
}
