/* ir/sweep.c — removes what nobody uses, in place.
 *
 * Liveness from the graph's results backwards, value by value. A live value makes its node live, and the symbols of its
 * type; a live node its inputs and the symbols of its attributes; a symbol the node that defines it. A result of an
 * `if` makes that result of both regions live; a value carried by a `loop` lives, before, inside and after, where it is
 * used after the loop or inside for more than for itself. Results that do not live are cut off nodes that do.
 */
#include "ir/graph.h"

#include <stdlib.h>

typedef struct sweeper {
    hn_graph *g;
    bool *node, *value, *dim, *symbol, *seen; /* seen: symbols already followed */
    uint32_t *definer;                        /* node + 1 of each symbol */
    uint32_t *owner;                          /* of each node: node + 1 whose region it is in, 0 in the main block */
    uint32_t *holder;                         /* of each block: node + 1 whose region it is */
    uint32_t *todo, n_todo;                   /* nodes to follow */
    hn_val *wanted, n_wanted;                 /* values to follow */
    size_t n_symbols, n_dims;
} sweeper;

static bool is_control(const hn_node *n) { return n->op == HN_OP_IF || n->op == HN_OP_LOOP; }

static void live_node(sweeper *s, uint32_t id) {
    if (s->node[id]) return;
    s->node[id] = true;
    s->todo[s->n_todo++] = id;
}

static void live_dim(sweeper *s, hn_dim d) {
    if (d < s->n_dims) {
        if (s->dim[d]) return;
        s->dim[d] = true;
    }
    hn_dim_mark(s->g->dims, d, s->symbol);
    for (size_t i = 0; i < s->n_symbols; i++) {
        if (!s->symbol[i] || s->seen[i]) continue;
        s->seen[i] = true;
        if (s->definer[i]) live_node(s, s->definer[i] - 1);
    }
}

static void live_value(sweeper *s, hn_val v) {
    if (!v || s->value[v]) return;
    s->value[v] = true;
    s->wanted[s->n_wanted++] = v;
}

static void live_block(sweeper *s, hn_block b) {
    const hn_blk *k = &s->g->block[b];
    for (uint32_t i = 0; i < k->n_param; i++) live_value(s, k->param[i]);
    for (uint32_t i = 0; i < k->n_result; i++) live_value(s, k->result[i]);
}

/* What result i of an `if` or `loop` is made of. */
static void live_result(sweeper *s, const hn_node *n, uint32_t i) {
    const hn_attr *body = hn_attr_get(n, HN_A_BODY);
    for (uint32_t j = 0; n->op == HN_OP_IF && j < body->n; j++) live_value(s, s->g->block[body->blocks[j]].result[i]);
    if (n->op == HN_OP_IF) return;
    const hn_blk *k = &s->g->block[body->blocks[0]];
    live_value(s, k->result[1 + i]);
    if (2 + i >= n->n_in) return; /* a scan */
    live_value(s, n->in[2 + i]);
    live_value(s, k->param[2 + i]);
}

static void follow_value(sweeper *s, hn_val v) {
    const hn_value *x = &s->g->value[v];
    for (size_t i = 0; i < x->type.rank; i++) live_dim(s, x->type.dim[i]);
    if (x->node) {
        live_node(s, x->node - 1);
        if (is_control(&s->g->node[x->node - 1])) live_result(s, &s->g->node[x->node - 1], x->index);
    } else if (s->holder[x->block] && s->g->node[s->holder[x->block] - 1].op == HN_OP_LOOP && x->index >= 2) {
        live_value(s, s->g->node[s->holder[x->block] - 1].out[x->index - 2]); /* carried: it is so as a whole */
    }
}

static bool mentions(const sweeper *s, hn_val v, hn_dim symbol) {
    const hn_type *t = &s->g->value[v].type;
    for (size_t i = 0; i < t->rank; i++)
        if (hn_dim_equal(s->g->dims, t->dim[i], symbol) == HN_EQUAL) return true;
    return false;
}

/* A result whose type shows a symbol that the node defines stays: the others are counted off it. A loop's first, the
 * number of its iterations, is defined without any. */
