/* attend.c — attention. Heads of q that share a head of k and v are a dimension of their own, so nothing is repeated in
 * memory: scores are [batch, kv heads, group, q length, kv length], without `group` where it is 1. */
#include "base/err.h"
#include "compose/compose.h"

#include <math.h>

hn_val hn_split_heads(hn_builder *b, hn_val x, int64_t heads) {
    hn_dim n = hn_lit(b, heads);
    hn_dim shape[4] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), n, hn_dim_floordiv(b->g->dims, hn_dim_of(b, x, 2), n)};
    return hn_swap(b, hn_reshape(b, x, 4, shape), 1, 2);
}

hn_val hn_merge_heads(hn_builder *b, hn_val x) {
    x = hn_swap(b, x, 1, 2);
    hn_dim shape[3] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), hn_dim_product(b, x, 2, 4)};
    return hn_reshape(b, x, 3, shape);
}

/* ---- the common core ---- */

typedef struct core {
    hn_attend *a;
    hn_builder *b;
    hn_dim kv_heads, q_len, kv_len, group; /* group: 0 where every head of q has its own */
    hn_val scores;
} core;

/* x [batch, q heads, ...] with the heads split into [kv heads, group]; one head for all stays one. */
static hn_val grouped(const core *r, hn_val x) {
    size_t rank = hn_rank(r->b, x);
    hn_dim shape[5];
    if (!r->group || rank < 3) return x;
    bool one = hn_dim_is(r->b, hn_dim_of(r->b, x, rank - 3), 1);
    shape[0] = rank == 4 ? hn_dim_of(r->b, x, 0) : hn_lit(r->b, 1);
    shape[1] = one ? hn_lit(r->b, 1) : r->kv_heads;
    shape[2] = one ? hn_lit(r->b, 1) : r->group;
    shape[3] = hn_dim_of(r->b, x, rank - 2);
    shape[4] = hn_dim_of(r->b, x, rank - 1);
    return hn_reshape(r->b, x, 5, shape);
}
static hn_val ungrouped(const core *r, hn_val x) {
    if (!r->group) return x;
    hn_dim shape[4] = {hn_dim_of(r->b, x, 0), hn_dim_mul(r->b->g->dims, r->kv_heads, r->group), hn_dim_of(r->b, x, 3),
                       hn_dim_of(r->b, x, 4)};
    return hn_reshape(r->b, x, 4, shape);
}

/* A vector [batch] (or a scalar) that broadcasts to the scores. */
static hn_val per_batch(const core *r, hn_val v) { return hn_along(r->b, v, r->group ? 5 : 4, 0); }

static hone_rc head_groups(core *r, hone_err *err) {
    hn_builder *b = r->b;
    hn_dim q = hn_dim_of(b, r->a->q, 1), kv = hn_dim_of(b, r->a->k, 1);
    int64_t n, m;
    r->kv_heads = kv;
    r->q_len = hn_dim_of(b, r->a->q, 2);
    r->kv_len = hn_dim_of(b, r->a->k, 2);
    r->group = 0;
    if (hn_dim_equal(b->g->dims, q, kv) == HN_EQUAL) return HONE_OK;
    if (!hn_dim_known(b, q, &n) || !hn_dim_known(b, kv, &m))
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "the numbers of heads of queries and keys are not known at compile time");
    if (m < 1 || n % m)
        return hn_fail(err, HONE_E_INPUT, "%lld heads of queries cannot share %lld heads of keys", (long long)n,
                       (long long)m);
    r->group = hn_lit(b, n / m);
    return HONE_OK;
}

