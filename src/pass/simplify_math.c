/* pass/simplify_math.c — rules of arithmetic, logic and casts. */
#include "pass/simplify.h"

#include <math.h>
#include <string.h>

/* --- helpers ---------------------------------------------------------------------------------------------------- */

static bool is_float(const hn_rewriter *r, hn_val v) { return hn_is_float(hn_type_of(r->g, v)->dtype); }
static bool is_bool(const hn_rewriter *r, hn_val v) { return hn_type_of(r->g, v)->dtype == HONE_BOOL; }
static bool right_is(const hn_rewriter *r, const hn_node *n, double x) { return hn_splat_is(r->g, n->in[1], x); }

/* A value of the shape and type of n's result, the same everywhere. */
static hn_val full_like(hn_rewriter *r, const hn_node *n, double x) {
    const hn_type t = *hn_type_of(r->g, n->out[0]);
    return hn_full(&r->b, t.dtype, t.rank, t.dim, x);
}

/* Input i of the node that defines v, if that has operation op; else 0. */
static hn_val through(const hn_rewriter *r, hn_val v, hn_op op, size_t i) {
    const hn_node *n = hn_def_op(r->g, v, op);
    return n ? n->in[i] : 0;
}

/* --- add, sub, mul, div ----------------------------------------------------------------------------------------- */

/* -0 + -0 is -0, but -0 + 0 is 0. */
static hn_val add_zero(hn_rewriter *r, const hn_node *n) {
    return right_is(r, n, is_float(r, n->in[0]) ? -0.0 : 0.0) ? n->in[0] : 0;
}
static hn_val add_any_zero(hn_rewriter *r, const hn_node *n) { return right_is(r, n, 0.0) ? n->in[0] : 0; }
static hn_val sub_zero(hn_rewriter *r, const hn_node *n) { return right_is(r, n, 0.0) ? n->in[0] : 0; }
static hn_val sub_any_zero(hn_rewriter *r, const hn_node *n) { return right_is(r, n, -0.0) ? n->in[0] : 0; }
static hn_val sub_self(hn_rewriter *r, const hn_node *n) {
    return n->in[0] == n->in[1] && !is_float(r, n->in[0]) ? full_like(r, n, 0) : 0;
}
static hn_val add_neg(hn_rewriter *r, const hn_node *n) {
    hn_val y = through(r, n->in[1], HN_OP_NEG, 0), x = y ? 0 : through(r, n->in[0], HN_OP_NEG, 0);
    if (y) return hn_bin(&r->b, HN_OP_SUB, n->in[0], y);
    return x ? hn_bin(&r->b, HN_OP_SUB, n->in[1], x) : 0;
}
static hn_val sub_neg(hn_rewriter *r, const hn_node *n) {
    hn_val y = through(r, n->in[1], HN_OP_NEG, 0);
    return y ? hn_bin(&r->b, HN_OP_ADD, n->in[0], y) : 0;
}
static hn_val zero_sub(hn_rewriter *r, const hn_node *n) {
    return hn_splat_is(r->g, n->in[0], is_float(r, n->in[0]) ? -0.0 : 0.0) ? hn_un(&r->b, HN_OP_NEG, n->in[1]) : 0;
}
static hn_val times_one(hn_rewriter *r, const hn_node *n) { return right_is(r, n, 1) ? n->in[0] : 0; }
static hn_val times_zero(hn_rewriter *r, const hn_node *n) {
    return right_is(r, n, 0) && !is_float(r, n->in[0]) ? n->in[1] : 0;
}
static hn_val times_minus_one(hn_rewriter *r, const hn_node *n) {
    hone_dtype t = hn_type_of(r->g, n->in[0])->dtype;
    bool is_signed = hn_dtype_of(t)->cls == HN_CLASS_FLOAT || hn_dtype_of(t)->cls == HN_CLASS_INT;
    return is_signed && right_is(r, n, -1) ? hn_un(&r->b, HN_OP_NEG, n->in[0]) : 0;
}
static hn_val times_negs(hn_rewriter *r, const hn_node *n) {
    hn_val x = through(r, n->in[0], HN_OP_NEG, 0), y = through(r, n->in[1], HN_OP_NEG, 0);
    return x && y ? hn_bin(&r->b, n->op, x, y) : 0;
}
static hn_val by_one(hn_rewriter *r, const hn_node *n) { return right_is(r, n, 1) ? n->in[0] : 0; }
static hn_val one_by(hn_rewriter *r, const hn_node *n) {
    return is_float(r, n->in[1]) && hn_splat_is(r->g, n->in[0], 1) ? hn_un(&r->b, HN_OP_RECIP, n->in[1]) : 0;
}

