/* lower_ml.c — ai.onnx.ml: its table, what several operators share, and the transformations of features. */
#include "onnx/lower_ml_int.h"

#include <math.h>
#include <string.h>

hn_val hn_ml_floats(hn_lower *c, size_t n, const float *x, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    hn_tensor v;
    if (!hn_tensor_new(&b->g->arena, HONE_F32, 1, (int64_t[]){(int64_t)n}, &v)) return 0;
    if (n) memcpy(v.data, x, n * sizeof *x);
    return hn_cast(b, hn_const(b, &v), t);
}

/* -- what follows scores */

/* exp(v - max) of what is not about 0, v * exp(-max) of what is, divided by the sum. */
static hn_val softmax_zero(hn_builder *b, hn_val v) {
    hn_val max = hn_reduce1(b, HN_OP_RMAX, v, 1, true);
    hn_val small = hn_bin_f(b, HN_OP_LE, hn_un(b, HN_OP_ABS, v), 1e-7);
    hn_val flat = hn_bin(b, HN_OP_MUL, v, hn_un(b, HN_OP_EXP, hn_un(b, HN_OP_NEG, max)));
    hn_val e = hn_where(b, small, flat, hn_un(b, HN_OP_EXP, hn_bin(b, HN_OP_SUB, v, max)));
    hn_val sum = hn_reduce1(b, HN_OP_RSUM, e, 1, true);
    hn_val none = hn_bin_f(b, HN_OP_EQ, sum, 0), one = hn_const_f(b, hn_dt(b, v), 1);
    return hn_where(b, none, hn_const_f(b, hn_dt(b, v), 0.5), hn_bin(b, HN_OP_DIV, e, hn_where(b, none, one, sum)));
}

/* The quantile of the normal distribution by Winitzki's approximation of the inverse error function (2008). */
static hn_val probit(hn_builder *b, hn_val p) {
    hn_val x = hn_bin_f(b, HN_OP_SUB, hn_bin_f(b, HN_OP_MUL, p, 2), 1);
    hn_val rest = hn_f_bin(b, HN_OP_SUB, 1, hn_bin(b, HN_OP_MUL, x, x)), log = hn_un(b, HN_OP_LOG, rest);
    hn_val v = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, log, 0.5), 2 / (3.14159265358979323846 * 0.147));
    hn_val v2 = hn_bin_f(b, HN_OP_MUL, log, 1 / 0.147);
    hn_val root = hn_un(b, HN_OP_SQRT, hn_bin(b, HN_OP_SUB, hn_bin(b, HN_OP_MUL, v, v), v2));
    hn_val size = hn_un(b, HN_OP_SQRT, hn_bin(b, HN_OP_SUB, root, v));
    hn_val y = hn_where(b, hn_bin_f(b, HN_OP_LT, x, 0), hn_un(b, HN_OP_NEG, size), size);
    y = hn_where(b, hn_bin_f(b, HN_OP_EQ, rest, 0), hn_const_f(b, hn_dt(b, p), 0), y);
    return hn_bin_f(b, HN_OP_MUL, y, 1.41421356);
}

hn_val hn_ml_post(hn_lower *c, hn_val scores, const char *name) {
    hn_builder *b = hn_lower_builder(c);
    if (!strcmp(name, "NONE")) return scores;
    if (!strcmp(name, "SOFTMAX")) return hn_softmax(b, scores, 1);
    if (!strcmp(name, "LOGISTIC")) return hn_un(b, HN_OP_SIGMOID, scores);
    if (!strcmp(name, "SOFTMAX_ZERO")) return softmax_zero(b, scores);
    if (!strcmp(name, "PROBIT")) return probit(b, scores);
    hn_wrong(c, "post_transform '%s'", name);
    return 0;
}

static hn_val argmax(hn_builder *b, hn_val v, int64_t axis, bool last) {
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, axis), hn_a_int(HN_A_KEEP, 0), hn_a_int(HN_A_LAST, last)};
    return hn_emit(b->g, b->b, HN_OP_ARGMAX, 1, &v, 3, attr, 1);
}

