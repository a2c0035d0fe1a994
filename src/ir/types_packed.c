/* types_packed.c — result types of operations on packed weights (ir/packed.h). */
#include "ir/packed.h"
#include "ir/types_int.h"

#include <inttypes.h>

static const hn_codec *codec_of(hn_typing *c) {
    const hn_attr *a = hn_type_attr(c, HN_A_CODEC);
    const hn_codec *x = a ? hn_codec_named(a->name) : NULL;
    if (a && !x) hn_type_wrong(c, "codec '%s' is not known", a->name);
    return x;
}

static int64_t panel_of(hn_typing *c) {
    if (!hn_type_attr_maybe(c, HN_A_PANEL)) return 0;
    int64_t panel = hn_type_int(c, HN_A_PANEL, 0, HN_PANEL);
    if (panel != 0 && panel != HN_PANEL) hn_type_wrong(c, "panels have %d rows", HN_PANEL);
    return panel;
}

static bool number(hn_typing *c, hn_dim d, int64_t *n, const char *what) {
    if (!hn_dim_is_int(c->d, d, n)) hn_type_wrong(c, "%s must be a number", what);
    return !c->rc;
}

/* The weights: [rows, bytes] or [panels, bytes] behind `lead` other dimensions, for rows of k elements. */
static void weights(hn_typing *c, size_t lead, hn_dim rows, hn_dim k) {
    const hn_codec *x = codec_of(c);
    int64_t panel = panel_of(c), n, m, size_b, have, elements;
    hn_type_want(c, 0, HONE_U8);
    hn_type_rank(c, 0, lead + 2, lead + 2);
    if (c->rc || !x) return;
    const hn_type *w = c->in[0];
    if (!number(c, w->dim[lead], &have, "the number of packed rows") ||
        !number(c, w->dim[lead + 1], &size_b, "the bytes of a packed row") ||
        !number(c, k, &elements, "a row's length"))
        return;
    int64_t row_b = hn_codec_row_b(x, elements);
    if (!row_b || size_b != row_b * (panel ? panel : 1))
        hn_type_wrong(c, "%" PRId64 " bytes are not %s of %" PRId64 " elements of codec '%s'", size_b,
                      panel ? "a panel" : "a row", elements, x->text);
    if (!rows || c->rc || !number(c, rows, &n, "the number of results")) return;
    m = panel ? (n + panel - 1) / panel : n;
    if (m != have) hn_type_wrong(c, "%" PRId64 " packed rows are asked for, %" PRId64 " are there", m, have);
}

void hn_rule_unpack(hn_typing *c) {
    static const char *const modes[] = {"exact", "int8", "auto", "int8x2", NULL};
    size_t rank = c->in[0]->rank;
    const hn_dim *shape = hn_type_dims(c, HN_A_SHAPE, rank);
    hn_type_word(c, HN_A_MODE, modes);
    if (c->rc || rank < 2) {
        hn_type_rank(c, 0, 2, HN_RANK_MAX);
        return;
    }
    weights(c, rank - 2, shape[rank - 2], shape[rank - 1]);
    for (size_t d = 0; d + 2 < rank; d++)
        hn_type_equal(c, shape[d], c->in[0]->dim[d], "dimension in front of the rows");
    c->out->dtype = HONE_F32;
    for (size_t d = 0; d < rank; d++) hn_type_push(c, c->out, shape[d]);
}

void hn_rule_quantize_blocks(hn_typing *c) {
    static const char *const modes[] = {"auto", "int8x2", NULL};
    const hn_type *x = c->in[0];
    int64_t k;
    bool two = hn_type_attr_maybe(c, HN_A_MODE) != NULL;
    if (two) hn_type_word(c, HN_A_MODE, modes);
    hn_type_want(c, 0, HONE_F32);
    hn_type_rank(c, 0, 1, HN_RANK_MAX);
    if (c->rc || !number(c, x->dim[x->rank - 1], &k, "the last dimension")) return;
    if (k % 32) {
        hn_type_wrong(c, "the last dimension is no multiple of 32");
        return;
    }
    for (size_t i = 0; i < 2; i++) c->out[i] = *x;
    c->out[0].dtype = HONE_I8;
    if (two) c->out[0].dim[x->rank - 1] = hn_dim_int(c->d, 2 * k);
    c->out[1].dim[x->rank - 1] = hn_dim_int(c->d, k / 32);
}

void hn_rule_packed_dot(hn_typing *c) {
    const hn_dim *shape = hn_type_dims(c, HN_A_SHAPE, 2);
    bool bytes = !c->rc && c->in[1]->dtype == HONE_I8, chosen = c->n_in == (bytes ? 4u : 3u);
    if (!bytes) hn_type_want(c, 1, HONE_F32);
    if (c->n_in == 4 && !bytes) hn_type_wrong(c, "rows of floats have no scales");
    if (bytes && c->n_in == 2) hn_type_wrong(c, "rows of bytes need their scales");
    hn_type_rank(c, 1, 2, 2);
    if (c->rc) return;
    const hn_type *x = c->in[1];
    hn_type_equal(c, shape[0], x->dim[0], "number of rows");
    hn_dim length = x->dim[1];
    if (bytes) {
        hn_type_want(c, 2, HONE_F32);
        hn_type_rank(c, 2, 2, 2);
        if (c->rc) return;
        length = hn_dim_mul(c->d, c->in[2]->dim[1], hn_dim_int(c->d, 32));
        if (hn_dim_equal(c->d, hn_dim_mul(c->d, length, hn_dim_int(c->d, 2)), x->dim[1]) != HN_EQUAL) /* two bytes */
            hn_type_equal(c, length, x->dim[1], "length of a row");
    }
    weights(c, chosen, shape[1], length);
    if (bytes) {
        const hn_codec *codec = codec_of(c);
        if (codec && !codec->groups) hn_type_wrong(c, "codec '%s' has no bytes to multiply", codec->text);
        if (c->rc) return;
        hn_type_equal(c, c->in[2]->dim[0], x->dim[0], "number of rows");
    }
    if (chosen) {
        hn_type_is(c, c->n_in - 1, HN_ANY_INT);
        hn_type_rank(c, c->n_in - 1, 0, 1);
        if (!c->rc && c->in[c->n_in - 1]->rank)
            hn_type_equal(c, c->in[c->n_in - 1]->dim[0], x->dim[0], "number of rows");
    }
    c->out->dtype = HONE_F32;
    for (size_t d = 0; d < 2 && !c->rc; d++) hn_type_push(c, c->out, shape[d]);
}

void hn_rule_packed_rows(hn_typing *c) {
    const hn_type *at = c->in[1];
    const hn_dim *shape = hn_type_dims(c, HN_A_SHAPE, at->rank + 1u);
    hn_type_is(c, 1, HN_ANY_INT);
    if (c->rc) return;
    for (size_t d = 0; d < at->rank; d++) hn_type_equal(c, shape[d], at->dim[d], "dimension of the indices");
    weights(c, 0, hn_dim_int(c->d, hn_type_int(c, HN_A_ROWS, 0, INT64_MAX)), shape[at->rank]);
    c->out->dtype = HONE_F32;
    for (size_t d = 0; d <= at->rank && !c->rc; d++) hn_type_push(c, c->out, shape[d]);
}
