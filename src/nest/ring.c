/* nest/ring.c — do roles share memory through rings alone? (nest/ring.h) */
#include "nest/ring.h"
#include "base/err.h"
#include "nest/nest_int.h"

/* What a role does to a shared buffer. */
typedef struct user {
    hn_st role, loop; /* loop: the serial one, directly among the threads, in which all of it is */
    bool several;     /* several loops, or none */
    bool copies, loads, stores;
} user;

typedef struct users {
    user of[2];
} users;

typedef struct rings {
    hn_nest *n;
    users *by; /* buffer */
    hn_st role, loop;
    hone_err *err;
    hone_rc rc;
} rings;

static void broken(rings *r, hn_buf b, const char *what) {
    if (!r->rc)
        r->rc = hn_fail(r->err, HONE_E_INPUT, "loop nest, invariant 13: '%c%u' %s",
                        r->n->buf[b].space == HN_LOCAL ? 't' : 's', r->n->buf[b].index, what);
}

static void touch(rings *r, hn_buf b, bool *(*which)(user *)) {
    hn_space space = r->n->buf[b].space;
    if ((space != HN_SHARED && space != HN_LOCAL) || !r->role) return;
    for (int k = 0; k < 2; k++) {
        user *u = &r->by[b].of[k];
        if (u->role && u->role != r->role) continue;
        if (u->role && u->loop != r->loop) u->several = true;
        u->role = r->role, u->loop = r->loop;
        u->several |= !r->loop;
        *which(u) = true;
        return;
    }
    broken(r, b, "is shared by more than two roles");
}
static bool *copies(user *u) { return &u->copies; }
static bool *loads(user *u) { return &u->loads; }
static bool *stores(user *u) { return &u->stores; }

/* in: the innermost group loop's list is open, and no loop in it but unrolled ones. */
static void walk(rings *r, hn_st first, bool in) {
    hn_nest *n = r->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind == HN_ST_LOOP) {
            hn_st role = r->role, loop = r->loop;
            if (s->loop == HN_ROLE) r->role = id;
            if (s->loop == HN_SERIAL && in) r->loop = id;
            walk(r, s->body, s->loop == HN_GROUP || (in && s->loop == HN_UNROLL));
            r->role = role, r->loop = loop;
        }
        if (s->kind == HN_ST_COPY) touch(r, s->buf, copies);
        if (s->kind == HN_ST_STORE) touch(r, s->buf, stores);
        if (x && x->kind == HN_SV_LOAD) touch(r, x->buf, loads);
    }
}

/* -- a turn */
typedef struct turn {
    hn_ix stage, full, empty; /* stage; phases that the consumer and the producer wait for */
    int64_t stages;
} turn;

static turn turn_of(hn_nest *n, hn_st loop, int64_t stages) {
    hn_ix k = hn_ix_var(n, n->st[loop].var), one = hn_ix_int(n, 1);
    hn_dim s = hn_dim_int(n->dims, stages), two = hn_dim_int(n->dims, 2);
    hn_ix round = hn_ix_div(n, k, s);
    return (turn){hn_ix_mod(n, k, s), hn_ix_mod(n, round, two), hn_ix_mod(n, hn_ix_add(n, round, one), two), stages};
}

/* Is the access inside of the stage, whose size is given? */
static bool in_stage(hn_nest *n, const turn *t, hn_ix at, int64_t count, int64_t size) {
    hn_ix rest = hn_ix_sub(n, at, hn_ix_scale(n, t->stage, hn_dim_int(n->dims, size)));
    return hn_ix_never_negative(n, rest) && hn_ix_never_negative(n, hn_ix_sub(n, hn_ix_int(n, size - count), rest));
}

static bool all_in_stage(hn_nest *n, const turn *t, hn_st first, hn_buf b, int64_t size) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP && !all_in_stage(n, t, s.body, b, size)) return false;
        if (s.kind == HN_ST_COPY && s.buf == b && !in_stage(n, t, s.at, s.count, size)) return false;
        if (s.kind != HN_ST_LET) continue;
        const hn_scalar x = n->sv[s.value];
        if (x.kind == HN_SV_LOAD && x.buf == b && !in_stage(n, t, x.at, 1, size)) return false;
    }
    return true;
}

static bool touches(const hn_nest *n, hn_st id, hn_buf b) {
    const hn_stmt *s = &n->st[id];
    if (s->kind == HN_ST_LOOP)
        for (hn_st in = s->body; in; in = n->st[in].next)
            if (touches(n, in, b)) return true;
    if (s->kind == HN_ST_COPY || s->kind == HN_ST_STORE) return s->buf == b;
    return s->kind == HN_ST_LET && n->sv[s->value].kind == HN_SV_LOAD && n->sv[s->value].buf == b;
}

