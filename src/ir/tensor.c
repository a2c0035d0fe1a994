/* ir/tensor.c — element types and their conversions.
 *
 * Every float format below 32 bits is one row {exponent bits, mantissa bits, bias, use of its top codes}; encode and
 * decode are one function each. Formats: IEEE 754-2019 binary16; bfloat16; Micikevicius et al. 2022, "FP8 formats for
 * deep learning" (e4m3fn, e5m2); the fnuz variants (one NaN at 0x80, no -0, bias one larger); OCP Microscaling 1.0
 * (e2m1, e8m0). Saturation and special values follow ONNX Cast.
 */
#include "ir/tensor.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- the table --------------------------------------------------------------------------------------------------- */

/* lowest and highest finite value, distance from 1 to the next; f8e8m0 has neither sign nor zero */
#define LIMIT_F32 -FLT_MAX, FLT_MAX, FLT_EPSILON
#define LIMIT_F64 -DBL_MAX, DBL_MAX, DBL_EPSILON
#define LIMIT_F16 -65504, 65504, 0x1p-10
#define LIMIT_BF16 -0x1.fep127, 0x1.fep127, 0x1p-7
#define LIMIT_I8 INT8_MIN, INT8_MAX, 0
#define LIMIT_I16 INT16_MIN, INT16_MAX, 0
#define LIMIT_I32 INT32_MIN, INT32_MAX, 0
#define LIMIT_I64 -0x1p63, 0x1p63, 0 /* one above the highest, which a double cannot hold */
#define LIMIT_U8 0, UINT8_MAX, 0
#define LIMIT_U16 0, UINT16_MAX, 0
#define LIMIT_U32 0, UINT32_MAX, 0
#define LIMIT_U64 0, 0x1p64, 0 /* likewise */
#define LIMIT_BOOL 0, 1, 0
#define LIMIT_F8E4M3FN -448, 448, 0x1p-3
#define LIMIT_F8E4M3FNUZ -240, 240, 0x1p-3
#define LIMIT_F8E5M2 -57344, 57344, 0x1p-2
#define LIMIT_F8E5M2FNUZ -57344, 57344, 0x1p-2
#define LIMIT_U4 0, 15, 0
#define LIMIT_I4 -8, 7, 0
#define LIMIT_F4E2M1 -6, 6, 0x1p-1
#define LIMIT_F8E8M0 0x1p-127, 0x1p127, 1
#define LIMIT_U2 0, 3, 0
#define LIMIT_I2 -2, 1, 0

static const hn_dtype_info info[] = {
#define HN_DTYPE(id, text, bits, size_b, cls) {text, bits, size_b, HN_CLASS_##cls, LIMIT_##id},
#include "ir/dtypes.def"
#undef HN_DTYPE
};
enum row_number {
#define HN_DTYPE(id, text, bits, size_b, cls) ROW_##id,
#include "ir/dtypes.def"
#undef HN_DTYPE
    N_ROWS
};
#define HN_DTYPE(id, text, bits, size_b, cls)                                                                          \
    _Static_assert((int)ROW_##id == (int)HONE_##id, "include/hone/ir.h keeps the order of dtypes.def");
#include "ir/dtypes.def"
#undef HN_DTYPE
_Static_assert((int)N_ROWS == (int)HONE_N_DTYPES, "include/hone/ir.h lists every row of dtypes.def");
_Static_assert(HN_RANK_MAX == HONE_RANK_MAX, "one limit of rank");

const hn_dtype_info *hn_dtype_of(hone_dtype t) { return (unsigned)t < HONE_N_DTYPES ? &info[t] : NULL; }
const char *hone_dtype_name(hone_dtype t) { return (unsigned)t < HONE_N_DTYPES ? info[t].text : NULL; }
size_t hone_dtype_size_b(hone_dtype t) { return (unsigned)t < HONE_N_DTYPES ? info[t].size_b : 0; }

int hn_random_bits(hone_dtype t) {
    switch (t) {
    case HONE_F64: return 53;
    case HONE_F32: return 24;
    case HONE_F16: return 11;
    case HONE_BF16: return 8;
    case HONE_F8E4M3FN:
    case HONE_F8E4M3FNUZ: return 4;
    case HONE_F8E5M2:
    case HONE_F8E5M2FNUZ: return 3;
    default: return 1;
    }
}

bool hn_dtype_named(const char *text, hone_dtype *out) {
    for (int i = 0; i < HONE_N_DTYPES; i++) {
        if (strcmp(info[i].text, text) != 0) continue;
        *out = (hone_dtype)i;
        return true;
    }
    return false;
}

/* --- tensors ----------------------------------------------------------------------------------------------------- */

bool hn_tensor_count(const hn_tensor *t, int64_t *n) {
    int64_t count = 1, size;
    bool empty = false;
    for (size_t i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0) return false;
        if (t->dim[i] == 0) empty = true;
    }
    for (size_t i = 0; i < t->rank && !empty; i++) {
        if (__builtin_mul_overflow(count, t->dim[i], &count)) return false;
    }
    if (empty) count = 0;
    if (__builtin_mul_overflow(count, (int64_t)hone_dtype_size_b(t->dtype), &size)) return false;
    *n = count;
    return true;
}

