/* nest/device_copy.c — tiles filled by copies that go on beside the threads, several steps ahead of their use. */
#include "nest/device_int.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { CHAIN = 8, COPY_LEAST_B = 4, COPY_MOST_B = 16 };

/* A value that is memory as it stands, or 0 where conditions do not hold. */
typedef struct source {
    hn_sv link[2 * CHAIN]; /* its definitions: picks, their zeros, the load */
    int n_link;
    hn_buf buf;
    hn_ix at;
    hn_ix guard[CHAIN];
    uint32_t n_guard;
} source;

static bool take_guards(source *s, const hn_scalar *x) {
    for (uint32_t k = 0; k < x->n_guard; k++) {
        bool known = false;
        for (uint32_t i = 0; i < s->n_guard && !known; i++) known = s->guard[i] == x->guard[k];
        if (known) continue;
        if (s->n_guard == CHAIN) return false;
        s->guard[s->n_guard++] = x->guard[k];
    }
    return true;
}

static bool find_source(const hn_nest *n, hn_sv id, source *s) {
    const hn_scalar *x = &n->sv[id];
    *s = (source){.n_link = 0};
    for (; x->kind == HN_SV_PICK; id = x->arg[0], x = &n->sv[id]) {
        const hn_scalar *zero = &n->sv[x->arg[1]];
        if (s->n_link + 3 > 2 * CHAIN || zero->kind != HN_SV_CONST || zero->f != 0 || zero->i != 0) return false;
        s->link[s->n_link++] = id;
        s->link[s->n_link++] = x->arg[1];
        if (!take_guards(s, x)) return false;
    }
    if (x->kind != HN_SV_LOAD || !hn_nest_constant(n, x->buf) || n->buf[x->buf].space == HN_WORDS) return false;
    s->link[s->n_link++] = id;
    s->buf = x->buf;
    s->at = x->at;
    return take_guards(s, x);
}

static hn_ix first_lane(hn_nest *n, hn_ix i, hn_var lane) {
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var + 1u);
    if (!var) return i;
    var[lane] = hn_ix_int(n, 0);
    return hn_ix_subst(n, i, &(hn_subst){var, NULL, n->n_var, 0});
}

static bool is_multiple(hn_nest *n, hn_ix i, int64_t of) {
    int64_t rest;
    return hn_ix_is_int(n, hn_ix_mod(n, i, hn_dim_int(n->dims, of)), &rest) && rest == 0;
}

/* Is every lane next to the one before, and the first at a multiple of their number? */
static bool neighbours(hn_nest *n, hn_ix at, hn_var lane, int64_t wide) {
    int64_t step;
    if (wide == 1) return !hn_ix_depends(n, at, lane);
    return hn_ix_step(n, at, lane, &step) && step == 1 && is_multiple(n, first_lane(n, at, lane), wide);
}

/* Does the condition hold in all lanes where it holds in the first one, and in none where it does not? */
static bool alike(hn_nest *n, hn_ix guard, hn_var lane, int64_t wide) {
    int64_t step;
    if (!hn_ix_depends(n, guard, lane)) return true;
    if (!hn_ix_step(n, guard, lane, &step) || (step != 1 && step != -1)) return false;
    hn_ix first = first_lane(n, guard, lane);
    return is_multiple(n, step < 0 ? hn_ix_add(n, first, hn_ix_int(n, 1)) : first, wide);
}

static void unlink_all(hn_writer *w, const source *s) {
    hn_nest *n = w->n;
    hn_st *link = &w->head[w->depth], last = 0;
    while (*link) {
        bool goes = false;
        for (int k = 0; k < s->n_link && !goes; k++)
            goes = n->st[*link].kind == HN_ST_LET && n->st[*link].value == s->link[k];
        if (goes) {
            *link = n->st[*link].next;
        } else {
            last = *link;
            link = &n->st[*link].next;
        }
    }
    w->tail[w->depth] = last;
}

bool hn_device_copy(hn_writer *w, hn_sv x, hn_var lane, int64_t wide, hn_buf to, hn_ix at) {
    hn_nest *n = w->n;
    source s;
    if (!find_source(n, x, &s) || n->buf[s.buf].dtype != n->buf[to].dtype) return false;
    if (!neighbours(n, s.at, lane, wide) || !neighbours(n, at, lane, wide)) return false;
    for (uint32_t k = 0; k < s.n_guard; k++)
        if (!alike(n, s.guard[k], lane, wide)) return false;
    hn_ix *guard = s.n_guard ? HN_NEW_N(n->a, hn_ix, s.n_guard) : NULL;
    for (uint32_t k = 0; guard && k < s.n_guard; k++) guard[k] = first_lane(n, s.guard[k], lane);
    unlink_all(w, &s);
    hn_stmt copy = {.kind = HN_ST_COPY, .buf = to, .at = first_lane(n, at, lane), .count = wide};
    copy.from[0] = s.buf, copy.from_at[0] = first_lane(n, s.at, lane);
    copy.n_guard = guard ? s.n_guard : 0, copy.guard = guard;
    hn_write_statement(w, &copy);
    return hn_arena_ok(n->a);
}

