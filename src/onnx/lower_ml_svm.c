/* lower_ml_svm.c — support vector machines of ai.onnx.ml. A classifier with support vectors decides between each pair
 * of classes: all decisions are one product of the kernel values with a matrix that the pairs' coefficients make up,
 * and votes are one more.
 */
#include "onnx/lower_ml_int.h"

#include <math.h>
#include <string.h>

enum { CLASSES_MOST = 1024 };

static hone_dtype score_type(hone_dtype t) { return t == HONE_F64 ? HONE_F64 : HONE_F32; }

typedef struct kernel {
    const char *type;
    double gamma, coef0, degree;
} kernel;

static kernel read_kernel(hn_lower *c) {
    const float *p;
    kernel k = {.type = hn_string(c, "kernel_type", "LINEAR")};
    if (hn_floats(c, "kernel_params", &p) >= 3) k.gamma = p[0], k.coef0 = p[1], k.degree = trunc(p[2]);
    return k;
}

/* x [n, i] * w [o, i], transposed */
static hn_val product(hn_builder *b, hn_val x, hn_val w) {
    return hn_contract(b, x, w, (int64_t[]){0, 1}, (int64_t[]){2, 1}, 2, (int64_t[]){0, 2}, hn_dt(b, x));
}

/* x [n, f] against every support vector [s, f]: [n, s]; 0 after a failure. */
static hn_val kernel_of(hn_lower *c, const kernel *k, hn_val x, hn_val sv) {
    hn_builder *b = hn_lower_builder(c);
    if (!strcmp(k->type, "RBF")) {
        hn_val d = hn_bin(b, HN_OP_SUB, hn_unsqueeze(b, x, 1), hn_unsqueeze(b, sv, 0));
        hn_val s = hn_reduce1(b, HN_OP_RSUM, hn_bin(b, HN_OP_MUL, d, d), 2, false);
        return hn_un(b, HN_OP_EXP, hn_bin_f(b, HN_OP_MUL, s, -k->gamma));
    }
    hn_val s = product(b, x, sv);
    if (!strcmp(k->type, "LINEAR")) return s;
    s = hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_MUL, s, k->gamma), k->coef0);
    if (!strcmp(k->type, "SIGMOID")) return hn_un(b, HN_OP_TANH, s);
    if (!strcmp(k->type, "POLY")) return hn_bin_f(b, HN_OP_POW, s, k->degree);
    hn_wrong(c, "kernel_type '%s'", k->type);
    return 0;
}

void hn_lower_svm_regressor(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    const float *rho;
    kernel k = read_kernel(c);
    int64_t supports = hn_int(c, "n_supports", 0);
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 2, 2)) return;
    hone_dtype t = score_type(hn_dt(b, hn_in(c, 0)));
    hn_val x = hn_cast(b, hn_in(c, 0), t), w = hn_ml_matrix(c, "coefficients", 1, t), y = x;
    if (supports > 0) {
        hn_val sv = hn_ml_matrix(c, "support_vectors", supports, t);
        y = sv ? kernel_of(c, &k, x, sv) : 0;
    }
    if (!y || !w) return;
    y = product(b, y, w);
    if (hn_floats(c, "rho", &rho)) y = hn_bin_f(b, HN_OP_ADD, y, rho[0]);
    if (hn_int(c, "one_class", 0))
        y = hn_where(b, hn_bin_f(b, HN_OP_LE, y, 0), hn_const_f(b, t, -1), hn_const_f(b, t, 1));
    else
        y = hn_ml_post(c, y, hn_string(c, "post_transform", "NONE"));
    if (y) hn_out_as(c, 0, y, HONE_F32);
}

/* -- classifier */

typedef struct machine {
    hn_lower *c;
    hn_builder *b;
    hone_dtype t;
    hn_val x;
    int64_t n_class, n_vector, n_pair;
    const int64_t *per_class; /* support vectors of each class */
    const float *coef, *rho;
    size_t n_coef, n_rho;
} machine;

