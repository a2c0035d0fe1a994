/* pass/bytes.c — products of quantised values as products of bytes, for machines that multiply and add up bytes.
 *
 * sum over k of (x - z)*sx * w*sw, x bytes, w constant ones, is sx*sw * (sum over k of x*w - z * sum over k of w): the
 * first sum is one of unsigned times signed bytes in 32 bits and exact, the second a constant (Jacob et al.,
 * "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018, section
 * 2.3). Signed x become unsigned by 128 more, which z takes back. Where a window's padding counts it is written out as
 * z. In floats the scales are multiplied in another order: a rounding more or less, as sums have.
 *
 * Where every channel has weights of its own (depthwise) an instruction for four products of a channel finds no four
 * neighbours in memory, and the time goes into reading the image. There the image alone is bytes, which the kernel
 * widens in registers; the weights stay floats and take the scale.
 */
#include "pass/bytes.h"
#include "base/err.h"
#include "pass/channel.h"
#include "pass/passes.h"

#include <string.h>

/* WEIGHTS_MIN, COLUMNS_MIN: fewer weights or columns of results are not worth it; of convolutions of whole words whose
 * results are images of IMAGE_MIN elements WEIGHTS_FEW are enough. DEPTH_MAX: so many products of 255 by 255 add up
 * within an i32. */
enum {
    WEIGHTS_MIN = 4096,
    WEIGHTS_FEW = 256,
    IMAGE_MIN = 256,
    COLUMNS_MIN = 16,
    DEPTH_MAX = 1 << 15,
    SPATIAL_MAX = 3,
    HALF = 128
};

bool hn_multiplies_bytes(const hn_graph *g, const hn_node *n) {
    const hn_tensor *w = hn_const_of(g, n->in[1]);
    return w && w->dtype == HONE_I8 && hn_type_of(g, n->in[0])->dtype == HONE_U8 &&
           hn_type_of(g, n->out[0])->dtype == HONE_I32;
}

/* A convolution in f32 whose channels each have weights of their own. */
static bool has_own_weights(const hn_graph *g, const hn_node *n) {
    int64_t results, channels;
    if (n->op != HN_OP_CONV || n->n_in != 2 || hn_type_of(g, n->out[0])->dtype != HONE_F32) return false;
    const hn_type *w = hn_type_of(g, n->in[1]);
    if (w->dtype != HONE_F32 || w->rank < 3 || w->rank > SPATIAL_MAX + 2) return false;
    if (!hn_dim_is_int(g->dims, w->dim[0], &results) || !hn_dim_is_int(g->dims, w->dim[1], &channels)) return false;
    return channels == 1 && results >= COLUMNS_MIN && hn_attr_i(n, HN_A_GROUPS, 1) == results;
}

bool hn_widens_bytes(const hn_graph *g, const hn_node *n) {
    return has_own_weights(g, n) && hn_type_of(g, n->in[0])->dtype == HONE_U8;
}

bool hn_multiplies_halves(const hn_graph *g, const hn_node *n) {
    const hn_tensor *w = hn_const_of(g, n->in[1]);
    return w && w->dtype == HONE_BF16 && hn_type_of(g, n->in[0])->dtype == HONE_BF16 &&
           hn_type_of(g, n->out[0])->dtype == HONE_F32;
}

/* (bytes - zero) * scale. */
typedef struct quantised {
    hn_val bytes;
    hn_val zero;  /* i32, one element repeated; 0: none */
    hn_val scale; /* f32; 0: none, the value is i32 */
} quantised;

static bool is_byte(const hn_graph *g, hn_val v) {
    hone_dtype t = hn_type_of(g, v)->dtype;
    return t == HONE_U8 || t == HONE_I8;
}

