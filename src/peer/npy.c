/* npy.c — NumPy's array files (the format is described in numpy.lib.format): a magic, a version, a Python dictionary
 * with descr, fortran_order and shape, then the elements.
 *
 * The dictionary is read by a small recursive-descent reader of exactly that form; anything else is refused.
 */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"

#include <hone/npy.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *descr;
    hone_dtype dtype;
} kinds[] = {
    {"<f4", HONE_F32}, {"<f8", HONE_F64}, {"<f2", HONE_F16}, {"|i1", HONE_I8},  {"<i2", HONE_I16}, {"<i4", HONE_I32},
    {"<i8", HONE_I64}, {"|u1", HONE_U8},  {"<u2", HONE_U16}, {"<u4", HONE_U32}, {"<u8", HONE_U64}, {"|b1", HONE_BOOL},
};

static const char *descr_of(hone_dtype t) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].dtype == t) return kinds[i].descr;
    return hone_dtype_size_b(t) == 2 ? "<u2" : "|u1";
}

typedef struct reader {
    const char *at, *end;
    bool fortran, seen[3];
    char descr[16];
    hone_array a;
} reader;

static void skip(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) r->at++;
}

static bool take(reader *r, char c) {
    skip(r);
    if (r->at >= r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool take_text(reader *r, char *out, size_t room) {
    skip(r);
    if (r->at >= r->end || (*r->at != '\'' && *r->at != '"')) return false;
    char quote = *r->at++;
    size_t n = 0;
    while (r->at < r->end && *r->at != quote && n + 1 < room) out[n++] = *r->at++;
    out[n] = 0;
    return r->at < r->end && *r->at++ == quote;
}

static bool take_word(reader *r, const char *word) {
    size_t n = strlen(word);
    skip(r);
    if ((size_t)(r->end - r->at) < n || strncmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

static bool take_shape(reader *r) {
    if (!take(r, '(')) return false;
    while (!take(r, ')')) {
        int64_t n = 0;
        size_t digits = 0;
        skip(r);
        for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && digits < 16; r->at++, digits++)
            n = 10 * n + (*r->at - '0');
        if (!digits || r->a.rank == HONE_RANK_MAX) return false;
        r->a.dim[r->a.rank++] = n;
        if (take(r, ',')) continue;
        if (!take(r, ')')) return false;
        break;
    }
    return true;
}

static bool take_descr(reader *r) {
    char *descr = r->descr;
    if (!take_text(r, descr, sizeof r->descr)) {
        descr[0] = 0; /* a list: of a structure */
        return false;
    }
    if (descr[0] == '=' || (descr[0] == '<' && descr[1] && descr[2] == '1')) descr[0] = descr[2] == '1' ? '|' : '<';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].descr, descr)) {
            r->a.dtype = kinds[i].dtype;
            descr[0] = 0;
            return true;
        }
    return false;
}

static bool take_pair(reader *r) {
    char key[32];
    if (!take_text(r, key, sizeof key) || !take(r, ':')) return false;
    int which = !strcmp(key, "descr") ? 0 : !strcmp(key, "fortran_order") ? 1 : !strcmp(key, "shape") ? 2 : -1;
    if (which < 0 || r->seen[which]) return false;
    r->seen[which] = true;
    if (which == 0) return take_descr(r);
    if (which == 2) return take_shape(r);
    if (take_word(r, "True")) return r->fortran = true;
    return take_word(r, "False");
}

static bool take_head(reader *r) {
    if (!take(r, '{')) return false;
    while (!take(r, '}')) {
        if (!take_pair(r)) return false;
        if (take(r, ',')) continue;
        if (!take(r, '}')) return false;
        break;
    }
    return r->seen[0] && r->seen[1] && r->seen[2];
}

/* Length of what stands in front of the elements; 0: no npy file, or a cut one. */
static size_t head_length(const unsigned char *p, size_t n, size_t *from) {
    size_t length;
    if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3) return 0;
    *from = p[6] == 1 ? 10 : 12;
    length = p[8] | (size_t)p[9] << 8;
    if (p[6] > 1) length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    return length > n - *from ? 0 : *from + length;
}