/* The reciprocal of the uniform divisor, if it is a normal number of the type (then x / c and x * (1 / c) round the
 * same real number), and if it is exact or need not be. */
static hn_val by_constant(hn_rewriter *r, const hn_node *n, bool exact) {
    hn_tensor c;
    if (!is_float(r, n->in[0]) || !hn_splat_of(r->g, n->in[1], &c)) return 0;
    double x = hn_get_f(&c, 0);
    int e;
    if (!isfinite(x) || x == 0 || (exact && fabs(frexp(x, &e)) != 0.5)) return 0;
    uint64_t bits = 0;
    hn_tensor inverse = {.dtype = c.dtype, .data = &bits};
    hn_set_f(&inverse, 0, 1 / x);
    double y = hn_get_f(&inverse, 0), smallest = c.dtype == HONE_F64   ? 0x1p-1022
                                                 : c.dtype == HONE_F16 ? 0x1p-14
                                                                       : 0x1p-126;
    bool wide = c.dtype == HONE_F64 || c.dtype == HONE_F32 || c.dtype == HONE_F16 || c.dtype == HONE_BF16;
    if (!wide || !isfinite(y) || fabs(y) < smallest || (exact && y * x != 1)) return 0;
    return hn_bin(&r->b, HN_OP_MUL, n->in[0], full_like(r, n, y));
}
static hn_val by_power_of_two(hn_rewriter *r, const hn_node *n) { return by_constant(r, n, true); }
static hn_val by_any_constant(hn_rewriter *r, const hn_node *n) { return by_constant(r, n, false); }

static hn_val by_sqrt(hn_rewriter *r, const hn_node *n) {
    hn_val y = through(r, n->in[1], HN_OP_SQRT, 0);
    return y ? hn_bin(&r->b, HN_OP_MUL, n->in[0], hn_un(&r->b, HN_OP_RSQRT, y)) : 0;
}
static hn_val times_recip(hn_rewriter *r, const hn_node *n) {
    hn_val y = through(r, n->in[1], HN_OP_RECIP, 0), x = y ? 0 : through(r, n->in[0], HN_OP_RECIP, 0);
    if (y) return hn_bin(&r->b, HN_OP_DIV, n->in[0], y);
    return x ? hn_bin(&r->b, HN_OP_DIV, n->in[1], x) : 0;
}
static hn_val recip_sqrt(hn_rewriter *r, const hn_node *n) {
    hn_val x = through(r, n->in[0], HN_OP_SQRT, 0);
    return x ? hn_un(&r->b, HN_OP_RSQRT, x) : 0;
}
static hn_val recip_recip(hn_rewriter *r, const hn_node *n) { return through(r, n->in[0], HN_OP_RECIP, 0); }

/* (x + a) + b = x + (a + b), the same for mul: integers wrap, floats round. */
static hn_val gather_constants(hn_rewriter *r, const hn_node *n) {
    hn_tensor c;
    const hn_node *inner = hn_def_op(r->g, n->in[0], n->op);
    if (!inner || !hn_splat_of(r->g, n->in[1], &c) || !hn_splat_of(r->g, inner->in[1], &c)) return 0;
    return hn_bin(&r->b, n->op, inner->in[0], hn_bin(&r->b, n->op, inner->in[1], n->in[1]));
}
static hn_val gather_integers(hn_rewriter *r, const hn_node *n) {
    return is_float(r, n->in[0]) ? 0 : gather_constants(r, n);
}

