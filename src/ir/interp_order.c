/* ir/interp_order.c — sorting: top k, distinct slices; and the places of what is not zero.
 *
 * One total order for all: numbers, then NaN as the greatest (all NaN equal, -0 = 0); equals by index.
 */
#include "ir/interp_int.h"

#include <stdlib.h>
#include <string.h>

static int order_f(double a, double b) {
    if (a != a || b != b) return (a != a) - (b != b);
    return (a > b) - (a < b);
}
static int order_i(int64_t a, int64_t b, bool uns) {
    return uns ? ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b) : (a > b) - (a < b);
}

typedef struct entry {
    double f;
    int64_t i, index;
} entry;
typedef struct entry_order {
    bool is_float, uns, largest;
} entry_order;

static int compare_entries(const void *pa, const void *pb, void *arg) {
    const entry *a = pa, *b = pb;
    const entry_order *o = arg;
    int s = o->is_float ? order_f(a->f, b->f) : order_i(a->i, b->i, o->uns);
    if (s) return o->largest ? -s : s;
    return order_i(a->index, b->index, false);
}

static void copy_element(hn_tensor *to, int64_t i, const hn_tensor *from, int64_t j, int64_t n) {
    size_t b = hn_dtype_of(from->dtype)->size_b;
    if (n) memcpy((char *)to->data + (size_t)i * b, (const char *)from->data + (size_t)j * b, (size_t)n * b);
}

hone_rc hn_eval_topk(hn_call *c) {
    const hn_tensor *x = c->in[0];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0);
    int64_t outer = hn_product(x->dim, 0, axis), n = x->dim[axis], inner = hn_product(x->dim, axis + 1, x->rank);
    int64_t k = c->out[0].dim[axis], *index = c->out[1].data;
    entry_order order = {hn_is_float(x->dtype), x->dtype == HONE_U64, hn_attr_i(c->node, HN_A_LARGEST, 1) != 0};
    if (k > n)
        return hn_fail(c->err, HONE_E_INPUT, "%s: k is %lld, but dimension %zu has %lld elements", hn_call_name(c),
                       (long long)k, axis, (long long)n);
    entry *line = HN_NEW_N(c->scratch, entry, (size_t)n);
    if (!line) return hn_call_nomem(c);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t s = 0; s < inner; s++) {
            for (int64_t i = 0; i < n; i++) {
                line[i].index = i;
                if (order.is_float)
                    hn_load_f(x, (o * n + i) * inner + s, 1, 1, &line[i].f);
                else
                    hn_load_i(x, (o * n + i) * inner + s, 1, 1, &line[i].i);
            }
            qsort_r(line, (size_t)n, sizeof *line, compare_entries, &order);
            for (int64_t i = 0; i < k; i++) {
                int64_t to = (o * k + i) * inner + s;
                copy_element(&c->out[0], to, x, (o * n + line[i].index) * inner + s, 1);
                index[to] = line[i].index;
            }
        }
    return HONE_OK;
}

hone_rc hn_eval_nonzero(hn_call *c) {
    const hn_tensor *x = c->in[0];
    int64_t n = hn_tensor_n(x), found = 0, rank = x->rank, index[HN_RANK_MAX] = {0}, at = 0;
    bool is_float = hn_is_float(x->dtype);
    for (int64_t i = 0; i < n; i++) found += is_float ? hn_get_f(x, i) != 0 : hn_get_i(x, i) != 0;
    hone_rc rc = hn_call_define(c, 0, found);
    if (!rc) rc = hn_call_out(c, 0, HONE_I64, 2, (int64_t[]){rank, found});
    if (rc || !n) return rc;
    int64_t *out = c->out[0].data;
    for (int64_t i = 0; i < n; i++, hn_next_index(x->rank, x->dim, index)) {
        if (is_float ? hn_get_f(x, i) == 0 : hn_get_i(x, i) == 0) continue;
        for (int64_t d = 0; d < rank; d++) out[d * found + at] = index[d];
        at++;
    }
    return HONE_OK;
}

/* -- unique: slices along an axis */

