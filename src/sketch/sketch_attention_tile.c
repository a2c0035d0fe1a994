/* sketch/sketch_attention_tile.c — the arithmetic of attention for one group of queries and one block of keys: scores,
 * softmax, product with the values. */
#include "sketch/constants.h"
#include "sketch/sketch_attention.h"

#include <math.h>

enum { TILE_LEFT = 4, FEW = 4 };

/* -- scores */
hn_sv hn_attend_key_number(hn_attention_sketch *t, hn_ix k, hn_ix d) {
    k = hn_attend_key(t, k);
    if (t->how.pack) return hn_write_load(&t->w, t->mem.keys, hn_at_plus(t, hn_at_times(t, k, t->size.depth), d));
    hn_attend_no_query(t);
    t->w.var[t->x.key] = hn_at_plus(t, t->at.key0, k);
    t->w.var[t->x.depth] = d;
    return hn_write_copy(&t->w, t->x.k);
}

/* Scale and mask of the sum for key k and the lane. */
static hn_sv score(hn_attention_sketch *t, hn_sv sum, hn_ix k, hn_ix lane) {
    hn_writer *w = &t->w;
    hn_attend_at(t, k, lane);
    w->sv[t->x.sum] = sum;
    if (t->in.scale) w->sv[t->in.scale] = sum;
    return hn_write_copy(w, t->x.score);
}

/* `many` tiles of `size` keys each, from key k on. */
static void score_tiles(hn_attention_sketch *t, hn_ix k, hn_ix many, int64_t size) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    k = hn_at_plus(t, k, hn_at_times(t, hn_write_loop(w, many, HN_SERIAL), size));
    k = hn_at_plus(t, k, hn_write_times(w, size, HN_UNROLL));
    hn_ix lane = hn_at_times(t, hn_write_times(w, t->size.vectors, HN_UNROLL), t->size.lanes);
    lane = hn_at_plus(t, lane, hn_write_times(w, t->size.lanes, HN_VECTOR));
    hn_write_forget(w);
    hn_buf acc = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, acc, zero, hn_at_number(t, 0));
    hn_ix d = hn_write_times(w, t->size.depth, HN_SERIAL);
    hn_ix at = hn_at_plus(t, hn_at_times(t, t->at.group_at, t->size.depth), hn_at_times(t, d, t->size.group));
    hn_sv q = hn_write_load(w, t->mem.queries, hn_at_plus(t, at, lane));
    hn_write_update(w, acc, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, q, hn_attend_key_number(t, k, d)));
    hn_write_close(w, 1);
    hn_sv x = score(t, hn_write_load(w, acc, zero), k, lane);
    hn_write_store(w, t->mem.scores, hn_at_plus(t, hn_at_times(t, k, t->size.group), lane), x);
    hn_write_close(w, 4);
}

void hn_attend_scores(hn_attention_sketch *t) {
    hn_ix left = hn_at_mod(t, t->at.n_key, t->how.tile);
    score_tiles(t, hn_ix_int(t->n, 0), hn_at_div(t, t->at.n_key, t->how.tile), t->how.tile);
    if (t->how.tile > TILE_LEFT) {
        score_tiles(t, hn_ix_sub(t->n, t->at.n_key, left), hn_at_div(t, left, TILE_LEFT), TILE_LEFT);
        left = hn_at_mod(t, left, TILE_LEFT);
    }
    score_tiles(t, hn_ix_sub(t->n, t->at.n_key, left), left, 1);
}

/* -- softmax */
static hn_sv score_at(hn_attention_sketch *t, hn_ix k, hn_ix lane) {
    hn_ix at = t->how.few ? hn_at_plus(t, hn_at_times(t, lane, t->how.block), k)
                          : hn_at_plus(t, hn_at_times(t, k, t->size.group), lane);
    return hn_write_load(&t->w, t->mem.scores, at);
}

/* The largest score of each lane, and of `old` where it is given: four chains, so that they do not wait for each
 * other. */
