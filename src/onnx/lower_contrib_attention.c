/* The attention operators of com.microsoft. What their masks forbid is biased by mask_filter_value; what lies ahead of
 * a query is left out. */
#include "onnx/lower_attention_int.h"
#include "onnx/lower_contrib_int.h"
#include "onnx/lower_quant_int.h"

#include <math.h>

/* ---- masks ---- */

/* A padding mask, 0 where masked, as a bias that broadcasts to the scores. */
static hn_val padding_bias(hn_lower *c, hn_val mask, hn_dim batch, hn_dim keys, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    if (!mask) return 0;
    bool lengths = hn_rank(b, mask) == 1;
    if (lengths && hn_dim_equal(b->g->dims, hn_dim_of(b, mask, 0), batch) == HN_DIFFERENT)
        hn_refuse(c, "a mask of cumulated lengths");
    else if (hn_rank(b, mask) < 1 || hn_rank(b, mask) > 3)
        hn_refuse(c, "a mask of rank %zu", hn_rank(b, mask));
    else
        return hn_padding_bias(b, mask, keys, hn_float(c, "mask_filter_value", -10000), t);
    return 0;
}

static bool heads_of(hn_lower *c, const char *name, int64_t *n) {
    *n = hn_int(c, name, 0);
    if (*n >= 1 && *n <= INT32_MAX) return true;
    hn_wrong(c, "'%s' is %lld; it must be between 1 and 2^31", name, (long long)*n);
    return false;
}
static hn_val size_value(hn_builder *b, hn_dim d) { return hn_scalar(b, hn_dims_value(b, 1, &d)); }

/* ---- MultiHeadAttention ---- */

/* Rank 3 with its part of the bias [from, from + size) added, split into heads; rank 4 as it is. */
static hn_val head_operand(hn_builder *b, hn_val x, hn_val bias, hn_dim from, int64_t heads) {
    if (hn_rank(b, x) == 4) return x;
    if (bias) x = hn_bin(b, HN_OP_ADD, x, hn_slice_axis(b, bias, 0, from, hn_dim_of(b, x, 2), 1));
    return hn_split_heads(b, x, heads);
}

void hn_lower_multi_head(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    int64_t heads;
    if (!heads_of(c, "num_heads", &heads) || !hn_need(c, 1)) return;
    hn_val q = hn_in(c, 0), k = hn_in(c, 1), v = hn_in(c, 2), bias = hn_in(c, 3), past_k = hn_in(c, 6),
           past_v = hn_in(c, 7);
    if (!k || !v || hn_rank(b, q) != 3 || hn_rank(b, k) < 3 || hn_rank(b, k) > 4 || hn_rank(b, v) != hn_rank(b, k)) {
        hn_refuse(c, "queries, keys and values packed into one input");
        return;
    }
    if (hn_in(c, 8) || hn_in(c, 9)) {
        hn_refuse(c, "past_sequence_length or cache_indirection");
        return;
    }
    hn_attend a = {.mask_is_whole = true,
                   .scale = hn_float(c, "scale", 0),
                   .masked = -INFINITY,
                   .stage = hn_wants(c, 3) ? 2 : -1,
                   .causal = hn_int(c, "unidirectional", 0) != 0,
                   .mask = hn_in(c, 5)};
    hn_dim d = hn_dim_of(b, q, 2);
    a.q = head_operand(b, q, bias, hn_lit(b, 0), heads);
    a.k = head_operand(b, k, bias, d, heads);
    a.v = head_operand(b, v, bias, hn_dim_mul(t, d, hn_lit(b, 2)), heads);
    if (past_k && past_v) {
        if (a.causal) a.past = size_value(b, hn_dim_of(b, past_k, 2));
        a.k = hn_concat(b, 2, (hn_val[]){past_k, a.k}, 2);
        a.v = hn_concat(b, 2, (hn_val[]){past_v, a.v}, 2);
    }
    a.bias = padding_bias(c, hn_in(c, 4), hn_dim_of(b, q, 0), hn_dim_of(b, a.k, 2), hn_work_type(hn_dt(b, q)));
    if (hn_lower_failed(c)) return;
    hn_val y = hn_attended(c, &a, hn_dt(b, q));
    if (!y) return;
    hn_out(c, 0, hn_merge_heads(b, y));
    hn_out(c, 1, a.k);
    hn_out(c, 2, a.v);
    if (a.stage >= 0) hn_out(c, 3, a.scores);
}

