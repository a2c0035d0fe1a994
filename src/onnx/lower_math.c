/* lower_math.c — arithmetic element by element: one, two or any number of inputs, numpy's broadcasting. */
#include "onnx/lower_fns.h"

/* --- shared by rows: arg is the primitive ---------------------------------------------------------------------------
 */

void hn_lower_unary(hn_lower *c) {
    hn_val x = hn_in(c, 0);
    if (x) hn_out(c, 0, hn_un(hn_lower_builder(c), (hn_op)hn_lower_arg(c), x));
}

void hn_lower_binary(hn_lower *c) {
    hn_val x = hn_in(c, 0), y = hn_in(c, 1);
    if (x && y) hn_out(c, 0, hn_bin(hn_lower_builder(c), (hn_op)hn_lower_arg(c), x, y));
}

/* Opsets up to 6: the second input broadcasts only where `broadcast` says so, its first dimension standing at `axis`
 * of the first input, or its last at the end. */
void hn_lower_binary_old(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), y = hn_in(c, 1);
    hn_dim shape[HN_RANK_MAX];
    if (!x || !y) return;
    size_t rank = hn_rank(b, x), n = hn_rank(b, y);
    if (hn_int(c, "broadcast", 0) && hn_has(c, "axis") && n) {
        size_t axis = (size_t)hn_axis(c, hn_int(c, "axis", 0), rank);
        if (axis + n > rank) hn_wrong(c, "the second input does not fit at axis %zu", axis);
        if (hn_lower_failed(c)) return;
        for (size_t i = 0; i < rank - axis; i++) shape[i] = i < n ? hn_dim_of(b, y, i) : hn_lit(b, 1);
        y = hn_reshape(b, y, rank - axis, shape);
    }
    hn_op op = (hn_op)hn_lower_arg(c);
    hn_out(c, 0, hn_bin(b, op, x, y));
}

/* Sum, Min, Max, Mean: a chain over the inputs; sums of narrow floats in f32. */
static void variadic(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_op op = (hn_op)hn_lower_arg(c);
    hn_val x = hn_in(c, 0), all = x;
    if (!x) return;
    hone_dtype t = hn_dt(b, x);
    if (op == HN_OP_ADD) all = hn_work(b, all);
    for (size_t i = 1; i < hn_n_in(c); i++) {
        hn_val y = hn_in(c, i);
        if (!y) return;
        all = hn_bin(b, op, all, op == HN_OP_ADD ? hn_work(b, y) : y);
    }
    if (hn_lower_op(c)[1] == 'e') all = hn_bin_f(b, HN_OP_DIV, all, (double)hn_n_in(c)); /* Mean */
    hn_out_as(c, 0, all, t);
}

static void mod(hn_lower *c) {
    hn_val x = hn_in(c, 0), y = hn_in(c, 1);
    if (x && y) hn_out(c, 0, hn_bin(hn_lower_builder(c), hn_int(c, "fmod", 0) ? HN_OP_REM : HN_OP_MOD, x, y));
}

static void power(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val in[] = {hn_in(c, 0), hn_in(c, 1)};
    hn_dim shape[HN_RANK_MAX];
    size_t rank;
    if (!in[0] || !in[1]) return;
    if (!hn_common_shape(b, 2, in, &rank, shape)) {
        if (!hn_lower_failed(c)) hn_wrong(c, "its inputs cannot be broadcast to one shape");
        return;
    }
    for (size_t i = 0; i < 2; i++) in[i] = hn_broadcast_to(b, in[i], rank, shape);
    hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_POW, 2, in, 0, NULL, 1));
}

static void bit_shift(hn_lower *c) {
    hn_val x = hn_in(c, 0), y = hn_in(c, 1);
    const char *direction = hn_string(c, "direction", "");
    bool left = !strcmp(direction, "LEFT");
    if (!left && strcmp(direction, "RIGHT") != 0) hn_wrong(c, "direction is neither LEFT nor RIGHT");
    if (x && y && !hn_lower_failed(c)) hn_out(c, 0, hn_bin(hn_lower_builder(c), left ? HN_OP_SHL : HN_OP_SHR, x, y));
}

