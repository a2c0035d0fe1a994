/* ciphers.c — CRC-32, base64, ChaCha20, MD5-like rounds, products of long integers; prints a checksum.
 *
 * A whole program with a fixed amount of work and no input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, LIMBS = 48 };

static uint32_t rotl(uint32_t x, int n) { return x << n | x >> (32 - n); }

static uint32_t crc32(const uint8_t *p, size_t n) {
    static uint32_t table[256];
    uint32_t crc = 0xffffffffu;
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
            table[i] = c;
        }
    while (n--) crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
    return ~crc;
}

static size_t encode(const uint8_t *in, size_t n, char *out) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = out;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0) | (i + 2 < n ? in[i + 2] : 0);
        *to++ = digit[v >> 18];
        *to++ = digit[v >> 12 & 63];
        *to++ = i + 1 < n ? digit[v >> 6 & 63] : '=';
        *to++ = i + 2 < n ? digit[v & 63] : '=';
    }
    return (size_t)(to - out);
}

static int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t decode(const char *in, size_t n, uint8_t *out) {
    size_t at = 0;
    for (size_t i = 0; i + 3 < n; i += 4) {
        uint32_t v = 0;
        int pad = 0;
        for (int k = 0; k < 4; k++) {
            int d = value_of(in[i + (size_t)k]);
            pad += d < 0;
            v = v << 6 | (uint32_t)(d < 0 ? 0 : d);
        }
        for (int k = 0; k < 3 - pad; k++) out[at++] = (uint8_t)(v >> (16 - 8 * k));
    }
    return at;
}

static void quarter(uint32_t *s, int a, int b, int c, int d) {
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 16);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 12);
    s[a] += s[b], s[d] = rotl(s[d] ^ s[a], 8);
    s[c] += s[d], s[b] = rotl(s[b] ^ s[c], 7);
}

static void chacha(uint8_t *p, size_t n, const uint32_t key[8]) {
    uint32_t in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, s[16];
    memcpy(in + 4, key, 32);
    for (size_t at = 0; at < n; at += 64, in[12]++) {
        memcpy(s, in, sizeof s);
        for (int i = 0; i < 10; i++) {
            for (int k = 0; k < 4; k++) quarter(s, k, 4 + k, 8 + k, 12 + k);
            for (int k = 0; k < 4; k++) quarter(s, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
        }
        for (size_t i = 0; i < 64 && at + i < n; i++) p[at + i] ^= (uint8_t)((s[i / 4] + in[i / 4]) >> 8 * (i % 4));
    }
}

static void digest(const uint8_t *p, size_t n, uint32_t s[4]) {
    static const int turn[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    for (size_t at = 0; at + 64 <= n; at += 64) {
        uint32_t a = s[0], b = s[1], c = s[2], d = s[3];
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t f, g, w;
            switch (i / 16) {
            case 0: f = (b & c) | (~b & d), g = i; break;
            case 1: f = (d & b) | (~d & c), g = (5 * i + 1) % 16; break;
            case 2: f = b ^ c ^ d, g = (3 * i + 5) % 16; break;
            default: f = c ^ (b | ~d), g = 7 * i % 16;
            }
            memcpy(&w, p + at + 4 * g, 4);
            f += a + w + i * 0x9e3779b9u;
            a = d, d = c, c = b;
            b += rotl(f, turn[i / 16][i % 4]);
        }
        s[0] += a, s[1] += b, s[2] += c, s[3] += d;
    }
}

static void multiply(const uint32_t *a, const uint32_t *b, uint32_t *out) {
    memset(out, 0, 2 * LIMBS * sizeof *out);
    for (int i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < LIMBS; j++) {
            carry += (uint64_t)a[i] * b[j] + out[i + j];
            out[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        out[i + LIMBS] = (uint32_t)carry;
    }
}

int main(void) {
    static uint8_t data[N], back[N];
    static char text[2 * N];
    uint32_t key[8], s[4] = {1, 2, 3, 4}, a[LIMBS], product[2 * LIMBS], sum = 0;
    for (uint32_t i = 0; i < N; i++) data[i] = (uint8_t)(i * i >> 3);
    for (uint32_t i = 0; i < 8; i++) key[i] = i * 0x01010101u;
    for (uint32_t i = 0; i < LIMBS; i++) a[i] = i * 0x9e3779b9u + 1;
    for (int round = 0; round < 4; round++) {
        chacha(data, N, key);
        size_t n = encode(data, N - (size_t)round, text);
        if (decode(text, n, back) != N - (size_t)round || memcmp(back, data, N - (size_t)round) != 0)
            return EXIT_FAILURE;
        digest(data, N, s);
        multiply(a, a, product);
        memcpy(a, product + LIMBS / 2, sizeof a);
        sum = rotl(sum, 5) ^ crc32(back, N) ^ s[round] ^ crc32((const uint8_t *)product, sizeof product);
    }
    printf("%08x\n", (unsigned)sum);
    return 0;
}
