/* kv_pool.c — see kv_pool.h. Blocks are searched one by one: a block stands for as much work as a whole step over its
 * tokens.
 */
#include "language/kv_pool.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

hone_rc hn_kv_grow(hn_kv_pool *p, int32_t n, hone_err *err) {
    if (n <= p->n) return HONE_OK;
    hn_kv_block *more = realloc(p->block, (size_t)n * sizeof *more);
    if (!more) return hn_fail(err, HONE_E_NOMEM, "out of memory for %" PRId32 " blocks of keys and values", n);
    memset(more + p->n, 0, (size_t)(n - p->n) * sizeof *more);
    p->block = more;
    p->n = n;
    return HONE_OK;
}

/* What was never filed goes first, then what was used longest ago. */
int32_t hn_kv_take(hn_kv_pool *p) {
    int32_t best = HN_NO_BLOCK;
    for (int32_t i = 0; i < p->n; i++) {
        const hn_kv_block *b = &p->block[i];
        if (b->users) continue;
        if (best == HN_NO_BLOCK || (b->id ? b->used : 0) < (p->block[best].id ? p->block[best].used : 0)) best = i;
        if (!b->id) break;
    }
    if (best != HN_NO_BLOCK && p->block[best].id && p->n < p->keep) return HN_NO_BLOCK;
    if (best != HN_NO_BLOCK) p->block[best] = (hn_kv_block){.users = 1, .used = ++p->clock};
    return best;
}

void hn_kv_share(hn_kv_pool *p, int32_t block) {
    p->block[block].users++;
    p->block[block].used = ++p->clock;
}

void hn_kv_give(hn_kv_pool *p, int32_t block) { p->block[block].users--; }

bool hn_kv_fixed(const hn_kv_pool *p, int32_t block) { return p->block[block].users > 1 || p->block[block].id; }

void hn_kv_file(hn_kv_pool *p, int32_t block, int32_t front, const int32_t *token, size_t n) {
    hn_kv_block *b = &p->block[block];
    if (b->id || (front != HN_NO_BLOCK && !p->block[front].id)) return;
    b->front = front == HN_NO_BLOCK ? 0 : p->block[front].id;
    b->id = ++p->next_id;
    for (size_t i = 0; i < HN_CACHE_BLOCK; i++) b->token[i] = i < n ? token[i] : -1;
}

int32_t hn_kv_find(hn_kv_pool *p, int32_t front, const int32_t *token) {
    uint64_t id = front == HN_NO_BLOCK ? 0 : p->block[front].id;
    if (front != HN_NO_BLOCK && !id) return HN_NO_BLOCK;
    for (int32_t i = 0; i < p->n; i++) {
        hn_kv_block *b = &p->block[i];
        if (!b->id || b->front != id || memcmp(b->token, token, sizeof b->token) != 0) continue;
        hn_kv_share(p, i);
        return i;
    }
    return HN_NO_BLOCK;
}

int32_t hn_kv_find_part(hn_kv_pool *p, int32_t front, const int32_t *token, size_t least, size_t *n) {
    uint64_t id = front == HN_NO_BLOCK ? 0 : p->block[front].id;
    size_t most = *n < HN_CACHE_BLOCK ? *n : HN_CACHE_BLOCK - 1;
    int32_t best = HN_NO_BLOCK;
    *n = least - 1;
    for (int32_t i = 0; i < p->n && (front == HN_NO_BLOCK || id); i++) {
        const hn_kv_block *b = &p->block[i];
        size_t same = 0;
        if (!b->id || b->front != id) continue;
        while (same < most && b->token[same] == token[same]) same++;
        if (same > *n) best = i, *n = same;
    }
    if (best != HN_NO_BLOCK) hn_kv_share(p, best);
    return best;
}

void hn_kv_forget(hn_kv_pool *p) {
    if (p->n) memset(p->block, 0, (size_t)p->n * sizeof *p->block);
}

int32_t hn_kv_used(const hn_kv_pool *p) {
    int32_t n = 0;
    for (int32_t i = 0; i < p->n; i++) n += p->block[i].users > 0;
    return n;
}
