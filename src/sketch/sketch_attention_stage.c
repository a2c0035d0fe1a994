/* sketch/sketch_attention_stage.c — what attention brings to scratch: queries and masks with the queries as the fastest
 * dimension, keys and values of one block next to each other. */
#include "sketch/sketch_attention.h"

bool hn_attend_find_staged(hn_attention_sketch *t, hn_sv v) {
    const hn_scalar s = t->n->sv[v];
    if (v == t->x.sum || !hn_attend_by_query(t, v)) return true;
    if (s.kind == HN_SV_LOAD) {
        for (int i = 0; i < t->in.n_staged; i++)
            if (t->in.staged[i].load == v) return true;
        if (t->in.n_staged == HN_STAGED_MAX || t->n->buf[s.buf].space != HN_PARAM) return false;
        t->in.staged[t->in.n_staged++] = (hn_staged){.load = v, .by_key = hn_sv_depends(t->n, v, t->x.key)};
        return true;
    }
    if (s.kind == HN_SV_WRAP) return false;
    for (uint32_t k = 0; k < s.n_arg; k++)
        if (!hn_attend_find_staged(t, s.arg[k])) return false;
    return true;
}

/* A rectangle that is copied: element (k, lane) of the group goes to to[base + k*group + lane]. s NULL: queries. */
typedef struct rectangle {
    const hn_staged *s;
    hn_buf to;
    hn_ix base, n_k;
} rectangle;

hn_sv hn_attend_query_number(hn_attention_sketch *t, hn_ix query, hn_ix d) {
    hn_writer *w = &t->w;
    hn_write_forget(w);
    hn_attend_set_query(t, query);
    w->var[t->x.depth] = d;
    hn_sv q = hn_write_copy(w, t->x.q);
    if (!t->in.scale) return q;
    const hn_scalar f = t->n->sv[t->in.scale];
    bool first = f.arg[0] == t->x.sum;
    hn_sv other = hn_write_copy(w, f.arg[first]);
    return hn_write_op(w, f.op, HONE_F32, first ? q : other, first ? other : q);
}

static hn_sv mask_number(hn_attention_sketch *t, const hn_staged *s, hn_ix query, hn_ix k) {
    hn_writer *w = &t->w;
    hn_write_forget(w);
    hn_attend_set_query(t, query);
    w->var[t->x.key] = hn_at_plus(t, t->at.key0, k);
    return hn_write_copy(w, s->load);
}

static hn_ix place(hn_attention_sketch *t, const rectangle *r, hn_ix k, hn_ix lane) {
    return hn_at_plus(t, r->base, hn_at_plus(t, hn_at_times(t, k, t->size.group), lane));
}
static void element(hn_attention_sketch *t, const rectangle *r, hn_ix k, hn_ix lane) {
    hn_ix query = hn_at_plus(t, t->at.first, lane);
    hn_sv x = r->s ? mask_number(t, r->s, query, k) : hn_attend_query_number(t, query, k);
    hn_write_store(&t->w, r->to, place(t, r, k, lane), x);
}

/* `many` strips of `side` values of k, from k on, for one vector of queries: squares are transposed in registers. */
static void strips(hn_attention_sketch *t, const rectangle *r, hn_ix vector, hn_ix k, hn_ix many, int64_t side) {
    hn_writer *w = &t->w;
    k = hn_at_plus(t, k, hn_at_times(t, hn_write_loop(w, many, HN_SERIAL), side));
    k = hn_at_plus(t, k, hn_write_times(w, side, HN_UNROLL));
    element(t, r, k, hn_at_plus(t, vector, hn_write_times(w, t->size.lanes, HN_VECTOR)));
    hn_write_close(w, 3);
}

