/* encode_k.c — blocks of 256 elements: sub-blocks whose scales (and minima) are whole numbers of a common step.
 *
 * Each sub-block's own best scale is found first. Then steps are tried: for each, every sub-block takes the whole
 * numbers near its ideal whose levels err least, and the step is fitted again to those levels. The best of all is
 * written.
 */
#include "gguf/encode_int.h"

#include <math.h>
#include <string.h>

enum { N = 256, LANES = 8 };

static double as_half(double x) { return (double)hn_half_value(hn_half_of((float)x)); }

/* A step: not rounded to 0, since a scale is a multiple of it. */
static double as_step(double x) {
    double h = as_half(x);
    return h != 0 || !(fabs(x) > 0) ? h : x > 0 ? 0x1p-24 : -0x1p-24;
}

/* Nearest whole number, halves to even, of |v| < 2^22. */
static inline float whole(float v) { return (v + 12582912.0f) - 12582912.0f; }

static inline float within(float v, float low, float high) {
    v = v < low ? low : v;
    return v > high ? high : v;
}

/* The error of x ~ step q - low with the nearest levels in from .. to; n: a multiple of LANES. Sums by lanes, so that
 * a compiler may use vectors. */
static inline float error_of(const float *x, const float *w, int n, float step, float low, float from, float to) {
    float lane[LANES] = {0}, inverse = step != 0 ? 1 / step : 0, sum = 0;
    if (!(fabsf(inverse) < 1e30f)) inverse = 0;
    for (int i = 0; i < n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float v = x[i + l] + low, q = whole(within(v * inverse, from, to)), e = v - step * q;
            lane[l] += w[i + l] * e * e;
        }
    for (int l = 0; l < LANES; l++) sum += lane[l];
    return sum;
}

/* --- a scale and a minimum for each 32: Q4_K, Q5_K -------------------------------------------------------------------
 */

enum { SUB = 32, SUBS = N / SUB };

typedef struct lines {
    double d, dmin, error;
    int scale[SUBS], min[SUBS];
} lines;

typedef struct lined_block {
    const float *x, *w;
    int high;
    hn_affine ideal[SUBS], plain[SUBS]; /* the best by itself; what just covers the range; m <= 0 */
} lined_block;

static int near(double x, int most) { return x > 0 ? (x < most ? (int)rint(x) : most) : 0; }

typedef struct pick {
    int scale, min;
    float error;
} pick;

static void try_pick(const lined_block *b, int j, const lines *t, int scale, int min, pick *best) {
    if (scale < 0 || scale > 63 || min < 0 || min > 63) return;
    float e = error_of(b->x + SUB * j, b->w + SUB * j, SUB, (float)t->d * (float)scale, (float)t->dmin * (float)min, 0,
                       (float)b->high);
    if (e < best->error) *best = (pick){scale, min, e};
}

static int number(double x, double step) { return step > 0 ? near(x / step, 63) : 0; }

/* The whole numbers at or beside those of the ideal, or those of the plain line, that err least. */
static void pick_lines(const lined_block *b, lines *t) {
    t->error = 0;
    for (int j = 0; j < SUBS; j++) {
        int s = number(b->ideal[j].d, t->d), m = number(-b->ideal[j].m, t->dmin);
        pick best = {0, 0, INFINITY};
        for (int a = s - 1; a <= s + 1; a++)
            for (int c = m - 1; c <= m + 1; c++) try_pick(b, j, t, a, c, &best);
        try_pick(b, j, t, number(b->plain[j].d, t->d), number(-b->plain[j].m, t->dmin), &best);
        t->scale[j] = best.scale, t->min[j] = best.min;
        t->error += (double)best.error;
    }
}

static void levels_of(const lined_block *b, const lines *t, uint8_t q[N]) {
    for (int i = 0; i < N; i++) {
        float step = (float)t->d * (float)t->scale[i / SUB], low = (float)t->dmin * (float)t->min[i / SUB];
        q[i] = (uint8_t)(step != 0 ? within(whole(within((b->x[i] + low) / step, -1e6f, 1e6f)), 0, (float)b->high) : 0);
    }
}

