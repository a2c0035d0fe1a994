/* ir/interp_attend.c — attention over keys and values in blocks of a pool, a token and a head at a time. */
#include "ir/interp_int.h"

#include <math.h>
#include <string.h>

typedef struct attending {
    hn_call *c;
    const hn_tensor *q, *key, *value, *table, *key_scale, *value_scale;
    int64_t block, window, size, kv_heads, group;
    double cap, *score, *sum;
    int64_t *row; /* in the pool, of each position */
} attending;

static double number(const hn_tensor *t, int64_t i) {
    return hn_is_float(t->dtype) ? hn_get_f(t, i) : (double)hn_get_i(t, i);
}

/* Rows of the keys that a token at position p sees, from *first on. */
static hone_rc find_rows(attending *a, int64_t sequence, int64_t p, int64_t *first) {
    const hn_call *c = a->c;
    int64_t blocks = a->table->dim[1], most = a->key->dim[0] / a->block;
    if (sequence < 0 || sequence >= a->table->dim[0] || p < 0 || p / a->block >= blocks)
        return hn_fail(c->err, HONE_E_INPUT, "%s: position %lld of sequence %lld is beyond the table of blocks",
                       hn_call_name(c), (long long)p, (long long)sequence);
    *first = a->window > 0 && p >= a->window ? p - a->window + 1 : 0;
    for (int64_t j = *first; j <= p; j++) {
        int64_t at = hn_get_i(a->table, sequence * blocks + j / a->block);
        if (at < 0 || at >= most)
            return hn_fail(c->err, HONE_E_INPUT, "%s: there is no block %lld, only %lld of them", hn_call_name(c),
                           (long long)at, (long long)most);
        a->row[j] = at * a->block + j % a->block;
    }
    return HONE_OK;
}

/* Keys lie in blocks, [kv heads, size, block]. */
static double score_of(const attending *a, int64_t q_at, int64_t kv, int64_t row) {
    double sum = 0;
    int64_t first = (row / a->block * a->kv_heads + kv) * a->size * a->block + row % a->block;
    for (int64_t d = 0; d < a->size; d++) sum += hn_get_f(a->q, q_at + d) * number(a->key, first + d * a->block);
    if (a->key_scale) sum *= hn_get_f(a->key_scale, row * a->kv_heads + kv);
    return a->cap > 0 ? a->cap * tanh(sum / a->cap) : sum;
}

static void attend(attending *a, int64_t token, int64_t head, int64_t first, int64_t p) {
    int64_t kv = head / a->group, q_at = (token * a->kv_heads * a->group + head) * a->size;
    double top = -INFINITY, all = 0;
    for (int64_t j = first; j <= p; j++) {
        a->score[j] = score_of(a, q_at, kv, a->row[j]);
        if (a->score[j] > top) top = a->score[j];
    }
    memset(a->sum, 0, (size_t)a->size * sizeof *a->sum);
    for (int64_t j = first; j <= p; j++) {
        double e = exp(a->score[j] - top);
        all += e;
        if (a->value_scale) e *= hn_get_f(a->value_scale, a->row[j] * a->kv_heads + kv);
        for (int64_t d = 0; d < a->size; d++)
            a->sum[d] += e * number(a->value, (a->row[j] * a->kv_heads + kv) * a->size + d);
    }
    for (int64_t d = 0; d < a->size; d++) a->sum[d] /= all;
    hn_store_f(&a->c->out[0], q_at, a->size, a->sum);
}

hone_rc hn_eval_attend(hn_call *c) {
    const hn_attr *cap = hn_attr_get(c->node, HN_A_SOFTCAP);
    bool scaled = c->node->n_in > 6;
    attending a = {.c = c, .q = c->in[0], .key = c->in[1], .value = c->in[2], .table = c->in[3]};
    a.key_scale = scaled ? c->in[6] : NULL;
    a.value_scale = scaled ? c->in[7] : NULL;
    a.block = hn_attr_i(c->node, HN_A_BLOCK, 1);
    a.window = hn_attr_i(c->node, HN_A_WINDOW, 0);
    a.cap = cap ? cap->f : 0;
    a.size = a.q->dim[2];
    a.kv_heads = a.key->dim[1];
    a.group = a.q->dim[1] / a.kv_heads;
    int64_t keys = a.table->dim[1] * a.block, first = 0;
    a.score = HN_NEW_N(c->scratch, double, (size_t)keys + 1);
    a.row = HN_NEW_N(c->scratch, int64_t, (size_t)keys + 1);
    a.sum = HN_NEW_N(c->scratch, double, (size_t)a.size + 1);
    if (!hn_arena_ok(c->scratch)) return hn_call_nomem(c);
    for (int64_t i = 0; i < a.q->dim[0]; i++) {
        int64_t p = hn_get_i(c->in[5], i);
        hone_rc rc = find_rows(&a, hn_get_i(c->in[4], i), p, &first);
        if (rc) return rc;
        for (int64_t h = 0; h < a.q->dim[1]; h++) attend(&a, i, h, first, p);
    }
    return HONE_OK;
}
