/* nest/body.c — a kernel's body as a loop nest: index maps are inlined from the results back to the parameters.
 *
 * One loop per dimension of the results; dimensions that all results share in front have common loops. Operations are
 * evaluated on demand at index expressions (body.h says where they go). A value that several inner loops need and
 * that is costly is kept in a row buffer: computed once per row, at the scope of its outer indices (compute-at).
 */
#include "nest/body.h"
#include "ir/cost.h"
#include "nest/schedule.h"

#include <stdarg.h>
#include <stdio.h>

enum { LEVELS_MAX = 2000 };

hn_sv hn_decline(hn_nest_lowering *l, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (l->rc == HONE_OK) l->rc = hn_fail(l->err, HONE_E_UNSUPPORTED, "%s", text);
    return 0;
}

hn_ix hn_flat(hn_nest_lowering *l, const hn_type *t, const hn_ix *at) {
    hn_nest *n = l->n;
    hn_ix flat = hn_ix_int(n, 0);
    hn_dim stride = hn_dim_int(n->dims, 1);
    for (size_t d = t->rank; d-- > 0;) {
        flat = hn_ix_add(n, flat, hn_ix_scale(n, at[d], stride));
        stride = hn_dim_mul(n->dims, stride, t->dim[d]);
    }
    return flat;
}

/* -- sources and pointwise */
static hn_sv eval_const(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    const hn_tensor *t = hn_attr_get(x, HN_A_VALUE)->tensor;
    int64_t n, i = 0;
    if (!hn_tensor_count(t, &n) || n < 1) return hn_decline(l, "an empty constant inside a kernel");
    if (n > 1) {
        hn_type type = {.dtype = t->dtype, .rank = t->rank};
        for (size_t d = 0; d < t->rank; d++) type.dim[d] = hn_dim_int(l->n->dims, t->dim[d]);
        if (!hn_ix_is_int(l->n, hn_flat(l, &type, at), &i) || i < 0 || i >= n)
            return hn_decline(l, "a constant of several elements inside a kernel");
    }
    return hn_place_number(l, t->dtype, hn_is_float(t->dtype) ? hn_get_f(t, i) : 0,
                           hn_is_float(t->dtype) ? 0 : hn_get_i(t, i));
}

static hn_sv eval_dims(hn_nest_lowering *l, const hn_node *x, const hn_ix *at) {
    const hn_attr *shape = hn_attr_get(x, HN_A_SHAPE);
    hn_nest *n = l->n;
    int64_t k;
    if (hn_ix_is_int(n, at[0], &k) && k >= 0 && k < (int64_t)shape->n)
        return hn_place_index(l, hn_ix_dim(n, shape->dims[k]));
    if (!shape->n) return hn_place_number(l, HONE_I64, 0, 0);
    hn_sv v = hn_place_index(l, hn_ix_dim(n, shape->dims[shape->n - 1]));
    for (uint32_t d = shape->n - 1; d-- > 0;) {
        hn_ix here = hn_ix_sub(n, hn_ix_int(n, d), at[0]); /* at <= d */
        v = hn_place_pick(l, 1, &here, hn_place_index(l, hn_ix_dim(n, shape->dims[d])), v);
    }
    return v;
}

static hn_sv eval_pointwise(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    hn_scalar s = {.kind = HN_SV_OP, .dtype = l->g->value[v].type.dtype, .op = x->op, .n_arg = (uint8_t)x->n_in};
    for (uint16_t k = 0; k < x->n_in && k < 3; k++)
        if (!(s.arg[k] = hn_value_at(l, x->in[k], at))) return 0;
    const hn_attr *round = hn_attr_get(x, HN_A_ROUND);
    if (round && s.dtype == HONE_F8E8M0) return hn_decline(l, "rounding modes of a cast to f8e8m0");
    s.saturate = hn_attr_i(x, HN_A_SATURATE, 1) != 0;
    if (x->op == HN_OP_CAST && l->n->sv[s.arg[0]].dtype == s.dtype) return s.arg[0];
    return hn_place(l, &s);
}

