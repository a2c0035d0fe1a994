/* steps.c — see steps.h. */
#include "text/steps.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "text/characters.h"
#include "text/pattern.h"

#include <stdlib.h>
#include <string.h>

const char hn_pattern_gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}"
const char hn_pattern_words[] = "[" WORD "]+|[^" WORD "\\s]+";
const char hn_pattern_space[] = "\\s";
/* What the library's tables, of an older Unicode, do not have as punctuation. */
#define LATE                                                                                                           \
    "\\x{61d}\\x{9fd}\\x{a76}\\x{c77}\\x{c84}\\x{1b7d}-\\x{1b7e}\\x{2e43}-\\x{2e4f}\\x{2e52}-\\x{2e5d}"                \
    "\\x{10ead}\\x{10f55}-\\x{10f59}\\x{10f86}-\\x{10f89}\\x{1144b}-\\x{1144f}\\x{1145a}-\\x{1145b}"                   \
    "\\x{1145d}\\x{11660}-\\x{1166c}\\x{116b9}\\x{1183b}\\x{11944}-\\x{11946}\\x{119e2}"                               \
    "\\x{11a3f}-\\x{11a46}\\x{11a9a}-\\x{11a9c}\\x{11a9e}-\\x{11aa2}\\x{11c41}-\\x{11c45}"                             \
    "\\x{11c70}-\\x{11c71}\\x{11ef7}-\\x{11ef8}\\x{11fff}\\x{12ff1}-\\x{12ff2}\\x{16e97}-\\x{16e9a}"                   \
    "\\x{16fe2}\\x{1e95e}-\\x{1e95f}"
const char hn_pattern_punctuation[] = "[!-/:-@\\[-`{-~\\x{166d}\\x{111c9}]|(?![" LATE "])\\p{P}";
const char hn_pattern_number[] = "\\p{N}";

typedef struct made_step {
    hn_text_step step;
    hn_pattern *pattern;
    hn_charsmap map;
} made_step;

struct hn_text_steps {
    hn_arena arena;
    made_step *step;
    size_t n;
};

static hn_span copy(hn_arena *a, hn_span s) { return (hn_span){hn_strndup(a, s.text ? s.text : "", s.n), s.n}; }

hone_rc hn_text_steps_make(const hn_text_step *step, size_t n, hn_text_steps **out, hone_err *err) {
    hn_text_steps *s = calloc(1, sizeof *s);
    hone_rc rc = HONE_OK;
    if (!s || !(s->step = HN_NEW_N(&s->arena, made_step, n ? n : 1)))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    for (size_t i = 0; !rc && i < n; i++) {
        made_step *m = &s->step[s->n++];
        bool patterned =
            step[i].kind == HN_STEP_REPLACE || step[i].kind == HN_STEP_SPLIT || step[i].kind == HN_STEP_CHANGE;
        m->step = step[i];
        m->step.pattern = copy(&s->arena, step[i].pattern);
        char *text = hn_alloc(&s->arena, step[i].text.n + 1); /* may hold zeros */
        if (!text || !hn_arena_ok(&s->arena))
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
        else if (step[i].text.n)
            memcpy(text, step[i].text.text, step[i].text.n);
        m->step.text.text = text;
        if (!rc && patterned) rc = hn_pattern_make(m->step.pattern, m->step.literal, &m->pattern, err);
        if (!rc && m->step.kind == HN_STEP_CHARSMAP) rc = hn_charsmap_read(m->step.text, &m->map, err);
    }
    if (rc)
        hn_text_steps_free(s);
    else
        *out = s;
    return rc;
}

void hn_text_steps_free(hn_text_steps *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n; i++) hn_pattern_free(s->step[i].pattern);
    hn_arena_free(&s->arena);
    free(s);
}

static bool is_cut(const made_step *s) {
    return s->step.kind == HN_STEP_SPLIT || s->step.kind == HN_STEP_LEAD || s->step.kind == HN_STEP_CHANGE;
}

/* --- normalisers -----------------------------------------------------------------------------------------------------
 */

