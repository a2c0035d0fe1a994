/* sketch/gpu_attention.c — attention: a tile of queries for each block, which goes over the keys in blocks.
 *
 * A block's threads are rows of `across` threads. A row has `rows` queries; for a block of keys, `keys` for each thread
 * of the row, it computes the scores in registers, their maxima and sums by folds over the row, and adds the values,
 * weighted by exponentials that lie in shared memory, to the results' columns in registers. The softmax is the online
 * one (sketch_attention.c says whose): what was summed up so far is rescaled when a larger score comes. Keys and values
 * of a block are brought to shared memory by all threads. The sum of the exponentials divides the results.
 *
 * `decode` is for few queries: every row of threads has all of them, and a part of each block's keys, with a softmax of
 * its own. Behind the last block the parts are combined: each counts with the exponential of its largest score less the
 * largest of all (Dao et al., Flash-Decoding, 2023, but within a block of threads).
 */
#include "nest/device.h"
#include "nest/schedule.h"
#include "sketch/gpu.h"
#include "sketch/sketch_attention.h"

#include <math.h>
#include <string.h>

enum { DOWN, ROWS, ACROSS, KEYS, KNOBS };
enum { LEAST_QUERIES = 8, PARTS_LEAST = 2, UNROLLED = 8, COLUMNS_MAX = 512, SHARED_B = 48 << 10, THREADS = 256 };

typedef struct gpu_attention {
    hn_nest *n;
    hn_writer w;
    hn_attention x;
    const int64_t *set;
    bool split;                                  /* rows of threads have keys of their own, not queries */
    int64_t depth, columns, queries, keys, each; /* of a block; each: columns of a thread */
    int64_t own;                                 /* keys of a row of threads */
    hn_ix y, lane, query0, key0;
    hn_sharers all;
    hn_buf q, k, v, p;                 /* shared: [query][depth], [key][depth], [key][column], [query][key] */
    hn_buf top, sum, keep, high, base; /* of a row of threads, by query */
    hn_buf score, part, out;           /* of a thread: [row][key], [row][column] */
    hn_buf tops, sums, outs;           /* split; shared: [part][query], [part][query][column] */
} gpu_attention;

static int64_t known(const hn_nest *n, hn_var v) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[v], &e) ? e : 0;
}

/* -- knobs */
static int64_t shared_bytes(const gpu_attention *t) {
    int64_t q = t->queries * (t->depth + 1), k = t->keys * (t->depth + 1), v = t->keys * t->columns;
    int64_t parts = t->split ? t->set[DOWN] : 1, combine = t->split ? parts * t->queries * (t->columns + 2) : 0;
    return 4 * (q + k + v + parts * t->queries * (t->own + 1) + combine);
}

static void sizes(gpu_attention *t, const int64_t *set) {
    t->set = set;
    t->own = set[ACROSS] * set[KEYS];
    t->queries = set[ROWS] * (t->split ? 1 : set[DOWN]);
    t->keys = t->own * (t->split ? set[DOWN] : 1);
    t->each = (t->columns + set[ACROSS] - 1) / set[ACROSS];
}

static bool recognise(hn_nest *n, gpu_attention *t) {
    *t = (gpu_attention){.n = n};
    if (!hn_attention_match(n, &t->x)) return false;
    t->depth = known(n, t->x.depth), t->columns = known(n, t->x.column);
    return t->depth > 0 && t->columns > 0 && t->columns <= COLUMNS_MAX && t->depth <= COLUMNS_MAX;
}

static bool fits_machine(const gpu_attention *t, const hn_machine *m) {
    int64_t room = m->shared_b > 0 ? m->shared_b : SHARED_B, most = m->threads > 0 ? m->threads : THREADS;
    return shared_bytes(t) <= room && t->set[DOWN] * t->set[ACROSS] <= most;
}

