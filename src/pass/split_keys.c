/* pass/split_keys.c — attention of few queries over many keys, for machines with many processors: the keys in parts.
 *
 *     scores = contract(q, k) …;  p = softmax(scores);  out = contract(p, v)
 *
 * has a row of scores for each head and query: too few blocks of threads for a device, each with all of the keys. Here
 * every part of the keys has a softmax of its own, and a last product adds the parts up, each weighted by the
 * exponential of its largest score less the largest of all (Dao et al., Flash-Decoding, 2023):
 *
 *     e = exp(scores - top of the part);  part = contract(e, v) by part
 *     w = exp(top of the part - top);  out = contract(part, w / sum(w * sum of the part's e))
 *
 * So keys and values are read once, by as many blocks as there are heads times parts. A part whose scores are all -inf
 * counts 0; a row of which all are is NaN, as in the softmax that was there.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <math.h>

enum { LEAST_KEYS = 1024, LEAST_PART = 256, MOST_PARTS = 64, FEW_QUERIES = 8, ENOUGH_BLOCKS = 256 };

typedef struct split {
    const hn_node *n; /* contract(softmax, values) */
    const hn_attr *lhs, *rhs, *out;
    hn_val scores;
    int64_t key, label; /* labels: of the keys; a new one, of the parts */
    int64_t parts, length;
} split;

static bool known(const hn_graph *g, hn_dim d, int64_t *x) { return hn_dim_is_int(g->dims, d, x) && *x > 0; }

/* The fewest equal parts that make enough blocks; 0: there are none of some length. */
static int64_t parts_of(int64_t keys, int64_t blocks) {
    int64_t best = 0;
    for (int64_t p = 2; p <= MOST_PARTS && keys / p >= LEAST_PART && best * blocks < ENOUGH_BLOCKS; p++)
        if (keys % p == 0) best = p;
    return best;
}

static bool over_the_last(const hn_graph *g, hn_val softmax) {
    const hn_node *div = hn_def_op(g, softmax, HN_OP_DIV), *total = NULL;
    hn_val v = div ? div->in[1] : 0;
    const hn_node *wide = hn_def_op(g, v, HN_OP_BROADCAST);
    total = hn_def_op(g, wide ? wide->in[0] : v, HN_OP_RSUM);
    const hn_attr *axes = total ? hn_attr_get(total, HN_A_AXES) : NULL;
    return axes && axes->n == 1 && axes->ints[0] == hn_type_of(g, softmax)->rank - 1;
}

/* Few queries in few heads, and many keys? */
static bool fits(const hn_graph *g, const hn_node *n, split *s) {
    *s = (split){.n = n};
    if (n->op != HN_OP_CONTRACT || !(s->scores = hn_softmax_input(g, n->in[0]))) return false;
    s->lhs = hn_attr_get(n, HN_A_LHS), s->rhs = hn_attr_get(n, HN_A_RHS), s->out = hn_attr_get(n, HN_A_OUT);
    const hn_type *t = hn_type_of(g, n->in[0]), *scores = hn_type_of(g, s->scores);
    int64_t keys, e, queries = 1, heads = 1;
    if (t->dtype != HONE_F32 || scores->dtype != HONE_F32 || hn_type_of(g, n->out[0])->dtype != HONE_F32) return false;
    if (!t->rank || t->rank != s->lhs->n || t->rank + 2u > HN_RANK_MAX || !over_the_last(g, n->in[0])) return false;
    s->key = s->lhs->ints[t->rank - 1];
    if (hn_label_place(s->out, s->key) >= 0 || hn_label_place(s->rhs, s->key) < 0) return false;
    if (!known(g, t->dim[t->rank - 1], &keys) || keys < LEAST_KEYS) return false;
    for (uint8_t d = 0; d + 1 < t->rank; d++) {
        if (!known(g, t->dim[d], &e) || hn_label_place(s->out, s->lhs->ints[d]) < 0) return false;
        *(hn_label_place(s->rhs, s->lhs->ints[d]) < 0 ? &queries : &heads) *= e;
    }
    for (uint32_t i = 0; i < s->lhs->n; i++) s->label = s->lhs->ints[i] >= s->label ? s->lhs->ints[i] + 1 : s->label;
    for (uint32_t i = 0; i < s->rhs->n; i++) s->label = s->rhs->ints[i] >= s->label ? s->rhs->ints[i] + 1 : s->label;
    s->parts = queries < FEW_QUERIES && heads < ENOUGH_BLOCKS ? parts_of(keys, heads) : 0;
    s->length = s->parts ? keys / s->parts : 0;
    return s->parts > 0;
}

