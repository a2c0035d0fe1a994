/* sketch/sketch_attention_skip.c — keys that a mask hides from all queries of a group are not computed.
 *
 * What hides is known when the kernel runs: a causal mask may be a constant, an input, or what another kernel made of
 * both; so the mask itself is read, [key][lane], before the scores: from which key to which one of the group's queries
 * sees anything. That costs some seven operations per vector of the mask, against twice the depth of a head for its
 * scores.
 *
 * Leaving the others out changes no bit: a hidden key weighs exp(x - top), with top the row's largest score, and exp is
 * 0 below -87 (exponential, sketch_attention_tile.c). A key is hidden where its mask is at most HIDDEN = -2^126 (-inf,
 * the lowest float, half of it), and only in groups in which every row has a key whose mask is above SEEN = -2^125 or,
 * online, has seen a score above it. The products of queries and keys are at most 2^100 in size, because the sums of
 * their squares are (Cauchy and Schwarz): so x - top is below -2^124, and the weight exactly 0. What is left out of the
 * results is 0 times values, which are finite, because the sum of their squares is. Where one of these does not hold
 * (rows that are hidden altogether have weights; inf and NaN spoil more than their key), the group takes all keys.
 * Masks such as -10000 or -1e9 hide nothing here.
 */
#include "sketch/sketch_attention.h"

#include <math.h>

#define HIDDEN (-0x1p126)
#define SEEN (-0x1p125)
#define SQUARES 0x1p100

enum { SUMS = 4, FACTOR = 1 << 20 };

/* -- finding */
static bool contains(const hn_nest *n, hn_sv in, hn_sv x) {
    if (in == x) return true;
    for (uint32_t k = 0; k < n->sv[in].n_arg; k++)
        if (contains(n, n->sv[in].arg[k], x)) return true;
    return false;
}

static bool hides(const hn_nest *n, hn_sv x) { return n->sv[x].kind == HN_SV_CONST && n->sv[x].f <= 2 * HIDDEN; }

/* The operation on top of *v is a mask on scores: notes it, and steps to what is masked. */
static bool peel_mask(hn_attention_sketch *t, hn_sv *v) {
    const hn_scalar s = t->n->sv[*v];
    if (s.kind != HN_SV_OP || t->in.n_mask == HN_MASKS_MAX) return false;
    if (s.op == HN_OP_ADD) {
        bool first = contains(t->n, s.arg[0], t->x.sum);
        if (contains(t->n, s.arg[first], t->x.sum)) return false;
        t->in.mask[t->in.n_mask++] = (hn_mask){s.arg[first], HN_MASK_ADDED};
        *v = s.arg[!first];
        return true;
    }
    if (s.op != HN_OP_SELECT || contains(t->n, s.arg[0], t->x.sum)) return false;
    bool second = hides(t->n, s.arg[1]);
    if (!second && !hides(t->n, s.arg[2])) return false;
    t->in.mask[t->in.n_mask++] = (hn_mask){s.arg[0], second ? HN_MASK_HIDES : HN_MASK_SHOWS};
    *v = s.arg[second ? 2 : 1];
    return true;
}

/* Does the score without its masks stay near the size of the sum? The sum itself, with what the queries take over of
 * it, times moderate constants, or bounded by tanh. */
static bool plain_score(const hn_attention_sketch *t, hn_sv v) {
    const hn_scalar *s = &t->n->sv[v];
    if (v == t->x.sum || v == t->in.scale) return true;
    if (s->kind != HN_SV_OP) return false;
    if (s->op == HN_OP_TANH) return plain_score(t, s->arg[0]);
    if (s->op != HN_OP_MUL && s->op != HN_OP_DIV) return false;
    bool second = s->op == HN_OP_MUL && t->n->sv[s->arg[0]].kind == HN_SV_CONST;
    const hn_scalar *by = &t->n->sv[s->arg[!second]];
    double f = fabs(by->f);
    return by->kind == HN_SV_CONST && f <= FACTOR && f >= 1.0 / FACTOR && plain_score(t, s->arg[second]);
}

void hn_attend_find_masks(hn_attention_sketch *t) {
    hn_sv v = t->x.score;
    bool by_both = false;
    t->in.n_mask = 0;
    while (v != t->x.sum && peel_mask(t, &v)) {
        hn_sv m = t->in.mask[t->in.n_mask - 1].by;
        by_both |= hn_attend_by_query(t, m) && hn_sv_depends(t->n, m, t->x.key);
    }
    if (!by_both || !plain_score(t, v) || !hn_attend_unit_stride(t->n, t->x.k, t->x.depth)) t->in.n_mask = 0;
}

