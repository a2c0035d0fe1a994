/* pass/transpose.c — transposes sink towards the results until they meet their inverse or something that takes any
 * order of dimensions: a contraction, whose labels are permuted instead. All rules are exact.
 *
 * A transpose sinks through an operation only where all its inputs are transposed alike, or cost nothing to turn, and
 * only if nobody else uses it, so that their number never grows. Contractions also take broadcasts of batch dimensions
 * (grouped heads) and get their labels numbered in the order of appearance, so that equal ones have equal text.
 */
#include "pass/passes.h"
#include "pass/sink.h"

#include <string.h>

enum { CONCAT_MAX = 64, LABELS = 64 };

static const int64_t *perm_of(const hn_node *n) { return hn_attr_get(n, HN_A_PERM)->ints; }
static size_t rank_of(const hn_rewriter *r, hn_val v) { return hn_type_of(r->g, v)->rank; }
static hn_attr ints(hn_attr_id id, size_t n, const int64_t *x) {
    return (hn_attr){.id = id, .kind = HN_K_INTS, .n = (uint32_t)n, .ints = x};
}
static hn_attr dims(hn_attr_id id, size_t n, const hn_dim *x) {
    return (hn_attr){.id = id, .kind = HN_K_DIMS, .n = (uint32_t)n, .dims = x};
}

const hn_node *hn_sinking_def(const hn_rewriter *r, hn_val v) {
    const hn_sinking *s = r->arg;
    const hn_node *n = hn_def_op(r->g, v, HN_OP_TRANSPOSE);
    return n && (s ? s->may(r, v) : hn_used_once(r, v)) ? n : NULL;
}

hn_val hn_transposed(hn_rewriter *r, hn_val v, const int64_t *perm) {
    const hn_node *t = hn_def_op(r->g, v, HN_OP_TRANSPOSE);
    int64_t both[HN_RANK_MAX];
    if (!t) return hn_transpose(&r->b, v, perm);
    for (size_t i = 0; i < rank_of(r, v); i++) both[i] = perm_of(t)[perm[i]];
    return hn_transpose(&r->b, t->in[0], both);
}

/* --- turning a value back ------------------------------------------------------------------------------------------
 */

static bool is_transpose_by(const hn_rewriter *r, hn_val v, const int64_t *perm) {
    const hn_node *n = hn_def_op(r->g, v, HN_OP_TRANSPOSE);
    return n && !memcmp(perm_of(n), perm, rank_of(r, v) * sizeof *perm);
}

/* A broadcast of fewer dimensions can be made in the other order, if they still ascend; dimensions of one do not count.
 * The dimensions that do, if there are others, and their number. */
typedef struct turned_broadcast {
    int64_t map[HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX];
    size_t n;
} turned_broadcast;
static bool turned_map(const hn_rewriter *r, const hn_node *n, const int64_t *perm, turned_broadcast *to) {
    const hn_attr *a = hn_attr_get(n, HN_A_MAP);
    const hn_type *x = hn_type_of(r->g, n->in[0]);
    bool ascends = true;
    for (int ones = 1; ones >= 0; ones--) {
        to->n = 0;
        ascends = true;
        for (size_t i = 0; i < x->rank; i++) {
            int64_t size;
            if (!ones && hn_dim_is_int(r->g->dims, x->dim[i], &size) && size == 1) continue;
            to->shape[to->n] = x->dim[i];
            to->map[to->n] = perm[a->ints[i]];
            ascends &= !to->n || to->map[to->n] > to->map[to->n - 1];
            to->n++;
        }
        if (ascends) break;
    }
    return ascends;
}

/* Is there a value u with transpose(u, perm) = v that costs no data movement? */
static bool can_turn(const hn_rewriter *r, hn_val v, const int64_t *perm) {
    turned_broadcast to;
    const hn_node *n = hn_def(r->g, v);
    if (!n) return false;
    if (n->op == HN_OP_BROADCAST) return turned_map(r, n, perm, &to);
    if (n->op == HN_OP_CONTRACT) return r->arg && hn_used_once(r, v); /* it writes its result in any order */
    return n->op == HN_OP_CONST || is_transpose_by(r, v, perm);
}

static hn_val turned_contraction(hn_rewriter *r, const hn_node *n, const int64_t *back);

