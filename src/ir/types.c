/* ir/types.c — the type rules: the frame, and the rules of sources, pointwise operations and movement. Indexing,
 * reductions and windows: types_shape.c; what defines symbols or has regions: types_control.c. */
#include "base/err.h"
#include "base/str.h"
#include "ir/types_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- the frame --------------------------------------------------------------------------------------------------- */

void hn_type_wrong(hn_typing *c, const char *fmt, ...) {
    char what[600];
    va_list ap;
    if (c->rc) return;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    c->rc = hn_fail(c->err, HONE_E_INPUT, "%s", what);
}

const char *hn_dim_brief(hn_typing *c, hn_dim d, char buf[100]) {
    hn_str s = {0};
    hn_dim_print(c->d, d, &s);
    snprintf(buf, 100, "%s", s.text ? s.text : "?");
    hn_str_free(&s);
    return buf;
}

const hn_attr *hn_type_attr_maybe(hn_typing *c, hn_attr_id id) {
    for (size_t i = 0; i < c->n_attr; i++)
        if (c->attr[i].id == id) return &c->attr[i];
    return NULL;
}

const hn_attr *hn_type_attr(hn_typing *c, hn_attr_id id) {
    const hn_attr *a = hn_type_attr_maybe(c, id);
    if (!a) hn_type_wrong(c, "attribute '%s' is missing", hn_attr_of(id)->text);
    return a;
}

static const hn_attr *list_of(hn_typing *c, hn_attr_id id, size_t n) {
    const hn_attr *a = hn_type_attr(c, id);
    if (a && a->n != n) {
        hn_type_wrong(c, "attribute '%s' has %" PRIu32 " entries instead of %zu", hn_attr_of(id)->text, a->n, n);
        return NULL;
    }
    return a;
}