/* The most queries and keys that fit; fewer queries where there are few. */
static bool choose(gpu_attention *t, const hn_machine *m, int64_t *best) {
    static const int64_t tries[][KNOBS] = {{16, 4, 16, 2}, {8, 4, 16, 4}, {8, 4, 16, 2}, {8, 2, 16, 2},
                                           {8, 2, 16, 1},  {4, 2, 16, 1}, {4, 1, 16, 1}, {4, 1, 8, 1}};
    int64_t queries = known(t->n, t->x.query), keys = known(t->n, t->x.key);
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        sizes(t, tries[i]);
        bool last = i + 1 == sizeof tries / sizeof *tries;
        if (!fits_machine(t, m)) continue;
        if (!last && queries && queries <= t->queries / 2) continue;
        if (!last && keys && keys <= t->keys / 2) continue;
        for (int k = 0; k < KNOBS; k++) best[k] = tries[i][k];
        return true;
    }
    return false;
}

static bool attention_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    static const char *const name[] = {"down", "rows", "across", "keys"};
    gpu_attention t;
    int64_t model[KNOBS] = {0}, set[KNOBS];
    if (!recognise(n, &t) || !choose(&t, m, model)) return false;
    int64_t queries = known(n, t.x.query);
    if (queries && queries < LEAST_QUERIES) return false;
    out->n = KNOBS;
    for (int i = 0; i < KNOBS; i++) {
        out->knob[i] = (hn_knob){.name = name[i], .model = model[i]};
        for (int64_t v = 1; v <= model[i]; v *= 2) { /* smaller ones fit, too */
            for (int k = 0; k < KNOBS; k++) set[k] = k == i ? v : model[k];
            sizes(&t, set);
            if (v >= 4 || i == ROWS || i == KEYS) hn_knob_add(&out->knob[i], v);
        }
        hn_knob_add(&out->knob[i], model[i]);
    }
    return true;
}

/* -- pieces */
static hn_ix plus(gpu_attention *t, hn_ix a, hn_ix b) { return hn_ix_add(t->n, a, b); }
static hn_ix times(gpu_attention *t, hn_ix a, int64_t by) { return hn_ix_scale(t->n, a, hn_dim_int(t->n->dims, by)); }
static hn_ix number(gpu_attention *t, int64_t x) { return hn_ix_int(t->n, x); }
/* Those of i that are left before `many`: >= 0 where it is inside. */
static hn_ix left(gpu_attention *t, hn_ix many, hn_ix i) {
    return hn_ix_sub(t->n, hn_ix_sub(t->n, many, number(t, 1)), i);
}
static hn_sv constant(gpu_attention *t, double x) {
    return hn_write_scalar(&t->w, &(hn_scalar){.kind = HN_SV_CONST, .dtype = HONE_F32, .f = x});
}
static hn_sv op(gpu_attention *t, hn_op o, hn_sv a, hn_sv b) { return hn_write_op(&t->w, o, HONE_F32, a, b); }

static void guard_from(gpu_attention *t, hn_st from, uint32_t n_guard, const hn_ix *guard) {
    hn_writer *w = &t->w;
    hn_st first = from ? t->n->st[from].next : w->head[w->depth];
    if (!first) return;
    hn_device_guard(t->n, first, n_guard, guard);
    while (t->n->st[first].next) first = t->n->st[first].next;
    w->tail[w->depth] = first;
}

static hn_sv pick(gpu_attention *t, hn_sv x, double other, hn_ix where) {
    hn_scalar s = {.kind = HN_SV_PICK, .dtype = HONE_F32, .n_arg = 2, .arg = {x, constant(t, other)}, .n_guard = 1};
    hn_ix *guard = HN_NEW(t->n->a, hn_ix);
    if (hn_ix_never_negative(t->n, where) || !guard) return x;
    *guard = where;
    s.guard = guard;
    return hn_write_scalar(&t->w, &s);
}

/* -- tiles: element (i, j) of many x length goes to to[i*stride + j]; x with variable `vi` at `first` + i, `vj` at j */
typedef struct fill {
    hn_buf to;
    int64_t many, length, stride;
    hn_sv x;
    hn_var vi, vj;
    hn_ix first;
} fill;

