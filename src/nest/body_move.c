/* nest/body_move.c — movement and gathers as index maps. */
#include "nest/body.h"

enum { ROWS_MIN = 4, COLUMNS_MAX = 4096 }; /* of rows of indices */

/* Dimensions in front that are the same on both sides keep their indices; the others are taken apart out of their place
 * in row-major order. Chains of reshapes down to a parameter need no division. */
static hn_sv eval_reshape(hn_nest_lowering *l, hn_val v, const hn_ix *at) {
    hn_nest *n = l->n;
    const hn_node *x = hn_def(l->g, v);
    hn_val from = x->in[0];
    while (!l->buf[from] && !l->keep[from] && (x = hn_def(l->g, from)) && x->op == HN_OP_RESHAPE) from = x->in[0];
    const hn_type *t = hn_type_of(l->g, v), *u = hn_type_of(l->g, from);
    if (l->buf[from]) return hn_place_load(l, l->buf[from], hn_flat(l, t, at));
    hn_ix in[HN_RANK_MAX];
    hn_dim one = hn_dim_int(n->dims, 1);
    size_t first = 0;
    for (; first < t->rank && first < u->rank && t->dim[first] == u->dim[first]; first++) in[first] = at[first];
    hn_type tail = {.rank = (uint8_t)(t->rank - first)};
    memcpy(tail.dim, t->dim + first, tail.rank * sizeof *tail.dim);
    hn_ix rest = hn_flat(l, &tail, at + first);
    while (first < u->rank && u->dim[first] == one) in[first++] = hn_ix_int(n, 0);
    for (size_t d = u->rank; d-- > first;) {
        in[d] = d == first ? rest : hn_ix_mod(n, rest, u->dim[d]);
        rest = hn_ix_div(n, rest, u->dim[d]);
    }
    return hn_value_at(l, from, in);
}

static hn_sv eval_slice(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    const hn_attr *start = hn_attr_get(x, HN_A_START), *step = hn_attr_get(x, HN_A_STEP);
    hn_ix in[HN_RANK_MAX];
    for (uint32_t d = 0; d < start->n; d++) {
        hn_dim by = hn_dim_int(l->n->dims, step && d < step->n ? step->ints[d] : 1);
        in[d] = hn_ix_add(l->n, hn_ix_scale(l->n, at[d], by), hn_ix_dim(l->n, start->dims[d]));
    }
    return hn_value_at(l, x->in[0], in);
}

static hn_sv eval_broadcast(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    const hn_type *t = hn_type_of(l->g, x->in[0]), *u = hn_type_of(l->g, x->out[0]);
    const hn_attr *map = hn_attr_get(x, HN_A_MAP);
    hn_ix in[HN_RANK_MAX];
    int64_t one;
    for (size_t d = 0; d < t->rank; d++) {
        size_t to = map && d < map->n ? (size_t)map->ints[d] : d;
        bool stretched = hn_dim_is_int(l->n->dims, t->dim[d], &one) && one == 1;
        if (!stretched && t->dim[d] != u->dim[to])
            return hn_decline(l, "a broadcast of a dimension that is one or not only at run time");
        in[d] = stretched ? hn_ix_int(l->n, 0) : at[to];
    }
    return hn_value_at(l, x->in[0], in);
}

/* Index of a padded dimension inside the input for the modes that read it everywhere. */
static hn_ix reflected(hn_nest_lowering *l, hn_ix i, hn_dim size, const char *mode) {
    hn_nest *n = l->n;
    hn_dim one = hn_dim_int(n->dims, 1), last = hn_dim_sub(n->dims, size, one);
    if (!strcmp(mode, "wrap")) return hn_ix_mod(n, i, size);
    if (!strcmp(mode, "edge")) return hn_ix_min(n, hn_ix_max(n, i, hn_ix_int(n, 0)), hn_ix_dim(n, last));
    /* reflect: period 2*(size-1), which is 0 for one element: then at least 1, all of it element 0 */
    hn_dim period = hn_dim_max(n->dims, hn_dim_mul(n->dims, last, hn_dim_int(n->dims, 2)), one);
    hn_ix m = hn_ix_mod(n, i, period);
    return hn_ix_min(n, m, hn_ix_sub(n, hn_ix_dim(n, period), m));
}

