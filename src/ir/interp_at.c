/* ir/interp_at.c — one element of a result, computed on demand.
 *
 * An element is asked for by value and index; movement changes the index, pointwise operations ask for the elements at
 * the same index and call the interpreter's own functions on scalars, reductions, contractions and windows ask for all
 * that they collect, in the interpreter's order. So every number is rounded where the whole evaluation rounds it.
 * Elements that several ask for, or that cost more than a pointwise operation, are remembered in a hash table: without
 * it a softmax would be quadratic and a diamond exponential.
 */
#include "ir/interp_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct cell { /* an element as it lies in memory */
    _Alignas(8) unsigned char b[8];
} cell;

typedef struct memo {
    uint64_t key, key2; /* value (0: free), flat index */
    cell x;
} memo;

typedef struct lazy {
    const hn_graph *g;
    hn_block block;
    int64_t *symbol;
    const hn_tensor **known; /* per value: parameters and constants */
    int64_t **dim;           /* per value, once needed */
    uint32_t *uses;          /* per value */
    memo *memo;
    size_t n_memo, room_memo; /* a power of two */
    int depth;
    hn_arena arena;
    hone_rc rc; /* sticky */
    hone_err *err;
} lazy;
enum { DEEPEST = 4000 };

static cell at(lazy *r, hn_val v, const int64_t *index);

static cell nothing(void) { return (cell){{0}}; }
static void *failed(lazy *r) {
    if (!r->rc) r->rc = hn_fail(r->err, HONE_E_NOMEM, "out of memory");
    return NULL;
}
static hn_call call_of(lazy *r, const hn_node *n) {
    return (hn_call){.g = r->g, .node = n, .symbol = r->symbol, .scratch = &r->arena, .err = r->err};
}

static const int64_t *dims_of(lazy *r, hn_val v) {
    if (r->dim[v]) return r->dim[v];
    const hn_type *t = hn_type_of(r->g, v);
    int64_t *d = HN_NEW_N(&r->arena, int64_t, HN_RANK_MAX);
    if (!d) return failed(r);
    for (size_t i = 0; i < t->rank && !r->rc; i++)
        if (!hn_dim_eval(r->g->dims, t->dim[i], r->symbol, &d[i]))
            r->rc = hn_fail(r->err, HONE_E_UNSUPPORTED, "a size of the block is not known before its run");
    return r->dim[v] = d;
}

static hn_tensor scalar(hone_dtype t, cell *x) { return (hn_tensor){.dtype = t, .data = x->b}; }
static double as_f(hone_dtype t, cell x) {
    double f;
    hn_tensor s = scalar(t, &x);
    hn_load_f(&s, 0, 1, 1, &f);
    return f;
}
static int64_t as_i(hone_dtype t, cell x) {
    int64_t i;
    hn_tensor s = scalar(t, &x);
    hn_load_i(&s, 0, 1, 1, &i);
    return i;
}
static cell from_f(hone_dtype t, double f) {
    cell x = nothing();
    hn_tensor s = scalar(t, &x);
    hn_store_f(&s, 0, 1, &f);
    return x;
}
static cell from_i(hone_dtype t, int64_t i) {
    cell x = nothing();
    hn_tensor s = scalar(t, &x);
    hn_store_i(&s, 0, 1, &i);
    return x;
}
static hone_dtype dtype_of(const lazy *r, hn_val v) { return hn_type_of(r->g, v)->dtype; }

static int64_t flat_of(lazy *r, hn_val v, const int64_t *index) {
    const int64_t *d = dims_of(r, v);
    int64_t flat = 0;
    for (size_t i = 0; d && i < hn_type_of(r->g, v)->rank; i++) flat = flat * d[i] + index[i];
    return flat;
}

/* -- sources and pointwise */

static cell at_iota(lazy *r, const hn_node *n, const int64_t *index) {
    hone_dtype t = dtype_of(r, n->out[0]);
    int64_t k = hn_type_of(r->g, n->out[0])->rank ? index[hn_attr_i(n, HN_A_AXIS, 0)] : 0;
    return hn_is_float(t) ? from_f(t, (double)k) : from_i(t, k);
}

