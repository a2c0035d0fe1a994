/* parity/inputs.c — sizes and inputs on which a kernel is tried.
 *
 * Integers that become indices, shifts or exponents are drawn in the range that makes them legal: found by walking from
 * the operand back to the parameters. Large inputs repeat a table of prime length, so that filling costs no time and
 * no stride of the kernel meets the same values again.
 */
#include "ir/packed.h"
#include "ir/winograd.h"
#include "parity/parity.h"

#include <math.h>
#include <string.h>

enum { TABLE_N = 4099 };

/* --- sizes -----------------------------------------------------------------------------------------------------------
 */

static bool relations_hold(const hn_trial *t) {
    const hn_relation *r;
    size_t n = hn_dim_relations(t->m->g->dims, &r);
    for (size_t i = 0; i < n; i++) {
        int64_t a, b = 0;
        if (!hn_dim_eval(t->m->g->dims, r[i].a, t->symbol, &a)) continue;
        if (r[i].b && hn_dim_eval(t->m->g->dims, r[i].b, t->symbol, &b) && a != b) return false;
        if (!r[i].b && r[i].by && a % r[i].by) return false;
    }
    return true;
}

static bool legal_type(const hn_trial *t, const hn_type *type) {
    int64_t n = 1;
    for (size_t d = 0; d < type->rank; d++) {
        int64_t x;
        if (!hn_dim_eval(t->m->g->dims, type->dim[d], t->symbol, &x)) return true; /* a symbol that the body defines */
        if (x < 0 || __builtin_mul_overflow(n, x, &n) || n > (int64_t)1 << 31) return false;
    }
    return true;
}

/* gather_elements and scatter_elements: next to the axis the indices are no longer than the data. With `fit` symbols of
 * the indices are cut down to that; else: is it so? */
static bool indices_inside(hn_trial *t, const hn_node *n, bool fit) {
    const hn_graph *g = t->m->g;
    const hn_type *data = hn_type_of(g, n->in[0]), *index = hn_type_of(g, n->in[1]);
    int64_t axis = hn_attr_i(n, HN_A_AXIS, 0), have, want, low, high;
    hn_symbol s;
    for (size_t d = 0; d < index->rank; d++) {
        if ((int64_t)d == axis || !hn_dim_eval(g->dims, data->dim[d], t->symbol, &have) ||
            !hn_dim_eval(g->dims, index->dim[d], t->symbol, &want) || want <= have)
            continue;
        if (!fit) return false;
        if (!hn_dim_is_symbol(g->dims, index->dim[d], &s)) continue;
        hn_symbol_range(g->dims, s, &low, &high);
        if (have >= low) t->symbol[s] = have;
    }
    return true;
}

static bool all_indices_inside(hn_trial *t, bool fit) {
    const hn_blk *b = &t->m->g->block[t->k->body];
    for (uint32_t i = 0; i < b->n_node; i++) {
        const hn_node *n = &t->m->g->node[b->node[i]];
        bool elements = n->op == HN_OP_GATHER_ELEMENTS || n->op == HN_OP_SCATTER_ELEMENTS;
        if (elements && !indices_inside(t, n, fit)) return false;
    }
    return true;
}

/* Do the positions of slice n lie in its operand? Where a size is not known yet: yes. */
static bool slice_inside(const hn_trial *t, const hn_node *n) {
    const hn_graph *g = t->m->g;
    const hn_type *x = hn_type_of(g, n->in[0]), *y = hn_type_of(g, n->out[0]);
    const hn_attr *start = hn_attr_get(n, HN_A_START), *step = hn_attr_get(n, HN_A_STEP);
    for (size_t d = 0; d < y->rank; d++) {
        int64_t have, want, first, last;
        if (!hn_dim_eval(g->dims, x->dim[d], t->symbol, &have) || !hn_dim_eval(g->dims, y->dim[d], t->symbol, &want) ||
            !hn_dim_eval(g->dims, start->dims[d], t->symbol, &first) || want < 1)
            continue;
        last = first + (want - 1) * step->ints[d];
        if (first < 0 || first >= have || last < 0 || last >= have) return false;
    }
    return true;
}

