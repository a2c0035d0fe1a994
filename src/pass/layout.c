/* pass/layout.c — convolutions and windows with their channels last.
 *
 * A convolution with constant weights reads its image in the order [N, spatial..., C] and writes its result so: vectors
 * then run over channels, which are many, whatever the image's width, stride and padding; a window of one element is a
 * product of matrices. With very few result channels vectors run along the image's lines instead, behind one product
 * for all of the window's elements where the image has many channels. A transposed convolution becomes one for each
 * phase of its stride (pass/phases.h). Each stands between two transposes. The same walk lets these sink: through what
 * is pointwise, reductions, concatenations, reshapes of channels and the like, until the next convolution or window
 * takes them back, so that a network keeps one at its input and one where its results leave the image. Exact but for
 * the order of sums, which is free.
 */
#include "pass/bytes.h"
#include "pass/passes.h"
#include "pass/phases.h"
#include "pass/sink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPATIAL_MAX = 3, LANES_MIN = 4, WIDE = 16, MANY = 16, TAPS_MAX = 13, WINDOW_MAX = 16 };

typedef struct layout {
    hn_sinking sinking; /* first: r->arg */
    uint8_t *mine;      /* of values: a transpose that this walk made */
    hn_val *last;       /* of values: the same with its channels last */
    uint32_t room;
} layout;

static bool is_mine(const hn_rewriter *r, hn_val v) {
    const layout *s = r->arg;
    return v < s->room && s->mine[v];
}

static bool grow(hn_rewriter *r, hn_val v) {
    layout *s = r->arg;
    if (v < s->room) return true;
    uint32_t room = 2 * v + 64;
    uint8_t *mine = HN_NEW_N(&r->g->arena, uint8_t, room);
    hn_val *last = HN_NEW_N(&r->g->arena, hn_val, room);
    if (!mine || !last) return false;
    if (s->room) memcpy(mine, s->mine, s->room);
    if (s->room) memcpy(last, s->last, s->room * sizeof *last);
    s->mine = mine;
    s->last = last;
    s->room = room;
    return true;
}

static hn_val keep_mine(hn_rewriter *r, hn_val v) {
    if (v && v != HN_DROPPED && hn_def_op(r->g, v, HN_OP_TRANSPOSE) && grow(r, v)) ((layout *)r->arg)->mine[v] = 1;
    return v;
}

