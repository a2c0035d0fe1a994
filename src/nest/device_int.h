/* nest/device_int.h — what the rewrites of nest/device.h share. Private to nest/device*.c. */
#ifndef HN_DEVICE_INT_H
#define HN_DEVICE_INT_H

#include "nest/device.h"
#include "nest/writer.h"

enum { HN_TILE_VARS = 12, HN_TILE_UNROLLED = 32 }; /* unrolled: turns of a fill, at most */

/* A tile in shared memory. */
typedef struct hn_shared_tile {
    hn_var var[HN_TILE_VARS]; /* the slowest first, as they lie in shared memory */
    int64_t extent[HN_TILE_VARS], stride[HN_TILE_VARS], size;
    int n, n_slow; /* the first n_slow: of loops inside */
} hn_shared_tile;

hn_ix hn_shared_tile_address(hn_nest *n, const hn_shared_tile *t, const hn_ix *at);
/* Which element of the tile element e of its fill is: fast[0] runs fastest, in steps of `wide` elements. Gives the
 * place of the variable that runs fastest. */
int hn_shared_tile_decode(hn_nest *n, const hn_shared_tile *t, const hn_var fast[2], int64_t wide, hn_ix e, hn_ix *at);
/* for j { copy }: the widest copies that there are; 0 with the reason: x is no memory as it stands. */
hn_st hn_shared_tile_copies(hn_nest *n, const hn_shared_tile *t, hn_sv x, const hn_sharers *who, const hn_var fast[2],
                            hn_buf to, const char **why);

#endif
