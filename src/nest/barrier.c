/* nest/barrier.c — barriers between what threads of a block write and what others of them read or write after it.
 *
 * One walk in the order of execution, in which every serial loop takes three turns: enough to see each access next to
 * those of the turn before and of any earlier one. What was touched since the last barrier is kept; where an access may
 * meet one of another thread (nest/apart.h), a barrier goes in front of it, or of the outermost loop that the earlier
 * access is not in. What pushes write meets accesses of other blocks of the cluster: then it is a barrier of the
 * cluster.
 */
#include "nest/barrier.h"
#include "base/err.h"
#include "nest/apart.h"
#include "nest/nest_int.h"
#include "nest/ring.h"
#include "nest/threads.h"

enum {
    DEPTH = 64,
    TURNS = 3,
    TURNS_DEEP = 2,
    SERIAL_DEEP = 4,
    INNER = 6
}; /* in so many loops two turns stand for any */

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
    hn_var thread[3];    /* variables of the group loops around, by level */
    hn_st part;          /* the role loop around, 0: none */
    bool landed;         /* a copy that a wait has ended: path is that of the wait */
    int under_way;       /* groups of copies that were committed since, plus one; 0: it is made */
    bool push;           /* a write to the other blocks of the cluster */
    bool settled;        /* behind it was a barrier of the block: other blocks alone may meet it */
    hn_var inner[INNER]; /* variables of the loops around that are inside of the threads', the outermost first */
    hn_var turn;         /* of the outermost serial one of those, 0: none */
    int n_inner;
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
    bool *pushed; /* buffer: other blocks write to it */
    hn_var block; /* of the cluster loop; 0: there is none */
    int levels;   /* of the block */
    int groups;   /* of copies that a wait leaves under way, at most */
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

/* Does the index depend on a thread, or on a loop that is not the one over turns around either access? */
static bool uses_more(const walker *w, hn_ix i, const touch *p, const touch *now) {
    for (hn_var v = 1; v < w->n->n_var; v++)
        if (v != p->turn && v != now->turn && hn_ix_uses(w->n, i, v)) return true;
    return false;
}

/* A push, and a copy or a push to the same places of a tile, in the same loops, but perhaps of another stage: a thread
 * pushes what it has copied itself, and each block a part of its own. */
static bool is_of_one_fill(walker *w, const touch *p, const touch *now) {
    hn_nest *n = w->n;
    bool copied = n->st[p->st].kind == HN_ST_PUSH || n->st[p->st].kind == HN_ST_COPY;
    if (n->st[now->st].kind != HN_ST_PUSH || !copied || p->count != now->count || !hn_ix_uses(n, now->at, w->block))
        return false;
    if (p->n_inner == INNER || now->n_inner == INNER) return false;
    hn_ix *var = HN_NEW_N(&w->a, hn_ix, n->n_var + 1u);
    if (!var) return false;
    for (int k = 0; k < 3; k++)
        if (p->thread[k] && now->thread[k]) var[p->thread[k]] = hn_ix_var(n, now->thread[k]);
    for (int i = p->n_inner, j = now->n_inner; i > 0 && j > 0;)
        i--, j--, var[p->inner[i]] = hn_ix_var(n, now->inner[j]);
    return !uses_more(w, hn_ix_sub(n, now->at, hn_ix_subst(n, p->at, &(hn_subst){var, NULL, n->n_var, 0})), p, now);
}

