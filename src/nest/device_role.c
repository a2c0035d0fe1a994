/* nest/device_role.c — a block's threads become two roles: some warps copy tiles, the others use them. */
#include "nest/device_int.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { WARP = 32, THREADS_MAX = 1024, LEVELS = 3, LANES = 4, UNROLLED = 8 };

typedef struct block {
    hn_nest *n;
    hn_st around;                /* the list that holds the outermost group loop belongs to this loop; 0: to the nest */
    hn_st group[LEVELS + LANES]; /* and unrolled loops inside */
    int64_t size[LEVELS], threads;
    int levels, depth; /* depth: with the unrolled ones */
    hn_filled_tiles tiles;
    int64_t stages, producers;
    hn_buf full, empty;
} block;

/* Is there nothing in the list but `only` and definitions (and, with regs, registers)? */
static bool alone(const hn_nest *n, hn_st first, hn_st only, bool regs) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (id != only && n->st[id].kind != HN_ST_LET && !(regs && n->st[id].kind == HN_ST_REG)) return false;
    return true;
}

static hn_st loop_in(const hn_nest *n, hn_st first) {
    while (first && n->st[first].kind != HN_ST_LOOP) first = n->st[first].next;
    return first;
}

static bool in_list(const hn_nest *n, hn_st first, hn_st id) {
    while (first && first != id) first = n->st[first].next;
    return first != 0;
}

/* Parallel loops, then group loops, each alone in the one around; the loop stands in the innermost. */
static bool find_block(block *b, hn_st loop, const char **why) {
    hn_nest *n = b->n;
    hn_st first = n->first, at = loop_in(n, first);
    for (; at && n->st[at].loop == HN_PARALLEL; first = n->st[at].body, at = loop_in(n, first)) {
        if (!alone(n, first, at, false)) return hn_loop_no(why, "something stands beside the blocks");
        b->around = at;
    }
    b->threads = 1;
    for (; at && n->st[at].loop == HN_GROUP && b->levels < LEVELS; first = n->st[at].body, at = loop_in(n, first)) {
        if (!alone(n, first, at, false)) return hn_loop_no(why, "threads share registers, or work beside each other");
        b->group[b->levels] = at;
        if (!hn_ix_is_int(n, n->extent[n->st[at].var], &b->size[b->levels]))
            return hn_loop_no(why, "no block of threads");
        b->threads *= b->size[b->levels++];
    }
    if (!b->levels) return hn_loop_no(why, "no block of threads");
    b->depth = b->levels;
    for (; at && n->st[at].loop == HN_UNROLL && b->depth < LEVELS + LANES && !in_list(n, first, loop);
         first = n->st[at].body, at = loop_in(n, first))
        b->group[b->depth++] = at;
    return in_list(n, first, loop) || hn_loop_no(why, "the loop is not directly among the threads");
}

/* Do statements behind the tiles' loop, or in it, need what only barriers give? */
static bool shares_more(const block *b) {
    const hn_nest *n = b->n;
    for (hn_buf k = 1; k < n->n_buf; k++)
        if ((n->buf[k].space == HN_SHARED && !b->tiles.filled[k]) || n->buf[k].space == HN_LOCAL) return true;
    return false;
}

/* Does every thread make as many copies of every tile? Else it is not known that they stay in their stage. */
static bool even(const hn_nest *n, hn_st first, hn_st end) {
    for (; first && first != end; first = n->st[first].next)
        if (!hn_ix_is_int(n, n->extent[n->st[first].var], &(int64_t){0})) return false;
    return true;
}

/* -- what the producers need */
/* Definitions in front of the loop that its fills use, in order. False: one of them is a register's. */
static bool definitions(const block *b, hn_st *out, const char **why) {
    hn_nest *n = b->n;
    bool *used = HN_NEW_N(n->a, bool, n->n_sv + 1u);
    hn_st tail = 0;
    *out = 0;
    if (!used) return hn_loop_no(why, "out of memory");
    hn_list_uses(n, b->tiles.fills, used);
    for (int k = 0; k < b->depth; k++)
        for (hn_st id = n->st[b->group[k]].body; id && id != b->tiles.loop; id = n->st[id].next) {
            const hn_stmt s = n->st[id];
            if (s.kind != HN_ST_LET || !used[s.value]) continue;
            if (n->sv[s.value].kind == HN_SV_LOAD && n->buf[n->sv[s.value].buf].space == HN_REG)
                return hn_loop_no(why, "what is copied depends on a register");
            for (int j = b->levels; j < b->depth; j++)
                if (hn_sv_depends(n, s.value, n->st[b->group[j]].var))
                    return hn_loop_no(why, "what is copied depends on lanes");
            hn_st made = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = s.value});
            if (tail)
                n->st[tail].next = made;
            else
                *out = made;
            tail = made;
        }
    return true;
}

/* -- roles */
static hn_ix of_two(hn_nest *n, hn_ix x) { return hn_ix_mod(n, x, hn_dim_int(n->dims, 2)); }

static hn_st await(hn_nest *n, hn_buf gate, hn_ix slot, hn_ix phase) {
    hn_stmt s = {.kind = HN_ST_AWAIT, .buf = gate, .at = slot};
    s.from_at[0] = phase;
    return hn_nest_stmt(n, &s);
}
static hn_st arrive(hn_nest *n, hn_buf gate, hn_ix slot, bool copies) {
    return hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_ARRIVE, .buf = gate, .at = slot, .count = copies});
}
static hn_st loop_of(hn_nest *n, hn_loop_kind kind, hn_var v, hn_st body) {
    return hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .loop = kind, .var = v, .body = body});
}
static hn_st role_of(hn_nest *n, hn_st group) { return loop_of(n, HN_ROLE, hn_nest_var(n, hn_ix_int(n, 1)), group); }

