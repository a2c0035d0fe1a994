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

/* On a device, in front of the kernel: a function that decodes block b of row i. */
static void block_function(hn_ref *e, int64_t k) {
    const hn_codec *c = hn_codec_of(e->n);
    long long panel = hn_attr_i(e->n, HN_A_PANEL, 0), row_b = hn_codec_row_b(c, k), size_b = c->size_b;
    hn_str *t = &e->tables;
    hn_str_addf(t, "HNR void %s_block(HNR_GLOBAL const uint8_t *data, int64_t i, int64_t b, float *out) {\n", e->name);
    hn_str_addf(t, "    uint8_t block[%lld];\n", size_b);
    if (!panel) {
        hn_str_addf(t, "    data += i * %lld + b * %lld;\n", row_b, size_b);
        hn_str_addf(t, "    for (int k = 0; k < %lld; k++) block[k] = data[k];\n", size_b);
    } else {
        hn_str_addf(t, "    data += i / %lld * %lld + b * %lld;\n", panel, panel * row_b, panel * size_b);
        hn_str_addf(t, "    int column = (int)(i %% %lld), at = 0;\n", panel);
        for (int u = 0; u < HN_UNITS_MAX && c->unit[u][0]; u++)
            hn_str_addf(t,
                        "    for (int k = 0; k < %d; k++, data += %d)\n"
                        "        for (int j = 0; j < %d; j++) block[at++] = data[column * %d + j];\n",
                        c->unit[u][1], 16 * c->unit[u][0], c->unit[u][0], c->unit[u][0]);
    }
    hn_str_addf(t, "    %s(block, out);\n}\n", c->decode_name);
}

/* On a device: opens loops over the elements e_ of row `row_text` of the weights, decoded as value[e_], element k of
 * the row; to be closed by two braces. */
static void elements_open(hn_ref *e, const char *row_text, int64_t k) {
    const hn_codec *c = hn_codec_of(e->n);
    hn_ref_add(e, "for (int64_t b_ = 0; b_ < %s; b_++) {\nfloat value[256];\n", hn_ref_int(e, k / c->elements));
    hn_ref_add(e, "%s_block((HNR_GLOBAL const uint8_t *)%s, %s, b_, value);\n", e->name, e->at[e->n->in[0]], row_text);
    hn_ref_add(e, "for (int e_ = 0; e_ < %s; e_++) {\nconst int64_t k = b_ * %s + e_;\n", hn_ref_int(e, c->elements),
               hn_ref_int(e, c->elements));
}

/* On a device: a row of floats of the result, row `row_text` of the weights. */
static void row_of_floats(hn_ref *e, const char *row_text, int64_t k) {
    elements_open(e, row_text, k);
    hn_ref_add(e, "((HNR_GLOBAL float *)%s)[row * %s + k] = value[e_];\n}\n}\n", e->at[e->n->out[0]], hn_ref_int(e, k));
}

/* Declares the weights as `m`, of rows with k elements. */
static void matrix(hn_ref *e, int64_t k) {
    const hn_codec *c = hn_codec_of(e->n);
    if (e->language->device) {
        block_function(e, k);
        return;
    }
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
    if (e->language->device) {
        row_of_floats(e, "row", k);
        hn_ref_add(e, "}\n");
        return;
    }
    hn_ref_add(e, "hn_dec_row(&m, row, (float *)%s + row * %s);\n}\n", e->at[e->n->out[0]], hn_ref_int(e, k));
}

void hn_ref_quantize_blocks(hn_ref *e) {
    const char *const *at = e->at;
    const char *blocks = hn_ref_int(e, last_of(e, e->n->in[0]) / 32);
    hn_digits how = hn_digits_of(e->n);
    const char *space = e->language->global;
    rows_open(e);
    if (how) {
        hn_ref_add(e, "hnr_quantize_row((%sconst float *)%s + 32 * %s * row, %s, %d, (%sint8_t *)%s + 64 * %s * row, ",
                   space, at[e->n->in[0]], blocks, blocks, how == HN_DIGITS_TWO, space, at[e->n->out[0]], blocks);
        hn_ref_add(e, "(%sfloat *)%s + %s * row);\n}\n", space, at[e->n->out[1]], blocks);
        return;
    }
    hn_ref_add(e, "for (int64_t b = row * %s; b < (row + 1) * %s; b++)\n", blocks, blocks);
    hn_ref_add(e, "hnr_quantize_32((%sconst float *)%s + 32 * b, (%sint8_t *)%s + 32 * b, ", space, at[e->n->in[0]],
               space, at[e->n->out[0]]);
    hn_ref_add(e, "(%sfloat *)%s + b);\n}\n", space, at[e->n->out[1]]);
}

