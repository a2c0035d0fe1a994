/* ir/interp_index.c — gather and scatter. Indices are checked: out of range is an error of the run. Scatters with
 * arithmetic collect floats in double and round once, updates in row-major order. */
#include "ir/interp_int.h"

#include <string.h>

static size_t size_b_of(const hn_tensor *t) { return hn_dtype_of(t->dtype)->size_b; }

/* Index i of the tensor of indices, made positive. */
static hone_rc index_at(const hn_call *c, const hn_tensor *indices, int64_t i, int64_t n, size_t axis, int64_t *out) {
    int64_t k = hn_get_i(indices, i);
    if (k < -n || k >= n)
        return hn_fail(c->err, HONE_E_INPUT,
                       "%s: index %lld (element %lld of the indices) is out of range for "
                       "dimension %zu of %lld elements",
                       hn_call_name(c), (long long)k, (long long)i, axis, (long long)n);
    *out = k < 0 ? k + n : k;
    return HONE_OK;
}

static hone_rc shapes_differ(const hn_call *c) {
    return hn_fail(c->err, HONE_E_INPUT, "%s: the shapes of data and indices do not fit", hn_call_name(c));
}

hone_rc hn_eval_gather(hn_call *c) {
    const hn_tensor *x = c->in[0], *k = c->in[1];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0), batch = (size_t)hn_attr_i(c->node, HN_A_BATCH, 0);
    size_t b = size_b_of(x);
    int64_t n = x->dim[axis], n_batch = hn_product(x->dim, 0, batch), outer = hn_product(x->dim, batch, axis),
            inner = hn_product(x->dim, axis + 1, x->rank), n_index = hn_product(k->dim, batch, k->rank);
    size_t row_b = (size_t)inner * b;
    char *to = c->out[0].data;
    if (hn_product(k->dim, 0, batch) != n_batch) return shapes_differ(c);
    if (!hn_tensor_n(&c->out[0])) return HONE_OK;
    for (int64_t s = 0; s < n_batch; s++)
        for (int64_t o = 0; o < outer; o++)
            for (int64_t j = 0; j < n_index; j++, to += row_b) {
                int64_t i;
                hone_rc rc = index_at(c, k, s * n_index + j, n, axis, &i);
                if (rc) return rc;
                memcpy(to, (const char *)x->data + (size_t)((s * outer + o) * n + i) * row_b, row_b);
            }
    return HONE_OK;
}

/* Flat offset in x of each index: the coordinates of the index but for `axis`. */
static hone_rc element_offset(const hn_call *c, const hn_tensor *x, const hn_tensor *k, size_t axis,
                              const int64_t *coord, const int64_t *stride, int64_t at, int64_t *out) {
    int64_t i, offset = 0;
    hone_rc rc = index_at(c, k, at, x->dim[axis], axis, &i);
    if (rc) return rc;
    for (size_t d = 0; d < x->rank; d++) offset += (d == axis ? i : coord[d]) * stride[d];
    *out = offset;
    return HONE_OK;
}

static bool inside(const hn_tensor *x, const hn_tensor *k, size_t axis) {
    if (x->rank != k->rank) return false;
    for (size_t d = 0; d < x->rank; d++)
        if (d != axis && k->dim[d] > x->dim[d]) return false;
    return true;
}

hone_rc hn_eval_gather_elements(hn_call *c) {
    const hn_tensor *x = c->in[0], *k = c->in[1];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0), b = size_b_of(x);
    int64_t coord[HN_RANK_MAX] = {0}, stride[HN_RANK_MAX], at = 0, offset;
    if (!hn_tensor_n(k)) return HONE_OK;
    if (!inside(x, k, axis)) return shapes_differ(c);
    hn_strides(x, stride);
    do {
        hone_rc rc = element_offset(c, x, k, axis, coord, stride, at, &offset);
        if (rc) return rc;
        memcpy((char *)c->out[0].data + (size_t)at++ * b, (const char *)x->data + (size_t)offset * b, b);
    } while (hn_next_index(k->rank, k->dim, coord));
    return HONE_OK;
}

