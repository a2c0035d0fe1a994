/* pass/pack.c — constant matrices that contractions read are stored in panels.
 *
 * A matrix of [K, N] (or [N, K]) becomes the constant [N/16, K, 16], of bytes [N/16, K/4, 16, 4], of bf16 [N/16, K/2,
 * 16, 2] where these are multiplied in pairs (nest/words.c; an odd K is filled with zeros), padded with zeros, and
 * movements that give the matrix back; several matrices in one tensor (heads, experts) become panels one after the
 * other. Fusion takes the movements into the kernel, where they are index arithmetic; register tiles of any number of
 * vectors then walk memory in its order, one stream per 16 columns (Goto and van de Geijn 2008, "Anatomy of
 * high-performance matrix multiplication", section 4: the packed operand). One row of results gains as much as many: a
 * few streams come from memory as fast as it delivers, lines side by side at half that. Exact: no value changes.
 */
#include "pass/pack.h"
#include "base/err.h"
#include "pass/bytes.h"
#include "pass/passes.h"

#include <string.h>

/* Smaller matrices stay in the first-level cache anyway; bytes are multiplied by words, of panels alone. */
enum { ELEMENTS_MIN = 4096, ROWS_MIN = 8 };

typedef struct matrix {
    const hn_tensor *t;
    size_t n, k;   /* which dimension is the result's, which is summed over; the others count matrices */
    int64_t word;  /* neighbouring steps of the sum that lie together: a word of bytes or bf16, else 1 */
    int64_t fill;  /* zeros behind the steps, for whole words of bf16 */
    int64_t width; /* columns of a panel */
} matrix;

/* What reads a value. Of a constant: contractions of one block, all of whose panels would be the same, and lookups of
 * rows. */
typedef struct readers {
    uint32_t contractions, lookups;
    hn_block block; /* of the contractions */
    int16_t form;   /* which dimensions are the result's and summed over; 0: none yet, -1: they differ */
    hn_val panels;  /* once the first one has been visited */
    bool scores;    /* pointwise code leads from it to the weights of an attention, which has a schedule of its own */
} readers;

/* The matrix is read by contractions that share its panels (layers that share their weights), or looked up in besides:
 * an embedding that the output layer shares. A lookup takes a few rows, and of the file that holds the weights only
 * what is read gets into memory: so a second copy costs space on the disk and little else. */
static bool may_copy(const hn_rewriter *r, hn_val v) {
    const readers *x = r->arg;
    return v < r->n_map && x[v].form > 0 && r->n_use[v] == x[v].contractions + x[v].lookups;
}

/* The second input: constant matrices, one dimension summed over, another one in the result alone, all others in
 * everything. */
static bool matrix_of(const hn_graph *g, const hn_node *node, const hn_layout_facts *layout, matrix *m) {
    const hn_attr *lhs = hn_attr_get(node, HN_A_LHS), *rhs = hn_attr_get(node, HN_A_RHS),
                  *out = hn_attr_get(node, HN_A_OUT);
    size_t n_sum = 0, n_free = 0;
    m->t = hn_const_of(g, node->in[1]);
    m->width = layout->panel;
    if (!m->t || m->t->rank < 2 || m->t->rank + 2u > HN_RANK_MAX) return false;
    m->word = hn_word_of(g, node, layout);
    if (!m->word) return false;
    if ((hn_tensor_n(m->t) < ELEMENTS_MIN && m->word != HN_WORD) || hn_const_of(g, node->in[0])) return false;
    for (uint32_t i = 0; i < rhs->n; i++) {
        bool left = hn_label_place(lhs, rhs->ints[i]) >= 0, kept = hn_label_place(out, rhs->ints[i]) >= 0;
        if (!left && !kept) return false;
        if (!kept) m->k = i, n_sum++;
        if (!left) m->n = i, n_free++;
    }
    if (n_sum != 1 || n_free != 1) return false;
    m->fill = m->t->dim[m->k] % m->word ? m->word - m->t->dim[m->k] % m->word : 0;
    return m->t->dim[m->n] >= m->width && (!m->fill || m->word == HN_PAIR);
}

int64_t hn_word_of(const hn_graph *g, const hn_node *n, const hn_layout_facts *layout) {
    if (hn_multiplies_bytes(g, n)) return HN_WORD;
    if (layout->pairs && hn_multiplies_halves(g, n)) return HN_PAIR;
    const hn_tensor *w = hn_const_of(g, n->in[1]);
    return w && w->dtype == HONE_F32;
}

const hn_tensor *hn_filled(hn_graph *g, const hn_tensor *t, size_t axis, int64_t by) {
    int64_t dim[HN_RANK_MAX], from[HN_RANK_MAX], to[HN_RANK_MAX];
    hn_tensor *out = HN_NEW(&g->arena, hn_tensor);
    memcpy(dim, t->dim, t->rank * sizeof *dim);
    dim[axis] += by;
    if (!out || !hn_tensor_new(&g->arena, t->dtype, t->rank, dim, out)) return NULL;
    hn_strides(t, from);
    hn_strides(out, to);
    hn_copy_box(hn_dtype_of(t->dtype)->size_b, t->rank, t->dim, out->data, to, t->data, from);
    return out;
}

