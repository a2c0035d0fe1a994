/* lower_misc.c — identity, dropout, random numbers. Random values come from a counter-based generator: the same seed
 * gives the same values on every run; a node without a seed takes one from its place in the graph. */
#include "onnx/import_int.h"
#include "onnx/lower_fns.h"

static void identity(hn_lower *c) {
    const hn_bound *b = hn_in_bound(c, 0);
    if (b)
        hn_out_bound(c, 0, b);
    else
        hn_wrong(c, "input 0 is missing");
}

/* --- random numbers ----------------------------------------------------------------------------------------------- */

/* A whole number for Dropout, a float for the others. */
static int64_t seed_of(hn_lower *c) {
    union {
        float f;
        uint32_t u;
    } seed = {0};
    if (!hn_has(c, "seed")) return (int64_t)c->b.g->n_node + 1;
    if (!strcmp(hn_lower_op(c), "Dropout")) return hn_int(c, "seed", 0) & UINT32_MAX;
    seed.f = (float)hn_float(c, "seed", 0);
    return (int64_t)seed.u;
}

static hn_val random_of(hn_lower *c, const char *mode, size_t rank, const hn_dim *shape, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    hone_dtype w = hn_work_type(t);
    hn_attr attr[] = {hn_a_dims(HN_A_SHAPE, rank, shape), hn_a_dtype(w), hn_a_int(HN_A_SEED, seed_of(c)),
                      hn_a_word(HN_A_MODE, mode)};
    return hn_emit(b->g, b->b, HN_OP_RANDOM, 0, NULL, 4, attr, 1);
}

/* RandomUniform, RandomNormal and their Like forms; arg 1: normal. */
static void random_values(hn_lower *c, size_t rank, const hn_dim *shape, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    bool normal = hn_lower_arg(c) == 1;
    double low = normal ? hn_float(c, "mean", 0) : hn_float(c, "low", 0);
    double scale = normal ? hn_float(c, "scale", 1) : hn_float(c, "high", 1) - low;
    if (!hn_is_float(t)) hn_refuse(c, "element type %s", hn_dtype_of(t)->text);
    if (hn_lower_failed(c)) return;
    hn_val u = random_of(c, normal ? "normal" : "uniform", rank, shape, t);
    hn_out_as(c, 0, hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, u, scale), low), t);
}

static void random_shape(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *list;
    hn_dim shape[HN_RANK_MAX];
    hone_dtype t = HONE_F32;
    size_t n = hn_ints(c, "shape", &list);
    if (n > HN_RANK_MAX) hn_refuse(c, "rank %zu", n);
    for (size_t i = 0; i < n && !hn_lower_failed(c); i++) {
        if (list[i] < 0) hn_wrong(c, "size %lld", (long long)list[i]);
        shape[i] = hn_lit(b, list[i]);
    }
    if (hn_lower_failed(c) || (hn_has(c, "dtype") && !hn_dtype_attr(c, "dtype", &t))) return;
    random_values(c, n, shape, t);
}

static void random_like(hn_lower *c) {
    hn_val x = hn_in(c, 0);
    if (!x) return;
    hn_type like = *hn_t(hn_lower_builder(c), x);
    hone_dtype t = like.dtype;
    if (!hn_has(c, "dtype") || hn_dtype_attr(c, "dtype", &t)) random_values(c, like.rank, like.dim, t);
}

static void bernoulli(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val p = hn_in(c, 0);
    if (!p) return;
    hn_type like = *hn_t(b, p);
    hone_dtype t = like.dtype;
    if (hn_has(c, "dtype") && !hn_dtype_attr(c, "dtype", &t)) return;
    hn_val u = random_of(c, "uniform", like.rank, like.dim, like.dtype);
    hn_out_as(c, 0, hn_bin(b, HN_OP_LT, u, hn_cast(b, p, hn_dt(b, u))), t);
}

/* The class whose share of the cumulated probabilities a uniform number falls into. */
static void multinomial(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    hone_dtype t = HONE_I32;
    int64_t n = hn_int(c, "sample_size", 1);
    if (!x || (hn_has(c, "dtype") && !hn_dtype_attr(c, "dtype", &t))) return;
    if (hn_rank(b, x) != 2 || n < 0) {
        hn_wrong(c, "its input is no matrix, or sample_size is negative");
        return;
    }
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 1), hn_a_int(HN_A_EXCLUSIVE, 0), hn_a_int(HN_A_REVERSE, 0)};
    hn_val p = hn_softmax(b, hn_work(b, x), 1);
    hn_val sum = hn_unsqueeze(b, hn_emit(b->g, b->b, HN_OP_CUMSUM, 1, &p, 3, attr, 1), 1);
    hn_dim shape[] = {hn_dim_of(b, x, 0), hn_lit(b, n)};
    hn_val u = hn_unsqueeze(b, random_of(c, "uniform", 2, shape, hn_dt(b, p)), 2);
    hn_val below = hn_cast(b, hn_bin(b, HN_OP_LE, sum, u), HONE_I64);
    hn_dim classes = hn_dim_of(b, x, 1);
    hn_val last = hn_bin(b, HN_OP_SUB, hn_scalar(b, hn_dims_value(b, 1, &classes)), hn_const_i(b, HONE_I64, 1));
    hn_out_as(c, 0, hn_bin(b, HN_OP_MIN, hn_reduce1(b, HN_OP_RSUM, below, 2, false), last), t);
}