/* What a broadcast repeats, if that is one element; else 0. */
static hn_val repeated(const hn_graph *g, hn_val v) {
    const hn_node *n;
    int64_t dim[HN_RANK_MAX], count = 1;
    while ((n = hn_def(g, v)) && (n->op == HN_OP_BROADCAST || n->op == HN_OP_RESHAPE)) v = n->in[0];
    const hn_type *t = hn_type_of(g, v);
    if (!hn_type_static(g, t, dim)) return 0;
    for (size_t i = 0; i < t->rank; i++) count *= dim[i];
    return count == 1 ? v : 0;
}

static bool is_repeated(const hn_graph *g, hn_val v) {
    hn_tensor one;
    return hn_splat_of(g, v, &one) || repeated(g, v);
}

/* The one element of such a value, of rank 0. */
static hn_val element(hn_rewriter *r, hn_val v) {
    hn_tensor one;
    if (hn_splat_of(r->g, v, &one)) return hn_const(&r->b, &one);
    return hn_reshape(&r->b, repeated(r->g, v), 0, NULL);
}

/* bytes, cast(bytes) or cast(bytes) - zero. */
static bool read_whole(const hn_graph *g, hn_val v, quantised *q) {
    const hn_node *n = hn_def(g, v);
    if (n && n->op == HN_OP_SUB) {
        q->zero = n->in[1];
        if (!is_repeated(g, q->zero) || hn_type_of(g, v)->dtype != HONE_I32) return false;
        n = hn_def(g, n->in[0]);
    }
    q->bytes = n && n->op == HN_OP_CAST ? n->in[0] : 0;
    return q->bytes && is_byte(g, q->bytes);
}

static bool read_quantised(const hn_graph *g, hn_val v, quantised *q) {
    *q = (quantised){0};
    if (hn_type_of(g, v)->dtype == HONE_I32) return read_whole(g, v, q);
    const hn_node *n = hn_def_op(g, v, HN_OP_MUL), *cast = NULL;
    for (int i = 0; n && i < 2 && !cast; i++) {
        cast = hn_def_op(g, n->in[i], HN_OP_CAST);
        q->scale = n->in[!i];
    }
    if (!cast || hn_type_of(g, v)->dtype != HONE_F32) return false;
    if (!is_byte(g, cast->in[0])) return read_whole(g, cast->in[0], q);
    q->bytes = cast->in[0];
    return true;
}

/* -- constant weights */
typedef struct weights {
    hn_tensor t;      /* i8: what is left of them without the zero point and `over` */
    int64_t over;     /* what all are more than that; 0 but for unsigned ones whose zero point is not in the middle */
    hn_channel scale; /* t NULL: none */
} weights;

/* The least and the largest, without the zero point, lie in a byte's range from `over` on. */
static bool centred(hn_rewriter *r, const hn_tensor *from, int64_t zero, weights *w) {
    int64_t n = hn_tensor_n(from), least = INT64_MAX, most = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = hn_get_i(from, i) - zero;
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    if (n && (most - least >= 2 * HALF || least < -2 * HALF || most >= 2 * HALF)) return false;
    w->over = least < -HALF ? least + HALF : most >= HALF ? most - HALF + 1 : 0;
    if (!hn_tensor_new(&r->g->arena, HONE_I8, from->rank, from->dim, &w->t)) return false;
    for (int64_t i = 0; i < n; i++) hn_set_i(&w->t, i, hn_get_i(from, i) - zero - w->over);
    return true;
}

/* axis: the dimension of which each may have a scale of its own. */
static bool read_weights(hn_rewriter *r, hn_val v, size_t axis, weights *w) {
    quantised q;
    hn_tensor zero;
    const hn_tensor *whole = hn_const_of(r->g, v);
    *w = (weights){.scale = {0}};
    if (whole) return whole->dtype == HONE_I32 && centred(r, whole, 0, w);
    if (!read_quantised(r->g, v, &q) || !hn_const_of(r->g, q.bytes)) return false;
    if (q.zero && !hn_splat_of(r->g, q.zero, &zero)) return false;
    if (q.scale && !hn_channel_of(r, q.scale, axis, &w->scale)) return false;
    return centred(r, hn_const_of(r->g, q.bytes), q.zero ? hn_get_i(&zero, 0) : 0, w);
}

