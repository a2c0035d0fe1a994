/* nest/interp_scalar.c — scalars of a nest that runs: the operations of the graph interpreter, lane by lane; updates
 * of registers; tile products. */
#include "nest/interp_int.h"
#include "nest/mma.h"

#include <stdlib.h>

static size_t size_of(hone_dtype t) { return hn_dtype_of(t)->size_b; }

const void *hn_run_element(hn_run_state *s, hn_sv x, int64_t lane) {
    const hn_value_of *v = &s->value[x];
    return (const char *)v->data.data + (size_t)(lane / (hn_run_lanes(s) / v->lanes)) * size_of(v->data.dtype);
}

static hone_rc no_memory(hn_run_state *s) {
    return hn_fail(s->err, HONE_E_NOMEM, "out of memory in running a loop nest");
}

/* Room for the scalar's lanes; what is there is zeroed where it is new. */
static bool make_room(hn_run_state *s, hn_value_of *v, hone_dtype t, int64_t lanes) {
    if (v->room < lanes || !v->data.data) {
        if (!hn_tensor_new(&s->a, t, 1, &lanes, &v->data)) return false;
        v->room = lanes;
    }
    v->data.dtype = t;
    v->data.rank = 1;
    v->data.dim[0] = v->lanes = lanes;
    return true;
}

static hone_rc load_lane(hn_run_state *s, const hn_scalar *x, int64_t lane, void *to) {
    bool holds;
    int64_t at;
    hone_rc rc = hn_run_holds(s, x->n_guard, x->guard, lane, &holds);
    memset(to, 0, size_of(x->dtype));
    if (rc || !holds || (rc = hn_run_index(s, x->at, lane, &at))) return rc;
    return hn_run_read(s, x->buf, at, lane, to);
}

static hone_rc wrap_lane(hn_run_state *s, const hn_scalar *x, int64_t lane, void *to) {
    int64_t i, below;
    memcpy(&i, hn_run_element(s, x->arg[0], lane), sizeof i);
    if (!hn_dim_eval(s->n->dims, x->below, s->run->symbol, &below))
        return hn_run_wrong(s, "has a size that is not known");
    if (i < 0) i += below;
    if (i < 0 || i >= below) {
        s->run->index_fault = true;
        i = i < 0 || below < 1 ? 0 : below - 1;
    }
    memcpy(to, &i, sizeof i);
    return HONE_OK;
}

static hone_rc let_lane(hn_run_state *s, const hn_scalar *x, hn_value_of *v, int64_t lane) {
    char *to = (char *)v->data.data + (size_t)lane * size_of(x->dtype);
    int64_t i;
    bool holds;
    hone_rc rc;
    switch (x->kind) {
    case HN_SV_CONST:
        if (hn_is_float(x->dtype))
            hn_set_f(&v->data, lane, x->f);
        else
            hn_set_i(&v->data, lane, x->i);
        return HONE_OK;
    case HN_SV_LOAD: return load_lane(s, x, lane, to);
    case HN_SV_INDEX:
        if ((rc = hn_run_index(s, x->at, lane, &i))) return rc;
        memcpy(to, &i, sizeof i);
        return HONE_OK;
    case HN_SV_WRAP: return wrap_lane(s, x, lane, to);
    case HN_SV_PICK:
        if ((rc = hn_run_holds(s, x->n_guard, x->guard, lane, &holds))) return rc;
        memcpy(to, hn_run_element(s, x->arg[!holds], lane), size_of(x->dtype));
        return HONE_OK;
    case HN_SV_OP: break;
    }
    return HONE_OK;
}

/* The sum of the products of four bytes: unsigned times signed. */
static int32_t product_of_bytes(const void *a, const void *b) {
    uint8_t x[4];
    int8_t y[4];
    int32_t sum = 0;
    memcpy(x, a, 4);
    memcpy(y, b, 4);
    for (int k = 0; k < 4; k++) sum += x[k] * y[k];
    return sum;
}

