/* grammar_gbnf.c — GBNF, llama.cpp's language of grammars: reading it. */
#include "base/err.h"
#include "base/utf8.h"
#include "text/grammar_int.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_B = 4 << 20 };

typedef struct reader {
    hn_productions *rules;
    const char *text, *at, *end;
    unsigned depth;
    hone_err *err;
    hone_rc rc; /* sticky */
} reader;

static size_t at_of(const reader *p, const char *at) { return (size_t)(at - p->text); }

HONE_PRINTF(3, 4) static hn_phrase *wrong(reader *p, const char *at, const char *fmt, ...) {
    char text[300];
    va_list ap;
    if (p->rc) return NULL;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->rc = hn_productions_wrong(p->rules, at_of(p, at), HONE_E_INPUT, p->err, "%s", text);
    return NULL;
}

static hn_phrase *made(reader *p, hn_phrase *f) {
    if (!f && !p->rc) p->rc = hn_fail(p->err, HONE_E_NOMEM, "out of memory reading '%s'", p->rules->file);
    return f;
}

static int peek(const reader *p) { return p->at < p->end ? (unsigned char)*p->at : -1; }
static bool is_name(int c) { return c > 0 && c < 0x80 && (isalnum(c) || c == '-' || c == '_'); }

/* Blanks and comments; line ends, too, where a rule goes on behind them. */
static void skip_blanks(reader *p, bool lines) {
    while (p->at < p->end) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n' && *p->at != '\r') p->at++;
        else if (*p->at == ' ' || *p->at == '\t' || (lines && (*p->at == '\n' || *p->at == '\r')))
            p->at++;
        else
            break;
    }
}

static hn_phrase *alternatives(reader *p, bool inside);

/* --- characters -------------------------------------------------------------------------------------------------- */

