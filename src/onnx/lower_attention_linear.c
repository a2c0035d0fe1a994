/* Linear attention: a state [kv heads, key size, value size] per sample that every token decays, corrects and reads
 * (Yang et al. 2024, "Gated delta networks"). Token by token, in f32 at least. */
#include "onnx/lower_attention_int.h"
#include "onnx/lower_util.h"

#include <string.h>

typedef struct rule {
    bool gated, delta;
    hn_val q, k, v; /* [tokens, batch, kv heads, (group,) size] */
    hn_val decay,
        beta;     /* [tokens, batch, kv heads, key size or 1], [tokens, batch, kv heads or 1, 1]; 0 where unused */
    hn_val scale; /* scalar */
} rule;

static void token(void *arg, hn_builder *b, hn_moment at, hn_val *state, hn_val *scan) {
    /* labels: 0 batch, 1 kv head, 2 group, 3 key size, 4 value size */
    static const int64_t s[] = {0, 1, 3, 4}, k[] = {0, 1, 3}, o[] = {0, 1, 4}, q[] = {0, 1, 2, 3}, y[] = {0, 1, 2, 4};
    const rule *r = arg;
    hn_val memory = state[0], key = hn_at_time(b, r->k, at), value = hn_at_time(b, r->v, at);
    hone_dtype t = hn_dt(b, memory);
    if (r->gated) {
        hn_val g = hn_un(b, HN_OP_EXP, hn_at_time(b, r->decay, at));
        memory = hn_bin(b, HN_OP_MUL, memory, hn_unsqueeze(b, g, 3));
    }
    if (r->delta) {
        value = hn_bin(b, HN_OP_SUB, value, hn_contract(b, memory, key, s, k, 3, o, t));
        value = hn_bin(b, HN_OP_MUL, value, hn_at_time(b, r->beta, at));
    }
    hn_val add = hn_bin(b, HN_OP_MUL, hn_unsqueeze(b, key, 3), hn_unsqueeze(b, value, 2));
    state[0] = hn_bin(b, HN_OP_ADD, memory, add);
    hn_val out = hn_contract(b, hn_at_time(b, r->q, at), state[0], q, s, 4, y, t);
    scan[0] = hn_bin(b, HN_OP_MUL, out, r->scale);
}

static bool read_rule(hn_lower *c, rule *r) {
    static const char *const name[] = {"linear", "gated", "delta", "gated_delta"};
    const char *s = hn_string(c, "update_rule", "gated_delta");
    unsigned i = 0;
    while (i < 4 && strcmp(s, name[i]) != 0) i++;
    if (i == 4) {
        hn_wrong(c, "'update_rule' is '%s'; it must be linear, gated, delta or gated_delta", s);
        return false;
    }
    r->gated = i & 1;
    r->delta = i & 2;
    if (r->gated != (hn_in(c, 4) != 0) || r->delta != (hn_in(c, 5) != 0)) {
        hn_wrong(c, "update rule '%s' %s input 4 (decay) and %s input 5 (beta)", s, r->gated ? "needs" : "has no",
                 r->delta ? "needs" : "has no");
        return false;
    }
    return true;
}

/* [batch, tokens, heads * size] in the working type as [tokens, batch, heads, size]. */
static hn_val by_token(hn_builder *b, hn_val x, hone_dtype t, int64_t heads) {
    hn_dim n = hn_lit(b, heads);
    hn_dim shape[4] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), n, hn_dim_floordiv(b->g->dims, hn_dim_of(b, x, 2), n)};
    return hn_swap(b, hn_reshape(b, hn_cast(b, x, t), 4, shape), 0, 1);
}

static hn_val read_scale(hn_lower *c, hone_dtype t, hn_dim key_size) {
    hn_builder *b = hn_lower_builder(c);
    double scale = hn_float(c, "scale", 0);
    if (scale != 0) return hn_const_f(b, t, scale);
    return hn_un(b, HN_OP_RSQRT, hn_cast(b, hn_scalar(b, hn_dims_value(b, 1, &key_size)), t));
}

static hn_val first_memory(hn_lower *c, const rule *r, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim shape[4] = {hn_dim_of(b, r->k, 1), hn_dim_of(b, r->k, 2), hn_dim_of(b, r->k, 3), hn_dim_of(b, r->v, 3)};
    hn_val past = hn_in(c, 3);
    return past ? hn_reshape(b, hn_cast(b, past, t), 4, shape) : hn_full(b, t, 4, shape, 0);
}

static bool shapes_fit(hn_lower *c, int64_t q_heads, int64_t kv_heads) {
    if (!hn_need(c, 3)) return false;
    for (size_t i = 0; i < 6; i++)
        if (hn_in(c, i) && !hn_need_rank(c, i, i == 3 ? 4 : 3, i == 3 ? 4 : 3)) return false;
    if (kv_heads >= 1 && q_heads >= kv_heads && q_heads % kv_heads == 0) return true;
    hn_wrong(c, "'q_num_heads' is %lld; it must be a positive multiple of 'kv_num_heads', %lld", (long long)q_heads,
             (long long)kv_heads);
    return false;
}

void hn_lower_linear_attention(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    int64_t q_heads = hn_int(c, "q_num_heads", 0), kv_heads = hn_int(c, "kv_num_heads", 0);
    rule r = {0};
    if (!shapes_fit(c, q_heads, kv_heads) || !read_rule(c, &r)) return;
    hn_val in = hn_in(c, 0), past = hn_in(c, 3);
    hone_dtype t = hn_work_type(hn_dt(b, in));
    hn_val q = by_token(b, in, t, q_heads);
    hn_dim five[5] = {hn_dim_of(b, q, 0), hn_dim_of(b, q, 1), hn_lit(b, kv_heads), hn_lit(b, q_heads / kv_heads),
                      hn_dim_of(b, q, 3)};
    r.scale = read_scale(c, t, five[4]);
    r.q = hn_reshape(b, q, 5, five);
    r.k = by_token(b, hn_in(c, 1), t, kv_heads);
    r.v = by_token(b, hn_in(c, 2), t, kv_heads);
    if (r.gated) r.decay = by_token(b, hn_in(c, 4), t, kv_heads);
    if (r.delta) {
        bool one = hn_dim_is(b, hn_dim_of(b, hn_in(c, 5), 2), 1);
        r.beta = by_token(b, hn_in(c, 5), t, one ? 1 : kv_heads);
    }
    hn_val state = first_memory(c, &r, t), y;
    hn_over_time(b, five[0], false, 1, &state, 1, &y, token, &r);
    y = hn_swap(b, y, 0, 1); /* [batch, tokens, kv heads, group, value size] */
    hn_dim shape[3] = {five[1], five[0], hn_dim_product(b, y, 2, 5)};
    hn_out(c, 0, hn_cast(b, hn_reshape(b, y, 3, shape), hn_dt(b, in)));
    hn_out(c, 1, hn_cast(b, state, past ? hn_dt(b, past) : hn_dt(b, in)));
}