static void write_fill(gpu_attention *t, const fill *f) {
    hn_writer *w = &t->w;
    int64_t all = f->many * f->length, turns = (all + t->all.n - 1) / t->all.n;
    int64_t several = turns > UNROLLED ? (turns + UNROLLED - 1) / UNROLLED : 1;
    hn_ix j = times(t, hn_write_times(w, several, HN_SERIAL), UNROLLED); /* barriers may come between its turns */
    j = plus(t, j, hn_write_times(w, several > 1 ? UNROLLED : turns, HN_UNROLL));
    hn_ix e = plus(t, times(t, j, t->all.n), t->all.at), inside = left(t, number(t, all), e);
    hn_ix i = hn_ix_div(t->n, e, hn_dim_int(t->n->dims, f->length));
    hn_ix along = hn_ix_mod(t->n, e, hn_dim_int(t->n->dims, f->length)), at = plus(t, f->first, i);
    const hn_ix guard[] = {left(t, t->n->extent[f->vi], at), inside};
    hn_write_forget(w);
    w->var[f->vi] = at, w->var[f->vj] = along;
    hn_sv x = hn_write_copy(w, f->x);
    guard_from(t, 0, 2, guard);
    x = pick(t, x, 0, guard[0]);
    hn_st before = w->tail[w->depth];
    hn_write_store(w, f->to, plus(t, times(t, i, f->stride), along), x);
    guard_from(t, before, 1, &inside);
    hn_write_close(w, 2);
}

/* -- a block of keys */
static hn_ix row_of(gpu_attention *t, hn_ix i) { return t->split ? i : plus(t, t->y, times(t, i, t->set[DOWN])); }
/* Key j of the thread among those of its row, and among those of the block. */
static hn_ix own_key_of(gpu_attention *t, hn_ix j) { return plus(t, t->lane, times(t, j, t->set[ACROSS])); }
static hn_ix in_block(gpu_attention *t, hn_ix own) { return t->split ? plus(t, times(t, t->y, t->own), own) : own; }
static hn_ix key_of(gpu_attention *t, hn_ix j) { return in_block(t, own_key_of(t, j)); }
/* The exponential of query i and a key of the row. */
static hn_ix p_at(gpu_attention *t, hn_ix i, hn_ix own) {
    hn_ix row = t->split ? plus(t, times(t, t->y, t->set[ROWS]), i) : row_of(t, i);
    return plus(t, times(t, row, t->own + 1), own);
}
static hn_ix pair(gpu_attention *t, hn_ix i, hn_ix j, int64_t many) { return plus(t, times(t, i, many), j); }

static hn_ix open_rows(gpu_attention *t) { return hn_write_times(&t->w, t->set[ROWS], HN_UNROLL); }
static hn_ix open_keys(gpu_attention *t) { return hn_write_times(&t->w, t->set[KEYS], HN_UNROLL); }

static void scores(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_ix i = open_rows(t), j = open_keys(t);
    hn_write_store(w, t->score, pair(t, i, j, t->set[KEYS]), constant(t, 0));
    hn_write_close(w, 2);
    hn_ix d = hn_write_times(w, t->depth, HN_SERIAL);
    i = open_rows(t), j = open_keys(t);
    hn_sv q = hn_write_load(w, t->q, plus(t, times(t, row_of(t, i), t->depth + 1), d));
    hn_sv k = hn_write_load(w, t->k, plus(t, times(t, key_of(t, j), t->depth + 1), d));
    hn_write_update(w, t->score, pair(t, i, j, t->set[KEYS]), HN_OP_ADD, hn_write_product(w, HONE_F32, q, k));
    hn_write_close(w, 3);
    /* scale, mask; behind the last key there is nothing */
    i = open_rows(t), j = open_keys(t);
    hn_ix query = plus(t, t->query0, row_of(t, i)), key = plus(t, t->key0, key_of(t, j));
    const hn_ix guard[] = {left(t, t->n->extent[t->x.query], query), left(t, t->n->extent[t->x.key], key)};
    hn_write_forget(w);
    w->var[t->x.query] = query, w->var[t->x.key] = key;
    w->sv[t->x.sum] = hn_write_load(w, t->score, pair(t, i, j, t->set[KEYS]));
    hn_sv x = hn_write_copy(w, t->x.score);
    guard_from(t, 0, 2, guard);
    x = pick(t, x, -(double)INFINITY, guard[1]);
    hn_write_store(w, t->score, pair(t, i, j, t->set[KEYS]), x);
    hn_write_close(w, 2);
}

