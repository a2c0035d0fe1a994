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

/* One block in floats throughout, so that ties fall as they do in kernels (rt/packed.h). row: the row's largest. */
static void quantize(const float *x, hn_digits how, float row, int8_t *low, int8_t *high, float *scale) {
    float word[8] = {0}, most = 0, rest = 0, by;
    for (int i = 0; i < 32; i++) word[i / 4] = fmaxf(word[i / 4], fabsf(x[i]));
    for (int i = 0; i < 8; i++) most = fmaxf(most, word[i]);
    for (int i = 0; i < 8; i++)
        if (word[i] < most) rest = fmaxf(rest, word[i]);
    bool apart = how == HN_DIGITS_AUTO && most >= 2 * rest && most >= 0.25f * row;
    float unit = how == HN_DIGITS_TWO ? most / 128.0f : apart ? fmaxf(rest, most / 128.0f) : most;
    by = unit > 0 ? 127.0f / unit : 0;
    if (!isfinite(by)) by = 0;
    *scale = by > 0 ? unit / 127.0f : 0;
    for (int i = 0; i < 32; i++) {
        int v = (int)rintf(x[i] * by), up = how == HN_DIGITS_TWO || (apart && word[i / 4] >= most) ? (v + 64) >> 7 : 0;
        low[i] = (int8_t)(v - 128 * up);
        if (how) high[i] = (int8_t)up;
    }
}

hone_rc hn_eval_quantize_blocks(hn_call *c) {
    const hn_tensor *x = c->in[0];
    hn_digits how = hn_digits_of(c->node);
    int64_t k = x->dim[x->rank - 1u], rows = k ? hn_tensor_n(x) / k : 0;
    for (int64_t r = 0; r < rows; r++) {
        const float *from = (const float *)x->data + r * k;
        int8_t *low = (int8_t *)c->out[0].data + r * k * (how ? 2 : 1);
        float most = 0;
        for (int64_t i = 0; how == HN_DIGITS_AUTO && i < k; i++) most = fmaxf(most, fabsf(from[i]));
        for (int64_t i = 0; i < k; i += 32)
            quantize(from + i, how, most, low + i, low + k + i, (float *)c->out[1].data + (r * k + i) / 32);
    }
    return HONE_OK;
}

/* Row i of the other operand in doubles. */
static void other_row(const hn_call *c, int64_t i, int64_t k, double *out) {
    if (!hn_dot_of_bytes(c->g, c->node)) {
        for (int64_t j = 0; j < k; j++) out[j] = (double)((const float *)c->in[1]->data)[i * k + j];
        return;
    }
    int digits = hn_dot_digits(c->g, c->node);
    const int8_t *q = (const int8_t *)c->in[1]->data + i * k * digits;
    const float *scale = (const float *)c->in[2]->data + i * k / 32;
    for (int64_t j = 0; j < k; j++)
        out[j] = (double)(q[j] + (digits == 2 ? 128 * q[k + j] : 0)) * (double)scale[j / 32];
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
    int64_t rows = y->dim[0], columns = y->dim[1], k = hn_dot_length(c->g, c->node), first = 0;
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
