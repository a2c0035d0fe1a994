/* ir/interp_contract.c — contract and conv as one blocked matrix product out[m, n] = sum over k of a[m, k] * b[k, n].
 *
 * Every result is one accumulator (double, or int64 with wrap) that takes its products in ascending k, whatever the
 * blocking: k counts the summed labels in the order of the first input, then those of the second alone (contract), or
 * channel, then window position row-major (conv, whose b is the image unfolded while it is packed). Blocks of a and b
 * are converted to 8-byte numbers once per use; 2 x 4 accumulators stay in registers.
 */
#include "ir/interp_int.h"

#include <math.h>
#include <string.h>

enum { BLOCK_M = 256, BLOCK_N = 512, BLOCK_K = 256, MAX_LABELS = 2 * HN_RANK_MAX };

typedef struct product {
    const hn_tensor *a, *b;
    hn_tensor *out;
    bool is_float;
    int64_t m, n, k, a0, b0, out0;                 /* sizes; offsets of the operands in elements */
    int64_t *am, *ak, *bk, *bn, *om, *on;          /* offset of each row, column and term */
    size_t n_spatial;                              /* conv: */
    const int64_t *image, *image_stride, *inflate; /* sizes of the spatial dimensions */
    int64_t *origin, *tap;                         /* n_spatial coordinates per n and per k; b's row is bk[k] */
    void *pa, *pb, *pc;                            /* packed blocks; the accumulators */
} product;

static void load(const product *p, const hn_tensor *t, int64_t at, int64_t step, int64_t n, char *to) {
    if (p->is_float)
        hn_load_f(t, at, step, n, (double *)(void *)to);
    else
        hn_load_i(t, at, step, n, (int64_t *)(void *)to);
}

/* n elements at base + offset[i]: runs of one step are loaded together. */
static void load_line(const product *p, const hn_tensor *t, int64_t base, const int64_t *offset, int64_t n, char *to) {
    for (int64_t i = 0, j; i < n; i = j) {
        int64_t step = i + 1 < n ? offset[i + 1] - offset[i] : 1;
        for (j = i + 1; j < n && offset[j] - offset[j - 1] == step;) j++;
        load(p, t, base + offset[i], step, j - i, to + 8 * i);
    }
}

/* One row of the unfolded image: element k of the windows at n0 … n0 + n. False: all of it is padding. */
static bool load_windows(const product *p, int64_t k, int64_t n0, int64_t n, char *to) {
    bool any = false;
    memset(to, 0, (size_t)n * 8);
    for (int64_t i = 0; i < n; i++) {
        const int64_t *origin = p->origin + (n0 + i) * (int64_t)p->n_spatial, *tap = p->tap + k * (int64_t)p->n_spatial;
        int64_t at = p->b0 + p->bk[k];
        bool inside = true;
        for (size_t d = 0; inside && d < p->n_spatial; d++) {
            int64_t x = origin[d] + tap[d], f = p->inflate[d];
            inside = x >= 0 && (f == 1 || x % f == 0) && x / f < p->image[d];
            at += x / f * p->image_stride[d];
        }
        if (inside) load(p, p->b, at, 1, 1, to + 8 * i);
        any = any || inside;
    }
    return any;
}

#define TILE(type)                                                                                                     \
    for (int64_t i = 0; i < m; i += 2)                                                                                 \
        for (int64_t j = 0; j < BLOCK_N && j < n; j += 4) {                                                            \
            const type *a0 = (const type *)p->pa + i * BLOCK_K, *a1 = a0 + BLOCK_K, *b = (const type *)p->pb + j;      \
            type *c0 = (type *)p->pc + i * BLOCK_N + j, *c1 = c0 + BLOCK_N;                                            \
            type x0 = c0[0], x1 = c0[1], x2 = c0[2], x3 = c0[3], y0 = c1[0], y1 = c1[1], y2 = c1[2], y3 = c1[3];       \
            for (int64_t t = 0; t < k; t++, b += BLOCK_N) {                                                            \
                type u = a0[t], v = a1[t];                                                                             \
                x0 += u * b[0], x1 += u * b[1], x2 += u * b[2], x3 += u * b[3];                                        \
                y0 += v * b[0], y1 += v * b[1], y2 += v * b[2], y3 += v * b[3];                                        \
            }                                                                                                          \
            c0[0] = x0, c0[1] = x1, c0[2] = x2, c0[3] = x3, c1[0] = y0, c1[1] = y1, c1[2] = y2, c1[3] = y3;            \
        }

