/* base/rng.h — xoshiro256** (Blackman & Vigna 2018), seeded by splitmix64: small, fast, the same everywhere.
 * A stream is made from (seed, counter), so any step of a search can be replayed without the steps before it. */
#ifndef HN_RNG_H
#define HN_RNG_H

#include "base/hash.h"

#include <math.h>

typedef struct hn_rng {
    uint64_t s[4];
} hn_rng;

static inline hn_rng hn_rng_make(uint64_t seed, uint64_t stream) {
    hn_rng r;
    uint64_t x = hn_mix64(seed) ^ hn_mix64(stream ^ 0xa5a5a5a5a5a5a5a5u);
    for (int i = 0; i < 4; i++) r.s[i] = hn_mix64(x += 0x9e3779b97f4a7c15u);
    return r;
}
static inline uint64_t hn_rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
static inline uint64_t hn_rng_next(hn_rng *r) {
    uint64_t *s = r->s, out = hn_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = hn_rotl(s[3], 45);
    return out;
}
/* Uniform in [0, 1). */
static inline double hn_rng_unit(hn_rng *r) { return (double)(hn_rng_next(r) >> 11) * 0x1p-53; }
__extension__ typedef unsigned __int128 hn_u128;
/* Uniform in 0 .. n-1, n >= 1, unbiased (Lemire 2019). */
static inline uint64_t hn_rng_below(hn_rng *r, uint64_t n) {
    for (;;) {
        hn_u128 m = (hn_u128)hn_rng_next(r) * n;
        uint64_t low = (uint64_t)m; /* the division is needed in n of 2^64 draws only */
        if (low >= n || low >= (-n) % n) return (uint64_t)(m >> 64);
    }
}
/* Standard normal (polar method, Marsaglia & Bray 1964; the second variate is dropped to stay stateless). */
static inline double hn_rng_normal(hn_rng *r) {
    for (;;) {
        double u = 2 * hn_rng_unit(r) - 1, v = 2 * hn_rng_unit(r) - 1, q = u * u + v * v;
        if (q > 0 && q < 1) return u * sqrt(-2 * log(q) / q);
    }
}

#endif