static int64_t dim_attr(lazy *r, const hn_node *n, hn_attr_id id, size_t i, int64_t otherwise) {
    const hn_attr *a = hn_attr_get(n, id);
    int64_t x = otherwise;
    if (a && !hn_dim_eval(r->g->dims, a->dims[i], r->symbol, &x) && !r->rc)
        r->rc = hn_fail(r->err, HONE_E_UNSUPPORTED, "a size of the block is not known before its run");
    return x;
}

static cell at_dims(lazy *r, const hn_node *n, const int64_t *index) {
    return from_i(HONE_I64, dim_attr(r, n, HN_A_SHAPE, (size_t)index[0], 0));
}

static cell at_random(lazy *r, const hn_node *n, const int64_t *index) {
    const hn_attr *mode = hn_attr_get(n, HN_A_MODE);
    hone_dtype t = dtype_of(r, n->out[0]);
    bool normal = mode && !strcmp(mode->name, "normal");
    return from_f(t, hn_random_at(hn_attr_i(n, HN_A_SEED, 0), normal, t, flat_of(r, n->out[0], index)));
}

static cell at_pointwise(lazy *r, const hn_node *n, const int64_t *index) {
    cell x[3], y = nothing();
    hn_tensor in[3], out = scalar(dtype_of(r, n->out[0]), &y);
    const hn_tensor *p[3];
    for (size_t i = 0; i < n->n_in && i < 3; i++) {
        x[i] = at(r, n->in[i], index);
        in[i] = scalar(dtype_of(r, n->in[i]), &x[i]);
        p[i] = &in[i];
    }
    if (r->rc) return y;
    hn_call c = call_of(r, n);
    c.in = p;
    c.out = &out;
    hone_rc rc = n->op == HN_OP_CAST                 ? hn_eval_cast(&c)
                 : n->op == HN_OP_BITCAST            ? hn_eval_bitcast(&c)
                 : hn_op_of(n->op)->cls == HN_UNARY  ? hn_eval_unary(&c)
                 : hn_op_of(n->op)->cls == HN_BINARY ? hn_eval_binary(&c)
                                                     : hn_eval_select(&c);
    if (rc && !r->rc) r->rc = rc;
    return y;
}

/* -- movement */

static cell at_flat(lazy *r, hn_val v, int64_t flat) {
    int64_t index[HN_RANK_MAX];
    const int64_t *d = dims_of(r, v);
    for (size_t i = hn_type_of(r->g, v)->rank; d && i-- > 0;) {
        index[i] = d[i] ? flat % d[i] : 0;
        flat /= d[i] ? d[i] : 1;
    }
    return d ? at(r, v, index) : nothing();
}

static cell at_reshape(lazy *r, const hn_node *n, const int64_t *index) {
    return at_flat(r, n->in[0], flat_of(r, n->out[0], index));
}

static cell at_transpose(lazy *r, const hn_node *n, const int64_t *index) {
    int64_t in[HN_RANK_MAX];
    const hn_attr *perm = hn_attr_get(n, HN_A_PERM);
    for (uint32_t i = 0; i < perm->n; i++) in[perm->ints[i]] = index[i];
    return at(r, n->in[0], in);
}

static cell at_broadcast(lazy *r, const hn_node *n, const int64_t *index) {
    int64_t in[HN_RANK_MAX];
    const hn_attr *map = hn_attr_get(n, HN_A_MAP);
    const int64_t *d = dims_of(r, n->in[0]);
    for (uint32_t i = 0; d && map && i < map->n; i++) in[i] = d[i] == 1 ? 0 : index[map->ints[i]];
    return d ? at(r, n->in[0], in) : nothing();
}

static cell at_slice(lazy *r, const hn_node *n, const int64_t *index) {
    int64_t in[HN_RANK_MAX];
    const hn_attr *step = hn_attr_get(n, HN_A_STEP);
    for (size_t i = 0; i < hn_type_of(r->g, n->in[0])->rank; i++)
        in[i] = dim_attr(r, n, HN_A_START, i, 0) + index[i] * (step ? step->ints[i] : 1);
    return at(r, n->in[0], in);
}

