/* experiment/known.h — programs that were measured already: an open-addressing table from a program's key to the id of
 * its first measurement.
 *
 * Owns: its entries, until hn_known_free.   Threads: one at a time.   Errors: E_NOMEM only.
 */
#ifndef HN_KNOWN_H
#define HN_KNOWN_H

#include <hone/search.h>

typedef struct hn_known_entry {
    uint64_t key;
    int64_t id; /* the caller's; never 0 */
    hone_outcome outcome;
} hn_known_entry;
typedef struct hn_known {
    hn_known_entry *entry;
    size_t n, room; /* room is 0 or a power of two */
} hn_known;
const hn_known_entry *hn_known_find(const hn_known *k, uint64_t key);
/* An earlier entry with the same key is kept. */
hone_rc hn_known_add(hn_known *k, uint64_t key, int64_t id, const hone_outcome *seen, hone_err *err);
void hn_known_free(hn_known *k);
/* The key of what has this hash, in hexadecimal digits. */
uint64_t hn_key_of(const char *hash);

#endif
