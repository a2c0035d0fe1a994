/* pass/fuse_rules.c — which groups may become one kernel.
 *
 * A map kernel computes each result element from its own indices: producers are inlined, so what a spread (broadcast,
 * gather) would compute several times must be cheap, and what others use as well must have the results' shape. Reduce
 * and row kernels live on two shapes: the one that is reduced and the narrow one of the reductions. Contractions and
 * windows take pointwise consumers of their own shape (epilogues) and plain movement of their inputs.
 */
#include "ir/cost.h"
#include "pass/fuse.h"
#include "pass/passes.h"
#include "pass/rewrite.h"
#include "pass/sink.h"

#include <string.h>

enum { NODES_MAX = 48, CHEAP_MAX = 4, BESIDE_MAX = 3, FEW_CHANNELS = 4, SQUARE = 16, POINTWISE_MAX = 10 };

static bool is_pointwise(hn_op op) {
    hn_op_class c = hn_op_of(op)->cls;
    return c == HN_UNARY || c == HN_BINARY || c == HN_TERNARY;
}
static bool is_gather(hn_op op) { return hn_op_of(op)->cls == HN_INDEX && hn_op_of(op)->kind == HN_KIND_MAP; }

static bool trailing(const hn_attr *axes, size_t rank) {
    for (uint32_t k = 0; axes && k < axes->n; k++)
        if ((size_t)axes->ints[k] != rank - axes->n + k) return false;
    return axes && axes->n;
}

static void narrow_type(hn_fuse *f, hn_fgroup *x, const hn_attr *axes) {
    x->narrow = x->main;
    for (uint32_t k = 0; axes && k < axes->n; k++) x->narrow.dim[axes->ints[k]] = hn_dim_int(f->g->dims, 1);
}

void hn_fuse_found(hn_fuse *f, hn_fgroup *x, const hn_node *n) {
    x->kind = hn_op_of(n->op)->kind;
    x->fixed = x->kind == HN_KIND_NONE || x->kind == HN_KIND_OPAQUE;
    if (!n->n_out) return;
    x->main = *hn_type_of(f->g, x->kind == HN_KIND_REDUCE ? n->in[0] : n->out[0]);
    if (x->kind == HN_KIND_REDUCE) narrow_type(f, x, hn_attr_get(n, HN_A_AXES));
}

/* -- what a group computes */
static bool cheap(const hn_fuse *f, const hn_fgroup *x) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < x->n_node; k++) {
        hn_op op = f->g->node[x->node[k]].op;
        if (is_pointwise(op) && (!hn_op_is_easy(op) || ++n > CHEAP_MAX)) return false;
        if (is_gather(op)) return false;
    }
    return true;
}
/* Nothing but movement that a strided walk can do. */
static bool plain_movement(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        hn_op op = f->g->node[x->node[k]].op;
        if (op != HN_OP_TRANSPOSE && op != HN_OP_RESHAPE && op != HN_OP_SLICE) return false;
    }
    return true;
}

/* A contraction or convolution with nothing behind it: alone, or with movement of its operands. */
static bool bare_product(const hn_fuse *f, const hn_fgroup *x) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < x->n_node; k++) {
        hn_op op = f->g->node[x->node[k]].op;
        if (op == HN_OP_CONTRACT || op == HN_OP_CONV)
            n++;
        else if (op != HN_OP_TRANSPOSE && op != HN_OP_RESHAPE && op != HN_OP_SLICE)
            return false;
    }
    hn_op last = f->g->node[x->node[x->n_node - 1]].op;
    return n == 1 && (last == HN_OP_CONTRACT || last == HN_OP_CONV);
}

/* Does it merge dimensions that are not neighbours in memory into the last one (space to depth)? Then no single stride
 * walks it. Constants are stored in the order in which they are read. */