static cell at_pad(lazy *r, const hn_node *n, const int64_t *index) {
    const hn_attr *mode = hn_attr_get(n, HN_A_MODE);
    const int64_t *d = dims_of(r, n->in[0]);
    int64_t in[HN_RANK_MAX];
    bool constant = !mode || !strcmp(mode->name, "constant");
    for (size_t i = 0; d && i < hn_type_of(r->g, n->in[0])->rank; i++) {
        in[i] = index[i] - dim_attr(r, n, HN_A_LOW, i, 0);
        if (!constant)
            in[i] = hn_pad_source(mode->name, in[i], d[i]);
        else if (in[i] < 0 || in[i] >= d[i])
            return n->n_in > 1 && n->in[1] ? at(r, n->in[1], NULL) : nothing();
    }
    return d ? at(r, n->in[0], in) : nothing();
}

static cell at_concat(lazy *r, const hn_node *n, const int64_t *index) {
    size_t axis = (size_t)hn_attr_i(n, HN_A_AXIS, 0);
    int64_t in[HN_RANK_MAX];
    memcpy(in, index, hn_type_of(r->g, n->out[0])->rank * sizeof *in);
    for (size_t k = 0; k < n->n_in && !r->rc; k++) {
        const int64_t *d = dims_of(r, n->in[k]);
        if (!d) break;
        if (in[axis] < d[axis]) return at(r, n->in[k], in);
        in[axis] -= d[axis];
    }
    return nothing();
}

/* -- indexing */

static int64_t index_value(lazy *r, const hn_node *n, const int64_t *index, int64_t size) {
    int64_t k = as_i(dtype_of(r, n->in[1]), at(r, n->in[1], index));
    if (r->rc || (k >= -size && k < size)) return k < 0 ? k + size : k;
    hn_call c = call_of(r, n);
    r->rc = hn_fail(r->err, HONE_E_INPUT, "%s: index %lld is out of range for %lld elements", hn_call_name(&c),
                    (long long)k, (long long)size);
    return 0;
}

static cell at_gather(lazy *r, const hn_node *n, const int64_t *index) {
    size_t axis = (size_t)hn_attr_i(n, HN_A_AXIS, 0), batch = (size_t)hn_attr_i(n, HN_A_BATCH, 0);
    size_t rank = hn_type_of(r->g, n->in[0])->rank, k_rank = hn_type_of(r->g, n->in[1])->rank, own = k_rank - batch;
    const int64_t *d = dims_of(r, n->in[0]);
    int64_t k[HN_RANK_MAX], in[HN_RANK_MAX];
    if (!d) return nothing();
    for (size_t i = 0; i < batch; i++) k[i] = index[i];
    for (size_t i = 0; i < own; i++) k[batch + i] = index[axis + i];
    for (size_t i = 0; i < rank; i++) in[i] = i < axis ? index[i] : i > axis ? index[i - 1 + own] : 0;
    in[axis] = index_value(r, n, k, d[axis]);
    return r->rc ? nothing() : at(r, n->in[0], in);
}

static cell at_gather_elements(lazy *r, const hn_node *n, const int64_t *index) {
    size_t axis = (size_t)hn_attr_i(n, HN_A_AXIS, 0);
    const int64_t *d = dims_of(r, n->in[0]);
    int64_t in[HN_RANK_MAX];
    if (!d) return nothing();
    memcpy(in, index, hn_type_of(r->g, n->in[0])->rank * sizeof *in);
    in[axis] = index_value(r, n, index, d[axis]);
    return r->rc ? nothing() : at(r, n->in[0], in);
}

static cell at_gather_nd(lazy *r, const hn_node *n, const int64_t *index) {
    size_t batch = (size_t)hn_attr_i(n, HN_A_BATCH, 0), rank = hn_type_of(r->g, n->in[0])->rank,
           k_rank = hn_type_of(r->g, n->in[1])->rank;
    const int64_t *d = dims_of(r, n->in[0]), *kd = dims_of(r, n->in[1]);
    int64_t k[HN_RANK_MAX], in[HN_RANK_MAX];
    if (!d || !kd) return nothing();
    size_t depth = (size_t)kd[k_rank - 1], i = 0;
    for (; i + 1 < k_rank; i++) k[i] = index[i];
    for (i = 0; i < batch; i++) in[i] = index[i];
    for (i = 0; i < depth; i++) {
        k[k_rank - 1] = (int64_t)i;
        in[batch + i] = index_value(r, n, k, d[batch + i]);
    }
    for (i = batch + depth; i < rank; i++) in[i] = index[k_rank - 1 + i - batch - depth];
    return r->rc ? nothing() : at(r, n->in[0], in);
}

