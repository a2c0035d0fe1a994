/* target/help.c — cutting help texts into lines and words. One pass, no backtracking: time is linear in the text. */
#include "target/help_int.h"

#include "base/locale.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 65536, MAX_ROWS = 200000, MAX_VALUES = 512 };

bool hn_help_line(hn_help_text *t, hn_help_span *out) {
    if (t->at >= t->end) return false;
    const char *nl = memchr(t->at, '\n', (size_t)(t->end - t->at));
    const char *stop = nl ? nl : t->end;
    out->at = t->at;
    out->n = (size_t)(stop - t->at);
    if (out->n > MAX_LINE) out->n = MAX_LINE;
    while (out->n && (out->at[out->n - 1] == '\r' || out->at[out->n - 1] == '\0')) out->n--;
    t->at = nl ? nl + 1 : t->end;
    return true;
}

static bool blank(char c) { return c == ' ' || c == '\t'; }

size_t hn_span_indent(hn_help_span s) {
    size_t i = 0;
    while (i < s.n && blank(s.at[i])) i++;
    return i;
}

hn_help_span hn_span_trim(hn_help_span s) {
    size_t i = hn_span_indent(s);
    s.at += i;
    s.n -= i;
    while (s.n && blank(s.at[s.n - 1])) s.n--;
    return s;
}

hn_help_span hn_span_word(hn_help_span *s) {
    *s = hn_span_trim(*s);
    hn_help_span w = {s->at, 0};
    while (w.n < s->n && !blank(s->at[w.n])) w.n++;
    s->at += w.n;
    s->n -= w.n;
    *s = hn_span_trim(*s);
    return w;
}

bool hn_span_is(hn_help_span s, const char *text) { return strlen(text) == s.n && !memcmp(s.at, text, s.n); }
bool hn_span_starts(hn_help_span s, const char *text) {
    return strlen(text) <= s.n && !memcmp(s.at, text, strlen(text));
}

size_t hn_span_find(hn_help_span s, const char *text) {
    const char *hit = s.n ? memmem(s.at, s.n, text, strlen(text)) : NULL;
    return hit ? (size_t)(hit - s.at) : SIZE_MAX;
}

bool hn_span_name(hn_help_span s) {
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.at[i]) && !strchr("-_.+=", s.at[i])) return false;
    return s.n > 0 && s.n < 200;
}

/* Copies printable ASCII; everything else becomes a space, so that docs are safe to print and store. */
char *hn_span_copy(hn_arena *a, hn_help_span s) {
    char *text = hn_strndup(a, s.at, s.n);
    for (size_t i = 0; text && i < s.n; i++)
        if (text[i] < ' ' || text[i] > '~') text[i] = ' ';
    return text;
}

double hn_span_number(hn_help_span s) {
    char buf[64];
    if (!s.n || s.n >= sizeof buf) return NAN;
    memcpy(buf, s.at, s.n);
    buf[s.n] = 0;
    char *stop;
    double x = hn_strtod(buf, &stop);
    return *stop || !isfinite(x) || isspace((unsigned char)buf[0]) ? NAN : x;
}

hn_help_row *hn_help_add(hn_arena *a, hn_help *help, hn_help_span name) {
    if (help->n >= MAX_ROWS) return NULL;
    if (help->n == help->room) {
        size_t room = help->room ? 2 * help->room : 256;
        hn_help_row *row = HN_NEW_N(a, hn_help_row, room);
        if (!row) return NULL;
        if (help->n) memcpy(row, help->row, help->n * sizeof *row);
        help->row = row;
        help->room = room;
    }
    hn_help_row *r = &help->row[help->n];
    *r = (hn_help_row){.name = hn_span_copy(a, name), .rest = "", .lo = NAN, .hi = NAN};
    if (!r->name) return NULL;
    help->n++;
    return r;
}

void hn_help_values(hn_arena *a, hn_help_row *r, hn_help_span list, char separator) {
    const char **value = HN_NEW_N(a, const char *, MAX_VALUES);
    size_t n = 0;
    while (value && list.n && n < MAX_VALUES) {
        const char *cut = memchr(list.at, separator, list.n);
        hn_help_span item = {list.at, cut ? (size_t)(cut - list.at) : list.n};
        size_t used = cut ? item.n + 1 : item.n;
        if (hn_span_name(hn_span_trim(item))) value[n++] = hn_span_copy(a, hn_span_trim(item));
        list.at += used;
        list.n -= used;
    }
    if (!n) return;
    r->value = value;
    r->n_values = n;
}

static int by_name(const void *pa, const void *pb) {
    const hn_help_row *x = pa, *y = pb;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->takes_value - (int)y->takes_value;
}

/* Rows that say more (range, enumeration) come first among equals, so that a search finds them. */
static int by_name_and_content(const void *pa, const void *pb) {
    const hn_help_row *x = pa, *y = pb;
    int c = by_name(pa, pb);
    if (c) return c;
    int kx = (x->n_values > 0) + !isnan(x->lo), ky = (y->n_values > 0) + !isnan(y->lo);
    return ky - kx;
}

void hn_help_sort(hn_help *help) {
    if (help->n) qsort(help->row, help->n, sizeof *help->row, by_name_and_content);
}

const hn_help_row *hn_help_find(const hn_help *help, const char *name, bool takes_value) {
    hn_help_row key = {.name = name, .takes_value = takes_value};
    size_t lo = 0, hi = help->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_name(&help->row[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < help->n && !by_name(&help->row[lo], &key) ? &help->row[lo] : NULL;
}