static bool merges_last(const hn_fuse *f, const hn_fgroup *p) {
    for (uint32_t k = 0; k < p->n_node; k++) {
        const hn_node *n = &f->g->node[p->node[k]];
        const hn_node *from = n->op == HN_OP_RESHAPE ? hn_def_op(f->g, n->in[0], HN_OP_TRANSPOSE) : NULL;
        if (!from || hn_const_of(f->g, from->in[0]) || hn_fuse_group_of(f, n->in[0]) != p) continue;
        const hn_type *x = hn_type_of(f->g, n->in[0]), *y = hn_type_of(f->g, n->out[0]);
        if (y->rank && y->rank < x->rank && x->dim[x->rank - 1] != y->dim[y->rank - 1]) return true;
    }
    return false;
}

/* Does contraction n sum over the last dimension of its operand v? */
static bool sums_over_last(const hn_node *n, hn_val v) {
    const hn_attr *labels = hn_attr_get(n, n->in[0] == v ? HN_A_LHS : HN_A_RHS), *out = hn_attr_get(n, HN_A_OUT);
    return labels->n && hn_label_place(out, labels->ints[labels->n - 1]) < 0;
}

/* Are the dimensions of one run of x, which a transpose by perm made neighbours, apart in the transpose's input? */
static bool apart(const hn_fuse *f, const hn_dim_run *run, const hn_type *x, const int64_t *perm) {
    int64_t last = -1, size;
    for (size_t i = run->in; i < run->in + run->n_in; i++) {
        if (hn_dim_is_int(f->g->dims, x->dim[i], &size) && size == 1) continue;
        if (last >= 0 && perm[i] != last + 1) return true;
        last = perm[i];
    }
    return false;
}

/* Does p merge dimensions that lie apart in memory into one of n's operand v that is no batch dimension (windows of an
 * image as rows)? No register tile walks that; a copy costs little beside the product. */
static bool merges_rows(const hn_fuse *f, const hn_fgroup *p, const hn_node *n, hn_val v) {
    const hn_node *to = hn_def_op(f->g, v, HN_OP_RESHAPE);
    const hn_node *turn = to ? hn_def_op(f->g, to->in[0], HN_OP_TRANSPOSE) : NULL;
    if (!turn || hn_fuse_group_of(f, to->in[0]) != p || hn_const_of(f->g, turn->in[0])) return false;
    const hn_type *x = hn_type_of(f->g, to->in[0]), *y = hn_type_of(f->g, v);
    const hn_attr *mine = hn_attr_get(n, n->in[0] == v ? HN_A_LHS : HN_A_RHS),
                  *other = hn_attr_get(n, n->in[0] == v ? HN_A_RHS : HN_A_LHS), *out = hn_attr_get(n, HN_A_OUT);
    hn_dim_runs s;
    if (!hn_find_runs(f->g, x, y, &s)) return false;
    for (size_t k = 0; k < s.n; k++)
        for (size_t d = s.at[k].out; d < s.at[k].out + s.at[k].n_out; d++) {
            bool counts = hn_label_place(other, mine->ints[d]) >= 0 && hn_label_place(out, mine->ints[d]) >= 0;
            if (!counts && apart(f, &s.at[k], x, hn_attr_get(turn, HN_A_PERM)->ints)) return true;
        }
    return false;
}

/* Does it put another dimension last? */
static bool turns(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        const hn_attr *perm = n->op == HN_OP_TRANSPOSE ? hn_attr_get(n, HN_A_PERM) : NULL;
        if (perm && perm->n && perm->ints[perm->n - 1] != (int64_t)perm->n - 1) return true;
    }
    return false;
}

/* Does pointwise code lead from v to the weights of an attention? */
static bool are_scores(const hn_fuse *f, hn_val v, int depth) {
    for (uint32_t i = 0; depth && i < f->n_user[v]; i++) {
        const hn_node *n = &f->g->node[f->g->block[f->b].node[f->user[v][i]]];
        if (n->op == HN_OP_CONTRACT && n->in[0] == v && hn_softmax_input(f->g, v)) return true;
        if (is_pointwise(n->op) && are_scores(f, n->out[0], depth - 1)) return true;
    }
    return false;
}

/* Does p turn the operand v of n so that columns of the result are neighbours (pass pack, or the model)? A register
 * tile wants that in memory; attention has a schedule of its own. */
