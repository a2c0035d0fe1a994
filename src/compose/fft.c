/* fft.c — mixed radix FFT, decimation in frequency, self-sorting (Stockham; see Van Loan 1992, "Computational
 * frameworks for the fast Fourier transform", 1.7).
 *
 * A stage of radix p sees its input as [rows, done, p, rest] and gives [rows, p, done, rest]: a butterfly over p, then
 * twiddle factors. Stages are tensor operations over all rows at once: fusion makes one pass of each. Radix 4 first,
 * then 2, 3, 5, then other primes by a small matrix; a prime n is that matrix alone.
 */
#include "compose/signal.h"

#include <math.h>

enum { RADICES_MAX = 64, RADIX_SMALL = 5, LENGTH_MOST = 1 << 20, TABLE_MOST = 1 << 20 };
static const double TURN = 6.28318530717958647692;

typedef struct stage {
    hn_builder *b;
    hone_dtype t;
    hn_dim rows;
    int64_t n, p, done, rest;
    bool inverse;
} stage;

static hn_complex add(hn_builder *b, hn_complex x, hn_complex y) {
    return (hn_complex){hn_bin(b, HN_OP_ADD, x.re, y.re), hn_bin(b, HN_OP_ADD, x.im, y.im)};
}
static hn_complex sub(hn_builder *b, hn_complex x, hn_complex y) {
    return (hn_complex){hn_bin(b, HN_OP_SUB, x.re, y.re), hn_bin(b, HN_OP_SUB, x.im, y.im)};
}
static hn_complex scale(hn_builder *b, hn_complex x, double f) {
    return (hn_complex){hn_bin_f(b, HN_OP_MUL, x.re, f), hn_bin_f(b, HN_OP_MUL, x.im, f)};
}
/* x * i, or x * -i */
static hn_complex turned(hn_builder *b, hn_complex x, bool left) {
    if (left) return (hn_complex){hn_un(b, HN_OP_NEG, x.im), x.re};
    return (hn_complex){x.im, hn_un(b, HN_OP_NEG, x.re)};
}

/* x [rows, done, rest] * exp(± i TURN k j done / n), j along rest. */
static hn_complex twiddled(const stage *s, hn_complex x, int64_t k) {
    hn_builder *b = s->b;
    hn_tensor w[2];
    if (s->rest == 1 || k == 0) return x;
    for (int i = 0; i < 2; i++)
        if (!hn_tensor_new(&b->g->arena, s->t, 1, &s->rest, &w[i])) return x;
    for (int64_t j = 0; j < s->rest; j++) {
        double angle = TURN * (double)(k * j * s->done % s->n) / (double)s->n;
        hn_set_f(&w[0], j, cos(angle));
        hn_set_f(&w[1], j, s->inverse ? sin(angle) : -sin(angle));
    }
    hn_val re = hn_const(b, &w[0]), im = hn_const(b, &w[1]);
    return (hn_complex){
        hn_bin(b, HN_OP_SUB, hn_bin(b, HN_OP_MUL, x.re, re), hn_bin(b, HN_OP_MUL, x.im, im)),
        hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_MUL, x.re, im), hn_bin(b, HN_OP_MUL, x.im, re)),
    };
}

/* -- butterflies: out[k] = sum over j of in[j] * exp(± i TURN j k / p) */

static void radix2(const stage *s, const hn_complex *in, hn_complex *out) {
    out[0] = add(s->b, in[0], in[1]);
    out[1] = sub(s->b, in[0], in[1]);
}

static void radix3(const stage *s, const hn_complex *in, hn_complex *out) {
    hn_builder *b = s->b;
    hn_complex sum = add(b, in[1], in[2]), mid = add(b, in[0], scale(b, sum, -0.5));
    hn_complex side = turned(b, scale(b, sub(b, in[1], in[2]), sqrt(0.75)), s->inverse);
    out[0] = add(b, in[0], sum);
    out[1] = add(b, mid, side);
    out[2] = sub(b, mid, side);
}

static void radix4(const stage *s, const hn_complex *in, hn_complex *out) {
    hn_builder *b = s->b;
    hn_complex even = add(b, in[0], in[2]), even_d = sub(b, in[0], in[2]), odd = add(b, in[1], in[3]);
    hn_complex odd_d = turned(b, sub(b, in[1], in[3]), s->inverse);
    out[0] = add(b, even, odd);
    out[1] = add(b, even_d, odd_d);
    out[2] = sub(b, even, odd);
    out[3] = sub(b, even_d, odd_d);
}

static void radix5(const stage *s, const hn_complex *in, hn_complex *out) {
    static const double c1 = 0.30901699437494742410, s1 = 0.95105651629515357212, c2 = -0.80901699437494742410,
                        s2 = 0.58778525229247312917;
    hn_builder *b = s->b;
    hn_complex a1 = add(b, in[1], in[4]), d1 = sub(b, in[1], in[4]), a2 = add(b, in[2], in[3]),
               d2 = sub(b, in[2], in[3]);
    out[0] = add(b, add(b, in[0], a1), a2);
    hn_complex mid1 = add(b, add(b, in[0], scale(b, a1, c1)), scale(b, a2, c2));
    hn_complex mid2 = add(b, add(b, in[0], scale(b, a1, c2)), scale(b, a2, c1));
    hn_complex side1 = turned(b, add(b, scale(b, d1, s1), scale(b, d2, s2)), s->inverse);
    hn_complex side2 = turned(b, sub(b, scale(b, d1, s2), scale(b, d2, s1)), s->inverse);
    out[1] = add(b, mid1, side1);
    out[4] = sub(b, mid1, side1);
    out[2] = add(b, mid2, side2);
    out[3] = sub(b, mid2, side2);
}

