/* sketch/sketch_copy.c — transpositions: pointwise code whose results are contiguous along one loop and whose operands
 * are contiguous along another.
 *
 * The two loops are brought together and cut into blocks that fit in the first cache, and the blocks into squares of a
 * vector's length, which are read and written whole and turned in registers (backend/cpu/nest_c_across.c).
 */
#include "nest/chain.h"
#include "nest/schedule.h"
#include "sketch/sketch.h"

enum { SIDE_MIN = 4 };

typedef struct copy {
    hn_chain c;
    int x, y; /* places in the chain: where results, where turned operands are contiguous */
    int64_t side;
} copy;

static bool is_unit(hn_nest *n, hn_ix at, hn_var v) {
    int64_t one;
    return hn_ix_step(n, at, v, &one) && one == 1;
}

/* Definitions, then one store of a result that is contiguous along v. */
static bool stores_along(hn_nest *n, hn_st first, hn_var v) {
    hn_st id = first;
    while (id && n->st[id].kind == HN_ST_LET) id = n->st[id].next;
    if (!id || n->st[id].kind != HN_ST_STORE || n->st[id].next) return false;
    return n->buf[n->st[id].buf].space == HN_RESULT && is_unit(n, n->st[id].at, v);
}

/* Loads of the list that are contiguous along y and not along x; -1: one has conditions. */
static int turned(hn_nest *n, hn_st first, hn_var x, hn_var y) {
    int count = 0;
    for (hn_st id = first; id && n->st[id].kind == HN_ST_LET; id = n->st[id].next) {
        const hn_scalar s = n->sv[n->st[id].value];
        if (s.n_guard) return -1;
        if (s.kind == HN_SV_LOAD && s.dtype == HONE_F32 && is_unit(n, s.at, y) && hn_ix_depends(n, s.at, x)) count++;
    }
    return count;
}

static int64_t at_least(const hn_nest *n, hn_st loop, int64_t most) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[loop].var], &e) && e < most ? e : most;
}

static bool recognise(hn_nest *n, const hn_machine *m, copy *out) {
    hn_nest_digits(n);
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first); /* lines of an image: squares do not end with each */
    hn_nest_tidy(n);
    *out = (copy){{{0}, 0}, 0, -1, 0};
    out->c = hn_chain_of(n, n->first);
    out->x = out->c.n - 1;
    if (out->x < 1 || m->vector_b < 16) return false;
    hn_st leaf = out->c.loop[out->x];
    hn_st body = n->st[leaf].body;
    if (hn_has_loop(n, body) || !stores_along(n, body, n->st[leaf].var)) return false;
    for (int y = out->x; y-- > 0 && out->y < 0;) {
        int count = turned(n, body, n->st[leaf].var, n->st[out->c.loop[y]].var);
        if (count < 0) return false;
        if (count) out->y = y;
    }
    if (out->y < 0) return false;
    int64_t e = at_least(n, leaf, m->vector_b / 4), f = at_least(n, out->c.loop[out->y], e);
    for (out->side = m->vector_b / 4; out->side > f;) out->side /= 2;
    return out->side >= SIDE_MIN;
}

static bool copy_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    copy c;
    if (!recognise(n, m, &c)) return false;
    out->n = 1;
    out->knob[0] = (hn_knob){.name = "block", .n = 4};
    for (int i = 0; i < 4; i++) { /* source and destination of a block in a quarter of the first cache */
        int64_t block = out->knob[0].value[i] = c.side << (i + 1);
        if (i == 0 || 8 * block * block <= m->l1d_b / 4) out->knob[0].model = block;
    }
    return true;
}

/* y { x { body } } in blocks: y { x { y' { x' { … } } } }; *y and *x become the inner loops. */
static bool block(hn_nest *n, hn_st *y, hn_st *x, int64_t size, const char **why) {
    hn_st inner_y, inner_x;
    if (!hn_loop_chunk(n, *y, size, &inner_y, why)) return false;
    *x = n->st[inner_y].body;
    if (!hn_loop_chunk(n, *x, size, &inner_x, why) || !hn_loop_swap(n, inner_y, why)) return false;
    *y = n->st[inner_y].body; /* the two have changed places */
    *x = n->st[*y].body;
    return true;
}

/* for y { for x } as squares; what is left of x goes along y, what is left of y in smaller squares, at last along x. */
static bool squares(hn_nest *n, hn_st y, int64_t side, const char **why) {
    hn_st rows, columns, y_left = 0, x_left = 0, vector;
    if (!hn_loop_split(n, y, side, &rows, &y_left, why) || !hn_loop_swap(n, rows, why)) return false;
    hn_st x = rows;
    rows = n->st[x].body;
    if (!hn_loop_split(n, x, side, &columns, &x_left, why)) return false;
    rows = n->st[columns].body;
    if (!hn_loop_unroll(n, rows, why) || !hn_loop_vectorise(n, columns, why)) return false;
    if (x_left && !hn_loop_vectorise(n, n->st[x_left].body, why)) return false;
    if (!y_left) return true;
    int64_t left = at_least(n, y_left, side), smaller = side / 2;
    while (smaller > left) smaller /= 2;
    if (smaller >= SIDE_MIN) return squares(n, y_left, smaller, why);
    if (hn_loop_split(n, n->st[y_left].body, side, &vector, NULL, NULL)) hn_loop_vectorise(n, vector, NULL);
    return true;
}

static bool is_shorter(const hn_nest *n, hn_st a, hn_st b) {
    int64_t e, f;
    return hn_ix_is_int(n, n->extent[n->st[a].var], &e) && (!hn_ix_is_int(n, n->extent[n->st[b].var], &f) || e < f);
}

/* Blocks walk along the shorter side: where that is all of a line's neighbours in memory, each line is read or written
 * whole before the next. */
static bool copy_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    copy c;
    if (!recognise(n, m, &c)) return hn_loop_no(why, "no transposition");
    for (; c.y + 1 < c.x; c.y++)
        if (!hn_loop_swap(n, c.c.loop[c.y], why)) return false;
    hn_st y = c.c.loop[c.y], x = c.c.loop[c.x], outer = y;
    bool across = is_shorter(n, y, x);
    if (!block(n, &y, &x, setting[0], why) || !squares(n, y, c.side, why)) return false;
    if (across && !hn_loop_swap(n, outer, why)) return false;
    hn_nest_items(n);
    hn_nest_tidy(n);
    return true;
}

const hn_sketch hn_sketch_copy = {"copy", "squares turned in registers, in blocks", copy_fits, copy_apply};
