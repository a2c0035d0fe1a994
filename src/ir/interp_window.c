/* ir/interp_window.c — sums and maxima over sliding windows of [N, C, spatial...], each window row-major. */
#include "ir/interp_int.h"

#include <string.h>

typedef struct window {
    size_t n; /* spatial dimensions */
    int64_t kernel[HN_RANK_MAX], stride[HN_RANK_MAX], dilation[HN_RANK_MAX], low[HN_RANK_MAX];
    int64_t image_stride[HN_RANK_MAX];
    const int64_t *image;
} window;

static hone_rc read_window(const hn_call *c, window *w) {
    const hn_attr *kernel = hn_attr_get(c->node, HN_A_KERNEL), *stride = hn_attr_get(c->node, HN_A_STRIDE),
                  *dilation = hn_attr_get(c->node, HN_A_DILATION), *low = hn_attr_get(c->node, HN_A_LOW);
    int64_t all[HN_RANK_MAX];
    w->n = c->in[0]->rank - 2u;
    w->image = c->in[0]->dim + 2;
    hn_strides(c->in[0], all);
    for (size_t d = 0; d < w->n; d++) {
        w->image_stride[d] = all[d + 2];
        w->kernel[d] = kernel->ints[d];
        w->stride[d] = stride ? stride->ints[d] : 1;
        w->dilation[d] = dilation ? dilation->ints[d] : 1;
        w->low[d] = 0;
        if (low && !hn_dim_eval(c->g->dims, low->dims[d], c->symbol, &w->low[d]))
            return hn_fail(c->err, HONE_E_UNSUPPORTED, "%s: entry %zu of 'low' is not known before the run",
                           hn_call_name(c), d);
    }
    return HONE_OK;
}

/* Where in its plane window element `tap` of the result at `at` lies; -1 in the padding. */
static int64_t place(const window *w, const int64_t *at, const int64_t *tap) {
    int64_t flat = 0;
    for (size_t d = 0; d < w->n; d++) {
        int64_t x = at[d] * w->stride[d] - w->low[d] + tap[d] * w->dilation[d];
        if (x < 0 || x >= w->image[d]) return -1;
        flat += x * w->image_stride[d];
    }
    return flat;
}

static void one_f(const hn_call *c, const window *w, const int64_t *at, int64_t plane, int64_t to) {
    const hn_tensor *x = c->in[0];
    bool arg = c->node->op == HN_OP_WARGMAX;
    hn_op op = arg ? HN_OP_WMAX : c->node->op;
    double acc = hn_reduce_start_f(op, x->dtype), f;
    int64_t tap[HN_RANK_MAX] = {0}, best = -1;
    do {
        int64_t p = place(w, at, tap);
        if (p < 0) continue;
        hn_load_f(x, plane + p, 1, 1, &f);
        if (best < 0 || f > acc || (f != f && acc == acc)) best = p;
        acc = hn_reduce_step_f(op, acc, f);
    } while (hn_next_index(w->n, w->kernel, tap));
    best = hn_max64(best, 0);
    if (arg)
        hn_store_i(&c->out[0], to, 1, &best);
    else
        hn_store_f(&c->out[0], to, 1, &acc);
}

static void one_i(const hn_call *c, const window *w, const int64_t *at, int64_t plane, int64_t to) {
    const hn_tensor *x = c->in[0];
    bool arg = c->node->op == HN_OP_WARGMAX, uns = x->dtype == HONE_U64;
    hn_op op = arg ? HN_OP_WMAX : c->node->op;
    int64_t acc = hn_reduce_start_i(op, x->dtype), tap[HN_RANK_MAX] = {0}, best = -1, k;
    do {
        int64_t p = place(w, at, tap);
        if (p < 0) continue;
        hn_load_i(x, plane + p, 1, 1, &k);
        int64_t next = hn_reduce_step_i(op, uns, acc, k);
        if (best < 0 || next != acc) best = p;
        acc = next;
    } while (hn_next_index(w->n, w->kernel, tap));
    best = hn_max64(best, 0);
    hn_store_i(&c->out[0], to, 1, arg ? &best : &acc);
}

/* Strides of a dense tensor's dimensions in the order [N, C, spatial...] when it has its channels last. */
static void strides_channels_first(const hn_tensor *t, int64_t *stride, int64_t *dim) {
    int64_t own[HN_RANK_MAX];
    hn_strides(t, own);
    for (size_t i = 0; i < t->rank; i++) {
        size_t from = i == 0 ? 0 : i == 1 ? t->rank - 1u : i - 1;
        stride[i] = own[from];
        dim[i] = t->dim[from];
    }
}

hone_rc hn_eval_channels_first(hn_call *c, hn_eval_fn *eval) {
    const hn_tensor *image = c->in[0], *in[2] = {NULL, c->node->n_in > 1 ? c->in[1] : NULL};
    int64_t stride[HN_RANK_MAX], dense[HN_RANK_MAX], dim[HN_RANK_MAX];
    hn_attr attr[HN_N_ATTRS];
    hn_tensor x, y;
    hn_node node = *c->node;
    hn_call first = *c;
    size_t n_attr = 0, size_b = hn_dtype_of(image->dtype)->size_b;
    for (size_t i = 0; i < node.n_attr; i++)
        if (node.attr[i].id != HN_A_CHANNELS_LAST) attr[n_attr++] = node.attr[i];
    node.attr = attr;
    node.n_attr = (uint16_t)n_attr;
    strides_channels_first(image, stride, dim);
    if (!hn_tensor_new(c->scratch, image->dtype, image->rank, dim, &x)) return hn_call_nomem(c);
    hn_strides(&x, dense);
    hn_copy_box(size_b, x.rank, dim, x.data, dense, image->data, stride);
    strides_channels_first(&c->out[0], stride, dim);
    if (!hn_tensor_new(c->scratch, c->out[0].dtype, c->out[0].rank, dim, &y)) return hn_call_nomem(c);
    in[0] = &x;
    first.node = &node;
    first.in = in;
    first.out = &y;
    hone_rc rc = eval(&first);
    hn_strides(&y, dense);
    if (!rc) hn_copy_box(hn_dtype_of(y.dtype)->size_b, y.rank, dim, c->out[0].data, stride, y.data, dense);
    return rc;
}

hone_rc hn_eval_window(hn_call *c) {
    const hn_tensor *x = c->in[0], *y = &c->out[0];
    window w;
    if (hn_attr_i(c->node, HN_A_CHANNELS_LAST, 0)) return hn_eval_channels_first(c, hn_eval_window);
    hone_rc rc = read_window(c, &w);
    if (rc) return rc;
    int64_t planes = x->dim[0] * x->dim[1], per_plane = hn_product(x->dim, 2, x->rank), to = 0;
    bool is_float = hn_is_float(x->dtype);
    for (int64_t p = 0; hn_tensor_n(y) && p < planes; p++) {
        int64_t at[HN_RANK_MAX] = {0};
        do {
            if (is_float)
                one_f(c, &w, at, p * per_plane, to++);
            else
                one_i(c, &w, at, p * per_plane, to++);
        } while (hn_next_index(w.n, y->dim + 2, at));
    }
    return HONE_OK;
}
