/* gemm.c — blocked fp32 matrix product, C = A * B, all row-major.
 *
 * Three loops over tiles of TILE_M x TILE_N x TILE_K that should fit into the caches, and inside them a block of MR
 * rows by NR columns of C that should fit into registers. No packing: the plain version people write first, whose
 * best sizes are found by measuring.
 *
 * Sums over k run in order for every element of C, so all parameter values give the same result as long as the
 * compiler does not contract or reassociate.
 *
 * Arguments: m=N n=N k=N seed=N. Parameters: -DTILE_M -DTILE_N -DTILE_K -DMR -DNR -DUNROLL_K (1, 2, 4).
 */
#include <hone/bench.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TILE_M
#define TILE_M 32
#endif
#ifndef TILE_N
#define TILE_N 64
#endif
#ifndef TILE_K
#define TILE_K 64
#endif
#ifndef MR
#define MR 8
#endif
#ifndef NR
#define NR 32
#endif
#ifndef UNROLL_K
#define UNROLL_K 1
#endif

#define PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define UNROLL(n) PRAGMA(clang loop unroll_count(n))
#else
#define UNROLL(n) PRAGMA(GCC unroll n)
#endif

_Static_assert(TILE_M % MR == 0 && TILE_N % NR == 0, "a tile is a whole number of register blocks");

struct problem {
    size_t m, n, k;
    float *a, *b, *c;
};

static inline size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* A full MR x NR block of C over kc steps. */
static inline void block_full(const float *restrict a, size_t lda, const float *restrict b, size_t ldb,
                              float *restrict c, size_t ldc, size_t kc) {
    float acc[MR][NR];
    for (size_t i = 0; i < MR; i++)
        for (size_t j = 0; j < NR; j++) acc[i][j] = c[i * ldc + j];
    UNROLL(UNROLL_K)
    for (size_t k = 0; k < kc; k++)
        for (size_t i = 0; i < MR; i++)
            for (size_t j = 0; j < NR; j++) acc[i][j] += a[i * lda + k] * b[k * ldb + j];
    for (size_t i = 0; i < MR; i++)
        for (size_t j = 0; j < NR; j++) c[i * ldc + j] = acc[i][j];
}

/* What is left at the edges of the matrix. */
static void block_edge(const float *restrict a, size_t lda, const float *restrict b, size_t ldb, float *restrict c,
                       size_t ldc, size_t mc, size_t nc, size_t kc) {
    for (size_t i = 0; i < mc; i++)
        for (size_t k = 0; k < kc; k++)
            for (size_t j = 0; j < nc; j++) c[i * ldc + j] += a[i * lda + k] * b[k * ldb + j];
}

static void tile(const struct problem *p, size_t i0, size_t j0, size_t k0) {
    size_t i_end = min(i0 + TILE_M, p->m), j_end = min(j0 + TILE_N, p->n), kc = min(TILE_K, p->k - k0);
    for (size_t i = i0; i < i_end; i += MR)
        for (size_t j = j0; j < j_end; j += NR) {
            const float *a = p->a + i * p->k + k0, *b = p->b + k0 * p->n + j;
            float *c = p->c + i * p->n + j;
            if (i + MR <= i_end && j + NR <= j_end)
                block_full(a, p->k, b, p->n, c, p->n, kc);
            else
                block_edge(a, p->k, b, p->n, c, p->n, min(MR, i_end - i), min(NR, j_end - j), kc);
        }
}

static void gemm(void *ctx) {
    const struct problem *p = ctx;
    memset(p->c, 0, p->m * p->n * sizeof *p->c);
    for (size_t i = 0; i < p->m; i += TILE_M)
        for (size_t k = 0; k < p->k; k += TILE_K)
            for (size_t j = 0; j < p->n; j += TILE_N) tile(p, i, j, k);
    hone_bench_sink(p->c);
}

static float *filled(size_t n, uint32_t *state) {
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) {
        *state = *state * 1664525u + 1013904223u;
        x[i] = (float)(*state >> 8) * (2.0f / 16777216.0f) - 1.0f;
    }
    return x;
}

int main(int argc, char **argv) {
    hone_bench *b = hone_bench_open(argc, argv);
    struct problem p = {.m = (size_t)hone_bench_arg_int(b, "m", 192),
                        .n = (size_t)hone_bench_arg_int(b, "n", 192),
                        .k = (size_t)hone_bench_arg_int(b, "k", 192)};
    uint32_t seed = (uint32_t)hone_bench_arg_int(b, "seed", 1);
    p.a = filled(p.m * p.k, &seed);
    p.b = filled(p.k * p.n, &seed);
    p.c = filled(p.m * p.n, &seed);
    if (p.m == 0 || p.n == 0 || p.k == 0 || !p.a || !p.b || !p.c) {
        fputs("gemm: m, n and k must be at least 1 and fit into memory\n", stderr);
        return 2;
    }
    hone_bench_run(b, "latency", gemm, &p);
    hone_bench_output(b, "c", p.c, p.m * p.n, HONE_BENCH_F32);
    free(p.a);
    free(p.b);
    free(p.c);
    return hone_bench_close(b);
}
