/* weights.c — the constants of a model in one file: a head of 64 bytes, then every constant at a multiple of 64.
 *
 * Head: "HONE-WEIGHTS-1" filled to 16 bytes with zeros, 32 hexadecimal digits of BLAKE2b-128 over the hashes of what is
 * stored, in order (so that every byte is hashed once), 16 zeros. A library holds the head of its own file, so weights
 * of another model are refused when it loads. Constants of equal bytes are stored once.
 */
#include "artifact/artifact.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(const hn_tensor *t) { return (uint64_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b; }

static const hn_tensor *tensor_of(const hn_model *m, uint32_t i) {
    return hn_attr_get(hn_def(m->g, m->layout.constant[i]), HN_A_VALUE)->tensor;
}

/* Constants of all versions, one behind the other; targets share those of their version. */
typedef struct constant {
    const hn_tensor *t;
    int64_t *at;
} constant;

typedef struct entry {
    char hash[33];
    uint32_t index;
} entry;

static int by_hash(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int order = strcmp(x->hash, y->hash);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void hash_tensor(const hn_tensor *t, char hex[33]) {
    hn_hash h;
    uint64_t size_b = bytes_of(t);
    hn_hash_begin(&h);
    hn_hash_add(&h, &size_b, sizeof size_b);
    hn_hash_add(&h, t->data, size_b);
    hn_hash_end(&h, hex);
}

/* first[i]: the first constant with the bytes of constant i; hash: of all of them. */
static bool find_equal(const constant *c, uint32_t n, uint32_t *first, char hash[33]) {
    entry *e = malloc((n + 1) * sizeof *e);
    hn_hash all;
    if (!e) return false;
    hn_hash_begin(&all);
    for (uint32_t i = 0; i < n; i++) {
        hash_tensor(c[i].t, e[i].hash);
        hn_hash_text(&all, e[i].hash);
        e[i].index = i;
    }
    hn_hash_end(&all, hash);
    qsort(e, n, sizeof *e, by_hash);
    for (uint32_t i = 0; i < n; i++)
        first[e[i].index] = i && !strcmp(e[i].hash, e[i - 1].hash) ? first[e[i - 1].index] : e[i].index;
    free(e);
    return true;
}

/* Walks over what is stored, in order, padding included. False: `put` failed. */
static bool each_part(const hn_library *l, bool (*put)(void *ctx, const void *data, size_t n), void *ctx) {
    static const char zeros[64];
    uint64_t at = 0;
    for (uint32_t v = 0; v < l->n_version; v++)
        for (uint32_t i = 0; i < l->model[v].layout.n_constant; i++) {
            const hn_tensor *t = tensor_of(&l->model[v], i);
            uint64_t n = bytes_of(t), pad = (64 - n % 64) % 64;
            if ((uint64_t)l->model[v].weight_at[i] != at || !n) continue; /* stored before */
            if (!put(ctx, t->data, n) || !put(ctx, zeros, pad)) return false;
            at += n + pad;
        }
    return true;
}

/* The constants of all versions, with a place for each one's offset. */
static constant *list_constants(hn_library *l, uint32_t *n) {
    *n = 0;
    for (uint32_t v = 0; v < l->n_version; v++) *n += l->model[v].layout.n_constant;
    constant *c = hn_alloc_n(&l->arena, *n + 1u, sizeof *c);
    for (uint32_t v = 0, k = 0; c && v < l->n_version; v++) {
        const hn_layout *layout = &l->model[v].layout;
        int64_t *at = hn_alloc_n(&l->arena, layout->n_constant + 1u, sizeof *at);
        if (!at) return NULL;
        for (uint32_t i = 0; i < layout->n_constant; i++) c[k++] = (constant){tensor_of(&l->model[v], i), &at[i]};
        for (uint32_t t = 0; t < l->n_target; t++) l->model[t * l->n_version + v].weight_at = at;
    }
    return c;
}

hone_rc hn_weights_lay(hn_library *l, hone_err *err) {
    uint32_t n;
    constant *c = list_constants(l, &n);
    uint32_t *first = hn_alloc_n(&l->arena, n + 1u, sizeof *first);
    if (!c || !first || !find_equal(c, n, first, l->weights_hash))
        return hn_fail(err, HONE_E_NOMEM, "out of memory for the weights");
    for (uint32_t i = 0; i < n; i++) {
        *c[i].at = first[i] == i ? (int64_t)l->weights_b : *c[first[i]].at;
        if (first[i] == i) l->weights_b += (bytes_of(c[i].t) + 63) / 64 * 64;
    }
    return HONE_OK;
}

void hn_weights_head(const hn_library *l, char head[64]) {
    memset(head, 0, 64);
    memcpy(head, "HONE-WEIGHTS-1", 14);
    memcpy(head + 16, l->weights_hash, 32);
}

static bool put_file(void *ctx, const void *data, size_t n) { return !n || fwrite(data, 1, n, ctx) == n; }

hone_rc hn_weights_write(const hn_library *l, const char *path, bool head, hone_err *err) {
    char first[64];
    FILE *f = fopen(path, "wb");
    if (!f) return hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    hn_weights_head(l, first);
    setvbuf(f, NULL, _IONBF, 0); /* writes are large: no buffer is needed */
    bool good = (!head || put_file(f, first, sizeof first)) && each_part(l, put_file, f);
    if (fclose(f)) good = false;
    return good ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
}
