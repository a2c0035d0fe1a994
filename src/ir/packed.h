/* ir/packed.h — codecs: how weights are packed that products read as they are (ir/packed.def).
 *
 * A matrix [rows, elements] of packed weights is a tensor u8 in one of two forms:
 *   rows    [rows, bytes of a row]: block after block, as model files have it;
 *   panels  [panels, 16 * bytes of a row]: 16 rows at a time, the same unit of their blocks side by side (units:
 *           packed.def), so that a lane of a vector is a row; missing rows of the last panel are zero.
 * Either has as many bytes as the file. Source of the panel: docs/packed-weights.md.
 */
#ifndef HN_PACKED_H
#define HN_PACKED_H

#include "ir/graph.h"

enum { HN_PANEL = 16, HN_UNITS_MAX = 4 };
typedef struct hn_codec {
    const char *text, *block;
    int64_t elements, size_b; /* of a block */
    void (*decode)(const uint8_t *block, float *out);
    const char *decode_name; /* in block_decode.h */
    int groups, off;
    bool min;
    uint8_t most;
    uint8_t unit[HN_UNITS_MAX][2]; /* bytes, how many; ends with 0 */
} hn_codec;

const hn_codec *hn_codec_at(size_t i);            /* NULL past the last */
const hn_codec *hn_codec_named(const char *text); /* NULL: unknown */
const hn_codec *hn_codec_of_block(const char *block_name);
const hn_codec *hn_codec_of(const hn_node *n); /* of its attribute; verified graphs always have one */
/* Of a packed_dot: are its rows bytes with scales; does it choose one of several matrices? */
bool hn_dot_of_bytes(const hn_graph *g, const hn_node *n);
bool hn_dot_chooses(const hn_graph *g, const hn_node *n);
int hn_dot_digits(const hn_graph *g, const hn_node *n);     /* bytes of an element of its rows of bytes: 1, 2 */
int64_t hn_dot_length(const hn_graph *g, const hn_node *n); /* elements that are summed; -1: not known */
/* Of a row of quantize_blocks: the rules of MODE. */
typedef enum hn_digits { HN_DIGITS_ONE, HN_DIGITS_AUTO, HN_DIGITS_TWO } hn_digits;
hn_digits hn_digits_of(const hn_node *n);

/* Bytes of a row of so many elements; 0: no whole blocks. */
int64_t hn_codec_row_b(const hn_codec *c, int64_t elements);
/* rows[n][row_b] as panels; out has ceil(n / 16) * 16 * row_b bytes. */
void hn_codec_pack(const hn_codec *c, const uint8_t *rows, int64_t n, int64_t row_b, uint8_t *out);
/* Row i of a matrix in either form (panel: 0 rows, HN_PANEL panels) as floats, exactly. */
void hn_codec_row(const hn_codec *c, const uint8_t *data, int64_t panel, int64_t row_b, int64_t i, float *out);

#endif
