/* pass/panels.c — packed weights that products read are stored in panels of 16 rows (ir/packed.h). What looks up rows
 * of the same weights (an embedding that is the output layer, too) reads the panels as well, so that there is one copy.
 */
#include "base/err.h"
#include "ir/packed.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

typedef struct stored {
    const void *rows; /* the data of a constant that a product reads */
    const hn_codec *codec;
    hn_val shared; /* its panels in the main block, where all can read them; 0: none yet */
} stored;
typedef struct found {
    stored *list;
    size_t n;
    hn_val *panels; /* by constant: what takes its place; 0 */
    uint32_t n_values;
} found;

static bool reads(const hn_node *n) {
    return (n->op == HN_OP_PACKED_DOT || n->op == HN_OP_PACKED_ROWS) && !hn_attr_i(n, HN_A_PANEL, 0);
}

static stored *stored_of(found *f, const void *rows) {
    for (size_t i = 0; i < f->n; i++)
        if (f->list[i].rows == rows) return &f->list[i];
    return NULL;
}

static hn_val make(hn_rewriter *r, const hn_codec *c, const hn_tensor *t) {
    size_t lead = t->rank - 2u;
    int64_t n = t->dim[lead], row_b = t->dim[lead + 1], dim[HN_RANK_MAX], all = 1;
    hn_tensor out;
    for (size_t d = 0; d < lead; d++) all *= dim[d] = t->dim[d];
    dim[lead] = (n + HN_PANEL - 1) / HN_PANEL, dim[lead + 1] = HN_PANEL * row_b;
    if (!hn_tensor_new(&r->g->arena, HONE_U8, t->rank, dim, &out)) return 0;
    for (int64_t i = 0; i < all; i++)
        hn_codec_pack(c, (const uint8_t *)t->data + i * n * row_b, n, row_b,
                      (uint8_t *)out.data + i * dim[lead] * dim[lead + 1]);
    return hn_const(&r->b, &out);
}

/* Panels of a constant come to stand beside it. */
static hn_val constant(hn_rewriter *r, const hn_node *n) {
    found *f = r->arg;
    const hn_tensor *t = hn_const_of(r->g, n->out[0]);
    stored *s = stored_of(f, t->data);
    hn_val v = n->out[0];
    if (!s || v >= f->n_values || t->dtype != HONE_U8 || t->rank < 2) return HN_KEEP;
    f->panels[v] = s->shared ? s->shared : make(r, s->codec, t);
    if (!s->shared && r->b.b == 0) s->shared = f->panels[v];
    return HN_KEEP;
}

static hn_val panels(hn_rewriter *r, const hn_node *node) {
    const found *f = r->arg;
    hn_attr attr[8];
    hn_val in[5];
    if (node->op == HN_OP_CONST) return constant(r, node);
    if (!reads(node) || node->in[0] >= f->n_values || !f->panels[node->in[0]] || node->n_attr > 7) return HN_KEEP;
    const hn_node n = *node;
    for (size_t i = 0; i < n.n_in && i < 5; i++) in[i] = i ? n.in[i] : f->panels[n.in[0]];
    for (size_t i = 0; i < n.n_attr; i++) attr[i] = n.attr[i];
    attr[n.n_attr] = (hn_attr){.id = HN_A_PANEL, .kind = HN_K_INT, .i = HN_PANEL};
    return hn_emit(r->g, r->b.b, n.op, n.n_in, in, n.n_attr + 1u, attr, 1);
}

static void find(const hn_graph *g, found *f) {
    for (hn_block b = 0; b < g->n_block; b++)
        for (uint32_t i = 0; i < g->block[b].n_node; i++) {
            const hn_node *n = &g->node[g->block[b].node[i]];
            const hn_tensor *t = n->op == HN_OP_PACKED_DOT && reads(n) ? hn_const_of(g, n->in[0]) : NULL;
            if (t && !stored_of(f, t->data)) f->list[f->n++] = (stored){t->data, hn_codec_of(n), 0};
        }
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    hn_arena a = {0};
    found f = {.list = HN_NEW_N(&a, stored, g->n_node + 1), .n_values = g->n_value};
    f.panels = HN_NEW_N(&a, hn_val, g->n_value);
    if (!f.list || !f.panels) return hn_fail(err, HONE_E_NOMEM, "out of memory in pass 'panels'");
    if (ctx->layout->panel == HN_PANEL) find(g, &f);
    hn_rewriter r = {.g = g, .layout = ctx->layout, .arg = &f};
    if (f.n) hn_rewrite(&r, panels);
    hn_arena_free(&a);
    if (f.n) hn_sweep(g);
    ctx->n_rewrites += r.n_rewrites;
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_panels = {
    .name = "panels",
    .summary = "stores packed weights in panels, as products read them",
    .breaks = HN_FACT_NO_DEAD | HN_FACT_CANONICAL,
    .run = run,
};
