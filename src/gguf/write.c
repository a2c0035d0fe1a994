/* write.c — GGUF files, written. */
#include "gguf/write.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "ir/blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32 };

struct hn_gguf_writer {
    hn_str pairs, tensors; /* as they stand in the file */
    uint64_t n_pair, n_tensor, data_b;
    uint64_t *size_b; /* of each tensor */
    size_t room;
    bool failed;
};

hn_gguf_writer *hn_gguf_writer_new(void) { return calloc(1, sizeof(hn_gguf_writer)); }

void hn_gguf_writer_free(hn_gguf_writer *w) {
    if (!w) return;
    hn_str_free(&w->pairs);
    hn_str_free(&w->tensors);
    free(w->size_b);
    free(w);
}

static void put_word(hn_str *s, uint64_t x, size_t size) {
    char b[8];
    for (size_t i = 0; i < size; i++) b[i] = (char)(x >> 8 * i);
    hn_str_add_n(s, b, size);
}

static void put_bytes(hn_str *s, const char *text, size_t n) {
    put_word(s, n, 8);
    hn_str_add_n(s, text, n);
}

static void put_float(hn_str *s, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_word(s, bits, 4);
}

static hn_str *begin_pair(hn_gguf_writer *w, const char *key, hn_gguf_kind kind) {
    put_bytes(&w->pairs, key, strlen(key));
    put_word(&w->pairs, kind, 4);
    w->n_pair++;
    return &w->pairs;
}

static hn_str *begin_array(hn_gguf_writer *w, const char *key, hn_gguf_kind item, size_t n) {
    hn_str *s = begin_pair(w, key, HN_GGUF_ARRAY);
    put_word(s, item, 4);
    put_word(s, n, 8);
    return s;
}

void hn_gguf_put_pair(hn_gguf_writer *w, const hn_gguf_pair *p) {
    hn_str *s =
        p->kind == HN_GGUF_ARRAY ? begin_array(w, p->key, p->item, (size_t)p->n) : begin_pair(w, p->key, p->kind);
    hn_str_add_n(s, (const char *)p->at, p->size_b);
}

void hn_gguf_put_u32(hn_gguf_writer *w, const char *key, uint32_t x) {
    put_word(begin_pair(w, key, HN_GGUF_U32), x, 4);
}

void hn_gguf_put_i32(hn_gguf_writer *w, const char *key, int32_t x) {
    put_word(begin_pair(w, key, HN_GGUF_I32), (uint32_t)x, 4);
}

void hn_gguf_put_f32(hn_gguf_writer *w, const char *key, float x) { put_float(begin_pair(w, key, HN_GGUF_F32), x); }
void hn_gguf_put_bool(hn_gguf_writer *w, const char *key, bool x) { put_word(begin_pair(w, key, HN_GGUF_BOOL), x, 1); }

void hn_gguf_put_text(hn_gguf_writer *w, const char *key, const char *text, size_t n) {
    put_bytes(begin_pair(w, key, HN_GGUF_STRING), text, n);
}

void hn_gguf_put_texts(hn_gguf_writer *w, const char *key, const hn_gguf_text *text, size_t n) {
    hn_str *s = begin_array(w, key, HN_GGUF_STRING, n);
    for (size_t i = 0; i < n; i++) put_bytes(s, text[i].text, text[i].n);
}

void hn_gguf_put_f32s(hn_gguf_writer *w, const char *key, const float *x, size_t n) {
    hn_str *s = begin_array(w, key, HN_GGUF_F32, n);
    for (size_t i = 0; i < n; i++) put_float(s, x[i]);
}

void hn_gguf_put_i32s(hn_gguf_writer *w, const char *key, const int32_t *x, size_t n) {
    hn_str *s = begin_array(w, key, HN_GGUF_I32, n);
    for (size_t i = 0; i < n; i++) put_word(s, (uint32_t)x[i], 4);
}

