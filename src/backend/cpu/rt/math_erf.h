/* rt/math_erf.h — erf of vectors of floats; quick_erf: the relaxed form (docs/math.md).
 *
 * |x| < 0.9: x + x q(x^2), q of degree 5 (quick: 4). Above: 1 - 2^-b(|x|), b(x) = -log2(erfc x), of degree 6 (quick:
 * 5); 2^f for |f| <= 1/2 is 1 + f e(f), of degree 4. All by tools/minimax.py. From 3.95 on erf x rounds to 1. Needs
 * math_base.h.
 */
HNR HNK_F HNK(erf_near)(HNK_F x, HNK_F z) {
    HNK_F q = HNK(all)(-0x1.3ba9cep-11f);
    q = HNK(step)(q, z, 0x1.479c9ep-8f);
    q = HNK(step)(q, z, -0x1.b69b96p-6f);
    q = HNK(step)(q, z, 0x1.ce1b86p-4f);
    q = HNK(step)(q, z, -0x1.8126ecp-2f);
    q = HNK(step)(q, z, 0x1.06eba6p-3f);
    return HNK(madd)(q, x, x);
}
HNR HNK_F HNK(quick_erf_near)(HNK_F x, HNK_F z) {
    HNK_F q = HNK(all)(0x1.ed3126p-9f);
    q = HNK(step)(q, z, -0x1.a80334p-6f);
    q = HNK(step)(q, z, 0x1.cd07ap-4f);
    q = HNK(step)(q, z, -0x1.811fbep-2f);
    q = HNK(step)(q, z, 0x1.06eb68p-3f);
    return HNK(madd)(q, x, x);
}
HNR HNK_F HNK(erf_bits)(HNK_F a) {
    HNK_F b = HNK(all)(-0x1.2a4ac2p-12f);
    b = HNK(step)(b, a, 0x1.20e72ep-8f);
    b = HNK(step)(b, a, -0x1.074872p-5f);
    b = HNK(step)(b, a, 0x1.33649p-3f);
    b = HNK(step)(b, a, 0x1.d6920cp-1f);
    b = HNK(step)(b, a, 0x1.a082fcp0f);
    return HNK(step)(b, a, 0x1.0c852ep-12f);
}
HNR HNK_F HNK(quick_erf_bits)(HNK_F a) {
    HNK_F b = HNK(all)(0x1.d95368p-10f);
    b = HNK(step)(b, a, -0x1.703dc4p-6f);
    b = HNK(step)(b, a, 0x1.0d31a8p-3f);
    b = HNK(step)(b, a, 0x1.e0afe4p-1f);
    b = HNK(step)(b, a, 0x1.9db84cp0f);
    return HNK(step)(b, a, 0x1.631196p-9f);
}
HNR HNK_F HNK(erf_exp2)(HNK_F f) { /* 2^f */
    HNK_F e = HNK(all)(0x1.5cc54cp-10f);
    e = HNK(step)(e, f, 0x1.3cf4d4p-7f);
    e = HNK(step)(e, f, 0x1.c6b58ep-5f);
    e = HNK(step)(e, f, 0x1.ebf9a2p-3f);
    e = HNK(step)(e, f, 0x1.62e42ap-1f);
    return HNK(step)(e, f, 1.0f);
}
/* The one or the other; t: -b + HNK_MAGIC, its low bits are those of the exponent; e: 2^(-b - exponent). */
HNR HNK_F HNK(erf_join)(HNK_F x, HNK_F near, HNK_F t, HNK_F e) {
    HNK_F far = HNK(madd)(-e, HNK(power_of)(t, 0), HNK(all)(1.0f));
    return HNK(choose_less)(HNK(size)(x), HNK(all)(0.9f), near, HNK(with_sign)(far, x));
}

HNR HNK_F HNK(erf)(HNK_F x) {
    HNK_F b = HNK(erf_bits)(HNK(at_most)(HNK(size)(x), 3.95f)), t = HNK_MAGIC - b;
    HNK_F e = HNK(erf_exp2)((HNK_MAGIC - t) - b);
    return HNK(erf_join)(x, HNK(erf_near)(x, x * x), t, e);
}
HNR HNK_F HNK(quick_erf)(HNK_F x) {
    HNK_F b = HNK(quick_erf_bits)(HNK(at_most)(HNK(size)(x), 3.95f)), t = HNK_MAGIC - b;
    HNK_F e = HNK(erf_exp2)((HNK_MAGIC - t) - b);
    return HNK(erf_join)(x, HNK(quick_erf_near)(x, x * x), t, e);
}