static bool turns_columns(const hn_fuse *f, const hn_fgroup *p, const hn_node *n, hn_val v) {
    const hn_attr *mine = hn_attr_get(n, n->in[0] == v ? HN_A_LHS : HN_A_RHS), *out = hn_attr_get(n, HN_A_OUT);
    const hn_node *to = hn_def_op(f->g, v, HN_OP_RESHAPE);
    const hn_node *turn = hn_def_op(f->g, to ? to->in[0] : v, HN_OP_TRANSPOSE);
    if (!turn || hn_fuse_group_of(f, turn->out[0]) != p || hn_const_of(f->g, turn->in[0])) return false;
    if (!mine->n || !out->n || mine->ints[mine->n - 1] != out->ints[out->n - 1]) return false;
    const hn_type *from = hn_type_of(f->g, turn->in[0]), *x = hn_type_of(f->g, v);
    int64_t a, b;
    if (hn_dim_is_int(f->g->dims, from->dim[from->rank - 1], &a) && a < SQUARE) return false;
    if (hn_dim_is_int(f->g->dims, x->dim[x->rank - 1], &b) && b < SQUARE) return false;
    return turns(f, p) && x->dtype == HONE_F32 && !are_scores(f, n->out[0], POINTWISE_MAX);
}

/* Contractions take any movement of their operands in that strides can do, convolutions that of their weights, and of
 * images of few channels (a network's input), unless these are bytes: words of them are read as they lie. */
static bool takes_movement(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c, hn_val v) {
    const hn_node *n = &f->g->node[c->node[c->n_node - 1]];
    int64_t channels;
    if (n->op != HN_OP_CONV)
        return !(merges_last(f, p) && sums_over_last(n, v)) && !merges_rows(f, p, n, v) && !turns_columns(f, p, n, v);
    if (n->in[0] != v) return true;
    const hn_type *x = hn_type_of(f->g, v);
    hn_dim d = x->dim[hn_channel_dim(hn_attr_i(n, HN_A_CHANNELS_LAST, 0) != 0, x->rank)];
    return x->dtype != HONE_U8 && hn_dim_is_int(f->g->dims, d, &channels) && channels <= FEW_CHANNELS;
}

/* Every value of p that others use has this shape. */
static bool escapes_have(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c, const hn_type *shape) {
    for (uint32_t i = 0; i < p->n_node; i++) {
        const hn_node *n = &f->g->node[p->node[i]];
        for (uint16_t k = 0; k < n->n_out; k++)
            if (hn_fuse_escapes(f, p, c, n->out[k]) && !hn_fuse_same_shape(hn_type_of(f->g, n->out[k]), shape))
                return false;
    }
    return true;
}

/* How many nodes of c use values of p, and whether one does more than pointwise work with them. */
typedef struct edges {
    uint32_t n;
    bool moved, spread;
} edges;
static edges edges_between(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c) {
    edges e = {0, false, false};
    for (uint32_t i = 0; i < c->n_node; i++) {
        const hn_node *n = &f->g->node[c->node[i]];
        for (uint16_t k = 0; k < n->n_in; k++) {
            bool spread = false;
            hn_val v = n->in[k] ? hn_fuse_behind(f, n->in[k], &spread) : 0;
            if (!v || hn_fuse_group_of(f, v) != p) continue;
            e.n++;
            e.spread |= spread || is_gather(n->op);
            e.moved |= !is_pointwise(n->op) && hn_op_of(n->op)->cls != HN_REDUCE;
        }
    }
    return e;
}

/* Does something in c move or reduce what depends on p, other than over whole rows? Then p's indices are not c's. */
static bool moves_inside(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c) {
    bool *from_p = HN_NEW_N(f->a, bool, c->n_node + 1);
    for (uint32_t i = 0; from_p && i < c->n_node; i++) {
        const hn_node *n = &f->g->node[c->node[i]];
        for (uint16_t k = 0; k < n->n_in; k++) {
            bool spread = false;
            hn_val v = n->in[k] ? hn_fuse_behind(f, n->in[k], &spread) : 0;
            const hn_fgroup *x = v ? hn_fuse_group_of(f, v) : NULL;
            bool depends = x == p;
            for (uint32_t j = 0; x == c && j < i; j++) depends |= from_p[j] && f->g->value[v].node - 1 == c->node[j];
            from_p[i] |= depends;
        }
        if (from_p[i] && !is_pointwise(n->op) && hn_op_of(n->op)->cls != HN_REDUCE) return true;
    }
    return false;
}

