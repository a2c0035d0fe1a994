/* experts.c — see experts.h. */
#include "compose/experts.h"
#include "compose/packed.h"

/* The stack is turned before one is taken: constants are turned when they are compiled. */
hn_val hn_experts_product(hn_builder *b, hn_val x, hn_val w, hn_val expert) {
    static const int64_t lhs[] = {0, 2}, rhs[] = {2, 1}, out[] = {0, 1};
    if (hn_is_packed(b, w)) return hn_weight_product_chosen(b, x, w, expert);
    return x && w ? hn_contract(b, x, hn_gather(b, hn_swap(b, w, 1, 2), expert, 0), lhs, rhs, 2, out, hn_dt(b, x)) : 0;
}

/* Indices of what is true in a vector. */
static hn_val where_true(hn_builder *b, hn_val x, const char *name, int64_t most) {
    hn_dim n = hn_dim_symbol(b->g->dims, name, 0, most);
    hn_attr attr = hn_a_dims(HN_A_DEFINES, 1, &n);
    hn_val y = hn_emit(b->g, b->b, HN_OP_NONZERO, 1, &x, 1, &attr, 1);
    return y ? hn_reshape(b, y, 1, &n) : 0;
}

/* The share of each token in each expert [experts, tokens], 0 where it did not choose it. */
static hn_val shares(hn_builder *b, const hn_experts *e) {
    hn_dim tokens = hn_dim_of(b, e->scores, 0), experts = hn_dim_of(b, e->scores, 1), used = hn_lit(b, e->used);
    hn_dim chosen[2] = {tokens, used}, three[3] = {tokens, used, hn_lit(b, 1)}, all[3] = {tokens, used, experts};
    hn_val x = e->normalised ? e->scores : hn_softmax(b, e->scores, 1);
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 1), hn_a_int(HN_A_LARGEST, 1), hn_a_dims(HN_A_SHAPE, 2, chosen)};
    hn_val best = hn_emit(b->g, b->b, HN_OP_TOPK, 1, &x, 3, attr, 2);
    if (!best) return 0;
    hn_val id = best + 1, share = e->normalised ? hn_softmax(b, best, 1) : best;
    if (e->scale > 0) share = hn_bin_f(b, HN_OP_MUL, share, e->scale);
    hn_val is = hn_bin(b, HN_OP_EQ, hn_reshape(b, id, 3, three), hn_iota(b, HONE_I64, 3, all, 2));
    hn_val spread = hn_where(b, is, hn_reshape(b, share, 3, three), hn_const_f(b, hn_dt(b, share), 0));
    return hn_swap(b, hn_reduce1(b, HN_OP_RSUM, spread, 1, false), 0, 1);
}

/* One expert: its rows of x are added to `sum`. */
static hn_val one_expert(hn_builder *b, const hn_experts *e, hn_val share, hn_val expert, hn_val sum) {
    hn_val own = hn_gather(b, share, expert, 0), none = hn_const_f(b, hn_dt(b, own), 0);
    hn_val rows = where_true(b, hn_bin(b, HN_OP_LT, none, own), "rows", INT64_MAX);
    if (!rows) return 0;
    hn_dim column[2] = {hn_dim_of(b, rows, 0), hn_lit(b, 1)};
    hn_val y = e->mlp(e->arg, b, hn_gather(b, e->x, rows, 0), expert);
    if (!y) return 0;
    y = hn_bin(b, HN_OP_MUL, y, hn_reshape(b, hn_gather(b, own, rows, 0), 2, column));
    hn_val in[3] = {sum, hn_reshape(b, rows, 2, column), y};
    hn_attr attr = hn_a_word(HN_A_MODE, "add");
    return hn_emit(b->g, b->b, HN_OP_SCATTER_ND, 3, in, 1, &attr, 1);
}

hn_val hn_experts_emit(hn_builder *b, const hn_experts *e) {
    int64_t n = 0;
    hn_graph *g = b->g;
    if (!e->x || !e->scores || !hn_dim_known(b, hn_dim_of(b, e->scores, 1), &n)) return 0;
    hn_val share = shares(b, e);
    if (!share) return 0;
    hn_val most = hn_reduce1(b, HN_OP_RMAX, share, 1, false);
    hn_val active = where_true(b, hn_bin(b, HN_OP_LT, hn_const_f(b, hn_dt(b, most), 0), most), "active", n);
    if (!active) return 0;
    hn_builder in = {g, hn_block_new(g, b->b)};
    hn_type count = {.dtype = HONE_I64}, flag = {.dtype = HONE_BOOL}, rows = *hn_t(b, e->x);
    hn_val i = hn_param(g, in.b, NULL, &count), go = hn_param(g, in.b, NULL, &flag),
           sum = hn_param(g, in.b, NULL, &rows);
    sum = one_expert(&in, e, share, hn_gather(&in, active, i, 0), sum);
    if (!sum) return 0;
    hn_result(g, in.b, go, NULL);
    hn_result(g, in.b, sum, NULL);
    hn_dim done = hn_dim_symbol(g->dims, "experts", 0, n);
    hn_attr attr[] = {hn_a_blocks(1, &in.b), hn_a_int(HN_A_COUNT, 0), hn_a_dims(HN_A_DEFINES, 1, &done)};
    hn_val from[3] = {hn_size_value(b, hn_dim_of(b, active, 0), HONE_I64), hn_const_i(b, HONE_BOOL, 1),
                      hn_full(b, hn_dt(b, e->x), 2, rows.dim, 0)};
    return hn_emit(g, b->b, HN_OP_LOOP, 3, from, 3, attr, 1);
}
