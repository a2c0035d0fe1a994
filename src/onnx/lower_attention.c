/* Attention and FlexAttention. Heads of q that share a head of k and v are a dimension of their own, so nothing is
 * repeated in memory: scores are [batch, kv heads, group, q length, kv length], without `group` where it is 1. */
#include "onnx/lower_attention_int.h"

#include <math.h>
#include <string.h>

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

static bool head_groups(core *r) {
    hn_builder *b = r->b;
    hn_dim q = hn_dim_of(b, r->a->q, 1), kv = hn_dim_of(b, r->a->k, 1);
    int64_t n, m;
    r->kv_heads = kv;
    r->q_len = hn_dim_of(b, r->a->q, 2);
    r->kv_len = hn_dim_of(b, r->a->k, 2);
    r->group = 0;
    if (hn_dim_equal(b->g->dims, q, kv) == HN_EQUAL) return true;
    if (!hn_dim_known(b, q, &n) || !hn_dim_known(b, kv, &m)) {
        hn_refuse(r->a->c, "the numbers of heads of queries and keys are not known at compile time");
        return false;
    }
    if (m < 1 || n % m) {
        hn_wrong(r->a->c, "%lld heads of queries cannot share %lld heads of keys", (long long)n, (long long)m);
        return false;
    }
    r->group = hn_lit(b, n / m);
    return true;
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
    if (hn_lower_opset(r->a->c) < 24 && hn_dim_equal(t, have, r->kv_len) == HN_MAYBE) return mask;
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
    hn_val x = r->a->change(r->a, ungrouped(r, r->scores), which);
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

hn_val hn_attend_emit(hn_attend *a, hone_dtype out) {
    core r = {.a = a, .b = hn_lower_builder(a->c)};
    if (!head_groups(&r)) return 0;
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

/* ---- Attention ---- */

static bool heads_of(hn_lower *c, const char *name, int64_t *n) {
    *n = hn_int(c, name, 0);
    if (*n >= 1 && *n <= INT32_MAX) return true;
    hn_wrong(c, "'%s' is %lld; inputs of rank 3 need at least 1", name, (long long)*n);
    return false;
}

/* q, k, v of rank 4 from inputs of rank 3 or 4. */
static bool operands(hn_lower *c, hn_attend *a, bool *packed) {
    hn_builder *b = hn_lower_builder(c);
    int64_t q_heads, kv_heads;
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 3, 4)) return false;
    size_t rank = hn_rank(b, hn_in(c, 0));
    if (!hn_need_rank(c, 1, rank, rank) || !hn_need_rank(c, 2, rank, rank)) return false;
    a->q = hn_in(c, 0);
    a->k = hn_in(c, 1);
    a->v = hn_in(c, 2);
    *packed = rank == 3;
    if (rank == 4) return true;
    if (!heads_of(c, "q_num_heads", &q_heads) || !heads_of(c, "kv_num_heads", &kv_heads)) return false;
    a->q = hn_split_heads(b, a->q, q_heads);
    a->k = hn_split_heads(b, a->k, kv_heads);
    a->v = hn_split_heads(b, a->v, kv_heads);
    return true;
}

static hn_val behind(hn_builder *b, hn_val past, hn_val x) {
    hn_val both[2] = {past, x};
    return past ? hn_concat(b, 2, both, 2) : x;
}

static bool softmax_type(hn_lower *c, hn_attend *a) {
    a->has_precision = hn_int(c, "softmax_precision", 0) != 0;
    if (!a->has_precision) return true;
    if (!hn_dtype_attr(c, "softmax_precision", &a->precision)) return false;
    if (hn_is_float(a->precision)) return true;
    hn_wrong(c, "'softmax_precision' is %s; it must be a float type", hone_dtype_name(a->precision));
    return false;
}

static void lower_attention(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    bool packed;
    hn_attend a = {.c = c,
                   .scale = hn_float(c, "scale", 0),
                   .softcap = hn_float(c, "softcap", 0),
                   .masked = -INFINITY,
                   .causal = hn_int(c, "is_causal", 0) != 0,
                   .mask = hn_in(c, 3),
                   .stage = hn_wants(c, 3) ? (int)hn_int(c, "qk_matmul_output_mode", 0) : -1};
    if (!operands(c, &a, &packed) || !softmax_type(c, &a)) return;
    if (a.mask && !hn_need_rank(c, 3, 0, 4)) return;
    hn_val past_k = hn_in(c, 4), past_v = hn_in(c, 5);
    if ((past_k && !hn_need_rank(c, 4, 4, 4)) || (past_v && !hn_need_rank(c, 5, 4, 4))) return;
    if (hn_in(c, 6)) a.n_kv = hn_cast(b, hn_in(c, 6), HONE_I64);
    if (past_k && a.causal) {
        hn_dim past = hn_dim_of(b, past_k, 2);
        a.past = hn_scalar(b, hn_dims_value(b, 1, &past));
    }
    a.k = behind(b, past_k, a.k);
    a.v = behind(b, past_v, a.v);
    hn_val y = hn_attend_emit(&a, hn_dt(b, a.q));
    if (!y) return;
    hn_out(c, 0, packed ? hn_merge_heads(b, y) : y);
    hn_out(c, 1, a.k);
    hn_out(c, 2, a.v);
    if (a.stage >= 0) hn_out(c, 3, a.scores);
}

/* ---- FlexAttention ---- */

static hn_val modified(hn_attend *a, hn_val x, int which) {
    static const char *const name[] = {"score_mod", "prob_mod"};
    hn_builder *b = hn_lower_builder(a->c);
    hn_val y = x;
    size_t n;
    if (!hn_has(a->c, name[which])) return x;
    if (!hn_subgraph(a->c, name[which], b->b, 1, &x, 1, &y, &n)) return 0;
    if (n != 1 || hn_rank(b, y) != 4) {
        hn_wrong(a->c, "'%s' must give one result of rank 4", name[which]);
        return 0;
    }
    return hn_cast(b, y, hn_dt(b, x));
}

static void lower_flex(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_attend a = {.c = c, .scale = hn_float(c, "scale", 0), .masked = -INFINITY, .stage = -1, .change = modified};
    if (!hn_need(c, 3) || !softmax_type(c, &a)) return;
    for (size_t i = 0; i < 3; i++)
        if (!hn_need_rank(c, i, 4, 4)) return;
    a.q = hn_in(c, 0);
    a.k = hn_in(c, 1);
    a.v = hn_in(c, 2);
    if (!a.has_precision) {
        a.has_precision = true;
        a.precision = hn_work_type(hn_dt(b, a.q));
    }
    hn_val y = hn_attend_emit(&a, hn_dt(b, a.v));
    if (y) hn_out(c, 0, y);
}

const hn_lower_row hn_lower_attention[] = {
    {"", "Attention", 23, HN_OPSET_MAX, lower_attention, 0},
    {"", "RotaryEmbedding", 23, HN_OPSET_MAX, hn_lower_rotary, 0},
    {"", "LinearAttention", 27, HN_OPSET_MAX, hn_lower_linear_attention, 0},
    {"ai.onnx.preview", "FlexAttention", 1, HN_OPSET_MAX, lower_flex, 0},
    {0},
};