static hn_sv dispatch(hn_nest_lowering *l, hn_val v, const hn_node *x, const hn_ix *at) {
    switch (hn_op_of(x->op)->cls) {
    case HN_SOURCE:
        if (x->op == HN_OP_CONST) return eval_const(l, x, at);
        if (x->op == HN_OP_DIMS) return eval_dims(l, x, at);
        if (x->op == HN_OP_IOTA) {
            hn_sv i = hn_place_index(l, at[hn_attr_i(x, HN_A_AXIS, 0)]);
            return hn_place_cast(l, i, l->g->value[v].type.dtype, false);
        }
        break;
    case HN_UNARY:
    case HN_BINARY:
    case HN_TERNARY: return eval_pointwise(l, v, x, at);
    case HN_MOVE: return hn_move_at(l, v, x, at);
    case HN_INDEX: return hn_gather_at(l, x, at);
    case HN_REDUCE:
    case HN_CONTRACT:
    case HN_WINDOW: return hn_reduce_at(l, v, x, at);
    default: break;
    }
    return hn_decline(l, "'%s' has no definition element by element", hn_op_of(x->op)->text);
}

/* -- what has been evaluated */
static hn_memo *find_memo(hn_nest_lowering *l, hn_val v, const hn_ix *at, size_t rank, bool row) {
    for (hn_memo *m = l->memo[v]; m; m = m->next) {
        if (!m->row != !row || m->n_guard != l->n_guard) continue;
        if (memcmp(m->at, at, rank * sizeof *at) || (m->n_guard && memcmp(m->guard, l->guard, m->n_guard * sizeof *at)))
            continue;
        if (hn_in_sight(l, m->scope)) return m;
    }
    return NULL;
}
static void add_memo(hn_nest_lowering *l, hn_val v, const hn_ix *at, size_t rank, const hn_body_scope *s, hn_sv sv,
                     hn_buf row) {
    hn_memo *m = HN_NEW(l->n->a, hn_memo);
    hn_ix *copy = HN_NEW_N(l->n->a, hn_ix, rank + l->n_guard + 1);
    if (!m || !copy) return;
    memcpy(copy, at, rank * sizeof *at);
    memcpy(copy + rank, l->guard, l->n_guard * sizeof *at);
    *m = (hn_memo){l->memo[v], s, copy + rank, l->n_guard, copy, sv, row};
    l->memo[v] = m;
}

/* The row of v at outer indices at[0 … rank-2], computed into a local buffer at their scope. */
static hn_buf row_of(hn_nest_lowering *l, hn_val v, const hn_ix *at) {
    const hn_type *t = hn_type_of(l->g, v);
    size_t outer = t->rank - 1u;
    hn_memo *m = find_memo(l, v, at, outer, true);
    if (m) return m->row;
    hn_body_scope *saved = l->scope, *home = saved;
    while (home->up) home = home->up;
    for (size_t d = 0; d < outer; d++) home = hn_deeper(home, hn_home_of_ix(l, at[d]));
    l->scope = home;
    hn_buf row = hn_nest_buf(l->n, HN_LOCAL, t->dtype, t->dim[outer]);
    hn_var j = hn_open_loop(l, hn_ix_dim(l->n, t->dim[outer]), HN_SERIAL);
    hn_ix inner[HN_RANK_MAX];
    memcpy(inner, at, outer * sizeof *at);
    inner[outer] = hn_ix_var(l->n, j);
    l->keep[v] = 0; /* inside this loop it is computed */
    hn_sv x = hn_value_at(l, v, inner);
    l->keep[v] = 1;
    hn_store(l, row, inner[outer], x);
    hn_close_loop(l);
    add_memo(l, v, at, outer, home, 0, row);
    l->scope = saved;
    return row;
}

