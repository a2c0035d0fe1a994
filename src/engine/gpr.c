/* engine/gpr.c — Cholesky in double (rows appended as they come), kernels and predictions in float vectors. */
#include "engine/gpr.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 4, ABREAST = 2 * LANES }; /* rows whose covariances are worked out side by side */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef int32_t int_lanes __attribute__((vector_size(LANES * sizeof(float))));

static const double SQRT5 = 2.23606797749978969641;
/* Priors of the logs: length scales grow with the root of the dimension (Hvarfner et al. 2024); little noise. */
static const double SCALE_SD = 1.0, NOISE_MEAN = -6.0, NOISE_SD = 1.5, NOISE_LEAST = -9.0, NOISE_MOST = 0.0;

struct hn_gpr {
    size_t d, n_groups;
    uint16_t *group;
    double *log_scale, log_noise, amplitude, log_likelihood, scale_mean;
    size_t n, room, stride; /* rows of the fit; stride: columns' padded length */
    double *factor;         /* lower triangle, row i from i*(i+1)/2 */
    float *factor32;        /* the same, rows padded to stride, unused part 0 */
    float *column;          /* d * stride: scaled training columns */
    double *alpha, *work;
    float *alpha32, *kernel, *half;
    size_t kept;          /* rows of the factor that belong to the present hyper-parameters */
    float *inverse_scale; /* per column */
    /* tuning */
    double *gradient, *step, *last;
    double *matrix, *inverse;
    size_t matrix_room;
};

hone_rc hn_gpr_new(size_t n_columns, const uint16_t *group, size_t n_groups, hn_gpr **out, hone_err *err) {
    hn_gpr *g = calloc(1, sizeof *g);
    if (g) {
        g->d = n_columns;
        g->n_groups = n_groups;
        g->group = malloc((n_columns + 1) * sizeof *g->group);
        g->log_scale = malloc((n_groups + 1) * sizeof(double));
        g->inverse_scale = malloc((n_columns + 1) * sizeof(float));
        g->gradient = malloc((n_groups + 1) * sizeof(double));
        g->step = malloc((n_groups + 1) * sizeof(double));
        g->last = malloc((n_groups + 1) * sizeof(double));
    }
    if (!g || !g->group || !g->log_scale || !g->inverse_scale || !g->gradient || !g->step || !g->last) {
        hn_gpr_free(g);
        return hn_fail(err, HONE_E_NOMEM, "out of memory for a Gaussian process of %zu columns", n_columns);
    }
    if (n_columns) memcpy(g->group, group, n_columns * sizeof *group);
    hn_gpr_reset(g);
    *out = g;
    return HONE_OK;
}

static void free_rows(hn_gpr *g) {
    free(g->factor);
    free(g->factor32);
    free(g->column);
    free(g->alpha);
    free(g->work);
    free(g->alpha32);
    free(g->kernel);
    free(g->half);
}

void hn_gpr_free(hn_gpr *g) {
    if (!g) return;
    free_rows(g);
    free(g->group);
    free(g->log_scale);
    free(g->inverse_scale);
    free(g->gradient);
    free(g->step);
    free(g->last);
    free(g->matrix);
    free(g->inverse);
    free(g);
}

static void use_scales(hn_gpr *g) {
    for (size_t c = 0; c < g->d; c++) g->inverse_scale[c] = (float)exp(-g->log_scale[g->group[c]]);
    g->kept = 0;
}

void hn_gpr_reset(hn_gpr *g) {
    g->scale_mean = log(0.5) + 0.5 * log((double)(g->n_groups ? g->n_groups : 1));
    for (size_t k = 0; k < g->n_groups; k++) g->log_scale[k] = g->scale_mean;
    for (size_t k = 0; k <= g->n_groups; k++) g->step[k] = 0.3, g->last[k] = 0;
    g->log_noise = NOISE_MEAN;
    g->amplitude = 1;
    use_scales(g);
}

void hn_gpr_hyper(const hn_gpr *g, double *log_scale, double *log_noise, double *amplitude, double *log_likelihood) {
    if (log_scale) memcpy(log_scale, g->log_scale, g->n_groups * sizeof *log_scale);
    if (log_noise) *log_noise = g->log_noise;
    if (amplitude) *amplitude = g->amplitude;
    if (log_likelihood) *log_likelihood = g->log_likelihood;
}