/* ---- Attention: the projections are part of it ---- */

typedef struct widths {
    hn_dim at[3], size[3];
} widths;

static bool read_widths(hn_lower *c, hn_val weights, widths *w) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    const int64_t *size;
    size_t n = hn_ints(c, "qkv_hidden_sizes", &size);
    if (n && n != 3) {
        hn_wrong(c, "'qkv_hidden_sizes' has %zu entries instead of 3", n);
        return false;
    }
    hn_dim third = hn_dim_floordiv(t, hn_dim_of(b, weights, 1), hn_lit(b, 3));
    for (size_t i = 0; i < 3; i++) {
        w->size[i] = n ? hn_lit(b, size[i]) : third;
        w->at[i] = i ? hn_dim_add(t, w->at[i - 1], w->size[i - 1]) : hn_lit(b, 0);
    }
    return true;
}

/* past, present: [2, batch, heads, length, size]. */
static hn_val with_past(hn_builder *b, hn_val past, int64_t which, hn_val x) {
    if (!past) return x;
    hn_val p = hn_squeeze(b, hn_slice_axis(b, past, 0, hn_lit(b, which), hn_lit(b, 1), 1), 0);
    return hn_concat(b, 2, (hn_val[]){p, x}, 2);
}

/* Which inputs hold what, in both forms of the operator. */
typedef struct packed_inputs {
    size_t mask, past, bias; /* bias: of the scores; SIZE_MAX: none */
} packed_inputs;

/* all [batch, length, widths]: the projections of queries, keys and values, with their bias. */
static void attend_packed(hn_lower *c, hn_val all, const widths *w, int64_t heads, packed_inputs in) {
    hn_builder *b = hn_lower_builder(c);
    hn_val part[3], past = hn_in(c, in.past);
    for (size_t i = 0; i < 3; i++)
        part[i] = hn_split_heads(b, hn_slice_axis(b, all, 2, w->at[i], w->size[i], 1), heads);
    hn_attend a = {.mask_is_whole = true,
                   .q = part[0],
                   .scale = hn_float(c, "scale", 0),
                   .masked = -INFINITY,
                   .stage = -1,
                   .causal = hn_int(c, "unidirectional", 0) != 0,
                   .mask = in.bias == SIZE_MAX ? 0 : hn_in(c, in.bias)};
    if (past) a.past = size_value(b, hn_dim_of(b, past, 3));
    a.k = with_past(b, past, 0, part[1]);
    a.v = with_past(b, past, 1, part[2]);
    hone_dtype t = hn_dt(b, all);
    a.bias = padding_bias(c, hn_in(c, in.mask), hn_dim_of(b, all, 0), hn_dim_of(b, a.k, 2), hn_work_type(t));
    if (hn_lower_failed(c)) return;
    hn_val y = hn_attended(c, &a, t);
    if (!y) return;
    hn_out(c, 0, hn_merge_heads(b, y));
    if (hn_wants(c, 1)) {
        hn_val both[2] = {hn_unsqueeze(b, a.k, 0), hn_unsqueeze(b, a.v, 0)};
        hn_out(c, 1, hn_concat(b, 2, both, 0));
    }
}

static bool packed_fits(hn_lower *c, packed_inputs in, int64_t *heads, widths *w) {
    if (!heads_of(c, "num_heads", heads) || !hn_need(c, 2) || !hn_need_rank(c, 0, 3, 3) || !hn_need_rank(c, 1, 2, 2))
        return false;
    if (hn_int(c, "do_rotary", 0) || hn_int(c, "past_present_share_buffer", 0)) {
        hn_refuse(c, "do_rotary or past_present_share_buffer");
        return false;
    }
    if (hn_in(c, in.past) && !hn_need_rank(c, in.past, 5, 5)) return false;
    return read_widths(c, hn_in(c, 1), w);
}

void hn_lower_packed_attention(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    packed_inputs in = {.mask = 3, .past = 4, .bias = 5};
    int64_t heads;
    widths w;
    if (!packed_fits(c, in, &heads, &w)) return;
    if (hn_in(c, 6)) {
        hn_refuse(c, "past_sequence_length");
        return;
    }
    hn_val all = hn_matmul(b, hn_in(c, 0), hn_in(c, 1), hn_dt(b, hn_in(c, 0)));
    if (hn_in(c, 2)) all = hn_bin(b, HN_OP_ADD, all, hn_in(c, 2));
    attend_packed(c, all, &w, heads, in);
}

