/* sketch/sketch_plain.c — a good schedule without any search.
 *
 * 1 neighbouring loops that are one in memory are collapsed; 2 the innermost result loop becomes the vector loop where
 * the memory it walks is contiguous, else the reductions inside it are computed in vector partials; 3 where a loop
 * further out would read the same vectors again it is unrolled (a register tile); 4 what is left outside becomes the
 * work items. Strides decide, nothing else: not the kernel's kind.
 */
#include "nest/chain.h"
#include "nest/schedule.h"
#include "nest/tile.h"
#include "sketch/constants.h"
#include "sketch/sketch.h"

enum { VECTOR_MIN = 4, NO_REPEAT = -1 };

/* -- strides */
typedef struct walk {
    int unit, strided, uniform; /* accesses to memory by their stride in one variable */
} walk;

static void count_access(hn_nest *n, hn_ix at, hn_var v, walk *w) {
    int64_t k;
    if (!hn_ix_depends(n, at, v))
        w->uniform++;
    else if (hn_ix_step(n, at, v, &k) && k == 1)
        w->unit++;
    else
        w->strided++;
}
/* Accesses in the list; loops alone: only what is inside further loops. */
static void walk_list(hn_nest *n, hn_st first, hn_var v, bool inside, walk *w) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP) walk_list(n, s.body, v, true, w);
        if (!inside) continue;
        bool stores = s.kind == HN_ST_STORE && n->buf[s.buf].space != HN_REG;
        if (stores) count_access(n, s.at, v, w);
        const hn_scalar *x = s.kind == HN_ST_LET ? &n->sv[s.value] : NULL;
        if (x && x->kind == HN_SV_LOAD && n->buf[x->buf].space != HN_REG) count_access(n, x->at, v, w);
    }
}

static bool types_fine(const hn_nest *n) {
    for (hn_sv x = 1; x < n->n_sv; x++)
        if (hn_dtype_of(n->sv[x].dtype)->bits < 8 && n->sv[x].dtype != HONE_BOOL) return false;
    return true;
}

static bool is_reduction(const hn_nest *n, hn_st loop) {
    for (hn_st id = n->st[loop].body; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_UPDATE) return true;
    return false;
}

/* -- the innermost loops */
typedef struct plan {
    int64_t lanes, registers;
    int n_vector, n_partial;
    int64_t rows;  /* of the register tile, 0: none */
    bool one_part; /* partial results in one vector: several rows have theirs at once */
} plan;

/* A row of up to eight vectors has all of them at once: no loop, nothing goes through memory. 0: it is longer. */
static int64_t short_row(const plan *p, bool known, int64_t e, int64_t lanes) {
    int64_t vectors = known ? e / lanes : 0;
    return vectors <= (p->registers >= 32 ? 8 : 4) ? vectors : 0;
}

/* Is the body short enough to be written several times? */
static bool short_body(const hn_nest *n, hn_st first) {
    int size = 0;
    for (hn_st id = first; id; id = n->st[id].next) size++;
    return size <= HN_PLAIN_BODY_MAX;
}

/* One vector for the e iterations of a loop, fewer than p->lanes, and the last of the `before` ones in front of it. */
static bool lap(hn_nest *n, hn_st loop, plan *p, int64_t e, int64_t before) {
    int64_t lanes = VECTOR_MIN;
    hn_st inner, tail;
    while (lanes < e) lanes *= 2;
    if (lanes > p->lanes || lanes == e || lanes - e > before) return false;
    if (!hn_loop_overlap(n, loop, lanes, 1, hn_ix_int(n, before), &inner, &tail, NULL, NULL)) return false;
    p->n_vector += hn_loop_vectorise(n, inner, NULL);
    return true;
}

/* Vectors of p->lanes, fewer in a short loop; what is left over in half as many, and so on down to four, where its
 * length is known, else in fours. before: so many iterations in front of the loop may be repeated, and its own: what is
 * left over is one vector with some of them then; NO_REPEAT: none may. */