hn_val hn_fill_halves(hn_rewriter *r, hn_val x, size_t axis, int64_t by) {
    const hn_node *cast = hn_def_op(r->g, x, HN_OP_CAST);
    hn_val from = cast ? cast->in[0] : x;
    from = hn_pad_axis(&r->b, from, (int64_t)axis, hn_lit(&r->b, 0), hn_lit(&r->b, by), 0);
    return cast ? hn_cast(&r->b, from, HONE_BF16) : from;
}
static int16_t form_of(const matrix *m) { return (int16_t)(m->n * HN_RANK_MAX + m->k + 1); }

/* Whole panels in one copy, the columns of the last one that is not whole in another; the rest of it stays 0. */
static bool make_panels(hn_graph *g, const matrix *m, hn_tensor *out) {
    int64_t columns = m->t->dim[m->n], depth = m->t->dim[m->k], from[HN_RANK_MAX], to[HN_RANK_MAX];
    int64_t shape[HN_RANK_MAX], box[HN_RANK_MAX], step[HN_RANK_MAX];
    size_t rank = 0, whole = (size_t)(columns / m->width), size_b = hn_dtype_of(m->t->dtype)->size_b;
    hn_strides(m->t, from);
    for (size_t d = 0; d < m->t->rank; d++) {
        if (d == m->n || d == m->k) continue;
        step[rank] = from[d];
        shape[rank++] = m->t->dim[d];
    }
    const size_t block = rank;
    shape[block] = (columns + m->width - 1) / m->width, shape[block + 1] = depth / m->word;
    shape[block + 2] = m->width, shape[block + 3] = m->word;
    step[block] = m->width * from[m->n], step[block + 1] = m->word * from[m->k];
    step[block + 2] = from[m->n], step[block + 3] = from[m->k];
    rank += m->word > 1 ? 4 : 3;
    if (!hn_tensor_new(&g->arena, m->t->dtype, rank, shape, out)) return false;
    hn_strides(out, to);
    memcpy(box, shape, rank * sizeof *box);
    box[block] = (int64_t)whole;
    hn_copy_box(size_b, rank, box, out->data, to, m->t->data, step);
    box[block] = 1, box[block + 2] = columns % m->width;
    char *tail = (char *)out->data + whole * (size_t)to[block] * size_b;
    const char *last = (const char *)m->t->data + whole * (size_t)step[block] * size_b;
    if (columns % m->width) hn_copy_box(size_b, rank, box, tail, to, last, step);
    return true;
}

/* The matrices again, out of their panels. */
static hn_val unpacked(hn_builder *b, const matrix *m, hn_val panels) {
    int64_t perm[HN_RANK_MAX], counted = 0, matrices = m->t->rank - 2;
    hn_dim shape[HN_RANK_MAX];
    size_t rank = 0;
    for (size_t d = 0; d < m->t->rank; d++) {
        int64_t size = m->t->dim[d];
        perm[rank++] = d == m->n ? matrices : d == m->k ? matrices + 1 : counted++;
        if (d == m->n) perm[rank++] = matrices + 2;
        if (d == m->k && m->word > 1) perm[rank++] = matrices + 3;
        shape[d] = hn_lit(b, d == m->n ? (size + m->width - 1) / m->width * m->width : size);
    }
    hn_val x = hn_transpose(b, panels, perm);
    x = hn_reshape(b, x, m->t->rank, shape);
    if (m->t->dim[m->n] % m->width == 0) return x;
    return hn_slice_axis(b, x, m->n, hn_lit(b, 0), hn_lit(b, m->t->dim[m->n]), 1);
}

static void count_reader(const hn_graph *g, hn_block b, const hn_node *node, const hn_layout_facts *layout,
                         readers *all) {
    matrix m;
    if (node->op == HN_OP_GATHER) all[node->in[0]].lookups++;
    if (node->op != HN_OP_CONTRACT || !matrix_of(g, node, layout, &m)) return;
    readers *x = &all[node->in[1]];
    bool first = !x->contractions++;
    x->form = (int16_t)(first || (x->form == form_of(&m) && x->block == b) ? form_of(&m) : -1);
    x->block = b;
}

static hn_val pack_matrix(hn_rewriter *r, const hn_node *node) {
    matrix m;
    hn_tensor panels;
    if (!may_copy(r, node->in[1]) || !matrix_of(r->g, node, r->layout, &m)) return HN_KEEP;
    const hn_node n = *node;
    hn_val from = n.in[0];
    if (m.fill) {
        const hn_attr *lhs = hn_attr_get(&n, HN_A_LHS), *rhs = hn_attr_get(&n, HN_A_RHS);
        m.t = hn_filled(r->g, m.t, m.k, m.fill);
        if (!m.t) return HN_KEEP;
        from = hn_fill_halves(r, from, (size_t)hn_label_place(lhs, rhs->ints[m.k]), m.fill);
    }
    readers *x = (readers *)r->arg + n.in[1];
    if (!x->panels && !make_panels(r->g, &m, &panels)) return HN_KEEP;
    if (!x->panels) x->panels = hn_const(&r->b, &panels);
    const hn_val in[] = {from, unpacked(&r->b, &m, x->panels)}; /* each its own movements: they go into its kernel */
    return hn_emit(r->g, r->b.b, HN_OP_CONTRACT, 2, in, n.n_attr, n.attr, 1);
}

