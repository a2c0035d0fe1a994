/* rt/c_base.h — what every device kernel may use, in all languages: element types in memory, dimension arithmetic,
 * checked indices. Behind the language's prelude. As rt/base.h of the CPU backend, but that `s` is the error slot
 * itself.
 */
#define HNR_STORE(name, type) typedef type hnr_##name;
HNR_STORE(f32, float)
HNR_STORE(f16, uint16_t)
HNR_STORE(bf16, uint16_t)
HNR_STORE(i8, int8_t)
HNR_STORE(i16, int16_t)
HNR_STORE(i32, int32_t)
HNR_STORE(i64, int64_t)
HNR_STORE(u8, uint8_t)
HNR_STORE(u16, uint16_t)
HNR_STORE(u32, uint32_t)
HNR_STORE(u64, uint64_t)
HNR_STORE(bool, uint8_t)
HNR_STORE(f8e4m3fn, uint8_t)
HNR_STORE(f8e4m3fnuz, uint8_t)
HNR_STORE(f8e5m2, uint8_t)
HNR_STORE(f8e5m2fnuz, uint8_t)
HNR_STORE(u4, uint8_t)
HNR_STORE(i4, int8_t)
HNR_STORE(f4e2m1, uint8_t)
HNR_STORE(f8e8m0, uint8_t)
HNR_STORE(word, int32_t)
HNR_STORE(u2, uint8_t)
HNR_STORE(i2, int8_t)
HNR_STORE(r1, uint8_t)
HNR_STORE(r2, uint16_t)
HNR_STORE(r4, uint32_t)
HNR_STORE(r8, uint64_t)
#ifdef HNR_DOUBLES
HNR_STORE(f64, double)
#endif
#undef HNR_STORE

HNR float hnr_bf16_float(uint16_t x) { return hnr_bits_float((uint32_t)x << 16); }
HNR uint16_t hnr_float_bf16(float x) {
    uint32_t b = hnr_float_bits(x);
    if (x != x) return (uint16_t)(b >> 16 | 0x40);
    return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

HNR int64_t hn_floordiv(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
HNR int64_t hn_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
HNR int64_t hn_min(int64_t a, int64_t b) { return a < b ? a : b; }
HNR int64_t hn_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* Of what is never negative: most are small, and devices divide 64 bits in a hundred instructions. */
HNR int64_t hnr_quotient(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return ((uint64_t)a | (uint64_t)b) >> 32 ? a / b : (int64_t)((uint32_t)a / (uint32_t)b);
}
HNR int64_t hnr_rest(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return ((uint64_t)a | (uint64_t)b) >> 32 ? a % b : (int64_t)((uint32_t)a % (uint32_t)b);
}
/* Of 32-bit indices, by b > 0. */
HNR int32_t hnr_floordiv32(int32_t a, int32_t b) { return a / b - (a % b < 0); }
HNR int32_t hnr_mod32(int32_t a, int32_t b) {
    int32_t r = a % b;
    return r < 0 ? r + b : r;
}
HNR int32_t hnr_min32(int32_t a, int32_t b) { return a < b ? a : b; }
HNR int32_t hnr_max32(int32_t a, int32_t b) { return a > b ? a : b; }

/* An index into n elements, negative ones from the end. Out of range: the error slot is set and the nearest index is
 * given, -1 where there is no element at all. */
HNR int64_t hnr_index(HNR_GLOBAL int64_t *s, int64_t i, int64_t n) {
    if (i < 0 && i >= -n) return i + n;
    if (i >= 0 && i < n) return i;
    hnr_fail(s);
    if (n <= 0) return -1;
    return i < 0 ? 0 : n - 1;
}

/* Whether start, start + step … (count of them) are inside n elements. */
HNR int hnr_inside(int64_t start, int64_t step, int64_t count, int64_t n) {
    if (count <= 0) return 1;
    if (start < 0 || start >= n) return 0;
    if (step >= 0) return step == 0 || count - 1 <= (n - 1 - start) / step;
    return step != INT64_MIN && count - 1 <= start / -step;
}

HNR int64_t hnr_pad_edge(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }
HNR int64_t hnr_pad_wrap(int64_t i, int64_t n) { return hn_mod(i, n); }
HNR int64_t hnr_pad_reflect(int64_t i, int64_t n) {
    if (n == 1) return 0;
    i = hn_mod(i, 2 * (n - 1));
    return i < n ? i : 2 * (n - 1) - i;
}
HNR int64_t hnr_round64(int64_t size_b) { return (size_b + 63) & ~(int64_t)63; }

/* Bytes of private memory. */
HNR void hnr_bytes(void *to, const void *from, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
}
HNR void hnr_zero(HNR_GLOBAL void *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) ((HNR_GLOBAL uint8_t *)to)[i] = 0;
}
/* Sum and the products of four bytes, unsigned in a, signed in b. */
HNR int32_t hnr_dot4(int32_t sum, int32_t a, int32_t b) {
    for (int k = 0; k < 32; k += 8)
        sum = (int32_t)((uint32_t)sum + (uint32_t)((a >> k & 255) * (int32_t)(int8_t)(b >> k & 255)));
    return sum;
}
