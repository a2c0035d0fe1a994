/* blocks.c — the table of packed element types; ir/block_decode.h decodes one block of each. */
#include "ir/blocks.h"

#include "ir/block_decode.h"

#include <string.h>

/* --- TQ1_0: digits to the base 3, which no product reads: they become TQ2_0's, of two bits ------------------------ */

/* Digit t (0 is the first) of a byte, which is a fraction. */
static int digit(int byte, int t) {
    static const int power[5] = {1, 3, 9, 27, 81};
    return (byte * power[t] & 255) * 3 >> 8;
}

/* Five digits a byte: 32 bytes, then 16, all their first digits in front; then four bytes of four. */
static int ternary(const uint8_t *b, int i) {
    if (i < 160) return digit(b[i % 32], i / 32);
    if (i < 240) return digit(b[32 + i % 16], (i - 160) / 16);
    return digit(b[48 + i % 4], (i - 240) / 4);
}

void hn_block_two_bits(const uint8_t *from, uint64_t n, uint8_t *out) {
    for (uint64_t k = 0; k < n; k++, from += 54, out += 66) {
        memset(out, 0, 64);
        for (int i = 0; i < 256; i++) out[32 * (i / 128) + i % 32] |= (uint8_t)(ternary(from, i) << 2 * (i % 128 / 32));
        memcpy(out + 64, from + 52, 2);
    }
}

static void hn_dec_tq1_0(const uint8_t *b, float *out) {
    uint8_t two[66];
    hn_block_two_bits(b, 1, two);
    hn_dec_tq2_0(two, out);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const hn_block_type types[] = {
#define HN_BLOCK(ID, NAME, ELEMENTS, BYTES, DECODE) {ID, NAME, ELEMENTS, BYTES, DECODE},
#include "ir/blocks.def"
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
