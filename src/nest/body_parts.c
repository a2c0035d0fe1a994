/* nest/body_parts.c — divisions of a row's elements by their own sum (softmax), which need no division each. */
#include "nest/body.h"
#include "nest/nest_int.h"

#include <math.h>

/* How a buffer gets its values: at most one store and one update, in this loop. */
typedef struct written {
    int n_store, n_update;
    hn_st store, update;
    hn_var v; /* of the loop around the last of them */
} written;

static void writes_to(const hn_nest *n, hn_st first, hn_buf b, hn_var v, written *w) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) writes_to(n, s->body, b, s->var, w);
        if (s->buf != b) continue;
        if (s->kind == HN_ST_STORE) w->n_store++, w->store = id, w->v = v;
        if (s->kind == HN_ST_UPDATE) w->n_update++, w->update = id, w->v = v;
    }
}
static const hn_scalar *load_of(const hn_nest *n, hn_sv x, hn_space space) {
    const hn_scalar *s = &n->sv[x];
    return s->kind == HN_SV_LOAD && !s->n_guard && n->buf[s->buf].space == space ? s : NULL;
}

/* The same value at another iteration: y with variable w for v is x. */
static bool same_value(hn_nest *n, hn_sv x, hn_sv y, const hn_subst *w) {
    const hn_scalar a = n->sv[x], b = n->sv[y];
    if (x == y) return true;
    if (a.kind != b.kind || a.op != b.op || a.dtype != b.dtype || a.n_arg != b.n_arg || a.n_guard || b.n_guard)
        return false;
    if (a.kind == HN_SV_LOAD) return a.buf == b.buf && n->buf[a.buf].space != HN_REG && a.at == hn_ix_subst(n, b.at, w);
    bool same = a.kind == HN_SV_OP && a.saturate == b.saturate;
    for (uint32_t k = 0; same && k < a.n_arg; k++) same = same_value(n, a.arg[k], b.arg[k], w);
    return same;
}

/* A register's loop runs over the whole of local memory b, or over as much. */
static bool whole_row(hn_nest *n, const written *w, hn_buf b) {
    return w->n_store == 1 && w->n_update == 1 && n->sv[n->st[w->store].value].kind == HN_SV_CONST &&
           n->extent[w->v] == hn_ix_dim(n, n->buf[b].size);
}

/* x is e^(v - m), stored to all of local memory in the loop of variable `over`, m the maximum of v over that loop's
 * range: 0 … 1, and 1 once at least. */
static bool below_maximum(hn_nest *n, hn_sv x, hn_buf row, hn_var over) {
    const hn_scalar *e = &n->sv[x], *d = e->kind == HN_SV_OP && e->op == HN_OP_EXP ? &n->sv[e->arg[0]] : NULL;
    if (!d || d->kind != HN_SV_OP || d->op != HN_OP_SUB) return false;
    const hn_scalar *m = load_of(n, d->arg[1], HN_REG);
    written max = {0};
    if (m) writes_to(n, n->first, m->buf, 0, &max);
    if (!m || !whole_row(n, &max, row) || n->st[max.update].op != HN_OP_MAX) return false;
    double least = n->sv[n->st[max.store].value].f;
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var || !(least == -INFINITY)) return false;
    var[max.v] = hn_ix_var(n, over);
    return same_value(n, d->arg[0], n->st[max.update].value, &(hn_subst){var, NULL, n->n_var, 0});
}

/* a / b: a an element of such a row, b the sum of all of it. */
static bool is_part(hn_nest *n, const hn_scalar *x) {
    const hn_scalar *a = load_of(n, x->arg[0], HN_LOCAL), *b = load_of(n, x->arg[1], HN_REG);
    if (!a || !b) return false;
    written made = {0}, sum = {0};
    hn_buf row = a->buf;
    writes_to(n, n->first, row, 0, &made);
    writes_to(n, n->first, b->buf, 0, &sum);
    if (made.n_store != 1 || made.n_update || !whole_row(n, &sum, row)) return false;
    const hn_scalar *term = load_of(n, n->st[sum.update].value, HN_LOCAL);
    if (!term || term->buf != row || n->st[sum.update].op != HN_OP_ADD || n->sv[n->st[sum.store].value].f != 0)
        return false;
    if (term->at != hn_ix_var(n, sum.v) || n->st[made.store].at != hn_ix_var(n, made.v)) return false;
    return n->extent[made.v] == n->extent[sum.v] && below_maximum(n, n->st[made.store].value, row, made.v);
}

void hn_mark_parts(hn_nest *n) {
    for (hn_sv x = 1; x < n->n_sv; x++) {
        const hn_scalar *s = &n->sv[x];
        bool divides = s->kind == HN_SV_OP && s->op == HN_OP_DIV && s->dtype == HONE_F32;
        if (divides && is_part(n, s)) n->sv[x].part = true;
    }
}
