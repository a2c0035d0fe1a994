/* linear_attention.c — a state [kv heads, key size, value size] per sample that every token decays, corrects and reads
 * (Yang et al. 2024, "Gated delta networks"). Token by token, in f32 at least. */
#include "compose/compose.h"

typedef struct rule {
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
    if (r->decay) {
        hn_val g = hn_un(b, HN_OP_EXP, hn_at_time(b, r->decay, at));
        memory = hn_bin(b, HN_OP_MUL, memory, hn_unsqueeze(b, g, 3));
    }
    if (r->beta) {
        value = hn_bin(b, HN_OP_SUB, value, hn_contract(b, memory, key, s, k, 3, o, t));
        value = hn_bin(b, HN_OP_MUL, value, hn_at_time(b, r->beta, at));
    }
    hn_val add = hn_bin(b, HN_OP_MUL, hn_unsqueeze(b, key, 3), hn_unsqueeze(b, value, 2));
    state[0] = hn_bin(b, HN_OP_ADD, memory, add);
    hn_val out = hn_contract(b, hn_at_time(b, r->q, at), state[0], q, s, 4, y, t);
    scan[0] = hn_bin(b, HN_OP_MUL, out, r->scale);
}

/* [batch, tokens, heads * size] in the working type as [tokens, batch, heads, size]. */
static hn_val by_token(hn_builder *b, hn_val x, hone_dtype t, int64_t heads) {
    hn_dim n = hn_lit(b, heads);
    hn_dim shape[4] = {hn_dim_of(b, x, 0), hn_dim_of(b, x, 1), n, hn_dim_floordiv(b->g->dims, hn_dim_of(b, x, 2), n)};
    return hn_swap(b, hn_reshape(b, hn_cast(b, x, t), 4, shape), 0, 1);
}

static hn_val scale_of(hn_builder *b, double scale, hone_dtype t, hn_dim key_size) {
    if (scale != 0) return hn_const_f(b, t, scale);
    return hn_un(b, HN_OP_RSQRT, hn_cast(b, hn_scalar(b, hn_dims_value(b, 1, &key_size)), t));
}

static hn_val first_memory(hn_builder *b, const rule *r, hn_val past, hone_dtype t) {
    hn_dim shape[4] = {hn_dim_of(b, r->k, 1), hn_dim_of(b, r->k, 2), hn_dim_of(b, r->k, 3), hn_dim_of(b, r->v, 3)};
    return past ? hn_reshape(b, hn_cast(b, past, t), 4, shape) : hn_full(b, t, 4, shape, 0);
}

hn_val hn_linear_attend(hn_builder *b, hn_linear_attention *a) {
    rule r = {0};
    hone_dtype t = hn_work_type(hn_dt(b, a->q));
    hn_val q = by_token(b, a->q, t, a->q_heads);
    hn_dim five[5] = {hn_dim_of(b, q, 0), hn_dim_of(b, q, 1), hn_lit(b, a->kv_heads),
                      hn_lit(b, a->q_heads / a->kv_heads), hn_dim_of(b, q, 3)};
    r.scale = scale_of(b, a->scale, t, five[4]);
    r.q = hn_reshape(b, q, 5, five);
    r.k = by_token(b, a->k, t, a->kv_heads);
    r.v = by_token(b, a->v, t, a->kv_heads);
    if (a->decay) r.decay = by_token(b, a->decay, t, a->kv_heads);
    if (a->beta) r.beta = by_token(b, a->beta, t, hn_dim_is(b, hn_dim_of(b, a->beta, 2), 1) ? 1 : a->kv_heads);
    hn_val state = first_memory(b, &r, a->memory, t), y = 0;
    hone_dtype kept = hn_dt(b, a->memory ? a->memory : a->q);
    hn_over_time(b, five[0], false, 1, &state, 1, &y, token, &r);
    y = hn_swap(b, y, 0, 1); /* [batch, tokens, kv heads, group, value size] */
    hn_dim shape[3] = {five[1], five[0], hn_dim_product(b, y, 2, 5)};
    y = hn_cast(b, hn_reshape(b, y, 3, shape), hn_dt(b, a->q));
    a->memory = hn_cast(b, state, kept);
    return y;
}