static hn_sv largest(hn_attention_sketch *t, hn_ix lane, hn_sv old) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    hn_buf part = hn_write_reg(w, HONE_F32, HN_ATTENTION_CHAINS), all = hn_write_reg(w, HONE_F32, 1);
    hn_sv low = hn_at_number(t, -(double)INFINITY);
    hn_write_store(w, part, hn_write_times(w, HN_ATTENTION_CHAINS, HN_UNROLL), low);
    hn_write_close(w, 1);
    hn_write_store(w, all, zero, old ? old : low);
    hn_ix k = hn_at_times(t, hn_write_loop(w, hn_at_div(t, t->at.n_key, HN_ATTENTION_CHAINS), HN_SERIAL),
                          HN_ATTENTION_CHAINS);
    hn_ix c = hn_write_times(w, HN_ATTENTION_CHAINS, HN_UNROLL);
    hn_write_update(w, part, c, HN_OP_MAX, score_at(t, hn_at_plus(t, k, c), lane));
    hn_write_close(w, 2);
    hn_ix left = hn_at_mod(t, t->at.n_key, HN_ATTENTION_CHAINS), from = hn_ix_sub(t->n, t->at.n_key, left);
    k = hn_at_plus(t, from, hn_write_loop(w, left, HN_SERIAL));
    hn_write_update(w, all, zero, HN_OP_MAX, score_at(t, k, lane));
    hn_write_close(w, 1);
    c = hn_write_times(w, HN_ATTENTION_CHAINS, HN_UNROLL);
    hn_write_update(w, all, zero, HN_OP_MAX, hn_write_load(w, part, c));
    hn_write_close(w, 1);
    return hn_write_load(w, all, zero);
}

/* a OP b ? yes : no */
static hn_sv choose(hn_attention_sketch *t, hn_op op, hn_sv a, hn_sv b, double yes, hn_sv no) {
    hn_scalar pick = {.kind = HN_SV_OP, .dtype = HONE_F32, .op = HN_OP_SELECT, .n_arg = 3, .saturate = true};
    pick.arg[0] = hn_write_op(&t->w, op, HONE_BOOL, a, b);
    pick.arg[1] = hn_at_number(t, yes);
    pick.arg[2] = no;
    return hn_write_scalar(&t->w, &pick);
}

/* exp(x) for x <= 0, but 0 where that is hardly a normal number: beside the largest exponential, 1, it does not count,
 * and arithmetic on subnormal numbers takes a hundred times as long (masked keys have them). */
hn_sv hn_attend_exponential(hn_attention_sketch *t, hn_sv x) {
    hn_writer *w = &t->w;
    hn_sv least = hn_at_number(t, -87);
    hn_sv e = hn_write_op(w, HN_OP_EXP, HONE_F32, hn_write_op(w, HN_OP_MAX, HONE_F32, x, least), 0);
    return choose(t, HN_OP_LT, x, least, 0, e);
}

hn_sv hn_attend_rescale(hn_attention_sketch *t, hn_ix at, hn_ix lane, hn_sv old, hn_sv *top) {
    hn_writer *w = &t->w;
    hn_write_store(w, t->mem.tops, at, *top);
    /* -inf: nothing but masked keys so far, whose exponentials shall be 0 */
    *top = choose(t, HN_OP_EQ, *top, hn_at_number(t, -(double)INFINITY), 0, *top);
    hn_sv keep = hn_attend_exponential(t, hn_write_op(w, HN_OP_SUB, HONE_F32, old, *top));
    hn_write_store(w, t->mem.keep, lane, keep);
    return hn_write_op(w, HN_OP_MUL, HONE_F32, hn_write_load(w, t->mem.sums, at), keep);
}

/* The first value of the sum; online: the sum so far, rescaled to the new largest score *top. */
static hn_sv sum_so_far(hn_attention_sketch *t, hn_ix lane, hn_sv *top) {
    hn_writer *w = &t->w;
    hn_ix at = hn_at_plus(t, t->at.group_at, lane);
    if (!t->how.online) {
        *top = largest(t, lane, 0);
        return hn_at_number(t, 0);
    }
    hn_sv old = hn_write_load(w, t->mem.tops, at);
    *top = largest(t, lane, old);
    return hn_attend_rescale(t, at, lane, old, top);
}