static void zeros(hn_attention_sketch *t, const rectangle *r) {
    hn_writer *w = &t->w;
    hn_ix k = hn_write_loop(w, r->n_k, HN_SERIAL),
          behind = hn_ix_sub(t->n, hn_ix_int(t->n, t->size.group), t->at.valid);
    hn_ix lane = hn_at_plus(t, t->at.valid, hn_write_loop(w, behind, HN_SERIAL));
    hn_sv zero = hn_write_scalar(w, &(hn_scalar){.kind = HN_SV_CONST, .dtype = t->n->buf[r->to].dtype});
    hn_write_store(w, r->to, place(t, r, k, lane), zero);
    hn_write_close(w, 2);
}

static void stage(hn_attention_sketch *t, const rectangle *r) {
    hn_writer *w = &t->w;
    hn_ix full = hn_at_div(t, t->at.valid, t->size.lanes), left = hn_at_mod(t, r->n_k, t->size.lanes);
    hn_ix vector = hn_at_times(t, hn_write_loop(w, full, HN_SERIAL), t->size.lanes);
    strips(t, r, vector, hn_ix_int(t->n, 0), hn_at_div(t, r->n_k, t->size.lanes), t->size.lanes);
    strips(t, r, vector, hn_ix_sub(t->n, r->n_k, left), left, 1);
    hn_write_close(w, 1);
    hn_ix lane = hn_write_loop(w, hn_at_mod(t, t->at.valid, t->size.lanes), HN_SERIAL);
    element(t, r, hn_write_loop(w, r->n_k, HN_SERIAL), hn_at_plus(t, hn_at_times(t, full, t->size.lanes), lane));
    hn_write_close(w, 2);
    zeros(t, r);
}

void hn_attend_stage_queries(hn_attention_sketch *t) {
    stage(t, &(rectangle){NULL, t->mem.queries, hn_at_times(t, t->at.group_at, t->size.depth),
                          hn_ix_int(t->n, t->size.depth)});
}
void hn_attend_stage_masks(hn_attention_sketch *t) {
    hn_ix zero = hn_ix_int(t->n, 0), one = hn_ix_int(t->n, 1);
    for (int i = 0; i < t->in.n_staged; i++) {
        const hn_staged *s = &t->in.staged[i];
        stage(t, &(rectangle){s, s->to, zero, s->by_key ? t->at.n_key : one});
    }
}

/* -- keys and values */
/* Row k of an operand: n contiguous numbers, in vectors that get narrower towards the end. */
static void pack_row(hn_attention_sketch *t, hn_sv from, hn_var along, hn_buf to, hn_ix k, int64_t n) {
    hn_writer *w = &t->w;
    int64_t done = 0;
    for (int64_t lanes = t->size.lanes; done < n; lanes /= 2) {
        int64_t many = (n - done) / lanes;
        if (!many) continue;
        hn_ix at = hn_at_times(t, hn_write_times(w, many, HN_SERIAL), lanes);
        at = hn_at_plus(t, hn_ix_int(t->n, done), at);
        if (lanes > 1) at = hn_at_plus(t, at, hn_write_times(w, lanes, HN_VECTOR));
        hn_write_forget(w);
        w->var[along] = at;
        hn_sv x = hn_write_copy(w, from);
        hn_write_store(w, to, hn_at_plus(t, hn_at_times(t, k, n), at), x);
        hn_write_close(w, lanes > 1 ? 2 : 1);
        done += many * lanes;
    }
}

void hn_attend_pack(hn_attention_sketch *t) {
    hn_writer *w = &t->w;
    hn_attend_no_query(t);
    for (int side = 0; side < 2; side++) {
        hn_ix k = hn_write_loop(w, t->at.n_key, HN_SERIAL);
        w->var[side ? t->x.key_v : t->x.key] = hn_at_plus(t, t->at.key0, k);
        if (side)
            pack_row(t, t->x.v, t->x.column, t->mem.values, k, t->size.columns);
        else
            pack_row(t, t->x.k, t->x.depth, t->mem.keys, k, t->size.depth);
        hn_write_close(w, 1);
    }
}
