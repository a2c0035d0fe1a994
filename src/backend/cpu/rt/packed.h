/* rt/packed.h — products with weights that stay as a model file has them: blocks of a few bits an element with scales.
 *
 * A panel is 16 rows of the weight matrix (columns of the result). Block after block, the units of the 16 rows lie
 * side by side: first unit 0 of all, then unit 1; a unit is a header's half float (2 bytes), a byte, or four bytes of
 * quants. So a lane of a vector is one column, a panel has as many bytes as its rows have in the file, and its
 * quants are what instructions for products of bytes take: four steps of the sum in each lane.
 *
 * Other operand: rounded to bytes in blocks of 32 (quantize_blocks): q, the scale d of each block, the sums of each
 * 16 bytes; of two bytes an element, low ones and, behind a row's, high ones, which count 128 times; or floats. A
 * column's sum goes block after block in one order, whatever the number of rows, columns, threads or work items; inside
 * a block the sum of bytes is exact. So results do not depend on neighbours. Needs base.h, lanes.h and unpack.h. */
/* Instructions that have no form in C, by the compilers' names; headers of intrinsics cost 200 ms a compilation. */
#if defined(__clang__)
#define HNR_X86_DOT(c, a, x) __builtin_ia32_vpdpbusd512(c, a, x)
#define HNR_X86_PAIRS(a, b) __builtin_ia32_pmaddwd512(a, b)
#define HNR_X86_PAIRS_B(a, b) __builtin_ia32_pmaddubsw512(a, b)
#else
#define HNR_X86_DOT(c, a, x) __builtin_ia32_vpdpbusd_v16si(c, a, x)
#define HNR_X86_PAIRS(a, b) __builtin_ia32_pmaddwd512_mask(a, b, (hnr_li){0}, -1)
#define HNR_X86_PAIRS_B(a, b) __builtin_ia32_pmaddubsw512_mask(a, b, (hnr_ls){0}, -1)
#endif
#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

/* c + the sums of each lane's four products; a: bytes from 0 to MOST, the largest of a codec; x: -127 to 127. */
HNR_ALWAYS hnr_li hnr_p_dot(hnr_li c, hnr_lu a, hnr_li x, int most) {
    const int small = most < 128;
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
    (void)small;
    return HNR_X86_DOT(c, (hnr_li)a, x);
#elif defined(__AVX512BW__)
    if (small) return c + HNR_X86_PAIRS(HNR_X86_PAIRS_B((hnr_lb)a, (hnr_lb)x), (hnr_ls){0} + 1);
    hnr_ls even = (hnr_ls)(a & 0x00ff00ff), odd = (hnr_ls)(a >> 8 & 0x00ff00ff);
    c += HNR_X86_PAIRS(even, (hnr_ls)x << 8 >> 8);
    return c + HNR_X86_PAIRS(odd, (hnr_ls)x >> 8);
#elif defined(__AVX2__)
    if (small) return c + __builtin_ia32_pmaddwd256(__builtin_ia32_pmaddubsw256((hnr_lb)a, (hnr_lb)x), (hnr_ls){0} + 1);
    hnr_ls even = (hnr_ls)(a & 0x00ff00ff), odd = (hnr_ls)(a >> 8 & 0x00ff00ff);
    c += __builtin_ia32_pmaddwd256(even, (hnr_ls)x << 8 >> 8);
    return c + __builtin_ia32_pmaddwd256(odd, (hnr_ls)x >> 8);
#elif defined(__ARM_FEATURE_DOTPROD)
    if (small) return (hnr_li)vdotq_s32((int32x4_t)c, (int8x16_t)a, (int8x16_t)x);
    c = (hnr_li)vdotq_s32((int32x4_t)c, (int8x16_t)(a & 0x7f7f7f7f), (int8x16_t)x);
    return c + ((hnr_li)vdotq_s32((int32x4_t){0}, (int8x16_t)(a >> 7 & 0x01010101), (int8x16_t)x) << 7);
#elif defined(__SSE2__)
    (void)small;
    hnr_ls even = (hnr_ls)(a & 0x00ff00ff), odd = (hnr_ls)(a >> 8 & 0x00ff00ff);
    c += __builtin_ia32_pmaddwd128(even, (hnr_ls)x << 8 >> 8);
    return c + __builtin_ia32_pmaddwd128(odd, (hnr_ls)x >> 8);
#else
    (void)small;
    hnr_li b = (hnr_li)a;
    c += (b & 255) * (x << 24 >> 24) + (b >> 8 & 255) * (x << 16 >> 24);
    return c + (b >> 16 & 255) * (x << 8 >> 24) + (b >> 24 & 255) * (x >> 24);
#endif
}

/* As hnr_p_dot, with one word of memory for all lanes. The instruction takes it from there; gcc knows no such form and
 * brings it into a register first, with which tiles of 16 rows took 1.17 times as long (Emerald Rapids). */
HNR_ALWAYS hnr_li hnr_p_dot_word(hnr_li c, hnr_lu a, const hnr_word *x, int most) {
#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && !defined(__clang__)
    (void)most;
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(c) : "v"(a), "m"(*x));
    return c;
#else
    return hnr_p_dot(c, a, (hnr_li){0} + *x, most);
#endif
}

/* Without an instruction for four products, two are added up in 16 bits: of small bytes several such sums fit before
 * they are widened. Bytes that stand for -128 to 127 are taken as what they stand for, which needs nothing to begin
 * with (SIGNED): |a| times x with the sign of a. The sums are the same integers. */
