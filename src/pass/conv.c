/* pass/conv.c — dense convolutions with constant weights become contractions, whose register tiles fill whole vectors
 * whatever the image's width: a window of one element directly, others over columns gathered from the image (im2col:
 * Chellapilla, Puri and Simard 2006, section 3.2).
 *
 * Padding is an element of 0 behind the image that the gather's indices point to. Exact but for the order of sums,
 * which is free: weights that are not finite stay convolutions, because the padding must not meet them.
 */
#include "pass/passes.h"
#include "pass/rewrite.h"

#include <math.h>

/* COLUMNS_MAX: elements of the gathered columns; beyond, their way through memory costs more than narrow vectors. */
enum { COLUMNS_MAX = 1 << 23, SPATIAL_MAX = 3 };

typedef struct conv {
    const hn_tensor *w;
    size_t spatial;
    int64_t channels, image[SPATIAL_MAX], result[SPATIAL_MAX], kernel[SPATIAL_MAX];
    int64_t stride[SPATIAL_MAX], dilation[SPATIAL_MAX], low[SPATIAL_MAX];
    bool direct; /* one element per window, none left out */
} conv;

static bool all_finite(const hn_tensor *t) {
    const float *x = t->data;
    for (int64_t i = 0, n = hn_tensor_n(t); i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static int64_t int_at(const hn_node *n, hn_attr_id id, size_t i) {
    const hn_attr *a = hn_attr_get(n, id);
    return a && i < a->n ? a->ints[i] : 1;
}

static bool read_axis(const hn_graph *g, const hn_node *n, size_t i, conv *c) {
    const hn_type *x = hn_type_of(g, n->in[0]), *y = hn_type_of(g, n->out[0]);
    const hn_attr *low = hn_attr_get(n, HN_A_LOW);
    if (!hn_dim_is_int(g->dims, x->dim[i + 2], &c->image[i]) || !hn_dim_is_int(g->dims, y->dim[i + 2], &c->result[i]))
        return false;
    c->low[i] = 0;
    if (low && !hn_dim_is_int(g->dims, low->dims[i], &c->low[i])) return false;
    c->kernel[i] = c->w->dim[i + 2];
    c->stride[i] = int_at(n, HN_A_STRIDE, i);
    c->dilation[i] = int_at(n, HN_A_DILATION, i);
    c->direct &= c->kernel[i] == 1 && c->stride[i] == 1 && c->low[i] == 0 && c->image[i] == c->result[i];
    return c->image[i] > 0 && c->result[i] > 0 && int_at(n, HN_A_INFLATE, i) == 1;
}

static bool read_conv(const hn_rewriter *r, const hn_node *n, conv *c) {
    const hn_type *x = hn_type_of(r->g, n->in[0]);
    c->w = hn_const_of(r->g, n->in[1]);
    if (!c->w || c->w->dtype != HONE_F32 || x->dtype != HONE_F32 || hn_type_of(r->g, n->out[0])->dtype != HONE_F32)
        return false;
    c->spatial = (size_t)x->rank - 2;
    c->direct = true;
    if (hn_attr_i(n, HN_A_GROUPS, 1) != 1 || c->spatial < 1 || c->spatial > SPATIAL_MAX || !hn_tensor_n(c->w))
        return false;
    int64_t columns = 1, batch;
    for (size_t i = 0; i < c->spatial; i++) {
        if (!read_axis(r->g, n, i, c)) return false;
        columns *= c->kernel[i] * c->result[i];
        if (columns > COLUMNS_MAX) return false;
    }
    c->channels = c->w->dim[1];
    if (c->direct) return true;
    return hn_dim_is_int(r->g->dims, x->dim[0], &batch) && batch * c->channels <= COLUMNS_MAX / columns &&
           all_finite(c->w);
}

/* Where in the flat image element `tap` of the window at `place` lies; the element behind it where that is padding. */
static int64_t source_of(const conv *c, int64_t tap, int64_t place) {
    int64_t at = 0, flat = 1;
    bool inside = true;
    for (size_t i = c->spatial; i-- > 0;) {
        int64_t y = place % c->result[i] * c->stride[i] + tap % c->kernel[i] * c->dilation[i] - c->low[i];
        inside &= y >= 0 && y < c->image[i];
        at += y * flat;
        flat *= c->image[i];
        tap /= c->kernel[i];
        place /= c->result[i];
    }
    return inside ? at : flat;
}

static int64_t product(const int64_t *x, size_t n) {
    int64_t p = 1;
    while (n--) p *= *x++;
    return p;
}

static hn_val index_of(hn_rewriter *r, const conv *c) {
    hn_tensor t;
    int64_t shape[1 + SPATIAL_MAX] = {product(c->kernel, c->spatial)};
    for (size_t i = 0; i < c->spatial; i++) shape[i + 1] = c->result[i];
    if (!hn_tensor_new(&r->g->arena, HONE_I32, c->spatial + 1, shape, &t)) return 0;
    int64_t places = product(c->result, c->spatial);
    for (int64_t i = 0; i < shape[0] * places; i++)
        ((int32_t *)t.data)[i] = (int32_t)source_of(c, i / places, i % places);
    return hn_const(&r->b, &t);
}

/* [N, C * taps, result...]: for each channel and element of the window, what it meets. */
static hn_val columns_of(hn_rewriter *r, const conv *c, hn_val x) {
    hn_dim shape[2 + SPATIAL_MAX] = {hn_dim_of(&r->b, x, 0), hn_lit(&r->b, c->channels)};
    shape[2] = hn_lit(&r->b, product(c->image, c->spatial));
    x = hn_reshape(&r->b, x, 3, shape);
    x = hn_pad_axis(&r->b, x, 2, hn_lit(&r->b, 0), hn_lit(&r->b, 1), 0);
    x = hn_gather(&r->b, x, index_of(r, c), 2);
    shape[1] = hn_lit(&r->b, c->channels * product(c->kernel, c->spatial));
    for (size_t i = 0; i < c->spatial; i++) shape[i + 2] = hn_lit(&r->b, c->result[i]);
    return hn_reshape(&r->b, x, c->spatial + 2, shape);
}

static hn_val conv_one(hn_rewriter *r, const hn_node *node) {
    conv c;
    if (node->op != HN_OP_CONV || !read_conv(r, node, &c)) return HN_KEEP;
    /* labels: 0 sum, 1 batch, 2 result channel, 3… places */
    int64_t lhs[] = {2, 0}, rhs[2 + SPATIAL_MAX] = {1, 0}, out[2 + SPATIAL_MAX] = {1, 2};
    for (size_t i = 0; i < c.spatial; i++) rhs[i + 2] = out[i + 2] = 3 + (int64_t)i;
    hn_val x = c.direct ? node->in[0] : columns_of(r, &c, node->in[0]);
    hn_tensor w = *c.w;
    w.rank = 2;
    w.dim[1] = c.channels * product(c.kernel, c.spatial);
    return hn_contract(&r->b, hn_const(&r->b, &w), x, lhs, rhs, c.spatial + 2, out, HONE_F32);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) { return hn_rewrite_all(g, ctx, conv_one, 1, err); }

const hn_pass hn_pass_conv = {
    .name = "conv",
    .summary = "dense convolutions with constant weights become contractions",
    .needs = HN_FACT_FOLDED,
    .breaks = HN_FACT_FOLDED | HN_FACT_CANONICAL,
    .run = run,
};
