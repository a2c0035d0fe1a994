/* pass/phases.c — transposed convolutions without the zeros.
 *
 * A convolution of stride 1 over an image spread by s meets, at the results s*y + p, only the kernel's elements k with
 * (p + k*dilation - low) divisible by s: for each phase p a convolution of the image as it is, with about 1/s of the
 * kernel (Shi et al., "Is the deconvolution layer the same as a convolutional layer?", 2016). Phases whose windows lie
 * alike (a kernel as long as the stride) are the channels of one convolution. What a phase gives is put between the
 * others' by one movement, which takes in what follows.
 */
#include "pass/phases.h"

#include <string.h>

enum { SPATIAL_MAX = 3, PHASES_MAX = 16 };

/* What one dimension's window is for one phase: elements first, first + step, … of the kernel. */
typedef struct phase {
    int64_t first, step, n, dilation, low;
} phase;

typedef struct spread {
    const hn_tensor *w;
    size_t rank; /* spatial dimensions */
    int64_t groups, by[SPATIAL_MAX];
    hn_dim size[SPATIAL_MAX], whole[SPATIAL_MAX]; /* of the image, of the result */
    hn_dim out[SPATIAL_MAX];                      /* of each phase's, the last ones may be beyond the result */
    phase phase[SPATIAL_MAX][PHASES_MAX];
} spread;

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* False where no element of the kernel falls on the phase. */
static bool read_phase(int64_t p, int64_t by, int64_t kernel, int64_t dilation, int64_t low, phase *out) {
    *out = (phase){.first = -1};
    for (int64_t k = 0; k < kernel; k++) {
        int64_t at = p + k * dilation - low;
        if (floor_div(at, by) * by != at) continue;
        if (!out->n++) {
            out->first = k;
            out->low = -floor_div(at, by);
        } else if (!out->step) {
            out->step = k - out->first;
            out->dilation = floor_div(at, by) + out->low;
        }
    }
    if (out->n < 2) out->step = out->dilation = 1;
    return out->n > 0;
}

static int64_t entry(const hn_node *n, hn_attr_id id, size_t d) {
    const hn_attr *a = hn_attr_get(n, id);
    return a ? a->ints[d] : 1;
}

static bool read_dimension(const hn_rewriter *r, const hn_node *n, size_t d, spread *s) {
    hn_dims *t = r->g->dims;
    const hn_attr *low = hn_attr_get(n, HN_A_LOW);
    int64_t first = 0, by = s->by[d] = entry(n, HN_A_INFLATE, d);
    if (entry(n, HN_A_STRIDE, d) != 1 || (low && !hn_dim_is_int(t, low->dims[d], &first))) return false;
    s->size[d] = hn_type_of(r->g, n->in[0])->dim[d + 2];
    s->whole[d] = hn_type_of(r->g, n->out[0])->dim[d + 2];
    s->out[d] = hn_dim_floordiv(t, hn_dim_add(t, s->whole[d], hn_dim_int(t, by - 1)), hn_dim_int(t, by));
    for (int64_t p = 0; p < by && by <= PHASES_MAX; p++)
        if (!read_phase(p, by, s->w->dim[d + 2], entry(n, HN_A_DILATION, d), first, &s->phase[d][p])) return false;
    return by <= PHASES_MAX;
}

static bool read_spread(const hn_rewriter *r, const hn_node *n, const hn_tensor *w, spread *s) {
    bool any = false;
    *s = (spread){.w = w, .rank = w->rank - 2u, .groups = hn_attr_i(n, HN_A_GROUPS, 1)};
    if (s->rank > SPATIAL_MAX || 2 * s->rank + 2 > HN_RANK_MAX || hn_attr_i(n, HN_A_CHANNELS_LAST, 0)) return false;
    for (size_t d = 0; d < s->rank; d++) {
        if (!read_dimension(r, n, d, s)) return false;
        any |= s->by[d] > 1;
    }
    return any;
}

/* Do all phases see the image through windows that lie alike? */
static bool alike(const spread *s) {
    for (size_t d = 0; d < s->rank; d++)
        for (int64_t p = 1; p < s->by[d]; p++) {
            const phase *a = &s->phase[d][0], *b = &s->phase[d][p];
            if (a->n != b->n || a->low != b->low || a->dilation != b->dilation) return false;
        }
    return s->groups == 1;
}

/* Copies one phase's part [M, C, taps...] of the weights behind each other. */
static void copy_taps(const spread *s, const int64_t *p, float *to) {
    int64_t taps = 1, all = 1;
    for (size_t d = 0; d < s->rank; d++) {
        taps *= s->phase[d][p[d]].n;
        all *= s->w->dim[d + 2];
    }
    for (int64_t mc = 0; mc < s->w->dim[0] * s->w->dim[1]; mc++)
        for (int64_t k = 0; k < taps; k++) {
            int64_t left = k, at = 0, stride = 1;
            for (size_t d = s->rank; d-- > 0; left /= s->phase[d][p[d]].n) {
                const phase *x = &s->phase[d][p[d]];
                at += stride * (x->first + x->step * (left % x->n));
                stride *= s->w->dim[d + 2];
            }
            *to++ = ((const float *)s->w->data)[mc * all + at];
        }
}

/* The next phase in row-major order; false behind the last. */
static bool next(const spread *s, int64_t *p) {
    for (size_t d = s->rank; d-- > 0; p[d] = 0)
        if (++p[d] < s->by[d]) return true;
    return false;
}