/* --- casts ----------------------------------------------------------------------------------------------------------
 */

/* `saturate` is about 8-bit floats. ONNX leaves open what floats outside the range of an integer become: here the low
 * bits of the whole number, as processors give. */
hn_val hn_lower_cast(hn_lower *c, hn_val x, hone_dtype to) {
    hn_builder *b = hn_lower_builder(c);
    bool saturate = hn_is_float(to) && hn_int(c, "saturate", 1);
    static const char *const rounding[] = {"up", "down", "nearest"};
    const char *mode = hn_string(c, "round_mode", "up");
    hn_attr attr[] = {hn_a_dtype(to), hn_a_int(HN_A_SATURATE, saturate),
                      hn_a_word(HN_A_ROUND, rounding[mode[0] == 'd'   ? 1
                                                     : mode[0] == 'n' ? 2
                                                                      : 0])};
    if (hn_dt(b, x) == to) return x;
    return hn_emit(b->g, b->b, HN_OP_CAST, 1, &x, to == HONE_F8E8M0 ? 3 : 2, attr, 1);
}

static void cast(hn_lower *c) {
    hn_val x = hn_in(c, 0);
    hone_dtype to;
    if (!hn_has(c, "to")) hn_wrong(c, "attribute 'to' is missing");
    if (x && hn_dtype_attr(c, "to", &to)) hn_out(c, 0, hn_lower_cast(c, x, to));
}

static void cast_like(hn_lower *c) {
    hn_val x = hn_in(c, 0), like = hn_in(c, 1);
    if (x && like) hn_out(c, 0, hn_lower_cast(c, x, hn_dt(hn_lower_builder(c), like)));
}

static void bit_cast(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    hone_dtype to;
    if (!hn_has(c, "to")) hn_wrong(c, "attribute 'to' is missing");
    if (!x || !hn_dtype_attr(c, "to", &to)) return;
    if (hone_dtype_size_b(to) != hone_dtype_size_b(hn_dt(b, x))) {
        hn_wrong(c, "the types have different sizes");
        return;
    }
    hn_attr attr = hn_a_dtype(to);
    hn_out(c, 0, hn_dt(b, x) == to ? x : hn_emit(b->g, b->b, HN_OP_BITCAST, 1, &x, 1, &attr, 1));
}

/* --- Clip, in its three forms ----------------------------------------------------------------------------------------
 */

static void clip_attr(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    if (hn_has(c, "min")) x = hn_bin_f(b, HN_OP_MAX, x, hn_float(c, "min", 0));
    if (hn_has(c, "max")) x = hn_bin_f(b, HN_OP_MIN, x, hn_float(c, "max", 0));
    hn_out(c, 0, x);
}

static void clip(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), low = hn_in(c, 1), high = hn_in(c, 2);
    if (!x) return;
    hn_type t = *hn_t(b, x);
    if (low) x = hn_bin(b, HN_OP_MAX, x, hn_broadcast_to(b, low, t.rank, t.dim));
    if (high) x = hn_bin(b, HN_OP_MIN, x, hn_broadcast_to(b, high, t.rank, t.dim));
    hn_out(c, 0, x);
}

/* --- small and odd ------------------------------------------------------------------------------------------------ */

static void is_inf(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (!x) return;
    bool negative = hn_int(c, "detect_negative", 1) != 0, positive = hn_int(c, "detect_positive", 1) != 0;
    hn_val y = hn_un(b, HN_OP_ISINF, x);
    hn_val zero = hn_const_f(b, hn_dt(b, x), 0);
    if (!negative) y = hn_bin(b, HN_OP_AND, y, hn_bin(b, HN_OP_LT, zero, x));
    if (!positive) y = hn_bin(b, HN_OP_AND, y, hn_bin(b, HN_OP_LT, x, zero));
    hn_out(c, 0, y);
}

