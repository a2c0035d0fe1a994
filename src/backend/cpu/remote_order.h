/* remote_order.h — what a process that runs kernels for parity is told (runner.h): one kernel, on memory that both
 * map. Places are bytes from the start of that memory. */
#ifndef HN_REMOTE_ORDER_H
#define HN_REMOTE_ORDER_H

#include <stdint.h>

enum { HN_REMOTE_BUFFERS = 512 };
typedef struct hn_remote_order {
    int64_t size_b;             /* of the memory: it is mapped anew when that changes */
    int64_t target, kernel;     /* targets[target]->kernel[kernel] of the library */
    int64_t buffers, n_buffers; /* an array of places; negative: no buffer */
    int64_t symbols;            /* of symbol 0; the error slot in front of it */
    int64_t scratch, begin, end;
} hn_remote_order;

#endif