/* QAttention: input, weights, bias, their scales, mask, their zero points, past. */
void hn_lower_quantised_attention(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    packed_inputs in = {.mask = 5, .past = 8, .bias = SIZE_MAX};
    int64_t heads;
    widths w;
    if (!packed_fits(c, in, &heads, &w) || !hn_need(c, 5)) return;
    hn_val x_zero = hn_in(c, 6),
           factor = hn_bin(b, HN_OP_MUL, hn_scalar(b, hn_in(c, 3)), hn_per_column(b, hn_in(c, 4)));
    hn_val x = hn_centred(b, hn_in(c, 0), x_zero ? hn_scalar(b, x_zero) : 0);
    hn_val acc = hn_matmul(b, x, hn_centred(b, hn_in(c, 1), hn_per_column(b, hn_in(c, 7))), HONE_I32);
    hn_val all = hn_bin(b, HN_OP_MUL, hn_cast(b, acc, hn_dt(b, factor)), factor);
    attend_packed(c, hn_bin(b, HN_OP_ADD, all, hn_in(c, 2)), &w, heads, in);
}

/* ---- GroupQueryAttention ---- */

typedef struct cache {
    hn_val before; /* i64 [batch]: tokens of each sample in front of the new ones */
    hn_dim length; /* of the present */
} cache;

/* seqlens_k holds the index of each sample's last key; in the first call (as many keys as queries) nothing comes
 * before. */
static bool read_cache(hn_lower *c, hn_dim queries, cache *out) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    hn_dim total;
    size_t n;
    hn_val last = hn_in(c, 5), past = hn_in(c, 3);
    if (!last || !hn_in(c, 6)) {
        hn_wrong(c, "input %d is missing", last ? 6 : 5);
        return false;
    }
    if (!hn_in_dims(c, 6, &total, 1, &n) || n != 1) {
        if (!hn_lower_failed(c)) hn_wrong(c, "input 6 must be one number");
        return false;
    }
    hn_dim batch = hn_type_count(b->g, hn_t(b, last));
    last = hn_reshape(b, hn_cast(b, last, HONE_I64), 1, &batch);
    hn_val n_new = size_value(b, queries), before = hn_bin(b, HN_OP_SUB, hn_bin_f(b, HN_OP_ADD, last, 1), n_new);
    hn_val first = hn_bin(b, HN_OP_EQ, size_value(b, total), n_new);
    out->before = hn_where(b, first, hn_const_i(b, HONE_I64, 0), before);
    out->length = past ? hn_dim_max(t, hn_dim_of(b, past, 2), total) : total;
    return true;
}

/* x [batch, heads, queries, size], turned by the position of each token. */
static hn_val turned(hn_lower *c, const cache *k, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    hn_val cosines = hn_in(c, 7), sines = hn_in(c, 8);
    if (!hn_int(c, "do_rotary", 0)) return x;
    if (!cosines || !sines || hn_rank(b, cosines) != 2) {
        hn_wrong(c, "inputs 7 and 8 are missing; 'do_rotary' needs them");
        return x;
    }
    hn_dim n = hn_dim_of(b, x, 2), column[2] = {hn_dim_of(b, x, 0), hn_lit(b, 1)};
    hn_val at = hn_bin(b, HN_OP_ADD, hn_reshape(b, k->before, 2, column), hn_iota(b, HONE_I64, 1, &n, 0));
    return hn_rotate_at(b, x, cosines, sines, at, hn_int(c, "rotary_interleaved", 0) != 0);
}

/* Queries, keys, values of rank 4; keys and values may be packed behind the queries. */
static void group_operands(hn_lower *c, int64_t heads, int64_t kv_heads, hn_attend *a) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    hn_val q = hn_in(c, 0), k = hn_in(c, 1), v = hn_in(c, 2);
    if (!k && !v) {
        hn_dim size = hn_dim_floordiv(t, hn_dim_of(b, q, 2), hn_lit(b, heads + 2 * kv_heads));
        hn_dim nq = hn_dim_mul(t, size, hn_lit(b, heads)), nk = hn_dim_mul(t, size, hn_lit(b, kv_heads));
        v = hn_slice_axis(b, q, 2, hn_dim_add(t, nq, nk), nk, 1);
        k = hn_slice_axis(b, q, 2, nq, nk, 1);
        q = hn_slice_axis(b, q, 2, hn_lit(b, 0), nq, 1);
    }
    a->q = hn_split_heads(b, q, heads);
    a->k = hn_split_heads(b, k, kv_heads);
    a->v = hn_split_heads(b, v, kv_heads);
}