/* -- writing */
static hn_sv select(hn_attention_sketch *t, hn_sv where, hn_sv yes, hn_sv no) {
    hn_scalar s = {.kind = HN_SV_OP, .dtype = HONE_F32, .op = HN_OP_SELECT, .n_arg = 3, .saturate = true};
    s.arg[0] = where;
    s.arg[1] = yes;
    s.arg[2] = no;
    return hn_write_scalar(&t->w, &s);
}

/* What masks add to the score of key k and the lane, -inf where one of them puts a number in its place. */
static hn_sv mask_at(hn_attention_sketch *t, hn_ix k, hn_ix lane) {
    hn_writer *w = &t->w;
    hn_sv all = 0, none = hn_at_number(t, -(double)INFINITY);
    hn_attend_at(t, k, lane);
    for (int i = 0; i < t->in.n_mask; i++) {
        hn_sv m = hn_write_copy(w, t->in.mask[i].by), zero = hn_at_number(t, 0);
        if (t->in.mask[i].kind == HN_MASK_HIDES) m = select(t, m, none, zero);
        if (t->in.mask[i].kind == HN_MASK_SHOWS) m = select(t, m, zero, none);
        all = all ? hn_write_op(w, HN_OP_MIN, HONE_F32, all, m) : m;
    }
    return all;
}

/* Over the keys of the block: best[v], the highest mask of a lane; first and last: the first key that a lane sees, and
 * one more than the last. */
typedef struct seen {
    hn_buf best, first, last;
} seen;

static hn_buf number_reg(hn_attention_sketch *t, double x) {
    hn_buf r = hn_write_reg(&t->w, HONE_F32, 1);
    hn_write_store(&t->w, r, hn_ix_int(t->n, 0), hn_at_number(t, x));
    return r;
}

/* Do the masks of all vectors hide the key in this lane? NaN hides nothing. Raises best. */
static hn_sv hidden_at(hn_attention_sketch *t, const seen *s, hn_ix k, hn_ix l) {
    hn_writer *w = &t->w;
    hn_sv all = 0;
    for (int64_t v = 0; v < t->size.vectors; v++) {
        hn_ix at = hn_ix_int(t->n, v);
        hn_sv m = mask_at(t, k, hn_at_plus(t, l, hn_at_times(t, at, t->size.lanes))),
              best = hn_write_load(w, s->best, at);
        hn_write_store(w, s->best, at, select(t, hn_write_op(w, HN_OP_LT, HONE_BOOL, best, m), m, best));
        hn_sv hidden = hn_write_op(w, HN_OP_LE, HONE_BOOL, m, hn_at_number(t, HIDDEN));
        all = all ? hn_write_op(w, HN_OP_AND, HONE_BOOL, all, hidden) : hidden;
    }
    return all;
}

static void scan(hn_attention_sketch *t, const seen *s, hn_ix l) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    hn_buf count = number_reg(t, 0);
    hn_ix k = hn_write_loop(w, t->at.n_key, HN_SERIAL);
    hn_sv hidden = hidden_at(t, s, k, l), here = hn_write_load(w, count, zero);
    hn_sv first = hn_write_load(w, s->first, zero), last = hn_write_load(w, s->last, zero);
    hn_sv earlier = select(t, hn_write_op(w, HN_OP_LT, HONE_BOOL, here, first), here, first);
    hn_sv next = hn_write_op(w, HN_OP_ADD, HONE_F32, here, hn_at_number(t, 1));
    hn_write_store(w, s->first, zero, select(t, hidden, first, earlier));
    hn_write_store(w, s->last, zero, select(t, hidden, last, next));
    hn_write_store(w, count, zero, next);
    hn_write_close(w, 1);
}

/* x as an index of the block: 0 … all its keys. */
static hn_ix index_of(hn_attention_sketch *t, hn_sv x) {
    hn_scalar s = {.kind = HN_SV_OP, .dtype = HONE_I64, .op = HN_OP_CAST, .arg = {x}, .n_arg = 1};
    s.below = hn_dim_int(t->n->dims, t->how.block + 1);
    return hn_ix_value(t->n, hn_write_scalar(&t->w, &s));
}

/* From the three folded registers to the keys of the group. */
static void narrow(hn_attention_sketch *t, const seen *all) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    hn_sv rows = hn_write_op(w, HN_OP_LT, HONE_BOOL, hn_at_number(t, SEEN), hn_write_load(w, all->best, zero));
    rows = hn_write_op(w, HN_OP_AND, HONE_BOOL, rows, t->at.moderate);
    hn_sv i = hn_write_scalar(w, &(hn_scalar){.kind = HN_SV_INDEX, .dtype = HONE_I64, .at = t->at.n_key});
    hn_sv n = hn_write_op(w, HN_OP_CAST, HONE_F32, i, 0);
    hn_sv last = select(t, rows, hn_write_load(w, all->last, zero), n);
    hn_sv first = select(t, rows, hn_write_load(w, all->first, zero), hn_at_number(t, 0));
    t->at.from = index_of(t, first);
    t->at.n_key = hn_ix_max(t->n, zero, hn_ix_sub(t->n, index_of(t, last), t->at.from));
}

