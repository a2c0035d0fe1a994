/* engine/history.h — the memory of a search: the results told, up to a bound, and the hash of every point ever
 * proposed.
 *
 * Beyond the bound a quarter of the rows is the best, half the most recent, the rest a random sample of all; every
 * point's 64-bit hash is kept, so nothing is proposed twice (two of 100,000 points share a hash with probability
 * 3e-10; then one of them is never tried).
 * Owns: everything.   Errors: E_NOMEM, nothing changed.
 */
#ifndef HN_HISTORY_H
#define HN_HISTORY_H

#include "engine/engine_int.h"

typedef enum hn_seen_state { HN_UNSEEN, HN_FORGOTTEN, HN_IS_PENDING, HN_IS_TOLD } hn_seen_state;

/* hash -> state and row; open addressing, linear probing. */
typedef struct hn_seen_points {
    uint64_t *key;
    uint32_t *value; /* state in the top 2 bits, row below; row HN_NO_ROW: not kept */
    size_t room, used;
} hn_seen_points;

enum { HN_NO_ROW = (1 << 30) - 1 };

void hn_seen_free(hn_seen_points *s);
hn_seen_state hn_seen_get(const hn_seen_points *s, uint64_t hash, uint32_t *row);
hone_rc hn_seen_put(hn_seen_points *s, uint64_t hash, hn_seen_state state, uint32_t row, hone_err *err);

void hn_history_init(hn_history *h, size_t slots, size_t m, size_t n_constraints, size_t memory_b);
void hn_history_free(hn_history *h);
/* Stores or replaces one row (y: m minimised objectives; code: of the program, 0: not known). */
hone_rc hn_history_put(hn_history *h, hn_seen_points *seen, uint64_t seed, const double *x, uint64_t hash,
                       const double *y, double violation, hone_outcome_class cls, uint64_t code, hone_err *err);

hone_rc hn_pending_add(hn_pending *p, size_t slots, const double *x, uint64_t hash, hone_err *err);
void hn_pending_remove(hn_pending *p, size_t slots, uint64_t hash);
void hn_pending_free(hn_pending *p);

#endif