void hn_ml_labels(hn_lower *c, hn_val scores, const char *ints, const char *strings) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *label;
    const char *const *text;
    size_t n = hn_ints(c, ints, &label), n_text = hn_strings(c, strings, &text);
    if (n_text && !n) {
        if (hn_wants(c, 0)) hn_refuse(c, "labels that are strings");
        return;
    }
    hn_val best = argmax(b, scores, 1, false);
    hn_out(c, 0, n ? hn_gather(b, hn_const_ints(b, n, label), best, 0) : best);
}

/* -- features */

static void array_feature_extractor(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 2) || !hn_need_rank(c, 0, 1, HN_RANK_MAX - 1)) return;
    hn_val x = hn_in(c, 0), index = hn_in(c, 1);
    hn_dim count = hn_dim_product(b, index, 0, hn_rank(b, index));
    hn_val y = hn_gather(b, x, hn_reshape(b, index, 1, &count), (int64_t)hn_rank(b, x) - 1);
    hn_out(c, 0, hn_rank(b, x) == 1 ? hn_unsqueeze(b, y, 0) : y);
}

static void binarizer(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 1)) return;
    hn_val x = hn_in(c, 0), limit = hn_const_f(b, hn_dt(b, x), hn_float(c, "threshold", 0));
    hn_out(c, 0, hn_cast(b, hn_bin(b, HN_OP_LT, limit, x), hn_dt(b, x)));
}

/* Attribute `name`, one entry per feature or one for all, as a value of type t that broadcasts; 0 when absent. */
static hn_val per_feature(hn_lower *c, const char *name, hone_dtype t) {
    const float *x;
    size_t n = hn_floats(c, name, &x);
    hn_val v = n ? hn_ml_floats(c, n, x, t) : 0;
    return n == 1 ? hn_scalar(hn_lower_builder(c), v) : v;
}

static hone_dtype score_type(hone_dtype t) { return t == HONE_F64 ? HONE_F64 : HONE_F32; }

static void scaler(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    if (!hn_need(c, 1)) return;
    hone_dtype t = score_type(hn_dt(b, hn_in(c, 0)));
    hn_val x = hn_cast(b, hn_in(c, 0), t), offset = per_feature(c, "offset", t), scale = per_feature(c, "scale", t);
    if (offset) x = hn_bin(b, HN_OP_SUB, x, offset);
    if (scale) x = hn_bin(b, HN_OP_MUL, x, scale);
    hn_out_as(c, 0, x, HONE_F32);
}

static void normalizer(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const char *norm = hn_string(c, "norm", "MAX");
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 1, HN_RANK_MAX)) return;
    hn_val x = hn_cast(b, hn_in(c, 0), score_type(hn_dt(b, hn_in(c, 0)))), size = 0;
    int64_t axis = hn_rank(b, x) == 1 ? 0 : 1;
    if (!strcmp(norm, "MAX"))
        size = hn_reduce1(b, HN_OP_RMAX, hn_un(b, HN_OP_ABS, x), axis, true);
    else if (!strcmp(norm, "L1"))
        size = hn_reduce1(b, HN_OP_RSUM, hn_un(b, HN_OP_ABS, x), axis, true);
    else if (!strcmp(norm, "L2"))
        size = hn_un(b, HN_OP_SQRT, hn_reduce1(b, HN_OP_RSUM, hn_bin(b, HN_OP_MUL, x, x), axis, true));
    else {
        hn_wrong(c, "norm '%s'", norm);
        return;
    }
    hn_out_as(c, 0, hn_bin(b, HN_OP_DIV, x, hn_bin_f(b, HN_OP_MAX, size, 1e-30)), HONE_F32);
}

