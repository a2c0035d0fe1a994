/* sketch/sketch_conv_steps.c — the innermost loops of convolutions' tiles.
 *
 * Weights of a block of channels serve all lines of the image; the first of them waits for memory, at its bandwidth.
 * So each item of lines prefetches its share of the next block's (as sketch/sketch_gemm.c does for panels of products).
 * A large image comes from memory line by line: each item prefetches the next one's. Prefetches follow the reduction's
 * own addresses: no counter is needed, and the window's rows outside of the image, which are left out, do not matter.
 */
#include "nest/chain.h"
#include "nest/schedule.h"
#include "sketch/constants.h"
#include "sketch/sketch_conv.h"

#include <string.h>

typedef struct walk {
    const hn_conv_next *next;
    int64_t steps;
    hn_ix *zero; /* by variable: 0 for lanes */
    uint32_t n_zero;
    hn_var row;   /* the tile's columns of the image; 0: not in a tile, or there is one */
    int64_t sums; /* of the tile, next to each other */
    bool in_tile;
} walk;

static bool updates(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_UPDATE) return true;
    return false;
}

static int64_t length(const hn_nest *n, hn_st loop) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[loop].var], &e) ? e : 0;
}

/* The index of the load of a buffer in the loop's body; 0: there is none. */
static hn_ix load_of(const hn_nest *n, hn_st loop, hn_buf b) {
    for (hn_st id = n->st[loop].body; b && id; id = n->st[id].next) {
        const hn_scalar *x = n->st[id].kind == HN_ST_LET ? &n->sv[n->st[id].value] : NULL;
        if (x && x->kind == HN_SV_LOAD && x->buf == b) return x->at;
    }
    return 0;
}

/* Where a run of the loop begins, for the first lane, in item `item`; 0: in this one. */
static hn_ix begin_of(hn_nest *n, hn_st loop, const walk *w, hn_ix at, hn_ix item) {
    hn_ix *first = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!first) return 0;
    memcpy(first, w->zero, w->n_zero * sizeof *first);
    first[n->st[loop].var] = hn_ix_int(n, 0);
    if (item) first[w->next->item] = item;
    return hn_ix_subst(n, at, &(hn_subst){first, NULL, n->n_var, 0});
}

/* What a run of the loop prefetches: elements from `at` on, `each` of them with every step. */
typedef struct share {
    hn_buf buf;
    hn_ix at;
    int64_t each;
} share;

/* The share of the next block's weights: each item prefetches a part. */
static bool weights_of(hn_nest *n, hn_st loop, const walk *w, share *out) {
    const hn_conv_next *x = w->next;
    int64_t step, block;
    hn_ix whole = load_of(n, loop, x->weights), here = whole ? begin_of(n, loop, w, whole, 0) : 0;
    if (!here || !hn_ix_step(n, whole, n->st[loop].var, &step) || !hn_ix_step(n, here, x->block, &block)) return false;
    if (step < 1 || block < 1 || block % (step * x->depth)) return false;
    int64_t all = block / x->depth, each = (all + x->items - 1) / x->items, last = (all - 1) / each;
    hn_ix begin = hn_ix_scale(n, hn_ix_var(n, x->block), hn_dim_int(n->dims, block));
    hn_ix in = hn_ix_div(n, hn_ix_sub(n, here, begin), hn_dim_int(n->dims, step));
    hn_ix part = hn_ix_min(n, hn_ix_var(n, x->item), hn_ix_int(n, last));
    part = hn_ix_scale(n, part, hn_dim_int(n->dims, each * x->depth));
    hn_ix at = hn_ix_add(n, hn_ix_add(n, begin, hn_ix_int(n, block)), part);
    *out = (share){x->weights, hn_ix_add(n, at, hn_ix_scale(n, in, hn_dim_int(n->dims, each))), each};
    return true;
}

/* Of the next item's lines: the tile's columns there. What is there already costs little. */
static bool lines_of(hn_nest *n, hn_st loop, const walk *w, share *out) {
    int64_t step, column, e = length(n, loop);
    hn_ix at = load_of(n, loop, w->next->image);
    if (!at || !e || !w->row || !hn_ix_step(n, at, n->st[loop].var, &step) || step != 1) return false;
    if (!hn_ix_step(n, at, w->row, &column) || column < 1) return false;
    hn_ix later = hn_ix_add(n, hn_ix_var(n, w->next->item), hn_ix_int(n, 1));
    *out = (share){w->next->image, begin_of(n, loop, w, at, later), (w->next->rows * column + e - 1) / e};
    return out->at != 0 && out->each <= HN_CONV_ASK_MAX;
}

static void prefetch_share(hn_nest *n, hn_st loop, int64_t steps, const share *x) {
    int64_t all = steps * x->each, lines = (all + HN_TILE_LINE - 1) / HN_TILE_LINE;
    hn_loop_prefetch(n, loop, 1, x->buf, x->at, lines, all / lines, NULL);
}

/* Sums of few rows wait for the addition before: several of each, in turns, which are added up behind the loop. */
static bool in_turns(hn_nest *n, hn_st loop, const walk *w) {
    enum { ROUNDS_MIN = 4 }; /* what is over sooner gains less than adding up takes */
    int64_t turns = HN_CONV_CHAINS / w->sums;
    return turns > 1 && length(n, loop) >= ROUNDS_MIN * turns && hn_loop_rfactor(n, loop, 1, turns, NULL);
}

static void finish(hn_nest *n, hn_st loop, const walk *w) {
    int64_t e = length(n, loop), steps = e > 0 && e < w->steps ? e : w->steps;
    if (in_turns(n, loop, w)) return;
    hn_st inner = 0, tail = 0;
    share weights = {0}, lines = {0};
    bool block = weights_of(n, loop, w, &weights), item = lines_of(n, loop, w, &lines);
    if (steps > 1 && !hn_loop_split(n, loop, steps, &inner, &tail, NULL)) steps = 1;
    if (item) prefetch_share(n, loop, steps, &lines);
    if (block) prefetch_share(n, loop, steps, &weights);
    if (steps > 1) hn_loop_repeat(n, inner, NULL);
    if (tail) hn_loop_repeat(n, tail, NULL);
}

/* Two serial loops, the one alone in the other. */
static bool is_pair(const hn_nest *n, hn_st loop) {
    hn_st in = hn_lone_loop(n, n->st[loop].body);
    return in && n->st[loop].loop == HN_SERIAL && n->st[in].loop == HN_SERIAL;
}

static void finish_all(hn_nest *n, hn_st first, walk w) {
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next;
        if (n->st[id].kind != HN_ST_LOOP) continue;
        walk in = w;
        if (n->st[id].loop == HN_UNROLL || n->st[id].loop == HN_VECTOR) {
            if (!w.in_tile && n->st[id].loop == HN_UNROLL) in.row = n->st[id].var;
            in.in_tile = true;
            if (n->st[id].loop == HN_UNROLL) in.sums *= length(n, id);
            w.zero[n->st[id].var] = hn_ix_int(n, 0);
        }
        while (w.in_tile && is_pair(n, id) && hn_loop_collapse(n, id, NULL)) continue;
        if (n->st[id].loop == HN_SERIAL && updates(n, n->st[id].body))
            finish(n, id, &w);
        else
            finish_all(n, n->st[id].body, in);
    }
}

void hn_conv_finish(hn_nest *n, int64_t steps, const hn_conv_next *next) {
    walk w = {.next = next, .steps = steps, .sums = 1, .n_zero = n->n_var, .zero = HN_NEW_N(n->a, hn_ix, n->n_var)};
    if (w.zero) finish_all(n, n->first, w);
}