hn_sv hn_value_at(hn_nest_lowering *l, hn_val v, const hn_ix *at) {
    const hn_type *t = hn_type_of(l->g, v);
    if (l->rc != HONE_OK || !v || !hn_arena_ok(l->n->a)) return 0;
    if (l->buf[v]) return hn_place_load(l, l->buf[v], hn_flat(l, t, at));
    if (l->keep[v] && !l->n_guard) {
        hn_buf row = row_of(l, v, at);
        return l->rc == HONE_OK ? hn_place_load(l, row, at[t->rank - 1]) : 0;
    }
    hn_memo *m = find_memo(l, v, at, t->rank, false);
    if (m) return m->sv;
    if (l->level >= LEVELS_MAX) return hn_decline(l, "more than %d operations one after the other", LEVELS_MAX);
    const hn_node *x = hn_def(l->g, v);
    if (!x) return hn_decline(l, "a value from outside the kernel");
    l->level++;
    hn_sv sv = dispatch(l, v, x, at);
    l->level--;
    if (sv) add_memo(l, v, at, t->rank, l->n_home > sv && l->home[sv] ? l->home[sv] : l->scope, sv, 0);
    return sv;
}

/* -- which values get a row buffer */
static bool costly(const hn_nest_lowering *l, hn_val v, int depth) {
    const hn_node *x = hn_def(l->g, v);
    if (!x || l->buf[v] || depth > 12) return false;
    if (!hn_op_is_easy(x->op)) {
        hn_op_class c = hn_op_of(x->op)->cls;
        if (c == HN_CONTRACT || c == HN_WINDOW || c == HN_UNARY || c == HN_BINARY) return true;
        if (c == HN_REDUCE || c == HN_SOURCE) return false; /* a reduction has its own place */
    }
    for (uint16_t k = 0; k < x->n_in; k++)
        if (x->in[k] && costly(l, x->in[k], depth + 1)) return true;
    return false;
}

static void choose_rows(hn_nest_lowering *l, hn_block body) {
    hn_graph *g = l->g;
    const hn_blk *b = &g->block[body];
    uint32_t *uses = HN_NEW_N(l->n->a, uint32_t, g->n_value);
    bool *reduced = HN_NEW_N(l->n->a, bool, g->n_value), *multiplied = HN_NEW_N(l->n->a, bool, g->n_value);
    if (!uses || !reduced || !multiplied) return;
    for (uint32_t k = 0; k < b->n_node; k++) {
        const hn_node *x = &g->node[b->node[k]];
        const hn_attr *axes = hn_attr_get(x, HN_A_AXES);
        for (uint16_t i = 0; i < x->n_in; i++) {
            hn_val v = x->in[i];
            if (!v) continue;
            uses[v]++;
            uint8_t rank = g->value[v].type.rank;
            if (hn_op_of(x->op)->cls == HN_REDUCE && axes && axes->n == 1 && rank && axes->ints[0] == rank - 1)
                reduced[v] = true;
            if (x->op == HN_OP_CONTRACT && i == 0 && rank) multiplied[v] = true;
        }
    }
    for (uint32_t k = 0; k < b->n_result; k++) uses[b->result[k]]++;
    for (hn_val v = 1; v < g->n_value; v++)
        if ((reduced[v] && uses[v] > 1) || multiplied[v]) l->keep[v] = costly(l, v, 0);
}

/* -- results */
static size_t shared_dims(const hn_graph *g, const hn_blk *b) {
    const hn_type *t = hn_type_of(g, b->result[0]);
    size_t shared = t->rank;
    for (uint32_t r = 1; r < b->n_result; r++) {
        const hn_type *u = hn_type_of(g, b->result[r]);
        size_t same = 0;
        while (same < shared && same < u->rank && t->dim[same] == u->dim[same]) same++;
        shared = same;
    }
    return shared;
}

static void lower_result(hn_nest_lowering *l, hn_val v, hn_buf to, hn_ix *at, size_t shared) {
    const hn_type *t = hn_type_of(l->g, v);
    for (size_t d = shared; d < t->rank; d++)
        at[d] = hn_ix_var(l->n, hn_open_loop(l, hn_ix_dim(l->n, t->dim[d]), HN_SERIAL));
    hn_sv x = hn_value_at(l, v, at);
    hn_store(l, to, hn_flat(l, t, at), x);
    for (size_t d = shared; d < t->rank; d++) hn_close_loop(l);
}

