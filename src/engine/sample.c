/* engine/sample.c — choosing rows, scaling targets, ordering the good ones. */
#include "engine/sample.h"

#include "base/err.h"
#include "engine/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct keyed {
    double key;
    uint32_t i;
} keyed;
static int by_key(const void *a, const void *b) {
    const keyed *p = a, *q = b;
    return p->key != q->key ? (p->key < q->key ? -1 : 1) : p->i < q->i ? -1 : p->i > q->i;
}

void hn_sample_free(hn_sample *s) {
    free(s->code);
    free(s->target);
    free(s->feasible);
    free(s->row);
    free(s->order);
    free(s->cache);
    free(s->scratch);
    *s = (hn_sample){0};
}

const double *hn_sample_point(const hn_sample *s, const hn_view *v, size_t i) {
    return i < s->n_told ? hn_row(v->history, s->row[i]) : v->pending->x + (i - s->n_told) * v->history->slots;
}

/* --- memory ---------------------------------------------------------------------------------------------------- */

static bool regrow(void *field, size_t n, size_t size) {
    void *old;
    memcpy(&old, field, sizeof old);
    void *p = n < SIZE_MAX / (size + 1) ? realloc(old, n * size + 1) : NULL;
    if (p) memcpy(field, &p, sizeof p);
    return p != NULL;
}

