/* nest/interp_roles.c — roles side by side: each on a stack of its own, one of them at a time, until it waits at a gate
 * whose phase is not over; then the next one goes on.
 *
 * Order between roles: vector clocks. A role counts its arrivals; at the end of a phase those that wait for it have
 * seen all that its arrivals had. Within a role threads run in lockstep, as anywhere.
 */
#include "nest/interp_int.h"
#include "nest/threads.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 64 };

typedef struct slot {
    int64_t phase, arrived;
    uint32_t seen[HN_RUN_ROLES], next[HN_RUN_ROLES]; /* what the last phase told; what this one will */
} slot;

typedef struct role {
    struct hn_run_roles *all;
    hn_st st;
    int number; /* from 1 */
    int64_t base, threads;
    bool done, waits;
    uint32_t seen[HN_RUN_ROLES]; /* clocks of the others that come before; its own */
    pthread_t stack;
} role;

/* What of the run belongs to the role. */
typedef struct place {
    hn_run_loop loop[HN_RUN_DEPTH];
    int depth, role;
    const uint8_t *mask;
    int64_t mask_lanes, threads, block, base;
    int32_t n_group;
    hn_st at;
} place;

typedef struct hn_run_roles {
    hn_run_state *s;
    const place *start; /* where all of them begin */
    role r[HN_RUN_ROLES];
    int n;
    slot (*gate)[SLOTS]; /* by buffer */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn; /* whose: index into r; -1: none's, all are done */
    hone_rc rc;
} roles;

uint32_t hn_run_clock(const hn_run_state *s) { return s->role ? s->roles->r[s->role - 1].seen[s->role - 1] : 0; }
bool hn_run_may_see(const hn_run_state *s, int of, uint32_t clock) {
    return clock <= s->roles->r[s->role - 1].seen[of - 1];
}

/* -- turns */
/* The next role that is not done and, with ready, does not wait; -1: there is none. */
static int next_of(const roles *a, int after, bool ready) {
    for (int k = 1; k <= a->n; k++) {
        const role *r = &a->r[(after + k) % a->n];
        if (!r->done && !(ready && r->waits)) return (after + k) % a->n;
    }
    return -1;
}

static void give_turn(roles *a, int to) {
    a->turn = to;
    pthread_cond_broadcast(&a->changed);
}

static void take_turn(roles *a, int me) {
    while (a->turn != me) pthread_cond_wait(&a->changed, &a->lock);
}

static void keep(place *p, const hn_run_state *s) {
    memcpy(p->loop, s->loop, sizeof p->loop);
    p->depth = s->depth, p->role = s->role, p->mask = s->mask, p->mask_lanes = s->mask_lanes;
    p->threads = s->threads, p->block = s->block, p->base = s->base, p->n_group = s->n_group, p->at = s->at;
}
static void put_back(const place *p, hn_run_state *s) {
    memcpy(s->loop, p->loop, sizeof p->loop);
    s->depth = p->depth, s->role = p->role, s->mask = p->mask, s->mask_lanes = p->mask_lanes;
    s->threads = p->threads, s->block = p->block, s->base = p->base, s->n_group = p->n_group, s->at = p->at;
}

/* Others go on; false: no one can. */
static bool let_others(roles *a, hn_run_state *s) {
    int me = s->role - 1, to = next_of(a, me, true);
    if (to < 0 || to == me) return false;
    place *here = malloc(sizeof *here);
    if (!here) return false;
    keep(here, s);
    give_turn(a, to);
    take_turn(a, me);
    put_back(here, s);
    free(here);
    return true;
}

