/* Random bodies of a few primitives over symbolic sizes: the reference kernel gives what the interpreter gives. */
#include "backend/reference_lab.h"

enum { N_BODIES = 250, N_STEPS = 7, N_SIZES = 6, VALUES = 2 * N_STEPS + 8 };

typedef struct body {
    hn_graph *g;
    hn_rng r;
    hn_val v[VALUES];
    size_t n;
    hn_dim size[N_SIZES];
} body;

static uint64_t below(body *b, uint64_t n) { return hn_rng_below(&b->r, n); }
static const hn_type *type(const body *b, hn_val v) { return hn_type_of(b->g, v); }
static hn_val pick(body *b) { return b->v[below(b, b->n)]; }
static bool is_num(const body *b, hn_val v) { return type(b, v)->dtype != HONE_BOOL; }

static void push(body *b, hn_val v) {
    if (v && b->n < VALUES && type(b, v)->rank <= 5) b->v[b->n++] = v;
}

static hn_val node(body *b, hn_op op, size_t n_in, const hn_val *in, size_t n_attr, const hn_attr *attr) {
    return hn_emit(b->g, 0, op, n_in, in, n_attr, attr, 1);
}

static hn_attr ints(hn_attr_id id, uint32_t n, const int64_t *x) {
    return (hn_attr){.id = id, .kind = HN_K_INTS, .n = n, .ints = x};
}
static hn_attr dims(hn_attr_id id, uint32_t n, const hn_dim *x) {
    return (hn_attr){.id = id, .kind = HN_K_DIMS, .n = n, .dims = x};
}
static hn_attr one(hn_attr_id id, int64_t x) { return (hn_attr){.id = id, .kind = HN_K_INT, .i = x}; }
static hn_attr dtype(hone_dtype t) { return (hn_attr){.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = t}; }

/* Another value of x's type, or x. */
static hn_val mate(body *b, hn_val x) {
    for (int k = 0; k < 6; k++) {
        hn_val y = pick(b);
        if (hn_type_same(b->g, type(b, x), type(b, y))) return y;
    }
    return x;
}

static hn_val pointwise(body *b, hn_val x) {
    static const hn_op of_float[] = {HN_OP_EXP, HN_OP_TANH, HN_OP_SIGMOID, HN_OP_ERF, HN_OP_NEG, HN_OP_ABS, HN_OP_SQRT};
    static const hn_op of_any[] = {HN_OP_NEG, HN_OP_ABS, HN_OP_SIGN};
    static const hn_op two[] = {HN_OP_ADD, HN_OP_SUB, HN_OP_MUL, HN_OP_DIV, HN_OP_MAX, HN_OP_MIN, HN_OP_LT, HN_OP_EQ};
    hn_val in[3] = {x, mate(b, x), 0};
    if (!is_num(b, x)) return node(b, below(b, 2) ? HN_OP_AND : HN_OP_XOR, 2, in, 0, NULL);
    if (below(b, 2)) return node(b, two[below(b, 8)], 2, in, 0, NULL);
    if (hn_is_float(type(b, x)->dtype)) return node(b, of_float[below(b, 7)], 1, in, 0, NULL);
    return node(b, of_any[below(b, 3)], 1, in, 0, NULL);
}

static hn_val cast(body *b, hn_val x) {
    static const hone_dtype to[] = {HONE_F32, HONE_F64, HONE_F16, HONE_I8, HONE_I64, HONE_U8, HONE_BOOL, HONE_BF16};
    hn_attr attr[] = {dtype(to[below(b, 8)])};
    return node(b, HN_OP_CAST, 1, &x, 1, attr);
}

