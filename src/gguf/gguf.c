/* gguf.c — reading GGUF files. The structure is checked once, front to back; values stay where they lie. */
#include "gguf/gguf.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/names.h"
#include "base/utf8.h"
#include "gguf/gguf_int.h"
#include "ir/blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_B = 65535, DEPTH = 4, SHARDS = 1024 }; /* limits of what is read: names, nested arrays, files */

/* --- reading ---------------------------------------------------------------------------------------------------------
 */

typedef struct reader {
    const char *path;
    const uint8_t *at;
    size_t n, pos;
    hn_arena *arena;
    hone_err *err;
} reader;

static hone_rc damaged(const reader *r, const char *what, const char *name) {
    return hn_fail(r->err, HONE_E_INPUT, "%s: byte %zu: %s%s%s%s; the file is damaged or was cut short: fetch it again",
                   r->path, r->pos, what, name ? " '" : "", name ? name : "", name ? "'" : "");
}

static uint64_t number(const uint8_t *p, size_t size) {
    uint64_t x = 0;
    for (size_t i = 0; i < size; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static hone_rc take(reader *r, size_t size, uint64_t *out, const char *what) {
    if (r->n - r->pos < size) return damaged(r, what, NULL);
    *out = number(r->at + r->pos, size);
    r->pos += size;
    return HONE_OK;
}

static hone_rc take_text(reader *r, hn_gguf_text *out, const char *what) {
    uint64_t n = 0;
    hone_rc rc = take(r, 8, &n, what);
    if (rc) return rc;
    if (n > r->n - r->pos) return damaged(r, what, NULL);
    *out = (hn_gguf_text){(const char *)r->at + r->pos, (size_t)n};
    r->pos += (size_t)n;
    return HONE_OK;
}

/* A key or the name of a tensor, as a C string in the arena. */
static hone_rc take_name(reader *r, const char **out, const char *what) {
    hn_gguf_text t = {0};
    hone_rc rc = take_text(r, &t, what);
    if (rc) return rc;
    if (!t.n || t.n > NAME_B || memchr(t.text, 0, t.n) || !hn_utf8_valid(t.text, t.n)) return damaged(r, what, NULL);
    *out = hn_strndup(r->arena, t.text, t.n);
    return *out ? HONE_OK : hn_fail(r->err, HONE_E_NOMEM, "out of memory reading '%s'", r->path);
}

static const uint8_t width[HN_GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* Passes over n values of a kind; false: they do not lie inside the file. */
static bool skip(reader *r, hn_gguf_kind kind, uint64_t n, int depth) {
    if (kind >= HN_GGUF_KINDS || depth > DEPTH) return false;
    if (width[kind]) {
        if (n > (r->n - r->pos) / width[kind]) return false;
        r->pos += (size_t)n * width[kind];
        return true;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t count, item = HN_GGUF_STRING;
        if (kind == HN_GGUF_ARRAY) {
            if (r->n - r->pos < 12) return false;
            item = number(r->at + r->pos, 4);
            r->pos += 4;
        }
        if (r->n - r->pos < 8) return false;
        count = number(r->at + r->pos, 8);
        r->pos += 8;
        if (kind == HN_GGUF_ARRAY) {
            if (item >= HN_GGUF_KINDS || !skip(r, (hn_gguf_kind)item, count, depth + 1)) return false;
        } else {
            if (count > r->n - r->pos) return false;
            r->pos += (size_t)count;
        }
    }
    return true;
}

static hone_rc read_pair(reader *r, hn_gguf_pair *p) {
    uint64_t kind = 0, item = 0, n = 1;
    hone_rc rc = take_name(r, &p->key, "a key is no text");
    if (!rc) rc = take(r, 4, &kind, "the type of a value is missing");
    if (rc) return rc;
    if (kind >= HN_GGUF_KINDS) return damaged(r, "an unknown type of value for key", p->key);
    if (kind == HN_GGUF_ARRAY) {
        if ((rc = take(r, 4, &item, "the type of an array is missing")) ||
            (rc = take(r, 8, &n, "the length of an array is missing")))
            return rc;
        if (item >= HN_GGUF_KINDS) return damaged(r, "an array of an unknown type for key", p->key);
    }
    p->kind = (hn_gguf_kind)kind;
    p->item = (hn_gguf_kind)item;
    p->n = n;
    p->at = r->at + r->pos;
    if (!skip(r, kind == HN_GGUF_ARRAY ? p->item : p->kind, n, 0))
        return damaged(r, "a value is longer than the file, of key", p->key);
    p->size_b = (size_t)(r->at + r->pos - p->at);
    return HONE_OK;
}

static hone_rc check_extent(reader *r, hn_gguf_tensor *t) {
    const hn_block_type *type = hn_block_type_of(t->type);
    uint64_t n = 1;
    if (!type)
        return hn_fail(r->err, HONE_E_UNSUPPORTED,
                       "%s: tensor '%s' has element type %" PRIu32
                       ", which is not known; the file is damaged, or newer than this hone",
                       r->path, t->name, t->type);
    for (size_t d = 0; d < t->rank; d++)
        if (!t->dim[d] || __builtin_mul_overflow(n, t->dim[d], &n))
            return damaged(r, "an extent of 0 or too large in tensor", t->name);
    uint64_t row = t->rank ? t->dim[t->rank - 1] : 1;
    if (row % type->elements) return damaged(r, "rows that are no whole blocks in tensor", t->name);
    t->n_elements = n;
    if (__builtin_mul_overflow(n / type->elements, (uint64_t)type->size_b, &t->size_b))
        return damaged(r, "a size too large in tensor", t->name);
    return HONE_OK;
}

/* data stands for the offset until the start of the data is known. */
static hone_rc read_tensor(reader *r, hn_gguf_tensor *t, uint64_t *offset) {
    uint64_t rank = 0, type = 0;
    hone_rc rc = take_name(r, &t->name, "the name of a tensor is no text");
    if (!rc) rc = take(r, 4, &rank, "the rank of a tensor is missing");
    if (rc) return rc;
    if (rank > HN_GGUF_RANK) return damaged(r, "more than four dimensions in tensor", t->name);
    t->rank = (size_t)rank;
    for (size_t d = 0; !rc && d < t->rank; d++) rc = take(r, 8, &t->dim[t->rank - 1 - d], "an extent is missing");
    if (!rc) rc = take(r, 4, &type, "the type of a tensor is missing");
    if (!rc) rc = take(r, 8, offset, "the offset of a tensor is missing");
    if (rc) return rc;
    t->type = (uint32_t)type;
    return check_extent(r, t);
}

/* --- one file ----------------------------------------------------------------------------------------------------- */

bool hn_gguf_sniff(const void *data, size_t n) { return n >= 4 && !memcmp(data, "GGUF", 4); }

static hone_rc read_head(reader *r, uint32_t *version, uint64_t *n_tensor, uint64_t *n_pair) {
    uint64_t v = 0;
    if (hn_is_lfs_pointer(r->at, r->n))
        return hn_fail(r->err, HONE_E_INPUT, "'%s' is a pointer of Git LFS, not the model: run git lfs pull there",
                       r->path);
    if (!hn_gguf_sniff(r->at, r->n))
        return hn_fail(r->err, HONE_E_INPUT, "'%s' does not begin with GGUF; is it a model in that format?", r->path);
    r->pos = 4;
    hone_rc rc = take(r, 4, &v, "the version is missing");
    if (rc) return rc;
    if (v && !(v & 0xffff))
        return hn_fail(
            r->err, HONE_E_UNSUPPORTED,
            "'%s' was written with the bytes of numbers in the other order; convert it for little-endian machines",
            r->path);
    if (v != 2 && v != 3)
        return hn_fail(r->err, HONE_E_UNSUPPORTED,
                       "'%s' is GGUF version %" PRIu64 "; versions 2 and 3 are read: convert it again", r->path, v);
    *version = (uint32_t)v;
    if (!(rc = take(r, 8, n_tensor, "the number of tensors is missing")))
        rc = take(r, 8, n_pair, "the number of keys is missing");
    if (rc) return rc;
    /* The smallest pair takes 14 bytes, the smallest tensor 25: more cannot be there. */
    if (*n_pair > r->n / 14 || *n_tensor > r->n / 25)
        return damaged(r, "more keys or tensors than the file can hold", NULL);
    return HONE_OK;
}

static int by_data(const void *a, const void *b) {
    const hn_gguf_tensor *x = *(hn_gguf_tensor *const *)a, *y = *(hn_gguf_tensor *const *)b;
    return x->data < y->data ? -1 : x->data > y->data;
}

/* Invariants 3 and 4 for the tensors [first, first + n) of one file, whose data begins at r->pos. */
static hone_rc place_tensors(reader *r, hn_gguf *g, size_t first, size_t n, const uint64_t *offset,
                             uint64_t alignment) {
    hone_rc rc = HONE_OK;
    size_t start = (r->pos + alignment - 1) / alignment * alignment;
    hn_gguf_tensor **order = malloc((n ? n : 1) * sizeof(hn_gguf_tensor *));
    if (!order) return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading '%s'", r->path);
    for (size_t i = 0; !rc && i < n; i++) {
        hn_gguf_tensor *t = &g->tensor[first + i];
        if (offset[i] % alignment)
            rc = damaged(r, "an offset that is not aligned, of tensor", t->name);
        else if (start > r->n || offset[i] > r->n - start || t->size_b > r->n - start - offset[i])
            rc = hn_fail(
                r->err, HONE_E_INPUT,
                "%s: tensor '%s' ends %" PRIu64
                " bytes behind the data's start, but only %zu are there; the file was cut short: fetch it again",
                r->path, t->name, offset[i] + t->size_b, start > r->n ? 0 : r->n - start);
        else
            t->data = r->at + start + offset[i];
        order[i] = t;
    }
    if (!rc && n) qsort(order, n, sizeof *order, by_data);
    for (size_t i = 1; !rc && i < n; i++)
        if (order[i - 1]->data + order[i - 1]->size_b > order[i]->data)
            rc = hn_fail(r->err, HONE_E_INPUT,
                         "%s: tensors '%s' and '%s' share bytes; the file is damaged: fetch it again", r->path,
                         order[i - 1]->name, order[i]->name);
    free(order);
    return rc;
}

static void *grown(hn_arena *a, const void *old, size_t n_old, size_t n, size_t size) {
    char *p = hn_alloc_n(a, n ? n : 1, size);
    if (p && n_old) memcpy(p, old, n_old * size);
    return p;
}

static hone_rc read_pairs(reader *r, hn_gguf *g, size_t n) {
    hone_rc rc = HONE_OK;
    if (!(g->pair = HN_NEW_N(r->arena, hn_gguf_pair, n ? n : 1)))
        return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading '%s'", r->path);
    for (; !rc && g->n_pair < n; g->n_pair += !rc) {
        rc = read_pair(r, &g->pair[g->n_pair]);
        if (!rc && !hn_names_put(&g->key, r->arena, g->pair[g->n_pair].key, &g->pair[g->n_pair]))
            rc = damaged(r, "a second key", g->pair[g->n_pair].key);
    }
    return rc;
}

static hone_rc read_tensors(reader *r, hn_gguf *g, size_t n, uint64_t *offset) {
    hone_rc rc = HONE_OK;
    if (!(g->tensor = grown(r->arena, g->tensor, g->n_tensor, g->n_tensor + n, sizeof(hn_gguf_tensor))))
        return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading '%s'", r->path);
    for (size_t i = 0; !rc && i < n; i++) {
        hn_gguf_tensor *t = &g->tensor[g->n_tensor];
        if ((rc = read_tensor(r, t, &offset[i]))) break;
        if (!hn_names_put(&g->name, r->arena, t->name, (void *)(uintptr_t)(g->n_tensor + 1)))
            rc = damaged(r, "a second tensor", t->name);
        if (!rc) g->n_tensor++;
    }
    return rc;
}

static uint64_t alignment_of(const hn_gguf *g) {
    uint64_t a;
    return hn_gguf_u64(hn_gguf_find(g, "general.alignment"), &a) ? a : 32;
}

static hone_rc read_file(hn_gguf *g, const hn_mapping *map, const char *path, bool first, hone_err *err) {
    reader r = {path, map->at, map->n, 0, &g->arena, err};
    uint64_t n_tensor = 0, n_pair = 0;
    uint32_t version = 0;
    hn_gguf other = {0}; /* of a further shard: its keys are its own */
    hone_rc rc = read_head(&r, &version, &n_tensor, &n_pair);
    if (rc) return rc;
    hn_gguf *keys = first ? g : &other;
    size_t was = g->n_tensor;
    uint64_t *offset = malloc((n_tensor ? n_tensor : 1) * sizeof *offset), alignment = 32, no = 0;
    if (!offset) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    keys->version = version;
    rc = read_pairs(&r, keys, (size_t)n_pair);
    if (!rc) rc = read_tensors(&r, g, (size_t)n_tensor, offset);
    if (!rc) {
        alignment = alignment_of(keys);
        if (!alignment || alignment > 1 << 20 || alignment & (alignment - 1))
            rc = hn_fail(err, HONE_E_INPUT,
                         "%s: 'general.alignment' is %" PRIu64 "; a power of two up to 2^20 is meant", path, alignment);
    }
    if (!rc) rc = place_tensors(&r, g, was, (size_t)n_tensor, offset, alignment);
    if (!rc && !hn_arena_ok(&g->arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    if (!rc && !first && (!hn_gguf_u64(hn_gguf_find(keys, "split.no"), &no) || no != g->n_map - 1))
        rc = hn_fail(err, HONE_E_INPUT,
                     "'%s' says that it is part %" PRIu64 " of the model, not part %zu; put the parts' own names back",
                     path, no + 1, g->n_map);
    free(offset);
    return rc;
}

/* --- several files ------------------------------------------------------------------------------------------------ */

/* The path of part i of n, where the first's ends in -00001-of-0000n.gguf; NULL: it does not, or no memory. */
static char *part_path(const char *path, size_t i, size_t n) {
    char tail[64], own[64];
    size_t len = strlen(path);
    int t = snprintf(tail, sizeof tail, "-00001-of-%05zu.gguf", n);
    if (len < (size_t)t || strcmp(path + len - (size_t)t, tail)) return NULL;
    snprintf(own, sizeof own, "-%05zu-of-%05zu.gguf", i + 1, n);
    char *p = malloc(len + 1);
    if (!p) return NULL;
    memcpy(p, path, len - (size_t)t);
    memcpy(p + len - (size_t)t, own, strlen(own) + 1);
    return p;
}

static hone_rc open_parts(hn_gguf *g, const char *path, hone_err *err) {
    uint64_t n = 1, no = 0, tensors;
    hone_rc rc = HONE_OK;
    hn_gguf_u64(hn_gguf_find(g, "split.count"), &n);
    hn_gguf_u64(hn_gguf_find(g, "split.no"), &no);
    if (n <= 1) return HONE_OK;
    if (no)
        return hn_fail(err, HONE_E_USAGE, "'%s' is part %" PRIu64 " of %" PRIu64 " of a model; name its first part",
                       path, no + 1, n);
    if (n > SHARDS)
        return hn_fail(err, HONE_E_LIMIT, "'%s' says that its model has %" PRIu64 " parts; at most %d are read", path,
                       n, SHARDS);
    hn_mapping *map = realloc(g->map, (size_t)n * sizeof *map);
    if (!map) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    g->map = map;
    for (size_t i = 1; !rc && i < n; i++) {
        char *part = part_path(path, i, (size_t)n);
        if (!part)
            rc = hn_fail(err, HONE_E_INPUT,
                         "'%s' is the first of %" PRIu64 " parts, but its name does not end in '-00001-of-%05" PRIu64
                         ".gguf'; the others cannot be found",
                         path, n, n);
        if (!rc) rc = hn_map_file(part, &g->map[g->n_map], err);
        if (!rc) {
            g->n_map++;
            rc = read_file(g, &g->map[g->n_map - 1], part, false, err);
        }
        free(part);
    }
    if (!rc && hn_gguf_u64(hn_gguf_find(g, "split.tensors.count"), &tensors) && tensors != g->n_tensor)
        rc = hn_fail(err, HONE_E_INPUT,
                     "'%s' says that its model has %" PRIu64 " tensors, but its parts hold %zu; fetch the parts again",
                     path, tensors, g->n_tensor);
    return rc;
}

static hone_rc opened(hn_gguf *g, const char *path, bool parts, hn_gguf **out, hone_err *err) {
    uint64_t n = 1;
    hone_rc rc = read_file(g, &g->map[0], path, true, err);
    if (!rc && parts) rc = open_parts(g, path, err);
    if (!rc && !parts && hn_gguf_u64(hn_gguf_find(g, "split.count"), &n) && n > 1)
        rc = hn_fail(err, HONE_E_USAGE,
                     "a model in several parts cannot be read from memory; give the path of its first part");
    if (rc) {
        hn_gguf_close(g);
        return rc;
    }
    *out = g;
    return HONE_OK;
}

static hn_gguf *fresh(void) {
    hn_gguf *g = calloc(1, sizeof *g);
    if (g && !(g->map = calloc(1, sizeof *g->map))) {
        free(g);
        return NULL;
    }
    return g;
}

hone_rc hn_gguf_open(const char *path, hn_gguf **out, hone_err *err) {
    hn_gguf *g = fresh();
    if (!g) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    hone_rc rc = hn_map_file(path, &g->map[0], err);
    if (rc) {
        hn_gguf_close(g);
        return rc;
    }
    g->n_map = 1;
    return opened(g, path, true, out, err);
}

hone_rc hn_gguf_open_memory(const void *data, size_t n, hn_gguf **out, hone_err *err) {
    hn_gguf *g = fresh();
    if (!g) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a model");
    g->map[0] = (hn_mapping){(void *)(uintptr_t)data, n}; /* not counted in n_map: the caller's */
    return opened(g, "<memory>", false, out, err);
}

void hn_gguf_close(hn_gguf *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n_map; i++) hn_unmap(&g->map[i]);
    hn_arena_free(&g->arena);
    free(g->map);
    free(g);
}