static hn_sv eval_pad(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    const hn_type *t = hn_type_of(l->g, x->in[0]);
    const hn_attr *low = hn_attr_get(x, HN_A_LOW), *mode = hn_attr_get(x, HN_A_MODE);
    hn_nest *n = l->n;
    bool constant = !mode || !strcmp(mode->name, "constant");
    hn_ix in[HN_RANK_MAX], guard[2 * HN_RANK_MAX];
    uint32_t n_guard = 0;
    for (size_t d = 0; d < t->rank; d++) {
        in[d] = hn_ix_sub(n, at[d], hn_ix_dim(n, low->dims[d]));
        hn_ix last = hn_ix_dim(n, hn_dim_sub(n->dims, t->dim[d], hn_dim_int(n->dims, 1)));
        if (!constant) {
            bool inside = hn_ix_never_negative(n, in[d]) && hn_ix_never_negative(n, hn_ix_sub(n, last, in[d]));
            if (!inside) in[d] = reflected(l, in[d], t->dim[d], mode->name);
            continue;
        }
        guard[n_guard++] = in[d];
        guard[n_guard++] = hn_ix_sub(n, last, in[d]);
    }
    if (!constant) return hn_value_at(l, x->in[0], in);
    hn_ix none[1] = {0};
    hn_sv outside = x->n_in > 1 && x->in[1] ? hn_value_at(l, x->in[1], none) : hn_place_number(l, t->dtype, 0, 0);
    uint32_t from = l->n_guard, pushed = hn_push_guards(l, n_guard, guard);
    hn_sv inside = hn_value_at(l, x->in[0], in);
    if (!inside || !outside) return 0;
    l->n_guard -= pushed;
    return hn_place_pick(l, pushed, &l->guard[from], inside, outside);
}

/* Picks among the parts by where the index lies; the last part is what is left. */
static hn_sv eval_concat(hn_nest_lowering *l, const hn_node *x, const hn_ix *at, uint16_t part, hn_dim begin) {
    size_t axis = (size_t)hn_attr_i(x, HN_A_AXIS, 0);
    const hn_type *t = hn_type_of(l->g, x->in[part]);
    hn_nest *n = l->n;
    hn_ix in[HN_RANK_MAX];
    memcpy(in, at, t->rank * sizeof *in);
    in[axis] = hn_ix_sub(n, at[axis], hn_ix_dim(n, begin));
    if (part + 1 == x->n_in) return hn_value_at(l, x->in[part], in);
    hn_dim end = hn_dim_add(n->dims, begin, t->dim[axis]);
    hn_ix before = hn_ix_sub(n, hn_ix_dim(n, hn_dim_sub(n->dims, end, hn_dim_int(n->dims, 1))), at[axis]);
    hn_ix after = hn_ix_sub(n, at[axis], hn_ix_dim(n, end));
    if (hn_ix_never_negative(n, after)) return eval_concat(l, x, at, part + 1, end);
    uint32_t from = l->n_guard, pushed = hn_push_guards(l, 1, &before);
    hn_sv here = hn_value_at(l, x->in[part], in);
    l->n_guard = from;
    if (!pushed || !here) return here;
    uint32_t below = hn_push_guards(l, 1, &after);
    hn_sv rest = eval_concat(l, x, at, part + 1, end);
    l->n_guard = from;
    (void)below;
    return rest ? hn_place_pick(l, 1, &before, here, rest) : 0;
}