static hn_val reduce(body *b, hn_val x) {
    static const hn_op op[] = {HN_OP_RSUM, HN_OP_RMAX, HN_OP_RMIN, HN_OP_RPROD};
    size_t rank = type(b, x)->rank;
    if (!rank) return 0;
    int64_t axis = (int64_t)below(b, rank);
    hn_attr attr[] = {ints(HN_A_AXES, 1, &axis), one(HN_A_KEEP, (int64_t)below(b, 2))};
    return node(b, op[is_num(b, x) ? below(b, 4) : 1 + below(b, 2)], 1, &x, 2, attr);
}

static hn_val along(body *b, hn_val x) {
    size_t rank = type(b, x)->rank;
    if (!rank || !is_num(b, x)) return 0;
    hn_attr axis = one(HN_A_AXIS, (int64_t)below(b, rank));
    hn_attr arg[] = {axis, one(HN_A_KEEP, (int64_t)below(b, 2)), one(HN_A_LAST, (int64_t)below(b, 2))};
    hn_attr sum[] = {axis, one(HN_A_EXCLUSIVE, (int64_t)below(b, 2)), one(HN_A_REVERSE, (int64_t)below(b, 2))};
    if (below(b, 2)) return node(b, HN_OP_ARGMAX, 1, &x, 3, arg);
    return node(b, HN_OP_CUMSUM, 1, &x, 3, sum);
}

static hn_val reshape(body *b, hn_val x) {
    hn_dim to[HN_RANK_MAX];
    const hn_type *t = type(b, x);
    uint32_t n = 0;
    if (!t->rank) return 0;
    size_t at = below(b, t->rank); /* one dimension joins the next, or gets a 1 in front */
    bool joins = at + 1 < t->rank && below(b, 2);
    for (size_t i = 0; i < t->rank; i++) {
        if (i == at && !joins) to[n++] = hn_dim_int(b->g->dims, 1);
        to[n++] = joins && i == at ? hn_dim_mul(b->g->dims, t->dim[i], t->dim[i + 1]) : t->dim[i];
        i += joins && i == at;
    }
    hn_attr attr[] = {dims(HN_A_SHAPE, n, to)};
    return node(b, HN_OP_RESHAPE, 1, &x, 1, attr);
}

static hn_val transpose(body *b, hn_val x) {
    int64_t perm[HN_RANK_MAX];
    size_t n = type(b, x)->rank;
    for (size_t i = 0; i < n; i++) perm[i] = (int64_t)i;
    for (size_t i = n; i-- > 1;) {
        size_t k = below(b, i + 1);
        int64_t swap = perm[i];
        perm[i] = perm[k], perm[k] = swap;
    }
    hn_attr attr[] = {ints(HN_A_PERM, (uint32_t)n, perm)};
    return node(b, HN_OP_TRANSPOSE, 1, &x, 1, attr);
}

/* A new dimension somewhere; dimensions of 1 may grow. */
static hn_val broadcast(body *b, hn_val x) {
    hn_dim to[HN_RANK_MAX];
    int64_t map[HN_RANK_MAX], unit;
    const hn_type *t = type(b, x);
    uint32_t n = 0;
    size_t at = below(b, t->rank + 1u);
    for (size_t i = 0; i <= t->rank; i++) {
        if (i == at) to[n++] = b->size[below(b, N_SIZES)];
        if (i == t->rank) break;
        map[i] = n;
        to[n++] = hn_dim_is_int(b->g->dims, t->dim[i], &unit) && unit == 1 ? b->size[below(b, N_SIZES)] : t->dim[i];
    }
    hn_attr attr[] = {dims(HN_A_SHAPE, n, to), ints(HN_A_MAP, t->rank, map)};
    return node(b, HN_OP_BROADCAST, 1, &x, 2, attr);
}