/* -- what collects */

typedef struct sum {
    hn_op op;
    hone_dtype t;
    bool is_float;
    double f;
    int64_t i;
} sum;

static sum sum_start(hn_op op, hone_dtype t) {
    return (sum){op, t, hn_is_float(t), hn_is_float(t) ? hn_reduce_start_f(op, t) : 0,
                 hn_is_float(t) ? 0 : hn_reduce_start_i(op, t)};
}
static void sum_add(sum *s, cell x) {
    if (s->is_float)
        s->f = hn_reduce_step_f(s->op, s->f, as_f(s->t, x));
    else
        s->i = hn_reduce_step_i(s->op, s->t == HONE_U64, s->i, as_i(s->t, x));
}
static cell sum_end(const sum *s) { return s->is_float ? from_f(s->t, s->f) : from_i(s->t, s->i); }

static cell at_reduce(lazy *r, const hn_node *n, const int64_t *index) {
    const hn_attr *axes = hn_attr_get(n, HN_A_AXES);
    size_t rank = hn_type_of(r->g, n->in[0])->rank, k = 0, o = 0;
    bool keep = hn_attr_i(n, HN_A_KEEP, 0) != 0;
    const int64_t *d = dims_of(r, n->in[0]);
    int64_t low[HN_RANK_MAX], over[HN_RANK_MAX], step[HN_RANK_MAX] = {0}, in[HN_RANK_MAX];
    sum s = sum_start(n->op, dtype_of(r, n->in[0]));
    for (size_t i = 0; d && i < rank; i++) {
        bool reduced = axes && k < axes->n && axes->ints[k] == (int64_t)i;
        low[i] = reduced ? 0 : index[o];
        over[i] = reduced ? d[i] : 1;
        k += reduced;
        o += !reduced || keep;
        if (over[i] == 0) return sum_end(&s);
    }
    if (!d) return nothing();
    do {
        for (size_t i = 0; i < rank; i++) in[i] = low[i] + step[i];
        sum_add(&s, at(r, n->in[0], in));
    } while (!r->rc && hn_next_index(rank, over, step));
    return sum_end(&s);
}

static cell at_prefix(lazy *r, const hn_node *n, const int64_t *index) {
    size_t axis = (size_t)hn_attr_i(n, HN_A_AXIS, 0), rank = hn_type_of(r->g, n->in[0])->rank;
    bool exclusive = hn_attr_i(n, HN_A_EXCLUSIVE, 0) != 0, reverse = hn_attr_i(n, HN_A_REVERSE, 0) != 0;
    const int64_t *d = dims_of(r, n->in[0]);
    int64_t in[HN_RANK_MAX];
    sum s = sum_start(n->op == HN_OP_CUMPROD ? HN_OP_RPROD : HN_OP_RSUM, dtype_of(r, n->in[0]));
    if (!d) return nothing();
    memcpy(in, index, rank * sizeof *in);
    int64_t count = (reverse ? d[axis] - 1 - index[axis] : index[axis]) + !exclusive;
    for (int64_t i = 0; i < count && !r->rc; i++) {
        in[axis] = reverse ? d[axis] - 1 - i : i;
        sum_add(&s, at(r, n->in[0], in));
    }
    return sum_end(&s);
}

/* A sum of products of the elements of two values, which may have another type than the result. */
typedef struct products {
    hone_dtype ta, tb, t;
    bool is_float;
    double f;
    int64_t i;
} products;

static products products_of(const lazy *r, const hn_node *n, hn_val a, hn_val b) {
    hone_dtype t = dtype_of(r, n->out[0]);
    return (products){dtype_of(r, a), dtype_of(r, b), t, hn_is_float(t), 0, 0};
}
static void products_add(products *p, cell a, cell b) {
    if (p->is_float)
        p->f += as_f(p->ta, a) * as_f(p->tb, b);
    else
        p->i = hn_wrap_add(p->i, hn_wrap_mul(as_i(p->ta, a), as_i(p->tb, b)));
}
static cell products_end(const products *p) { return p->is_float ? from_f(p->t, p->f) : from_i(p->t, p->i); }