static void *run_role(void *arg) {
    role *r = arg;
    roles *a = r->all;
    int me = r->number - 1;
    pthread_mutex_lock(&a->lock);
    take_turn(a, me);
    hn_run_state *s = a->s;
    put_back(a->start, s);
    s->role = r->number, s->base = r->base, s->block = r->threads, s->n_group = 0;
    const hn_stmt x = s->n->st[r->st];
    hone_rc rc = a->rc ? a->rc : hn_run_lanes_of(s, &x);
    if (!a->rc) a->rc = rc;
    r->done = true;
    for (int k = 0; a->rc && k < a->n; k++) a->r[k].waits = false; /* they end */
    int to = next_of(a, me, true);
    give_turn(a, to < 0 ? next_of(a, me, false) : to);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* -- gates */
static hone_rc slot_of(hn_run_state *s, const hn_stmt *x, slot **out, int64_t *number) {
    int64_t at, size = 0;
    hone_rc rc = hn_run_index(s, x->at, 0, &at);
    if (rc) return rc;
    if (!hn_dim_is_int(s->n->dims, s->n->buf[x->buf].size, &size) || at < 0 || at >= size)
        return hn_run_wrong(s, "is at slot %lld of a gate that has %lld", (long long)at, (long long)size);
    *out = &s->roles->gate[x->buf][at];
    *number = (int64_t)x->buf * SLOTS + at + 1;
    return HONE_OK;
}

static void take_clocks(uint32_t *to, const uint32_t *from) {
    for (int k = 0; k < HN_RUN_ROLES; k++)
        if (from[k] > to[k]) to[k] = from[k];
}

hone_rc hn_run_arrive(hn_run_state *s, const hn_stmt *x) {
    slot *g;
    int64_t number;
    roles *a = s->roles;
    hone_rc rc = slot_of(s, x, &g, &number);
    if (rc) return rc;
    role *r = &a->r[s->role - 1];
    for (uint32_t k = 0; x->count && k < s->n_way; k++)
        if (s->way[k].role == s->role && !s->way[k].gate)
            s->way[k].gate = number, s->way[k].clock = r->seen[s->role - 1];
    take_clocks(g->next, r->seen);
    r->seen[s->role - 1]++;
    g->arrived += s->threads; /* once for all lanes */
    if (g->arrived > hn_gate_arrivals(s->n, x->buf)) return hn_run_wrong(s, "comes more often than once in a phase");
    if (g->arrived < hn_gate_arrivals(s->n, x->buf)) return HONE_OK;
    hn_run_land(s, number);
    memcpy(g->seen, g->next, sizeof g->seen);
    memset(g->next, 0, sizeof g->next);
    g->arrived = 0;
    g->phase++;
    for (int k = 0; k < a->n; k++) a->r[k].waits = false;
    return HONE_OK;
}

hone_rc hn_run_await(hn_run_state *s, const hn_stmt *x) {
    slot *g;
    int64_t number, odd;
    roles *a = s->roles;
    hone_rc rc = slot_of(s, x, &g, &number);
    if (!rc) rc = hn_run_index(s, x->from_at[0], 0, &odd);
    if (rc) return rc;
    if (odd != 0 && odd != 1) return hn_run_wrong(s, "is for phase %lld, neither 0 nor 1", (long long)odd);
    role *r = &a->r[s->role - 1];
    while ((g->phase & 1) == odd) {
        r->waits = true;
        if (!let_others(a, s)) return hn_run_wrong(s, "never ends: all roles wait for each other");
        if (a->rc) return a->rc;
    }
    r->waits = false;
    take_clocks(r->seen, g->seen);
    return HONE_OK;
}

/* -- all of them */
static int gather(roles *a, hn_st first, hn_st *last) {
    hn_run_state *s = a->s;
    int64_t base = 0, e = 1;
    for (hn_st id = first; id && s->n->st[id].kind == HN_ST_LOOP && s->n->st[id].loop == HN_ROLE;
         *last = id, id = s->n->st[id].next) {
        if (a->n == HN_RUN_ROLES) return -1;
        role *r = &a->r[a->n++];
        hn_ix_is_int(s->n, s->n->extent[s->n->st[id].var], &e);
        *r = (role){.all = a, .st = id, .number = a->n, .base = base, .threads = e * hn_role_threads(s->n, id)};
        r->seen[a->n - 1] = 1;
        base += r->threads;
    }
    return a->n;
}

static hone_rc run_all(roles *a) {
    place *here = malloc(sizeof *here);
    int started = 0;
    if (!here) return hn_fail(a->s->err, HONE_E_NOMEM, "out of memory in running a loop nest");
    keep(here, a->s);
    a->start = here;
    a->turn = -1;
    while (started < a->n && !pthread_create(&a->r[started].stack, NULL, run_role, &a->r[started])) started++;
    pthread_mutex_lock(&a->lock);
    if (started < a->n) a->rc = hn_fail(a->s->err, HONE_E_NOMEM, "no thread for a role of a loop nest");
    a->n = started;
    give_turn(a, started ? 0 : -1);
    pthread_mutex_unlock(&a->lock);
    for (int k = 0; k < started; k++) pthread_join(a->r[k].stack, NULL);
    put_back(here, a->s);
    free(here);
    return a->rc;
}

hone_rc hn_run_side_by_side(hn_run_state *s, hn_st first, hn_st *last) {
    roles a = {.s = s, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    a.gate = calloc(s->n->n_buf + 1u, sizeof *a.gate);
    hone_rc rc;
    if (!a.gate)
        rc = hn_fail(s->err, HONE_E_NOMEM, "out of memory in running a loop nest");
    else if (gather(&a, first, last) < 0)
        rc = hn_fail(s->err, HONE_E_UNSUPPORTED, "more than %d role loops side by side", HN_RUN_ROLES);
    else {
        s->roles = &a;
        rc = run_all(&a);
        s->roles = NULL;
    }
    free(a.gate);
    return rc;
}
