/* zstd_driver.c — times zstd's compression and decompression in memory and checks the round trip.
 *
 * Arguments: data=text|mixed level=N size=N text=FILE. `text` is the beginning of FILE (zstd's own source), `mixed` a
 * generated stream of records, numbers and noise. The compressed bytes are the output that every build must reproduce.
 */
#include "zstd.h"

#include <hone/bench.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct problem {
    ZSTD_CCtx *cctx;
    ZSTD_DCtx *dctx;
    unsigned char *plain, *packed, *back;
    size_t n, room, n_packed, n_back;
    int level;
};

static void compress(void *ctx) {
    struct problem *p = ctx;
    p->n_packed = ZSTD_compressCCtx(p->cctx, p->packed, p->room, p->plain, p->n, p->level);
    hone_bench_sink(p->packed);
}

static void decompress(void *ctx) {
    struct problem *p = ctx;
    p->n_back = ZSTD_decompressDCtx(p->dctx, p->back, p->n, p->packed, p->n_packed);
    hone_bench_sink(p->back);
}

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void make_mixed(unsigned char *to, size_t n) {
    static const char *const word[] = {"GET", "POST", "/index", "/item", "200", "404", "error", "id", "user", "price"};
    uint32_t state = 1;
    char line[256];
    for (size_t at = 0; at < n;) {
        uint32_t r = next(&state);
        size_t length =
            (size_t)snprintf(line, sizeof line, "%u %s %s/%u \"%s\": %u.%02u\n", 1700000000u + r % 5000, word[r % 10],
                             word[r / 10 % 10], r / 100 % 1000, word[r / 7 % 10], r % 977, r % 100);
        for (uint32_t noise = r % 11 == 0 ? 40 : 0; noise && length < sizeof line; noise--)
            line[length++] = (char)next(&state);
        size_t take = length < n - at ? length : n - at;
        memcpy(to + at, line, take);
        at += take;
    }
}

static size_t read_text(unsigned char *to, size_t n, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    n = fread(to, 1, n, f);
    fclose(f);
    return n;
}

static int verify(const struct problem *p) {
    if (!ZSTD_isError(p->n_packed) && p->n_back == p->n && memcmp(p->plain, p->back, p->n) == 0) return 0;
    fputs("zstd_driver: what came back is not what went in\n", stderr);
    return 3;
}

int main(int argc, char **argv) {
    hone_bench *b = hone_bench_open(argc, argv);
    struct problem p = {.n = (size_t)hone_bench_arg_int(b, "size", 1 << 19),
                        .level = (int)hone_bench_arg_int(b, "level", 3)};
    const char *data = hone_bench_arg_text(b, "data", "mixed"), *path = hone_bench_arg_text(b, "text", "zstd.c");
    p.room = ZSTD_compressBound(p.n);
    p.cctx = ZSTD_createCCtx();
    p.dctx = ZSTD_createDCtx();
    p.plain = malloc(p.n + 1);
    p.packed = malloc(p.room + 1);
    p.back = malloc(p.n + 1);
    if (!p.cctx || !p.dctx || !p.plain || !p.packed || !p.back) {
        fputs("zstd_driver: out of memory\n", stderr);
        return 2;
    }
    if (strcmp(data, "text") == 0)
        p.n = read_text(p.plain, p.n, path);
    else
        make_mixed(p.plain, p.n);
    if (p.n == 0) {
        fprintf(stderr, "zstd_driver: nothing to compress in '%s'\n", path);
        return 2;
    }
    hone_bench_run(b, "compress", compress, &p);
    hone_bench_run(b, "decompress", decompress, &p);
    int wrong = verify(&p);
    hone_bench_output(b, "packed", p.packed, ZSTD_isError(p.n_packed) ? 0 : p.n_packed, HONE_BENCH_U8);
    hone_bench_output(b, "back", p.back, p.n, HONE_BENCH_U8);
    ZSTD_freeCCtx(p.cctx);
    ZSTD_freeDCtx(p.dctx);
    free(p.plain);
    free(p.packed);
    free(p.back);
    int status = hone_bench_close(b);
    return wrong ? wrong : status;
}