/* --- Dropout ------------------------------------------------------------------------------------------------------ */

static void dropout_nothing(hn_lower *c, hn_val x) {
    hn_builder *b = hn_lower_builder(c);
    hn_type t = *hn_t(b, x);
    hone_dtype mask = hn_lower_opset(c) < 10 ? t.dtype : HONE_BOOL;
    hn_out(c, 0, x);
    if (hn_wants(c, 1)) hn_out(c, 1, hn_full(b, mask, t.rank, t.dim, 1));
}

static void dropout_attr(hn_lower *c) {
    hn_val x = hn_in(c, 0);
    if (x) dropout_nothing(c, x);
}

/* Keeps an element where a uniform number reaches the ratio; without training it keeps all. */
static void dropout(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), training = hn_has_in(c, 2) ? hn_in(c, 2) : 0;
    if (!x || hn_lower_failed(c)) return;
    const hn_tensor *known = training ? hn_known_tensor(b, training) : NULL;
    if (!training || (known && hn_tensor_n(known) == 1 && !hn_get_i(known, 0))) {
        dropout_nothing(c, x);
        return;
    }
    hn_type t = *hn_t(b, x);
    hone_dtype w = hn_work_type(t.dtype);
    hn_val ratio = hn_has_in(c, 1) ? hn_in(c, 1) : hn_const_f(b, w, 0.5);
    if (!ratio) return;
    ratio = hn_cast(b, hn_scalar(b, ratio), w);
    training = hn_scalar(b, training);
    hn_val keep = hn_bin(b, HN_OP_LE, ratio, random_of(c, "uniform", t.rank, t.dim, t.dtype));
    keep = hn_bin(b, HN_OP_OR, keep, hn_un(b, HN_OP_NOT, training));
    hn_val scaled = hn_bin(b, HN_OP_DIV, hn_cast(b, x, w), hn_f_bin(b, HN_OP_SUB, 1, ratio));
    hn_val y = hn_where(b, keep, hn_where(b, training, scaled, hn_cast(b, x, w)), hn_const_f(b, w, 0));
    hn_out_as(c, 0, y, t.dtype);
    hn_out(c, 1, keep);
}

#define M HN_OPSET_MAX
const hn_lower_row hn_lower_misc[] = {
    {"", "Identity", 1, M, identity, 0},
    {"", "Dropout", 7, 11, dropout_attr, 0},
    {"", "Dropout", 12, M, dropout, 0},
    {"", "RandomUniform", 1, M, random_shape, 0},
    {"", "RandomNormal", 1, M, random_shape, 1},
    {"", "RandomUniformLike", 1, M, random_like, 0},
    {"", "RandomNormalLike", 1, M, random_like, 1},
    {"", "Bernoulli", 15, M, bernoulli, 0},
    {"", "Multinomial", 7, M, multinomial, 0},
    {"", "Optional", 15, M, hn_lower_optional, 0},
    {"", "OptionalHasElement", 15, M, hn_lower_optional_has, 0},
    {"", "OptionalGetElement", 15, M, hn_lower_optional_get, 0},
    {"", "SequenceConstruct", 11, M, hn_lower_sequence_construct, 0},
    {"", "SequenceEmpty", 11, M, hn_lower_sequence_construct, 0},
    {"", "SequenceAt", 11, M, hn_lower_sequence_at, 0},
    {"", "SequenceLength", 11, M, hn_lower_sequence_length, 0},
    {"", "SequenceInsert", 11, M, hn_lower_sequence_insert, 0},
    {"", "SequenceErase", 11, M, hn_lower_sequence_erase, 0},
    {"", "SequenceMap", 17, M, hn_lower_sequence_map, 0},
    {"", "ConcatFromSequence", 11, M, hn_lower_concat_from_sequence, 0},
    {"", "SplitToSequence", 11, M, hn_lower_split_to_sequence, 0},
    {0},
};