#if defined(__AVX2__) && !(defined(__AVX512VNNI__) && defined(__AVX512BW__))
enum { HNR_IN_16 = 1 };
#if defined(__AVX512BW__)
#define HNR_SIGNED(OFF, MOST) 0
HNR_ALWAYS hnr_ls hnr_p_pairs(hnr_lu a, hnr_li x) { return (hnr_ls)HNR_X86_PAIRS_B((hnr_lb)a, (hnr_lb)x); }
HNR_ALWAYS hnr_li hnr_p_widen(hnr_ls x) { return (hnr_li)HNR_X86_PAIRS(x, (hnr_ls){0} + 1); }
HNR_ALWAYS hnr_lu hnr_p_sign(hnr_lu a, hnr_lu by) { return (void)by, a; }
#else
#define HNR_SIGNED(OFF, MOST) ((OFF) == 128 && (MOST) > 127)
HNR_ALWAYS hnr_ls hnr_p_pairs(hnr_lu a, hnr_li x) { return (hnr_ls)__builtin_ia32_pmaddubsw256((hnr_lb)a, (hnr_lb)x); }
HNR_ALWAYS hnr_li hnr_p_widen(hnr_ls x) { return (hnr_li)__builtin_ia32_pmaddwd256(x, (hnr_ls){0} + 1); }
HNR_ALWAYS hnr_lu hnr_p_sign(hnr_lu a, hnr_lu by) { return (hnr_lu)__builtin_ia32_psignb256((hnr_lb)a, (hnr_lb)by); }
#endif
#else
#define HNR_SIGNED(OFF, MOST) 0
enum { HNR_IN_16 = 0 };
HNR_ALWAYS hnr_ls hnr_p_pairs(hnr_lu a, hnr_li x) { return (void)x, (hnr_ls)a; }
HNR_ALWAYS hnr_li hnr_p_widen(hnr_ls x) { return (hnr_li)x; }
HNR_ALWAYS hnr_lu hnr_p_sign(hnr_lu a, hnr_lu by) { return (void)by, a; }
#endif
/* As hnr_p_dot; of a signed codec with the bytes less 128. */
HNR_ALWAYS hnr_li hnr_p_dot_as(hnr_li c, hnr_lu a, hnr_li x, int off, int most) {
    (void)off;
    if (!HNR_SIGNED(off, most)) return hnr_p_dot(c, a, x, most);
    a ^= 0x80808080;
    return c + hnr_p_widen(hnr_p_pairs(hnr_p_sign(a, a), (hnr_li)hnr_p_sign((hnr_lu)x, a)));
}
/* A row's 32 bytes, which are added to t. */
HNR_ALWAYS void hnr_p_block(hnr_li t[2], const hnr_lu w[8], const int8_t *q, int groups, int off, int most) {
    const int run = HNR_SIGNED(off, most) ? 1 : 32767 / (2 * 127 * most);
    hnr_ls sum = {0};
    HNR_UNROLL for (int k = 0; k < 8; k++) {
        const hnr_word *four = (const hnr_word *)(q + 4 * k);
        hnr_li x = (hnr_li){0} + *four;
        const int g = groups == 2 ? k / 4 : 0, in_group = groups == 2 ? k % 4 : k;
        if (!HNR_IN_16 || (most > 127 && !HNR_SIGNED(off, most)))
            t[g] = hnr_p_dot_word(t[g], w[k], four, most);
        else if (HNR_SIGNED(off, most))
            t[g] = hnr_p_dot_as(t[g], w[k], x, off, most);
        else {
            sum = hnr_p_pairs(w[k], x) + (in_group % run ? sum : (hnr_ls){0});
            if ((in_group + 1) % run == 0 || in_group == (groups == 2 ? 3 : 7)) t[g] += hnr_p_widen(sum);
        }
    }
}

/* The 16 columns of R rows, of which `columns` are results. */
HNR_ALWAYS void hnr_p_store(float *y, int64_t columns, int h, hnr_lf x) {
    if (columns >= h + HNR_L)
        *(hnr_lf_any *)(y + h) = x;
    else
        for (int i = 0; i < HNR_L && h + i < columns; i++) y[h + i] = x[i];
}

/* --- rows of bytes ---------------------------------------------------------------------------------------------------
 */

typedef struct hnr_packed {
    const uint8_t *w;
    const int8_t *q; /* rows of bytes, and the scale of each 32 */
    const float *d;
    const float *x; /* or rows of floats */
    float *y;
    int64_t rows, columns;
    int two; /* bytes an element of q */
} hnr_packed;

/* Asks for the SIZE bytes at p, which lie some blocks ahead: panels lie behind each other, and a processor that reads
 * ahead by itself begins anew at each page. Of several rows the next tile comes again, and wide blocks would push their
 * rows out of the first-level cache. Of a lone row they go to the second-level cache, too: what is asked for as read
 * once alone (prefetchnta) comes at half the speed on Emerald Rapids, 5.5 GB/s of q8_0 for 10.5. */
#define HNR_AHEAD(p, SIZE, R)                                                                                          \
    HNR_UNROLL for (int z = 0; z < (SIZE); z += 64) __builtin_prefetch((p) + z, 0, (R) > 1 && (SIZE) < 400 ? 3 : 2)
/* Rows whose sums of bytes grow side by side, so that an instruction need not wait for the one before. */
#define HNR_SIDE(R) (HNR_L < 16 ? 1 : (R) < 4 ? (R) : 4)
/* 128 times the sums of a block's words that have high bytes, into high[half][row][group], which is zero. w: the
 * unpacked block, of HALVES vectors of columns; q: the high bytes of the first row's block, of rows row_b bytes apart;
 * which: 8 * row
 * + word, of n words. Few have some in most blocks; in others, all. */
HNR_ALWAYS void hnr_high(hnr_li *high, int rows, int halves, const hnr_lu (*w)[8], const int8_t *q, int64_t row_b,
                         const uint8_t *which, int n, int groups, int off, int most) {
    if (n == 8 * rows) {
        _Pragma("GCC unroll 1") for (int r = 0; r < rows; r++) HNR_UNROLL for (int h = 0; h < halves; h++) {
            hnr_li t[2] = {{0}};
            hnr_p_block(t, w[h], q + r * row_b, groups, off, most);
            high[(h * rows + r) * 2] = t[0] << 7;
            if (groups == 2) high[(h * rows + r) * 2 + 1] = t[1] << 7;
        }
        return;
    }
    _Pragma("GCC unroll 1") for (int i = 0; i < n; i++) {
        const int r = rows == 1 ? 0 : which[i] / 8, k = which[i] % 8, g = groups == 2 ? k / 4 : 0;
        hnr_li x = (hnr_li){0} + *(const hnr_word *)(q + r * row_b + 4 * k);
        HNR_UNROLL for (int h = 0; h < halves; h++) high[(h * rows + r) * 2 + g] +=
            hnr_p_dot_as((hnr_li){0}, w[h][k], x, off, most) << 7;
    }
}
/* 128 times the sums of the high bytes of `rows` rows of a block, where all of their words have some: row_b apart. */
HNR_ALWAYS void hnr_p_all_high(hnr_li (*t)[2], const hnr_lu w[8], const int8_t *q, int rows, int64_t row_b, int groups,
                               int most) {
    HNR_UNROLL for (int k = 0; k < 8; k++) HNR_UNROLL for (int i = 0; i < rows; i++) {
        const int g = groups == 2 ? k / 4 : 0;
        t[i][g] = hnr_p_dot_word(t[i][g], w[k], (const hnr_word *)(q + i * row_b + 4 * k), most);
    }
    HNR_UNROLL for (int i = 0; i < rows; i++) HNR_UNROLL for (int g = 0; g < groups; g++) t[i][g] <<= 7;
}
/* The rows that had some have none again. */
HNR_ALWAYS void hnr_no_high(hnr_li *high, int rows, int halves, const uint8_t *which, int n) {
    if (n == 8 * rows || rows == 1) {
        for (int i = 0; i < 2 * rows * halves; i++) {
            high[i] = (hnr_li){0};
            __asm__("" : "+m"(high[i])); /* no instruction for long runs of bytes, which takes longer */
        }
        return;
    }
    _Pragma("GCC unroll 1") for (int i = 0; i < n; i++) for (int h = 0; h < halves; h++) {
        hnr_li *of_row = high + (h * rows + which[i] / 8) * 2;
        of_row[0] = of_row[1] = (hnr_li){0};
    }
}
/* Zeros for an array of vectors, without a call or an instruction for long runs of bytes, which take longer. */
#define HNR_P_ZERO(x)                                                                                                  \
    for (size_t z = 0; z < sizeof(x) / sizeof *(x); z++) {                                                             \
        (x)[z] = (__typeof__(*(x))){0};                                                                                \
        __asm__("" : "+m"((x)[z]));                                                                                    \
    }
