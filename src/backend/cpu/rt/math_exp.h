/* rt/math_exp.h — exp, expm1, sigmoid, tanh of vectors of floats; quick_*: relaxed forms (docs/math.md).
 *
 * x = n*ln2 + r, |r| <= ln2/2, with ln2 in two parts of which the first has 15 bits, so that n times it is exact (Cody
 * & Waite, Software Manual for the Elementary Functions, 1980, ch. 6); n is rounded by adding 1.5*2^23. e^r - 1 is r +
 * r^2 q(r), q of degree 4 (quick: 3) by tools/minimax.py exp. Needs math_base.h.
 */
typedef struct HNK(exp_parts) {
    HNK_F r, t; /* t: n + HNK_MAGIC */
} HNK(exp_parts);

HNR HNK(exp_parts) HNK(exp_reduce)(HNK_F x) {
    HNK_F t = HNK(step)(x, HNK(all)(0x1.715476p0f), HNK_MAGIC), n = t - HNK_MAGIC;
    HNK_F r = HNK(madd)(n, HNK(all)(-0x1.62e4p-1f), x);
    return (HNK(exp_parts)){HNK(madd)(n, HNK(all)(-0x1.7f7d1cp-20f), r), t};
}
HNR HNK_F HNK(exp_rest)(HNK_F r) { /* (e^r - 1 - r) / r^2 */
    HNK_F q = HNK(all)(0x1.6ab89cp-10f);
    q = HNK(step)(q, r, 0x1.123d7p-7f);
    q = HNK(step)(q, r, 0x1.55585ap-5f);
    q = HNK(step)(q, r, 0x1.55548cp-3f);
    return HNK(step)(q, r, 0x1.fffffcp-2f);
}
HNR HNK_F HNK(quick_exp_rest)(HNK_F r) {
    HNK_F q = HNK(all)(0x1.0a3c64p-7f);
    q = HNK(step)(q, r, 0x1.573196p-5f);
    q = HNK(step)(q, r, 0x1.556184p-3f);
    return HNK(step)(q, r, 0x1.fffdfap-2f);
}

/* Results beyond 2^127 and below 2^-126 are reached, the latter rounded once. */
HNR HNK_F HNK(exp)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_least)(HNK(at_most)(x, 89.0f), -104.0f));
    return HNK(scale)(HNK(step)(HNK(step)(HNK(exp_rest)(p.r), p.r, 1.0f), p.r, 1.0f), p.t);
}
/* Results below 2^-125 are 0. */
HNR HNK_F HNK(quick_exp)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_most)(x, 89.0f));
    HNK_F q = HNK(step)(HNK(step)(HNK(quick_exp_rest)(p.r), p.r, 1.0f), p.r, 1.0f);
#if HNK_W == 16 && defined(__AVX512F__)
    HNK_F e = HNK(scale)(q, p.t);
#else
    HNK_F e = (q + q) * HNK(power_of)(p.t, -1);
#endif
    return HNK(choose_less)(x, HNK(all)(-86.6f), HNK(all)(0.0f), e);
}

/* 2^n (e^r - 1) + (2^n - 1), twice the half of it, because 2^128 is no float. */
HNR HNK_F HNK(expm1)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_least)(HNK(at_most)(x, 89.0f), -18.0f));
    HNK_F s = HNK(power_of)(p.t, -1);
    HNK_F e = HNK(madd)(s, HNK(madd)(HNK(exp_rest)(p.r), p.r * p.r, p.r), s - 0.5f);
    return HNK(value)(HNK(bits)(e + e) | (HNK(bits)(x) & HNK_SIGN));
}

/* 2^-64 / (2^-64 + 2^(n-64) e^r), -x = n*ln2 + r: the quotient is the first number that may be subnormal. What is
 * smaller is added up first. */
HNR HNK_F HNK(sigmoid_join)(HNK(exp_parts) p, HNK_F q) {
    HNK_F s = HNK(power_of)(p.t, -64);
    return 0x1p-64f / (s + HNK(madd)(s, HNK(madd)(q, p.r * p.r, p.r), HNK(all)(0x1p-64f)));
}
HNR HNK(exp_parts) HNK(sigmoid_reduce)(HNK_F x) {
    x = HNK(at_least)(HNK(at_most)(x, 40.0f), -105.0f);
    HNK_F t = HNK(step)(x, HNK(all)(-0x1.715476p0f), HNK_MAGIC), n = t - HNK_MAGIC;
    HNK_F r = HNK(madd)(n, HNK(all)(-0x1.62e4p-1f), -x);
    return (HNK(exp_parts)){HNK(madd)(n, HNK(all)(-0x1.7f7d1cp-20f), r), t};
}
HNR HNK_F HNK(sigmoid)(HNK_F x) {
    HNK(exp_parts) p = HNK(sigmoid_reduce)(x);
    return HNK(sigmoid_join)(p, HNK(exp_rest)(p.r));
}
HNR HNK_F HNK(quick_sigmoid)(HNK_F x) {
    HNK(exp_parts) p = HNK(sigmoid_reduce)(x);
    return HNK(sigmoid_join)(p, HNK(quick_exp_rest)(p.r));
}

/* h/(h + 1), for small h as h - h h/(h + 1), where the quotient's error counts for little; h = (e^2|x| - 1)/2 = 2^n
 * (e^2r - 1)/2 + (2^n - 1)/2, |x| = n*ln2/2 + r; (e^2r - 1)/2 = r + r^2 2q(2r), the coefficients of q times powers of
 * two. */
HNR HNK_F HNK(tanh)(HNK_F x) {
    HNK_F a = HNK(at_most)(HNK(size)(x), 10.0f);
    HNK_F t = HNK(step)(a, HNK(all)(0x1.715476p1f), HNK_MAGIC), n = t - HNK_MAGIC;
    HNK_F r = HNK(madd)(n, HNK(all)(-0x1.62e4p-2f), a), s = HNK(power_of)(t, 0), q = HNK(all)(0x1.6ab89cp-5f);
    r = HNK(madd)(n, HNK(all)(-0x1.7f7d1cp-21f), r);
    q = HNK(step)(q, r, 0x1.123d7p-3f);
    q = HNK(step)(q, r, 0x1.55585ap-2f);
    q = HNK(step)(q, r, 0x1.55548cp-1f);
    q = HNK(step)(q, r, 0x1.fffffcp-1f);
    HNK_F h = HNK(madd)(s, HNK(madd)(q, r * r, r), HNK(step)(s, HNK(all)(0.5f), -0.5f)), y = h / (h + 1.0f);
    y = HNK(choose_less)(a, HNK(all)(0.375f), HNK(madd)(-h, y, h), y);
    return HNK(with_sign)(y, x);
}