void hn_lower_group_query(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t heads, kv_heads;
    cache k;
    if (!heads_of(c, "num_heads", &heads) || !heads_of(c, "kv_num_heads", &kv_heads) || !hn_need(c, 1) ||
        !hn_need_rank(c, 0, 3, 3))
        return;
    if (hn_int(c, "smooth_softmax", 0) > 0 || hn_in(c, 9) || hn_in(c, 11)) {
        hn_refuse(c, "smooth_softmax, position_ids or head_sink");
        return;
    }
    if (!read_cache(c, hn_dim_of(b, hn_in(c, 0), 1), &k)) return;
    int64_t window = hn_int(c, "local_window_size", -1);
    hn_attend a = {.mask_is_whole = true,
                   .scale = hn_float(c, "scale", 0),
                   .softcap = hn_float(c, "softcap", 0),
                   .masked = -INFINITY,
                   .stage = -1,
                   .causal = true,
                   .mask = hn_in(c, 10),
                   .past = k.before,
                   .window = window > 0 ? window : 0};
    group_operands(c, heads, kv_heads, &a);
    a.q = turned(c, &k, a.q);
    a.k = hn_kv_append(b, hn_in(c, 3), turned(c, &k, a.k), k.before, k.length);
    a.v = hn_kv_append(b, hn_in(c, 4), a.v, k.before, k.length);
    if (hn_lower_failed(c)) return;
    hn_val y = hn_attended(c, &a, hn_dt(b, a.q));
    if (!y) return;
    hn_out(c, 0, hn_merge_heads(b, y));
    hn_out(c, 1, a.k);
    hn_out(c, 2, a.v);
}

/* ---- RotaryEmbedding ---- */

/* Input 1 is one position for the first token, or one for each token. */
static hn_val positions(hn_builder *b, hn_val at, hn_dim length) {
    if (hn_rank(b, at) == 2) return at;
    hn_val i = hn_iota(b, HONE_I64, 1, &length, 0);
    return hn_unsqueeze(b, hn_bin(b, HN_OP_ADD, hn_scalar(b, hn_cast(b, at, HONE_I64)), i), 0);
}

void hn_lower_rotary_contrib(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 4) || !hn_need_rank(c, 0, 3, 4) || !hn_need_rank(c, 2, 2, 2) || !hn_need_rank(c, 3, 2, 2)) return;
    if (hn_int(c, "is_packed_batching", 0)) {
        hn_refuse(c, "is_packed_batching");
        return;
    }
    hn_dims *t = b->g->dims;
    hn_val in = hn_in(c, 0), x = hn_work(b, in), turn[2];
    bool packed = hn_rank(b, in) == 3;
    int64_t heads = hn_int(c, "num_heads", 0);
    hn_dim half = hn_dim_of(b, hn_in(c, 2), 1), shape[3] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), hn_dim_of(b, x, 2)};
    hn_val at = positions(b, hn_in(c, 1), shape[packed ? 1 : 2]);
    if (packed) {
        hn_dim n = heads ? hn_lit(b, heads) : hn_dim_floordiv(t, shape[2], hn_dim_mul(t, half, hn_lit(b, 2)));
        hn_dim wide[4] = {shape[0], shape[1], n, hn_dim_floordiv(t, shape[2], n)};
        x = hn_reshape(b, x, 4, wide);
    }
    for (size_t i = 0; i < 2; i++)
        turn[i] = hn_unsqueeze(b, hn_cast(b, hn_gather(b, hn_in(c, 2 + i), at, 0), hn_dt(b, x)), packed ? 2 : 1);
    hn_val y = hn_rotate(b, x, turn[0], turn[1], half, hn_int(c, "interleaved", 0) != 0);
    if (packed) y = hn_reshape(b, y, 3, shape);
    hn_out(c, 0, hn_cast(b, y, hn_dt(b, in)));
}