static hone_rc make_room(hn_sample *s, size_t n, size_t m, hone_err *err) {
    if (n <= s->room) return HONE_OK;
    size_t room = n + n / 2 + 64;
    if (!regrow(&s->code, room, s->n_features) || !regrow(&s->target, room, sizeof *s->target) ||
        !regrow(&s->feasible, room, 1) || !regrow(&s->row, room, sizeof *s->row) ||
        !regrow(&s->order, room, sizeof *s->order) || !regrow(&s->scratch, room, (2 * m + 4) * sizeof(double)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory for a model of %zu observations", n);
    s->room = room;
    return HONE_OK;
}

static hone_rc update_cache(hn_sample *s, const hn_view *v, hone_err *err) {
    const hn_history *h = v->history;
    if (s->epoch != h->epoch) s->cached = s->n_told = 0, s->epoch = h->epoch;
    if (h->n > s->cache_room) {
        size_t room = h->n + h->n / 2 + 64;
        if (!regrow(&s->cache, room, s->n_features))
            return hn_fail(err, HONE_E_NOMEM, "out of memory for the codes of %zu observations", h->n);
        s->cache_room = room;
    }
    for (; s->cached < h->n; s->cached++)
        hn_genes_code(v->genes, hn_row(h, s->cached), s->cache + s->cached * s->n_features);
    return HONE_OK;
}

/* --- choosing rows --------------------------------------------------------------------------------------------- */

/* Only used to choose among too many rows. */
static double rough_worth(const hn_history *h, size_t i) {
    if (!hn_row_feasible(h, i)) return INFINITY;
    double sum = 0;
    for (size_t k = 0; k < h->m; k++) sum += h->y[i * h->m + k];
    return sum;
}

/* Fills row[] with `most` of the first n rows: the best third, the latest third, a fixed random choice of the rest. */
static hone_rc choose_among(hn_sample *s, const hn_history *h, size_t n, size_t most, hone_err *err) {
    keyed *w = malloc(n * sizeof *w);
    unsigned char *keep = calloc(n, 1);
    if (!w || !keep) {
        free(w);
        free(keep);
        return hn_fail(err, HONE_E_NOMEM, "out of memory while choosing among %zu observations", n);
    }
    size_t kept = most / 3;
    memset(keep + n - kept, 1, kept);
    for (size_t i = 0; i < n; i++) w[i] = (keyed){rough_worth(h, i), (uint32_t)i};
    qsort(w, n, sizeof *w, by_key);
    for (size_t i = 0; i < most / 3; i++) kept += !keep[w[i].i], keep[w[i].i] = 1;
    for (size_t i = 0; i < n; i++) w[i] = (keyed){(double)(hn_mix64(h->hash[i]) >> 11), (uint32_t)i};
    qsort(w, n, sizeof *w, by_key);
    for (size_t i = 0; i < n && kept < most; i++) kept += !keep[w[i].i], keep[w[i].i] = 1;
    s->n_told = 0;
    for (size_t i = 0; i < n; i++)
        if (keep[i]) s->row[s->n_told++] = (uint32_t)i;
    free(w);
    free(keep);
    return HONE_OK;
}

/* The choice among too many rows is kept for a number of observations, and later rows are appended, so that models that
 * grow by rows need not start anew each time. */
static hone_rc choose_rows(hn_sample *s, const hn_history *h, size_t most, hone_err *err) {
    size_t stretch = most / 8 + 1, base = h->n <= most ? 0 : h->n - h->n % stretch;
    if (base && (base != s->base || !s->n_told)) {
        hone_rc rc = choose_among(s, h, base, most - stretch, err);
        if (rc) return rc;
        s->n_base = s->n_told;
    }
    s->base = base;
    s->n_told = base ? s->n_base : 0;
    for (size_t i = base; i < h->n; i++) s->row[s->n_told++] = (uint32_t)i;
    return HONE_OK;
}

/* --- targets --------------------------------------------------------------------------------------------------- */

/* One objective's values on a scale where differences mean the same everywhere: log when all have one sign. */
static void scale_objective(const hn_sample *s, const hn_history *h, size_t k, double *out) {
    bool positive = true, negative = true;
    for (size_t i = 0; i < s->n_told; i++) {
        if (!s->feasible[i]) continue;
        double y = h->y[s->row[i] * h->m + k];
        positive &= y > 0;
        negative &= y < 0;
    }
    for (size_t i = 0; i < s->n_told; i++) {
        double y = h->y[s->row[i] * h->m + k];
        if (s->feasible[i]) out[i] = positive ? log(y) : negative ? -log(-y) : y;
    }
}

static void to_unit_range(const hn_sample *s, double *y) {
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < s->n_told; i++) {
        if (!s->feasible[i]) continue;
        if (y[i] < lo) lo = y[i];
        if (y[i] > hi) hi = y[i];
    }
    for (size_t i = 0; i < s->n_told; i++) y[i] = hi > lo ? (y[i] - lo) / (hi - lo) : 0;
}

/* ParEGO's scalarisation: max of the weighted objectives plus a little of their sum. */
static void scalarise(hn_sample *s, const hn_history *h, hn_rng *rng, double *out) {
    double weight[HONE_MAX_OBJECTIVES], total = 0, *y = s->scratch + s->room;
    if (h->m == 1) {
        scale_objective(s, h, 0, out);
        return;
    }
    for (size_t k = 0; k < h->m; k++) total += weight[k] = -log(1 - hn_rng_unit(rng));
    double *sum = y + s->room;
    for (size_t i = 0; i < s->n_told; i++) out[i] = -INFINITY, sum[i] = 0;
    for (size_t k = 0; k < h->m; k++) {
        scale_objective(s, h, k, y);
        to_unit_range(s, y);
        for (size_t i = 0; i < s->n_told; i++) {
            double part = weight[k] / total * y[i];
            if (part > out[i]) out[i] = part;
            sum[i] += part;
        }
    }
    for (size_t i = 0; i < s->n_told; i++) out[i] += 0.05 * sum[i];
}

static hone_rc order_by_rank(hn_sample *s, const hn_history *h, hone_err *err) {
    size_t n = s->n_feasible, m = h->m;
    double *y = s->scratch;
    keyed *w = malloc((n + 1) * sizeof *w);
    uint32_t *rank = malloc((n + 1) * sizeof *rank);
    double *crowding = malloc((n + 1) * sizeof *crowding);
    hone_rc rc = HONE_OK;
    if (!w || !rank || !crowding) rc = hn_fail(err, HONE_E_NOMEM, "out of memory while ranking %zu rows", n);
    for (size_t i = 0; i < n; i++) memcpy(y + i * m, h->y + s->row[s->order[i]] * m, m * sizeof *y);
    if (!rc) rc = hone_pareto_rank(y, n, m, rank, err);
    if (!rc) rc = hn_crowding(y, n, m, rank, crowding, err);
    for (size_t i = 0; !rc && i < n; i++) w[i] = (keyed){rank[i] + 1 / (2 + crowding[i]), s->order[i]};
    if (!rc) {
        qsort(w, n, sizeof *w, by_key);
        for (size_t i = 0; i < n; i++) s->order[i] = w[i].i;
    }
    free(w);
    free(rank);
    free(crowding);
    return rc;
}

static hone_rc sort_feasible(hn_sample *s, const hn_history *h, const double *scalar, hone_err *err) {
    s->n_feasible = 0;
    for (size_t i = 0; i < s->n_told; i++)
        if (s->feasible[i]) s->order[s->n_feasible++] = (uint32_t)i;
    if (h->m > 1) return order_by_rank(s, h, err);
    keyed *w = malloc((s->n_feasible + 1) * sizeof *w);
    if (!w) return hn_fail(err, HONE_E_NOMEM, "out of memory while sorting %zu rows", s->n_feasible);
    for (size_t i = 0; i < s->n_feasible; i++) w[i] = (keyed){scalar[s->order[i]], s->order[i]};
    qsort(w, s->n_feasible, sizeof *w, by_key);
    for (size_t i = 0; i < s->n_feasible; i++) s->order[i] = w[i].i;
    free(w);
    return HONE_OK;
}

static int by_value(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static void set_targets(hn_sample *s, const double *scalar) {
    double sum = 0, square = 0, *sorted = s->scratch + s->room;
    size_t k = 0;
    for (size_t i = 0; i < s->n_told; i++) {
        if (!s->feasible[i]) continue;
        sum += scalar[i];
        square += scalar[i] * scalar[i];
        sorted[k++] = scalar[i];
    }
    double n = (double)k, mean = n > 0 ? sum / n : 0, var = n > 0 ? square / n - mean * mean : 0,
           sd = var > 0 ? sqrt(var) : 1;
    qsort(sorted, k, sizeof *sorted, by_value);
    float median = k ? (float)((sorted[k / 2] - mean) / sd) : 0;
    float poor = k ? (float)((sorted[k * 9 / 10] - mean) / sd) : 1;
    for (size_t i = 0; i < s->n_told; i++) s->target[i] = s->feasible[i] ? (float)((scalar[i] - mean) / sd) : poor;
    for (size_t i = s->n_told; i < s->n; i++) s->target[i] = median;
}

hone_rc hn_sample_update(hn_sample *s, const hn_view *v, size_t max_rows, hn_rng *rng, hone_err *err) {
    const hn_history *h = v->history;
    size_t told = h->n < max_rows ? h->n : max_rows;
    s->n_features = v->genes->n;
    hone_rc rc = make_room(s, told + v->pending->n, h->m, err);
    if (!rc) rc = update_cache(s, v, err);
    if (!rc) rc = choose_rows(s, h, max_rows, err);
    if (rc) return rc;
    s->n = s->n_told + v->pending->n;
    for (size_t i = 0; i < s->n_told; i++) {
        memcpy(s->code + i * s->n_features, s->cache + s->row[i] * s->n_features, s->n_features);
        s->feasible[i] = hn_row_feasible(h, s->row[i]);
    }
    for (size_t i = s->n_told; i < s->n; i++) {
        hn_genes_code(v->genes, hn_sample_point(s, v, i), s->code + i * s->n_features);
        s->feasible[i] = true;
    }
    double *scalar = s->scratch;
    scalarise(s, h, rng, scalar);
    set_targets(s, scalar);
    return sort_feasible(s, h, scalar, err);
}

hone_rc hn_sample_prefix(hn_sample *s, const hn_view *v, size_t n, size_t max_rows, hone_err *err) {
    hn_history before = *v->history;
    hn_pending none = {0};
    hn_view then = *v;
    hn_rng rng = hn_rng_make(v->config->seed, n);
    before.n = n;
    then.history = &before;
    then.pending = &none;
    return hn_sample_update(s, &then, max_rows, &rng, err);
}
