/* dft.c — Fourier transforms along an axis, windows, the mel matrix.
 *
 * A transform of a constant length is a fast one (fft.c). Of a length that only the run knows, of a short real signal
 * and of a one-sided spectrum it is a contraction with the matrix cos/sin(2 pi j k / n): its angles are taken of (j *
 * k) mod n in i64, so that they are exact however long the signal is.
 */
#include "compose/signal.h"

static const double PI = 3.14159265358979323846;

enum { REAL_SHORT = 256 }; /* a shorter real signal is quicker as a matrix product */

/* f64 [in, out] angles, in the sense of the transform. */
static hn_val angles(const hn_dft *d) {
    hn_builder *b = d->b;
    hn_dim shape[] = {d->in, d->out};
    hn_val jk = hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_I64, 2, shape, 0), hn_iota(b, HONE_I64, 2, shape, 1));
    hn_val turn = hn_cast(b, hn_bin(b, HN_OP_MOD, jk, hn_size_value(b, d->n, HONE_I64)), HONE_F64);
    hn_val angle = hn_bin_f(b, HN_OP_MUL, turn, d->inverse ? 2 * PI : -2 * PI);
    return hn_bin(b, HN_OP_DIV, angle, hn_size_value(b, d->n, HONE_F64));
}

/* x with its dimension `axis` of size `in` against m [in, out]: out takes its place. */
static hn_val apply(const hn_dft *d, hn_val x, hn_val m, size_t axis) {
    int64_t lhs[HN_RANK_MAX], out[HN_RANK_MAX], rhs[2] = {(int64_t)axis, HN_RANK_MAX};
    size_t rank = hn_rank(d->b, x);
    for (size_t i = 0; i < rank; i++) {
        lhs[i] = (int64_t)i;
        out[i] = i == axis ? HN_RANK_MAX : (int64_t)i;
    }
    return hn_contract(d->b, x, m, lhs, rhs, rank, out, d->t);
}

/* One part of x [..., 1 or 2] as [rows, n], n being the dimension `axis`. */
static hn_val rows_of(const hn_dft *d, hn_val x, size_t axis, int64_t part, hn_dim rows) {
    hn_builder *b = d->b;
    size_t last = hn_rank(b, x) - 1;
    int64_t perm[HN_RANK_MAX];
    hn_val v = hn_squeeze(b, hn_slice_axis(b, x, (int64_t)last, hn_lit(b, part), hn_lit(b, 1), 1), (int64_t)last);
    for (size_t i = 0, k = 0; i < last; i++)
        if (i != axis) perm[k++] = (int64_t)i;
    perm[last - 1] = (int64_t)axis;
    return hn_reshape(b, hn_transpose(b, v, perm), 2, (hn_dim[]){rows, d->n});
}

/* [rows, n] back to the shape of x with one part, cut to what is wanted along axis. */
static hn_val rows_back(const hn_dft *d, hn_val v, hn_val x, size_t axis) {
    hn_builder *b = d->b;
    size_t last = hn_rank(b, x) - 1, k = 0;
    int64_t perm[HN_RANK_MAX];
    hn_dim shape[HN_RANK_MAX];
    if (hn_dim_equal(b->g->dims, d->out, d->n) != HN_EQUAL) v = hn_slice_axis(b, v, 1, hn_lit(b, 0), d->out, 1);
    for (size_t i = 0; i < last; i++) {
        if (i == axis) continue;
        shape[k] = hn_dim_of(b, x, i);
        perm[i] = (int64_t)k++;
    }
    shape[k] = d->out;
    perm[axis] = (int64_t)k;
    return hn_unsqueeze(b, hn_transpose(b, hn_reshape(b, v, last, shape), perm), (int64_t)last);
}

static hn_val fast(const hn_dft *d, hn_val x, size_t axis, int64_t n, bool is_complex) {
    hn_builder *b = d->b;
    size_t last = hn_rank(b, x) - 1;
    hn_dim rows = hn_lit(b, 1);
    for (size_t i = 0; i < last; i++)
        if (i != axis) rows = hn_dim_mul(b->g->dims, rows, hn_dim_of(b, x, i));
    x = hn_cast(b, x, d->own);
    if (!x) return 0;
    hn_complex v = {rows_of(d, x, axis, 0, rows), 0};
    v.im = is_complex ? rows_of(d, x, axis, 1, rows) : hn_full(b, d->own, 2, (hn_dim[]){rows, d->n}, 0);
    v = hn_fft(b, v, rows, n, d->inverse);
    hn_val y = hn_concat(b, 2, (hn_val[]){rows_back(d, v.re, x, axis), rows_back(d, v.im, x, axis)}, (int64_t)last);
    return d->inverse ? hn_bin_f(b, HN_OP_MUL, y, 1 / (double)n) : y;
}