/* Element i of the indices, which are input `which`, as an index below n. */
static const char *index_at(hn_ref *e, hn_val v, const char *i, int64_t n) {
    return hn_format(e->a, "hnr_index(s, %s, %s)", hn_ref_load(e, v, i), hn_ref_int(e, n));
}

static void other_element(hn_ref *e, int64_t k) {
    const char *const *at = e->at;
    const hn_val *in = e->n->in;
    const char *space = e->language->global;
    if (!hn_dot_of_bytes(e->g, e->n))
        hn_ref_add(e, "const double x = (double)((%sconst float *)%s)[row * %s + k];\n", space, at[in[1]],
                   hn_ref_int(e, k));
    else if (hn_dot_digits(e->g, e->n) == 2)
        hn_ref_add(e,
                   "%sconst int8_t *const q = (%sconst int8_t *)%s + row * %s * 2 + k;\nconst double x = "
                   "(double)(q[0] + 128 * q[%s]) * (double)((%sconst float *)%s)[(row * %s + k) / 32];\n",
                   space, space, at[in[1]], hn_ref_int(e, k), hn_ref_int(e, k), space, at[in[2]], hn_ref_int(e, k));
    else
        hn_ref_add(e,
                   "const double x = (double)((%sconst int8_t *)%s)[row * %s + k] * (double)((%sconst float *)%s)[(row "
                   "* %s + k) / 32];\n",
                   space, at[in[1]], hn_ref_int(e, k), space, at[in[2]], hn_ref_int(e, k));
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
    if (!e->language->device) {
        hn_ref_scratch(e, "line_b", hn_dim_int(e->g->dims, 4 * k));
        hn_ref_add(e, "float *const line = (float *)(void *)line_b;\n");
    }
    rows_open(e);
    hn_ref_add(e, "const int64_t first = %s;\n",
               chosen ? hn_format(e->a, "%s * %s",
                                  index_at(e, n->in[n->n_in - 1],
                                           hn_ref_type(e, n->in[n->n_in - 1])->rank ? "row" : "0", matrices),
                                  hn_ref_int(e, rows))
                      : "0");
    hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) {\ndouble sum = 0;\n", hn_ref_int(e, columns));
    if (e->language->device) {
        elements_open(e, "first + j", k);
        other_element(e, k);
        hn_ref_add(e,
                   "sum += x * (double)value[e_];\n}\n}\n((HNR_GLOBAL float *)%s)[row * %s + j] = (float)sum;\n}\n}\n",
                   e->at[n->out[0]], hn_ref_int(e, columns));
        return;
    }
    hn_ref_add(e, "hn_dec_row(&m, first + j, line);\n");
    hn_ref_add(e, "for (int64_t k = 0; k < %s; k++) {\n", hn_ref_int(e, k));
    other_element(e, k);
    hn_ref_add(e, "sum += x * (double)line[k];\n}\n((float *)%s)[row * %s + j] = (float)sum;\n}\n}\n", e->at[n->out[0]],
               hn_ref_int(e, columns));
}

void hn_ref_packed_rows(hn_ref *e) {
    int64_t k = last_of(e, e->n->out[0]);
    matrix(e, k);
    rows_open(e);
    if (e->language->device) {
        hn_ref_add(e, "const int64_t which = %s;\n", index_at(e, e->n->in[1], "row", hn_attr_i(e->n, HN_A_ROWS, 0)));
        row_of_floats(e, "which", k);
        hn_ref_add(e, "}\n");
        return;
    }
    hn_ref_add(e, "hn_dec_row(&m, %s, (float *)%s + row * %s);\n}\n",
               index_at(e, e->n->in[1], "row", hn_attr_i(e->n, HN_A_ROWS, 0)), e->at[e->n->out[0]], hn_ref_int(e, k));
}
