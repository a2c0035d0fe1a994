/* engine/bayes.c — see bayes.h. */
#include "engine/bayes.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BIAS = 100; /* prior variance of the bias: almost flat */

struct hn_bayes {
    size_t genes, levels, n, room;
    double noise;
    unsigned char *x;
    double *factor; /* lower triangle by rows */
    double *work;
};

hone_rc hn_bayes_new(size_t n_genes, size_t n_levels, hn_bayes **out, hone_err *err) {
    hn_bayes *b = calloc(1, sizeof *b);
    if (!b) return hn_fail(err, HONE_E_NOMEM, "out of memory for a ridge model");
    b->genes = n_genes;
    b->levels = n_levels;
    *out = b;
    return HONE_OK;
}

void hn_bayes_free(hn_bayes *b) {
    if (!b) return;
    free(b->x);
    free(b->factor);
    free(b->work);
    free(b);
}

static hone_rc make_room(hn_bayes *b, size_t n, hone_err *err) {
    if (n <= b->room) return HONE_OK;
    size_t room = n + n / 2 + 32;
    unsigned char *x = realloc(b->x, room * b->genes + 1);
    if (x) b->x = x;
    double *f = realloc(b->factor, room * (room + 1) / 2 * sizeof *f);
    if (f) b->factor = f;
    double *w = realloc(b->work, room * sizeof *w);
    if (w) b->work = w;
    if (!x || !f || !w) return hn_fail(err, HONE_E_NOMEM, "out of memory for a ridge model of %zu rows", n);
    b->room = room;
    return HONE_OK;
}

static size_t matches(const unsigned char *a, const unsigned char *b, size_t n) {
    size_t same = 0;
    for (size_t i = 0; i < n; i++) same += a[i] == b[i];
    return same;
}

static void append(hn_bayes *b, size_t i) {
    double *row = b->factor + i * (i + 1) / 2, rest = BIAS + (double)b->genes + b->noise;
    for (size_t j = 0; j < i; j++) {
        const double *other = b->factor + j * (j + 1) / 2;
        double sum = BIAS + (double)matches(b->x + i * b->genes, b->x + j * b->genes, b->genes);
        for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
        row[j] = sum / other[j];
        rest -= row[j] * row[j];
    }
    row[i] = sqrt(rest > 1e-9 ? rest : 1e-9);
}

hone_rc hn_bayes_fit(hn_bayes *b, const unsigned char *x, size_t n, size_t same, double noise, hone_err *err) {
    hone_rc rc = make_room(b, n, err);
    if (rc) return rc;
    if (same > b->n) same = b->n;
    if (noise != b->noise) same = 0;
    b->noise = noise;
    if (n > same) memcpy(b->x + same * b->genes, x + same * b->genes, (n - same) * b->genes);
    for (size_t i = same; i < n; i++) append(b, i);
    b->n = n;
    return HONE_OK;
}

static void forward(const hn_bayes *b, double *v) {
    for (size_t i = 0; i < b->n; i++) {
        const double *row = b->factor + i * (i + 1) / 2;
        double sum = v[i];
        for (size_t k = 0; k < i; k++) sum -= row[k] * v[k];
        v[i] = sum / row[i];
    }
}

static void backward(const hn_bayes *b, double *v) {
    for (size_t i = b->n; i-- > 0;) {
        const double *row = b->factor + i * (i + 1) / 2;
        v[i] /= row[i];
        for (size_t k = 0; k < i; k++) v[k] -= row[k] * v[i];
    }
}

double hn_bayes_evidence(hn_bayes *b, const float *y, double *amplitude) {
    double *v = b->work, fit = 0, log_det = 0, n = (double)b->n;
    for (size_t i = 0; i < b->n; i++) v[i] = (double)y[i];
    forward(b, v);
    for (size_t i = 0; i < b->n; i++) {
        fit += v[i] * v[i];
        log_det += log(b->factor[i * (i + 1) / 2 + i]);
    }
    double a = b->n ? fmax(fit / n, 1e-12) : 1;
    if (amplitude) *amplitude = a;
    return -0.5 * n * (log(a) + 1 + log(2 * 3.14159265358979)) - log_det;
}

void hn_bayes_weights(hn_bayes *b, const float *y, hn_rng *rng, double scale, float *weight) {
    size_t n_weights = b->genes * b->levels;
    double *v = b->work, noise = sqrt(b->noise) * scale;
    for (size_t i = 0; i <= n_weights; i++) weight[i] = rng ? (float)(hn_rng_normal(rng) * scale) : 0;
    if (rng) weight[n_weights] *= (float)sqrt(BIAS);
    for (size_t i = 0; i < b->n; i++) {
        double guess = (double)weight[n_weights];
        const unsigned char *x = b->x + i * b->genes;
        for (size_t g = 0; rng && g < b->genes; g++) guess += (double)weight[g * b->levels + x[g]];
        v[i] = (double)y[i] - guess - (rng ? noise * hn_rng_normal(rng) : 0);
    }
    forward(b, v);
    backward(b, v);
    for (size_t i = 0; i < b->n; i++) {
        const unsigned char *x = b->x + i * b->genes;
        weight[n_weights] += (float)(BIAS * v[i]);
        for (size_t g = 0; g < b->genes; g++) weight[g * b->levels + x[g]] += (float)v[i];
    }
}