/* The threads' variables where thread x of the block does what it did. */
static void as_thread(const block *b, hn_ix *var, hn_ix x) {
    hn_nest *n = b->n;
    for (int k = b->levels; k-- > 0;) {
        hn_dim e = hn_dim_int(n->dims, b->size[k]);
        var[n->st[b->group[k]].var] = k ? hn_ix_mod(n, x, e) : x;
        x = hn_ix_div(n, x, e);
    }
}

/* Every producer does in turn what several threads of the block did for a tile. */
static hn_st producer(const block *b, hn_st lets) {
    hn_nest *n = b->n;
    int64_t own = b->producers * WARP, turns = b->threads / own;
    hn_var k_var = n->st[b->tiles.loop].var, p = hn_nest_var(n, hn_ix_int(n, own));
    hn_var step = hn_nest_var(n, n->extent[k_var]), j = hn_nest_var(n, hn_ix_int(n, turns));
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var + 1u), k = hn_ix_var(n, step);
    hn_dim stages = hn_dim_int(n->dims, b->stages);
    if (!var) return 0;
    as_thread(b, var, hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, j), hn_dim_int(n->dims, own)), hn_ix_var(n, p)));
    var[k_var] = k;
    hn_st list = hn_nest_clone(n, hn_list_append(n, lets, b->tiles.fills), &(hn_subst){var, NULL, n->n_var, 0});
    hn_ix slot = hn_ix_mod(n, k, stages), round = hn_ix_div(n, k, stages);
    hn_filled_tiles_move(n, list, &b->tiles, slot);
    list = loop_of(n, turns <= UNROLLED ? HN_UNROLL : HN_SERIAL, j, list);
    list = hn_list_append(n, await(n, b->empty, slot, of_two(n, hn_ix_add(n, round, hn_ix_int(n, 1)))), list);
    list = hn_list_append(n, list, arrive(n, b->full, slot, true));
    return role_of(n, loop_of(n, HN_GROUP, p, loop_of(n, HN_SERIAL, step, list)));
}

/* The block's threads as they were, but that the tiles come from others. */
static hn_st consumer(const block *b) {
    hn_nest *n = b->n;
    hn_dim stages = hn_dim_int(n->dims, b->stages);
    hn_ix k = hn_ix_var(n, n->st[b->tiles.loop].var), slot = hn_ix_mod(n, k, stages);
    hn_filled_tiles_move(n, b->tiles.rest, &b->tiles, slot);
    hn_st list = hn_list_append(n, await(n, b->full, slot, of_two(n, hn_ix_div(n, k, stages))), b->tiles.rest);
    hn_st done = hn_list_append(n, list, arrive(n, b->empty, slot, false));
    n->st[b->tiles.loop].body = done;
    hn_stmt group = n->st[b->group[0]];
    group.next = 0;
    return role_of(n, hn_nest_stmt(n, &group));
}

bool hn_device_specialise(hn_nest *n, hn_st loop, int64_t stages, int64_t producers, const char **why) {
    block b = {.n = n, .stages = stages, .producers = producers};
    hn_st lets;
    if (stages < 2 || stages > HN_STAGES_MAX) return hn_loop_no(why, "stages are 2 to 8");
    int64_t turns;
    if (hn_nest_cluster(n) > 1) return hn_loop_no(why, "the blocks are a cluster's");
    if (!find_block(&b, loop, why)) return false;
    if (hn_ix_is_int(n, n->extent[n->st[loop].var], &turns) && turns < 2)
        return hn_loop_no(why, "the loop has one turn");
    if (producers < 1 || b.threads % (producers * WARP))
        return hn_loop_no(why, "the block's threads are no multiple of the producers'");
    if (b.threads + producers * WARP > THREADS_MAX) return hn_loop_no(why, "more than 1024 threads in a block");
    if (!hn_filled_tiles_take(n, loop, &b.tiles, why)) return false;
    bool more = shares_more(&b), uneven = !even(n, b.tiles.fills, 0);
    if (more || uneven || !definitions(&b, &lets, why)) {
        n->st[loop].body = hn_list_append(n, b.tiles.fills, b.tiles.rest);
        if (uneven) return hn_loop_no(why, "a tile's copies are no multiple of the threads");
        return more ? hn_loop_no(why, "threads share more than the tiles") : false;
    }
    b.full = hn_nest_buf(n, HN_GATE, HONE_I64, hn_dim_int(n->dims, stages));
    b.empty = hn_nest_buf(n, HN_GATE, HONE_I64, hn_dim_int(n->dims, stages));
    hn_st first = producer(&b, lets), second = consumer(&b);
    if (!hn_arena_ok(n->a) || !first || !second) return hn_loop_no(why, "out of memory");
    for (hn_buf k = 1; k < n->n_buf; k++)
        if (k < b.full && b.tiles.filled[k]) n->buf[k].size = hn_dim_int(n->dims, b.tiles.size[k] * stages);
    n->st[first].next = second;
    n->st[second].next = n->st[b.group[0]].next;
    hn_st kept = n->st[b.group[0]].next; /* the outermost group loop's statement becomes the first role */
    n->st[b.group[0]] = n->st[first];
    n->st[second].next = kept;
    hn_nest_sweep(n);
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}
