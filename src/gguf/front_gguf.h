/* gguf/front_gguf.h — the front end of GGUF files. Weights of any type become f32 constants; see compose/decoder.h for
 * the graph that comes of it. */
#ifndef HN_FRONT_GGUF_H
#define HN_FRONT_GGUF_H

#include "front/front.h"

extern const hn_front hn_front_gguf;

/* The graph of a file with one more output for each matrix of a product: sum2.NAME f32[summed], the sum of the squares
 * of what it is multiplied with, column by column, over the tokens of a step. */
hone_rc hn_gguf_import_sums(const char *path, hone_graph **out, hone_err *err);

#endif