static hn_val turned(hn_rewriter *r, hn_val v, const int64_t *perm) {
    const hn_node n = *hn_def(r->g, v);
    const hn_type t = *hn_type_of(r->g, v);
    int64_t back[HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX];
    turned_broadcast to;
    if (n.op == HN_OP_TRANSPOSE) return n.in[0];
    for (size_t i = 0; i < t.rank; i++) back[perm[i]] = (int64_t)i;
    if (n.op == HN_OP_CONST) return hn_transpose(&r->b, v, back);
    if (n.op == HN_OP_CONTRACT) return turned_contraction(r, &n, back);
    for (size_t i = 0; i < t.rank; i++) shape[perm[i]] = t.dim[i];
    turned_map(r, &n, perm, &to);
    hn_attr a[] = {dims(HN_A_SHAPE, t.rank, shape), ints(HN_A_MAP, to.n, to.map)};
    hn_val x = hn_reshape(&r->b, n.in[0], to.n, to.shape);
    return hn_emit(r->g, r->b.b, HN_OP_BROADCAST, 1, &x, 2, a, 1);
}

/* --- sinking -------------------------------------------------------------------------------------------------------
 */

/* The transpose that all inputs of n share or can be turned to; NULL: there is none that only n uses. */
static const int64_t *common_perm(const hn_rewriter *r, const hn_node *n) {
    const int64_t *perm = NULL;
    for (size_t i = 0; i < n->n_in && !perm; i++) {
        const hn_node *t = hn_sinking_def(r, n->in[i]);
        if (t) perm = perm_of(t);
    }
    for (size_t i = 0; perm && i < n->n_in; i++)
        if (!can_turn(r, n->in[i], perm)) return NULL;
    return perm;
}

static hn_val sink_pointwise(hn_rewriter *r, const hn_node *n) {
    const int64_t *perm = common_perm(r, n);
    hn_val in[3];
    if (!perm) return 0;
    for (size_t i = 0; i < n->n_in; i++) in[i] = turned(r, n->in[i], perm);
    return hn_transpose(&r->b, hn_emit(r->g, r->b.b, n->op, n->n_in, in, n->n_attr, n->attr, 1), perm);
}

static hn_val sink_reduce(hn_rewriter *r, const hn_node *n) {
    const int64_t *perm = common_perm(r, n), *axes = hn_attr_get(n, HN_A_AXES)->ints;
    size_t n_axes = hn_attr_get(n, HN_A_AXES)->n, rank = rank_of(r, n->in[0]), k = 0;
    bool keep = hn_attr_i(n, HN_A_KEEP, 0), gone[HN_RANK_MAX] = {false};
    int64_t from[HN_RANK_MAX], place[HN_RANK_MAX], rest[HN_RANK_MAX];
    if (!perm) return 0;
    for (size_t i = 0; i < n_axes; i++) gone[perm[axes[i]]] = true;
    for (size_t i = 0; i < rank; i++)
        if (gone[i]) from[k++] = (int64_t)i;
    hn_val x = hn_reduce(&r->b, n->op, turned(r, n->in[0], perm), k, from, keep);
    if (keep) return hn_transpose(&r->b, x, perm);
    for (size_t i = 0, left = 0; i < rank; i++) place[i] = gone[i] ? -1 : (int64_t)left++;
    k = 0;
    for (size_t i = 0; i < rank; i++)
        if (!gone[perm[i]]) rest[k++] = place[perm[i]];
    return hn_transpose(&r->b, x, rest);
}

/* One entry per dimension, permuted: attributes of slice and pad. */
static hn_val sink_per_dimension(hn_rewriter *r, const hn_node *n) {
    const hn_node *t = hn_sinking_def(r, n->in[0]);
    hn_attr attr[8];
    union {
        int64_t i[HN_RANK_MAX];
        hn_dim d[HN_RANK_MAX];
    } list[8];
    if (!t || n->n_attr > 8) return 0;
    const int64_t *perm = perm_of(t);
    size_t rank = rank_of(r, n->in[0]);
    for (size_t k = 0; k < n->n_attr; k++) {
        attr[k] = n->attr[k];
        for (size_t i = 0; i < rank && attr[k].kind == HN_K_DIMS; i++) list[k].d[perm[i]] = attr[k].dims[i];
        for (size_t i = 0; i < rank && attr[k].kind == HN_K_INTS; i++) list[k].i[perm[i]] = attr[k].ints[i];
        if (attr[k].kind == HN_K_DIMS) attr[k].dims = list[k].d;
        if (attr[k].kind == HN_K_INTS) attr[k].ints = list[k].i;
    }
    hn_val in[2] = {t->in[0], n->n_in > 1 ? n->in[1] : 0};
    return hn_transpose(&r->b, hn_emit(r->g, r->b.b, n->op, n->n_in, in, n->n_attr, attr, 1), perm);
}