/* The dimension at that place becomes two: parts, and the keys of one. */
static hn_val in_parts(hn_builder *b, const split *s, hn_val x, int64_t at) {
    const hn_type t = *hn_t(b, x);
    hn_dim dim[HN_RANK_MAX];
    size_t rank = 0;
    for (int64_t d = 0; d < t.rank; d++) {
        if (d == at) dim[rank++] = hn_lit(b, s->parts);
        dim[rank++] = d == at ? hn_lit(b, s->length) : t.dim[d];
    }
    return hn_reshape(b, x, rank, dim);
}

/* The labels with that of the parts in front of the keys'. */
static size_t with_parts(const split *s, const hn_attr *labels, int64_t *out) {
    size_t n = 0;
    for (uint32_t i = 0; i < labels->n; i++) {
        if (labels->ints[i] == s->key) out[n++] = s->label;
        out[n++] = labels->ints[i];
    }
    return n;
}

/* Like x, broadcast along the last dimension or the one before from a result of hn_reduce that kept it. */
static hn_val along(hn_builder *b, hn_val x, hn_val like) {
    const hn_type t = *hn_t(b, like);
    return hn_broadcast_to(b, x, t.rank, t.dim);
}

static hn_val split_one(hn_rewriter *r, const hn_node *n) {
    split s;
    hn_builder *b = &r->b;
    if (!fits(r->g, n, &s)) return HN_KEEP;
    int64_t rank = hn_type_of(r->g, s.scores)->rank, last[] = {rank}, part[] = {rank - 1};
    int64_t lhs[HN_RANK_MAX], rhs[HN_RANK_MAX], out[HN_RANK_MAX];
    hn_val values = in_parts(b, &s, n->in[1], hn_label_place(s.rhs, s.key));
    hn_val scores = in_parts(b, &s, s.scores, rank - 1);
    hn_val tops = hn_reduce(b, HN_OP_RMAX, scores, 1, last, true); /* [… parts 1] */
    hn_val none = hn_bin_f(b, HN_OP_EQ, tops, -(double)INFINITY);
    hn_val zero = hn_full(b, HONE_F32, hn_rank(b, tops), hn_t(b, tops)->dim, 0);
    hn_val base = hn_where(b, none, zero, tops);
    hn_val e = hn_un(b, HN_OP_EXP, hn_bin(b, HN_OP_SUB, scores, along(b, base, scores)));
    hn_val sums = hn_reduce(b, HN_OP_RSUM, e, 1, last, false); /* [… parts] */
    with_parts(&s, s.lhs, lhs), with_parts(&s, s.rhs, rhs);
    out[0] = s.label;
    for (uint32_t i = 0; i < s.out->n; i++) out[i + 1] = s.out->ints[i];
    hn_val mixed = hn_contract(b, e, values, lhs, rhs, s.out->n + 1, out, HONE_F32);
    hn_val top = hn_reduce(b, HN_OP_RMAX, hn_squeeze(b, tops, rank), 1, part, true); /* [… 1] */
    hn_val w = hn_un(b, HN_OP_EXP, hn_bin(b, HN_OP_SUB, hn_squeeze(b, tops, rank), along(b, top, sums)));
    hn_val all = hn_reduce(b, HN_OP_RSUM, hn_bin(b, HN_OP_MUL, w, sums), 1, part, true);
    w = hn_bin(b, HN_OP_DIV, w, along(b, all, w));
    lhs[rank - 1] = s.label; /* of w: the scores' labels, parts in place of the keys */
    return hn_contract(b, mixed, w, out, lhs, s.out->n, s.out->ints, HONE_F32);
}

void hn_split_keys(hn_graph *g, hn_pass_ctx *ctx) {
    hn_rewriter r = {.g = g};
    if (!ctx->layout || !ctx->layout->many_processors) return;
    hn_rewrite(&r, split_one);
    ctx->n_rewrites += r.n_rewrites;
    if (r.n_rewrites) hn_sweep(g);
}
