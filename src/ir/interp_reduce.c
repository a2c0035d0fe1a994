/* ir/interp_reduce.c — reductions, arg reductions and prefix operations.
 *
 * A reduction walks its input once in row-major order, so every result collects its elements in that order, in double
 * (integers: 64 bits with wrap).
 */
#include "ir/interp_int.h"

#include <math.h>

static double extreme_f(hone_dtype t, bool highest) {
    double inf = highest ? (double)INFINITY : -(double)INFINITY;
    if (hn_dtype_of(t)->bits > 8) return inf;
    return isinf(hn_float_decode(t, hn_float_encode(t, inf, false))) ? inf
           : highest                                                 ? hn_dtype_of(t)->highest
                                                                     : hn_dtype_of(t)->lowest;
}

double hn_reduce_start_f(hn_op op, hone_dtype t) {
    switch (op) {
    case HN_OP_RPROD: return 1;
    case HN_OP_RMIN: return extreme_f(t, true);
    case HN_OP_RMAX:
    case HN_OP_WMAX: return extreme_f(t, false);
    default: return 0;
    }
}

int64_t hn_reduce_start_i(hn_op op, hone_dtype t) {
    const hn_dtype_info *info = hn_dtype_of(t);
    bool is_signed = info->cls == HN_CLASS_INT;
    switch (op) {
    case HN_OP_RPROD: return 1;
    case HN_OP_RMIN:
        return info->bits == 64 && !is_signed ? (int64_t)UINT64_MAX
                                              : (int64_t)(UINT64_MAX >> (64 - info->bits) >> is_signed);
    case HN_OP_RMAX:
    case HN_OP_WMAX: return is_signed ? -(int64_t)(UINT64_MAX >> (64 - info->bits) >> 1) - 1 : 0;
    default: return 0;
    }
}

double hn_reduce_step_f(hn_op op, double acc, double x) {
    switch (op) {
    case HN_OP_RPROD: return acc * x;
    case HN_OP_RMIN: return acc != acc ? acc : x < acc || x != x ? x : acc;
    case HN_OP_RMAX:
    case HN_OP_WMAX: return acc != acc ? acc : x > acc || x != x ? x : acc;
    default: return acc + x;
    }
}

int64_t hn_reduce_step_i(hn_op op, bool uns, int64_t acc, int64_t x) {
    switch (op) {
    case HN_OP_RPROD: return hn_wrap_mul(acc, x);
    case HN_OP_RMIN: return (uns ? (uint64_t)x < (uint64_t)acc : x < acc) ? x : acc;
    case HN_OP_RMAX:
    case HN_OP_WMAX: return (uns ? (uint64_t)x > (uint64_t)acc : x > acc) ? x : acc;
    default: return hn_wrap_add(acc, x);
    }
}

/* Stride in the result of each input dimension: 0 for those reduced. */
static void result_strides(const hn_node *n, const hn_tensor *x, int64_t *stride) {
    const hn_attr *axes = hn_attr_get(n, HN_A_AXES);
    int64_t s = 1;
    for (size_t i = x->rank; i-- > 0;) {
        bool reduced = false;
        for (size_t k = 0; axes && k < axes->n; k++) reduced = reduced || axes->ints[k] == (int64_t)i;
        stride[i] = reduced ? 0 : s;
        if (!reduced) s *= x->dim[i];
    }
}

static void add_row_f(hn_op op, const double *x, int64_t n, double *acc, int64_t step) {
    if (op == HN_OP_RSUM && step == 0) {
        double a = *acc;
        for (int64_t i = 0; i < n; i++) a += x[i];
        *acc = a;
    } else {
        for (int64_t i = 0; i < n; i++) acc[i * step] = hn_reduce_step_f(op, acc[i * step], x[i]);
    }
}

/* One row (along the last dimension) after the other. */
static void reduce_rows(const hn_call *c, const int64_t *stride, double *f, int64_t *k) {
    const hn_tensor *x = c->in[0];
    size_t last = x->rank ? x->rank - 1u : 0;
    int64_t index[HN_RANK_MAX] = {0}, len = x->rank ? x->dim[last] : 1, step = x->rank ? stride[last] : 0, at = 0, m;
    hn_op op = c->node->op;
    double fx[HN_CHUNK];
    int64_t kx[HN_CHUNK];
    do {
        int64_t o = 0;
        for (size_t i = 0; i < last; i++) o += index[i] * stride[i];
        for (int64_t j = 0; j < len; j += m, at += m) {
            m = hn_min64(len - j, HN_CHUNK);
            if (f) {
                hn_load_f(x, at, 1, m, fx);
                add_row_f(op, fx, m, f + o + j * step, step);
            } else {
                hn_load_i(x, at, 1, m, kx);
                for (int64_t i = 0; i < m; i++) {
                    int64_t *acc = k + o + (j + i) * step;
                    *acc = hn_reduce_step_i(op, x->dtype == HONE_U64, *acc, kx[i]);
                }
            }
        }
    } while (hn_next_index(last, x->dim, index));
}