static void imputer(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *ints;
    if (!hn_need(c, 1)) return;
    hn_val x = hn_in(c, 0);
    hone_dtype t = hn_dt(b, x);
    size_t n = hn_ints(c, "imputed_value_int64s", &ints);
    double missing =
        hn_is_float(t) ? hn_float(c, "replaced_value_float", 0) : (double)hn_int(c, "replaced_value_int64", 0);
    hn_val value = per_feature(c, "imputed_value_floats", t);
    if (!value && n) value = hn_cast(b, hn_const_ints(b, n, ints), t);
    if (!value) {
        hn_wrong(c, "it names no values");
        return;
    }
    hn_val is = isnan(missing) ? hn_un(b, HN_OP_ISNAN, x) : hn_bin_f(b, HN_OP_EQ, x, missing);
    hn_out(c, 0, hn_where(b, is, n == 1 ? hn_scalar(b, value) : value, x));
}

static void feature_vectorizer(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_dims *t = b->g->dims;
    const int64_t *want;
    size_t n = hn_n_in(c), given = hn_ints(c, "inputdimensions", &want);
    hn_val part[64];
    if (n > 64) hn_refuse(c, "more than 64 inputs");
    if (hn_lower_failed(c) || !hn_need(c, n)) return;
    for (size_t i = 0; i < n; i++) {
        hn_val x = hn_cast(b, hn_in(c, i), HONE_F32);
        if (hn_rank(b, x) == 1) x = hn_unsqueeze(b, x, 1);
        if (hn_rank(b, x) != 2) {
            hn_wrong(c, "input %zu has rank %zu", i, hn_rank(b, x));
            return;
        }
        hn_dim have = hn_dim_of(b, x, 1), size = i < given ? hn_lit(b, want[i]) : have,
               less = hn_dim_min(t, have, size);
        if (hn_dim_equal(t, less, have) != HN_EQUAL) x = hn_slice_axis(b, x, 1, hn_lit(b, 0), less, 1);
        if (hn_dim_equal(t, less, size) != HN_EQUAL)
            x = hn_pad_axis(b, x, 1, hn_lit(b, 0), hn_dim_sub(t, size, less), 0);
        part[i] = x;
    }
    hn_out(c, 0, hn_concat(b, n, part, 1));
}

/* x [...] against keys [k]: bool [..., k]; NaN equals NaN. */
static hn_val matches(hn_builder *b, hn_val x, hn_val keys) {
    hn_val one = hn_unsqueeze(b, x, (int64_t)hn_rank(b, x)), is = hn_bin(b, HN_OP_EQ, one, keys);
    if (!hn_is_float(hn_dt(b, x))) return is;
    return hn_bin(b, HN_OP_OR, is, hn_bin(b, HN_OP_AND, hn_un(b, HN_OP_ISNAN, one), hn_un(b, HN_OP_ISNAN, keys)));
}

static void one_hot_encoder(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *cats;
    size_t n = hn_ints(c, "cats_int64s", &cats);
    if (!hn_need(c, 1)) return;
    if (!n) {
        hn_refuse(c, "categories that are strings");
        return;
    }
    hn_val x = hn_in(c, 0);
    if (hn_is_float(hn_dt(b, x))) x = hn_un(b, HN_OP_TRUNC, x);
    hn_out_as(c, 0, matches(b, x, hn_cast(b, hn_const_ints(b, n, cats), hn_dt(b, x))), HONE_F32);
}

/* One side of a mapping: `prefix`s_int64s, _floats or _tensor as a vector; 0 when absent or strings. */
static hn_val mapping(hn_lower *c, const char *ints, const char *floats, const char *tensor, bool *strings,
                      const char *text) {
    const int64_t *i;
    const float *f;
    const char *const *s;
    size_t n = hn_ints(c, ints, &i);
    if (n) return hn_const_ints(hn_lower_builder(c), n, i);
    n = hn_floats(c, floats, &f);
    if (n) return hn_ml_floats(c, n, f, HONE_F32);
    *strings = *strings || hn_strings(c, text, &s) > 0;
    const hn_tensor *t = *strings ? NULL : hn_tensor_attr(c, tensor);
    return t && t->rank == 1 ? hn_const(hn_lower_builder(c), t) : 0;
}