static bool all_slices_inside(const hn_trial *t) {
    const hn_blk *b = &t->m->g->block[t->k->body];
    for (uint32_t i = 0; i < b->n_node; i++) {
        const hn_node *n = &t->m->g->node[b->node[i]];
        if (n->op == HN_OP_SLICE && !slice_inside(t, n)) return false;
    }
    return true;
}

static bool legal_sizes(hn_trial *t) {
    const hn_graph *g = t->m->g;
    const hn_blk *b = &g->block[t->k->body];
    if (!relations_hold(t) || !all_indices_inside(t, false) || !all_slices_inside(t)) return false;
    for (uint32_t i = 0; i < b->n_param; i++)
        if (!legal_type(t, hn_type_of(g, b->param[i]))) return false;
    for (uint32_t i = 0; i < b->n_node; i++)
        for (uint32_t k = 0; k < g->node[b->node[i]].n_out; k++)
            if (!legal_type(t, hn_type_of(g, g->node[b->node[i]].out[k]))) return false;
    return true;
}

static void round_to_divisible(hn_trial *t, hn_symbol s, int64_t high) {
    const hn_relation *r;
    hn_symbol of;
    size_t n = hn_dim_relations(t->m->g->dims, &r);
    for (size_t i = 0; i < n; i++) {
        if (r[i].b || r[i].by < 2 || !hn_dim_is_symbol(t->m->g->dims, r[i].a, &of) || of != s) continue;
        int64_t x = (t->symbol[s] + r[i].by - 1) / r[i].by * r[i].by;
        t->symbol[s] = x > high ? high / r[i].by * r[i].by : x;
    }
}

/* Symbols that an equality gives in terms of older ones, or as a number. */
static void follow_equalities(hn_trial *t) {
    const hn_dims *dims = t->m->g->dims;
    for (hn_symbol s = 0; s < t->n_symbols; s++) {
        int64_t x;
        if (hn_dim_eval(dims, hn_dim_find(dims, hn_symbol_name(dims, s)), t->symbol, &x)) t->symbol[s] = x;
    }
}

bool hn_trial_sizes(hn_trial *t, unsigned set) {
    /* the large ones: for kernels whose sizes are quotients of these, and 0 for all before */
    static const int64_t first[] = {5, 1, 17, 0, 33, 8, 64, 200, 520, 1000};
    static const int64_t step[] = {2, 0, 4, 0, 3, 0, 0, 0, 0, 0};
    hn_symbol inner[64];
    const hn_graph *g = t->m->g;
    if (set >= sizeof first / sizeof *first) return false;
    size_t n_inner = hn_body_symbols(g, t->k->body, inner, 64);
    for (hn_symbol s = 0; s < t->n_symbols; s++) {
        int64_t low, high, x = first[set] + step[set] * (int64_t)(s % 5);
        hn_symbol_range(g->dims, s, &low, &high);
        t->symbol[s] = x < low ? low : x > high ? high : x;
        round_to_divisible(t, s, high);
    }
    all_indices_inside(t, true);
    follow_equalities(t);
    for (size_t i = 0; i < n_inner; i++) t->symbol[inner[i]] = INT64_MIN;
    return legal_sizes(t);
}

/* --- traits ----------------------------------------------------------------------------------------------------------
 */

typedef struct tracer {
    hn_trial *t;
    hn_traits *out;
    bool *seen; /* by value */
} tracer;

/* What each operand may be at most, so that the result is at most `high`: half of a sum, the root of a product. */
static int64_t operand_high(hn_op op, int64_t high) {
    if (high < 1) return high;
    return op == HN_OP_ADD ? high / 2 : op == HN_OP_MUL ? (int64_t)sqrt((double)high) : high;
}

static void limit_from(tracer *w, hn_val v, int64_t low, int64_t high) {
    const hn_graph *g = w->t->m->g;
    const hn_blk *b = &g->block[w->t->k->body];
    if (!v || w->seen[v] || hn_is_float(hn_type_of(g, v)->dtype)) return;
    w->seen[v] = true;
    for (uint32_t i = 0; i < b->n_param; i++) {
        if (b->param[i] != v) continue;
        bool fresh = w->out->low[i] > w->out->high[i];
        if (fresh || low > w->out->low[i]) w->out->low[i] = low;
        if (fresh || high < w->out->high[i]) w->out->high[i] = high;
    }
    const hn_node *n = hn_def(g, v);
    for (uint32_t i = 0; n && g->value[v].block == w->t->k->body && i < n->n_in; i++)
        limit_from(w, n->in[i], low, operand_high(n->op, high));
}