int64_t hn_tensor_n(const hn_tensor *t) {
    int64_t n = 1;
    for (size_t i = 0; i < t->rank; i++) n *= t->dim[i];
    return n;
}

bool hn_tensor_new(hn_arena *a, hone_dtype dtype, size_t rank, const int64_t *dim, hn_tensor *out) {
    hn_tensor t = {.dtype = dtype, .rank = (uint8_t)rank};
    int64_t n;
    if (rank > HN_RANK_MAX || (unsigned)dtype >= HONE_N_DTYPES) return false;
    if (rank) memcpy(t.dim, dim, rank * sizeof *dim);
    if (!hn_tensor_count(&t, &n)) return false;
    t.data = hn_alloc_n(a, (size_t)n, info[dtype].size_b);
    if (!t.data) return false;
    *out = t;
    return true;
}

/* --- floats below 32 bits ---------------------------------------------------------------------------------------- */

typedef enum top_codes {
    TOP_IEEE,   /* all-ones exponent: infinity and NaN */
    TOP_FN,     /* finite and NaN: all ones is NaN, no infinity */
    TOP_FNUZ,   /* as FN, but the only NaN is where -0 would be */
    TOP_FINITE, /* every code is a finite number */
} top_codes;
typedef struct float_format {
    uint8_t e_bits, m_bits; /* e_bits 0: not a format of this table */
    int16_t bias;
    top_codes top;
    bool clips; /* saturation applies */
} float_format;
static const float_format format[HONE_N_DTYPES] = {
    [HONE_F16] = {5, 10, 15, TOP_IEEE, false},   [HONE_BF16] = {8, 7, 127, TOP_IEEE, false},
    [HONE_F8E4M3FN] = {4, 3, 7, TOP_FN, true},   [HONE_F8E4M3FNUZ] = {4, 3, 8, TOP_FNUZ, true},
    [HONE_F8E5M2] = {5, 2, 15, TOP_IEEE, true},  [HONE_F8E5M2FNUZ] = {5, 2, 16, TOP_FNUZ, true},
    [HONE_F4E2M1] = {2, 1, 1, TOP_FINITE, true},
};

static uint32_t low_ones(unsigned n) { return (1u << n) - 1; }
static uint32_t sign_bit(const float_format *f) { return 1u << (f->e_bits + f->m_bits); }

static uint32_t highest_code(const float_format *f) {
    uint32_t all = low_ones(f->e_bits + f->m_bits);
    switch (f->top) {
    case TOP_IEEE: return (low_ones(f->e_bits) << f->m_bits) - 1;
    case TOP_FN: return all - 1;
    default: return all;
    }
}

static uint32_t nan_code(const float_format *f) {
    switch (f->top) {
    case TOP_IEEE: return low_ones(f->e_bits) << f->m_bits | 1u << (f->m_bits - 1);
    case TOP_FN: return low_ones(f->e_bits + f->m_bits);
    default: return sign_bit(f); /* TOP_FINITE has none: -0 stands for it */
    }
}

