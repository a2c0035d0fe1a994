/* lower_ml_linear.c — linear models and support vectors of ai.onnx.ml. */
#include "import/lower_ml_int.h"

#include <math.h>
#include <string.h>

static hone_dtype score_type(hone_dtype t) { return t == HONE_F64 ? HONE_F64 : HONE_F32; }

/* Attribute `name` as a matrix of `rows` rows of type t; 0 after a failure. */
static hn_val matrix(hn_lower *c, const char *name, int64_t rows, hone_dtype t) {
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
    hn_val x = hn_cast(b, hn_in(c, 0), t), w = matrix(c, "coefficients", rows, t);
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

/* -- support vectors */

typedef struct kernel {
    const char *type;
    double gamma, coef0, degree;
} kernel;

/* x [n, f] against every support vector [s, f]: [n, s]. */
static hn_val kernel_of(hn_lower *c, const kernel *k, hn_val x, hn_val sv) {
    hn_builder *b = hn_lower_builder(c);
    hone_dtype t = hn_dt(b, x);
    if (!strcmp(k->type, "RBF")) {
        hn_val d = hn_bin(b, HN_OP_SUB, hn_unsqueeze(b, x, 1), hn_unsqueeze(b, sv, 0));
        hn_val s = hn_reduce1(b, HN_OP_RSUM, hn_bin(b, HN_OP_MUL, d, d), 2, false);
        return hn_un(b, HN_OP_EXP, hn_bin_f(b, HN_OP_MUL, s, -k->gamma));
    }
    hn_val s = hn_contract(b, x, sv, (int64_t[]){0, 1}, (int64_t[]){2, 1}, 2, (int64_t[]){0, 2}, t);
    if (!strcmp(k->type, "LINEAR")) return s;
    s = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, s, k->gamma), k->coef0);
    if (!strcmp(k->type, "SIGMOID")) return hn_un(b, HN_OP_TANH, s);
    if (!strcmp(k->type, "POLY")) return hn_bin_f(b, HN_OP_POW, s, trunc(k->degree));
    hn_wrong(c, "kernel_type '%s'", k->type);
    return 0;
}

void hn_lower_svm_regressor(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const float *params, *rho;
    kernel k = {.type = hn_string(c, "kernel_type", "LINEAR")};
    int64_t supports = hn_int(c, "n_supports", 0);
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 2, 2)) return;
    if (hn_floats(c, "kernel_params", &params) >= 3) k.gamma = params[0], k.coef0 = params[1], k.degree = params[2];
    hone_dtype t = score_type(hn_dt(b, hn_in(c, 0)));
    hn_val x = hn_cast(b, hn_in(c, 0), t), w = matrix(c, "coefficients", 1, t), y = x;
    if (supports > 0) {
        hn_val sv = matrix(c, "support_vectors", supports, t);
        y = sv ? kernel_of(c, &k, x, sv) : 0;
    }
    if (!y || !w) return;
    y = hn_contract(b, y, w, (int64_t[]){0, 1}, (int64_t[]){2, 1}, 2, (int64_t[]){0, 2}, t);
    if (hn_floats(c, "rho", &rho)) y = hn_bin_f(b, HN_OP_ADD, y, rho[0]);
    if (hn_int(c, "one_class", 0))
        y = hn_where(b, hn_bin_f(b, HN_OP_LE, y, 0), hn_const_f(b, t, -1), hn_const_f(b, t, 1));
    else
        y = hn_ml_post(c, y, hn_string(c, "post_transform", "NONE"));
    if (y) hn_out_as(c, 0, y, HONE_F32);
}
