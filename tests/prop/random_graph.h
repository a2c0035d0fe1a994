/* tests/prop/random_graph.h — random graphs of pointwise, movement, reduction and contraction nodes over three inputs:
 * f32 [2, 3, 4], [n, 3, 4] and [3, 1]; three outputs. One seed, one graph. */
#ifndef HN_RANDOM_GRAPH_H
#define HN_RANDOM_GRAPH_H

#include "base/rng.h"
#include "ir/build.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 64 };

typedef struct maker {
    hn_builder b;
    hn_rng r;
    hn_val v[MOST]; /* all of them of f32 */
    size_t n;
    hn_dim sym;
    bool choose; /* min and max, too */
    bool tame;   /* finite values only, nothing that rounding blows up: for relaxed mode */
} maker;

static uint32_t below(maker *m, uint32_t n) { return (uint32_t)hn_rng_below(&m->r, n); }
/* Mostly one of the last, so that chains form. */
static hn_val any(maker *m) {
    uint32_t n = (uint32_t)m->n, recent = n < 3 ? n : 3;
    return m->v[below(m, 3) ? n - 1 - below(m, recent) : below(m, n)];
}

static void keep(maker *m, hn_val v) {
    if (v && m->n < MOST && hn_dt(&m->b, v) == HONE_F32) m->v[m->n++] = v;
}

static double number(maker *m) {
    static const double odd[] = {0.0, -0.0, 1,   -1,       2,         0.5, 8,        3,       -2.5,
                                 0.0, -0.0, 0.0, INFINITY, -INFINITY, NAN, 0x1p-140, 0x1p+126};
    return odd[below(m, m->tame ? 9 : sizeof odd / sizeof *odd)];
}

/* A value of the shape of x: another one, a uniform constant, or one broadcast along a dimension. */
static hn_val partner(maker *m, hn_val x) {
    const hn_type t = *hn_t(&m->b, x);
    for (int i = (int)below(m, 2) * 8; i < 8; i++) {
        hn_val y = any(m);
        if (hn_type_same(m->b.g, &t, hn_t(&m->b, y))) return y;
    }
    if (!t.rank || below(m, 2)) return hn_full(&m->b, HONE_F32, t.rank, t.dim, number(m));
    int64_t axis = below(m, t.rank), n;
    hn_tensor c;
    if (!hn_dim_is_int(m->b.g->dims, t.dim[axis], &n) || !hn_tensor_new(&m->b.g->arena, HONE_F32, 1, &n, &c))
        return hn_full(&m->b, HONE_F32, t.rank, t.dim, number(m));
    for (int64_t i = 0; i < n; i++) hn_set_f(&c, i, number(m));
    hn_attr a[] = {{.id = HN_A_SHAPE, .n = t.rank, .dims = t.dim}, {.id = HN_A_MAP, .n = 1, .ints = &axis}};
    hn_val v = hn_const(&m->b, &c);
    return hn_emit(m->b.g, 0, HN_OP_BROADCAST, 1, &v, 2, a, 1);
}

static hn_val make_unary(maker *m) {
    static const hn_op op[] = {HN_OP_NEG,   HN_OP_ABS,   HN_OP_FLOOR, HN_OP_ROUND, HN_OP_NEG, HN_OP_SIGN,
                               HN_OP_RECIP, HN_OP_TRUNC, HN_OP_NEG,   HN_OP_SQRT,  HN_OP_EXP};
    return hn_un(&m->b, op[below(m, m->tame ? 2 : sizeof op / sizeof *op)], any(m));
}

static hn_val make_binary(maker *m) {
    static const hn_op op[] = {HN_OP_MAX, HN_OP_MIN, HN_OP_ADD, HN_OP_SUB, HN_OP_MUL, HN_OP_ADD, HN_OP_DIV, HN_OP_POW};
    hn_val x = any(m), y = partner(m, x);
    hn_op o = op[m->choose ? below(m, m->tame ? 5 : 8) : 2 + below(m, m->tame ? 3 : 6)];
    return below(m, 2) ? hn_bin(&m->b, o, x, y) : hn_bin(&m->b, o, y, x);
}

static hn_val make_select(maker *m) {
    static const hn_op op[] = {HN_OP_EQ, HN_OP_LT, HN_OP_LE, HN_OP_NE};
    hn_val x = any(m), c = hn_bin(&m->b, m->tame ? HN_OP_EQ : op[below(m, 4)], x, partner(m, x));
    if (below(m, 2)) c = hn_un(&m->b, HN_OP_NOT, c);
    return hn_where(&m->b, c, partner(m, x), x);
}

