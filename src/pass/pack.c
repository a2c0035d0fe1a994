/* pass/pack.c — constant matrices that contractions read are stored in panels.
 *
 * A matrix of [K, N] (or [N, K]) becomes the constant [N/16, K, 16], padded with zeros, and movements that give the
 * matrix back. Fusion takes the movements into the kernel, where they are index arithmetic; register tiles of any
 * number of vectors then walk memory in its order, one stream per 16 columns (Goto and van de Geijn 2008, "Anatomy of
 * high-performance matrix multiplication", section 4: the packed operand). Exact: no value changes.
 */
#include "pass/pack.h"
#include "base/err.h"
#include "pass/passes.h"

#include <string.h>

/* WIDTH: columns of a panel: a cache line, and whole vectors of every instruction set. Smaller matrices stay in the
 * first-level cache anyway. */
enum { WIDTH = 16, ELEMENTS_MIN = 4096 };

static int64_t place_of(const hn_attr *a, int64_t label) {
    for (uint32_t i = 0; i < a->n; i++)
        if (a->ints[i] == label) return i;
    return -1;
}

typedef struct matrix {
    const hn_tensor *t;
    int n; /* which dimension is the result's */
} matrix;

/* More than one row of results: the panels are read again and again. One row is a dot product per column, or a sum of
 * rows, in the order of the matrix as it is. */
static bool many_rows(const hn_graph *g, const hn_node *node) {
    const hn_attr *lhs = hn_attr_get(node, HN_A_LHS), *out = hn_attr_get(node, HN_A_OUT);
    const hn_type *t = hn_type_of(g, node->in[0]);
    int64_t n;
    for (uint32_t i = 0; i < lhs->n; i++)
        if (place_of(out, lhs->ints[i]) >= 0 && !(hn_dim_is_int(g->dims, t->dim[i], &n) && n == 1)) return true;
    return false;
}

/* What reads a constant: contractions of one block, all of whose panels would be the same, and lookups of rows. */
typedef struct readers {
    uint32_t contractions, lookups;
    hn_block block; /* of the contractions */
    int8_t n;       /* which dimension is the result's, plus 1; -1: they differ */
    hn_val panels;  /* once the first one has been visited */
} readers;

/* The matrix is read by contractions that share its panels (layers that share their weights), or looked up in besides:
 * an embedding that the output layer shares. A lookup takes a few rows, and of the file that holds the weights only
 * what is read gets into memory: so a second copy costs space on the disk and little else. */
static bool may_copy(const hn_rewriter *r, hn_val v) {
    const readers *x = r->arg;
    return v < r->n_map && x[v].n > 0 && r->n_use[v] == x[v].contractions + x[v].lookups;
}

/* The second input: a constant matrix, one dimension summed over, the other one in the result alone. */
static bool matrix_of(const hn_graph *g, const hn_node *node, matrix *m) {
    const hn_attr *lhs = hn_attr_get(node, HN_A_LHS), *rhs = hn_attr_get(node, HN_A_RHS),
                  *out = hn_attr_get(node, HN_A_OUT);
    m->t = hn_const_of(g, node->in[1]);
    if (!m->t || m->t->rank != 2 || m->t->dtype != HONE_F32) return false;
    if (hn_tensor_n(m->t) < ELEMENTS_MIN || hn_const_of(g, node->in[0])) return false;
    if (!many_rows(g, node)) return false;
    for (int k = 0; k < 2; k++) {
        int64_t sum = rhs->ints[k], free = rhs->ints[1 - k];
        if (place_of(lhs, sum) < 0 || place_of(out, sum) >= 0 || place_of(lhs, free) >= 0 || place_of(out, free) < 0)
            continue;
        m->n = 1 - k;
        return m->t->dim[m->n] >= WIDTH;
    }
    return false;
}