static void limit(tracer *w, hn_val v, int64_t low, int64_t high) {
    memset(w->seen, 0, w->t->m->g->n_value * sizeof *w->seen);
    limit_from(w, v, low, high);
}

static int64_t size_of(const hn_trial *t, hn_val v, size_t axis) {
    int64_t n = 0;
    const hn_type *type = hn_type_of(t->m->g, v);
    return axis < type->rank && hn_dim_eval(t->m->g->dims, type->dim[axis], t->symbol, &n) ? n : 0;
}

/* The smallest dimension that an index may walk along. */
static int64_t index_room(const hn_trial *t, const hn_node *n) {
    const hn_graph *g = t->m->g;
    int64_t room = INT64_MAX;
    if (n->op != HN_OP_GATHER_ND && n->op != HN_OP_SCATTER_ND)
        return size_of(t, n->in[0], (size_t)hn_attr_i(n, HN_A_AXIS, 0));
    size_t rank = hn_type_of(g, n->in[1])->rank, from = (size_t)hn_attr_i(n, HN_A_BATCH, 0);
    int64_t depth = rank ? size_of(t, n->in[1], rank - 1) : 0;
    for (size_t d = from; d < from + (size_t)depth && d < hn_type_of(g, n->in[0])->rank; d++) {
        int64_t x = size_of(t, n->in[0], d);
        if (x < room) room = x;
    }
    int64_t block = n->op == HN_OP_SCATTER_ND ? hn_attr_i(n, HN_A_BLOCK, 0) : 0;
    if (block) room = room / block * block;
    return room == INT64_MAX ? 1 : room;
}

static double length_of(const hn_trial *t, const hn_node *n) {
    int64_t out = 1, cost = 0, in;
    hn_graph *g = t->m->g;
    if (!hn_dim_eval(g->dims, hn_type_count(g, hn_type_of(g, n->out[0])), t->symbol, &out) || out < 1) return 1;
    if (hn_op_of(n->op)->cls == HN_REDUCE || hn_op_of(n->op)->cls == HN_PREFIX)
        return hn_dim_eval(g->dims, hn_type_count(g, hn_type_of(g, n->in[0])), t->symbol, &in)
                   ? (double)in / (double)out
                   : 1;
    cost = t->cost; /* of the whole body: an upper bound for contractions and windows */
    return (double)cost / (double)out;
}

/* A table of blocks that there are, tokens of sequences that there are, at positions within them. */
static void add_attend_traits(tracer *w, const hn_node *n) {
    int64_t block = hn_attr_i(n, HN_A_BLOCK, 1), keys = size_of(w->t, n->in[3], 1) * block;
    w->out->sums = true;
    w->out->length = fmax(w->out->length, (double)(keys + size_of(w->t, n->in[0], 2)));
    w->out->n_functions++;
    limit(w, n->in[3], 0, size_of(w->t, n->in[1], 0) / block - 1);
    limit(w, n->in[4], 0, size_of(w->t, n->in[3], 0) - 1);
    limit(w, n->in[5], 0, keys - 1);
}

