/* weights.c — the constants of a model in one file: a head of 64 bytes, then every constant at a multiple of 64.
 *
 * Head: "HONE-WEIGHTS-1" filled to 16 bytes with zeros, 32 hexadecimal digits of BLAKE2b-128 over the hashes of what is
 * stored, in order (so that every byte is hashed once), 16 zeros. A library holds the head of its own file, so weights
 * of another model are refused when it loads. Constants of equal bytes are stored once.
 */
#include "base/hash.h"
#include "compile/compile_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hn_tensor *tensor_of(const hn_model *m, uint32_t i) {
    return hn_attr_get(hn_def(m->g, m->layout.constant[i]), HN_A_VALUE)->tensor;
}

static uint64_t bytes_of(const hn_tensor *t) { return (uint64_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b; }

typedef struct entry {
    char hash[33];
    uint32_t index;
} entry;

static int by_hash(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int order = strcmp(x->hash, y->hash);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* first[i]: the first constant with the bytes of constant i; m->weights_hash: of all of them. */
static bool find_equal(hn_model *m, uint32_t *first) {
    uint32_t n = m->layout.n_constant;
    entry *e = malloc((n + 1) * sizeof *e);
    hn_hash all;
    if (!e) return false;
    hn_hash_begin(&all);
    for (uint32_t i = 0; i < n; i++) {
        hn_hash h;
        const hn_tensor *t = tensor_of(m, i);
        uint64_t size_b = bytes_of(t);
        hn_hash_begin(&h);
        hn_hash_add(&h, &size_b, sizeof size_b);
        hn_hash_add(&h, t->data, size_b);
        hn_hash_end(&h, e[i].hash);
        hn_hash_text(&all, e[i].hash);
        e[i].index = i;
    }
    hn_hash_end(&all, m->weights_hash);
    qsort(e, n, sizeof *e, by_hash);
    for (uint32_t i = 0; i < n; i++)
        first[e[i].index] = i && !strcmp(e[i].hash, e[i - 1].hash) ? first[e[i - 1].index] : e[i].index;
    free(e);
    return true;
}

/* Walks over what is stored, in order, padding included. False: `put` failed. */
static bool each_part(const hn_model *m, bool (*put)(void *ctx, const void *data, size_t n), void *ctx) {
    static const char zeros[64];
    uint64_t at = 0;
    for (uint32_t i = 0; i < m->layout.n_constant; i++) {
        const hn_tensor *t = tensor_of(m, i);
        uint64_t n = bytes_of(t), pad = (64 - n % 64) % 64;
        if ((uint64_t)m->weight_at[i] != at || !n) continue; /* stored before */
        if (!put(ctx, t->data, n) || !put(ctx, zeros, pad)) return false;
        at += n + pad;
    }
    return true;
}

hone_rc hn_weights_lay(hn_model *m, hone_err *err) {
    uint32_t n = m->layout.n_constant, *first = hn_alloc_n(&m->arena, n + 1u, sizeof *first);
    m->weight_at = hn_alloc_n(&m->arena, n + 1u, sizeof *m->weight_at);
    if (!m->weight_at || !first || !find_equal(m, first))
        return hn_fail(err, HONE_E_NOMEM, "out of memory for the weights");
    for (uint32_t i = 0; i < n; i++) {
        m->weight_at[i] = first[i] == i ? (int64_t)m->weights_b : m->weight_at[first[i]];
        if (first[i] == i) m->weights_b += (bytes_of(tensor_of(m, i)) + 63) / 64 * 64;
    }
    return HONE_OK;
}

void hn_weights_head(const hn_model *m, char head[64]) {
    memset(head, 0, 64);
    memcpy(head, "HONE-WEIGHTS-1", 14);
    memcpy(head + 16, m->weights_hash, 32);
}

static bool put_file(void *ctx, const void *data, size_t n) { return !n || fwrite(data, 1, n, ctx) == n; }

hone_rc hn_weights_write(const hn_model *m, const char *path, bool head, hone_err *err) {
    char first[64];
    FILE *f = fopen(path, "wb");
    if (!f) return hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    hn_weights_head(m, first);
    setvbuf(f, NULL, _IONBF, 0); /* what is written is large */
    bool good = (!head || put_file(f, first, sizeof first)) && each_part(m, put_file, f);
    if (fclose(f)) good = false;
    return good ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
}
