/* rt/math_exp.h — exp, expm1, sigmoid, tanh of vectors of floats; quick_*: the relaxed forms (docs/math.md).
 *
 * x = n*ln2 + r, |r| <= ln2/2, with ln2 in two parts of which the first has 15 bits, so that n times it is exact (Cody
 * & Waite, Software Manual for the Elementary Functions, 1980, ch. 6); n is rounded by adding 1.5*2^23. e^r - 1 is r +
 * r^2 q(r), q of degree 4 (quick: 3) by tools/minimax.py exp. Needs math_base.h.
 */
typedef struct HNK(exp_parts) {
    HNK_F r;
    HNK_I n;
} HNK(exp_parts);

HNR HNK(exp_parts) HNK(exp_reduce)(HNK_F x) {
    HNK_F t = HNK(step)(x, HNK(all)(0x1.715476p0f), HNK_MAGIC), n = t - HNK_MAGIC;
    HNK_F r = HNK(madd)(n, HNK(all)(-0x1.62e4p-1f), x);
    return (HNK(exp_parts)){HNK(madd)(n, HNK(all)(-0x1.7f7d1cp-20f), r), HNK(bits)(t) - HNK_MAGIC_BITS};
}
HNR HNK_F HNK(exp_small)(HNK_F r) { /* e^r - 1 */
    HNK_F q = HNK(all)(0x1.6ab89cp-10f);
    q = HNK(step)(q, r, 0x1.123d7p-7f);
    q = HNK(step)(q, r, 0x1.55585ap-5f);
    q = HNK(step)(q, r, 0x1.55548cp-3f);
    q = HNK(step)(q, r, 0x1.fffffcp-2f);
    return HNK(madd)(q, r * r, r);
}
HNR HNK_F HNK(quick_exp_small)(HNK_F r) {
    HNK_F q = HNK(all)(0x1.0a3c64p-7f);
    q = HNK(step)(q, r, 0x1.573196p-5f);
    q = HNK(step)(q, r, 0x1.556184p-3f);
    q = HNK(step)(q, r, 0x1.fffdfap-2f);
    return HNK(madd)(q, r * r, r);
}

/* Results beyond 2^127 and below 2^-126 are reached, the latter rounded once. */
HNR HNK_F HNK(exp)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_least)(HNK(at_most)(x, 89.0f), -104.0f));
    return HNK(scale)(HNK(exp_small)(p.r) + 1.0f, p.n);
}
/* Results below 2^-125 are 0. */
HNR HNK_F HNK(quick_exp)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_most)(x, 89.0f));
    HNK_F e = HNK(quick_exp_small)(p.r);
    e = (e + e + 2.0f) * HNK(power)(p.n - 1);
    return HNK(choose)(HNK(less)(x, HNK(all)(-86.6f)), HNK(all)(0.0f), e);
}

/* 2^n (e^r - 1) + (2^n - 1), twice the half of it, because 2^128 is no float. */
HNR HNK_F HNK(expm1)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_least)(HNK(at_most)(x, 89.0f), -18.0f));
    HNK_F s = HNK(power)(p.n - 1);
    HNK_F e = HNK(madd)(s, HNK(exp_small)(p.r), s - 0.5f);
    return HNK(value)(HNK(bits)(e + e) | (HNK(bits)(x) & HNK_SIGN));
}

/* 1/d, and e/d for x < 0; d = 1 + e, e = exp(-|x|). What the rounding of d lost, c, is put right: the result y is too
 * large by y c / d, and 1/d is y or, for x < 0, 1 - y. */
HNR HNK_F HNK(sigmoid)(HNK_F x) {
    HNK_F e = HNK(exp)(-HNK(size)(x)), d = 1.0f + e, c = e - (d - 1.0f);
    HNK_I negative = HNK(less)(x, HNK(all)(0.0f));
    HNK_F y = HNK(choose)(negative, e, HNK(all)(1.0f)) / d;
    return HNK(madd)(y * -c, HNK(choose)(negative, 1.0f - y, y), y);
}
HNR HNK_F HNK(quick_sigmoid)(HNK_F x) {
    HNK_F e = HNK(quick_exp)(-HNK(size)(x));
    return HNK(choose)(HNK(less)(x, HNK(all)(0.0f)), e, HNK(all)(1.0f)) / (1.0f + e);
}

/* |x| < 0.55: x + x^3 t(x^2), t of degree 4 (quick: 3) by tools/minimax.py tanh; above: 1 - 2/(e^2|x| + 1). */
HNR HNK_F HNK(tanh_join)(HNK_F x, HNK_F t, HNK_F e, HNK_I n) {
    HNK_F z = x * x, far = 1.0f - 2.0f / (HNK(madd)(HNK(power)(n), e, HNK(power)(n)) + 1.0f);
    HNK_I is_near = HNK(less)(HNK(size)(x), HNK(all)(0.55f));
    return HNK(with_sign)(HNK(choose)(is_near, HNK(madd)(z * t, x, x), far), x);
}
HNR HNK_F HNK(tanh)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_most)(HNK(size)(x) * 2.0f, 20.0f));
    HNK_F z = x * x, t = HNK(step)(HNK(all)(-0x1.9921a2p-8f), z, 0x1.58e518p-6f);
    t = HNK(step)(t, z, -0x1.b91e7ep-5f);
    t = HNK(step)(t, z, 0x1.110ceep-3f);
    t = HNK(step)(t, z, -0x1.55554ap-2f);
    return HNK(tanh_join)(x, t, HNK(exp_small)(p.r), p.n);
}
HNR HNK_F HNK(quick_tanh)(HNK_F x) {
    HNK(exp_parts) p = HNK(exp_reduce)(HNK(at_most)(HNK(size)(x) * 2.0f, 20.0f));
    HNK_F z = x * x, t = HNK(step)(HNK(all)(0x1.0d2e3ap-6f), z, -0x1.af73f8p-5f);
    t = HNK(step)(t, z, 0x1.10ceap-3f);
    t = HNK(step)(t, z, -0x1.55545p-2f);
    return HNK(tanh_join)(x, t, HNK(quick_exp_small)(p.r), p.n);
}