/* What a group's sum of bytes t adds to a row's columns. */
HNR_ALWAYS hnr_lf hnr_p_add(hnr_lf acc, hnr_li t, hnr_lf s, float d, hnr_lf m, const float *low, int min) {
    acc = hnr_l_fma(hnr_l_float(t), s * d, acc);
    return min ? hnr_l_fma(m, hnr_l_all(*low), acc) : acc;
}

/* R rows times the 16 columns of a panel. first, low: what sums of bytes begin with, and what minima are multiplied
 * with, for each group of each row; BYTES: of a block of SUB times 32 elements; BLOCKS: of 32 elements in a row.
 * DIGITS: bytes an element of q; HIGH: whether low bytes alone are multiplied (0), high ones of some words (1) or of
 * all (2); which: those words, of full rows, block after block, of which count[block] are a block's. The sums are those
 * of integers, so that rows of which a word's high bytes are zero do not change by them. */
#define HNR_TILE_HEAD(FN, name, BLOCKS, R)                                                                             \
    static __attribute__((noinline)) void FN##_##name##_##BLOCKS##_##R(                                                \
        const uint8_t *panel, const int8_t *q, const float *d, const int32_t *first, const float *low, float *y,       \
        int64_t to_next, int64_t columns, const uint8_t *count, const uint8_t *which)
#define HNR_TILE(FN, DIGITS, HIGH, name, BLOCKS, R, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                \
    HNR_TILE_HEAD(FN, name, BLOCKS, R) {                                                                               \
        enum { SIDE = HIGH == 2 ? 2 : HNR_SIDE(R) };                                                                   \
        const uint8_t *all = which;                                                                                    \
        for (int h = 0; h < 16; h += HNR_L, which = all) {                                                             \
            hnr_lf acc[R];                                                                                             \
            hnr_li high[2 * R];                                                                                        \
            const uint8_t *p = panel;                                                                                  \
            if (HIGH == 1) HNR_P_ZERO(high)                                                                            \
            HNR_UNROLL for (int r = 0; r < R; r++) acc[r] = (hnr_lf){0};                                               \
            for (int64_t b = 0; b < BLOCKS; p += 16 * BYTES) {                                                         \
                for (int j = 0; j < SUB; j++, b++) {                                                                   \
                    hnr_lu w[1][8];                                                                                    \
                    hnr_lf s[2], m[2];                                                                                 \
                    const int n = HIGH == 1 ? count[b] : 0, all_high = n == 8 * R && !HNR_IN_16;                       \
                    hnr_un_##name(p, h, j, w[0], s, m);                                                                \
                    if (n && !all_high) {                                                                              \
                        hnr_lu v[1][8]; /* w itself stays in registers */                                              \
                        HNR_UNROLL for (int k = 0; k < 8; k++) v[0][k] = w[0][k];                                      \
                        hnr_high(high, R, 1, v, q + (BLOCKS + b) * 32, 2 * BLOCKS * 32, which, n, GROUPS, OFF, MOST);  \
                    }                                                                                                  \
                    if (h == 0) HNR_AHEAD(p + (j + 24) * (16 * BYTES / SUB), 16 * BYTES / SUB, R);                     \
                    HNR_UNROLL for (int at = 0; at < R; at += SIDE) {                                                  \
                        hnr_li t[SIDE][2] = {{{0}}}, up[SIDE][2] = {{{0}}};                                            \
                        const int8_t *low_b = q + (at * DIGITS * BLOCKS + b) * 32;                                     \
                        if (all_high)                                                                                  \
                            hnr_p_all_high(t, w[0], low_b + BLOCKS * 32, SIDE, 2 * BLOCKS * 32, GROUPS, MOST);         \
                        HNR_UNROLL for (int i = 0; i < SIDE; i++) for (int g = 0; g < GROUPS;                          \
                                                                       g++) if (OFF && !HNR_SIGNED(OFF, MOST))         \
                            t[i][g] += first[((at + i) * BLOCKS + b) * GROUPS + g];                                    \
                        if (HNR_IN_16)                                                                                 \
                            HNR_UNROLL for (int i = 0; i < SIDE; i++)                                                  \
                                hnr_p_block(t[i], w[0], low_b + i * DIGITS * BLOCKS * 32, GROUPS, OFF, MOST);          \
                        else                                                                                           \
                            HNR_UNROLL for (int k = 0; k < 8; k++) HNR_UNROLL for (int i = 0; i < SIDE; i++) {         \
                                int g = GROUPS == 2 ? k / 4 : 0;                                                       \
                                const hnr_word *four = (const hnr_word *)(low_b + i * DIGITS * BLOCKS * 32 + 4 * k);   \
                                t[i][g] = hnr_p_dot_word(t[i][g], w[0][k], four, MOST);                                \
                                if (HIGH == 2) up[i][g] = hnr_p_dot_word(up[i][g], w[0][k], four + 8 * BLOCKS, MOST);  \
                            }                                                                                          \
                        HNR_UNROLL for (int i = 0; i < SIDE; i++) HNR_UNROLL for (int g = 0; g < GROUPS; g++) {        \
                            if (n && !all_high) t[i][g] += high[(at + i) * 2 + g];                                     \
                            if (HIGH == 2) t[i][g] += up[i][g] << 7;                                                   \
                            acc[at + i] = hnr_p_add(acc[at + i], t[i][g], s[g], d[(at + i) * BLOCKS + b], m[g],        \
                                                    low + ((at + i) * BLOCKS + b) * GROUPS + g, MIN);                  \
                        }                                                                                              \
                    }                                                                                                  \
                    if (n && !all_high) hnr_no_high(high, R, 1, which, n);                                             \
                    which += n;                                                                                        \
                }                                                                                                      \
            }                                                                                                          \
            HNR_UNROLL for (int r = 0; r < R; r++) hnr_p_store(y + r * to_next, columns, h, acc[r]);                   \
        }                                                                                                              \
    }

#if HNR_L == 8
/* The same with both halves of the panel at once, so that a word of a row is brought to the lanes once, and with half
 * of the words at a time, whose bytes of 16 columns are the registers that there are. Sums of small bytes stay in 16
 * bits between the two. */
