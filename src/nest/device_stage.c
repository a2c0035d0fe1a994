/* nest/device_stage.c — tiles in shared memory, filled by all threads of a block, and filled one step ahead. */
#include "nest/device_int.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"
#include "nest/writer.h"

enum { PATH_MAX_ = 64, TILE_VARS = HN_TILE_VARS, UNROLLED_MAX = HN_TILE_UNROLLED, TILE_MAX = 1 << 16 };

/* -- where a scalar is defined, and in which loops */
typedef struct path {
    hn_st loop[PATH_MAX_];
    int n;
} path;

static bool find(const hn_nest *n, hn_st first, hn_st loop, hn_sv x, path *p) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (loop ? id == loop : s->kind == HN_ST_LET && s->value == x) return true;
        if (s->kind != HN_ST_LOOP || p->n == PATH_MAX_) continue;
        p->loop[p->n++] = id;
        if (find(n, s->body, loop, x, p)) return true;
        p->n--;
    }
    return false;
}

/* Only of numbers, indices and memory that nothing writes. */
static bool is_pure(const hn_nest *n, hn_sv id);
static bool ix_pure(const hn_nest *n, hn_ix i) {
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_atom *x = &n->atom[n->ix[i].term[t].atom];
        if (x->kind == HN_AT_VALUE && !is_pure(n, x->id)) return false;
        if ((x->a && !ix_pure(n, x->a)) || (x->b && !ix_pure(n, x->b))) return false;
    }
    return true;
}
static bool is_pure(const hn_nest *n, hn_sv id) {
    const hn_scalar *x = &n->sv[id];
    if (x->kind == HN_SV_LOAD && !hn_nest_constant(n, x->buf)) return false;
    if (x->at && !ix_pure(n, x->at)) return false;
    for (uint32_t k = 0; k < x->n_guard; k++)
        if (!ix_pure(n, x->guard[k])) return false;
    for (uint32_t k = 0; k < x->n_arg; k++)
        if (!is_pure(n, x->arg[k])) return false;
    return true;
}

/* -- tiles */
typedef hn_shared_tile tile;

static bool add_var(hn_nest *n, tile *t, hn_st loop, hn_sv x, const char **why) {
    int64_t e;
    hn_var v = n->st[loop].var;
    if (!hn_sv_depends(n, x, v)) return true;
    if (!hn_ix_is_int(n, n->extent[v], &e) || e < 1) return hn_loop_no(why, "a loop of the tile has no known length");
    if (t->n == TILE_VARS) return hn_loop_no(why, "the tile has too many loops");
    t->var[t->n] = v;
    t->extent[t->n++] = e;
    return true;
}

/* Loops inside the slowest, then unrolled ones, threads, vectors. */
static bool find_tile(hn_nest *n, const path *around, const path *inside, hn_sv x, tile *t, const char **why) {
    static const hn_loop_kind order[] = {HN_UNROLL, HN_GROUP, HN_VECTOR};
    *t = (tile){.size = 1};
    for (int k = 0; k < inside->n; k++)
        if (n->st[inside->loop[k]].loop == HN_SERIAL && !add_var(n, t, inside->loop[k], x, why)) return false;
    t->n_slow = t->n;
    for (int o = 0; o < 3; o++)
        for (int k = 0; k < around->n + inside->n; k++) {
            hn_st loop = k < around->n ? around->loop[k] : inside->loop[k - around->n];
            if (n->st[loop].loop == order[o] && !add_var(n, t, loop, x, why)) return false;
        }
    return t->n > 0 || hn_loop_no(why, "it is the same for the whole block");
}

/* Strides in shared memory: rows are `pad` elements longer. */
static bool lay_out(tile *t, int64_t pad) {
    int64_t size = 1;
    for (int k = t->n; k-- > 0;) {
        if (k == (t->n_slow ? t->n_slow - 1 : t->n - 2)) size += pad;
        t->stride[k] = size;
        size *= t->extent[k];
        if (size > TILE_MAX) return false;
    }
    t->size = size;
    return true;
}

