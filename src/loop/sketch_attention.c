/* loop/sketch_attention.c — attention with the queries as lanes.
 *
 * A work item is a block of queries of one head, taken in groups of a few vectors. The group's queries are transposed
 * into scratch, so that a tile of scores (several keys x the group) is products of a key's numbers, one by one, with
 * vectors of queries; the scores lie transposed too, [key][query]. Maximum, exponentials and their sum then go down the
 * keys, lane by lane, without folding a vector. The product with the values is a register tile of queries x columns,
 * which reads the exponentials one by one; the sum divides its results instead of the exponentials. A factor of the
 * scores is applied to the queries. What the scores need of memory per query and key (a mask, a bias) is brought to
 * scratch in the same order first; the lanes behind the last query compute on zeros.
 */
#include "loop/sketch_attention.h"
#include "loop/loop_int.h"
#include "loop/schedule.h"
#include "loop/sketch.h"
#include "loop/writer.h"

#include <math.h>

enum { STAGED_MAX = 4, QUERIES_MIN = 8 };

typedef struct staged { /* a load of the scores that depends on the query */
    hn_sv load;
    hn_buf to; /* [key][query], or [query] */
    bool by_key;
} staged;

typedef struct task {
    hn_attention x;
    hn_writer w;
    hn_nest *n;
    int64_t lanes, vectors, group; /* group: lanes of one group of queries, vectors * lanes */
    int64_t rows, keys, tile;      /* queries of an item; keys and queries of the register tiles */
    hn_buf queries, scores, sums;
    staged staged[STAGED_MAX];
    int n_staged;
    hn_sv scale;        /* operation on the finished sum that the queries take over; 0: none */
    hn_ix first, valid; /* of the group: its first query, how many there are */
} task;

static hn_ix times(task *t, hn_ix i, int64_t by) { return hn_ix_scale(t->n, i, hn_dim_int(t->n->dims, by)); }
static hn_ix plus(task *t, hn_ix a, hn_ix b) { return hn_ix_add(t->n, a, b); }
static hn_ix quotient(task *t, hn_ix a, int64_t by) { return hn_ix_div(t->n, a, hn_dim_int(t->n->dims, by)); }
static hn_ix rest(task *t, hn_ix a, int64_t by) { return hn_ix_mod(t->n, a, hn_dim_int(t->n->dims, by)); }
static hn_ix extent(const task *t, hn_var v) { return t->n->extent[v]; }

/* -- what the scores read */
/* Loads in the definition of v that differ from query to query; false: too many, or of a form that cannot be staged. */
static bool find_staged(task *t, hn_sv v) {
    const hn_scalar s = t->n->sv[v];
    if (v == t->x.sum || !hn_sv_depends(t->n, v, t->x.query)) return true;
    if (s.kind == HN_SV_LOAD) {
        for (int i = 0; i < t->n_staged; i++)
            if (t->staged[i].load == v) return true;
        if (t->n_staged == STAGED_MAX || t->n->buf[s.buf].space != HN_PARAM) return false;
        t->staged[t->n_staged++] = (staged){.load = v, .by_key = hn_sv_depends(t->n, v, t->x.key)};
        return true;
    }
    if (s.kind == HN_SV_WRAP) return false;
    for (uint32_t k = 0; k < s.n_arg; k++)
        if (!find_staged(t, s.arg[k])) return false;
    return true;
}

static uint32_t uses_in(const hn_nest *n, hn_sv of, hn_sv in, hn_sv *user) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < n->sv[in].n_arg; k++) {
        if (n->sv[in].arg[k] == of)
            count++, *user = in;
        else
            count += uses_in(n, of, n->sv[in].arg[k], user);
    }
    return count;
}

/* sum * c or sum / c with c the same for all queries and keys: then q * c or q / c does it with fewer operations. */
static hn_sv find_scale(const task *t) {
    hn_sv user = 0;
    if (t->x.score == t->x.sum || uses_in(t->n, t->x.sum, t->x.score, &user) != 1) return 0;
    const hn_scalar *s = &t->n->sv[user];
    if (s->kind != HN_SV_OP || (s->op != HN_OP_MUL && s->op != HN_OP_DIV)) return 0;
    hn_sv other = s->arg[s->arg[0] == t->x.sum];
    if (s->op == HN_OP_DIV && s->arg[0] != t->x.sum) return 0;
    return hn_sv_depends(t->n, other, t->x.query) || hn_sv_depends(t->n, other, t->x.key) ? 0 : user;
}

