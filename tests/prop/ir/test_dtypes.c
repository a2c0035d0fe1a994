/* Conversions against arithmetic definitions: every code of the small floats, every 16-bit pattern, and the nearest
 * value found by looking at all of them. */
#include "base/rng.h"
#include "ir/tensor.h"
#include "onnx/onnx.h"
#include "tap.h"

#include <math.h>

static const struct {
    hone_dtype t;
    int bits, e_bits, m_bits, bias;
    bool clips;
} small[] = {
    {HONE_F8E4M3FN, 8, 4, 3, 7, true},    {HONE_F8E4M3FNUZ, 8, 4, 3, 8, true}, {HONE_F8E5M2, 8, 5, 2, 15, true},
    {HONE_F8E5M2FNUZ, 8, 5, 2, 16, true}, {HONE_F4E2M1, 4, 2, 1, 1, true},     {HONE_F16, 16, 5, 10, 15, false},
    {HONE_BF16, 16, 8, 7, 127, false},
};
enum { N_SMALL = sizeof small / sizeof *small };

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

/* (-1)^s 2^(e-bias) 1.m, or 2^(1-bias) 0.m; the formats' own exceptions on top. */
static double by_definition(size_t f, uint32_t code) {
    uint32_t s = code >> (small[f].bits - 1), e = code >> small[f].m_bits & ((1u << small[f].e_bits) - 1);
    uint32_t m = code & ((1u << small[f].m_bits) - 1), e_all = (1u << small[f].e_bits) - 1,
             m_all = (1u << small[f].m_bits) - 1;
    switch (small[f].t) {
    case HONE_F8E4M3FN:
        if (e == e_all && m == m_all) return NAN;
        break;
    case HONE_F8E4M3FNUZ:
    case HONE_F8E5M2FNUZ:
        if (code == 0x80) return NAN;
        break;
    case HONE_F4E2M1: break;
    default:
        if (e == e_all) return m ? NAN : s ? -INFINITY : INFINITY;
    }
    double fraction = (double)m / (double)(1u << small[f].m_bits);
    double x = e ? pow(2, (double)e - small[f].bias) * (1 + fraction) : pow(2, 1 - small[f].bias) * fraction;
    return s ? -x : x;
}

static void every_code(size_t f) {
    const char *name = hone_dtype_name(small[f].t);
    uint32_t wrong_decode = 0, wrong_back = 0, n = 1u << small[f].bits;
    for (uint32_t c = 0; c < n; c++) {
        double x = hn_float_decode(small[f].t, c);
        wrong_decode += !same(x, by_definition(f, c));
        uint32_t back = hn_float_encode(small[f].t, x, true);
        wrong_back += isnan(x)   ? small[f].t != HONE_F4E2M1 && !isnan(hn_float_decode(small[f].t, back))
                      : isinf(x) ? small[f].clips ? hn_float_decode(small[f].t, back) != copysign(57344, x) : back != c
                                 : back != c;
    }
    ok(!wrong_decode, "dtypes/%s_decodes_every_code", name);
    ok(!wrong_back, "dtypes/%s_round_trips_every_code", name);
}

/* The code of the finite value nearest to |x| (ties to the even code), looked for among all. */
static uint32_t nearest(size_t f, double x) {
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t c = 0; c < 1u << (small[f].bits - 1); c++) {
        double y = by_definition(f, c), d = fabs(fabs(x) - y);
        if (!isfinite(y)) continue;
        if (d < least || (d == least && !(c & 1))) {
            best = c;
            least = d;
        }
    }
    return best;
}

static void nearest_values(size_t f) {
    hn_rng r = hn_rng_make(7, f);
    const hn_dtype_info *info = hn_dtype_of(small[f].t);
    int wrong = 0;
    for (int i = 0; i < (small[f].bits == 16 ? 40 : 2000); i++) {
        double x = ldexp(1 + hn_rng_unit(&r), (int)hn_rng_below(&r, 2 * (unsigned)small[f].bias) - small[f].bias);
        if (i % 3 == 0) { /* halfway between two neighbours */
            uint32_t c = (uint32_t)hn_rng_below(&r, (1u << (small[f].bits - 1)) - 3);
            double a = by_definition(f, c), b = by_definition(f, c + 1);
            if (!isfinite(a) || !isfinite(b)) continue;
            x = (a + b) / 2;
        }
        if (x > info->highest) continue;
        if (i & 1) x = -x;
        double got = hn_float_decode(small[f].t, hn_float_encode(small[f].t, x, true));
        wrong += fabs(got) != by_definition(f, nearest(f, x)) || (got != 0 && signbit(got) != signbit(x));
    }
    ok(!wrong, "dtypes/%s_rounds_to_nearest_even", hone_dtype_name(small[f].t));
}