hn_ix hn_shared_tile_address(hn_nest *n, const hn_shared_tile *t, const hn_ix *at) {
    hn_ix sum = hn_ix_int(n, 0);
    for (int k = 0; k < t->n; k++) sum = hn_ix_add(n, sum, hn_ix_scale(n, at[k], hn_dim_int(n->dims, t->stride[k])));
    return sum;
}

int hn_shared_tile_decode(hn_nest *n, const hn_shared_tile *t, const hn_var fast[2], int64_t wide, hn_ix e, hn_ix *at) {
    int order[TILE_VARS], count = 0;
    for (int k = 0; k < t->n; k++)
        if (t->var[k] != fast[0] && t->var[k] != fast[1]) order[count++] = k;
    for (int f = 2; f-- > 0;)
        for (int k = 0; k < t->n; k++)
            if (t->var[k] == fast[f]) order[count++] = k;
    for (int k = t->n; k-- > 0;) {
        hn_dim by = hn_dim_int(n->dims, t->extent[order[k]] / (k + 1 == t->n ? wide : 1));
        at[order[k]] = k ? hn_ix_mod(n, e, by) : e;
        e = hn_ix_div(n, e, by);
    }
    return order[t->n - 1];
}

/* for j { x of the element; store } */
static hn_st fill(hn_nest *n, const tile *t, hn_sv x, const hn_sharers *who, const hn_var fast[2], hn_buf to) {
    hn_writer w;
    hn_ix at[TILE_VARS];
    int64_t all = 1;
    for (int k = 0; k < t->n; k++) all *= t->extent[k];
    int64_t turns = (all + who->n - 1) / who->n;
    if (!hn_write_begin(&w, n)) return 0;
    hn_ix j = hn_write_times(&w, turns, turns <= UNROLLED_MAX ? HN_UNROLL : HN_SERIAL);
    hn_ix e = hn_ix_add(n, hn_ix_scale(n, j, hn_dim_int(n->dims, who->n)), who->at);
    hn_shared_tile_decode(n, t, fast, 1, e, at);
    for (int k = 0; k < t->n; k++) w.var[t->var[k]] = at[k];
    hn_sv value = hn_write_copy(&w, x);
    hn_ix *last = HN_NEW(n->a, hn_ix);
    if (!last) return 0;
    *last = hn_ix_sub(n, hn_ix_int(n, all - 1), e);
    hn_write_store(&w, to, hn_shared_tile_address(n, t, at), value);
    if (all % who->n) hn_device_guard(n, w.head[w.depth], 1, last); /* the last turn is not for all threads */
    hn_write_close(&w, 1);
    return w.head[0];
}