static hn_val channels_first(hn_rewriter *r, hn_val v) {
    int64_t perm[HN_RANK_MAX], rank = hn_type_of(r->g, v)->rank;
    for (int64_t i = 0; i < rank; i++) perm[i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
    return keep_mine(r, hn_transposed(r, v, perm));
}

static hn_val channels_last(hn_rewriter *r, hn_val v) {
    layout *s = r->arg;
    int64_t perm[HN_RANK_MAX], rank = hn_type_of(r->g, v)->rank;
    if (!grow(r, v)) return v;
    for (int64_t i = 0; i < rank; i++) perm[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
    if (!s->last[v] || r->g->value[s->last[v]].block != r->b.b) {
        hn_val to = hn_transposed(r, v, perm);
        s = r->arg;
        s->last[v] = to;
    }
    return s->last[v];
}

/* Is there the same with its channels last already? */
static bool has_last(const hn_rewriter *r, hn_val v) {
    const layout *s = r->arg;
    return is_mine(r, v) || (v < s->room && s->last[v] && r->g->value[s->last[v]].block == r->b.b);
}

/* -- convolutions and windows */
static bool all_are(const hn_node *n, hn_attr_id id, size_t spatial, int64_t x) {
    const hn_attr *a = hn_attr_get(n, id);
    for (size_t i = 0; a && i < spatial; i++)
        if (a->ints[i] != x) return false;
    return true;
}
static bool no_padding(const hn_rewriter *r, const hn_node *n, hn_attr_id id) {
    const hn_attr *a = hn_attr_get(n, id);
    int64_t k;
    for (uint32_t i = 0; a && i < a->n; i++)
        if (!hn_dim_is_int(r->g->dims, a->dims[i], &k) || k) return false;
    return true;
}

/* Vectors over the result's channels: all of them, those of a group, or of each channel its own. */
static bool has_lanes(const hn_tensor *w, int64_t groups) {
    int64_t per_group = w->dim[0] / groups;
    return groups == 1 || per_group >= LANES_MIN || (per_group == 1 && w->dim[1] == 1 && groups >= LANES_MIN);
}

/* A constant, or one number everywhere, written out. */
static const hn_tensor *constant_of(hn_rewriter *r, hn_val v) {
    const hn_tensor *t = hn_const_of(r->g, v);
    const hn_type *type = hn_type_of(r->g, v);
    hn_tensor one, *all = NULL;
    int64_t dim[HN_RANK_MAX];
    if (t || type->dtype != HONE_F32 || !hn_splat_of(r->g, v, &one) || !hn_type_static(r->g, type, dim)) return t;
    if (!(all = HN_NEW(&r->g->arena, hn_tensor))) return NULL;
    if (!hn_tensor_new(&r->g->arena, HONE_F32, type->rank, dim, all)) return NULL;
    for (int64_t i = 0, n = hn_tensor_n(all); i < n; i++) ((float *)all->data)[i] = *(const float *)one.data;
    return all;
}

/* Products of bf16 that become ones of pairs, of windows on the image as it is. */
static bool multiplies_pairs(const hn_rewriter *r, const hn_node *n) {
    const hn_tensor *w = hn_const_of(r->g, n->in[1]);
    return r->layout && r->layout->pairs && hn_multiplies_halves(r->g, n) && w->rank > 2 && w->dim[0] >= WIDE &&
           hn_attr_i(n, HN_A_GROUPS, 1) == 1 && all_are(n, HN_A_INFLATE, w->rank - 2u, 1);
}

static const hn_tensor *weights_of(hn_rewriter *r, const hn_node *n) {
    const hn_tensor *w = constant_of(r, n->in[1]);
    const hn_type *x = hn_type_of(r->g, n->in[0]);
    bool floats = w && w->dtype == HONE_F32 && x->dtype == HONE_F32;
    floats = floats && hn_type_of(r->g, n->out[0])->dtype == HONE_F32;
    if (!floats && !hn_multiplies_bytes(r->g, n) && !hn_widens_bytes(r->g, n) && !multiplies_pairs(r, n)) return NULL;
    if (x->rank < 3 || x->rank > SPATIAL_MAX + 2 || !hn_tensor_n(w) || hn_attr_i(n, HN_A_CHANNELS_LAST, 0)) return NULL;
    return has_lanes(w, hn_attr_i(n, HN_A_GROUPS, 1)) ? w : NULL;
}

/* Windows of one element, none left out. */
static bool is_product(const hn_rewriter *r, const hn_node *n, const hn_tensor *w) {
    size_t spatial = w->rank - 2u;
    for (size_t i = 0; i < spatial; i++)
        if (w->dim[i + 2] != 1) return false;
    return hn_attr_i(n, HN_A_GROUPS, 1) == 1 && all_are(n, HN_A_STRIDE, spatial, 1) &&
           all_are(n, HN_A_INFLATE, spatial, 1) && no_padding(r, n, HN_A_LOW) && no_padding(r, n, HN_A_HIGH);
}

/* The weights as a matrix [C, M]: its columns are the result's channels, next to each other. */
static hn_val product(hn_rewriter *r, hn_val x, const hn_tensor *weights) {
    const int64_t m = weights->dim[0], c = weights->dim[1], shape[] = {c, m};
    hn_tensor w;
    size_t rank = hn_type_of(r->g, x)->rank;
    int64_t lhs[HN_RANK_MAX], out[HN_RANK_MAX];
    for (size_t i = 0; i < rank; i++) lhs[i] = out[i] = (int64_t)i;
    out[rank - 1] = (int64_t)rank;
    const int64_t rhs[] = {(int64_t)rank - 1, (int64_t)rank};
    const int64_t step[] = {1, c}, to[] = {m, 1};
    const bool bytes = weights->dtype == HONE_I8;
    if (!hn_tensor_new(&r->g->arena, weights->dtype, 2, shape, &w)) return 0;
    hn_copy_box(hn_dtype_of(w.dtype)->size_b, 2, shape, w.data, to, weights->data, step);
    return hn_contract(&r->b, x, hn_const(&r->b, &w), lhs, rhs, rank, out, bytes ? HONE_I32 : HONE_F32);
}

static hn_val with_channels_last(hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w) {
    hn_attr attr[HN_N_ATTRS];
    const hn_node node = *n;
    const hn_val in[] = {x, w ? hn_const(&r->b, w) : 0};
    memcpy(attr, node.attr, node.n_attr * sizeof *attr);
    attr[node.n_attr] = (hn_attr){.id = HN_A_CHANNELS_LAST, .kind = HN_K_INT, .i = 1};
    return hn_emit(r->g, r->b.b, node.op, w ? 2 : 1, in, node.n_attr + 1u, attr, 1);
}

/* -- results of very few channels */
static bool all_finite(const hn_tensor *w) {
    for (int64_t i = 0; i < hn_tensor_n(w); i++)
        if (!isfinite(((const float *)w->data)[i])) return false;
    return true;
}

/* Splits padding into what is written out and what is left to the convolution (negative padding: cropping). */
static bool split_padding(hn_rewriter *r, const hn_node *n, hn_attr_id id, hn_dim *written, hn_dim *left) {
    const hn_attr *a = hn_attr_get(n, id);
    int64_t k;
    for (uint32_t d = 0; d < a->n; d++) {
        if (!hn_dim_is_int(r->g->dims, a->dims[d], &k)) return false;
        written[d] = hn_lit(&r->b, k > 0 ? k : 0);
        left[d] = hn_lit(&r->b, k < 0 ? k : 0);
    }
    return true;
}

/* Too few result channels for vectors of them, under a window of a wide image: two other forms are tried. */
static bool has_few_results(const hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w) {
    int64_t width, taps = 1;
    for (size_t d = 2; d < w->rank; d++) taps *= w->dim[d];
    bool narrow = hn_dim_is_int(r->g->dims, hn_type_of(r->g, x)->dim[w->rank - 2], &width) && width < WIDE;
    if (hn_attr_i(n, HN_A_GROUPS, 1) != 1 || w->dim[0] >= LANES_MIN || taps < 2 || narrow) return false;
    return hn_attr_get(n, HN_A_LOW) && hn_attr_get(n, HN_A_HIGH) && all_finite(w);
}

static void orders(int64_t rank, int64_t *to_first, int64_t *to_last) {
    for (int64_t i = 0; i < rank; i++) {
        to_first[i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        to_last[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
    }
}

/* With the channels first vectors run along the image's lines, and have no conditions where its padding is written
 * out. HN_KEEP: it cannot be. */
static hn_val with_channels_first(hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w) {
    hn_attr attr[HN_N_ATTRS];
    hn_dim low[SPATIAL_MAX], high[SPATIAL_MAX], before[SPATIAL_MAX], behind[SPATIAL_MAX];
    int64_t to_first[HN_RANK_MAX], to_last[HN_RANK_MAX], rank = w->rank;
    const hn_node node = *n;
    if (!split_padding(r, n, HN_A_LOW, low, before) || !split_padding(r, n, HN_A_HIGH, high, behind)) return HN_KEEP;
    for (int64_t d = 0; d + 2 < rank; d++) x = hn_pad_axis(&r->b, x, d + 1, low[d], high[d], 0);
    orders(rank, to_first, to_last);
    memcpy(attr, node.attr, node.n_attr * sizeof *attr);
    for (uint16_t i = 0; i < node.n_attr; i++) {
        if (attr[i].id == HN_A_LOW) attr[i].dims = before;
        if (attr[i].id == HN_A_HIGH) attr[i].dims = behind;
    }
    const hn_val in[] = {hn_transposed(r, x, to_first), hn_const(&r->b, w)};
    return hn_transpose(&r->b, hn_emit(r->g, r->b.b, HN_OP_CONV, 2, in, node.n_attr, attr, 1), to_last);
}

/* The weights of all the window's elements as those of windows of one: [M, C, taps...] becomes [taps * M, C]. */
static bool all_taps(hn_rewriter *r, const hn_tensor *w, hn_tensor *out) {
    const int64_t m = w->dim[0], c = w->dim[1], taps = hn_tensor_n(w) / (m * c), shape[] = {taps * m, c};
    if (!hn_tensor_new(&r->g->arena, HONE_F32, 2, shape, out)) return false;
    for (int64_t i = 0; i < m * c * taps; i++)
        ((float *)out->data)[(i % taps * m + i / (c * taps)) * c + i / taps % c] = ((const float *)w->data)[i];
    return true;
}

/* What one element of the window adds: its channels of v, which is [N, taps * M, spatial...] and padded. */
static hn_val one_tap(hn_rewriter *r, const hn_node *n, hn_val v, const hn_tensor *w, int64_t tap, const hn_dim *low,
                      const hn_dim *high) {
    hn_dims *t = r->g->dims;
    const hn_attr *dilation = hn_attr_get(n, HN_A_DILATION);
    v = hn_slice_axis(&r->b, v, 1, hn_lit(&r->b, tap * w->dim[0]), hn_lit(&r->b, w->dim[0]), 1);
    for (size_t d = w->rank - 2u; d-- > 0; tap /= w->dim[d + 2]) {
        int64_t by = dilation ? dilation->ints[d] : 1;
        hn_dim from = hn_dim_sub(t, hn_lit(&r->b, tap % w->dim[d + 2] * by), low[d]);
        hn_dim size = hn_dim_add(t, hn_dim_of(&r->b, v, d + 2), hn_dim_add(t, low[d], high[d]));
        size = hn_dim_sub(t, size, hn_lit(&r->b, by * (w->dim[d + 2] - 1)));
        v = hn_slice_axis(&r->b, v, (int64_t)d + 2, from, size, 1);
    }
    return v;
}

/* Few results of many channels: what every element of the window gives is a product of matrices, which has columns
 * enough; then the window's sum, along the image's lines. HN_KEEP: strides would leave most of the products out. */
static hn_val sum_of_products(hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w) {
    hn_dim low[SPATIAL_MAX], high[SPATIAL_MAX], before[SPATIAL_MAX], behind[SPATIAL_MAX];
    int64_t to_first[HN_RANK_MAX], to_last[HN_RANK_MAX], rank = w->rank,
                                                         taps = hn_tensor_n(w) / (w->dim[0] * w->dim[1]);
    size_t spatial = w->rank - 2u;
    const hn_node node = *n;
    hn_tensor all;
    if (w->dim[1] < MANY || taps > TAPS_MAX || !all_are(n, HN_A_STRIDE, spatial, 1)) return HN_KEEP;
    if (hn_attr_get(n, HN_A_INFLATE) && !all_are(n, HN_A_INFLATE, spatial, 1)) return HN_KEEP;
    if (!split_padding(r, n, HN_A_LOW, low, before) || !split_padding(r, n, HN_A_HIGH, high, behind)) return HN_KEEP;
    if (!all_taps(r, w, &all)) return 0;
    orders(rank, to_first, to_last);
    hn_val v = hn_transpose(&r->b, product(r, x, &all), to_first), sum = 0;
    for (int64_t d = 0; d + 2 < rank; d++) v = hn_pad_axis(&r->b, v, d + 2, low[d], high[d], 0);
    for (int64_t tap = 0; tap < taps; tap++) {
        hn_val y = one_tap(r, &node, v, w, tap, before, behind);
        sum = tap ? hn_bin(&r->b, HN_OP_ADD, sum, y) : y;
    }
    return hn_transpose(&r->b, sum, to_last);
}

static hn_val convolved(hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w) {
    if (is_product(r, n, w)) return product(r, x, w);
    hn_val y = HN_KEEP;
    if (has_few_results(r, n, x, w)) {
        y = sum_of_products(r, n, x, w);
        if (!y) y = with_channels_first(r, n, x, w);
    }
    return y ? y : with_channels_last(r, n, x, w);
}

/* Attributes of a window of several dimensions for its last one alone, or for all others. */
static void of_dimension(hn_rewriter *r, const hn_node *n, bool last, hn_attr *attr, int64_t *ints, hn_dim *dims) {
    memcpy(attr, n->attr, n->n_attr * sizeof *attr);
    for (uint16_t i = 0; i < n->n_attr; i++) {
        hn_attr *a = &attr[i];
        bool counts = a->id == HN_A_KERNEL || a->id == HN_A_STRIDE || a->id == HN_A_DILATION;
        if (!counts && a->id != HN_A_LOW && a->id != HN_A_HIGH) continue;
        for (uint32_t d = 0; d < a->n; d++) {
            bool keep = (d + 1 == a->n) == last;
            if (counts)
                ints[d] = keep ? a->ints[d] : 1;
            else
                dims[d] = keep ? a->dims[d] : hn_lit(&r->b, 0);
        }
        if (counts)
            a->ints = ints, ints += a->n;
        else
            a->dims = dims, dims += a->n;
    }
}

/* The maximum of a large window is that of its lines' maxima: 13 x 13 takes 26 comparisons. HN_KEEP: it is not large.
 */
static hn_val max_of_max(hn_rewriter *r, const hn_node *n, hn_val x) {
    const hn_attr *kernel = hn_attr_get(n, HN_A_KERNEL);
    int64_t ints[3 * SPATIAL_MAX], taps = 1;
    hn_dim dims[2 * SPATIAL_MAX];
    hn_attr attr[HN_N_ATTRS];
    hn_node node = *n;
    if (n->op != HN_OP_WMAX || kernel->n < 2 || kernel->n > SPATIAL_MAX) return HN_KEEP;
    for (uint32_t d = 0; d < kernel->n; d++) taps *= kernel->ints[d];
    if (taps < WINDOW_MAX || kernel->ints[kernel->n - 1] < 2 || kernel->ints[kernel->n - 1] == taps) return HN_KEEP;
    const hn_node whole = node;
    node.attr = attr;
    for (int last = 1; last >= 0; last--) {
        of_dimension(r, &whole, last, attr, ints, dims);
        x = with_channels_last(r, &node, x, NULL);
    }
    return x;
}

static hn_val window_last(hn_rewriter *r, const hn_node *n) {
    const hn_node node = *n;
    hn_val x = channels_last(r, node.in[0]), y = max_of_max(r, &node, x);
    return channels_first(r, y ? y : with_channels_last(r, &node, x, NULL));
}

static hn_val rule(hn_rewriter *r, const hn_node *n) {
    if (n->op == HN_OP_CONV) {
        const hn_tensor *w = weights_of(r, n);
        if (!w) return HN_KEEP;
        const hn_node node = *n;
        hn_val x = channels_last(r, node.in[0]), y = hn_phases(r, &node, x, w, convolved);
        return channels_first(r, y ? y : convolved(r, &node, x, w));
    }
    bool window = n->op == HN_OP_WSUM || n->op == HN_OP_WMAX;
    if (window && has_last(r, n->in[0]) && !hn_attr_i(n, HN_A_CHANNELS_LAST, 0)) return window_last(r, n);
    bool any = false;
    for (size_t i = 0; i < n->n_in; i++) any |= n->in[i] && is_mine(r, n->in[i]);
    return any ? keep_mine(r, hn_sink_transpose(r, n)) : HN_KEEP;
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    layout s = {.sinking = {is_mine}};
    if (!ctx->layout->channels_last) return HONE_OK;
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .layout = ctx->layout, .arg = &s};
    hn_rewrite(&r, rule);
    ctx->n_rewrites += r.n_rewrites;
    if (r.n_rewrites) hn_sweep(g);
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_layout = {
    .name = "layout",
    .summary = "convolutions with their channels last, as few transposes as that takes",
    .needs = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .breaks = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .run = run,
};