/* Both steps by least squares, all levels as they are. */
static void refit_lines(const lined_block *b, lines *t) {
    uint8_t q[N];
    double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
    levels_of(b, t, q);
    for (int i = 0; i < N; i++) {
        double w = (double)b->w[i], x = (double)b->x[i], u = (double)(t->scale[i / SUB] * q[i]),
               v = -(double)t->min[i / SUB];
        aa += w * u * u, ab += w * u * v, bb += w * v * v, xa += w * x * u, xb += w * x * v;
    }
    double det = aa * bb - ab * ab, d = t->d, dmin = t->dmin;
    if (det > 1e-9 * aa * bb)
        d = (xa * bb - xb * ab) / det, dmin = (xb * aa - xa * ab) / det;
    else if (aa > 0)
        d = (xa - dmin * ab) / aa;
    if (d > 0 && dmin >= 0) t->d = as_step(d), t->dmin = as_step(dmin);
}

static void try_lines(const lined_block *b, double d, double dmin, lines *best) {
    lines t = {.d = as_step(d), .dmin = as_step(dmin)};
    for (int round = 0; round < 3; round++) {
        double last = t.d, last_min = t.dmin;
        pick_lines(b, &t);
        if (t.error < best->error) *best = t;
        refit_lines(b, &t);
        if (t.d == last && t.dmin == last_min) break;
    }
}

static lines best_lines(lined_block *b) {
    static const double full[] = {63, 60, 55.5};
    lines best = {.error = INFINITY};
    double most = 0, least = 0, plain = 0, plain_min = 0;
    for (int j = 0; j < SUBS; j++) {
        const float *x = b->x + SUB * j;
        double low = 0, top = (double)x[0];
        hn_group g = {x, b->w + SUB * j, SUB};
        float sum = 0, one[SUB];
        for (int i = 0; i < SUB; i++) {
            one[i] = 1;
            sum += g.w[i];
            if ((double)x[i] < low) low = (double)x[i];
            if ((double)x[i] > top) top = (double)x[i];
        }
        if (!(sum > 0)) g.w = one;
        b->ideal[j] = hn_search_affine(&g, b->high, true);
        if (b->ideal[j].d > most) most = b->ideal[j].d;
        if (b->ideal[j].m < least) least = b->ideal[j].m;
        b->plain[j] = (hn_affine){(top - low) / b->high, low};
        if (b->plain[j].d > plain) plain = b->plain[j].d;
        if (low < plain_min) plain_min = low;
    }
    try_lines(b, plain / 63, -plain_min / 63, &best);
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) try_lines(b, most / full[i], -least / full[i], &best);
    if (!(best.d > 0x1p-12)) try_lines(b, 0, 0, &best);
    return best;
}

/* Six bits each of scale and minimum of sub-block j, eight of both in twelve bytes. */
static void put_scales(const lines *t, uint8_t s[12]) {
    memset(s, 0, 12);
    for (int j = 0; j < SUBS; j++) {
        int scale = t->scale[j], min = t->min[j];
        if (j < 4) {
            s[j] |= (uint8_t)scale;
            s[j + 4] |= (uint8_t)min;
        } else {
            s[j + 4] = (uint8_t)((scale & 15) | (min & 15) << 4);
            s[j - 4] |= (uint8_t)(scale >> 4 << 6);
            s[j] |= (uint8_t)(min >> 4 << 6);
        }
    }
}

/* `fifth`: 32 bytes whose bit j is the fifth of sub-block j, or NULL. */
static void encode_lines(const float *x, const float *w, int high, uint8_t *out, uint8_t *fifth, uint8_t *low) {
    lined_block b = {.x = x, .w = w, .high = high};
    lines t = best_lines(&b);
    uint8_t q[N];
    levels_of(&b, &t, q);
    hn_put_u16(out, hn_half_of((float)t.d));
    hn_put_u16(out + 2, hn_half_of((float)t.dmin));
    put_scales(&t, out + 4);
    if (fifth) memset(fifth, 0, SUB);
    for (int j = 0; j < SUBS; j++)
        for (int l = 0; l < SUB; l++) {
            int k = q[SUB * j + l];
            uint8_t *at = &low[SUB * (j / 2) + l];
            *at = (uint8_t)(j % 2 ? *at | (k & 15) << 4 : k & 15);
            if (fifth) fifth[l] |= (uint8_t)((k >> 4) << j);
        }
}