void hn_gpr_set(hn_gpr *g, const double *log_scale, double log_noise) {
    memcpy(g->log_scale, log_scale, g->n_groups * sizeof *log_scale);
    g->log_noise = log_noise;
    use_scales(g);
}

/* --- tuning: small, in double ---------------------------------------------------------------------------------- */

static hone_rc tune_room(hn_gpr *g, size_t n, hone_err *err) {
    if (n <= g->matrix_room) return HONE_OK;
    free(g->matrix);
    free(g->inverse);
    g->matrix_room = n;
    g->matrix = malloc((n * n + 1) * sizeof(double));
    g->inverse = malloc((n * n + 2 * n + 1) * sizeof(double));
    if (g->matrix && g->inverse) return HONE_OK;
    g->matrix_room = 0;
    return hn_fail(err, HONE_E_NOMEM, "out of memory for a Gaussian process of %zu rows", n);
}

static double scaled_square(const hn_gpr *g, const float *a, const float *b) {
    float sum = 0;
    for (size_t c = 0; c < g->d; c++) {
        float gap = (a[c] - b[c]) * g->inverse_scale[c];
        sum += gap * gap;
    }
    return (double)sum;
}

/* In place: lower factor of a full symmetric matrix. False when not positive definite. */
static bool cholesky(double *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            const double *p = a + i * n, *q = a + j * n;
            for (size_t k = 0; k < j; k++) sum -= p[k] * q[k];
            if (i != j)
                a[i * n + j] = sum / a[j * n + j];
            else if (sum > 0)
                a[i * n + i] = sqrt(sum);
            else
                return false;
        }
    return true;
}

/* Full inverse of a matrix from its lower factor. */
static void invert(const double *l, size_t n, double *inverse) {
    for (size_t c = 0; c < n; c++) { /* columns of the factor's inverse, stored as rows of `inverse` */
        double *v = inverse + c * n;
        for (size_t i = 0; i < c; i++) v[i] = 0;
        for (size_t i = c; i < n; i++) {
            double sum = i == c;
            for (size_t k = c; k < i; k++) sum -= l[i * n + k] * v[k];
            v[i] = sum / l[i * n + i];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) { /* row i needs columns >= j only: safe in place */
            double sum = 0;
            for (size_t k = j; k < n; k++) sum += inverse[i * n + k] * inverse[j * n + k];
            inverse[i * n + j] = sum;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) inverse[i * n + j] = inverse[j * n + i];
}

/* Gradient of the log posterior; false when the matrix is not positive definite. */
static bool gradient(hn_gpr *g, const float *x, const float *y, size_t n) {
    double *k = g->matrix, *inv = g->inverse, *alpha = inv + n * n, noise = exp(g->log_noise), *grad = g->gradient;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double a = SQRT5 * sqrt(scaled_square(g, x + i * g->d, x + j * g->d));
            k[i * n + j] = (1 + a + a * a / 3) * exp(-a) + (i == j ? noise : 0);
        }
    if (!cholesky(k, n)) return false;
    invert(k, n, inv);
    double fit = 0;
    for (size_t i = 0; i < n; i++) {
        alpha[i] = 0;
        for (size_t j = 0; j < n; j++) alpha[i] += inv[i * n + j] * (double)y[j];
        fit += alpha[i] * (double)y[i];
    }
    double amplitude = fmax(fit / (double)n, 1e-8);
    for (size_t q = 0; q <= g->n_groups; q++) grad[q] = 0;
    for (size_t i = 0; i < n; i++) {
        grad[g->n_groups] += 0.5 * noise * (alpha[i] * alpha[i] / amplitude - inv[i * n + i]);
        for (size_t j = 0; j < i; j++) {
            double a = SQRT5 * sqrt(scaled_square(g, x + i * g->d, x + j * g->d));
            double w = alpha[i] * alpha[j] / amplitude - inv[i * n + j], c = w * (5.0 / 3) * (1 + a) * exp(-a);
            for (size_t f = 0; f < g->d; f++) {
                double gap = (double)((x[i * g->d + f] - x[j * g->d + f]) * g->inverse_scale[f]);
                grad[g->group[f]] += c * gap * gap;
            }
        }
    }
    for (size_t q = 0; q < g->n_groups; q++) grad[q] -= (g->log_scale[q] - g->scale_mean) / (SCALE_SD * SCALE_SD);
    grad[g->n_groups] -= (g->log_noise - NOISE_MEAN) / (NOISE_SD * NOISE_SD);
    return true;
}

