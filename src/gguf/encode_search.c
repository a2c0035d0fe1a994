/* encode_search.c — the best scale of a group, and the best scale and minimum.
 *
 * While the scale grows, the rounded levels change one at a time, at scales that are known: |x| / d passes k + 1/2. A
 * sweep over those scales in order keeps the sums that the error of the best d for the levels follows from, so that
 * every set of levels that any scale gives is tried at the cost of one addition. (The error of levels q with their best
 * d is sum w x^2 - (sum w x q)^2 / sum w q^2.)
 */
#include "gguf/encode_int.h"

#include <math.h>

enum { EVENTS = 1024, BUCKETS = 256 };

typedef struct event {
    float at; /* the inverse scale */
    int i;    /* whose level grows by one */
} event;

typedef struct events {
    int n, n_sorted;
    event list[EVENTS], sorted[EVENTS];
} events;

/* Levels of |y| for inverse scales from s0 to s1: the first, and when each next one comes. */
static int put_events(events *e, int i, double y, int most, double s0, double s1) {
    int k = (int)(s0 * y + 0.5);
    if (k >= most) return most;
    int last = (int)(s1 * y + 0.5);
    for (int j = k; j < last && j < most && e->n < EVENTS; j++) e->list[e->n++] = (event){(float)((j + 0.5) / y), i};
    return k;
}

/* By buckets, then by insertion: the list is nearly in order by then. */
static void sort(events *e, double s0, double s1) {
    int start[BUCKETS + 1] = {0};
    double scale = BUCKETS / (s1 - s0);
    for (int i = 0; i < e->n; i++) {
        int b = (int)(((double)e->list[i].at - s0) * scale);
        start[b < 0 ? 1 : b >= BUCKETS ? BUCKETS : b + 1]++;
    }
    for (int b = 0; b < BUCKETS; b++) start[b + 1] += start[b];
    for (int i = 0; i < e->n; i++) {
        int b = (int)(((double)e->list[i].at - s0) * scale);
        e->sorted[start[b < 0 ? 0 : b >= BUCKETS ? BUCKETS - 1 : b]++] = e->list[i];
    }
    for (int i = 1; i < e->n; i++) {
        event x = e->sorted[i];
        int j = i;
        for (; j && e->sorted[j - 1].at > x.at; j--) e->sorted[j] = e->sorted[j - 1];
        e->sorted[j] = x;
    }
}

static double largest(const hn_group *g) {
    double most = 0;
    for (int i = 0; i < g->n; i++) {
        double a = fabs((double)g->x[i]);
        if (a > most) most = a;
    }
    return most;
}

typedef struct fit {
    double xq, qq;
} fit;

static bool better(fit a, fit b) { return a.xq * a.xq * b.qq > b.xq * b.xq * a.qq; }

/* One sign of d: x[i] sign > 0 reaches `high`, else `low`. */
static fit sweep_scale(const hn_group *g, int sign, int low, int high, double s0, double s1) {
    events e;
    int level[HN_GROUP];
    fit now = {0}, best = {0, 1};
    e.n = 0;
    for (int i = 0; i < g->n; i++) {
        double a = fabs((double)g->x[i]), w = (double)g->w[i];
        int most = (g->x[i] > 0) == (sign > 0) ? high : low, k = put_events(&e, i, a, most, s0, s1);
        level[i] = k;
        now.xq += w * a * k;
        now.qq += w * k * k;
    }
    if (now.qq > 0) best = now;
    sort(&e, s0, s1);
    for (int i = 0; i < e.n; i++) {
        int at = e.sorted[i].i;
        double w = (double)g->w[at];
        now.xq += w * fabs((double)g->x[at]);
        now.qq += w * (2 * level[at]++ + 1);
        if (now.qq > 0 && better(now, best)) best = now;
    }
    return best;
}

double hn_search_scale(const hn_group *g, int low, int high, double from, double to) {
    double most = largest(g);
    if (!(most > 0)) return 0;
    double s0 = from / most, s1 = to / most;
    fit up = sweep_scale(g, 1, low, high, s0, s1), down = up;
    if (low != high) down = sweep_scale(g, -1, low, high, s0, s1);
    return better(down, up) ? -down.xq / down.qq : up.xq / up.qq;
}

/* --- a scale and a minimum -------------------------------------------------------------------------------------------
 */

typedef struct line {
    double w, x, q, xq, qq;
} line;

/* The best d and m for these levels. */
static void solve(const line *s, bool below, hn_affine *out) {
    double var = s->qq - s->q * s->q / s->w, cov = s->xq - s->x * s->q / s->w;
    double d = var > 1e-12 * s->qq ? cov / var : 0, m = (s->x - d * s->q) / s->w;
    if (below && m > 0) d = s->qq > 0 ? s->xq / s->qq : 0, m = 0;
    *out = (hn_affine){d, m};
}

