/* pass/winograd.c — convolutions that may round more get their windows evaluated for Winograd's minimal filtering
 * (ir/winograd.h), as a third input. Kernels choose: a schedule that reads it, or one that multiplies in full.
 *
 * Offered to f32 convolutions with windows of 3 x 3 that are constant, one group, no strides or dilation, channels
 * last, of images whose sizes are known. Which tile, and whether at all, a cost model says that counts the products,
 * the transforms and the bytes of windows, which are 16 or 36 numbers for 9: few tiles do not pay for reading them.
 * Where the gain is small the convolution stays as it is. And it must round no more than is allowed: that is computed,
 * with the weights themselves.
 */
#include "ir/winograd.h"
#include "pass/passes.h"
#include "pass/rewrite.h"

/* Figures of a usual core, in f32 multiplications and bytes a nanosecond; they decide between forms, not what is
 * computed. */
enum { CHANNELS_MIN = 32 };
static const double products_ns = 45, direct_share = 0.85, bytes_ns = 12, gain_min = 0.75;
/* Transforms of a tile, for each channel and each result: by the tile's points. */
static const double transform_ns = 0.23;

typedef struct form {
    const hn_tensor *w;
    int64_t images, rows, columns; /* of the result */
} form;

static bool all_ones(const hn_node *n, hn_attr_id id) {
    const hn_attr *a = hn_attr_get(n, id);
    for (uint32_t i = 0; a && i < a->n; i++)
        if (a->ints[i] != 1) return false;
    return true;
}

static bool read_form(const hn_rewriter *r, const hn_node *n, form *f) {
    const hn_graph *g = r->g;
    int64_t most, size;
    if (n->op != HN_OP_CONV || n->n_in > 2 || !hn_attr_i(n, HN_A_CHANNELS_LAST, 0)) return false;
    f->w = hn_const_of(g, n->in[1]);
    const hn_type *x = hn_type_of(g, n->in[0]), *y = hn_type_of(g, n->out[0]);
    if (!f->w || f->w->dtype != HONE_F32 || x->dtype != HONE_F32 || y->dtype != HONE_F32 || x->rank != 4) return false;
    if (f->w->dim[2] != 3 || f->w->dim[3] != 3 || hn_attr_i(n, HN_A_GROUPS, 1) != 1) return false;
    if (f->w->dim[0] < CHANNELS_MIN || f->w->dim[1] < CHANNELS_MIN) return false;
    if (!all_ones(n, HN_A_STRIDE) || !all_ones(n, HN_A_DILATION) || !all_ones(n, HN_A_INFLATE)) return false;
    for (size_t d = 1; d < 3; d++)
        if (!hn_dim_is_int(g->dims, x->dim[d], &size)) return false;
    hn_dim_range(g->dims, y->dim[0], &f->images, &most);
    return f->images > 0 && hn_dim_is_int(g->dims, y->dim[1], &f->rows) &&
           hn_dim_is_int(g->dims, y->dim[2], &f->columns) && f->rows > 0 && f->columns > 0;
}

static double direct_cost(const form *f) {
    double windows = (double)f->w->dim[0] * (double)f->w->dim[1] * 9;
    return windows * (double)(f->images * f->rows * f->columns) / (products_ns * direct_share) + 4 * windows / bytes_ns;
}
static double tiled_cost(const form *f, int64_t tile) {
    double points = (double)((tile + 2) * (tile + 2)), weights = (double)f->w->dim[0] * (double)f->w->dim[1];
    double tiles = (double)(f->images * ((f->rows + tile - 1) / tile) * ((f->columns + tile - 1) / tile));
    return points * (tiles * weights / products_ns + 4 * weights / bytes_ns +
                     tiles * (double)(f->w->dim[0] + f->w->dim[1]) * transform_ns);
}

/* The windows for the cheapest tile that is allowed; NULL: the convolution stays. */
static hn_tensor *evaluated(hn_rewriter *r, const form *f, double tolerance) {
    hn_tensor *best = NULL;
    double least = gain_min * direct_cost(f);
    for (int64_t tile = 2; tile <= HN_WINOGRAD_TILE_MAX; tile += 2) {
        hn_tensor *u = HN_NEW(&r->g->arena, hn_tensor);
        if (tiled_cost(f, tile) >= least || !u || !hn_winograd_windows(&r->g->arena, f->w, tile, u)) continue;
        if (!(hn_winograd_error(&r->g->arena, f->w, u, tile) <= tolerance)) continue;
        least = tiled_cost(f, tile);
        best = u;
    }
    return best;
}

static hn_val rule(hn_rewriter *r, const hn_node *node) {
    form f;
    if (!read_form(r, node, &f)) return HN_KEEP;
    hn_tensor *u = evaluated(r, &f, *(const double *)r->arg);
    if (!u) return HN_KEEP;
    const hn_node n = *node;
    const hn_val in[] = {n.in[0], n.in[1], hn_const(&r->b, u)};
    return hn_emit(r->g, r->b.b, HN_OP_CONV, 3, in, n.n_attr, n.attr, 1);
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    double tolerance = ctx->tolerance;
    (void)err;
    if (!ctx->layout->channels_last || !(tolerance > 0)) return HONE_OK;
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed, .layout = ctx->layout, .arg = &tolerance};
    hn_rewrite(&r, rule);
    ctx->n_rewrites += r.n_rewrites;
    if (r.n_rewrites) hn_sweep(g);
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_winograd = {
    .name = "winograd",
    .summary = "windows of 3 x 3 evaluated for fewer multiplications, where rounding more is allowed",
    .needs = HN_FACT_FOLDED, /* as pack does: without a tolerance nothing changes */
    .breaks = HN_FACT_NO_DEAD,
    .run = run,
};