/* Of two bf16, the low one first: the product of one, or of both, added up. */
static double product_of_pairs(const void *a, const void *b, hn_pairs which) {
    uint16_t x[2], y[2];
    double sum = 0;
    memcpy(x, a, 4);
    memcpy(y, b, 4);
    const hn_tensor s = {.dtype = HONE_BF16, .rank = 1, .dim = {2}, .data = x},
                    t = {.dtype = HONE_BF16, .rank = 1, .dim = {2}, .data = y};
    for (int k = which == HN_PAIRS_HIGH; k < (which == HN_PAIRS_LOW ? 1 : 2); k++)
        sum += hn_get_f(&s, k) * hn_get_f(&t, k);
    return sum;
}

/* An operand with an element for each lane of now; *own is to be freed. */
static bool spread(hn_run_state *s, hn_sv x, hn_tensor *t, void **own) {
    const hn_value_of *v = &s->value[x];
    int64_t lanes = hn_run_lanes(s);
    size_t size = size_of(v->data.dtype);
    *t = v->data;
    *own = NULL;
    if (v->lanes == lanes) return true;
    if (!(*own = malloc((size_t)lanes * size + 1))) return false;
    for (int64_t l = 0; l < lanes; l++) memcpy((char *)*own + (size_t)l * size, hn_run_element(s, x, l), size);
    t->data = *own;
    t->dim[0] = lanes;
    return true;
}

static hone_rc operation(hn_run_state *s, const hn_scalar *x, hn_value_of *v) {
    hn_tensor in[3];
    const hn_tensor *list[3] = {&in[0], &in[1], &in[2]};
    void *own[3] = {NULL, NULL, NULL};
    hn_attr saturate = {.id = HN_A_SATURATE, .kind = HN_K_INT, .i = x->saturate};
    hn_node node = {.op = x->op, .n_in = x->n_arg, .n_out = 1, .n_attr = x->op == HN_OP_CAST, .attr = &saturate};
    hn_call call = {.node = &node, .in = list, .out = &v->data, .err = s->err};
    bool room = true;
    for (int k = 0; k < x->n_arg && room; k++) room = spread(s, x->arg[k], &in[k], &own[k]);
    hone_rc rc = room ? HONE_OK : no_memory(s);
    if (rc) {
    } else if (x->bytes) {
        for (int64_t l = 0; l < v->lanes; l++)
            hn_set_i(&v->data, l, product_of_bytes((char *)in[0].data + 4 * l, (char *)in[1].data + 4 * l));
    } else if (x->pairs) {
        for (int64_t l = 0; l < v->lanes; l++)
            hn_set_f(&v->data, l, product_of_pairs((char *)in[0].data + 4 * l, (char *)in[1].data + 4 * l, x->pairs));
    } else if (x->op == HN_OP_CAST) {
        rc = hn_eval_cast(&call);
    } else if (x->op == HN_OP_BITCAST) {
        rc = hn_eval_bitcast(&call);
    } else if (x->n_arg == 3) {
        rc = hn_eval_select(&call);
    } else {
        rc = x->n_arg == 1 ? hn_eval_unary(&call) : hn_eval_binary(&call);
    }
    for (int k = 0; k < 3; k++) free(own[k]);
    return rc;
}

hone_rc hn_run_let(hn_run_state *s, hn_sv id) {
    const hn_scalar x = s->n->sv[id];
    hn_value_of *v = &s->value[id];
    int64_t lanes = hn_run_lanes(s);
    if (!make_room(s, v, x.dtype, lanes)) return no_memory(s);
    if (x.kind == HN_SV_OP) return operation(s, &x, v);
    hone_rc rc = HONE_OK;
    for (int64_t l = 0; l < lanes && !rc; l++)
        if (hn_run_takes_part(s, l)) rc = let_lane(s, &x, v, l);
    return rc;
}

/* -- updates */
typedef struct folded { /* what lanes add: c[i] where has[i] */
    char *c;
    uint8_t *has;
    size_t size_b;
    hone_dtype t;
    hn_op op;
} folded;