/* Element by element: the first index runs fastest in the file. */
static void unfold_fortran(const hone_array *a, const char *from, size_t size_b, size_t n) {
    int64_t index[HONE_RANK_MAX] = {0};
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        for (uint32_t d = 0; d < a->rank; d++) at = at * (size_t)a->dim[d] + (size_t)index[d];
        memcpy((char *)a->data + at * size_b, from + i * size_b, size_b);
        for (uint32_t d = 0; d < a->rank && ++index[d] == a->dim[d]; d++) index[d] = 0;
    }
}

static bool count_of(const hone_array *a, size_t *n) {
    int64_t x = 1;
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->dim[d] == 0) return *n = 0, true;
    for (uint32_t d = 0; d < a->rank; d++)
        if (__builtin_mul_overflow(x, a->dim[d], &x) || x > (int64_t)1 << 46) return false;
    *n = (size_t)x;
    return true;
}

static hone_rc wrong_head(const reader *r, const char *label, const char *head, hone_err *err) {
    int n = (int)(r->end - head);
    while (n && isspace((unsigned char)head[n - 1])) n--;
    if (r->descr[0])
        return hn_fail(err, HONE_E_INPUT,
                       "'%s' has elements '%s', which hone does not read: convert them to one of its types, as with "
                       "NumPy's astype",
                       label, r->descr);
    return hn_fail(err, HONE_E_INPUT, "'%s' holds an array of a kind that hone does not read: %.*s", label,
                   n < 160 ? n : 160, head);
}

hone_rc hone_npy_parse(const void *data, size_t n, const char *label, hone_array *out, hone_err *err) {
    size_t from = 0, count = 0, head = head_length(data, n, &from);
    if (!head) return hn_fail(err, HONE_E_INPUT, "'%s' is no npy file, or it is cut short", label);
    reader r = {.at = (const char *)data + from, .end = (const char *)data + head};
    if (!take_head(&r)) return wrong_head(&r, label, (const char *)data + from, err);
    size_t size_b = hone_dtype_size_b(r.a.dtype);
    if (!count_of(&r.a, &count) || count > (n - head) / size_b)
        return hn_fail(err, HONE_E_INPUT, "'%s' announces more elements than it has", label);
    r.a.data = malloc(count * size_b + 1);
    if (!r.a.data) return hn_fail(err, HONE_E_NOMEM, "out of memory for '%s'", label);
    if (r.fortran && r.a.rank > 1)
        unfold_fortran(&r.a, (const char *)data + head, size_b, count);
    else if (count)
        memcpy(r.a.data, (const char *)data + head, count * size_b);
    *out = r.a;
    return HONE_OK;
}

hone_rc hone_npy_read(const char *path, hone_array *out, hone_err *err) {
    char *text;
    size_t n;
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    rc = hone_npy_parse(text, n, path, out, err);
    free(text);
    return rc;
}

hone_rc hone_npy_format(const hone_array *a, void **data, size_t *n, hone_err *err) {
    hn_str s = {0};
    size_t count = 0, size_b = hone_dtype_size_b(a->dtype);
    if (!count_of(a, &count)) return hn_fail(err, HONE_E_INPUT, "an array has more elements than memory holds");
    hn_str_add_n(&s, "\x93NUMPY\x01\x00\x00\x00", 10);
    hn_str_addf(&s, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(a->dtype));
    for (uint32_t d = 0; d < a->rank; d++) hn_str_addf(&s, d + 1 < a->rank ? "%lld, " : "%lld,", (long long)a->dim[d]);
    hn_str_add(&s, "), }");
    while ((s.n + 1) % 64 && !s.failed) hn_str_add(&s, " ");
    hn_str_add(&s, "\n");
    if (!s.failed) {
        s.text[8] = (char)((s.n - 10) & 255);
        s.text[9] = (char)((s.n - 10) >> 8);
    }
    if (count) hn_str_add_n(&s, a->data, count * size_b);
    size_t total = s.n;
    char *text = hn_str_take(&s);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory for an array");
    *data = text;
    *n = total;
    return HONE_OK;
}

hone_rc hone_npy_write(const hone_array *a, const char *path, hone_err *err) {
    void *data;
    size_t n;
    hone_rc rc = hone_npy_format(a, &data, &n, err);
    if (rc) return rc;
    rc = hn_write_file(path, data, n, err);
    free(data);
    return rc;
}
