/* sha256.c — SHA-256 (FIPS 180-4) and HMAC (RFC 2104) over generated data; prints one digest.
 *
 * A whole program with a fixed amount of work and no input: its instruction count is the same in every run. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct sha256 {
    uint32_t state[8];
    uint64_t n_b;
    uint8_t block[64];
} sha256;

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static uint32_t load_be(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void compress(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) w[i] = load_be(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t b = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
        uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; j--) s[j] = s[j - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

static void sha256_begin(sha256 *h) {
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(h->state, first, sizeof first);
    h->n_b = 0;
}

static void sha256_add(sha256 *h, const void *data, size_t n) {
    const uint8_t *p = data;
    while (n) {
        size_t at = h->n_b % 64, take = 64 - at < n ? 64 - at : n;
        memcpy(h->block + at, p, take);
        h->n_b += take;
        p += take;
        n -= take;
        if (h->n_b % 64 == 0) compress(h->state, h->block);
    }
}

static void sha256_end(sha256 *h, uint8_t out[32]) {
    uint64_t n_bits = 8 * h->n_b;
    uint8_t pad[72] = {0x80}, length[8];
    size_t at = h->n_b % 64, n = at < 56 ? 56 - at : 120 - at;
    store_be(length, (uint32_t)(n_bits >> 32));
    store_be(length + 4, (uint32_t)n_bits);
    sha256_add(h, pad, n);
    sha256_add(h, length, 8);
    for (int i = 0; i < 8; i++) store_be(out + 4 * i, h->state[i]);
}

static void hmac(const uint8_t *key, size_t n_key, const void *data, size_t n, uint8_t out[32]) {
    uint8_t inner[64] = {0}, outer[64];
    sha256 h;
    memcpy(inner, key, n_key);
    for (int i = 0; i < 64; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    sha256_begin(&h);
    sha256_add(&h, inner, 64);
    sha256_add(&h, data, n);
    sha256_end(&h, out);
    sha256_begin(&h);
    sha256_add(&h, outer, 64);
    sha256_add(&h, out, 32);
    sha256_end(&h, out);
}

int main(void) {
    static uint8_t data[20000];
    uint8_t key[32] = "a key of thirty-two bytes, fixed";
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof data; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    for (size_t n = sizeof data; n > 64; n = n * 3 / 4) hmac(key, sizeof key, data, n - 1, key);
    for (int i = 0; i < 32; i++) printf("%02x", key[i]);
    putchar('\n');
    return 0;
}