static void combine(hn_op op, hone_dtype t, void *into, const void *with) {
    hn_tensor a = {.dtype = t, .rank = 1, .dim = {1}, .data = into}, b = a;
    char copy[16];
    memcpy(copy, with, size_of(t));
    b.data = copy;
    if (hn_is_float(t)) {
        double x = hn_get_f(&a, 0), y = hn_get_f(&b, 0);
        hn_binary_f(op, 1, &x, &y, &x);
        hn_set_f(&a, 0, x);
    } else {
        int64_t x = hn_get_i(&a, 0), y = hn_get_i(&b, 0);
        hn_binary_i(op, t == HONE_U64, hn_dtype_of(t)->bits, 1, &x, &y, &x);
        hn_set_i(&a, 0, x);
    }
}

/* c[i] takes c[j], too. */
static void join(folded *f, int64_t i, int64_t j) {
    char *to = f->c + (size_t)i * f->size_b;
    const char *from = f->c + (size_t)j * f->size_b;
    if (!f->has[j]) return;
    if (f->has[i])
        combine(f->op, f->t, to, from);
    else
        memcpy(to, from, f->size_b);
    f->has[i] = 1;
}

/* count elements, `step` apart, into the first of them: in halves. */
static void halves(folded *f, int64_t first, int64_t count, int64_t step) {
    int64_t half = 1;
    while (2 * half < count) half *= 2;
    for (; half >= 1 && count > 1; half /= 2)
        for (int64_t i = 0; i < half; i++)
            if (i + half < count) join(f, first + i * step, first + (i + half) * step);
}

/* Threads: each 32 neighbours, then what those gave. */
static void fold_threads(folded *f, int64_t count) {
    for (int64_t w = 0; w < count; w += 32) halves(f, w, count - w < 32 ? count - w : 32, 1);
    halves(f, 0, (count + 31) / 32, 32);
}

/* Folds the lanes of the loops inside the register's: the innermost first. Returns how many elements are left; those of
 * unrolled loops, which are added in order. */
static int64_t fold_lanes(hn_run_state *s, folded *f, int64_t count, int64_t outer_lanes) {
    for (int d = s->depth - 1; d >= 0 && s->loop[d].lanes > outer_lanes; d--) {
        const hn_run_loop *l = &s->loop[d];
        if (l->kind != HN_VECTOR && l->kind != HN_UNROLL && l->kind != HN_GROUP) continue;
        int64_t e = l->extent;
        bool in_order = l->kind == HN_UNROLL;
        for (int k = d; in_order && k >= 0 && s->loop[k].lanes > outer_lanes; k--)
            in_order = s->loop[k].kind == HN_UNROLL || s->loop[k].kind == HN_SERIAL;
        if (in_order) return count;
        for (; l->kind == HN_GROUP && d > 0 && s->loop[d - 1].lanes > outer_lanes; d--)
            if (s->loop[d - 1].kind == HN_GROUP) e *= s->loop[d - 1].extent;
        for (int64_t at = 0; at < count; at += e) {
            folded part = {f->c + (size_t)at * f->size_b, f->has + at, f->size_b, f->t, f->op};
            if (l->kind == HN_GROUP)
                fold_threads(&part, e);
            else if (l->kind == HN_VECTOR)
                halves(&part, 0, e, 1);
            else
                for (int64_t i = 1; i < e; i++) join(&part, 0, i);
            memmove(f->c + (size_t)(at / e) * f->size_b, part.c, f->size_b);
            f->has[at / e] = part.has[0];
        }
        count /= e;
    }
    return count;
}

static hone_rc gather_lane(hn_run_state *s, const hn_stmt *x, folded *f, int64_t i, int64_t lane, int64_t *at) {
    bool holds;
    int64_t here;
    f->has[i] = 0;
    if (!hn_run_takes_part(s, lane)) return HONE_OK;
    hone_rc rc = hn_run_holds(s, x->n_guard, x->guard, lane, &holds);
    if (rc || !holds || (rc = hn_run_index(s, x->at, lane, &here))) return rc;
    memcpy(f->c + (size_t)i * f->size_b, hn_run_element(s, x->value, lane), f->size_b);
    f->has[i] = 1;
    *at = here;
    return HONE_OK;
}

