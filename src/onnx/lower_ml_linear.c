/* lower_ml_linear.c — linear models of ai.onnx.ml. */
#include "onnx/lower_ml_int.h"

#include <string.h>

static hone_dtype score_type(hone_dtype t) { return t == HONE_F64 ? HONE_F64 : HONE_F32; }

hn_val hn_ml_matrix(hn_lower *c, const char *name, int64_t rows, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    const float *x;
    size_t n = hn_floats(c, name, &x);
    if (rows < 1 || !n || n % (size_t)rows) {
        hn_wrong(c, "'%s' has %zu entries for %lld rows", name, n, (long long)rows);
        return 0;
    }
    hn_dim shape[] = {hn_lit(b, rows), hn_lit(b, (int64_t)n / rows)};
    return hn_reshape(b, hn_ml_floats(c, n, x, t), 2, shape);
}

/* x [n, features] * matrix [rows, features], transposed, + intercepts */
static hn_val scores_of(hn_lower *c, int64_t rows) {
    hn_builder *b = hn_lower_builder(c);
    const float *intercept;
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 1, 2)) return 0;
    hone_dtype t = score_type(hn_dt(b, hn_in(c, 0)));
    hn_val x = hn_cast(b, hn_in(c, 0), t), w = hn_ml_matrix(c, "coefficients", rows, t);
    if (!w) return 0;
    if (hn_rank(b, x) == 1) x = hn_unsqueeze(b, x, 0);
    hn_val y = hn_contract(b, x, w, (int64_t[]){0, 1}, (int64_t[]){2, 1}, 2, (int64_t[]){0, 2}, t);
    size_t n = hn_floats(c, "intercepts", &intercept);
    return n ? hn_bin(b, HN_OP_ADD, y, hn_ml_floats(c, n, intercept, t)) : y;
}

void hn_lower_linear_regressor(hn_lower *c) {
    hn_val y = scores_of(c, hn_int(c, "targets", 1));
    if (y) y = hn_ml_post(c, y, hn_string(c, "post_transform", "NONE"));
    if (y) hn_out_as(c, 0, y, HONE_F32);
}

/* One score alone: the label is the class or 0, by a limit. */
static void label_of_one(hn_lower *c, hn_val score, const char *post) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *label;
    size_t n = hn_ints(c, "classlabels_ints", &label);
    if (!n && hn_has(c, "classlabels_strings")) {
        if (hn_wants(c, 0)) hn_refuse(c, "labels that are strings");
        return;
    }
    hn_val limit = hn_const_f(b, hn_dt(b, score), strcmp(post, "NONE") ? 0.5 : 0);
    hn_val is = hn_squeeze(b, hn_bin(b, HN_OP_LE, limit, score), 1);
    hn_out(c, 0, hn_where(b, is, hn_const_i(b, HONE_I64, n ? label[0] : 1), hn_const_i(b, HONE_I64, 0)));
}

void hn_lower_linear_classifier(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *ints;
    const char *const *strings;
    const float *intercept;
    const char *post = hn_string(c, "post_transform", "NONE");
    size_t n = hn_ints(c, "classlabels_ints", &ints), n_text = hn_strings(c, "classlabels_strings", &strings);
    size_t n_classes = n > n_text ? n : n_text, rows = hn_floats(c, "intercepts", &intercept);
    if (!rows) rows = n_classes;
    hn_val y = scores_of(c, (int64_t)rows);
    if (!y) return;
    if (rows == 1 && n_classes == 2) y = hn_concat(b, 2, (hn_val[]){hn_un(b, HN_OP_NEG, y), y}, 1);
    y = hn_ml_post(c, y, post);
    if (!y) return;
    if (rows == 1 && n_classes < 2)
        label_of_one(c, y, post);
    else
        hn_ml_labels(c, y, "classlabels_ints", "classlabels_strings");
    hn_out_as(c, 1, y, HONE_F32);
}
