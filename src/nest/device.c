/* nest/device.c — loops become blocks and threads; conditions where their number does not divide a length. */
#include "nest/device_int.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { THREADS_MAX = 1024, DEPTH_MAX = 64 };

/* -- conditions */
static bool declares(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_REG && n->st[id].buf == b) return true;
        if (n->st[id].kind == HN_ST_LOOP && declares(n, n->st[id].body, b)) return true;
    }
    return false;
}

void hn_guards_add(hn_nest *n, uint32_t *count, const hn_ix **list, uint32_t n_guard, const hn_ix *guard) {
    hn_ix *all = HN_NEW_N(n->a, hn_ix, *count + n_guard);
    uint32_t have = *count;
    if (!all) return;
    if (have) memcpy(all, *list, have * sizeof *all);
    for (uint32_t k = 0; k < n_guard; k++) {
        bool known = false;
        for (uint32_t i = 0; i < have && !known; i++) known = all[i] == guard[k];
        if (!known) all[have++] = guard[k];
    }
    *list = all;
    *count = have;
}

/* let %x = wrap %i  becomes  let %z = 0; let %p = pick %i %z if …; let %x = wrap %p. */
static hn_st guard_wrap(hn_nest *n, hn_st id, uint32_t n_guard, const hn_ix *guard) {
    hn_sv wrap = n->st[id].value;
    hn_sv zero = hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_CONST, .dtype = HONE_I64});
    hn_scalar pick = {.kind = HN_SV_PICK, .dtype = HONE_I64, .n_arg = 2, .arg = {n->sv[wrap].arg[0], zero}};
    hn_guards_add(n, &pick.n_guard, &pick.guard, n_guard, guard);
    hn_sv picked = hn_nest_scalar(n, &pick);
    hn_st last = hn_nest_stmt(n, &n->st[id]), mid = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = picked});
    if (!hn_arena_ok(n->a)) return id;
    n->sv[wrap].arg[0] = picked;
    n->st[id] = (hn_stmt){.kind = HN_ST_LET, .value = zero, .next = mid};
    n->st[mid].next = last;
    return last;
}

static void guard_list(hn_nest *n, hn_st first, hn_st top, uint32_t n_guard, const hn_ix *guard) {
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_stmt *s = &n->st[id];
        hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        bool memory = s->buf && n->buf[s->buf].space != HN_REG;
        if (s->kind == HN_ST_LOOP) guard_list(n, s->body, top, n_guard, guard);
        if (s->kind == HN_ST_COPY || ((s->kind == HN_ST_STORE || s->kind == HN_ST_UPDATE) &&
                                      (memory || !declares(n, top, s->buf)))) /* copies: zeros are there */
            hn_guards_add(n, &s->n_guard, &s->guard, n_guard, guard);
        if (x && x->kind == HN_SV_LOAD && n->buf[x->buf].space != HN_REG)
            hn_guards_add(n, &x->n_guard, &x->guard, n_guard, guard);
        if (x && x->kind == HN_SV_WRAP) id = guard_wrap(n, id, n_guard, guard);
    }
}

void hn_device_guard(hn_nest *n, hn_st first, uint32_t n_guard, const hn_ix *guard) {
    hn_ix real[HN_DEVICE_CONDITIONS];
    uint32_t count = 0;
    for (uint32_t k = 0; k < n_guard && count < HN_DEVICE_CONDITIONS; k++)
        if (!hn_ix_never_negative(n, guard[k])) real[count++] = guard[k];
    if (count) guard_list(n, first, first, count, real);
}

/* -- blocks and threads */
static bool writes_local(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && writes_local(n, s->body)) return true;
        if (s->kind == HN_ST_STORE && (n->buf[s->buf].space == HN_LOCAL || n->buf[s->buf].space == HN_SHARED))
            return true;
    }
    return false;
}

/* The loops from `loop` on, each the only statement of the one around but for definitions, which move inwards. */
static bool chain(hn_nest *n, hn_st loop, int depth, hn_st *at, const char **why) {
    for (int k = 0; k < depth; k++) {
        if (!loop || n->st[loop].kind != HN_ST_LOOP || n->st[loop].loop != HN_SERIAL)
            return hn_loop_no(why, "the loops are not serial loops, one inside the other");
        if (!hn_ix_is_dim(n, n->extent[n->st[loop].var], NULL)) return hn_loop_no(why, "the extents depend on loops");
        at[k] = loop;
        if (k + 1 == depth) break;
        if (!hn_loop_sink(n, loop, why)) return false;
        loop = n->st[loop].body;
    }
    return true;
}

