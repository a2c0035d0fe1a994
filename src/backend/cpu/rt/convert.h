/* rt/convert.h — elements in memory to and from their domain: exact decoding, encoding that rounds to nearest even
 * once. Needs base.h. */
#ifndef HNR_CONVERT_H
#define HNR_CONVERT_H

/* What lies beyond the finite values of a small float. */
enum {
    HNR_IEEE,  /* the highest exponent is infinity and NaN */
    HNR_FN,    /* no infinity; all ones is NaN */
    HNR_FNUZ,  /* no infinity, no -0; the bits of -0 are NaN */
    HNR_FINITE /* neither */
};

HNR double hnr_bits_f64(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}
HNR uint64_t hnr_f64_bits(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

/* bits: sign, e exponent bits, m fraction bits in the low end. */
HNR double hnr_unpack(uint32_t bits, int e, int m, int bias, int kind) {
    uint32_t top = (1u << e) - 1, exponent = bits >> m & top, fraction = bits & ((1u << m) - 1);
    uint64_t sign = (uint64_t)(bits >> (e + m) & 1) << 63;
    if (kind == HNR_IEEE && exponent == top)
        return hnr_bits_f64(sign | 0x7ffull << 52 | (uint64_t)fraction << (52 - m) | (uint64_t)(fraction != 0) << 51);
    if (kind == HNR_FN && exponent == top && fraction == (1u << m) - 1) return hnr_bits_f64(sign | 0x7ff8ull << 48);
    if (kind == HNR_FNUZ && sign && !exponent && !fraction) return hnr_bits_f64(0x7ff8ull << 48);
    if (exponent)
        return hnr_bits_f64(sign | (uint64_t)((int)exponent - bias + 1023) << 52 | (uint64_t)fraction << (52 - m));
    double x = (double)fraction * hnr_bits_f64((uint64_t)(1 - bias - m + 1023) << 52);
    return sign ? -x : x;
}

/* Code of the highest finite value. */
HNR uint32_t hnr_pack_max(int e, int m, int kind) {
    uint32_t all = (1u << (e + m)) - 1;
    return kind == HNR_IEEE ? (((1u << e) - 1) << m) - 1 : kind == HNR_FN ? all - 1 : all;
}

HNR uint32_t hnr_pack(double x, int e, int m, int bias, int kind, int saturate) {
    uint64_t b = hnr_f64_bits(x), fraction = b & ((1ull << 52) - 1);
    int exponent = (int)(b >> 52 & 0x7ff);
    uint32_t sign = (uint32_t)(b >> 63) << (e + m), max = hnr_pack_max(e, m, kind), code;
    if (exponent == 0x7ff && fraction) /* NaN */
        return kind == HNR_IEEE ? ((1u << e) - 1) << m | 1u << (m - 1) : kind == HNR_FN ? max + 1 : 1u << (e + m);
    int at = exponent - 1023 + bias, shift = 52 - m; /* exponent code, bits dropped */
    if (at < 1) {
        shift += 1 - at;
        at = 1;
    }
    if (at > 1 << e) {
        code = max + 1;
    } else if (exponent == 0 || shift > 54) {
        code = 0;
    } else {
        uint64_t all = fraction | 1ull << 52, rest = all & ((1ull << shift) - 1), half = 1ull << (shift - 1);
        uint64_t kept = all >> shift;
        kept += rest > half || (rest == half && (kept & 1));
        code = ((uint32_t)(at - 1) << m) + (uint32_t)kept; /* a carry moves into the exponent */
    }
    if (code > max) {
        if (saturate || kind == HNR_FINITE) return sign | max;
        return kind == HNR_FNUZ ? 1u << (e + m) : sign | (max + 1);
    }
    return kind == HNR_FNUZ && code == 0 ? 0 : sign | code;
}

/* get, put, and cut: as put, but what is too large becomes infinity or NaN where put clips (8-bit formats). */
#define HNR_SMALL_GET(name, e, m, bias, kind)                                                                          \
    HNR double hnr_get_##name(hnr_##name x) { return hnr_unpack(x, e, m, bias, kind); }
#define HNR_SMALL(name, e, m, bias, kind, clips)                                                                       \
    HNR_SMALL_GET(name, e, m, bias, kind)                                                                              \
    HNR hnr_##name hnr_put_##name(double x) { return (hnr_##name)hnr_pack(x, e, m, bias, kind, clips); }               \
    HNR hnr_##name hnr_cut_##name(double x) { return (hnr_##name)hnr_pack(x, e, m, bias, kind, 0); }
HNR_SMALL_GET(f16, 5, 10, 15, HNR_IEEE)
HNR hnr_f16 hnr_put_f16(double x) {
#if defined(__F16C__)
    typedef float four __attribute__((vector_size(16)));
    typedef int16_t eight __attribute__((vector_size(16)));
    float f = (float)x;
    if ((double)f == x) return (hnr_f16)((eight)__builtin_ia32_vcvtps2ph((four){f, 0, 0, 0}, 0))[0]; /* to even */
#endif
    return (hnr_f16)hnr_pack(x, 5, 10, 15, HNR_IEEE, 0);
}
HNR hnr_f16 hnr_cut_f16(double x) { return hnr_put_f16(x); }
HNR_SMALL(bf16, 8, 7, 127, HNR_IEEE, 0)
HNR_SMALL(f8e4m3fn, 4, 3, 7, HNR_FN, 1)
HNR_SMALL(f8e4m3fnuz, 4, 3, 8, HNR_FNUZ, 1)
HNR_SMALL(f8e5m2, 5, 2, 15, HNR_IEEE, 1)
HNR_SMALL(f8e5m2fnuz, 5, 2, 16, HNR_FNUZ, 1)
HNR_SMALL(f4e2m1, 2, 1, 1, HNR_FINITE, 1)
#undef HNR_SMALL

HNR double hnr_get_f32(hnr_f32 x) { return (double)x; }
HNR hnr_f32 hnr_put_f32(double x) { return (float)x; }
HNR double hnr_get_f64(hnr_f64 x) { return x; }
HNR hnr_f64 hnr_put_f64(double x) { return x; }

/* f8e8m0: a power of two 2^(code - 127), no sign, no zero; 255 is NaN. */
HNR double hnr_get_f8e8m0(hnr_f8e8m0 x) {
    return x == 255 ? hnr_bits_f64(0x7ff8ull << 48) : hnr_bits_f64((uint64_t)(x - 127 + 1023) << 52);
}
/* To nearest by the fraction of the f32; the sign is dropped, infinity and NaN are 255. */
HNR hnr_f8e8m0 hnr_put_f8e8m0(double x) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t e = bits >> 23 & 0xff, rest = bits & 0x7fffff, half = 1u << 22;
    if (e == 255) return 255;
    return (hnr_f8e8m0)(e + (e < 254 && (rest > half || (rest == half && e > 0))));
}
/* mode 0 down, 1 up, 2 nearest. */
HNR hnr_f8e8m0 hnr_cast_f8e8m0(double x, int mode, int saturate) {
    double a = fabs(x);
    int e;
    if (!(a <= 1.7976931348623157e308)) return 255;
    if (a == 0) return 0;
    double m = frexp(a, &e); /* a = 2m * 2^(e - 1), 1 <= 2m < 2 */
    e = e - 1 + 127 + (m > 0.5 && (mode == 1 || (mode == 2 && 2 * m >= 1.5)));
    if (e > 254) return saturate ? 254 : 255;
    return (hnr_f8e8m0)(e < 0 ? 0 : e);
}

