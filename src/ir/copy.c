/* ir/copy.c — moving code about: copies of nodes with their regions, replacing values, removing what nobody uses. */
#include "ir/graph.h"

#include <stdlib.h>
#include <string.h>

/* --- copies ----------------------------------------------------------------------------------------------------- */

typedef struct copier {
    hn_graph *to;
    const hn_graph *from;
    hn_val *map;
    hn_dim *symbol; /* of `from` in `to`; NULL where they share a table */
} copier;

static hn_dim copy_dim(copier *c, hn_dim d) {
    return c->symbol && d ? hn_dim_copy(c->to->dims, c->from->dims, d, c->symbol) : d;
}

/* The symbol itself, not what equalities make of it. */
static hn_dim copy_own(copier *c, hn_dim d) {
    hn_symbol s;
    if (!c->symbol || !hn_dim_is_symbol(c->from->dims, d, &s)) return copy_dim(c, d);
    hn_dim same = c->symbol[s] ? c->symbol[s] : hn_dim_find(c->to->dims, hn_symbol_name(c->from->dims, s));
    return same ? same : copy_dim(c, d);
}

static hn_type copy_type(copier *c, const hn_type *t) {
    hn_type out = *t;
    for (size_t i = 0; i < t->rank; i++) out.dim[i] = copy_dim(c, t->dim[i]);
    return out;
}

static void copy_node(copier *c, hn_block b, uint32_t id);

static hn_block copy_block(copier *c, hn_block parent, hn_block from) {
    hn_block b = hn_block_new(c->to, parent);
    hn_blk k = c->from->block[from]; /* by value: the array may move under us */
    for (uint32_t i = 0; i < k.n_param; i++) {
        const hn_value *v = &c->from->value[k.param[i]];
        hn_type t = copy_type(c, &v->type);
        c->map[k.param[i]] = hn_param(c->to, b, v->name, &t);
    }
    for (uint32_t i = 0; i < k.n_node; i++) copy_node(c, b, k.node[i]);
    for (uint32_t i = 0; i < k.n_result; i++) hn_result(c->to, b, c->map[k.result[i]], NULL);
    return b;
}

static hn_attr copy_attr(copier *c, hn_block b, const hn_attr *from, void *list) {
    hn_attr a = *from;
    if (a.kind == HN_K_DIMS) {
        hn_dim *d = list;
        for (uint32_t i = 0; i < a.n; i++)
            d[i] = a.id == HN_A_DEFINES ? copy_own(c, from->dims[i]) : copy_dim(c, from->dims[i]);
        a.dims = d;
    } else if (a.kind == HN_K_BLOCKS) {
        hn_block *k = list;
        for (uint32_t i = 0; i < a.n; i++) k[i] = copy_block(c, b, from->blocks[i]);
        a.blocks = k;
    }
    return a;
}

static uint32_t copy_source(copier *c, uint32_t source) {
    if (c->to == c->from || !source) return source;
    const char *text = c->from->source[source - 1];
    hn_graph *to = c->to;
    /* nodes of one source come one after the other */
    if (to->n_source && !strcmp(to->source[to->n_source - 1], text)) return to->n_source;
    return hn_source(to, text);
}

static void copy_node(copier *c, hn_block b, uint32_t id) {
    hn_graph *to = c->to;
    if (!hn_graph_ok(to)) return;
    hn_node n = c->from->node[id]; /* by value, see above */
    size_t items = n.n_in + 1;
    for (size_t i = 0; i < n.n_attr; i++) items += n.attr[i].n;
    hn_attr *attr = malloc((n.n_attr + 1) * sizeof *attr);
    uint32_t *room = malloc(items * sizeof *room), *list = room + n.n_in;
    if (!attr || !room) {
        to->arena.failed = true;
        free(attr);
        free(room);
        return;
    }
    for (size_t i = 0; i < n.n_in; i++) room[i] = c->map[n.in[i]];
    for (size_t i = 0; i < n.n_attr; list += n.attr[i].n, i++) attr[i] = copy_attr(c, b, &n.attr[i], list);
    uint32_t before = to->at_source;
    to->at_source = copy_source(c, n.source);
    hn_val first = hn_emit(to, b, n.op, n.n_in, room, n.n_attr, attr, n.n_out);
    to->at_source = before;
    for (size_t i = 0; i < n.n_out; i++) c->map[n.out[i]] = first ? first + (hn_val)i : 0;
    free(attr);
    free(room);
}

