/* blocks.c — the table of packed element types; ir/block_decode.h decodes one block of each. */
#include "ir/blocks.h"

#include "ir/block_decode.h"

#include <string.h>

/* --- the table
 * -------------------------------------------------------------------------------------------------------- */

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
