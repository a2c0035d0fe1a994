/* engine/pareto.c — non-dominated ranks, crowding, hypervolume. */
#include "engine/pareto.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool hn_dominates(const double *a, const double *b, size_t m) {
    bool better = false;
    for (size_t k = 0; k < m; k++) {
        if (a[k] > b[k]) return false;
        better |= a[k] < b[k];
    }
    return better;
}

/* Fronts are removed one by one: each remaining row counts the rows that dominate it. O(n^2 m) as in Deb et al. (2002),
 * with one counter per row instead of lists of dominated rows: O(n) memory. */
hone_rc hone_pareto_rank(const double *values, size_t n, size_t m, uint32_t *rank, hone_err *err) {
    uint32_t *count = calloc(n + 1, sizeof *count), *front = calloc(n + 1, sizeof *front);
    if (!count || !front) {
        free(count);
        free(front);
        return hn_fail(err, HONE_E_NOMEM, "out of memory while ranking %zu rows", n);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            if (hn_dominates(values + i * m, values + j * m, m))
                count[j]++;
            else if (hn_dominates(values + j * m, values + i * m, m))
                count[i]++;
        }
    size_t left = n;
    for (size_t i = 0; i < n; i++) rank[i] = UINT32_MAX;
    for (uint32_t r = 0; left; r++) {
        size_t n_front = 0;
        for (size_t i = 0; i < n; i++)
            if (rank[i] == UINT32_MAX && !count[i]) front[n_front++] = (uint32_t)i;
        for (size_t f = 0; f < n_front; f++) rank[front[f]] = r;
        for (size_t f = 0; f < n_front; f++)
            for (size_t j = 0; j < n; j++)
                count[j] -= rank[j] == UINT32_MAX && hn_dominates(values + front[f] * m, values + j * m, m);
        left -= n_front;
    }
    free(count);
    free(front);
    return HONE_OK;
}

typedef struct keyed {
    double key;
    size_t row;
} keyed;
static int by_key(const void *a, const void *b) {
    const keyed *p = a, *q = b;
    return p->key != q->key ? (p->key < q->key ? -1 : 1) : p->row < q->row ? -1 : p->row > q->row;
}

static void crowd_front(const double *values, size_t m, keyed *front, size_t n, double *crowding) {
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < n; i++) front[i].key = values[front[i].row * m + k];
        qsort(front, n, sizeof *front, by_key);
        double span = front[n - 1].key - front[0].key;
        crowding[front[0].row] = crowding[front[n - 1].row] = INFINITY;
        for (size_t i = 1; i + 1 < n && span > 0; i++)
            crowding[front[i].row] += (front[i + 1].key - front[i - 1].key) / span;
    }
}

hone_rc hn_crowding(const double *values, size_t n, size_t m, const uint32_t *rank, double *crowding, hone_err *err) {
    keyed *front = calloc(n + 1, sizeof *front);
    if (!front) return hn_fail(err, HONE_E_NOMEM, "out of memory while ranking %zu rows", n);
    uint32_t last = 0;
    for (size_t i = 0; i < n; i++) {
        crowding[i] = 0;
        if (rank[i] > last) last = rank[i];
    }
    for (uint32_t r = 0; n && r <= last; r++) {
        size_t n_front = 0;
        for (size_t i = 0; i < n; i++)
            if (rank[i] == r) front[n_front++].row = i;
        if (n_front) crowd_front(values, m, front, n_front, crowding);
    }
    free(front);
    return HONE_OK;
}

/* --- hypervolume ----------------------------------------------------------------------------------------------- */

static int by_first(const void *a, const void *b) {
    const double *p = a, *q = b;
    return p[0] != q[0] ? (p[0] < q[0] ? -1 : 1) : p[1] < q[1] ? -1 : p[1] > q[1];
}

static double sweep(double *rows, size_t n, const double *ref) {
    double volume = 0, floor_y = ref[1];
    qsort(rows, n, 2 * sizeof *rows, by_first);
    for (size_t i = 0; i < n; i++) {
        if (rows[2 * i + 1] >= floor_y) continue;
        volume += (ref[0] - rows[2 * i]) * (floor_y - rows[2 * i + 1]);
        floor_y = rows[2 * i + 1];
    }
    return volume;
}

static size_t drop_dominated(double *rows, size_t n, size_t m) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool keep = true;
        for (size_t j = 0; j < n && keep; j++) {
            bool same = !memcmp(rows + i * m, rows + j * m, m * sizeof *rows);
            keep = !(same ? j < i : hn_dominates(rows + j * m, rows + i * m, m));
        }
        if (!keep) continue;
        /* rows before i that were kept already sit in front; i >= kept */
        if (kept != i) {
            double t[HONE_MAX_OBJECTIVES];
            memcpy(t, rows + kept * m, m * sizeof *t);
            memcpy(rows + kept * m, rows + i * m, m * sizeof *t);
            memcpy(rows + i * m, t, m * sizeof *t);
        }
        kept++;
    }
    return kept;
}

/* WFG: the volume of a set is the sum of each row's volume minus what the rows after it cover of it. `room` has space
 * for the limited sets of every level. */
static double wfg(double *rows, size_t n, size_t m, const double *ref, double *room) {
    if (m == 2) return sweep(rows, n, ref);
    double volume = 0;
    for (size_t i = 0; i < n; i++) {
        double box = 1;
        for (size_t k = 0; k < m; k++) box *= ref[k] - rows[i * m + k];
        size_t rest = n - i - 1;
        for (size_t j = 0; j < rest; j++)
            for (size_t k = 0; k < m; k++) {
                double a = rows[i * m + k], b = rows[(i + 1 + j) * m + k];
                room[j * m + k] = a > b ? a : b;
            }
        rest = drop_dominated(room, rest, m);
        volume += box - (rest ? wfg(room, rest, m, ref, room + rest * m) : 0);
    }
    return volume;
}

double hone_pareto_hypervolume(const double *values, size_t n, size_t m, const double *ref) {
    if (!n || !m || m > HONE_MAX_OBJECTIVES || n > SIZE_MAX / sizeof(double) / m / (n + 2)) return 0;
    double *rows = malloc((n + 1) * m * sizeof *rows);
    size_t inside = 0;
    if (!rows) return NAN;
    for (size_t i = 0; i < n; i++) {
        bool in = true;
        for (size_t k = 0; k < m; k++) in &= values[i * m + k] < ref[k];
        if (in) memcpy(rows + inside++ * m, values + i * m, m * sizeof *rows);
    }
    inside = drop_dominated(rows, inside, m);
    double volume = 0;
    if (m == 1) {
        for (size_t i = 0; i < inside; i++) volume = ref[0] - rows[i] > volume ? ref[0] - rows[i] : volume;
    } else if (m == 2) {
        volume = sweep(rows, inside, ref);
    } else if (inside) {
        double *room = malloc((inside * inside + 1) * m * sizeof *room);
        volume = room ? wfg(rows, inside, m, ref, room) : NAN;
        free(room);
    }
    free(rows);
    return volume;
}
