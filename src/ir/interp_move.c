/* ir/interp_move.c — sources and movement: every movement but pad is one strided copy. */
#include "ir/interp_int.h"

#include "ir/philox.h"

#include <string.h>

static size_t size_b_of(const hn_tensor *t) { return hn_dtype_of(t->dtype)->size_b; }

/* Dimension expressions of an attribute; n_want entries. An absent one is all `otherwise`. */
static hone_rc dims_of(const hn_call *c, hn_attr_id id, size_t n_want, int64_t otherwise, int64_t *out) {
    const hn_attr *a = hn_attr_get(c->node, id);
    for (size_t i = 0; i < n_want; i++) {
        out[i] = otherwise;
        if (a && i < a->n && !hn_dim_eval(c->g->dims, a->dims[i], c->symbol, &out[i]))
            return hn_fail(c->err, HONE_E_UNSUPPORTED, "%s: entry %zu of '%s' is not known before the run",
                           hn_call_name(c), i, hn_attr_of(id)->text);
    }
    return HONE_OK;
}

hone_rc hn_eval_const(hn_call *c) {
    const hn_tensor *t = hn_attr_get(c->node, HN_A_VALUE)->tensor;
    memcpy(c->out[0].data, t->data, (size_t)hn_tensor_n(t) * size_b_of(t));
    return HONE_OK;
}

hone_rc hn_eval_iota(hn_call *c) {
    hn_tensor *y = &c->out[0];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0);
    int64_t n = hn_tensor_n(y), inner = y->rank ? hn_product(y->dim, axis + 1, y->rank) : 1,
            len = y->rank ? y->dim[axis] : 1;
    bool as_float = hn_is_float(y->dtype);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i / inner % len;
        if (as_float)
            hn_set_f(y, i, (double)k);
        else
            hn_set_i(y, i, k);
    }
    return HONE_OK;
}

hone_rc hn_eval_dims(hn_call *c) { return dims_of(c, HN_A_SHAPE, (size_t)hn_tensor_n(&c->out[0]), 0, c->out[0].data); }

double hn_random_at(int64_t seed, bool normal, hone_dtype t, int64_t i) {
    return normal ? hnr_philox_normal(seed, i) : hnr_philox_uniform(seed, i, hn_random_bits(t));
}

hone_rc hn_eval_random(hn_call *c) {
    const hn_attr *mode = hn_attr_get(c->node, HN_A_MODE);
    bool normal = mode && !strcmp(mode->name, "normal");
    int64_t seed = hn_attr_i(c->node, HN_A_SEED, 0), n = hn_tensor_n(&c->out[0]);
    for (int64_t i = 0; i < n; i++) hn_set_f(&c->out[0], i, hn_random_at(seed, normal, c->out[0].dtype, i));
    return HONE_OK;
}

hone_rc hn_eval_reshape(hn_call *c) {
    int64_t n = hn_tensor_n(c->in[0]);
    if (n != hn_tensor_n(&c->out[0]))
        return hn_fail(c->err, HONE_E_INPUT, "%s: %lld elements do not fit a shape of %lld", hn_call_name(c),
                       (long long)n, (long long)hn_tensor_n(&c->out[0]));
    memcpy(c->out[0].data, c->in[0]->data, (size_t)n * size_b_of(c->in[0]));
    return HONE_OK;
}

static void gather_strided(hn_call *c, int64_t offset, const int64_t *from_stride) {
    int64_t to_stride[HN_RANK_MAX];
    hn_tensor *y = &c->out[0];
    hn_strides(y, to_stride);
    hn_copy_box(size_b_of(y), y->rank, y->dim, y->data, to_stride,
                (const char *)c->in[0]->data + offset * (int64_t)size_b_of(y), from_stride);
}

hone_rc hn_eval_transpose(hn_call *c) {
    int64_t in[HN_RANK_MAX], from[HN_RANK_MAX];
    const int64_t *perm = hn_attr_get(c->node, HN_A_PERM)->ints;
    hn_strides(c->in[0], in);
    for (size_t i = 0; i < c->in[0]->rank; i++) from[i] = in[perm[i]];
    gather_strided(c, 0, from);
    return HONE_OK;
}

hone_rc hn_eval_broadcast(hn_call *c) {
    int64_t in[HN_RANK_MAX], from[HN_RANK_MAX] = {0};
    const hn_tensor *x = c->in[0], *y = &c->out[0];
    const hn_attr *map = hn_attr_get(c->node, HN_A_MAP);
    hn_strides(x, in);
    for (size_t i = 0; i < x->rank; i++) {
        size_t k = (size_t)map->ints[i];
        if (x->dim[i] != 1 && x->dim[i] != y->dim[k])
            return hn_fail(c->err, HONE_E_INPUT, "%s: dimension %zu is %lld, which does not broadcast to %lld",
                           hn_call_name(c), i, (long long)x->dim[i], (long long)y->dim[k]);
        from[k] = x->dim[i] == 1 ? 0 : in[i];
    }
    gather_strided(c, 0, from);
    return HONE_OK;
}

