/* language/kv_pool.h — blocks of keys and values: who uses which, and what is in those that are full.
 *
 * A block belongs to as many sessions as have its number in their list. One that is full, or the last of a session that
 * ends, is filed under its tokens and those in front of them, and is found again by them, also when no session has it
 * any more: until its memory is wanted. What is filed is never written again.
 */
#ifndef HN_LANGUAGE_KV_POOL_H
#define HN_LANGUAGE_KV_POOL_H

#include "compose/cache.h"

enum { HN_NO_BLOCK = -1 };

typedef struct hn_kv_block {
    int32_t users;
    uint64_t id, front; /* its own number once it is filed, never given twice; that of the block in front, 0: none */
    uint64_t used;      /* when it was last taken */
    int32_t token[HN_CACHE_BLOCK]; /* of one that is filed: -1 behind the last, where it is not full */
} hn_kv_block;

typedef struct hn_kv_pool {
    hn_kv_block *block;
    int32_t n, most; /* blocks there is memory for; as many as there may be */
    int32_t keep;    /* below so many the pool grows before a block that is filed is taken */
    uint64_t clock, next_id;
} hn_kv_pool;

/* A block without content, for one user. HN_NO_BLOCK: all are in use, or filed in a pool that is to keep them: let it
 * grow (hn_kv_grow). */
int32_t hn_kv_take(hn_kv_pool *p);
/* Makes room for n blocks. */
hone_rc hn_kv_grow(hn_kv_pool *p, int32_t n, hone_err *err);
void hn_kv_share(hn_kv_pool *p, int32_t block);
void hn_kv_give(hn_kv_pool *p, int32_t block);
/* Must it be copied before it is written? */
bool hn_kv_fixed(const hn_kv_pool *p, int32_t block);
/* Files a block of n tokens behind block `front` (HN_NO_BLOCK: it is the first), where that is filed. */
void hn_kv_file(hn_kv_pool *p, int32_t block, int32_t front, const int32_t *token, size_t n);
/* The full block of these tokens behind `front`, for one more user; HN_NO_BLOCK: there is none. */
int32_t hn_kv_find(hn_kv_pool *p, int32_t front, const int32_t *token);
/* The block behind `front` that begins with the most of these n tokens, for one more user; *n: how many they are, at
 * least `least` and fewer than a block has. */
int32_t hn_kv_find_part(hn_kv_pool *p, int32_t front, const int32_t *token, size_t least, size_t *n);
/* Nobody has a block, nothing is filed. */
void hn_kv_forget(hn_kv_pool *p);
int32_t hn_kv_used(const hn_kv_pool *p); /* blocks that a session has */

#endif
