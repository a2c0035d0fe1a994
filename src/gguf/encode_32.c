/* encode_32.c — blocks of 32 elements with scales in half precision. */
#include "gguf/encode_int.h"

#include <math.h>
#include <string.h>

enum { N = 32 };

static double as_half(double x) { return (double)hn_half_value(hn_half_of((float)x)); }

/* --- a scale ---------------------------------------------------------------------------------------------------------
 */

typedef struct scaled {
    double d, error;
    int8_t q[N];
} scaled;

static void try_scale(const hn_group *g, double d, int low, int high, scaled *best) {
    scaled t;
    t.d = as_half(d);
    t.error = hn_assign_scale(g, t.d, low, high, t.q);
    if (t.error < best->error) *best = t;
}

/* The scale found, as a half and the halves beside it (which matter where halves are far apart: below 2^-14), and those
 * that map the value furthest from zero to the last level. */
static scaled best_scale(const hn_group *g, int low, int high, double from, double to) {
    scaled best = {.error = INFINITY};
    double d = hn_search_scale(g, low, high, from, to), furthest = 0;
    for (int i = 0; i < g->n; i++)
        if (fabs((double)g->x[i]) > fabs(furthest)) furthest = (double)g->x[i];
    try_scale(g, d, low, high, &best);
    if (fabs(d) < 0x1p-12) {
        try_scale(g, d - 0x1p-24, low, high, &best);
        try_scale(g, d + 0x1p-24, low, high, &best);
    }
    try_scale(g, furthest / (low == high ? high : -low), low, high, &best);
    return best;
}

static void put_nibbles(const uint8_t *q, uint8_t *out) {
    for (int j = 0; j < N / 2; j++) out[j] = (uint8_t)((q[j] & 15) | q[j + N / 2] << 4);
}

static void put_fifth(const uint8_t *q, uint8_t *out) {
    uint32_t high = 0;
    for (int j = 0; j < N; j++) high |= (uint32_t)(q[j] >> 4 & 1) << j;
    hn_put_u16(out, high & 0xffff);
    hn_put_u16(out + 2, high >> 16);
}

void hn_encode_q8_0(const float *x, const float *w, uint8_t *out) {
    hn_group g = {x, w, N};
    scaled s = best_scale(&g, 127, 127, 124, 130);
    hn_put_u16(out, hn_half_of((float)s.d));
    memcpy(out + 2, s.q, N);
}

static void shifted(const scaled *s, int by, uint8_t *q) {
    for (int j = 0; j < N; j++) q[j] = (uint8_t)(s->q[j] + by);
}

void hn_encode_q4_0(const float *x, const float *w, uint8_t *out) {
    hn_group g = {x, w, N};
    uint8_t q[N];
    scaled s = best_scale(&g, 8, 7, 4, 14);
    shifted(&s, 8, q);
    hn_put_u16(out, hn_half_of((float)s.d));
    put_nibbles(q, out + 2);
}

void hn_encode_q5_0(const float *x, const float *w, uint8_t *out) {
    hn_group g = {x, w, N};
    uint8_t q[N];
    scaled s = best_scale(&g, 16, 15, 11, 23);
    shifted(&s, 16, q);
    hn_put_u16(out, hn_half_of((float)s.d));
    put_fifth(q, out + 2);
    put_nibbles(q, out + 6);
}

/* --- a scale and a minimum -------------------------------------------------------------------------------------------
 */

typedef struct lined {
    hn_affine a;
    double error;
    uint8_t q[N];
} lined;

static void try_line(const hn_group *g, hn_affine a, int high, lined *best) {
    lined t;
    t.a = (hn_affine){as_half(a.d), as_half(a.m)};
    t.error = hn_assign_affine(g, t.a, high, t.q);
    if (t.error < best->error) *best = t;
}

/* The best scale for these levels, the minimum as it is. */
static double scale_for(const hn_group *g, const lined *s) {
    double xq = 0, qq = 0;
    for (int i = 0; i < g->n; i++) {
        double w = (double)g->w[i], q = s->q[i];
        xq += w * ((double)g->x[i] - s->a.m) * q;
        qq += w * q * q;
    }
    return qq > 0 ? xq / qq : s->a.d;
}

static lined best_line(const hn_group *g, int high) {
    lined best = {.error = INFINITY};
    float low = g->x[0], top = g->x[0];
    for (int i = 1; i < g->n; i++) {
        if (g->x[i] < low) low = g->x[i];
        if (g->x[i] > top) top = g->x[i];
    }
    hn_affine a = hn_search_affine(g, high, false);
    try_line(g, a, high, &best);
    try_line(g, (hn_affine){scale_for(g, &best), best.a.m}, high, &best);
    if (fabs(a.d) < 0x1p-12 || fabs(a.m) < 0x1p-12) {
        try_line(g, (hn_affine){a.d - 0x1p-24, a.m}, high, &best);
        try_line(g, (hn_affine){a.d + 0x1p-24, a.m}, high, &best);
    }
    try_line(g, (hn_affine){((double)top - (double)low) / high, (double)low}, high, &best);
    try_line(g, (hn_affine){0, a.m + a.d * high / 2}, high, &best);
    return best;
}

static void put_line(const lined *s, uint8_t *out) {
    hn_put_u16(out, hn_half_of((float)s->a.d));
    hn_put_u16(out + 2, hn_half_of((float)s->a.m));
}

void hn_encode_q4_1(const float *x, const float *w, uint8_t *out) {
    hn_group g = {x, w, N};
    lined s = best_line(&g, 15);
    put_line(&s, out);
    put_nibbles(s.q, out + 4);
}

void hn_encode_q5_1(const float *x, const float *w, uint8_t *out) {
    hn_group g = {x, w, N};
    lined s = best_line(&g, 31);
    put_line(&s, out);
    put_fifth(s.q, out + 4);
    put_nibbles(s.q, out + 8);
}