static void vectorise(hn_nest *n, hn_st loop, plan *p, int64_t before) {
    int64_t e, lanes = p->lanes;
    while (loop) {
        bool known = hn_ix_is_int(n, n->extent[n->st[loop].var], &e);
        if (known && lap(n, loop, p, e, before)) return;
        while (known && lanes > VECTOR_MIN && e < lanes) lanes /= 2;
        hn_st inner, tail = 0;
        if (!hn_loop_split(n, loop, lanes, &inner, &tail, NULL)) return;
        if (!hn_loop_vectorise(n, inner, NULL)) return;
        if (short_body(n, n->st[inner].body) && short_row(p, known, e, lanes)) hn_loop_unroll(n, loop, NULL);
        p->n_vector++;
        if (before != NO_REPEAT) before = known ? before + e - e % lanes : 0;
        known = tail && hn_ix_is_int(n, n->extent[n->st[tail].var], &e);
        if (lanes <= VECTOR_MIN && known) lap(n, tail, p, e, before);
        if (lanes <= VECTOR_MIN) return;
        lanes = known ? lanes / 2 : VECTOR_MIN;
        loop = tail;
    }
}

/* Vectors of partial results, so that additions do not wait for each other; what they leave over likewise with fewer,
 * then with shorter ones. u: so many vectors where the row is long. */
static void partials(hn_nest *n, hn_st loop, plan *p, int64_t lanes, int64_t u) {
    int64_t e;
    bool known = hn_ix_is_int(n, n->extent[n->st[loop].var], &e);
    while (known && !p->one_part && lanes > 4 && e < lanes) lanes /= 2;
    if (u > 1 && short_row(p, known, e, lanes)) u = short_row(p, known, e, lanes);
    hn_st behind = n->st[loop].next, last = loop;
    if (!hn_loop_rfactor(n, loop, lanes, u, NULL)) return;
    p->n_partial++;
    while (n->st[last].next != behind) last = n->st[last].next;
    bool rest = n->st[last].kind == HN_ST_LOOP && n->st[last].loop == HN_SERIAL;
    if (rest && u > 1)
        partials(n, last, p, lanes, known ? 4 : 1);
    else if (rest && lanes > 4 && !p->one_part)
        partials(n, last, p, known ? lanes / 2 : 4, 1);
}

static bool has_guards(hn_nest *n, hn_st first, hn_var v);

static int64_t length(const hn_nest *n, hn_st loop) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[loop].var], &e) ? e : -1;
}

static void schedule_leaf(hn_nest *n, hn_st id, plan *p, int peels);

/* A part of a loop of `whole` iterations. Where that number is known, parts are cut until none has conditions in the
 * loop's variable (a concatenation has one part per operand) or cutting leaves what there was. */
static void schedule_part(hn_nest *n, hn_st part, int64_t whole, plan *p, int peels) {
    int64_t e = length(n, part);
    if (e == 0) return;
    schedule_leaf(n, part, p, whole < 0 || e < 0 ? peels - 1 : e < whole ? peels : 0);
}

/* Schedules the loops before `inside`, that loop, and those after it. */
static void schedule_parts(hn_nest *n, hn_st id, hn_st inside, int64_t whole, plan *p, int peels) {
    hn_st behind = n->st[inside].next;
    schedule_part(n, id, whole, p, peels);
    schedule_part(n, inside, whole, p, peels);
    schedule_part(n, behind, whole, p, peels);
}

/* Conditions in the loop's variable, and places where an index bends, cut it in parts without them, which can be
 * vectors; where most of memory is walked in strides, conditions do so only for the sake of functions such as tanh. */
static void schedule_leaf(hn_nest *n, hn_st id, plan *p, int peels) {
    hn_st inside;
    int64_t whole = length(n, id);
    walk w = {0, 0, 0};
    if (!is_reduction(n, id) && hn_loop_unbend(n, id, &inside, NULL)) {
        schedule_parts(n, id, inside, whole, p, peels);
        return;
    }
    walk_list(n, n->st[id].body, n->st[id].var, true, &w);
    if (w.strided > w.unit && (is_reduction(n, id) || !hn_tile_calls(n, n->st[id].body))) return;
    if (is_reduction(n, id)) {
        partials(n, id, p, p->lanes, p->one_part ? 1 : 4);
    } else if (peels && has_guards(n, n->st[id].body, n->st[id].var) && hn_loop_peel(n, id, &inside, NULL)) {
        schedule_parts(n, id, inside, whole, p, peels);
    } else {
        vectorise(n, id, p, NO_REPEAT);
    }
}

/* The operands of a reduction are computed in its loop, unless the row is shorter than a vector. */
static void join_leaves(hn_nest *n, hn_st first, const plan *p) {
    int64_t e;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind != HN_ST_LOOP || s.loop != HN_SERIAL || has_guards(n, s.body, s.var)) continue;
        if (!hn_ix_is_int(n, n->extent[s.var], &e) || e >= p->lanes) hn_loop_join(n, id, NULL);
    }
}