typedef struct slices {
    const hn_tensor *x;
    int64_t outer, n, inner;
    const int64_t *first;
} slices;

static int compare_slices(const slices *s, int64_t a, int64_t b) {
    bool is_float = hn_is_float(s->x->dtype);
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int64_t pa = (o * s->n + a) * s->inner + i, pb = (o * s->n + b) * s->inner + i;
            int d = is_float ? order_f(hn_get_f(s->x, pa), hn_get_f(s->x, pb))
                             : order_i(hn_get_i(s->x, pa), hn_get_i(s->x, pb), s->x->dtype == HONE_U64);
            if (d) return d;
        }
    return 0;
}

static int compare_by_content(const void *pa, const void *pb, void *arg) {
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    int d = compare_slices(arg, a, b);
    return d ? d : order_i(a, b, false);
}
static int compare_by_first(const void *pa, const void *pb, void *arg) {
    const slices *s = arg;
    return order_i(s->first[*(const int64_t *)pa], s->first[*(const int64_t *)pb], false);
}

/* Groups equal slices: order holds the slices group after group, start[g] where group g begins. */
static int64_t find_groups(const slices *s, int64_t *order, int64_t *start) {
    int64_t groups = 0;
    for (int64_t i = 0; i < s->n; i++) order[i] = i;
    if (s->n) qsort_r(order, (size_t)s->n, sizeof *order, compare_by_content, (void *)s);
    for (int64_t i = 0; i < s->n; i++)
        if (i == 0 || compare_slices(s, order[i - 1], order[i])) start[groups++] = i;
    start[groups] = s->n;
    return groups;
}

static hone_rc unique_results(hn_call *c, size_t axis, int64_t groups) {
    const hn_tensor *x = c->in[0];
    int64_t dim[HN_RANK_MAX];
    memcpy(dim, x->dim, sizeof dim);
    dim[axis] = groups;
    hone_rc rc = hn_call_define(c, 0, groups);
    if (!rc) rc = hn_call_out(c, 0, x->dtype, x->rank, dim);
    if (!rc) rc = hn_call_out(c, 1, HONE_I64, 1, &groups);
    if (!rc) rc = hn_call_out(c, 2, HONE_I64, 1, &x->dim[axis]);
    if (!rc) rc = hn_call_out(c, 3, HONE_I64, 1, &groups);
    return rc;
}

hone_rc hn_eval_unique(hn_call *c) {
    const hn_tensor *x = c->in[0];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0);
    slices s = {x, hn_product(x->dim, 0, axis), x->dim[axis], hn_product(x->dim, axis + 1, x->rank), NULL};
    int64_t *order = HN_NEW_N(c->scratch, int64_t, (size_t)s.n),
            *start = HN_NEW_N(c->scratch, int64_t, (size_t)s.n + 1);
    int64_t *rank = HN_NEW_N(c->scratch, int64_t, (size_t)s.n), *first = HN_NEW_N(c->scratch, int64_t, (size_t)s.n);
    if (!hn_arena_ok(c->scratch)) return hn_call_nomem(c);
    int64_t groups = find_groups(&s, order, start);
    hone_rc rc = unique_results(c, axis, groups);
    if (rc) return rc;
    for (int64_t g = 0; g < groups; g++) {
        rank[g] = g;
        first[g] = order[start[g]]; /* equals are sorted by index */
    }
    s.first = first;
    if (!hn_attr_i(c->node, HN_A_SORTED, 1) && groups)
        qsort_r(rank, (size_t)groups, sizeof *rank, compare_by_first, &s);
    int64_t *out_first = c->out[1].data, *inverse = c->out[2].data, *count = c->out[3].data;
    for (int64_t k = 0; k < groups; k++) {
        int64_t g = rank[k];
        out_first[k] = first[g];
        count[k] = start[g + 1] - start[g];
        for (int64_t i = start[g]; i < start[g + 1]; i++) inverse[order[i]] = k;
        for (int64_t o = 0; o < s.outer; o++)
            copy_element(&c->out[0], (o * groups + k) * s.inner, x, (o * s.n + first[g]) * s.inner, s.inner);
    }
    return HONE_OK;
}
