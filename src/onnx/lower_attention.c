/* Attention and FlexAttention. */
#include "onnx/lower_attention_int.h"

#include <math.h>
#include <string.h>

hn_val hn_attended(hn_lower *c, hn_attend *a, hone_dtype out) {
    hone_err err = {0};
    hn_val y = hn_attend_emit(hn_lower_builder(c), a, out, &err);
    hn_told(c, &err);
    return y;
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
    hn_attend a = {.scale = hn_float(c, "scale", 0),
                   .softcap = hn_float(c, "softcap", 0),
                   .masked = -INFINITY,
                   .causal = hn_int(c, "is_causal", 0) != 0,
                   .mask = hn_in(c, 3),
                   .mask_is_whole = hn_lower_opset(c) < 24,
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
    hn_val y = hn_attended(c, &a, hn_dt(b, a.q));
    if (!y) return;
    hn_out(c, 0, packed ? hn_merge_heads(b, y) : y);
    hn_out(c, 1, a.k);
    hn_out(c, 2, a.v);
    if (a.stage >= 0) hn_out(c, 3, a.scores);
}

/* ---- FlexAttention ---- */

static hn_val modified(void *arg, hn_builder *b, hn_val x, int which) {
    static const char *const name[] = {"score_mod", "prob_mod"};
    hn_lower *c = arg;
    hn_val y = x;
    size_t n;
    if (!hn_has(c, name[which])) return x;
    if (!hn_subgraph(c, name[which], b->b, 1, &x, 1, &y, &n)) return 0;
    if (n != 1 || hn_rank(b, y) != 4) {
        hn_wrong(c, "'%s' must give one result of rank 4", name[which]);
        return 0;
    }
    return hn_cast(b, y, hn_dt(b, x));
}

static void lower_flex(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_attend a = {
        .scale = hn_float(c, "scale", 0), .masked = -INFINITY, .stage = -1, .change = modified, .change_arg = c};
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
    hn_val y = hn_attended(c, &a, hn_dt(b, a.v));
    if (y) hn_out(c, 0, y);
}

const hn_lower_row hn_lower_attention[] = {
    {"", "Attention", 23, HN_OPSET_MAX, lower_attention, 0},
    {"", "RotaryEmbedding", 23, HN_OPSET_MAX, hn_lower_rotary, 0},
    {"", "LinearAttention", 27, HN_OPSET_MAX, hn_lower_linear_attention, 0},
    {"ai.onnx.preview", "FlexAttention", 1, HN_OPSET_MAX, lower_flex, 0},
    {0},
};
