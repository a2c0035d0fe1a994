/* values.c — what a GGUF file says: its keys' values and its tensors, by name and by number. */
#include "base/err.h"
#include "gguf/gguf_int.h"

#include <math.h>
#include <string.h>

uint32_t hn_gguf_version(const hn_gguf *g) { return g->version; }
size_t hn_gguf_pairs(const hn_gguf *g) { return g->n_pair; }
const hn_gguf_pair *hn_gguf_pair_at(const hn_gguf *g, size_t i) { return i < g->n_pair ? &g->pair[i] : NULL; }
const hn_gguf_pair *hn_gguf_find(const hn_gguf *g, const char *key) { return hn_names_get(&g->key, key); }
size_t hn_gguf_tensors(const hn_gguf *g) { return g->n_tensor; }
const hn_gguf_tensor *hn_gguf_tensor_at(const hn_gguf *g, size_t i) { return i < g->n_tensor ? &g->tensor[i] : NULL; }

uint64_t hn_gguf_size_b(const hn_gguf *g) {
    uint64_t n = 0;
    for (size_t i = 0; i < g->n_map || !i; i++) n += g->map[i].n;
    return n;
}

const hn_gguf_tensor *hn_gguf_tensor_named(const hn_gguf *g, const char *name) {
    size_t at = (size_t)(uintptr_t)hn_names_get(&g->name, name);
    return at ? &g->tensor[at - 1] : NULL;
}

static uint64_t word(const uint8_t *p, size_t size) {
    uint64_t x = 0;
    for (size_t i = 0; i < size; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

/* A number as it stands in a file: an integer with its sign, or a float. */
typedef struct stored {
    bool is_float, negative;
    uint64_t bits; /* of an integer: its two's complement in 64 bits */
    double x;
} stored;

static bool read_stored(hn_gguf_kind kind, const uint8_t *p, stored *out) {
    float f;
    uint32_t w;
    *out = (stored){0};
    switch (kind) {
    case HN_GGUF_U8:
    case HN_GGUF_BOOL: out->bits = p[0]; break;
    case HN_GGUF_I8: out->bits = (uint64_t)(int64_t)(int8_t)p[0]; break;
    case HN_GGUF_U16: out->bits = word(p, 2); break;
    case HN_GGUF_I16: out->bits = (uint64_t)(int64_t)(int16_t)word(p, 2); break;
    case HN_GGUF_U32: out->bits = word(p, 4); break;
    case HN_GGUF_I32: out->bits = (uint64_t)(int64_t)(int32_t)word(p, 4); break;
    case HN_GGUF_U64:
    case HN_GGUF_I64: out->bits = word(p, 8); break;
    case HN_GGUF_F32:
        w = (uint32_t)word(p, 4);
        memcpy(&f, &w, sizeof f);
        out->x = (double)f;
        break;
    case HN_GGUF_F64:
        out->bits = word(p, 8);
        memcpy(&out->x, &out->bits, sizeof out->x);
        break;
    case HN_GGUF_STRING:
    case HN_GGUF_ARRAY:
    case HN_GGUF_KINDS: return false;
    }
    out->is_float = kind == HN_GGUF_F32 || kind == HN_GGUF_F64;
    out->negative = kind != HN_GGUF_U64 && !out->is_float && (int64_t)out->bits < 0;
    return true;
}

static double as_double(const stored *s) {
    return s->is_float ? s->x : s->negative ? (double)(int64_t)s->bits : (double)s->bits;
}

bool hn_gguf_u64(const hn_gguf_pair *p, uint64_t *out) {
    stored s;
    if (!p || p->kind == HN_GGUF_BOOL || !read_stored(p->kind, p->at, &s) || s.is_float || s.negative) return false;
    *out = s.bits;
    return true;
}

bool hn_gguf_f64(const hn_gguf_pair *p, double *out) {
    stored s;
    if (!p || p->kind == HN_GGUF_BOOL || !read_stored(p->kind, p->at, &s)) return false;
    *out = as_double(&s);
    return true;
}

bool hn_gguf_bool(const hn_gguf_pair *p, bool *out) {
    if (!p || p->kind != HN_GGUF_BOOL) return false;
    *out = p->at[0] != 0;
    return true;
}

bool hn_gguf_string(const hn_gguf_pair *p, hn_gguf_text *out) {
    if (!p || p->kind != HN_GGUF_STRING) return false;
    *out = (hn_gguf_text){(const char *)p->at + 8, (size_t)word(p->at, 8)};
    return true;
}

hone_rc hn_gguf_strings(hn_gguf *g, const hn_gguf_pair *p, const hn_gguf_text **out, size_t *n, hone_err *err) {
    if (!p || p->kind != HN_GGUF_ARRAY || p->item != HN_GGUF_STRING)
        return hn_fail(err, HONE_E_INPUT, "key '%s' is no list of texts", p ? p->key : "?");
    hn_gguf_text *text = HN_NEW_N(&g->arena, hn_gguf_text, p->n ? (size_t)p->n : 1);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory reading key '%s'", p->key);
    const uint8_t *at = p->at;
    for (uint64_t i = 0; i < p->n; i++) {
        text[i] = (hn_gguf_text){(const char *)at + 8, (size_t)word(at, 8)};
        at += 8 + text[i].n;
    }
    *out = text;
    *n = (size_t)p->n;
    return HONE_OK;
}

static size_t width_of(hn_gguf_kind kind) {
    static const uint8_t width[HN_GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return width[kind];
}

bool hn_gguf_item_f64(const hn_gguf_pair *p, uint64_t i, double *out) {
    stored s;
    if (!p || p->kind != HN_GGUF_ARRAY || i >= p->n || !read_stored(p->item, p->at + i * width_of(p->item), &s))
        return false;
    *out = as_double(&s);
    return true;
}

bool hn_gguf_item_i64(const hn_gguf_pair *p, uint64_t i, int64_t *out) {
    stored s;
    if (!p || p->kind != HN_GGUF_ARRAY || i >= p->n || !read_stored(p->item, p->at + i * width_of(p->item), &s))
        return false;
    if (s.is_float || (!s.negative && s.bits > INT64_MAX)) return false;
    *out = (int64_t)s.bits;
    return true;
}