hn_sv hn_move_at(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    hn_ix in[HN_RANK_MAX];
    switch (x->op) {
    case HN_OP_RESHAPE: return eval_reshape(l, v, at);
    case HN_OP_TRANSPOSE: {
        const hn_attr *perm = hn_attr_get(x, HN_A_PERM);
        for (uint32_t d = 0; d < perm->n; d++) in[perm->ints[d]] = at[d];
        return hn_value_at(l, x->in[0], in);
    }
    case HN_OP_BROADCAST: return eval_broadcast(l, x, at);
    case HN_OP_SLICE: return eval_slice(l, x, at);
    case HN_OP_PAD: return eval_pad(l, x, at);
    case HN_OP_CONCAT: return eval_concat(l, x, at, 0, hn_dim_int(l->n->dims, 0));
    default: return hn_decline(l, "movement '%s'", hn_op_of(x->op)->text);
    }
}

/* An index that comes from data, inside [0, size). */
static hn_sv wrap(hn_nest_lowering *l, hn_sv raw, hn_dim size) {
    hn_scalar w = {.kind = HN_SV_WRAP, .dtype = HONE_I64, .n_arg = 1, .below = size};
    w.arg[0] = hn_place_cast(l, raw, HONE_I64, false);
    return hn_place(l, &w);
}
/* Likewise; data without elements is not read: the caller pops that guard. */
static hn_ix wrapped(hn_nest_lowering *l, hn_sv raw, hn_dim size) {
    hn_sv index = wrap(l, raw, size);
    hn_ix last = hn_ix_dim(l->n, hn_dim_sub(l->n->dims, size, hn_dim_int(l->n->dims, 1)));
    hn_push_guards(l, 1, &last);
    return hn_ix_value(l->n, index);
}

/* Indices that the rows of an image have in common: those of its columns. They go into a row of local memory in front
 * of the loop over the rows. */
typedef struct index_row {
    hn_body_scope *columns, *home;
    hn_dim length;
} index_row;

static bool shared_by_rows(hn_nest_lowering *l, size_t rank, const hn_ix *where, index_row *r) {
    hn_nest *n = l->n;
    hn_body_scope *columns = l->scope, *rows = columns->up;
    int64_t e, step;
    bool varies = false;
    if (!l->map || l->n_guard || !rows || !rows->up || !rows->up->up) return false;
    if (hn_ix_is_int(n, n->extent[rows->var], &e) && e < ROWS_MIN) return false;
    if (!hn_ix_is_dim(n, n->extent[columns->var], &r->length)) return false;
    if (hn_dim_is_int(n->dims, r->length, &e) && e > COLUMNS_MAX) return false;
    for (size_t d = 0; d < rank; d++) {
        if (hn_ix_depends(n, where[d], rows->var) || !hn_ix_step(n, where[d], columns->var, &step)) return false;
        varies |= step != 0;
    }
    r->columns = columns;
    r->home = rows->up;
    return varies;
}

/* The element of such a row, as an index. */
static hn_ix index_from_row(hn_nest_lowering *l, hn_val v, const hn_ix *where, hn_dim size, const index_row *r) {
    hn_nest *n = l->n;
    hn_body_scope *saved = l->scope;
    size_t rank = hn_type_of(l->g, v)->rank;
    hn_ix at[HN_RANK_MAX], *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var) return 0;
    l->scope = r->home;
    hn_buf row = hn_nest_buf(n, HN_LOCAL, HONE_I64, r->length);
    hn_ix j = hn_ix_var(n, hn_open_loop(l, hn_ix_dim(n, r->length), HN_SERIAL));
    var[r->columns->var] = j;
    for (size_t d = 0; d < rank; d++) at[d] = hn_ix_subst(n, where[d], &(hn_subst){var, NULL, r->columns->var + 1u, 0});
    hn_sv raw = hn_value_at(l, v, at);
    if (raw) hn_store(l, row, j, wrap(l, raw, size));
    hn_close_loop(l);
    l->scope = saved;
    hn_scalar x = {.kind = HN_SV_LOAD, .dtype = HONE_I64, .buf = row, .below = size};
    x.at = hn_ix_var(n, r->columns->var);
    return raw ? hn_ix_value(n, hn_place(l, &x)) : 0;
}

