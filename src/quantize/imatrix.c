/* imatrix.c — files of importances, read. */
#include "quantize/imatrix.h"
#include "base/err.h"
#include "base/map.h"
#include "gguf/gguf.h"
#include "ir/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* n bytes with a NUL behind them; NULL: no memory. */
static char *copy_of(const char *text, size_t n) {
    char *out = malloc(n + 1);
    if (!out) return NULL;
    memcpy(out, text, n);
    out[n] = 0;
    return out;
}

void hn_imatrix_free(hn_imatrix *m) {
    for (size_t i = 0; i < m->n; i++) {
        free(m->entry[i].name);
        free(m->entry[i].mean);
    }
    free(m->entry);
    free(m->dataset);
    *m = (hn_imatrix){0};
}

const hn_imatrix_entry *hn_imatrix_of(const hn_imatrix *m, const char *name) {
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->entry[i].name, name)) return &m->entry[i];
    return NULL;
}

/* A new entry with room for its means; NULL: no memory. */
static hn_imatrix_entry *add(hn_imatrix *m, const char *name, size_t n_name, uint64_t columns, uint64_t matrices) {
    if (m->n == m->room) {
        size_t room = m->room ? 2 * m->room : 64;
        hn_imatrix_entry *more = realloc(m->entry, room * sizeof *more);
        if (!more) return NULL;
        m->entry = more;
        m->room = room;
    }
    hn_imatrix_entry e = {copy_of(name, n_name), columns, matrices,
                          calloc((size_t)(columns * matrices) + 1, sizeof(float))};
    if (!e.name || !e.mean) {
        free(e.name);
        free(e.mean);
        return NULL;
    }
    m->entry[m->n] = e;
    return &m->entry[m->n++];
}

/* --- GGUF: NAME.in_sum2 [matrices, columns] and NAME.counts [matrices, 1] ------------------------------------------
 */

static hone_rc no_number(const char *path, const char *name, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT, "%s: the importances of '%s' hold a value that is negative or no number", path,
                   name);
}

static hone_rc read_sums(const hn_gguf *g, const char *path, const hn_gguf_tensor *sum, size_t n_name, hn_imatrix *out,
                         hone_err *err) {
    char name[256];
    const uint32_t f32 = hn_block_type_named("F32")->id;
    uint64_t matrices = sum->rank > 1 ? sum->dim[sum->rank - 2] : 1, columns = sum->rank ? sum->dim[sum->rank - 1] : 1;
    snprintf(name, sizeof name, "%.*s.counts", (int)n_name, sum->name);
    const hn_gguf_tensor *count = hn_gguf_tensor_named(g, name);
    if (!count) return hn_fail(err, HONE_E_INPUT, "%s: '%s' has no '%s' beside it", path, sum->name, name);
    if (sum->type != f32 || count->type != f32 || sum->rank > 2 || count->n_elements != matrices)
        return hn_fail(err, HONE_E_INPUT, "%s: '%s' and '%s' are not f32 [matrices, columns] and f32 [matrices, 1]",
                       path, sum->name, name);
    hn_imatrix_entry *e = add(out, sum->name, n_name, columns, matrices);
    if (!e) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    hn_block_decode(hn_block_type_of(f32), sum->data, sum->n_elements, e->mean);
    for (uint64_t k = 0; k < matrices; k++) {
        float n;
        hn_block_decode(hn_block_type_of(f32), count->data + 4 * k, 1, &n);
        if (!(n >= 0) || !isfinite(n)) return no_number(path, e->name, err);
        for (uint64_t c = 0; c < columns; c++) {
            float *x = &e->mean[k * columns + c];
            *x = n > 0 ? *x / n : 1; /* experts that saw nothing */
            if (!(*x >= 0) || !isfinite(*x)) return no_number(path, e->name, err);
        }
    }
    return HONE_OK;
}

static hone_rc read_gguf(const char *path, const void *data, size_t size, hn_imatrix *out, hone_err *err) {
    static const char ending[] = ".in_sum2";
    hn_gguf *g = NULL;
    hn_gguf_text kind = {"", 0};
    const hn_gguf_text *dataset = NULL;
    size_t n_dataset = 0;
    uint64_t chunks = 0;
    hone_rc rc = hn_gguf_open_memory(data, size, &g, err);
    if (rc) return rc;
    hn_gguf_string(hn_gguf_find(g, "general.type"), &kind);
    if (kind.n != 7 || memcmp(kind.text, "imatrix", 7))
        rc = hn_fail(err, HONE_E_INPUT, "'%s' holds no importances ('general.type' is not 'imatrix')", path);
    if (hn_gguf_u64(hn_gguf_find(g, "imatrix.chunk_count"), &chunks)) out->chunks = (uint32_t)chunks;
    if (!rc && hn_gguf_find(g, "imatrix.datasets"))
        rc = hn_gguf_strings(g, hn_gguf_find(g, "imatrix.datasets"), &dataset, &n_dataset, err);
    if (n_dataset) out->dataset = copy_of(dataset[0].text, dataset[0].n);
    for (size_t i = 0; !rc && i < hn_gguf_tensors(g); i++) {
        const hn_gguf_tensor *t = hn_gguf_tensor_at(g, i);
        size_t n = strlen(t->name), k = sizeof ending - 1;
        if (n > k && !strcmp(t->name + n - k, ending)) rc = read_sums(g, path, t, n - k, out, err);
    }
    hn_gguf_close(g);
    return rc;
}

