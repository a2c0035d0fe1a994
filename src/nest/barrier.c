/* nest/barrier.c — barriers between what threads of a block write and what others of them read or write after it.
 *
 * One walk in the order of execution, in which every serial loop takes three turns: enough to see each access next to
 * those of the turn before and of any earlier one. What was touched since the last barrier is kept; where an access may
 * meet one of another thread (nest/apart.h), a barrier goes in front of it, or of the outermost loop that the earlier
 * access is not in.
 */
#include "nest/barrier.h"
#include "base/err.h"
#include "nest/apart.h"
#include "nest/nest_int.h"
#include "nest/ring.h"
#include "nest/threads.h"

enum { DEPTH = 64, TURNS = 3, TURNS_DEEP = 2, SERIAL_DEEP = 4 }; /* in so many loops two turns stand for any */

typedef struct moment { /* one loop around an access */
    uint32_t instance;  /* of the loop */
    int turn;
} moment;

typedef struct touch {
    hn_st st;
    hn_buf buf;
    hn_ix at;
    int64_t count; /* elements from there on */
    bool write;
    uint8_t level;
    int depth;
    const moment *path;
    hn_var thread[3]; /* variables of the group loops around, by level */
    hn_st part;       /* the role loop around, 0: none */
    bool landed;      /* a copy that a wait has ended: path is that of the wait */
    int under_way;    /* groups of copies that were committed since, plus one; 0: it is made */
} touch;

typedef struct open_loop {
    hn_st st, prev; /* prev: the statement in front of the loop, 0: it is the first of its list */
    moment m;
    bool deep; /* what was before is of any turn */
} open_loop;

typedef struct walker {
    hn_nest *n;
    hn_arena a;
    hn_threads t;
    open_loop loop[DEPTH];
    int depth, n_serial;
    touch *seen;
    uint32_t n_seen, room_seen, n_instance;
    uint32_t inserted;
    bool insert; /* else: the first one that is missing is an error */
    uint8_t *role;
    int levels; /* of the block */
    int groups; /* of copies that a wait leaves under way, at most */
    hone_err *err;
} walker;

/* Loops around the current statement in which the earlier access was, too. */
static int common(const walker *w, const touch *p) {
    int d = 0;
    while (d < w->depth && d < p->depth && p->path[d].instance == w->loop[d].m.instance) d++;
    return d;
}

/* The earlier index with the threads' variables of the later access. */
static hn_ix renamed(walker *w, const touch *p, const touch *now) {
    hn_ix *var = NULL;
    for (int k = 0; k < 3; k++) {
        if (p->thread[k] == now->thread[k] || !p->thread[k] || !now->thread[k]) continue;
        if (!var && !(var = HN_NEW_N(&w->a, hn_ix, w->n->n_var + 1))) return p->at;
        var[p->thread[k]] = hn_ix_var(w->n, now->thread[k]);
    }
    return var ? hn_ix_subst(w->n, p->at, &(hn_subst){var, NULL, w->n->n_var, 0}) : p->at;
}

/* May the access meet the earlier one, made by another thread? */
static bool meets(walker *w, const touch *p, const touch *now) {
    if (p->buf != now->buf || (!p->write && !now->write) || p->under_way) return false; /* no barrier helps there */
    if (p->part != now->part) return false;                                             /* nor there: nest/ring.h */
    hn_nest *n = w->n;
    bool same = true, alike = p->level == now->level && p->level == w->levels;
    memset(w->role, HN_VAR_FREE, n->n_var + 1u);
    for (hn_st s = 1; s < n->n_st; s++)
        if (n->st[s].kind == HN_ST_LOOP && n->st[s].loop == HN_PARALLEL) w->role[n->st[s].var] = HN_VAR_SAME;
    for (int d = 0; d < w->depth; d++) {
        const hn_stmt *s = &n->st[w->loop[d].st];
        bool shared = d < p->depth && p->path[d].instance == w->loop[d].m.instance;
        int ago = shared ? w->loop[d].m.turn - p->path[d].turn : 0;
        if (s->loop == HN_SERIAL && shared && same && !p->landed)
            w->role[s->var] = ago == 0 ? HN_VAR_SAME : ago == 1 && !w->loop[d].deep ? HN_VAR_BEFORE : HN_VAR_FREE;
        if (s->loop == HN_GROUP && alike) w->role[s->var] = HN_VAR_THREAD;
        same = same && shared && ago == 0;
    }
    return !hn_never_meet(n, w->role, alike, (hn_stretch){renamed(w, p, now), p->count},
                          (hn_stretch){now->at, now->count});
}