#define HNR_WHOLE(name, type)                                                                                          \
    HNR type hnr_get_##name(hnr_##name x) { return x; }
HNR_WHOLE(i8, int64_t)
HNR_WHOLE(i16, int64_t)
HNR_WHOLE(i32, int64_t)
HNR_WHOLE(i64, int64_t)
HNR_WHOLE(i4, int64_t)
HNR_WHOLE(i2, int64_t)
HNR_WHOLE(u8, uint64_t)
HNR_WHOLE(u16, uint64_t)
HNR_WHOLE(u32, uint64_t)
HNR_WHOLE(u64, uint64_t)
HNR_WHOLE(u4, uint64_t)
HNR_WHOLE(u2, uint64_t)
HNR_WHOLE(bool, uint64_t)
#undef HNR_WHOLE
HNR hnr_i8 hnr_put_i8(int64_t x) { return (int8_t)x; }
HNR hnr_i16 hnr_put_i16(int64_t x) { return (int16_t)x; }
HNR hnr_i32 hnr_put_i32(int64_t x) { return (int32_t)x; }
HNR hnr_i64 hnr_put_i64(int64_t x) { return x; }
HNR hnr_i4 hnr_put_i4(int64_t x) { return (hnr_i4)(((x & 15) ^ 8) - 8); }
HNR hnr_i2 hnr_put_i2(int64_t x) { return (hnr_i2)(((x & 3) ^ 2) - 2); }
HNR hnr_u8 hnr_put_u8(uint64_t x) { return (uint8_t)x; }
HNR hnr_u16 hnr_put_u16(uint64_t x) { return (uint16_t)x; }
HNR hnr_u32 hnr_put_u32(uint64_t x) { return (uint32_t)x; }
HNR hnr_u64 hnr_put_u64(uint64_t x) { return x; }
HNR hnr_u4 hnr_put_u4(uint64_t x) { return (hnr_u4)(x & 15); }
HNR hnr_u2 hnr_put_u2(uint64_t x) { return (hnr_u2)(x & 3); }
HNR hnr_bool hnr_put_bool(uint64_t x) { return x != 0; }

