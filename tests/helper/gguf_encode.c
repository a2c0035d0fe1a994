/* gguf_encode TYPE VALUES [WEIGHTS]: floats of a file as blocks of a type, on stdout. With a value that the type cannot
 * hold: its number goes to stderr, exit status 1. */
#include "gguf/encode.h"

#include <stdio.h>
#include <stdlib.h>

static float *read_floats(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f) / sizeof(float);
    rewind(f);
    float *x = malloc(*n * sizeof *x + 1);
    if (x && fread(x, sizeof *x, *n, f) != *n) *n = 0;
    fclose(f);
    return x;
}

int main(int argc, char **argv) {
    size_t n = 0, m = 0;
    const hn_block_type *t = argc > 2 ? hn_block_type_named(argv[1]) : NULL;
    float *x = t ? read_floats(argv[2], &n) : NULL, *w = argc > 3 ? read_floats(argv[3], &m) : NULL;
    uint8_t *out = x && hn_block_encodes(t) && n % t->elements == 0 ? malloc(n / t->elements * t->size_b + 1) : NULL;
    int rc = 2;
    if (out && (!w || n == m)) {
        size_t done = hn_block_encode(t, x, w, n, out), size_b = n / t->elements * t->size_b;
        rc = done == n && fwrite(out, 1, size_b, stdout) == size_b ? 0 : 1;
        if (rc) fprintf(stderr, "%zu\n", done);
    }
    free(x);
    free(w);
    free(out);
    return rc;
}