static bool same_count(const hn_fuse *f, const hn_type *a, const hn_type *b) {
    return hn_type_count(f->g, a) == hn_type_count(f->g, b);
}

/* Does the group look something up, or pad? Then it walks memory along its last dimension alone. */
static bool looks_up(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++)
        if (is_gather(f->g->node[x->node[k]].op) || f->g->node[x->node[k]].op == HN_OP_PAD) return true;
    return false;
}
/* Does it put pieces together, or padding around something? */
static bool joins(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++)
        if (f->g->node[x->node[k]].op == HN_OP_CONCAT || f->g->node[x->node[k]].op == HN_OP_PAD) return true;
    return false;
}
/* Does it cut a value into other rows, of sizes that are not known (a shift by a row's number: rows of one more are
 * read as rows of one less)? */
static bool cuts_across(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        hn_dim_runs s;
        if (n->op == HN_OP_RESHAPE && !hn_find_runs(f->g, hn_type_of(f->g, n->in[0]), hn_type_of(f->g, n->out[0]), &s))
            return true;
    }
    return false;
}
/* Does it transpose squares: is the last dimension long both before and after? */
static bool transposes_squares(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        if (n->op != HN_OP_TRANSPOSE || hn_type_of(f->g, n->in[0])->rank < 2) continue;
        const hn_type *from = hn_type_of(f->g, n->in[0]), *to = hn_type_of(f->g, n->out[0]);
        const int64_t *perm = hn_attr_get(n, HN_A_PERM)->ints;
        int64_t a, b;
        bool known = hn_dim_is_int(f->g->dims, from->dim[from->rank - 1], &a) &&
                     hn_dim_is_int(f->g->dims, to->dim[to->rank - 1], &b);
        if (perm[to->rank - 1] != (int64_t)to->rank - 1 && known && a >= SQUARE && b >= SQUARE) return true;
    }
    return false;
}

/* -- pairs */
static bool map_into_map(hn_fuse *f, hn_fgroup *p, hn_fgroup *c) {
    if (looks_up(f, p) && turns(f, c)) return false;
    if ((joins(f, p) && transposes_squares(f, c)) || (joins(f, c) && transposes_squares(f, p))) return false;
    edges e = edges_between(f, p, c);
    bool absorbed = !hn_fuse_any_escape(f, p, c), once = same_count(f, &p->main, &c->main);
    if (!absorbed && (e.moved || e.spread || !hn_fuse_same_shape(&p->main, &c->main))) return false;
    if (!escapes_have(f, p, c, &c->main)) return false;
    return cheap(f, p) || (once && !e.spread && (e.n == 1 || !e.moved));
}

/* The reduced side of a group: shape of the narrow values, with or without the dimensions of one. */
static bool is_narrow(const hn_fgroup *x, const hn_type *t) {
    if (hn_fuse_same_shape(t, &x->narrow)) return true;
    size_t k = 0;
    for (size_t d = 0; d < x->narrow.rank; d++) {
        if (x->narrow.dim[d] != x->main.dim[d]) continue; /* reduced */
        if (k == t->rank || t->dim[k++] != x->narrow.dim[d]) return false;
    }
    return k == t->rank;
}

static bool rows_trailing(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        if (hn_op_of(n->op)->cls != HN_REDUCE) continue;
        if (!trailing(hn_attr_get(n, HN_A_AXES), hn_type_of(f->g, n->in[0])->rank)) return false;
    }
    return true;
}

static bool same_rows(const hn_fgroup *a, const hn_fgroup *b) {
    return hn_fuse_same_shape(&a->main, &b->main) && hn_fuse_same_shape(&a->narrow, &b->narrow);
}

/* Does it put pieces one behind the other along the last dimension? */
static bool joins_last(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        if (n->op == HN_OP_CONCAT && hn_attr_i(n, HN_A_AXIS, 0) + 1 == hn_type_of(f->g, n->out[0])->rank) return true;
    }
    return false;
}

