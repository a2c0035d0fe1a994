/* ir/block_decode.h — one block of each packed element type as floats: what the interpreter computes with and, carried
 * as text, what artifacts do (as ir/philox.h is). C11, little-endian bytes, no alignment. ir/blocks.def is the table.
 */
#ifndef HN_BLOCK_DECODE_H
#define HN_BLOCK_DECODE_H

#include <stdint.h>
#include <string.h>

#define HN_DEC static inline __attribute__((unused))

HN_DEC float hn_dec_as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

HN_DEC uint32_t hn_dec_u16_at(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
HN_DEC uint32_t hn_dec_u32_at(const uint8_t *p) { return hn_dec_u16_at(p) | hn_dec_u16_at(p + 2) << 16; }

/* IEEE half to single: the exponent is moved by a multiplication with a power of two, which also normalises subnormals.
 */
HN_DEC float hn_dec_half_at(const uint8_t *p) {
    uint32_t h = hn_dec_u16_at(p), sign = (h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return hn_dec_as_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    return hn_dec_as_float(sign | 0x3f800000) * (hn_dec_as_float(rest << 13) * 0x1p112f);
}

HN_DEC void hn_dec_f32(const uint8_t *b, float *out) { *out = hn_dec_as_float(hn_dec_u32_at(b)); }
HN_DEC void hn_dec_f16(const uint8_t *b, float *out) { *out = hn_dec_half_at(b); }
HN_DEC void hn_dec_bf16(const uint8_t *b, float *out) { *out = hn_dec_as_float(hn_dec_u16_at(b) << 16); }

/* --- blocks of 32: the low nibble of byte j is element j, the high one element j + 16 ----------------------------- */

HN_DEC void hn_dec_q4_0(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)((b[2 + j] & 15) - 8);
        out[j + 16] = d * (float)((b[2 + j] >> 4) - 8);
    }
}

HN_DEC void hn_dec_q4_1(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b), m = hn_dec_half_at(b + 2);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)(b[4 + j] & 15) + m;
        out[j + 16] = d * (float)(b[4 + j] >> 4) + m;
    }
}

/* The fifth bit of element j is bit j of a word in front of the nibbles. */
HN_DEC int hn_dec_five(uint32_t high, int j, int nibble) { return nibble | (int)(high >> j & 1) << 4; }

HN_DEC void hn_dec_q5_0(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b);
    uint32_t high = hn_dec_u32_at(b + 2);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)(hn_dec_five(high, j, b[6 + j] & 15) - 16);
        out[j + 16] = d * (float)(hn_dec_five(high, j + 16, b[6 + j] >> 4) - 16);
    }
}

HN_DEC void hn_dec_q5_1(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b), m = hn_dec_half_at(b + 2);
    uint32_t high = hn_dec_u32_at(b + 4);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)hn_dec_five(high, j, b[8 + j] & 15) + m;
        out[j + 16] = d * (float)hn_dec_five(high, j + 16, b[8 + j] >> 4) + m;
    }
}

HN_DEC void hn_dec_q8_0(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b);
    for (int j = 0; j < 32; j++) out[j] = d * (float)(int8_t)b[2 + j];
}

/* 32 nibbles by a table of values that are not evenly spaced. */
HN_DEC void hn_dec_uneven(float d, const uint8_t *b, float *out) {
    static const int8_t value[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)value[b[j] & 15];
        out[j + 16] = d * (float)value[b[j] >> 4];
    }
}
HN_DEC void hn_dec_iq4_nl(const uint8_t *b, float *out) { hn_dec_uneven(hn_dec_half_at(b), b + 2, out); }

/* The table holds twice the values of FP4 (E2M1), so the scale is half of 2^(e - 127): below e = 2 a subnormal. */
HN_DEC void hn_dec_mxfp4(const uint8_t *b, float *out) {
    static const int8_t value[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    float d = hn_dec_as_float(b[0] < 2 ? 0x00200000u << b[0] : (uint32_t)(b[0] - 1) << 23);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)value[b[1 + j] & 15];
        out[j + 16] = d * (float)value[b[1 + j] >> 4];
    }
}

/* --- blocks of 256: sub-blocks with scales (and minima) of their own, in steps of d (and dmin) -------------------- */

/* Halves of 128; quarter s of a half has bits 2s and 2s + 1 of 32 bytes; a scale for each 16. */
HN_DEC void hn_dec_q2_k(const uint8_t *b, float *out) {
    const uint8_t *q = b + 16;
    float d = hn_dec_half_at(b + 80), dmin = hn_dec_half_at(b + 82);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, s = i % 128 / 32, l = i % 32, scale = b[8 * half + 2 * s + l / 16];
        out[i] = d * (float)(scale & 15) * (float)(q[32 * half + l] >> 2 * s & 3) - dmin * (float)(scale >> 4);
    }
}

/* Six bits of scale j: four in bytes 0 to 7 (low nibbles, then high ones), two in bytes 8 to 11. */
HN_DEC int hn_dec_q3_scale(const uint8_t *s, int j) {
    int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4;
    return low | (s[8 + j % 4] >> 2 * (j / 4) & 3) << 4;
}

HN_DEC void hn_dec_q3_k(const uint8_t *b, float *out) {
    const uint8_t *high = b, *q = b + 32, *scales = b + 96;
    float d = hn_dec_half_at(b + 108);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, s = i % 128 / 32, l = i % 32;
        int v = (q[32 * half + l] >> 2 * s & 3) - (high[l] >> (4 * half + s) & 1 ? 0 : 4);
        out[i] = d * (float)(hn_dec_q3_scale(scales, 8 * half + 2 * s + l / 16) - 32) * (float)v;
    }
}