/* The gates that the loop's list waits for in front of all accesses and arrives at behind them; false: it does not. */
static bool gates_of(const hn_nest *n, const turn *t, const user *u, hn_buf b, hn_buf *waits, hn_buf *arrives) {
    hn_ix phase = u->copies ? t->empty : t->full;
    bool touched = false;
    *waits = *arrives = 0;
    for (hn_st id = n->st[u->loop].body; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_AWAIT && !touched && s->at == t->stage && s->from_at[0] == phase) *waits = s->buf;
        if (touches(n, id, b)) {
            if (!*waits || *arrives) return false;
            touched = true;
        }
        if (s->kind == HN_ST_ARRIVE && touched && s->at == t->stage && (s->count || !u->copies)) *arrives = s->buf;
    }
    return *waits && *arrives;
}

/* Statements at the gate: one of each kind, those of the ring. */
static bool is_of_one_ring(const hn_nest *n, hn_st first, hn_buf gate, int count[2]) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) is_of_one_ring(n, s->body, gate, count);
        if (s->kind == HN_ST_ARRIVE || s->kind == HN_ST_AWAIT) count[s->kind == HN_ST_AWAIT] += s->buf == gate;
    }
    return count[0] == 1 && count[1] == 1;
}

/* What is wrong with how roles share the buffer; NULL: nothing. */
static const char *fault(rings *r, hn_buf b) {
    hn_nest *n = r->n;
    const user *p = &r->by[b].of[0], *c = &r->by[b].of[1];
    hn_buf p_waits, p_arrives, c_waits, c_arrives;
    int64_t size, stages;
    if (!c->role) return NULL; /* one role's own */
    if (!p->copies) p = &r->by[b].of[1], c = &r->by[b].of[0];
    if (p->stores || c->stores || p->loads || c->copies || !p->copies || !c->loads)
        return "is not copied by one role and read by another";
    if (p->several || c->several) return "is used in more than one loop of a role, or in none";
    if (n->extent[n->st[p->loop].var] != n->extent[n->st[c->loop].var])
        return "is filled in another number of turns than it is read";
    turn one = turn_of(n, p->loop, 1);
    for (hn_st id = n->st[p->loop].body; id && one.stages == 1; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_AWAIT && hn_dim_is_int(n->dims, n->buf[n->st[id].buf].size, &stages))
            one.stages = stages;
    stages = one.stages;
    turn tp = turn_of(n, p->loop, stages), tc = turn_of(n, c->loop, stages);
    if (!hn_dim_is_int(n->dims, n->buf[b].size, &size) || size % stages)
        return "has no equal stages for the slots of the gates";
    if (!gates_of(n, &tp, p, b, &p_waits, &p_arrives)) return "is filled beside its gates, or in a wrong phase";
    if (!gates_of(n, &tc, c, b, &c_waits, &c_arrives)) return "is read beside its gates, or in a wrong phase";
    int64_t slots[2];
    if (!is_of_one_ring(n, n->first, p_waits, (int[2]){0}) || !is_of_one_ring(n, n->first, c_waits, (int[2]){0}))
        return "has gates that threads come by more than once in a turn";
    if (p_waits != c_arrives || c_waits != p_arrives || p_waits == c_waits ||
        !hn_dim_is_int(n->dims, n->buf[p_waits].size, &slots[0]) ||
        !hn_dim_is_int(n->dims, n->buf[c_waits].size, &slots[1]) || slots[0] != stages || slots[1] != stages)
        return "has gates that are not those of one ring";
    if (!all_in_stage(n, &tp, n->st[p->loop].body, b, size / stages) ||
        !all_in_stage(n, &tc, n->st[c->loop].body, b, size / stages))
        return "is used outside of the turn's stage";
    return NULL;
}

static bool has_role(const hn_nest *n) {
    for (hn_st s = 1; s < n->n_st; s++)
        if (n->st[s].kind == HN_ST_LOOP && n->st[s].loop == HN_ROLE) return true;
    return false;
}

hone_rc hn_nest_rings(hn_nest *n, hone_err *err) {
    hn_arena a = {0};
    rings r = {.n = n, .err = err, .rc = HONE_OK};
    if (!has_role(n)) return HONE_OK;
    r.by = HN_NEW_N(&a, users, n->n_buf + 1u);
    if (r.by) {
        walk(&r, n->first, false);
        for (hn_buf b = 1; b < n->n_buf && !r.rc; b++) {
            const char *wrong = fault(&r, b);
            if (wrong) broken(&r, b, wrong);
        }
    } else {
        r.rc = hn_fail(err, HONE_E_NOMEM, "out of memory in checking a loop nest");
    }
    hn_arena_free(&a);
    return r.rc;
}
