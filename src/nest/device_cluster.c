/* nest/device_cluster.c — neighbouring blocks become a cluster: what all of them read is copied by each in part, and
 * pushed to the others. */
#include "nest/device_int.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { BLOCKS_MOST = 8, LOOPS_MOST = 16 };

typedef struct cluster {
    hn_nest *n;
    hn_st at[LOOPS_MOST]; /* the parallel loops, the outermost first */
    int depth;
    hn_st loop;     /* that is clustered, over old */
    hn_var old, c;  /* c: which block of the cluster */
    hn_ix count;    /* iterations of the loop */
    int64_t blocks; /* of a cluster */
    bool *shared;   /* statement: a copy of what the cluster shares; of those there are before */
    hn_st n_st;
    int n_shared;
} cluster;

/* -- where */
static hn_st loop_in(const hn_nest *n, hn_st first) {
    while (first && n->st[first].kind != HN_ST_LOOP) first = n->st[first].next;
    return first;
}

static bool is_alone(const hn_nest *n, hn_st first, hn_st loop) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (id != loop && n->st[id].kind != HN_ST_LET) return false;
    return true;
}

/* The parallel loops, alone in each other but for definitions, which move inwards. */
static bool find_blocks(cluster *k, const char **why) {
    hn_nest *n = k->n;
    bool found = false;
    for (hn_st first = n->first, at; (at = loop_in(n, first)) && n->st[at].loop == HN_PARALLEL;
         first = n->st[at].body) {
        if (!is_alone(n, first, at)) return hn_loop_no(why, "something stands beside the blocks");
        if (k->depth == LOOPS_MOST) return hn_loop_no(why, "too many parallel loops");
        k->at[k->depth++] = at;
        found |= at == k->loop;
    }
    if (!found) return hn_loop_no(why, "no parallel loop");
    for (int i = 0; i + 1 < k->depth; i++)
        if (!hn_loop_sink(n, k->at[i], why)) return false;
    return true;
}

static bool may_cluster(const hn_nest *n, const char **why) {
    if (!hn_nest_has_group(n)) return hn_loop_no(why, "no block of threads");
    for (hn_st s = 1; s < n->n_st; s++) {
        const hn_stmt *x = &n->st[s];
        if (x->kind == HN_ST_LOOP && x->loop == HN_ROLE) return hn_loop_no(why, "threads have roles");
        if (x->kind == HN_ST_LOOP && x->loop == HN_CLUSTER)
            return hn_loop_no(why, "the blocks are a cluster's already");
        if (x->kind == HN_ST_COMMIT) return hn_loop_no(why, "copies are under way already");
    }
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (n->buf[b].space == HN_LOCAL) return hn_loop_no(why, "blocks have memory of their own");
    return true;
}

/* -- what is shared */
static bool depends(const cluster *k, hn_st fill, hn_st copy) {
    const hn_nest *n = k->n;
    const hn_stmt *s = &n->st[copy];
    bool does = hn_ix_depends(n, n->extent[n->st[fill].var], k->old) || hn_ix_depends(n, s->at, k->old) ||
                hn_ix_depends(n, s->from_at[0], k->old);
    for (uint32_t g = 0; g < s->n_guard; g++) does |= hn_ix_depends(n, s->guard[g], k->old);
    return does;
}

/* Marks the fills that do not depend on the clustered loop. False: one has fewer turns than the cluster has blocks. */
static bool find_shared(cluster *k, hn_st first, bool threads, const char **why) {
    hn_nest *n = k->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind != HN_ST_LOOP) continue;
        if (!find_shared(k, s->body, threads || s->loop == HN_GROUP, why)) return false;
        if (s->loop != HN_SERIAL || !threads) continue;
        for (hn_st fill = s->body, copy; (copy = hn_moved_in(n, fill, HN_ST_COPY)); fill = n->st[fill].next) {
            int64_t turns;
            if (depends(k, fill, copy)) continue;
            if (hn_ix_is_int(n, n->extent[n->st[fill].var], &turns) && turns < k->blocks)
                return hn_loop_no(why, "a tile is copied in fewer turns than the cluster has blocks");
            k->shared[copy] = true;
            k->n_shared++;
        }
    }
    return true;
}