/* May the access meet the earlier one, made by another thread? */
static bool meets(walker *w, const touch *p, const touch *now) {
    if (p->buf != now->buf || (!p->write && !now->write) || p->under_way) return false; /* no barrier helps there */
    if (p->part != now->part) return false;                                             /* nor there: nest/ring.h */
    hn_nest *n = w->n;
    bool across = p->push || now->push;
    bool same = true, alike = p->level == now->level && p->level == w->levels && !across;
    if ((p->settled && !across) || is_of_one_fill(w, p, now)) return false;
    memset(w->role, HN_VAR_FREE, n->n_var + 1u);
    if (!across) w->role[w->block] = HN_VAR_SAME;
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

static hone_rc stuck(walker *w, const touch *now, int invariant, const char *why) {
    static const char letter[] = {[HN_LOCAL] = 't', [HN_SHARED] = 's'};
    const hn_nbuf *b = &w->n->buf[now->buf];
    return hn_fail(w->err, HONE_E_INPUT, "loop nest, invariant %d: %s before %s '%c%u'", invariant, why,
                   now->push    ? "a push of"
                   : now->write ? "a store to"
                                : "a load from",
                   letter[b->space], b->index);
}

/* A barrier in front of loop `depth` of those open, or of the statement itself. */
static hone_rc put_barrier(walker *w, int depth, bool cluster, hn_st at, hn_st *prev) {
    hn_st id = depth < w->depth ? w->loop[depth].st : at;
    hn_st *before = depth < w->depth ? &w->loop[depth].prev : prev;
    hn_st around = depth ? w->loop[depth - 1].st : 0;
    hn_st made = hn_nest_barrier(w->n);
    if (!made) return hn_fail(w->err, HONE_E_NOMEM, "out of memory in placing barriers");
    w->n->st[made].next = id;
    w->n->st[made].cluster = cluster;
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

/* What lies in front of the barrier is settled: all but what is inside loop `depth`; where it is the block's, what
 * other blocks may meet is not for them. */
static void settle(walker *w, int depth, bool cluster) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < w->n_seen; k++) {
        touch *p = &w->seen[k];
        bool before = !p->under_way && common(w, p) <= depth;
        if (before && (cluster || !w->pushed[p->buf])) continue;
        p->settled |= before;
        w->seen[kept++] = *p;
    }
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

/* The loops around an access; gives how many of them are not inside of the threads'. */
static int look_around(const walker *w, touch *now) {
    int group = 0;
    for (int d = 0; d < w->depth; d++) {
        const hn_stmt *s = &w->n->st[w->loop[d].st];
        hn_loop_kind k = s->loop;
        bool inside = k == HN_SERIAL || k == HN_UNROLL || k == HN_VECTOR;
        if (!inside) group = d + 1;
        if (k == HN_ROLE) now->part = w->loop[d].st;
        if (k == HN_GROUP && now->level < 3) now->thread[now->level++] = s->var;
        if (!inside) now->n_inner = 0, now->turn = 0;
        if (k == HN_SERIAL && !now->turn) now->turn = s->var;
        if (inside && now->n_inner < INNER) now->inner[now->n_inner++] = s->var;
    }
    return group;
}

/* A barrier in front of the access, of those loops at least; else the reason why there can be none. */
static hone_rc order(walker *w, const touch *now, int depth, bool cluster, hn_st *prev) {
    if (now->part) return stuck(w, now, 10, "threads of a role pass memory to each other:");
    for (int d = 0; d < depth; d++) {
        const hn_stmt *s = &w->n->st[w->loop[d].st];
        bool threads = s->loop == HN_GROUP || s->loop == HN_ROLE;
        uint8_t differ = hn_threads_differ(w->n, &w->t, w->n->extent[s->var]);
        if (!threads && (cluster ? differ : differ & ~HN_CLUSTER_BIT))
            return stuck(w, now, 10, "threads pass memory to each other where some are not:");
    }
    if (!w->insert)
        return stuck(w, now, cluster ? 14 : 10,
                     cluster ? "a barrier of the cluster is missing" : "a barrier is missing");
    hone_rc rc = put_barrier(w, depth, cluster, now->st, prev);
    if (!rc) settle(w, depth, cluster);
    return rc;
}

static hone_rc touched(walker *w, hn_st id, hn_st *prev, hn_buf buf, hn_ix at, bool write) {
    touch now = {.st = id, .buf = buf, .at = at, .write = write, .depth = w->depth};
    hn_st_kind kind = w->n->st[id].kind;
    now.under_way = kind == HN_ST_COPY;
    now.push = kind == HN_ST_PUSH && write;
    now.count = kind == HN_ST_COPY || kind == HN_ST_PUSH ? w->n->st[id].count : 1;
    int depth = -1, group = look_around(w, &now);
    bool cluster = false;
    for (uint32_t k = 0; k < w->n_seen; k++) {
        const touch *p = &w->seen[k];
        if (!meets(w, p, &now)) continue;
        int d = common(w, p);
        if (d > depth) depth = d;
        cluster |= p->push || now.push;
    }
    if (depth >= 0) {
        hone_rc rc = order(w, &now, depth < group ? group : depth, cluster, prev);
        if (rc) return rc;
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
        if (s->kind == HN_ST_BARRIER || s->kind == HN_ST_COPY || s->kind == HN_ST_COMMIT || s->kind == HN_ST_WAIT ||
            s->kind == HN_ST_PUSH)
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
            settle(w, DEPTH, s.cluster);
        else if (s.kind == HN_ST_COMMIT || s.kind == HN_ST_WAIT)
            rc = count_groups(w, s.kind == HN_ST_COMMIT, s.count);
        else if (s.kind == HN_ST_COPY)
            rc = touched(w, id, &prev, s.buf, s.at, true);
        else if (s.kind == HN_ST_PUSH && !(rc = touched(w, id, &prev, s.buf, s.at, false)))
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
    w.pushed = HN_NEW_N(&w.a, bool, n->n_buf + 1);
    if (!hn_nest_threads(n, &w.a, &w.t) || !w.role || !w.pushed)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory in placing barriers");
    for (hn_st s = 1; !rc && s < n->n_st; s++) {
        if (n->st[s].kind == HN_ST_PUSH) w.pushed[n->st[s].buf] = true;
        if (n->st[s].kind == HN_ST_LOOP && n->st[s].loop == HN_CLUSTER) w.block = n->st[s].var;
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

/* Takes a barrier out; false, and it stays: it is needed. */
static bool drop(hn_nest *n, hn_st s) {
    hone_err ignored = {0};
    hn_st *link = n->st[s].kind == HN_ST_BARRIER ? link_to(n, s) : NULL;
    if (!link) return false;
    *link = n->st[s].next;
    if (!walk(n, false, &ignored)) return true;
    *link = s; /* the arrays stay where they are in a check */
    return false;
}

/* A barrier that later ones have made needless goes. */
static void drop_needless(hn_nest *n) {
    uint32_t n_st = n->n_st;
    for (hn_st s = 1; s < n_st; s++) drop(n, s);
}

/* Does one of the cluster go now? */
static bool drop_other(hn_nest *n, hn_st than) {
    for (hn_st c = 1; c < n->n_st; c++)
        if (c != than && n->st[c].kind == HN_ST_BARRIER && n->st[c].cluster && drop(n, c)) return true;
    return false;
}

/* One of the block that would do as one of the cluster, so that another one of the cluster goes, becomes that; not
 * where a loop's length differs between blocks. */
static void merge_barriers(hn_nest *n) {
    for (hn_st b = 1; b < n->n_st; b++) {
        hone_err ignored = {0};
        if (n->st[b].kind != HN_ST_BARRIER || n->st[b].cluster || !link_to(n, b)) continue;
        n->st[b].cluster = true;
        n->st[b].cluster = !hn_nest_verify(n, &ignored) && drop_other(n, b);
    }
}

hone_rc hn_nest_barriers(hn_nest *n, hone_err *err) {
    uint32_t before = n->n_st;
    hone_rc rc = walk(n, true, err);
    if (!rc && hn_nest_cluster(n) > 1) merge_barriers(n);
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