static bool at_least(const hn_graph *g, hn_dim d, int64_t least) {
    int64_t n;
    return !hn_dim_is_int(g->dims, d, &n) || n >= least;
}

/* The side of a contraction of two values that the last dimension of the result comes from, if it is summed along its
 * own last dimension, and rows enough read it to be worth a copy; -1: none. */
static int summed_along(const hn_graph *g, const hn_node *n, int64_t width) {
    const hn_attr *a[] = {hn_attr_get(n, HN_A_LHS), hn_attr_get(n, HN_A_RHS)}, *out = hn_attr_get(n, HN_A_OUT);
    if (!out->n || hn_const_of(g, n->in[0]) || hn_const_of(g, n->in[1])) return -1;
    int64_t column = out->ints[out->n - 1];
    int side = hn_label_place(a[1], column) >= 0;
    const hn_attr *mine = a[side], *other = a[!side];
    const hn_type *x = hn_type_of(g, n->in[side]), *y = hn_type_of(g, n->in[!side]);
    int64_t at = hn_label_place(mine, column);
    if (x->dtype != HONE_F32 || hn_label_place(other, column) >= 0 || hn_label_place(out, mine->ints[mine->n - 1]) >= 0)
        return -1;
    if (!at_least(g, x->dim[at], width) || !at_least(g, x->dim[mine->n - 1], width)) return -1;
    for (uint32_t i = 0; i < other->n; i++) {
        bool row = hn_label_place(out, other->ints[i]) >= 0 && hn_label_place(mine, other->ints[i]) < 0;
        if (row && at_least(g, y->dim[i], ROWS_MIN)) return side;
    }
    return -1;
}

static hn_val turn_columns(hn_rewriter *r, const hn_node *node) {
    const readers *all = r->arg;
    int side = summed_along(r->g, node, r->layout->panel);
    if (side < 0 || node->out[0] >= r->n_map || all[node->out[0]].scores) return HN_KEEP;
    const hn_node n = *node;
    const hn_attr *labels = hn_attr_get(&n, side ? HN_A_RHS : HN_A_LHS), *out = hn_attr_get(&n, HN_A_OUT);
    int64_t perm[HN_RANK_MAX], turned[HN_RANK_MAX], at = hn_label_place(labels, out->ints[out->n - 1]);
    hn_attr attr[8];
    if (n.n_attr > 8) return HN_KEEP;
    for (uint32_t i = 0, k = 0; i < labels->n; i++)
        if ((int64_t)i != at) perm[k++] = i;
    perm[labels->n - 1] = at;
    for (uint32_t i = 0; i < labels->n; i++) turned[i] = labels->ints[perm[i]];
    for (size_t i = 0; i < n.n_attr; i++) {
        attr[i] = n.attr[i];
        if (attr[i].id == (side ? HN_A_RHS : HN_A_LHS)) attr[i].ints = turned;
    }
    hn_val in[] = {n.in[0], n.in[1]};
    in[side] = hn_transpose(&r->b, in[side], perm);
    return hn_emit(r->g, r->b.b, HN_OP_CONTRACT, 2, in, n.n_attr, attr, 1);
}

/* Marks values that are scores, from products with a softmax backwards. */
static void find_scores(const hn_graph *g, hn_block b, readers *all) {
    for (uint32_t k = g->block[b].n_node; k-- > 0;) {
        const hn_node *n = &g->node[g->block[b].node[k]];
        hn_op_class cls = hn_op_of(n->op)->cls;
        bool pointwise = cls == HN_UNARY || cls == HN_BINARY || cls == HN_TERNARY;
        if (n->op == HN_OP_CONTRACT && hn_softmax_input(g, n->in[0])) all[n->in[0]].scores = true;
        if (pointwise && all[n->out[0]].scores)
            for (uint16_t i = 0; i < n->n_in; i++) all[n->in[i]].scores = true;
    }
}

static hn_val pack_one(hn_rewriter *r, const hn_node *node) {
    if (node->op == HN_OP_CONV) return hn_pack_conv(r, node);
    if (node->op != HN_OP_CONTRACT) return HN_KEEP;
    hn_val packed = pack_matrix(r, node);
    return packed == HN_KEEP ? turn_columns(r, node) : packed;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    hn_arena a = {0};
    if (!ctx->layout->panel) return HONE_OK;
    readers *all = HN_NEW_N(&a, readers, g->n_value);
    if (!all) return hn_fail(err, HONE_E_NOMEM, "out of memory in pass 'pack'");
    for (hn_block b = 0; b < g->n_block; b++) {
        for (uint32_t k = 0; k < g->block[b].n_node; k++)
            count_reader(g, b, &g->node[g->block[b].node[k]], ctx->layout, all);
        find_scores(g, b, all);
    }
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .layout = ctx->layout, .arg = all};
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
