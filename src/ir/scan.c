/* ir/scan.c — see ir/scan.h. */
#include "ir/scan.h"

#include "base/err.h"
#include "base/locale.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool hn_scan_fail(hn_scan *s, const char *at, const char *fmt, ...) {
    if (s->failed) return false;
    s->failed = true;
    unsigned line = 1, column = 1;
    for (const char *c = s->text; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    char text[800];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_fail(s->err, HONE_E_INPUT, "%s:%u:%u: %s", s->path, line, column, text);
    return false;
}

void hn_scan_blanks(hn_scan *s) {
    for (;; s->at++) {
        if (*s->at == '#')
            while (*s->at && *s->at != '\n') s->at++;
        if (!*s->at || !strchr(" \t\r\n", *s->at)) return;
    }
}

bool hn_scan_is(hn_scan *s, char c) {
    if (s->failed) return false;
    hn_scan_blanks(s);
    return *s->at == c && s->at < s->end;
}

bool hn_scan_char(hn_scan *s, char c) {
    if (!hn_scan_is(s, c)) return false;
    s->at++;
    return true;
}

/* Length of the text at the scanner's place, for messages: at most 20 printable characters. */
static int shown(const hn_scan *s) {
    int n = 0;
    while (n < 20 && s->at[n] > ' ' && s->at[n] < 0x7f) n++;
    return n;
}