/* The convolution for phase p, or, where all windows lie alike, for all of them: [N, out..., M or phases * M]. */
static hn_val convolved(hn_rewriter *r, const spread *s, hn_val x, const int64_t *p, int64_t copies,
                        hn_conv_last *conv) {
    hn_dims *t = r->g->dims;
    int64_t dilation[SPATIAL_MAX], ones[SPATIAL_MAX] = {1, 1, 1}, shape[HN_RANK_MAX], at[SPATIAL_MAX];
    hn_dim low[SPATIAL_MAX], high[SPATIAL_MAX];
    hn_tensor w;
    shape[0] = s->w->dim[0] * copies;
    shape[1] = s->w->dim[1];
    for (size_t d = 0; d < s->rank; d++) {
        const phase *a = &s->phase[d][p[d]];
        dilation[d] = a->dilation;
        shape[d + 2] = a->n;
        low[d] = hn_dim_int(t, a->low);
        high[d] = hn_dim_add(t, hn_dim_sub(t, s->out[d], s->size[d]), hn_dim_int(t, (a->n - 1) * a->dilation - a->low));
    }
    if (!hn_tensor_new(&r->g->arena, HONE_F32, s->w->rank, shape, &w)) return 0;
    memcpy(at, p, sizeof at);
    for (int64_t c = 0, each = hn_tensor_n(&w) / copies; c < copies; c++, next(s, at))
        copy_taps(s, at, (float *)w.data + c * each);
    uint32_t k = (uint32_t)s->rank;
    hn_attr attr[] = {
        {.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = HONE_F32},
        {.id = HN_A_LOW, .kind = HN_K_DIMS, .n = k, .dims = low},
        {.id = HN_A_HIGH, .kind = HN_K_DIMS, .n = k, .dims = high},
        {.id = HN_A_STRIDE, .kind = HN_K_INTS, .n = k, .ints = ones},
        {.id = HN_A_DILATION, .kind = HN_K_INTS, .n = k, .ints = dilation},
        {.id = HN_A_INFLATE, .kind = HN_K_INTS, .n = k, .ints = ones},
        {.id = HN_A_GROUPS, .kind = HN_K_INT, .i = s->groups},
    };
    const hn_node node = {.op = HN_OP_CONV, .n_attr = sizeof attr / sizeof *attr, .attr = attr};
    return conv(r, &node, x, &w);
}

/* [N, out 0, out 1, ..., phases 0, phases 1, ..., M] to [N, out 0, phases 0, out 1, phases 1, ..., M]. */
static hn_val between(hn_rewriter *r, const spread *s, hn_val v) {
    hn_dim shape[HN_RANK_MAX];
    int64_t perm[HN_RANK_MAX];
    size_t n = s->rank;
    perm[0] = 0;
    perm[2 * n + 1] = (int64_t)(2 * n + 1);
    shape[0] = hn_dim_of(&r->b, v, 0);
    shape[2 * n + 1] = hn_lit(&r->b, s->w->dim[0]);
    for (size_t d = 0; d < n; d++) {
        shape[1 + d] = s->out[d];
        shape[1 + n + d] = hn_lit(&r->b, s->by[d]);
        perm[1 + 2 * d] = (int64_t)(1 + d);
        perm[2 + 2 * d] = (int64_t)(1 + n + d);
    }
    return hn_transpose(&r->b, hn_reshape(&r->b, v, 2 * n + 2, shape), perm);
}

/* The results of all phases from dimension d on, put between each other: [N, out 0, 1, ..., out d, phases d, ..., M],
 * where dimensions before d have one phase each, p's. */
static hn_val gathered(hn_rewriter *r, const spread *s, hn_val x, int64_t *p, size_t d, hn_conv_last *conv) {
    hn_val part[PHASES_MAX];
    hn_dim shape[HN_RANK_MAX];
    if (d == s->rank) {
        hn_val y = convolved(r, s, x, p, 1, conv);
        shape[0] = hn_dim_of(&r->b, y, 0);
        for (size_t k = 0; k < s->rank; k++) {
            shape[1 + 2 * k] = s->out[k];
            shape[2 + 2 * k] = hn_lit(&r->b, 1);
        }
        shape[2 * s->rank + 1] = hn_lit(&r->b, s->w->dim[0]);
        return hn_reshape(&r->b, y, 2 * s->rank + 2, shape);
    }
    for (p[d] = 0; p[d] < s->by[d]; p[d]++) part[p[d]] = gathered(r, s, x, p, d + 1, conv);
    p[d] = 0;
    return s->by[d] > 1 ? hn_concat(&r->b, (size_t)s->by[d], part, (int64_t)(2 + 2 * d)) : part[0];
}

hn_val hn_phases(hn_rewriter *r, const hn_node *n, hn_val x, const hn_tensor *w, hn_conv_last *conv) {
    spread s;
    hn_dim shape[HN_RANK_MAX];
    int64_t p[SPATIAL_MAX] = {0}, copies = 1;
    if (!read_spread(r, n, w, &s)) return HN_KEEP;
    for (size_t d = 0; d < s.rank; d++) copies *= s.by[d];
    hn_val y = alike(&s) ? between(r, &s, convolved(r, &s, x, p, copies, conv)) : gathered(r, &s, x, p, 0, conv);
    shape[0] = hn_dim_of(&r->b, y, 0);
    for (size_t d = 0; d < s.rank; d++) shape[d + 1] = hn_dim_mul(r->g->dims, s.out[d], hn_lit(&r->b, s.by[d]));
    shape[s.rank + 1] = hn_lit(&r->b, w->dim[0]);
    y = hn_reshape(&r->b, y, s.rank + 2, shape);
    for (size_t d = 0; d < s.rank; d++)
        if (hn_dim_equal(r->g->dims, shape[d + 1], s.whole[d]) != HN_EQUAL)
            y = hn_slice_axis(&r->b, y, (int64_t)d + 1, hn_lit(&r->b, 0), s.whole[d], 1);
    return y;
}