/* A broadcast of as many dimensions: the dimensions that are stretched are others then. */
static hn_val sink_broadcast(hn_rewriter *r, const hn_node *n) {
    const hn_node *t = hn_sinking_def(r, n->in[0]);
    const hn_type y = *hn_type_of(r->g, n->out[0]);
    int64_t map[HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX];
    if (!t || rank_of(r, n->in[0]) != y.rank) return 0;
    for (size_t i = 0; i < y.rank; i++) {
        map[i] = (int64_t)i;
        shape[perm_of(t)[i]] = y.dim[i];
    }
    hn_attr a[] = {dims(HN_A_SHAPE, y.rank, shape), ints(HN_A_MAP, y.rank, map)};
    return hn_transpose(&r->b, hn_emit(r->g, r->b.b, HN_OP_BROADCAST, 1, t->in, 2, a, 1), perm_of(t));
}

/* One index per place along the axis. */
static hn_val sink_gather(hn_rewriter *r, const hn_node *n) {
    const hn_node *t = hn_sinking_def(r, n->in[0]);
    if (!t || rank_of(r, n->in[1]) != 1 || hn_attr_i(n, HN_A_BATCH, 0)) return 0;
    return hn_transpose(&r->b, hn_gather(&r->b, t->in[0], n->in[1], perm_of(t)[hn_attr_i(n, HN_A_AXIS, 0)]),
                        perm_of(t));
}

static hn_val sink_concat(hn_rewriter *r, const hn_node *n) {
    const int64_t *perm = n->n_in <= CONCAT_MAX ? common_perm(r, n) : NULL;
    hn_val in[CONCAT_MAX];
    if (!perm) return 0;
    for (size_t i = 0; i < n->n_in; i++) in[i] = turned(r, n->in[i], perm);
    return hn_transpose(&r->b, hn_concat(&r->b, n->n_in, in, perm[hn_attr_i(n, HN_A_AXIS, 0)]), perm);
}

/* --- contractions --------------------------------------------------------------------------------------------------
 */

/* A contraction being changed: its inputs and the label of each of their dimensions. */
typedef struct contraction {
    hn_val in[2];
    int64_t label[3][HN_RANK_MAX]; /* of both inputs and the result */
    size_t n[3];
} contraction;

static void read_contraction(const hn_node *n, contraction *c) {
    static const hn_attr_id id[] = {HN_A_LHS, HN_A_RHS, HN_A_OUT};
    for (size_t i = 0; i < 3; i++) {
        const hn_attr *a = hn_attr_get(n, id[i]);
        c->n[i] = a->n;
        if (a->n) memcpy(c->label[i], a->ints, a->n * sizeof *a->ints);
        if (i < 2) c->in[i] = n->in[i];
    }
}

static bool has_label(const contraction *c, size_t i, int64_t label) {
    for (size_t k = 0; k < c->n[i]; k++)
        if (c->label[i][k] == label) return true;
    return false;
}

static bool take_transpose(hn_rewriter *r, contraction *c, size_t i) {
    const hn_node *t = hn_def_op(r->g, c->in[i], HN_OP_TRANSPOSE);
    int64_t label[HN_RANK_MAX];
    if (!t) return false;
    for (size_t k = 0; k < c->n[i]; k++) label[perm_of(t)[k]] = c->label[i][k];
    memcpy(c->label[i], label, c->n[i] * sizeof *label);
    c->in[i] = t->in[0];
    return true;
}