/* Movement before a reduction is fine as long as it is computed once per element. A row that is concatenated of pieces
 * is not: every element would need a test for the piece that it comes from. */
static bool map_into_rows(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_kernel_kind *kind) {
    edges e = edges_between(f, p, c);
    bool absorbed = !hn_fuse_any_escape(f, p, c);
    bool once = same_count(f, &p->main, &c->main) || is_narrow(c, &p->main);
    if (turns(f, p) && (!absorbed || c->kind == HN_KIND_ROW)) return false; /* rows are read more than once */
    if (joins_last(f, p) && rows_trailing(f, c)) return false;
    if ((e.spread || !once) && !(absorbed && cheap(f, p))) return false;
    if (e.moved && !absorbed) return false;
    if (absorbed) return true;
    if (hn_fuse_same_shape(&p->main, &c->main) && rows_trailing(f, c) && escapes_have(f, p, c, &c->main)) {
        *kind = HN_KIND_ROW;
        return true;
    }
    return is_narrow(c, &p->main) && escapes_have(f, p, c, &p->main);
}

static bool rows_into_map(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_val v, hn_kernel_kind *kind) {
    const hn_type *t = hn_type_of(f->g, v);
    edges e = edges_between(f, p, c);
    if (moves_inside(f, p, c)) return false;
    *kind = p->kind;
    if (is_narrow(p, t) && !e.spread) return hn_fuse_same_shape(&c->main, t);
    if (!hn_fuse_same_shape(&c->main, &p->main) || !rows_trailing(f, p)) return false;
    *kind = HN_KIND_ROW;
    return true;
}

static bool rows_into_rows(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_val v) {
    const hn_type *t = hn_type_of(f->g, v);
    if (!same_rows(p, c) || !rows_trailing(f, p) || !rows_trailing(f, c) || moves_inside(f, p, c)) return false;
    return hn_fuse_same_shape(t, &p->main) || is_narrow(p, t);
}

static bool epilogue(hn_fuse *f, hn_fgroup *p, hn_fgroup *c) {
    edges e = edges_between(f, p, c);
    if (moves_inside(f, p, c) || e.spread || !hn_fuse_same_shape(&p->main, &c->main)) return false;
    return escapes_have(f, p, c, &c->main);
}

static bool is_rows(hn_kernel_kind k) { return k == HN_KIND_REDUCE || k == HN_KIND_ROW; }

/* The kind of the merged group; HN_KIND_NONE: no. */
static hn_kernel_kind pair_kind(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_val v) {
    hn_kernel_kind kind = c->kind;
    if (p->kind == HN_KIND_MAP && c->kind == HN_KIND_MAP) return map_into_map(f, p, c) ? HN_KIND_MAP : HN_KIND_NONE;
    if (p->kind == HN_KIND_MAP && is_rows(c->kind)) return map_into_rows(f, p, c, &kind) ? kind : HN_KIND_NONE;
    if (is_rows(p->kind) && c->kind == HN_KIND_MAP) return rows_into_map(f, p, c, v, &kind) ? kind : HN_KIND_NONE;
    if (is_rows(p->kind) && is_rows(c->kind)) return rows_into_rows(f, p, c, v) ? HN_KIND_ROW : HN_KIND_NONE;
    if ((p->kind == HN_KIND_CONTRACT || p->kind == HN_KIND_WINDOW) && c->kind == HN_KIND_MAP)
        return epilogue(f, p, c) ? p->kind : HN_KIND_NONE;
    if (p->kind == HN_KIND_MAP && (c->kind == HN_KIND_CONTRACT || c->kind == HN_KIND_WINDOW) && bare_product(f, c))
        return plain_movement(f, p) && takes_movement(f, p, c, v) && !hn_fuse_any_escape(f, p, c) ? c->kind
                                                                                                  : HN_KIND_NONE;
    if (p->kind == HN_KIND_MAP &&
        (c->kind == HN_KIND_CONTRACT || c->kind == HN_KIND_WINDOW)) { /* an operand of its epilogue */
        edges e = edges_between(f, p, c);
        return !hn_fuse_any_escape(f, p, c) && !e.moved && !e.spread && cheap(f, p) ? c->kind : HN_KIND_NONE;
    }
    return HN_KIND_NONE;
}

