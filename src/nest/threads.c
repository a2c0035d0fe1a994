/* nest/threads.c — which values differ between the threads of a block, by rounds over the nest until nothing changes:
 * registers carry values around loops. */
#include "nest/threads.h"
#include "nest/nest_int.h"

typedef struct walk {
    hn_nest *n;
    hn_threads *t;
    bool changed;
} walk;

uint8_t hn_threads_differ(const hn_nest *n, const hn_threads *t, hn_ix i) {
    const hn_linear *f = &n->ix[i];
    uint8_t in = 0;
    for (uint32_t k = 0; k < f->n; k++) {
        const hn_atom *x = &n->atom[f->term[k].atom];
        if (x->kind == HN_AT_VAR) in |= t->var[x->id];
        if (x->kind == HN_AT_VALUE) in |= t->sv[x->id];
        if (x->a) in |= hn_threads_differ(n, t, x->a);
        if (x->b) in |= hn_threads_differ(n, t, x->b);
    }
    return in;
}

static uint8_t any_differ(const walk *w, uint32_t n, const hn_ix *list) {
    uint8_t in = 0;
    for (uint32_t k = 0; k < n; k++) in |= hn_threads_differ(w->n, w->t, list[k]);
    return in;
}

static uint8_t scalar_differs(const walk *w, const hn_scalar *x) {
    uint8_t in = any_differ(w, x->n_guard, x->guard);
    if (x->at) in |= hn_threads_differ(w->n, w->t, x->at);
    for (uint32_t k = 0; k < x->n_arg; k++) in |= w->t->sv[x->arg[k]];
    if (x->kind == HN_SV_LOAD && w->n->buf[x->buf].space == HN_REG) in |= w->t->content[x->buf];
    return in;
}

static void add(walk *w, uint8_t *at, uint8_t in) {
    w->changed |= (*at | in) != *at;
    *at |= in;
}

static void walk_list(walk *w, hn_st first, uint8_t level, uint8_t apart) {
    hn_threads *t = w->t;
    for (hn_st id = first; id; id = w->n->st[id].next) {
        const hn_stmt *s = &w->n->st[id];
        t->level[id] = level;
        t->apart[id] = apart;
        if (s->kind == HN_ST_LOOP) {
            bool group = s->loop == HN_GROUP;
            uint8_t in = hn_threads_differ(w->n, t, w->n->extent[s->var]);
            if (group) in = (uint8_t)(1u << level);
            if (s->loop == HN_ROLE) in = HN_ROLE_BIT;
            if (s->loop == HN_CLUSTER) in = HN_CLUSTER_BIT;
            add(w, &t->var[s->var], in);
            bool threads = group || s->loop == HN_ROLE || s->loop == HN_CLUSTER;
            walk_list(w, s->body, (uint8_t)(level + (group && level < 3)), threads ? apart : apart | in);
        } else if (s->kind == HN_ST_LET) {
            add(w, &t->sv[s->value], scalar_differs(w, &w->n->sv[s->value]));
        } else if (s->kind == HN_ST_REG) {
            t->depth[s->buf] = level;
        } else if ((s->kind == HN_ST_STORE || s->kind == HN_ST_UPDATE) && w->n->buf[s->buf].space == HN_REG) {
            uint8_t in = apart | t->sv[s->value] | hn_threads_differ(w->n, t, s->at);
            in |= any_differ(w, s->n_guard, s->guard);
            uint8_t own = (uint8_t)(((1u << t->depth[s->buf]) - 1) | HN_ROLE_BIT | HN_CLUSTER_BIT);
            add(w, &t->content[s->buf], in & own);
        } else if (s->kind == HN_ST_MMA) {
            add(w, &t->content[s->buf], 7 | HN_CLUSTER_BIT);
        }
    }
}

bool hn_nest_threads(hn_nest *n, hn_arena *a, hn_threads *t) {
    t->var = HN_NEW_N(a, uint8_t, n->n_var + 1);
    t->sv = HN_NEW_N(a, uint8_t, n->n_sv + 1);
    t->content = HN_NEW_N(a, uint8_t, n->n_buf + 1);
    t->depth = HN_NEW_N(a, uint8_t, n->n_buf + 1);
    t->apart = HN_NEW_N(a, uint8_t, n->n_st + 1);
    t->level = HN_NEW_N(a, uint8_t, n->n_st + 1);
    if (!hn_arena_ok(a)) return false;
    walk w = {n, t, true};
    while (w.changed) {
        w.changed = false;
        walk_list(&w, n->first, 0, 0);
    }
    return true;
}

/* Sizes of the group loops by level, from the outside; threads of the roles side by side. */
static int64_t block_of(const hn_nest *n, hn_st first, int level, int64_t size[3]) {
    int64_t sum = 0, e;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind != HN_ST_LOOP || !hn_ix_is_int(n, n->extent[s->var], &e)) e = 0;
        if (s->kind != HN_ST_LOOP) continue;
        if (s->loop == HN_PARALLEL || s->loop == HN_CLUSTER) {
            sum += block_of(n, s->body, level, size);
        } else if (s->loop == HN_ROLE) {
            int64_t own[3] = {1, 1, 1};
            block_of(n, s->body, level, own);
            sum += e * own[0] * own[1] * own[2];
        } else if (s->loop == HN_GROUP && level < 3) {
            size[level] = e;
            block_of(n, s->body, level + 1, size);
        }
    }
    return sum;
}

hn_block_size hn_nest_block(const hn_nest *n) {
    int64_t size[3] = {0, 0, 0};
    int64_t roles = block_of(n, n->first, 0, size);
    if (roles) return (hn_block_size){roles, 1, 1, roles};
    int count = 0;
    while (count < 3 && size[count]) count++;
    if (!count) return (hn_block_size){0, 0, 0, 0};
    hn_block_size b = {size[count - 1], count > 1 ? size[count - 2] : 1, count > 2 ? size[0] : 1, 0};
    b.all = b.x * b.y * b.z;
    return b;
}

int64_t hn_role_threads(const hn_nest *n, hn_st role) {
    int64_t own[3] = {1, 1, 1};
    block_of(n, n->st[role].body, 0, own);
    return own[0] * own[1] * own[2];
}

static bool arrives(const hn_nest *n, hn_st first, hn_buf gate) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP ? arrives(n, s->body, gate) : s->kind == HN_ST_ARRIVE && s->buf == gate) return true;
    }
    return false;
}

int64_t hn_gate_arrivals(const hn_nest *n, hn_buf gate) {
    int64_t e;
    for (hn_st id = 1; id < n->n_st; id++) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && s->loop == HN_ROLE && arrives(n, s->body, gate))
            return hn_ix_is_int(n, n->extent[s->var], &e) ? e * hn_role_threads(n, id) : 0;
    }
    return 0;
}

int64_t hn_shared_room_b(int64_t elements, hone_dtype t) {
    return (elements * (int64_t)hn_dtype_of(t)->size_b + 15) / 16 * 16;
}

int64_t hn_nest_shared_b(const hn_nest *n) {
    int64_t sum = 0, size;
    for (hn_buf b = 1; b < n->n_buf; b++)
        if ((n->buf[b].space == HN_SHARED || n->buf[b].space == HN_GATE) &&
            hn_dim_is_int(n->dims, n->buf[b].size, &size))
            sum += hn_shared_room_b(size, n->buf[b].dtype);
    return sum;
}