/* How much a line explains, as a fraction: compared without a division. */
typedef struct share {
    double over, under;
} share;

static bool more(share a, share b) { return a.over * b.under > b.over * a.under; }

static share explained_by(const line *s, bool below) {
    double var = s->qq * s->w - s->q * s->q, cov = s->xq * s->w - s->x * s->q;
    if (!(var > 1e-12 * s->qq * s->w) || !(cov > 0)) return (share){0, 1};
    if (below && s->x * var > cov * s->q) return (share){s->xq * s->xq, s->qq};
    return (share){s->x * s->x * var + cov * cov, s->w * var};
}

typedef struct found {
    line sums;
    share explained;
} found;

static void sweep_affine(const hn_group *g, int high, bool below, double origin, double s0, double s1, found *best) {
    events e;
    int level[HN_GROUP];
    line now = {0};
    e.n = 0;
    for (int i = 0; i < g->n; i++) {
        double y = (double)g->x[i] - origin, w = (double)g->w[i], x = (double)g->x[i];
        int k = level[i] = y > 0 ? put_events(&e, i, y, high, s0, s1) : 0;
        now.w += w, now.x += w * x, now.q += w * k, now.xq += w * x * k, now.qq += w * k * k;
    }
    sort(&e, s0, s1);
    for (int i = -1; i < e.n; i++) {
        if (i >= 0) {
            int at = e.sorted[i].i;
            double w = (double)g->w[at];
            now.q += w, now.xq += w * (double)g->x[at], now.qq += w * (2 * level[at]++ + 1);
        }
        share explained = explained_by(&now, below);
        if (more(explained, best->explained)) best->sums = now, best->explained = explained;
    }
}

/* Levels nearest for the line, their best line, and so on until nothing is won. */
static void settle(const hn_group *g, int high, bool below, hn_affine *best) {
    uint8_t q[HN_GROUP];
    double error = hn_assign_affine(g, *best, high, q);
    for (int round = 0; round < 6; round++) {
        line s = {0};
        hn_affine a;
        for (int i = 0; i < g->n; i++) {
            double w = (double)g->w[i], x = (double)g->x[i], k = q[i];
            s.w += w, s.x += w * x, s.q += w * k, s.xq += w * x * k, s.qq += w * k * k;
        }
        solve(&s, below, &a);
        double e = hn_assign_affine(g, a, high, q);
        if (!(e < error * (1 - 1e-6)) || !(a.d > 0)) return;
        *best = a;
        error = e;
    }
}

hn_affine hn_search_affine(const hn_group *g, int high, bool below) {
    static const double shift[] = {-0.4, -0.1, 0.2, 0.5,
                                   0.8}; /* of the lowest level from the lowest value, in levels */
    double low = (double)g->x[0], top = low, levels = high;
    for (int i = 1; i < g->n; i++) {
        if ((double)g->x[i] < low) low = (double)g->x[i];
        if ((double)g->x[i] > top) top = (double)g->x[i];
    }
    if (below && low > 0) low = 0;
    double range = top - low;
    if (!(range > 0)) return (hn_affine){0, low};
    found best = {.explained = {-1, 1}};
    hn_affine a;
    for (size_t i = 0; i < sizeof shift / sizeof *shift; i++) {
        double origin = low + shift[i] * range / levels;
        if (below && origin > 0) break;
        sweep_affine(g, high, below, origin, 0.75 * levels / range, 1.4 * levels / range, &best);
    }
    solve(&best.sums, below, &a);
    if (!(best.explained.over > 0) || !(a.d > 0)) a = (hn_affine){range / levels, low};
    settle(g, high, below, &a);
    return a;
}

/* --- levels ----------------------------------------------------------------------------------------------------------
 */

double hn_assign_scale(const hn_group *g, double d, int low, int high, int8_t *q) {
    double error = 0;
    for (int i = 0; i < g->n; i++) {
        double x = (double)g->x[i], k = d != 0 ? rint(x / d) : 0;
        k = k < -low ? -low : k > high ? high : k;
        q[i] = (int8_t)k;
        error += (double)g->w[i] * (x - d * k) * (x - d * k);
    }
    return error;
}

double hn_assign_affine(const hn_group *g, hn_affine a, int high, uint8_t *q) {
    double error = 0;
    for (int i = 0; i < g->n; i++) {
        double x = (double)g->x[i] - a.m, k = a.d != 0 ? rint(x / a.d) : 0;
        k = k < 0 ? 0 : k > high ? high : k;
        q[i] = (uint8_t)k;
        error += (double)g->w[i] * (x - a.d * k) * (x - a.d * k);
    }
    return error;
}
