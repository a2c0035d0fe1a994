/* pass/fold_gather.c — gathers whose indices are regular: every one so many times, in equal steps, as an image is made
 * larger by whole numbers or a sequence is turned round. They are slices, repeated by broadcasts: loops and shuffles
 * know where the lanes read, and nothing is looked up. */
#include "pass/fold.h"

/* Index i is first + step * (i / times), n different ones. */
typedef struct regular {
    int64_t first, step, times, n;
} regular;

static const int64_t index_max = INT64_C(1) << 40; /* so that differences stay within 64 bits */

static bool is_regular(const hn_tensor *t, regular *out) {
    int64_t n = hn_tensor_n(t), first = n ? hn_get_i(t, 0) : 0, times = 1;
    for (int64_t i = 0; i < n; i++)
        if (hn_get_i(t, i) < -index_max || hn_get_i(t, i) > index_max) return false;
    while (times < n && hn_get_i(t, times) == first) times++;
    if (t->rank != 1 || n < 1 || n % times) return false;
    *out = (regular){first, n > times ? hn_get_i(t, times) - first : 1, times, n / times};
    for (int64_t i = 0; i < n; i++)
        if (hn_get_i(t, i) != first + out->step * (i / times)) return false;
    return true;
}

static bool inside(const hn_rewriter *r, const regular *i, hn_dim size) {
    int64_t low, high, last = i->first + i->step * (i->n - 1);
    hn_dim_range(r->g->dims, size, &low, &high);
    return i->first >= 0 && last >= 0 && i->first < low && last < low;
}

static hn_val repeat(hn_builder *b, hn_val x, int64_t axis, int64_t times) {
    hn_val y = hn_unsqueeze(b, x, axis + 1);
    hn_type t = *hn_type_of(b->g, y);
    t.dim[axis + 1] = hn_dim_int(b->g->dims, times);
    return hn_broadcast_to(b, y, t.rank, t.dim);
}

hn_val hn_gather_regular(hn_rewriter *r, const hn_node *n, const hn_tensor *index) {
    const hn_type x = *hn_type_of(r->g, n->in[0]), y = *hn_type_of(r->g, n->out[0]);
    int64_t axis = hn_attr_i(n, HN_A_AXIS, 0);
    hn_dims *dims = r->g->dims;
    regular i;
    if (hn_attr_i(n, HN_A_BATCH, 0) || x.rank == HN_RANK_MAX) return HN_KEEP;
    if (!is_regular(index, &i) || !inside(r, &i, x.dim[axis])) return HN_KEEP;
    hn_val v = hn_slice_axis(&r->b, n->in[0], axis, hn_dim_int(dims, i.first), hn_dim_int(dims, i.n), i.step);
    return hn_reshape(&r->b, i.times > 1 ? repeat(&r->b, v, axis, i.times) : v, y.rank, y.dim);
}