bool hn_device_stage(hn_nest *n, hn_st loop, hn_sv x, const hn_sharers *t, const hn_stage_how *how, hn_buf *tile_,
                     const char **why) {
    path around = {.n = 0}, inside = {.n = 0};
    tile tl;
    hn_ix at[TILE_VARS];
    if (n->st[loop].kind != HN_ST_LOOP || n->st[loop].loop != HN_SERIAL) return hn_loop_no(why, "no serial loop");
    if (!find(n, n->first, loop, 0, &around)) return hn_loop_no(why, "there is no such loop");
    if (!find(n, n->st[loop].body, 0, x, &inside)) return hn_loop_no(why, "it is not defined in the loop");
    bool threads = false;
    for (int k = 0; k < around.n; k++) threads |= n->st[around.loop[k]].loop == HN_GROUP;
    if (!threads) return hn_loop_no(why, "the loop is not one of threads of a block");
    for (int k = 0; k < around.n; k++) {
        if (n->st[around.loop[k]].loop != HN_GROUP && n->st[around.loop[k]].loop != HN_PARALLEL) continue;
        if (hn_ix_depends(n, n->extent[n->st[loop].var], n->st[around.loop[k]].var) &&
            n->st[around.loop[k]].loop == HN_GROUP)
            return hn_loop_no(why, "the loop's length differs from thread to thread");
    }
    if (!is_pure(n, x)) return hn_loop_no(why, "it is made of memory that changes");
    if (!find_tile(n, &around, &inside, x, &tl, why)) return false;
    if (!lay_out(&tl, how->pad)) return hn_loop_no(why, "the tile is too large");
    hn_buf to = hn_nest_buf(n, HN_SHARED, n->sv[x].dtype, hn_dim_int(n->dims, tl.size));
    hn_st filled =
        how->copies ? hn_shared_tile_copies(n, &tl, x, t, how->fast, to, why) : fill(n, &tl, x, t, how->fast, to);
    if (!filled && hn_arena_ok(n->a) && how->copies) return false;
    if (!filled || !hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    for (int k = 0; k < tl.n; k++) at[k] = hn_ix_var(n, tl.var[k]);
    n->sv[x] =
        (hn_scalar){.kind = HN_SV_LOAD, .dtype = n->sv[x].dtype, .buf = to, .at = hn_shared_tile_address(n, &tl, at)};
    hn_st last = filled;
    while (n->st[last].next) last = n->st[last].next;
    n->st[last].next = n->st[loop].body;
    n->st[loop].body = filled;
    if (tile_) *tile_ = to;
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}

/* -- one step ahead */
/* unroll j { definitions; one store to shared memory }: a fill. */
static hn_st store_of_fill(const hn_nest *n, hn_st id) {
    if (!id || n->st[id].kind != HN_ST_LOOP || n->st[id].loop != HN_UNROLL) return 0;
    hn_st s = n->st[id].body;
    while (s && n->st[s].kind == HN_ST_LET) s = n->st[s].next;
    return s && n->st[s].kind == HN_ST_STORE && n->buf[n->st[s].buf].space == HN_SHARED && !n->st[s].next ? s : 0;
}

/* Appends a list to another. */
static void join(hn_nest *n, hn_st *head, hn_st more) {
    hn_st last = *head;
    if (!last) {
        *head = more;
        return;
    }
    while (n->st[last].next) last = n->st[last].next;
    n->st[last].next = more;
}

typedef struct ahead {
    hn_st fetch, put; /* lists: registers are filled; they go to shared memory */
} ahead;

/* A copy of the fill for one value of the loop's variable, in two loops around registers. */
static bool split_fill(hn_nest *n, hn_st loop, hn_st fill_loop, hn_ix value, hn_buf reg, ahead *a) {
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!var) return false;
    var[n->st[loop].var] = value;
    hn_stmt one = n->st[fill_loop];
    one.next = 0;
    hn_st alone = hn_nest_stmt(n, &one);
    hn_st copy = hn_nest_clone(n, alone, &(hn_subst){var, NULL, n->n_var, 0}), store = store_of_fill(n, copy);
    if (!store) return false;
    const hn_stmt to = n->st[store];
    hn_ix j = hn_ix_var(n, n->st[copy].var);
    n->st[store] = (hn_stmt){.kind = HN_ST_STORE, .buf = reg, .at = j, .value = to.value};
    /* the same loop again, for the other half */
    hn_var k = hn_nest_var(n, n->extent[n->st[copy].var]);
    hn_ix *again = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!again) return false;
    again[n->st[copy].var] = hn_ix_var(n, k);
    const hn_subst s = {again, NULL, n->n_var, 0};
    hn_sv load = hn_nest_scalar(
        n, &(hn_scalar){.kind = HN_SV_LOAD, .dtype = n->buf[reg].dtype, .buf = reg, .at = hn_ix_var(n, k)});
    hn_ix *guard = to.n_guard ? HN_NEW_N(n->a, hn_ix, to.n_guard) : NULL;
    for (uint32_t i = 0; guard && i < to.n_guard; i++) guard[i] = hn_ix_subst(n, to.guard[i], &s);
    hn_st back = hn_nest_store(n, to.buf, hn_ix_subst(n, to.at, &s), load, to.n_guard, guard);
    hn_st let = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = load, .next = back});
    hn_st put = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .loop = HN_UNROLL, .var = k, .body = let});
    join(n, &a->fetch, copy);
    join(n, &a->put, put);
    return hn_arena_ok(n->a);
}