/* The highest mask of vector v's lanes; -inf where a query is too large. */
static hn_sv best_of_moderate(hn_attention_sketch *t, const seen *lane, hn_ix l, int64_t v) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    hn_buf squares = number_reg(t, 0);
    hn_ix d = hn_write_times(w, t->size.depth, HN_SERIAL), at = hn_at_plus(t, l, hn_ix_int(t->n, v * t->size.lanes));
    at = hn_at_plus(t, hn_at_plus(t, hn_at_times(t, t->at.group_at, t->size.depth), hn_at_times(t, d, t->size.group)),
                    at);
    hn_sv q = hn_write_load(w, t->mem.queries, at);
    hn_write_update(w, squares, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, q, q));
    hn_write_close(w, 1);
    hn_sv bound = hn_at_number(t, SQUARES), sum = hn_write_load(w, squares, zero);
    hn_sv best = hn_write_load(w, lane->best, hn_ix_int(t->n, v));
    return select(t, hn_write_op(w, HN_OP_LT, HONE_BOOL, sum, bound), best, hn_at_number(t, -(double)INFINITY));
}

/* all += the squares of one operand's numbers in the block, `n` of them per key. */
static void add_squares(hn_attention_sketch *t, hn_buf all, int64_t n,
                        hn_sv (*number)(hn_attention_sketch *, hn_ix, hn_ix)) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    int64_t done = 0, lanes = t->size.lanes, wide = SUMS;
    while (done < n) {
        int64_t size = wide * lanes, many = (n - done) / size;
        if (many) {
            hn_ix at = hn_at_plus(t, hn_ix_int(t->n, done), hn_at_times(t, hn_write_times(w, wide, HN_UNROLL), lanes));
            at = hn_at_plus(t, at, hn_write_times(w, lanes, lanes > 1 ? HN_VECTOR : HN_SERIAL));
            hn_buf sum = number_reg(t, 0);
            hn_write_forget(w);
            hn_ix k = hn_write_loop(w, t->at.n_key, HN_SERIAL), c = hn_write_times(w, many, HN_SERIAL);
            hn_sv x = number(t, k, hn_at_plus(t, at, hn_at_times(t, c, size)));
            hn_write_update(w, sum, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, x, x));
            hn_write_close(w, 2);
            hn_write_update(w, all, zero, HN_OP_ADD, hn_write_load(w, sum, zero));
            hn_write_close(w, 2);
        }
        done += many * size;
        if (wide > 1)
            wide /= 2;
        else
            lanes /= 2;
    }
}

void hn_attend_size(hn_attention_sketch *t) {
    hn_writer *w = &t->w;
    hn_buf all = number_reg(t, 0);
    add_squares(t, all, t->size.depth, hn_attend_key_number);
    add_squares(t, all, t->size.columns, hn_attend_value_number);
    hn_sv sum = hn_write_load(w, all, hn_ix_int(t->n, 0));
    t->at.moderate = hn_write_op(w, HN_OP_LT, HONE_BOOL, sum, hn_at_number(t, SQUARES));
}

void hn_attend_skip(hn_attention_sketch *t) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    double behind = (double)t->how.block;
    seen all = {number_reg(t, INFINITY), number_reg(t, behind), number_reg(t, 0)};
    hn_ix l = hn_write_times(w, t->size.lanes, HN_VECTOR);
    seen lane = {hn_write_reg(w, HONE_F32, t->size.vectors), number_reg(t, behind), number_reg(t, 0)};
    for (int64_t v = 0; v < t->size.vectors; v++) {
        hn_ix at = hn_at_plus(t, t->at.group_at, hn_at_plus(t, l, hn_ix_int(t->n, v * t->size.lanes)));
        hn_sv top = t->how.online ? hn_write_load(w, t->mem.tops, at) : hn_at_number(t, -(double)INFINITY);
        hn_write_store(w, lane.best, hn_ix_int(t->n, v), top);
    }
    scan(t, &lane, l);
    for (int64_t v = 0; v < t->size.vectors; v++)
        hn_write_update(w, all.best, zero, HN_OP_MIN, best_of_moderate(t, &lane, l, v));
    hn_write_update(w, all.last, zero, HN_OP_MAX, hn_write_load(w, lane.last, zero));
    hn_write_update(w, all.first, zero, HN_OP_MIN, hn_write_load(w, lane.first, zero));
    hn_write_close(w, 1);
    narrow(t, &all);
}