/* Six bits each of scale and minimum of sub-block j, eight of both in twelve bytes. */
HN_DEC void hn_dec_q4_scale(const uint8_t *s, int j, int *scale, int *min) {
    if (j < 4) {
        *scale = s[j] & 63;
        *min = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
        *min = s[j + 4] >> 4 | s[j] >> 6 << 4;
    }
}

/* Sub-blocks of 32; two of them in the nibbles of 32 bytes. `high`: 32 bytes whose bit j is the fifth of sub-block j.
 */
HN_DEC void hn_dec_q45_k(const uint8_t *b, const uint8_t *high, const uint8_t *q, float *out) {
    float d = hn_dec_half_at(b), dmin = hn_dec_half_at(b + 2);
    for (int j = 0; j < 8; j++) {
        int scale, min;
        hn_dec_q4_scale(b + 4, j, &scale, &min);
        float step = d * (float)scale, low = dmin * (float)min;
        for (int l = 0; l < 32; l++) {
            int nibble = j % 2 ? q[32 * (j / 2) + l] >> 4 : q[32 * (j / 2) + l] & 15;
            out[32 * j + l] = step * (float)(high ? hn_dec_five(high[l], j, nibble & 15) : nibble) - low;
        }
    }
}

HN_DEC void hn_dec_q4_k(const uint8_t *b, float *out) { hn_dec_q45_k(b, NULL, b + 16, out); }
HN_DEC void hn_dec_q5_k(const uint8_t *b, float *out) { hn_dec_q45_k(b, b + 16, b + 48, out); }

HN_DEC void hn_dec_q6_k(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, part = i % 128 / 32, l = i % 32;
        int low = b[64 * half + 32 * (part & 1) + l] >> 4 * (part / 2) & 15;
        int q = (low | (b[128 + 32 * half + l] >> 2 * part & 3) << 4) - 32;
        out[i] = d * (float)(int8_t)b[192 + 8 * half + 2 * part + l / 16] * (float)q;
    }
}

/* Six bits of the scale of each 32: four in bytes 4 to 7, two in bytes 2 and 3. */
HN_DEC void hn_dec_iq4_xs(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b);
    int high = b[2] | b[3] << 8;
    for (int j = 0; j < 8; j++) {
        int scale = (b[4 + j / 2] >> 4 * (j % 2) & 15) | (high >> 2 * j & 3) << 4;
        hn_dec_uneven(d * (float)(scale - 32), b + 8 + 16 * j, out + 32 * j);
    }
}

/* -1, 0 or 1, laid out as Q2_K's. */
HN_DEC void hn_dec_tq2_0(const uint8_t *b, float *out) {
    float d = hn_dec_half_at(b + 64);
    for (int i = 0; i < 256; i++) out[i] = d * (float)((b[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3) - 1);
}

/* --- blocks of 32 for codecs (ir/packed.def) ------------------------------------------------------------------------
 */

HN_DEC void hn_dec_f16_32(const uint8_t *b, float *out) {
    for (int j = 0; j < 32; j++) hn_dec_f16(b + 2 * j, out + j);
}
HN_DEC void hn_dec_bf16_32(const uint8_t *b, float *out) {
    for (int j = 0; j < 32; j++) hn_dec_bf16(b + 2 * j, out + j);
}

HN_DEC void hn_dec_n4(const uint8_t *b, float *out) {
    float d = hn_dec_as_float(hn_dec_u32_at(b)), m = hn_dec_as_float(hn_dec_u32_at(b + 4));
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)(b[8 + j] & 15) + m;
        out[j + 16] = d * (float)(b[8 + j] >> 4) + m;
    }
}
HN_DEC void hn_dec_n8(const uint8_t *b, float *out) {
    float d = hn_dec_as_float(hn_dec_u32_at(b)), m = hn_dec_as_float(hn_dec_u32_at(b + 4));
    for (int j = 0; j < 32; j++) out[j] = d * (float)b[8 + j] + m;
}

/* The block of one of 16 columns of a panel (ir/packed.h). unit: bytes and how many, up to one of no bytes. */
enum { HN_BLOCK_B_MAX = 256 };
HN_DEC void hn_dec_column(const uint8_t *panel, int64_t column, const uint8_t (*unit)[2], uint8_t out[HN_BLOCK_B_MAX]) {
    for (int u = 0; u < 4 && unit[u][0]; u++)
        for (int k = 0; k < unit[u][1]; k++, panel += 16 * unit[u][0], out += unit[u][0])
            memcpy(out, panel + column * unit[u][0], unit[u][0]);
}

/* Row i of a matrix of packed weights: panel 0: row after row, of row_b bytes; else so many rows to a panel. size_b,
 * elements: of a block. */
typedef struct hn_dec_matrix {
    const uint8_t *data;
    int64_t panel, row_b, size_b, elements;
    const uint8_t (*unit)[2];
    void (*decode)(const uint8_t *block, float *out);
} hn_dec_matrix;
HN_DEC void hn_dec_row(const hn_dec_matrix *m, int64_t i, float *out) {
    uint8_t block[HN_BLOCK_B_MAX];
    const uint8_t *at = m->panel ? m->data + i / m->panel * m->panel * m->row_b : m->data + i * m->row_b;
    for (int64_t b = 0; b < m->row_b / m->size_b; b++, out += m->elements) {
        if (m->panel) hn_dec_column(at + b * m->panel * m->size_b, i % m->panel, m->unit, block);
        m->decode(m->panel ? block : at + b * m->size_b, out);
    }
}

#endif
