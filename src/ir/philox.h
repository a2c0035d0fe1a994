/* ir/philox.h — random numbers by element index, for the interpreter and, as carried text, for compiled models.
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", table 2): the key is
 * the node's seed, the counter the flat index of the element, so any split of the work gives the same numbers.
 * Plain C11, needs libm; depends on nothing else of hone.
 */
#ifndef HNR_PHILOX_H
#define HNR_PHILOX_H

#include <math.h>
#include <stdint.h>

static inline void hnr_philox(uint64_t seed, uint64_t index, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t c1 = c[1], c3 = c[3];
        c[0] = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c[3] = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

/* Uniform in [0, 1), a multiple of 2^-bits. bits: of the element type's significand, so that storing it never rounds up
 * to 1: f64 53, f32 24, f16 11, bf16 8, f8e4m3* 4, f8e5m2* 3, else 1. */
static inline double hnr_philox_uniform(int64_t seed, int64_t index, int bits) {
    uint32_t r[4];
    hnr_philox((uint64_t)seed, (uint64_t)index, r);
    uint64_t x = (uint64_t)r[0] << 32 | r[1];
    return ldexp((double)(x >> (64 - bits)), -bits);
}

/* Standard normal, by Box and Muller's transform; to be rounded once to the element type. */
static inline double hnr_philox_normal(int64_t seed, int64_t index) {
    uint32_t r[4];
    hnr_philox((uint64_t)seed, (uint64_t)index, r);
    double u = ldexp((double)(((uint64_t)r[0] << 32 | r[1]) >> 11) + 1.0, -53);
    double v = ldexp((double)(((uint64_t)r[2] << 32 | r[3]) >> 11), -53);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586476925286766559 * v);
}

#endif