/* Each thread's scores of a row, then those of all its threads. */
static void fold_scores(gpu_attention *t, hn_buf into, hn_op o, double first) {
    hn_writer *w = &t->w;
    hn_ix i = open_rows(t);
    hn_write_store(w, t->part, i, constant(t, first));
    hn_ix j = open_keys(t);
    hn_write_update(w, t->part, i, o, hn_write_load(w, t->score, pair(t, i, j, t->set[KEYS])));
    hn_write_close(w, 1);
    hn_write_update(w, into, i, o, hn_write_load(w, t->part, i));
    hn_write_close(w, 1);
}

/* The largest score so far; what was summed up relative to the last one is kept by a factor. */
static void rescale(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_ix i = open_rows(t);
    hn_write_store(w, t->high, i, hn_write_load(w, t->top, i));
    hn_write_close(w, 1);
    fold_scores(t, t->high, HN_OP_MAX, -(double)INFINITY);
    i = open_rows(t);
    hn_sv high = hn_write_load(w, t->high, i), low = constant(t, -(double)INFINITY);
    hn_scalar none = {.kind = HN_SV_OP, .dtype = HONE_BOOL, .op = HN_OP_EQ, .arg = {high, low}, .n_arg = 2};
    hn_scalar base = {.kind = HN_SV_OP, .dtype = HONE_F32, .op = HN_OP_SELECT, .n_arg = 3};
    base.arg[0] = hn_write_scalar(w, &none), base.arg[1] = constant(t, 0), base.arg[2] = high;
    hn_sv from = hn_write_scalar(w, &base);
    hn_sv keep = op(t, HN_OP_EXP, op(t, HN_OP_SUB, hn_write_load(w, t->top, i), from), 0);
    hn_write_store(w, t->keep, i, keep);
    hn_write_store(w, t->base, i, from);
    hn_write_store(w, t->top, i, high);
    hn_write_store(w, t->sum, i, op(t, HN_OP_MUL, hn_write_load(w, t->sum, i), keep));
    hn_write_close(w, 1);
}

static void exponentials(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_ix i = open_rows(t), j = open_keys(t);
    hn_sv x = hn_write_load(w, t->score, pair(t, i, j, t->set[KEYS]));
    x = op(t, HN_OP_EXP, op(t, HN_OP_SUB, x, hn_write_load(w, t->base, i)), 0);
    hn_write_store(w, t->p, p_at(t, i, own_key_of(t, j)), x);
    hn_write_store(w, t->score, pair(t, i, j, t->set[KEYS]), x);
    hn_write_close(w, 2);
    fold_scores(t, t->sum, HN_OP_ADD, 0);
}

static hn_ix column_of(gpu_attention *t, hn_ix c) { return plus(t, t->lane, times(t, c, t->set[ACROSS])); }

static void values(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_ix i = open_rows(t), c = hn_write_times(w, t->each, HN_UNROLL), at = pair(t, i, c, t->each);
    hn_write_store(w, t->out, at, op(t, HN_OP_MUL, hn_write_load(w, t->out, at), hn_write_load(w, t->keep, i)));
    hn_write_close(w, 2);
    hn_ix k = hn_write_times(w, t->own, HN_SERIAL);
    i = open_rows(t), c = hn_write_times(w, t->each, HN_UNROLL);
    hn_ix column = column_of(t, c), inside = left(t, number(t, t->columns), column);
    hn_sv p = hn_write_load(w, t->p, p_at(t, i, k));
    hn_st before = w->tail[w->depth];
    hn_sv v = hn_write_load(w, t->v, plus(t, times(t, in_block(t, k), t->columns), column));
    guard_from(t, before, 1, &inside);
    hn_write_update(w, t->out, pair(t, i, c, t->each), HN_OP_ADD, hn_write_product(w, HONE_F32, p, v));
    hn_write_close(w, 3);
}

