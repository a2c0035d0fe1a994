/* packed.c — products and look-ups with weights that may be packed (ir/packed.h). */
#include "compose/packed.h"
#include "base/err.h"
#include "ir/packed.h"

#include <string.h>

/* A weight that is packed: the node that unpacks it. */
static const hn_node *unpack_of(const hn_builder *b, hn_val w) {
    const hn_node *n = w ? hn_def(b->g, w) : NULL;
    return n && n->op == HN_OP_UNPACK ? n : NULL;
}

/* Names of options, and of the operations' modes. */
static const struct {
    const char *name, *mode;
} kinds[] = {[HN_FLOAT] = {"float", "exact"},
             [HN_INT8] = {"int8", "int8"},
             [HN_INT8_AUTO] = {"auto", "auto"},
             [HN_INT8X2] = {"int8x2", "int8x2"}};
static const hn_activations usual = HN_INT8_AUTO;

hone_rc hn_activations_named(const char *name, bool exact, hn_activations *out, hone_err *err) {
    hn_activations found = exact ? HN_FLOAT : usual;
    size_t n = sizeof kinds / sizeof *kinds, i = 0;
    while (name && i < n && strcmp(name, kinds[i].name) != 0) i++;
    if (i == n)
        return hn_fail(err, HONE_E_USAGE, "activations cannot be rounded as '%s'; give float, int8, auto or int8x2",
                       name);
    if (name) found = (hn_activations)i;
    if (exact && found != HN_FLOAT)
        return hn_fail(err, HONE_E_USAGE,
                       "exact products leave activations as floats, not as '%s'; leave one of both out", name);
    *out = found;
    return HONE_OK;
}

hn_val hn_unpack(hn_builder *b, hn_val bytes, const hn_codec *c, size_t rank, const hn_dim *shape, hn_activations how) {
    const hn_attr attr[] = {hn_a_dims(HN_A_SHAPE, rank, shape), hn_a_word(HN_A_CODEC, c->text),
                            hn_a_word(HN_A_MODE, kinds[c->groups ? how : HN_FLOAT].mode)};
    return bytes ? hn_emit(b->g, b->b, HN_OP_UNPACK, 1, &bytes, 3, attr, 1) : 0;
}

/* x [rows, k] times the rows of packed weights; index: which matrix each row takes, 0: there is one. */
static hn_val packed_dot(hn_builder *b, hn_val x, const hn_node *unpack, hn_val index) {
    const hn_type *w = hn_t(b, unpack->out[0]);
    const hn_dim shape[2] = {hn_dim_of(b, x, 0), w->dim[w->rank - 2u]};
    const hn_attr attr[] = {hn_a_dims(HN_A_SHAPE, 2, shape), *hn_attr_get(unpack, HN_A_CODEC)};
    hn_val in[4] = {unpack->in[0], x};
    size_t n = 2;
    const hn_attr *mode = hn_attr_get(unpack, HN_A_MODE);
    if (strcmp(mode->name, "exact") != 0) {
        in[1] = hn_emit(b->g, b->b, HN_OP_QUANTIZE_BLOCKS, 1, &x, strcmp(mode->name, "int8") != 0, mode, 2);
        in[2] = in[1] + 1;
        n = 3;
    }
    if (index) in[n++] = index;
    return hn_emit(b->g, b->b, HN_OP_PACKED_DOT, n, in, 2, attr, 1);
}

hn_val hn_weight_product(hn_builder *b, hn_val x, hn_val w) {
    const hn_node *unpack = unpack_of(b, w);
    hn_dim shape[HN_RANK_MAX], flat[2];
    if (!x || !w) return 0;
    size_t rank = hn_rank(b, x);
    if (unpack && hn_dt(b, x) == HONE_F32 && rank >= 1 && hn_rank(b, w) == 2) {
        for (size_t d = 0; d < rank; d++) shape[d] = hn_dim_of(b, x, d);
        flat[0] = hn_dim_product(b, x, 0, rank - 1), flat[1] = shape[rank - 1];
        hn_val y = packed_dot(b, rank == 2 ? x : hn_reshape(b, x, 2, flat), unpack, 0);
        shape[rank - 1] = hn_dim_of(b, w, 0);
        return rank == 2 || !y ? y : hn_reshape(b, y, rank, shape);
    }
    int64_t lhs[HN_RANK_MAX], out[HN_RANK_MAX], rhs[2] = {HN_RANK_MAX, 0};
    for (size_t d = 0; d < rank; d++) lhs[d] = out[d] = (int64_t)d;
    rhs[1] = (int64_t)rank - 1, out[rank - 1] = HN_RANK_MAX;
    return hn_contract(b, x, w, lhs, rhs, rank, out, hn_dt(b, x));
}

hn_val hn_weight_product_chosen(hn_builder *b, hn_val x, hn_val w, hn_val index) {
    const hn_node *unpack = unpack_of(b, w);
    return x && index && unpack && hn_dt(b, x) == HONE_F32 ? packed_dot(b, x, unpack, index) : 0;
}

bool hn_is_packed(const hn_builder *b, hn_val w) { return unpack_of(b, w) != NULL; }

hn_val hn_weight_rows(hn_builder *b, hn_val w, hn_val index) {
    const hn_node *unpack = unpack_of(b, w);
    hn_dim shape[HN_RANK_MAX];
    if (!unpack || hn_rank(b, w) != 2 || !index || hn_rank(b, index) + 1 > HN_RANK_MAX)
        return w && index ? hn_gather(b, w, index, 0) : 0;
    size_t rank = hn_rank(b, index);
    for (size_t d = 0; d < rank; d++) shape[d] = hn_dim_of(b, index, d);
    shape[rank] = hn_dim_of(b, w, 1);
    const hn_val in[2] = {unpack->in[0], index};
    int64_t n = 0;
    hn_dim_known(b, hn_dim_of(b, w, 0), &n);
    const hn_attr attr[] = {hn_a_dims(HN_A_SHAPE, rank + 1, shape), *hn_attr_get(unpack, HN_A_CODEC),
                            hn_a_int(HN_A_ROWS, n)};
    return hn_emit(b->g, b->b, HN_OP_PACKED_ROWS, 2, in, 3, attr, 1);
}
