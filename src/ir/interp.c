/* ir/interp.c — the interpreter's driver: blocks node by node in list order, control flow, memory, symbols.
 *
 * A value is held by a reference count: its slot, and whoever passes it on (views by reshape, carried values, results).
 * It is let go after the last node that uses it, itself or inside its regions; that is found by one walk before a run.
 * Symbols: those of inputs are solved from their sizes; nodes that define symbols set them and every relation is
 * checked again. An iteration of a loop starts from the symbols known before the loop, so what its body binds is bound
 * anew each time.
 */
#include "ir/interp_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_eval_fn *const by_class[] = {
    [HN_UNARY] = hn_eval_unary,   [HN_BINARY] = hn_eval_binary, [HN_TERNARY] = hn_eval_select,
    [HN_REDUCE] = hn_eval_reduce, [HN_ARG] = hn_eval_arg,       [HN_PREFIX] = hn_eval_prefix,
    [HN_WINDOW] = hn_eval_window, [HN_BIND] = hn_eval_bind,     [HN_KERNEL] = NULL,
};
static hn_eval_fn *const by_op[HN_N_OPS] = {
    [HN_OP_CONST] = hn_eval_const,
    [HN_OP_IOTA] = hn_eval_iota,
    [HN_OP_DIMS] = hn_eval_dims,
    [HN_OP_RANDOM] = hn_eval_random,
    [HN_OP_CAST] = hn_eval_cast,
    [HN_OP_BITCAST] = hn_eval_bitcast,
    [HN_OP_RESHAPE] = hn_eval_reshape,
    [HN_OP_TRANSPOSE] = hn_eval_transpose,
    [HN_OP_BROADCAST] = hn_eval_broadcast,
    [HN_OP_SLICE] = hn_eval_slice,
    [HN_OP_PAD] = hn_eval_pad,
    [HN_OP_CONCAT] = hn_eval_concat,
    [HN_OP_GATHER] = hn_eval_gather,
    [HN_OP_GATHER_ELEMENTS] = hn_eval_gather_elements,
    [HN_OP_GATHER_ND] = hn_eval_gather_nd,
    [HN_OP_SCATTER_ELEMENTS] = hn_eval_scatter_elements,
    [HN_OP_SCATTER_ND] = hn_eval_scatter_nd,
    [HN_OP_CONTRACT] = hn_eval_contract,
    [HN_OP_CONV] = hn_eval_conv,
    [HN_OP_TOPK] = hn_eval_topk,
    [HN_OP_ATTEND] = hn_eval_attend,
    [HN_OP_UNPACK] = hn_eval_unpack,
    [HN_OP_QUANTIZE_BLOCKS] = hn_eval_quantize_blocks,
    [HN_OP_PACKED_DOT] = hn_eval_packed_dot,
    [HN_OP_PACKED_ROWS] = hn_eval_packed_rows,
    [HN_OP_DET] = hn_eval_det,
    [HN_OP_NONZERO] = hn_eval_nonzero,
    [HN_OP_UNIQUE] = hn_eval_unique,
    [HN_OP_NMS] = hn_eval_nms,
};

/* -- one node */

const char *hn_call_name(const hn_call *c) {
    uint32_t s = c->node->source;
    return s && s <= c->g->n_source ? c->g->source[s - 1] : hn_op_of(c->node->op)->text;
}

hone_rc hn_call_nomem(const hn_call *c) { return hn_fail(c->err, HONE_E_NOMEM, "%s: out of memory", hn_call_name(c)); }

hone_rc hn_call_out(hn_call *c, size_t i, hone_dtype t, size_t rank, const int64_t *dim) {
    hn_tensor *y = &c->out[i];
    int64_t n;
    *y = (hn_tensor){.dtype = t, .rank = (uint8_t)rank};
    for (size_t d = 0; d < rank; d++) y->dim[d] = dim[d];
    if (!hn_tensor_count(y, &n))
        return hn_fail(c->err, HONE_E_LIMIT, "%s: its result is too large for this machine", hn_call_name(c));
    y->data = calloc((size_t)n + 1, hn_dtype_of(t)->size_b);
    return y->data ? HONE_OK : hn_call_nomem(c);
}