void hn_attend_softmax(hn_attention_sketch *t) {
    hn_writer *w = &t->w;
    hn_ix lane = hn_at_times(t, hn_write_times(w, t->size.vectors, HN_UNROLL), t->size.lanes),
          zero = hn_ix_int(t->n, 0);
    lane = hn_at_plus(t, lane, hn_write_times(w, t->size.lanes, HN_VECTOR));
    hn_sv top, sum = sum_so_far(t, lane, &top);
    hn_buf total = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, total, zero, sum);
    hn_ix k = hn_write_loop(w, t->at.n_key, HN_SERIAL), at = hn_at_plus(t, hn_at_times(t, k, t->size.group), lane);
    hn_sv x = hn_write_op(w, HN_OP_SUB, HONE_F32, hn_write_load(w, t->mem.scores, at), top);
    hn_sv e = hn_attend_exponential(t, x);
    hn_write_store(w, t->mem.scores, at, e);
    hn_write_update(w, total, zero, HN_OP_ADD, e);
    hn_write_close(w, 1);
    hn_write_store(w, t->mem.sums, hn_at_plus(t, t->at.group_at, lane), hn_write_load(w, total, zero));
    hn_write_close(w, 2);
}

/* -- the product with the values */
hn_sv hn_attend_value_number(hn_attention_sketch *t, hn_ix k, hn_ix column) {
    k = hn_attend_key(t, k);
    if (t->how.pack)
        return hn_write_load(&t->w, t->mem.values, hn_at_plus(t, hn_at_times(t, k, t->size.columns), column));
    hn_attend_no_query(t);
    t->w.var[t->x.key_v] = hn_at_plus(t, t->at.key0, k);
    t->w.var[t->x.column] = column;
    return hn_write_copy(&t->w, t->x.v);
}

/* The result of lane q: the sum over all keys divided by the exponentials' sum, and what comes behind. */
static void result(hn_attention_sketch *t, hn_ix q, hn_ix column, hn_sv mixed) {
    hn_writer *w = &t->w;
    hn_write_forget(w);
    w->var[t->x.column] = column;
    hn_attend_set_query(t, hn_at_plus(t, t->at.first, q));
    hn_sv sum = hn_write_load(w, t->mem.sums, hn_at_plus(t, t->at.group_at, q));
    w->sv[t->x.mixed] = hn_write_op(w, HN_OP_DIV, HONE_F32, mixed, sum);
    hn_sv out = hn_write_copy(w, t->x.out);
    const hn_subst s = {w->var, w->sv, w->n_var, w->n_sv};
    hn_write_store(w, t->x.result, hn_ix_subst(t->n, t->x.out_at, &s), out);
}

static hn_ix mixed_at(hn_attention_sketch *t, hn_ix q, hn_ix column) {
    return hn_at_plus(t, hn_at_times(t, hn_at_plus(t, t->at.group_at, q), t->size.columns), column);
}

/* A panel of columns: `wide` vectors of `lanes`, from `column` on. */
typedef struct panel {
    hn_ix column;
    int64_t wide, lanes;
} panel;

/* Lanes of the panel, opened: two loops. */
static hn_ix open_columns(hn_attention_sketch *t, const panel *p) {
    hn_ix c = hn_at_times(t, hn_write_times(&t->w, p->wide, HN_UNROLL), p->lanes);
    c = hn_at_plus(t, p->column, c);
    return hn_at_plus(t, c, hn_write_times(&t->w, p->lanes, p->lanes > 1 ? HN_VECTOR : HN_SERIAL));
}