static void follow_control(sweeper *s, const hn_node *n) {
    const hn_attr *body = hn_attr_get(n, HN_A_BODY), *defines = hn_attr_get(n, HN_A_DEFINES);
    bool is_loop = n->op == HN_OP_LOOP;
    for (size_t i = 0; i < (is_loop ? 2 : 1); i++) live_value(s, n->in[i]);
    if (is_loop) live_value(s, s->g->block[body->blocks[0]].result[0]);
    for (uint32_t j = is_loop; defines && j < defines->n; j++)
        for (size_t i = 0; i < n->n_out; i++)
            if (mentions(s, n->out[i], defines->dims[j])) live_value(s, n->out[i]);
}

/* A `bind` of a symbol that has to be a number is a check of the run, and stays where its block does. */
static void live_checks(sweeper *s, hn_block b) {
    const hn_blk *k = &s->g->block[b];
    for (uint32_t i = 0; i < k->n_node; i++) {
        const hn_node *n = &s->g->node[k->node[i]];
        const hn_attr *a = n->op == HN_OP_BIND ? hn_attr_get(n, HN_A_DEFINES) : NULL;
        for (uint32_t j = 0; a && j < a->n; j++)
            if (hn_dim_is_int(s->g->dims, hn_dim_standing(s->g->dims, a->dims[j]), NULL)) live_node(s, k->node[i]);
    }
}

static void follow(sweeper *s, uint32_t id) {
    const hn_node *n = &s->g->node[id];
    if (s->owner[id]) live_node(s, s->owner[id] - 1);
    if (is_control(n)) {
        const hn_attr *body = hn_attr_get(n, HN_A_BODY);
        follow_control(s, n);
        for (uint32_t j = 0; j < body->n; j++) live_checks(s, body->blocks[j]);
        return;
    }
    for (size_t i = 0; i < n->n_in; i++) live_value(s, n->in[i]);
    for (size_t i = 0; i < n->n_out; i++) live_value(s, n->out[i]);
    for (size_t i = 0; i < n->n_attr; i++) {
        const hn_attr *a = &n->attr[i];
        for (uint32_t j = 0; a->kind == HN_K_DIMS && a->id != HN_A_DEFINES && j < a->n; j++) live_dim(s, a->dims[j]);
        for (uint32_t j = 0; a->kind == HN_K_BLOCKS && j < a->n; j++) live_block(s, a->blocks[j]);
    }
}

/* Walks a block and its regions: who defines each symbol, in whose region each node is. */
static void find_definers(sweeper *s, hn_block b, uint32_t owner) {
    const hn_blk *k = &s->g->block[b];
    s->holder[b] = owner;
    for (uint32_t i = 0; i < k->n_node; i++) {
        const hn_node *n = &s->g->node[k->node[i]];
        const hn_attr *a = hn_attr_get(n, HN_A_DEFINES), *body = hn_attr_get(n, HN_A_BODY);
        hn_symbol y;
        s->owner[k->node[i]] = owner;
        for (uint32_t j = 0; a && j < a->n; j++)
            if (hn_dim_is_symbol(s->g->dims, a->dims[j], &y) && y < s->n_symbols) s->definer[y] = k->node[i] + 1;
        for (uint32_t j = 0; body && j < body->n; j++) find_definers(s, body->blocks[j], k->node[i] + 1);
    }
}

/* --- cutting ---------------------------------------------------------------------------------------------------- */

/* Keeps list[from + i] where keep[i]; the new length. */
static uint32_t keep_in(hn_val *list, uint32_t from, uint32_t n, const bool *keep) {
    uint32_t at = from;
    for (uint32_t i = from; i < n; i++)
        if (keep[i - from]) list[at++] = list[i];
    return at;
}

static void number(hn_graph *g, const hn_val *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) g->value[list[i]].index = (uint16_t)i;
}

