/* base/hash.h — two hashes: BLAKE2b-128 for what is stored and compared across machines, a fast 64-bit one for
 * tables in memory. Both give the same result on every machine. */
#ifndef HN_HASH_H
#define HN_HASH_H

#include <hone/base.h>

#include <string.h>

/* Streaming BLAKE2b-128 (libsodium). Strings are framed with their length by hn_hash_text. Aligned to 64 bytes: keep it
 * on the stack, not in memory from malloc or an arena. */
typedef struct hn_hash {
    _Alignas(64) unsigned char state[384];
} hn_hash;
void hn_hash_begin(hn_hash *h);
void hn_hash_add(hn_hash *h, const void *data, size_t n);
void hn_hash_text(hn_hash *h, const char *text); /* NULL differs from "" */
void hn_hash_end(hn_hash *h, char hex[33]);
/* Hash of a whole file. E_IO names it. */
hone_rc hn_hash_file(const char *path, char hex[33], hone_err *err);

/* splitmix64's finaliser (Steele, Lea & Flood 2014): a bijection with good avalanche. */
static inline uint64_t hn_mix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static inline uint64_t hn_hash64(uint64_t seed, const double *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double v = x[i] == 0 ? 0.0 : x[i]; /* -0 equals 0 */
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        if (v != v) bits = 0x7ff8000000000000u;
        seed = hn_mix64(seed ^ bits);
    }
    return seed;
}

#endif