static bool read_machine(machine *m) {
    hn_lower *c = m->c;
    const int64_t *ints;
    const char *const *strings;
    size_t n = hn_ints(c, "classlabels_ints", &ints), n_text = hn_strings(c, "classlabels_strings", &strings), vectors;
    m->n_class = (int64_t)(n > n_text ? n : n_text);
    if (!m->n_class) m->n_class = 1;
    m->n_coef = hn_floats(c, "coefficients", &m->coef);
    m->n_rho = hn_floats(c, "rho", &m->rho);
    vectors = hn_ints(c, "vectors_per_class", &m->per_class);
    if (m->n_class > CLASSES_MOST) hn_refuse(c, "%lld classes; at most %d", (long long)m->n_class, CLASSES_MOST);
    if (vectors && (int64_t)vectors != m->n_class) hn_wrong(c, "vectors_per_class has %zu entries", vectors);
    for (size_t i = 0; i < vectors && !hn_lower_failed(c); i++) {
        if (m->per_class[i] < 0 || m->per_class[i] > INT32_MAX) hn_wrong(c, "vectors_per_class");
        m->n_vector += m->per_class[i];
    }
    m->n_pair = m->n_class * (m->n_class - 1) / 2;
    if (m->n_vector &&
        ((int64_t)m->n_coef != (m->n_class - 1) * m->n_vector || (int64_t)m->n_rho < m->n_pair || !m->n_pair))
        hn_wrong(c, "coefficients, rho and vectors_per_class do not fit %lld classes", (long long)m->n_class);
    if (!m->n_rho) hn_wrong(c, "rho is missing");
    if (hn_has(c, "prob_a") && m->n_vector)
        hn_refuse(c, "probabilities (prob_a), which an iteration finds; without them, as of SVC(probability=False), "
                     "labels and scores are the same");
    return !hn_lower_failed(c);
}

/* A matrix of pairs by `columns`, made by fill. */
typedef double pair_fill(const machine *m, int64_t pair, int64_t i, int64_t j, int64_t column);
static hn_val pair_matrix(const machine *m, int64_t columns, pair_fill *fill) {
    hn_tensor w;
    if (!hn_tensor_new(&m->b->g->arena, m->t, 2, (int64_t[]){m->n_pair, columns}, &w)) return 0;
    for (int64_t i = 0, p = 0; i < m->n_class; i++)
        for (int64_t j = i + 1; j < m->n_class; j++, p++)
            for (int64_t k = 0; k < columns; k++) hn_set_f(&w, p * columns + k, fill(m, p, i, j, k));
    return hn_const(m->b, &w);
}
/* The coefficient with which support vector `column` takes part in the decision between classes i and j. */
static double decision(const machine *m, int64_t pair, int64_t i, int64_t j, int64_t column) {
    int64_t owner = 0, end = m->per_class[0];
    (void)pair;
    while (column >= end) end += m->per_class[++owner];
    return owner == i ? m->coef[(j - 1) * m->n_vector + column] : owner == j ? m->coef[i * m->n_vector + column] : 0;
}
static double bias(const machine *m, int64_t pair, int64_t i, int64_t j, int64_t column) {
    (void)i, (void)j, (void)column;
    return m->rho[pair];
}
static double first_wins(const machine *m, int64_t pair, int64_t i, int64_t j, int64_t column) {
    (void)m, (void)pair, (void)j;
    return column == i;
}
static double second_wins(const machine *m, int64_t pair, int64_t i, int64_t j, int64_t column) {
    (void)m, (void)pair, (void)i;
    return column == j;
}

/* matrix [pairs, columns] the other way round */
static hn_val transposed(hn_builder *b, hn_val w) { return hn_transpose(b, w, (int64_t[]){1, 0}); }