static void strip(const hn_text_step *s, const char *text, size_t n, hn_str *out) {
    uint32_t c;
    size_t k;
    while (s->left && n && (k = hn_utf8_next(text, n, &c)) && hn_char_is_space(c)) {
        text += k;
        n -= k;
    }
    while (s->right && n) {
        size_t at = n - 1;
        while (at && n - at < 4 && ((unsigned char)text[at] & 0xc0) == 0x80) at--;
        k = hn_utf8_next(text + at, n - at, &c);
        if (k != n - at || !hn_char_is_space(c)) break;
        n = at;
    }
    hn_str_add_n(out, text, n);
}

static hone_rc replace(const made_step *s, hn_matcher *m, const char *text, size_t n, hn_str *out, hone_err *err) {
    size_t from = 0, begin, end;
    for (;;) {
        hone_rc rc = hn_pattern_find(s->pattern, m, text, n, from, &begin, &end, err);
        if (rc) return rc;
        hn_str_add_n(out, text + from, begin - from);
        if (begin == n) return HONE_OK;
        hn_str_add_n(out, s->step.text.text, s->step.text.n);
        from = end;
    }
}

static hone_rc normalise(const made_step *s, hn_matcher *m, const char *text, size_t n, hn_str *out, hone_err *err) {
    switch (s->step.kind) {
    case HN_STEP_STRIP: strip(&s->step, text, n, out); return HONE_OK;
    case HN_STEP_PREPEND:
        if (n) hn_str_add_n(out, s->step.text.text, s->step.text.n);
        hn_str_add_n(out, text, n);
        return HONE_OK;
    case HN_STEP_REPLACE: return replace(s, m, text, n, out, err);
    case HN_STEP_CHARSMAP: hn_charsmap_apply(&s->map, s->step.longest, text, n, out); return HONE_OK;
    default: return hn_characters_apply(s->step.kind, text, n, out, err);
    }
}

hone_rc hn_text_steps_normalise(const hn_text_steps *s, hn_matcher *m, const char *text, size_t n, hn_str *out,
                                hone_err *err) {
    hn_str now = {0};
    hone_rc rc = HONE_OK;
    hn_str_add_n(&now, text, n);
    for (size_t i = 0; !rc && !now.failed && i < s->n && !is_cut(&s->step[i]); i++) {
        hn_str next = {0};
        rc = normalise(&s->step[i], m, now.text ? now.text : "", now.n, &next, err);
        hn_str_free(&now);
        now = next;
    }
    if (now.n) hn_str_add_n(out, now.text, now.n);
    if (!rc && (now.failed || out->failed)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n);
    hn_str_free(&now);
    return rc;
}

/* --- cuts ------------------------------------------------------------------------------------------------------------
 */

typedef struct cutting {
    const hn_text_steps *s;
    hn_matcher *m;
    hone_rc (*piece)(void *arg, const char *text, size_t n, hone_err *err);
    void *arg;
    hone_err *err;
} cutting;

typedef struct part {
    size_t begin, end;
    bool match;
} part;

typedef struct parts {
    part *at;
    size_t n, room;
    bool failed;
} parts;

static void add_part(parts *p, size_t begin, size_t end, bool match) {
    if (p->n == p->room) {
        size_t room = p->room ? 2 * p->room : 16;
        part *more = p->failed ? NULL : realloc(p->at, room * sizeof *more);
        if (!more) {
            p->failed = true;
            return;
        }
        p->at = more;
        p->room = room;
    }
    p->at[p->n++] = (part){begin, end, match};
}

static hone_rc find_parts(const cutting *c, const made_step *s, const char *text, size_t n, parts *out) {
    size_t from = 0, begin, end;
    hone_rc rc = HONE_OK;
    while (from < n && !(rc = hn_pattern_find(s->pattern, c->m, text, n, from, &begin, &end, c->err))) {
        if (begin > from) add_part(out, from, begin, s->step.invert);
        if (end > begin) add_part(out, begin, end, !s->step.invert);
        from = end;
    }
    if (!rc && out->failed) rc = hn_fail(c->err, HONE_E_NOMEM, "out of memory splitting %zu bytes", n);
    return rc;
}