/* Carried values, then scans: keep has one entry for each result. */
static void cut_loop(hn_graph *g, hn_node *n, const bool *keep) {
    hn_blk *k = &g->block[hn_attr_get(n, HN_A_BODY)->blocks[0]];
    uint32_t n_carried = n->n_in - 2u, n_scans = 0;
    for (uint32_t i = n_carried; i < n->n_out; i++) n_scans += keep[i];
    n->n_in = (uint16_t)keep_in(n->in, 2, n->n_in, keep);
    k->n_param = keep_in(k->param, 2, k->n_param, keep);
    k->n_result = keep_in(k->result, 1, k->n_result, keep);
    number(g, k->param, k->n_param);
    for (size_t i = 0; i < n->n_attr; i++)
        if (n->attr[i].id == HN_A_COUNT) n->attr[i].i = n_scans;
}

static size_t cut_results(sweeper *s, hn_node *n) {
    bool *keep = s->node; /* no longer needed by then, and long enough: see hn_sweep */
    const hn_attr *body = hn_attr_get(n, HN_A_BODY);
    uint32_t n_out = n->n_out, kept = 0;
    for (uint32_t i = 0; i < n_out; i++) kept += keep[i] = s->value[n->out[i]];
    if (kept == n_out) return 0;
    if (n->op == HN_OP_LOOP) {
        cut_loop(s->g, n, keep);
    } else {
        for (uint32_t j = 0; j < body->n; j++) {
            hn_blk *k = &s->g->block[body->blocks[j]];
            k->n_result = keep_in(k->result, 0, k->n_result, keep);
        }
    }
    n->n_out = (uint16_t)keep_in(n->out, 0, n_out, keep);
    number(s->g, n->out, n->n_out);
    return n_out - kept;
}

static size_t compact(sweeper *s) {
    size_t removed = 0;
    for (uint32_t b = 0; b < s->g->n_block; b++) {
        hn_blk *k = &s->g->block[b];
        uint32_t n = 0;
        for (uint32_t i = 0; i < k->n_node; i++)
            if (s->node[k->node[i]]) k->node[n++] = k->node[i];
        removed += k->n_node - n;
        k->n_node = n;
    }
    for (uint32_t b = 0; b < s->g->n_block; b++)
        for (uint32_t i = 0; i < s->g->block[b].n_node; i++) {
            hn_node *n = &s->g->node[s->g->block[b].node[i]];
            if (is_control(n)) removed += cut_results(s, n);
        }
    return removed;
}

size_t hn_sweep(hn_graph *g) {
    sweeper s = {.g = g, .n_symbols = hn_dims_symbols(g->dims)};
    s.n_dims = 1 << 16; /* dimension ids are dense; a few above this are marked again each time */
    s.node = calloc(g->n_node + UINT16_MAX + 1u, sizeof *s.node); /* room for the results of one node, too */
    s.value = calloc(g->n_value + 1u, sizeof *s.value);
    s.dim = calloc(s.n_dims, sizeof *s.dim);
    s.symbol = calloc(2 * s.n_symbols + 1, sizeof *s.symbol);
    s.definer = calloc(s.n_symbols + 1, sizeof *s.definer);
    s.todo = calloc(g->n_node + 1u, sizeof *s.todo);
    s.owner = calloc(g->n_node + 1u, sizeof *s.owner);
    s.holder = calloc(g->n_block + 1u, sizeof *s.holder);
    s.wanted = calloc(g->n_value + 1u, sizeof *s.wanted);
    size_t removed = 0;
    if (s.node && s.value && s.dim && s.symbol && s.definer && s.todo && s.owner && s.holder && s.wanted) {
        s.seen = s.symbol + s.n_symbols;
        find_definers(&s, 0, 0);
        live_block(&s, 0);
        live_checks(&s, 0);
        while (s.n_todo || s.n_wanted)
            if (s.n_wanted)
                follow_value(&s, s.wanted[--s.n_wanted]);
            else
                follow(&s, s.todo[--s.n_todo]);
        removed = compact(&s);
    }
    free(s.node);
    free(s.value);
    free(s.dim);
    free(s.symbol);
    free(s.definer);
    free(s.todo);
    free(s.owner);
    free(s.holder);
    free(s.wanted);
    return removed;
}
