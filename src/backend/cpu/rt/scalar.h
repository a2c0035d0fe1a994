/* rt/scalar.h — pointwise operations in their domains: _f double, _i int64_t, _u uint64_t (src/ir/ops.def says what
 * each means). Integer results wrap when they are put into their element type. Needs base.h, convert.h. */
#ifndef HNR_SCALAR_H
#define HNR_SCALAR_H

HNR double hnr_sign_f(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
HNR int64_t hnr_sign_i(int64_t x) { return (x > 0) - (x < 0); }
HNR int64_t hnr_abs_i(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }
HNR double hnr_sigmoid(double x) {
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : x < 0 ? e / (1 + e) : x;
}

HNR int64_t hnr_div_i(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }
HNR uint64_t hnr_div_u(uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; }
HNR int64_t hnr_mod_i(int64_t x, int64_t y) { return hn_mod(x, y); }
HNR uint64_t hnr_mod_u(uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; }
HNR int64_t hnr_rem_i(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
HNR double hnr_mod_f(double x, double y) {
    double r = fmod(x, y);
    if (r == 0) return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

HNR uint64_t hnr_pow_u(uint64_t x, uint64_t y) {
    uint64_t r = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) r *= x;
    return r;
}
/* A negative power of an integer: 1 and -1 have one, all else truncates to 0. */
HNR int64_t hnr_pow_i(int64_t x, int64_t y) {
    if (y >= 0) return (int64_t)hnr_pow_u((uint64_t)x, (uint64_t)y);
    return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
}

HNR double hnr_min_f(double x, double y) { return x != x ? x : y != y ? y : y < x ? y : x; }
HNR double hnr_max_f(double x, double y) { return x != x ? x : y != y ? y : y > x ? y : x; }
/* Likewise of floats, which no one need widen. NaN jumps: without, gcc moves floats through integer registers. */
HNR float hnr_min_f32(float x, float y) {
    if (__builtin_expect(y != y, 0)) return y;
    return y < x ? y : x;
}
HNR float hnr_max_f32(float x, float y) {
    if (__builtin_expect(y != y, 0)) return y;
    return y > x ? y : x;
}
HNR int64_t hnr_min_i(int64_t x, int64_t y) { return x < y ? x : y; }
HNR int64_t hnr_max_i(int64_t x, int64_t y) { return x > y ? x : y; }
HNR uint64_t hnr_min_u(uint64_t x, uint64_t y) { return x < y ? x : y; }
HNR uint64_t hnr_max_u(uint64_t x, uint64_t y) { return x > y ? x : y; }

/* Does x take the place of the best so far? NaN wins over every number; of equals the first or the last stays. */
HNR int hnr_better_f(double x, double best, int max, int last) {
    if (best != best || x != x) return x != x && (best == best || last);
    return x == best ? last : max ? x > best : x < best;
}
HNR int hnr_better_i(int64_t x, int64_t best, int max, int last) {
    return x == best ? last : max ? x > best : x < best;
}
HNR int hnr_better_u(uint64_t x, uint64_t best, int max, int last) {
    return x == best ? last : max ? x > best : x < best;
}

/* A count outside [0, 64) shifts everything out. */
HNR uint64_t hnr_shl(uint64_t x, uint64_t n) { return n < 64 ? x << n : 0; }
HNR uint64_t hnr_shr_u(uint64_t x, uint64_t n) { return n < 64 ? x >> n : 0; }
HNR int64_t hnr_shr_i(int64_t x, uint64_t n) { return n < 64 ? x >> n : x < 0 ? -1 : 0; }

#endif
