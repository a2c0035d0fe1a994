/* nest/writer.c — statements written one after the other. */
#include "nest/writer.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

bool hn_write_begin(hn_writer *w, hn_nest *n) {
    *w = (hn_writer){.n = n, .n_var = n->n_var, .n_sv = n->n_sv};
    w->var = HN_NEW_N(n->a, hn_ix, n->n_var + 1u);
    w->sv = HN_NEW_N(n->a, hn_sv, n->n_sv + 1u);
    if (w->sv) hn_write_forget(w);
    return hn_arena_ok(n->a);
}

void hn_write_forget(hn_writer *w) {
    memset(w->sv, 0, w->n_sv * sizeof *w->sv);
    for (hn_st id = w->n->first; id; id = w->n->st[id].next)
        if (w->n->st[id].kind == HN_ST_LET) w->sv[w->n->st[id].value] = w->n->st[id].value;
}

static hn_st append(hn_writer *w, const hn_stmt *s) {
    hn_st made = hn_nest_stmt(w->n, s);
    int d = w->depth;
    if (w->tail[d])
        w->n->st[w->tail[d]].next = made;
    else
        w->head[d] = made;
    return w->tail[d] = made;
}

hn_ix hn_write_loop(hn_writer *w, hn_ix extent, hn_loop_kind kind) {
    if (w->depth + 1 == HN_WRITER_DEPTH) {
        w->n->a->failed = true;
        return 1;
    }
    hn_var v = hn_nest_var(w->n, extent);
    hn_st made = append(w, &(hn_stmt){.kind = HN_ST_LOOP, .loop = kind, .var = v});
    int d = ++w->depth;
    w->head[d] = w->tail[d] = 0;
    w->loop[d] = made;
    return hn_ix_var(w->n, v);
}
hn_ix hn_write_times(hn_writer *w, int64_t extent, hn_loop_kind kind) {
    return hn_write_loop(w, hn_ix_int(w->n, extent), kind);
}
void hn_write_close(hn_writer *w, int loops) {
    for (; loops > 0 && w->depth > 0; loops--, w->depth--) w->n->st[w->loop[w->depth]].body = w->head[w->depth];
}

hn_buf hn_write_reg(hn_writer *w, hone_dtype t, int64_t size) {
    hn_buf b = hn_nest_buf(w->n, HN_REG, t, hn_dim_int(w->n->dims, size));
    append(w, &(hn_stmt){.kind = HN_ST_REG, .buf = b});
    return b;
}
void hn_write_store(hn_writer *w, hn_buf b, hn_ix at, hn_sv x) {
    append(w, &(hn_stmt){.kind = HN_ST_STORE, .buf = b, .at = at, .value = x});
}
void hn_write_update(hn_writer *w, hn_buf b, hn_ix at, hn_op op, hn_sv x) {
    append(w, &(hn_stmt){.kind = HN_ST_UPDATE, .buf = b, .at = at, .op = op, .value = x});
}

void hn_write_statement(hn_writer *w, const hn_stmt *s) { append(w, s); }

hn_sv hn_write_scalar(hn_writer *w, const hn_scalar *x) {
    hn_sv made = hn_nest_scalar(w->n, x);
    append(w, &(hn_stmt){.kind = HN_ST_LET, .value = made});
    return made;
}
hn_sv hn_write_load(hn_writer *w, hn_buf b, hn_ix at) {
    return hn_write_scalar(w, &(hn_scalar){.kind = HN_SV_LOAD, .dtype = w->n->buf[b].dtype, .buf = b, .at = at});
}
hn_sv hn_write_op(hn_writer *w, hn_op op, hone_dtype t, hn_sv a, hn_sv b) {
    hn_scalar x = {.kind = HN_SV_OP, .dtype = t, .op = op, .arg = {a, b}, .n_arg = b ? 2 : 1, .saturate = true};
    return hn_write_scalar(w, &x);
}
hn_sv hn_write_product(hn_writer *w, hone_dtype t, hn_sv a, hn_sv b) {
    hn_scalar x = {.kind = HN_SV_OP, .dtype = t, .op = HN_OP_MUL, .arg = {a, b}, .n_arg = 2, .fused = true};
    return hn_write_scalar(w, &x);
}

/* -- copies */
static void copy_values(hn_writer *w, hn_ix i) {
    for (uint32_t t = 0; t < w->n->ix[i].n; t++) {
        const hn_atom x = w->n->atom[w->n->ix[i].term[t].atom];
        if (x.kind == HN_AT_VALUE) hn_write_copy(w, x.id);
        if (x.a) copy_values(w, x.a);
        if (x.b) copy_values(w, x.b);
    }
}
static hn_ix moved(hn_writer *w, hn_ix i) {
    const hn_subst s = {w->var, w->sv, w->n_var, w->n_sv};
    copy_values(w, i);
    return hn_ix_subst(w->n, i, &s);
}

hn_sv hn_write_copy(hn_writer *w, hn_sv id) {
    if (id >= w->n_sv) return id;
    if (w->sv[id]) return w->sv[id];
    hn_scalar x = w->n->sv[id];
    for (uint32_t k = 0; k < x.n_arg; k++) x.arg[k] = hn_write_copy(w, x.arg[k]);
    if (x.at) x.at = moved(w, x.at);
    hn_ix *guard = x.n_guard ? HN_NEW_N(w->n->a, hn_ix, x.n_guard) : NULL;
    for (uint32_t k = 0; guard && k < x.n_guard; k++) guard[k] = moved(w, x.guard[k]);
    x.guard = guard;
    return w->sv[id] = hn_write_scalar(w, &x);
}

void hn_write_finish(hn_writer *w) {
    hn_write_close(w, w->depth);
    hn_st last = 0;
    for (hn_st id = w->n->first; id && w->n->st[id].kind == HN_ST_LET; id = w->n->st[id].next) last = id;
    if (last)
        w->n->st[last].next = w->head[0];
    else
        w->n->first = w->head[0];
}

void hn_write_end(hn_writer *w) {
    hn_write_finish(w);
    hn_nest_tidy(w->n);
}
