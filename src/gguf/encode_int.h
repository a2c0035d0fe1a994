/* gguf/encode_int.h — parts of the encoders. All sums are weighted; weights are > 0 somewhere. */
#ifndef HN_ENCODE_INT_H
#define HN_ENCODE_INT_H

#include "gguf/encode.h"

/* encode.c: IEEE half, to nearest, ties to even; larger than its largest: infinity. */
uint16_t hn_half_of(float x);
float hn_half_value(uint16_t h);
static inline void hn_put_u16(uint8_t *p, uint32_t x) {
    p[0] = (uint8_t)x;
    p[1] = (uint8_t)(x >> 8);
}

enum { HN_GROUP = 32 }; /* elements that share a scale, at most */

/* What is encoded together: x[i] with weight w[i]. */
typedef struct hn_group {
    const float *x, *w;
    int n;
} hn_group;

/* encode_search.c: the scale d for which d q, q whole in -low .. high, is nearest to x: all assignments are tried that
 * rounding x / d gives for largest |x| / |d| in from .. to (in levels), each with its best d. 0: x is all zeros. */
double hn_search_scale(const hn_group *g, int low, int high, double from, double to);

typedef struct hn_affine {
    double d, m; /* d q + m */
} hn_affine;
/* The same for d q + m, q whole in 0 .. high. below: m <= 0. */
hn_affine hn_search_affine(const hn_group *g, int high, bool below);

/* The nearest q for each element, and the error. */
double hn_assign_scale(const hn_group *g, double d, int low, int high, int8_t *q);
double hn_assign_affine(const hn_group *g, hn_affine a, int high, uint8_t *q);

/* encode_32.c, encode_k.c: a block; w: positive somewhere, of mean 1. */
typedef void hn_encode_block(const float *x, const float *w, uint8_t *out);
hn_encode_block hn_encode_q4_0, hn_encode_q4_1, hn_encode_q5_0, hn_encode_q5_1, hn_encode_q8_0, hn_encode_q4_k,
    hn_encode_q5_k, hn_encode_q6_k;

#endif