static uint32_t hex(reader *p, unsigned digits) {
    const char *from = p->at - 2;
    uint32_t x = 0;
    for (unsigned i = 0; i < digits; i++, p->at++) {
        int c = peek(p);
        if (c < 0 || !isxdigit(c)) return wrong(p, from, "'\\%c' takes %u hexadecimal digits", from[1], digits), 0;
        x = 16 * x + (uint32_t)(isdigit(c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (x > 0x10ffff || (x >= 0xd800 && x < 0xe000)) wrong(p, from, "U+%04X is no character", x);
    return x;
}

/* One character of a text or class, escaped or as it is. */
static uint32_t character(reader *p) {
    uint32_t code = 0;
    if (*p->at != '\\') {
        p->at += hn_utf8_next(p->at, (size_t)(p->end - p->at), &code);
        return code;
    }
    int c = p->at + 1 < p->end ? p->at[1] : 0;
    p->at += 2;
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
    case '^': return (uint32_t)c;
    case 'x': return hex(p, 2);
    case 'u': return hex(p, 4);
    case 'U': return hex(p, 8);
    default:
        wrong(p, p->at - 2,
              "an escape that there is not; known are \\n \\t \\r \\\\ \\\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH");
        return 0;
    }
}

static hn_phrase *quoted(reader *p) {
    const char *from = p->at++, *close = p->at;
    while (close < p->end && *close != '"') close += 1 + (*close == '\\');
    if (close >= p->end) return wrong(p, from, "this text has no end; a '\"' is missing");
    char *text =
        hn_alloc(&p->rules->arena, (size_t)(close - from) + 4); /* no escape is longer than what it stands for */
    size_t n = 0;
    if (!text) return made(p, NULL);
    while (!p->rc && p->at < close) n += hn_utf8_put(character(p), text + n);
    p->at++;
    return p->rc ? NULL : made(p, hn_phrase_text(p->rules, text, n));
}

static hn_phrase *class_of(reader *p) {
    const char *from = p->at++;
    size_t room = (size_t)(p->end - from), n = 0;
    const char *close = p->at;
    while (close < p->end && *close != ']') close += 1 + (*close == '\\'); /* bounds the ranges */
    if (close >= p->end) return wrong(p, from, "this class has no end; a ']' is missing");
    room = (size_t)(close - from) + 1;
    bool not = peek(p) == '^';
    p->at += not ;
    hn_chars *chars = malloc(room * sizeof *chars);
    if (!chars) return made(p, NULL);
    while (!p->rc && p->at < p->end && peek(p) != ']') {
        const char *at = p->at;
        uint32_t low = character(p), high = low;
        if (!p->rc && peek(p) == '-' && p->at + 1 < p->end && p->at[1] != ']') {
            p->at++;
            high = character(p);
            if (high < low) wrong(p, at, "the range goes backwards; its first character comes behind its last");
        }
        if (n < room) chars[n++] = (hn_chars){low, high};
    }
    if (!p->rc && peek(p) != ']') wrong(p, from, "this class has no end; a ']' is missing");
    p->at++;
    hn_phrase *f = NULL;
    if (!p->rc) f = made(p, not ? hn_phrase_class_not(p->rules, chars, n) : hn_phrase_class(p->rules, chars, n));
    free(chars);
    if (f && !f->n) return wrong(p, from, "this class holds no character");
    return f;
}

/* --- symbols ----------------------------------------------------------------------------------------------------- */

static hn_phrase *call(reader *p) {
    const char *from = p->at;
    while (is_name(peek(p))) p->at++;
    size_t rule = hn_productions_find(p->rules, from, (size_t)(p->at - from));
    hn_phrase *f = made(p, hn_phrase_call(p->rules, rule));
    if (f) f->at = at_of(p, from);
    return f;
}

static hn_phrase *group(reader *p) {
    const char *from = p->at++;
    if (++p->depth > HN_PHRASE_DEPTH) return wrong(p, from, "more than %d groups in each other", HN_PHRASE_DEPTH);
    hn_phrase *f = alternatives(p, true);
    p->depth--;
    if (p->rc) return NULL;
    if (peek(p) != ')') return wrong(p, from, "this group has no end; a ')' is missing");
    p->at++;
    return f;
}

static hn_phrase *symbol(reader *p) {
    int c = peek(p);
    if (c == '"') return quoted(p);
    if (c == '[') return class_of(p);
    if (c == '(') return group(p);
    if (c == '.') {
        p->at++;
        return made(p, hn_phrase_class_not(p->rules, NULL, 0));
    }
    return call(p);
}

static uint32_t count(reader *p) {
    const char *from = p->at;
    uint32_t x = 0;
    if (!isdigit(peek(p))) return wrong(p, from, "a number of repetitions is needed, as in {2,5}"), 0;
    for (; isdigit(peek(p)); p->at++)
        if ((x = 10 * x + (uint32_t)(*p->at - '0')) > HN_PHRASE_MANY)
            return wrong(p, from, "more than %d repetitions; write * or + instead", HN_PHRASE_MANY), 0;
    return x;
}

/* {m}, {m,}, {m,n} */
static void bounds(reader *p, uint32_t *least, uint32_t *most) {
    const char *from = p->at++;
    skip_blanks(p, true);
    *least = *most = count(p);
    skip_blanks(p, true);
    if (peek(p) == ',') {
        p->at++;
        skip_blanks(p, true);
        *most = isdigit(peek(p)) ? count(p) : HN_PHRASE_FOREVER;
        skip_blanks(p, true);
    }
    if (p->rc) return;
    if (peek(p) != '}')
        wrong(p, from, "these bounds have no end; a '}' is missing");
    else if (*most < *least)
        wrong(p, from, "at least %u and at most %u cannot be", *least, *most);
    p->at++;
}

static hn_phrase *repeated(reader *p, hn_phrase *f) {
    uint32_t least = 0, most = HN_PHRASE_FOREVER;
    switch (peek(p)) {
    case '*': p->at++; break;
    case '+': p->at++, least = 1; break;
    case '?': p->at++, most = 1; break;
    case '{': bounds(p, &least, &most); break;
    default: return f;
    }
    return p->rc ? NULL : made(p, hn_phrase_repeat(p->rules, f, least, most));
}

static hn_phrase *sequence(reader *p, bool inside) {
    hn_phrases list = {0};
    for (;;) {
        int c = peek(p);
        if (c != '"' && c != '[' && c != '(' && c != '.' && !is_name(c)) break;
        const char *at = p->at;
        unsigned times = 0;
        hn_phrase *f = symbol(p);
        for (;;) {
            if (!f) return NULL;
            skip_blanks(p, inside);
            hn_phrase *more = repeated(p, f);
            if (more == f) break;
            if ((f = more)) f->at = at_of(p, at);
            if (f && ++times > HN_PHRASE_DEPTH)
                return wrong(p, at, "more than %d repetitions of each other", HN_PHRASE_DEPTH);
        }
        hn_phrases_add(p->rules, &list, f);
    }
    if (list.n == 1) return list.form[0];
    return made(p, hn_phrase_list(p->rules, HN_PHRASE_ALL, list.form, list.n));
}

/* Behind a line's end: whether the next line goes on with an alternative. */
static bool goes_on(reader *p) {
    const char *at = p->at;
    skip_blanks(p, true);
    if (peek(p) == '|') return true;
    p->at = at;
    return false;
}

static hn_phrase *alternatives(reader *p, bool inside) {
    hn_phrases list = {0};
    do {
        if (list.n) p->at++;
        skip_blanks(p, true);
        hn_phrase *f = sequence(p, inside);
        if (!f) return NULL;
        hn_phrases_add(p->rules, &list, f);
        skip_blanks(p, inside);
    } while (goes_on(p));
    if (list.n == 1) return list.form[0];
    return made(p, hn_phrase_list(p->rules, HN_PHRASE_ANY, list.form, list.n));
}

static void definition(reader *p) {
    const char *from = p->at;
    while (is_name(peek(p))) p->at++;
    if (p->at == from) {
        wrong(p, from, "a rule begins with its name, of letters, digits, - and _, and '::='");
        return;
    }
    size_t rule = hn_productions_find(p->rules, from, (size_t)(p->at - from));
    if (rule == SIZE_MAX) {
        made(p, NULL);
        return;
    }
    skip_blanks(p, false);
    if (p->end - p->at < 3 || memcmp(p->at, "::=", 3) != 0) {
        wrong(p, p->at, "'::=' is expected behind the name of the rule '%s'", p->rules->rule[rule].name);
        return;
    }
    p->at += 3;
    if (p->rules->rule[rule].form) {
        wrong(p, from, "the rule '%s' is there already", p->rules->rule[rule].name);
        return;
    }
    hn_phrase *f = alternatives(p, false);
    if (p->rc) return;
    p->rules->rule[rule].form = f;
    p->rules->rule[rule].at = at_of(p, from);
    if (p->at < p->end && *p->at != '\n' && *p->at != '\r')
        wrong(p, p->at, "the end of the rule, or a text, class, group or name, is expected here");
}

hn_phrase *hn_gbnf_phrase(hn_productions *rules, const char *text, hone_err *err) {
    reader p = {.rules = rules, .text = text, .at = text, .end = text + strlen(text), .err = err};
    return alternatives(&p, true);
}

/* The first byte that is no UTF-8, or 0; NULL: there is none. */
static const char *broken(const char *s, const char *end) {
    while (s < end) {
        size_t k = *s ? hn_utf8_next(s, (size_t)(end - s), NULL) : 0;
        if (!k) return s;
        s += k;
    }
    return NULL;
}

hone_rc hn_grammar_gbnf(const char *text, size_t n, const char *name, hn_grammar **out, hone_err *err) {
    hn_productions rules = {.file = name, .text = text};
    reader p = {.rules = &rules, .text = text, .at = text, .end = text + n, .err = err};
    if (n > MOST_B)
        return hn_fail(err, HONE_E_LIMIT, "%s: a grammar of %zu bytes; at most %d are read", name, n, MOST_B);
    const char *bad = broken(p.at, p.end);
    if (bad) wrong(&p, bad, "byte 0x%02x is no UTF-8", (unsigned)(unsigned char)*bad);
    if (!p.rc && hn_productions_find(&rules, "root", 4) == SIZE_MAX) made(&p, NULL);
    skip_blanks(&p, true);
    while (!p.rc && p.at < p.end) {
        definition(&p);
        skip_blanks(&p, true);
    }
    if (!p.rc && !rules.rule[0].form) wrong(&p, p.end, "there is no rule 'root', which is the whole text");
    if (!p.rc && !hn_arena_ok(&rules.arena)) made(&p, NULL);
    if (!p.rc) p.rc = hn_grammar_build(&rules, out, err);
    hn_productions_free(&rules);
    return p.rc;
}
