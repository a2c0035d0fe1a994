/* nest/device_int.h — what the rewrites of nest/device.h share. Private to nest/device*.c. */
#ifndef HN_DEVICE_INT_H
#define HN_DEVICE_INT_H

#include "nest/device.h"
#include "nest/writer.h"

enum { HN_TILE_VARS = 12, HN_TILE_UNROLLED = 32, HN_STAGES_MAX = 8 }; /* unrolled: turns of a fill, at most */

/* A tile in shared memory. */
typedef struct hn_shared_tile {
    hn_var var[HN_TILE_VARS]; /* the slowest first, as they lie in shared memory */
    int64_t extent[HN_TILE_VARS], stride[HN_TILE_VARS], size;
    int n, n_slow; /* the first n_slow: of loops inside */
} hn_shared_tile;

/* A serial loop that begins with fills by copies, taken apart. */
typedef struct hn_filled_tiles {
    hn_st loop, fills, rest; /* the loop; its fills, and what follows them */
    bool *filled;            /* buffers */
    int64_t *size;           /* of a buffer, in elements */
} hn_filled_tiles;
/* False, and nothing has changed: it is no such loop, or tiles are used elsewhere. */
bool hn_filled_tiles_take(hn_nest *n, hn_st loop, hn_filled_tiles *t, const char **why);
/* Moves every access to the tiles in the list into the stage, whose number is an index. */
void hn_filled_tiles_move(hn_nest *n, hn_st first, const hn_filled_tiles *t, hn_ix stage);
hn_st hn_list_append(hn_nest *n, hn_st list, hn_st more);
/* for j { definitions; one statement of the kind }: that statement; 0: it is something else. */
hn_st hn_moved_in(const hn_nest *n, hn_st loop, hn_st_kind kind);
/* Adds to a list of conditions those that it does not have. */
void hn_guards_add(hn_nest *n, uint32_t *count, const hn_ix **list, uint32_t n_guard, const hn_ix *guard);
/* Marks the scalars that the list uses, and what those are made of. */
void hn_list_uses(const hn_nest *n, hn_st first, bool *used);

hn_ix hn_shared_tile_address(hn_nest *n, const hn_shared_tile *t, const hn_ix *at);
/* Which element of the tile element e of its fill is: fast[0] runs fastest, in steps of `wide` elements. Gives the
 * place of the variable that runs fastest. */
int hn_shared_tile_decode(hn_nest *n, const hn_shared_tile *t, const hn_var fast[2], int64_t wide, hn_ix e, hn_ix *at);
/* for j { copy }: the widest copies that there are; 0 with the reason: x is no memory as it stands. */
hn_st hn_shared_tile_copies(hn_nest *n, const hn_shared_tile *t, hn_sv x, const hn_sharers *who, const hn_var fast[2],
                            hn_buf to, const char **why);

#endif