hone_rc hn_run_update(hn_run_state *s, const hn_stmt *x) {
    hn_run_memory *m = &s->mem[x->buf];
    hone_dtype t = s->n->buf[x->buf].dtype;
    int64_t lanes = hn_run_lanes(s), shared = lanes / m->lanes;
    folded f = {malloc((size_t)shared * size_of(t) + 1), malloc((size_t)shared + 1), size_of(t), t, x->op};
    hone_rc rc = f.c && f.has ? HONE_OK : no_memory(s);
    for (int64_t first = 0; first < lanes && !rc; first += shared) {
        int64_t at = -1, same = -1;
        bool one = true; /* one element for all of them */
        for (int64_t i = 0; i < shared && !rc; i++) {
            rc = gather_lane(s, x, &f, i, first + i, &at);
            if (f.has[i] && same >= 0 && at != same) one = false;
            if (f.has[i]) same = at;
        }
        int64_t count = one && !rc ? fold_lanes(s, &f, shared, m->lanes) : shared;
        for (int64_t i = 0; i < count && !rc; i++) {
            char acc[16];
            if (!f.has[i]) continue;
            if (!one) rc = hn_run_index(s, x->at, first + i, &at);
            if (!rc) rc = hn_run_read(s, x->buf, at, first, acc);
            if (!rc) combine(x->op, t, acc, f.c + (size_t)i * f.size_b);
            if (!rc) rc = hn_run_write(s, x->buf, at, first, acc);
        }
    }
    free(f.c);
    free(f.has);
    return rc;
}

/* -- tile products */
/* A warp's registers as a matrix, or back. */
static hone_rc fragment(hn_run_state *s, hn_buf b, hn_ix index, const hn_mma_map *map, int64_t first, int64_t step,
                        int columns, float *tile, bool back) {
    char raw[16];
    hn_tensor one = {.dtype = s->n->buf[b].dtype, .rank = 1, .dim = {1}, .data = raw};
    hone_rc rc = HONE_OK;
    for (int lane = 0; lane < HN_MMA_LANES; lane++)
        for (int reg = 0; reg < map->registers && !rc; reg++) {
            int row, column;
            int64_t at, l = first + lane * step;
            hn_mma_where(map, lane, reg, &row, &column);
            if ((rc = hn_run_index(s, index, l, &at))) break;
            if (back) {
                hn_set_f(&one, 0, (double)tile[row * columns + column]);
                rc = hn_run_write(s, b, at + reg, l, raw);
            } else if (!(rc = hn_run_read(s, b, at + reg, l, raw))) {
                tile[row * columns + column] = (float)hn_get_f(&one, 0);
            }
        }
    return rc;
}

hone_rc hn_run_mma(hn_run_state *s, const hn_stmt *x) {
    const hn_mma *row = hn_mma_at((size_t)x->count);
    int64_t lanes = hn_run_lanes(s), inner = lanes / s->threads;
    float d[16 * 16], a[16 * 16], b[16 * 16];
    hone_rc rc = HONE_OK;
    for (int64_t warp = 0; warp < s->threads / HN_MMA_LANES; warp++)
        for (int64_t u = 0; u < inner && !rc; u++) {
            int64_t first = warp * HN_MMA_LANES * inner + u;
            rc = fragment(s, x->buf, x->at, &row->map[HN_MMA_OF_D], first, inner, row->n, d, false);
            if (!rc)
                rc = fragment(s, x->from[0], x->from_at[0], &row->map[HN_MMA_OF_A], first, inner, row->k, a, false);
            if (!rc)
                rc = fragment(s, x->from[1], x->from_at[1], &row->map[HN_MMA_OF_B], first, inner, row->n, b, false);
            if (!rc) hn_mma_reference(row, d, a, b);
            if (!rc) rc = fragment(s, x->buf, x->at, &row->map[HN_MMA_OF_D], first, inner, row->n, d, true);
        }
    return rc;
}