/* -- staging */
/* What is brought: queries (scaled), or a load of the scores. */
static hn_sv staged_value(task *t, const staged *s, hn_ix query, hn_ix k) {
    hn_writer *w = &t->w;
    hn_write_forget(w);
    w->var[t->x.query] = query;
    w->var[s ? t->x.key : t->x.depth] = k;
    if (s) return hn_write_copy(w, s->load);
    hn_sv q = hn_write_copy(w, t->x.q);
    if (!t->scale) return q;
    const hn_scalar f = t->n->sv[t->scale];
    bool first = f.arg[0] == t->x.sum;
    hn_sv other = hn_write_copy(w, f.arg[first]);
    return hn_write_op(w, f.op, HONE_F32, first ? q : other, first ? other : q);
}

static void stage_element(task *t, const staged *s, hn_buf to, hn_ix lane, hn_ix k) {
    hn_sv x = staged_value(t, s, plus(t, t->first, lane), k);
    hn_write_store(&t->w, to, plus(t, times(t, k, t->group), lane), x);
}

/* Full vectors of queries: squares, which are transposed in registers, then what is left of k. */
static void stage_full(task *t, const staged *s, hn_buf to, hn_ix n_k) {
    hn_writer *w = &t->w;
    hn_ix v = times(t, hn_write_loop(w, quotient(t, t->valid, t->lanes), HN_SERIAL), t->lanes);
    for (int64_t side = t->lanes, done = 0; side >= 1; side = side > 1 ? 1 : 0) {
        hn_ix many = side > 1 ? quotient(t, n_k, side) : rest(t, n_k, t->lanes);
        (void)done;
        hn_ix from = side > 1 ? hn_ix_int(t->n, 0) : hn_ix_sub(t->n, n_k, many);
        hn_ix k = plus(t, from, times(t, hn_write_loop(w, many, HN_SERIAL), side));
        hn_ix column = hn_write_times(w, side, HN_UNROLL), lane = hn_write_times(w, t->lanes, HN_VECTOR);
        stage_element(t, s, to, plus(t, v, lane), plus(t, k, column));
        hn_write_close(w, 3);
    }
    hn_write_close(w, 1);
}

/* to[k][query] for all k < n_k. */
static void stage(task *t, const staged *s, hn_buf to, hn_ix n_k) {
    hn_writer *w = &t->w;
    stage_full(t, s, to, n_k);
    hn_ix full = times(t, quotient(t, t->valid, t->lanes), t->lanes);
    hn_ix lane = plus(t, full, hn_write_loop(w, rest(t, t->valid, t->lanes), HN_SERIAL));
    stage_element(t, s, to, lane, hn_write_loop(w, n_k, HN_SERIAL));
    hn_write_close(w, 2);
    hn_ix k = hn_write_loop(w, n_k, HN_SERIAL);
    lane = plus(t, t->valid, hn_write_loop(w, hn_ix_sub(t->n, hn_ix_int(t->n, t->group), t->valid), HN_SERIAL));
    hn_sv zero = hn_write_scalar(w, &(hn_scalar){.kind = HN_SV_CONST, .dtype = t->n->buf[to].dtype});
    hn_write_store(w, to, plus(t, times(t, k, t->group), lane), zero);
    hn_write_close(w, 2);
}

static void stage_all(task *t) {
    stage(t, NULL, t->queries, extent(t, t->x.depth));
    for (int i = 0; i < t->n_staged; i++) {
        const staged *s = &t->staged[i];
        stage(t, s, s->to, s->by_key ? extent(t, t->x.key) : hn_ix_int(t->n, 1));
    }
}

