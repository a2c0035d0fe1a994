/* nest/apart.h — may two accesses of one buffer touch the same element from two different threads?
 *
 * The indices are compared as sums: what is the same for both goes, the rest is cut at the greatest coefficients into
 * parts that must be 0 each (positional numbers), until every thread's digit stands alone.
 */
#ifndef HN_NEST_APART_H
#define HN_NEST_APART_H

#include "nest/nest.h"

typedef enum hn_role_of_var {
    HN_VAR_FREE,   /* has any value in either access */
    HN_VAR_SAME,   /* has one value in both */
    HN_VAR_BEFORE, /* the first access was one turn of this loop earlier */
    HN_VAR_THREAD  /* tells the threads from each other */
} hn_role_of_var;

/* Provably none: role[v] of every variable. first was made before second. known: each access is that of the thread that
 * the variables tell; else only the elements decide. */
typedef struct hn_stretch { /* elements at … at + count - 1 */
    hn_ix at;
    int64_t count;
} hn_stretch;
bool hn_never_meet(hn_nest *n, const uint8_t *role, bool known, hn_stretch first, hn_stretch second);

#endif
