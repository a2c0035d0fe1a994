/* space/solve.h — branch and prune over sets of parameters: the search behind constructive draws, repair, proofs of
 * emptiness and exact counts.
 *
 * A domain is a set of levels (a bitmap up to HN_SMALL_DOMAIN levels, else an interval; an interval of values for a
 * stepless float) and whether the parameter may be absent. Propagation evaluates each constraint by intervals and
 * removes the values for which it is surely false; a condition once decided fixes the absence of what is under it.
 * Owns: its domains, in its arena.   Borrows: the space.   Threads: one at a time.
 * Invariant: a domain only shrinks between a mark and the undo to it.
 */
#ifndef HN_SOLVE_H
#define HN_SOLVE_H

#include "space/space_int.h"

enum { HN_SMALL_DOMAIN = 1024 };

typedef struct hn_domain {
    uint32_t param;
    double lo, hi;        /* levels (values of a stepless float) still possible; lo > hi: none */
    uint32_t n_alive;     /* with a bitmap: how many */
    unsigned char *alive; /* per level, NULL for large domains */
    bool absent;          /* may be absent */
    bool drives;          /* a condition reads it */
} hn_domain;

typedef struct hn_trail hn_trail;

typedef struct hn_solver {
    const hone_space *space;
    hn_arena arena;
    hn_domain *var;
    size_t n_vars;
    uint32_t *var_of;              /* per parameter, UINT32_MAX outside */
    const uint32_t *rule, *cond;   /* indices into the space */
    size_t n_rules, n_conds;       /* a watcher is a rule, or n_rules + a condition */
    uint32_t *first_watch, *watch; /* watchers of a variable */
    uint32_t *queue;               /* watchers to look at again */
    bool *queued;
    size_t n_queue;
    hn_trail *trail;
    size_t n_trail, room_trail;
    double effort, limit; /* operations done; more than `limit` sets `cut` */
    bool cut, no_memory;
    uint32_t probe; /* variable for which one state is supposed, UINT32_MAX = none */
    double probe_lo, probe_hi;
    bool probe_absent;
} hn_solver;

/* Full domains for n parameters, which must be closed under the rules and conditions given. E_NOMEM. */
hone_rc hn_solver_open(const hone_space *space, const uint32_t *param, size_t n, const uint32_t *rule, size_t n_rules,
                       const uint32_t *cond, size_t n_conds, hn_solver *out, hone_err *err);
void hn_solver_close(hn_solver *z);
/* Removes impossible states; false when some domain is empty. Sets cut (and gives false) when over the limit. */
bool hn_solver_propagate(hn_solver *z);
static inline size_t hn_solver_mark(const hn_solver *z) { return z->n_trail; }
void hn_solver_undo(hn_solver *z, size_t mark);
/* Narrows a variable to one state (level NAN: absent) or to an interval without absence. */
void hn_solver_assign(hn_solver *z, uint32_t var, double level);
void hn_solver_narrow(hn_solver *z, uint32_t var, double lo, double hi);
/* Number of states left: levels (INFINITY for an interval of a stepless float) plus absence. */
double hn_domain_states(const hn_solver *z, const hn_domain *d);
static inline bool hn_domain_has(const hn_domain *d, double level) {
    return level >= d->lo && level <= d->hi && (!d->alive || d->alive[(size_t)level]);
}
/* Is the result of watcher w (see struct) the same for all values of the open variables? */
bool hn_solver_settled(const hn_solver *z, uint32_t w);

/* Finds a legal assignment of component c and writes it into the point; values of `want` (a point, may be `point`)
 * are tried first. E_EMPTY with *proved telling whether none exists; E_NOMEM. */
hone_rc hn_solve(const hone_space *space, size_t c, hn_rng *rng, const double *want, double effort, double *point,
                 bool *proved, hone_err *err);

#endif