/* Symbols of `from` by their place, found by name in `to`; NULL is fine when the tables are one. */
static bool open_copier(copier *c) {
    if (c->to->dims == c->from->dims) return true;
    c->symbol = calloc(hn_dims_symbols(c->from->dims) + 1, sizeof *c->symbol);
    if (!c->symbol) c->to->arena.failed = true;
    return c->symbol != NULL;
}

void hn_copy_node(hn_graph *to, hn_block b, const hn_graph *from, uint32_t id, hn_val *map) {
    copier c = {to, from, map, NULL};
    if (open_copier(&c)) copy_node(&c, b, id);
    free(c.symbol);
}

/* Symbols and relations first and in order, so that the copy prints as the original does. */
static void copy_dims(copier *c) {
    const hn_dims *from = c->from->dims;
    hn_dims *to = c->to->dims;
    for (hn_symbol s = 0; s < hn_dims_symbols(from); s++) {
        int64_t low, high;
        hn_symbol_range(from, s, &low, &high);
        c->symbol[s] = hn_dim_symbol(to, hn_symbol_name(from, s), low, high);
    }
    const hn_relation *r;
    size_t n = hn_dim_relations(from, &r);
    for (size_t i = 0; i < n; i++) {
        if (r[i].b)
            hn_dim_assume_equal(to, copy_dim(c, r[i].a), copy_dim(c, r[i].b));
        else
            hn_dim_assume_divisible(to, copy_dim(c, r[i].a), r[i].by);
    }
}

hn_graph *hn_copy_graph(const hn_graph *from) {
    copier c = {hn_graph_new(), from, calloc(from->n_value, sizeof(hn_val)), NULL};
    if (!c.to || !c.map || !open_copier(&c)) {
        hn_graph_free(c.to);
        free(c.map);
        return NULL;
    }
    copy_dims(&c);
    const hn_blk *k = &from->block[0];
    for (uint32_t i = 0; i < k->n_param; i++) {
        hn_type t = copy_type(&c, &from->value[k->param[i]].type);
        c.map[k->param[i]] = hn_param(c.to, 0, from->value[k->param[i]].name, &t);
    }
    for (uint32_t i = 0; i < k->n_node; i++) copy_node(&c, 0, k->node[i]);
    for (uint32_t i = 0; i < k->n_result; i++) hn_result(c.to, 0, c.map[k->result[i]], from->output_name[i]);
    free(c.symbol);
    free(c.map);
    return c.to;
}

static void let_go(void *from) { hn_graph_free(from); }

void hn_graph_adopt(hn_graph *g, hn_graph *from) {
    g->hold = from;
    g->let_go = let_go;
}

/* --- replacing -------------------------------------------------------------------------------------------------- */

static hn_val mapped(const hn_val *map, uint32_t n, hn_val v) {
    for (uint32_t left = n; left && v < n && map[v] && map[v] != v; left--) v = map[v];
    return v;
}

void hn_remap(hn_graph *g, const hn_val *map, uint32_t n) {
    for (uint32_t b = 0; b < g->n_block; b++) {
        hn_blk *k = &g->block[b];
        for (uint32_t i = 0; i < k->n_node; i++) {
            hn_node *x = &g->node[k->node[i]];
            for (size_t j = 0; j < x->n_in; j++) x->in[j] = mapped(map, n, x->in[j]);
        }
        for (uint32_t i = 0; i < k->n_result; i++) k->result[i] = mapped(map, n, k->result[i]);
    }
}

void hn_replace(hn_graph *g, hn_val old, hn_val with) {
    for (uint32_t b = 0; b < g->n_block; b++) {
        hn_blk *k = &g->block[b];
        for (uint32_t i = 0; i < k->n_node; i++) {
            hn_node *x = &g->node[k->node[i]];
            for (size_t j = 0; j < x->n_in; j++)
                if (x->in[j] == old) x->in[j] = with;
        }
        for (uint32_t i = 0; i < k->n_result; i++)
            if (k->result[i] == old) k->result[i] = with;
    }
}
