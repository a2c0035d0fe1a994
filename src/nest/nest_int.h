/* nest/nest_int.h — what the files of this room share. */
#ifndef HN_NEST_INT_H
#define HN_NEST_INT_H

#include "nest/nest.h"

#include <string.h>

/* Makes room for one more entry of an array of the nest (fields NAME, n_NAME, room_NAME); false: out of memory. The
 * caller counts the entry. */
#define HN_ROOM(nest, name)                                                                                            \
    hn_nest_grow((nest)->a, (void **)&(nest)->name, (nest)->n_##name, &(nest)->room_##name, sizeof *(nest)->name)
bool hn_nest_grow(hn_arena *a, void **array, uint32_t n, uint32_t *room, size_t size);

/* Invariants 7 to 10, of a nest that keeps the others. */
hone_rc hn_nest_verify_threads(hn_nest *n, hone_err *err);

extern const char *const hn_pairs_name[]; /* by hn_pairs, in the text of a nest */

/* Iterations of the two loops around this list touch nothing in common. */
bool hn_loop_independent(hn_nest *n, hn_st body, const hn_var pair[2], const char **why);

#endif
