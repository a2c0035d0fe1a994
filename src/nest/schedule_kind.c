/* nest/schedule_kind.c — rewrites that change how a loop runs: vector, unroll, parallel, and partial results of
 * reductions. */
#include "nest/nest_int.h"
#include "nest/schedule.h"

static bool declared_in(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_REG && n->st[id].buf == b) return true;
        if (n->st[id].kind == HN_ST_LOOP && declared_in(n, n->st[id].body, b)) return true;
    }
    return false;
}

/* The list touches buffer b at this index alone. */
static bool only_at(const hn_nest *n, hn_st first, hn_buf b, hn_ix at) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind == HN_ST_LOOP && (hn_ix_depends(n, at, s->var) || !only_at(n, s->body, b, at))) return false;
        if (s->kind == HN_ST_STORE && s->buf == b && s->at != at) return false;
        if (x && x->kind == HN_SV_LOAD && x->buf == b && x->at != at) return false;
    }
    return true;
}

/* Is the index different for all iterations of two loops? A loop of one iteration need not be in it. */
static bool all_differ(hn_nest *n, hn_ix at, hn_var a, hn_var b) {
    hn_dim d;
    hn_var v[] = {a, b};
    int64_t step[2] = {0, 0}, most[2];
    for (int k = 0; k < 2; k++) {
        if (!(d = hn_ix_high(n, n->extent[v[k]])) || !hn_dim_is_int(n->dims, d, &most[k])) return false;
        if (most[k] <= 1) continue;
        if (!hn_ix_step(n, at, v[k], &step[k]) || step[k] < 1) return false;
    }
    return most[0] <= 1 || most[1] <= 1 || step[0] >= step[1] * most[1] || step[1] >= step[0] * most[0];
}

/* Registers of the list are declared in it, and it writes no local memory, or each iteration of the two loops an
 * element of its own: then iterations touch nothing common but results, which are written once. top: the whole list
 * that is looked at. */
static bool independent(hn_nest *n, hn_st first, hn_st top, const hn_var *pair, const char **why) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && !independent(n, s->body, top, pair, why)) return false;
        if (s->kind != HN_ST_STORE && s->kind != HN_ST_UPDATE) continue;
        if (n->buf[s->buf].space == HN_LOCAL &&
            !(only_at(n, top, s->buf, s->at) && all_differ(n, s->at, pair[0], pair[1])))
            return hn_loop_no(why, "iterations share local memory");
        if (n->buf[s->buf].space == HN_REG && !declared_in(n, top, s->buf))
            return hn_loop_no(why, "iterations share a register");
    }
    return true;
}
bool hn_loop_independent(hn_nest *n, hn_st body, const hn_var pair[2], const char **why) {
    return independent(n, body, body, pair, why);
}

/* As independent for lanes: stores to local memory and registers outside are fine where every lane has its element,
 * updates of outer registers where they may run in order. */
static bool lanes_fine(const hn_nest *n, hn_st first, hn_st top, hn_var v, const char **why) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) {
            if (hn_ix_depends(n, n->extent[s->var], v)) return hn_loop_no(why, "an inner loop's length differs");
            if (!lanes_fine(n, s->body, top, v, why)) return false;
        }
        if (s->kind == HN_ST_STORE && n->buf[s->buf].space != HN_RESULT && !hn_ix_uses(n, s->at, v) &&
            !(n->buf[s->buf].space == HN_REG && declared_in(n, top, s->buf)))
            return hn_loop_no(why, "lanes would write the same element");
    }
    return true;
}

static bool lanes(hn_nest *n, hn_st loop, hn_loop_kind kind, const char **why) {
    int64_t e;
    hn_stmt *s = &n->st[loop];
    if (s->kind != HN_ST_LOOP || !hn_ix_is_int(n, n->extent[s->var], &e) || e < 1 || e > 1024)
        return hn_loop_no(why, "the length is not a constant from 1 to 1024");
    if (e > 1 && !lanes_fine(n, s->body, s->body, s->var, why)) return false;
    s->loop = kind;
    return true;
}

static bool has_vector(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LOOP && (n->st[id].loop == HN_VECTOR || has_vector(n, n->st[id].body))) return true;
    return false;
}

bool hn_loop_vectorise(hn_nest *n, hn_st loop, const char **why) {
    if (has_vector(n, n->st[loop].body)) return hn_loop_no(why, "there is a vector loop inside");
    return lanes(n, loop, HN_VECTOR, why);
}
bool hn_loop_unroll(hn_nest *n, hn_st loop, const char **why) { return lanes(n, loop, HN_UNROLL, why); }