/* May iterations of all these loops be threads? Kinds stay as they were. */
static bool may_bind(hn_nest *n, const hn_st *at, int depth, const char **why) {
    int done = 0;
    while (done < depth && hn_loop_parallelise(n, at[done], why)) done++;
    for (int k = 0; k < done; k++) n->st[at[k]].loop = HN_SERIAL;
    return done == depth;
}

hn_st hn_device_flat(hn_nest *n, const hn_st *at, int depth, hn_ix x) {
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var) return 0;
    for (int k = depth; k-- > 0;) {
        hn_dim e = hn_dim_int(n->dims, 1);
        hn_ix_is_dim(n, n->extent[n->st[at[k]].var], &e);
        var[n->st[at[k]].var] = k ? hn_ix_mod(n, x, e) : x;
        x = hn_ix_div(n, x, e);
    }
    return hn_nest_clone(n, n->st[at[depth - 1]].body, &(hn_subst){var, NULL, n->n_var, 0});
}

hn_dim hn_device_count(hn_nest *n, const hn_st *at, int depth) {
    hn_dim all = hn_dim_int(n->dims, 1), e;
    for (int k = 0; k < depth; k++)
        if (hn_ix_is_dim(n, n->extent[n->st[at[k]].var], &e)) all = hn_dim_mul(n->dims, all, e);
    return all;
}

static bool bind(hn_nest *n, const hn_st *at, int depth, int64_t f, hn_st *group, const char **why) {
    if (!may_bind(n, at, depth, why)) return false;
    hn_dim all = hn_device_count(n, at, depth), by = hn_dim_int(n->dims, f);
    hn_var b = hn_nest_var(n, hn_ix_dim(n, hn_dim_ceildiv(n->dims, all, by))), t = hn_nest_var(n, hn_ix_int(n, f));
    hn_ix x = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, b), by), hn_ix_var(n, t));
    hn_st body = hn_device_flat(n, at, depth, x);
    hn_ix last = hn_ix_sub(n, hn_ix_dim(n, hn_dim_sub(n->dims, all, hn_dim_int(n->dims, 1))), x);
    hn_device_guard(n, body, 1, &last);
    hn_st threads = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .var = t, .body = body, .loop = HN_GROUP});
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    n->st[at[0]].var = b;
    n->st[at[0]].body = threads;
    n->st[at[0]].loop = HN_PARALLEL;
    if (group) *group = threads;
    return true;
}

bool hn_device_bind(hn_nest *n, hn_st loop, int depth, int64_t f, hn_st *group, const char **why) {
    hn_st at[DEPTH_MAX];
    if (f < 1 || f > THREADS_MAX || depth < 1 || depth > DEPTH_MAX)
        return hn_loop_no(why, "a block has 1 to 1024 threads");
    if (!chain(n, loop, depth, at, why)) return false;
    if (writes_local(n, n->st[at[depth - 1]].body)) return hn_loop_no(why, "threads would share local memory");
    return bind(n, at, depth, f, group, why);
}

/* Each thread's copy of local memory: `f` one behind the other. */
static void move_local(hn_nest *n, hn_st first, hn_ix thread, const bool *local, hn_buf n_local) {
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) move_local(n, s->body, thread, local, n_local);
        hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if ((s->kind == HN_ST_STORE || s->kind == HN_ST_PREFETCH) && s->buf < n_local && local[s->buf])
            s->at = hn_ix_add(n, s->at, hn_ix_scale(n, thread, n->buf[s->buf].size));
        if (x && x->kind == HN_SV_LOAD && x->buf < n_local && local[x->buf])
            x->at = hn_ix_add(n, x->at, hn_ix_scale(n, thread, n->buf[x->buf].size));
    }
}

bool hn_device_bind_rows(hn_nest *n, hn_st loop, int depth, int64_t f, hn_st *group, const char **why) {
    hn_st at[DEPTH_MAX], made;
    if (f < 1 || f > THREADS_MAX || depth < 1 || depth > DEPTH_MAX)
        return hn_loop_no(why, "a block has 1 to 1024 threads");
    const hn_buf n_local = n->n_buf;
    bool *local = HN_NEW_N(n->a, bool, n_local);
    if (!local || !chain(n, loop, depth, at, why)) return false;
    for (hn_buf b = 1; b < n_local; b++) {
        local[b] = n->buf[b].space == HN_LOCAL;
        if (local[b] && !hn_dim_is_int(n->dims, n->buf[b].size, &(int64_t){0}))
            return hn_loop_no(why, "local memory of unknown size");
    }
    if (!bind(n, at, depth, f, &made, why)) return false;
    move_local(n, n->st[made].body, hn_ix_var(n, n->st[made].var), local, n_local);
    for (hn_buf b = 1; b < n_local; b++)
        if (local[b]) n->buf[b].size = hn_dim_mul(n->dims, n->buf[b].size, hn_dim_int(n->dims, f));
    if (group) *group = made;
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}
