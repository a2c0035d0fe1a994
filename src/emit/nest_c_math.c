/* emit/nest_c_math.c — functions of f32 vectors, as text.
 *
 * exp and expm1: x = n*ln2 + r, |r| <= ln2/2 (Cody & Waite 1980: ln2 in two parts, n by adding 1.5*2^23), the Taylor
 * polynomial of degree 7, whose rest is below 2^-27, and two scalings by powers of two so that subnormal results are
 * reached. tanh(x) = e/(e + 2), e = expm1(2|x|); sigmoid(x) = 1 or e over 1 + e, e = exp(-|x|). erf: x times a
 * polynomial in x*x below 1; above, 1 - exp(-x*x) * Q(2/(|x| + 2)), Q for erfc's scaled form; both fitted for least
 * relative error by reweighted least squares on Chebyshev nodes (3e-11 and 4e-10), for these ranges, for hone.
 */
#include "emit/nest_c.h"

extern const char hn_c_math_text[];
const char hn_c_math_text[] =
    /* a*b + c: with one rounding where the machine can */
    "HNR hnk_f32_x@ hnk_mav_f32_x@(hnk_f32_x@ a, hnk_f32_x@ b, hnk_f32_x@ c) {\n"
    "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)\n    return hnk_fma_f32_x@(a, b, c);\n"
    "#else\n    return a * b + c;\n#endif\n}\n"
    "HNR hnk_f32_x@ hnk_ma_f32_x@(hnk_f32_x@ a, hnk_f32_x@ b, float c) {\n"
    "    return hnk_mav_f32_x@(a, b, hnk_dup_f32_x@(c));\n"
    "}\n"
    "HNR hnk_f32_x@ hnk_round_f32_x@(hnk_f32_x@ x) { return (x + 0x1.8p23f) - 0x1.8p23f; }\n"
    "HNR hnk_f32_x@ hnk_power_f32_x@(hnk_i32_x@ n) { return (hnk_f32_x@)((n + 127) << 23); }\n"
    /* p = exp(r) - 1 for |r| <= 0.35 */
    "HNR hnk_f32_x@ hnk_small_exp_f32_x@(hnk_f32_x@ r) {\n"
    "    hnk_f32_x@ q = r * 0x1.a01a02p-13f + 0x1.6c16c2p-10f;\n"
    "    q = hnk_ma_f32_x@(q, r, 0x1.111112p-7f);\n"
    "    q = hnk_ma_f32_x@(q, r, 0x1.555556p-5f);\n"
    "    q = hnk_ma_f32_x@(q, r, 0x1.555556p-3f);\n"
    "    q = hnk_ma_f32_x@(q, r, 0.5f);\n"
    "    return hnk_mav_f32_x@(q, r * r, r);\n"
    "}\n"
    "HNR hnk_f32_x@ hnk_exp_f32_x@(hnk_f32_x@ x) {\n"
    "    x = hnk_max_f32_x@(hnk_min_f32_x@(x, hnk_dup_f32_x@(89.0f)), hnk_dup_f32_x@(-104.0f));\n"
    "    hnk_f32_x@ n = hnk_round_f32_x@(x * 0x1.715476p0f);\n"
    "    hnk_f32_x@ r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;\n"
    "    hnk_f32_x@ known = hnk_pick_f32_x@(n == n, n, hnk_dup_f32_x@(0.0f));\n"
    "    hnk_i32_x@ k = __builtin_convertvector(known, hnk_i32_x@), half = k >> 1;\n"
    "    return (hnk_small_exp_f32_x@(r) + 1.0f) * hnk_power_f32_x@(half) * hnk_power_f32_x@(k - half);\n"
    "}\n"
    "HNR hnk_f32_x@ hnk_sigmoid_f32_x@(hnk_f32_x@ x) {\n"
    "    hnk_f32_x@ e = hnk_exp_f32_x@(-hnk_abs_f32_x@(x));\n"
    "    return hnk_pick_f32_x@(x >= 0.0f, hnk_dup_f32_x@(1.0f), e) / (1.0f + e);\n"
    "}\n"
    "HNR hnk_f32_x@ hnk_tanh_f32_x@(hnk_f32_x@ x) {\n"
    "    hnk_f32_x@ a = hnk_min_f32_x@(hnk_abs_f32_x@(x) * 2.0f, hnk_dup_f32_x@(20.0f));\n"
    "    hnk_f32_x@ n = hnk_round_f32_x@(a * 0x1.715476p0f);\n"
    "    hnk_f32_x@ r = (a - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;\n"
    "    hnk_f32_x@ known = hnk_pick_f32_x@(n == n, n, hnk_dup_f32_x@(0.0f));\n"
    "    hnk_f32_x@ s = hnk_power_f32_x@(__builtin_convertvector(known, hnk_i32_x@));\n"
    "    hnk_f32_x@ e = hnk_mav_f32_x@(s, hnk_small_exp_f32_x@(r), s - 1.0f);\n"
    "    hnk_i32_x@ sign = (hnk_i32_x@)x & (-0x7fffffff - 1);\n"
    "    return (hnk_f32_x@)((hnk_i32_x@)(e / (e + 2.0f)) | sign);\n"
    "}\n"
    "HNR hnk_f32_x@ hnk_erf_f32_x@(hnk_f32_x@ x) {\n"
    "    hnk_f32_x@ a = hnk_min_f32_x@(hnk_abs_f32_x@(x), hnk_dup_f32_x@(4.0f)), t = a * a, u = 2.0f / (a + 2.0f);\n"
    "    hnk_f32_x@ p = t * -0x1.438018p-17f + 0x1.d824f2p-14f;\n"
    "    p = hnk_ma_f32_x@(p, t, -0x1.bcbe58p-11f);\n"
    "    p = hnk_ma_f32_x@(p, t, 0x1.5628e8p-8f);\n"
    "    p = hnk_ma_f32_x@(p, t, -0x1.b829a8p-6f);\n"
    "    p = hnk_ma_f32_x@(p, t, 0x1.ce2f08p-4f);\n"
    "    p = hnk_ma_f32_x@(p, t, -0x1.812746p-2f);\n"
    "    p = hnk_ma_f32_x@(p, t, 0x1.20dd76p+0f);\n"
    "    hnk_f32_x@ q = u * 0x1.e77f80p-4f - 0x1.e17146p-2f;\n"
    "    q = hnk_ma_f32_x@(q, u, 0x1.1faf24p-1f);\n"
    "    q = hnk_ma_f32_x@(q, u, -0x1.a44056p-4f);\n"
    "    q = hnk_ma_f32_x@(q, u, 0x1.63b392p-2f);\n"
    "    q = hnk_ma_f32_x@(q, u, 0x1.0a0930p-2f);\n"
    "    q = hnk_ma_f32_x@(q, u, 0x1.23bbe2p-2f);\n"
    "    q = hnk_ma_f32_x@(q, u, -0x1.4147a4p-13f);\n"
    "    hnk_f32_x@ e = hnk_pick_f32_x@(a < 1.0f, p * a, 1.0f - q * hnk_exp_f32_x@(-t));\n"
    "    return (hnk_f32_x@)((hnk_i32_x@)e | ((hnk_i32_x@)x & (-0x7fffffff - 1)));\n"
    "}\n";