/* -- scores */
static hn_sv constant(task *t, double x) {
    return hn_write_scalar(&t->w, &(hn_scalar){.kind = HN_SV_CONST, .dtype = HONE_F32, .f = x});
}

/* `many` tiles of `size` keys each, from key `from` on. */
static void score_tiles(task *t, hn_ix from, hn_ix many, int64_t size) {
    hn_writer *w = &t->w;
    hn_ix k = plus(t, from, times(t, hn_write_loop(w, many, HN_SERIAL), size));
    k = plus(t, k, hn_write_times(w, size, HN_UNROLL));
    hn_ix lane = times(t, hn_write_times(w, t->vectors, HN_UNROLL), t->lanes);
    lane = plus(t, lane, hn_write_times(w, t->lanes, HN_VECTOR));
    hn_ix zero = hn_ix_int(t->n, 0);
    hn_write_forget(w);
    hn_buf acc = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, acc, zero, constant(t, 0));
    hn_ix d = hn_write_loop(w, extent(t, t->x.depth), HN_SERIAL);
    w->var[t->x.key] = k;
    w->var[t->x.depth] = d;
    hn_sv a = hn_write_load(w, t->queries, plus(t, times(t, d, t->group), lane));
    hn_write_update(w, acc, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, a, hn_write_copy(w, t->x.k)));
    hn_write_close(w, 1);
    hn_write_forget(w);
    w->var[t->x.query] = plus(t, t->first, lane);
    hn_sv sum = hn_write_load(w, acc, zero);
    w->sv[t->x.sum] = sum;
    if (t->scale) w->sv[t->scale] = sum;
    for (int i = 0; i < t->n_staged; i++) {
        const staged *s = &t->staged[i];
        w->sv[s->load] = hn_write_load(w, s->to, s->by_key ? plus(t, times(t, k, t->group), lane) : lane);
    }
    hn_write_store(w, t->scores, plus(t, times(t, k, t->group), lane), hn_write_copy(w, t->x.score));
    hn_write_close(w, 4);
}

static void scores(task *t) {
    hn_ix n_key = extent(t, t->x.key), left = rest(t, n_key, t->keys);
    score_tiles(t, hn_ix_int(t->n, 0), quotient(t, n_key, t->keys), t->keys);
    hn_ix at = hn_ix_sub(t->n, n_key, left);
    if (t->keys > 4) score_tiles(t, at, quotient(t, left, 4), 4);
    if (t->keys > 4) left = rest(t, left, 4);
    score_tiles(t, hn_ix_sub(t->n, n_key, left), left, 1);
}

/* -- softmax */
/* The largest of each lane: four chains, so that they do not wait for each other. */
static hn_sv largest(task *t, hn_ix lane) {
    enum { CHAINS = 4 };
    hn_writer *w = &t->w;
    hn_ix n_key = extent(t, t->x.key), zero = hn_ix_int(t->n, 0);
    hn_buf part = hn_write_reg(w, HONE_F32, CHAINS), all = hn_write_reg(w, HONE_F32, 1);
    hn_sv low = constant(t, -(double)INFINITY);
    hn_ix c = hn_write_times(w, CHAINS, HN_UNROLL);
    hn_write_store(w, part, c, low);
    hn_write_close(w, 1);
    hn_write_store(w, all, zero, low);
    hn_ix k = times(t, hn_write_loop(w, quotient(t, n_key, CHAINS), HN_SERIAL), CHAINS);
    c = hn_write_times(w, CHAINS, HN_UNROLL);
    hn_write_update(w, part, c, HN_OP_MAX,
                    hn_write_load(w, t->scores, plus(t, times(t, plus(t, k, c), t->group), lane)));
    hn_write_close(w, 2);
    hn_ix left = rest(t, n_key, CHAINS);
    k = plus(t, hn_ix_sub(t->n, n_key, left), hn_write_loop(w, left, HN_SERIAL));
    hn_write_update(w, all, zero, HN_OP_MAX, hn_write_load(w, t->scores, plus(t, times(t, k, t->group), lane)));
    hn_write_close(w, 1);
    c = hn_write_times(w, CHAINS, HN_UNROLL);
    hn_write_update(w, all, zero, HN_OP_MAX, hn_write_load(w, part, c));
    hn_write_close(w, 1);
    return hn_write_load(w, all, zero);
}

