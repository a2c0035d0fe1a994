/* pass/pack_conv.c — constant weights of convolutions that have their channels last, as their kernels walk them.
 *
 * Weights [groups * M, C, kernel...] become [groups, M/16, kernel..., C, 16] (of bytes [groups, M/16, kernel..., C/4,
 * 16, 4], of bf16 in pairs [groups, M/16, kernel..., C/2, 16, 2]), padded with zeros that nobody reads, or, where every
 * channel has its own, [kernel..., C]; movements give them back and are index arithmetic in the kernel. A vector of
 * result channels is contiguous then, and so are the steps of the reduction.
 */
#include "pass/bytes.h"
#include "pass/pack.h"

#include <string.h>

typedef struct weights {
    const hn_tensor *t;
    int64_t groups, per_group, channels, taps;
    size_t spatial;
    int64_t word;  /* neighbouring channels that lie together: a word of bytes or bf16, else 1 */
    int64_t fill;  /* channels of zeros, for whole words of bf16 */
    int64_t width; /* result channels of a panel */
} weights;

static bool read_weights(const hn_rewriter *r, const hn_node *n, weights *w) {
    w->t = hn_const_of(r->g, n->in[1]);
    if (!w->t || !hn_attr_i(n, HN_A_CHANNELS_LAST, 0) || !hn_tensor_n(w->t)) return false;
    w->word = hn_word_of(r->g, n, r->layout);
    if (!w->word || (w->word == HN_PAIR && hn_attr_i(n, HN_A_GROUPS, 1) != 1)) return false;
    if (w->t->rank < 3 || w->t->rank + 3u > HN_RANK_MAX) return false;
    w->groups = hn_attr_i(n, HN_A_GROUPS, 1);
    w->per_group = w->t->dim[0] / w->groups;
    w->channels = w->t->dim[1];
    w->spatial = w->t->rank - 2u;
    w->width = r->layout->panel;
    w->taps = 1;
    for (size_t i = 0; i < w->spatial; i++) w->taps *= w->t->dim[i + 2];
    w->fill = w->word == HN_PAIR ? w->channels % HN_PAIR : 0;
    if (w->fill && !(w->t = hn_filled(r->g, w->t, 1, w->fill))) return false;
    w->channels += w->fill;
    return w->channels % w->word == 0;
}

/* Every channel its own: [M, 1, kernel...] with the channels last. */
static hn_val own_weights(hn_rewriter *r, const weights *w) {
    int64_t shape[HN_RANK_MAX], perm[HN_RANK_MAX];
    hn_dim dim[HN_RANK_MAX];
    hn_tensor t;
    for (size_t i = 0; i < w->spatial; i++) shape[i] = w->t->dim[i + 2];
    shape[w->spatial] = w->groups;
    if (!hn_tensor_new(&r->g->arena, HONE_F32, w->spatial + 1, shape, &t)) return 0;
    for (int64_t c = 0; c < w->groups; c++)
        for (int64_t k = 0; k < w->taps; k++)
            ((float *)t.data)[k * w->groups + c] = ((const float *)w->t->data)[c * w->taps + k];
    perm[0] = (int64_t)w->spatial;
    for (size_t i = 0; i < w->spatial; i++) perm[i + 1] = (int64_t)i;
    for (size_t i = 0; i < w->t->rank; i++) dim[i] = hn_lit(&r->b, w->t->dim[i]);
    return hn_reshape(&r->b, hn_transpose(&r->b, hn_const(&r->b, &t), perm), w->t->rank, dim);
}

/* [groups, blocks, kernel..., channels, width], or [groups, blocks, kernel..., words, width, 4] */
static bool make_panels(hn_rewriter *r, const weights *w, hn_tensor *out) {
    int64_t shape[HN_RANK_MAX] = {w->groups, (w->per_group + w->width - 1) / w->width};
    size_t rank = 2;
    for (size_t i = 0; i < w->spatial; i++) shape[rank++] = w->t->dim[i + 2];
    shape[rank++] = w->channels / w->word;
    shape[rank++] = w->width;
    if (w->word > 1) shape[rank++] = w->word;
    if (!hn_tensor_new(&r->g->arena, w->t->dtype, rank, shape, out)) return false;
    const size_t size_b = hn_dtype_of(w->t->dtype)->size_b;
    const char *from = w->t->data;
    int64_t block = w->taps * w->channels * w->width;
    for (int64_t m = 0; m < w->groups * w->per_group; m++) {
        int64_t in = m % w->per_group,
                at = (m / w->per_group * shape[1] + in / w->width) * block + in % w->width * w->word;
        for (int64_t c = 0; c < w->channels; c++)
            for (int64_t k = 0; k < w->taps; k++, from += size_b) {
                int64_t word = (k * w->channels + c - c % w->word) * w->width + c % w->word;
                memcpy((char *)out->data + (size_t)(at + word) * size_b, from, size_b);
            }
    }
    return true;
}

static hn_val panelled(hn_rewriter *r, const weights *w) {
    hn_tensor t;
    hn_dim dim[HN_RANK_MAX];
    int64_t perm[HN_RANK_MAX] = {0, 1};
    size_t s = w->spatial;
    if (!make_panels(r, w, &t)) return 0;
    size_t n = 2;
    perm[n++] = (int64_t)s + 3;
    perm[n++] = (int64_t)s + 2;
    if (w->word > 1) perm[n++] = (int64_t)s + 4;
    for (size_t i = 0; i < s; i++) perm[n++] = (int64_t)i + 2;
    hn_val x = hn_transpose(&r->b, hn_const(&r->b, &t), perm); /* [groups, blocks, width, channels, kernel...] */
    dim[0] = hn_lit(&r->b, w->groups);
    dim[1] = hn_lit(&r->b, t.dim[1] * w->width);
    dim[2] = hn_lit(&r->b, w->channels);
    for (size_t i = 0; i < s; i++) dim[i + 3] = hn_lit(&r->b, w->t->dim[i + 2]);
    x = hn_reshape(&r->b, x, s + 3, dim);
    if (w->per_group % w->width) x = hn_slice_axis(&r->b, x, 1, hn_lit(&r->b, 0), hn_lit(&r->b, w->per_group), 1);
    dim[1] = hn_lit(&r->b, w->t->dim[0]);
    return hn_reshape(&r->b, x, s + 2, dim + 1);
}

hn_val hn_pack_conv(hn_rewriter *r, const hn_node *node) {
    weights w;
    if (!read_weights(r, node, &w)) return HN_KEEP;
    const hn_node n = *node;
    const hn_val x = w.fill ? hn_fill_halves(r, n.in[0], hn_rank(&r->b, n.in[0]) - 1, w.fill) : n.in[0];
    const hn_val in[] = {x, w.per_group == 1 && w.channels == 1 ? own_weights(r, &w) : panelled(r, &w),
                         n.n_in > 2 ? n.in[2] : 0};
    return hn_emit(r->g, r->b.b, HN_OP_CONV, n.n_in, in, n.n_attr, n.attr, 1);
}
