/* rt/math_base.h — the words in which functions on vectors of HNK_W floats are written (math_*.h, docs/math.md).
 *
 * Text that is repeated for every width of a file, where a macro must mean the same for each: HNK_W is a power of two.
 * At width 1 the types are float and int32_t and the functions do the same operations in the same order, so that a
 * loop's leftovers have the bits that a vector would have given. Wider types, and hnk_fma_*, come from the kernel's
 * prelude (src/backend/cpu/nest_c_types.c). Masks are integers, all bits set for true. Needs base.h.
 */
#define HNK_PASTE(name, width) name##width
#define HNK_JOIN(name, width) HNK_PASTE(name, width)
#define HNK(name) HNK_JOIN(hnk_##name##_f32_x, HNK_W)
#define HNK_F HNK_JOIN(hnk_f32_x, HNK_W)
#define HNK_I HNK_JOIN(hnk_i32_x, HNK_W)
#define HNK_D HNK_JOIN(hnk_f64_x, HNK_W)
#define HNK_L HNK_JOIN(hnk_i64_x, HNK_W)
#define HNK_MAGIC 0x1.8p23f       /* x + HNK_MAGIC: x rounded to an integer, in the low bits */
#define HNK_MAGIC_BITS 0x4b400000 /* of HNK_MAGIC */
#define HNK_SIGN (-0x7fffffff - 1)

#if HNK_W == 1
typedef float hnk_f32_x1;
typedef int32_t hnk_i32_x1;
typedef double hnk_f64_x1;
typedef int64_t hnk_i64_x1;
HNR HNK_I HNK(bits)(HNK_F x) {
    HNK_I i;
    memcpy(&i, &x, sizeof i);
    return i;
}
HNR HNK_F HNK(value)(HNK_I i) {
    HNK_F x;
    memcpy(&x, &i, sizeof x);
    return x;
}
HNR HNK_L HNK(wide_bits)(HNK_D x) {
    HNK_L i;
    memcpy(&i, &x, sizeof i);
    return i;
}
HNR HNK_D HNK(widen)(HNK_F x) { return (HNK_D)x; }
HNR HNK_F HNK(narrow)(HNK_D x) { return (HNK_F)x; }
HNR HNK_I HNK(low_bits)(HNK_L i) { return (HNK_I)i; }
HNR HNK_F HNK(all)(float x) { return x; }
HNR HNK_I HNK(less)(HNK_F a, HNK_F b) { return -(a < b); }
HNR HNK_I HNK(equal)(HNK_F a, HNK_F b) { return -(a == b); }
HNR int HNK(any)(HNK_I m) { return m; }
HNR float HNK(lane)(HNK_F x, int l) { return (void)l, x; }
HNR HNK_F HNK(put)(HNK_F x, int l, float y) { return (void)x, (void)l, y; }
#else
HNR HNK_I HNK(bits)(HNK_F x) { return (HNK_I)x; }
HNR HNK_F HNK(value)(HNK_I i) { return (HNK_F)i; }
HNR HNK_L HNK(wide_bits)(HNK_D x) { return (HNK_L)x; }
HNR HNK_D HNK(widen)(HNK_F x) { return __builtin_convertvector(x, HNK_D); }
HNR HNK_F HNK(narrow)(HNK_D x) { return __builtin_convertvector(x, HNK_F); }
HNR HNK_I HNK(low_bits)(HNK_L i) { return __builtin_convertvector(i, HNK_I); }
HNR HNK_F HNK(all)(float x) { return x - (HNK_F){0}; }
HNR HNK_I HNK(less)(HNK_F a, HNK_F b) { return a < b; }
HNR HNK_I HNK(equal)(HNK_F a, HNK_F b) { return a == b; }
HNR int HNK(any)(HNK_I m) {
    HNK_JOIN(hnk_i8_x, HNK_W) narrow = __builtin_convertvector(m, HNK_JOIN(hnk_i8_x, HNK_W));
    uint64_t part[(HNK_W + 7) / 8] = {0}, whole = 0;
    memcpy(part, &narrow, HNK_W);
    for (int k = 0; k < (HNK_W + 7) / 8; k++) whole |= part[k];
    return whole != 0;
}
HNR float HNK(lane)(HNK_F x, int l) { return x[l]; }
HNR HNK_F HNK(put)(HNK_F x, int l, float y) {
    x[l] = y;
    return x;
}
#endif