static uint64_t aligned(uint64_t n) { return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

void hn_gguf_put_tensor(hn_gguf_writer *w, const char *name, uint32_t type, size_t rank, const uint64_t *dim) {
    const hn_block_type *t = hn_block_type_of(type);
    uint64_t n = 1;
    put_bytes(&w->tensors, name, strlen(name));
    put_word(&w->tensors, rank, 4);
    for (size_t d = rank; d--; n *= dim[d]) put_word(&w->tensors, dim[d], 8);
    put_word(&w->tensors, type, 4);
    put_word(&w->tensors, w->data_b, 8);
    if (w->n_tensor == w->room) {
        size_t room = w->room ? 2 * w->room : 64;
        uint64_t *more = realloc(w->size_b, room * sizeof *more);
        if (!more) {
            w->failed = true;
            return;
        }
        w->size_b = more;
        w->room = room;
    }
    w->size_b[w->n_tensor++] = n / t->elements * t->size_b;
    w->data_b += aligned(n / t->elements * t->size_b);
}

enum { HEAD = 4 + 4 + 8 + 8 };

uint64_t hn_gguf_written_b(const hn_gguf_writer *w) { return aligned(HEAD + w->pairs.n + w->tensors.n) + w->data_b; }

struct hn_gguf_sink {
    FILE *f;
    uint64_t n; /* bytes of this tensor so far */
};

bool hn_gguf_sink_put(hn_gguf_sink *s, const void *data, size_t n) {
    s->n += n;
    return fwrite(data, 1, n, s->f) == n;
}

typedef struct writing {
    hn_gguf_writer *w;
    hone_rc (*fill)(void *arg, size_t tensor, hn_gguf_sink *to, hone_err *err);
    void *arg;
    hone_err err;
    hone_rc rc;
} writing;

static bool pad(FILE *f, uint64_t n) {
    static const char zero[ALIGNMENT];
    size_t k = (size_t)(aligned(n) - n);
    return fwrite(zero, 1, k, f) == k;
}

static bool put_file(FILE *f, void *arg) {
    writing *x = arg;
    hn_gguf_writer *w = x->w;
    hn_str head = {0};
    hn_str_add(&head, "GGUF");
    put_word(&head, 3, 4);
    put_word(&head, w->n_tensor, 8);
    put_word(&head, w->n_pair, 8);
    bool good = !head.failed && fwrite(head.text, 1, head.n, f) == head.n;
    hn_str_free(&head);
    good = good && (!w->pairs.n || fwrite(w->pairs.text, 1, w->pairs.n, f) == w->pairs.n);
    good = good && (!w->tensors.n || fwrite(w->tensors.text, 1, w->tensors.n, f) == w->tensors.n);
    good = good && pad(f, HEAD + w->pairs.n + w->tensors.n);
    for (size_t i = 0; good && i < w->n_tensor; i++) {
        hn_gguf_sink s = {f, 0};
        x->rc = x->fill(x->arg, i, &s, &x->err);
        if (!x->rc && s.n != w->size_b[i])
            x->rc = hn_fail(&x->err, HONE_E_FAILED, "%" PRIu64 " bytes of data for a tensor of %" PRIu64, s.n,
                            w->size_b[i]);
        good = !x->rc && pad(f, w->size_b[i]);
        if (x->rc) errno = ECANCELED;
    }
    return good;
}

hone_rc hn_gguf_write(hn_gguf_writer *w, const char *path,
                      hone_rc (*fill)(void *arg, size_t tensor, hn_gguf_sink *to, hone_err *err), void *arg,
                      hone_err *err) {
    writing x = {.w = w, .fill = fill, .arg = arg};
    if (w->failed || w->pairs.failed || w->tensors.failed)
        return hn_fail(err, HONE_E_NOMEM, "out of memory writing '%s'", path);
    hone_rc rc = hn_write_stream(path, put_file, &x, err);
    return x.rc ? hn_fail(err, x.rc, "%s", x.err.text) : rc;
}
