/* sketch/sketch_attention_few.c — scores and softmax of a few queries (one, in decoding; heads that share keys beside
 * it): too few to fill a vector. A score is a dot product along the depth, so that a key's numbers are read as they
 * lie; the scores are kept as [query][key], and the softmax goes along the keys. The product with the values is that of
 * sketch_attention_tile.c. What this takes per key and query: the depth's vectors and the folding of one, instead of
 * the depth's numbers for all queries.
 */
#include "sketch/constants.h"
#include "sketch/sketch_attention.h"

#include <math.h>

bool hn_few_pays(const hn_attention_sketch *t, int64_t queries) {
    return queries <= HN_FEW_MAX && queries * (t->size.depth / t->size.lanes + HN_ATTENTION_FEW_FOLD) < t->size.depth;
}

/* -- queries: [query][depth], scaled */
void hn_few_queries(hn_attention_sketch *t) {
    hn_writer *w = &t->w;
    hn_ix q = hn_write_loop(w, t->at.valid, HN_SERIAL), d = hn_write_times(w, t->size.depth, HN_SERIAL);
    hn_sv x = hn_attend_query_number(t, hn_at_plus(t, t->at.first, q), d);
    hn_write_store(w, t->mem.queries, hn_at_plus(t, hn_at_times(t, q, t->size.depth), d), x);
    hn_write_close(w, 2);
}

/* -- sums of products */
static hn_ix place(hn_attention_sketch *t, hn_ix q, hn_ix k) {
    return hn_at_plus(t, hn_at_times(t, q, t->how.block), k);
}

/* sum += the products of `n` numbers from `done` on, `lanes` at a time. */
static void add_products(hn_attention_sketch *t, hn_buf sum, hn_ix q, hn_ix k, int64_t done, int64_t n, int64_t lanes) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0), l = hn_ix_int(t->n, done);
    hn_buf part = sum;
    if (lanes > 1) {
        l = hn_at_plus(t, l, hn_write_times(w, lanes, HN_VECTOR));
        part = hn_write_reg(w, HONE_F32, 1);
        hn_write_store(w, part, zero, hn_at_number(t, 0));
    }
    hn_write_forget(w);
    hn_ix d = hn_at_plus(t, l, hn_at_times(t, hn_write_times(w, n / lanes, HN_SERIAL), lanes));
    hn_sv x = hn_write_load(w, t->mem.queries, hn_at_plus(t, hn_at_times(t, q, t->size.depth), d));
    hn_write_update(w, part, zero, HN_OP_ADD, hn_write_product(w, HONE_F32, x, hn_attend_key_number(t, k, d)));
    hn_write_close(w, 1);
    if (lanes > 1) {
        hn_write_update(w, sum, zero, HN_OP_ADD, hn_write_load(w, part, zero));
        hn_write_close(w, 1);
    }
}

/* `many` times `size` keys from key k on, for all queries. */
static void dots(hn_attention_sketch *t, hn_ix k, hn_ix many, int64_t size) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0);
    k = hn_at_plus(t, k, hn_at_times(t, hn_write_loop(w, many, HN_SERIAL), size));
    k = hn_at_plus(t, k, hn_write_times(w, size, HN_UNROLL));
    hn_ix q = hn_write_times(w, t->how.query_tile, HN_UNROLL);
    hn_buf sum = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, sum, zero, hn_at_number(t, 0));
    for (int64_t done = 0, lanes = t->size.lanes; done < t->size.depth; lanes /= 2) {
        int64_t n = (t->size.depth - done) / lanes * lanes;
        if (n) add_products(t, sum, q, k, done, n, lanes);
        done += n;
    }
    hn_write_store(w, t->mem.scores, place(t, q, k), hn_write_load(w, sum, zero));
    hn_write_close(w, 3);
}

void hn_few_scores(hn_attention_sketch *t) {
    hn_ix left = hn_at_mod(t, t->at.n_key, HN_ATTENTION_FEW_KEYS);
    dots(t, hn_ix_int(t->n, 0), hn_at_div(t, t->at.n_key, HN_ATTENTION_FEW_KEYS), HN_ATTENTION_FEW_KEYS);
    dots(t, hn_ix_sub(t->n, t->at.n_key, left), left, 1);
}