/* -- parts */
/* Turn j of the fill is turn j / blocks of block j mod blocks. */
static hn_st part_of(const cluster *k, hn_st fill) {
    hn_nest *n = k->n;
    const hn_stmt old = n->st[fill];
    hn_ix turns = n->extent[old.var], c = hn_ix_var(n, k->c);
    hn_dim by = hn_dim_int(n->dims, k->blocks);
    int64_t all;
    bool even = hn_ix_is_int(n, turns, &all) && all % k->blocks == 0;
    hn_ix own = hn_ix_sub(n, hn_ix_add(n, turns, hn_ix_int(n, k->blocks - 1)), c);
    hn_var j = hn_nest_var(n, even ? hn_ix_int(n, all / k->blocks) : hn_ix_div(n, own, by));
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var + 1u);
    if (!var) return 0;
    var[old.var] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, j), by), c);
    hn_st body = hn_nest_clone(n, old.body, &(hn_subst){var, NULL, n->n_var, 0});
    hn_loop_kind kind = even ? old.loop : HN_SERIAL;
    return hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .loop = kind, .var = j, .body = body});
}

/* The same loop, in which pushes stand for the copies. */
static hn_st pushes_of(const cluster *k, hn_st part) {
    hn_nest *n = k->n;
    hn_st loop = hn_nest_clone(n, part, NULL), copy = loop ? hn_moved_in(n, loop, HN_ST_COPY) : 0;
    if (!copy) return 0;
    const hn_stmt s = n->st[copy];
    n->st[copy] = (hn_stmt){.kind = HN_ST_PUSH, .buf = s.buf, .at = s.at, .count = s.count};
    return loop;
}

/* Shared fills become parts; their pushes stand behind all fills. */
static bool share_fills(cluster *k, hn_st first) {
    hn_nest *n = k->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        if (!share_fills(k, n->st[id].body)) return false;
        hn_st pushes = 0, last = 0;
        if (n->st[id].loop != HN_SERIAL) continue;
        for (hn_st fill = n->st[id].body, copy; (copy = hn_moved_in(n, fill, HN_ST_COPY)); fill = n->st[fill].next) {
            last = fill;
            if (copy >= k->n_st || !k->shared[copy]) continue;
            hn_st next = n->st[fill].next, part = part_of(k, fill), push = part ? pushes_of(k, part) : 0;
            if (!push) return false;
            n->st[fill] = n->st[part];
            n->st[fill].next = next;
            pushes = hn_list_append(n, pushes, push);
        }
        if (!pushes) continue;
        hn_st rest = n->st[last].next;
        n->st[last].next = pushes;
        hn_list_append(n, pushes, rest);
    }
    return hn_arena_ok(n->a);
}

/* -- the loop in two */
static void replace_guards(hn_nest *n, uint32_t *count, const hn_ix **guard, const hn_subst *s) {
    hn_ix *now = *count ? HN_NEW_N(n->a, hn_ix, *count) : NULL;
    uint32_t kept = 0;
    for (uint32_t g = 0; now && g < *count; g++) {
        now[kept] = hn_ix_subst(n, (*guard)[g], s);
        kept += !hn_ix_never_negative(n, now[kept]);
    }
    if (!now) return;
    *guard = now;
    *count = kept;
}

static void replace(hn_nest *n, hn_st first, const hn_subst *s) {
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_stmt x = n->st[id];
        if (x.kind == HN_ST_LOOP) {
            n->extent[x.var] = hn_ix_subst(n, n->extent[x.var], s);
            replace(n, x.body, s);
        } else if (x.kind == HN_ST_LET) {
            hn_scalar v = n->sv[x.value];
            if (v.at) v.at = hn_ix_subst(n, v.at, s);
            replace_guards(n, &v.n_guard, &v.guard, s);
            n->sv[x.value] = v;
        } else {
            if (x.at) x.at = hn_ix_subst(n, x.at, s);
            for (int k = 0; k < 2; k++)
                if (x.from_at[k]) x.from_at[k] = hn_ix_subst(n, x.from_at[k], s);
            replace_guards(n, &x.n_guard, &x.guard, s);
            n->st[id] = x;
        }
    }
}