static bool only_parallel_around(const hn_nest *n, hn_st first, hn_st loop) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (id == loop) return true;
        if (n->st[id].kind == HN_ST_LOOP && n->st[id].loop == HN_PARALLEL &&
            only_parallel_around(n, n->st[id].body, loop))
            return true;
    }
    return false;
}

/* The body writes local memory only after having declared it its own: rows are computed inside. */
static bool writes_rows(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_STORE && s->buf == b) return true;
        if (s->kind == HN_ST_LOOP && writes_rows(n, s->body, b)) return true;
    }
    return false;
}
static bool items_fine(const hn_nest *n, hn_st first, hn_st top, const char **why) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && !items_fine(n, s->body, top, why)) return false;
        bool writes = s->kind == HN_ST_STORE || s->kind == HN_ST_UPDATE;
        if (writes && n->buf[s->buf].space == HN_REG && !declared_in(n, top, s->buf))
            return hn_loop_no(why, "iterations share a register");
        const hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (x && x->kind == HN_SV_LOAD && n->buf[x->buf].space == HN_LOCAL && !writes_rows(n, top, x->buf))
            return hn_loop_no(why, "iterations read memory that is written outside");
    }
    return true;
}

bool hn_loop_parallelise(hn_nest *n, hn_st loop, const char **why) {
    hn_stmt *s = &n->st[loop];
    if (s->kind != HN_ST_LOOP) return hn_loop_no(why, "no loop");
    if (!hn_ix_is_dim(n, n->extent[s->var], NULL)) return hn_loop_no(why, "the number of items depends on a loop");
    if (!only_parallel_around(n, n->first, loop)) return hn_loop_no(why, "there is a serial loop around");
    if (!items_fine(n, s->body, s->body, why)) return false;
    s->loop = HN_PARALLEL;
    return true;
}

/* -- rfactor */
static hn_st loop_around(hn_nest *n, hn_var v, hn_st body, hn_loop_kind kind) {
    return hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = v, .body = body, .loop = kind});
}

/* The statement that sets register b before the loop `until`, in its list or one around it. */
static hn_st setter(const hn_nest *n, hn_st first, hn_st until, hn_buf b, bool *reached) {
    hn_st found = 0;
    for (hn_st id = first; id && !*reached; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_STORE && n->st[id].buf == b) found = id;
        if (id == until) *reached = true;
        hn_st in = !*reached && n->st[id].kind == HN_ST_LOOP ? setter(n, n->st[id].body, until, b, reached) : 0;
        if (in && *reached) found = in;
    }
    return found;
}

/* The one update in the body, which must be its last statement; all else must be definitions, and stores to memory of
 * an element of each iteration's own. */
static hn_st only_update(const hn_nest *n, hn_st loop) {
    for (hn_st id = n->st[loop].body; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_UPDATE) return s->next ? 0 : id;
        bool stores = s->kind == HN_ST_STORE && n->buf[s->buf].space != HN_REG && hn_ix_uses(n, s->at, n->st[loop].var);
        if (s->kind != HN_ST_LET && !stores) return 0;
    }
    return 0;
}

/* for u { for l { p[u*w + l] = init } } */
static hn_st set_partials(hn_nest *n, hn_buf p, int64_t w, int64_t u, hn_sv init) {
    hn_var vu = hn_nest_var(n, hn_ix_int(n, u)), vl = hn_nest_var(n, hn_ix_int(n, w));
    hn_ix at = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, vu), hn_dim_int(n->dims, w)), hn_ix_var(n, vl));
    hn_st set = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_STORE, .buf = p, .at = at, .value = init});
    return loop_around(n, vu, loop_around(n, vl, set, HN_VECTOR), HN_UNROLL);
}

/* for o < E/(w*u) { for u { for l: body, updating p[u*w + l] } } */
static hn_st add_partials(hn_nest *n, hn_st loop, hn_buf p, int64_t w, int64_t u, hn_ix times) {
    hn_var vo = hn_nest_var(n, times), vu = hn_nest_var(n, hn_ix_int(n, u)), vl = hn_nest_var(n, hn_ix_int(n, w));
    hn_ix place = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, vu), hn_dim_int(n->dims, w)), hn_ix_var(n, vl));
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var) return 0;
    var[n->st[loop].var] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, vo), hn_dim_int(n->dims, w * u)), place);
    hn_subst s = {var, NULL, n->n_var, 0};
    hn_st body = hn_nest_clone(n, n->st[loop].body, &s), last = body;
    while (last && n->st[last].next) last = n->st[last].next;
    if (!last) return 0;
    n->st[last].buf = p;
    n->st[last].at = place;
    return loop_around(n, vo, loop_around(n, vu, loop_around(n, vl, body, HN_VECTOR), HN_UNROLL), HN_SERIAL);
}

