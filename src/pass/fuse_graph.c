/* pass/fuse_graph.c — groups of nodes, who uses what, and paths between groups. */
#include "pass/fuse.h"

#include <string.h>

bool hn_fuse_same_shape(const hn_type *a, const hn_type *b) {
    return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim);
}

static bool one_element(const hn_graph *g, const hn_type *t) {
    int64_t n = 1, d;
    for (size_t k = 0; k < t->rank; k++) {
        if (!hn_dim_is_int(g->dims, t->dim[k], &d)) return false;
        n *= d == 1;
    }
    return n == 1;
}

/* Does the node end a stretch: does it define symbols, or run regions? */
static bool is_barrier(const hn_node *n) {
    hn_op_class c = hn_op_of(n->op)->cls;
    return c == HN_BIND || c == HN_CONTROL || hn_attr_get(n, HN_A_DEFINES) != NULL;
}

/* Shadows: constants of one element, and broadcasts, that only kernels of this block use. */
static void find_shadows(hn_fuse *f) {
    hn_graph *g = f->g;
    const hn_blk *b = &g->block[f->b];
    for (uint32_t k = 0; k < f->n; k++) {
        const hn_node *n = &g->node[b->node[k]];
        if (n->op != HN_OP_CONST && n->op != HN_OP_BROADCAST) continue;
        hn_val v = n->out[0];
        if (n->op == HN_OP_CONST ? one_element(g, hn_type_of(g, v)) : !f->outside[v]) f->shadow[v] = true;
    }
}

static bool no_kernel(const hn_node *n) {
    hn_op_class c = hn_op_of(n->op)->cls;
    return n->op == HN_OP_CONST || n->op == HN_OP_DIMS || c == HN_BIND || c == HN_CONTROL || c == HN_KERNEL;
}

static void find_outside(hn_fuse *f) {
    hn_graph *g = f->g;
    for (hn_block b = 0; b < g->n_block; b++) {
        const hn_blk *blk = &g->block[b];
        for (uint32_t k = 0; f->reached[b] && k < blk->n_node; k++) {
            const hn_node *n = &g->node[blk->node[k]];
            if (b == f->b && !no_kernel(n)) continue;
            for (uint16_t i = 0; i < n->n_in; i++) f->outside[n->in[i]] = true;
        }
        for (uint32_t k = 0; f->reached[b] && k < blk->n_result; k++) f->outside[blk->result[k]] = true;
    }
}

hn_val hn_fuse_behind(const hn_fuse *f, hn_val v, bool *spread) {
    for (const hn_node *n; f->shadow[v] && (n = hn_def(f->g, v)) && n->n_in; v = n->in[0])
        if (!hn_fuse_same_shape(hn_type_of(f->g, v), hn_type_of(f->g, n->in[0]))) *spread = true;
    return v;
}

static bool add_user(hn_fuse *f, hn_val v, uint32_t place) {
    bool spread = false;
    v = hn_fuse_behind(f, v, &spread);
    uint32_t n = f->n_user[v];
    if (n && f->user[v][n - 1] == place) return true;
    if ((n & (n - 1)) == 0) { /* room for the next power of two */
        uint32_t *to = HN_NEW_N(f->a, uint32_t, n ? 2 * n : 1);
        if (!to) return false;
        if (n) memcpy(to, f->user[v], n * sizeof *to);
        f->user[v] = to;
    }
    f->user[v][f->n_user[v]++] = place;
    return true;
}

static void find_users(hn_fuse *f) {
    const hn_blk *b = &f->g->block[f->b];
    for (uint32_t k = 0; k < f->n; k++) {
        const hn_node *n = &f->g->node[b->node[k]];
        if (n->n_out && f->shadow[n->out[0]]) continue;
        for (uint16_t i = 0; i < n->n_in; i++)
            if (n->in[i] && !add_user(f, n->in[i], k)) return;
    }
}

