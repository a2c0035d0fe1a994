/* rt/math_wide.h — exp, expm1, sigmoid, tanh, log of vectors of f64 (docs/math.md).
 *
 * exp and its kin as in math_exp.h: x = n*ln2 + r, ln2 in two parts of which the first has 32 bits; e^r - 1 is r + r^2
 * q(r), q the first twelve terms of its series (what follows is below 2^-58). log: u = 2^k (1 + f), log(1 + f) = 2
 * atanh(s), s = f/(2 + f), eleven terms behind the first (the next is below 2^-60), put together so that f stands for
 * the largest part of the sum (Tang, "Table-driven implementation of the logarithm function", 1990, has the argument).
 * Needs math_base.h.
 */
#define HNK_WIDE(name) HNK_JOIN(hnk_##name##_f64_x, HNK_W)
#define HNK_WIDE_MAGIC 0x1.8p52
#define HNK_WIDE_MAGIC_BITS 0x4338000000000000
#define HNK_WIDE_SIGN (-0x7fffffffffffffff - 1)

#if HNK_W == 1
HNR HNK_D HNK_WIDE(value)(HNK_L i) {
    HNK_D x;
    memcpy(&x, &i, sizeof x);
    return x;
}
HNR HNK_D HNK_WIDE(all)(double x) { return x; }
HNR HNK_L HNK_WIDE(less)(HNK_D a, HNK_D b) { return -(HNK_L)(a < b); }
HNR HNK_L HNK_WIDE(equal)(HNK_D a, HNK_D b) { return -(HNK_L)(a == b); }
#else
HNR HNK_D HNK_WIDE(value)(HNK_L i) { return (HNK_D)i; }
HNR HNK_D HNK_WIDE(all)(double x) { return x - (HNK_D){0}; }
HNR HNK_L HNK_WIDE(less)(HNK_D a, HNK_D b) { return a < b; }
HNR HNK_L HNK_WIDE(equal)(HNK_D a, HNK_D b) { return a == b; }
#endif
HNR HNK_L HNK_WIDE(bits)(HNK_D x) { return HNK(wide_bits)(x); }
HNR HNK_D HNK_WIDE(madd)(HNK_D a, HNK_D b, HNK_D c) {
#if !defined(__FMA__) && !defined(__aarch64__)
    return a * b + c;
#elif HNK_W == 1
    return __builtin_fma(a, b, c);
#else
    return HNK_WIDE(fma)(a, b, c);
#endif
}
HNR HNK_D HNK_WIDE(step)(HNK_D q, HNK_D x, double c) { return HNK_WIDE(madd)(q, x, HNK_WIDE(all)(c)); }
HNR HNK_D HNK_WIDE(choose)(HNK_L m, HNK_D a, HNK_D b) {
    return HNK_WIDE(value)((m & HNK_WIDE(bits)(a)) | (~m & HNK_WIDE(bits)(b)));
}
HNR HNK_D HNK_WIDE(at_most)(HNK_D x, double top) {
    return HNK_WIDE(choose)(HNK_WIDE(less)(HNK_WIDE(all)(top), x), HNK_WIDE(all)(top), x);
}
HNR HNK_D HNK_WIDE(at_least)(HNK_D x, double low) {
    return HNK_WIDE(choose)(HNK_WIDE(less)(x, HNK_WIDE(all)(low)), HNK_WIDE(all)(low), x);
}
HNR HNK_D HNK_WIDE(size)(HNK_D x) { return HNK_WIDE(value)(HNK_WIDE(bits)(x) & 0x7fffffffffffffff); }
HNR HNK_D HNK_WIDE(with_sign)(HNK_D x, HNK_D sign) {
    return HNK_WIDE(value)(HNK_WIDE(bits)(x) | (HNK_WIDE(bits)(sign) & HNK_WIDE_SIGN));
}
HNR HNK_D HNK_WIDE(power)(HNK_L n) { return HNK_WIDE(value)((n + 1023) << 52); }

typedef struct HNK_WIDE(exp_parts) {
    HNK_D r;
    HNK_L n;
} HNK_WIDE(exp_parts);