static hn_val default_label(hn_lower *c, hone_dtype t) {
    hn_builder *b = hn_lower_builder(c);
    const hn_tensor *x = hn_has(c, "default_tensor") ? hn_tensor_attr(c, "default_tensor") : NULL;
    if (x) return hn_cast(b, hn_scalar(b, hn_const(b, x)), t);
    if (hn_is_float(t)) return hn_const_f(b, t, hn_float(c, "default_float", -0.0));
    return hn_const_i(b, t, hn_int(c, "default_int64", -1));
}

static void label_encoder(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    bool strings = false;
    if (!hn_need(c, 1)) return;
    if (hn_has(c, "classes_strings")) strings = true;
    hn_val x = hn_in(c, 0);
    hn_val keys = mapping(c, "keys_int64s", "keys_floats", "keys_tensor", &strings, "keys_strings");
    hn_val values =
        keys ? mapping(c, "values_int64s", "values_floats", "values_tensor", &strings, "values_strings") : 0;
    if (strings) {
        hn_refuse(c, "a mapping with strings");
        return;
    }
    if (!keys || !values || hn_lower_failed(c)) {
        if (!hn_lower_failed(c)) hn_wrong(c, "keys or values are missing");
        return;
    }
    if (hn_dim_equal(b->g->dims, hn_dim_of(b, keys, 0), hn_dim_of(b, values, 0)) != HN_EQUAL) {
        hn_wrong(c, "keys and values differ in number");
        return;
    }
    hn_val is = matches(b, x, hn_cast(b, keys, hn_dt(b, x)));
    int64_t last = (int64_t)hn_rank(b, x);
    hn_val found = hn_gather(b, values, argmax(b, hn_cast(b, is, HONE_U8), last, true), 0);
    hn_out(c, 0, hn_where(b, hn_reduce1(b, HN_OP_RMAX, is, last, false), found, default_label(c, hn_dt(b, values))));
}

const hn_lower_row hn_lower_ml[] = {
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, HN_OPSET_MAX, array_feature_extractor, 0},
    {"ai.onnx.ml", "Binarizer", 1, HN_OPSET_MAX, binarizer, 0},
    {"ai.onnx.ml", "FeatureVectorizer", 1, HN_OPSET_MAX, feature_vectorizer, 0},
    {"ai.onnx.ml", "Imputer", 1, HN_OPSET_MAX, imputer, 0},
    {"ai.onnx.ml", "LabelEncoder", 1, HN_OPSET_MAX, label_encoder, 0},
    {"ai.onnx.ml", "LinearClassifier", 1, HN_OPSET_MAX, hn_lower_linear_classifier, 0},
    {"ai.onnx.ml", "LinearRegressor", 1, HN_OPSET_MAX, hn_lower_linear_regressor, 0},
    {"ai.onnx.ml", "Normalizer", 1, HN_OPSET_MAX, normalizer, 0},
    {"ai.onnx.ml", "OneHotEncoder", 1, HN_OPSET_MAX, one_hot_encoder, 0},
    {"ai.onnx.ml", "SVMClassifier", 1, HN_OPSET_MAX, hn_lower_svm_classifier, 0},
    {"ai.onnx.ml", "SVMRegressor", 1, HN_OPSET_MAX, hn_lower_svm_regressor, 0},
    {"ai.onnx.ml", "Scaler", 1, HN_OPSET_MAX, scaler, 0},
    {"ai.onnx.ml", "TreeEnsemble", 5, HN_OPSET_MAX, hn_lower_tree_ensemble, 0},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, HN_OPSET_MAX, hn_lower_tree_classifier, 0},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, HN_OPSET_MAX, hn_lower_tree_regressor, 0},
    {"", "TfIdfVectorizer", 9, HN_OPSET_MAX, hn_lower_tfidf, 0},
    {0},
};