hone_rc hn_call_define(hn_call *c, size_t k, int64_t value) {
    const hn_attr *a = hn_attr_get(c->node, HN_A_DEFINES);
    hn_symbol s;
    int64_t low, high;
    size_t found = 0;
    if (!a || k >= a->n || !hn_dim_is_symbol(c->g->dims, a->dims[k], &s)) return HONE_OK;
    hn_symbol_range(c->g->dims, s, &low, &high);
    if (value < low || value > high)
        return hn_fail(c->err, HONE_E_INPUT, "%s: the size '%s' is %lld; it must lie in %lld to %lld", hn_call_name(c),
                       hn_symbol_name(c->g->dims, s), (long long)value, (long long)low, (long long)high);
    c->symbol[s] = value;
    return hn_sizes_relations(c->g, c->symbol, &found, hn_call_name(c), c->err);
}

static bool sizes_itself(hn_op op) { return op == HN_OP_NONZERO || op == HN_OP_UNIQUE || op == HN_OP_NMS; }

static hone_rc allocate_results(hn_call *c) {
    for (size_t i = 0; i < c->node->n_out; i++) {
        const hn_type *type = hn_type_of(c->g, c->node->out[i]);
        int64_t dim[HN_RANK_MAX];
        hone_rc rc = hn_sizes_of(c, type, dim);
        if (!rc) rc = hn_call_out(c, i, type->dtype, type->rank, dim);
        if (rc) return rc;
    }
    return HONE_OK;
}

hone_rc hn_eval_node(hn_call *c) {
    hn_op op = c->node->op;
    hn_eval_fn *fn = by_op[op] ? by_op[op] : by_class[hn_op_of(op)->cls];
    if (!fn)
        return hn_fail(c->err, HONE_E_UNSUPPORTED, "%s: '%s' has regions and cannot be run by itself", hn_call_name(c),
                       hn_op_of(op)->text);
    hn_mark mark = hn_arena_mark(c->scratch);
    hone_rc rc = sizes_itself(op) ? HONE_OK : allocate_results(c);
    if (!rc) rc = fn(c);
    hn_arena_release(c->scratch, mark);
    for (size_t i = 0; rc && i < c->node->n_out; i++) {
        free(c->out[i].data);
        c->out[i].data = NULL;
    }
    return rc;
}

