/* gguf/encode.h — floats as blocks of GGUF's element types: the other way of ir/blocks.h.
 *
 * An encoder looks for the scales (and minima) whose nearest decodable values have the least sum of squared errors,
 * each square times the weight of its column where weights are given. What it writes is never worse, in that sum, than
 * rounding with the scale that just covers the block's range. Rows and blocks do not depend on each other.
 * Threads: any number of rows at a time.
 */
#ifndef HN_ENCODE_H
#define HN_ENCODE_H

#include "ir/blocks.h"

/* Whether values can be written as this type. */
bool hn_block_encodes(const hn_block_type *t);

/* n elements (whole blocks) to n / elements blocks at out. weight: NULL, or n numbers >= 0, finite. Gives n, or the
 * number of the first element that the type cannot hold: infinite, not a number, or too large. */
size_t hn_block_encode(const hn_block_type *t, const float *x, const float *weight, size_t n, uint8_t *out);

#endif