void hn_encode_q4_k(const float *x, const float *w, uint8_t *out) { encode_lines(x, w, 15, out, NULL, out + 16); }
void hn_encode_q5_k(const float *x, const float *w, uint8_t *out) { encode_lines(x, w, 31, out, out + 16, out + 48); }

/* --- a scale for each 16: Q6_K ---------------------------------------------------------------------------------------
 */

enum { FINE = 16, FINES = N / FINE };

typedef struct scales {
    double d, error;
    int scale[FINES];
} scales;

typedef struct scaled_block {
    const float *x, *w;
    double ideal[FINES], plain[FINES];
} scaled_block;

static int fine_number(double x, double step) {
    double s = step != 0 ? rint(x / step) : 0;
    return (int)(s < -128 ? -128 : s > 127 ? 127 : s);
}

static void pick_scales(const scaled_block *b, scales *t) {
    t->error = 0;
    for (int j = 0; j < FINES; j++) {
        int at = fine_number(b->ideal[j], t->d), number[] = {at, at - 1, at + 1, fine_number(b->plain[j], t->d)};
        float least = INFINITY;
        for (int k = 0; k < 4; k++) {
            if (number[k] < -128 || number[k] > 127) continue;
            float step = (float)t->d * (float)number[k];
            float e = error_of(b->x + FINE * j, b->w + FINE * j, FINE, step, 0, -32, 31);
            if (e < least) least = e, t->scale[j] = number[k];
        }
        t->error += (double)least;
    }
}

static void fine_levels(const scaled_block *b, const scales *t, int8_t q[N]) {
    for (int i = 0; i < N; i++) {
        float step = (float)t->d * (float)t->scale[i / FINE];
        q[i] = (int8_t)(step != 0 ? within(whole(within(b->x[i] / step, -1e6f, 1e6f)), -32, 31) : 0);
    }
}

static void try_scales(const scaled_block *b, double d, scales *best) {
    scales t = {.d = as_step(d)};
    int8_t q[N];
    for (int round = 0; round < 3; round++) {
        double last = t.d, xq = 0, qq = 0;
        pick_scales(b, &t);
        if (t.error < best->error) *best = t;
        fine_levels(b, &t, q);
        for (int i = 0; i < N; i++) {
            double k = (double)(t.scale[i / FINE] * q[i]), w = (double)b->w[i];
            xq += w * (double)b->x[i] * k;
            qq += w * k * k;
        }
        if (qq > 0) t.d = as_step(xq / qq);
        if (t.d == last) return;
    }
}

static scales best_scales(scaled_block *b) {
    static const double full[] = {-128, 127, 121.5, 117};
    scales best = {.error = INFINITY};
    double most = 0, plain = 0;
    for (int j = 0; j < FINES; j++) {
        hn_group g = {b->x + FINE * j, b->w + FINE * j, FINE};
        float sum = 0, one[FINE];
        for (int i = 0; i < FINE; i++) {
            one[i] = 1;
            sum += g.w[i];
            if (fabs((double)g.x[i]) / 32 > fabs(b->plain[j])) b->plain[j] = (double)g.x[i] / -32;
        }
        if (fabs(b->plain[j]) > fabs(plain)) plain = b->plain[j];
        if (!(sum > 0)) g.w = one;
        b->ideal[j] = hn_search_scale(&g, 32, 31, 26, 38);
        if (fabs(b->ideal[j]) > fabs(most)) most = b->ideal[j];
    }
    try_scales(b, plain / -128, &best);
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) try_scales(b, most / full[i], &best);
    if (!(fabs(best.d) > 0x1p-12)) try_scales(b, 0, &best);
    return best;
}

void hn_encode_q6_k(const float *x, const float *w, uint8_t *out) {
    scaled_block b = {.x = x, .w = w};
    scales t = best_scales(&b);
    int8_t q[N];
    fine_levels(&b, &t, q);
    memset(out, 0, 192);
    for (int i = 0; i < N; i++) {
        int half = i / 128, part = i % 128 / 32, l = i % 32, k = q[i] + 32;
        out[64 * half + 32 * (part & 1) + l] |= (uint8_t)((k & 15) << 4 * (part / 2));
        out[128 + 32 * half + l] |= (uint8_t)((k >> 4) << 2 * part);
    }
    for (int j = 0; j < FINES; j++) out[192 + j] = (uint8_t)(int8_t)t.scale[j];
    hn_put_u16(out + 208, hn_half_of((float)t.d));
}