static hn_val make_transpose(maker *m) {
    hn_val x = any(m);
    int64_t perm[HN_RANK_MAX];
    size_t rank = hn_rank(&m->b, x);
    for (size_t i = 0; i < rank; i++) perm[i] = (int64_t)i;
    for (size_t i = rank; i > 1; i--) {
        size_t j = below(m, (uint32_t)i);
        int64_t p = perm[i - 1];
        perm[i - 1] = perm[j];
        perm[j] = p;
    }
    return hn_transpose(&m->b, x, perm);
}

static hn_val make_move(maker *m) {
    hn_val x = any(m);
    size_t rank = hn_rank(&m->b, x);
    if (!rank) return hn_unsqueeze(&m->b, x, 0);
    int64_t axis = below(m, (uint32_t)rank), n;
    bool fixed = hn_dim_is_int(m->b.g->dims, hn_dim_of(&m->b, x, (size_t)axis), &n);
    switch (below(m, 6)) {
    case 0: return rank < 4 ? hn_unsqueeze(&m->b, x, axis) : x;
    case 1: return fixed && n == 1 ? hn_squeeze(&m->b, x, axis) : x;
    case 2: return hn_flip(&m->b, x, axis);
    case 3: return fixed && n > 1 ? hn_slice_axis(&m->b, x, axis, hn_lit(&m->b, 1), hn_lit(&m->b, n - 1), 1) : x;
    case 4: return hn_pad_axis(&m->b, x, axis, hn_lit(&m->b, below(m, 2)), hn_lit(&m->b, 0), 0);
    default: return fixed && n ? hn_gather(&m->b, x, hn_const_i(&m->b, HONE_I64, below(m, (uint32_t)n)), axis) : x;
    }
}

static hn_val make_reduce(maker *m) {
    static const hn_op op[] = {HN_OP_RMAX, HN_OP_RMIN, HN_OP_RSUM};
    hn_val x = any(m);
    size_t rank = hn_rank(&m->b, x);
    return rank && (m->choose || !below(m, 4))
               ? hn_reduce1(&m->b, op[m->choose ? below(m, 3) : 2], x, below(m, (uint32_t)rank), below(m, 2))
               : x;
}

static hn_val make_concat(maker *m) {
    hn_val x = any(m), in[3] = {x, partner(m, x), x};
    return hn_rank(&m->b, x) ? hn_concat(&m->b, 2 + below(m, 2), in, below(m, (uint32_t)hn_rank(&m->b, x))) : x;
}

static hn_val make_contract(maker *m) {
    hn_val x = any(m);
    size_t rank = hn_rank(&m->b, x);
    int64_t n;
    if (rank < 1 || rank > 3 || !hn_dim_is_int(m->b.g->dims, hn_dim_of(&m->b, x, rank - 1), &n) || n > 8) return x;
    hn_tensor w;
    if (!hn_tensor_new(&m->b.g->arena, HONE_F32, 2, (int64_t[]){n, 2}, &w)) return 0;
    for (int64_t i = 0; i < 2 * n; i++) hn_set_f(&w, i, (double)below(m, 9) - 4);
    return hn_matmul(&m->b, x, hn_const(&m->b, &w), HONE_F32);
}

typedef hn_val make(maker *m);
static make *const makers[] = {make_unary, make_binary, make_binary, make_binary, make_select,    make_transpose,
                               make_move,  make_move,   make_reduce, make_concat, make_transpose, make_contract};

static hn_graph *random_graph(uint64_t seed, bool tame) {
    maker m = {.b = {hn_graph_new(), 0}, .r = hn_rng_make(seed, 7), .tame = tame, .choose = seed % 2};
    hn_graph *g = m.b.g;
    m.sym = hn_dim_symbol(g->dims, "n", 1, 8);
    hn_type t = {.dtype = HONE_F32, .rank = 3, .dim = {hn_lit(&m.b, 2), hn_lit(&m.b, 3), hn_lit(&m.b, 4)}};
    keep(&m, hn_param(g, 0, "x", &t));
    t.dim[0] = m.sym;
    keep(&m, hn_param(g, 0, "y", &t));
    t = (hn_type){.dtype = HONE_F32, .rank = 2, .dim = {hn_lit(&m.b, 3), hn_lit(&m.b, 1)}};
    keep(&m, hn_param(g, 0, "z", &t));
    size_t steps = 4 + below(&m, 14), n_makers = sizeof makers / sizeof *makers;
    for (size_t i = 0; i < steps; i++) keep(&m, makers[below(&m, (uint32_t)(tame ? n_makers - 1 : n_makers))](&m));
    for (size_t i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "o%zu", i);
        hn_result(g, 0, i ? any(&m) : m.v[m.n - 1], name);
    }
    return g;
}

#endif