/* Reshapes alone: free outside a kernel, a copy as its result. */
static bool is_view(const hn_fuse *f, const hn_fgroup *x) {
    for (uint32_t k = 0; k < x->n_node; k++)
        if (f->g->node[x->node[k]].op != HN_OP_RESHAPE) return false;
    return true;
}

/* Does c widen bytes of p that others use, too? They are stored anyway, and read from there: a quarter of the memory.
 */
static bool widens_stored_bytes(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c, hn_val v) {
    if (hn_dtype_of(hn_type_of(f->g, v)->dtype)->bits != 8 || !hn_fuse_escapes(f, p, c, v)) return false;
    for (uint32_t k = 0; k < c->n_node; k++) {
        const hn_node *n = &f->g->node[c->node[k]];
        if (n->op == HN_OP_CAST && n->in[0] == v && hn_dtype_of(hn_type_of(f->g, n->out[0])->dtype)->bits > 8)
            return true;
    }
    return false;
}

bool hn_fuse_try(hn_fuse *f, hn_fgroup *p, hn_fgroup *c, hn_val v) {
    if (p == c || p->fixed || c->fixed || p->stretch != c->stretch || p->n_node + c->n_node > NODES_MAX) return false;
    if (is_view(f, p) && hn_fuse_any_escape(f, p, c)) return false;
    if (joins(f, p) && cuts_across(f, c))
        return false; /* from memory that is a walk, else divisions for each element */
    if (c->kind == HN_KIND_MAP && widens_stored_bytes(f, p, c, v)) return false;
    hn_kernel_kind kind = pair_kind(f, p, c, v);
    if (kind == HN_KIND_NONE || hn_fuse_cycle(f, p, c)) return false;
    hn_type main = c->main, narrow = c->narrow;
    if (is_rows(p->kind)) { /* the merged group has the shapes of the rows */
        main = p->main;
        narrow = p->narrow;
    }
    hn_fuse_join(f, p, c, kind);
    c->main = main;
    c->narrow = narrow;
    return true;
}

/* The one contract of a group; NULL: none or several. */
static const hn_node *the_contract(const hn_fuse *f, const hn_fgroup *x) {
    const hn_node *found = NULL;
    for (uint32_t k = 0; k < x->n_node; k++) {
        const hn_node *n = &f->g->node[x->node[k]];
        if (n->op == HN_OP_CONTRACT && found) return NULL;
        if (n->op == HN_OP_CONTRACT) found = n;
    }
    return found;
}

/* -- attention: contract (with its epilogue), softmax, contract
 * The quotients go into the product as they are: its schedule divides the product instead. Where something lies between
 * (weights rounded to half precision, a mask), three kernels with schedules of their own are better than one without.
 */
static hn_fgroup *operand_rows(hn_fuse *f, hn_fgroup *c, hn_val *scores) {
    const hn_node *n = the_contract(f, c);
    if (!n) return NULL;
    const hn_attr *lhs = hn_attr_get(n, HN_A_LHS), *out = hn_attr_get(n, HN_A_OUT);
    hn_val p = n->in[0];
    hn_fgroup *rows = f->shadow[p] || !hn_softmax_input(f->g, p) ? NULL : hn_fuse_group_of(f, p);
    if (!rows || rows->kind != HN_KIND_ROW || !lhs->n || hn_fuse_any_escape(f, rows, c)) return NULL;
    if (hn_label_place(out, lhs->ints[lhs->n - 1]) >= 0) return NULL; /* the last label is what is summed over */
    int64_t one;
    uint8_t rank = rows->main.rank;
    if (!hn_fuse_same_shape(&rows->main, hn_type_of(f->g, p))) return NULL;
    for (uint8_t d = 0; d + 1 < rank; d++)
        if (rows->narrow.dim[d] != rows->main.dim[d]) return NULL;
    if (!hn_dim_is_int(f->g->dims, rows->narrow.dim[rank - 1], &one) || one != 1) return NULL;
    *scores = p;
    return rows;
}

