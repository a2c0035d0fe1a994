/* lower_sequence.c — sequences and optionals that can be followed at import: the IR has tensors alone, so a sequence is
 * a list of values while nodes are read, and its length and positions have to be known. */
#include "onnx/import_int.h"
#include "onnx/lower_fns.h"

static hn_bound *make(hn_lower *c, hn_bound_kind kind, size_t n, const hn_bound *const *item) {
    hn_bound *b = HN_NEW(c->im->arena, hn_bound);
    const hn_bound **copy = HN_NEW_N(c->im->arena, const hn_bound *, n);
    if (!b || !copy) return NULL;
    if (n) memcpy(copy, item, n * sizeof *copy);
    *b = (hn_bound){.kind = kind, .n = (uint32_t)n, .item = copy};
    return b;
}

static const hn_bound *sequence_in(hn_lower *c, size_t i) {
    const hn_bound *b = hn_in_bound(c, i);
    if (b && b->kind == HN_BOUND_OPTIONAL && b->n) b = b->item[0];
    if (b && b->kind == HN_BOUND_SEQUENCE) return b;
    hn_wrong(c, "input %zu is no sequence", i);
    return NULL;
}

/* A position in a sequence of n, negative ones from the end; `past`: n itself is one. */
static bool position(hn_lower *c, size_t input, size_t n, bool past, size_t *out) {
    const hn_tensor *t = hn_in_const(c, input);
    if (!t) return false;
    int64_t at = hn_tensor_n(t) == 1 ? hn_get_i(t, 0) : INT64_MIN;
    if (at < 0) at += (int64_t)n;
    if (at < 0 || at >= (int64_t)n + past) {
        hn_wrong(c, "a position outside the sequence of %zu", n);
        return false;
    }
    *out = (size_t)at;
    return true;
}

/* --- optionals ---------------------------------------------------------------------------------------------------- */

void hn_lower_optional(hn_lower *c) {
    const hn_bound *b = hn_in_bound(c, 0);
    hn_out_bound(c, 0, make(c, HN_BOUND_OPTIONAL, b ? 1 : 0, &b));
}

void hn_lower_optional_has(hn_lower *c) {
    const hn_bound *b = hn_in_bound(c, 0);
    bool has = b && (b->kind != HN_BOUND_OPTIONAL || b->n);
    hn_out(c, 0, hn_const_i(hn_lower_builder(c), HONE_BOOL, has));
}

void hn_lower_optional_get(hn_lower *c) {
    const hn_bound *b = hn_in_bound(c, 0);
    if (b && b->kind == HN_BOUND_OPTIONAL) b = b->n ? b->item[0] : NULL;
    if (b)
        hn_out_bound(c, 0, b);
    else
        hn_refuse(c, "the optional is empty");
}

/* --- sequences ---------------------------------------------------------------------------------------------------- */

void hn_lower_sequence_construct(hn_lower *c) { hn_out_bound(c, 0, make(c, HN_BOUND_SEQUENCE, hn_n_in(c), c->in)); }

void hn_lower_sequence_at(hn_lower *c) {
    const hn_bound *s = sequence_in(c, 0);
    size_t at;
    if (s && position(c, 1, s->n, false, &at)) hn_out_bound(c, 0, s->item[at]);
}

void hn_lower_sequence_length(hn_lower *c) {
    const hn_bound *s = sequence_in(c, 0);
    if (s) hn_out(c, 0, hn_const_i(hn_lower_builder(c), HONE_I64, s->n));
}

void hn_lower_sequence_insert(hn_lower *c) {
    const hn_bound *s = sequence_in(c, 0), *v = hn_in_bound(c, 1);
    size_t at = s ? s->n : 0;
    if (!s || !v || (hn_has_in(c, 2) && !position(c, 2, s->n, true, &at))) return;
    const hn_bound **item = HN_NEW_N(c->im->arena, const hn_bound *, (size_t)s->n + 1);
    if (!item) return;
    for (size_t i = 0; i < s->n; i++) item[i + (i >= at)] = s->item[i];
    item[at] = v;
    hn_out_bound(c, 0, make(c, HN_BOUND_SEQUENCE, (size_t)s->n + 1, item));
}

void hn_lower_sequence_erase(hn_lower *c) {
    const hn_bound *s = sequence_in(c, 0);
    size_t at = s && s->n ? s->n - 1 : 0;
    if (!s || (hn_has_in(c, 1) && !position(c, 1, s->n, false, &at))) return;
    if (!s->n) {
        hn_wrong(c, "the sequence is empty");
        return;
    }
    const hn_bound **item = HN_NEW_N(c->im->arena, const hn_bound *, s->n);
    if (!item) return;
    for (size_t i = 0, k = 0; i < s->n; i++)
        if (i != at) item[k++] = s->item[i];
    hn_out_bound(c, 0, make(c, HN_BOUND_SEQUENCE, (size_t)s->n - 1, item));
}

