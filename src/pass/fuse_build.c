/* pass/fuse_build.c — kernels in place of groups: bodies are copied, the block's list is made anew in an order in which
 * everything is defined before its use. */
#include "pass/fuse.h"

#include <string.h>

typedef struct builder {
    hn_fuse *f;
    hn_val *now;     /* of values of the block: the kernel's result that replaces it, or 0 */
    uint32_t *order; /* the new list */
    uint32_t n_order;
    bool *done; /* of places */
    hn_val *map;
    uint32_t n_old; /* values there were */
} builder;

static void place_unit(builder *b, uint32_t place);

/* Reshapes of what is in memory. */
static bool only_views(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        const hn_node *from = n->op == HN_OP_RESHAPE && f->shadow[n->in[0]] ? hn_def(f->g, n->in[0]) : NULL;
        if (n->op != HN_OP_RESHAPE || (from && from->op == HN_OP_BROADCAST)) return false;
    }
    return true;
}

/* -- order */
static void place_value(builder *b, hn_val v) {
    bool spread;
    v = hn_fuse_behind(b->f, v, &spread);
    uint32_t node = b->f->g->value[v].node;
    if (v && node && b->f->place[node - 1]) place_unit(b, b->f->place[node - 1] - 1);
}
static void place_inputs(builder *b, uint32_t id) {
    for (uint16_t k = 0; k < b->f->g->node[id].n_in; k++)
        if (b->f->g->node[id].in[k]) place_value(b, b->f->g->node[id].in[k]);
}

/* -- a body */
typedef struct body {
    hn_block block;
    hn_val *param; /* values of the block around */
    uint32_t n_param, room;
} body;

/* Makes v known inside: copies shadows, turns other outer values into parameters. */
static void bring_in(builder *b, body *y, hn_val v) {
    hn_fuse *f = b->f;
    hn_graph *g = f->g;
    if (!v || b->map[v] || !hn_graph_ok(g)) return;
    const hn_node *n = hn_def(g, v);
    if (f->shadow[v] && n) {
        uint32_t id = g->value[v].node - 1;
        if (n->n_in) bring_in(b, y, n->in[0]);
        hn_copy_node(g, y->block, g, id, b->map);
        return;
    }
    if (y->n_param == y->room) {
        uint32_t more = y->room ? 2 * y->room : 8;
        hn_val *to = HN_NEW_N(f->a, hn_val, more);
        if (!to) return;
        if (y->n_param) memcpy(to, y->param, y->n_param * sizeof *to);
        y->param = to;
        y->room = more;
    }
    hn_type t = *hn_type_of(g, v);
    b->map[v] = hn_param(g, y->block, NULL, &t);
    y->param[y->n_param++] = b->now[v] ? b->now[v] : v;
}

static uint32_t anchor_source(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        hn_op_class c = hn_op_of(n->op)->cls;
        if ((c == HN_CONTRACT || c == HN_WINDOW) && n->source) return n->source;
    }
    return f->g->node[x->node[x->n_node - 1]].source;
}

static void make_kernel(builder *b, const hn_fgroup *x) {
    hn_fuse *f = b->f;
    hn_graph *g = f->g;
    body y = {.block = hn_block_new(g, f->b)};
    hn_val *result = NULL;
    uint32_t n_result = 0, n_out = 0;
    memset(b->map, 0, b->n_old * sizeof *b->map);
    for (uint32_t k = 0; k < x->n_node; k++) n_out += g->node[x->node[k]].n_out;
    if (!(result = HN_NEW_N(f->a, hn_val, n_out + 1))) return;
    for (uint32_t k = 0; k < x->n_node && hn_graph_ok(g); k++) {
        for (uint16_t i = 0; i < g->node[x->node[k]].n_in; i++) bring_in(b, &y, g->node[x->node[k]].in[i]);
        hn_copy_node(g, y.block, g, x->node[k], b->map);
    }
    for (uint32_t k = 0; k < x->n_node && hn_graph_ok(g); k++)
        for (uint16_t i = 0; i < g->node[x->node[k]].n_out; i++) {
            hn_val v = g->node[x->node[k]].out[i];
            if (x->kind != HN_KIND_OPAQUE && !hn_fuse_escapes(f, x, NULL, v)) continue;
            hn_result(g, y.block, b->map[v], NULL);
            result[n_result++] = v;
        }
    if (!hn_graph_ok(g) || !hn_arena_ok(f->a)) return;
    if (!n_result) return; /* nobody uses anything of it */
    hn_attr attr[] = {{.id = HN_A_BODY, .kind = HN_K_BLOCKS, .n = 1, .blocks = &y.block},
                      {.id = HN_A_KIND, .kind = HN_K_NAME, .name = hn_kind_text(x->kind)}};
    g->at_source = anchor_source(f, x);
    hn_val first = hn_emit(g, f->b, HN_OP_KERNEL, y.n_param, y.param, 2, attr, n_result);
    g->at_source = 0;
    if (!hn_graph_ok(g)) return;
    for (uint32_t k = 0; k < n_result; k++) b->now[result[k]] = first + k;
    b->order[b->n_order++] = g->block[f->b].node[g->block[f->b].n_node - 1];
}

static void place_unit(builder *b, uint32_t place) {
    hn_fuse *f = b->f;
    hn_fgroup *x = &f->group[f->in[place]];
    if (b->done[place] || !hn_graph_ok(f->g)) return;
    if (x->kind == HN_KIND_NONE || only_views(f, x)) { /* a view on its own is no kernel */
        uint32_t id = f->g->block[f->b].node[place];
        b->done[place] = true;
        const hn_node *n = &f->g->node[id];
        if (n->op == HN_OP_BROADCAST) return; /* a shadow: every user has its copy */
        place_inputs(b, id);
        b->order[b->n_order++] = id;
        return;
    }
    for (uint32_t k = 0; k < x->n_node; k++) b->done[f->place[x->node[k]] - 1] = true;
    for (uint32_t k = 0; k < x->n_node; k++) place_inputs(b, x->node[k]);
    make_kernel(b, x);
}

/* Everything that used a value uses the kernel's result in its place. */
static void rename_all(builder *b) {
    hn_graph *g = b->f->g;
    for (uint32_t id = 0; id < g->n_node; id++)
        for (uint16_t k = 0; k < g->node[id].n_in; k++) {
            hn_val v = g->node[id].in[k];
            if (v < b->n_old && b->now[v]) g->node[id].in[k] = b->now[v];
        }
    for (hn_block k = 0; k < g->n_block; k++)
        for (uint32_t i = 0; i < g->block[k].n_result; i++) {
            hn_val v = g->block[k].result[i];
            if (v < b->n_old && b->now[v]) g->block[k].result[i] = b->now[v];
        }
}

void hn_fuse_build(hn_fuse *f) {
    hn_graph *g = f->g;
    builder b = {.f = f, .n_old = g->n_value};
    b.now = HN_NEW_N(f->a, hn_val, b.n_old + 1);
    b.map = HN_NEW_N(f->a, hn_val, b.n_old + 1);
    b.done = HN_NEW_N(f->a, bool, f->n + 1);
    b.order = HN_NEW_N(&g->arena, uint32_t, f->n + 1);
    if (!hn_arena_ok(f->a) || !b.order) return;
    for (uint32_t k = 0; k < f->n; k++) place_unit(&b, k);
    if (!hn_graph_ok(g) || !hn_arena_ok(f->a)) return;
    g->block[f->b].node = b.order;
    g->block[f->b].n_node = b.n_order;
    g->block[f->b].room = f->n + 1;
    rename_all(&b);
}