static double moved(hn_gpr *g, size_t q, double value, double lo, double hi) {
    double slope = g->gradient[q];
    if (slope * g->last[q] < 0)
        g->step[q] = fmax(0.5 * g->step[q], 0.02);
    else if (slope * g->last[q] > 0)
        g->step[q] = fmin(1.3 * g->step[q], 0.6);
    g->last[q] = slope;
    value += slope > 0 ? g->step[q] : slope < 0 ? -g->step[q] : 0;
    return value < lo ? lo : value > hi ? hi : value;
}

hone_rc hn_gpr_tune(hn_gpr *g, const float *x, const float *y, size_t n, int steps, hone_err *err) {
    hone_rc rc = tune_room(g, n, err);
    if (rc || n < 2) return rc;
    for (int s = 0; s < steps; s++) {
        if (!gradient(g, x, y, n)) {
            g->log_noise = fmin(g->log_noise + 1, NOISE_MOST);
            continue;
        }
        for (size_t q = 0; q < g->n_groups; q++) g->log_scale[q] = moved(g, q, g->log_scale[q], -4, 5);
        g->log_noise = moved(g, g->n_groups, g->log_noise, NOISE_LEAST, NOISE_MOST);
        use_scales(g);
    }
    return HONE_OK;
}

/* --- fitting --------------------------------------------------------------------------------------------------- */

static hone_rc make_room(hn_gpr *g, size_t n, hone_err *err) {
    if (n <= g->room) return HONE_OK;
    size_t room = (n + n / 2 + 32 + ABREAST - 1) / ABREAST * ABREAST;
    free_rows(g);
    g->kept = 0;
    g->room = g->stride = room;
    g->factor = malloc((room * (room + 1) / 2) * sizeof(double));
    g->factor32 = calloc(room * room, sizeof(float));
    g->column = calloc((g->d + 1) * room, sizeof(float));
    g->alpha = malloc(room * sizeof(double));
    g->work = malloc(room * sizeof(double));
    g->alpha32 = calloc(room, sizeof(float));
    g->kernel = calloc(room, sizeof(float));
    g->half = calloc(room, sizeof(float));
    if (g->factor && g->factor32 && g->column && g->alpha && g->work && g->alpha32 && g->kernel && g->half)
        return HONE_OK;
    g->room = 0;
    return hn_fail(err, HONE_E_NOMEM, "out of memory for a Gaussian process of %zu rows", n);
}

static lanes splat(float v) { return (lanes){v, v, v, v}; }

/* exp of non-positive lanes: 2^k times a degree-5 polynomial (minimax on [-ln2/2, ln2/2], error 2e-7). */
static inline void exp_lanes(lanes *v) {
    lanes x = *v;
    int_lanes low = x < splat(-80.0f);
    x = (lanes)(((int_lanes)splat(-80.0f) & low) | ((int_lanes)x & ~low));
    lanes t = x * splat(1.44269504f) - splat(0.5f);
    int_lanes k = __builtin_convertvector(t, int_lanes); /* towards zero: the nearest integer of x / ln2 */
    lanes r = x - __builtin_convertvector(k, lanes) * splat(0.69314718f);
    lanes p = splat(1.0f / 120) * r + splat(1.0f / 24);
    p = p * r + splat(1.0f / 6);
    p = p * r + splat(0.5f);
    p = p * r + splat(1.0f);
    p = p * r + splat(1.0f);
    *v = p * (lanes)((k + 127) << 23);
}

/* Matérn-5/2 of LANES squared distances. */
static inline void covariances(const float *square, float *out) {
    float distance[LANES];
    for (size_t k = 0; k < LANES; k++) distance[k] = sqrtf(square[k]);
    lanes a = *(const lanes *)distance * splat((float)SQRT5), e = -a;
    exp_lanes(&e);
    *(lanes *)out = (splat(1.0f) + a + a * a * splat(1.0f / 3)) * e;
}

/* Covariances of one scaled point with the first n training rows. */
static void kernel_row(hn_gpr *g, const float *scaled, size_t n) {
    for (size_t i = 0; i < n; i += ABREAST) {
        const float *column = g->column + i;
        lanes low = splat(1e-12f), high = low; /* two sums, to shorten the dependency chain */
        for (size_t c = 0; c < g->d; c++, column += g->stride) {
            lanes at = splat(scaled[c]), p = *(const lanes *)column - at, q = *(const lanes *)(column + LANES) - at;
            low += p * p;
            high += q * q;
        }
        covariances((const float *)&low, g->kernel + i);
        covariances((const float *)&high, g->kernel + i + LANES);
    }
}