static hn_fgroup *scores_of(hn_fuse *f, hn_fgroup *rows) {
    for (uint32_t k = 0; k < rows->n_node; k++) {
        const hn_node *n = &f->g->node[rows->node[k]];
        for (uint16_t i = 0; i < n->n_in; i++) {
            hn_fgroup *x = n->in[i] && !f->shadow[n->in[i]] ? hn_fuse_group_of(f, n->in[i]) : NULL;
            if (x && x->kind == HN_KIND_CONTRACT && hn_fuse_same_shape(&x->main, &rows->main) &&
                !hn_fuse_any_escape(f, x, rows))
                return x;
        }
    }
    return NULL;
}

void hn_fuse_attention(hn_fuse *f) {
    for (uint32_t k = 0; k < f->n; k++) {
        hn_fgroup *c = &f->group[k];
        hn_val p;
        if (!c->n_node || c->kind != HN_KIND_CONTRACT) continue;
        hn_fgroup *rows = operand_rows(f, c, &p), *scores = rows ? scores_of(f, rows) : NULL;
        if (!scores || scores == c || scores->stretch != c->stretch || rows->stretch != c->stretch) continue;
        if (hn_fuse_cycle(f, scores, rows)) continue;
        if (hn_fuse_cycle(f, rows, c)) continue;
        hn_type main = c->main;
        hn_fuse_join(f, scores, rows, HN_KIND_ROW);
        if (hn_fuse_cycle(f, rows, c)) {
            rows->fixed = true; /* scores and softmax stay one kernel */
            continue;
        }
        hn_fuse_join(f, rows, c, HN_KIND_ATTENTION);
        c->main = main;
        c->fixed = true;
    }
}

/* -- contracts side by side */
static bool same_ints(const hn_node *a, const hn_node *b, hn_attr_id id) {
    const hn_attr *x = hn_attr_get(a, id), *y = hn_attr_get(b, id);
    return x && y && x->n == y->n && !memcmp(x->ints, y->ints, x->n * sizeof *x->ints);
}
static bool alike(const hn_fuse *f, const hn_node *a, const hn_node *b) {
    return a->in[0] == b->in[0] && same_ints(a, b, HN_A_LHS) && same_ints(a, b, HN_A_RHS) &&
           same_ints(a, b, HN_A_OUT) && hn_type_same(f->g, hn_type_of(f->g, a->in[1]), hn_type_of(f->g, b->in[1])) &&
           hn_type_same(f->g, hn_type_of(f->g, a->out[0]), hn_type_of(f->g, b->out[0]));
}

/* Does p compute what c uses? */
static bool feeds(const hn_fuse *f, const hn_fgroup *p, const hn_fgroup *c) { return edges_between(f, p, c).n > 0; }

uint64_t hn_fuse_side_by_side(hn_fuse *f) {
    uint64_t n = 0;
    for (uint32_t k = 0; k < f->n; k++) {
        hn_fgroup *a = &f->group[k];
        const hn_node *x = a->n_node && a->kind == HN_KIND_CONTRACT && !a->fixed ? the_contract(f, a) : NULL;
        if (!x) continue;
        hn_val v = x->in[0];
        uint32_t joined = 1;
        for (uint32_t u = 0; u < f->n_user[v] && joined < BESIDE_MAX; u++) {
            hn_fgroup *b = &f->group[f->in[f->user[v][u]]];
            const hn_node *y =
                b != a && b->n_node && b->kind == HN_KIND_CONTRACT && !b->fixed ? the_contract(f, b) : NULL;
            if (!y || !alike(f, x, y) || a->stretch != b->stretch || !hn_fuse_same_shape(&a->main, &b->main)) continue;
            if (hn_fuse_cycle(f, a, b) || hn_fuse_cycle(f, b, a)) continue;
            if (feeds(f, a, b) || feeds(f, b, a)) continue; /* both results of a tile at once: too many registers */
            hn_type main = a->main;
            hn_fuse_join(f, b, a, HN_KIND_CONTRACT);
            a->main = main;
            joined++;
            n++;
        }
        if (joined > 1) a->fixed = true;
    }
    return n;
}