static size_t find_label(const hn_attr *a, int64_t label) {
    size_t i = 0;
    while (a && i < a->n && a->ints[i] != label) i++;
    return i;
}

/* The labels that are summed, in the interpreter's order: those of the first input, then those of the second alone. */
static size_t summed_labels(const hn_attr *l, const hn_attr *r, const hn_attr *o, const int64_t *dl, const int64_t *dr,
                            int64_t *label, int64_t *size) {
    size_t n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if (!o || find_label(o, l->ints[i]) == o->n) label[n] = l->ints[i], size[n++] = dl[i];
    for (uint32_t i = 0; i < r->n; i++)
        if ((!o || find_label(o, r->ints[i]) == o->n) && find_label(l, r->ints[i]) == l->n)
            label[n] = r->ints[i], size[n++] = dr[i];
    return n;
}

static void place_labels(const hn_attr *a, const hn_attr *o, const int64_t *index, const int64_t *label, size_t n,
                         const int64_t *step, int64_t *in) {
    for (uint32_t i = 0; i < a->n; i++) {
        size_t k = find_label(o, a->ints[i]);
        if (o && k < o->n) {
            in[i] = index[k];
            continue;
        }
        for (k = 0; k < n && label[k] != a->ints[i];) k++;
        in[i] = step[k];
    }
}

static cell at_contract(lazy *r, const hn_node *n, const int64_t *index) {
    const hn_attr *l = hn_attr_get(n, HN_A_LHS), *rh = hn_attr_get(n, HN_A_RHS), *o = hn_attr_get(n, HN_A_OUT);
    const int64_t *dl = dims_of(r, n->in[0]), *dr = dims_of(r, n->in[1]);
    int64_t label[2 * HN_RANK_MAX], size[2 * HN_RANK_MAX], step[2 * HN_RANK_MAX + 1] = {0};
    int64_t a[HN_RANK_MAX], b[HN_RANK_MAX];
    products p = products_of(r, n, n->in[0], n->in[1]);
    if (!dl || !dr) return nothing();
    size_t k = summed_labels(l, rh, o, dl, dr, label, size);
    for (size_t i = 0; i < k; i++)
        if (size[i] == 0) return products_end(&p);
    do {
        place_labels(l, o, index, label, k, step, a);
        place_labels(rh, o, index, label, k, step, b);
        products_add(&p, at(r, n->in[0], a), at(r, n->in[1], b));
    } while (!r->rc && hn_next_index(k, size, step));
    return products_end(&p);
}

static int64_t int_attr(const hn_node *n, hn_attr_id id, size_t i, int64_t otherwise) {
    const hn_attr *a = hn_attr_get(n, id);
    return a ? a->ints[i] : otherwise;
}

/* Position in the image of window element `tap` (all spatial dimensions) of the result at index; false: no element. */
static bool image_place(lazy *r, const hn_node *n, const int64_t *image, const int64_t *index, const int64_t *tap,
                        size_t spatial, int64_t *in) {
    for (size_t d = 0; d < spatial; d++) {
        int64_t inflate = int_attr(n, HN_A_INFLATE, d, 1);
        int64_t x = index[d] * int_attr(n, HN_A_STRIDE, d, 1) - dim_attr(r, n, HN_A_LOW, d, 0) +
                    tap[d] * int_attr(n, HN_A_DILATION, d, 1);
        if (x < 0 || x % inflate || x / inflate >= image[d]) return false;
        in[d] = x / inflate;
    }
    return true;
}

