/* rt/c_scalar.h — pointwise operations in their domains, as rt/scalar.h of the CPU backend has them: _f double, _f32
 * float, _i int64_t, _u uint64_t. Behind base.h.
 */
#define HNR_FLOATS(f, type)                                                                                            \
    HNR type hnr_sign_##f(type x) { return x > 0 ? (type)1 : x < 0 ? (type)-1 : x; }                                   \
    HNR type hnr_sigmoid_##f(type x) {                                                                                 \
        type e = exp(-fabs(x));                                                                                        \
        return x >= 0 ? 1 / (1 + e) : x < 0 ? e / (1 + e) : x;                                                         \
    }                                                                                                                  \
    HNR type hnr_mod_##f(type x, type y) {                                                                             \
        type r = fmod(x, y);                                                                                           \
        if (r == 0) return copysign((type)0, y);                                                                       \
        return (r < 0) != (y < 0) ? r + y : r;                                                                         \
    }                                                                                                                  \
    HNR type hnr_min_##f(type x, type y) { return x != x ? x : y != y ? y : y < x ? y : x; }                           \
    HNR type hnr_max_##f(type x, type y) { return x != x ? x : y != y ? y : y > x ? y : x; }                           \
    HNR int hnr_better_##f(type x, type best, int max, int last) {                                                     \
        if (best != best || x != x) return x != x && (best == best || last);                                           \
        return x == best ? last : max ? x > best : x < best;                                                           \
    }
HNR_FLOATS(f32, float)
#ifdef HNR_DOUBLES
HNR_FLOATS(f, double)
HNR double hnr_sigmoid(double x) { return hnr_sigmoid_f(x); }
#endif
#undef HNR_FLOATS

HNR int64_t hnr_sign_i(int64_t x) { return (x > 0) - (x < 0); }
HNR int64_t hnr_abs_i(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }
HNR int64_t hnr_div_i(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }
HNR uint64_t hnr_div_u(uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; }
HNR int64_t hnr_mod_i(int64_t x, int64_t y) { return hn_mod(x, y); }
HNR uint64_t hnr_mod_u(uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; }
HNR int64_t hnr_rem_i(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }

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

HNR int64_t hnr_min_i(int64_t x, int64_t y) { return x < y ? x : y; }
HNR int64_t hnr_max_i(int64_t x, int64_t y) { return x > y ? x : y; }
HNR uint64_t hnr_min_u(uint64_t x, uint64_t y) { return x < y ? x : y; }
HNR uint64_t hnr_max_u(uint64_t x, uint64_t y) { return x > y ? x : y; }
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

/* Floats of 32 bits to integers: truncate; NaN is 0; clipped to [low, high]. */
HNR int64_t hnr_f32_to_i(float x, int64_t low, int64_t high) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0f) return high;
    if (x < -9223372036854775808.0f) return low;
    int64_t i = (int64_t)x;
    return i < low ? low : i > high ? high : i;
}
HNR uint64_t hnr_f32_to_u(float x, uint64_t high) {
    if (!(x > 0)) return 0;
    if (x >= 18446744073709551616.0f) return high;
    uint64_t i = (uint64_t)x;
    return i > high ? high : i;
}
HNR int64_t hnr_f32_to_i_wrap(float x) {
    if (x >= 9223372036854775808.0f && x < 18446744073709551616.0f) return (int64_t)(uint64_t)x;
    if (x >= -9223372036854775808.0f && x < 9223372036854775808.0f) return (int64_t)x;
    return x != x ? 0 : INT64_MIN;
}
/* 4 and 2 bits. */
HNR int64_t hnr_cut_i(int64_t x, int bits) {
    int64_t top = (int64_t)1 << (bits - 1);
    return ((x & (2 * top - 1)) ^ top) - top;
}
