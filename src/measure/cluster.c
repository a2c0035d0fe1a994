/* measure/cluster.c — intervals for samples that come in clusters: pairs measured with one build share its code layout,
 * so they hold less information than as many independent ones.
 *
 * The bootstrap draws in two stages (Davison & Hinkley 1997, 3.8, "strategy 2"): first clusters, then values inside
 * each. Resamples are kept as counts over the ordered sample, so that none has to be sorted.
 */
#include "base/rng.h"
#include "measure/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TRIM = 0.2;

/* The sample in order, and which of its places belong to which cluster. */
typedef struct clustered {
    double *x;                    /* ascending */
    size_t *at, *start;           /* cluster c has places at[start[c]] … at[start[c + 1] - 1] of x */
    unsigned *times;              /* scratch: how often each place was drawn */
    size_t n, n_clusters, n_most; /* values, clusters, values of the largest cluster */
} clustered;

typedef struct tagged {
    double x;
    unsigned cluster;
    size_t place;
} tagged;

static int by_value(const void *a, const void *b) {
    double x = ((const tagged *)a)->x, y = ((const tagged *)b)->x;
    return (x > y) - (x < y);
}
static int by_cluster(const void *a, const void *b) {
    const tagged *x = a, *y = b;
    if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void clustered_free(clustered *s) {
    free(s->x);
    free(s->at);
    free(s->start);
    free(s->times);
}

static void index_clusters(clustered *s, const tagged *t) {
    for (size_t i = 0; i < s->n; i++) {
        if (i == 0 || t[i].cluster != t[i - 1].cluster) s->start[s->n_clusters++] = i;
        s->at[i] = t[i].place;
    }
    s->start[s->n_clusters] = s->n;
    for (size_t c = 0; c < s->n_clusters; c++) {
        size_t n = s->start[c + 1] - s->start[c];
        if (n > s->n_most) s->n_most = n;
    }
}

static bool clustered_make(const double *x, const unsigned *cluster, size_t n, clustered *out) {
    *out = (clustered){.n = n};
    if (n == 0 || n > SIZE_MAX / 2 / sizeof(tagged)) return false;
    tagged *t = malloc(n * sizeof *t);
    out->x = malloc(n * sizeof *out->x);
    out->at = malloc(n * sizeof *out->at);
    out->start = malloc((n + 1) * sizeof *out->start);
    out->times = malloc(n * sizeof *out->times);
    bool fine = t && out->x && out->at && out->start && out->times;
    if (fine) {
        for (size_t i = 0; i < n; i++) t[i] = (tagged){x[i], cluster[i], i};
        qsort(t, n, sizeof *t, by_value);
        for (size_t i = 0; i < n; i++) {
            out->x[i] = t[i].x;
            t[i].place = i;
        }
        qsort(t, n, sizeof *t, by_cluster);
        index_clusters(out, t);
    }
    free(t);
    if (!fine) clustered_free(out);
    return fine;
}

/* --- centers of a resample given as counts ------------------------------------------------------------------------ */

/* Sum of the values with ranks from .. to - 1 (from 0) among `times[i]` copies of each x[i]. */
static double sum_of_ranks(const clustered *s, size_t from, size_t to) {
    double sum = 0;
    size_t seen = 0;
    for (size_t i = 0; i < s->n && seen < to; i++) {
        size_t end = seen + s->times[i], lo = seen > from ? seen : from, hi = end < to ? end : to;
        if (hi > lo) sum += (double)(hi - lo) * s->x[i];
        seen = end;
    }
    return sum;
}

static double center_of_counts(const clustered *s, size_t total, hone_stat_center center) {
    size_t cut = center == HONE_CENTER_MEDIAN ? (total - 1) / 2 : (size_t)(TRIM * (double)total);
    return sum_of_ranks(s, cut, total - cut) / (double)(total - 2 * cut);
}

static double resample(const clustered *s, hone_stat_center center, hn_rng *rng) {
    size_t total = 0;
    memset(s->times, 0, s->n * sizeof *s->times);
    for (size_t k = 0; k < s->n_clusters; k++) {
        size_t c = (size_t)hn_rng_below(rng, s->n_clusters), n = s->start[c + 1] - s->start[c];
        for (size_t i = 0; i < n; i++) s->times[s->at[s->start[c] + (size_t)hn_rng_below(rng, n)]]++;
        total += n;
    }
    return center_of_counts(s, total, center);
}

static double center_of(const double *x, size_t n, hone_stat_center center) {
    return center == HONE_CENTER_MEDIAN ? hone_stat_median(x, n) : hone_stat_trimmed_mean(x, n, TRIM);
}

/* --- intervals ---------------------------------------------------------------------------------------------------- */

hone_interval hone_stat_bootstrap_clustered(const double *x, const unsigned *cluster, size_t n, hone_stat_center center,
                                            double confidence, size_t n_boot, uint64_t seed) {
    hone_interval out = {NAN, NAN, NAN};
    clustered s;
    if (n_boot == 0) n_boot = 2000;
    if (n_boot > SIZE_MAX / sizeof(double) || !clustered_make(x, cluster, n, &s)) return out;
    double *value = malloc(n_boot * sizeof *value);
    if (value) {
        hn_rng rng = hn_rng_make(seed, n);
        for (size_t b = 0; b < n_boot; b++) value[b] = resample(&s, center, &rng);
        out = hn_percentile_interval(value, n_boot, confidence, center_of(s.x, n, center));
    }
    free(value);
    clustered_free(&s);
    return out;
}

static void cluster_centers(const clustered *s, hone_stat_center center, double *scratch, double *out) {
    for (size_t c = 0; c < s->n_clusters; c++) {
        size_t n = s->start[c + 1] - s->start[c];
        for (size_t i = 0; i < n; i++) scratch[i] = s->x[s->at[s->start[c] + i]];
        out[c] = center_of(scratch, n, center);
    }
}

hone_interval hone_stat_cluster_t(const double *x, const unsigned *cluster, size_t n, hone_stat_center center,
                                  double confidence) {
    hone_interval out = {NAN, NAN, NAN};
    clustered s;
    if (!clustered_make(x, cluster, n, &s)) return out;
    double *c = malloc((s.n_clusters + s.n_most) * sizeof *c);
    if (c) {
        cluster_centers(&s, center, c + s.n_clusters, c);
        double k = (double)s.n_clusters, mid = hone_stat_mean(c, s.n_clusters), half = INFINITY;
        if (s.n_clusters > 1)
            half = hone_stat_t_quantile(0.5 + confidence / 2, k - 1) * hone_stat_sd(c, s.n_clusters) / sqrt(k);
        out = (hone_interval){mid - half, mid, mid + half};
    }
    free(c);
    clustered_free(&s);
    return out;
}