static void multiply_f(const product *p, int64_t m, int64_t n, int64_t k) { TILE(double) }
static void multiply_i(const product *p, int64_t m, int64_t n, int64_t k) { TILE(uint64_t) }

static void store_block(const product *p, int64_t m0, int64_t m, int64_t n0, int64_t n) {
    for (int64_t i = 0; i < m; i++) {
        int64_t row = p->out0 + p->om[m0 + i];
        const int64_t *on = p->on + n0;
        bool dense = n > 0 && on[n - 1] - on[0] == n - 1;
        for (int64_t j = 0; j < n; j += dense ? n : 1) {
            int64_t at = i * BLOCK_N + j, count = dense ? n : 1;
            if (p->is_float)
                hn_store_f(p->out, row + on[j], count, (const double *)p->pc + at);
            else
                hn_store_i(p->out, row + on[j], count, (const int64_t *)p->pc + at);
        }
    }
}

/* All blocks of one product. The tile computes a few numbers beyond m and n, of what older blocks left
 * behind; they are not stored. */
static void multiply(const product *p) {
    for (int64_t m0 = 0; m0 < p->m; m0 += BLOCK_M)
        for (int64_t n0 = 0; n0 < p->n; n0 += BLOCK_N) {
            int64_t m = hn_min64(BLOCK_M, p->m - m0), n = hn_min64(BLOCK_N, p->n - n0), k;
            memset(p->pc, 0, (size_t)(m + 1) / 2 * 2 * BLOCK_N * 8);
            for (int64_t k0 = 0; k0 < p->k; k0 += k) {
                k = hn_min64(BLOCK_K, p->k - k0);
                for (int64_t i = 0; i < m; i++)
                    load_line(p, p->a, p->a0 + p->am[m0 + i], p->ak + k0, k, (char *)p->pa + 8 * BLOCK_K * i);
                for (int64_t t = 0; t < k; t++) {
                    char *to = (char *)p->pb + 8 * BLOCK_N * t;
                    if (p->tap)
                        load_windows(p, k0 + t, n0, n, to);
                    else
                        load_line(p, p->b, p->b0 + p->bk[k0 + t], p->bn + n0, n, to);
                }
                if (p->is_float)
                    multiply_f(p, m, n, k);
                else
                    multiply_i(p, m, n, k);
            }
            store_block(p, m0, m, n0, n);
        }
}

static bool make_blocks(hn_arena *a, product *p) {
    p->pa = hn_alloc(a, (BLOCK_M + 1) * BLOCK_K * 8);
    p->pb = hn_alloc(a, (BLOCK_K + 1) * BLOCK_N * 8);
    p->pc = hn_alloc(a, (BLOCK_M + 1) * BLOCK_N * 8);
    return hn_arena_ok(a);
}

/* -- contract */

typedef struct label {
    int64_t id, size, a, b, out; /* strides; 0 where it does not occur */
    bool in_a, in_b, in_out;
} label;

static label *label_of(label *list, size_t *n, int64_t id) {
    for (size_t i = 0; i < *n; i++)
        if (list[i].id == id) return &list[i];
    list[*n] = (label){.id = id};
    return &list[(*n)++];
}

static hone_rc read_labels(const hn_call *c, label *list, size_t *n) {
    const hn_attr *l = hn_attr_get(c->node, HN_A_LHS), *r = hn_attr_get(c->node, HN_A_RHS),
                  *o = hn_attr_get(c->node, HN_A_OUT);
    const hn_tensor *a = c->in[0], *b = c->in[1], *y = &c->out[0];
    int64_t sa[HN_RANK_MAX], sb[HN_RANK_MAX], so[HN_RANK_MAX];
    hn_strides(a, sa);
    hn_strides(b, sb);
    hn_strides(y, so);
    for (uint32_t i = 0; i < l->n; i++) {
        label *x = label_of(list, n, l->ints[i]);
        x->in_a = true, x->a += sa[i], x->size = a->dim[i];
    }
    for (uint32_t i = 0; i < r->n; i++) {
        label *x = label_of(list, n, r->ints[i]);
        if (x->in_a && x->size != b->dim[i])
            return hn_fail(c->err, HONE_E_INPUT,
                           "%s: dimension %u of its second input is %lld, but the one of its first that it belongs to "
                           "is %lld",
                           hn_call_name(c), i, (long long)b->dim[i], (long long)x->size);
        x->in_b = true, x->b += sb[i], x->size = b->dim[i];
    }
    for (uint32_t i = 0; o && i < o->n; i++) {
        label *x = label_of(list, n, o->ints[i]);
        x->in_out = true, x->out += so[i];
    }
    return HONE_OK;
}

