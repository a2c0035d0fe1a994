/* rt/unpack.h — codecs of packed weights: 32 elements of the columns of a panel, as bytes for sums and as floats. Needs
 * base.h and lanes.h.
 *
 * A codec unpacks 32 elements of its columns: w[8], each with four elements a lane as bytes from 0 to 255; the value
 * is s[g] (byte - OFF) + m[g], for each group g of 16 (GROUPS 2) or all 32 (GROUPS 1). rt/packed.h says how a panel
 * lies. */

/* A look-up of bytes, in each 16, has no form in C; by the compilers' names. */
#if HNR_L == 8
#define HNR_LOOK_UP(table, x) __builtin_ia32_pshufb256(table, x)
#elif defined(__clang__)
#define HNR_LOOK_UP(table, x) __builtin_ia32_pshufb512(table, x)
#else
#define HNR_LOOK_UP(table, x) __builtin_ia32_pshufb512_mask(table, x, x, -1)
#endif

HNR_ALWAYS hnr_lu hnr_p_word(const uint8_t *p) { return *(const hnr_lu_any *)p; }
/* Bits [from, from + 6) … of each lane as a float. */
HNR_ALWAYS hnr_lf hnr_p_bits(hnr_lu w, int from, uint32_t mask) { return hnr_l_float((hnr_li)(w >> from & mask)); }

/* Units of a block of 16 columns: halves and words behind `at` bytes of headers a column; h: the first column. */
#define HNR_HALF(at) hnr_l_half(p + 16 * (at) + 2 * h)
#define HNR_WORD(at, i) hnr_p_word(p + 16 * (at) + 64 * (i) + 4 * h)
#define HNR_UNPACK(name)                                                                                               \
    HNR_ALWAYS void hnr_un_##name(const uint8_t *p, int h, int j, hnr_lu w[8], hnr_lf s[2], hnr_lf m[2])
#define HNR_UNUSED (void)j, (void)m

#define HNR_NIBBLES(at)                                                                                                \
    HNR_UNROLL for (int t = 0; t < 4; t++) {                                                                           \
        hnr_lu x = HNR_WORD(at, t);                                                                                    \
        w[t] = x & 0x0f0f0f0f;                                                                                         \
        w[t + 4] = x >> 4 & 0x0f0f0f0f;                                                                                \
    }