/* Copies a result into the arena. */
static hone_rc give(const hn_tensor *t, hn_arena *a, hn_tensor *out, hone_err *err) {
    hn_tensor copy;
    if (!hn_tensor_new(a, t->dtype, t->rank, t->dim, &copy)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t n = (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b;
    if (n) memcpy(copy.data, t->data, n);
    *out = copy;
    return HONE_OK;
}

static int64_t *new_symbols(const hn_graph *g, const int64_t *from) {
    size_t n = hn_dims_symbols(g->dims);
    int64_t *s = malloc((n + 1) * sizeof *s);
    for (size_t i = 0; s && i < n; i++) s[i] = from ? from[i] : INT64_MIN;
    return s;
}

hone_rc hn_interpret_node(const hn_graph *g, const hn_node *n, const hn_tensor *in, int64_t *symbols, hn_arena *a,
                          hn_tensor *out, hone_err *err) {
    hn_arena scratch = {0};
    const hn_tensor **p = HN_NEW_N(&scratch, const hn_tensor *, n->n_in);
    hn_tensor *made = HN_NEW_N(&scratch, hn_tensor, n->n_out);
    int64_t *own = symbols ? NULL : new_symbols(g, NULL);
    hone_rc rc = HONE_OK;
    if (!p || !made || (!symbols && !own)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < n->n_in; i++) p[i] = n->in[i] ? &in[i] : NULL;
    hn_call c = {g, n, p, made, symbols ? symbols : own, &scratch, err};
    if (!rc) rc = hn_eval_node(&c);
    for (size_t i = 0; !rc && i < n->n_out; i++) rc = give(&made[i], a, &out[i], err);
    for (size_t i = 0; made && i < n->n_out; i++) free(made[i].data);
    free(own);
    hn_arena_free(&scratch);
    return rc;
}

/* -- values in a run */

typedef struct held {
    hn_tensor t;
    uint32_t refs;
    struct held *base; /* a view: whose memory it is */
    bool owned;        /* data is ours to free */
} held;

typedef struct run {
    const hn_graph *g;
    int64_t *symbol;
    held **slot;         /* per value */
    uint32_t *last;      /* per value: position + 1 of the last node of its block that needs it; 0 not seen */
    uint32_t *at;        /* per block: position + 1 of the node at hand during the walk */
    uint32_t *dies;      /* per node: first of the values that die with it */
    uint32_t *dies_next; /* per value */
    hn_arena scratch;
    hone_err *err;
} run;
#define KEPT UINT32_MAX

static held *hold(held *h) {
    if (h) h->refs++;
    return h;
}
static void let_go(held *h) {
    while (h && --h->refs == 0) {
        held *base = h->base;
        if (h->owned) free(h->t.data);
        free(h);
        h = base;
    }
}
static held *new_held(const hn_tensor *t, bool owned) {
    held *h = malloc(sizeof *h);
    if (h)
        *h = (held){.t = *t, .refs = 1, .owned = owned};
    else if (owned)
        free(t->data);
    return h;
}
static hone_rc nomem(const run *r) { return hn_fail(r->err, HONE_E_NOMEM, "out of memory"); }

/* Puts a value into its slot; takes over the reference. */
static hone_rc put(run *r, hn_val v, held *h) {
    if (!h) return nomem(r);
    let_go(r->slot[v]);
    r->slot[v] = h;
    return HONE_OK;
}
static void drop(run *r, hn_val v) {
    let_go(r->slot[v]);
    r->slot[v] = NULL;
}

/* -- lifetimes */

static void use(run *r, hn_val v) {
    if (v && r->last[v] != KEPT) r->last[v] = r->at[r->g->value[v].block];
}

static void walk_block(run *r, hn_block b) {
    const hn_blk *blk = &r->g->block[b];
    for (uint32_t i = 0; i < blk->n_param; i++) r->last[blk->param[i]] = KEPT;
    for (uint32_t i = 0; i < blk->n_node; i++) {
        const hn_node *n = &r->g->node[blk->node[i]];
        const hn_attr *body = hn_attr_get(n, HN_A_BODY);
        r->at[b] = i + 1;
        for (size_t k = 0; k < n->n_out; k++) use(r, n->out[k]);
        for (size_t k = 0; k < n->n_in; k++) use(r, n->in[k]);
        for (uint32_t k = 0; body && k < body->n; k++) walk_block(r, body->blocks[k]);
    }
    for (uint32_t i = 0; i < blk->n_result; i++) {
        hn_val v = blk->result[i];
        if (r->g->value[v].block == b)
            r->last[v] = KEPT;
        else
            use(r, v);
    }
    for (uint32_t i = 0; i < blk->n_node; i++) {
        const hn_node *n = &r->g->node[blk->node[i]];
        for (size_t k = 0; k < n->n_out; k++) {
            hn_val v = n->out[k];
            if (r->last[v] == KEPT || !r->last[v]) continue;
            uint32_t killer = blk->node[r->last[v] - 1];
            r->dies_next[v] = r->dies[killer];
            r->dies[killer] = v;
        }
    }
}

static void drop_block(run *r, hn_block b) {
    const hn_blk *blk = &r->g->block[b];
    for (uint32_t i = 0; i < blk->n_param; i++) drop(r, blk->param[i]);
    for (uint32_t i = 0; i < blk->n_node; i++) {
        const hn_node *n = &r->g->node[blk->node[i]];
        for (size_t k = 0; k < n->n_out; k++) drop(r, n->out[k]);
    }
}

/* -- sizes of several values at once */

/* Solves the symbols of `types` by the tensors in their slots. */
static hone_rc match_values(run *r, const hn_val *v, size_t n, const char *what) {
    size_t found = 0, before;
    char name[200];
    hone_rc rc = HONE_OK;
    bool final = false;
    do {
        before = found;
        for (size_t i = 0; !rc && i < n; i++) {
            const char *own = r->g->value[v[i]].name;
            if (own)
                snprintf(name, sizeof name, "%s '%.150s'", what, own);
            else
                snprintf(name, sizeof name, "%s %zu", what, i);
            rc =
                hn_sizes_match(r->g, hn_type_of(r->g, v[i]), &r->slot[v[i]]->t, r->symbol, final, &found, name, r->err);
        }
        if (!rc) rc = hn_sizes_relations(r->g, r->symbol, &found, "the sizes given", r->err);
        if (!rc && found == before && !final)
            final = true;
        else if (found == before)
            break;
    } while (!rc);
    return rc;
}

static void forget_symbols(run *r, const hn_node *n) {
    const hn_attr *a = hn_attr_get(n, HN_A_DEFINES);
    hn_symbol s;
    for (uint32_t i = 0; a && i < a->n; i++)
        if (hn_dim_is_symbol(r->g->dims, a->dims[i], &s)) r->symbol[s] = INT64_MIN;
}

static hone_rc run_block(run *r, hn_block b);

/* -- control */

static hone_rc run_if(run *r, const hn_node *n) {
    const hn_attr *body = hn_attr_get(n, HN_A_BODY);
    bool yes = hn_get_i(&r->slot[n->in[0]]->t, 0) != 0;
    hn_block b = body->blocks[yes ? 0 : 1];
    forget_symbols(r, n);
    hone_rc rc = run_block(r, b);
    for (size_t i = 0; !rc && i < n->n_out; i++) rc = put(r, n->out[i], hold(r->slot[r->g->block[b].result[i]]));
    drop_block(r, b);
    return rc ? rc : match_values(r, n->out, n->n_out, "result");
}

static hone_rc run_kernel(run *r, const hn_node *n) {
    hn_block b = hn_attr_get(n, HN_A_BODY)->blocks[0];
    const hn_blk *blk = &r->g->block[b];
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; !rc && i < blk->n_param; i++) rc = put(r, blk->param[i], hold(r->slot[n->in[i]]));
    if (!rc) rc = match_values(r, blk->param, blk->n_param, "input");
    if (!rc) rc = run_block(r, b);
    for (size_t i = 0; !rc && i < n->n_out; i++) rc = put(r, n->out[i], hold(r->slot[blk->result[i]]));
    drop_block(r, b);
    return rc;
}

typedef struct scan { /* results of one output stacked so far */
    hn_tensor t;      /* of one element of the stack */
    char *data;
    size_t n_b, room_b;
} scan;

typedef struct loop {
    const hn_node *node;
    hn_block body;
    size_t n_carried, n_scan;
    held **carried;
    scan *scan;
    int64_t *before; /* symbols when the loop began */
    int64_t trips, n;
    bool go;
} loop;

static hone_rc push_scan(run *r, scan *s, const hn_tensor *t, int64_t n) {
    size_t b = (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b;
    if (n == 0)
        s->t = *t;
    else if (memcmp(s->t.dim, t->dim, t->rank * sizeof *t->dim) != 0)
        return hn_fail(r->err, HONE_E_INPUT, "a scan result of a loop changes its shape in iteration %lld",
                       (long long)n);
    if (s->n_b + b > s->room_b || !s->data) {
        size_t room = 2 * s->room_b > s->n_b + b + 16 ? 2 * s->room_b : s->n_b + b + 16;
        char *data = realloc(s->data, room);
        if (!data) return nomem(r);
        s->data = data;
        s->room_b = room;
    }
    if (b) memcpy(s->data + s->n_b, t->data, b);
    s->n_b += b;
    return HONE_OK;
}

static held *scalar_i64(int64_t x, hone_dtype t) {
    hn_tensor s = {.dtype = t, .data = calloc(1, 8)};
    if (!s.data) return NULL;
    hn_set_i(&s, 0, x);
    return new_held(&s, true);
}

static hone_rc run_iteration(run *r, loop *l) {
    const hn_blk *b = &r->g->block[l->body];
    memcpy(r->symbol, l->before, hn_dims_symbols(r->g->dims) * sizeof *r->symbol);
    hone_rc rc = put(r, b->param[0], scalar_i64(l->n, HONE_I64));
    if (!rc) rc = put(r, b->param[1], scalar_i64(l->go, HONE_BOOL));
    for (size_t i = 0; !rc && i < l->n_carried; i++) {
        rc = put(r, b->param[2 + i], l->carried[i]);
        l->carried[i] = NULL;
    }
    if (!rc) rc = match_values(r, b->param, b->n_param, "carried value");
    if (!rc) rc = run_block(r, l->body);
    if (!rc) l->go = hn_get_i(&r->slot[b->result[0]]->t, 0) != 0;
    for (size_t i = 0; !rc && i < l->n_carried; i++) l->carried[i] = hold(r->slot[b->result[1 + i]]);
    for (size_t i = 0; !rc && i < l->n_scan; i++)
        rc = push_scan(r, &l->scan[i], &r->slot[b->result[1 + l->n_carried + i]]->t, l->n);
    drop_block(r, l->body);
    l->n++;
    return rc;
}

/* The stack of a scan; without an iteration its type says as much as is known, the rest is 0. */
static hone_rc finish_scan(run *r, loop *l, size_t i) {
    hn_val v = l->node->out[l->n_carried + i];
    const hn_type *type = hn_type_of(r->g, v);
    hn_tensor t = {.dtype = type->dtype, .rank = type->rank};
    t.dim[0] = l->n;
    for (size_t d = 1; d < type->rank; d++) {
        int64_t x = 0;
        if (l->n)
            x = l->scan[i].t.dim[d - 1];
        else if (!hn_dim_eval(r->g->dims, type->dim[d], r->symbol, &x))
            x = 0;
        t.dim[d] = x;
    }
    t.data = l->scan[i].data ? l->scan[i].data : calloc(1, 16);
    l->scan[i].data = NULL;
    return t.data ? put(r, v, new_held(&t, true)) : nomem(r);
}

static hone_rc finish_loop(run *r, loop *l) {
    hn_symbol s;
    const hn_node *n = l->node;
    const hn_attr *defines = hn_attr_get(n, HN_A_DEFINES);
    memcpy(r->symbol, l->before, hn_dims_symbols(r->g->dims) * sizeof *r->symbol);
    if (defines && defines->n && hn_dim_is_symbol(r->g->dims, defines->dims[0], &s)) r->symbol[s] = l->n;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < l->n_carried; i++) rc = put(r, n->out[i], hold(l->carried[i]));
    for (size_t i = 0; !rc && i < l->n_scan; i++) rc = finish_scan(r, l, i);
    return rc ? rc : match_values(r, n->out, n->n_out, "result");
}

static hone_rc run_loop(run *r, const hn_node *n) {
    loop l = {.node = n, .body = hn_attr_get(n, HN_A_BODY)->blocks[0], .n_carried = n->n_in - 2u};
    l.n_scan = n->n_out - l.n_carried;
    l.carried = calloc(l.n_carried + 1, sizeof(held *));
    l.scan = calloc(l.n_scan + 1, sizeof(scan));
    forget_symbols(r, n);
    l.before = new_symbols(r->g, r->symbol);
    l.trips = n->in[0] ? hn_get_i(&r->slot[n->in[0]]->t, 0) : INT64_MAX;
    l.go = n->in[1] ? hn_get_i(&r->slot[n->in[1]]->t, 0) != 0 : true;
    hone_rc rc = l.carried && l.scan && l.before ? HONE_OK : nomem(r);
    for (size_t i = 0; !rc && i < l.n_carried; i++) l.carried[i] = hold(r->slot[n->in[2 + i]]);
    while (!rc && l.go && l.n < l.trips) rc = run_iteration(r, &l);
    if (!rc) rc = finish_loop(r, &l);
    for (size_t i = 0; l.carried && i < l.n_carried; i++) let_go(l.carried[i]);
    for (size_t i = 0; l.scan && i < l.n_scan; i++) free(l.scan[i].data);
    free(l.carried);
    free(l.scan);
    free(l.before);
    return rc;
}

/* -- blocks */

/* Another shape of the same memory. */
static hone_rc run_reshape(run *r, const hn_node *n) {
    held *x = r->slot[n->in[0]], *base = x->base ? x->base : x;
    hn_call c = {.g = r->g, .node = n, .symbol = r->symbol, .err = r->err};
    const hn_type *type = hn_type_of(r->g, n->out[0]);
    hn_tensor t = {.dtype = type->dtype, .rank = type->rank, .data = x->t.data};
    int64_t count;
    hone_rc rc = hn_sizes_of(&c, type, t.dim);
    if (rc) return rc;
    if (!hn_tensor_count(&t, &count) || count != hn_tensor_n(&x->t))
        return hn_fail(r->err, HONE_E_INPUT, "%s: %lld elements do not fit its new shape", hn_call_name(&c),
                       (long long)hn_tensor_n(&x->t));
    held *h = new_held(&t, false);
    if (h) h->base = hold(base);
    return put(r, n->out[0], h);
}

static hone_rc run_plain(run *r, const hn_node *n) {
    enum { FEW = 8 };
    const hn_tensor *few_in[FEW];
    hn_tensor few_out[FEW] = {0};
    hn_mark mark = hn_arena_mark(&r->scratch);
    const hn_tensor **in = n->n_in <= FEW ? few_in : HN_NEW_N(&r->scratch, const hn_tensor *, n->n_in);
    hn_tensor *out = n->n_out <= FEW ? few_out : HN_NEW_N(&r->scratch, hn_tensor, n->n_out);
    if (!in || !out) return nomem(r);
    for (size_t i = 0; i < n->n_in; i++) in[i] = n->in[i] ? &r->slot[n->in[i]]->t : NULL;
    hn_call c = {r->g, n, in, out, r->symbol, &r->scratch, r->err};
    hone_rc rc = hn_eval_node(&c);
    for (size_t i = 0; !rc && i < n->n_out; i++) {
        rc = put(r, n->out[i], new_held(&out[i], true)); /* takes the data, also when it fails */
        out[i].data = NULL;
    }
    for (size_t i = 0; i < n->n_out; i++) free(out[i].data);
    hn_arena_release(&r->scratch, mark);
    return rc;
}

static hone_rc run_node(run *r, const hn_node *n) {
    switch (n->op) {
    case HN_OP_CONST: return put(r, n->out[0], new_held(hn_attr_get(n, HN_A_VALUE)->tensor, false));
    case HN_OP_RESHAPE: return run_reshape(r, n);
    case HN_OP_IF: return run_if(r, n);
    case HN_OP_LOOP: return run_loop(r, n);
    case HN_OP_KERNEL: return run_kernel(r, n);
    default: return run_plain(r, n);
    }
}

/* Leaves the results of the block in their slots. */
static hone_rc run_block(run *r, hn_block b) {
    const hn_blk *blk = &r->g->block[b];
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; !rc && i < blk->n_node; i++) {
        uint32_t id = blk->node[i];
        rc = run_node(r, &r->g->node[id]);
        for (hn_val v = r->dies[id]; v; v = r->dies_next[v]) drop(r, v);
    }
    return rc;
}

