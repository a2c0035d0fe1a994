/* base/str.c — growing strings, exact number texts, the nearest name. */
#include "base/str.h"

#include "base/locale.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(hn_str *s, size_t more) {
    if (s->failed) return false;
    if (s->room - s->n > more) return true;
    size_t room = s->room ? s->room : 64;
    while (room - s->n <= more) {
        if (room > SIZE_MAX / 2) {
            s->failed = true;
            return false;
        }
        room *= 2;
    }
    char *text = realloc(s->text, room);
    if (!text) {
        s->failed = true;
        return false;
    }
    s->text = text;
    s->room = room;
    return true;
}

void hn_str_add_n(hn_str *s, const char *text, size_t n) {
    if (!grow(s, n)) return;
    memcpy(s->text + s->n, text, n);
    s->n += n;
    s->text[s->n] = 0;
}

void hn_str_add(hn_str *s, const char *text) { hn_str_add_n(s, text, strlen(text)); }

void hn_str_addf(hn_str *s, const char *fmt, ...) {
    va_list ap;
    locale_t before = hn_locale_enter();
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && grow(s, (size_t)n)) {
        va_start(ap, fmt);
        vsnprintf(s->text + s->n, (size_t)n + 1, fmt, ap);
        va_end(ap);
        s->n += (size_t)n;
    } else {
        s->failed = true;
    }
    hn_locale_leave(before);
}

void hn_str_add_shell(hn_str *s, const char *word) {
    const char *safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (*word && strspn(word, safe) == strlen(word)) {
        hn_str_add(s, word);
        return;
    }
    hn_str_add(s, "'");
    for (; *word; word++)
        if (*word == '\'')
            hn_str_add(s, "'\\''");
        else
            hn_str_add_n(s, word, 1);
    hn_str_add(s, "'");
}

void hn_str_add_rsp(hn_str *s, const char *word) {
    if (!*word) hn_str_add(s, "\"\"");
    for (; *word; word++) {
        if (strchr(" \t\n\v\f\r\\'\"", *word)) hn_str_add(s, "\\");
        hn_str_add_n(s, word, 1);
    }
}

char *hn_str_take(hn_str *s) {
    if (!s->text) hn_str_add_n(s, "", 0);
    char *text = s->failed ? NULL : s->text;
    if (s->failed) free(s->text);
    *s = (hn_str){0};
    return text;
}

void hn_str_free(hn_str *s) {
    free(s->text);
    *s = (hn_str){0};
}

/* A decimal of up to 15 digits is unchanged by conversion to double and back, and %g drops trailing zeros. So 15 digits
 * give the shortest text where one of at most 15 exists, except for subnormals, which hold fewer. */
char *hn_double_text(double x, char buf[32]) {
    if (isnan(x)) return strcpy(buf, "nan");
    if (isinf(x)) return strcpy(buf, x < 0 ? "-inf" : "inf");
    locale_t before = hn_locale_enter();
    for (int digits = fabs(x) < DBL_MIN ? 1 : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        char text[64]; /* 17 digits take 24 at most; gcc cannot see that */
        snprintf(text, sizeof text, "%.*g", digits, x);
        snprintf(buf, 32, "%.31s", text);
        if (hn_strtod(buf, NULL) == x) break;
    }
    hn_locale_leave(before);
    return buf;
}

bool hn_starts_with(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

enum { NAME_MAX_N = 96 };

static size_t min3(size_t a, size_t b, size_t c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static bool same(char a, char b) { return lower(a) == lower(b); }

/* Optimal string alignment distance over three rolling rows. */
static size_t distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b);
    if (na > NAME_MAX_N || nb > NAME_MAX_N) return SIZE_MAX;
    size_t row[3][NAME_MAX_N + 1];
    for (size_t j = 0; j <= nb; j++) row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = min3(up[j] + 1, now[j - 1] + 1, up[j - 1] + !same(a[i - 1], b[j - 1]));
            bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
            if (swapped && up2[j - 2] + 1 < now[j]) now[j] = up2[j - 2] + 1;
        }
    }
    return row[na % 3][nb];
}

const char *hn_nearest(const char *name, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t best_d = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(name, names[i]);
        if (d < best_d) {
            best_d = d;
            best = names[i];
        }
    }
    return best && best_d <= 1 + strlen(name) / 3 ? best : NULL;
}

void hn_str_add_c(hn_str *s, const char *text) {
    hn_str_add(s, "\"");
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; c++) {
        if (*c < 32 || *c > 126 || *c == '"' || *c == '\\' || *c == '?')
            hn_str_addf(s, "\\%03o", *c);
        else
            hn_str_add_n(s, (const char *)c, 1);
    }
    hn_str_add(s, "\"");
}