/* Offset of the slice that index tuple `row` (of `depth` entries) of k names, behind `batch` leading dimensions. */
static hone_rc tuple_offset(const hn_call *c, const hn_tensor *x, const hn_tensor *k, size_t batch, int64_t depth,
                            const int64_t *stride, int64_t row, int64_t *out) {
    int64_t offset = 0;
    for (int64_t d = 0; d < depth; d++) {
        int64_t i;
        size_t axis = batch + (size_t)d;
        hone_rc rc = index_at(c, k, row * depth + d, x->dim[axis], axis, &i);
        if (rc) return rc;
        offset += i * stride[axis];
    }
    *out = offset;
    return HONE_OK;
}

hone_rc hn_eval_gather_nd(hn_call *c) {
    const hn_tensor *x = c->in[0], *k = c->in[1];
    size_t batch = (size_t)hn_attr_i(c->node, HN_A_BATCH, 0);
    int64_t stride[HN_RANK_MAX], depth = k->dim[k->rank - 1], n_batch = hn_product(k->dim, 0, batch);
    int64_t rows = hn_product(k->dim, batch, k->rank - 1u), per_batch = hn_product(x->dim, batch, x->rank);
    if (depth > (int64_t)(x->rank - batch) || n_batch != hn_product(x->dim, 0, batch)) return shapes_differ(c);
    size_t row_b = (size_t)hn_product(x->dim, batch + (size_t)depth, x->rank) * size_b_of(x);
    hn_strides(x, stride);
    for (int64_t s = 0; row_b && s < n_batch; s++)
        for (int64_t r = 0; r < rows; r++) {
            int64_t offset, at = s * rows + r;
            hone_rc rc = tuple_offset(c, x, k, batch, depth, stride, at, &offset);
            if (rc) return rc;
            memcpy((char *)c->out[0].data + (size_t)at * row_b,
                   (const char *)x->data + (size_t)(s * per_batch + offset) * size_b_of(x), row_b);
        }
    return HONE_OK;
}

/* What a scatter writes to: the result itself, or its elements as numbers while they collect. */
typedef struct scatter {
    hn_op how; /* HN_N_OPS: set */
    const hn_tensor *updates;
    hn_tensor *y;
    double *f;
    int64_t *i;
} scatter;

static hn_op scatter_op(const hn_node *n) {
    const hn_attr *mode = hn_attr_get(n, HN_A_MODE);
    static const struct {
        const char *name;
        hn_op op;
    } row[] = {{"add", HN_OP_ADD}, {"mul", HN_OP_MUL}, {"min", HN_OP_MIN}, {"max", HN_OP_MAX}};
    for (size_t i = 0; mode && i < sizeof row / sizeof *row; i++)
        if (!strcmp(mode->name, row[i].name)) return row[i].op;
    return HN_N_OPS;
}

static hone_rc scatter_begin(hn_call *c, scatter *s) {
    int64_t n = hn_tensor_n(&c->out[0]);
    *s = (scatter){.how = scatter_op(c->node), .updates = c->in[2], .y = &c->out[0]};
    if (n) memcpy(s->y->data, c->in[0]->data, (size_t)n * size_b_of(s->y));
    if (s->how == HN_N_OPS) return HONE_OK;
    if (hn_is_float(s->y->dtype)) {
        s->f = HN_NEW_N(c->scratch, double, (size_t)n);
        if (s->f) hn_load_f(s->y, 0, 1, n, s->f);
    } else {
        s->i = HN_NEW_N(c->scratch, int64_t, (size_t)n);
        if (s->i) hn_load_i(s->y, 0, 1, n, s->i);
    }
    return s->f || s->i ? HONE_OK : hn_call_nomem(c);
}