static hn_val products(const core *r, hn_val x, hn_val y, bool second, hone_dtype t) {
    /* labels: 0 batch, 1 kv head, 2 group, 3 query, 4 key, 5 size, 6 size of v */
    static const int64_t q5[] = {0, 1, 2, 3, 5}, q4[] = {0, 1, 3, 5}, k[] = {0, 1, 4, 5}, s5[] = {0, 1, 2, 3, 4},
                         s4[] = {0, 1, 3, 4}, v[] = {0, 1, 4, 6}, o5[] = {0, 1, 2, 3, 6}, o4[] = {0, 1, 3, 6};
    bool g = r->group != 0;
    size_t n = g ? 5 : 4;
    if (second) return hn_contract(r->b, x, y, g ? s5 : s4, v, n, g ? o5 : o4, t);
    return hn_contract(r->b, x, y, g ? q5 : q4, k, n, g ? s5 : s4, t);
}

static void keep_stage(core *r, int stage, hn_val scores) {
    if (r->a->stage == stage) r->a->scores = hn_cast(r->b, ungrouped(r, scores), hn_dt(r->b, r->a->q));
}

static hn_val scaled_query(const core *r) {
    hn_builder *b = r->b;
    int64_t size;
    hn_dim d = hn_dim_of(b, r->a->q, 3);
    hn_val q = hn_work(b, r->a->q);
    if (r->a->scale != 0) return hn_bin_f(b, HN_OP_MUL, q, r->a->scale);
    if (hn_dim_known(b, d, &size)) return hn_bin_f(b, HN_OP_MUL, q, size > 0 ? 1 / sqrt((double)size) : 1);
    hn_val n = hn_cast(b, hn_scalar(b, hn_dims_value(b, 1, &d)), hn_dt(b, q));
    return hn_bin(b, HN_OP_MUL, q, hn_un(b, HN_OP_RSQRT, n));
}

/* where(keep, scores, masked) */
static void drop(core *r, hn_val keep) {
    hn_val low = hn_const_f(r->b, hn_dt(r->b, r->scores), r->a->masked);
    r->scores = hn_where(r->b, keep, r->scores, low);
}

static hn_val longer_mask(const core *r, hn_val mask) {
    hn_builder *b = r->b;
    hn_dims *t = b->g->dims;
    hn_dim have = hn_dim_of(b, mask, hn_rank(b, mask) - 1);
    if (hn_dim_equal(t, have, r->kv_len) == HN_EQUAL) return mask;
    if (r->a->mask_is_whole && hn_dim_equal(t, have, r->kv_len) == HN_MAYBE) return mask;
    bool add = hn_dt(b, mask) != HONE_BOOL;
    return hn_pad_axis(b, mask, -1, hn_lit(b, 0), hn_dim_sub(t, r->kv_len, have), add ? r->a->masked : 0);
}

static void apply_mask(core *r, hn_val mask) {
    if (!mask) return;
    hn_builder *b = r->b;
    if (hn_dt(b, mask) != HONE_BOOL) mask = hn_cast(b, mask, hn_dt(b, r->scores));
    if (hn_rank(b, mask)) mask = grouped(r, longer_mask(r, mask));
    if (hn_dt(b, mask) == HONE_BOOL)
        drop(r, mask);
    else
        r->scores = hn_bin(b, HN_OP_ADD, r->scores, mask);
}

/* Key j is seen by query i where j <= i + past, and j > i + past - window where there is a window. */
static void apply_causal(core *r) {
    hn_builder *b = r->b;
    if (!r->a->causal) return;
    hn_dim shape[2] = {r->q_len, r->kv_len};
    hn_val i = hn_iota(b, HONE_I64, 2, shape, 0), j = hn_iota(b, HONE_I64, 2, shape, 1);
    if (r->a->past) i = hn_bin(b, HN_OP_ADD, i, per_batch(r, r->a->past));
    hn_val seen = hn_bin(b, HN_OP_LE, j, i);
    if (r->a->window > 0) {
        hn_val first = hn_bin(b, HN_OP_SUB, i, hn_const_i(b, HONE_I64, r->a->window));
        seen = hn_bin(b, HN_OP_AND, seen, hn_bin(b, HN_OP_LT, first, j));
    }
    drop(r, seen);
}