static bool begin(run *r, const hn_graph *g, const int64_t *symbols, hn_block b, hone_err *err) {
    *r = (run){.g = g, .err = err};
    r->symbol = new_symbols(g, symbols);
    r->slot = calloc(g->n_value + 1, sizeof *r->slot);
    r->last = calloc(g->n_value + 1, sizeof *r->last);
    r->dies_next = calloc(g->n_value + 1, sizeof *r->dies_next);
    r->dies = calloc(g->n_node + 1, sizeof *r->dies);
    r->at = calloc(g->n_block + 1, sizeof *r->at);
    bool ok = r->symbol && r->slot && r->last && r->dies_next && r->dies && r->at;
    if (ok) walk_block(r, b);
    return ok;
}

static void end(run *r, hn_block b) {
    if (r->slot) drop_block(r, b);
    free(r->symbol);
    free(r->slot);
    free(r->last);
    free(r->dies_next);
    free(r->dies);
    free(r->at);
    hn_arena_free(&r->scratch);
}

/* Runs block b and hands out copies of its results: all of them or none. */
static hone_rc run_whole(const hn_graph *g, hn_block b, const hn_tensor *in, const int64_t *known, int64_t *symbols,
                         hn_arena *a, hn_tensor *out, hone_err *err) {
    run r;
    const hn_blk *blk = &g->block[b];
    hone_rc rc = begin(&r, g, known, b, err) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (uint32_t i = 0; !rc && i < blk->n_param; i++) rc = put(&r, blk->param[i], new_held(&in[i], false));
    if (!rc) rc = match_values(&r, blk->param, blk->n_param, "input");
    if (!rc) rc = run_block(&r, b);
    hn_tensor *made = rc ? NULL : calloc(blk->n_result + 1u, sizeof *made);
    if (!rc && !made) rc = nomem(&r);
    for (uint32_t i = 0; !rc && i < blk->n_result; i++) rc = give(&r.slot[blk->result[i]]->t, a, &made[i], err);
    for (uint32_t i = 0; !rc && i < blk->n_result; i++) out[i] = made[i];
    if (!rc && symbols) memcpy(symbols, r.symbol, hn_dims_symbols(g->dims) * sizeof *symbols);
    free(made);
    end(&r, b);
    return rc;
}

hone_rc hn_interpret(const hn_graph *g, const hn_tensor *in, hn_arena *a, hn_tensor *out, int64_t *symbols,
                     hone_err *err) {
    return run_whole(g, 0, in, NULL, symbols, a, out, err);
}

hone_rc hn_interpret_block(const hn_graph *g, hn_block b, const hn_tensor *in, const int64_t *symbols, hn_arena *a,
                           hn_tensor *out, hone_err *err) {
    return run_whole(g, b, in, symbols, NULL, a, out, err);
}
