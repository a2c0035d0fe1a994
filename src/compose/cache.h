/* compose/cache.h — how a decoder keeps keys and values. */
#ifndef HN_CACHE_H
#define HN_CACHE_H

#include <hone/base.h>

/* How keys and values are kept: one growing tensor, or rows of a pool in blocks of HN_CACHE_BLOCK tokens. */
typedef enum hn_cache { HN_CACHE_GROWN, HN_CACHE_F32, HN_CACHE_F16, HN_CACHE_BF16, HN_CACHE_Q8 } hn_cache;
enum { HN_CACHE_BLOCK = 32 };
#define HN_CACHE_KEY                                                                                                   \
    "past.key." /* names of the pools whose blocks lie transposed, [kv heads, size, HN_CACHE_BLOCK]                    \
                 */
/* Name of the table's second size where no layer sees beyond the last W positions, with W behind it; else "blocks". */
#define HN_CACHE_WINDOW "blocks_of_window_"
/* "f32", "f16", "bf16", "q8"; NULL: HN_CACHE_GROWN. E_USAGE. */
hone_rc hn_cache_named(const char *name, hn_cache *out, hone_err *err);

#endif