/* Floats: what a lane has is taken from the panel as it is needed. */
HNR_UNPACK(f16) { (void)p, (void)h, (void)w, (void)s, HNR_UNUSED; }
HNR_UNPACK(bf16) { (void)p, (void)h, (void)w, (void)s, HNR_UNUSED; }
HNR_UNPACK(q4_0) {
    HNR_UNUSED;
    s[0] = HNR_HALF(0);
    HNR_NIBBLES(2)
}
HNR_UNPACK(q4_1) {
    HNR_UNUSED;
    s[0] = HNR_HALF(0), m[0] = HNR_HALF(2);
    HNR_NIBBLES(4)
}
/* Bit e of a column's word is the fifth bit of element e: four of them to the bytes of a lane. */
HNR_ALWAYS hnr_lu hnr_p_fifth(hnr_lu high, int t) {
#if HNR_L >= 8
    const uint32_t bits = t % 2 ? 0x80402010 : 0x08040201; /* of the byte that has them, which goes to all four */
#if HNR_L == 16
    const hnr_lu word = {0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12};
#else
    const hnr_lu word = {0, 4, 8, 12, 0, 4, 8, 12};
#endif
    const hnr_lb four = (hnr_lb)((word + (uint32_t)(t / 2)) * 0x01010101u);
    const hnr_lb all = (hnr_lb)((hnr_lu){0} + bits);
    return (hnr_lu)((HNR_LOOK_UP((hnr_lb)high, four) & all) == all) & 0x10101010;
#else
    hnr_lu x = high >> 4 * t & 15;
    return (x & 1) << 4 | (x & 2) << 11 | (x & 4) << 18 | (x & 8) << 25;
#endif
}
HNR_UNPACK(q5_0) {
    HNR_UNUSED;
    hnr_lu high = HNR_WORD(2, 0);
    s[0] = HNR_HALF(0);
    HNR_NIBBLES(6)
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] |= hnr_p_fifth(high, t);
}
HNR_UNPACK(q5_1) {
    HNR_UNUSED;
    hnr_lu high = HNR_WORD(4, 0);
    s[0] = HNR_HALF(0), m[0] = HNR_HALF(2);
    HNR_NIBBLES(8)
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] |= hnr_p_fifth(high, t);
}
HNR_UNPACK(q8_0) {
    HNR_UNUSED;
    s[0] = HNR_HALF(0);
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] = HNR_WORD(2, t) ^ 0x80808080;
}
/* Scales and minima as floats: of hone, for files whose scales are. */
HNR_UNPACK(n4) {
    HNR_UNUSED;
    s[0] = (hnr_lf)HNR_WORD(0, 0), m[0] = (hnr_lf)HNR_WORD(4, 0);
    HNR_NIBBLES(8)
}
HNR_UNPACK(n8) {
    HNR_UNUSED;
    s[0] = (hnr_lf)HNR_WORD(0, 0), m[0] = (hnr_lf)HNR_WORD(4, 0);
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] = HNR_WORD(8, t);
}
/* Values of nibbles by a table of 16 bytes. */
HNR_ALWAYS hnr_lu hnr_p_table(hnr_lu x, const uint8_t table[16]) {
    union {
        uint8_t b[4 * HNR_L];
        hnr_lb v;
        hnr_lu u;
    } t, in = {.u = x};
    for (int i = 0; i < 4 * HNR_L; i++) t.b[i] = table[i & 15];
#if HNR_L >= 8
    return (hnr_lu)HNR_LOOK_UP(t.v, in.v);
#else
    for (int i = 0; i < 4 * HNR_L; i++) t.b[i] = table[in.b[i]];
    return t.u;
#endif
}
HNR_UNPACK(iq4_nl) {
    static const uint8_t table[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                      129, 141, 153, 166, 181, 197, 217, 241}; /* value + 128 */
    HNR_UNUSED;
    s[0] = HNR_HALF(0);
    HNR_NIBBLES(2)
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] = hnr_p_table(w[t], table);
}
HNR_UNPACK(mxfp4) {
    static const uint8_t table[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0}; /* value + 12 */
    HNR_UNUSED;
    hnr_lu e = __builtin_convertvector(__builtin_convertvector(*(const hnr_lc_any *)(p + h), hnr_lh), hnr_lu);
    hnr_lu tiny = (hnr_lu)(e < 2);
    s[0] = (hnr_lf)(((e - 1) << 23 & ~tiny) | ((e + 1) * 0x00200000u & tiny));
    HNR_NIBBLES(1)
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] = hnr_p_table(w[t], table);
}
/* Blocks of 256; j: which 32 of them. */
HNR_UNPACK(iq4_xs) {
    static const uint8_t table[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                      129, 141, 153, 166, 181, 197, 217, 241}; /* value + 128 */
    hnr_lu low = HNR_WORD(4, 0) >> 4 * j & 15;
    hnr_lu high = __builtin_convertvector(*(const hnr_lh_any *)(p + 32 + 2 * h), hnr_lu) >> 2 * j & 3;
    (void)m;
    s[0] = HNR_HALF(0) * hnr_l_float((hnr_li)(low | high << 4) - 32);
    HNR_UNROLL for (int t = 0; t < 4; t++) {
        hnr_lu x = HNR_WORD(8, 4 * j + t);
        w[t] = hnr_p_table(x & 0x0f0f0f0f, table);
        w[t + 4] = hnr_p_table(x >> 4 & 0x0f0f0f0f, table);
    }
}
HNR_UNPACK(tq2_0) {
    (void)m;
    s[0] = HNR_HALF(64);
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] = HNR_WORD(0, 8 * (j / 4) + t) >> 2 * (j % 4) & 0x03030303;
}
HNR_UNPACK(q2_k) {
    hnr_lf d = HNR_HALF(80), low = HNR_HALF(82);
    hnr_lu scale = HNR_WORD(0, j / 2) >> 16 * (j % 2);
    for (int g = 0; g < 2; g++) {
        s[g] = d * hnr_p_bits(scale, 8 * g, 15);
        m[g] = -(low * hnr_p_bits(scale, 8 * g + 4, 15));
    }
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] = HNR_WORD(16, 8 * (j / 4) + t) >> 2 * (j % 4) & 0x03030303;
}
HNR_UNPACK(q3_k) {
    (void)m;
    hnr_lf d = HNR_HALF(108);
    for (int g = 0; g < 2; g++) {
        int i = 2 * j + g;
        hnr_lu low = HNR_WORD(96, i % 8 / 4) >> (8 * (i % 4) + 4 * (i / 8)) & 15;
        hnr_lu high = HNR_WORD(96, 2) >> (8 * (i % 4) + 2 * (i / 4)) & 3;
        s[g] = d * hnr_l_float((hnr_li)(low | high << 4) - 32);
    }
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] =
        (HNR_WORD(32, 8 * (j / 4) + t) >> 2 * (j % 4) & 0x03030303) | (HNR_WORD(0, t) >> j & 0x01010101) << 2;
}
HNR_ALWAYS void hnr_p_scales(const uint8_t *p, int h, int j, hnr_lf *s, hnr_lf *m) {
    hnr_lu a = HNR_WORD(4, 0), b = HNR_WORD(4, 1), c = HNR_WORD(4, 2);
    int at = 8 * (j % 4);
    hnr_lu scale = a >> at, low = b >> at;
    if (j >= 4) {
        hnr_lu both = c >> at;
        scale = (both & 15) | (scale >> 2 & 48);
        low = (both >> 4 & 15) | (low >> 2 & 48);
    }
    *s = HNR_HALF(0) * hnr_p_bits(scale, 0, 63);
    *m = -(HNR_HALF(2) * hnr_p_bits(low, 0, 63));
}
HNR_UNPACK(q4_k) {
    hnr_p_scales(p, h, j, s, m);
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] = HNR_WORD(16, 8 * (j / 2) + t) >> 4 * (j % 2) & 0x0f0f0f0f;
}
HNR_UNPACK(q5_k) {
    hnr_p_scales(p, h, j, s, m);
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] =
        (HNR_WORD(48, 8 * (j / 2) + t) >> 4 * (j % 2) & 0x0f0f0f0f) | (HNR_WORD(16, t) >> j & 0x01010101) << 4;
}
HNR_UNPACK(q6_k) {
    (void)m;
    hnr_lf d = HNR_HALF(208);
    hnr_li scale = (hnr_li)(HNR_WORD(192, j / 2) >> 16 * (j % 2));
    int part = j % 4;
    s[0] = d * hnr_l_float(scale << 24 >> 24);
    s[1] = d * hnr_l_float(scale << 16 >> 24);
    HNR_UNROLL for (int t = 0; t < 8; t++) w[t] =
        (HNR_WORD(0, 16 * (j / 4) + 8 * (part & 1) + t) >> 4 * (part / 2) & 0x0f0f0f0f) |
        (HNR_WORD(128, 8 * (j / 4) + t) >> 2 * part & 0x03030303) << 4;
}