/* The last ceil(n / 2) of a dimension, perhaps backwards. */
static hn_val slice(body *b, hn_val x) {
    hn_dim to[HN_RANK_MAX], start[HN_RANK_MAX], two = hn_dim_int(b->g->dims, 2);
    int64_t step[HN_RANK_MAX];
    const hn_type *t = type(b, x);
    hn_dims *d = b->g->dims;
    for (size_t i = 0; i < t->rank; i++) {
        bool back = below(b, 2);
        to[i] = hn_dim_ceildiv(d, t->dim[i], two);
        start[i] = back ? hn_dim_sub(d, t->dim[i], hn_dim_int(d, 1)) : hn_dim_sub(d, t->dim[i], to[i]);
        step[i] = back ? (below(b, 2) ? -1 : -2) : 1;
    }
    hn_attr attr[] = {dims(HN_A_SHAPE, t->rank, to), dims(HN_A_START, t->rank, start), ints(HN_A_STEP, t->rank, step)};
    return node(b, HN_OP_SLICE, 1, &x, 3, attr);
}

static hn_val pad(body *b, hn_val x) {
    static const char *const mode[] = {"constant", "edge", "reflect", "wrap"};
    hn_dim low[HN_RANK_MAX], high[HN_RANK_MAX];
    const hn_type *t = type(b, x);
    for (size_t i = 0; i < t->rank; i++) {
        low[i] = hn_dim_int(b->g->dims, (int64_t)below(b, 3));
        high[i] = hn_dim_int(b->g->dims, (int64_t)below(b, 4));
    }
    hn_attr attr[] = {dims(HN_A_LOW, t->rank, low),
                      dims(HN_A_HIGH, t->rank, high),
                      {.id = HN_A_MODE, .kind = HN_K_NAME, .name = mode[below(b, 4)]}};
    return node(b, HN_OP_PAD, 1, &x, 3, attr);
}

static hn_val concat(body *b, hn_val x) {
    hn_val in[] = {x, mate(b, x), x};
    if (!type(b, x)->rank) return 0;
    hn_attr attr[] = {one(HN_A_AXIS, (int64_t)below(b, type(b, x)->rank))};
    return node(b, HN_OP_CONCAT, 2 + below(b, 2), in, 1, attr);
}

/* x with one of its type: one label is summed, the others stay; the first is shared or not. */
static hn_val contract(body *b, hn_val x) {
    int64_t lhs[HN_RANK_MAX], rhs[HN_RANK_MAX], out[2 * HN_RANK_MAX];
    hn_val in[] = {x, mate(b, x)};
    uint32_t rank = type(b, x)->rank, n = 0;
    if (!rank || rank > 2 || !is_num(b, x)) return 0;
    bool shared = rank == 2 && below(b, 2);
    for (uint32_t i = 0; i < rank; i++) {
        lhs[i] = i;
        rhs[i] = i + 1 == rank || shared ? i : 10 + i;
        if (i + 1 < rank) out[n++] = lhs[i];
    }
    if (rank == 2 && !shared) out[n++] = rhs[0];
    hone_dtype t = type(b, x)->dtype;
    hn_attr attr[] = {ints(HN_A_LHS, rank, lhs), ints(HN_A_RHS, rank, rhs), ints(HN_A_OUT, n, out),
                      dtype(hn_is_float(t) ? t : HONE_I32)};
    return node(b, HN_OP_CONTRACT, 2, in, 4, attr);
}

/* Rows in the order of their arg values: indices that are always inside. */
static hn_val gather(body *b, hn_val x) {
    if (!type(b, x)->rank || !is_num(b, x)) return 0;
    hn_attr arg[] = {one(HN_A_AXIS, 0), one(HN_A_KEEP, 0), one(HN_A_LAST, 0)};
    hn_val i = node(b, HN_OP_ARGMIN, 1, &x, 3, arg);
    hn_attr axis[] = {one(HN_A_AXIS, 0)};
    return i && type(b, i)->rank < 2 ? node(b, HN_OP_GATHER, 2, (hn_val[]){x, i}, 1, axis) : i;
}

static hn_val select_of(body *b, hn_val x) {
    if (!is_num(b, x)) return 0;
    hn_val y = mate(b, x), c = node(b, HN_OP_LE, 2, (hn_val[]){x, y}, 0, NULL);
    return node(b, HN_OP_SELECT, 3, (hn_val[]){c, y, x}, 0, NULL);
}

