/* rt/math_sin.h — sin and cos of vectors of floats (docs/math.md).
 *
 * |x| = n pi/2 + r, |r| <= pi/4, in double, pi/2 in two parts of which the first has 27 bits: up to 2^26 n times it is
 * exact. Beyond, lane by lane with libm. sin r = r + r^3 s(r^2), cos r = 1 - r^2/2 + r^4 c(r^2), of degree 2 each by
 * tools/minimax.py sin cos. Needs math_base.h.
 */
typedef struct HNK(quadrant) {
    HNK_F sin, cos;
    HNK_I n; /* its two low bits count */
} HNK(quadrant);

HNR HNK(quadrant) HNK(sin_cos)(HNK_F size) {
    HNK_D x = HNK(widen)(size), t = x * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = t - 0x1.8p52;
    HNK_F r = HNK(narrow)((x - n * 0x1.921fb54p0) - n * 0x1.10b4611a62633p-30), z = r * r;
    HNK_F s = HNK(step)(HNK(all)(-0x1.9954a4p-13f), z, 0x1.11077ap-7f);
    HNK_F c = HNK(step)(HNK(all)(0x1.99e0eep-16f), z, -0x1.6c0c1ap-10f);
    s = HNK(step)(s, z, -0x1.555546p-3f);
    c = HNK(step)(c, z, 0x1.55554ap-5f);
    return (HNK(quadrant)){HNK(madd)(s, z * r, r), HNK(madd)(c, z * z, 1.0f - z * 0.5f),
                           HNK(low_bits)(HNK(wide_bits)(t))};
}
HNR HNK_F HNK(sin)(HNK_F x) {
    HNK_F size = HNK(size)(x);
    HNK(quadrant) q = HNK(sin_cos)(size);
    HNK_I far = HNK(less)(HNK(all)(0x1p26f), size);
    HNK_I sign = ((q.n & 2) << 30) ^ (HNK(bits)(x) & HNK_SIGN);
    HNK_F y = HNK(value)(HNK(bits)(HNK(choose)(-(q.n & 1), q.cos, q.sin)) ^ sign);
    if (HNK(any)(far))
        for (int l = 0; l < HNK_W; l++)
            if (HNK(lane)(size, l) > 0x1p26f) y = HNK(put)(y, l, (float)sin((double)HNK(lane)(x, l)));
    return y;
}
HNR HNK_F HNK(cos)(HNK_F x) {
    HNK_F size = HNK(size)(x);
    HNK(quadrant) q = HNK(sin_cos)(size);
    HNK_I far = HNK(less)(HNK(all)(0x1p26f), size);
    HNK_I sign = ((q.n + 1) & 2) << 30;
    HNK_F y = HNK(value)(HNK(bits)(HNK(choose)(-(q.n & 1), q.sin, q.cos)) ^ sign);
    if (HNK(any)(far))
        for (int l = 0; l < HNK_W; l++)
            if (HNK(lane)(size, l) > 0x1p26f) y = HNK(put)(y, l, (float)cos((double)HNK(lane)(x, l)));
    return y;
}