static hone_rc stuck(walker *w, const touch *now, const char *why) {
    static const char letter[] = {[HN_LOCAL] = 't', [HN_SHARED] = 's'};
    const hn_nbuf *b = &w->n->buf[now->buf];
    return hn_fail(w->err, HONE_E_INPUT, "loop nest, invariant 10: %s before %s '%c%u'", why,
                   now->write ? "a store to" : "a load from", letter[b->space], b->index);
}

/* A barrier in front of loop `depth` of those open, or of the statement itself. */
static hone_rc put_barrier(walker *w, int depth, hn_st at, hn_st *prev) {
    hn_st id = depth < w->depth ? w->loop[depth].st : at;
    hn_st *before = depth < w->depth ? &w->loop[depth].prev : prev;
    hn_st around = depth ? w->loop[depth - 1].st : 0;
    hn_st made = hn_nest_barrier(w->n);
    if (!made) return hn_fail(w->err, HONE_E_NOMEM, "out of memory in placing barriers");
    w->n->st[made].next = id;
    if (*before)
        w->n->st[*before].next = made;
    else if (around)
        w->n->st[around].body = made;
    else
        w->n->first = made;
    *before = made;
    w->inserted++;
    return HONE_OK;
}

/* What lies in front of the barrier is settled: all but what is inside loop `depth`. */
static void settle(walker *w, int depth) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < w->n_seen; k++)
        if (w->seen[k].under_way || common(w, &w->seen[k]) > depth) w->seen[kept++] = w->seen[k];
    w->n_seen = kept;
}

static hone_rc remember(walker *w, touch *now) {
    for (uint32_t k = 0; k < w->n_seen; k++) {
        const touch *p = &w->seen[k];
        if (p->st == now->st && p->write == now->write && p->depth == w->depth && common(w, p) == w->depth) {
            bool same = true;
            for (int d = 0; d < w->depth; d++) same &= p->path[d].turn == w->loop[d].m.turn;
            if (same) return HONE_OK;
        }
    }
    moment *path = HN_NEW_N(&w->a, moment, (uint32_t)w->depth + 1);
    if (!path || !hn_nest_grow(&w->a, (void **)&w->seen, w->n_seen, &w->room_seen, sizeof *w->seen))
        return hn_fail(w->err, HONE_E_NOMEM, "out of memory in placing barriers");
    for (int d = 0; d < w->depth; d++) path[d] = w->loop[d].m;
    now->path = path;
    now->depth = w->depth;
    w->seen[w->n_seen++] = *now;
    return HONE_OK;
}

static hone_rc touched(walker *w, hn_st id, hn_st *prev, hn_buf buf, hn_ix at, bool write) {
    touch now = {.st = id, .buf = buf, .at = at, .write = write, .depth = w->depth};
    bool copy = w->n->st[id].kind == HN_ST_COPY;
    now.under_way = copy;
    now.count = copy ? w->n->st[id].count : 1;
    int depth = -1, group = 0;
    for (int d = 0; d < w->depth; d++) {
        hn_loop_kind k = w->n->st[w->loop[d].st].loop;
        if (k == HN_GROUP || k == HN_ROLE || k == HN_PARALLEL) group = d + 1;
        if (k == HN_ROLE) now.part = w->loop[d].st;
        if (k == HN_GROUP && now.level < 3) now.thread[now.level++] = w->n->st[w->loop[d].st].var;
    }
    for (uint32_t k = 0; k < w->n_seen; k++) {
        if (!meets(w, &w->seen[k], &now)) continue;
        int d = common(w, &w->seen[k]);
        if (d > depth) depth = d;
    }
    if (depth >= 0) {
        if (now.part) return stuck(w, &now, "threads of a role pass memory to each other:");
        if (depth < group) depth = group;
        for (int d = 0; d < depth; d++) {
            const hn_stmt *s = &w->n->st[w->loop[d].st];
            bool threads = s->loop == HN_GROUP || s->loop == HN_ROLE;
            if (!threads && hn_threads_differ(w->n, &w->t, w->n->extent[s->var]))
                return stuck(w, &now, "threads pass memory to each other where some are not:");
        }
        if (!w->insert) return stuck(w, &now, "a barrier is missing");
        hone_rc rc = put_barrier(w, depth, id, prev);
        if (rc) return rc;
        settle(w, depth);
    }
    return remember(w, &now);
}