/* --- pow: the result is computed in double and rounded once ------------------------------------------------------ */

static hn_val pow_one(hn_rewriter *r, const hn_node *n) { return right_is(r, n, 1) ? n->in[0] : 0; }
/* x*x is exact in double where x has at most 26 bits, so pow rounds it once, as mul does. */
static hn_val pow_two(hn_rewriter *r, const hn_node *n) {
    bool narrow = is_float(r, n->in[0]) && hn_type_of(r->g, n->in[0])->dtype != HONE_F64;
    return right_is(r, n, 2) && narrow ? hn_bin(&r->b, HN_OP_MUL, n->in[0], n->in[0]) : 0;
}
static hn_val pow_small(hn_rewriter *r, const hn_node *n) {
    hn_val x = n->in[0];
    if (!is_float(r, x)) return 0;
    if (right_is(r, n, 2)) return hn_bin(&r->b, HN_OP_MUL, x, x);
    if (right_is(r, n, 3)) return hn_bin(&r->b, HN_OP_MUL, hn_bin(&r->b, HN_OP_MUL, x, x), x);
    if (right_is(r, n, 0.5)) return hn_un(&r->b, HN_OP_SQRT, x);
    if (right_is(r, n, -0.5)) return hn_un(&r->b, HN_OP_RSQRT, x);
    return right_is(r, n, -1) ? hn_un(&r->b, HN_OP_RECIP, x) : 0;
}

/* --- one input -------------------------------------------------------------------------------------------------- */

static hn_val undo(hn_rewriter *r, const hn_node *n) { return through(r, n->in[0], n->op, 0); }
static hn_val again(hn_rewriter *r, const hn_node *n) { return hn_def_op(r->g, n->in[0], n->op) ? n->in[0] : 0; }
static hn_val abs_neg(hn_rewriter *r, const hn_node *n) {
    hn_val x = through(r, n->in[0], HN_OP_NEG, 0);
    return x ? hn_un(&r->b, HN_OP_ABS, x) : 0;
}
static hn_val neg_sub(hn_rewriter *r, const hn_node *n) {
    const hn_node *inner = hn_def_op(r->g, n->in[0], HN_OP_SUB);
    return inner ? hn_bin(&r->b, HN_OP_SUB, inner->in[1], inner->in[0]) : 0;
}
static hn_val neg_sub_int(hn_rewriter *r, const hn_node *n) { return is_float(r, n->in[0]) ? 0 : neg_sub(r, n); }
/* floor, ceil, round and trunc change no integer. */
static hn_val round_whole(hn_rewriter *r, const hn_node *n) {
    static const hn_op whole[] = {HN_OP_FLOOR, HN_OP_CEIL, HN_OP_ROUND, HN_OP_TRUNC};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (hn_def_op(r->g, n->in[0], whole[i])) return n->in[0];
    return is_float(r, n->in[0]) ? 0 : n->in[0];
}
/* NaN: eq is false and ne is true, so these hold; there is no such rule for lt and le of floats. */
static hn_val not_compare(hn_rewriter *r, const hn_node *n) {
    const hn_node *c = hn_def(r->g, n->in[0]);
    if (!c || !is_bool(r, n->in[0])) return 0;
    if (c->op == HN_OP_EQ) return hn_bin(&r->b, HN_OP_NE, c->in[0], c->in[1]);
    if (c->op == HN_OP_NE) return hn_bin(&r->b, HN_OP_EQ, c->in[0], c->in[1]);
    if ((c->op != HN_OP_LT && c->op != HN_OP_LE) || is_float(r, c->in[0])) return 0;
    return hn_bin(&r->b, c->op == HN_OP_LT ? HN_OP_LE : HN_OP_LT, c->in[1], c->in[0]);
}

/* --- casts ------------------------------------------------------------------------------------------------------ */