bool hn_fuse_open(hn_fuse *f, hn_graph *g, hn_block b, const bool *reached, hn_arena *a) {
    *f = (hn_fuse){.g = g, .b = b, .reached = reached, .a = a, .n = g->block[b].n_node};
    f->group = HN_NEW_N(a, hn_fgroup, f->n + 1);
    f->place = HN_NEW_N(a, uint32_t, g->n_node + 1);
    f->in = HN_NEW_N(a, uint32_t, f->n + 1);
    f->shadow = HN_NEW_N(a, bool, g->n_value);
    f->outside = HN_NEW_N(a, bool, g->n_value);
    f->user = HN_NEW_N(a, uint32_t *, g->n_value);
    f->n_user = HN_NEW_N(a, uint32_t, g->n_value);
    f->mark = HN_NEW_N(a, uint32_t, f->n + 1);
    if (!hn_arena_ok(a)) return false;
    for (uint32_t k = 0; k < f->n; k++) f->place[g->block[b].node[k]] = k + 1;
    find_outside(f);
    find_shadows(f);
    find_users(f);
    uint32_t stretch = 0;
    for (uint32_t k = 0; k < f->n; k++) {
        hn_fgroup *x = &f->group[k];
        const hn_node *n = &g->node[g->block[b].node[k]];
        x->node = HN_NEW_N(a, uint32_t, 1);
        if (!x->node) return false;
        x->node[0] = g->block[b].node[k];
        x->n_node = 1;
        f->in[k] = k;
        bool barrier = is_barrier(n);
        x->stretch = stretch += barrier;
        stretch += barrier;
        hn_fuse_found(f, x, n);
        if (n->n_out && f->shadow[n->out[0]]) *x = (hn_fgroup){.kind = HN_KIND_NONE, .fixed = true};
    }
    return hn_arena_ok(a);
}

hn_fgroup *hn_fuse_group_of(const hn_fuse *f, hn_val v) {
    uint32_t node = f->g->value[v].node;
    if (!node || !f->place[node - 1]) return NULL;
    hn_fgroup *x = &f->group[f->in[f->place[node - 1] - 1]];
    return x->n_node ? x : NULL;
}

bool hn_fuse_escapes(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c, hn_val v) {
    if (f->outside[v]) return true;
    for (uint32_t k = 0; k < f->n_user[v]; k++) {
        const hn_fgroup *x = &f->group[f->in[f->user[v][k]]];
        if (x != p && x != c) return true;
    }
    return false;
}

bool hn_fuse_any_escape(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c) {
    for (uint32_t i = 0; i < p->n_node; i++) {
        const hn_node *n = &f->g->node[p->node[i]];
        for (uint16_t k = 0; k < n->n_out; k++)
            if (hn_fuse_escapes(f, p, c, n->out[k])) return true;
    }
    return false;
}

/* Is there a path from x to c? Marked groups have been visited. */
static bool reaches(hn_fuse *f, const hn_fgroup *x, const hn_fgroup *c) {
    f->mark[x - f->group] = f->n_mark;
    for (uint32_t i = 0; i < x->n_node; i++) {
        const hn_node *n = &f->g->node[x->node[i]];
        for (uint16_t k = 0; k < n->n_out; k++)
            for (uint32_t u = 0; u < f->n_user[n->out[k]]; u++) {
                const hn_fgroup *y = &f->group[f->in[f->user[n->out[k]][u]]];
                if (y == c) return true;
                if (f->mark[y - f->group] == f->n_mark || y->stretch != c->stretch) continue;
                if (reaches(f, y, c)) return true;
            }
    }
    return false;
}

bool hn_fuse_cycle(hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c) {
    f->n_mark++;
    f->mark[p - f->group] = f->n_mark;
    for (uint32_t i = 0; i < p->n_node; i++) {
        const hn_node *n = &f->g->node[p->node[i]];
        for (uint16_t k = 0; k < n->n_out; k++)
            for (uint32_t u = 0; u < f->n_user[n->out[k]]; u++) {
                const hn_fgroup *y = &f->group[f->in[f->user[n->out[k]][u]]];
                if (y == p || y == c || f->mark[y - f->group] == f->n_mark || y->stretch != c->stretch) continue;
                if (reaches(f, y, c)) return true;
            }
    }
    return false;
}

void hn_fuse_join(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_kernel_kind kind) {
    uint32_t n = p->n_node + c->n_node, i = 0, j = 0, *to = HN_NEW_N(f->a, uint32_t, n);
    if (!to) return;
    for (uint32_t k = 0; k < n; k++) { /* merge by place */
        bool first = j == c->n_node || (i < p->n_node && f->place[p->node[i]] < f->place[c->node[j]]);
        to[k] = first ? p->node[i++] : c->node[j++];
    }
    uint32_t id = (uint32_t)(c - f->group);
    for (uint32_t k = 0; k < p->n_node; k++) f->in[f->place[p->node[k]] - 1] = id;
    c->node = to;
    c->n_node = n;
    c->kind = kind;
    p->n_node = 0;
}
