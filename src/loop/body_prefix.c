/* loop/body_prefix.c — prefix sums and products along a dimension that has others inside of it: rows of running values.
 *
 * The lines side by side go together: memory is walked as it lies, and no line's sum waits for itself. Their running
 * values are a row of local memory, short enough for the first cache; floats are summed in double, as the interpreter
 * does. Along the innermost dimension there is nothing side by side: the reference emitter's loop is as good.
 */
#include "loop/body.h"

enum { ROW = 512, INNER_MIN = 8 };

typedef struct prefix {
    hn_op op;
    hone_dtype dtype, sum; /* of elements, of running values */
    hn_buf from, to, row;
    hn_dim outer, length, inner;
    bool exclusive, reverse;
} prefix;

static hn_dim product(hn_lowering *l, const hn_type *t, size_t from, size_t to) {
    hn_dim all = hn_dim_int(l->n->dims, 1);
    for (size_t d = from; d < to; d++) all = hn_dim_mul(l->n->dims, all, t->dim[d]);
    return all;
}

static bool has_rows(const hn_lowering *l, const prefix *p) {
    const hn_dtype_info *info = hn_dtype_of(p->dtype);
    int64_t inner;
    bool is_float = p->dtype == HONE_F32 || p->dtype == HONE_F64 || p->dtype == HONE_F16 || p->dtype == HONE_BF16;
    if (!is_float && (info->cls == HN_CLASS_FLOAT || info->cls == HN_CLASS_BOOL || info->bits < 8)) return false;
    return p->from && (!hn_dim_is_int(l->n->dims, p->inner, &inner) || inner >= INNER_MIN);
}

static hn_ix open_loop(hn_lowering *l, hn_ix extent) { return hn_ix_var(l->n, hn_open_loop(l, extent, HN_SERIAL)); }

/* for x < m { row[x] = the operation's identity } */
static void begin_row(hn_lowering *l, const prefix *p, hn_ix m) {
    int identity = p->op == HN_OP_MUL;
    hn_sv init = hn_place_number(l, p->sum, identity, identity);
    hn_store(l, p->row, open_loop(l, m), init);
    hn_close_loop(l);
}

/* for x < m { row[x] = row[x] op from[at + x], and one of the two is to[at + x] } */
static void add_row(hn_lowering *l, const prefix *p, hn_ix m, hn_ix at) {
    hn_ix x = open_loop(l, m);
    at = hn_ix_add(l->n, at, x);
    hn_sv term = hn_place_cast(l, hn_place_load(l, p->from, at), p->sum, false);
    hn_sv before = hn_place_load(l, p->row, x);
    hn_sv sum = hn_place_op(l, p->op, p->sum, before, term, 0);
    hn_store(l, p->row, x, sum);
    hn_store(l, p->to, at, hn_place_cast(l, p->exclusive ? before : sum, p->dtype, true));
    hn_close_loop(l);
}

static void all_rows(hn_lowering *l, prefix *p) {
    hn_nest *n = l->n;
    hn_dim size = hn_dim_int(n->dims, ROW);
    hn_ix line = open_loop(l, hn_ix_dim(n, p->outer));
    hn_ix first = hn_ix_scale(n, open_loop(l, hn_ix_dim(n, hn_dim_ceildiv(n->dims, p->inner, size))), size);
    hn_ix m = hn_ix_min(n, hn_ix_int(n, ROW), hn_ix_sub(n, hn_ix_dim(n, p->inner), first));
    p->row = hn_nest_buf(n, HN_LOCAL, p->sum, size);
    begin_row(l, p, m);
    hn_ix k = open_loop(l, hn_ix_dim(n, p->length));
    if (p->reverse) k = hn_ix_sub(n, hn_ix_dim(n, hn_dim_sub(n->dims, p->length, hn_dim_int(n->dims, 1))), k);
    hn_ix step = hn_ix_add(n, hn_ix_scale(n, line, p->length), k);
    add_row(l, p, m, hn_ix_add(n, hn_ix_scale(n, step, p->inner), first));
    for (int i = 0; i < 3; i++) hn_close_loop(l);
}

void hn_prefix_into(hn_lowering *l, const hn_node *x, hn_buf to) {
    const hn_type *t = hn_type_of(l->g, x->in[0]);
    size_t axis = (size_t)hn_attr_i(x, HN_A_AXIS, 0);
    prefix p = {.op = x->op == HN_OP_CUMPROD ? HN_OP_MUL : HN_OP_ADD,
                .dtype = t->dtype,
                .sum = hn_is_float(t->dtype) ? HONE_F64 : t->dtype,
                .from = l->buf[x->in[0]],
                .to = to,
                .outer = product(l, t, 0, axis),
                .length = t->dim[axis],
                .inner = product(l, t, axis + 1, t->rank),
                .exclusive = hn_attr_i(x, HN_A_EXCLUSIVE, 0) != 0,
                .reverse = hn_attr_i(x, HN_A_REVERSE, 0) != 0};
    if (has_rows(l, &p))
        all_rows(l, &p);
    else
        hn_decline(l, "'%s' of lines that do not lie side by side", hn_op_of(x->op)->text);
}
