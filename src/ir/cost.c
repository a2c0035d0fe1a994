/* cost.c — see cost.h: innermost steps of a node by its class, and how many operations one step of a class is. */
#include "ir/cost.h"

/* By class: arithmetic operations per step. */
static const uint8_t flops_of[] = {
    [HN_UNARY] = 1,    [HN_BINARY] = 1, [HN_TERNARY] = 1, [HN_REDUCE] = 1, [HN_ARG] = 1,    [HN_PREFIX] = 1,
    [HN_CONTRACT] = 2, [HN_WINDOW] = 1, [HN_ORDER] = 1,   [HN_OPAQUE] = 1, [HN_KERNEL] = 0,
};

static hn_dim count_of(hn_graph *g, hn_val v) { return hn_type_count(g, hn_type_of(g, v)); }

static hn_dim bytes_of(hn_graph *g, hn_val v) {
    return hn_dim_mul(g->dims, count_of(g, v), hn_dim_int(g->dims, hn_dtype_of(hn_type_of(g, v)->dtype)->size_b));
}

/* --- steps ----------------------------------------------------------------------------------------------------------
 */

/* Elements of the result, times the labels that are summed over. Those of one operand alone are in it, too. */
static hn_dim contract_steps(hn_graph *g, const hn_node *n) {
    static const hn_attr_id side[] = {HN_A_LHS, HN_A_RHS};
    const hn_attr *out = hn_attr_get(n, HN_A_OUT), *lhs = hn_attr_get(n, HN_A_LHS);
    hn_dim steps = count_of(g, n->out[0]);
    for (size_t s = 0; s < 2; s++) {
        const hn_attr *label = hn_attr_get(n, side[s]);
        for (uint32_t i = 0; i < label->n; i++) {
            bool counted = false;
            for (uint32_t k = 0; k < out->n; k++) counted = counted || out->ints[k] == label->ints[i];
            for (uint32_t k = 0; s && k < lhs->n; k++) counted = counted || lhs->ints[k] == label->ints[i];
            if (!counted) steps = hn_dim_mul(g->dims, steps, hn_type_of(g, n->in[s])->dim[i]);
        }
    }
    return steps;
}

static int64_t product_of(const hn_attr *ints) {
    int64_t n = 1;
    for (uint32_t d = 0; ints && d < ints->n; d++)
        if (ints->ints[d] > 0 && __builtin_mul_overflow(n, ints->ints[d], &n)) return INT64_MAX;
    return n;
}

/* The zeros between the elements of an inflated input cost nothing. */
static hn_dim conv_steps(hn_graph *g, const hn_node *n) {
    hn_type w = *hn_type_of(g, n->in[1]);
    hn_dim steps = count_of(g, n->out[0]);
    for (size_t d = 1; d < w.rank; d++) steps = hn_dim_mul(g->dims, steps, w.dim[d]);
    int64_t inflate = product_of(hn_attr_get(n, HN_A_INFLATE));
    return inflate > 1 ? hn_dim_ceildiv(g->dims, steps, hn_dim_int(g->dims, inflate)) : steps;
}

static hn_dim window_steps(hn_graph *g, const hn_node *n) {
    return hn_dim_mul(g->dims, count_of(g, n->out[0]), hn_dim_int(g->dims, product_of(hn_attr_get(n, HN_A_KERNEL))));
}

static hn_dim node_steps(hn_graph *g, const hn_node *n) {
    if (!n->n_out || n->op == HN_OP_CONST) return hn_dim_int(g->dims, 0);
    if (n->op == HN_OP_CONV) return conv_steps(g, n);
    if (n->op == HN_OP_PACKED_DOT) return hn_dim_mul(g->dims, count_of(g, n->out[0]), hn_type_of(g, n->in[1])->dim[1]);
    if (n->op == HN_OP_ATTEND) /* as far as the table reaches: half of it on average */
        return hn_dim_mul(
            g->dims, count_of(g, n->out[0]),
            hn_dim_mul(g->dims, hn_type_of(g, n->in[3])->dim[1], hn_dim_int(g->dims, hn_attr_i(n, HN_A_BLOCK, 1))));
    if (n->op == HN_OP_UNPACK || n->op == HN_OP_PACKED_ROWS) return count_of(g, n->out[0]);
    switch (hn_op_of(n->op)->cls) {
    case HN_CONTRACT: return contract_steps(g, n);
    case HN_WINDOW: return window_steps(g, n);
    case HN_REDUCE:
    case HN_ARG:
    case HN_ORDER:
    case HN_OPAQUE: return count_of(g, n->in[0]);
    default: return count_of(g, n->out[0]);
    }
}

static void add_node(hn_graph *g, const hn_node *n, hn_cost *c) {
    hn_op_class cls = hn_op_of(n->op)->cls;
    if (cls == HN_CONTROL) return;
    if (cls == HN_KERNEL) {
        hn_cost body = hn_block_cost(g, hn_attr_get(n, HN_A_BODY)->blocks[0]);
        c->flops = hn_dim_add(g->dims, c->flops, body.flops);
        c->steps = hn_dim_add(g->dims, c->steps, body.steps);
        return;
    }
    hn_dim steps = node_steps(g, n);
    int64_t by = n->op == HN_OP_CONV || n->op == HN_OP_PACKED_DOT ? 2 : n->op == HN_OP_BITCAST ? 0 : flops_of[cls];
    c->steps = hn_dim_add(g->dims, c->steps, steps);
    if (by) c->flops = hn_dim_add(g->dims, c->flops, hn_dim_mul(g->dims, steps, hn_dim_int(g->dims, by)));
}

/* --- bytes ----------------------------------------------------------------------------------------------------------
 */

static bool takes_part(const hn_node *n, uint32_t input) {
    return input == 0 && (n->op == HN_OP_SLICE || n->op == HN_OP_GATHER || n->op == HN_OP_GATHER_ELEMENTS ||
                          n->op == HN_OP_GATHER_ND);
}

/* Bytes that are read of parameter v: all of it, unless every use is a slice or a look-up. */
static hn_dim bytes_read(hn_graph *g, hn_block b, hn_val v) {
    hn_dim part = hn_dim_int(g->dims, 0), all = bytes_of(g, v);
    const hn_blk *x = &g->block[b];
    for (uint32_t i = 0; i < x->n_result; i++)
        if (x->result[i] == v) return all;
    for (uint32_t i = 0; i < x->n_node; i++) {
        const hn_node *n = &g->node[x->node[i]];
        if (hn_op_of(n->op)->cls == HN_CONTROL) return all; /* its regions may read v */
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] != v) continue;
            if (!takes_part(n, k)) return all;
            part = hn_dim_add(g->dims, part, bytes_of(g, n->out[0]));
        }
    }
    return hn_dim_min(g->dims, part, all);
}

hn_cost hn_block_cost(hn_graph *g, hn_block b) {
    hn_dim none = hn_dim_int(g->dims, 0);
    hn_cost c = {none, none, none, none};
    for (uint32_t i = 0; i < g->block[b].n_node; i++) add_node(g, &g->node[g->block[b].node[i]], &c);
    for (uint32_t i = 0; i < g->block[b].n_param; i++)
        c.read_b = hn_dim_add(g->dims, c.read_b, bytes_read(g, b, g->block[b].param[i]));
    for (uint32_t i = 0; i < g->block[b].n_result; i++)
        c.write_b = hn_dim_add(g->dims, c.write_b, bytes_of(g, g->block[b].result[i]));
    return c;
}