hone_rc hn_eval_slice(hn_call *c) {
    int64_t in[HN_RANK_MAX], from[HN_RANK_MAX], start[HN_RANK_MAX], offset = 0;
    const hn_tensor *x = c->in[0], *y = &c->out[0];
    const hn_attr *step = hn_attr_get(c->node, HN_A_STEP);
    hone_rc rc = dims_of(c, HN_A_START, x->rank, 0, start);
    if (rc) return rc;
    hn_strides(x, in);
    for (size_t i = 0; i < x->rank; i++) {
        int64_t s = step ? step->ints[i] : 1, last = start[i] + (y->dim[i] - 1) * s;
        if (y->dim[i] > 0 && (start[i] < 0 || start[i] >= x->dim[i] || last < 0 || last >= x->dim[i]))
            return hn_fail(c->err, HONE_E_INPUT,
                           "%s: positions %lld to %lld of dimension %zu lie outside of its %lld elements",
                           hn_call_name(c), (long long)start[i], (long long)last, i, (long long)x->dim[i]);
        from[i] = s * in[i];
        offset += start[i] * in[i];
    }
    if (hn_tensor_n(y)) gather_strided(c, offset, from);
    return HONE_OK;
}

int64_t hn_pad_source(const char *mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    if (!strcmp(mode, "edge")) return i < 0 ? 0 : n - 1;
    int64_t period = strcmp(mode, "reflect") ? n : hn_max64(2 * (n - 1), 1);
    i = (i % period + period) % period;
    return i < n ? i : period - i;
}

static void fill(hn_tensor *y, const hn_tensor *value) {
    size_t b = size_b_of(y);
    int64_t n = hn_tensor_n(y);
    char *p = y->data;
    for (int64_t i = 0; i < n; i++) memcpy(p + i * (int64_t)b, value->data, b);
}

static void pad_constant(hn_call *c, const int64_t *low) {
    const hn_tensor *x = c->in[0];
    hn_tensor *y = &c->out[0];
    int64_t from[HN_RANK_MAX], to[HN_RANK_MAX], offset = 0;
    if (c->node->n_in > 1 && c->in[1]) fill(y, c->in[1]);
    hn_strides(x, from);
    hn_strides(y, to);
    for (size_t i = 0; i < x->rank; i++) offset += low[i] * to[i];
    if (!hn_tensor_n(x)) return;
    hn_copy_box(size_b_of(x), x->rank, x->dim, (char *)y->data + offset * (int64_t)size_b_of(x), to, x->data, from);
}

static void pad_other(hn_call *c, const char *mode, const int64_t *low) {
    const hn_tensor *x = c->in[0];
    hn_tensor *y = &c->out[0];
    int64_t from[HN_RANK_MAX], index[HN_RANK_MAX] = {0}, b = (int64_t)size_b_of(x), at = 0;
    if (!hn_tensor_n(y)) return;
    hn_strides(x, from);
    do {
        int64_t f = 0;
        for (size_t i = 0; i < x->rank; i++) f += hn_pad_source(mode, index[i] - low[i], x->dim[i]) * from[i];
        memcpy((char *)y->data + at++ * b, (const char *)x->data + f * b, (size_t)b);
    } while (hn_next_index(y->rank, y->dim, index));
}

hone_rc hn_eval_pad(hn_call *c) {
    const hn_tensor *x = c->in[0];
    const hn_attr *mode = hn_attr_get(c->node, HN_A_MODE);
    const char *name = mode ? mode->name : "constant";
    int64_t low[HN_RANK_MAX], high[HN_RANK_MAX];
    hone_rc rc = dims_of(c, HN_A_LOW, x->rank, 0, low);
    if (!rc) rc = dims_of(c, HN_A_HIGH, x->rank, 0, high);
    for (size_t i = 0; !rc && i < x->rank; i++) {
        if (low[i] < 0 || high[i] < 0 || x->dim[i] + low[i] + high[i] != c->out[0].dim[i])
            rc = hn_fail(c->err, HONE_E_INPUT, "%s: padding of %lld and %lld around dimension %zu, of %lld elements",
                         hn_call_name(c), (long long)low[i], (long long)high[i], i, (long long)x->dim[i]);
        else if (strcmp(name, "constant") && x->dim[i] == 0 && low[i] + high[i] > 0)
            rc = hn_fail(c->err, HONE_E_INPUT, "%s: dimension %zu is empty, which mode '%s' cannot pad",
                         hn_call_name(c), i, name);
    }
    if (rc) return rc;
    if (strcmp(name, "constant"))
        pad_other(c, name, low);
    else
        pad_constant(c, low);
    return HONE_OK;
}

hone_rc hn_eval_concat(hn_call *c) {
    hn_tensor *y = &c->out[0];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0), b = size_b_of(y);
    int64_t outer = hn_product(y->dim, 0, axis), inner = hn_product(y->dim, axis + 1, y->rank), at = 0;
    for (size_t k = 0; k < c->node->n_in; k++) {
        const hn_tensor *x = c->in[k];
        bool fits = x->rank == y->rank && at + x->dim[axis] <= y->dim[axis];
        for (size_t i = 0; fits && i < y->rank; i++) fits = i == axis || x->dim[i] == y->dim[i];
        if (!fits)
            return hn_fail(c->err, HONE_E_INPUT, "%s: the shape of input %zu does not fit those before it",
                           hn_call_name(c), k);
        size_t row_b = (size_t)(x->dim[axis] * inner) * b;
        for (int64_t o = 0; o < outer; o++)
            memcpy((char *)y->data + (size_t)((o * y->dim[axis] + at) * inner) * b,
                   (const char *)x->data + (size_t)o * row_b, row_b);
        at += x->dim[axis];
    }
    return HONE_OK;
}