int64_t hn_device_copy_most(hone_dtype t) { return COPY_MOST_B / (int64_t)hn_dtype_of(t)->size_b; }
bool hn_device_copy_is(hone_dtype t, int64_t wide) {
    return wide >= 1 && wide * (int64_t)hn_dtype_of(t)->size_b >= COPY_LEAST_B;
}

hn_ix hn_device_turns(hn_writer *w, int64_t all, const hn_sharers *who, int64_t unrolled) {
    hn_nest *n = w->n;
    if (all % who->n == 0) return hn_write_times(w, all / who->n, all / who->n <= unrolled ? HN_UNROLL : HN_SERIAL);
    hn_ix left = hn_ix_sub(n, hn_ix_int(n, all + who->n - 1), who->at); /* the last turn is not for all threads */
    return hn_write_loop(w, hn_ix_div(n, left, hn_dim_int(n->dims, who->n)), HN_SERIAL);
}

/* With copies of so many elements; 0: they are not there. */
static hn_st copies_of(hn_nest *n, const hn_shared_tile *t, hn_sv x, const hn_sharers *who, const hn_var fast[2],
                       hn_buf to, int64_t wide) {
    hn_writer w;
    hn_ix at[HN_TILE_VARS];
    int64_t all = 1;
    for (int k = 0; k < t->n; k++) all *= t->extent[k];
    if (!hn_write_begin(&w, n)) return 0;
    hn_var lane = hn_nest_var(n, hn_ix_int(n, wide));
    hn_ix turn = hn_device_turns(&w, all / wide, who, HN_TILE_UNROLLED);
    hn_ix e = hn_ix_add(n, hn_ix_scale(n, turn, hn_dim_int(n->dims, who->n)), who->at);
    int fastest = hn_shared_tile_decode(n, t, fast, wide, e, at);
    if (t->extent[fastest] % wide) return 0;
    at[fastest] = hn_ix_add(n, hn_ix_scale(n, at[fastest], hn_dim_int(n->dims, wide)), hn_ix_var(n, lane));
    for (int k = 0; k < t->n; k++) w.var[t->var[k]] = at[k];
    if (!hn_device_copy(&w, hn_write_copy(&w, x), lane, wide, to, hn_shared_tile_address(n, t, at))) return 0;
    hn_write_close(&w, 1);
    return w.head[0];
}

hn_st hn_shared_tile_copies(hn_nest *n, const hn_shared_tile *t, hn_sv x, const hn_sharers *who, const hn_var fast[2],
                            hn_buf to, const char **why) {
    hone_dtype type = n->buf[to].dtype;
    hn_st made = 0;
    for (int64_t wide = hn_device_copy_most(type); !made && hn_device_copy_is(type, wide); wide /= 2)
        made = copies_of(n, t, x, who, fast, to, wide);
    if (!made) hn_loop_no(why, "it is no memory as it stands, of 4 bytes or more that lie next to each other");
    return made;
}

/* -- several steps ahead */
hn_st hn_moved_in(const hn_nest *n, hn_st id, hn_st_kind kind) {
    if (!id || n->st[id].kind != HN_ST_LOOP) return 0;
    hn_st s = n->st[id].body;
    while (s && n->st[s].kind == HN_ST_LET) s = n->st[s].next;
    return s && n->st[s].kind == kind && !n->st[s].next ? s : 0;
}

/* for j { definitions; one copy }, or in several such loops: a fill. */
static bool is_fill(const hn_nest *n, hn_st id) { return hn_moved_in(n, id, HN_ST_COPY) != 0; }

static bool is_filled(const bool *filled, hn_buf b) { return b && filled[b]; }

void hn_filled_tiles_move(hn_nest *n, hn_st first, const hn_filled_tiles *t, hn_ix stage) {
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_stmt *s = &n->st[id];
        hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind == HN_ST_LOOP) hn_filled_tiles_move(n, s->body, t, stage);
        hn_buf b = x ? (x->kind == HN_SV_LOAD ? x->buf : 0) : s->kind == HN_ST_LOOP ? 0 : s->buf;
        if (!is_filled(t->filled, b)) continue;
        hn_ix moved = hn_ix_add(n, x ? x->at : n->st[id].at, hn_ix_scale(n, stage, hn_dim_int(n->dims, t->size[b])));
        if (x)
            n->sv[n->st[id].value].at = moved;
        else
            n->st[id].at = moved;
    }
}

hn_st hn_list_append(hn_nest *n, hn_st list, hn_st more) {
    hn_st last = list;
    if (!list) return more;
    while (n->st[last].next) last = n->st[last].next;
    n->st[last].next = more;
    return list;
}