/* -- softmax */
/* The score of query q and key k: scale and mask of the sum. */
static hn_sv score(hn_attention_sketch *t, hn_ix q, hn_ix k) {
    hn_writer *w = &t->w;
    hn_sv sum = hn_write_load(w, t->mem.scores, place(t, q, k));
    hn_write_forget(w);
    hn_attend_set_query(t, hn_at_plus(t, t->at.first, q));
    w->var[t->x.key] = hn_at_plus(t, t->at.key0, k);
    w->sv[t->x.sum] = sum;
    if (t->in.scale) w->sv[t->in.scale] = sum;
    return hn_write_copy(w, t->x.score);
}

/* One pass over a query's scores: all = all OP what becomes of them, in vectors of keys, then one by one. */
typedef struct pass {
    hn_op op;
    double first;
    hn_sv top; /* 0: scale, mask, and the largest; else exponentials and their sum */
} pass;

static void step(hn_attention_sketch *t, const pass *p, hn_buf all, hn_ix q, hn_ix k) {
    hn_writer *w = &t->w;
    hn_sv x;
    if (p->top) {
        x = hn_write_op(w, HN_OP_SUB, HONE_F32, hn_write_load(w, t->mem.scores, place(t, q, k)), p->top);
        x = hn_attend_exponential(t, x);
    } else {
        x = score(t, q, k);
    }
    hn_write_store(w, t->mem.scores, place(t, q, k), x);
    hn_write_update(w, all, hn_ix_int(t->n, 0), p->op, x);
}

static void run(hn_attention_sketch *t, const pass *p, hn_buf all, hn_ix q) {
    hn_writer *w = &t->w;
    hn_ix zero = hn_ix_int(t->n, 0), left = hn_at_mod(t, t->at.n_key, t->size.lanes);
    hn_ix l = hn_write_times(w, t->size.lanes, HN_VECTOR);
    hn_buf part = hn_write_reg(w, HONE_F32, 1);
    hn_write_store(w, part, zero, hn_at_number(t, p->first));
    hn_ix k = hn_at_times(t, hn_write_loop(w, hn_at_div(t, t->at.n_key, t->size.lanes), HN_SERIAL), t->size.lanes);
    step(t, p, part, q, hn_at_plus(t, k, l));
    hn_write_close(w, 1);
    hn_write_update(w, all, zero, p->op, hn_write_load(w, part, zero));
    hn_write_close(w, 1);
    k = hn_at_plus(t, hn_ix_sub(t->n, t->at.n_key, left), hn_write_loop(w, left, HN_SERIAL));
    step(t, p, all, q, k);
    hn_write_close(w, 1);
}

void hn_few_softmax(hn_attention_sketch *t) {
    hn_writer *w = &t->w;
    hn_ix q = hn_write_loop(w, t->at.valid, HN_SERIAL), zero = hn_ix_int(t->n, 0);
    hn_ix at = hn_at_plus(t, t->at.group_at, q);
    hn_buf largest = hn_write_reg(w, HONE_F32, 1), total = hn_write_reg(w, HONE_F32, 1);
    hn_sv old = t->how.online ? hn_write_load(w, t->mem.tops, at) : hn_at_number(t, -(double)INFINITY);
    hn_write_store(w, largest, zero, old);
    run(t, &(pass){HN_OP_MAX, -(double)INFINITY, 0}, largest, q);
    hn_sv top = hn_write_load(w, largest, zero), sum = hn_at_number(t, 0);
    if (t->how.online) sum = hn_attend_rescale(t, at, q, old, &top);
    hn_write_store(w, total, zero, sum);
    run(t, &(pass){HN_OP_ADD, 0, top}, total, q);
    hn_write_store(w, t->mem.sums, at, hn_write_load(w, total, zero));
    hn_write_close(w, 1);
}
