/* compose/signal.h — Fourier transforms. Errors: as in compose.h. */
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

#endif
