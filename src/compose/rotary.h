/* compose/rotary.h — angles of rotary positions, and how they are changed for contexts longer than the trained one.
 *
 * Pair k of the first `size` elements of a head turns by position * speed[k]; speed[k] = base^(-2 k / size) unscaled.
 * Sources: Su et al. 2021; linear: Chen et al. 2023; by wavelength (Llama 3.1): Dubey et al. 2024; YaRN: Peng et al.
 * 2023; two sets of factors (LongRoPE): Ding et al. 2024.
 */
#ifndef HN_ROTARY_H
#define HN_ROTARY_H

#include "ir/build.h"

typedef enum hn_rotary_kind {
    HN_ROTARY_LINEAR,     /* all speeds are divided by the factor; 0: by nothing */
    HN_ROTARY_WAVELENGTH, /* those of long waves are, those of short waves are not, between them part by part */
    HN_ROTARY_YARN,       /* the same by the turns within the original context, and angles have a length */
    HN_ROTARY_LONG,       /* factors within the original context, and others beyond it; angles have a length */
} hn_rotary_kind;

typedef struct hn_rotary_scaling {
    hn_rotary_kind kind;
    double low, high; /* WAVELENGTH: original context / wavelength of the slowest and fastest wave that is changed in
                         part; YARN: turns within the original context below which a pair is scaled (0: 1), and above
                         which it is not (0: 32) */
    double original;  /* the trained context; 0: that of the model */
    double attention; /* what cosines and sines are multiplied with; 0: by the kind's own formula */
} hn_rotary_scaling;

/* The speeds of size / 2 pairs by all that is known without factors; out has room for them. factor: 0: 1. */
void hn_rotary_speeds(const hn_rotary_scaling *r, double base, double factor, double context, int64_t size, float *out);
/* What cosines and sines are multiplied with. */
double hn_rotary_length(const hn_rotary_scaling *r, double factor, double context);
/* E_INPUT: numbers that make no sense. */
hone_rc hn_rotary_check(const hn_rotary_scaling *r, double factor, double context, hone_err *err);

#endif