/* The sum of the weights that go into each result along `axis`: i32. */
static hn_val sums(hn_rewriter *r, const weights *w, size_t axis) {
    int64_t size = w->t.dim[axis], inner = 1;
    hn_tensor out;
    if (!hn_tensor_new(&r->g->arena, HONE_I32, 1, &size, &out)) return 0;
    for (size_t i = axis + 1; i < w->t.rank; i++) inner *= w->t.dim[i];
    for (int64_t i = 0, n = hn_tensor_n(&w->t); i < n; i++) {
        int64_t at = i / inner % size;
        hn_set_i(&out, at, hn_get_i(&out, at) + hn_get_i(&w->t, i) + w->over);
    }
    return hn_const(&r->b, &out);
}

/* -- what is multiplied */
typedef struct product {
    quantised x;
    weights w;
    hn_val unsigned_x, zero; /* the bytes as u8, and the zero point that belongs to them: i32, of rank 0; 0: none */
    size_t axis, out_axis;   /* the dimension of the weights that the results have, and which of theirs it is */
    size_t sum, x_sum;       /* the dimension that is summed over, of the weights and of x */
    int64_t fill;            /* zeros behind it, for whole words */
    hone_dtype dtype;        /* of the result: i32, or f32 with scales */
} product;

static bool is_static(const hn_graph *g, hn_val v, size_t axis, int64_t *n) {
    return hn_dim_is_int(g->dims, hn_type_of(g, v)->dim[axis], n);
}

/* Is the dimension that is summed over known, and near enough to whole words? */
static bool read_depth(const hn_graph *g, const hn_node *n, product *p) {
    int64_t depth;
    if (!is_static(g, n->in[0], p->x_sum, &depth)) return false;
    p->fill = (HN_WORD - depth % HN_WORD) % HN_WORD;
    return 3 * p->fill <= depth;
}

/* x[..., k] * w[k, n] in any order of w's dimensions. */
static bool read_contraction(const hn_graph *g, const hn_node *n, product *p) {
    const hn_attr *lhs = hn_attr_get(n, HN_A_LHS), *rhs = hn_attr_get(n, HN_A_RHS), *out = hn_attr_get(n, HN_A_OUT);
    if (rhs->n != 2 || !lhs->n) return false;
    p->sum = hn_label_place(out, rhs->ints[0]) < 0 ? 0 : 1;
    p->axis = 1 - p->sum;
    p->x_sum = lhs->n - 1u;
    int64_t place = hn_label_place(out, rhs->ints[p->axis]);
    if (place < 0 || hn_label_place(out, rhs->ints[p->sum]) >= 0) return false;
    if (lhs->ints[p->x_sum] != rhs->ints[p->sum]) return false;
    if (hn_label_place(lhs, rhs->ints[p->axis]) >= 0 || out->n != lhs->n) return false;
    p->out_axis = (size_t)place;
    return read_depth(g, n, p);
}

/* A window on an image of the order in which models have it, no transposed convolution. */
static bool is_plain_window(const hn_graph *g, const hn_node *n) {
    const hn_attr *inflate = hn_attr_get(n, HN_A_INFLATE);
    const hn_type *x = hn_type_of(g, n->in[0]);
    if (x->rank < 3 || x->rank > SPATIAL_MAX + 2 || hn_attr_i(n, HN_A_CHANNELS_LAST, 0)) return false;
    for (uint32_t i = 0; inflate && i < inflate->n; i++)
        if (inflate->ints[i] != 1) return false;
    return true;
}

static bool read_convolution(const hn_graph *g, const hn_node *n, product *p) {
    if (!is_plain_window(g, n) || hn_attr_i(n, HN_A_GROUPS, 1) != 1) return false;
    p->axis = 0;
    p->out_axis = p->sum = p->x_sum = 1;
    return read_depth(g, n, p);
}

static bool read_form(const hn_graph *g, const hn_node *n, product *p) {
    *p = (product){.dtype = hn_type_of(g, n->out[0])->dtype};
    return n->op == HN_OP_CONTRACT ? read_contraction(g, n, p) : n->op == HN_OP_CONV && read_convolution(g, n, p);
}