static cell at_conv(lazy *r, const hn_node *n, const int64_t *index) {
    const int64_t *dx = dims_of(r, n->in[0]), *dw = dims_of(r, n->in[1]);
    products p = products_of(r, n, n->in[1], n->in[0]);
    if (!dx || !dw) return nothing();
    size_t rank = hn_type_of(r->g, n->in[0])->rank;
    bool last = hn_attr_i(n, HN_A_CHANNELS_LAST, 0) != 0;
    size_t channel = hn_channel_dim(last, rank), s = hn_spatial_dim(last);
    int64_t groups = hn_attr_i(n, HN_A_GROUPS, 1), group = index[channel] / hn_max64(dw[0] / groups, 1);
    int64_t w[HN_RANK_MAX] = {index[channel]}, x[HN_RANK_MAX] = {index[0]};
    for (size_t i = 1; i < rank; i++)
        if (dw[i] == 0) return products_end(&p);
    do {
        x[channel] = group * dw[1] + w[1];
        if (image_place(r, n, dx + s, index + s, w + 2, rank - 2, x + s))
            products_add(&p, at(r, n->in[1], w), at(r, n->in[0], x));
    } while (!r->rc && hn_next_index(rank - 1, dw + 1, w + 1));
    return products_end(&p);
}

static cell at_window(lazy *r, const hn_node *n, const int64_t *index) {
    const hn_attr *kernel = hn_attr_get(n, HN_A_KERNEL);
    const int64_t *dx = dims_of(r, n->in[0]);
    bool last = hn_attr_i(n, HN_A_CHANNELS_LAST, 0) != 0;
    size_t channel = hn_channel_dim(last, kernel->n + 2), from = hn_spatial_dim(last);
    int64_t tap[HN_RANK_MAX] = {0}, x[HN_RANK_MAX] = {index[0]};
    x[channel] = index[channel];
    sum s = sum_start(n->op, dtype_of(r, n->in[0]));
    if (!dx) return nothing();
    do {
        if (image_place(r, n, dx + from, index + from, tap, kernel->n, x + from)) sum_add(&s, at(r, n->in[0], x));
    } while (!r->rc && hn_next_index(kernel->n, kernel->ints, tap));
    return sum_end(&s);
}

/* -- dispatch */

typedef cell at_fn(lazy *r, const hn_node *n, const int64_t *index);
static at_fn *const by_class[] = {
    [HN_UNARY] = at_pointwise, [HN_BINARY] = at_pointwise,  [HN_TERNARY] = at_pointwise, [HN_REDUCE] = at_reduce,
    [HN_PREFIX] = at_prefix,   [HN_CONTRACT] = at_contract, [HN_KERNEL] = NULL};
static at_fn *const by_op[HN_N_OPS] = {
    [HN_OP_IOTA] = at_iota,
    [HN_OP_DIMS] = at_dims,
    [HN_OP_RANDOM] = at_random,
    [HN_OP_RESHAPE] = at_reshape,
    [HN_OP_TRANSPOSE] = at_transpose,
    [HN_OP_BROADCAST] = at_broadcast,
    [HN_OP_SLICE] = at_slice,
    [HN_OP_PAD] = at_pad,
    [HN_OP_CONCAT] = at_concat,
    [HN_OP_GATHER] = at_gather,
    [HN_OP_GATHER_ELEMENTS] = at_gather_elements,
    [HN_OP_GATHER_ND] = at_gather_nd,
    [HN_OP_CONV] = at_conv,
    [HN_OP_WSUM] = at_window,
    [HN_OP_WMAX] = at_window,
};

static memo *memo_slot(memo *table, size_t room, uint64_t v, uint64_t flat) {
    for (uint64_t h = v * 0x9e3779b97f4a7c15u + flat * 0xbf58476d1ce4e5b9u;; h++) {
        memo *m = &table[(h ^ h >> 32) & (room - 1)];
        if (!m->key || (m->key == v && m->key2 == flat)) return m;
    }
}

static bool memo_grow(lazy *r) {
    size_t room = r->room_memo ? 2 * r->room_memo : 1024;
    memo *table = calloc(room, sizeof *table);
    if (!table) return false;
    for (size_t i = 0; i < r->room_memo; i++)
        if (r->memo[i].key) *memo_slot(table, room, r->memo[i].key, r->memo[i].key2) = r->memo[i];
    free(r->memo);
    r->memo = table;
    r->room_memo = room;
    return true;
}

static void remember(lazy *r, hn_val v, int64_t flat, cell x) {
    if (2 * r->n_memo >= r->room_memo && !memo_grow(r)) {
        failed(r);
        return;
    }
    *memo_slot(r->memo, r->room_memo, v, (uint64_t)flat) = (memo){v, (uint64_t)flat, x};
    r->n_memo++;
}

