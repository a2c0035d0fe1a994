/* far/wire.c — see wire.h. */
#include "far/wire.h"

#include "base/locale.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_far_head(char head[HN_FAR_HEAD_B + 1], char kind, size_t n) {
    snprintf(head, HN_FAR_HEAD_B + 1, "hn%c%012llu\n", kind, (unsigned long long)(n % 1000000000000ULL));
}

bool hn_far_read_head(const char head[HN_FAR_HEAD_B], char *kind, size_t *n) {
    size_t v = 0;
    if (head[0] != 'h' || head[1] != 'n' || head[HN_FAR_HEAD_B - 1] != '\n') return false;
    for (int i = 3; i < HN_FAR_HEAD_B - 1; i++) {
        if (!isdigit((unsigned char)head[i])) return false;
        v = 10 * v + (size_t)(head[i] - '0');
    }
    *kind = head[2];
    *n = v;
    return v <= HN_FAR_MOST_B;
}

void hn_far_put(hn_str *s, const char *text) { hn_str_add_n(s, text ? text : "", text ? strlen(text) + 1 : 1); }

void hn_far_put_number(hn_str *s, double v) {
    char text[32];
    hn_far_put(s, hn_double_text(v, text));
}

void hn_far_put_list(hn_str *s, const char *const *list) {
    size_t n = 0;
    while (list && list[n]) n++;
    hn_far_put_number(s, (double)n);
    for (size_t i = 0; i < n; i++) hn_far_put(s, list[i]);
}

const char *hn_far_field(hn_far_fields *f) {
    const char *text = f->at, *nul = f->bad || f->at == f->end ? NULL : memchr(f->at, 0, (size_t)(f->end - f->at));
    if (!nul) {
        f->bad = true;
        return "";
    }
    f->at = nul + 1;
    return text;
}

double hn_far_number(hn_far_fields *f) {
    const char *text = hn_far_field(f);
    char *end;
    double v = hn_strtod(text, &end);
    if (!*text || *end) f->bad = true;
    return f->bad ? 0 : v;
}

const char **hn_far_list(hn_far_fields *f) {
    double n = hn_far_number(f);
    if (!(n >= 0 && n <= (double)(f->end - f->at)) || n != floor(n)) f->bad = true;
    const char **list = f->bad ? NULL : calloc((size_t)n + 1, sizeof *list);
    for (size_t i = 0; list && i < (size_t)n; i++) list[i] = hn_far_field(f);
    if (list && f->bad) {
        free(list);
        list = NULL;
    }
    return list;
}

bool hn_far_is_inside(const char *path) {
    if (!*path || *path == '/') return false;
    for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
        if (!strncmp(at, "..", 2) && (!at[2] || at[2] == '/')) return false;
    return true;
}