/* Data that is moved, its results next to each other along both loops, x further out than c of length k. */
static bool in_turn(hn_nest *n, hn_st first, hn_var x, hn_var c, int64_t k) {
    int64_t along, step;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        const hn_scalar *v = s->kind == HN_ST_LET ? &n->sv[s->value] : NULL;
        if (v && v->kind == HN_SV_LOAD) {
            if (n->buf[v->buf].space == HN_REG || v->n_guard) return false;
            if (!hn_ix_step(n, v->at, x, &along) || !along || !hn_ix_step(n, v->at, c, &step)) return false;
        } else if (s->kind == HN_ST_STORE) {
            if (n->buf[s->buf].space == HN_REG) return false;
            if (!hn_ix_step(n, s->at, x, &along) || along != k || !hn_ix_step(n, s->at, c, &step) || step != 1)
                return false;
        } else if (!v || (v->kind != HN_SV_CONST && v->kind != HN_SV_OP)) {
            return false;
        }
    }
    return true;
}

/* for x { for c < k }, too short for vectors and results next to each other along both, as vectors of both: the few
 * channels of an image in turn, which are read whole and put in order (backend/cpu/nest_c_shuffle.c). */
static bool interleave(hn_nest *n, hn_st loop, plan *p) {
    hn_st in = n->st[loop].body, run, vector;
    int64_t k;
    if (!in || n->st[in].kind != HN_ST_LOOP || n->st[in].next || n->st[in].loop != HN_SERIAL) return false;
    if (!hn_ix_is_int(n, n->extent[n->st[in].var], &k) || k < 2 || k > HN_PLAIN_INTERLEAVED_MAX ||
        p->lanes <= VECTOR_MIN)
        return false;
    if (!in_turn(n, n->st[in].body, n->st[loop].var, n->st[in].var, k)) return false;
    if (!hn_loop_split(n, loop, p->lanes, &run, NULL, NULL)) return false;
    if (!hn_loop_fuse(n, run, NULL) || !hn_loop_split(n, run, p->lanes, &vector, NULL, NULL)) return true;
    if (hn_loop_vectorise(n, vector, NULL)) hn_loop_unroll(n, run, NULL);
    p->n_vector++;
    return true;
}

/* Loops without loops inside, anywhere below the list: rows, reductions, copies. */
static void schedule_leaves(hn_nest *n, hn_st first, plan *p) {
    if (!p->one_part) join_leaves(n, first, p);
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next;
        if (n->st[id].kind != HN_ST_LOOP || n->st[id].loop != HN_SERIAL) {
            if (n->st[id].kind == HN_ST_LOOP && n->st[id].loop == HN_PARALLEL) schedule_leaves(n, n->st[id].body, p);
            continue;
        }
        if (interleave(n, id, p)) continue;
        if (hn_has_loop(n, n->st[id].body)) {
            schedule_leaves(n, n->st[id].body, p);
            continue;
        }
        schedule_leaf(n, id, p, HN_PLAIN_PEELS);
    }
}

/* Loads inside the reductions that walk with variable v and would be the same for every iteration of w. */
static int reused(hn_nest *n, hn_st first, hn_var v, hn_var w, bool inside) {
    int count = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP) count += reused(n, s.body, v, w, true);
        const hn_scalar *x = inside && s.kind == HN_ST_LET ? &n->sv[s.value] : NULL;
        if (x && x->kind == HN_SV_LOAD && n->buf[x->buf].space != HN_REG)
            count += hn_ix_depends(n, x->at, v) && !hn_ix_depends(n, x->at, w);
    }
    return count;
}

/* A loop around the vector loop whose iterations read the same vectors: rows of the register tile. -1: none. */
static int tile_loop(hn_nest *n, const hn_chain *c) {
    hn_st leaf = c->loop[c->n - 1];
    for (int k = c->n - 1; k-- > 0;)
        if (reused(n, n->st[leaf].body, n->st[leaf].var, n->st[c->loop[k]].var, false)) return k;
    return -1;
}

static bool has_guards(hn_nest *n, hn_st first, hn_var v) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP && has_guards(n, s.body, v)) return true;
        const hn_scalar *x = s.kind == HN_ST_LET ? &n->sv[s.value] : NULL;
        for (uint32_t k = 0; x && k < x->n_guard; k++)
            if (hn_ix_depends(n, x->guard[k], v)) return true;
    }
    return false;
}

/* Brings the rows next to the columns, and panels of columns around them: the panel's operand stays in the cache while
 * the rows go by. Gives the loop over the columns of one panel. */
