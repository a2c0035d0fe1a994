/* matrix.c — matrix operations of a warp as plain C: ldmatrix, mma.sync m16n8k16 and m16n8k8, by the fragment maps of
 * the PTX manual.
 */
#include "rt.h"
#include "shim_ops.h"

#include <string.h>

static float half_value(uint16_t h) {
    const uint32_t sign = (uint32_t)(h >> 15) << 31, exponent = h >> 10 & 31, fraction = h & 1023;
    uint32_t bits;
    float x;
    if (!exponent) {
        x = (float)fraction * 0x1p-24f;
        return sign ? -x : x;
    }
    bits = exponent == 31 ? sign | 0x7f800000u | fraction << 13 : sign | (exponent + 112) << 23 | fraction << 13;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const uint64_t *whole_warp(uint64_t give, const char *what, const char *file, int line) {
    unsigned lanes;
    const uint64_t *got = shim_gather(0xffffffffu, give, &lanes, what, file, line);
    if (lanes != 0xffffffffu) {
        hs_say(HS_WARP, "%s wants all 32 lanes of a warp", what);
        hs_say_place(hs.current, hs.interval, "takes part", 0, file, line);
        hs_give_up();
    }
    return got;
}

/* Lane l gives the address of row l % 8 of tile l / 8 and gets, of each tile, elements 2 (l % 4) and the next of row l
 * / 4 (transposed: of column l / 4, rows 2 (l % 4) and the next). */
void shim_ldmatrix(unsigned *out, const void *row, int tiles, int transposed, const char *file, int line) {
    const uintptr_t site = (uintptr_t)__builtin_return_address(0);
    const unsigned l = shim_lane();
    uint64_t at[HS_LANES];
    if ((int)l < 8 * tiles && ((uintptr_t)row & 15)) {
        hs_say(HS_MISUSE, "ldmatrix wants rows that begin at multiples of 16 bytes");
        hs_say_place(hs.current, hs.interval, "gives another", 0, file, line);
        hs_give_up();
    }
    memcpy(at, whole_warp((uint64_t)(uintptr_t)row, "ldmatrix", file, line), sizeof at);
    for (int t = 0; t < tiles; t++) {
        uint16_t two[2];
        for (unsigned e = 0; e < 2; e++) {
            const unsigned c = 2 * (l % 4) + e;
            const uintptr_t p = transposed ? at[8 * t + (int)c] + 2 * (l / 4) : at[8 * t + (int)(l / 4)] + 2 * c;
            if (!hs_touch(p, 2, HS_READ, site)) hs_give_up();
            memcpy(&two[e], (const void *)p, 2);
        }
        memcpy(&out[t], two, sizeof two);
    }
}

/* Registers of all lanes, `n` words each. */
static void gather(unsigned (*to)[4], const unsigned *mine, int n, const char *file, int line) {
    for (int k = 0; k < n; k += 2) {
        uint64_t both = mine[k] | (n > 1 ? (uint64_t)mine[k + 1] << 32 : 0);
        const uint64_t *got = whole_warp(both, "mma.sync", file, line);
        for (int l = 0; l < HS_LANES; l++) {
            to[l][k] = (unsigned)got[l];
            if (n > 1) to[l][k + 1] = (unsigned)(got[l] >> 32);
        }
    }
}

typedef float value_at(unsigned (*as)[4], unsigned row, unsigned column);

/* Lane l holds of D rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next: each of its sums, in the order of K, in
 * float. */
static void multiply(float *d, unsigned (*as)[4], unsigned (*bs)[4], unsigned n, value_at *a, value_at *b) {
    const unsigned l = shim_lane();
    for (unsigned r = 0; r < 4; r++) {
        const unsigned row = l / 4 + (r & 2 ? 8 : 0), column = 2 * (l % 4) + (r & 1);
        float sum = 0;
        for (unsigned k = 0; k < n; k++) sum += a(as, row, k) * b(bs, k, column);
        d[r] += sum;
    }
}

/* Of A the same rows, in registers 0 to 3 columns 2 (l % 4), of row l / 4, row + 8, and both with columns + 8; of B
 * column l / 4, rows 2 (l % 4), and + 8 in register 1. */
static uint16_t half_a(unsigned (*as)[4], unsigned row, unsigned k) {
    return (uint16_t)(as[row % 8 * 4 + k % 8 / 2][(k >= 8 ? 2u : 0u) + (row >= 8 ? 1u : 0u)] >> 16 * (k & 1));
}
static uint16_t half_b(unsigned (*bs)[4], unsigned k, unsigned column) {
    return (uint16_t)(bs[column * 4 + k % 8 / 2][k >= 8] >> 16 * (k & 1));
}
static float f16_a(unsigned (*as)[4], unsigned row, unsigned k) { return half_value(half_a(as, row, k)); }
static float f16_b(unsigned (*bs)[4], unsigned k, unsigned column) { return half_value(half_b(bs, k, column)); }
static float as_float(unsigned bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static float bf16_a(unsigned (*as)[4], unsigned row, unsigned k) {
    return as_float((unsigned)half_a(as, row, k) << 16);
}
static float bf16_b(unsigned (*bs)[4], unsigned k, unsigned column) {
    return as_float((unsigned)half_b(bs, k, column) << 16);
}

void shim_mma_16816(float *d, const unsigned *a, const unsigned *b, int bf, const char *file, int line) {
    unsigned as[HS_LANES][4], bs[HS_LANES][4];
    gather(as, a, 4, file, line);
    gather(bs, b, 2, file, line);
    multiply(d, as, bs, 16, bf ? bf16_a : f16_a, bf ? bf16_b : f16_b);
}

/* Floats of which the product sees sign, exponent and ten bits. Of A rows l / 4 (and + 8 in registers 1 and 3), columns
 * l % 4 (and
 * + 4 in registers 2 and 3); of B column l / 4, rows l % 4, and + 4 in register 1. */
static float tf32_a(unsigned (*as)[4], unsigned row, unsigned k) {
    return as_float(as[row % 8 * 4 + k % 4][(row >= 8 ? 1u : 0u) + (k >= 4 ? 2u : 0u)] & 0xffffe000u);
}
static float tf32_b(unsigned (*bs)[4], unsigned k, unsigned column) {
    return as_float(bs[column * 4 + k % 4][k >= 4] & 0xffffe000u);
}

void shim_mma_1688(float *d, const unsigned *a, const unsigned *b, const char *file, int line) {
    unsigned as[HS_LANES][4], bs[HS_LANES][4];
    gather(as, a, 4, file, line);
    gather(bs, b, 2, file, line);
    multiply(d, as, bs, 8, tf32_a, tf32_b);
}
