/* reduce/parts.h — what a winner sets other than the baseline: its parts, each of which can be reset by itself.
 *
 * A part is a parameter that is active at the winner and whose value differs from the one it is reset to: the
 * baseline's value where it is active there; where it belongs to another compiler, the value that the baseline gives to
 * the control of the same name; else its default.
 */
#ifndef HN_PARTS_H
#define HN_PARTS_H

#include "base/arena.h"

#include <hone/space.h>

typedef struct hn_parts {
    const hone_space *space;
    const double *winner; /* canonical */
    double *back;         /* values to go back to; NAN: absent, or the default where it must be present */
    size_t n;
    size_t *param;  /* index into the space */
    size_t *parent; /* an earlier part without which this one is inactive, or SIZE_MAX */
} hn_parts;

/* prefix: of the compilers, n of them. All is in the arena; winner and space are borrowed. */
hone_rc hn_parts_find(const hone_space *space, const double *base, const double *winner, const char *const *prefix,
                      size_t n_prefixes, hn_arena *a, hn_parts *out, hone_err *err);
/* The canonical point of a subset of the parts. */
void hn_parts_point(const hn_parts *p, const bool *keep, double *point);

#endif
