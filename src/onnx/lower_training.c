/* lower_training.c — optimisers of ai.onnx.preview.training: one update step of any number of tensors. Inputs are the
 * learning rate, the count of updates, then each kind of tensor for all of them: x1 x2 … g1 g2 … v1 v2 …
 */
#include "onnx/lower_vec.h"

#include <string.h>

typedef struct step {
    hn_lower *c;
    hn_builder *b;
    hone_dtype t; /* of the tensors */
    hn_val rate;  /* scalar of that type */
    hn_val count; /* f64 scalar */
    size_t n, k;  /* tensors; the one at hand */
} step;

static hn_val times(step *s, hn_val x, double f) { return hn_bin_f(s->b, HN_OP_MUL, x, f); }
static hn_val add(step *s, hn_val x, hn_val y) { return hn_bin(s->b, HN_OP_ADD, x, y); }
static hn_val sub(step *s, hn_val x, hn_val y) { return hn_bin(s->b, HN_OP_SUB, x, y); }
static hn_val mul(step *s, hn_val x, hn_val y) { return hn_bin(s->b, HN_OP_MUL, x, y); }
static hn_val quotient(step *s, hn_val x, hn_val y) { return hn_bin(s->b, HN_OP_DIV, x, y); }

/* Input of kind `kind` of the tensor at hand; result likewise. */
static hn_val input(step *s, size_t kind) { return hn_in(s->c, 2 + kind * s->n + s->k); }
static void output(step *s, size_t kind, hn_val v) { hn_out(s->c, kind * s->n + s->k, v); }

/* The gradient with that of the norm: a * x + g. */
static hn_val gradient(step *s) {
    double norm = hn_float(s->c, "norm_coefficient", 0);
    return norm == 0 ? input(s, 1) : add(s, times(s, input(s, 0), norm), input(s, 1));
}

static void adagrad(step *s) {
    hn_builder *b = s->b;
    hn_val decay = hn_bin_f(b, HN_OP_ADD, times(s, s->count, hn_float(s->c, "decay_factor", 0)), 1);
    hn_val rate = quotient(s, s->rate, hn_cast(b, decay, s->t)), g = gradient(s);
    hn_val h = add(s, input(s, 2), mul(s, g, g));
    hn_val root = hn_bin_f(b, HN_OP_ADD, hn_un(b, HN_OP_SQRT, h), hn_float(s->c, "epsilon", 1e-6));
    output(s, 0, sub(s, input(s, 0), quotient(s, mul(s, rate, g), root)));
    output(s, 1, h);
}

/* 1 - x^count, f64 */
static hn_val correction(step *s, double x) {
    hn_builder *b = s->b;
    return hn_f_bin(b, HN_OP_SUB, 1, hn_bin(b, HN_OP_POW, hn_const_f(b, HONE_F64, x), s->count));
}

static void adam(step *s) {
    hn_builder *b = s->b;
    double alpha = hn_float(s->c, "alpha", (double)0.9f), beta = hn_float(s->c, "beta", (double)0.999f);
    hn_val g = gradient(s), v = add(s, times(s, input(s, 2), alpha), times(s, g, 1 - alpha));
    hn_val h = add(s, times(s, input(s, 3), beta), times(s, mul(s, g, g), 1 - beta));
    hn_val root = hn_bin_f(b, HN_OP_ADD, hn_un(b, HN_OP_SQRT, h), hn_float(s->c, "epsilon", 1e-6));
    hn_val factor = quotient(s, hn_un(b, HN_OP_SQRT, correction(s, beta)), correction(s, alpha));
    factor = hn_where(b, hn_bin_f(b, HN_OP_LE, s->count, 0), hn_const_f(b, HONE_F64, 1), factor);
    hn_val rate = mul(s, s->rate, hn_cast(b, factor, s->t));
    hn_val x = sub(s, input(s, 0), mul(s, rate, quotient(s, v, root)));
    double post = hn_float(s->c, "norm_coefficient_post", 0);
    output(s, 0, post == 0 ? x : times(s, x, 1 - post));
    output(s, 1, v);
    output(s, 2, h);
}

static void momentum(step *s) {
    hn_builder *b = s->b;
    double alpha = hn_float(s->c, "alpha", 0), beta = hn_float(s->c, "beta", 0);
    const char *mode = hn_string(s->c, "mode", "standard");
    bool nesterov = !strcmp(mode, "nesterov");
    if (!nesterov && strcmp(mode, "standard") != 0) hn_wrong(s->c, "mode '%s'", mode);
    hn_val g = gradient(s), first = hn_bin_f(b, HN_OP_LE, s->count, 0);
    hn_val share = hn_where(b, first, hn_const_f(b, s->t, 1), hn_const_f(b, s->t, beta));
    hn_val v = add(s, times(s, input(s, 2), alpha), mul(s, share, g));
    hn_val way = nesterov ? add(s, g, times(s, v, alpha)) : v;
    output(s, 0, sub(s, input(s, 0), mul(s, s->rate, way)));
    output(s, 1, v);
}

static const struct {
    void (*update)(step *s);
    size_t kinds;
} optimisers[] = {{adagrad, 3}, {adam, 4}, {momentum, 3}};

static void lower_optimiser(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    size_t which = (size_t)hn_lower_arg(c), kinds = optimisers[which].kinds, n = hn_n_in(c);
    if (n < 2 + kinds || (n - 2) % kinds) {
        hn_wrong(c, "%zu inputs; it takes 2 and a multiple of %zu", n, kinds);
        return;
    }
    if (!hn_need(c, n)) return;
    step s = {.c = c, .b = b, .count = hn_cast(b, hn_scalar(b, hn_in(c, 1)), HONE_F64), .n = (n - 2) / kinds};
    for (; s.k < s.n && !hn_lower_failed(c); s.k++) {
        s.t = hn_dt(b, input(&s, 0));
        s.rate = hn_cast(b, hn_scalar(b, hn_in(c, 0)), s.t);
        optimisers[which].update(&s);
    }
}

const hn_lower_row hn_lower_training[] = {
    {"ai.onnx.preview.training", "Adagrad", 1, HN_OPSET_MAX, lower_optimiser, 0},
    {"ai.onnx.preview.training", "Adam", 1, HN_OPSET_MAX, lower_optimiser, 1},
    {"ai.onnx.preview.training", "Momentum", 1, HN_OPSET_MAX, lower_optimiser, 2},
    {0},
};
