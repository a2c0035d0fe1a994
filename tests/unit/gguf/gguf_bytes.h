/* Writes small GGUF files into a buffer, for tests. */
#ifndef GGUF_BYTES_H
#define GGUF_BYTES_H

#include <stdint.h>
#include <string.h>

typedef struct bytes {
    uint8_t b[4096];
    size_t n;
} bytes;

static inline void put(bytes *f, uint64_t x, size_t size) {
    for (size_t i = 0; i < size && f->n < sizeof f->b; i++) f->b[f->n++] = (uint8_t)(x >> 8 * i);
}

static inline void put_text(bytes *f, const char *text) {
    put(f, strlen(text), 8);
    for (; *text; text++) put(f, (uint8_t)*text, 1);
}

static inline void put_head(bytes *f, uint32_t version, uint64_t tensors, uint64_t pairs) {
    for (const char *c = "GGUF"; *c; c++) put(f, (uint8_t)*c, 1);
    put(f, version, 4);
    put(f, tensors, 8);
    put(f, pairs, 8);
}

static inline void put_u32(bytes *f, const char *key, uint32_t x) {
    put_text(f, key);
    put(f, 4, 4);
    put(f, x, 4);
}

static inline void put_string(bytes *f, const char *key, const char *x) {
    put_text(f, key);
    put(f, 8, 4);
    put_text(f, x);
}

/* A matrix of rows x columns, of a type, at an offset into the data. */
static inline void put_tensor(bytes *f, const char *name, uint64_t rows, uint64_t columns, uint32_t type,
                              uint64_t offset) {
    put_text(f, name);
    put(f, 2, 4);
    put(f, columns, 8);
    put(f, rows, 8);
    put(f, type, 4);
    put(f, offset, 8);
}

static inline void put_data(bytes *f, size_t n) {
    while (f->n % 32) put(f, 0, 1);
    while (n--) put(f, (n * 37) & 255, 1);
}

#endif
