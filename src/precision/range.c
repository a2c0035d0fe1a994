/* range.c — ranges of values in 8 bits: by minimum and maximum, percentile, entropy, or least squared error. */
#include "precision/precision.h"

#include <math.h>
#include <string.h>

const char *const hn_calibration_name[HN_N_CALIBRATIONS] = {"mse", "minmax", "percentile", "entropy"};

bool hn_calibration_named(const char *name, hn_calibration *out) {
    for (int i = 0; i < HN_N_CALIBRATIONS; i++)
        if (!strcmp(name, hn_calibration_name[i])) return *out = (hn_calibration)i, true;
    return false;
}

/* --- values seen ---------------------------------------------------------------------------------------------------
 */

void hn_value_bins_begin(hn_value_bins *h, double low, double high) {
    memset(h, 0, sizeof *h);
    h->low = fmin(low, 0), h->high = fmax(high, 0);
}

static double bin_width(const hn_value_bins *h) { return (h->high - h->low) / HN_BINS; }

static int bin_of(const hn_value_bins *h, double x) {
    double width = bin_width(h), at = width > 0 ? floor((x - h->low) / width) : 0;
    return at < 0 ? 0 : at >= HN_BINS ? HN_BINS - 1 : (int)at;
}

void hn_value_bins_add(hn_value_bins *h, double x) {
    if (!isfinite(x)) return;
    h->n++;
    if (x == 0)
        h->zeros++;
    else
        h->count[bin_of(h, x)]++;
}

static double middle(const hn_value_bins *h, int i) { return h->low + (i + .5) * bin_width(h); }

/* --- least squared error -------------------------------------------------------------------------------------------
 */

/* Within the range a value is off by a part of a step, evenly spread: step^2 / 12 in the mean. */
double hn_span_error(const hn_value_bins *h, hn_byte_range s) {
    double step = (s.high - s.low) / (HN_LEVELS - 1), sum = 0;
    for (int i = 0; i < HN_BINS; i++) {
        double x = middle(h, i), beyond = x > s.high ? x - s.high : x < s.low ? s.low - x : 0;
        sum += h->count[i] * (beyond > 0 ? beyond * beyond : step * step / 12);
    }
    return sum;
}

enum { STEPS = 128 }; /* of a search for one end of a range */

/* The best of STEPS places of one end, the other one staying. */
static hn_byte_range move_end(const hn_value_bins *h, hn_byte_range s, bool high) {
    hn_byte_range best = s;
    double least = INFINITY;
    for (int i = STEPS; i > 0; i--) {
        hn_byte_range next = s;
        *(high ? &next.high : &next.low) = (high ? h->high : h->low) * i / STEPS;
        double e = hn_span_error(h, next);
        if (e < least) least = e, best = next;
    }
    return best;
}

static hn_byte_range by_least_error(const hn_value_bins *h) {
    hn_byte_range s = {h->low, h->high};
    for (int round = 0; round < 2; round++) s = move_end(h, move_end(h, s, true), false);
    return s;
}

/* --- percentile ----------------------------------------------------------------------------------------------------
 */

/* So many values, counted from one end, lie beyond where this gives. */
static double cut(const hn_value_bins *h, double n, bool from_high) {
    for (int k = 0; k < HN_BINS; k++) {
        int i = from_high ? HN_BINS - 1 - k : k;
        if ((n -= h->count[i]) < 0) return h->low + (i + (from_high ? 1 : 0)) * bin_width(h);
    }
    return 0;
}

static hn_byte_range by_percentile(const hn_value_bins *h, double percentile) {
    double n = h->n * (1 - percentile / 100);
    return (hn_byte_range){fmin(cut(h, n, false), 0), fmax(cut(h, n, true), 0)};
}

/* --- entropy: Migacz, "8-bit inference with TensorRT" (GTC 2017) ---------------------------------------------------
 * Both ends by the same factor. What is clipped belongs to the last bins of the reference; what is quantised has one
 * probability for all bins of a level that are not empty. */