/* Does a convolution use each of its weights often? */
static bool is_large_image(const hn_graph *g, const hn_node *n) {
    const hn_type *y = hn_type_of(g, n->out[0]);
    int64_t size, all = 1;
    if (n->op != HN_OP_CONV) return false;
    for (size_t d = 2; d < y->rank; d++) {
        if (!hn_dim_is_int(g->dims, y->dim[d], &size)) return false;
        all *= size;
    }
    return all >= IMAGE_MIN;
}

static bool is_worth_it(const hn_graph *g, const hn_node *n, const product *p, const hn_tensor *w) {
    int64_t all = hn_tensor_n(w), columns = w->dim[p->axis];
    bool few = all < WEIGHTS_MIN && (p->fill || all < WEIGHTS_FEW || !is_large_image(g, n));
    return columns >= COLUMNS_MIN && !few && all / columns <= DEPTH_MAX;
}

bool hn_could_multiply_bytes(const hn_graph *g, const hn_node *n, hn_byte_form *out) {
    product p;
    if (n->n_in != 2) return false;
    const hn_tensor *w = hn_const_of(g, n->in[1]);
    if (!w || w->dtype != HONE_F32 || hn_const_of(g, n->in[0]) || hn_type_of(g, n->in[0])->dtype != HONE_F32)
        return false;
    if (has_own_weights(g, n) && is_plain_window(g, n)) {
        *out = (hn_byte_form){.x_sum = 1, .own = true, .bytes_alone = true};
        return true;
    }
    if (!read_form(g, n, &p) || p.dtype != HONE_F32 || !is_worth_it(g, n, &p, w)) return false;
    bool few = hn_tensor_n(w) < WEIGHTS_MIN;
    *out = (hn_byte_form){.axis = p.axis, .sum = p.sum, .x_sum = p.x_sum, .bytes_alone = few};
    return true;
}

static bool read_product(hn_rewriter *r, const hn_node *n, product *p) {
    if (!read_form(r->g, n, p)) return false;
    if (!read_quantised(r->g, n->in[0], &p->x) || hn_const_of(r->g, p->x.bytes)) return false;
    if (p->x.scale && !is_repeated(r->g, p->x.scale)) return false;
    if (!read_weights(r, n->in[1], p->axis, &p->w) || !p->w.scale.t != !p->x.scale) return false;
    if (p->dtype != (p->x.scale ? HONE_F32 : HONE_I32)) return false;
    if (p->w.over && n->op == HN_OP_CONV) return false;
    return is_worth_it(r->g, n, p, &p->w.t);
}

/* -- rewriting */
static void make_unsigned(hn_rewriter *r, product *p) {
    p->unsigned_x = p->x.bytes;
    p->zero = p->x.zero ? element(r, p->x.zero) : 0;
    if (hn_type_of(r->g, p->x.bytes)->dtype == HONE_U8) return;
    hn_val half = hn_const_i(&r->b, HONE_I32, HALF);
    hn_val shifted = hn_bin(&r->b, HN_OP_ADD, hn_cast(&r->b, p->x.bytes, HONE_I32), half);
    p->unsigned_x = hn_cast(&r->b, shifted, HONE_U8);
    p->zero = p->zero ? hn_bin(&r->b, HN_OP_ADD, p->zero, half) : half;
}

/* Zeros behind what is summed over, for whole words. */
static bool fill_words(hn_rewriter *r, product *p) {
    const hn_tensor w = p->w.t;
    int64_t dim[HN_RANK_MAX], from[HN_RANK_MAX], to[HN_RANK_MAX];
    if (!p->fill) return true;
    memcpy(dim, w.dim, w.rank * sizeof *dim);
    dim[p->sum] += p->fill;
    if (!hn_tensor_new(&r->g->arena, HONE_I8, w.rank, dim, &p->w.t)) return false;
    hn_strides(&w, from);
    hn_strides(&p->w.t, to);
    hn_copy_box(1, w.rank, w.dim, p->w.t.data, to, w.data, from);
    p->unsigned_x = hn_pad_axis(&r->b, p->unsigned_x, (int64_t)p->x_sum, hn_lit(&r->b, 0), hn_lit(&r->b, p->fill), 0);
    return true;
}