static void add_node_traits(tracer *w, const hn_node *n) {
    hn_traits *x = w->out;
    const hn_graph *g = w->t->m->g;
    hn_op_class cls = hn_op_of(n->op)->cls;
    unsigned flags = hn_op_of(n->op)->flags;
    x->sums = x->sums || cls == HN_REDUCE || cls == HN_CONTRACT || cls == HN_WINDOW || cls == HN_PREFIX;
    x->orders = x->orders || cls == HN_ORDER || cls == HN_OPAQUE || cls == HN_ARG;
    x->domain = x->domain || flags & HN_DOMAIN;
    if (cls == HN_REDUCE || cls == HN_CONTRACT || cls == HN_WINDOW || cls == HN_PREFIX)
        x->length = fmax(x->length, length_of(w->t, n));
    for (uint32_t i = 0; i < n->n_out; i++) {
        hone_dtype d = hn_type_of(g, n->out[i])->dtype;
        if (hn_is_float(d)) x->eps = fmax(x->eps, hn_dtype_of(d)->epsilon);
        x->n_float += hn_is_float(d) && cls != HN_MOVE && cls != HN_SOURCE;
        x->n_functions += hn_is_float(d) && (flags & HN_FUNCTION);
    }
    if (cls == HN_INDEX) limit(w, n->in[1], 0, index_room(w->t, n) - 1);
    if (n->op == HN_OP_SHL || n->op == HN_OP_SHR)
        limit(w, n->in[1], 0, hn_dtype_of(hn_type_of(g, n->in[0])->dtype)->bits + 2);
    if (n->op == HN_OP_POW) limit(w, n->in[1], 0, 4);
    if (n->op == HN_OP_NMS) limit(w, n->in[2], 0, 5);
    if (n->op == HN_OP_ATTEND) add_attend_traits(w, n);
    if (hn_winograd_tile(g, n) && hn_is_winograd(w->t->k->code.schedule))
        x->bound = hn_tolerance_of(w->t->m->options->relaxed, w->t->m->options->tolerance);
    /* High bytes are drawn as often as low ones: the terms of a block are 128 times as large, and may nearly cancel. */
    if (n->op == HN_OP_PACKED_DOT && hn_dot_digits(g, n) == 2)
        x->length = fmax(x->length, 8 * (double)hn_dot_length(g, n));
}

hone_rc hn_trial_traits(hn_trial *t, hn_traits *out) {
    const hn_graph *g = t->m->g;
    const hn_blk *b = &g->block[t->k->body];
    tracer w = {t, out, hn_alloc_n(t->a, g->n_value + 1u, sizeof(bool))};
    *out = (hn_traits){.eps = 0, .length = 1};
    out->low = hn_alloc_n(t->a, b->n_param + 1u, sizeof *out->low);
    out->high = hn_alloc_n(t->a, b->n_param + 1u, sizeof *out->high);
    if (!w.seen || !out->low || !out->high) return HONE_E_NOMEM;
    for (uint32_t i = 0; i < b->n_param; i++) {
        out->low[i] = 1;
        hone_dtype d = hn_type_of(g, b->param[i])->dtype;
        if (hn_is_float(d)) out->eps = fmax(out->eps, hn_dtype_of(d)->epsilon);
    }
    for (uint32_t i = 0; i < b->n_node; i++) add_node_traits(&w, &g->node[b->node[i]]);
    if (out->eps < 0x1p-52) out->eps = 0x1p-52;
    return HONE_OK;
}

/* --- values ----------------------------------------------------------------------------------------------------------
 */

/* Denormals are few, because processors take a hundred times as long for them. */
static double edge_value(hn_trial *t, const hn_traits *x, const hn_dtype_info *d) {
    const double tiny = d->bits == 64 ? 0x1p-1060 : 0x1p-140;
    const double edges[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 8, -8, d->highest, d->lowest};
    if (hn_rng_below(&t->rng, x->sums ? 1024 : 64) == 0) return hn_rng_below(&t->rng, 2) ? tiny : -tiny;
    return edges[hn_rng_below(&t->rng, x->sums ? 8 : 10)];
}

static double float_value(hn_trial *t, const hn_traits *x, const hn_dtype_info *d, hn_fill fill) {
    switch (fill) {
    case HN_FILL_EDGE: return edge_value(t, x, d);
    case HN_FILL_POSITIVE: return 0.1 + 2 * hn_rng_unit(&t->rng);
    default: return hn_rng_normal(&t->rng);
    }
}

static int64_t int_value(hn_trial *t, const hn_traits *x, uint32_t i, const hn_dtype_info *d, hn_fill fill) {
    if (d->cls == HN_CLASS_BOOL) return (int64_t)hn_rng_below(&t->rng, 2);
    if (x->low[i] <= x->high[i])
        return x->low[i] + (int64_t)hn_rng_below(&t->rng, (uint64_t)(x->high[i] - x->low[i]) + 1);
    if (fill == HN_FILL_EDGE && !x->orders && hn_rng_below(&t->rng, 4) == 0 && d->bits >= 8) {
        uint64_t top = (uint64_t)1 << (d->bits - 1);
        return (int64_t)(hn_rng_below(&t->rng, 2) ? top : top - 1); /* the smallest and the largest signed one */
    }
    int64_t top = d->bits < 4 ? 1 : 7;
    return (d->cls == HN_CLASS_INT ? -top - 1 : 0) + (int64_t)hn_rng_below(&t->rng, (uint64_t)(2 * top + 2));
}