/* A group more, or no more than `most` of them: what is older is made now. */
static hone_rc count_groups(walker *w, bool commit, int64_t most) {
    moment *path = HN_NEW_N(&w->a, moment, (uint32_t)w->depth + 1);
    if (!path) return hn_fail(w->err, HONE_E_NOMEM, "out of memory in placing barriers");
    for (int d = 0; d < w->depth; d++) path[d] = w->loop[d].m;
    for (uint32_t k = 0; k < w->n_seen; k++) {
        touch *p = &w->seen[k];
        if (p->under_way && commit) p->under_way++;
        if (!p->under_way || commit || p->under_way - 1 <= most) continue;
        p->under_way = 0;
        p->landed = true;
        p->path = path;
        p->depth = w->depth;
    }
    return HONE_OK;
}

static bool is_passed(const hn_nest *n, hn_buf b) {
    return n->buf[b].space == HN_SHARED || n->buf[b].space == HN_LOCAL;
}

/* Does the list pass memory on, or order it? */
static bool is_of_use(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind == HN_ST_LOOP ? is_of_use(n, s->body) : s->kind == HN_ST_STORE ? is_passed(n, s->buf) : false)
            return true;
        if (x && x->kind == HN_SV_LOAD && is_passed(n, x->buf)) return true;
        if (s->kind == HN_ST_BARRIER || s->kind == HN_ST_COPY || s->kind == HN_ST_COMMIT || s->kind == HN_ST_WAIT)
            return true;
    }
    return false;
}

static hone_rc walk_list(walker *w, hn_st first);

static hone_rc walk_loop(walker *w, hn_st id, hn_st *prev) {
    const hn_stmt s = w->n->st[id];
    hn_ix extent = w->n->extent[s.var];
    int64_t e;
    bool deep = w->n_serial >= SERIAL_DEEP;
    int turns = s.loop != HN_SERIAL ? 1 : deep ? TURNS_DEEP : TURNS + w->groups;
    if (s.loop == HN_SERIAL && !is_of_use(w->n, s.body)) return HONE_OK;
    if (w->depth == DEPTH) return hn_fail(w->err, HONE_E_INPUT, "more than %d loops inside each other", DEPTH);
    if (hn_ix_is_int(w->n, extent, &e) && e < turns) turns = (int)e;
    bool may_skip = !hn_ix_never_negative(w->n, hn_ix_sub(w->n, extent, hn_ix_int(w->n, 1)));
    uint32_t n_before = w->n_seen;
    touch *before = may_skip ? HN_NEW_N(&w->a, touch, n_before + 1) : NULL;
    if (before && n_before) memcpy(before, w->seen, n_before * sizeof *before);
    w->loop[w->depth++] = (open_loop){id, *prev, {++w->n_instance, 0}, deep};
    w->n_serial += s.loop == HN_SERIAL;
    hone_rc rc = HONE_OK;
    for (int turn = 0; turn < turns && !rc; turn++) {
        w->loop[w->depth - 1].m.turn = turn;
        rc = walk_list(w, w->n->st[id].body);
    }
    *prev = w->loop[--w->depth].prev;
    w->n_serial -= s.loop == HN_SERIAL;
    for (uint32_t k = 0; before && k < n_before && !rc; k++) { /* where the loop takes no turn */
        bool there = false;
        for (uint32_t j = 0; j < w->n_seen && !there; j++) there = w->seen[j].path == before[k].path;
        if (there) continue;
        if (!hn_nest_grow(&w->a, (void **)&w->seen, w->n_seen, &w->room_seen, sizeof *w->seen))
            return hn_fail(w->err, HONE_E_NOMEM, "out of memory in placing barriers");
        w->seen[w->n_seen++] = before[k];
    }
    return rc;
}