/* Both axes of the last two dimensions as coordinates, compared with k; k may come at run time. */
static void trilu(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), k = hn_in(c, 1);
    if (!x) return;
    hn_type t = *hn_t(b, x);
    if (t.rank < 2) {
        hn_wrong(c, "its input has rank %d, less than 2", t.rank);
        return;
    }
    const hn_dim *plane = t.dim + t.rank - 2;
    hn_val row = hn_iota(b, HONE_I64, 2, plane, 0), column = hn_iota(b, HONE_I64, 2, plane, 1);
    k = k ? hn_cast(b, k, HONE_I64) : hn_const_i(b, HONE_I64, 0);
    if (hn_rank(b, k) == 1) k = hn_squeeze(b, k, 0);
    hn_val off = hn_bin(b, HN_OP_SUB, column, row);
    hn_val keep = hn_int(c, "upper", 1) ? hn_bin(b, HN_OP_LE, k, off) : hn_bin(b, HN_OP_LE, off, k);
    keep = hn_broadcast_to(b, keep, t.rank, t.dim);
    hn_out(c, 0, hn_where(b, keep, x, hn_full(b, t.dtype, t.rank, t.dim, 0)));
}

static hn_val prefix_along(hn_builder *b, hn_op op, hn_val x, int64_t axis, int64_t exclusive, int64_t reverse) {
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, axis), hn_a_int(HN_A_EXCLUSIVE, exclusive != 0),
                      hn_a_int(HN_A_REVERSE, reverse != 0)};
    return hn_emit(b->g, b->b, op, 1, &x, 3, attr, 1);
}

/* CumSum, CumProd. An axis that comes at run time selects among the results along every axis. */
static void prefix(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_op op = (hn_op)hn_lower_arg(c);
    hn_val x = hn_in(c, 0), axis = hn_in(c, 1);
    int64_t exclusive = hn_int(c, "exclusive", 0), reverse = hn_int(c, "reverse", 0);
    if (!x || !axis || hn_lower_failed(c)) return;
    int64_t rank = (int64_t)hn_rank(b, x);
    hone_dtype t = hn_dt(b, x);
    const hn_tensor *known = hn_known_tensor(b, axis);
    if (rank == 0) {
        hn_out(c, 0, x);
        return;
    }
    x = hn_work(b, x);
    if (known && hn_tensor_n(known) == 1) {
        hn_out_as(c, 0, prefix_along(b, op, x, hn_axis(c, hn_get_i(known, 0), (size_t)rank), exclusive, reverse), t);
        return;
    }
    if (hn_rank(b, axis) == 1) axis = hn_squeeze(b, axis, 0);
    axis = hn_cast(b, axis, HONE_I64);
    hn_val n = hn_const_i(b, HONE_I64, rank), all = 0;
    axis = hn_bin(b, HN_OP_MOD, axis, n); /* sign of the divisor: negative axes count from the end */
    for (int64_t a = 0; a < rank; a++) {
        hn_val y = prefix_along(b, op, x, a, exclusive, reverse);
        all = a ? hn_where(b, hn_bin(b, HN_OP_EQ, axis, hn_const_i(b, HONE_I64, a)), y, all) : y;
    }
    hn_out_as(c, 0, all, t);
}

