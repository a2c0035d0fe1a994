/* backend/cpu/reference_packed.c — packed weights, row by row: rows of the weights become floats by
 * src/ir/block_decode.h, sums are double. */
#include "backend/cpu/reference_int.h"
#include "ir/packed.h"

/* Opens the loop over rows `row` of output 0 that fall to this call. */
static void rows_open(hn_ref *e) {
    const hn_type *t = hn_ref_type(e, e->n->out[0]);
    const char *rows = hn_ref_dim(e, hn_ref_product(e, t, 0, t->rank - 1u));
    hn_ref_add(e, "for (int64_t row = %s; row < %s; row++) {\n", e->split ? "begin" : "0", e->split ? "end" : rows);
}

static int64_t last_of(const hn_ref *e, hn_val v) {
    const hn_type *t = hn_ref_type(e, v);
    int64_t n = 0;
    hn_dim_is_int(e->g->dims, t->dim[t->rank - 1u], &n);
    return n;
}

/* Declares the weights as `m`, of rows with k elements. */
static void matrix(hn_ref *e, int64_t k) {
    const hn_codec *c = hn_codec_of(e->n);
    hn_ref_add(e, "static const uint8_t unit[][2] = {");
    for (int u = 0; u < HN_UNITS_MAX && c->unit[u][0]; u++)
        hn_ref_add(e, "{%d, %d}, ", (int)c->unit[u][0], (int)c->unit[u][1]);
    hn_ref_add(e, "{0, 0}};\n");
    hn_ref_add(e, "const hn_dec_matrix m = {(const uint8_t *)%s, %s, %s, ", e->at[e->n->in[0]],
               hn_ref_int(e, hn_attr_i(e->n, HN_A_PANEL, 0)), hn_ref_int(e, hn_codec_row_b(c, k)));
    hn_ref_add(e, "%s, %s, unit, %s};\n", hn_ref_int(e, c->size_b), hn_ref_int(e, c->elements), c->decode_name);
}

void hn_ref_unpack(hn_ref *e) {
    int64_t k = last_of(e, e->n->out[0]);
    matrix(e, k);
    rows_open(e);
    hn_ref_add(e, "hn_dec_row(&m, row, (float *)%s + row * %s);\n}\n", e->at[e->n->out[0]], hn_ref_int(e, k));
}

void hn_ref_quantize_blocks(hn_ref *e) {
    const char *const *at = e->at;
    const char *blocks = hn_ref_int(e, last_of(e, e->n->in[0]) / 32);
    hn_digits how = hn_digits_of(e->n);
    rows_open(e);
    if (how) {
        hn_ref_add(e, "hnr_quantize_row((const float *)%s + 32 * %s * row, %s, %d, (int8_t *)%s + 64 * %s * row, ",
                   at[e->n->in[0]], blocks, blocks, how == HN_DIGITS_TWO, at[e->n->out[0]], blocks);
        hn_ref_add(e, "(float *)%s + %s * row);\n}\n", at[e->n->out[1]], blocks);
        return;
    }
    hn_ref_add(e, "for (int64_t b = row * %s; b < (row + 1) * %s; b++)\n", blocks, blocks);
    hn_ref_add(e, "hnr_quantize_32((const float *)%s + 32 * b, (int8_t *)%s + 32 * b, ", at[e->n->in[0]],
               at[e->n->out[0]]);
    hn_ref_add(e, "(float *)%s + b);\n}\n", at[e->n->out[1]]);
}

/* Element i of the indices, which are input `which`, as an index below n. */
static const char *index_at(hn_ref *e, hn_val v, const char *i, int64_t n) {
    return hn_format(e->a, "hnr_index(s, %s, %s)", hn_ref_load(e, v, i), hn_ref_int(e, n));
}

static void other_element(hn_ref *e, int64_t k) {
    const char *const *at = e->at;
    const hn_val *in = e->n->in;
    if (!hn_dot_of_bytes(e->g, e->n))
        hn_ref_add(e, "const double x = (double)((const float *)%s)[row * %s + k];\n", at[in[1]], hn_ref_int(e, k));
    else if (hn_dot_digits(e->g, e->n) == 2)
        hn_ref_add(e,
                   "const int8_t *const q = (const int8_t *)%s + row * %s * 2 + k;\nconst double x = (double)(q[0] + "
                   "128 * q[%s]) * (double)((const float *)%s)[(row * %s + k) / 32];\n",
                   at[in[1]], hn_ref_int(e, k), hn_ref_int(e, k), at[in[2]], hn_ref_int(e, k));
    else
        hn_ref_add(e,
                   "const double x = (double)((const int8_t *)%s)[row * %s + k] * (double)((const float *)%s)[(row * "
                   "%s + k) / 32];\n",
                   at[in[1]], hn_ref_int(e, k), at[in[2]], hn_ref_int(e, k));
}

void hn_ref_packed_dot(hn_ref *e) {
    const hn_node *n = e->n;
    const hn_type *w = hn_ref_type(e, n->in[0]);
    bool chosen = hn_dot_chooses(e->g, n);
    int64_t k = hn_dot_length(e->g, n), columns = last_of(e, n->out[0]), matrices = 1, rows = 0;
    hn_dim_is_int(e->g->dims, w->dim[w->rank - 2u], &rows);
    if (chosen) hn_dim_is_int(e->g->dims, w->dim[0], &matrices);
    if (hn_attr_i(n, HN_A_PANEL, 0)) rows *= HN_PANEL;
    matrix(e, k);
    hn_ref_scratch(e, "line_b", hn_dim_int(e->g->dims, 4 * k));
    hn_ref_add(e, "float *const line = (float *)(void *)line_b;\n");
    rows_open(e);
    hn_ref_add(e, "const int64_t first = %s;\n",
               chosen ? hn_format(e->a, "%s * %s",
                                  index_at(e, n->in[n->n_in - 1],
                                           hn_ref_type(e, n->in[n->n_in - 1])->rank ? "row" : "0", matrices),
                                  hn_ref_int(e, rows))
                      : "0");
    hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) {\ndouble sum = 0;\nhn_dec_row(&m, first + j, line);\n",
               hn_ref_int(e, columns));
    hn_ref_add(e, "for (int64_t k = 0; k < %s; k++) {\n", hn_ref_int(e, k));
    other_element(e, k);
    hn_ref_add(e, "sum += x * (double)line[k];\n}\n((float *)%s)[row * %s + j] = (float)sum;\n}\n}\n", e->at[n->out[0]],
               hn_ref_int(e, columns));
}

void hn_ref_packed_rows(hn_ref *e) {
    int64_t k = last_of(e, e->n->out[0]);
    matrix(e, k);
    rows_open(e);
    hn_ref_add(e, "hn_dec_row(&m, %s, (float *)%s + row * %s);\n}\n",
               index_at(e, e->n->in[1], "row", hn_attr_i(e->n, HN_A_ROWS, 0)), e->at[e->n->out[0]], hn_ref_int(e, k));
}
