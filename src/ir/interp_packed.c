/* interp_packed.c — packed weights: elements, products and rows, each row decoded to floats first; sums in double. */
#include "ir/interp_int.h"
#include "ir/packed.h"

#include <math.h>
#include <string.h>

typedef struct matrix {
    const hn_codec *codec;
    const uint8_t *data;
    int64_t panel, row_b, k;
    int64_t n; /* rows, those that fill the last panel among them */
} matrix;

static matrix matrix_of(const hn_call *c, int64_t k) {
    const hn_tensor *w = c->in[0];
    matrix m = {.codec = hn_codec_of(c->node), .data = w->data, .k = k};
    m.panel = hn_attr_i(c->node, HN_A_PANEL, 0);
    m.row_b = hn_codec_row_b(m.codec, k);
    m.n = w->dim[w->rank - 2u] * (m.panel ? m.panel : 1);
    return m;
}

static void row_of(const matrix *m, int64_t i, float *out) {
    hn_codec_row(m->codec, m->data, m->panel, m->row_b, i, out);
}

hone_rc hn_eval_unpack(hn_call *c) {
    hn_tensor *y = &c->out[0];
    matrix m = matrix_of(c, y->dim[y->rank - 1u]);
    int64_t rows = m.k ? hn_tensor_n(y) / m.k : 0;
    for (int64_t i = 0; i < rows; i++) row_of(&m, i, (float *)y->data + i * m.k);
    return HONE_OK;
}

/* In floats throughout, so that ties fall as they do in kernels. */
hone_rc hn_eval_quantize_blocks(hn_call *c) {
    const hn_tensor *x = c->in[0];
    const float *from = x->data;
    int8_t *q = c->out[0].data;
    float *scale = c->out[1].data;
    for (int64_t b = 0; b < hn_tensor_n(x) / 32; b++, from += 32, q += 32) {
        float most = 0;
        for (int i = 0; i < 32; i++) most = fabsf(from[i]) > most ? fabsf(from[i]) : most;
        float by = most > 0 ? 127.0f / most : 0;
        if (!isfinite(by)) by = 0;
        scale[b] = by > 0 ? most / 127.0f : 0;
        for (int i = 0; i < 32; i++) q[i] = (int8_t)rintf(from[i] * by);
    }
    return HONE_OK;
}

/* Row i of the other operand in doubles. */
static void other_row(const hn_call *c, int64_t i, int64_t k, double *out) {
    if (!hn_dot_of_bytes(c->g, c->node)) {
        for (int64_t j = 0; j < k; j++) out[j] = (double)((const float *)c->in[1]->data)[i * k + j];
        return;
    }
    const int8_t *q = (const int8_t *)c->in[1]->data + i * k;
    const float *scale = (const float *)c->in[2]->data + i * k / 32;
    for (int64_t j = 0; j < k; j++) out[j] = (double)q[j] * (double)scale[j / 32];
}

static hone_rc which(const hn_call *c, int64_t i, int64_t n, int64_t *out) {
    const hn_tensor *at = c->in[c->node->n_in - 1];
    int64_t x = hn_get_i(at, at->rank ? i : 0);
    *out = x < 0 ? x + n : x;
    if (*out >= 0 && *out < n) return HONE_OK;
    return hn_fail(c->err, HONE_E_INPUT, "%s: index %lld is outside of 0 to %lld", hn_call_name(c), (long long)x,
                   (long long)n - 1);
}

hone_rc hn_eval_packed_dot(hn_call *c) {
    hn_tensor *y = &c->out[0];
    int64_t rows = y->dim[0], columns = y->dim[1], k = c->in[1]->dim[1], first = 0;
    bool chosen = hn_dot_chooses(c->g, c->node);
    matrix m = matrix_of(c, k);
    double *x = HN_NEW_N(c->scratch, double, (size_t)(rows * k) + 1);
    float *w = HN_NEW_N(c->scratch, float, (size_t)k + 1);
    int64_t *matrix_at = HN_NEW_N(c->scratch, int64_t, (size_t)rows + 1);
    if (!x || !w || !matrix_at) return hn_call_nomem(c);
    for (int64_t i = 0; i < rows; i++) {
        other_row(c, i, k, x + i * k);
        hone_rc rc = chosen ? which(c, i, c->in[0]->dim[0], &matrix_at[i]) : HONE_OK;
        if (rc) return rc;
    }
    for (int64_t e = 0, last = chosen ? c->in[0]->dim[0] : 1; e < last; e++, first += m.n) {
        bool used = !chosen;
        for (int64_t i = 0; i < rows; i++) used = used || matrix_at[i] == e;
        for (int64_t j = 0; j < columns && used; j++) {
            row_of(&m, first + j, w);
            for (int64_t i = 0; i < rows; i++) {
                double sum = 0;
                if (matrix_at[i] != e) continue;
                for (int64_t t = 0; t < k; t++) sum += x[i * k + t] * (double)w[t];
                ((float *)y->data)[i * columns + j] = (float)sum;
            }
        }
    }
    return HONE_OK;
}

hone_rc hn_eval_packed_rows(hn_call *c) {
    hn_tensor *y = &c->out[0];
    matrix m = matrix_of(c, y->dim[y->rank - 1u]);
    for (int64_t i = 0; i < hn_tensor_n(c->in[1]); i++) {
        int64_t at;
        hone_rc rc = which(c, i, hn_attr_i(c->node, HN_A_ROWS, 0), &at);
        if (rc) return rc;
        row_of(&m, at, (float *)y->data + i * m.k);
    }
    return HONE_OK;
}
