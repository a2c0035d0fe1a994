/* sketch/sketch_conv.h — what the files of the convolutions' sketch share. */
#ifndef HN_SKETCH_CONV_H
#define HN_SKETCH_CONV_H

#include "nest/nest.h"

/* What tiles prefetch, and the loops that its addresses depend on. */
typedef struct hn_conv_next {
    hn_buf weights, image; /* 0: not prefetched */
    hn_var block, item;    /* the loop over blocks of channels, and the one over items of lines */
    int64_t items, depth;  /* of the latter, of the reduction */
    int64_t rows;          /* of a tile */
} hn_conv_next;

/* The innermost loops of the tiles' reductions: loops around them that walk on where they end become one with them,
 * `steps` steps one body, and every body prefetches its share of the next block's weights and of the next item's lines.
 */
void hn_conv_finish(hn_nest *n, int64_t steps, const hn_conv_next *next);

#endif