/* Element 4 t + i of the 32 as a float, as the codec defines it: GROUPS, OFF and MIN are the codec's. */
HNR_ALWAYS hnr_lf hnr_p_value(hnr_lu w, int i, hnr_lf s, hnr_lf m, int off, int min) {
    hnr_lf x = s * hnr_l_float((hnr_li)(w >> 8 * i & 255) - off);
    return min ? x + m : x;
}
#define HNR_VALUE(name, t, i, GROUPS, OFF, MIN)                                                                        \
    (GROUPS ? hnr_p_value(w[t], i, s[GROUPS == 2 ? (t) / 4 : 0], m[GROUPS == 2 ? (t) / 4 : 0], OFF, MIN)               \
            : hnr_value_##name(p + 128 * (t) + 32 * (i) + 2 * h))
HNR_ALWAYS hnr_lf hnr_value_f16(const uint8_t *p) { return hnr_l_half(p); }
HNR_ALWAYS hnr_lf hnr_value_bf16(const uint8_t *p) { return hnr_l_brain(p); }
#define HNR_NO_VALUE(name)                                                                                             \
    HNR_ALWAYS hnr_lf hnr_value_##name(const uint8_t *p) {                                                             \
        (void)p;                                                                                                       \
        return (hnr_lf){0};                                                                                            \
    }