/* -- the whole */
static hn_buf shared(gpu_attention *t, int64_t size) {
    return hn_nest_buf(t->n, HN_SHARED, HONE_F32, hn_dim_int(t->n->dims, size));
}

static void memory(gpu_attention *t) {
    hn_nest *n = t->n;
    for (hn_buf b = 1; b < n->n_buf; b++) /* the rows of the nest as lowered are not used any more */
        if (n->buf[b].space == HN_LOCAL) n->buf[b].size = hn_dim_int(n->dims, 0);
    t->q = shared(t, t->queries * (t->depth + 1));
    t->k = shared(t, t->keys * (t->depth + 1));
    t->v = shared(t, t->keys * t->columns);
    const int64_t parts = t->split ? t->set[DOWN] : 1;
    t->p = shared(t, parts * t->queries * (t->own + 1));
    if (!t->split) return;
    t->tops = shared(t, parts * t->queries), t->sums = shared(t, parts * t->queries);
    t->outs = shared(t, parts * t->queries * t->columns);
}

static void begin(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_ix i = open_rows(t);
    hn_write_store(w, t->top, i, constant(t, -(double)INFINITY));
    hn_write_store(w, t->sum, i, constant(t, 0));
    hn_ix c = hn_write_times(w, t->each, HN_UNROLL);
    hn_write_store(w, t->out, pair(t, i, c, t->each), constant(t, 0));
    hn_write_close(w, 2);
}

/* The result of a query and a column from its sum, under the conditions; to the list being written. */
static void write_result(gpu_attention *t, hn_ix query, hn_ix column, hn_sv mixed, hn_ix inside) {
    hn_writer *w = &t->w;
    const hn_ix guard[] = {left(t, t->n->extent[t->x.query], query), inside};
    hn_st from = w->tail[w->depth];
    hn_write_forget(w);
    w->var[t->x.query] = query, w->var[t->x.column] = column;
    w->sv[t->x.mixed] = mixed;
    hn_sv x = hn_write_copy(w, t->x.out);
    hn_write_store(w, t->x.result, hn_ix_subst(t->n, t->x.out_at, &(hn_subst){w->var, w->sv, w->n_var, w->n_sv}), x);
    guard_from(t, from, 2, guard);
}

static void finish(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_ix i = open_rows(t), c = hn_write_times(w, t->each, HN_UNROLL);
    hn_ix query = plus(t, t->query0, row_of(t, i)), column = column_of(t, c);
    hn_sv sum = hn_write_load(w, t->out, pair(t, i, c, t->each));
    write_result(t, query, column, op(t, HN_OP_DIV, sum, hn_write_load(w, t->sum, i)),
                 left(t, number(t, t->columns), column));
    hn_write_close(w, 2);
}

/* What every part has: its largest scores, its sums, its results, for all threads. */
static void publish(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_ix first = hn_ix_sub(t->n, number(t, 0), t->lane), i = open_rows(t);
    hn_ix at = plus(t, times(t, t->y, t->set[ROWS]), i);
    hn_st from = w->tail[w->depth];
    hn_write_store(w, t->tops, at, hn_write_load(w, t->top, i));
    hn_write_store(w, t->sums, at, hn_write_load(w, t->sum, i));
    guard_from(t, from, 1, &first);
    hn_ix c = hn_write_times(w, t->each, HN_UNROLL), column = column_of(t, c);
    hn_ix inside = left(t, number(t, t->columns), column);
    hn_write_store(w, t->outs, plus(t, times(t, at, t->columns), column),
                   hn_write_load(w, t->out, pair(t, i, c, t->each)));
    guard_from(t, 0, 1, &inside);
    hn_write_close(w, 2);
}

/* A register that begins with a number. */
static hn_buf begins(gpu_attention *t, double x) {
    hn_buf b = hn_write_reg(&t->w, HONE_F32, 1);
    hn_write_store(&t->w, b, number(t, 0), constant(t, x));
    return b;
}