const int64_t *hn_type_ints(hn_typing *c, hn_attr_id id, size_t n) {
    static const int64_t ones[HN_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const hn_attr *a = n <= HN_RANK_MAX ? list_of(c, id, n) : NULL;
    return a && a->ints ? a->ints : ones;
}

const hn_dim *hn_type_dims(hn_typing *c, hn_attr_id id, size_t n) {
    static const hn_dim none[HN_RANK_MAX];
    const hn_attr *a = n <= HN_RANK_MAX ? list_of(c, id, n) : NULL;
    for (size_t i = 0; a && i < n; i++)
        if (!a->dims[i]) hn_type_wrong(c, "entry %zu of attribute '%s' is too large", i, hn_attr_of(id)->text);
    return a && a->dims ? a->dims : none;
}

int64_t hn_type_int(hn_typing *c, hn_attr_id id, int64_t low, int64_t high) {
    const hn_attr *a = hn_type_attr(c, id);
    if (!a) return low;
    if (a->i >= low && a->i <= high) return a->i;
    hn_type_wrong(c, "attribute '%s' is %" PRId64 ", outside %" PRId64 " to %" PRId64, hn_attr_of(id)->text, a->i, low,
                  high);
    return low;
}

size_t hn_type_axis(hn_typing *c, size_t rank) {
    if (!rank) hn_type_wrong(c, "a scalar has no axis");
    return (size_t)hn_type_int(c, HN_A_AXIS, 0, rank ? (int64_t)rank - 1 : 0);
}

hone_dtype hn_type_dtype(hn_typing *c) { return (hone_dtype)hn_type_int(c, HN_A_DTYPE, 0, HONE_N_DTYPES - 1); }

void hn_type_word(hn_typing *c, hn_attr_id id, const char *const *words) {
    const hn_attr *a = hn_type_attr(c, id);
    if (!a) return;
    for (size_t i = 0; words[i]; i++)
        if (a->name && !strcmp(a->name, words[i])) return;
    hn_type_wrong(c, "attribute '%s' is '%.60s'; see docs/ir.md for its words", hn_attr_of(id)->text,
                  a->name ? a->name : "");
}

hn_dim hn_type_symbol(hn_typing *c, size_t i) {
    const hn_attr *a = hn_type_attr(c, HN_A_DEFINES);
    if (!a) return 0;
    if (i < a->n && hn_dim_is_symbol(c->d, a->dims[i], NULL)) return a->dims[i];
    hn_type_wrong(c, i < a->n ? "entry %zu of 'defines' is no symbol" : "'defines' has no entry %zu", i);
    return 0;
}

void hn_type_equal(hn_typing *c, hn_dim a, hn_dim b, const char *what) {
    char x[100], y[100];
    if (c->rc || a == b) return;
    switch (hn_dim_equal(c->d, a, b)) {
    case HN_EQUAL: return;
    case HN_MAYBE: hn_dim_assume_equal(c->d, a, b); return;
    case HN_DIFFERENT: hn_type_wrong(c, "%s: %s differs from %s", what, hn_dim_brief(c, a, x), hn_dim_brief(c, b, y));
    }
}

void hn_type_one_shape(hn_typing *c, const hn_type *a, const hn_type *b, const char *what) {
    if (a->rank != b->rank) hn_type_wrong(c, "%s: rank %u differs from %u", what, a->rank, b->rank);
    for (size_t i = 0; i < a->rank && !c->rc; i++) hn_type_equal(c, a->dim[i], b->dim[i], what);
}

void hn_type_rank(hn_typing *c, size_t i, size_t low, size_t high) {
    size_t rank = c->in[i]->rank;
    if (rank < low) hn_type_wrong(c, "input %zu has rank %zu and needs %zu", i, rank, low);
    if (rank > high) hn_type_wrong(c, "input %zu has rank %zu; at most %zu fits", i, rank, high);
}

void hn_type_push(hn_typing *c, hn_type *t, hn_dim d) {
    if (c->rc) return;
    if (t->rank == HN_RANK_MAX)
        hn_type_wrong(c, "the result has more than %d dimensions", HN_RANK_MAX);
    else
        t->dim[t->rank++] = d;
}

bool hn_type_is(hn_typing *c, size_t i, unsigned classes) {
    const hn_dtype_info *info = hn_dtype_of(c->in[i]->dtype);
    if (classes >> info->cls & 1) return true;
    hn_type_wrong(c, "input %zu may not be %s", i, info->text);
    return false;
}

void hn_type_want(hn_typing *c, size_t i, hone_dtype t) {
    if (c->in[i]->dtype != t)
        hn_type_wrong(c, "input %zu is %s instead of %s", i, hone_dtype_name(c->in[i]->dtype), hone_dtype_name(t));
}

/* --- sources ----------------------------------------------------------------------------------------------------- */

static void rule_value(hn_typing *c) {
    const hn_attr *a = hn_type_attr(c, HN_A_VALUE);
    if (!a) return;
    c->out->dtype = a->tensor->dtype;
    for (size_t i = 0; i < a->tensor->rank; i++) hn_type_push(c, c->out, hn_dim_int(c->d, a->tensor->dim[i]));
}

static void rule_dims(hn_typing *c) {
    const hn_attr *a = hn_type_attr(c, HN_A_SHAPE);
    if (!a) return;
    c->out->dtype = HONE_I64;
    hn_type_push(c, c->out, hn_dim_int(c->d, a->n));
}

static void check_random(hn_typing *c) {
    static const char *const word[] = {"uniform", "normal", NULL};
    hn_type_word(c, HN_A_MODE, word);
    hn_type_attr(c, HN_A_SEED);
    if (hn_dtype_of(hn_type_dtype(c))->cls != HN_CLASS_FLOAT) hn_type_wrong(c, "the result must be a float type");
}

/* --- movement ---------------------------------------------------------------------------------------------------- */

static hn_dim count_of(hn_typing *c, const hn_dim *dim, size_t n) {
    hn_dim x = hn_dim_int(c->d, 1);
    for (size_t i = 0; i < n; i++) x = hn_dim_mul(c->d, x, dim[i]);
    return x;
}

/* Factors that both shapes share are cancelled, and the relation is about what is left: an empty value has to meet the
 * same relation as any other. */
static void check_reshape(hn_typing *c) {
    hn_dim a = count_of(c, c->in[0]->dim, c->in[0]->rank), b = count_of(c, c->out->dim, c->out->rank);
    if (!a || !b) {
        hn_type_wrong(c, "the number of elements is too large");
        return;
    }
    if (hn_dim_equal(c->d, a, b) == HN_MAYBE) hn_dim_cancel(c->d, &a, &b);
    hn_type_equal(c, a, b, "number of elements");
}

static void check_broadcast(hn_typing *c) {
    const hn_type *x = c->in[0];
    const int64_t *map = hn_type_ints(c, HN_A_MAP, x->rank);
    for (size_t i = 0; i < x->rank && !c->rc; i++) {
        int64_t one;
        if (map[i] < 0 || map[i] >= c->out->rank || (i && map[i] <= map[i - 1]))
            hn_type_wrong(c, "attribute 'map' is not ascending inside the result's rank");
        else if (!hn_dim_is_int(c->d, x->dim[i], &one) || one != 1)
            hn_type_equal(c, x->dim[i], c->out->dim[map[i]], "broadcast dimension");
    }
}

/* First and last index that is read, where all is constant. */
static void check_slice(hn_typing *c) {
    const hn_type *x = c->in[0];
    const hn_dim *start = hn_type_dims(c, HN_A_START, x->rank);
    const int64_t *step = hn_type_ints(c, HN_A_STEP, x->rank);
    if (c->out->rank != x->rank) hn_type_wrong(c, "attribute 'shape' has another rank than the input");
    for (size_t i = 0; i < x->rank && !c->rc; i++) {
        int64_t n, from, size, last;
        if (step[i] == 0) hn_type_wrong(c, "step %zu is 0", i);
        if (!hn_dim_is_int(c->d, x->dim[i], &size) || !hn_dim_is_int(c->d, c->out->dim[i], &n) || n <= 0) continue;
        if (!hn_dim_is_int(c->d, start[i], &from)) continue;
        if (__builtin_mul_overflow(n - 1, step[i], &last) || __builtin_add_overflow(last, from, &last)) last = -1;
        if (from < 0 || from >= size || last < 0 || last >= size)
            hn_type_wrong(c, "dimension %zu: %" PRId64 " elements from %" PRId64 " by %" PRId64 " leave the input", i,
                          n, from, step[i]);
    }
}

static void rule_shape(hn_typing *c) {
    const hn_attr *a = hn_type_attr(c, HN_A_SHAPE);
    if (!a) return;
    if (a->n > HN_RANK_MAX) hn_type_wrong(c, "the result has more than %d dimensions", HN_RANK_MAX);
    for (size_t i = 0; i < a->n; i++) {
        int64_t low, high;
        char text[100];
        hn_dim_range(c->d, a->dims[i], &low, &high);
        if (!a->dims[i]) hn_type_wrong(c, "dimension %zu of the result is too large", i);
        if (high < 0)
            hn_type_wrong(c, "dimension %zu of the result is negative: %s", i, hn_dim_brief(c, a->dims[i], text));
        hn_type_push(c, c->out, a->dims[i]);
    }
    c->out->dtype = c->n_in ? c->in[0]->dtype : hn_type_dtype(c);
    if (c->rc) return;
    switch (c->op) {
    case HN_OP_IOTA: hn_type_axis(c, a->n); break;
    case HN_OP_RANDOM: check_random(c); break;
    case HN_OP_RESHAPE: check_reshape(c); break;
    case HN_OP_BROADCAST: check_broadcast(c); break;
    default: check_slice(c);
    }
}

static void rule_transpose(hn_typing *c) {
    const hn_type *x = c->in[0];
    const int64_t *perm = hn_type_ints(c, HN_A_PERM, x->rank);
    unsigned seen = 0;
    c->out->dtype = x->dtype;
    for (size_t i = 0; i < x->rank && !c->rc; i++) {
        if (perm[i] < 0 || perm[i] >= x->rank || seen >> perm[i] & 1) {
            hn_type_wrong(c, "attribute 'perm' is no permutation");
        } else {
            seen |= 1u << perm[i];
            hn_type_push(c, c->out, x->dim[perm[i]]);
        }
    }
}

static void rule_pad(hn_typing *c) {
    static const char *const word[] = {"constant", "edge", "reflect", "wrap", NULL};
    const hn_type *x = c->in[0];
    const hn_dim *low = hn_type_dims(c, HN_A_LOW, x->rank), *high = hn_type_dims(c, HN_A_HIGH, x->rank);
    hn_type_word(c, HN_A_MODE, word);
    if (c->n_in > 1) {
        hn_type_rank(c, 1, 0, 0);
        hn_type_want(c, 1, x->dtype);
    }
    c->out->dtype = x->dtype;
    for (size_t i = 0; i < x->rank && !c->rc; i++) {
        int64_t from, to;
        hn_dim_range(c->d, low[i], &from, &to);
        if (to < 0) hn_type_wrong(c, "dimension %zu is padded by less than nothing", i);
        hn_dim_range(c->d, high[i], &from, &to);
        if (to < 0) hn_type_wrong(c, "dimension %zu is padded by less than nothing", i);
        hn_type_push(c, c->out, hn_dim_add(c->d, hn_dim_add(c->d, low[i], x->dim[i]), high[i]));
    }
}

static void rule_concat(hn_typing *c) {
    size_t axis = hn_type_axis(c, c->in[0]->rank);
    *c->out = *c->in[0];
    for (size_t i = 1; i < c->n_in && !c->rc; i++) {
        const hn_type *x = c->in[i];
        hn_type_want(c, i, c->out->dtype);
        hn_type_rank(c, i, c->out->rank, c->out->rank);
        for (size_t k = 0; k < c->out->rank && !c->rc; k++) {
            if (k == axis)
                c->out->dim[k] = hn_dim_add(c->d, c->out->dim[k], x->dim[k]);
            else
                hn_type_equal(c, c->out->dim[k], x->dim[k], "dimension beside the axis");
        }
    }
}

/* --- pointwise, and what keeps the type of its first input ------------------------------------------------------- */

static void check_pointwise(hn_typing *c) {
    hn_type_is(c, 0, hn_op_of(c->op)->takes);
    if (hn_op_of(c->op)->cls == HN_UNARY) return;
    if (c->op == HN_OP_POW)
        hn_type_is(c, 1, hn_op_of(c->op)->takes);
    else
        hn_type_want(c, 1, c->in[0]->dtype);
    hn_type_one_shape(c, c->in[0], c->in[1], "shapes of the inputs");
}

static void check_prefix(hn_typing *c) {
    hn_type_axis(c, c->in[0]->rank);
    hn_type_int(c, HN_A_EXCLUSIVE, 0, 1);
    hn_type_int(c, HN_A_REVERSE, 0, 1);
    hn_type_is(c, 0, hn_op_of(c->op)->takes);
}

static void rule_same(hn_typing *c) {
    hn_op_class cls = hn_op_of(c->op)->cls;
    if (cls == HN_UNARY || cls == HN_BINARY) check_pointwise(c);
    if (cls == HN_PREFIX) check_prefix(c);
    if (cls == HN_INDEX) hn_check_scatter(c);
    *c->out = *c->in[0];
}

static void rule_bool(hn_typing *c) {
    check_pointwise(c);
    *c->out = *c->in[0];
    c->out->dtype = HONE_BOOL;
}

static void rule_dtype(hn_typing *c) {
    static const char *const word[] = {"up", "down", "nearest", NULL};
    hone_dtype from = c->in[0]->dtype, to = hn_type_dtype(c);
    *c->out = *c->in[0];
    c->out->dtype = to;
    if (hn_type_attr_maybe(c, HN_A_ROUND)) hn_type_word(c, HN_A_ROUND, word);
    bool odd = hn_dtype_of(from)->bits != hn_dtype_of(to)->bits && from != HONE_BOOL && to != HONE_BOOL;
    if (c->op == HN_OP_BITCAST && (odd || hone_dtype_size_b(from) != hone_dtype_size_b(to)))
        hn_type_wrong(c, "%s and %s have different sizes", hone_dtype_name(from), hone_dtype_name(to));
}

static void rule_second(hn_typing *c) {
    hn_type_want(c, 0, HONE_BOOL);
    hn_type_want(c, 2, c->in[1]->dtype);
    hn_type_one_shape(c, c->in[1], c->in[2], "shapes of the two choices");
    hn_type_one_shape(c, c->in[0], c->in[1], "shape of the condition");
    *c->out = *c->in[1];
}

/* --- the call ---------------------------------------------------------------------------------------------------- */

#define hn_rule_value rule_value
#define hn_rule_dims rule_dims
#define hn_rule_shape rule_shape
#define hn_rule_transpose rule_transpose
#define hn_rule_pad rule_pad
#define hn_rule_concat rule_concat
#define hn_rule_same rule_same
#define hn_rule_bool rule_bool
#define hn_rule_dtype rule_dtype
#define hn_rule_second rule_second
static hn_type_rule *const rule_of[HN_N_OPS] = {
#define HN_OP(id, text, imin, imax, outs, cls, kind, flags, takes, result, doc) hn_rule_##result,
#include "ir/ops.def"
#undef HN_OP
};

static bool counts_fit(hn_typing *c) {
    const hn_op_info *info = hn_op_of(c->op);
    if (c->n_in < (size_t)info->in_min || (info->in_max >= 0 && c->n_in > (size_t)info->in_max))
        hn_type_wrong(c, "%zu inputs are not what it takes", c->n_in);
    if (info->outs >= 0 && c->n_out != (size_t)info->outs)
        hn_type_wrong(c, "%zu results are not what it gives", c->n_out);
    for (size_t i = 0; i < c->n_in; i++)
        if (!c->in[i]) hn_type_wrong(c, "input %zu is missing", i);
    return !c->rc;
}

hone_rc hn_infer(hn_graph *g, hn_op op, size_t n_in, const hn_type *const *in, size_t n_attr, const hn_attr *attr,
                 size_t n_out, hn_type *out, hone_err *err) {
    hn_typing c = {.g = g,
                   .d = g->dims,
                   .op = op,
                   .n_in = n_in,
                   .in = in,
                   .n_attr = n_attr,
                   .attr = attr,
                   .n_out = n_out,
                   .out = out,
                   .err = err};
    if ((unsigned)op >= HN_N_OPS) return hn_fail(err, HONE_E_FAILED, "no such operation");
    for (size_t i = 0; i < n_out; i++) out[i] = (hn_type){0};
    if (counts_fit(&c)) rule_of[op](&c);
    for (size_t i = 0; i < n_out && !c.rc; i++) {
        for (size_t k = 0; k < out[i].rank; k++)
            if (!out[i].dim[k]) hn_type_wrong(&c, "dimension %zu of result %zu is too large", k, i);
    }
    return c.rc;
}