static void apply_length(core *r) {
    if (!r->a->n_kv) return;
    hn_val n = per_batch(r, r->a->n_kv);
    hn_dim shape[1] = {r->kv_len};
    drop(r, hn_bin(r->b, HN_OP_LT, hn_iota(r->b, HONE_I64, 1, shape, 0), n));
}

/* False after a failure. */
static bool apply_change(core *r, int which) {
    if (!r->a->change) return true;
    hn_val x = r->a->change(r->a->change_arg, r->b, ungrouped(r, r->scores), which);
    if (x) r->scores = grouped(r, x);
    return x != 0;
}

static void apply_softcap(core *r) {
    double cap = r->a->softcap;
    if (!(cap > 0)) return;
    hn_val x = hn_un(r->b, HN_OP_TANH, hn_bin_f(r->b, HN_OP_DIV, r->scores, cap));
    r->scores = hn_bin_f(r->b, HN_OP_MUL, x, cap);
}

static void apply_softmax(core *r) {
    hn_builder *b = r->b;
    hone_dtype t = hn_dt(b, r->scores);
    hn_val x = r->a->has_precision ? hn_work(b, hn_cast(b, r->scores, r->a->precision)) : r->scores;
    if (r->a->change) t = hn_dt(b, x);
    r->scores = hn_cast(b, hn_softmax(b, x, (int64_t)hn_rank(b, x) - 1), t);
}

hn_val hn_attend_emit(hn_builder *b, hn_attend *a, hone_dtype out, hone_err *err) {
    core r = {.a = a, .b = b};
    if (head_groups(&r, err)) return 0;
    hn_val q = grouped(&r, scaled_query(&r));
    r.scores = products(&r, q, hn_cast(r.b, a->k, hn_dt(r.b, q)), false, hn_dt(r.b, q));
    keep_stage(&r, 0, r.scores);
    if (a->change && a->has_precision) r.scores = hn_cast(r.b, r.scores, a->precision);
    if (!apply_change(&r, 0)) return 0;
    apply_softcap(&r);
    keep_stage(&r, 1, r.scores);
    if (a->bias) apply_mask(&r, a->bias);
    apply_mask(&r, a->mask);
    apply_causal(&r);
    apply_length(&r);
    keep_stage(&r, 2, r.scores);
    apply_softmax(&r);
    if (a->change && a->has_precision) r.scores = hn_cast(r.b, r.scores, a->precision);
    if (!apply_change(&r, 1)) return 0;
    keep_stage(&r, 3, r.scores);
    hn_val p = hn_work(r.b, r.scores);
    return ungrouped(&r, products(&r, p, hn_cast(r.b, a->v, hn_dt(r.b, p)), true, out));
}

/* ---- rotary embeddings ---- */

hn_val hn_rotate(hn_builder *b, hn_val x, hn_val cosines, hn_val sines, hn_dim half, bool interleaved) {
    hn_dims *t = b->g->dims;
    hn_dim none = hn_lit(b, 0), one = hn_lit(b, 1), turned = hn_dim_mul(t, half, hn_lit(b, 2));
    if (!x) return 0;
    size_t last = hn_rank(b, x) - 1;
    hn_dim size = hn_dim_of(b, x, last), shape[HN_RANK_MAX];
    int64_t step = interleaved ? 2 : 1;
    hn_val re = hn_slice_axis(b, x, -1, none, half, step);
    hn_val im = hn_slice_axis(b, x, -1, interleaved ? one : half, half, step);
    hn_val both[2] = {
        hn_bin(b, HN_OP_SUB, hn_bin(b, HN_OP_MUL, cosines, re), hn_bin(b, HN_OP_MUL, sines, im)),
        hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_MUL, sines, re), hn_bin(b, HN_OP_MUL, cosines, im)),
    };
    hn_val y;
    if (interleaved) {
        for (size_t i = 0; i < 2; i++) both[i] = hn_unsqueeze(b, both[i], -1);
        for (size_t i = 0; i < last; i++) shape[i] = hn_dim_of(b, x, i);
        shape[last] = turned;
        y = hn_reshape(b, hn_concat(b, 2, both, -1), last + 1, shape);
    } else {
        y = hn_concat(b, 2, both, -1);
    }
    if (hn_dim_equal(t, turned, size) == HN_EQUAL) return y;
    hn_val parts[2] = {y, hn_slice_axis(b, x, -1, turned, hn_dim_sub(t, size, turned), 1)};
    return hn_concat(b, 2, parts, -1);
}