/* Every value of `from` is a value of `to`, and converts to itself. */
static bool lossless(hone_dtype from, hone_dtype to) {
    const hn_dtype_info *a = hn_dtype_of(from), *b = hn_dtype_of(to);
    if (from == to) return true;
    bool a_float = a->cls == HN_CLASS_FLOAT, b_float = b->cls == HN_CLASS_FLOAT;
    if (a->cls == HN_CLASS_BOOL) return b->bits >= 8 && !(b_float && b->bits == 8);
    if (b->cls == HN_CLASS_BOOL) return false;
    if (a_float && b_float) return (to == HONE_F64 && a->bits <= 32) || (to == HONE_F32 && a->bits <= 16);
    if (a_float) return false;
    int digits = a->bits - (a->cls == HN_CLASS_INT);
    if (b_float)
        return digits <= (to == HONE_F64 ? 53 : to == HONE_F32 ? 24 : to == HONE_F16 ? 11 : to == HONE_BF16 ? 8 : 0);
    if (a->cls == HN_CLASS_UINT) return b->bits - (b->cls == HN_CLASS_INT) >= digits;
    return b->cls == HN_CLASS_INT && b->bits >= a->bits;
}

static hn_val cast_same(hn_rewriter *r, const hn_node *n) {
    return hn_type_of(r->g, n->in[0])->dtype == hn_type_of(r->g, n->out[0])->dtype ? n->in[0] : 0;
}
static hn_val cast_cast(hn_rewriter *r, const hn_node *n) {
    hn_val x = through(r, n->in[0], HN_OP_CAST, 0);
    if (!x || !lossless(hn_type_of(r->g, x)->dtype, hn_type_of(r->g, n->in[0])->dtype)) return 0;
    if (hn_type_of(r->g, x)->dtype == hn_type_of(r->g, n->out[0])->dtype) return x;
    return hn_emit(r->g, r->b.b, HN_OP_CAST, 1, &x, n->n_attr, n->attr, 1);
}

/* Quantised: what x becomes in cast(round(x * scale) + zero), with saturation. All steps are monotonous. */
typedef struct quantising {
    const hn_node *scaling, *shift; /* shift: NULL: none */
    float scale, zero;
    bool divides;
} quantising;

static bool uniform_f32(const hn_rewriter *r, hn_val v, float *out) {
    hn_tensor one;
    if (hn_type_of(r->g, v)->dtype != HONE_F32 || !hn_splat_of(r->g, v, &one)) return false;
    *out = *(const float *)one.data;
    return isfinite(*out);
}

static bool read_quantising(const hn_rewriter *r, const hn_node *n, quantising *q) {
    hone_dtype t = hn_type_of(r->g, n->out[0])->dtype;
    *q = (quantising){.shift = hn_def_op(r->g, n->in[0], HN_OP_ADD)};
    if ((t != HONE_U8 && t != HONE_I8) || !hn_attr_i(n, HN_A_SATURATE, 1)) return false;
    if (q->shift && !uniform_f32(r, q->shift->in[1], &q->zero)) return false;
    hn_val scaled = through(r, q->shift ? q->shift->in[0] : n->in[0], HN_OP_ROUND, 0);
    q->scaling = scaled ? hn_def(r->g, scaled) : NULL;
    if (!q->scaling || (q->scaling->op != HN_OP_MUL && q->scaling->op != HN_OP_DIV)) return false;
    q->divides = q->scaling->op == HN_OP_DIV;
    return uniform_f32(r, q->scaling->in[1], &q->scale) && q->scale > 0;
}

static float quantised(const quantising *q, float x) {
    float scaled = q->divides ? x / q->scale : x * q->scale;
    return nearbyintf(scaled) + q->zero;
}