typedef hn_val maker(body *b, hn_val x);
static maker *const makers[] = {pointwise, pointwise, pointwise, cast, reduce, reduce,   along,  reshape,  transpose,
                                broadcast, broadcast, slice,     pad,  concat, contract, gather, select_of};

/* Whether the elements of x stay few at any binding. */
static bool small(const body *b, hn_val x) {
    int64_t n, symbol[] = {9, 9};
    hn_dim d = hn_type_count(b->g, type(b, x));
    return hn_dim_eval(b->g->dims, d, symbol, &n) && n < 3000;
}

static hn_graph *random_body(uint64_t seed) {
    static const hone_dtype in_type[] = {HONE_F32, HONE_F32, HONE_F16, HONE_I32, HONE_F64, HONE_U8};
    body b = {.g = hn_graph_new(), .r = hn_rng_make(seed, 7)};
    hn_dims *d = b.g->dims;
    b.size[0] = hn_dim_symbol(d, "n", 1, 1000);
    b.size[1] = hn_dim_symbol(d, "m", 1, 1000);
    for (size_t i = 2; i < N_SIZES; i++) b.size[i] = hn_dim_int(d, (int64_t[]){1, 2, 3, 5}[i - 2]);
    for (int i = 0; i < 3; i++) {
        hn_type t = {
            .dtype = in_type[below(&b, 6)], .rank = 2, .dim = {b.size[i & 1], b.size[i ? below(&b, N_SIZES) : 1]}};
        push(&b, hn_param(b.g, 0, (const char *[]){"x", "f", "z"}[i], &t));
    }
    for (int i = 0; i < N_STEPS; i++) {
        hn_val x = below(&b, 3) ? b.v[b.n - 1] : pick(&b);
        hn_val y = makers[below(&b, sizeof makers / sizeof *makers)](&b, x);
        if (y && small(&b, y)) push(&b, y);
    }
    hn_result(b.g, 0, b.v[b.n - 1], "y");
    if (b.n > 4 && below(&b, 2)) hn_result(b.g, 0, b.v[b.n - 2], "w");
    hn_sweep(b.g);
    return b.g;
}

static lab all;

static bool add_random(uint64_t seed) {
    lab_kernel *k = &all.kernel[all.n];
    hone_err err = {0};
    char id[40];
    k->g = random_body(seed);
    snprintf(k->name, sizeof k->name, "seed %llu", (unsigned long long)seed);
    snprintf(id, sizeof id, "k%zu", all.n);
    hone_rc rc = hn_graph_ok(k->g) ? hn_verify(k->g, &err) : hn_fail(&err, HONE_E_INPUT, "%s", k->g->err.text);
    if (!rc) rc = hn_cpu_reference(k->g, 0, id, &k->a, &k->code, &err);
    if (rc) printf("# %s: %s\n", k->name, err.text);
    all.n++;
    return !rc;
}

int main(void) {
    uint64_t first = getenv("HONE_SEED") ? strtoull(getenv("HONE_SEED"), NULL, 10) : 1;
    bool good = true;
    printf("# seeds from %llu (HONE_SEED)\n", (unsigned long long)first);
    for (uint64_t i = 0; good && i < N_BODIES; i++) good = add_random(first + i);
    if (ok(good && lab_build(&all), "reference_random/%d bodies compile", N_BODIES)) {
        size_t wrong = 0;
        for (size_t i = 0; i < all.n; i++) {
            wrong += !lab_check(&all.kernel[i], (const int64_t[]){4, 3}, first + i);
            wrong += !lab_check(&all.kernel[i], (const int64_t[]){1, 9}, first + i);
        }
        ok(wrong == 0, "reference_random/bodies give what the interpreter gives: %zu do not", wrong);
    }
    lab_free(&all);
    return done_testing();
}