static void softmax(task *t) {
    hn_writer *w = &t->w;
    hn_ix lane = times(t, hn_write_times(w, t->vectors, HN_UNROLL), t->lanes), zero = hn_ix_int(t->n, 0);
    lane = plus(t, lane, hn_write_times(w, t->lanes, HN_VECTOR));
    hn_sv top = largest(t, lane);
    hn_buf total = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, total, zero, constant(t, 0));
    hn_ix k = hn_write_loop(w, extent(t, t->x.key), HN_SERIAL), at = plus(t, times(t, k, t->group), lane);
    hn_sv x = hn_write_op(w, HN_OP_SUB, HONE_F32, hn_write_load(w, t->scores, at), top);
    hn_sv e = hn_write_op(w, HN_OP_EXP, HONE_F32, x, 0);
    hn_write_store(w, t->scores, at, e);
    hn_write_update(w, total, zero, HN_OP_ADD, e);
    hn_write_close(w, 1);
    hn_write_store(w, t->sums, lane, hn_write_load(w, total, zero));
    hn_write_close(w, 2);
}

/* -- the product with the values */
/* Queries `from` on of the group, `many` times `size` of them; columns from `column` on, `wide` vectors of `lanes`. */
static void value_tile(task *t, hn_ix from, hn_ix many, int64_t size, hn_ix column, int64_t wide, int64_t lanes) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    hn_ix q = plus(t, from, times(t, hn_write_loop(w, many, HN_SERIAL), size));
    q = plus(t, q, hn_write_times(w, size, HN_UNROLL));
    column = plus(t, column, times(t, hn_write_times(w, wide, HN_UNROLL), lanes));
    column = plus(t, column, hn_write_times(w, lanes, HN_VECTOR));
    hn_write_forget(w);
    hn_buf acc = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, acc, zero, constant(t, 0));
    hn_ix k = hn_write_loop(w, extent(t, t->x.key), HN_SERIAL);
    w->var[t->x.key_v] = k;
    w->var[t->x.column] = column;
    w->var[t->x.query] = plus(t, t->first, q);
    hn_sv p = hn_write_load(w, t->scores, plus(t, times(t, k, t->group), q));
    hn_write_update(w, acc, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, p, hn_write_copy(w, t->x.v)));
    hn_write_close(w, 1);
    hn_write_forget(w);
    hn_sv sum = hn_write_load(w, t->sums, q), mixed = hn_write_load(w, acc, zero);
    w->sv[t->x.mixed] = hn_write_op(w, HN_OP_DIV, HONE_F32, mixed, sum);
    hn_sv out = hn_write_copy(w, t->x.out);
    const hn_subst s = {w->var, w->sv, w->n_var, w->n_sv};
    hn_write_store(w, t->x.result, hn_ix_subst(t->n, t->x.out_at, &s), out);
    hn_write_close(w, 4);
}

static void value_rows(task *t, hn_ix column, int64_t wide, int64_t lanes) {
    hn_ix left = rest(t, t->valid, t->tile);
    value_tile(t, hn_ix_int(t->n, 0), quotient(t, t->valid, t->tile), t->tile, column, wide, lanes);
    value_tile(t, hn_ix_sub(t->n, t->valid, left), left, 1, column, wide, lanes);
}

/* Panels of two vectors of columns, then one, then narrower ones. */
static void values(task *t) {
    int64_t columns = 0, done = 0;
    hn_ix_is_int(t->n, extent(t, t->x.column), &columns);
    int64_t wide = 2, lanes = t->lanes;
    while (done < columns) {
        int64_t many = (columns - done) / (wide * lanes);
        if (many) {
            hn_ix c = hn_write_times(&t->w, many, HN_SERIAL);
            value_rows(t, plus(t, hn_ix_int(t->n, done), times(t, c, wide * lanes)), wide, lanes);
            hn_write_close(&t->w, 1);
            done += many * wide * lanes;
        }
        if (wide > 1)
            wide = 1;
        else
            lanes /= 2;
    }
}