static hone_rc walk_list(walker *w, hn_st first) {
    hone_rc rc = HONE_OK;
    hn_st prev = 0;
    for (hn_st id = first; id && !rc; prev = id, id = w->n->st[id].next) {
        const hn_stmt s = w->n->st[id];
        const hn_scalar *x = s.kind == HN_ST_LET ? &w->n->sv[s.value] : NULL;
        if (s.kind == HN_ST_LOOP)
            rc = walk_loop(w, id, &prev);
        else if (s.kind == HN_ST_BARRIER)
            settle(w, DEPTH);
        else if (s.kind == HN_ST_COMMIT || s.kind == HN_ST_WAIT)
            rc = count_groups(w, s.kind == HN_ST_COMMIT, s.count);
        else if (s.kind == HN_ST_COPY)
            rc = touched(w, id, &prev, s.buf, s.at, true);
        else if (x && x->kind == HN_SV_LOAD && is_passed(w->n, x->buf))
            rc = touched(w, id, &prev, x->buf, x->at, false);
        else if (s.kind == HN_ST_STORE && is_passed(w->n, s.buf))
            rc = touched(w, id, &prev, s.buf, s.at, true);
    }
    return rc;
}

static hone_rc walk(hn_nest *n, bool insert, hone_err *err) {
    if (!hn_nest_has_group(n)) return HONE_OK;
    walker w = {.n = n, .insert = insert, .err = err};
    hone_rc rc = HONE_OK;
    w.role = HN_NEW_N(&w.a, uint8_t, n->n_var + 1);
    if (!hn_nest_threads(n, &w.a, &w.t) || !w.role)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory in placing barriers");
    for (hn_st s = 1; !rc && s < n->n_st; s++) {
        if (w.t.level[s] > w.levels) w.levels = w.t.level[s];
        if (n->st[s].kind == HN_ST_WAIT && n->st[s].count > w.groups && n->st[s].count < 8)
            w.groups = (int)n->st[s].count;
    }
    if (!rc) rc = hn_nest_rings(n, err);
    if (!rc) rc = walk_list(&w, n->first);
    hn_arena_free(&w.a);
    return rc;
}

/* What points at the statement; NULL: nothing does. */
static hn_st *link_to(hn_nest *n, hn_st id) {
    if (n->first == id) return &n->first;
    for (hn_st s = 1; s < n->n_st; s++) {
        if (s != id && n->st[s].next == id) return &n->st[s].next;
        if (n->st[s].kind == HN_ST_LOOP && n->st[s].body == id) return &n->st[s].body;
    }
    return NULL;
}

/* A barrier that later ones have made needless goes. */
static void drop_needless(hn_nest *n) {
    uint32_t n_st = n->n_st;
    for (hn_st s = 1; s < n_st; s++) {
        hone_err ignored = {0};
        hn_st *link = n->st[s].kind == HN_ST_BARRIER ? link_to(n, s) : NULL;
        if (!link) continue;
        *link = n->st[s].next;
        if (walk(n, false, &ignored)) *link = s; /* the arrays stay where they are in a check */
    }
}

hone_rc hn_nest_barriers(hn_nest *n, hone_err *err) {
    uint32_t before = n->n_st;
    hone_rc rc = walk(n, true, err);
    if (!rc && n->n_st > before + 1) drop_needless(n);
    return rc;
}

hone_rc hn_nest_verify_device(hn_nest *n, const hn_machine *m, hone_err *err) {
    hone_rc rc = hn_nest_verify(n, err);
    if (!rc) rc = walk(n, false, err);
    if (rc || !m) return rc;
    hn_block_size b = hn_nest_block(n);
    int64_t shared = hn_nest_shared_b(n);
    if (m->threads && b.all > m->threads)
        return hn_fail(err, HONE_E_UNSUPPORTED, "a block of %lld threads; the device runs at most %lld",
                       (long long)b.all, (long long)m->threads);
    if (m->shared_b && shared > m->shared_b)
        return hn_fail(err, HONE_E_UNSUPPORTED, "%lld bytes of shared memory; a block of the device has at most %lld",
                       (long long)shared, (long long)m->shared_b);
    return HONE_OK;
}