/* x [..., 1 or 2] (real, or real and imaginary) transformed along axis: [..., 2]. */
hn_val hn_dft_transform(const hn_dft *d, hn_val x, size_t axis) {
    hn_builder *b = d->b;
    if (!x) return 0; /* a failure before */
    size_t last = hn_rank(b, x) - 1;
    bool is_complex = hn_dim_is(b, hn_dim_of(b, x, last), 2);
    int64_t n;
    if (hn_dim_known(b, d->n, &n) && n > 1 && (is_complex || n > REAL_SHORT) && hn_fft_fits(n))
        return fast(d, x, axis, n, is_complex);
    hn_val angle = angles(d), re = hn_cast(b, hn_un(b, HN_OP_COS, angle), d->t),
           im = hn_cast(b, hn_un(b, HN_OP_SIN, angle), d->t);
    hn_dim one = hn_lit(b, 1);
    hn_val xr = hn_slice_axis(b, x, (int64_t)last, hn_lit(b, 0), one, 1), yr = apply(d, xr, re, axis),
           yi = apply(d, xr, im, axis);
    if (is_complex) {
        hn_val xi = hn_slice_axis(b, x, (int64_t)last, one, one, 1);
        yr = hn_bin(b, HN_OP_SUB, yr, apply(d, xi, im, axis));
        yi = hn_bin(b, HN_OP_ADD, yi, apply(d, xi, re, axis));
    }
    hn_val y = hn_concat(b, 2, (hn_val[]){yr, yi}, (int64_t)last);
    return d->inverse ? hn_bin(b, HN_OP_DIV, y, hn_size_value(b, d->n, d->t)) : y;
}

/* The signal cut or filled with zeros to n elements along axis. */
hn_val hn_dft_fitted(hn_builder *b, hn_val x, size_t axis, hn_dim n) {
    hn_dims *t = b->g->dims;
    hn_dim have = hn_dim_of(b, x, axis), less = hn_dim_min(t, have, n);
    if (hn_dim_equal(t, less, have) != HN_EQUAL) x = hn_slice_axis(b, x, (int64_t)axis, hn_lit(b, 0), less, 1);
    if (hn_dim_equal(t, less, n) != HN_EQUAL)
        x = hn_pad_axis(b, x, (int64_t)axis, hn_lit(b, 0), hn_dim_sub(t, n, less), 0);
    return x;
}

/* The real signal of length n whose one-sided spectrum is x [..., n/2 + 1, ..., 2]: the missing half is the conjugate
 * of the given one, so bins 1 … (n - 1)/2 count twice; imaginary parts of the first and (for even n) middle bin do not
 * count. */
hn_val hn_dft_real_inverse(const hn_dft *d, hn_val x, size_t axis) {
    hn_builder *b = d->b;
    if (!x) return 0; /* a failure before */
    size_t last = hn_rank(b, x) - 1;
    hn_val k = hn_iota(b, HONE_I64, 1, &d->in, 0), n = hn_size_value(b, d->n, HONE_I64);
    hn_val twice = hn_bin_f(b, HN_OP_MUL, k, 2);
    hn_val edge = hn_bin(b, HN_OP_OR, hn_bin_f(b, HN_OP_EQ, k, 0), hn_bin(b, HN_OP_EQ, twice, n));
    hn_val weight = hn_where(b, edge, hn_const_f(b, d->t, 1), hn_const_f(b, d->t, 2));
    hn_val angle = angles(d), w = hn_unsqueeze(b, weight, 1);
    hn_val re = hn_bin(b, HN_OP_MUL, hn_cast(b, hn_un(b, HN_OP_COS, angle), d->t), w);
    hn_val sine = hn_where(b, hn_unsqueeze(b, edge, 1), hn_const_f(b, HONE_F64, 0), hn_un(b, HN_OP_SIN, angle));
    hn_val im = hn_bin(b, HN_OP_MUL, hn_cast(b, sine, d->t), w);
    hn_dim one = hn_lit(b, 1);
    hn_val y = apply(d, hn_slice_axis(b, x, (int64_t)last, hn_lit(b, 0), one, 1), re, axis);
    if (hn_dim_is(b, hn_dim_of(b, x, last), 2))
        y = hn_bin(b, HN_OP_SUB, y, apply(d, hn_slice_axis(b, x, (int64_t)last, one, one, 1), im, axis));
    return hn_bin(b, HN_OP_DIV, y, hn_size_value(b, d->n, d->t));
}

hn_dim hn_half_spectrum(hn_builder *b, hn_dim n) {
    return hn_dim_add(b->g->dims, hn_dim_floordiv(b->g->dims, n, hn_lit(b, 2)), hn_lit(b, 1));
}

/* -- windows */

