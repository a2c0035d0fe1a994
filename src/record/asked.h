/* record/asked.h — rollouts.db: what models are asked for. Decay and bounds of the rows; what they mean:
 * hone/traffic.h.
 *
 * Owns: rows lie in the caller's arena.   Threads: one at a time.
 */
#ifndef HN_ASKED_H
#define HN_ASKED_H

#include "base/arena.h"

#include <hone/record.h>

typedef struct hn_asked {
    const char *kind, *size;
    double count, time_s;
} hn_asked;

/* What was there decays by its age, the rows are added, and the smallest ones beyond `most` of a kind go. */
hone_rc hn_asked_add(hone_store *s, const char *base, const hn_asked *row, size_t n, double at_s, double half_life_s,
                     unsigned most, hone_err *err);
/* By kind, the largest time first, then the largest count. */
hone_rc hn_asked_list(hone_store *s, const char *base, hn_arena *a, hn_asked **out, size_t *n, hone_err *err);

#endif
