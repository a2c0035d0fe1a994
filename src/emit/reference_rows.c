/* emit/reference_rows.c — whether a body goes row by row: every node's result has the same outermost dimension, and its
 * row r needs only row r of what other nodes give (parameters and constants may be read anywhere). */
#include "emit/reference_int.h"

/* Is v the result of a node (not a constant, not a view of a parameter or constant)? */
static bool is_inner(const hn_ref *e, hn_val v) {
    const hn_node *n = hn_def(e->g, v);
    if (!n || n->op == HN_OP_CONST) return false;
    return !hn_ref_is_view(e, n) || is_inner(e, n->in[0]);
}

static hn_dim outer(const hn_ref *e, hn_val v) {
    const hn_type *t = hn_ref_type(e, v);
    return t->rank ? t->dim[0] : 0;
}
static bool same_outer(const hn_ref *e, hn_val v, hn_dim rows) {
    hn_dim d = outer(e, v);
    return d && hn_dim_equal(e->g->dims, d, rows) == HN_EQUAL;
}

static bool is_zero(const hn_ref *e, const hn_attr *a) {
    int64_t n;
    return !a || (a->n && hn_dim_is_int(e->g->dims, a->dims[0], &n) && n == 0);
}

static bool whole_slice(const hn_ref *e, const hn_node *n) {
    const hn_attr *step = hn_attr_get(n, HN_A_STEP);
    return is_zero(e, hn_attr_get(n, HN_A_START)) && (!step || step->ints[0] == 1);
}

static bool first_is(const hn_attr *a, int64_t x) { return a && a->n && a->ints[0] == x; }

/* Row by row in input k, which has the outermost dimension of the result. */
static bool local_move(const hn_ref *e, const hn_node *n, size_t k) {
    int64_t axis = hn_attr_i(n, HN_A_AXIS, 0), batch = hn_attr_i(n, HN_A_BATCH, 0);
    switch (n->op) {
    case HN_OP_RESHAPE: return true;
    case HN_OP_TRANSPOSE: return first_is(hn_attr_get(n, HN_A_PERM), 0);
    case HN_OP_BROADCAST: return first_is(hn_attr_get(n, HN_A_MAP), 0);
    case HN_OP_SLICE: return whole_slice(e, n);
    case HN_OP_PAD: return k == 0 && is_zero(e, hn_attr_get(n, HN_A_LOW));
    case HN_OP_CONCAT: return axis != 0;
    case HN_OP_GATHER: return k == 0 ? axis > 0 : batch > 0 || axis == 0;
    case HN_OP_GATHER_ELEMENTS: return k == 1 || axis > 0;
    case HN_OP_GATHER_ND: return k == 1 || batch > 0;
    default: return false;
    }
}

static bool local(const hn_ref *e, const hn_node *n, size_t k) {
    const hn_attr *axes = hn_attr_get(n, HN_A_AXES), *out = hn_attr_get(n, HN_A_OUT);
    switch (hn_op_of(n->op)->cls) {
    case HN_UNARY:
    case HN_BINARY:
    case HN_TERNARY: return true;
    case HN_MOVE:
    case HN_INDEX: return local_move(e, n, k);
    case HN_REDUCE: return !first_is(axes, 0);
    case HN_ARG: return hn_attr_i(n, HN_A_AXIS, 0) != 0;
    case HN_CONTRACT: return out && out->n && first_is(hn_attr_get(n, k ? HN_A_RHS : HN_A_LHS), out->ints[0]);
    case HN_WINDOW: return k == 0;
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