/* A broadcast whose new dimensions the other input has too: every element meets the same partner without it. */
static bool take_broadcast(hn_rewriter *r, contraction *c, size_t i) {
    const hn_node *t = hn_def_op(r->g, c->in[i], HN_OP_BROADCAST);
    if (!t) return false;
    const hn_attr *map = hn_attr_get(t, HN_A_MAP);
    const hn_type *x = hn_type_of(r->g, t->in[0]), *y = hn_type_of(r->g, c->in[i]);
    int64_t label[HN_RANK_MAX];
    for (size_t k = 0, m = 0; k < y->rank; k++) {
        bool mapped = m < x->rank && map->ints[m] == (int64_t)k;
        if (mapped && x->dim[m] != y->dim[k] && hn_dim_equal(r->g->dims, x->dim[m], y->dim[k]) != HN_EQUAL)
            return false;
        if (!mapped && !has_label(c, 1 - i, c->label[i][k])) return false;
        if (mapped) label[m++] = c->label[i][k];
    }
    if (x->rank) memcpy(c->label[i], label, x->rank * sizeof *label);
    c->n[i] = x->rank;
    c->in[i] = t->in[0];
    return true;
}

/* Labels from 0 in the order of appearance; true where that changes one. */
static bool number_labels(contraction *c) {
    int64_t to[LABELS], next = 0;
    bool changed = false;
    for (size_t i = 0; i < LABELS; i++) to[i] = -1;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < c->n[i]; k++) {
            int64_t *x = &c->label[i][k];
            if (to[*x] < 0) to[*x] = next++;
            changed |= to[*x] != *x;
            *x = to[*x];
        }
    return changed;
}

static hn_val emit_contraction(hn_rewriter *r, const contraction *c, const hn_node *n) {
    return hn_contract(&r->b, c->in[0], c->in[1], c->label[0], c->label[1], c->n[2], c->label[2],
                       (hone_dtype)hn_attr_i(n, HN_A_DTYPE, 0));
}

static hn_val relabel(hn_rewriter *r, const hn_node *n) {
    contraction c;
    bool changed = false;
    read_contraction(n, &c);
    for (size_t i = 0; i < 2; i++)
        while (take_transpose(r, &c, i) || take_broadcast(r, &c, i)) changed = true;
    changed |= number_labels(&c);
    return changed ? emit_contraction(r, &c, n) : 0;
}

/* transpose(n, perm), n a contraction. */
static hn_val turned_contraction(hn_rewriter *r, const hn_node *n, const int64_t *perm) {
    contraction c;
    int64_t label[HN_RANK_MAX];
    read_contraction(n, &c);
    for (size_t i = 0; i < c.n[2]; i++) label[i] = c.label[2][perm[i]];
    memcpy(c.label[2], label, c.n[2] * sizeof *label);
    return emit_contraction(r, &c, n);
}

/* transpose(contract(x, y)): the contraction writes its result in that order. */
static hn_val transpose_of_contract(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def_op(r->g, n->in[0], HN_OP_CONTRACT);
    if (!inner || !hn_used_once(r, n->in[0])) return 0;
    const hn_node node = *inner;
    return turned_contraction(r, &node, perm_of(n));
}

hn_val hn_sink_transpose(hn_rewriter *r, const hn_node *n) {
    if (n->n_out != 1) return HN_KEEP;
    switch (hn_op_of(n->op)->cls) {
    case HN_UNARY:
    case HN_BINARY:
    case HN_TERNARY: return sink_pointwise(r, n);
    case HN_REDUCE: return sink_reduce(r, n);
    case HN_CONTRACT: return relabel(r, n);
    default: break;
    }
    if (n->op == HN_OP_SLICE || n->op == HN_OP_PAD) return sink_per_dimension(r, n);
    if (n->op == HN_OP_CONCAT) return sink_concat(r, n);
    if (n->op == HN_OP_BROADCAST) return sink_broadcast(r, n);
    if (n->op == HN_OP_RESHAPE) return hn_sink_reshape(r, n);
    if (n->op == HN_OP_GATHER) return sink_gather(r, n);
    if (n->op != HN_OP_TRANSPOSE) return HN_KEEP;
    if (hn_def_op(r->g, n->in[0], HN_OP_TRANSPOSE)) return hn_transposed(r, n->in[0], perm_of(n));
    return transpose_of_contract(r, n);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    return hn_rewrite_all(g, ctx, hn_sink_transpose, 32, err);
}

const hn_pass hn_pass_transpose = {
    .name = "transpose",
    .summary = "transposes sink, cancel, or become labels of contractions",
    .needs = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .breaks = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .run = run,
};
