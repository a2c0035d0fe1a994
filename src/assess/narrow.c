/* narrow.c — the coarsest rounding on the way to each output, by one walk over the graph in its order. */
#include "assess/narrow.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

typedef struct passage {
    bool runs; /* depends on the inputs */
    hone_dtype through;
} passage;

typedef struct tracer {
    const hn_graph *g;
    passage *at; /* by value */
} tracer;

double hn_rounding_unit(hone_dtype t) {
    const hn_dtype_info *d = hn_dtype_of(t);
    return d->cls == HN_CLASS_FLOAT ? d->epsilon / 2 : ldexp(1, -d->bits);
}

static void join(passage *to, passage x) {
    if (!x.runs) return;
    to->runs = true;
    if (hn_rounding_unit(x.through) > hn_rounding_unit(to->through)) to->through = x.through;
}

static bool only_moves(const hn_node *n) {
    hn_op_class cls = hn_op_of(n->op)->cls;
    return cls == HN_SOURCE || cls == HN_MOVE || n->op == HN_OP_GATHER || n->op == HN_OP_GATHER_ELEMENTS ||
           n->op == HN_OP_GATHER_ND;
}

/* Does the node round what it writes there? */
static bool rounds(const hn_graph *g, const hn_node *n, hn_val out) {
    hone_dtype t = hn_type_of(g, out)->dtype;
    if (hn_is_float(t)) return !only_moves(n);
    return n->op == HN_OP_CAST && hn_is_float(hn_type_of(g, n->in[0])->dtype) && t != HONE_BOOL &&
           hn_dtype_of(t)->bits <= 8;
}

static void walk_block(tracer *t, hn_block b, passage *all);

/* Results of regions have what any value inside has. */
static void walk_regions(tracer *t, const hn_node *n, passage *p) {
    const hn_attr *body = hn_attr_get(n, HN_A_BODY);
    passage in = *p;
    for (uint32_t i = 0; body && i < body->n; i++) {
        const hn_blk *b = &t->g->block[body->blocks[i]];
        for (uint32_t k = 0; k < b->n_param; k++) t->at[b->param[k]] = in;
        walk_block(t, body->blocks[i], p);
    }
}

static void walk_block(tracer *t, hn_block b, passage *all) {
    for (uint32_t i = 0; i < t->g->block[b].n_node; i++) {
        const hn_node *n = &t->g->node[t->g->block[b].node[i]];
        passage p = {.runs = n->op == HN_OP_RANDOM};
        for (uint32_t k = 0; k < n->n_in; k++) join(&p, t->at[n->in[k]]);
        walk_regions(t, n, &p);
        for (uint32_t k = 0; k < n->n_out; k++) {
            t->at[n->out[k]] = p;
            if (rounds(t->g, n, n->out[k]))
                join(&t->at[n->out[k]], (passage){p.runs, hn_type_of(t->g, n->out[k])->dtype});
            join(all, t->at[n->out[k]]);
        }
    }
}

hone_rc hn_narrowest(const hn_graph *g, hone_dtype *through, hone_err *err) {
    tracer t = {g, calloc(g->n_value + 1u, sizeof *t.at)};
    const hn_blk *main = &g->block[0];
    passage all = {0};
    if (!t.at) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < main->n_param; i++) t.at[main->param[i]].runs = true;
    walk_block(&t, 0, &all);
    for (uint32_t i = 0; i < main->n_result; i++) through[i] = t.at[main->result[i]].through;
    free(t.at);
    return HONE_OK;
}