static const struct {
    hone_dtype t;
    double x;
    bool saturate;
    uint32_t want;
} edge[] = {
    {HONE_F8E4M3FN, 464, true, 0x7e},      {HONE_F8E4M3FN, 1e9, true, 0x7e},
    {HONE_F8E4M3FN, -1e9, true, 0xfe},     {HONE_F8E4M3FN, 1e9, false, 0x7f},
    {HONE_F8E4M3FN, INFINITY, true, 0x7e}, {HONE_F8E4M3FN, INFINITY, false, 0x7f},
    {HONE_F8E4M3FN, -0.0, true, 0x80},     {HONE_F8E4M3FNUZ, -0.0, true, 0},
    {HONE_F8E4M3FNUZ, 1e9, true, 0x7f},    {HONE_F8E4M3FNUZ, -1e9, true, 0xff},
    {HONE_F8E4M3FNUZ, 1e9, false, 0x80},   {HONE_F8E4M3FNUZ, -1e-9, true, 0},
    {HONE_F8E5M2, 1e9, true, 0x7b},        {HONE_F8E5M2, 1e9, false, 0x7c},
    {HONE_F8E5M2, -INFINITY, false, 0xfc}, {HONE_F8E5M2, -INFINITY, true, 0xfb},
    {HONE_F8E5M2FNUZ, 1e9, false, 0x80},   {HONE_F8E5M2FNUZ, 1e9, true, 0x7f},
    {HONE_F4E2M1, 7.1, false, 7},          {HONE_F4E2M1, -INFINITY, false, 15},
    {HONE_F4E2M1, NAN, true, 8},           {HONE_F16, 65519, true, 0x7bff},
    {HONE_F16, 65520, true, 0x7c00},       {HONE_F16, 0x1p-25, true, 0},
    {HONE_F16, 0x1.8p-25, true, 1},        {HONE_F16, -0.0, true, 0x8000},
    {HONE_BF16, 1e39, true, 0x7f80},       {HONE_BF16, 0x1.01p0, true, 0x3f80},
    {HONE_BF16, 0x1.03p0, true, 0x3f82},   {HONE_BF16, 0x1p-133, true, 1},
    {HONE_F8E8M0, 3.0, true, 0x81},        {HONE_F8E8M0, 2.9, true, 0x80},
    {HONE_F8E8M0, NAN, true, 0xff},        {HONE_F8E8M0, 0, true, 0},
    {HONE_F32, 1.0, true, 0x3f800000},
};

static void edges(void) {
    for (size_t i = 0; i < sizeof edge / sizeof *edge; i++) {
        uint32_t got = hn_float_encode(edge[i].t, edge[i].x, edge[i].saturate);
        if (!ok(got == edge[i].want, "dtypes/%s_of_%g%s", hone_dtype_name(edge[i].t), edge[i].x,
                edge[i].saturate ? "_saturated" : ""))
            printf("#   got 0x%x, want 0x%x\n", got, edge[i].want);
    }
    ok(hn_e8m0_encode(2.1, 'u', true) == 0x81 && hn_e8m0_encode(3.9, 'd', true) == 0x80, "dtypes/f8e8m0_modes");
    int wrong = 0;
    for (uint32_t c = 0; c < 255; c++)
        wrong += hn_float_encode(HONE_F8E8M0, hn_float_decode(HONE_F8E8M0, c), true) != c;
    ok(!wrong, "dtypes/f8e8m0_round_trips_every_code");
}

/* f16 and bf16 against the compiler's own conversion of the widest float it rounds once from. */
static void against_single(void) {
    hn_rng r = hn_rng_make(11, 0);
    int wrong = 0;
    for (int i = 0; i < 100000; i++) {
        uint32_t bits = (uint32_t)hn_rng_next(&r), low = bits & 0xffff, high = bits >> 16;
        float f;
        memcpy(&f, &bits, sizeof f);
        if (isnan(f)) continue;
        uint32_t want = high + (low > 0x8000 || (low == 0x8000 && (high & 1)));
        wrong += hn_float_encode(HONE_BF16, f, false) != want;
    }
    ok(!wrong, "dtypes/bf16_is_the_upper_half_rounded");
}

static const struct {
    hone_dtype t;
    double x;
    int64_t want;
} whole[] = {
    {HONE_I8, 1e9, 127},  {HONE_I8, -1e9, -128},       {HONE_I8, -1.9, -1},
    {HONE_U8, -1, 0},     {HONE_U8, 255.9, 255},       {HONE_I4, 9, 7},
    {HONE_I4, -9, -8},    {HONE_U4, 99, 15},           {HONE_I2, 5, 1},
    {HONE_U2, 5, 3},      {HONE_I64, 1e30, INT64_MAX}, {HONE_I64, -1e30, INT64_MIN},
    {HONE_U64, 1e30, -1}, {HONE_BOOL, 0.5, 1},         {HONE_BOOL, 0, 0},
    {HONE_I32, NAN, 0},   {HONE_U32, 4e9, 4000000000},
};