/* Any radix by its matrix: x [rows, done, p, rest] to [rows, p, done, rest]; twiddles as one more matrix [p, rest]. */
static hn_complex radix_any(const stage *s, hn_complex x) {
    static const int64_t lhs[] = {0, 1, 2, 3}, rhs[] = {2, 4, 3}, out[] = {0, 4, 1, 3};
    hn_builder *b = s->b;
    hn_tensor w[2];
    for (int i = 0; i < 2; i++)
        if (!hn_tensor_new(&b->g->arena, s->t, 3, (int64_t[]){s->p, s->p, s->rest}, &w[i])) return x;
    for (int64_t j = 0, at = 0; j < s->p; j++)
        for (int64_t k = 0; k < s->p; k++)
            for (int64_t r = 0; r < s->rest; r++, at++) {
                int64_t turn = (j * k % s->p * (s->n / s->p) + k * r % s->n * s->done) % s->n;
                double angle = TURN * (double)turn / (double)s->n;
                hn_set_f(&w[0], at, cos(angle));
                hn_set_f(&w[1], at, s->inverse ? sin(angle) : -sin(angle));
            }
    hn_val re = hn_const(b, &w[0]), im = hn_const(b, &w[1]);
    hn_val rr = hn_contract(b, x.re, re, lhs, rhs, 4, out, s->t), ii = hn_contract(b, x.im, im, lhs, rhs, 4, out, s->t);
    hn_val ri = hn_contract(b, x.re, im, lhs, rhs, 4, out, s->t), ir = hn_contract(b, x.im, re, lhs, rhs, 4, out, s->t);
    return (hn_complex){hn_bin(b, HN_OP_SUB, rr, ii), hn_bin(b, HN_OP_ADD, ri, ir)};
}

static hn_complex run_stage(const stage *s, hn_complex x) {
    hn_builder *b = s->b;
    hn_dim one = hn_lit(b, 1), done = hn_lit(b, s->done), rest = hn_lit(b, s->rest),
           flat[] = {s->rows, hn_lit(b, s->n)};
    hn_dim four[] = {s->rows, done, hn_lit(b, s->p), rest}, part[] = {s->rows, done, rest},
           stack[] = {s->rows, one, done, rest};
    hn_complex in[RADIX_SMALL], out[RADIX_SMALL];
    hn_val re[RADIX_SMALL], im[RADIX_SMALL];
    x = (hn_complex){hn_reshape(b, x.re, 4, four), hn_reshape(b, x.im, 4, four)};
    if (s->p > RADIX_SMALL) {
        x = radix_any(s, x);
        return (hn_complex){hn_reshape(b, x.re, 2, flat), hn_reshape(b, x.im, 2, flat)};
    }
    for (int64_t j = 0; j < s->p; j++) {
        in[j].re = hn_reshape(b, hn_slice_axis(b, x.re, 2, hn_lit(b, j), one, 1), 3, part);
        in[j].im = hn_reshape(b, hn_slice_axis(b, x.im, 2, hn_lit(b, j), one, 1), 3, part);
    }
    if (s->p == 2)
        radix2(s, in, out);
    else if (s->p == 3)
        radix3(s, in, out);
    else if (s->p == 4)
        radix4(s, in, out);
    else
        radix5(s, in, out);
    for (int64_t k = 0; k < s->p; k++) {
        hn_complex y = twiddled(s, out[k], k);
        re[k] = hn_reshape(b, y.re, 4, stack);
        im[k] = hn_reshape(b, y.im, 4, stack);
    }
    return (hn_complex){hn_reshape(b, hn_concat(b, (size_t)s->p, re, 1), 2, flat),
                        hn_reshape(b, hn_concat(b, (size_t)s->p, im, 1), 2, flat)};
}

/* A single 2 comes before the 4s: with the largest block of equal work last. */
static size_t factorise(int64_t n, int64_t *out) {
    size_t k = 0;
    int64_t twos = 0;
    for (; n % 2 == 0 && n > 0; n /= 2) twos++;
    if (twos % 2) out[k++] = 2;
    for (; twos > 1; twos -= 2) out[k++] = 4;
    for (int64_t p = 3; p * p <= n; p += 2)
        for (; n % p == 0; n /= p) out[k++] = p;
    if (n > 1) out[k++] = n;
    return k;
}

bool hn_fft_fits(int64_t n) {
    int64_t radix[RADICES_MAX];
    if (n < 1 || n > LENGTH_MOST) return false;
    size_t count = factorise(n, radix);
    for (size_t i = 0; i < count; i++)
        if (radix[i] > RADIX_SMALL && radix[i] * n > TABLE_MOST) return false;
    return true;
}

hn_complex hn_fft(hn_builder *b, hn_complex x, hn_dim rows, int64_t n, bool inverse) {
    int64_t radix[RADICES_MAX];
    size_t count = n > 1 ? factorise(n, radix) : 0;
    stage s = {.b = b, .t = hn_dt(b, x.re), .rows = rows, .n = n, .done = 1, .inverse = inverse};
    for (size_t i = 0; i < count; i++) {
        s.p = radix[i];
        s.rest = n / s.done / s.p;
        x = run_stage(&s, x);
        s.done *= s.p;
    }
    return x;
}