/* The fills for one value of the loop's variable where the condition holds, into their stage, as one group. */
static hn_st group_of(hn_nest *n, const hn_filled_tiles *a, int64_t stages, hn_ix step, hn_ix where) {
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var + 1u);
    if (!var) return 0;
    var[n->st[a->loop].var] = step;
    hn_st list = hn_nest_clone(n, a->fills, &(hn_subst){var, NULL, n->n_var, 0});
    hn_device_guard(n, list, 1, &where);
    hn_filled_tiles_move(n, list, a, hn_ix_mod(n, step, hn_dim_int(n->dims, stages)));
    return hn_list_append(n, list, hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_COMMIT}));
}

/* All that touches the filled buffers is in the loop. */
static bool used_elsewhere(const hn_nest *n, hn_st first, hn_st loop, const bool *filled) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (id == loop) continue;
        if (s->kind == HN_ST_LOOP && used_elsewhere(n, s->body, loop, filled)) return true;
        if (s->kind != HN_ST_LOOP && s->kind != HN_ST_LET && is_filled(filled, s->buf)) return true;
        if (s->kind == HN_ST_LET && n->sv[s->value].kind == HN_SV_LOAD && filled[n->sv[s->value].buf]) return true;
    }
    return false;
}

bool hn_filled_tiles_take(hn_nest *n, hn_st loop, hn_filled_tiles *t, const char **why) {
    hn_st last = 0;
    *t = (hn_filled_tiles){.loop = loop};
    if (n->st[loop].kind != HN_ST_LOOP || n->st[loop].loop != HN_SERIAL) return hn_loop_no(why, "no serial loop");
    t->filled = HN_NEW_N(n->a, bool, n->n_buf + 1u);
    t->size = HN_NEW_N(n->a, int64_t, n->n_buf + 1u);
    if (!t->filled || !t->size) return hn_loop_no(why, "out of memory");
    for (hn_st id = n->st[loop].body; is_fill(n, id); last = id, id = n->st[id].next) {
        hn_st s = n->st[id].body;
        while (n->st[s].kind == HN_ST_LET) s = n->st[s].next;
        t->filled[n->st[s].buf] = true;
        hn_dim_is_int(n->dims, n->buf[n->st[s].buf].size, &t->size[n->st[s].buf]);
    }
    if (!last) return hn_loop_no(why, "the loop does not begin with tiles that are copied");
    if (used_elsewhere(n, n->first, loop, t->filled)) return hn_loop_no(why, "a tile is used outside of the loop");
    t->fills = n->st[loop].body;
    t->rest = n->st[last].next;
    n->st[last].next = 0;
    return true;
}

/* Takes the pushes off the head of the list. */
static hn_st pushes_of(hn_nest *n, hn_st *list) {
    hn_st first = *list, last = 0;
    for (; hn_moved_in(n, *list, HN_ST_PUSH); *list = n->st[*list].next) last = *list;
    if (!last) return 0;
    n->st[last].next = 0;
    return first;
}

static hn_st wait_for(hn_nest *n, int64_t most) {
    return hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_WAIT, .count = most});
}

bool hn_device_pipeline_copies(hn_nest *n, hn_st loop, int64_t stages, const char **why) {
    hn_filled_tiles a;
    if (n->st[loop].kind != HN_ST_LOOP || n->st[loop].loop != HN_SERIAL) return hn_loop_no(why, "no serial loop");
    if (stages < 2 || stages > HN_STAGES_MAX) return hn_loop_no(why, "stages are 2 to 8");
    if (!hn_filled_tiles_take(n, loop, &a, why)) return false;
    hn_ix count = n->extent[n->st[loop].var], step = hn_ix_var(n, n->st[loop].var);
    hn_ix last = hn_ix_sub(n, count, hn_ix_int(n, 1));
    hn_var first = hn_nest_var(n, hn_ix_int(n, stages - 1));
    hn_ix next = hn_ix_add(n, step, hn_ix_int(n, stages - 1)), early = hn_ix_var(n, first);
    hn_st head = group_of(n, &a, stages, early, hn_ix_sub(n, last, early));
    hn_st more = group_of(n, &a, stages, next, hn_ix_sub(n, last, next));
    hn_filled_tiles_move(n, a.rest, &a, hn_ix_mod(n, step, hn_dim_int(n->dims, stages)));
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (a.filled[b]) n->buf[b].size = hn_dim_int(n->dims, a.size[b] * stages);
    hn_st again = hn_nest_stmt(n, &n->st[loop]); /* the loop moves behind its first tiles */
    if (!hn_arena_ok(n->a)) return hn_loop_no(why, "out of memory");
    hn_st pushes = pushes_of(n, &a.rest); /* in front of the next copies: then one barrier does for both */
    hn_st landed = hn_list_append(n, wait_for(n, stages - 2), pushes);
    n->st[again].body = hn_list_append(n, hn_list_append(n, landed, more), a.rest);
    hn_st end =
        wait_for(n, 0); /* copies of zeros are still under way: the next item of the block takes the same memory */
    if (end) n->st[end].next = n->st[again].next, n->st[again].next = end;
    n->st[loop] = (hn_stmt){.kind = HN_ST_LOOP, .loop = HN_SERIAL, .var = first, .body = head, .next = again};
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}
