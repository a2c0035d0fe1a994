/* backend/cpu/reference_rows.c — whether a body goes row by row: every node's result has the same outermost dimension,
 * and its row r needs only row r of what other nodes give (parameters and constants may be read anywhere). Outermost is
 * the first dimension that is not the constant 1: those in front of it change nothing. */
#include "backend/cpu/reference_int.h"

/* Is v the result of a node (not a constant, not a view of a parameter or constant)? */
static bool is_inner(const hn_ref *e, hn_val v) {
    const hn_node *n = hn_def(e->g, v);
    if (!n || n->op == HN_OP_CONST) return false;
    return !hn_ref_is_view(e, n) || is_inner(e, n->in[0]);
}

size_t hn_ref_lead(const hn_ref *e, const hn_type *t) {
    int64_t n;
    size_t i = 0;
    while (i < t->rank && hn_dim_is_int(e->g->dims, t->dim[i], &n) && n == 1) i++;
    return i;
}

static hn_dim outer(const hn_ref *e, hn_val v) {
    const hn_type *t = hn_ref_type(e, v);
    size_t i = hn_ref_lead(e, t);
    return i < t->rank ? t->dim[i] : 0;
}
static bool same_outer(const hn_ref *e, hn_val v, hn_dim rows) {
    hn_dim d = outer(e, v);
    return d && hn_dim_equal(e->g->dims, d, rows) == HN_EQUAL;
}

static bool is_zero(const hn_ref *e, const hn_attr *a, size_t at) {
    int64_t n;
    return !a || (at < a->n && hn_dim_is_int(e->g->dims, a->dims[at], &n) && n == 0);
}
static bool is_at(const hn_attr *a, size_t at, int64_t x) { return a && at < a->n && a->ints[at] == x; }

/* An input of a node, and where its outermost dimension and that of the result stand. */
typedef struct use {
    const hn_node *n;
    size_t k, from, to;
    int64_t axis, batch;
} use;

/* Row by row in an input that has the outermost dimension of the result. */
static bool local_move(const hn_ref *e, const use *u) {
    const hn_node *n = u->n;
    bool same = u->from == u->to, inside = same && u->axis > (int64_t)u->from,
         shared = same && u->batch > (int64_t)u->from;
    switch (n->op) {
    case HN_OP_RESHAPE: return true;
    case HN_OP_TRANSPOSE: return is_at(hn_attr_get(n, HN_A_PERM), u->to, (int64_t)u->from);
    case HN_OP_BROADCAST: return is_at(hn_attr_get(n, HN_A_MAP), u->from, (int64_t)u->to);
    case HN_OP_SLICE:
        return same && is_zero(e, hn_attr_get(n, HN_A_START), u->from) &&
               (!hn_attr_get(n, HN_A_STEP) || is_at(hn_attr_get(n, HN_A_STEP), u->from, 1));
    case HN_OP_PAD: return same && u->k == 0 && is_zero(e, hn_attr_get(n, HN_A_LOW), u->from);
    case HN_OP_CONCAT: return inside;
    case HN_OP_GATHER: return u->k == 0 ? inside : shared || (same && u->axis == 0 && u->batch == 0);
    case HN_OP_GATHER_ELEMENTS: return u->k == 0 ? inside : same;
    case HN_OP_GATHER_ND: return u->k == 0 ? shared : same && u->from + 1 < hn_ref_type(e, n->in[1])->rank;
    default: return false;
    }
}

/* Without the reduced dimensions in front of it the outermost one moves up. */
static bool local_reduce(const use *u, const int64_t *axes, uint32_t n_axes) {
    size_t to = u->from;
    for (uint32_t i = 0; i < n_axes; i++) {
        if (axes[i] == (int64_t)u->from) return false;
        to -= axes[i] < (int64_t)u->from && !hn_attr_i(u->n, HN_A_KEEP, 0);
    }
    return to == u->to;
}

static bool local_contract(const use *u) {
    const hn_attr *label = hn_attr_get(u->n, u->k ? HN_A_RHS : HN_A_LHS), *out = hn_attr_get(u->n, HN_A_OUT);
    return out && u->to < out->n && is_at(label, u->from, out->ints[u->to]);
}

static bool local(const hn_ref *e, const hn_node *n, size_t k) {
    const hn_attr *axes = hn_attr_get(n, HN_A_AXES);
    use u = {.n = n,
             .k = k,
             .from = hn_ref_lead(e, hn_ref_type(e, n->in[k])),
             .to = hn_ref_lead(e, hn_ref_type(e, n->out[0])),
             .axis = hn_attr_i(n, HN_A_AXIS, 0),
             .batch = hn_attr_i(n, HN_A_BATCH, 0)};
    switch (hn_op_of(n->op)->cls) {
    case HN_UNARY:
    case HN_BINARY:
    case HN_TERNARY: return true;
    case HN_MOVE:
    case HN_INDEX: return local_move(e, &u);
    case HN_REDUCE: return local_reduce(&u, axes ? axes->ints : NULL, axes ? axes->n : 0);
    case HN_ARG: return local_reduce(&u, &u.axis, 1);
    case HN_CONTRACT: return local_contract(&u);
    case HN_WINDOW: return k == 0 && u.from == 0 && u.to == 0;
    default: return false;
    }
}

static bool by_elements(hn_op op) {
    switch (hn_op_of(op)->cls) {
    case HN_UNARY:
    case HN_BINARY:
    case HN_TERNARY:
    case HN_MOVE:
    case HN_REDUCE:
    case HN_ARG:
    case HN_CONTRACT:
    case HN_WINDOW: return true;
    default:
        return op == HN_OP_IOTA || op == HN_OP_RANDOM || op == HN_OP_GATHER || op == HN_OP_GATHER_ELEMENTS ||
               op == HN_OP_GATHER_ND;
    }
}

static bool node_fits(const hn_ref *e, const hn_node *n, hn_dim rows) {
    if (n->op == HN_OP_CONST || (hn_ref_is_view(e, n) && !is_inner(e, n->out[0]))) return true;
    if (!by_elements(n->op) || n->n_out != 1 || !same_outer(e, n->out[0], rows)) return false;
    for (size_t k = 0; k < n->n_in; k++)
        if (n->in[k] && is_inner(e, n->in[k]) && (!same_outer(e, n->in[k], rows) || !local(e, n, k))) return false;
    return true;
}

/* A result that has to be copied would be copied for every row. */
static bool results_fit(const hn_ref *e) {
    for (uint32_t i = 0; i < e->body->n_result; i++) {
        if (!is_inner(e, e->body->result[i])) return false;
        for (uint32_t k = 0; k < i; k++)
            if (e->body->result[k] == e->body->result[i]) return false;
    }
    return e->body->n_result > 0;
}

bool hn_ref_by_rows(const hn_ref *e, hn_dim *work) {
    if (!results_fit(e)) return false;
    hn_dim rows = outer(e, e->body->result[0]);
    if (!rows) return false;
    for (uint32_t i = 0; i < e->body->n_node; i++)
        if (!node_fits(e, &e->g->node[e->body->node[i]], rows)) return false;
    *work = rows;
    return true;
}