/* What a magnitude above the highest finite one becomes, without its sign. */
static uint32_t overflow_code(const float_format *f, bool saturate) {
    if (f->top == TOP_FINITE || (saturate && f->clips)) return highest_code(f);
    return f->top == TOP_IEEE ? low_ones(f->e_bits) << f->m_bits : nan_code(f);
}

/* Units of the last place, rounded to nearest even by integer arithmetic (no dependence on the rounding mode). */
static uint64_t round_even(double units) {
    uint64_t n = (uint64_t)units;
    double rest = units - (double)n;
    return n + (rest > 0.5 || (rest == 0.5 && (n & 1)));
}

static uint32_t encode(const float_format *f, double x, bool saturate) {
    if (isnan(x)) return nan_code(f);
    uint32_t sign = signbit(x) ? sign_bit(f) : 0, code;
    double a = fabs(x);
    int64_t e_min = 1 - f->bias, e = a > 0 && !isinf(a) ? ilogb(a) : e_min;
    if (e < e_min) e = e_min;
    if (isinf(a) || e > 200) {
        code = overflow_code(f, saturate);
    } else {
        /* A subnormal has exponent field 0 and no hidden bit; a carry out of the mantissa moves to the next exponent.
         */
        uint64_t n = round_even(ldexp(a, (int)(f->m_bits - e)));
        uint64_t c = n + ((uint64_t)(e - e_min) << f->m_bits);
        code = c > highest_code(f) ? overflow_code(f, saturate) : (uint32_t)c;
    }
    if (f->top == TOP_FNUZ && (code == 0 || code == nan_code(f))) return code;
    return code | sign;
}

static double decode(const float_format *f, uint32_t bits) {
    uint32_t all = low_ones(f->e_bits + f->m_bits), code = bits & all;
    bool negative = bits & sign_bit(f);
    if (f->top == TOP_FNUZ && negative && !code) return NAN;
    if (f->top == TOP_FN && code == all) return NAN;
    uint32_t e = code >> f->m_bits, m = code & low_ones(f->m_bits);
    double a;
    if (f->top == TOP_IEEE && e == low_ones(f->e_bits))
        a = m ? NAN : INFINITY;
    else if (e == 0)
        a = ldexp(m, 1 - f->bias - f->m_bits);
    else
        a = ldexp(m | 1u << f->m_bits, (int)e - f->bias - f->m_bits);
    return negative ? -a : a;
}

uint32_t hn_e8m0_encode(double x, char mode, bool saturate) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t e = bits >> 23 & 0xff, rest = bits & 0x7fffff, half = 1u << 22;
    if (e == 0xff) return 0xff;
    bool up = mode == 'u' ? rest > 0 : mode == 'n' ? rest > half || (rest == half && e > 0) : false;
    if (up && !(saturate && e == 0xfe)) e++;
    return e;
}

uint32_t hn_float_encode(hone_dtype t, double x, bool saturate) {
    if (t == HONE_F8E8M0) return hn_e8m0_encode(x, 'n', saturate);
    if (t == HONE_F32) {
        float f = (float)x;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return bits;
    }
    return encode(&format[t], x, saturate);
}