static hn_st make_panels(hn_nest *n, hn_chain *c, int *rows, int64_t columns) {
    int last = c->n - 1;
    hn_st leaf = c->loop[last], in;
    int64_t e;
    while (*rows + 1 < last && hn_loop_swap(n, c->loop[*rows], NULL)) ++*rows;
    if (*rows + 1 < last || has_guards(n, n->st[leaf].body, n->st[leaf].var)) return leaf;
    if (hn_ix_is_int(n, n->extent[n->st[leaf].var], &e) && e <= columns) return leaf;
    if (!hn_loop_chunk(n, leaf, columns, &in, NULL)) return leaf;
    if (hn_loop_swap(n, c->loop[*rows], NULL)) *rows = last;
    return in;
}

/* `vectors` of columns at once, then what is left. */
static void tile_columns(hn_nest *n, hn_st leaf, int64_t vectors, plan *p) {
    hn_st wide, tail, vector;
    int64_t e, width = vectors * p->lanes;
    bool repeats = hn_ix_is_int(n, n->extent[n->st[leaf].var], &e) && !has_guards(n, n->st[leaf].body, n->st[leaf].var);
    if (!hn_loop_split(n, leaf, width, &wide, &tail, NULL)) {
        vectorise(n, leaf, p, repeats ? 0 : NO_REPEAT);
        return;
    }
    if (tail) vectorise(n, tail, p, repeats ? e - e % width : NO_REPEAT);
    if (!hn_loop_split(n, wide, p->lanes, &vector, NULL, NULL) || !hn_loop_vectorise(n, vector, NULL)) return;
    hn_loop_unroll(n, wide, NULL);
    p->n_vector++;
}

static void tile_rows(hn_nest *n, hn_st row, plan *p) {
    int64_t e, most = p->registers >= 32 ? 8 : 4, r = most;
    hn_st inner, tail;
    bool known = hn_ix_is_int(n, n->extent[n->st[row].var], &e);
    if (known && e < r) r = e;
    for (int64_t k = most; known && k > 3 && e % r; k--)
        if (e % k == 0) r = k;
    if ((!known || e > 8 * r) && hn_loop_chunk(n, row, 8 * r, &inner, NULL)) row = inner;
    if (r < 2 || !hn_loop_split(n, row, r, &inner, &tail, NULL) || !hn_loop_unroll(n, inner, NULL)) return;
    p->rows = r;
    if (tail && hn_ix_is_int(n, n->extent[n->st[tail].var], &e)) hn_loop_unroll(n, tail, NULL);
}

/* Columns at the edge of an image, one after the other, each with the part of its window that is inside. */
static void edge(hn_nest *n, hn_st loop) {
    int64_t e;
    if (!hn_ix_is_int(n, n->extent[n->st[loop].var], &e) || e > HN_PLAIN_EDGE_MAX) return;
    hn_st behind = n->st[loop].next;
    if (!hn_loop_repeat(n, loop, NULL)) return;
    for (hn_st id = loop; id != behind; id = n->st[id].next) hn_nest_trim(n, n->st[id].body);
}

/* Result loop with reductions inside: vectors over the results, several rows at once. */
static void tile(hn_nest *n, hn_chain *c, plan *p) {
    int rows = tile_loop(n, c);
    hn_st leaf = rows >= 0 ? make_panels(n, c, &rows, 2 * p->lanes) : c->loop[c->n - 1];
    hn_st row = rows >= 0 ? c->loop[rows] : 0, inside;
    if (hn_loop_peel(n, leaf, &inside, NULL)) {
        edge(n, leaf);
        edge(n, n->st[inside].next);
        leaf = inside;
    }
    if (rows < 0) hn_nest_trim(n, n->st[leaf].body);
    if (rows >= 0) {
        tile_columns(n, leaf, 2, p);
        tile_rows(n, row, p);
    } else {
        tile_columns(n, leaf, p->registers >= 32 ? 4 : 2, p);
    }
}

static void schedule_leaves(hn_nest *n, hn_st first, plan *p);

/* Dot products of rows with contiguous columns: partial results, panels of columns, several rows at once. */
static void tile_dots(hn_nest *n, hn_chain *c, plan *p) {
    int rows = tile_loop(n, c);
    if (rows < 0) return;
    hn_st leaf = make_panels(n, c, &rows, HN_PLAIN_DOT_COLUMNS);
    p->one_part = true;
    schedule_leaves(n, n->st[leaf].body, p);
    p->one_part = false;
    tile_rows(n, c->loop[rows], p);
}