bool hn_scan_need(hn_scan *s, char c) {
    if (hn_scan_char(s, c)) return true;
    return hn_scan_fail(s, s->at, "expected '%c', not '%.*s'", c, shown(s), s->at);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t word_length(const char *c) {
    size_t n = 0;
    if (!is_letter(*c)) return 0;
    while (is_letter(c[n]) || is_digit(c[n])) n++;
    return n;
}

bool hn_scan_word(hn_scan *s, const char *word) {
    if (s->failed) return false;
    hn_scan_blanks(s);
    size_t n = word_length(s->at);
    if (n != strlen(word) || memcmp(s->at, word, n) != 0) return false;
    s->at += n;
    return true;
}

bool hn_scan_name(hn_scan *s, char *buf, size_t room) {
    if (s->failed) return false;
    hn_scan_blanks(s);
    size_t n = word_length(s->at);
    if (!n) return hn_scan_fail(s, s->at, "expected a name, not '%.*s'", shown(s), s->at);
    if (n >= room) return hn_scan_fail(s, s->at, "this name is longer than %zu characters", room - 1);
    memcpy(buf, s->at, n);
    buf[n] = 0;
    s->at += n;
    return true;
}

static int hex_of(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* One character of a quoted text, its escape undone; -1 where it is none. */
static int unescape(const char **at) {
    const char *c = *at;
    *at = c + 1;
    if (*c != '\\') return (unsigned char)*c;
    *at = c + 2;
    if (c[1] == '"' || c[1] == '\\') return c[1];
    int high = c[1] == 'x' ? hex_of(c[2]) : -1, low = high < 0 ? -1 : hex_of(c[3]);
    *at = c + 4;
    return low < 0 ? -1 : high * 16 + low;
}

bool hn_scan_quoted(hn_scan *s, const char **out) {
    if (!hn_scan_need(s, '"')) return false;
    const char *from = s->at, *c = from;
    while (*c && *c != '"' && *c != '\n') c += *c == '\\' && c[1] ? 2 : 1;
    if (*c != '"') return hn_scan_fail(s, from - 1, "this text has no closing quote");
    char *to = hn_alloc(s->arena, (size_t)(c - from) + 1), *w = to;
    if (!to) return false;
    while (s->at < c) {
        const char *here = s->at;
        int x = unescape(&s->at);
        if (x <= 0 || s->at > c)
            return hn_scan_fail(s, here, "a backslash needs '\"', '\\' or two hex digits after 'x'");
        *w++ = (char)x;
    }
    s->at = c + 1;
    *out = to;
    return true;
}

bool hn_scan_int(hn_scan *s, int64_t *out) {
    if (s->failed) return false;
    hn_scan_blanks(s);
    const char *c = s->at + (*s->at == '-');
    if (!is_digit(*c)) return hn_scan_fail(s, s->at, "expected a whole number, not '%.*s'", shown(s), s->at);
    char *end;
    errno = 0;
    long long x = strtoll(s->at, &end, 10);
    if (errno) return hn_scan_fail(s, s->at, "this number needs more than 64 bits");
    s->at = end;
    *out = x;
    return true;
}

bool hn_scan_float(hn_scan *s, double *out) {
    if (s->failed) return false;
    hn_scan_blanks(s);
    char *end;
    if (!*s->at || !strchr("-+.0123456789in", *s->at))
        return hn_scan_fail(s, s->at, "expected a number, not '%.*s'", shown(s), s->at);
    double x = hn_strtod(s->at, &end);
    if (end == s->at) return hn_scan_fail(s, s->at, "expected a number, not '%.*s'", shown(s), s->at);
    s->at = end;
    *out = x;
    return true;
}

/* --- types ------------------------------------------------------------------------------------------------------ */

bool hn_scan_dim(hn_scan *s, hn_dim *out) {
    if (s->failed) return false;
    hn_scan_blanks(s);
    const char *from = s->at;
    size_t known = hn_dims_symbols(s->dims);
    hn_dim d = hn_dim_parse(s->dims, &s->at);
    if (!d) return hn_scan_fail(s, from, "'%.*s' is no dimension", shown(s), from);
    if (hn_dims_symbols(s->dims) != known)
        return hn_scan_fail(s, from, "no symbol '%s' is declared at the head",
                            hn_symbol_name(s->dims, (hn_symbol)known));
    *out = d;
    return true;
}

bool hn_scan_dtype(hn_scan *s, hone_dtype *out) {
    char name[32];
    hn_scan_blanks(s);
    const char *from = s->at;
    if (!hn_scan_name(s, name, sizeof name)) return false;
    return hn_dtype_named(name, out) || hn_scan_fail(s, from, "no element type is called '%s'", name);
}

bool hn_scan_type(hn_scan *s, hn_type *out) {
    hn_type t = {0};
    if (!hn_scan_dtype(s, &t.dtype) || !hn_scan_need(s, '[')) return false;
    while (!hn_scan_is(s, ']')) {
        if (t.rank && !hn_scan_need(s, ',')) return false;
        if (t.rank == HN_RANK_MAX) return hn_scan_fail(s, s->at, "more than %d dimensions", HN_RANK_MAX);
        if (!hn_scan_dim(s, &t.dim[t.rank])) return false;
        t.rank++;
    }
    *out = t;
    return hn_scan_char(s, ']');
}

/* --- constants -------------------------------------------------------------------------------------------------- */

static bool scan_bits(hn_scan *s, void *to, size_t size_b) {
    char *end;
    hn_scan_blanks(s);
    errno = 0;
    uint64_t x = s->at[0] == '0' && s->at[1] == 'x' ? strtoull(s->at, &end, 16) : (end = (char *)s->at, 0);
    if (end <= s->at + 2 || errno || (size_b < 8 && x >> (8 * size_b)))
        return hn_scan_fail(s, s->at, "expected 0x and the bits of one element");
    s->at = end;
    memcpy(to, &x, size_b);
    return true;
}

static bool scan_element(hn_scan *s, hn_tensor *t, int64_t i) {
    const hn_dtype_info *info = hn_dtype_of(t->dtype);
    void *to = (char *)t->data + i * info->size_b;
    if (hn_scan_word(s, "bits")) return scan_bits(s, to, info->size_b);
    if (info->cls == HN_CLASS_FLOAT) {
        double x;
        if (!hn_scan_float(s, &x)) return false;
        hn_set_f(t, i, x);
        return true;
    }
    if (info->cls == HN_CLASS_BOOL) {
        bool yes = hn_scan_word(s, "true");
        if (!yes && !hn_scan_word(s, "false")) return hn_scan_fail(s, s->at, "expected true or false");
        hn_set_i(t, i, yes);
        return true;
    }
    if (t->dtype == HONE_U64 && hn_scan_is(s, '1')) { /* may be above the range of int64 */
        char *end;
        errno = 0;
        uint64_t x = strtoull(s->at, &end, 10);
        if (errno) return hn_scan_fail(s, s->at, "this number needs more than 64 bits");
        s->at = end;
        memcpy(to, &x, sizeof x);
        return true;
    }
    int64_t x;
    const char *from = s->at;
    if (!hn_scan_int(s, &x)) return false;
    hn_set_i(t, i, x);
    return hn_get_i(t, i) == x || hn_scan_fail(s, from, "%lld does not fit %s", (long long)x, info->text);
}

static bool scan_elements(hn_scan *s, hn_tensor *t, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if ((i && !hn_scan_need(s, ',')) || !scan_element(s, t, i)) return false;
    return hn_scan_need(s, ')');
}

/* The quote is taken; two digits a byte. */
static bool scan_bytes(hn_scan *s, hn_tensor *t, size_t n) {
    unsigned char *to = t->data;
    const char *from = s->at;
    if ((size_t)(s->end - from) < 2 * n) return hn_scan_fail(s, from, "the constant needs %zu bytes in hex", n);
    for (size_t i = 0; i < n; i++) {
        int high = hex_of(from[2 * i]), low = high < 0 ? -1 : hex_of(from[2 * i + 1]);
        if (low < 0) return hn_scan_fail(s, from + 2 * i, "the constant needs %zu bytes in hex, here are %zu", n, i);
        to[i] = (unsigned char)(high * 16 + low);
    }
    s->at = from + 2 * n;
    if (*s->at != '"') return hn_scan_fail(s, s->at, "more than the %zu bytes that the constant has", n);
    s->at++;
    return true;
}

static bool scan_side(hn_scan *s, hn_tensor *t, size_t n) {
    const char *from = s->at;
    int64_t offset;
    if (!hn_scan_int(s, &offset)) return false;
    if (!s->side) return hn_scan_fail(s, from, "no side file holds this constant; name it with 'weights' at the head");
    if (offset < 0 || offset % 16 || (uint64_t)offset > s->side_b || n > s->side_b - (uint64_t)offset)
        return hn_scan_fail(s, from, "bytes %lld to %lld are not in the side file of %llu bytes", (long long)offset,
                            (long long)offset + (long long)n, (unsigned long long)s->side_b);
    t->data = (void *)(s->side + offset); /* const tensors are never written */
    return true;
}

static bool scan_tensor_type(hn_scan *s, hn_tensor *t) {
    if (!hn_scan_dtype(s, &t->dtype) || !hn_scan_need(s, '[')) return false;
    while (!hn_scan_is(s, ']')) {
        if (t->rank && !hn_scan_need(s, ',')) return false;
        if (t->rank == HN_RANK_MAX) return hn_scan_fail(s, s->at, "more than %d dimensions", HN_RANK_MAX);
        if (!hn_scan_int(s, &t->dim[t->rank])) return false;
        if (t->dim[t->rank] < 0) return hn_scan_fail(s, s->at, "a negative dimension");
        t->rank++;
    }
    return hn_scan_char(s, ']');
}

bool hn_scan_tensor(hn_scan *s, hn_tensor *out) {
    hn_tensor t = {0};
    int64_t n;
    const char *from = s->at;
    if (!scan_tensor_type(s, &t)) return false;
    if (!hn_tensor_count(&t, &n)) return hn_scan_fail(s, from, "a constant with more than 2^63 bytes");
    size_t size_b = (size_t)n * hn_dtype_of(t.dtype)->size_b;
    bool list = hn_scan_char(s, '('), side = !list && hn_scan_char(s, '@');
    if (!list && !side && !(hn_scan_word(s, "x") && hn_scan_char(s, '"')))
        return hn_scan_fail(s, s->at, "expected the elements: (…), x\"…\" or @offset");
    /* an element takes a character at least: no text makes us allocate much more than its own size */
    if (!side && (uint64_t)n > (uint64_t)(s->end - s->at) + 1)
        return hn_scan_fail(s, from, "%lld elements are announced, the text is shorter", (long long)n);
    if (!side && !hn_tensor_new(s->arena, t.dtype, t.rank, t.dim, &t)) return false;
    bool good = side ? scan_side(s, &t, size_b) : list ? scan_elements(s, &t, n) : scan_bytes(s, &t, size_b);
    if (good) *out = t;
    return good;
}
