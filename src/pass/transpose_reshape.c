/* pass/transpose_reshape.c — transposes through reshapes. A reshape is cut into runs of dimensions of its input
 * that have as many elements as a run of dimensions of its result. Where the transpose keeps each run together the
 * runs themselves are transposed. */
#include "pass/sink.h"

static bool is_one(const hn_graph *g, hn_dim d) {
    int64_t n;
    return hn_dim_is_int(g->dims, d, &n) && n == 1;
}

/* The next run: both sides grow, the smaller one first, until they are equal. */
static bool close_run(hn_graph *g, const hn_type *x, const hn_type *y, hn_dim_run *k) {
    hn_dim a = x->dim[k->in], b = y->dim[k->out];
    k->n_in = k->n_out = 1;
    while (hn_dim_equal(g->dims, a, b) != HN_EQUAL) {
        int64_t i, j;
        if (!hn_dim_is_int(g->dims, a, &i) || !hn_dim_is_int(g->dims, b, &j)) return false;
        if (i < j && k->in + k->n_in < x->rank)
            a = hn_dim_mul(g->dims, a, x->dim[k->in + k->n_in++]);
        else if (j < i && k->out + k->n_out < y->rank)
            b = hn_dim_mul(g->dims, b, y->dim[k->out + k->n_out++]);
        else
            return false;
    }
    return true;
}

bool hn_find_runs(hn_graph *g, const hn_type *x, const hn_type *y, hn_dim_runs *s) {
    size_t i = 0, j = 0;
    s->n = 0;
    while (i < x->rank && s->n < 2 * HN_RANK_MAX) {
        hn_dim_run *k = &s->at[s->n++];
        *k = (hn_dim_run){.in = i, .out = j};
        if (is_one(g, x->dim[i]) && (j == y->rank || !is_one(g, y->dim[j])))
            k->n_in = 1; /* a dimension of one that goes */
        else if (j == y->rank || !close_run(g, x, y, k))
            return false;
        i += k->n_in;
        j += k->n_out;
    }
    for (; s->n && j < y->rank; j++, s->at[s->n - 1].n_out++)
        if (!is_one(g, y->dim[j])) return false;
    return i == x->rank && j == y->rank && s->n;
}

static bool together(const hn_dim_run *k, const int64_t *perm) {
    for (size_t i = 1; i < k->n_in; i++)
        if (perm[k->in + i] != perm[k->in + i - 1] + 1) return false;
    return true;
}

/* Brings the runs together by a transpose of their own, in the order in which their first dimensions were (a shuffle of
 * channels: the image stays as it is). perm: from now on the transpose to sink. */
static hn_val gather_runs(hn_rewriter *r, hn_val x, const hn_dim_runs *s, int64_t *perm) {
    int64_t order[HN_RANK_MAX];
    size_t n = 0, rank = hn_type_of(r->g, x)->rank;
    for (int64_t d = 0; d < (int64_t)rank; d++)
        for (size_t k = 0; k < s->n; k++) {
            const hn_dim_run *g = &s->at[k];
            int64_t first = perm[g->in];
            for (size_t i = 1; i < g->n_in; i++) first = perm[g->in + i] < first ? perm[g->in + i] : first;
            for (size_t i = 0; first == d && i < g->n_in; i++) order[n++] = (int64_t)(g->in + i);
        }
    int64_t move[HN_RANK_MAX];
    for (size_t i = 0; i < rank; i++) move[i] = perm[order[i]];
    for (size_t i = 0; i < rank; i++) perm[order[i]] = (int64_t)i;
    return hn_transpose(&r->b, x, move);
}

hn_val hn_sink_reshape(hn_rewriter *r, const hn_node *n) {
    const hn_node *t = hn_sinking_def(r, n->in[0]);
    const hn_type x = *hn_type_of(r->g, n->in[0]), y = *hn_type_of(r->g, n->out[0]);
    hn_dim_runs s;
    hn_dim shape[HN_RANK_MAX];
    int64_t place[HN_RANK_MAX], perm[HN_RANK_MAX];
    size_t rank = 0;
    bool fine = true;
    if (!t || !hn_find_runs(r->g, &x, &y, &s)) return 0;
    hn_val from = t->in[0];
    for (size_t i = 0; i < x.rank; i++) perm[i] = hn_attr_get(t, HN_A_PERM)->ints[i];
    for (size_t k = 0; k < s.n; k++) fine &= together(&s.at[k], perm);
    if (!fine && !r->arg) return 0;
    if (!fine) from = gather_runs(r, from, &s, perm);
    for (int64_t d = 0; d < x.rank; d++) /* runs in the order in which the transpose's input has them */
        for (size_t k = 0; k < s.n; k++)
            for (size_t i = 0; perm[s.at[k].in] == d && i < s.at[k].n_out; i++) {
                shape[rank] = y.dim[s.at[k].out + i];
                place[s.at[k].out + i] = (int64_t)rank++;
            }
    return hn_transpose(&r->b, hn_reshape(&r->b, from, rank, shape), place);
}
