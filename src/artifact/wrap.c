/* wrap.c — every node that needs code and lies outside a kernel becomes a kernel of its own.
 *
 * Fusion leaves none; without it (the reference mode, the fallback of a graph that it refuses) this is the whole
 * partition. In place: the node moves into a new block and a kernel node takes its position and its outputs.
 */
#include "artifact/artifact.h"

/* A reshape alone is a view of what is in memory. */
static bool needs_kernel(hn_op op) { return hn_op_of(op)->kind != HN_KIND_NONE && op != HN_OP_RESHAPE; }

/* Scalar constants stay inside a body: equal kernels then print alike, and their code knows the value. */
static bool stays_inside(const hn_graph *g, hn_val v) {
    const hn_node *n = v ? hn_def(g, v) : NULL;
    return n && n->op == HN_OP_CONST && g->value[v].type.rank == 0;
}

/* Copies node `id` into a new block; param receives the values that become the kernel's inputs. */
static hn_block make_body(hn_graph *g, hn_block around, uint32_t id, hn_val *param, size_t *n_param) {
    hn_block body = hn_block_new(g, around);
    hn_val *map = hn_alloc_n(&g->arena, g->n_value + 1, sizeof *map);
    *n_param = 0;
    for (uint32_t i = 0; map && i < g->node[id].n_in && hn_graph_ok(g); i++) {
        hn_val v = g->node[id].in[i];
        if (!v || map[v]) continue;
        if (stays_inside(g, v)) {
            hn_copy_node(g, body, g, g->value[v].node - 1, map);
        } else {
            hn_type t = *hn_type_of(g, v);
            param[(*n_param)++] = v;
            map[v] = hn_param(g, body, NULL, &t);
        }
    }
    if (!map || !hn_graph_ok(g)) return body;
    hn_copy_node(g, body, g, id, map);
    for (uint32_t i = 0; i < g->node[id].n_out && hn_graph_ok(g); i++)
        hn_result(g, body, map[g->node[id].out[i]], NULL);
    return body;
}

static void wrap_node(hn_graph *g, hn_block b, uint32_t at) {
    uint32_t id = g->block[b].node[at];
    hn_val *param = hn_alloc_n(&g->arena, g->node[id].n_in + 1u, sizeof *param);
    size_t n_param = 0;
    if (!param) return;
    g->at_source = g->node[id].source;
    hn_block body = make_body(g, b, id, param, &n_param);
    hn_attr attr[] = {{.id = HN_A_BODY, .kind = HN_K_BLOCKS, .n = 1, .blocks = &body},
                      {.id = HN_A_KIND, .kind = HN_K_NAME, .name = hn_kind_text(hn_op_of(g->node[id].op)->kind)}};
    if (hn_graph_ok(g)) hn_emit(g, b, HN_OP_KERNEL, n_param, param, 2, attr, g->node[id].n_out);
    g->at_source = 0;
    if (!hn_graph_ok(g)) return;
    hn_blk *blk = &g->block[b];
    blk->node[at] = blk->node[--blk->n_node]; /* appended: it goes where the node was */
    for (uint32_t i = 0; i < g->node[id].n_out; i++) hn_replace(g, g->node[id].out[i], g->node[blk->node[at]].out[i]);
}

static bool *blocks_of_kernels(hn_graph *g) {
    bool *inside = hn_alloc_n(&g->arena, g->n_block + 1u, sizeof *inside);
    for (uint32_t i = 0; inside && i < g->n_node; i++) {
        const hn_attr *body = g->node[i].op == HN_OP_KERNEL ? hn_attr_get(&g->node[i], HN_A_BODY) : NULL;
        for (uint32_t k = 0; body && k < body->n; k++) inside[body->blocks[k]] = true;
    }
    return inside;
}

hone_rc hn_wrap_kernels(hn_graph *g, hone_err *err) {
    uint32_t n_block = g->n_block;
    bool *inside = blocks_of_kernels(g);
    for (hn_block b = 0; inside && b < n_block; b++)
        for (uint32_t i = 0; !inside[b] && i < g->block[b].n_node && hn_graph_ok(g); i++)
            if (needs_kernel(g->node[g->block[b].node[i]].op)) wrap_node(g, b, i);
    if (hn_graph_ok(g)) return HONE_OK;
    if (g->err.rc) return hn_fail(err, g->err.rc, "%s", g->err.text);
    return hn_fail(err, HONE_E_NOMEM, "out of memory while partitioning the graph");
}