/* The padding of a convolution written out as the zero point. False: it crops. */
static bool write_padding(hn_rewriter *r, const hn_node *n, product *p, hn_attr *attr) {
    hn_dim low[HN_RANK_MAX], high[HN_RANK_MAX], *none = HN_NEW_N(&r->g->arena, hn_dim, SPATIAL_MAX);
    const hn_attr *sides[] = {hn_attr_get(n, HN_A_LOW), hn_attr_get(n, HN_A_HIGH)};
    size_t rank = hn_rank(&r->b, p->unsigned_x);
    bool any = false;
    int64_t k;
    if (!none || !p->zero || (!sides[0] && !sides[1])) return none != NULL;
    for (size_t i = 0; i < rank; i++) low[i] = high[i] = hn_lit(&r->b, 0);
    for (int s = 0; s < 2; s++)
        for (uint32_t d = 0; sides[s] && d < sides[s]->n; d++) {
            if (!hn_dim_is_int(r->g->dims, sides[s]->dims[d], &k) || k < 0) return false;
            any |= k > 0;
            (s ? high : low)[d + 2] = sides[s]->dims[d];
            none[d] = hn_lit(&r->b, 0);
        }
    if (!any) return true;
    p->unsigned_x = hn_pad(&r->b, p->unsigned_x, low, high, hn_cast(&r->b, p->zero, HONE_U8));
    for (uint16_t i = 0; i < n->n_attr; i++)
        if (attr[i].id == HN_A_LOW || attr[i].id == HN_A_HIGH) attr[i].dims = none;
    return true;
}

/* A vector along a dimension of y, with y's shape. */
static hn_val along(hn_rewriter *r, hn_val vector, size_t axis, hn_val y) {
    hn_dim shape[HN_RANK_MAX];
    const hn_type t = *hn_type_of(r->g, y);
    for (size_t i = 0; i < t.rank; i++) shape[i] = i == axis ? t.dim[i] : hn_lit(&r->b, 1);
    return hn_broadcast_to(&r->b, hn_reshape(&r->b, vector, t.rank, shape), t.rank, t.dim);
}

/* What the weights' `over` adds: the sum of each row's bytes, so many times, with y's shape. */
static hn_val over(hn_rewriter *r, const hn_node *n, const product *p, hn_val y) {
    const hn_attr *lhs = hn_attr_get(n, HN_A_LHS), *out = hn_attr_get(n, HN_A_OUT);
    int64_t last = lhs->n - 1, perm[HN_RANK_MAX], next = 0;
    hn_val rows = hn_reduce(&r->b, HN_OP_RSUM, hn_cast(&r->b, p->unsigned_x, HONE_I32), 1, &last, true);
    for (uint32_t i = 0; i < out->n; i++) {
        int64_t place = hn_label_place(lhs, out->ints[i]);
        perm[next++] = place < 0 ? last : place;
    }
    rows = hn_bin(&r->b, HN_OP_MUL, rows, hn_const_i(&r->b, HONE_I32, p->w.over));
    return hn_broadcast_to(&r->b, hn_transpose(&r->b, rows, perm), out->n, hn_type_of(r->g, y)->dim);
}

static hn_val scales(hn_rewriter *r, const product *p) {
    int64_t size = p->w.t.dim[p->axis];
    hn_tensor t;
    if (!hn_tensor_new(&r->g->arena, HONE_F32, 1, &size, &t)) return 0;
    for (int64_t i = 0; i < size; i++) hn_set_f(&t, i, hn_channel_at(&p->w.scale, i));
    return hn_bin(&r->b, HN_OP_MUL, hn_const(&r->b, &t), element(r, p->x.scale));
}

