/* grammar_phrase.c — rules and phrases while a grammar is read. */
#include "base/err.h"
#include "base/hash.h"
#include "text/grammar_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAST = 0x10ffff };

void hn_productions_free(hn_productions *r) {
    free(r->rule);
    free(r->slot);
    hn_arena_free(&r->arena);
}

/* Line and column (in characters, from 1) of a place. */
static void where(const char *text, size_t at, uint32_t *line, uint32_t *column) {
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80)
            ++*column;
    }
}

hone_rc hn_productions_wrong(const hn_productions *r, size_t at, hone_rc rc, hone_err *err, const char *fmt, ...) {
    char text[400];
    uint32_t line, column;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!r->text) return hn_fail(err, rc, "%s: %s", r->file, text);
    where(r->text, at, &line, &column);
    return hn_fail(err, rc, "%s:%u:%u: %s", r->file, line, column, text);
}

static size_t *slot_of(const hn_productions *r, const char *name, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
    size_t at = (size_t)hn_mix64(h) & (r->n_slot - 1);
    for (; r->slot[at]; at = (at + 1) & (r->n_slot - 1)) {
        const hn_production *k = &r->rule[r->slot[at] - 1];
        if (k->n_name == n && !memcmp(k->name, name, n)) break;
    }
    return &r->slot[at];
}

static bool more_slots(hn_productions *r) {
    size_t room = r->n_slot ? 2 * r->n_slot : 64;
    size_t *slot = calloc(room, sizeof *slot);
    if (!slot) return false;
    free(r->slot);
    r->slot = slot;
    r->n_slot = room;
    for (size_t i = 0; i < r->n; i++) *slot_of(r, r->rule[i].name, r->rule[i].n_name) = i + 1;
    return true;
}

size_t hn_productions_find(hn_productions *r, const char *name, size_t n) {
    if (2 * r->n >= r->n_slot && !more_slots(r)) return r->arena.failed = true, SIZE_MAX;
    size_t *slot = slot_of(r, name, n);
    if (*slot) return *slot - 1;
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 32;
        hn_production *rule = realloc(r->rule, room * sizeof *rule);
        if (!rule) return r->arena.failed = true, SIZE_MAX;
        r->rule = rule;
        r->room = room;
    }
    char *copy = hn_strndup(&r->arena, name, n);
    if (!copy) return SIZE_MAX;
    r->rule[r->n] = (hn_production){.name = copy, .n_name = n};
    return (*slot = ++r->n) - 1;
}

/* --- forms ------------------------------------------------------------------------------------------------------- */

static hn_phrase *form(hn_productions *r, hn_phrase_kind kind, size_t n) {
    hn_phrase *f = HN_NEW(&r->arena, hn_phrase);
    if (f) f->kind = kind, f->n = n;
    return f;
}

hn_phrase *hn_phrase_text(hn_productions *r, const char *text, size_t n) {
    hn_phrase *f = form(r, HN_PHRASE_TEXT, n);
    char *copy = hn_alloc(&r->arena, n + 1);
    if (!f || !copy) return NULL;
    if (n) memcpy(copy, text, n);
    f->text = copy;
    return f;
}

static int by_low(const void *a, const void *b) {
    const hn_chars *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

static size_t put(hn_chars *out, size_t n, uint32_t low, uint32_t high) {
    if (low > high) return n;
    if (n && out[n - 1].high + 1 >= low) { /* they touch */
        if (high > out[n - 1].high) out[n - 1].high = high;
        return n;
    }
    out[n] = (hn_chars){low, high};
    return n + 1;
}

/* Sorted, joined; surrogates are no characters of UTF-8. */
hn_phrase *hn_phrase_class(hn_productions *r, const hn_chars *chars, size_t n) {
    hn_phrase *f = form(r, HN_PHRASE_CLASS, 0);
    hn_chars *sorted = HN_NEW_N(&r->arena, hn_chars, n + 1), *out = HN_NEW_N(&r->arena, hn_chars, 2 * n + 1);
    if (!f || !sorted || !out) return NULL;
    if (n) memcpy(sorted, chars, n * sizeof *chars);
    qsort(sorted, n, sizeof *sorted, by_low);
    for (size_t i = 0; i < n; i++) {
        uint32_t low = sorted[i].low, high = sorted[i].high < LAST ? sorted[i].high : LAST;
        f->n = put(out, f->n, low, high < 0xd800 ? high : 0xd7ff);
        f->n = put(out, f->n, low > 0xdfff ? low : 0xe000, high);
    }
    f->chars = out;
    return f;
}

hn_phrase *hn_phrase_class_not(hn_productions *r, const hn_chars *chars, size_t n) {
    const hn_phrase *f = hn_phrase_class(r, chars, n);
    hn_chars *out = f ? HN_NEW_N(&r->arena, hn_chars, f->n + 1) : NULL;
    uint32_t next = 0;
    size_t k = 0;
    if (!out) return NULL;
    for (size_t i = 0; i < f->n; next = f->chars[i++].high + 1)
        if (f->chars[i].low > next) k = put(out, k, next, f->chars[i].low - 1);
    if (next <= LAST) k = put(out, k, next, LAST);
    return hn_phrase_class(r, out, k);
}

hn_phrase *hn_phrase_list(hn_productions *r, hn_phrase_kind kind, hn_phrase *const *part, size_t n) {
    hn_phrase **copy = HN_NEW_N(&r->arena, hn_phrase *, n + 1), *f = form(r, kind, n);
    if (!f || !copy) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!(copy[i] = part[i])) return r->arena.failed = true, NULL;
    f->part = copy;
    return f;
}

hn_phrase *hn_phrase_repeat(hn_productions *r, hn_phrase *of, uint32_t least, uint32_t most) {
    hn_phrase *f = hn_phrase_list(r, HN_PHRASE_REPEAT, &of, 1);
    if (f) f->least = least, f->most = most;
    return f;
}

hn_phrase *hn_phrase_call(hn_productions *r, size_t rule) {
    hn_phrase *f = rule == SIZE_MAX ? NULL : form(r, HN_PHRASE_CALL, 0);
    if (f) f->rule = rule;
    return f;
}

void hn_phrases_add(hn_productions *r, hn_phrases *list, hn_phrase *f) {
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 8;
        hn_phrase **grown = HN_NEW_N(&r->arena, hn_phrase *, room);
        if (!grown) return;
        if (list->n) memcpy(grown, list->form, list->n * sizeof *grown);
        list->form = grown;
        list->room = room;
    }
    if (!f) r->arena.failed = true;
    list->form[list->n++] = f;
}