static double divergence(const double *p, const double *q, int n) {
    double sum_p = 0, sum_q = 0, d = 0;
    for (int i = 0; i < n; i++) sum_p += p[i], sum_q += q[i];
    if (sum_p <= 0 || sum_q <= 0) return INFINITY;
    for (int i = 0; i < n; i++) {
        if (p[i] <= 0) continue;
        double at_least = q[i] > 0 ? q[i] / sum_q : 1e-12;
        d += p[i] / sum_p * log(p[i] / sum_p / at_least);
    }
    return d;
}

/* The divergence where bins first .. end - 1 are kept. */
static double divergence_of(const hn_value_bins *h, int first, int end) {
    double p[HN_BINS], q[HN_BINS];
    int n = end - first;
    for (int i = 0; i < n; i++) p[i] = h->count[first + i];
    for (int i = 0; i < HN_BINS; i++) {
        if (i < first) p[0] += h->count[i];
        if (i >= end) p[n - 1] += h->count[i];
    }
    for (int level = 0; level < HN_LEVELS; level++) {
        int from = level * n / HN_LEVELS, to = (level + 1) * n / HN_LEVELS, full = 0;
        double sum = 0;
        for (int i = from; i < to; i++) sum += h->count[first + i], full += p[i] > 0;
        for (int i = from; i < to; i++) q[i] = p[i] > 0 ? sum / full : 0;
    }
    return divergence(p, q, n);
}

static hn_byte_range by_entropy(const hn_value_bins *h) {
    int zero = bin_of(h, 0);
    double least = INFINITY;
    hn_byte_range best = {h->low, h->high};
    for (int i = STEPS; i > 0; i--) {
        int first = zero - zero * i / STEPS, end = zero + (HN_BINS - zero) * i / STEPS;
        if (end - first < HN_LEVELS) break;
        double d = divergence_of(h, first, end);
        if (d < least - 1e-9)
            least = d,
            best = (hn_byte_range){fmin(h->low + first * bin_width(h), 0), fmax(h->low + end * bin_width(h), 0)};
    }
    return best;
}

hn_byte_range hn_span_choose(const hn_value_bins *h, hn_calibration how, double percentile) {
    if (bin_width(h) <= 0 || how == HN_CALIBRATE_MINMAX) return (hn_byte_range){h->low, h->high};
    if (how == HN_CALIBRATE_PERCENTILE) return by_percentile(h, percentile);
    return how == HN_CALIBRATE_ENTROPY ? by_entropy(h) : by_least_error(h);
}

/* --- steps ---------------------------------------------------------------------------------------------------------
 */

hn_byte_steps hn_steps_of(hn_byte_range s) {
    float scale = (float)((s.high - s.low) / (HN_LEVELS - 1));
    if (!(scale > 0) || !isfinite(scale)) return (hn_byte_steps){1, 0};
    double zero = nearbyint(-s.low / (double)scale);
    return (hn_byte_steps){scale, (int64_t)fmin(fmax(zero, 0), HN_LEVELS - 1)};
}

/* Blocks of `inner` weights, `stride` apart, `outer` of them: those of one column. */
static double squares(const float *w, int64_t stride, int64_t inner, int64_t outer, double scale) {
    double sum = 0;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double x = (double)w[o * stride + i], q = fmin(fmax(nearbyint(x / scale), -127), 127);
            sum += (x - q * scale) * (x - q * scale);
        }
    return sum;
}

float hn_weight_scale(const float *w, int64_t stride, int64_t inner, int64_t outer, bool least) {
    double most = 0, best, error;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) most = fmax(most, fabs((double)w[o * stride + i]));
    if (!(most > 0) || !isfinite(most)) return 1;
    best = most / 127;
    if (!least) return (float)best;
    error = squares(w, stride, inner, outer, best);
    for (int i = 98; i >= 60; i -= 2) {
        double e = squares(w, stride, inner, outer, most * i / 12700);
        if (e < error) error = e, best = most * i / 12700;
    }
    return (float)best;
}