static hn_sv eval_gather(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    size_t axis = (size_t)hn_attr_i(x, HN_A_AXIS, 0), batch = (size_t)hn_attr_i(x, HN_A_BATCH, 0);
    const hn_type *data = hn_type_of(l->g, x->in[0]), *index = hn_type_of(l->g, x->in[1]);
    hn_ix in[HN_RANK_MAX], where[HN_RANK_MAX];
    size_t fresh = index->rank - batch; /* result: data[:axis], index[batch:], data[axis+1:] */
    index_row row;
    int64_t size;
    for (size_t d = 0; d < index->rank; d++) where[d] = d < batch ? at[d] : at[axis + d - batch];
    for (size_t d = 0; d < data->rank; d++) in[d] = d < axis ? at[d] : d > axis ? at[d - 1 + fresh] : 0;
    bool some = hn_dim_is_int(l->n->dims, data->dim[axis], &size) && size > 0;
    if (some && shared_by_rows(l, index->rank, where, &row)) {
        in[axis] = index_from_row(l, x->in[1], where, data->dim[axis], &row);
        return in[axis] ? hn_value_at(l, x->in[0], in) : 0;
    }
    hn_sv raw = hn_value_at(l, x->in[1], where);
    if (!raw) return 0;
    in[axis] = wrapped(l, raw, data->dim[axis]);
    return hn_value_at(l, x->in[0], in);
}

static hn_sv eval_gather_nd(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    size_t batch = (size_t)hn_attr_i(x, HN_A_BATCH, 0);
    const hn_type *data = hn_type_of(l->g, x->in[0]), *index = hn_type_of(l->g, x->in[1]);
    size_t lead = index->rank - 1u;
    int64_t depth;
    if (!hn_dim_is_int(l->n->dims, index->dim[lead], &depth))
        return hn_decline(l, "gather_nd with a depth known only at run time");
    hn_ix in[HN_RANK_MAX], where[HN_RANK_MAX];
    memcpy(where, at, lead * sizeof *at);
    memcpy(in, at, batch * sizeof *at);
    for (size_t k = 0; k < (size_t)depth; k++) {
        where[lead] = hn_ix_int(l->n, (int64_t)k);
        hn_sv raw = hn_value_at(l, x->in[1], where);
        if (!raw) return 0;
        in[batch + k] = wrapped(l, raw, data->dim[batch + k]);
    }
    for (size_t d = batch + (size_t)depth, from = lead; d < data->rank; d++) in[d] = at[from++];
    return hn_value_at(l, x->in[0], in);
}

static hn_sv eval_gather_elements(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    size_t axis = (size_t)hn_attr_i(x, HN_A_AXIS, 0);
    const hn_type *data = hn_type_of(l->g, x->in[0]);
    hn_ix in[HN_RANK_MAX];
    memcpy(in, at, data->rank * sizeof *in);
    hn_sv raw = hn_value_at(l, x->in[1], at);
    if (!raw) return 0;
    in[axis] = wrapped(l, raw, data->dim[axis]);
    return hn_value_at(l, x->in[0], in);
}

hn_sv hn_gather_at(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    uint32_t guards = l->n_guard;
    hn_sv v;
    switch (x->op) {
    case HN_OP_GATHER: v = eval_gather(l, x, at); break;
    case HN_OP_GATHER_ND: v = eval_gather_nd(l, x, at); break;
    case HN_OP_GATHER_ELEMENTS: v = eval_gather_elements(l, x, at); break;
    default: return hn_decline(l, "'%s' writes where its data says", hn_op_of(x->op)->text);
    }
    l->n_guard = guards;
    return v;
}