hn_val hn_rotate_at(hn_builder *b, hn_val x, hn_val cosines, hn_val sines, hn_val at, bool interleaved) {
    hone_dtype t = hn_work_type(hn_dt(b, x));
    hn_val turn[2] = {cosines, sines};
    for (int i = 0; i < 2; i++) turn[i] = hn_unsqueeze(b, hn_cast(b, hn_gather(b, turn[i], at, 0), t), 1);
    hn_val y = hn_rotate(b, hn_cast(b, x, t), turn[0], turn[1], hn_dim_of(b, cosines, 1), interleaved);
    return hn_cast(b, y, hn_dt(b, x));
}

/* ---- caches of keys and values ---- */

hn_val hn_kv_append(hn_builder *b, hn_val past, hn_val x, hn_val before, hn_dim length) {
    hn_dims *t = b->g->dims;
    hn_dim n = hn_dim_of(b, x, 2), batch = hn_dim_of(b, x, 0), one = hn_lit(b, 1), wide[2] = {batch, length};
    hn_dim column[2] = {batch, one}, four[4] = {batch, one, length, one};
    before = hn_reshape(b, before, 2, column);
    hn_val at = hn_bin(b, HN_OP_SUB, hn_iota(b, HONE_I64, 2, wide, 1), before);
    hn_dim behind = hn_dim_sub(t, n, one);
    hn_val last = hn_scalar(b, hn_dims_value(b, 1, &behind));
    hn_val in[2] = {x, hn_bin(b, HN_OP_MAX, hn_bin(b, HN_OP_MIN, at, last), hn_const_i(b, HONE_I64, 0))};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 2), hn_a_int(HN_A_BATCH, 1)};
    hn_val y = hn_emit(b->g, b->b, HN_OP_GATHER, 2, in, 2, attr, 1), none = hn_const_f(b, hn_dt(b, x), 0);
    at = hn_reshape(b, at, 4, four);
    y = hn_where(b, hn_bin(b, HN_OP_LE, at, last), y, none);
    hn_val old = none;
    if (past) old = hn_pad_axis(b, past, 2, hn_lit(b, 0), hn_dim_sub(t, length, hn_dim_of(b, past, 2)), 0);
    return hn_where(b, hn_bin(b, HN_OP_LT, at, hn_const_i(b, HONE_I64, 0)), old, y);
}

hn_val hn_padding_bias(hn_builder *b, hn_val mask, hn_dim keys, double masked, hone_dtype t) {
    hn_val keep;
    if (hn_rank(b, mask) == 1) {
        hn_dim shape[4] = {hn_dim_of(b, mask, 0), hn_lit(b, 1), hn_lit(b, 1), hn_lit(b, 1)};
        hn_val n = hn_reshape(b, hn_cast(b, mask, HONE_I64), 4, shape);
        keep = hn_bin(b, HN_OP_LT, hn_iota(b, HONE_I64, 1, &keys, 0), n);
    } else {
        keep = hn_unsqueeze(b, hn_bin(b, HN_OP_LT, hn_const_i(b, hn_dt(b, mask), 0), mask), 1);
        if (hn_rank(b, mask) == 2) keep = hn_unsqueeze(b, keep, 1);
    }
    return hn_where(b, keep, hn_const_f(b, t, 0), hn_const_f(b, t, masked));
}