void hn_lower_concat_from_sequence(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const hn_bound *s = sequence_in(c, 0);
    bool new_axis = hn_int(c, "new_axis", 0) != 0;
    hn_val *v = s ? hn_alloc_n(&b->g->arena, s->n, sizeof *v) : NULL;
    if (!v) return;
    if (!s->n) hn_refuse(c, "the sequence is empty");
    for (size_t i = 0; i < s->n; i++) {
        if (s->item[i]->kind != HN_BOUND_TENSOR) hn_refuse(c, "a sequence of other things than tensors");
        if (hn_lower_failed(c)) return;
        v[i] = s->item[i]->v;
    }
    if (hn_lower_failed(c)) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, v[0]) + new_axis);
    for (size_t i = 0; i < s->n && new_axis; i++) v[i] = hn_unsqueeze(b, v[i], axis);
    if (!hn_lower_failed(c)) hn_out(c, 0, s->n == 1 ? v[0] : hn_concat(b, s->n, v, axis));
}

enum { MAX_PARTS = 4096 }; /* every part is a node */

/* Lengths of the parts: a vector of them, one length for all but the last, or 1 each (then the axis may go). */
static bool part_lengths(hn_lower *c, int64_t size, const int64_t **out, size_t *n) {
    const hn_tensor *t = hn_has_in(c, 1) ? hn_in_const(c, 1) : NULL;
    if (hn_has_in(c, 1) && !t) return false;
    int64_t each = t && t->rank == 0 ? hn_get_i(t, 0) : 1, left = size;
    size_t count = t && t->rank == 1 ? (size_t)t->dim[0] : each > 0 ? (size_t)(size / each + (size % each != 0)) : 0;
    int64_t *length = count <= MAX_PARTS ? HN_NEW_N(c->im->arena, int64_t, count) : NULL;
    if (!length || each < 1) return false;
    for (size_t i = 0; i < count; i++) {
        length[i] = t && t->rank == 1 ? hn_get_i(t, (int64_t)i) : each < left ? each : left;
        left -= length[i];
        if (length[i] < 0 || left < 0) return false;
    }
    *out = length;
    *n = count;
    return left == 0;
}

void hn_lower_split_to_sequence(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    const int64_t *length;
    int64_t size, at = 0;
    size_t n;
    if (!x) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, x));
    bool drop = !hn_has_in(c, 1) && !hn_int(c, "keepdims", 1);
    if (hn_lower_failed(c)) return;
    if (!hn_dim_known(b, hn_dim_of(b, x, (size_t)axis), &size) || !part_lengths(c, size, &length, &n)) {
        if (!hn_lower_failed(c))
            hn_refuse(c, "parts that are not known at compile time, do not fit, or are more than %d", MAX_PARTS);
        return;
    }
    const hn_bound **item = HN_NEW_N(c->im->arena, const hn_bound *, n);
    for (size_t i = 0; item && i < n; i++) {
        hn_val part = hn_slice_axis(b, x, axis, hn_lit(b, at), hn_lit(b, length[i]), 1);
        item[i] = hn_bound_tensor(c->im, drop ? hn_squeeze(b, part, axis) : part);
        at += length[i];
    }
    if (item) hn_out_bound(c, 0, make(c, HN_BOUND_SEQUENCE, n, item));
}

/* The body once per item; further inputs are sequences of the same length, or tensors that every item sees. */
void hn_lower_sequence_map(hn_lower *c) {
    const hn_bound *s = sequence_in(c, 0), *result[64];
    size_t n_in = hn_n_in(c), n_out = hn_n_out(c), n;
    if (!s) return;
    if (n_out > 64) {
        hn_refuse(c, "%zu outputs", n_out);
        return;
    }
    const hn_bound **param = HN_NEW_N(c->im->arena, const hn_bound *, n_in);
    const hn_bound **out = HN_NEW_N(c->im->arena, const hn_bound *, n_out * s->n);
    if (!param || !out) return;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < n_in; k++) {
            const hn_bound *v = hn_in_bound(c, k);
            bool each = v && v->kind == HN_BOUND_SEQUENCE;
            if (!v || (each && v->n != s->n)) hn_wrong(c, "input %zu is missing or of another length", k);
            if (hn_lower_failed(c)) return;
            param[k] = each ? v->item[i] : v;
        }
        if (!hn_subgraph_bound(c, "body", c->b.b, n_in, param, 64, result, &n)) return;
        for (size_t k = 0; k < n_out && k < n; k++) out[k * s->n + i] = result[k];
    }
    for (size_t k = 0; k < n_out; k++) hn_out_bound(c, k, make(c, HN_BOUND_SEQUENCE, s->n, out + k * s->n));
}
