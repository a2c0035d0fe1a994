/* rt/odd.h — determinant, non-maximum suppression. Needs base.h, convert.h, order.h. */
#ifndef HNR_ODD_H
#define HNR_ODD_H

/* Determinant of the n x n matrix a, which is destroyed: LU with partial pivoting (Golub & Van Loan, algorithm 3.4.1).
 */
HNR double hnr_det(HNR_GLOBAL double *a, int64_t n) {
    double det = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[p * n + k])) p = i;
        if (p != k) {
            det = -det;
            for (int64_t j = 0; j < n; j++) {
                double x = a[k * n + j];
                a[k * n + j] = a[p * n + j];
                a[p * n + j] = x;
            }
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

/* A box as its lower and upper corner. */
typedef struct hnr_box {
    double low[2], high[2];
} hnr_box;
HNR hnr_box hnr_box_of(HNR_GLOBAL const double *b, int center) {
    hnr_box r;
    for (int i = 0; i < 2; i++) {
        double x = center ? b[i] - b[i + 2] / 2 : b[i], y = center ? b[i] + b[i + 2] / 2 : b[i + 2];
        r.low[i] = center ? x : fmin(x, y);
        r.high[i] = center ? y : fmax(x, y);
    }
    return r;
}
HNR double hnr_area(hnr_box a) { return (a.high[0] - a.low[0]) * (a.high[1] - a.low[1]); }
/* Whether intersection over union exceeds the limit. */
HNR int hnr_overlap(hnr_box a, hnr_box b, double limit) {
    double h = fmin(a.high[0], b.high[0]) - fmax(a.low[0], b.low[0]);
    double w = fmin(a.high[1], b.high[1]) - fmax(a.low[1], b.low[1]);
    if (h <= 0 || w <= 0 || hnr_area(a) <= 0 || hnr_area(b) <= 0) return 0;
    return h * w / (hnr_area(a) + hnr_area(b) - h * w) > limit;
}

/* One class of one batch: the boxes kept, best score first, are written to kept (n entries); how many. */
HNR int64_t hnr_nms(HNR_GLOBAL const double *box, HNR_GLOBAL const double *score, int64_t n, int64_t limit,
                    double overlap, double threshold, int center, HNR_GLOBAL hnr_pair *order,
                    HNR_GLOBAL int64_t *kept) {
    int64_t m = 0, k = 0;
    for (int64_t i = 0; i < n; i++)
        if (score[i] > threshold) order[m++] = HNR_MAKE(hnr_pair){~hnr_key_f(score[i]), i};
    hnr_first(order, m, m);
    for (int64_t i = 0; i < m && k < limit; i++) {
        hnr_box b = hnr_box_of(box + 4 * order[i].at, center);
        int keep = 1;
        for (int64_t j = 0; keep && j < k; j++) keep = !hnr_overlap(hnr_box_of(box + 4 * kept[j], center), b, overlap);
        if (keep) kept[k++] = order[i].at;
    }
    return k;
}

#endif