static bool is_costly(hn_op_class cls) {
    return cls == HN_REDUCE || cls == HN_PREFIX || cls == HN_CONTRACT || cls == HN_WINDOW;
}

static cell compute(lazy *r, const hn_node *n, const int64_t *index) {
    const hn_op_info *info = hn_op_of(n->op);
    at_fn *fn = by_op[n->op] ? by_op[n->op] : by_class[info->cls];
    if (!fn || r->depth >= DEEPEST) {
        r->rc = hn_fail(r->err, HONE_E_UNSUPPORTED, "%s: '%s' has no elements that can be computed alone", "the block",
                        info->text);
        return nothing();
    }
    r->depth++;
    cell x = fn(r, n, index);
    r->depth--;
    return x;
}

static cell at(lazy *r, hn_val v, const int64_t *index) {
    if (r->rc) return nothing();
    const hn_tensor *t = r->known[v];
    const hn_node *n = hn_def(r->g, v);
    if (n && n->op == HN_OP_CONST) t = hn_attr_get(n, HN_A_VALUE)->tensor;
    if (!t && !n) {
        r->rc = hn_fail(r->err, HONE_E_INPUT, "the block uses a value from outside");
        return nothing();
    }
    if (t) {
        cell x = nothing();
        size_t b = hn_dtype_of(t->dtype)->size_b;
        int64_t flat = 0;
        for (size_t i = 0; i < t->rank; i++) flat = flat * t->dim[i] + index[i];
        memcpy(x.b, (const char *)t->data + (size_t)flat * b, b);
        return x;
    }
    if (r->uses[v] < 2 && !is_costly(hn_op_of(n->op)->cls)) return compute(r, n, index);
    int64_t flat = flat_of(r, v, index);
    if (r->room_memo) {
        const memo *m = memo_slot(r->memo, r->room_memo, v, (uint64_t)flat);
        if (m->key) return m->x;
    }
    cell x = compute(r, n, index);
    if (!r->rc) remember(r, v, flat, x);
    return x;
}

static hone_rc prepare(lazy *r, const hn_tensor *in, const int64_t *symbols) {
    const hn_graph *g = r->g;
    const hn_blk *b = &g->block[r->block];
    size_t n = hn_dims_symbols(g->dims), found = 0;
    r->symbol = HN_NEW_N(&r->arena, int64_t, n + 1);
    r->known = calloc(g->n_value + 1, sizeof *r->known);
    r->dim = calloc(g->n_value + 1, sizeof *r->dim);
    r->uses = calloc(g->n_value + 1, sizeof *r->uses);
    if (!r->symbol || !r->known || !r->dim || !r->uses) return hn_fail(r->err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) r->symbol[i] = symbols ? symbols[i] : INT64_MIN;
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; !rc && i < b->n_param; i++) {
        r->known[b->param[i]] = &in[i];
        rc = hn_sizes_match(g, hn_type_of(g, b->param[i]), &in[i], r->symbol, false, &found, "parameter", r->err);
    }
    for (uint32_t i = 0; i < b->n_node; i++) {
        const hn_node *node = &g->node[b->node[i]];
        for (size_t k = 0; k < node->n_in; k++) r->uses[node->in[k]]++;
    }
    return rc;
}

hone_rc hn_interpret_at(const hn_graph *g, hn_block b, const hn_tensor *in, const int64_t *symbols, size_t result,
                        const int64_t *index, double *value, hone_err *err) {
    lazy r = {.g = g, .block = b, .err = err};
    r.rc = prepare(&r, in, symbols);
    hn_val v = g->block[b].result[result];
    cell x = r.rc ? nothing() : at(&r, v, index);
    if (!r.rc)
        *value = hn_is_float(dtype_of(&r, v))  ? as_f(dtype_of(&r, v), x)
                 : dtype_of(&r, v) == HONE_U64 ? (double)(uint64_t)as_i(HONE_U64, x)
                                               : (double)as_i(dtype_of(&r, v), x);
    free(r.memo);
    free(r.known);
    free(r.dim);
    free(r.uses);
    hn_arena_free(&r.arena);
    return r.rc;
}