static bool make_panels(hn_graph *g, const matrix *m, hn_tensor *out) {
    int64_t columns = m->t->dim[m->n], depth = m->t->dim[1 - m->n];
    int64_t step_n = m->n ? 1 : depth, step_k = m->n ? columns : 1;
    const int64_t shape[] = {(columns + WIDTH - 1) / WIDTH, depth, WIDTH};
    if (!hn_tensor_new(&g->arena, HONE_F32, 3, shape, out)) return false;
    const float *from = m->t->data;
    float *to = out->data;
    for (int64_t c = 0; c < columns; c++)
        for (int64_t k = 0; k < depth; k++)
            to[(c / WIDTH * depth + k) * WIDTH + c % WIDTH] = from[c * step_n + k * step_k];
    return true;
}

/* The matrix again, out of its panels. */
static hn_val unpacked(hn_builder *b, const matrix *m, hn_val panels) {
    static const int64_t to_rows[] = {0, 2, 1}, to_columns[] = {1, 0, 2};
    hn_dim shape[2];
    shape[m->n] = hn_lit(b, (m->t->dim[m->n] + WIDTH - 1) / WIDTH * WIDTH);
    shape[1 - m->n] = hn_lit(b, m->t->dim[1 - m->n]);
    hn_val x = hn_transpose(b, panels, m->n ? to_columns : to_rows);
    x = hn_reshape(b, x, 2, shape);
    if (m->t->dim[m->n] % WIDTH == 0) return x;
    return hn_slice_axis(b, x, m->n, hn_lit(b, 0), hn_lit(b, m->t->dim[m->n]), 1);
}

static void count_reader(const hn_graph *g, hn_block b, const hn_node *node, readers *all) {
    matrix m;
    if (node->op == HN_OP_GATHER) all[node->in[0]].lookups++;
    if (node->op != HN_OP_CONTRACT || !matrix_of(g, node, &m)) return;
    readers *x = &all[node->in[1]];
    bool first = !x->contractions++;
    x->n = (int8_t)(first || (x->n == m.n + 1 && x->block == b) ? m.n + 1 : -1);
    x->block = b;
}

static hn_val pack_matrix(hn_rewriter *r, const hn_node *node) {
    matrix m;
    hn_tensor panels;
    if (!may_copy(r, node->in[1]) || !matrix_of(r->g, node, &m)) return HN_KEEP;
    const hn_node n = *node;
    readers *x = (readers *)r->arg + n.in[1];
    if (!x->panels && !make_panels(r->g, &m, &panels)) return HN_KEEP;
    if (!x->panels) x->panels = hn_const(&r->b, &panels);
    const hn_val in[] = {n.in[0], unpacked(&r->b, &m, x->panels)}; /* each its own movements: they go into its kernel */
    return hn_emit(r->g, r->b.b, HN_OP_CONTRACT, 2, in, n.n_attr, n.attr, 1);
}

static hn_val pack_one(hn_rewriter *r, const hn_node *node) {
    if (node->op == HN_OP_CONV) return hn_pack_conv(r, node);
    return node->op == HN_OP_CONTRACT ? pack_matrix(r, node) : HN_KEEP;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    hn_arena a = {0};
    readers *all = HN_NEW_N(&a, readers, g->n_value);
    if (!all) return hn_fail(err, HONE_E_NOMEM, "out of memory in pass 'pack'");
    for (hn_block b = 0; b < g->n_block; b++)
        for (uint32_t k = 0; k < g->block[b].n_node; k++) count_reader(g, b, &g->node[g->block[b].node[k]], all);
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .arg = all};
    hn_rewrite(&r, pack_one);
    hn_arena_free(&a);
    hn_sweep(g);
    ctx->n_rewrites += r.n_rewrites;
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_pack = {
    .name = "pack",
    .summary = "stores constant matrices in panels, as contractions read them",
    .needs = HN_FACT_FOLDED,
    .breaks = HN_FACT_FOLDED | HN_FACT_CANONICAL,
    .run = run,
};
