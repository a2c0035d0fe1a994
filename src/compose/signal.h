/* compose/signal.h — Fourier transforms, windows, the mel matrix. Errors: as in compose.h. */
#ifndef HN_COMPOSE_SIGNAL_H
#define HN_COMPOSE_SIGNAL_H

#include "compose/compose.h"

/* --- fft.c: a constant length ------------------------------------------------------------------------------------- */

typedef struct hn_complex {
    hn_val re, im;
} hn_complex;
bool hn_fft_fits(int64_t n); /* no too large prime factor, tables of a sensible size */
/* x [rows, n], both parts floats of one type; not divided by n. */
hn_complex hn_fft(hn_builder *b, hn_complex x, hn_dim rows, int64_t n, bool inverse);

/* --- dft.c: any length, along an axis ----------------------------------------------------------------------------- */

typedef struct hn_dft {
    hn_builder *b;
    hone_dtype t;   /* of matrices: f64, so that what cancels in a spectrum is 0 to the precision of f32 */
    hone_dtype own; /* of fast transforms, whose error does not grow with n: that of the signal, at least f32 */
    hn_dim n;       /* length of the transform */
    hn_dim in, out; /* elements that are read, elements that are made */
    bool inverse;
} hn_dft;
/* x [..., 1 or 2] (real, or real and imaginary), d->in long along axis: [..., 2], d->out long. */
hn_val hn_dft_transform(const hn_dft *d, hn_val x, size_t axis);
/* The real signal [..., 1] of length n whose one-sided spectrum is x [..., n/2 + 1, ..., 2]. */
hn_val hn_dft_real_inverse(const hn_dft *d, hn_val x, size_t axis);
/* The signal cut or filled with zeros to n elements along axis. */
hn_val hn_dft_fitted(hn_builder *b, hn_val x, size_t axis, hn_dim n);
hn_dim hn_half_spectrum(hn_builder *b, hn_dim n); /* n/2 + 1 */

/* f64 [n]: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n); not periodic: n - 1 below. */
typedef enum hn_taper { HN_HANN, HN_HAMMING, HN_BLACKMAN } hn_taper;
hn_val hn_cosine_window(hn_builder *b, hn_taper which, hn_dim n, bool periodic);
/* f64 [length/2 + 1, bins]: triangles on the mel scale; rate, lowest and highest are one number each, in
 * hertz. */
hn_val hn_mel_matrix(hn_builder *b, hn_dim bins, hn_dim length, hn_val rate, hn_val lowest, hn_val highest);

#endif