double hn_float_decode(hone_dtype t, uint32_t bits) {
    if (t == HONE_F8E8M0) return (bits & 0xff) == 0xff ? NAN : ldexp(1, (int)(bits & 0xff) - 127);
    if (t == HONE_F32) {
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    return decode(&format[t], bits);
}

/* --- elements ---------------------------------------------------------------------------------------------------- */

/* The element's bits, zero-extended; a tensor's data may be a mapping without alignment. */
static uint64_t load(const hn_tensor *t, int64_t i) {
    const unsigned char *p = t->data;
    switch (info[t->dtype].size_b) {
    case 1: return p[i];
    case 2: {
        uint16_t x;
        memcpy(&x, p + 2 * i, sizeof x);
        return x;
    }
    case 4: {
        uint32_t x;
        memcpy(&x, p + 4 * i, sizeof x);
        return x;
    }
    default: {
        uint64_t x;
        memcpy(&x, p + 8 * i, sizeof x);
        return x;
    }
    }
}

static void store(hn_tensor *t, int64_t i, uint64_t bits) {
    unsigned char *p = t->data;
    size_t n = info[t->dtype].size_b;
    uint8_t b1 = (uint8_t)bits;
    uint16_t b2 = (uint16_t)bits;
    uint32_t b4 = (uint32_t)bits;
    const void *from = n == 1 ? (const void *)&b1 : n == 2 ? (const void *)&b2 : n == 4 ? (const void *)&b4 : &bits;
    memcpy(p + (size_t)i * n, from, n);
}

static int64_t sign_extend(uint64_t bits, unsigned n) { return (int64_t)(bits << (64 - n)) >> (64 - n); }
static uint64_t keep_bits(uint64_t bits, unsigned n) { return n == 64 ? bits : bits & ((UINT64_C(1) << n) - 1); }

/* Truncates towards 0 and saturates; NaN gives 0. */
static int64_t to_i64(double x) {
    if (isnan(x)) return 0;
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

static double to_double(hone_dtype t, uint64_t bits) {
    if (t != HONE_F64) return hn_float_decode(t, (uint32_t)bits);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double hn_get_f(const hn_tensor *t, int64_t i) {
    uint64_t bits = load(t, i);
    const hn_dtype_info *d = &info[t->dtype];
    switch (d->cls) {
    case HN_CLASS_FLOAT: return to_double(t->dtype, bits);
    case HN_CLASS_INT: return (double)sign_extend(bits, d->bits);
    case HN_CLASS_UINT: return (double)keep_bits(bits, d->bits);
    default: return bits != 0;
    }
}

int64_t hn_get_i(const hn_tensor *t, int64_t i) {
    uint64_t bits = load(t, i);
    const hn_dtype_info *d = &info[t->dtype];
    switch (d->cls) {
    case HN_CLASS_FLOAT: return to_i64(to_double(t->dtype, bits));
    case HN_CLASS_INT: return sign_extend(bits, d->bits);
    case HN_CLASS_UINT: return (int64_t)keep_bits(bits, d->bits);
    default: return bits != 0;
    }
}

static uint64_t saturated(const hn_dtype_info *d, double x) {
    if (isnan(x)) return 0;
    if (d->bits == 64 && d->cls == HN_CLASS_UINT) return x >= 0x1p64 ? UINT64_MAX : x <= 0 ? 0 : (uint64_t)x;
    if (d->bits == 64) return (uint64_t)to_i64(x);
    return (uint64_t)(int64_t)(x < d->lowest ? d->lowest : x > d->highest ? d->highest : x);
}

void hn_set_f(hn_tensor *t, int64_t i, double x) {
    const hn_dtype_info *d = &info[t->dtype];
    uint64_t bits;
    if (t->dtype == HONE_F64)
        memcpy(&bits, &x, sizeof bits);
    else if (d->cls == HN_CLASS_FLOAT)
        bits = hn_float_encode(t->dtype, x, true);
    else
        bits = d->cls == HN_CLASS_BOOL ? x != 0 : saturated(d, x);
    store(t, i, bits);
}

/* x as a double that rounds to a smaller type as x itself would: rounded to odd when it has more than 53 bits (Boldo &
 * Melquiond 2008, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"). */
static double round_to_odd(int64_t x) {
    uint64_t a = x < 0 ? -(uint64_t)x : (uint64_t)x;
    if (a >> 53) a = (a & ~UINT64_C(0xfff)) | (a & 0xfff ? 0x1000 : 0);
    return x < 0 ? -(double)a : (double)a;
}

void hn_set_i(hn_tensor *t, int64_t i, int64_t x) {
    const hn_dtype_info *d = &info[t->dtype];
    uint64_t bits;
    if (t->dtype == HONE_F64) {
        hn_set_f(t, i, (double)x);
        return;
    }
    switch (d->cls) {
    case HN_CLASS_FLOAT: bits = hn_float_encode(t->dtype, round_to_odd(x), true); break;
    case HN_CLASS_INT: bits = (uint64_t)sign_extend((uint64_t)x, d->bits); break;
    case HN_CLASS_UINT: bits = keep_bits((uint64_t)x, d->bits); break;
    default: bits = x != 0;
    }
    store(t, i, bits);
}