HNR HNK_WIDE(exp_parts) HNK_WIDE(exp_reduce)(HNK_D x) {
    HNK_D t = HNK_WIDE(step)(x, HNK_WIDE(all)(0x1.71547652b82fep0), HNK_WIDE_MAGIC), n = t - HNK_WIDE_MAGIC;
    HNK_D r = HNK_WIDE(madd)(n, HNK_WIDE(all)(-0x1.62e42feep-1), x);
    return (HNK_WIDE(exp_parts)){HNK_WIDE(madd)(n, HNK_WIDE(all)(-0x1.a39ef35793c76p-33), r),
                                 HNK_WIDE(bits)(t) - HNK_WIDE_MAGIC_BITS};
}
HNR HNK_D HNK_WIDE(exp_small)(HNK_D r) { /* e^r - 1 */
    HNK_D q = HNK_WIDE(all)(0x1.6124613a86d09p-33);
    q = HNK_WIDE(step)(q, r, 0x1.1eed8eff8d898p-29);
    q = HNK_WIDE(step)(q, r, 0x1.ae64567f544e4p-26);
    q = HNK_WIDE(step)(q, r, 0x1.27e4fb7789f5cp-22);
    q = HNK_WIDE(step)(q, r, 0x1.71de3a556c734p-19);
    q = HNK_WIDE(step)(q, r, 0x1.a01a01a01a01ap-16);
    q = HNK_WIDE(step)(q, r, 0x1.a01a01a01a01ap-13);
    q = HNK_WIDE(step)(q, r, 0x1.6c16c16c16c17p-10);
    q = HNK_WIDE(step)(q, r, 0x1.1111111111111p-7);
    q = HNK_WIDE(step)(q, r, 0x1.5555555555555p-5);
    q = HNK_WIDE(step)(q, r, 0x1.5555555555555p-3);
    q = HNK_WIDE(step)(q, r, 0.5);
    return HNK_WIDE(madd)(q, r * r, r);
}

/* Two scalings: results beyond 2^1023 and below 2^-1022 are reached, the latter rounded once. */
HNR HNK_D HNK_WIDE(exp)(HNK_D x) {
    HNK_WIDE(exp_parts) p = HNK_WIDE(exp_reduce)(HNK_WIDE(at_least)(HNK_WIDE(at_most)(x, 710.0), -746.0));
    HNK_L half = p.n >> 1;
    return (HNK_WIDE(exp_small)(p.r) + 1.0) * HNK_WIDE(power)(half) * HNK_WIDE(power)(p.n - half);
}
/* 2^n (e^r - 1) + (2^n - 1), twice the half of it, because 2^1024 is no double. */
HNR HNK_D HNK_WIDE(expm1)(HNK_D x) {
    HNK_WIDE(exp_parts) p = HNK_WIDE(exp_reduce)(HNK_WIDE(at_least)(HNK_WIDE(at_most)(x, 710.0), -40.0));
    HNK_D s = HNK_WIDE(power)(p.n - 1);
    HNK_D e = HNK_WIDE(madd)(s, HNK_WIDE(exp_small)(p.r), s - 0.5);
    return HNK_WIDE(value)(HNK_WIDE(bits)(e + e) | (HNK_WIDE(bits)(x) & HNK_WIDE_SIGN));
}
/* As in math_exp.h: what the rounding of 1 + e lost is put right. */
HNR HNK_D HNK_WIDE(sigmoid)(HNK_D x) {
    HNK_D e = HNK_WIDE(exp)(-HNK_WIDE(size)(x)), d = 1.0 + e, c = e - (d - 1.0);
    HNK_L negative = HNK_WIDE(less)(x, HNK_WIDE(all)(0.0));
    HNK_D y = HNK_WIDE(choose)(negative, e, HNK_WIDE(all)(1.0)) / d;
    return HNK_WIDE(madd)(y * -c, HNK_WIDE(choose)(negative, 1.0 - y, y), y);
}
/* |x| < 0.3: the first thirteen terms behind x of its series (what follows is below 2^-58); up to 0.5 m/(m + 2), m =
 * e^2|x| - 1; above 1 - 2/(m + 2). */