enum { TERMS, ROWS, COLUMNS, BATCHES };
static int part_of(const label *x) {
    return !x->in_out ? TERMS : x->in_a && x->in_b ? BATCHES : x->in_a ? ROWS : COLUMNS;
}

/* Offsets of every combination of the labels of one part, row-major in the order of the list, for one operand. */
static int64_t *offsets(hn_arena *arena, const label *list, size_t n, int part, size_t operand, int64_t *count) {
    *count = 1;
    for (size_t i = 0; i < n; i++)
        if (part_of(&list[i]) == part) *count *= list[i].size;
    int64_t *out = HN_NEW_N(arena, int64_t, (size_t)*count), filled = 1;
    if (!out || !*count) return out;
    for (size_t i = 0; i < n; i++) {
        const label *x = &list[i];
        int64_t stride = operand == 0 ? x->a : operand == 1 ? x->b : x->out;
        if (part_of(x) != part) continue;
        for (int64_t j = filled; j-- > 0;)
            for (int64_t k = x->size; k-- > 0;) out[j * x->size + k] = out[j] + k * stride;
        filled *= x->size;
    }
    return out;
}

hone_rc hn_eval_contract(hn_call *c) {
    label list[2 * MAX_LABELS];
    size_t n = 0;
    hone_rc rc = read_labels(c, list, &n);
    if (rc) return rc;
    hn_arena *a = c->scratch;
    int64_t n_batch;
    product p = {.a = c->in[0], .b = c->in[1], .out = &c->out[0], .is_float = hn_is_float(c->out[0].dtype)};
    p.am = offsets(a, list, n, ROWS, 0, &p.m), p.om = offsets(a, list, n, ROWS, 2, &p.m);
    p.bn = offsets(a, list, n, COLUMNS, 1, &p.n), p.on = offsets(a, list, n, COLUMNS, 2, &p.n);
    p.ak = offsets(a, list, n, TERMS, 0, &p.k), p.bk = offsets(a, list, n, TERMS, 1, &p.k);
    int64_t *batch[3];
    for (size_t i = 0; i < 3; i++) batch[i] = offsets(a, list, n, BATCHES, i, &n_batch);
    if (!make_blocks(a, &p)) return hn_call_nomem(c);
    for (int64_t s = 0; s < n_batch; s++) {
        p.a0 = batch[0][s], p.b0 = batch[1][s], p.out0 = batch[2][s];
        multiply(&p);
    }
    return HONE_OK;
}

/* -- conv */

typedef struct conv {
    size_t n_spatial;
    int64_t stride[HN_RANK_MAX], dilation[HN_RANK_MAX], inflate[HN_RANK_MAX], low[HN_RANK_MAX], groups;
} conv;

static hone_rc read_conv(const hn_call *c, conv *v) {
    const hn_attr *low = hn_attr_get(c->node, HN_A_LOW);
    const struct {
        hn_attr_id id;
        int64_t *to;
    } list[] = {{HN_A_STRIDE, v->stride}, {HN_A_DILATION, v->dilation}, {HN_A_INFLATE, v->inflate}};
    v->n_spatial = c->in[0]->rank - 2u;
    v->groups = hn_attr_i(c->node, HN_A_GROUPS, 1);
    for (size_t d = 0; d < v->n_spatial; d++) {
        for (size_t i = 0; i < 3; i++) {
            const hn_attr *a = hn_attr_get(c->node, list[i].id);
            list[i].to[d] = a ? a->ints[d] : 1;
        }
        v->low[d] = 0;
        if (low && !hn_dim_eval(c->g->dims, low->dims[d], c->symbol, &v->low[d]))
            return hn_fail(c->err, HONE_E_UNSUPPORTED, "%s: entry %zu of 'low' is not known before the run",
                           hn_call_name(c), d);
    }
    return HONE_OK;
}

/* Fills the tables of one product: rows are output channels of a group, columns output positions, terms window
 * elements. */