/* Results of all parts, an element for each thread. */
static void combine(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    int64_t all = t->queries * t->columns, turns = (all + t->all.n - 1) / t->all.n, rows = t->set[ROWS];
    hn_ix e = plus(t, times(t, hn_write_times(w, turns, HN_SERIAL), t->all.n), t->all.at), zero = number(t, 0);
    hn_ix inside = left(t, number(t, all), e), row = hn_ix_div(n, e, hn_dim_int(n->dims, t->columns));
    hn_ix column = hn_ix_mod(n, e, hn_dim_int(n->dims, t->columns));
    hn_buf top = begins(t, -(double)INFINITY), sum = begins(t, 0), out = begins(t, 0);
    hn_ix part = hn_write_times(w, t->set[DOWN], HN_SERIAL), at = plus(t, times(t, part, rows), row);
    hn_write_update(w, top, zero, HN_OP_MAX, hn_write_load(w, t->tops, at));
    guard_from(t, 0, 1, &inside);
    hn_write_close(w, 1);
    hn_sv high = hn_write_load(w, top, zero), low = constant(t, -(double)INFINITY);
    hn_scalar none = {.kind = HN_SV_OP, .dtype = HONE_BOOL, .op = HN_OP_EQ, .arg = {high, low}, .n_arg = 2};
    hn_scalar base = {.kind = HN_SV_OP, .dtype = HONE_F32, .op = HN_OP_SELECT, .n_arg = 3};
    base.arg[0] = hn_write_scalar(w, &none), base.arg[1] = constant(t, 0), base.arg[2] = high;
    hn_sv from = hn_write_scalar(w, &base);
    part = hn_write_times(w, t->set[DOWN], HN_SERIAL), at = plus(t, times(t, part, rows), row);
    hn_sv keep = op(t, HN_OP_EXP, op(t, HN_OP_SUB, hn_write_load(w, t->tops, at), from), 0);
    hn_write_update(w, sum, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, keep, hn_write_load(w, t->sums, at)));
    hn_sv value = hn_write_load(w, t->outs, plus(t, times(t, at, t->columns), column));
    hn_write_update(w, out, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, keep, value));
    guard_from(t, 0, 1, &inside);
    hn_write_close(w, 1);
    hn_sv mixed = op(t, HN_OP_DIV, hn_write_load(w, out, zero), hn_write_load(w, sum, zero));
    write_result(t, plus(t, t->query0, row), column, mixed, inside);
    hn_write_close(w, 1);
}

static void open_block(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    const int64_t rows = t->set[ROWS];
    for (int k = 0; k < t->x.n_outer; k++)
        w->var[t->x.outer[k]] = hn_write_loop(w, n->extent[t->x.outer[k]], HN_PARALLEL);
    hn_ix blocks = plus(t, n->extent[t->x.query], number(t, t->queries - 1));
    blocks = hn_ix_div(n, blocks, hn_dim_int(n->dims, t->queries));
    t->query0 = times(t, hn_write_loop(w, blocks, HN_PARALLEL), t->queries);
    t->y = hn_write_times(w, t->set[DOWN], HN_GROUP);
    t->top = hn_write_reg(w, HONE_F32, rows), t->sum = hn_write_reg(w, HONE_F32, rows);
    t->keep = hn_write_reg(w, HONE_F32, rows), t->high = hn_write_reg(w, HONE_F32, rows);
    t->base = hn_write_reg(w, HONE_F32, rows);
    t->lane = hn_write_times(w, t->set[ACROSS], HN_GROUP);
    t->all = (hn_sharers){plus(t, times(t, t->y, t->set[ACROSS]), t->lane), t->set[DOWN] * t->set[ACROSS]};
    t->out = hn_write_reg(w, HONE_F32, rows * t->each);
    t->part = hn_write_reg(w, HONE_F32, rows);
    t->score = hn_write_reg(w, HONE_F32, rows * t->set[KEYS]);
}