/* The list writes local memory: a row's own buffers. */
static bool keeps_rows(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_STORE && n->buf[s->buf].space == HN_LOCAL) return true;
        if (s->kind == HN_ST_LOOP && keeps_rows(n, s->body)) return true;
    }
    return false;
}

static bool one_top_loop(const hn_nest *n) { return hn_lone_loop(n, n->first) != 0; }

/* The innermost reduction loop below: where its operands are contiguous, partial results beat strided vectors. */
static bool dot_product(hn_nest *n, hn_st first, int64_t lanes) {
    int64_t e;
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        if (hn_has_loop(n, n->st[id].body)) return dot_product(n, n->st[id].body, lanes);
        walk w = {0, 0, 0};
        walk_list(n, n->st[id].body, n->st[id].var, true, &w);
        bool short_ = hn_ix_is_int(n, n->extent[n->st[id].var], &e) && e < lanes;
        return is_reduction(n, id) && w.unit && !w.strided && !short_;
    }
    return false;
}

static void whole(hn_nest *n, plan *p) {
    hn_chain c = hn_chain_of(n, n->first);
    int64_t e;
    if (!c.n) return;
    hn_st leaf = c.loop[c.n - 1];
    walk w = {0, 0, 0};
    walk_list(n, n->st[leaf].body, n->st[leaf].var, false, &w);
    bool reduces = hn_has_loop(n, n->st[leaf].body), long_ = true;
    bool fits = p->lanes > 1 && reduces && !keeps_rows(n, n->st[leaf].body);
    bool dots = fits && w.strided && dot_product(n, n->st[leaf].body, p->lanes);
    bool across = fits && !dots && (w.strided || w.unit);
    if (c.n > 1 && hn_ix_is_int(n, n->extent[n->st[leaf].var], &e)) long_ = e > 2 * HN_PLAIN_CHUNK;
    if ((c.n == 1 && (across || !reduces)) || (!reduces && long_ && c.n > 1))
        hn_loop_chunk(n, leaf, reduces ? 64 : HN_PLAIN_CHUNK, &leaf, NULL);
    c.loop[c.n - 1] = leaf;
    if (across) tile(n, &c, p);
    if (dots && c.n > 1) tile_dots(n, &c, p);
}

/* The leaves below walk rows that are short and of known length. */
static bool short_rows(const hn_nest *n, hn_st first, int64_t most) {
    int64_t e;
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        if (hn_has_loop(n, n->st[id].body) || !hn_ix_is_int(n, n->extent[n->st[id].var], &e) || e > most) return false;
    }
    return true;
}

/* Short rows that are computed in local memory go in pairs: while one waits for the end of a reduction, the other
 * computes. The loop over a pair, unrolled once what is inside is vectors; 0: none. */
static hn_st pair_rows(hn_nest *n, plan *p) {
    hn_st at = n->first, pair;
    int64_t e;
    while (at && n->st[at].kind == HN_ST_LET) at = n->st[at].next;
    while (at && n->st[at].kind == HN_ST_LOOP && n->st[at].loop == HN_PARALLEL) at = hn_lone_loop(n, n->st[at].body);
    if (!at || p->registers < 32 || !keeps_rows(n, n->st[at].body)) return 0;
    if (!short_rows(n, n->st[at].body, 16 * p->lanes)) return 0;
    if (!hn_ix_is_int(n, n->extent[n->st[at].var], &e) || e % 2) return 0;
    if (!hn_loop_split(n, at, 2, &pair, NULL, NULL) || !hn_loop_own(n, pair, NULL)) return 0;
    p->registers /= 2;
    return pair;
}

const char *hn_schedule_default(hn_nest *n, int64_t lanes, int64_t registers) {
    plan p = {.lanes = types_fine(n) ? lanes : 1, .registers = registers};
    hn_nest_digits(n);
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first);
    hn_nest_tidy(n);
    if (one_top_loop(n)) whole(n, &p);
    hn_nest_items(n);
    hn_st pair = p.lanes > 1 ? pair_rows(n, &p) : 0;
    if (p.lanes > 1) schedule_leaves(n, n->first, &p);
    if (pair) hn_loop_unroll(n, pair, NULL);
    hn_nest_tidy(n);
    if (p.rows) return hn_format(n->a, "tile=%dx2 vector=%d", (int)p.rows, (int)p.lanes);
    if (p.n_vector || p.n_partial) return hn_format(n->a, "vector=%d partial=%d", (int)p.lanes, p.n_partial);
    return "scalar";
}
