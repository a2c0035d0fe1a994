/* pass/pack.c — constant matrices that contractions read are stored in panels.
 *
 * A matrix of [K, N] (or [N, K]) becomes the constant [N/16, K, 16], padded with zeros, and movements that give the
 * matrix back. Fusion takes the movements into the kernel, where they are index arithmetic; register tiles of any
 * number of vectors then walk memory in its order, one stream per 16 columns (Goto and van de Geijn 2008, "Anatomy of
 * high-performance matrix multiplication", section 4: the packed operand). Exact: no value changes.
 */
#include "pass/pack.h"
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
static bool many_rows(const hn_rewriter *r, const hn_node *node) {
    const hn_attr *lhs = hn_attr_get(node, HN_A_LHS), *out = hn_attr_get(node, HN_A_OUT);
    const hn_type *t = hn_type_of(r->g, node->in[0]);
    int64_t n;
    for (uint32_t i = 0; i < lhs->n; i++)
        if (place_of(out, lhs->ints[i]) >= 0 && !(hn_dim_is_int(r->g->dims, t->dim[i], &n) && n == 1)) return true;
    return false;
}

/* How many lookups of rows read v. */
static uint32_t lookups(const hn_graph *g, hn_val v) {
    uint32_t count = 0;
    for (hn_block b = 0; b < g->n_block; b++)
        for (uint32_t k = 0; k < g->block[b].n_node; k++) {
            const hn_node *x = &g->node[g->block[b].node[k]];
            count += x->op == HN_OP_GATHER && x->in[0] == v;
        }
    return count;
}

/* The matrix is read by this contraction alone, or looked up in besides: an embedding that the output layer shares. A
 * lookup takes a few rows, and of the file that holds the weights only what is read gets into memory: so a second copy
 * costs space on the disk and little else. */
static bool may_copy(const hn_rewriter *r, hn_val v) {
    return hn_used_once(r, v) || (v < r->n_map && r->n_use[v] == 1 + lookups(r->g, v));
}

/* The second input: a constant matrix, one dimension summed over, the other one in the result alone. */
static bool matrix_of(const hn_rewriter *r, const hn_node *node, matrix *m) {
    const hn_attr *lhs = hn_attr_get(node, HN_A_LHS), *rhs = hn_attr_get(node, HN_A_RHS),
                  *out = hn_attr_get(node, HN_A_OUT);
    m->t = hn_const_of(r->g, node->in[1]);
    if (!m->t || m->t->rank != 2 || m->t->dtype != HONE_F32 || !may_copy(r, node->in[1])) return false;
    if (hn_tensor_n(m->t) < ELEMENTS_MIN || hn_const_of(r->g, node->in[0])) return false;
    if (!many_rows(r, node)) return false;
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
static hn_val unpacked(hn_builder *b, const matrix *m, const hn_tensor *panels) {
    static const int64_t to_rows[] = {0, 2, 1}, to_columns[] = {1, 0, 2};
    hn_dim shape[2];
    shape[m->n] = hn_lit(b, panels->dim[0] * WIDTH);
    shape[1 - m->n] = hn_lit(b, panels->dim[1]);
    hn_val x = hn_transpose(b, hn_const(b, panels), m->n ? to_columns : to_rows);
    x = hn_reshape(b, x, 2, shape);
    if (m->t->dim[m->n] % WIDTH == 0) return x;
    return hn_slice_axis(b, x, m->n, hn_lit(b, 0), hn_lit(b, m->t->dim[m->n]), 1);
}

static hn_val pack_one(hn_rewriter *r, const hn_node *node) {
    matrix m;
    hn_tensor panels;
    if (node->op == HN_OP_CONV) return hn_pack_conv(r, node);
    if (node->op != HN_OP_CONTRACT || !matrix_of(r, node, &m) || !make_panels(r->g, &m, &panels)) return HN_KEEP;
    const hn_node n = *node;
    const hn_val in[] = {n.in[0], unpacked(&r->b, &m, &panels)};
    return hn_emit(r->g, r->b.b, HN_OP_CONTRACT, 2, in, n.n_attr, n.attr, 1);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) { return hn_rewrite_all(g, ctx, pack_one, 1, err); }

const hn_pass hn_pass_pack = {
    .name = "pack",
    .summary = "stores constant matrices in panels, as contractions read them",
    .needs = HN_FACT_FOLDED,
    .breaks = HN_FACT_FOLDED | HN_FACT_CANONICAL,
    .run = run,
};