#define M HN_OPSET_MAX
#define UN(op, id)                                                                                                     \
    { "", op, 1, M, hn_lower_unary, HN_OP_##id }
#define ACT(op, since, id)                                                                                             \
    { "", op, since, M, hn_lower_activation, HN_ACT_##id }
const hn_lower_row hn_lower_math[] = {
    UN("Abs", ABS),
    UN("Neg", NEG),
    {"", "Sign", 9, M, hn_lower_unary, HN_OP_SIGN},
    UN("Floor", FLOOR),
    UN("Ceil", CEIL),
    {"", "Round", 11, M, hn_lower_unary, HN_OP_ROUND},
    UN("Sqrt", SQRT),
    UN("Reciprocal", RECIP),
    UN("Exp", EXP),
    UN("Log", LOG),
    {"", "Sin", 7, M, hn_lower_unary, HN_OP_SIN},
    {"", "Cos", 7, M, hn_lower_unary, HN_OP_COS},
    {"", "Tan", 7, M, hn_lower_unary, HN_OP_TAN},
    {"", "Asin", 7, M, hn_lower_unary, HN_OP_ASIN},
    {"", "Acos", 7, M, hn_lower_unary, HN_OP_ACOS},
    {"", "Atan", 7, M, hn_lower_unary, HN_OP_ATAN},
    {"", "Sinh", 9, M, hn_lower_unary, HN_OP_SINH},
    {"", "Cosh", 9, M, hn_lower_unary, HN_OP_COSH},
    UN("Tanh", TANH),
    {"", "Asinh", 9, M, hn_lower_unary, HN_OP_ASINH},
    {"", "Acosh", 9, M, hn_lower_unary, HN_OP_ACOSH},
    {"", "Atanh", 9, M, hn_lower_unary, HN_OP_ATANH},
    {"", "Erf", 9, M, hn_lower_unary, HN_OP_ERF},
    UN("Sigmoid", SIGMOID),
    {"", "Add", 1, 6, hn_lower_binary_old, HN_OP_ADD},
    {"", "Add", 7, M, hn_lower_binary, HN_OP_ADD},
    {"", "Sub", 1, 6, hn_lower_binary_old, HN_OP_SUB},
    {"", "Sub", 7, M, hn_lower_binary, HN_OP_SUB},
    {"", "Mul", 1, 6, hn_lower_binary_old, HN_OP_MUL},
    {"", "Mul", 7, M, hn_lower_binary, HN_OP_MUL},
    {"", "Div", 1, 6, hn_lower_binary_old, HN_OP_DIV},
    {"", "Div", 7, M, hn_lower_binary, HN_OP_DIV},
    {"", "Pow", 1, 6, hn_lower_binary_old, HN_OP_POW},
    {"", "Pow", 7, M, power, 0},
    {"", "Mod", 10, M, mod, 0},
    {"", "Sum", 6, M, variadic, HN_OP_ADD},
    {"", "Mean", 6, M, variadic, HN_OP_ADD},
    {"", "Min", 6, M, variadic, HN_OP_MIN},
    {"", "Max", 6, M, variadic, HN_OP_MAX},
    {"", "BitShift", 11, M, bit_shift, 0},
    {"", "Cast", 6, M, cast, 0},
    {"", "CastLike", 15, M, cast_like, 0},
    {"", "BitCast", 26, M, bit_cast, 0},
    {"", "Clip", 6, 10, clip_attr, 0},
    {"", "Clip", 11, M, clip, 0},
    {"", "IsInf", 10, M, is_inf, 0},
    {"", "IsNaN", 9, M, hn_lower_unary, HN_OP_ISNAN},
    {"", "Trilu", 14, M, trilu, 0},
    {"", "CumSum", 11, M, prefix, HN_OP_CUMSUM},
    {"", "CumProd", 26, M, prefix, HN_OP_CUMPROD},
    ACT("Relu", 6, RELU),
    ACT("LeakyRelu", 6, LEAKY_RELU),
    ACT("Elu", 6, ELU),
    ACT("Selu", 6, SELU),
    ACT("Celu", 12, CELU),
    ACT("ThresholdedRelu", 10, THRESHOLDED_RELU),
    ACT("HardSigmoid", 6, HARD_SIGMOID),
    ACT("HardSwish", 14, HARD_SWISH),
    ACT("Softplus", 1, SOFTPLUS),
    ACT("Softsign", 1, SOFTSIGN),
    ACT("Gelu", 20, GELU),
    ACT("Mish", 18, MISH),
    ACT("Swish", 24, SWISH),
    {"", "PRelu", 6, M, hn_lower_prelu, 0},
    {"", "Shrink", 9, M, hn_lower_shrink, 0},
    {"", "MatMul", 1, M, hn_lower_matmul, 0},
    {"", "Gemm", 6, M, hn_lower_gemm, 0},
    {"", "Einsum", 12, M, hn_lower_einsum, 0},
    {"", "Det", 11, M, hn_lower_det, 0},
    {0},
};