/* A few NaN and infinities among ordinary values. */
static void add_specials(hn_trial *t, hn_tensor *x, int64_t n) {
    static const double special[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3 && n > 0; k++) hn_set_f(x, (int64_t)hn_rng_below(&t->rng, (uint64_t)n), special[k]);
}

static void fill_tensor(hn_trial *t, const hn_traits *x, uint32_t i, hn_fill fill) {
    hn_tensor *to = &t->in[i];
    const hn_dtype_info *d = hn_dtype_of(to->dtype);
    int64_t n = hn_tensor_n(to), own = n < TABLE_N ? n : TABLE_N;
    for (int64_t k = 0; k < own; k++) {
        if (d->cls == HN_CLASS_FLOAT)
            hn_set_f(to, k, float_value(t, x, d, fill));
        else
            hn_set_i(to, k, int_value(t, x, i, d, fill));
    }
    for (int64_t at = own; at < n; at += own)
        memcpy((char *)to->data + at * d->size_b, to->data, (size_t)((n - at < own ? n - at : own) * d->size_b));
    if (fill == HN_FILL_SPECIAL && d->cls == HN_CLASS_FLOAT) add_specials(t, to, n);
}

/* Element [k, c, tap] of packed weights (pass/pack_conv.c): [1, panels, 3, 3, channels, 16], or as they were. */
static int64_t weight_at(const hn_tensor *p, int64_t channels, int64_t k, int64_t c, int64_t tap) {
    if (p->rank == 4) return (k * channels + c) * 9 + tap;
    return ((k / HN_WINOGRAD_PANEL * 9 + tap) * channels + c) * HN_WINOGRAD_PANEL + k % HN_WINOGRAD_PANEL;
}

/* Evaluated windows say what the weights say. */
static bool evaluate_windows(hn_trial *t, const hn_node *n) {
    const hn_graph *g = t->m->g;
    const hn_type *type = hn_type_of(g, n->in[1]);
    hn_val v = n->in[1];
    hn_tensor w, u;
    int64_t dim[HN_RANK_MAX];
    while (g->value[v].node) v = hn_def(g, v)->in[0];
    const hn_tensor *p = &t->in[g->value[v].index], *to = &t->in[g->value[n->in[2]].index];
    for (size_t d = 0; d < 4; d++)
        if (!hn_dim_is_int(g->dims, type->dim[d], &dim[d])) return false;
    if (!hn_tensor_new(t->a, HONE_F32, 4, dim, &w)) return false;
    for (int64_t i = 0; i < hn_tensor_n(&w); i++)
        ((float *)w.data)[i] = ((const float *)p->data)[weight_at(p, dim[1], i / 9 / dim[1], i / 9 % dim[1], i % 9)];
    if (!hn_winograd_windows(t->a, &w, hn_winograd_tile(g, n), &u)) return false;
    memcpy(to->data, u.data, (size_t)hn_tensor_n(to) * sizeof(float));
    return true;
}

bool hn_trial_inputs(hn_trial *t, const hn_traits *traits, hn_fill fill) {
    const hn_graph *g = t->m->g;
    const hn_blk *b = &g->block[t->k->body];
    t->n_in = b->n_param;
    t->in = hn_alloc_n(t->a, t->n_in + 1u, sizeof *t->in);
    for (uint32_t i = 0; i < t->n_in && t->in; i++) {
        const hn_type *type = hn_type_of(g, b->param[i]);
        int64_t dim[HN_RANK_MAX];
        for (size_t d = 0; d < type->rank; d++)
            if (!hn_dim_eval(g->dims, type->dim[d], t->symbol, &dim[d])) return false;
        if (!hn_tensor_new(t->a, type->dtype, type->rank, dim, &t->in[i])) return false;
        if (traits->low[i] == 0 && traits->high[i] < 0 && hn_tensor_n(&t->in[i]) > 0) return false; /* no legal index */
        fill_tensor(t, traits, i, fill);
    }
    for (uint32_t i = 0; i < b->n_node && t->in; i++)
        if (hn_winograd_tile(g, &g->node[b->node[i]]) && !evaluate_windows(t, &g->node[b->node[i]])) return false;
    return t->in != NULL;
}
