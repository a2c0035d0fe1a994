/* nest/schedule_join.c — two loops over the same range become one: a row's elements are used where they are made. */
#include "nest/nest_int.h"
#include "nest/schedule.h"

/* The serial loop behind this one; registers may be declared and set between, and constants defined. */
static hn_st loop_behind(const hn_nest *n, hn_st loop) {
    for (hn_st id = n->st[loop].next; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) return s->loop == HN_SERIAL ? id : 0;
        bool sets = s->kind == HN_ST_REG || (s->kind == HN_ST_STORE && n->buf[s->buf].space == HN_REG);
        if (!sets && (s->kind != HN_ST_LET || n->sv[s->value].kind != HN_SV_CONST)) return 0;
    }
    return 0;
}

/* The statement in the list that stores to this buffer; 0: none, *many: several. */
static hn_st store_to(const hn_nest *n, hn_st first, hn_buf b, bool *many) {
    hn_st found = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_STORE || n->st[id].buf != b) continue;
        if (found) *many = true;
        found = id;
    }
    return found;
}

/* Definitions and stores to local memory, each iteration to an element of its own. */
static bool makes_elements(const hn_nest *n, hn_st loop) {
    bool stores = false;
    for (hn_st id = n->st[loop].body; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LET) continue;
        if (s->kind != HN_ST_STORE || n->buf[s->buf].space != HN_LOCAL || !hn_ix_uses(n, s->at, n->st[loop].var))
            return false;
        stores = true;
    }
    return stores;
}

static bool loads_any(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_scalar *x = n->st[id].kind == HN_ST_LET ? &n->sv[n->st[id].value] : NULL;
        if (x && x->kind == HN_SV_LOAD && x->buf == b) return true;
    }
    return false;
}

/* Definitions and updates of registers that the elements do not come from, and which nothing between sets anew for
 * them. */
static bool only_reduces(const hn_nest *n, hn_st loop, hn_st to) {
    hn_st made = n->st[loop].body;
    for (hn_st id = n->st[to].body; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LET) continue;
        if (s->kind != HN_ST_UPDATE || loads_any(n, made, s->buf)) return false;
    }
    for (hn_st id = n->st[loop].next; id != to; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_STORE && loads_any(n, made, n->st[id].buf)) return false;
    return true;
}

/* What the second loop loads of what the first stores gets the value stored: value[x] for load x. False: another
 * iteration's element is read. */
static bool forward(hn_nest *n, hn_st loop, hn_st to, const hn_subst *same, hn_sv *value) {
    for (hn_st id = n->st[to].body; id; id = n->st[id].next) {
        bool many = false;
        const hn_scalar *x = n->st[id].kind == HN_ST_LET ? &n->sv[n->st[id].value] : NULL;
        hn_st store = x && x->kind == HN_SV_LOAD ? store_to(n, n->st[loop].body, x->buf, &many) : 0;
        if (!store) continue;
        if (many || x->n_guard || x->dtype != n->sv[n->st[store].value].dtype) return false;
        if (hn_ix_subst(n, n->sv[n->st[id].value].at, same) != n->st[store].at) return false;
        value[n->st[id].value] = n->st[store].value;
    }
    return true;
}

/* The list without the definitions that have a value. */
static hn_st without(hn_nest *n, hn_st first, const hn_sv *value) {
    hn_st head = 0, tail = 0;
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next;
        if (n->st[id].kind == HN_ST_LET && value[n->st[id].value]) continue;
        if (tail)
            n->st[tail].next = id;
        else
            head = id;
        tail = id;
        n->st[id].next = 0;
    }
    return head;
}

static hn_st last_of(const hn_nest *n, hn_st id, hn_st before) {
    while (n->st[id].next != before) id = n->st[id].next;
    return id;
}

/* Moves what stands between the loops in front of them: its first statement takes the loop's place in the list. */
static bool behind_the_rest(hn_nest *n, hn_st loop, hn_st to) {
    hn_st next = n->st[loop].next;
    if (next == to) {
        n->st[loop].next = n->st[to].next;
        return true;
    }
    hn_stmt joined = n->st[loop];
    joined.next = n->st[to].next;
    hn_st id = hn_nest_stmt(n, &joined);
    if (!id) return false;
    n->st[last_of(n, next, to)].next = id;
    n->st[loop] = n->st[next];
    return true;
}

bool hn_loop_join(hn_nest *n, hn_st loop, const char **why) {
    hn_st to = n->st[loop].kind == HN_ST_LOOP && n->st[loop].loop == HN_SERIAL ? loop_behind(n, loop) : 0;
    if (!to || n->extent[n->st[loop].var] != n->extent[n->st[to].var])
        return hn_loop_no(why, "no serial loop of the same length follows");
    if (!makes_elements(n, loop)) return hn_loop_no(why, "the loop does more than fill local memory");
    if (!only_reduces(n, loop, to)) return hn_loop_no(why, "the second loop does more than reduce");
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    hn_sv *value = HN_NEW_N(n->a, hn_sv, n->n_sv);
    if (!var || !value) return hn_loop_no(why, "out of memory");
    var[n->st[to].var] = hn_ix_var(n, n->st[loop].var);
    hn_subst s = {var, NULL, n->n_var, 0};
    if (!forward(n, loop, to, &s, value)) return hn_loop_no(why, "the second loop reads other iterations' elements");
    s.sv = value;
    s.n_sv = n->n_sv;
    hn_st rest = hn_nest_clone(n, without(n, n->st[to].body, value), &s);
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    n->st[last_of(n, n->st[loop].body, 0)].next = rest;
    return behind_the_rest(n, loop, to);
}

/* -- local memory of each iteration's own */
static bool touched(const hn_nest *n, hn_st first, hn_buf b, hn_st except) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind != HN_ST_LOOP && s->kind != HN_ST_LET && s->buf == b) return true;
        if (x && x->kind == HN_SV_LOAD && x->buf == b) return true;
        if (s->kind == HN_ST_LOOP && id != except && touched(n, s->body, b, except)) return true;
    }
    return false;
}
static void move_by(hn_nest *n, hn_st first, hn_buf b, hn_ix by) {
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_sv x = n->st[id].kind == HN_ST_LET ? n->st[id].value : 0;
        if (n->st[id].kind == HN_ST_LOOP) move_by(n, n->st[id].body, b, by);
        if (x && n->sv[x].kind == HN_SV_LOAD && n->sv[x].buf == b) n->sv[x].at = hn_ix_add(n, n->sv[x].at, by);
        if (n->st[id].kind == HN_ST_STORE && n->st[id].buf == b) n->st[id].at = hn_ix_add(n, n->st[id].at, by);
    }
}
bool hn_loop_own(hn_nest *n, hn_st loop, const char **why) {
    int64_t e;
    hn_st body = n->st[loop].body;
    if (!hn_ix_is_int(n, n->extent[n->st[loop].var], &e)) return hn_loop_no(why, "the length is not known");
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (n->buf[b].space == HN_LOCAL && touched(n, body, b, 0) && touched(n, n->first, b, loop))
            return hn_loop_no(why, "local memory is used outside, too");
    for (hn_buf b = 1; b < n->n_buf; b++) {
        if (n->buf[b].space != HN_LOCAL || !touched(n, body, b, 0)) continue;
        move_by(n, body, b, hn_ix_scale(n, hn_ix_var(n, n->st[loop].var), n->buf[b].size));
        n->buf[b].size = hn_dim_mul(n->dims, n->buf[b].size, hn_dim_int(n->dims, e));
    }
    return true;
}