/* A limit that becomes the type's own, or lies beyond it, is none: the cast clips. NaN becomes 0 with and without. */
static hn_val quantise_clipped(hn_rewriter *r, const hn_node *n) {
    quantising q;
    float limit;
    bool has_sign = hn_type_of(r->g, n->out[0])->dtype == HONE_I8;
    if (!read_quantising(r, n, &q)) return 0;
    const hn_node *clip = hn_def(r->g, q.scaling->in[0]);
    if (!clip || (clip->op != HN_OP_MAX && clip->op != HN_OP_MIN) || !uniform_f32(r, clip->in[1], &limit)) return 0;
    float at = quantised(&q, limit);
    bool none = clip->op == HN_OP_MAX ? at <= (has_sign ? -128.f : 0.f) : at >= (has_sign ? 127.f : 255.f);
    if (!none) return 0;
    const hn_node cast = *n; /* emitting moves nodes */
    const hn_val x = clip->in[0], by = q.scaling->in[1], shift = q.shift ? q.shift->in[1] : 0;
    hn_val y = hn_un(&r->b, HN_OP_ROUND, hn_bin(&r->b, q.scaling->op, x, by));
    if (shift) y = hn_bin(&r->b, HN_OP_ADD, y, shift);
    return hn_emit(r->g, r->b.b, HN_OP_CAST, 1, &y, cast.n_attr, cast.attr, 1);
}

/* --- min, max, logic, select ------------------------------------------------------------------------------------- */

static hn_val same_both(hn_rewriter *r, const hn_node *n) {
    (void)r;
    return n->in[0] == n->in[1] ? n->in[0] : 0;
}
static hn_val and_bool(hn_rewriter *r, const hn_node *n) {
    if (!is_bool(r, n->in[0])) return right_is(r, n, 0) ? n->in[1] : 0;
    return right_is(r, n, 1) ? n->in[0] : right_is(r, n, 0) ? n->in[1] : 0;
}
static hn_val or_bool(hn_rewriter *r, const hn_node *n) {
    if (right_is(r, n, 0)) return n->in[0];
    return is_bool(r, n->in[0]) && right_is(r, n, 1) ? n->in[1] : 0;
}
static hn_val xor_zero(hn_rewriter *r, const hn_node *n) { return right_is(r, n, 0) ? n->in[0] : 0; }
static hn_val xor_self(hn_rewriter *r, const hn_node *n) { return n->in[0] == n->in[1] ? full_like(r, n, 0) : 0; }
static hn_val shift_zero(hn_rewriter *r, const hn_node *n) { return right_is(r, n, 0) ? n->in[0] : 0; }
static hn_val select_known(hn_rewriter *r, const hn_node *n) {
    hn_tensor c;
    return hn_splat_of(r->g, n->in[0], &c) ? n->in[hn_get_i(&c, 0) ? 1 : 2] : 0;
}
static hn_val select_same(hn_rewriter *r, const hn_node *n) {
    (void)r;
    return n->in[1] == n->in[2] ? n->in[1] : 0;
}
static hn_val select_not(hn_rewriter *r, const hn_node *n) {
    hn_val c = through(r, n->in[0], HN_OP_NOT, 0);
    return c ? hn_where(&r->b, c, n->in[2], n->in[1]) : 0;
}

