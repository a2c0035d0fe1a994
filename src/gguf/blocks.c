/* blocks.c — values of GGUF's element types. One function a type decodes one block; blocks.def is their table. */
#include "gguf/blocks.h"

#include <string.h>

static float as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t u16_at(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
static uint32_t u32_at(const uint8_t *p) { return u16_at(p) | u16_at(p + 2) << 16; }

/* IEEE half to single: the exponent is moved by a multiplication with a power of two, which also normalises subnormals.
 */
static float half_at(const uint8_t *p) {
    uint32_t h = u16_at(p), sign = (h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return as_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    return as_float(sign | 0x3f800000) * (as_float(rest << 13) * 0x1p112f);
}

static void f32(const uint8_t *b, float *out) { *out = as_float(u32_at(b)); }
static void f16(const uint8_t *b, float *out) { *out = half_at(b); }
static void bf16(const uint8_t *b, float *out) { *out = as_float(u16_at(b) << 16); }

/* --- blocks of 32: the low nibble of byte j is element j, the high one element j + 16
 * --------------------------------- */

static void q4_0(const uint8_t *b, float *out) {
    float d = half_at(b);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)((b[2 + j] & 15) - 8);
        out[j + 16] = d * (float)((b[2 + j] >> 4) - 8);
    }
}

static void q4_1(const uint8_t *b, float *out) {
    float d = half_at(b), m = half_at(b + 2);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)(b[4 + j] & 15) + m;
        out[j + 16] = d * (float)(b[4 + j] >> 4) + m;
    }
}

/* The fifth bit of element j is bit j of a word in front of the nibbles. */
static int five(uint32_t high, int j, int nibble) { return nibble | (int)(high >> j & 1) << 4; }

static void q5_0(const uint8_t *b, float *out) {
    float d = half_at(b);
    uint32_t high = u32_at(b + 2);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)(five(high, j, b[6 + j] & 15) - 16);
        out[j + 16] = d * (float)(five(high, j + 16, b[6 + j] >> 4) - 16);
    }
}

static void q5_1(const uint8_t *b, float *out) {
    float d = half_at(b), m = half_at(b + 2);
    uint32_t high = u32_at(b + 4);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)five(high, j, b[8 + j] & 15) + m;
        out[j + 16] = d * (float)five(high, j + 16, b[8 + j] >> 4) + m;
    }
}

static void q8_0(const uint8_t *b, float *out) {
    float d = half_at(b);
    for (int j = 0; j < 32; j++) out[j] = d * (float)(int8_t)b[2 + j];
}

static void iq4_nl(const uint8_t *b, float *out) {
    static const int8_t value[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    float d = half_at(b);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)value[b[2 + j] & 15];
        out[j + 16] = d * (float)value[b[2 + j] >> 4];
    }
}

/* The table holds twice the values of FP4 (E2M1), so the scale is half of 2^(e - 127): below e = 2 a subnormal. */
static void mxfp4(const uint8_t *b, float *out) {
    static const int8_t value[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    float d = as_float(b[0] < 2 ? 0x00200000u << b[0] : (uint32_t)(b[0] - 1) << 23);
    for (int j = 0; j < 16; j++) {
        out[j] = d * (float)value[b[1 + j] & 15];
        out[j + 16] = d * (float)value[b[1 + j] >> 4];
    }
}

/* --- blocks of 256: sub-blocks with scales (and minima) of their own, in steps of d (and dmin)
 * ------------------------- */

/* Halves of 128; quarter s of a half has bits 2s and 2s + 1 of 32 bytes; a scale for each 16. */
static void q2_k(const uint8_t *b, float *out) {
    const uint8_t *q = b + 16;
    float d = half_at(b + 80), dmin = half_at(b + 82);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, s = i % 128 / 32, l = i % 32, scale = b[8 * half + 2 * s + l / 16];
        out[i] = d * (float)(scale & 15) * (float)(q[32 * half + l] >> 2 * s & 3) - dmin * (float)(scale >> 4);
    }
}

/* Six bits of scale j: four in bytes 0 to 7 (low nibbles, then high ones), two in bytes 8 to 11. */
static int q3_scale(const uint8_t *s, int j) {
    int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4;
    return low | (s[8 + j % 4] >> 2 * (j / 4) & 3) << 4;
}

static void q3_k(const uint8_t *b, float *out) {
    const uint8_t *high = b, *q = b + 32, *scales = b + 96;
    float d = half_at(b + 108);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, s = i % 128 / 32, l = i % 32;
        int v = (q[32 * half + l] >> 2 * s & 3) - (high[l] >> (4 * half + s) & 1 ? 0 : 4);
        out[i] = d * (float)(q3_scale(scales, 8 * half + 2 * s + l / 16) - 32) * (float)v;
    }
}

/* Six bits each of scale and minimum of sub-block j, eight of both in twelve bytes. */
static void q4_scale(const uint8_t *s, int j, int *scale, int *min) {
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
static void q45_k(const uint8_t *b, const uint8_t *high, const uint8_t *q, float *out) {
    float d = half_at(b), dmin = half_at(b + 2);
    for (int j = 0; j < 8; j++) {
        int scale, min;
        q4_scale(b + 4, j, &scale, &min);
        float step = d * (float)scale, low = dmin * (float)min;
        for (int l = 0; l < 32; l++) {
            int nibble = j % 2 ? q[32 * (j / 2) + l] >> 4 : q[32 * (j / 2) + l] & 15;
            out[32 * j + l] = step * (float)(high ? five(high[l], j, nibble & 15) : nibble) - low;
        }
    }
}

static void q4_k(const uint8_t *b, float *out) { q45_k(b, NULL, b + 16, out); }
static void q5_k(const uint8_t *b, float *out) { q45_k(b, b + 16, b + 48, out); }

static void q6_k(const uint8_t *b, float *out) {
    float d = half_at(b + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, part = i % 128 / 32, l = i % 32;
        int low = b[64 * half + 32 * (part & 1) + l] >> 4 * (part / 2) & 15;
        int q = (low | (b[128 + 32 * half + l] >> 2 * part & 3) << 4) - 32;
        out[i] = d * (float)(int8_t)b[192 + 8 * half + 2 * part + l / 16] * (float)q;
    }
}

/* --- the table
 * -------------------------------------------------------------------------------------------------------- */

static const hn_block_type types[] = {
#define HN_BLOCK(ID, NAME, ELEMENTS, BYTES, DECODE) {ID, NAME, ELEMENTS, BYTES, DECODE},
#include "gguf/blocks.def"
#undef HN_BLOCK
};

const hn_block_type *hn_block_type_at(size_t i) { return i < sizeof types / sizeof *types ? &types[i] : NULL; }

const hn_block_type *hn_block_type_of(uint32_t id) {
    const hn_block_type *t;
    for (size_t i = 0; (t = hn_block_type_at(i)); i++)
        if (t->id == id) return t;
    return NULL;
}

const hn_block_type *hn_block_type_named(const char *name) {
    const hn_block_type *t;
    for (size_t i = 0; (t = hn_block_type_at(i)); i++)
        if (!strcmp(t->name, name)) return t;
    return NULL;
}

void hn_block_decode(const hn_block_type *t, const uint8_t *data, uint64_t n, float *out) {
    for (uint64_t i = 0; i < n; i += t->elements, data += t->size_b) t->decode(data, out + i);
}