/* Queries from q on of the group, `many` times `size` of them. */
static void value_tiles(hn_attention_sketch *t, hn_ix q, hn_ix many, int64_t size, const panel *p) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    q = hn_at_plus(t, q, hn_at_times(t, hn_write_loop(w, many, HN_SERIAL), size));
    q = hn_at_plus(t, q, hn_write_times(w, size, HN_UNROLL));
    hn_ix column = open_columns(t, p);
    hn_write_forget(w);
    hn_buf acc = hn_write_reg(w, HONE_F32, 1);
    hn_sv from = hn_at_number(t, 0);
    if (t->how.online) {
        hn_sv keep = hn_write_load(w, t->mem.keep, q);
        from = hn_write_op(w, HN_OP_MUL, HONE_F32, hn_write_load(w, t->mem.mixed, mixed_at(t, q, column)), keep);
    }
    hn_write_store(w, acc, zero, from);
    hn_ix k = hn_write_loop(w, t->at.n_key, HN_SERIAL);
    hn_sv e = score_at(t, k, q);
    hn_write_update(w, acc, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, e, hn_attend_value_number(t, k, column)));
    hn_write_close(w, 1);
    hn_sv mixed = hn_write_load(w, acc, zero);
    if (t->how.online)
        hn_write_store(w, t->mem.mixed, mixed_at(t, q, column), mixed);
    else
        result(t, q, column, mixed);
    hn_write_close(w, 4);
}

static void value_rows(hn_attention_sketch *t, const panel *p) {
    hn_ix left = hn_at_mod(t, t->at.valid, t->how.query_tile);
    value_tiles(t, hn_ix_int(t->n, 0), hn_at_div(t, t->at.valid, t->how.query_tile), t->how.query_tile, p);
    value_tiles(t, hn_ix_sub(t->n, t->at.valid, left), left, 1, p);
}

static void result_rows(hn_attention_sketch *t, const panel *p) {
    hn_ix q = hn_write_loop(&t->w, t->at.valid, HN_SERIAL), column = open_columns(t, p);
    result(t, q, column, hn_write_load(&t->w, t->mem.mixed, mixed_at(t, q, column)));
    hn_write_close(&t->w, 3);
}

/* Panels of two vectors of columns (four where there are few queries), then fewer, then narrower ones. */
static void panels(hn_attention_sketch *t, void (*rows)(hn_attention_sketch *, const panel *)) {
    panel p = {.wide = t->how.query_tile <= FEW ? 4 : 2, .lanes = t->size.lanes};
    for (int64_t done = 0; done < t->size.columns;) {
        int64_t size = p.wide * p.lanes, many = (t->size.columns - done) / size;
        if (many) {
            hn_ix c = hn_at_times(t, hn_write_times(&t->w, many, HN_SERIAL), size);
            p.column = hn_at_plus(t, hn_ix_int(t->n, done), c);
            rows(t, &p);
            hn_write_close(&t->w, 1);
        }
        done += many * size;
        if (p.wide > 1)
            p.wide /= 2;
        else
            p.lanes /= 2;
    }
}

void hn_attend_values(hn_attention_sketch *t) { panels(t, value_rows); }
void hn_attend_finish(hn_attention_sketch *t) { panels(t, result_rows); }

/* to[i] = x for i < n. */
static void fill(hn_attention_sketch *t, hn_buf to, hn_ix n, double x) {
    hn_ix i = hn_at_times(t, hn_write_loop(&t->w, hn_at_div(t, n, t->size.lanes), HN_SERIAL), t->size.lanes);
    hn_sv value = hn_at_number(t, x);
    hn_write_store(&t->w, to, hn_at_plus(t, i, hn_write_times(&t->w, t->size.lanes, HN_VECTOR)), value);
    hn_write_close(&t->w, 2);
}

void hn_attend_begin(hn_attention_sketch *t) {
    hn_ix groups = hn_at_div(t, hn_at_plus(t, t->at.here, hn_ix_int(t->n, t->size.group - 1)), t->size.group);
    hn_ix rows = hn_at_times(t, groups, t->size.group);
    fill(t, t->mem.tops, rows, -(double)INFINITY);
    fill(t, t->mem.sums, rows, 0);
    fill(t, t->mem.mixed, hn_at_times(t, rows, t->size.columns), 0);
}