HNR HNK_D HNK_WIDE(tanh_near)(HNK_D x) {
    HNK_D z = x * x, t = HNK_WIDE(all)(-0x1.b0f72d3ee24e9p-18);
    t = HNK_WIDE(step)(t, z, 0x1.0b132d39a6050p-16);
    t = HNK_WIDE(step)(t, z, -0x1.497d8eea25259p-15);
    t = HNK_WIDE(step)(t, z, 0x1.967e18afcafadp-14);
    t = HNK_WIDE(step)(t, z, -0x1.f57d7734d1664p-13);
    t = HNK_WIDE(step)(t, z, 0x1.3558248036744p-11);
    t = HNK_WIDE(step)(t, z, -0x1.7da36452b75e3p-10);
    t = HNK_WIDE(step)(t, z, 0x1.d6d3d0e157de0p-9);
    t = HNK_WIDE(step)(t, z, -0x1.226e355e6c23dp-7);
    t = HNK_WIDE(step)(t, z, 0x1.664f4882c10fap-6);
    t = HNK_WIDE(step)(t, z, -0x1.ba1ba1ba1ba1cp-5);
    t = HNK_WIDE(step)(t, z, 0x1.1111111111111p-3);
    t = HNK_WIDE(step)(t, z, -0x1.5555555555555p-2);
    return HNK_WIDE(madd)(z * t, x, x);
}
HNR HNK_D HNK_WIDE(tanh)(HNK_D x) {
    HNK_D size = HNK_WIDE(size)(x), m = HNK_WIDE(expm1)(HNK_WIDE(at_most)(size, 20.0) * 2.0), d = m + 2.0;
    HNK_D y = HNK_WIDE(choose)(HNK_WIDE(less)(size, HNK_WIDE(all)(0.5)), m / d, 1.0 - 2.0 / d);
    y = HNK_WIDE(choose)(HNK_WIDE(less)(size, HNK_WIDE(all)(0.3)), HNK_WIDE(tanh_near)(size), y);
    return HNK_WIDE(with_sign)(y, x);
}

HNR HNK_D HNK_WIDE(log)(HNK_D x) {
    HNK_L small = HNK_WIDE(less)(x, HNK_WIDE(all)(0x1p-1022));
    HNK_D u = HNK_WIDE(choose)(small, x * 0x1p54, x);
    HNK_L n = (HNK_WIDE(bits)(u) - 0x3fe6a09e667f3bcd) >> 52; /* the bits of sqrt(1/2) */
    HNK_D f = HNK_WIDE(value)(HNK_WIDE(bits)(u) - (n << 52)) - 1.0;
    HNK_D k = HNK_WIDE(value)(n + HNK_WIDE_MAGIC_BITS) - HNK_WIDE_MAGIC;
    k -= HNK_WIDE(choose)(small, HNK_WIDE(all)(54.0), HNK_WIDE(all)(0.0));
    HNK_D s = f / (f + 2.0), z = s * s, p = HNK_WIDE(all)(0x1.642c8590b2164p-4);
    p = HNK_WIDE(step)(p, z, 0x1.8618618618618p-4);
    p = HNK_WIDE(step)(p, z, 0x1.af286bca1af28p-4);
    p = HNK_WIDE(step)(p, z, 0x1.e1e1e1e1e1e1ep-4);
    p = HNK_WIDE(step)(p, z, 0x1.1111111111111p-3);
    p = HNK_WIDE(step)(p, z, 0x1.3b13b13b13b14p-3);
    p = HNK_WIDE(step)(p, z, 0x1.745d1745d1746p-3);
    p = HNK_WIDE(step)(p, z, 0x1.c71c71c71c71cp-3);
    p = HNK_WIDE(step)(p, z, 0x1.2492492492492p-2);
    p = HNK_WIDE(step)(p, z, 0x1.999999999999ap-2);
    p = HNK_WIDE(step)(p, z, 0x1.5555555555555p-1);
    HNK_D square = f * f * 0.5, low = HNK_WIDE(madd)(s, HNK_WIDE(madd)(z, p, square), k * 0x1.a39ef35793c76p-33);
    HNK_D y = HNK_WIDE(madd)(k, HNK_WIDE(all)(0x1.62e42feep-1), f - (square - low));
    HNK_L positive = HNK_WIDE(less)(HNK_WIDE(all)(0.0), x);
    HNK_D odd = HNK_WIDE(choose)(HNK_WIDE(equal)(x, HNK_WIDE(all)(0.0)), HNK_WIDE(all)(-INFINITY), HNK_WIDE(all)(NAN));
    odd = HNK_WIDE(choose)(positive, x, odd);
    return HNK_WIDE(choose)(positive & HNK_WIDE(less)(x, HNK_WIDE(all)(INFINITY)), y, odd);
}