/* a*b + c; one rounding where the instruction set has it. */
HNR HNK_F HNK(madd)(HNK_F a, HNK_F b, HNK_F c) {
#if !defined(__FMA__) && !defined(__aarch64__)
    return a * b + c;
#elif HNK_W == 1
    return __builtin_fmaf(a, b, c);
#else
    return HNK(fma)(a, b, c);
#endif
}
/* q*x + c, for Horner's rule. */
HNR HNK_F HNK(step)(HNK_F q, HNK_F x, float c) { return HNK(madd)(q, x, HNK(all)(c)); }
HNR HNK_F HNK(choose)(HNK_I m, HNK_F a, HNK_F b) { return HNK(value)((m & HNK(bits)(a)) | (~m & HNK(bits)(b))); }
/* a < b ? x : y. gcc writes a comparison's mask out before it chooses by it. */
HNR HNK_F HNK(choose_less)(HNK_F a, HNK_F b, HNK_F x, HNK_F y) {
#if HNK_W == 16 && defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_blendmps_512_mask(y, x, __builtin_ia32_cmpps512_mask(a, b, 17, -1, 4));
#else
    return HNK(choose)(HNK(less)(a, b), x, y);
#endif
}
/* NaN stays: the processor's minimum and maximum give the second operand where one is NaN. */
HNR HNK_F HNK(at_most)(HNK_F x, float top) {
#if HNK_W == 16 && defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_minps512_mask(HNK(all)(top), x, x, -1, 4);
#elif HNK_W == 8 && defined(__AVX__) && !defined(__clang__)
    return __builtin_ia32_minps256(HNK(all)(top), x);
#else
    return HNK(choose_less)(HNK(all)(top), x, HNK(all)(top), x);
#endif
}
HNR HNK_F HNK(at_least)(HNK_F x, float low) {
#if HNK_W == 16 && defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_maxps512_mask(HNK(all)(low), x, x, -1, 4);
#elif HNK_W == 8 && defined(__AVX__) && !defined(__clang__)
    return __builtin_ia32_maxps256(HNK(all)(low), x);
#else
    return HNK(choose_less)(x, HNK(all)(low), HNK(all)(low), x);
#endif
}
HNR HNK_F HNK(size)(HNK_F x) { return HNK(value)(HNK(bits)(x) & 0x7fffffff); }
HNR HNK_F HNK(with_sign)(HNK_F x, HNK_F sign) { /* x >= 0, or of that sign already */
    return HNK(value)(HNK(bits)(x) | (HNK(bits)(sign) & HNK_SIGN));
}
/* 2^n, -127 < n < 128 */
HNR HNK_F HNK(power)(HNK_I n) { return HNK(value)((n + 127) << 23); }
/* 2^(n + by), t = n + HNK_MAGIC, of which the bits above n's are shifted out */
HNR HNK_F HNK(power_of)(HNK_F t, int by) { return HNK(value)((HNK(bits)(t) << 23) + ((127 + by) << 23)); }
/* x * 2^n, rounded once, 1/2 <= x <= 2, -252 < n < 254, t = n + HNK_MAGIC: one instruction, or two scalings of which
 * the first is exact */
HNR HNK_F HNK(scale)(HNK_F x, HNK_F t) {
#if HNK_W == 16 && defined(__AVX512F__)
    return __builtin_ia32_scalefps512_mask(x, t - HNK_MAGIC, x, -1, 4);
#else
    HNK_I n = HNK(bits)(t) - HNK_MAGIC_BITS, half = n >> 1;
    return x * HNK(power)(half) * HNK(power)(n - half);
#endif
}