/* What blocks beyond the last one would read and write. The cluster's copies are for others, too. */
static void guard_memory(const cluster *k, hn_st first, const hn_ix *inside) {
    hn_nest *n = k->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        hn_stmt *s = &n->st[id];
        hn_scalar *x = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (s->kind == HN_ST_LOOP) guard_memory(k, s->body, inside);
        if ((s->kind == HN_ST_COPY && !k->shared[id]) || (s->kind == HN_ST_STORE && n->buf[s->buf].space == HN_RESULT))
            hn_guards_add(n, &s->n_guard, &s->guard, 1, inside);
        if (x && x->kind == HN_SV_LOAD && hn_nest_constant(n, x->buf))
            hn_guards_add(n, &x->n_guard, &x->guard, 1, inside);
    }
}

static bool split(cluster *k) {
    hn_nest *n = k->n;
    hn_st last = k->at[k->depth - 1];
    hn_dim by = hn_dim_int(n->dims, k->blocks);
    hn_ix *inside = HN_NEW(n->a, hn_ix), *var = HN_NEW_N(n->a, hn_ix, n->n_var + 2u);
    if (!inside || !var) return false;
    *inside = hn_ix_sub(n, hn_ix_sub(n, k->count, hn_ix_int(n, 1)), hn_ix_var(n, k->old));
    guard_memory(k, n->st[last].body, inside);
    hn_ix up = hn_ix_add(n, k->count, hn_ix_int(n, k->blocks - 1));
    hn_var b = hn_nest_var(n, hn_ix_div(n, up, by));
    var[k->old] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, b), by), hn_ix_var(n, k->c));
    replace(n, n->st[last].body, &(hn_subst){var, NULL, n->n_var, 0});
    hn_st made =
        hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LOOP, .loop = HN_CLUSTER, .var = k->c, .body = n->st[last].body});
    if (!made) return false;
    n->st[last].body = made;
    n->st[k->loop].var = b;
    return hn_arena_ok(n->a);
}

bool hn_device_cluster(hn_nest *n, hn_st loop, int64_t blocks, const char **why) {
    cluster k = {.n = n, .loop = loop, .blocks = blocks};
    int64_t all;
    if (blocks < 2 || blocks > BLOCKS_MOST) return hn_loop_no(why, "a cluster has 2 to 8 blocks");
    if (!may_cluster(n, why) || !find_blocks(&k, why)) return false;
    k.old = n->st[loop].var;
    k.count = n->extent[k.old];
    if (!hn_ix_is_dim(n, k.count, NULL)) return hn_loop_no(why, "the loop's length depends on loops");
    if (hn_ix_is_int(n, k.count, &all) && all < blocks)
        return hn_loop_no(why, "the loop has fewer blocks than the cluster");
    for (int i = 0; i < k.depth; i++)
        if (hn_ix_depends(n, n->extent[n->st[k.at[i]].var], k.old))
            return hn_loop_no(why, "the number of other blocks depends on the loop");
    k.n_st = n->n_st;
    k.shared = HN_NEW_N(n->a, bool, n->n_st + 1u);
    if (!k.shared) return hn_loop_no(why, "out of memory");
    hn_st body = n->st[k.at[k.depth - 1]].body;
    if (!find_shared(&k, body, false, why)) return false;
    if (!k.n_shared) return hn_loop_no(why, "no tile is copied that is the same for all blocks of the cluster");
    k.c = hn_nest_var(n, hn_ix_int(n, blocks));
    /* conditions first: what is shared is known by its statements */
    if (!split(&k) || !share_fills(&k, n->st[k.at[k.depth - 1]].body)) return hn_loop_no(why, "out of memory");
    hn_nest_sweep(n);
    return true;
}