static const double window_terms[][3] = {
    [HN_HANN] = {0.5, 0.5, 0}, [HN_HAMMING] = {25.0 / 46.0, 1 - 25.0 / 46.0, 0}, [HN_BLACKMAN] = {0.42, 0.5, 0.08}};

hn_val hn_cosine_window(hn_builder *b, hn_taper which, hn_dim n, bool periodic) {
    const double *a = window_terms[which];
    hn_val i = hn_iota(b, HONE_F64, 1, &n, 0), size = hn_size_value(b, n, HONE_F64);
    if (!periodic) size = hn_bin_f(b, HN_OP_SUB, size, 1);
    hn_val angle = hn_bin(b, HN_OP_DIV, hn_bin_f(b, HN_OP_MUL, i, 2 * PI), size);
    hn_val y = hn_f_bin(b, HN_OP_SUB, a[0], hn_bin_f(b, HN_OP_MUL, hn_un(b, HN_OP_COS, angle), a[1]));
    if (a[2] != 0) {
        hn_val second = hn_un(b, HN_OP_COS, hn_bin_f(b, HN_OP_MUL, angle, 2));
        y = hn_bin(b, HN_OP_ADD, y, hn_bin_f(b, HN_OP_MUL, second, a[2]));
    }
    return y;
}

/* -- mel */

/* 2595 log10(1 + f / 700) */
static hn_val to_mel(hn_builder *b, hn_val hertz) {
    hn_val l = hn_un(b, HN_OP_LOG, hn_bin_f(b, HN_OP_ADD, hn_bin_f(b, HN_OP_DIV, hertz, 700), 1));
    return hn_bin_f(b, HN_OP_MUL, l, 2595 / 2.302585092994045684);
}

static hn_val f64_scalar(hn_builder *b, hn_val v) { return hn_cast(b, hn_scalar(b, v), HONE_F64); }

/* Bin of the spectrum that band edge k of bins + 2 falls into; f64 vector. */
static hn_val mel_edges(hn_builder *b, hn_dim bins, hn_val dft_length, hn_val rate, hn_val lowest, hn_val highest) {
    hn_dim edges = hn_dim_add(b->g->dims, bins, hn_lit(b, 2));
    hn_val low = to_mel(b, f64_scalar(b, lowest)), high = to_mel(b, f64_scalar(b, highest));
    hn_val step = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_SUB, high, low), hn_size_value(b, edges, HONE_F64));
    hn_val mel = hn_bin(b, HN_OP_ADD, hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_F64, 1, &edges, 0), step), low);
    hn_val power = hn_bin(b, HN_OP_POW, hn_full(b, HONE_F64, 1, &edges, 10), hn_bin_f(b, HN_OP_DIV, mel, 2595));
    hn_val hertz = hn_bin_f(b, HN_OP_MUL, hn_bin_f(b, HN_OP_SUB, power, 1), 700);
    hn_val scaled = hn_bin(b, HN_OP_MUL, hertz, hn_bin_f(b, HN_OP_ADD, dft_length, 1));
    return hn_un(b, HN_OP_FLOOR, hn_bin(b, HN_OP_DIV, scaled, f64_scalar(b, rate)));
}

hn_val hn_mel_matrix(hn_builder *b, hn_dim bins, hn_dim length, hn_val rate, hn_val lowest, hn_val highest) {
    hn_dim one = hn_lit(b, 1);
    hn_val edge = mel_edges(b, bins, hn_size_value(b, length, HONE_F64), rate, lowest, highest),
           zero = hn_const_f(b, HONE_F64, 0);
    hn_val left = hn_slice_axis(b, edge, 0, hn_lit(b, 0), bins, 1), centre = hn_slice_axis(b, edge, 0, one, bins, 1),
           right = hn_slice_axis(b, edge, 0, hn_lit(b, 2), bins, 1);
    hn_dim shape[] = {hn_half_spectrum(b, length), bins};
    hn_val j = hn_iota(b, HONE_F64, 2, shape, 0), rise = hn_bin(b, HN_OP_SUB, centre, left),
           fall = hn_bin(b, HN_OP_SUB, right, centre);
    hn_val up = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_SUB, j, left), rise),
           down = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_SUB, right, j), fall);
    /* rising up to the centre (1 there alone where it does not rise), falling from it where it falls at all */
    hn_val flat = hn_where(b, hn_bin(b, HN_OP_EQ, j, centre), hn_const_f(b, HONE_F64, 1), zero);
    hn_val in_rise = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, left, j), hn_bin(b, HN_OP_LE, j, centre));
    hn_val y = hn_where(b, hn_bin_f(b, HN_OP_EQ, rise, 0), flat, hn_where(b, in_rise, up, zero));
    hn_val in_fall = hn_bin(b, HN_OP_AND, hn_bin(b, HN_OP_LE, centre, j), hn_bin(b, HN_OP_LT, j, right));
    return hn_where(b, in_fall, down, y);
}
