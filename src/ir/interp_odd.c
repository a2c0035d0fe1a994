/* ir/interp_odd.c — determinant, bind, non-maximum suppression. */
#include "ir/interp_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* LU with partial pivoting in place (Golub & Van Loan, algorithm 3.4.1): the product of the pivots, signed by swaps. */
static double determinant(double *a, int64_t n) {
    double det = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[p * n + k])) p = i;
        if (p != k) {
            for (int64_t j = k; j < n; j++) {
                double t = a[k * n + j];
                a[k * n + j] = a[p * n + j];
                a[p * n + j] = t;
            }
            det = -det;
        }
        det *= a[k * n + k];
        if (a[k * n + k] == 0) return det;
        for (int64_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= f * a[k * n + j];
        }
    }
    return det;
}

hone_rc hn_eval_det(hn_call *c) {
    const hn_tensor *x = c->in[0];
    int64_t n = x->dim[x->rank - 1u], count = hn_tensor_n(&c->out[0]);
    if (x->dim[x->rank - 2u] != n)
        return hn_fail(c->err, HONE_E_INPUT, "%s: a matrix of %lld x %lld has no determinant", hn_call_name(c),
                       (long long)x->dim[x->rank - 2u], (long long)n);
    double *a = HN_NEW_N(c->scratch, double, (size_t)n *(size_t)n);
    if (!a) return hn_call_nomem(c);
    for (int64_t i = 0; i < count; i++) {
        hn_load_f(x, i * n * n, 1, n * n, a);
        double det = determinant(a, n);
        hn_store_f(&c->out[0], i, 1, &det);
    }
    return HONE_OK;
}

hone_rc hn_eval_bind(hn_call *c) {
    const hn_attr *defines = hn_attr_get(c->node, HN_A_DEFINES);
    int64_t n = hn_tensor_n(c->in[0]);
    if (!defines || n != defines->n)
        return hn_fail(c->err, HONE_E_INPUT, "%s: %lld values for %u symbols", hn_call_name(c), (long long)n,
                       defines ? defines->n : 0u);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = hn_get_i(c->in[0], i);
        if (x < 0)
            return hn_fail(c->err, HONE_E_INPUT, "%s: element %lld of what it binds to sizes is %lld", hn_call_name(c),
                           (long long)i, (long long)x);
        hone_rc rc = hn_call_define(c, (size_t)i, x);
        if (rc) return rc;
    }
    return HONE_OK;
}

/* -- non-maximum suppression: greedy by score (ONNX NonMaxSuppression 11) */

typedef struct nms {
    const double *box; /* 4 per box of the batch at hand: low y, low x, high y, high x */
    const double *score;
    double iou_limit;
} nms;

static int compare_scores(const void *pa, const void *pb, void *arg) {
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    const double *score = arg;
    if (score[a] != score[b]) return score[a] > score[b] ? -1 : 1;
    return (a > b) - (a < b);
}

static bool overlaps(const double *a, const double *b, double limit) {
    double h = fmin(a[2], b[2]) - fmax(a[0], b[0]), w = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    double area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
    if (h <= 0 || w <= 0 || area_a <= 0 || area_b <= 0) return false;
    return h * w / (area_a + area_b - h * w) > limit;
}

static void load_boxes(const hn_tensor *t, int64_t batch, bool center, double *out) {
    int64_t n = t->dim[1];
    for (int64_t i = 0; i < n; i++) {
        double p[4], *q = out + 4 * i;
        hn_load_f(t, (batch * n + i) * 4, 1, 4, p);
        if (center) {
            q[0] = p[1] - p[3] / 2, q[1] = p[0] - p[2] / 2, q[2] = p[1] + p[3] / 2, q[3] = p[0] + p[2] / 2;
        } else {
            q[0] = fmin(p[0], p[2]), q[1] = fmin(p[1], p[3]), q[2] = fmax(p[0], p[2]), q[3] = fmax(p[1], p[3]);
        }
    }
}

/* The boxes kept of one class, best first, into keep; candidates is scratch. */
static int64_t suppress(const nms *s, int64_t n, double score_limit, int64_t most, int64_t *candidates, int64_t *keep) {
    int64_t m = 0, kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (s->score[i] > score_limit) candidates[m++] = i;
    if (m) qsort_r(candidates, (size_t)m, sizeof *candidates, compare_scores, (void *)s->score);
    for (int64_t i = 0; i < m && kept < most; i++) {
        bool clear = true;
        for (int64_t k = 0; clear && k < kept; k++)
            clear = !overlaps(s->box + 4 * keep[k], s->box + 4 * candidates[i], s->iou_limit);
        if (clear) keep[kept++] = candidates[i];
    }
    return kept;
}

hone_rc hn_eval_nms(hn_call *c) {
    const hn_tensor *boxes = c->in[0], *scores = c->in[1];
    int64_t batches = scores->dim[0], classes = scores->dim[1], n = scores->dim[2], found = 0;
    int64_t most = hn_get_i(c->in[2], 0);
    double score_limit = hn_get_f(c->in[4], 0);
    if (boxes->dim[0] != batches || boxes->dim[1] != n || boxes->dim[2] != 4)
        return hn_fail(c->err, HONE_E_INPUT, "%s: the shapes of boxes and scores do not fit", hn_call_name(c));
    hn_arena *a = c->scratch;
    double *box = HN_NEW_N(a, double, (size_t)n * 4), *score = HN_NEW_N(a, double, (size_t)n);
    int64_t *candidates = HN_NEW_N(a, int64_t, (size_t)n), *keep = HN_NEW_N(a, int64_t, (size_t)n);
    int64_t *out = HN_NEW_N(a, int64_t, (size_t)hn_tensor_n(scores) * 3);
    if (!hn_arena_ok(a)) return hn_call_nomem(c);
    nms s = {box, score, hn_get_f(c->in[3], 0)};
    for (int64_t b = 0; b < batches; b++) {
        load_boxes(boxes, b, hn_attr_i(c->node, HN_A_CENTER, 0) != 0, box);
        for (int64_t k = 0; k < classes; k++) {
            hn_load_f(scores, (b * classes + k) * n, 1, n, score);
            int64_t kept = suppress(&s, n, score_limit, most, candidates, keep);
            for (int64_t i = 0; i < kept; i++, found++)
                memcpy(out + 3 * found, (int64_t[]){b, k, keep[i]}, 3 * sizeof *out);
        }
    }
    hone_rc rc = hn_call_define(c, 0, found);
    if (!rc) rc = hn_call_out(c, 0, HONE_I64, 2, (int64_t[]){found, 3});
    if (!rc && found) memcpy(c->out[0].data, out, (size_t)found * 3 * sizeof *out);
    return rc;
}