/* for l < w { buf[at] = buf[at] op p[from + l] }; at of the update, or, from `into` on, a lane each. */
static hn_st fold_vector(hn_nest *n, const hn_stmt *update, hn_buf p, int64_t from, int64_t w, int64_t into) {
    hn_var l = hn_nest_var(n, hn_ix_int(n, w));
    hn_ix lane = hn_ix_var(n, l);
    hn_scalar load = {.kind = HN_SV_LOAD, .dtype = n->buf[p].dtype, .buf = p};
    load.at = hn_ix_add(n, lane, hn_ix_int(n, from));
    hn_stmt to = *update;
    to.value = hn_nest_scalar(n, &load);
    to.next = 0;
    if (into >= 0) to.at = hn_ix_add(n, lane, hn_ix_int(n, into));
    hn_st last = hn_nest_stmt(n, &to);
    hn_st let = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = to.value, .next = last});
    return loop_around(n, l, let, HN_VECTOR);
}

/* The vectors are added up into the first, in halves, then its lanes into the register; gives the first of a list. */
static hn_st fold_partials(hn_nest *n, const hn_stmt *update, hn_buf p, int64_t w, int64_t u, hn_st *last) {
    hn_stmt into = *update;
    hn_st head = 0;
    into.buf = p;
    for (int64_t half; u > 1; u = half) {
        half = (u + 1) / 2;
        for (int64_t k = half; k < u; k++) {
            hn_st add = fold_vector(n, &into, p, k * w, w, (k - half) * w);
            if (head)
                n->st[*last].next = add;
            else
                head = add;
            *last = add;
        }
    }
    hn_st sum = fold_vector(n, update, p, 0, w, -1);
    if (head) n->st[*last].next = sum;
    *last = sum;
    return head ? head : sum;
}

bool hn_loop_rfactor(hn_nest *n, hn_st loop, int64_t w, int64_t u, const char **why) {
    hn_st update = only_update(n, loop);
    hn_ix e = n->extent[n->st[loop].var];
    hn_dim size = hn_dim_int(n->dims, w * u);
    int64_t known;
    if (!update || n->buf[n->st[update].buf].space != HN_REG) return hn_loop_no(why, "no lone update of a register");
    if (hn_ix_uses(n, n->st[update].at, n->st[loop].var)) return hn_loop_no(why, "every iteration has its register");
    bool reached = false;
    hn_st set = setter(n, n->first, loop, n->st[update].buf, &reached);
    if (!set || n->st[set].at != n->st[update].at)
        return hn_loop_no(why, "the register is not set in front of the loop");
    if (hn_ix_is_int(n, e, &known) && known < w * u) return hn_loop_no(why, "the loop is shorter than the vectors");
    hn_buf p = hn_nest_buf(n, HN_REG, n->buf[n->st[update].buf].dtype, size);
    hn_ix times = hn_ix_div(n, e, size), rest = hn_ix_mod(n, e, size);
    hn_st reg = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_REG, .buf = p});
    hn_st init = set_partials(n, p, w, u, n->st[set].value);
    hn_st sum = add_partials(n, loop, p, w, u, times);
    hn_stmt how = n->st[update];
    hn_st folded = 0, fold = fold_partials(n, &how, p, w, u, &folded);
    hn_st tail = 0;
    if (!hn_ix_is_int(n, rest, &known) || known) {
        hn_var t = hn_nest_var(n, rest);
        hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
        if (!var) return hn_loop_no(why, "out of memory");
        var[n->st[loop].var] = hn_ix_add(n, hn_ix_scale(n, times, size), hn_ix_var(n, t));
        hn_subst s = {var, NULL, n->n_var, 0};
        tail = loop_around(n, t, hn_nest_clone(n, n->st[loop].body, &s), HN_SERIAL);
    }
    if (!hn_arena_ok(n->a) || !sum) return hn_loop_no(why, "out of memory");
    hn_st next = n->st[loop].next;
    n->st[loop] = n->st[reg]; /* the loop's place in its list starts the sequence */
    n->st[loop].next = init;
    n->st[init].next = sum;
    n->st[sum].next = fold;
    n->st[folded].next = tail ? tail : next;
    if (tail) n->st[tail].next = next;
    return true;
}