#define HNR_TILE_SMALL(FN, DIGITS, HIGH, name, BLOCKS, R, GROUPS, OFF, MIN, MOST, BYTES, SUB)                          \
    HNR_TILE_HEAD(FN, name, BLOCKS, R) {                                                                               \
        enum { RUN = 32767 / (2 * 127 * MOST), WAIT = GROUPS == 1 && RUN >= 8 };                                       \
        hnr_lf acc[2][R];                                                                                              \
        hnr_li high[4 * R];                                                                                            \
        const uint8_t *p = panel;                                                                                      \
        if (HIGH == 1) HNR_P_ZERO(high)                                                                                \
        HNR_P_ZERO(acc[0])                                                                                             \
        HNR_P_ZERO(acc[1])                                                                                             \
        for (int64_t b = 0; b < BLOCKS; p += 16 * BYTES) {                                                             \
            for (int j = 0; j < SUB; j++, b++) {                                                                       \
                hnr_lu w[2][8];                                                                                        \
                hnr_lf s[2][2], m[2][2];                                                                               \
                hnr_ls part[2][R];                                                                                     \
                hnr_li sum[2][R];                                                                                      \
                const int n = HIGH == 1 ? count[b] : 0;                                                                \
                hnr_un_##name(p, 0, j, w[0], s[0], m[0]);                                                              \
                hnr_un_##name(p, 8, j, w[1], s[1], m[1]);                                                              \
                if (HIGH) __asm__("" : "+m"(w)); /* in memory: more than there are registers */                        \
                if (n) hnr_high(high, R, 2, w, q + (BLOCKS + b) * 32, 2 * BLOCKS * 32, which, n, GROUPS, OFF, MOST);   \
                HNR_AHEAD(p + (j + 24) * (16 * BYTES / SUB), 16 * BYTES / SUB, R);                                     \
                HNR_UNROLL for (int f = 0; f < 2; f++) {                                                               \
                    const int g = GROUPS == 2 ? f : 0;                                                                 \
                    _Pragma("GCC unroll 1") for (int r = 0; r < R; r++) {                                              \
                        const int8_t *x = q + (r * DIGITS * BLOCKS + b) * 32 + 16 * f;                                 \
                        hnr_ls in[2] = {{0}};                                                                          \
                        hnr_li t[2] = {{0}};                                                                           \
                        HNR_UNROLL for (int k = 0; k < 4; k++) {                                                       \
                            hnr_li word = (hnr_li){0} + *(const hnr_word *)(x + 4 * k);                                \
                            HNR_UNROLL for (int h = 0; h < 2; h++) {                                                   \
                                in[h] = hnr_p_pairs(w[h][4 * f + k], word) + (k % RUN ? in[h] : (hnr_ls){0});          \
                                if (!WAIT && (k + 1) % (RUN < 4 ? RUN : 4) == 0) t[h] += hnr_p_widen(in[h]);           \
                            }                                                                                          \
                        }                                                                                              \
                        HNR_UNROLL for (int h = 0; h < 2; h++) {                                                       \
                            if (WAIT && f == 0) {                                                                      \
                                part[h][r] = in[h];                                                                    \
                                continue;                                                                              \
                            }                                                                                          \
                            if (WAIT) t[h] = hnr_p_widen(part[h][r] + in[h]);                                          \
                            if (GROUPS == 1 && f == 0) {                                                               \
                                sum[h][r] = t[h];                                                                      \
                                continue;                                                                              \
                            }                                                                                          \
                            if (!WAIT && GROUPS == 1) t[h] += sum[h][r];                                               \
                            if (OFF) t[h] += first[(r * BLOCKS + b) * GROUPS + g];                                     \
                            if (n) t[h] += high[(h * R + r) * 2 + g];                                                  \
                            acc[h][r] = hnr_p_add(acc[h][r], t[h], s[h][g], d[r * BLOCKS + b], m[h][g],                \
                                                  low + (r * BLOCKS + b) * GROUPS + g, MIN);                           \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
                if (n) hnr_no_high(high, R, 2, which, n);                                                              \
                which += n;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        for (int r = 0; r < R; r++)                                                                                    \
            for (int h = 0; h < 2; h++) hnr_p_store(y + r * to_next, columns, 8 * h, acc[h][r]);                       \
    }
#else
#define HNR_TILE_SMALL HNR_TILE
#endif

/* One row times four panels that lie `apart` bytes, and `step` columns, from each other: four streams bring more from
 * memory than one; panels that lie side by side bring less (Zen 3: 20, 16 and 11 GB/s of 21 that reading alone
 * reaches). The blocks that follow are asked for, too (Emerald Rapids: one stream 10 GB/s, four 10, with both 11 to
 * 13). */
#if HNR_L >= 8
/* Fewer panels are taken one by one; blocks that are asked for ahead. */
enum { HNR_FAR_PANELS = 4, HNR_FAR_LEAST = 8, HNR_FAR_AHEAD = 12 };
/* 128 times the sums of a row's words that have high bytes. */
HNR_ALWAYS void hnr_high_of_row(hnr_li t[2], const hnr_lu w[8], const int8_t *q, const uint8_t *which, int n,
                                int groups, int off, int most) {
    hnr_li sum[2] = {{0}};
    if (n == 8) {
        hnr_p_block(sum, w, q, groups, off, most);
    } else {
        hnr_lu v[8]; /* w itself stays in registers */
        HNR_UNROLL for (int k = 0; k < 8; k++) v[k] = w[k];
        _Pragma("GCC unroll 1") for (int i = 0; i < n; i++) {
            const int k = which[i] % 8;
            hnr_li x = (hnr_li){0} + *(const hnr_word *)(q + 4 * k);
            sum[groups == 2 ? k / 4 : 0] += hnr_p_dot_as((hnr_li){0}, v[k], x, off, most);
        }
    }
    t[0] += sum[0] << 7;
    if (groups == 2) t[1] += sum[1] << 7;
}
#define HNR_TILE_FAR(FN, DIGITS, name, BLOCKS, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                     \
    static __attribute__((noinline)) void FN##_far_##name##_##BLOCKS(                                                  \
        const uint8_t *panel, int64_t apart, const int8_t *q, const float *d, const int32_t *first, const float *low,  \
        float *y, int64_t step, int64_t columns, const uint8_t *count, const uint8_t *which) {                         \
        hnr_lf acc[HNR_FAR_PANELS][16 / HNR_L] = {{{0}}};                                                              \
        const uint8_t *p = panel;                                                                                      \
        for (int64_t b = 0; b < BLOCKS; p += 16 * BYTES)                                                               \
            for (int j = 0; j < SUB; j++, b++) {                                                                       \
                const int n = DIGITS == 2 ? count[b] : 0;                                                              \
                _Pragma("GCC unroll 1") for (int i = 0; i < HNR_FAR_PANELS; i++) {                                     \
                    const uint8_t *at = p + i * apart;                                                                 \
                    HNR_AHEAD(at + (j + HNR_FAR_AHEAD) * (16 * BYTES / SUB), 16 * BYTES / SUB, 1);                     \
                    HNR_UNROLL for (int h = 0; h < 16 / HNR_L; h++) {                                                  \
                        hnr_lu w[8];                                                                                   \
                        hnr_lf s[2], m[2];                                                                             \
                        hnr_li t[2] = {{0}};                                                                           \
                        hnr_un_##name(at, HNR_L *h, j, w, s, m);                                                       \
                        if (OFF && !HNR_SIGNED(OFF, MOST))                                                             \
                            HNR_UNROLL for (int g = 0; g < GROUPS; g++) t[g] += first[b * GROUPS + g];                 \
                        hnr_p_block(t, w, q + b * 32, GROUPS, OFF, MOST);                                              \
                        if (n) hnr_high_of_row(t, w, q + (BLOCKS + b) * 32, which, n, GROUPS, OFF, MOST);              \
                        HNR_UNROLL for (int g = 0; g < GROUPS; g++) acc[i][h] =                                        \
                            hnr_p_add(acc[i][h], t[g], s[g], d[b], m[g], low + b * GROUPS + g, MIN);                   \
                    }                                                                                                  \
                }                                                                                                      \
                which += n;                                                                                            \
            }                                                                                                          \
        for (int i = 0; i < HNR_FAR_PANELS; i++)                                                                       \
            for (int h = 0; h < 16 / HNR_L; h++) hnr_p_store(y + i * step, columns - i * step, HNR_L * h, acc[i][h]);  \
    }
/* Panels i to stop of a lone row, but for the few that are left; c: the number of panel i. */
#define HNR_TAKE_FAR(FN, DIGITS, name, BLOCKS, BYTES, SUB)                                                             \
    if (n == 1 && stop - i >= HNR_FAR_LEAST) {                                                                         \
        const int64_t each = (stop - i) / HNR_FAR_PANELS, panel_b = 16 * BYTES * (BLOCKS / SUB);                       \
        for (int64_t k = 0, c = i % panels; k < each; k++, c++) {                                                      \
            FN##_far_##name##_##BLOCKS(a->w + c * panel_b, each * panel_b, a->q + row * DIGITS * BLOCKS * 32,          \
                                       a->d + row * BLOCKS, first, low, a->y + row * a->columns + 16 * c, 16 * each,   \
                                       a->columns - 16 * c, high.count, high.which);                                   \
            for (int64_t z = c; DIGITS == 2 && z <= c + (HNR_FAR_PANELS - 1) * each; z += each)                        \
                HNR_FEW(FN, name, BLOCKS, a->w + z * panel_b, 1, 0, 0, z)                                              \
        }                                                                                                              \
        i += HNR_FAR_PANELS * each;                                                                                    \
    }
#else
#define HNR_TILE_FAR(...)
#define HNR_TAKE_FAR(...)
#endif

/* Tiles of R rows as long as so many are left, from row r of a group on; tile: how many tiles the group had. LOW and
 * HIGH: the tiles for rows of which none is full, or each. */
#define HNR_TAKE(FN, LOW, HIGH, DIGITS, name, BLOCKS, R, GROUPS)                                                       \
    for (; n - r >= R; r += R, tile++) {                                                                               \
        const int full = DIGITS == 2 ? high.from[tile][9] : 0;                                                         \
        (full == 0   ? LOW##_##name##_##BLOCKS##_##R                                                                   \
         : full == R ? HIGH##_##name##_##BLOCKS##_##R                                                                  \
                     : FN##_##name##_##BLOCKS##_##R)(                                                                  \
            panel, a->q + (row + r) * DIGITS * BLOCKS * 32, a->d + (row + r) * BLOCKS, first + r * BLOCKS * GROUPS,    \
            low + r * BLOCKS * GROUPS, a->y + (row + r) * a->columns + 16 * c, a->columns, a->columns - 16 * c,        \
            high.count + tile * BLOCKS, high.which + r * 8 * BLOCKS);                                                  \
        if (DIGITS == 2) HNR_FEW(FN, name, BLOCKS, panel, R, r, tile, c)                                               \
    }

/* --- high bytes of few words -----------------------------------------------------------------------------------------
 * Rows with many (HNR_IS_FULL) add them block by block inside their tiles. Of the others each word is listed, by tile
 * and by its number in its block, so that a panel's part that it meets is known when this is compiled; what it adds to
 * a row comes after the row's blocks, in the order of the list, which depends on the row alone. */
typedef struct hnr_few {
    hnr_word word;
    uint32_t at; /* 256 times the block, and the row in its tile */
    int32_t sum; /* of the word's bytes */
    float by;    /* 128 times the scale */
} hnr_few;
/* Has a row of so many blocks, with so many such words, many? */
#define HNR_IS_FULL(words, blocks) ((words) > (blocks))
enum { HNR_ROWS = 64, HNR_TILES = 8 }; /* in a group, the most */
typedef struct hnr_high_words {
    uint8_t *count, *which; /* of full rows: of each tile's blocks how many; 8 * row in the tile + word */
    hnr_few *few, *room;    /* of the others, those of row r's tile from few + r * blocks on; for a tile's */
    int32_t (*from)[10];    /* of each tile: where those of word k begin; [9]: how many full rows it has */
} hnr_high_words;
HNR_ALWAYS hnr_high_words hnr_high_in(char *scratch, int64_t blocks) {
    hnr_high_words x = {.few = (hnr_few *)(void *)scratch};
    x.room = x.few + HNR_ROWS * blocks;
    x.from = (int32_t(*)[10])(void *)(x.room + 16 * blocks);
    x.which = (uint8_t *)(x.from + HNR_TILES);
    x.count = x.which + HNR_ROWS * 8 * blocks;
    return x;
}
HNR_ALWAYS hnr_lf hnr_p_load(const float *y, int64_t columns, int h) {
    hnr_lf x = {0};
    if (columns >= h + HNR_L) return *(const hnr_lf_any *)(y + h);
    for (int i = 0; i < HNR_L && h + i < columns; i++) x[i] = y[h + i];
    return x;
}
/* The rows' sums stay side by side meanwhile: in their places they lie far apart, often at multiples of 4 KiB, which
 * makes each load wait for stores to others. Large values keep to few channels, so that a tile's rows share most words
 * of the panel; each is unpacked once. */
#define HNR_TILE_FEW(FN, name, BLOCKS, GROUPS, OFF, MOST, BYTES, SUB)                                                  \
    static __attribute__((noinline)) void FN##_few_##name##_##BLOCKS(const uint8_t *panel, const hnr_few *few,         \
                                                                     const int32_t *from, float *y, int64_t rows,      \
                                                                     int64_t to_next, int64_t columns) {               \
        hnr_lf sum[16][16 / HNR_L];                                                                                    \
        for (int64_t r = 0; r < rows; r++)                                                                             \
            HNR_UNROLL for (int h = 0; h < 16; h += HNR_L) sum[r][h / HNR_L] =                                         \
                hnr_p_load(y + r * to_next, columns, h);                                                               \
        HNR_UNROLL for (int k = 0; k < 8; k++) {                                                                       \
            const hnr_few *x = few + from[k], *end = few + from[k + 1];                                                \
            while (x < end) {                                                                                          \
                const uint32_t b = x->at >> 8;                                                                         \
                const uint8_t *p = panel + (size_t)(b / SUB) * (16 * BYTES);                                           \
                hnr_lu w[16 / HNR_L][8];                                                                               \
                hnr_lf s[16 / HNR_L][2], m[2];                                                                         \
                HNR_UNROLL for (int h = 0; h < 16; h += HNR_L)                                                         \
                    hnr_un_##name(p, h, (int)(b % SUB), w[h / HNR_L], s[h / HNR_L], m);                                \
                do {                                                                                                   \
                    const uint32_t r = x->at & 255;                                                                    \
                    HNR_UNROLL for (int h = 0; h < 16 / HNR_L; h++) {                                                  \
                        hnr_li t = (hnr_li){0} - (HNR_SIGNED(OFF, MOST) ? 0 : OFF) * x->sum;                           \
                        if (HNR_IN_16)                                                                                 \
                            t = hnr_p_dot_as(t, w[h][k], (hnr_li){0} + x->word, OFF, MOST);                            \
                        else                                                                                           \
                            t = hnr_p_dot_word(t, w[h][k], &x->word, MOST);                                            \
                        sum[r][h] = hnr_l_fma(hnr_l_float(t), s[h][GROUPS == 2 ? k / 4 : 0] * x->by, sum[r][h]);       \
                    }                                                                                                  \
                } while (++x < end && x->at >> 8 == b);                                                                \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t r = 0; r < rows; r++)                                                                             \
            HNR_UNROLL for (int h = 0; h < 16; h += HNR_L)                                                             \
                hnr_p_store(y + r * to_next, columns, h, sum[r][h / HNR_L]);                                           \
    }
/* Of a tile of R rows of a panel, number c, from row r of the group on. */
#define HNR_FEW(FN, name, BLOCKS, panel, R, r, tile, c)                                                                \
    {                                                                                                                  \
        const int32_t *from = high.from[tile];                                                                         \
        if (from[8])                                                                                                   \
            FN##_few_##name##_##BLOCKS(panel, high.few + (r)*BLOCKS, from, a->y + (row + (r)) * a->columns + 16 * (c), \
                                       R, a->columns, a->columns - 16 * (c));                                          \
    }

/* The sum of a word's bytes. */
HNR_ALWAYS int32_t hnr_sum_4(hnr_word x) {
    const uint32_t u = (uint32_t)x;
    return (int8_t)u + (int8_t)(u >> 8) + (int8_t)(u >> 16) + (int8_t)(u >> 24);
}
/* The sum of 16 bytes from -127 to 127. */
HNR_ALWAYS int32_t hnr_sum_16(const int8_t *q) {
    uint64_t x[2], even = 0;
    __builtin_memcpy(x, q, 16);
    for (int i = 0; i < 2; i++) { /* as bytes from 0 on, added up in lanes of 16 bits */
        x[i] ^= 0x8080808080808080u;
        even += (x[i] & 0x00ff00ff00ff00ffu) + (x[i] >> 8 & 0x00ff00ff00ff00ffu);
    }
    return (int32_t)(even * 0x0001000100010001u >> 48) - 16 * 128;
}
/* What a group's sum of bytes begins with, and what its minimum is multiplied with. */
HNR_ALWAYS void hnr_packed_sum(int32_t sum, float d, int off, int32_t *first, float *low) {
    *first = -off * sum;
    *low = (float)sum * d;
}
/* Of HNR_L blocks of 32 bytes, hnr_packed_sum of each group. */
HNR_ALWAYS void hnr_packed_sums_of(const int8_t *q, const float *d, int groups, int off, int32_t *first, float *low) {
    hnr_li x[8];
    hnr_lf scale = *(const hnr_lf_any *)d;
    HNR_UNROLL for (int i = 0; i < 8; i++) x[i] =
        hnr_p_dot((hnr_li){0}, (hnr_lu){0} + 0x01010101, (hnr_li)hnr_p_word((const uint8_t *)q + 4 * HNR_L * i), 1);
    HNR_UNROLL for (int n = 8; n > groups; n /= 2) HNR_UNROLL for (int i = 0; i < n / 2; i++) x[i] =
        HNR_EVEN(x[2 * i], x[2 * i + 1]) + HNR_ODD(x[2 * i], x[2 * i + 1]);
    HNR_UNROLL for (int g = 0; g < groups; g++) {
        hnr_lf by = groups == 1 ? scale : g ? hnr_l_zip_upper(scale, scale) : hnr_l_zip(scale, scale);
        *(hnr_lu_any *)(first + g * HNR_L) = (hnr_lu)(x[g] * -off);
        *(hnr_lf_any *)(low + g * HNR_L) = hnr_l_float(x[g]) * by;
    }
}
/* Of so many blocks. */
HNR_ALWAYS void hnr_packed_sums(const int8_t *q, const float *d, int64_t blocks, int groups, int off, int32_t *first,
                                float *low) {
    int64_t b = 0;
    while (b < blocks && blocks >= HNR_L) { /* the last ones with some of those before */
        if (b + HNR_L > blocks) b = blocks - HNR_L;
        hnr_packed_sums_of(q + 32 * b, d + b, groups, off, first + b * groups, low + b * groups);
        b += HNR_L;
    }
    for (; b < blocks; b++)
        for (int g = 0; g < groups; g++) {
            int32_t sum = hnr_sum_16(q + 32 * b + 16 * g) + (groups == 1 ? hnr_sum_16(q + 32 * b + 16) : 0);
            hnr_packed_sum(sum, d[b], off, first + b * groups + g, low + b * groups + g);
        }
}
/* How many of a row's words are not 0. */
HNR_ALWAYS int64_t hnr_p_words_of(const int8_t *up, int64_t blocks) {
    const uint8_t *p = (const uint8_t *)up;
    int64_t n = 0, i = 0;
    hnr_li some = {0};
    for (; i + HNR_L <= 8 * blocks; i += HNR_L) some -= hnr_p_word(p + 4 * i) != 0;
    for (int k = HNR_L; k > 1; k /= 2) some = HNR_EVEN(some, some) + HNR_ODD(some, some);
    n = some[0];
    for (; i < 8 * blocks; i++) n += ((const hnr_word *)(p + 4 * i))[0] != 0;
    return n;
}
/* A row's block b with high bytes: what is added goes by both bytes; of a row that is not full only its minima's part.
 */
HNR_ALWAYS void hnr_packed_sum_2(const int8_t *low_q, const int8_t *up, float d, int groups, int off, int full,
                                 int32_t *first, float *low) {
    int32_t half[2] = {hnr_sum_16(low_q) + 128 * hnr_sum_16(up), hnr_sum_16(low_q + 16) + 128 * hnr_sum_16(up + 16)};
    for (int g = 0; g < groups; g++) {
        int32_t keep = first[g];
        hnr_packed_sum(groups == 1 ? half[0] + half[1] : half[g], d, off, first + g, low + g);
        if (!full) first[g] = keep;
    }
}
/* Puts a tile's words in the order of their numbers in their blocks, the last three bits of `at`. */
HNR_ALWAYS void hnr_order_few(const hnr_few *in, int64_t n, hnr_few *out, int32_t from[9]) {
    int32_t next[8] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) next[in[i].at & 7]++;
    for (int k = 0; k < 8; k++) from[k] = sum, sum += next[k], next[k] = from[k];
    from[8] = sum;
    for (int64_t i = 0; i < n; i++) {
        hnr_few *x = &out[next[in[i].at & 7]++];
        *x = in[i], x->at = (in[i].at >> 12 << 8) | (in[i].at >> 3 & 31);
    }
}
/* Rows of a tile, of two bytes an element, and where what their words begin with lies. */
typedef struct hnr_tile_rows {
    const int8_t *q;
    const float *d;
    int64_t rows, blocks;
    int groups, off;
    int32_t *first;
    float *low;
} hnr_tile_rows;
/* Lists words with high bytes: all of rows that are full, and of the others those that have some. */
HNR_ALWAYS void hnr_list_high(const hnr_tile_rows *t, const uint8_t *some, const uint8_t *full, hnr_high_words to,
                              hnr_few *few) {
    int64_t n = 0;
    for (int64_t b = 0; b < t->blocks; b++) {
        const uint8_t *before = to.which;
        for (int64_t i = 0; i < t->rows; i++) {
            const int8_t *low_q = t->q + (2 * i * t->blocks + b) * 32, *up = low_q + 32 * t->blocks;
            const int64_t at = i * t->blocks + b;
            hnr_word word[8];
            if (!some[i]) continue;
            __builtin_memcpy(word, up, 32);
            for (int k = 0; full[i] && k < 8; k++) *to.which++ = (uint8_t)(8 * i + k);
            if (!(word[0] | word[1] | word[2] | word[3] | word[4] | word[5] | word[6] | word[7])) continue;
            for (int k = 0; !full[i] && k < 8; k++)
                if (word[k])
                    to.room[n++] =
                        (hnr_few){word[k], (uint32_t)(b << 12 | i << 3 | k), hnr_sum_4(word[k]), 128 * t->d[at]};
            hnr_packed_sum_2(low_q, up, t->d[at], t->groups, t->off, full[i], t->first + at * t->groups,
                             t->low + at * t->groups);
        }
        to.count[b] = (uint8_t)(to.which - before);
    }
    hnr_order_few(to.room, n, few, to.from[0]);
}
/* As hnr_packed_sums, of `rows` rows of two bytes an element, and their words with high bytes. */
HNR_ALWAYS void hnr_packed_sums_2(const int8_t *q, const float *d, int64_t rows, int64_t blocks, int groups, int off,
                                  int32_t *first, float *low, hnr_high_words high) {
    uint8_t *which = high.which;
    for (int64_t r = 0; r < rows; r++)
        hnr_packed_sums(q + r * 2 * blocks * 32, d + r * blocks, blocks, groups, off, first + r * blocks * groups,
                        low + r * blocks * groups);
    for (int64_t r = 0, size = 16; r < rows; r += size, high.count += blocks, high.from++) {
        while (size > rows - r) size /= 2;
        const hnr_tile_rows t = {q + r * 2 * blocks * 32,     d + r * blocks,           size, blocks, groups, off,
                                 first + r * blocks * groups, low + r * blocks * groups};
        uint8_t full[16], some[16];
        int n_full = 0;
        for (int64_t i = 0; i < size; i++) {
            const int64_t words = hnr_p_words_of(t.q + (2 * i + 1) * blocks * 32, blocks);
            some[i] = words > 0, full[i] = HNR_IS_FULL(words, blocks);
            n_full += full[i];
        }
        high.which = which + r * 8 * blocks;
        hnr_list_high(&t, some, full, high, high.few + r * blocks);
        high.from[0][9] = n_full;
    }
}
/* Work items: a panel for a block of HNR_ROWS rows, panels first. scratch: twice HNR_ROWS * BLOCKS * GROUPS words; with
 * two bytes an element what hnr_high_in takes. */
#define HNR_DOT_N(ONE, MAKE, MAKE_ALL, FN, TILE, LOW, HIGH, DIGITS, name, BLOCKS, GROUPS, OFF, MIN, MOST, BYTES, SUB)  \
    ONE(TILE, DIGITS, DIGITS - 1, name, BLOCKS, 1, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                 \
    HNR_TILE(TILE, DIGITS, DIGITS - 1, name, BLOCKS, 2, GROUPS, OFF, MIN, MOST, BYTES, SUB)                            \
    HNR_TILE(TILE, DIGITS, DIGITS - 1, name, BLOCKS, 4, GROUPS, OFF, MIN, MOST, BYTES, SUB)                            \
    MAKE(TILE, DIGITS, DIGITS - 1, name, BLOCKS, 8, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                \
    MAKE(TILE, DIGITS, DIGITS - 1, name, BLOCKS, 16, GROUPS, OFF, MIN, MOST, BYTES, SUB)                               \
    MAKE_ALL(MAKE, name, BLOCKS, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                                   \
    HNR_TILE_FAR(TILE, DIGITS, name, BLOCKS, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                       \
    HNR_TILE_FEW(TILE, name, BLOCKS, GROUPS, OFF, MOST, BYTES, SUB)                                                    \
    static __attribute__((noinline)) void FN##_##name##_##BLOCKS(const hnr_packed *a, int64_t begin, int64_t end,      \
                                                                 char *scratch) {                                      \
        int32_t *first = (int32_t *)(void *)scratch;                                                                   \
        float *low = (float *)(void *)(first + HNR_ROWS * BLOCKS * GROUPS);                                            \
        const hnr_high_words high =                                                                                    \
            DIGITS == 2 ? hnr_high_in((char *)(low + HNR_ROWS * BLOCKS * GROUPS), BLOCKS) : (hnr_high_words){0};       \
        const int64_t panels = (a->columns + 15) / 16;                                                                 \
        for (int64_t i = begin; i < end;) {                                                                            \
            int64_t row = i / panels * HNR_ROWS, stop = i / panels * panels + panels;                                  \
            int64_t n = a->rows - row < HNR_ROWS ? a->rows - row : HNR_ROWS;                                           \
            if (stop > end) stop = end;                                                                                \
            if (DIGITS == 2)                                                                                           \
                hnr_packed_sums_2(a->q + row * 2 * BLOCKS * 32, a->d + row * BLOCKS, n, BLOCKS, GROUPS, OFF, first,    \
                                  low, high);                                                                          \
            else if ((OFF && !HNR_SIGNED(OFF, MOST)) || MIN)                                                           \
                hnr_packed_sums(a->q + row * BLOCKS * 32, a->d + row * BLOCKS, n * BLOCKS, GROUPS, OFF, first, low);   \
            HNR_TAKE_FAR(TILE, DIGITS, name, BLOCKS, BYTES, SUB)                                                       \
            for (int64_t c = i % panels; i < stop; i++, c++) {                                                         \
                const uint8_t *panel = a->w + c * (16 * BYTES * (BLOCKS / SUB));                                       \
                int64_t r = 0, tile = 0;                                                                               \
                HNR_TAKE(TILE, LOW, HIGH, DIGITS, name, BLOCKS, 16, GROUPS)                                            \
                HNR_TAKE(TILE, TILE, TILE, DIGITS, name, BLOCKS, 8, GROUPS)                                            \
                HNR_TAKE(TILE, TILE, TILE, DIGITS, name, BLOCKS, 4, GROUPS)                                            \
                HNR_TAKE(TILE, TILE, TILE, DIGITS, name, BLOCKS, 2, GROUPS)                                            \
                HNR_TAKE(TILE, TILE, TILE, DIGITS, name, BLOCKS, 1, GROUPS)                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
/* Of 16 rows that are all full, or none of which is. */
#define HNR_NO_TILES(...)
#define HNR_ALL_TILES(MAKE, name, BLOCKS, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                          \
    MAKE(hnr_tile_low, 2, 0, name, BLOCKS, 16, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                     \
    HNR_TILE_HIGH(hnr_tile_high, 2, 2, name, BLOCKS, 16, GROUPS, OFF, MIN, MOST, BYTES, SUB)
/* Without an instruction for four products full rows have no tile of their own. */
#if defined(__AVX512VNNI__) || !defined(__AVX2__)
#define HNR_TILE_HIGH HNR_TILE
#define HNR_HIGH_TILE hnr_tile_high
#else
#define HNR_TILE_HIGH HNR_NO_TILES
#define HNR_HIGH_TILE hnr_tile_2
#endif
/* SMALL: of codecs whose bytes stay below 64. */
#define HNR_DOT(...) HNR_DOT_N(HNR_TILE, HNR_TILE, HNR_NO_TILES, hnr_dot, hnr_tile, hnr_tile, hnr_tile, 1, __VA_ARGS__)
#define HNR_DOT_2(...)                                                                                                 \
    HNR_DOT_H(HNR_TILE, HNR_TILE, HNR_ALL_TILES, hnr_dot_2, hnr_tile_2, hnr_tile_low, HNR_HIGH_TILE, 2, __VA_ARGS__)
#define HNR_DOT_SMALL(...)                                                                                             \
    HNR_DOT_N(HNR_TILE_SMALL, HNR_TILE_SMALL, HNR_NO_TILES, hnr_dot, hnr_tile, hnr_tile, hnr_tile, 1, __VA_ARGS__)
#define HNR_DOT_SMALL_2(...)                                                                                           \
    HNR_DOT_H(HNR_TILE, HNR_TILE_SMALL, HNR_ALL_TILES, hnr_dot_2, hnr_tile_2, hnr_tile_low, HNR_HIGH_TILE, 2,          \
              __VA_ARGS__)
#define HNR_DOT_H(...) HNR_DOT_N(__VA_ARGS__) /* its names are replaced first */

/* --- rows of floats --------------------------------------------------------------------------------------------------
 */

/* Four sums a block, of every fourth element, then added to the row's. */
#define HNR_TILE_F(name, BLOCKS, R, GROUPS, OFF, MIN, BYTES, SUB)                                                      \
    static __attribute__((noinline)) void hnr_tile_f_##name##_##BLOCKS##_##R(                                          \
        const uint8_t *panel, const float *x, float *y, int64_t to_next, int64_t columns) {                            \
        for (int h = 0; h < 16; h += HNR_L) {                                                                          \
            hnr_lf acc[R];                                                                                             \
            const uint8_t *p = panel;                                                                                  \
            HNR_UNROLL for (int r = 0; r < R; r++) acc[r] = (hnr_lf){0};                                               \
            for (int64_t b = 0; b < BLOCKS; p += 16 * BYTES)                                                           \
                for (int j = 0; j < SUB; j++, b++) {                                                                   \
                    hnr_lu w[8];                                                                                       \
                    hnr_lf s[2], m[2], t[4][R];                                                                        \
                    hnr_un_##name(p, h, j, w, s, m);                                                                   \
                    if (h == 0) HNR_AHEAD(p + (j + 24) * (16 * BYTES / SUB), 16 * BYTES / SUB, R);                     \
                    HNR_UNROLL for (int k = 0; k < 8; k++) HNR_UNROLL for (int i = 0; i < 4; i++) {                    \
                        hnr_lf v = HNR_VALUE(name, k, i, GROUPS, OFF, MIN);                                            \
                        HNR_UNROLL for (int r = 0; r < R; r++) {                                                       \
                            hnr_lf e = (hnr_lf){0} + x[(r * BLOCKS + b) * 32 + 4 * k + i];                             \
                            t[i][r] = k ? hnr_l_fma(v, e, t[i][r]) : v * e;                                            \
                        }                                                                                              \
                    }                                                                                                  \
                    HNR_UNROLL for (int r = 0; r < R; r++) acc[r] += (t[0][r] + t[1][r]) + (t[2][r] + t[3][r]);        \
                }                                                                                                      \
            HNR_UNROLL for (int r = 0; r < R; r++) hnr_p_store(y + r * to_next, columns, h, acc[r]);                   \
        }                                                                                                              \
    }
#define HNR_TAKE_F(name, BLOCKS, R)                                                                                    \
    for (; n - r >= R; r += R)                                                                                         \
        hnr_tile_f_##name##_##BLOCKS##_##R(panel, a->x + (row + r) * BLOCKS * 32,                                      \
                                           a->y + (row + r) * a->columns + 16 * c, a->columns, a->columns - 16 * c);
#define HNR_DOT_F(name, BLOCKS, GROUPS, OFF, MIN, MOST, BYTES, SUB)                                                    \
    HNR_TILE_F(name, BLOCKS, 1, GROUPS, OFF, MIN, BYTES, SUB)                                                          \
    HNR_TILE_F(name, BLOCKS, 4, GROUPS, OFF, MIN, BYTES, SUB)                                                          \
    static __attribute__((noinline)) void hnr_dot_f_##name##_##BLOCKS(const hnr_packed *a, int64_t begin, int64_t end, \
                                                                      char *scratch) {                                 \
        const int64_t panels = (a->columns + 15) / 16;                                                                 \
        (void)scratch;                                                                                                 \
        for (int64_t i = begin; i < end; i++) {                                                                        \
            int64_t row = i / panels * HNR_ROWS, c = i % panels, r = 0;                                                \
            int64_t n = a->rows - row < HNR_ROWS ? a->rows - row : HNR_ROWS;                                           \
            const uint8_t *panel = a->w + c * (16 * BYTES * (BLOCKS / SUB));                                           \
            HNR_TAKE_F(name, BLOCKS, 4)                                                                                \
            HNR_TAKE_F(name, BLOCKS, 1)                                                                                \
        }                                                                                                              \
    }

/* --- rows that choose a matrix ---------------------------------------------------------------------------------------
 */

/* Rows that choose one of `matrices` of matrix_b bytes by at[row]: work items are a panel of a row. DOT: one of the
 * functions above; K: elements of a row. An index out of range is reported in the error slot. */
#define HNR_CHOSEN(DOT, a, K, matrix_b, matrices, at, s, begin, end, scratch)                                          \
    for (int64_t panels = ((a).columns + 15) / 16, i = (begin); i < (end);) {                                          \
        int64_t row = i / panels, stop = (row + 1) * panels < (end) ? (row + 1) * panels : (end);                      \
        int64_t e = hnr_index((s), (int64_t)(at)[row], (matrices));                                                    \
        hnr_packed one = {(a).w + e * (matrix_b),                                                                      \
                          (a).q + row * (K) * ((a).two ? 2 : 1),                                                       \
                          (a).d + row * (K) / 32,                                                                      \
                          (a).x + row * (K),                                                                           \
                          (a).y + row * (a).columns,                                                                   \
                          1,                                                                                           \
                          (a).columns,                                                                                 \
                          (a).two};                                                                                    \
        DOT(&one, i - row * panels, stop - row * panels, scratch);                                                     \
        i = stop;                                                                                                      \
    }