hone_rc hn_eval_reduce(hn_call *c) {
    const hn_tensor *x = c->in[0];
    hn_tensor *y = &c->out[0];
    int64_t stride[HN_RANK_MAX], n = hn_tensor_n(y);
    bool is_float = hn_is_float(x->dtype);
    double *f = is_float ? HN_NEW_N(c->scratch, double, (size_t)n) : NULL;
    int64_t *k = is_float ? NULL : HN_NEW_N(c->scratch, int64_t, (size_t)n);
    if (!f && !k) return hn_call_nomem(c);
    for (int64_t i = 0; i < n; i++) {
        if (f)
            f[i] = hn_reduce_start_f(c->node->op, x->dtype);
        else
            k[i] = hn_reduce_start_i(c->node->op, x->dtype);
    }
    result_strides(c->node, x, stride);
    if (hn_tensor_n(x)) reduce_rows(c, stride, f, k);
    if (f)
        hn_store_f(y, 0, n, f);
    else
        hn_store_i(y, 0, n, k);
    return HONE_OK;
}

/* Does x take the place of the best so far? NaN wins over every number; of equals the first or the last stays. */
static bool better_f(double x, double best, bool max, bool last) {
    if (best != best || x != x) return x != x && (best == best || last);
    return x == best ? last : max ? x > best : x < best;
}
static bool better_i(int64_t x, int64_t best, bool max, bool last, bool uns) {
    bool less = uns ? (uint64_t)x < (uint64_t)best : x < best;
    return x == best ? last : less != max;
}

static int64_t arg_of_line(const hn_call *c, const hn_tensor *x, int64_t at, int64_t step, int64_t n) {
    bool max = c->node->op == HN_OP_ARGMAX, last = hn_attr_i(c->node, HN_A_LAST, 0) != 0,
         is_float = hn_is_float(x->dtype);
    int64_t best = 0, kb = 0, k;
    double fb = 0, f;
    for (int64_t i = 0; i < n; i++) {
        if (is_float) {
            hn_load_f(x, at + i * step, 1, 1, &f);
            if (i && !better_f(f, fb, max, last)) continue;
            fb = f;
        } else {
            hn_load_i(x, at + i * step, 1, 1, &k);
            if (i && !better_i(k, kb, max, last, x->dtype == HONE_U64)) continue;
            kb = k;
        }
        best = i;
    }
    return best;
}

hone_rc hn_eval_arg(hn_call *c) {
    const hn_tensor *x = c->in[0];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0);
    int64_t outer = hn_product(x->dim, 0, axis), n = x->dim[axis], inner = hn_product(x->dim, axis + 1, x->rank);
    int64_t *out = c->out[0].data;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) *out++ = arg_of_line(c, x, o * n * inner + i, inner, n);
    return HONE_OK;
}

static void prefix_line(const hn_call *c, int64_t at, int64_t step, int64_t n) {
    const hn_tensor *x = c->in[0];
    hn_tensor *y = &c->out[0];
    bool mul = c->node->op == HN_OP_CUMPROD, exclusive = hn_attr_i(c->node, HN_A_EXCLUSIVE, 0) != 0;
    bool reverse = hn_attr_i(c->node, HN_A_REVERSE, 0) != 0, is_float = hn_is_float(x->dtype);
    double f = mul, fx;
    int64_t k = mul, kx;
    for (int64_t i = 0; i < n; i++) {
        int64_t p = at + (reverse ? n - 1 - i : i) * step;
        if (is_float) {
            hn_load_f(x, p, 1, 1, &fx);
            double next = mul ? f * fx : f + fx;
            hn_store_f(y, p, 1, exclusive ? &f : &next);
            f = next;
        } else {
            hn_load_i(x, p, 1, 1, &kx);
            int64_t next = mul ? hn_wrap_mul(k, kx) : hn_wrap_add(k, kx);
            hn_store_i(y, p, 1, exclusive ? &k : &next);
            k = next;
        }
    }
}

hone_rc hn_eval_prefix(hn_call *c) {
    const hn_tensor *x = c->in[0];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0);
    int64_t outer = hn_product(x->dim, 0, axis), n = x->dim[axis], inner = hn_product(x->dim, axis + 1, x->rank);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) prefix_line(c, o * n * inner + i, inner, n);
    return HONE_OK;
}
