/* pass/channel.c — constants that depend on one dimension alone. */
#include "pass/channel.h"

enum { CHECKED_MAX = 1 << 16 };

/* A whole constant: each element is that of its place along the axis. */
static bool from_whole(const hn_tensor *t, size_t axis, hn_channel *out, hn_arena *a) {
    int64_t inner = 1, n = hn_tensor_n(t), size = t->dim[axis];
    hn_tensor line;
    if (n == 0 || n > CHECKED_MAX || !hn_tensor_new(a, t->dtype, 1, &size, &line)) return false;
    for (size_t i = axis + 1; i < t->rank; i++) inner *= t->dim[i];
    for (int64_t i = 0; i < size; i++) hn_set_f(&line, i, hn_get_f(t, i * inner));
    for (int64_t i = 0; i < n; i++)
        if (hn_get_f(t, i) != hn_get_f(&line, i / inner % size)) return false;
    hn_tensor *kept = HN_NEW(a, hn_tensor);
    if (!kept) return false;
    *kept = line;
    *out = (hn_channel){.t = kept, .n = size};
    return true;
}

bool hn_channel_of(hn_rewriter *r, hn_val v, size_t axis, hn_channel *out) {
    if (hn_splat_of(r->g, v, &out->one)) {
        out->t = &out->one;
        out->n = 1;
        return true;
    }
    const hn_tensor *t = hn_const_of(r->g, v);
    if (t) return axis < t->rank && from_whole(t, axis, out, &r->g->arena);
    const hn_node *n = hn_def_op(r->g, v, HN_OP_BROADCAST);
    t = n ? hn_const_of(r->g, n->in[0]) : NULL;
    for (size_t i = 0; t && i < t->rank; i++)
        if (t->dim[i] != 1 && hn_attr_get(n, HN_A_MAP)->ints[i] != (int64_t)axis) return false;
    if (!t) return false;
    *out = (hn_channel){.t = t, .n = hn_tensor_n(t)};
    return true;
}

double hn_channel_at(const hn_channel *c, int64_t i) { return hn_get_f(c->t, c->n == 1 ? 0 : i); }