bool hn_device_pipeline(hn_nest *n, hn_st loop, const char **why) {
    path around = {.n = 0};
    ahead first = {0}, next = {0};
    hn_st regs = 0, threads = 0;
    if (n->st[loop].kind != HN_ST_LOOP || n->st[loop].loop != HN_SERIAL) return hn_loop_no(why, "no serial loop");
    if (!find(n, n->first, loop, 0, &around)) return hn_loop_no(why, "there is no such loop");
    for (int k = 0; k < around.n; k++)
        if (n->st[around.loop[k]].loop == HN_GROUP) threads = around.loop[k];
    if (!threads) return hn_loop_no(why, "the loop is not one of threads of a block");
    if (!store_of_fill(n, n->st[loop].body))
        return hn_loop_no(why, "the loop does not begin with tiles that are filled");
    hn_ix step = hn_ix_var(n, n->st[loop].var), one = hn_ix_int(n, 1);
    hn_st id = n->st[loop].body;
    for (; store_of_fill(n, id); id = n->st[id].next) {
        int64_t turns;
        hn_ix_is_int(n, n->extent[n->st[id].var], &turns);
        const hn_stmt store = n->st[store_of_fill(n, id)];
        if (hn_ix_depends(n, store.at, n->st[loop].var))
            return hn_loop_no(why, "the tile's place differs from step to step");
        hn_buf reg = hn_nest_buf(n, HN_REG, n->sv[store.value].dtype, hn_dim_int(n->dims, turns));
        if (!split_fill(n, loop, id, hn_ix_int(n, 0), reg, &first) ||
            !split_fill(n, loop, id, hn_ix_add(n, step, one), reg, &next))
            return hn_loop_no(why, "out of memory");
        join(n, &regs, hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_REG, .buf = reg}));
    }
    /* nothing in front of the loop's first step where there is none, nothing behind its last */
    hn_ix count = n->extent[n->st[loop].var];
    hn_ix some = hn_ix_sub(n, count, one), more = hn_ix_sub(n, hn_ix_sub(n, count, hn_ix_int(n, 2)), step);
    hn_device_guard(n, first.fetch, 1, &some);
    hn_device_guard(n, next.fetch, 1, &more);
    hn_st body = next.fetch;
    join(n, &body, id);
    join(n, &body, next.put);
    hn_st again = hn_nest_stmt(n, &n->st[loop]); /* the loop moves behind its first tiles */
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    n->st[again].body = body;
    hn_st list = first.fetch;
    join(n, &list, first.put);
    hn_st tail = list;
    while (n->st[tail].next) tail = n->st[tail].next;
    n->st[tail].next = again;
    n->st[loop] = n->st[list];
    join(n, &regs, n->st[threads].body);
    n->st[threads].body = regs;
    return true;
}

/* -- swizzles */
typedef struct places {
    hn_buf b;
    int64_t row;
    bool move; /* else: only look whether they can move */
    const char *why;
} places;

static void swizzle_at(hn_nest *n, hn_ix *at, places *p) {
    if (!hn_ix_never_negative(n, *at)) p->why = "an index may be negative";
    if (!p->move) return;
    hn_dim by = hn_dim_int(n->dims, p->row);
    hn_ix r = hn_ix_div(n, *at, by), c = hn_ix_mod(n, *at, by);
    *at = hn_ix_add(n, hn_ix_scale(n, r, by), hn_ix_xor(n, c, hn_ix_mod(n, r, by)));
}

