/* base/names.h — a hash table from names to pointers. Keys are borrowed; the table lives in an arena, whose failure is
 * sticky, so that a builder checks once. A zeroed hn_names is an empty one. */
#ifndef HN_NAMES_H
#define HN_NAMES_H

#include "base/arena.h"

typedef struct hn_name_slot {
    const char *key;
    void *value;
} hn_name_slot;
typedef struct hn_names {
    hn_name_slot *slot;
    size_t n, room;
} hn_names;

void *hn_names_get(const hn_names *t, const char *key);                    /* NULL when absent */
bool hn_names_put(hn_names *t, hn_arena *a, const char *key, void *value); /* false: it is there already */

#endif
