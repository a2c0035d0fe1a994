/* rt/math_log.h — log and log1p of vectors of floats; quick_*: the relaxed forms (docs/math.md).
 *
 * u = 2^k m, sqrt(1/2) <= m < sqrt(2); log u = k ln2 + log(1 + f), f = m - 1, and log(1 + f) = f - f^2/2 + f^3 p(f), p
 * of degree 7 (quick: 5) by tools/minimax.py log. k times the first part of ln2 is exact. For log1p u is 1 + x rounded,
 * and what the rounding lost is added to f. Needs math_base.h.
 */
typedef struct HNK(log_parts) {
    HNK_F f, k;
    HNK_I n;
} HNK(log_parts);

/* u: positive, no subnormal. */
HNR HNK(log_parts) HNK(log_reduce)(HNK_F u) {
    HNK_I n = (HNK(bits)(u) - 0x3f3504f3) >> 23; /* the bits of sqrt(1/2) */
    HNK_F m = HNK(value)(HNK(bits)(u) - (n << 23));
    return (HNK(log_parts)){m - 1.0f, HNK(value)(n + HNK_MAGIC_BITS) - HNK_MAGIC, n};
}
HNR HNK_F HNK(log_sum)(HNK_F f, HNK_F k, HNK_F p) {
    HNK_F s = f * f;
    HNK_F low = HNK(madd)(k, HNK(all)(-0x1.7f7d1cp-20f), s * 0.5f - s * f * p);
    return HNK(madd)(k, HNK(all)(0x1.62e4p-1f), f - low);
}
HNR HNK_F HNK(log_rest)(HNK_F f) {
    HNK_F p = HNK(all)(-0x1.38dc46p-4f);
    p = HNK(step)(p, f, 0x1.058ba8p-3f);
    p = HNK(step)(p, f, -0x1.0d9178p-3f);
    p = HNK(step)(p, f, 0x1.22d4e6p-3f);
    p = HNK(step)(p, f, -0x1.547124p-3f);
    p = HNK(step)(p, f, 0x1.99a034p-3f);
    p = HNK(step)(p, f, -0x1.000228p-2f);
    return HNK(step)(p, f, 0x1.555554p-2f);
}
HNR HNK_F HNK(quick_log_rest)(HNK_F f) {
    HNK_F p = HNK(all)(-0x1.a17e76p-4f);
    p = HNK(step)(p, f, 0x1.482ea4p-3f);
    p = HNK(step)(p, f, -0x1.5ef7f2p-3f);
    p = HNK(step)(p, f, 0x1.980d9ep-3f);
    p = HNK(step)(p, f, -0x1.ffa842p-3f);
    return HNK(step)(p, f, 0x1.5557bap-2f);
}
/* y where 0 < u < inf; the logarithms of what is not in there. */
HNR HNK_F HNK(log_ends)(HNK_F u, HNK_F y) {
    HNK_I positive = HNK(less)(HNK(all)(0.0f), u);
    HNK_F odd = HNK(choose)(HNK(equal)(u, HNK(all)(0.0f)), HNK(all)(-INFINITY), HNK(all)(NAN));
    odd = HNK(choose)(positive, u, odd);
    return HNK(choose)(positive & HNK(less)(u, HNK(all)(INFINITY)), y, odd);
}

HNR HNK(log_parts) HNK(log_any)(HNK_F x) {
    HNK_I small = HNK(less)(x, HNK(all)(0x1p-126f));
    HNK(log_parts) l = HNK(log_reduce)(HNK(choose)(small, x * 0x1p23f, x));
    l.k -= HNK(choose)(small, HNK(all)(23.0f), HNK(all)(0.0f));
    return l;
}
HNR HNK_F HNK(log)(HNK_F x) {
    HNK(log_parts) l = HNK(log_any)(x);
    return HNK(log_ends)(x, HNK(log_sum)(l.f, l.k, HNK(log_rest)(l.f)));
}
HNR HNK_F HNK(quick_log)(HNK_F x) {
    HNK(log_parts) l = HNK(log_any)(x);
    return HNK(log_ends)(x, HNK(log_sum)(l.f, l.k, HNK(quick_log_rest)(l.f)));
}

/* 1 + x = u + c; (1 + x) / 2^n - 1 = (m - 1) + c / 2^n. From 2^25 on c counts for nothing. */
HNR HNK_F HNK(log1p)(HNK_F x) {
    HNK_F u = x + 1.0f;
    HNK(log_parts) l = HNK(log_reduce)(u);
    HNK_F c = HNK(choose)(HNK(less)(HNK(all)(1.0f), x), 1.0f - (u - x), x - (u - 1.0f));
    HNK_F scale = HNK(choose)(HNK(less)(x, HNK(all)(0x1p25f)), HNK(power)(-l.n), HNK(all)(0.0f));
    HNK_F f = l.f + c * scale;
    HNK_F y = HNK(log_ends)(u, HNK(log_sum)(f, l.k, HNK(log_rest)(f)));
    return HNK(choose)(HNK(less)(HNK(size)(x), HNK(all)(0x1p-26f)), x, y);
}