static void lower_results(hn_nest_lowering *l, hn_block body, const hn_buf *to) {
    const hn_blk *b = &l->g->block[body];
    size_t shared = shared_dims(l->g, b);
    const hn_type *t = hn_type_of(l->g, b->result[0]);
    hn_ix at[HN_RANK_MAX];
    for (size_t d = 0; d < shared; d++) at[d] = hn_ix_var(l->n, hn_open_loop(l, hn_ix_dim(l->n, t->dim[d]), HN_SERIAL));
    for (uint32_t r = 0; r < l->g->block[body].n_result && l->rc == HONE_OK; r++)
        lower_result(l, l->g->block[body].result[r], to[r], at, shared);
    for (size_t d = 0; d < shared; d++) hn_close_loop(l);
}

/* The body's only node where it goes line by line: other opaque ones are no loop nests. */
static const hn_node *only_lines(const hn_graph *g, const hn_blk *b) {
    const hn_node *x = b->n_node == 1 && b->n_result == 1 ? &g->node[b->node[0]] : NULL;
    bool by_lines = x && (hn_op_of(x->op)->cls == HN_PREFIX || hn_op_of(x->op)->cls == HN_ARG);
    return by_lines ? x : NULL;
}

hone_rc hn_nest_lower(hn_graph *g, hn_block body, const char *kind, hn_arena *a, hn_nest **out, hone_err *err) {
    const hn_blk *b = &g->block[body];
    const hn_node *lines = only_lines(g, b);
    if (hn_kind_named(kind) == HN_KIND_OPAQUE && !lines)
        return hn_fail(err, HONE_E_UNSUPPORTED, "an opaque operation is no loop nest");
    if (!b->n_result) return hn_fail(err, HONE_E_UNSUPPORTED, "a kernel without results");
    hn_nest *n = hn_nest_new(a, g->dims);
    if (!n) return hn_fail(err, HONE_E_NOMEM, "out of memory in lowering a kernel");
    hn_nest_lowering l = {.g = g, .n = n, .err = err, .rc = HONE_OK, .map = hn_kind_named(kind) == HN_KIND_MAP};
    l.buf = HN_NEW_N(a, hn_buf, g->n_value);
    l.memo = HN_NEW_N(a, hn_memo *, g->n_value);
    l.keep = HN_NEW_N(a, uint8_t, g->n_value);
    hn_buf *to = HN_NEW_N(a, hn_buf, b->n_result);
    hn_body_scope *root = l.scope = HN_NEW(a, hn_body_scope);
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory in lowering a kernel");
    for (uint32_t k = 0; k < b->n_param; k++)
        l.buf[b->param[k]] =
            hn_nest_buf(n, HN_PARAM, g->value[b->param[k]].type.dtype, hn_type_count(g, &g->value[b->param[k]].type));
    for (uint32_t k = 0; k < b->n_result; k++)
        to[k] = hn_nest_buf(n, HN_RESULT, g->value[b->result[k]].type.dtype,
                            hn_type_count(g, &g->value[b->result[k]].type));
    choose_rows(&l, body);
    if (lines && hn_op_of(lines->op)->cls == HN_PREFIX)
        hn_prefix_into(&l, lines, to[0]);
    else if (lines)
        hn_arg_into(&l, lines, to[0]);
    else
        lower_results(&l, body, to);
    n->first = root->head;
    if (l.rc != HONE_OK) return l.rc;
    hn_mark_parts(n);
    hn_nest_take_words(n, n->first);
    if (!hn_arena_ok(a) || !hn_graph_ok(g)) return hn_fail(err, HONE_E_NOMEM, "out of memory in lowering a kernel");
    *out = n;
    return HONE_OK;
}
