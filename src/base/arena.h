/* base/arena.h — many allocations, one free.
 *
 * Failure is sticky: after one failed allocation hn_arena_ok is false and every later call returns NULL, so a
 * builder checks once at its end. A zeroed hn_arena is an empty one.
 * Owns: its blocks.   Threads: one at a time.
 */
#ifndef HN_ARENA_H
#define HN_ARENA_H

#include <hone/base.h>

#include <stdarg.h>

typedef struct hn_arena_block hn_arena_block;
typedef struct hn_arena {
    hn_arena_block *top;
    size_t total_b;
    bool failed;
} hn_arena;
typedef struct hn_mark {
    hn_arena_block *block;
    size_t used;
} hn_mark;

/* Zeroed memory, aligned to 16 bytes; NULL on failure (sticky). n = 0 gives a valid pointer. */
void *hn_alloc(hn_arena *a, size_t n);
/* As hn_alloc for count * size with the overflow checked. */
void *hn_alloc_n(hn_arena *a, size_t count, size_t size);
char *hn_strdup(hn_arena *a, const char *s); /* NULL gives NULL */
char *hn_strndup(hn_arena *a, const char *s, size_t n);
char *hn_format(hn_arena *a, const char *fmt, ...) HONE_PRINTF(2, 3);
static inline bool hn_arena_ok(const hn_arena *a) { return !a->failed; }

/* Scratch: everything allocated after the mark is given back by the release. */
hn_mark hn_arena_mark(const hn_arena *a);
void hn_arena_release(hn_arena *a, hn_mark m);
void hn_arena_free(hn_arena *a);

/* Room for one more in a list of n elements of `size` bytes that lies in the arena: the list itself, or a copy with
 * twice the room. NULL on failure: the list stays as it is. */
void *hn_arena_grow(hn_arena *a, void *list, size_t n, size_t *room, size_t size);

#define HN_NEW(a, type) ((type *)hn_alloc((a), sizeof(type)))
#define HN_NEW_N(a, type, n) ((type *)hn_alloc_n((a), (n), sizeof(type)))

#endif