static bool conv_tables(hn_arena *arena, const conv *v, product *p) {
    const hn_tensor *x = p->b, *w = p->a, *y = p->out;
    size_t s = v->n_spatial;
    int64_t taps = hn_product(w->dim, 2, w->rank), plane = hn_product(x->dim, 2, x->rank);
    p->m = w->dim[0] / v->groups;
    p->n = hn_product(y->dim, 2, y->rank);
    p->k = w->dim[1] * taps;
    p->am = HN_NEW_N(arena, int64_t, (size_t)p->m), p->om = HN_NEW_N(arena, int64_t, (size_t)p->m);
    p->ak = HN_NEW_N(arena, int64_t, (size_t)p->k), p->bk = HN_NEW_N(arena, int64_t, (size_t)p->k);
    p->on = HN_NEW_N(arena, int64_t, (size_t)p->n);
    p->origin = HN_NEW_N(arena, int64_t, (size_t)p->n * s + 1);
    p->tap = HN_NEW_N(arena, int64_t, (size_t)p->k * s + 1);
    if (!hn_arena_ok(arena)) return false;
    for (int64_t i = 0; i < p->m; i++) p->am[i] = i * p->k, p->om[i] = i * p->n;
    for (int64_t i = 0; i < p->k; i++) p->ak[i] = i, p->bk[i] = i / taps * plane;
    for (int64_t i = 0; i < p->n; i++) p->on[i] = i;
    int64_t index[HN_RANK_MAX] = {0};
    for (int64_t i = 0; i < p->n; i++, hn_next_index(s, y->dim + 2, index))
        for (size_t d = 0; d < s; d++) p->origin[i * (int64_t)s + (int64_t)d] = index[d] * v->stride[d] - v->low[d];
    memset(index, 0, sizeof index);
    for (int64_t i = 0; i < p->k; i++, hn_next_index(s, w->dim + 2, index))
        for (size_t d = 0; d < s; d++) p->tap[i * (int64_t)s + (int64_t)d] = index[d] * v->dilation[d];
    return true;
}

static bool all_finite(const hn_tensor *t) {
    double x[HN_CHUNK];
    int64_t n = hn_tensor_n(t), m;
    for (int64_t at = 0; at < n; at += m) {
        m = hn_min64(n - at, HN_CHUNK);
        hn_load_f(t, at, 1, m, x);
        for (int64_t i = 0; i < m; i++)
            if (!isfinite(x[i])) return false;
    }
    return true;
}

/* The same sums where a weight is not finite: such a weight must not meet the zeros of the padding. */
static void multiply_inside(const product *p) {
    _Alignas(8) char row[8];
    for (int64_t m = 0; m < p->m; m++)
        for (int64_t n = 0; n < p->n; n++) {
            double sum = 0, a, b;
            for (int64_t k = 0; k < p->k; k++) {
                if (!load_windows(p, k, n, 1, row)) continue;
                hn_load_f(p->a, p->a0 + p->am[m] + p->ak[k], 1, 1, &a);
                memcpy(&b, row, sizeof b);
                sum += a * b;
            }
            hn_store_f(p->out, p->out0 + p->om[m] + p->on[n], 1, &sum);
        }
}

hone_rc hn_eval_conv(hn_call *c) {
    const hn_tensor *x = c->in[0], *w = c->in[1];
    conv v;
    int64_t image_stride[HN_RANK_MAX];
    if (hn_attr_i(c->node, HN_A_CHANNELS_LAST, 0)) return hn_eval_channels_first(c, hn_eval_conv);
    hone_rc rc = read_conv(c, &v);
    if (rc) return rc;
    if (v.groups < 1 || w->dim[1] * v.groups != x->dim[1] || w->dim[0] % v.groups)
        return hn_fail(c->err, HONE_E_INPUT, "%s: %lld channels do not fit %lld groups of %lld", hn_call_name(c),
                       (long long)x->dim[1], (long long)v.groups, (long long)w->dim[1]);
    hn_strides(x, image_stride);
    product p = {.a = w,
                 .b = x,
                 .out = &c->out[0],
                 .is_float = hn_is_float(c->out[0].dtype),
                 .n_spatial = v.n_spatial,
                 .image = x->dim + 2,
                 .image_stride = image_stride + 2,
                 .inflate = v.inflate};
    if (!hn_tensor_n(p.out)) return HONE_OK;
    if (!conv_tables(c->scratch, &v, &p) || !make_blocks(c->scratch, &p)) return hn_call_nomem(c);
    int64_t plane = hn_product(x->dim, 2, x->rank);
    bool finite = !p.is_float || all_finite(w);
    for (int64_t i = 0; i < x->dim[0]; i++)
        for (int64_t g = 0; g < v.groups; g++) {
            p.a0 = g * p.m * p.k;
            p.b0 = (i * v.groups + g) * w->dim[1] * plane;
            p.out0 = (i * v.groups + g) * p.m * p.n;
            if (finite)
                multiply(&p);
            else
                multiply_inside(&p);
        }
    return HONE_OK;
}
