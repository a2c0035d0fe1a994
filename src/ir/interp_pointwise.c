/* ir/interp_pointwise.c — operations on elements: chunks are loaded as double or int64, computed by a loop per
 * operation, and stored with one rounding. float(double(x) op double(y)) is the correctly rounded float result of
 * + - * / and sqrt, because 53 >= 2 * 24 + 2 (Figueroa 1995). */
#include "ir/interp_int.h"

#include <math.h>
#include <string.h>

bool hn_op_compares(hn_op op) { return op == HN_OP_EQ || op == HN_OP_NE || op == HN_OP_LT || op == HN_OP_LE; }

bool hn_op_needs_float(hn_op op) {
    switch (op) {
    case HN_OP_NEG:
    case HN_OP_ABS:
    case HN_OP_SIGN:
    case HN_OP_FLOOR:
    case HN_OP_CEIL:
    case HN_OP_ROUND:
    case HN_OP_TRUNC:
    case HN_OP_NOT:
    case HN_OP_ISNAN:
    case HN_OP_ISINF: return false;
    default: return true;
    }
}

static double sigmoid(double x) {
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : x < 0 ? e / (1 + e) : x == x ? 0.5 : x;
}

static double sign_f(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

#define EACH(expr)                                                                                                     \
    for (int64_t i = 0; i < n; i++) out[i] = (expr);                                                                   \
    break

void hn_unary_f(hn_op op, int64_t n, const double *x, double *out) {
    switch (op) {
    case HN_OP_NEG: EACH(-x[i]);
    case HN_OP_ABS: EACH(fabs(x[i]));
    case HN_OP_SIGN: EACH(sign_f(x[i]));
    case HN_OP_FLOOR: EACH(floor(x[i]));
    case HN_OP_CEIL: EACH(ceil(x[i]));
    case HN_OP_ROUND: EACH(rint(x[i]));
    case HN_OP_TRUNC: EACH(trunc(x[i]));
    case HN_OP_SQRT: EACH(sqrt(x[i]));
    case HN_OP_RSQRT: EACH(1 / sqrt(x[i]));
    case HN_OP_RECIP: EACH(1 / x[i]);
    case HN_OP_EXP: EACH(exp(x[i]));
    case HN_OP_LOG: EACH(log(x[i]));
    case HN_OP_LOG1P: EACH(log1p(x[i]));
    case HN_OP_EXPM1: EACH(expm1(x[i]));
    case HN_OP_SIN: EACH(sin(x[i]));
    case HN_OP_COS: EACH(cos(x[i]));
    case HN_OP_TAN: EACH(tan(x[i]));
    case HN_OP_ASIN: EACH(asin(x[i]));
    case HN_OP_ACOS: EACH(acos(x[i]));
    case HN_OP_ATAN: EACH(atan(x[i]));
    case HN_OP_SINH: EACH(sinh(x[i]));
    case HN_OP_COSH: EACH(cosh(x[i]));
    case HN_OP_TANH: EACH(tanh(x[i]));
    case HN_OP_ASINH: EACH(asinh(x[i]));
    case HN_OP_ACOSH: EACH(acosh(x[i]));
    case HN_OP_ATANH: EACH(atanh(x[i]));
    case HN_OP_ERF: EACH(erf(x[i]));
    case HN_OP_SIGMOID: EACH(sigmoid(x[i]));
    case HN_OP_NOT: EACH(x[i] == 0);
    case HN_OP_ISNAN: EACH(x[i] != x[i]);
    case HN_OP_ISINF: EACH(isinf(x[i]) != 0);
    default: EACH(x[i]);
    }
}

void hn_unary_i(hn_op op, hone_dtype t, int64_t n, const int64_t *x, int64_t *out) {
    switch (op) {
    case HN_OP_NEG: EACH(hn_wrap_sub(0, x[i]));
    case HN_OP_ABS: EACH(x[i] < 0 && t != HONE_U64 ? hn_wrap_sub(0, x[i]) : x[i]);
    case HN_OP_SIGN: EACH(t == HONE_U64 ? x[i] != 0 : (x[i] > 0) - (x[i] < 0));
    case HN_OP_NOT: EACH(t == HONE_BOOL ? !x[i] : ~x[i]);
    case HN_OP_ISNAN:
    case HN_OP_ISINF: EACH(0);
    default: EACH(x[i]);
    }
}

static double mod_f(double x, double y) {
    double r = fmod(x, y);
    if (r == 0) return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}
static double min_f(double x, double y) { return x != x ? x : y != y ? y : y < x ? y : x; }
static double max_f(double x, double y) { return x != x ? x : y != y ? y : y > x ? y : x; }

void hn_binary_f(hn_op op, int64_t n, const double *x, const double *y, double *out) {
    switch (op) {
    case HN_OP_ADD: EACH(x[i] + y[i]);
    case HN_OP_SUB: EACH(x[i] - y[i]);
    case HN_OP_MUL: EACH(x[i] * y[i]);
    case HN_OP_DIV: EACH(x[i] / y[i]);
    case HN_OP_MOD: EACH(mod_f(x[i], y[i]));
    case HN_OP_REM: EACH(fmod(x[i], y[i]));
    case HN_OP_POW: EACH(pow(x[i], y[i]));
    case HN_OP_MIN: EACH(min_f(x[i], y[i]));
    case HN_OP_MAX: EACH(max_f(x[i], y[i]));
    case HN_OP_AND: EACH(x[i] != 0 && y[i] != 0);
    case HN_OP_OR: EACH(x[i] != 0 || y[i] != 0);
    case HN_OP_XOR: EACH((x[i] != 0) != (y[i] != 0));
    default: EACH(x[i]);
    }
}

static int64_t div_i(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? hn_wrap_sub(0, x) : x / y; }
static int64_t rem_i(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
static int64_t mod_i(int64_t x, int64_t y) {
    int64_t r = rem_i(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static int64_t div_u(int64_t x, int64_t y) { return y ? (int64_t)((uint64_t)x / (uint64_t)y) : 0; }
static int64_t rem_u(int64_t x, int64_t y) { return y ? (int64_t)((uint64_t)x % (uint64_t)y) : 0; }

/* By repeated squaring; a negative exponent leaves 1/x truncated: 0, but for a base of 1 or -1. */
static int64_t pow_i(int64_t x, int64_t y, bool uns) {
    if (y < 0 && !uns) return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    uint64_t base = (uint64_t)x, result = 1;
    for (uint64_t e = (uint64_t)y; e; e >>= 1, base *= base)
        if (e & 1) result *= base;
    return (int64_t)result;
}
static int64_t shl_i(int64_t x, int64_t s, int bits) { return s < 0 || s >= bits ? 0 : (int64_t)((uint64_t)x << s); }
static int64_t shr_i(int64_t x, int64_t s, int bits) { return s < 0 || s >= bits ? (x < 0 ? -1 : 0) : x >> s; }
static int64_t shr_u(int64_t x, int64_t s, int bits) { return s < 0 || s >= bits ? 0 : (int64_t)((uint64_t)x >> s); }
static bool less_i(bool uns, int64_t x, int64_t y) { return uns ? (uint64_t)x < (uint64_t)y : x < y; }

void hn_binary_i(hn_op op, bool uns, int bits, int64_t n, const int64_t *x, const int64_t *y, int64_t *out) {
    switch (op) {
    case HN_OP_ADD: EACH(hn_wrap_add(x[i], y[i]));
    case HN_OP_SUB: EACH(hn_wrap_sub(x[i], y[i]));
    case HN_OP_MUL: EACH(hn_wrap_mul(x[i], y[i]));
    case HN_OP_DIV: EACH(uns ? div_u(x[i], y[i]) : div_i(x[i], y[i]));
    case HN_OP_MOD: EACH(uns ? rem_u(x[i], y[i]) : mod_i(x[i], y[i]));
    case HN_OP_REM: EACH(uns ? rem_u(x[i], y[i]) : rem_i(x[i], y[i]));
    case HN_OP_POW: EACH(pow_i(x[i], y[i], uns));
    case HN_OP_MIN: EACH(less_i(uns, y[i], x[i]) ? y[i] : x[i]);
    case HN_OP_MAX: EACH(less_i(uns, x[i], y[i]) ? y[i] : x[i]);
    case HN_OP_AND: EACH(x[i] & y[i]);
    case HN_OP_OR: EACH(x[i] | y[i]);
    case HN_OP_XOR: EACH(x[i] ^ y[i]);
    case HN_OP_SHL: EACH(shl_i(x[i], y[i], bits));
    case HN_OP_SHR: EACH(uns ? shr_u(x[i], y[i], bits) : shr_i(x[i], y[i], bits));
    default: EACH(x[i]);
    }
}

void hn_compare_f(hn_op op, int64_t n, const double *x, const double *y, int64_t *out) {
    switch (op) {
    case HN_OP_EQ: EACH(x[i] == y[i]);
    case HN_OP_NE: EACH(x[i] != y[i]);
    case HN_OP_LT: EACH(x[i] < y[i]);
    default: EACH(x[i] <= y[i]);
    }
}

void hn_compare_i(hn_op op, bool uns, int64_t n, const int64_t *x, const int64_t *y, int64_t *out) {
    switch (op) {
    case HN_OP_EQ: EACH(x[i] == y[i]);
    case HN_OP_NE: EACH(x[i] != y[i]);
    case HN_OP_LT: EACH(less_i(uns, x[i], y[i]));
    default: EACH(!less_i(uns, y[i], x[i]));
    }
}

/* The shapes were proven equal or assumed to be: a run in which they are not is an error. */
static hone_rc same_count(const hn_call *c, int64_t *n) {
    *n = hn_tensor_n(&c->out[0]);
    for (size_t k = 0; k < c->node->n_in; k++)
        if (hn_tensor_n(c->in[k]) != *n)
            return hn_fail(c->err, HONE_E_INPUT, "%s: its inputs have %lld and %lld elements; they must have one shape",
                           hn_call_name(c), (long long)*n, (long long)hn_tensor_n(c->in[k]));
    return HONE_OK;
}

hone_rc hn_eval_unary(hn_call *c) {
    const hn_tensor *x = c->in[0];
    hn_op op = c->node->op;
    bool predicate = op == HN_OP_ISNAN || op == HN_OP_ISINF, as_float = hn_is_float(x->dtype) || hn_op_needs_float(op);
    int64_t n, m;
    double f[HN_CHUNK];
    int64_t k[HN_CHUNK];
    hone_rc rc = same_count(c, &n);
    for (int64_t at = 0; rc == HONE_OK && at < n; at += m) {
        m = hn_min64(n - at, HN_CHUNK);
        if (as_float) {
            hn_load_f(x, at, 1, m, f);
            hn_unary_f(op, m, f, f);
            for (int64_t i = 0; predicate && i < m; i++) k[i] = f[i] != 0;
        } else {
            hn_load_i(x, at, 1, m, k);
            hn_unary_i(op, x->dtype, m, k, k);
        }
        if (as_float && !predicate)
            hn_store_f(&c->out[0], at, m, f);
        else
            hn_store_i(&c->out[0], at, m, k);
    }
    return rc;
}

hone_rc hn_eval_binary(hn_call *c) {
    const hn_tensor *x = c->in[0], *y = c->in[1];
    hn_op op = c->node->op;
    bool as_float = hn_is_float(x->dtype) || hn_is_float(y->dtype), compares = hn_op_compares(op);
    bool uns = x->dtype == HONE_U64;
    int bits = hn_dtype_of(x->dtype)->bits;
    int64_t n, m;
    double fx[HN_CHUNK], fy[HN_CHUNK];
    int64_t kx[HN_CHUNK], ky[HN_CHUNK];
    hone_rc rc = same_count(c, &n);
    for (int64_t at = 0; rc == HONE_OK && at < n; at += m) {
        m = hn_min64(n - at, HN_CHUNK);
        if (as_float) {
            hn_load_f(x, at, 1, m, fx);
            hn_load_f(y, at, 1, m, fy);
            if (compares)
                hn_compare_f(op, m, fx, fy, kx);
            else
                hn_binary_f(op, m, fx, fy, fx);
        } else {
            hn_load_i(x, at, 1, m, kx);
            hn_load_i(y, at, 1, m, ky);
            if (compares)
                hn_compare_i(op, uns, m, kx, ky, kx);
            else
                hn_binary_i(op, uns, bits, m, kx, ky, kx);
        }
        if (as_float && !compares)
            hn_store_f(&c->out[0], at, m, fx);
        else
            hn_store_i(&c->out[0], at, m, kx);
    }
    return rc;
}

hone_rc hn_eval_select(hn_call *c) {
    int64_t n;
    hone_rc rc = same_count(c, &n);
    if (rc) return rc;
    size_t size_b = hn_dtype_of(c->out[0].dtype)->size_b;
    const unsigned char *cond = c->in[0]->data;
    const char *side[2] = {c->in[2]->data, c->in[1]->data};
    char *out = c->out[0].data;
    for (int64_t i = 0; i < n; i++) memcpy(out + i * size_b, side[cond[i] != 0] + i * size_b, size_b);
    return HONE_OK;
}

/* |x| >= 2^53 loses bits in a double: what is lost goes into the last bit kept, so that the next rounding sees it. */
double hn_int_to_double_odd(int64_t x, bool uns) {
    bool negative = !uns && x < 0;
    uint64_t u = negative ? -(uint64_t)x : (uint64_t)x;
    double d = u >> 53 ? (double)(u >> 11 | ((u & 2047) != 0)) * 2048 : (double)u;
    return negative ? -d : d;
}

/* Powers of two only: rounds the exponent in the wanted direction, then nothing is left to round. The sign is lost and
 * what is no finite number becomes NaN, as in the OCP MX format. */
static double to_e8m0(double x, const char *mode, bool saturate) {
    double high = 0x1p127, low = 0x1p-127, a = fabs(x);
    if (!(a <= 1.7976931348623157e308)) return NAN;
    if (a == 0) return low;
    int e;
    double m = frexp(a, &e), p = ldexp(1, e - 1); /* a = 2m * p, 1 <= 2m < 2 */
    bool up = m > 0.5 && (!strcmp(mode, "up") || (!strcmp(mode, "nearest") && 2 * m >= 1.5));
    if (up) p *= 2;
    if (p > high) return saturate ? high : NAN;
    return p < low ? low : p;
}

static int64_t saturated(const hn_dtype_info *to, double x) {
    if (x != x) return 0;
    x = trunc(x);
    if (to->bits == 64 && to->cls == HN_CLASS_UINT)
        return x <= 0 ? 0 : x >= 0x1p64 ? (int64_t)UINT64_MAX : (int64_t)(uint64_t)x;
    if (to->bits == 64) return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
    return (int64_t)(x < to->lowest ? to->lowest : x > to->highest ? to->highest : x);
}

/* Out of range: the lowest int64, whose low bits are kept, as cvttsd2si does. */
static int64_t truncated(double x) {
    if (x >= 0x1p63 && x < 0x1p64) return (int64_t)(uint64_t)x;
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : x != x ? 0 : INT64_MIN;
}

static void cast_chunk_f(const hn_node *node, hone_dtype to, int64_t n, double *x, int64_t *k) {
    const hn_dtype_info *info = hn_dtype_of(to);
    bool saturate = hn_attr_i(node, HN_A_SATURATE, 1) != 0;
    const hn_attr *round = hn_attr_get(node, HN_A_ROUND);
    for (int64_t i = 0; i < n; i++) {
        if (to == HONE_BOOL)
            k[i] = x[i] != 0;
        else if (info->cls != HN_CLASS_FLOAT)
            k[i] = saturate ? saturated(info, x[i]) : truncated(x[i]);
        else if (to == HONE_F8E8M0)
            x[i] = to_e8m0(x[i], round ? round->name : "up", saturate);
    }
}

/* The codes themselves: an infinity that a cast lets pass would be clipped by hn_store_f. */
static void store_small(hn_tensor *y, bool saturate, int64_t at, int64_t n, const double *x) {
    unsigned char *code = y->data;
    for (int64_t i = 0; i < n; i++) code[at + i] = (unsigned char)hn_float_encode(y->dtype, x[i], saturate);
}

hone_rc hn_eval_cast(hn_call *c) {
    const hn_tensor *x = c->in[0];
    hn_tensor *y = &c->out[0];
    bool from_float = hn_is_float(x->dtype), to_float = hn_is_float(y->dtype);
    int64_t n, m;
    double f[HN_CHUNK];
    int64_t k[HN_CHUNK];
    hone_rc rc = same_count(c, &n);
    for (int64_t at = 0; rc == HONE_OK && at < n; at += m) {
        m = hn_min64(n - at, HN_CHUNK);
        if (from_float)
            hn_load_f(x, at, 1, m, f);
        else
            hn_load_i(x, at, 1, m, k);
        for (int64_t i = 0; !from_float && i < m; i++) {
            if (y->dtype == HONE_F64)
                f[i] = x->dtype == HONE_U64 ? (double)(uint64_t)k[i] : (double)k[i];
            else if (to_float)
                f[i] = hn_int_to_double_odd(k[i], x->dtype == HONE_U64);
            else if (y->dtype == HONE_BOOL)
                k[i] = k[i] != 0;
        }
        if (from_float || (to_float && hn_dtype_of(y->dtype)->bits <= 8)) cast_chunk_f(c->node, y->dtype, m, f, k);
        if (to_float && hn_dtype_of(y->dtype)->bits <= 8 && y->dtype != HONE_F8E8M0)
            store_small(y, hn_attr_i(c->node, HN_A_SATURATE, 1) != 0, at, m, f);
        else if (to_float)
            hn_store_f(y, at, m, f);
        else
            hn_store_i(y, at, m, k);
    }
    return rc;
}

hone_rc hn_eval_bitcast(hn_call *c) {
    int64_t n;
    hone_rc rc = same_count(c, &n);
    if (rc) return rc;
    const hn_dtype_info *to = hn_dtype_of(c->out[0].dtype);
    unsigned char *out = c->out[0].data;
    memcpy(out, c->in[0]->data, (size_t)n * to->size_b);
    if (to->bits >= 8) return HONE_OK;
    unsigned mask = (1u << to->bits) - 1, top = 1u << (to->bits - 1);
    for (int64_t i = 0; i < n; i++) {
        unsigned b = out[i] & mask;
        out[i] = (unsigned char)(to->cls == HN_CLASS_INT && b & top ? b | ~mask : b);
    }
    return HONE_OK;
}