/* Of channels with weights of their own: sum over k of (x - z)*s * w is that of x * ws, less z * the sum of ws. */
static hn_val own_rule(hn_rewriter *r, const hn_node *node) {
    product p = {.axis = 0};
    hn_attr attr[HN_N_ATTRS];
    int64_t axes[HN_RANK_MAX];
    if (!is_plain_window(r->g, node) || !read_quantised(r->g, node->in[0], &p.x) || !p.x.scale) return HN_KEEP;
    if (hn_const_of(r->g, p.x.bytes) || !is_repeated(r->g, p.x.scale)) return HN_KEEP;
    const hn_node n = *node;
    memcpy(attr, n.attr, n.n_attr * sizeof *attr);
    make_unsigned(r, &p);
    if (!write_padding(r, &n, &p, attr)) return HN_KEEP;
    const hn_val in[] = {p.unsigned_x, hn_bin(&r->b, HN_OP_MUL, n.in[1], element(r, p.x.scale))};
    hn_val y = hn_emit(r->g, r->b.b, n.op, 2, in, n.n_attr, attr, 1);
    if (!p.zero) return y;
    size_t rank = hn_rank(&r->b, in[1]);
    for (size_t i = 1; i < rank; i++) axes[i - 1] = (int64_t)i;
    hn_val whole = hn_reduce(&r->b, HN_OP_RSUM, in[1], rank - 1, axes, false);
    hn_val off = hn_bin(&r->b, HN_OP_MUL, whole, hn_cast(&r->b, p.zero, HONE_F32));
    return hn_bin(&r->b, HN_OP_SUB, y, along(r, off, 1, y));
}

static hn_val bytes_rule(hn_rewriter *r, const hn_node *node) {
    product p;
    hn_attr attr[HN_N_ATTRS];
    if (has_own_weights(r->g, node)) return own_rule(r, node);
    if (node->n_in != 2 || !read_product(r, node, &p)) return HN_KEEP;
    const hn_node n = *node;
    memcpy(attr, n.attr, n.n_attr * sizeof *attr);
    for (uint16_t i = 0; i < n.n_attr; i++)
        if (attr[i].id == HN_A_DTYPE) attr[i].i = HONE_I32;
    make_unsigned(r, &p);
    if (!fill_words(r, &p)) return HN_KEEP;
    if (n.op == HN_OP_CONV && !write_padding(r, &n, &p, attr)) return HN_KEEP;
    const hn_val in[] = {p.unsigned_x, hn_const(&r->b, &p.w.t)};
    hn_val y = hn_emit(r->g, r->b.b, n.op, 2, in, n.n_attr, attr, 1);
    if (p.w.over) y = hn_bin(&r->b, HN_OP_ADD, y, over(r, &n, &p, y));
    if (p.zero) {
        hn_val off = hn_bin(&r->b, HN_OP_MUL, sums(r, &p.w, p.axis), p.zero);
        y = hn_bin(&r->b, HN_OP_SUB, y, along(r, off, p.out_axis, y));
    }
    if (!p.x.scale) return y;
    return hn_bin(&r->b, HN_OP_MUL, hn_cast(&r->b, y, HONE_F32), along(r, scales(r, &p), p.out_axis, y));
}

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    hn_rewriter r = {.g = g, .relaxed = ctx->relaxed};
    if (!ctx->bytes || ctx->have & HN_FACT_BYTES) return HONE_OK;
    hn_rewrite(&r, bytes_rule);
    hn_sweep(g);
    ctx->n_rewrites += r.n_rewrites + 1; /* what is quantised and has been left may become floats now: not folded */
    return hn_graph_failure(g, err);
}

const hn_pass hn_pass_bytes = {
    .name = "bytes",
    .summary = "products of quantised values as products of bytes, where the machine has them",
    .needs = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .gives = HN_FACT_BYTES,
    .breaks = HN_FACT_FOLDED | HN_FACT_CANONICAL | HN_FACT_NO_DEAD,
    .run = run,
};