static void scatter_one(scatter *s, int64_t to, int64_t from, int64_t n) {
    const hn_dtype_info *info = hn_dtype_of(s->y->dtype);
    size_t b = info->size_b;
    if (s->how == HN_N_OPS) {
        memcpy((char *)s->y->data + (size_t)to * b, (const char *)s->updates->data + (size_t)from * b, (size_t)n * b);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        double f;
        int64_t i;
        if (s->f)
            hn_load_f(s->updates, from + k, 1, 1, &f), hn_binary_f(s->how, 1, s->f + to + k, &f, s->f + to + k);
        else {
            hn_load_i(s->updates, from + k, 1, 1, &i);
            hn_binary_i(s->how, s->y->dtype == HONE_U64, info->bits, 1, s->i + to + k, &i, s->i + to + k);
        }
    }
}

static void scatter_end(scatter *s) {
    int64_t n = hn_tensor_n(s->y);
    if (s->f) hn_store_f(s->y, 0, n, s->f);
    if (s->i) hn_store_i(s->y, 0, n, s->i);
}

hone_rc hn_eval_scatter_elements(hn_call *c) {
    const hn_tensor *x = c->in[0], *k = c->in[1];
    size_t axis = (size_t)hn_attr_i(c->node, HN_A_AXIS, 0);
    int64_t coord[HN_RANK_MAX] = {0}, stride[HN_RANK_MAX], at = 0, offset;
    scatter s;
    hone_rc rc = scatter_begin(c, &s);
    if (rc || !hn_tensor_n(k)) return rc;
    if (!inside(x, k, axis) || hn_tensor_n(c->in[2]) != hn_tensor_n(k)) return shapes_differ(c);
    hn_strides(x, stride);
    do {
        rc = element_offset(c, x, k, axis, coord, stride, at, &offset);
        if (rc) return rc;
        scatter_one(&s, offset, at++, 1);
    } while (hn_next_index(k->rank, k->dim, coord));
    scatter_end(&s);
    return HONE_OK;
}

/* Rows of blocks that lie transposed: row r is element r % block of each row of block r / block. */
static hone_rc scatter_turned(hn_call *c, int64_t block) {
    const hn_tensor *x = c->in[0], *k = c->in[1];
    int64_t inner = hn_product(x->dim, 1, x->rank), rows = x->dim[0] / block * block, n = hn_tensor_n(k);
    scatter s;
    hone_rc rc = scatter_begin(c, &s);
    if (rc) return rc;
    if (n * inner != hn_tensor_n(c->in[2])) return shapes_differ(c);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = hn_get_i(k, i);
        if (row < 0) row += rows;
        if (row < 0 || row >= rows)
            return hn_fail(c->err, HONE_E_INPUT, "%s: index %lld is not in %lld rows", hn_call_name(c),
                           (long long)hn_get_i(k, i), (long long)rows);
        int64_t to = row / block * inner * block + row % block;
        for (int64_t e = 0; e < inner; e++) scatter_one(&s, to + e * block, i * inner + e, 1);
    }
    scatter_end(&s);
    return HONE_OK;
}

hone_rc hn_eval_scatter_nd(hn_call *c) {
    const hn_tensor *x = c->in[0], *k = c->in[1];
    int64_t block = hn_attr_i(c->node, HN_A_BLOCK, 0);
    if (block) return scatter_turned(c, block);
    int64_t stride[HN_RANK_MAX], depth = k->dim[k->rank - 1], rows = hn_product(k->dim, 0, k->rank - 1u);
    if (depth > x->rank) return shapes_differ(c);
    int64_t inner = hn_product(x->dim, (size_t)depth, x->rank), offset;
    scatter s;
    hone_rc rc = scatter_begin(c, &s);
    if (rc) return rc;
    if (rows * inner != hn_tensor_n(c->in[2])) return shapes_differ(c);
    hn_strides(x, stride);
    for (int64_t r = 0; inner && r < rows; r++) {
        rc = tuple_offset(c, x, k, 0, depth, stride, r, &offset);
        if (rc) return rc;
        scatter_one(&s, offset, r * inner, inner);
    }
    scatter_end(&s);
    return HONE_OK;
}