static void build(gpu_attention *t) {
    hn_writer *w = &t->w;
    hn_nest *n = t->n;
    memory(t);
    open_block(t);
    begin(t);
    write_fill(t, &(fill){t->q, t->queries, t->depth, t->depth + 1, t->x.q, t->x.query, t->x.depth, t->query0});
    hn_ix blocks = plus(t, n->extent[t->x.key], number(t, t->keys - 1));
    blocks = hn_ix_div(n, blocks, hn_dim_int(n->dims, t->keys));
    t->key0 = times(t, hn_write_loop(w, blocks, HN_SERIAL), t->keys);
    write_fill(t, &(fill){t->k, t->keys, t->depth, t->depth + 1, t->x.k, t->x.key, t->x.depth, t->key0});
    write_fill(t, &(fill){t->v, t->keys, t->columns, t->columns, t->x.v, t->x.key_v, t->x.column, t->key0});
    scores(t);
    rescale(t);
    exponentials(t);
    values(t);
    hn_write_close(w, 1);
    if (t->split)
        publish(t), combine(t);
    else
        finish(t);
    hn_write_end(w);
    hn_nest_sweep(n);
}

static bool apply(hn_nest *n, const hn_machine *m, const int64_t *setting, bool split, const char **why) {
    gpu_attention t;
    if (!recognise(n, &t)) return hn_loop_no(why, "no attention");
    t.split = split;
    sizes(&t, setting);
    if (!fits_machine(&t, m)) return hn_loop_no(why, "the tiles do not fit into shared memory");
    if (!hn_write_begin(&t.w, n)) return hn_loop_no(why, "out of memory");
    build(&t);
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}

static bool attention_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    return apply(n, m, setting, false, why);
}

/* -- few queries */
/* The most parts that fit, with few keys a thread where there are few. */
static bool choose_parts(gpu_attention *t, const hn_machine *m, int64_t rows, int64_t *best) {
    static const int64_t tries[][3] = {{16, 16, 1}, {8, 32, 1}, {8, 16, 1}, {8, 8, 1}, {4, 8, 1}, {2, 8, 1}};
    int64_t keys = known(t->n, t->x.key), set[KNOBS];
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        set[DOWN] = tries[i][0], set[ROWS] = rows, set[ACROSS] = tries[i][1], set[KEYS] = tries[i][2];
        sizes(t, set);
        bool last = i + 1 == sizeof tries / sizeof *tries, few = keys && keys <= t->keys / 2 && !last;
        if (few || !fits_machine(t, m)) continue;
        memcpy(best, set, sizeof set);
        return true;
    }
    return false;
}

static bool decode_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    gpu_attention t;
    int64_t model[KNOBS] = {0};
    if (!recognise(n, &t)) return false;
    t.split = true;
    int64_t rows = known(n, t.x.query);
    if (rows < 1 || rows >= LEAST_QUERIES || !choose_parts(&t, m, rows, model)) return false;
    out->n = KNOBS - 1;
    out->knob[0] = (hn_knob){.name = "parts", .model = model[DOWN]};
    out->knob[1] = (hn_knob){.name = "across", .model = model[ACROSS]};
    out->knob[2] = (hn_knob){.name = "keys", .n = 1, .value = {model[KEYS]}, .model = model[KEYS]};
    for (int64_t v = PARTS_LEAST; v <= model[DOWN]; v *= 2) hn_knob_add(&out->knob[0], v);
    for (int64_t v = 4; v <= model[ACROSS]; v *= 2) hn_knob_add(&out->knob[1], v);
    return true;
}

static bool decode_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    gpu_attention t;
    if (!recognise(n, &t)) return hn_loop_no(why, "no attention");
    const int64_t set[KNOBS] = {
        [DOWN] = setting[0], [ROWS] = known(n, t.x.query), [ACROSS] = setting[1], [KEYS] = setting[2]};
    if (set[ROWS] < 1) return hn_loop_no(why, "the number of queries is not known");
    return apply(n, m, set, true, why);
}

const hn_sketch hn_sketch_gpu_attention = {"attention", "a tile of queries, blocks of keys in shared memory",
                                           attention_fits, attention_apply};
const hn_sketch hn_sketch_gpu_decode = {"decode", "few queries, parts of the keys for rows of threads", decode_fits,
                                        decode_apply};