/* Scores [n, pairs]; *votes [n, classes]. */
static hn_val decide(const machine *m, hn_val *votes) {
    hn_builder *b = m->b;
    kernel k = read_kernel(m->c);
    hn_val sv = hn_ml_matrix(m->c, "support_vectors", m->n_vector, m->t),
           values = sv ? kernel_of(m->c, &k, m->x, sv) : 0;
    if (!values) return 0;
    hn_val rho = hn_squeeze(b, pair_matrix(m, 1, bias), 1);
    hn_val s = hn_bin(b, HN_OP_ADD, product(b, values, pair_matrix(m, m->n_vector, decision)), rho);
    hn_val no = hn_cast(b, hn_bin_f(b, HN_OP_LE, s, 0), m->t), yes = hn_f_bin(b, HN_OP_SUB, 1, no);
    *votes = hn_bin(b, HN_OP_ADD, product(b, yes, transposed(b, pair_matrix(m, m->n_class, first_wins))),
                    product(b, no, transposed(b, pair_matrix(m, m->n_class, second_wins))));
    return s;
}

/* One score alone and labels that are no two: 1 or 0 by its sign. */
static void label_by_sign(const machine *m, hn_val score) {
    hn_builder *b = m->b;
    hn_val no = hn_squeeze(b, hn_bin_f(b, HN_OP_LE, score, 0), 1);
    hn_out(m->c, 0, hn_where(b, no, hn_const_i(b, HONE_I64, 0), hn_const_i(b, HONE_I64, 1)));
}

/* Two classes of which no coefficient is negative: the second as soon as the strongest weight reaches a half. */
static void label_of_positive(const machine *m, hn_val votes) {
    hn_builder *b = m->b;
    const int64_t *label;
    if (hn_ints(m->c, "classlabels_ints", &label) != 2) {
        if (hn_wants(m->c, 0)) hn_refuse(m->c, "labels that are strings");
        return;
    }
    hn_val zero = hn_slice_axis(b, votes, 1, hn_lit(b, 0), hn_lit(b, 1), 1),
           one = hn_slice_axis(b, votes, 1, hn_lit(b, 1), hn_lit(b, 1), 1);
    hn_val most = hn_bin(b, HN_OP_MAX, zero, one), half = hn_const_f(b, m->t, 0.5);
    hn_val second = hn_bin(b, HN_OP_OR, hn_bin(b, HN_OP_LE, half, most), hn_bin(b, HN_OP_LT, zero, one));
    hn_out(m->c, 0,
           hn_where(b, hn_squeeze(b, second, 1), hn_const_i(b, HONE_I64, label[1]), hn_const_i(b, HONE_I64, label[0])));
}

static bool all_positive(const machine *m) {
    for (size_t i = 0; i < m->n_coef; i++)
        if (!(m->coef[i] >= 0)) return false;
    return true;
}

void hn_lower_svm_classifier(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    machine m = {.c = c, .b = b};
    const char *post = hn_string(c, "post_transform", "NONE");
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 2, 2) || !read_machine(&m)) return;
    m.t = score_type(hn_dt(b, hn_in(c, 0)));
    m.x = hn_cast(b, hn_in(c, 0), m.t);
    hn_val votes = 0, s = 0;
    if (m.n_vector) {
        s = decide(&m, &votes);
    } else {
        hn_val w = hn_ml_matrix(c, "coefficients", m.n_class, m.t);
        s = votes = w ? hn_bin_f(b, HN_OP_ADD, product(b, m.x, w), m.rho[0]) : 0;
    }
    if (!s) return;
    if (m.n_rho == 1 && m.n_class != 2)
        label_by_sign(&m, votes);
    else if (m.n_rho == 1 && all_positive(&m))
        label_of_positive(&m, votes);
    else
        hn_ml_labels(c, votes, "classlabels_ints", "classlabels_strings");
    if (m.n_vector && m.n_pair == 1) s = hn_concat(b, 2, (hn_val[]){hn_un(b, HN_OP_NEG, s), s}, 1);
    s = hn_ml_post(c, s, post);
    if (s) hn_out_as(c, 1, s, HONE_F32);
}