static void integers(void) {
    hn_arena a = {0};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        hn_tensor t;
        hn_tensor_new(&a, whole[i].t, 0, NULL, &t);
        hn_set_f(&t, 0, whole[i].x);
        ok(hn_get_i(&t, 0) == whole[i].want, "dtypes/%s_of_%g", hone_dtype_name(whole[i].t), whole[i].x);
    }
    int wrong = 0;
    for (int d = 0; d < HONE_N_DTYPES; d++) { /* low bits are kept and come back sign- or zero-extended */
        const hn_dtype_info *info = hn_dtype_of((hone_dtype)d);
        hn_tensor t;
        int64_t one = 1;
        hn_tensor_new(&a, (hone_dtype)d, 1, &one, &t);
        if (info->cls != HN_CLASS_INT && info->cls != HN_CLASS_UINT) continue;
        for (int64_t x = -300; x < 300; x++) {
            hn_set_i(&t, 0, x);
            uint64_t mask = info->bits == 64 ? UINT64_MAX : (UINT64_C(1) << info->bits) - 1;
            uint64_t low = (uint64_t)x & mask, sign = UINT64_C(1) << (info->bits - 1);
            uint64_t want = info->cls == HN_CLASS_INT && (low & sign) ? low | ~mask : low;
            wrong += (uint64_t)hn_get_i(&t, 0) != want;
        }
    }
    ok(!wrong, "dtypes/integers_keep_the_low_bits");
    hn_tensor t;
    hn_tensor_new(&a, HONE_F32, 0, NULL, &t);
    hn_set_i(&t, 0, (INT64_C(1) << 54) + (INT64_C(1) << 30) + 1); /* a tie once the last bit is lost in double */
    ok(hn_get_f(&t, 0) == 0x1p54 + 0x1p31, "dtypes/integer_to_float_rounds_once");
    hn_arena_free(&a);
}

static void tensors(void) {
    hn_arena a = {0};
    hn_tensor t;
    int64_t n, dim[3] = {3, 0, INT64_MAX}, most[3] = {INT64_MAX, INT64_MAX, 2};
    ok(hn_tensor_new(&a, HONE_F64, 3, dim, &t) && hn_tensor_n(&t) == 0, "dtypes/empty_tensor_of_any_size");
    ok(!hn_tensor_new(&a, HONE_F64, 3, most, &t) && hn_arena_ok(&a), "dtypes/too_large_is_refused");
    dim[1] = -1;
    ok(!hn_tensor_new(&a, HONE_F64, 3, dim, &t), "dtypes/negative_size_is_refused");
    ok(!hn_tensor_new(&a, HONE_F64, HN_RANK_MAX + 1, dim, &t), "dtypes/rank_is_limited");
    hn_tensor big = {.dtype = HONE_F64, .rank = 1, .dim = {INT64_MAX / 4}};
    ok(!hn_tensor_count(&big, &n), "dtypes/bytes_may_not_overflow");
    int wrong = 0;
    for (int d = 0; d < HONE_N_DTYPES; d++) {
        hone_dtype back, onnx;
        wrong += !hn_dtype_named(hone_dtype_name((hone_dtype)d), &back) || (int)back != d;
        wrong += !hn_dtype_from_onnx(hn_onnx_dtype((hone_dtype)d), &onnx) || (int)onnx != d;
    }
    ok(!wrong, "dtypes/names_and_codes_lead_back");
    ok(!hone_dtype_name(HONE_N_DTYPES) && !hn_dtype_of((hone_dtype)-1), "dtypes/no_such_type");
    hn_arena_free(&a);
}

static void limits(void) {
    int wrong = 0;
    for (size_t f = 0; f < N_SMALL; f++) {
        const hn_dtype_info *info = hn_dtype_of(small[f].t);
        double most = 0;
        for (uint32_t c = 0; c < 1u << (small[f].bits - 1); c++) {
            double x = by_definition(f, c);
            if (isfinite(x) && x > most) most = x;
        }
        wrong += info->highest != most || info->lowest != -most || info->epsilon != pow(2, -small[f].m_bits);
    }
    ok(!wrong, "dtypes/limits_are_those_of_the_codes");
}

int main(void) {
    for (size_t f = 0; f < N_SMALL; f++) {
        every_code(f);
        nearest_values(f);
    }
    edges();
    against_single();
    integers();
    tensors();
    limits();
    return done_testing();
}
