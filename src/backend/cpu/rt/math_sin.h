/* rt/math_sin.h — sin and cos of vectors of floats (docs/math.md).
 *
 * |x| = n pi/2 + r, |r| <= pi/4, in double, pi/2 in two parts of which the first has 27 bits: up to 2^26 n times it is
 * exact. Beyond, lane by lane with libm. sin r = r + r^3 s(r^2), cos r = 1 - r^2/2 + r^4 c(r^2), of degree 2 each by
 * tools/minimax.py sin cos. quick_*: up to 2^13 n pi/2 in float, pi/2 in three parts, of which n times the first two is
 * exact; beyond, as the exact forms. Needs math_base.h.
 */
typedef struct HNK(quadrant) {
    HNK_F sin, cos;
    HNK_I n; /* its two low bits count */
} HNK(quadrant);

HNR HNK(quadrant) HNK(quadrant_of)(HNK_F r, HNK_I n) {
    HNK_F z = r * r;
    HNK_F s = HNK(step)(HNK(all)(-0x1.9954a4p-13f), z, 0x1.11077ap-7f);
    HNK_F c = HNK(step)(HNK(all)(0x1.99e0eep-16f), z, -0x1.6c0c1ap-10f);
    s = HNK(step)(s, z, -0x1.555546p-3f);
    c = HNK(step)(c, z, 0x1.55554ap-5f);
    return (HNK(quadrant)){HNK(madd)(s, z * r, r), HNK(madd)(c, z * z, 1.0f - z * 0.5f), n};
}
HNR HNK(quadrant) HNK(sin_cos)(HNK_F size) {
    HNK_D x = HNK(widen)(size), t = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = t - 0x1.8p52;
    HNK_F r = HNK(narrow)((x - n * 0x1.921fb54p0) - n * 0x1.10b4611a62633p-30);
    return HNK(quadrant_of)(r, HNK(low_bits)(HNK(wide_bits)(t)));
}
HNR HNK(quadrant) HNK(quick_sin_cos)(HNK_F size) {
    HNK_F t = HNK(step)(HNK(at_most)(size, 0x1p14f), HNK(all)(0x1.45f306p-1f), HNK_MAGIC), n = t - HNK_MAGIC;
    HNK_F r = HNK(madd)(n, HNK(all)(-0x1.92p0f), size);
    r = HNK(madd)(n, HNK(all)(-0x1.fb4p-12f), r);
    return HNK(quadrant_of)(HNK(madd)(n, HNK(all)(-0x1.4442d2p-24f), r), HNK(bits)(t));
}
HNR HNK_F HNK(sin_of)(HNK(quadrant) q, HNK_F x) {
    HNK_I sign = ((q.n & 2) << 30) ^ (HNK(bits)(x) & HNK_SIGN);
    return HNK(value)(HNK(bits)(HNK(choose)(-(q.n & 1), q.cos, q.sin)) ^ sign);
}
HNR HNK_F HNK(cos_of)(HNK(quadrant) q) {
    HNK_I sign = ((q.n + 1) & 2) << 30;
    return HNK(value)(HNK(bits)(HNK(choose)(-(q.n & 1), q.sin, q.cos)) ^ sign);
}
HNR HNK_F HNK(sin)(HNK_F x) {
    HNK_F size = HNK(size)(x), y = HNK(sin_of)(HNK(sin_cos)(size), x);
    if (HNK(any)(HNK(less)(HNK(all)(0x1p26f), size)))
        for (int l = 0; l < HNK_W; l++)
            if (HNK(lane)(size, l) > 0x1p26f) y = HNK(put)(y, l, (float)sin((double)HNK(lane)(x, l)));
    return y;
}
HNR HNK_F HNK(cos)(HNK_F x) {
    HNK_F size = HNK(size)(x), y = HNK(cos_of)(HNK(sin_cos)(size));
    if (HNK(any)(HNK(less)(HNK(all)(0x1p26f), size)))
        for (int l = 0; l < HNK_W; l++)
            if (HNK(lane)(size, l) > 0x1p26f) y = HNK(put)(y, l, (float)cos((double)HNK(lane)(x, l)));
    return y;
}
HNR HNK_F HNK(quick_sin)(HNK_F x) {
    HNK_F size = HNK(size)(x), y = HNK(sin_of)(HNK(quick_sin_cos)(size), x);
    HNK_I far = HNK(less)(HNK(all)(0x1p13f), size);
    return HNK(any)(far) ? HNK(choose)(far, HNK(sin)(x), y) : y;
}
HNR HNK_F HNK(quick_cos)(HNK_F x) {
    HNK_F size = HNK(size)(x), y = HNK(cos_of)(HNK(quick_sin_cos)(size));
    HNK_I far = HNK(less)(HNK(all)(0x1p13f), size);
    return HNK(any)(far) ? HNK(choose)(far, HNK(cos)(x), y) : y;
}