/* Floats to integers: truncate; NaN is 0; clipped to [low, high]. */
HNR int64_t hnr_f_to_i(double x, int64_t low, int64_t high) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return high;
    if (x < -9223372036854775808.0) return low;
    int64_t i = (int64_t)x;
    return i < low ? low : i > high ? high : i;
}
HNR uint64_t hnr_f_to_u(double x, uint64_t high) {
    if (!(x > 0)) return 0;
    if (x >= 18446744073709551616.0) return high;
    uint64_t i = (uint64_t)x;
    return i > high ? high : i;
}

/* As the hardware: what does not fit becomes the lowest 64-bit integer, whose low bits are kept. */
HNR int64_t hnr_f_to_i_wrap(double x) {
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) return (int64_t)(uint64_t)x;
    if (x >= -9223372036854775808.0 && x < 9223372036854775808.0) return (int64_t)x;
    return x != x ? 0 : INT64_MIN;
}
/* Integers of more than 53 bits, rounded to odd so that the next rounding sees what was lost (Boldo & Melquiond 2008).
 */
HNR double hnr_u_to_f(uint64_t x) { return x >> 53 ? (double)(x >> 11 | ((x & 2047) != 0)) * 2048 : (double)x; }
HNR double hnr_i_to_f(int64_t x) { return x < 0 ? -hnr_u_to_f(0 - (uint64_t)x) : hnr_u_to_f((uint64_t)x); }

/* Order-preserving images in 64 bits: a < b as numbers iff key(a) < key(b); -0 equals 0, every NaN is one value above
 * infinity. */
HNR uint64_t hnr_key_f(double x) {
    if (x != x) return UINT64_MAX;
    uint64_t b = hnr_f64_bits(x + 0.0); /* -0 + 0 is 0 */
    return b >> 63 ? ~b : b | 1ull << 63;
}
HNR uint64_t hnr_key_i(int64_t x) { return (uint64_t)x ^ 1ull << 63; }
HNR uint64_t hnr_key_u(uint64_t x) { return x; }

#endif
