/* encode.c — the table of encoders; rows become blocks. */
#include "gguf/encode_int.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

/* Below 2^-14 the addition of 0.5 rounds to the subnormals' step; above, half a step is added to the bits. */
uint16_t hn_half_of(float x) {
    uint32_t b = bits_of(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
    if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (a < 0x38800000) return (uint16_t)(sign | (bits_of(fabsf(x) + 0.5f) - 0x3f000000));
    a += 0xfff + (a >> 13 & 1);
    return (uint16_t)(sign | (a - 0x38000000) >> 13);
}

float hn_half_value(uint16_t h) {
    float out;
    uint8_t b[2];
    hn_put_u16(b, h);
    hn_block_decode(hn_block_type_named("F16"), b, 1, &out);
    return out;
}

static void f32(const float *x, const float *w, uint8_t *out) {
    uint32_t b = bits_of(*x);
    (void)w;
    hn_put_u16(out, b & 0xffff);
    hn_put_u16(out + 2, b >> 16);
}

static void f16(const float *x, const float *w, uint8_t *out) {
    (void)w;
    hn_put_u16(out, hn_half_of(*x));
}

static void bf16(const float *x, const float *w, uint8_t *out) {
    uint32_t b = bits_of(*x);
    (void)w;
    hn_put_u16(out, (b + 0x7fff + (b >> 16 & 1)) >> 16);
}

/* REACH: the largest value, in largest halves, that the type is sure to hold; 0: what is too large decodes to infinity.
 */
static const struct encoder {
    const char *type; /* a row of blocks.def */
    float reach;
    hn_encode_block *encode;
} encoders[] = {
    {"F32", 0, f32},
    {"F16", 0, f16},
    {"BF16", 0, bf16},
    {"Q4_0", 8, hn_encode_q4_0},
    {"Q4_1", 1, hn_encode_q4_1},
    {"Q5_0", 16, hn_encode_q5_0},
    {"Q5_1", 1, hn_encode_q5_1},
    {"Q8_0", 127, hn_encode_q8_0},
    {"Q4_K", 63, hn_encode_q4_k},
    {"Q5_K", 63, hn_encode_q5_k},
    {"Q6_K", 32 * 127, hn_encode_q6_k},
};

static const struct encoder *encoder_of(const hn_block_type *t) {
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++)
        if (!strcmp(encoders[i].type, t->name)) return &encoders[i];
    return NULL;
}

bool hn_block_encodes(const hn_block_type *t) { return encoder_of(t) != NULL; }

enum { MOST = 256 }; /* elements of a block */

/* Weights of a block, of mean 1; all 1 where none is given, or none is positive. */
static void weights_of(const float *weight, size_t n, float *out) {
    double sum = 0;
    for (size_t i = 0; weight && i < n; i++) sum += (double)weight[i];
    for (size_t i = 0; i < n; i++) out[i] = sum > 0 ? (float)((double)weight[i] * ((double)n / sum)) : 1;
}

/* The first element that is infinite or not a number; n: none is. */
static size_t first_bad(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(x[i]) <= 3.4028235e38f)) return i;
    return n;
}

static size_t largest(const float *x, size_t n) {
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        if (fabsf(x[i]) > fabsf(x[at])) at = i;
    return at;
}

static size_t encode_block(const hn_block_type *t, const struct encoder *e, const float *x, const float *weight,
                           uint8_t *out) {
    float w[MOST], back[MOST];
    size_t n = t->elements, bad = first_bad(x, n), big = largest(x, n);
    if (bad < n) return bad;
    if (e->reach > 0 && fabsf(x[big]) > e->reach * 65504) return big;
    w[0] = 1;
    weights_of(weight, n, w);
    e->encode(x, w, out);
    t->decode(out, back);
    return first_bad(back, n) < n ? big : n;
}

size_t hn_block_encode(const hn_block_type *t, const float *x, const float *weight, size_t n, uint8_t *out) {
    const struct encoder *e = encoder_of(t);
    for (size_t i = 0; i < n; i += t->elements, out += t->size_b) {
        size_t at = encode_block(t, e, x + i, weight ? weight + i : NULL, out);
        if (at < t->elements) return i + at;
    }
    return n;
}
