/* quantize/rows.h — rows of a matrix from one element type to another, by several threads. */
#ifndef HN_ROWS_H
#define HN_ROWS_H

#include "ir/blocks.h"

typedef struct hn_rows {
    const hn_block_type *from, *to;
    const uint8_t *data;        /* of the whole matrix */
    uint64_t first, n, columns; /* rows first .. first + n */
    uint64_t head; /* row 2 i + k of each head of so many rows is read from its row i + k head / 2; 0: as they are */
    const float *weight; /* of the columns; NULL: all the same */
    uint32_t n_threads;
    const volatile int *stop;
    /* what comes out */
    uint8_t *out;
    double *square, *error; /* of each row: the sum of squares, and of squared errors */
    uint64_t bad_row;       /* < n: a value there cannot be held */
    uint64_t bad_column;
    float bad_value;
} hn_rows;

/* E_INTERRUPTED, E_NOMEM; a value that cannot be held is no error here: bad_row says it. The first one is the same for
 * any number of threads. */
hone_rc hn_rows_encode(hn_rows *r, hone_err *err);

#endif