/* A match joins its neighbour in front; of matches in a row only the first does. */
static void join_previous(parts *p) {
    size_t k = 0;
    bool before = false;
    for (size_t i = 0; i < p->n; i++) {
        bool match = p->at[i].match;
        if (match && !before && k)
            p->at[k - 1].end = p->at[i].end;
        else
            p->at[k++] = p->at[i];
        before = match;
    }
    p->n = k;
}

static void join_next(parts *p) {
    size_t k = p->n;
    bool before = false;
    for (size_t i = p->n; i-- > 0;) {
        bool match = p->at[i].match;
        if (match && !before && k < p->n)
            p->at[k].begin = p->at[i].begin;
        else
            p->at[--k] = p->at[i];
        before = match;
    }
    p->n -= k;
    memmove(p->at, p->at + k, p->n * sizeof *p->at);
}

static void join_alike(parts *p) {
    size_t k = 0;
    for (size_t i = 0; i < p->n; i++)
        if (k && p->at[k - 1].match == p->at[i].match)
            p->at[k - 1].end = p->at[i].end;
        else
            p->at[k++] = p->at[i];
    p->n = k;
}

static void behave(hn_split_behaviour how, parts *p) {
    size_t k = 0;
    switch (how) {
    case HN_SPLIT_ISOLATED: return;
    case HN_SPLIT_REMOVED:
        for (size_t i = 0; i < p->n; i++)
            if (!p->at[i].match) p->at[k++] = p->at[i];
        p->n = k;
        return;
    case HN_SPLIT_WITH_PREVIOUS: join_previous(p); return;
    case HN_SPLIT_WITH_NEXT: join_next(p); return;
    case HN_SPLIT_CONTIGUOUS: join_alike(p); return;
    }
}

static hone_rc cut(const cutting *c, size_t i, const char *text, size_t n, bool first);

static hone_rc split(const cutting *c, size_t i, const char *text, size_t n, bool first) {
    parts p = {0};
    hone_rc rc = find_parts(c, &c->s->step[i], text, n, &p);
    if (!rc && p.n) behave(c->s->step[i].step.behaviour, &p);
    for (size_t k = 0; !rc && k < p.n; k++)
        rc = cut(c, i + 1, text + p.at[k].begin, p.at[k].end - p.at[k].begin, first && !p.at[k].begin);
    free(p.at);
    return rc;
}

static hone_rc change(const cutting *c, size_t i, const char *text, size_t n, bool first) {
    const made_step *s = &c->s->step[i];
    hn_str out = {0};
    hone_rc rc = HONE_OK;
    if (s->step.kind == HN_STEP_CHANGE)
        rc = replace(s, c->m, text, n, &out, c->err);
    else {
        bool there = n >= s->step.text.n && !memcmp(text, s->step.text.text, s->step.text.n);
        if (!there && (first || !s->step.first_only)) hn_str_add_n(&out, s->step.text.text, s->step.text.n);
        hn_str_add_n(&out, text, n);
    }
    if (!rc && out.failed) rc = hn_fail(c->err, HONE_E_NOMEM, "out of memory splitting %zu bytes", n);
    if (!rc) rc = cut(c, i + 1, out.text, out.n, first);
    hn_str_free(&out);
    return rc;
}

static hone_rc cut(const cutting *c, size_t i, const char *text, size_t n, bool first) {
    while (i < c->s->n && !is_cut(&c->s->step[i])) i++;
    if (!n) return HONE_OK;
    if (i == c->s->n) return c->piece(c->arg, text, n, c->err);
    return c->s->step[i].step.kind == HN_STEP_SPLIT ? split(c, i, text, n, first) : change(c, i, text, n, first);
}

hone_rc hn_text_steps_cut(const hn_text_steps *s, hn_matcher *m, const char *text, size_t n, bool first,
                          hone_rc (*piece)(void *arg, const char *text, size_t n, hone_err *err), void *arg,
                          hone_err *err) {
    const cutting c = {s, m, piece, arg, err};
    return cut(&c, 0, text, n, first);
}