static void swizzle_list(hn_nest *n, hn_st first, hn_var vector, places *p) {
    for (hn_st id = first; id && !p->why; id = n->st[id].next) {
        hn_stmt *s = &n->st[id];
        hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind == HN_ST_LOOP) swizzle_list(n, s->body, s->loop == HN_VECTOR ? s->var : vector, p);
        hn_ix *at = s->kind == HN_ST_STORE && s->buf == p->b       ? &s->at
                    : x && x->kind == HN_SV_LOAD && x->buf == p->b ? &x->at
                                                                   : NULL;
        if (!at) continue;
        if (vector && hn_ix_depends(n, *at, vector)) p->why = "vectors are read or written";
        swizzle_at(n, at, p);
    }
}

bool hn_device_swizzle(hn_nest *n, hn_buf b, int64_t row, const char **why) {
    int64_t size;
    places p = {.b = b, .row = row};
    if (b < 1 || b >= n->n_buf || n->buf[b].space != HN_SHARED) return hn_loop_no(why, "it is no shared memory");
    if (row < 2 || (row & (row - 1)) != 0) return hn_loop_no(why, "the length of a row is no power of two");
    if (!hn_dim_is_int(n->dims, n->buf[b].size, &size) || size % row)
        return hn_loop_no(why, "rows of that length do not fill the memory");
    swizzle_list(n, n->first, 0, &p);
    if (p.why) return hn_loop_no(why, p.why);
    p.move = true;
    swizzle_list(n, n->first, 0, &p);
    return true;
}

/* -- what nothing uses */
static void use_sv(const hn_nest *n, hn_sv id, bool *used);
static void use_ix(const hn_nest *n, hn_ix i, bool *used) {
    for (uint32_t t = 0; t < n->ix[i].n; t++) {
        const hn_atom *x = &n->atom[n->ix[i].term[t].atom];
        if (x->kind == HN_AT_VALUE) use_sv(n, x->id, used);
        if (x->a) use_ix(n, x->a, used);
        if (x->b) use_ix(n, x->b, used);
    }
}
static void use_sv(const hn_nest *n, hn_sv id, bool *used) {
    const hn_scalar *x = &n->sv[id];
    if (used[id]) return;
    used[id] = true;
    if (x->at) use_ix(n, x->at, used);
    for (uint32_t k = 0; k < x->n_guard; k++) use_ix(n, x->guard[k], used);
    for (uint32_t k = 0; k < x->n_arg; k++) use_sv(n, x->arg[k], used);
}
void hn_list_uses(const hn_nest *n, hn_st first, bool *used) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) {
            use_ix(n, n->extent[s->var], used);
            hn_list_uses(n, s->body, used);
        }
        if (s->kind == HN_ST_LET || s->kind == HN_ST_REG || s->kind == HN_ST_LOOP) continue;
        if (s->value) use_sv(n, s->value, used);
        if (s->at) use_ix(n, s->at, used);
        for (int k = 0; k < 2; k++)
            if (s->from_at[k]) use_ix(n, s->from_at[k], used);
        for (uint32_t k = 0; k < s->n_guard; k++) use_ix(n, s->guard[k], used);
    }
}
static void sweep(hn_nest *n, hn_st *link, const bool *used) {
    while (*link) {
        hn_stmt *s = &n->st[*link];
        if (s->kind == HN_ST_LOOP) sweep(n, &s->body, used);
        if (s->kind == HN_ST_LET && !used[s->value])
            *link = s->next;
        else
            link = &s->next;
    }
}

void hn_nest_sweep(hn_nest *n) {
    bool *used = HN_NEW_N(n->a, bool, n->n_sv);
    if (!used) return;
    hn_list_uses(n, n->first, used);
    sweep(n, &n->first, used);
}