static void append_row(hn_gpr *g, const float *x, size_t i) {
    for (size_t c = 0; c < g->d; c++) g->column[c * g->stride + i] = x[c] * g->inverse_scale[c];
    double *row = g->factor + i * (i + 1) / 2;
    for (size_t j = 0; j < i; j++) {
        float sum = 0;
        for (size_t c = 0; c < g->d; c++) {
            float gap = g->column[c * g->stride + j] - g->column[c * g->stride + i];
            sum += gap * gap;
        }
        double a = SQRT5 * sqrt((double)sum);
        row[j] = (1 + a + a * a / 3) * exp(-a);
    }
    double rest = 1 + exp(g->log_noise);
    for (size_t j = 0; j < i; j++) {
        const double *other = g->factor + j * (j + 1) / 2;
        double sum = row[j];
        for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
        row[j] = sum / other[j];
        rest -= row[j] * row[j];
    }
    row[i] = sqrt(rest > 1e-8 ? rest : 1e-8);
    for (size_t j = 0; j <= i; j++) g->factor32[i * g->stride + j] = (float)row[j];
}

static void solve_alpha(hn_gpr *g, const float *y) {
    size_t n = g->n;
    double fit = 0, log_det = 0, *a = g->alpha;
    for (size_t i = 0; i < n; i++) {
        const double *row = g->factor + i * (i + 1) / 2;
        double sum = (double)y[i];
        for (size_t k = 0; k < i; k++) sum -= row[k] * a[k];
        a[i] = sum / row[i];
        fit += a[i] * a[i];
        log_det += log(row[i]);
    }
    for (size_t i = n; i-- > 0;) {
        const double *row = g->factor + i * (i + 1) / 2;
        a[i] /= row[i];
        for (size_t k = 0; k < i; k++) a[k] -= row[k] * a[i];
    }
    g->amplitude = n ? fmax(fit / (double)n, 1e-8) : 1;
    g->log_likelihood = -0.5 * (double)n * (log(g->amplitude) + 1 + log(2 * 3.14159265358979)) - log_det;
    for (size_t i = 0; i < g->stride; i++) g->alpha32[i] = i < n ? (float)a[i] : 0;
}

hone_rc hn_gpr_fit(hn_gpr *g, const float *x, const float *y, size_t n, size_t same, hone_err *err) {
    if (n > g->room) same = 0;
    hone_rc rc = make_room(g, n, err);
    if (rc) return rc;
    if (same > g->kept) same = g->kept;
    for (size_t i = same; i < n; i++) append_row(g, x + i * g->d, i);
    g->n = g->kept = n;
    solve_alpha(g, y);
    return HONE_OK;
}

/* --- predicting ------------------------------------------------------------------------------------------------ */

static float dot(const float *a, const float *b, size_t n) {
    lanes sum = splat(0);
    for (size_t i = 0; i < n; i += LANES) sum += *(const lanes *)(a + i) * *(const lanes *)(b + i);
    float total = 0;
    for (size_t k = 0; k < LANES; k++) total += sum[k];
    return total;
}

/* 1 - |L^-1 k|^2 by forward substitution; `half` is zero beyond what is solved, so whole lanes may be added. */
static float explained(hn_gpr *g) {
    float sum = 0;
    memset(g->half, 0, g->stride * sizeof *g->half);
    for (size_t i = 0; i < g->n; i++) {
        const float *row = g->factor32 + i * g->stride;
        float v = (g->kernel[i] - dot(row, g->half, i)) / row[i];
        g->half[i] = v;
        sum += v * v;
    }
    return sum;
}

hone_rc hn_gpr_predict(hn_gpr *g, const float *x, size_t n, float *mean, float *sd, hone_err *err) {
    float *scaled = malloc((g->d + 1) * sizeof *scaled);
    if (!scaled) return hn_fail(err, HONE_E_NOMEM, "out of memory for a prediction");
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < g->d; c++) scaled[c] = x[i * g->d + c] * g->inverse_scale[c];
        kernel_row(g, scaled, g->n);
        mean[i] = dot(g->kernel, g->alpha32, g->n);
        if (!sd) continue;
        float rest = 1 - explained(g);
        sd[i] = sqrtf((float)g->amplitude * (rest > 1e-6f ? rest : 1e-6f));
    }
    free(scaled);
    return HONE_OK;
}
