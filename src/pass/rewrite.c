/* pass/rewrite.c — see pass/rewrite.h. A block's list of nodes is built anew while the old one is walked. */
#include "pass/rewrite.h"

#include "base/err.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void count_block(const hn_graph *g, hn_block b, uint32_t *use, uint32_t *n_nodes) {
    const hn_blk *k = &g->block[b];
    *n_nodes += k->n_node;
    for (uint32_t i = 0; i < k->n_node; i++) {
        const hn_node *n = &g->node[k->node[i]];
        const hn_attr *body = hn_attr_get(n, HN_A_BODY);
        for (size_t j = 0; use && j < n->n_in; j++) use[n->in[j]]++;
        for (uint32_t j = 0; body && j < body->n; j++) count_block(g, body->blocks[j], use, n_nodes);
    }
    for (uint32_t i = 0; use && i < k->n_result; i++) use[k->result[i]]++;
}

uint32_t hn_count_nodes(const hn_graph *g) {
    uint32_t n = 0;
    count_block(g, 0, NULL, &n);
    return n;
}

hone_rc hn_graph_failure(const hn_graph *g, hone_err *err) {
    if (!hn_arena_ok(&g->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    return g->err.rc ? hn_fail(err, g->err.rc, "%s", g->err.text) : HONE_OK;
}

/* --- the walk --------------------------------------------------------------------------------------------------- */

static hn_val replaced(const hn_rewriter *r, hn_val v) {
    while (v < r->n_map && r->map[v]) v = r->map[v];
    return v;
}

static void keep_node(hn_graph *g, hn_block b, uint32_t id) {
    hn_blk *k = &g->block[b];
    if (k->n_node == k->room) {
        uint32_t room = k->room ? 2 * k->room : 16;
        uint32_t *more = HN_NEW_N(&g->arena, uint32_t, room);
        if (!more) return;
        if (k->n_node) memcpy(more, k->node, k->n_node * sizeof *more);
        k->node = more;
        k->room = room;
    }
    k->node[k->n_node++] = id;
}

static void walk_block(hn_rewriter *r, hn_rewrite_fn *rule, hn_block b);

static void check_same_type(hn_rewriter *r, const hn_node *n, hn_val with) {
    if (!hn_graph_ok(r->g) || hn_type_same(r->g, hn_type_of(r->g, n->out[0]), hn_type_of(r->g, with))) return;
    hn_graph_fail(r->g, HONE_E_FAILED, "a pass changed the type of a value of '%s'", hn_op_of(n->op)->text);
}

static void walk_node(hn_rewriter *r, hn_rewrite_fn *rule, hn_block b, uint32_t id) {
    hn_graph *g = r->g;
    hn_node n = g->node[id]; /* by value: the array may move */
    const hn_attr *body = hn_attr_get(&n, HN_A_BODY);
    for (size_t i = 0; i < n.n_in; i++) n.in[i] = replaced(r, n.in[i]);
    for (uint32_t i = 0; body && n.op != HN_OP_KERNEL && i < body->n; i++) walk_block(r, rule, body->blocks[i]);
    r->b = (hn_builder){g, b};
    r->id = id;
    g->at_source = n.source;
    hn_val with = rule(r, &n);
    g->at_source = 0;
    if (with == HN_KEEP || !hn_graph_ok(g)) {
        keep_node(g, b, id);
        return;
    }
    r->n_rewrites++;
    if (with != HN_DROPPED) {
        check_same_type(r, &n, with);
        r->map[n.out[0]] = with;
    }
    for (size_t i = 0; i < n.n_out && n.out[i] < r->n_map; i++) {
        hn_val to = replaced(r, n.out[i]);
        if (to < r->n_map) r->n_use[to] += r->n_use[n.out[i]];
    }
}

static void walk_block(hn_rewriter *r, hn_rewrite_fn *rule, hn_block b) {
    hn_blk *k = &r->g->block[b];
    uint32_t *old = k->node, n = k->n_node;
    k->node = NULL;
    k->n_node = k->room = 0;
    if (r->enter) r->enter(r, b);
    for (uint32_t i = 0; i < n; i++) walk_node(r, rule, b, old[i]);
    if (r->leave) r->leave(r, b);
    k = &r->g->block[b];
    for (uint32_t i = 0; i < k->n_result; i++) k->result[i] = replaced(r, k->result[i]);
}

void hn_rewrite(hn_rewriter *r, hn_rewrite_fn *rule) {
    hn_graph *g = r->g;
    uint32_t n_nodes = 0;
    r->n_map = g->n_value;
    r->n_rewrites = 0;
    r->map = calloc(r->n_map, sizeof *r->map);
    r->n_use = calloc(r->n_map, sizeof *r->n_use);
    if (r->map && r->n_use) {
        count_block(g, 0, r->n_use, &n_nodes);
        walk_block(r, rule, 0);
    } else
        g->arena.failed = true;
    free(r->map);
    free(r->n_use);
    r->map = r->n_use = NULL;
}

hone_rc hn_rewrite_all(hn_graph *g, hn_pass_ctx *ctx, hn_rewrite_fn *rule, unsigned most, hone_err *err) {
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .layout = ctx->layout};
    for (unsigned i = 0; i < most && hn_graph_ok(g); i++) {
        hn_rewrite(&r, rule);
        ctx->n_rewrites += r.n_rewrites;
        if (!r.n_rewrites) break;
        hn_sweep(g);
    }
    return hn_graph_failure(g, err);
}

void hn_inline_block(hn_rewriter *r, hn_block body) {
    hn_graph *g = r->g;
    hn_block to = r->b.b;
    const hn_blk k = g->block[body];
    for (uint32_t i = 0; i < k.n_node; i++) {
        const hn_node *n = &g->node[k.node[i]];
        const hn_attr *inner = hn_attr_get(n, HN_A_BODY);
        for (size_t j = 0; j < n->n_out; j++) g->value[n->out[j]].block = to;
        for (uint32_t j = 0; inner && j < inner->n; j++) g->block[inner->blocks[j]].parent = to;
        keep_node(g, to, k.node[i]);
    }
    g->block[body].n_node = 0;
}

/* --- looking ---------------------------------------------------------------------------------------------------- */

const hn_node *hn_def_op(const hn_graph *g, hn_val v, hn_op op) {
    const hn_node *n = v ? hn_def(g, v) : NULL;
    return n && n->op == op ? n : NULL;
}

const hn_tensor *hn_const_of(const hn_graph *g, hn_val v) {
    const hn_node *n = hn_def_op(g, v, HN_OP_CONST);
    const hn_attr *a = n ? hn_attr_get(n, HN_A_VALUE) : NULL;
    return a ? a->tensor : NULL;
}

static bool uniform(const hn_tensor *t, hn_tensor *one) {
    int64_t n = hn_tensor_n(t);
    size_t size_b = hn_dtype_of(t->dtype)->size_b;
    const char *data = t->data;
    if (n < 1 || (n > 1 && memcmp(data, data + size_b, (size_t)(n - 1) * size_b) != 0)) return false;
    *one = (hn_tensor){.dtype = t->dtype, .data = t->data};
    return true;
}

bool hn_splat_of(const hn_graph *g, hn_val v, hn_tensor *one) {
    for (;;) {
        const hn_node *n = v ? hn_def(g, v) : NULL;
        if (!n) return false;
        if (n->op == HN_OP_CONST) return uniform(hn_const_of(g, v), one);
        if (n->op != HN_OP_BROADCAST && n->op != HN_OP_RESHAPE) return false;
        v = n->in[0];
    }
}

bool hn_splat_is(const hn_graph *g, hn_val v, double x) {
    hn_tensor one;
    if (!hn_splat_of(g, v, &one)) return false;
    if (!hn_is_float(one.dtype)) return (double)hn_get_i(&one, 0) == x;
    double y = hn_get_f(&one, 0);
    return y == x && signbit(y) == signbit(x);
}

int64_t hn_label_place(const hn_attr *labels, int64_t label) {
    for (uint32_t i = 0; i < labels->n; i++)
        if (labels->ints[i] == label) return i;
    return -1;
}

bool hn_used_once(const hn_rewriter *r, hn_val v) { return v < r->n_map && r->n_use[v] == 1; }
