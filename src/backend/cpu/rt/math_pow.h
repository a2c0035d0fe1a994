/* rt/math_pow.h — pow of vectors of floats (docs/math.md).
 *
 * x^y = 2^t, t = y log2|x|, in double: t is up to 150, of which the result sees 2^-25. |x| = 2^k (1 + f) as in
 * math_log.h; log2(1 + f) = 2 atanh(s)/ln2, s = f/(2 + f), seven terms of its series (what follows is below 2^-39 of
 * it; Tang, "Table-driven implementation of the logarithm function", 1990, has the argument). s is the quotient in
 * float, put right once in double. No multiply-adds there: vectors of twice a register's size are fused lane by
 * lane. 2^t = 2^n e^r as in math_exp.h, r = (t - n) ln2. The special cases are those of C99, annex F.9.4.4. Needs
 * math_base.h, math_exp.h, math_log.h.
 */
#if HNK_W == 1
HNR HNK_I HNK(truncated)(HNK_F x) { return (HNK_I)x; }
HNR HNK_F HNK(of_integer)(HNK_I i) { return (HNK_F)i; }
#else
HNR HNK_I HNK(truncated)(HNK_F x) { return __builtin_convertvector(x, HNK_I); }
HNR HNK_F HNK(of_integer)(HNK_I i) { return __builtin_convertvector(i, HNK_F); }
#endif

/* log2 of a >= 0; NaN stays. */
HNR HNK_D HNK(wide_log2)(HNK_F a) {
    HNK(log_parts) l = HNK(log_any)(a);
    HNK_D f = HNK(widen)(l.f), over = HNK(widen)(1.0f / (l.f + 2.0f)), s = f * over;
    s += (f - s * (f + 2.0)) * over;
    HNK_D z = s * s, p = z * 0x1.c68f568d31760p-3 + 0x1.0c9a84994022dp-2;
    p = p * z + 0x1.484b13d7c02a9p-2;
    p = p * z + 0x1.a61762a7aded9p-2;
    p = p * z + 0x1.2776c50ef9bfep-1;
    p = p * z + 0x1.ec709dc3a03fdp-1;
    return (p * z + 0x1.71547652b82fep+1) * s + HNK(widen)(HNK(log_ends)(a, l.k));
}
/* Beyond what a float holds n stops, and so does r. */
HNR HNK_F HNK(exp2_of)(HNK_D t) {
    HNK_F at = HNK(at_least)(HNK(at_most)(HNK(narrow)(t), 130.0f), -152.0f) + HNK_MAGIC;
    HNK_F r = HNK(narrow)((t - HNK(widen)(at - HNK_MAGIC)) * 0x1.62e42fefa39efp-1);
    r = HNK(at_least)(HNK(at_most)(r, 0.5f), -0.5f);
    return HNK(scale)(HNK(step)(HNK(step)(HNK(exp_rest)(r), r, 1.0f), r, 1.0f), at);
}
/* Of negative x: the sign where y is odd, no number where it is no integer. From 2^24 on every float is even. */
HNR HNK_F HNK(pow_sign)(HNK_F x, HNK_F b, HNK_F e) {
    HNK_F c = HNK(choose_less)(b, HNK(all)(0x1p24f), b, HNK(all)(0x1p24f));
    HNK_I i = HNK(truncated)(c), whole = HNK(equal)(c, HNK(of_integer)(i));
    HNK_I finite = HNK(less)(x, HNK(all)(0.0f)) & HNK(less)(HNK(all)(-INFINITY), x);
    e = HNK(value)(HNK(bits)(e) | (HNK(bits)(x) & whole & (i << 31)));
    return HNK(choose)(finite & ~whole, HNK(all)(NAN), e);
}
HNR HNK_F HNK(pow)(HNK_F x, HNK_F y) {
    HNK_F a = HNK(size)(x), b = HNK(size)(y), e = HNK(exp2_of)(HNK(widen)(y) * HNK(wide_log2)(a));
    HNK_I one = HNK(equal)(b, HNK(all)(0.0f)) | HNK(equal)(x, HNK(all)(1.0f));
    one |= HNK(equal)(a, HNK(all)(1.0f)) & HNK(equal)(b, HNK(all)(INFINITY));
    return HNK(choose)(one, HNK(all)(1.0f), HNK(pow_sign)(x, b, e));
}