/* --- the older format: i32 entries; each i32 length, name, i32 calls, i32 values, f32 values (means times calls); then
 * i32 chunks, i32 length, name of the text; the last three may be missing -------------------------------------------
 */

typedef struct bytes {
    const char *path;
    const uint8_t *at;
    size_t n;
    hone_err *err;
} bytes;

static hone_rc damaged(const bytes *b, const char *what) {
    return hn_fail(b->err, HONE_E_INPUT, "%s: %s; is it a file of importances (GGUF or .dat)?", b->path, what);
}

static bool take_i32(bytes *b, int32_t *out) {
    if (b->n < 4) return false;
    *out = (int32_t)(b->at[0] | (uint32_t)b->at[1] << 8 | (uint32_t)b->at[2] << 16 | (uint32_t)b->at[3] << 24);
    b->at += 4, b->n -= 4;
    return true;
}

static bool take_text(bytes *b, const char **text, size_t *n) {
    int32_t k;
    if (!take_i32(b, &k) || k < 0 || (size_t)k > b->n) return false;
    *text = (const char *)b->at, *n = (size_t)k;
    b->at += k, b->n -= (size_t)k;
    return true;
}

static hone_rc read_entry(bytes *b, hn_imatrix *out) {
    const char *name;
    size_t n_name;
    int32_t calls, n;
    if (!take_text(b, &name, &n_name) || !n_name || memchr(name, 0, n_name)) return damaged(b, "a name is missing");
    if (!take_i32(b, &calls) || !take_i32(b, &n) || calls < 0 || n < 1 || (size_t)n > b->n / 4)
        return damaged(b, "a matrix is longer than the file");
    hn_imatrix_entry *e = add(out, name, n_name, (uint64_t)n, 1);
    if (!e) return hn_fail(b->err, HONE_E_NOMEM, "out of memory reading '%s'", b->path);
    hn_block_decode(hn_block_type_named("F32"), b->at, (uint64_t)n, e->mean);
    b->at += 4 * (size_t)n, b->n -= 4 * (size_t)n;
    for (int32_t i = 0; i < n; i++) {
        if (calls > 0) e->mean[i] /= (float)calls;
        if (!(e->mean[i] >= 0) || !isfinite(e->mean[i])) return no_number(b->path, e->name, b->err);
    }
    return HONE_OK;
}

static hone_rc read_dat(bytes *b, hn_imatrix *out) {
    int32_t n, chunks;
    const char *text;
    size_t n_text;
    hone_rc rc = HONE_OK;
    if (!take_i32(b, &n) || n < 1) return damaged(b, "the number of matrices makes no sense");
    for (int32_t i = 0; !rc && i < n; i++) rc = read_entry(b, out);
    if (rc || !b->n) return rc;
    if (!take_i32(b, &chunks) || chunks < 0 || !take_text(b, &text, &n_text)) return damaged(b, "it ends too early");
    out->chunks = (uint32_t)chunks;
    out->dataset = copy_of(text, n_text);
    return HONE_OK;
}

hone_rc hn_imatrix_read_memory(const char *path, const void *data, size_t n, hn_imatrix *out, hone_err *err) {
    hn_imatrix made = {0};
    bytes b = {path, data, n, err};
    hone_rc rc = hn_gguf_sniff(data, n) ? read_gguf(path, data, n, &made, err) : read_dat(&b, &made);
    if (!rc && !made.n) rc = hn_fail(err, HONE_E_EMPTY, "'%s' holds no importances", path);
    if (rc)
        hn_imatrix_free(&made);
    else
        *out = made;
    return rc;
}

hone_rc hn_imatrix_read(const char *path, hn_imatrix *out, hone_err *err) {
    hn_mapping map = {0};
    hone_rc rc = hn_map_file(path, &map, err);
    if (rc) return rc;
    rc = hn_imatrix_read_memory(path, map.at, map.n, out, err);
    hn_unmap(&map);
    return rc;
}
