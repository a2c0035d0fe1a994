/* ir/blocks.h — packed element types, those of GGUF: sizes, and their values as floats.
 *
 * A row of a tensor is stored as blocks of `elements`. What decode gives is exact: the float nearest to the value that
 * the format defines where that is computed in floats as the format's reference does. Source: the table in GGUF's
 * description and ggml's description of its types; held bit for bit against the PyPI package `gguf` by tests/py.
 */
#ifndef HN_BLOCKS_H
#define HN_BLOCKS_H

#include <hone/base.h>

typedef struct hn_block_type {
    uint32_t id;
    const char *name;
    uint32_t elements, size_b;
    void (*decode)(const uint8_t *block, float *out); /* NULL: values of this type are not read */
} hn_block_type;

/* The row of a number in a file, of a name ("Q4_K"), or the i-th of all; NULL: there is none. */
const hn_block_type *hn_block_type_of(uint32_t id);
const hn_block_type *hn_block_type_named(const char *name);
const hn_block_type *hn_block_type_at(size_t i);

/* n elements (whole blocks) as floats. Data may be unaligned. The type must have a decode. */
/* n blocks of TQ1_0 as blocks of TQ2_0, with the same values. */
void hn_block_two_bits(const uint8_t *from, uint64_t n, uint8_t *out);
void hn_block_decode(const hn_block_type *t, const uint8_t *data, uint64_t n, float *out);

#endif