/* -- the whole */
static void local_buffers(task *t) {
    hn_nest *n = t->n;
    hn_dim group = hn_dim_int(n->dims, t->group), keys, depth;
    hn_ix_is_dim(n, extent(t, t->x.key), &keys);
    hn_ix_is_dim(n, extent(t, t->x.depth), &depth);
    for (hn_buf b = 1; b < n->n_buf; b++) /* the rows of the nest as lowered are not used any more */
        if (n->buf[b].space == HN_LOCAL) n->buf[b].size = hn_dim_int(n->dims, 0);
    t->queries = hn_nest_buf(n, HN_LOCAL, HONE_F32, hn_dim_mul(n->dims, depth, group));
    t->scores = hn_nest_buf(n, HN_LOCAL, HONE_F32, hn_dim_mul(n->dims, keys, group));
    t->sums = hn_nest_buf(n, HN_LOCAL, HONE_F32, group);
    for (int i = 0; i < t->n_staged; i++)
        t->staged[i].to = hn_nest_buf(n, HN_LOCAL, n->sv[t->staged[i].load].dtype,
                                      t->staged[i].by_key ? hn_dim_mul(n->dims, keys, group) : group);
}

static void build(task *t) {
    hn_writer *w = &t->w;
    hn_ix n_query = extent(t, t->x.query);
    local_buffers(t);
    for (int i = 0; i < t->x.n_outer; i++)
        w->var[t->x.outer[i]] = hn_write_loop(w, extent(t, t->x.outer[i]), HN_PARALLEL);
    hn_ix blocks = quotient(t, plus(t, n_query, hn_ix_int(t->n, t->rows - 1)), t->rows);
    hn_ix block = times(t, hn_write_loop(w, blocks, HN_PARALLEL), t->rows);
    hn_ix here = hn_ix_min(t->n, hn_ix_int(t->n, t->rows), hn_ix_sub(t->n, n_query, block));
    hn_ix groups = quotient(t, plus(t, here, hn_ix_int(t->n, t->group - 1)), t->group);
    hn_ix g = times(t, hn_write_loop(w, groups, HN_SERIAL), t->group);
    t->first = plus(t, block, g);
    t->valid = hn_ix_min(t->n, hn_ix_int(t->n, t->group), hn_ix_sub(t->n, here, g));
    stage_all(t);
    scores(t);
    softmax(t);
    values(t);
    hn_write_end(w);
}

static bool attention_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    task t = {.n = n};
    int64_t queries;
    if (m->vector_b < 16 || !hn_attention_match(n, &t.x) || !find_staged(&t, t.x.score)) return false;
    int64_t lanes = m->vector_b / 4;
    if (hn_ix_is_int(n, n->extent[t.x.query], &queries) && queries < QUERIES_MIN) return false;
    bool many = m->registers >= 32;
    out->n = 2;
    out->knob[0] = (hn_knob){.name = "rows", .n = 4, .value = {2 * lanes, 4 * lanes, 8 * lanes, 16 * lanes}};
    out->knob[0].model = 2 * lanes;
    out->knob[1] = many ? (hn_knob){.name = "tile", .n = 4, .value = {4, 6, 8, 12}, .model = 8}
                        : (hn_knob){.name = "tile", .n = 3, .value = {2, 4, 6}, .model = 4};
    return true;
}

static bool attention_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    task t = {.n = n, .vectors = 2, .lanes = m->vector_b / 4};
    if (!hn_attention_match(n, &t.x) || !find_staged(&t, t.x.score)) return hn_loop_no(why, "no attention");
    t.scale = find_scale(&t);
    t.group = t.vectors * t.lanes;
    t.rows = setting[0];
    t.keys = t.tile = setting[1];
    if (!hn_write_begin(&t.w, n)) return hn_loop_no(why, "out of memory");
    build(&t);
    return hn_arena_ok(n->a) || hn_loop_no(why, "out of memory");
}

const hn_sketch hn_sketch_attention = {"attention", "queries as lanes, scores in scratch, two register tiles",
                                       attention_fits, attention_apply};