#define EXACT(op, fn, text) {HN_OP_##op, HN_EXACT, fn, text},
#define RELAXED(op, fn, text) {HN_OP_##op, HN_RELAXED, fn, text},
const hn_simplify_rule hn_rules_math[] = {
    EXACT(ADD, add_zero, "x + -0.0 = x; integers: x + 0 = x") RELAXED(ADD, add_any_zero, "x + 0.0 = x") EXACT(
        ADD, add_neg, "x + -y = x - y") EXACT(ADD, gather_integers, "(x + a) + b = x + (a + b), integers")
        RELAXED(ADD, gather_constants, "(x + a) + b = x + (a + b)") EXACT(SUB, sub_zero, "x - 0.0 = x") RELAXED(
            SUB, sub_any_zero, "x - -0.0 = x") EXACT(SUB, sub_self, "x - x = 0, integers") EXACT(SUB, sub_neg,
                                                                                                 "x - -y = x + y")
            EXACT(SUB, zero_sub, "-0.0 - x = -x; integers: 0 - x = -x") EXACT(MUL, times_one, "x * 1 = x") EXACT(
                MUL, times_zero, "x * 0 = 0, integers") EXACT(MUL, times_minus_one,
                                                              "x * -1 = -x") EXACT(MUL, times_negs, "-x * -y = x * y")
                EXACT(MUL, gather_integers, "(x * a) * b = x * (a * b), integers") RELAXED(
                    MUL, gather_constants,
                    "(x * a) * b = x * (a * b)") RELAXED(MUL, times_recip, "x * (1 / y) = x / y") EXACT(DIV, by_one,
                                                                                                        "x / 1 = x")
                    EXACT(DIV, one_by, "1 / x = recip(x)") EXACT(DIV, times_negs, "-x / -y = x / y") EXACT(
                        DIV, by_power_of_two,
                        "x / c = x * (1 / c) where c is a power of two and 1 / c is normal")
                        RELAXED(DIV, by_any_constant, "x / c = x * (1 / c)") RELAXED(
                            DIV, by_sqrt,
                            "x / sqrt(y) = x * rsqrt(y)") RELAXED(RECIP, recip_sqrt, "1 / sqrt(x) = rsqrt(x)")
                            RELAXED(RECIP, recip_recip, "1 / (1 / x) = x") EXACT(POW, pow_one, "x ^ 1 = x")
                                EXACT(POW, pow_two, "x ^ 2 = x * x, floats below f64") RELAXED(
                                    POW, pow_small,
                                    "x ^ 3, x ^ 0.5, x ^ -0.5, x ^ -1 by mul, sqrt, rsqrt, recip") EXACT(NEG, undo,
                                                                                                         "-(-x) = x")
                                    EXACT(NEG, neg_sub_int, "-(x - y) = y - x, integers") RELAXED(
                                        NEG, neg_sub, "-(x - y) = y - x") EXACT(ABS, again, "abs(abs(x)) = abs(x)")
                                        EXACT(ABS, abs_neg,
                                              "abs(-x) = abs(x)") EXACT(SIGN, again, "sign(sign(x)) = sign(x)")
                                            EXACT(FLOOR, round_whole, "floor of a whole number") EXACT(
                                                CEIL, round_whole, "ceil of a whole number")
                                                EXACT(ROUND, round_whole, "round of a whole number") EXACT(
                                                    TRUNC, round_whole,
                                                    "trunc of a whole number") EXACT(NOT, undo, "not not x = x")
                                                    EXACT(NOT, not_compare,
                                                          "not (x == y) = x != y and back; integers: "
                                                          "not (x < y) = y <= x")
                                                        EXACT(CAST, cast_same, "cast to its own type") EXACT(
                                                            CAST,
                                                            cast_cast,
                                                            "cast(cast(x)) = cast(x) where the inner one loses nothing")
                                                            EXACT(CAST, quantise_clipped,
                                                                  "quantised clip(x) = quantised x where the type "
                                                                  "clips, too") EXACT(BITCAST, cast_same,
                                                                                      "bitcast to its own type")
                                                                EXACT(MIN, same_both, "min(x, x) = x") EXACT(
                                                                    MAX,
                                                                    same_both, "max(x, x) = x") EXACT(AND, same_both,
                                                                                                      "x and x = x")
                                                                    EXACT(OR, same_both, "x or x = x") EXACT(
                                                                        AND, and_bool,
                                                                        "x and true = x; x and false = "
                                                                        "false") EXACT(OR, or_bool,
                                                                                       "x or false = x; x or true = "
                                                                                       "true") EXACT(XOR, xor_zero,
                                                                                                     "x xor 0 = x")
                                                                        EXACT(XOR, xor_self, "x xor x = 0")
                                                                            EXACT(SHL, shift_zero, "x shl 0 = x")
                                                                                EXACT(SHR, shift_zero, "x shr 0 = x")
                                                                                    EXACT(SELECT, select_known,
                                                                                          "select of a known condition")
                                                                                        EXACT(SELECT, select_same,
                                                                                              "select(c, x, x) = x")
                                                                                            EXACT(SELECT, select_not,
                                                                                                  "select(not c, x, y) "
                                                                                                  "= select(c, y, x)"){
                                                                                                HN_OP_CONST, HN_EXACT,
                                                                                                NULL, NULL},
};
