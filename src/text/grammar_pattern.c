/* grammar_pattern.c — a regular expression (ECMA-262, as JSON schemas have them) as a phrase for a JSON string.
 *
 * Known: characters, classes, escapes of characters, \d \w \s and their opposites, groups, alternatives, * + ? {m,n}
 * (lazy ones, too), and ^ and $ at the ends. What looks around (assertions, \b) or back (references) describes no set
 * of texts that a grammar could, and is refused. A pattern is found anywhere in a string unless ^ and $ say otherwise.
 * Where readings of the field differ on characters beyond ASCII (\D, \W), ASCII alone is meant. */
#include "base/utf8.h"
#include "text/grammar_json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pattern {
    hn_schema *s;
    const char *text, *at;
    unsigned depth;
} pattern;

enum { MOST_CHARS = 400 };
typedef struct set {
    hn_chars chars[MOST_CHARS];
    size_t n;
    bool full;
} set;

static hn_phrase *refuse(pattern *p, const char *at, const char *what) {
    return hn_schema_wrong(p->s, HONE_E_UNSUPPORTED, "the pattern '%s': %s, at character %zu, cannot become a grammar",
                           p->text, what, (size_t)(at - p->text) + 1);
}

static void include(set *x, uint32_t low, uint32_t high) {
    if (x->n < MOST_CHARS)
        x->chars[x->n++] = (hn_chars){low, high};
    else
        x->full = true;
}

/* --- characters as JSON writes them ------------------------------------------------------------------------------ */

static bool has(const hn_phrase *class, uint32_t c) {
    for (size_t i = 0; i < class->n; i++)
        if (c >= class->chars[i].low && c <= class->chars[i].high) return true;
    return false;
}

/* A class as it stands within quotes: what must be escaped is. */
static hn_phrase *in_string(hn_schema *s, const hn_phrase *class) {
    static const char control[] = "\b\f\n\r\t\"\\", letter[] = "bfnrt\"\\";
    hn_phrases list = {0};
    hn_chars plain[MOST_CHARS + 40];
    size_t n = 0;
    if (!class) return NULL;
    for (size_t i = 0; i < class->n && n < MOST_CHARS; i++) {
        uint32_t low = class->chars[i].low < 0x20 ? 0x20 : class->chars[i].low, high = class->chars[i].high;
        for (const char *no = "\"\\"; *no; no++)
            if (low <= (uint32_t)*no && high >= (uint32_t)*no) {
                if (low < (uint32_t)*no) plain[n++] = (hn_chars){low, (uint32_t)*no - 1};
                low = (uint32_t)*no + 1;
            }
        if (low <= high) plain[n++] = (hn_chars){low, high};
    }
    if (n) hn_phrases_add(s->rules, &list, hn_phrase_class(s->rules, plain, n));
    for (uint32_t c = 0; c < 0x5d; c++) {
        char text[8];
        const char *k = c ? strchr(control, (int)c) : NULL;
        if ((c >= 0x20 && !k) || !has(class, c)) continue;
        if (k)
            snprintf(text, sizeof text, "\\%c", letter[k - control]);
        else
            snprintf(text, sizeof text, "\\u%04x", (unsigned)c);
        hn_phrases_add(s->rules, &list, hn_json_text(s, text));
    }
    return list.n == 1 ? hn_schema_made(s, list.form[0]) : hn_json_any(s, list.n, list.form);
}

static hn_phrase *set_phrase(pattern *p, const set *x, bool not ) {
    hn_productions *r = p->s->rules;
    if (x->full) return refuse(p, p->at, "a class of so many ranges");
    return in_string(
        p->s, hn_schema_made(p->s, not ? hn_phrase_class_not(r, x->chars, x->n) : hn_phrase_class(r, x->chars, x->n)));
}

/* \d \w \s and the opposites. */
static bool class_escape(set *x, char c) {
    static const hn_chars blank[] = {{9, 13},          {0x20, 0x20},     {0xa0, 0xa0},
                                     {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
                                     {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
    switch (c) {
    case 'd': include(x, '0', '9'); return true;
    case 'D': include(x, 0, '0' - 1), include(x, '9' + 1, 0x7f); return true;
    case 'w': include(x, '0', '9'), include(x, 'A', 'Z'), include(x, 'a', 'z'), include(x, '_', '_'); return true;
    case 'W':
        include(x, 0, '0' - 1), include(x, '9' + 1, 'A' - 1), include(x, 'Z' + 1, '_' - 1);
        include(x, '_' + 1, 'a' - 1), include(x, 'z' + 1, 0x7f);
        return true;
    case 's':
        for (size_t i = 0; i < sizeof blank / sizeof *blank; i++) include(x, blank[i].low, blank[i].high);
        return true;
    case 'S':
        include(x, 0x21, 0x7e), include(x, 0xa1, 0x167f), include(x, 0x3001, 0xfefe), include(x, 0x10000, 0x10ffff);
        return true;
    default: return false;
    }
}

/* What some readers count to \d, \w or \s comes in no class without them. */
static void leave_out(set *x, char c) {
    if (c == 's') {
        include(x, 0x1c, 0x1f), include(x, 0x85, 0x85), include(x, 0x180e, 0x180e), include(x, 0xfeff, 0xfeff);
        return;
    }
    include(x, 0x80, 0x10ffff);
}

static uint32_t code(pattern *p, size_t digits) {
    uint32_t x = 0;
    for (size_t i = 0; i < digits; i++, p->at++) {
        int c = (unsigned char)*p->at;
        if (!isxdigit(c)) return refuse(p, p->at, "a character's number"), 0;
        x = 16 * x + (uint32_t)(isdigit(c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (x >= 0xd800 && x < 0xe000) refuse(p, p->at, "half of a character");
    return x;
}

/* The character of an escape, behind its backslash. */
static uint32_t escaped(pattern *p) {
    static const char letter[] = "nrtfv0", is[] = "\n\r\t\f\v";
    if (!*p->at) return refuse(p, p->at, "a backslash at the end"), 0;
    char c = *p->at++;
    const char *k = strchr(letter, c);
    if (k && (c != '0' || !isdigit((unsigned char)*p->at))) return (unsigned char)is[k - letter];
    if (c == 'x') return code(p, 2);
    if (c == 'u') return code(p, 4);
    if (ispunct((unsigned char)c)) return (unsigned char)c;
    return refuse(p, p->at - 1, isdigit((unsigned char)c) ? "a reference" : "this escape"), 0;
}

static uint32_t plain(pattern *p) {
    uint32_t c = 0;
    p->at += hn_utf8_next(p->at, SIZE_MAX, &c);
    return c;
}

static hn_phrase *bracket(pattern *p) {
    const char *from = p->at++;
    set x = {.n = 0};
    bool not = *p->at == '^';
    p->at += not ;
    while (*p->at && *p->at != ']' && !p->s->rc) {
        bool back = *p->at == '\\';
        if (back && class_escape(&x, p->at[1])) {
            if (not &&isupper((unsigned char)p->at[1])) return refuse(p, p->at, "this class in a negated one");
            if (not ) leave_out(&x, p->at[1]);
            p->at += 2;
            continue;
        }
        p->at += back;
        uint32_t low = back ? (*p->at == 'b' ? (p->at++, 8u) : escaped(p)) : plain(p), high = low;
        if (*p->at == '-' && p->at[1] && p->at[1] != ']') {
            back = *++p->at == '\\';
            if (back && strchr("dDwWsS", p->at[1])) return refuse(p, p->at, "a range that ends in a class");
            p->at += back;
            high = back ? escaped(p) : plain(p);
        }
        if (high < low) return refuse(p, from, "a range that goes backwards");
        include(&x, low, high);
    }
    if (*p->at != ']') return refuse(p, from, "a class without an end");
    p->at++;
    return set_phrase(p, &x, not );
}

/* --- structure --------------------------------------------------------------------------------------------------- */

static hn_phrase *choice(pattern *p);

static hn_phrase *group(pattern *p) {
    const char *from = p->at++;
    if (*p->at == '?') {
        if (p->at[1] != ':') return refuse(p, from, "what looks around, or has a name,");
        p->at += 2;
    }
    if (++p->depth > HN_PHRASE_DEPTH) return refuse(p, from, "so many groups in each other");
    hn_phrase *f = choice(p);
    p->depth--;
    if (p->s->rc || *p->at != ')') return refuse(p, from, "a group without an end");
    p->at++;
    return f;
}

static hn_phrase *atom(pattern *p) {
    static const hn_chars line_end[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    set x = {.n = 0};
    switch (*p->at) {
    case '(': return group(p);
    case '[': return bracket(p);
    case '.': p->at++; return in_string(p->s, hn_schema_made(p->s, hn_phrase_class_not(p->s->rules, line_end, 3)));
    case '^':
    case '$': return refuse(p, p->at, "an end of the string inside");
    case '*':
    case '+':
    case '?':
    case '{': return refuse(p, p->at, "a repetition of nothing");
    case '\\':
        p->at++;
        if (class_escape(&x, *p->at))
            p->at++;
        else {
            uint32_t c = escaped(p);
            include(&x, c, c);
        }
        break;
    default: {
        uint32_t c = plain(p);
        include(&x, c, c);
    }
    }
    return p->s->rc ? NULL : set_phrase(p, &x, false);
}

static bool number(pattern *p, uint32_t *out) {
    uint32_t x = 0;
    if (!isdigit((unsigned char)*p->at)) return false;
    for (; isdigit((unsigned char)*p->at); p->at++)
        if ((x = 10 * x + (uint32_t)(*p->at - '0')) > HN_PHRASE_MANY) {
            refuse(p, p->at, "so many repetitions");
            return false;
        }
    *out = x;
    return true;
}

static hn_phrase *repeated(pattern *p, hn_phrase *f) {
    uint32_t least = 0, most = HN_PHRASE_FOREVER;
    const char *from = p->at;
    switch (*p->at) {
    case '*': p->at++; break;
    case '+': p->at++, least = 1; break;
    case '?': p->at++, most = 1; break;
    case '{':
        p->at++;
        if (!number(p, &least)) return refuse(p, from, "this repetition");
        most = least;
        if (*p->at == ',') {
            p->at++;
            if (*p->at == '}')
                most = HN_PHRASE_FOREVER;
            else if (!number(p, &most))
                return refuse(p, from, "this repetition");
        }
        if (*p->at != '}' || most < least) return refuse(p, from, "this repetition");
        p->at++;
        break;
    default: return f;
    }
    p->at += *p->at == '?'; /* lazy: the same texts */
    return hn_json_repeat(p->s, f, least, most);
}

static hn_phrase *sequence(pattern *p) {
    hn_phrases list = {0};
    while (*p->at && *p->at != '|' && *p->at != ')' && !p->s->rc) {
        if (*p->at == '$' && !p->depth && (!p->at[1] || p->at[1] == '|')) break;
        hn_phrase *f = atom(p);
        if (f) f = repeated(p, f);
        if (!f) return NULL;
        hn_phrases_add(p->s->rules, &list, f);
    }
    return hn_json_all(p->s, list.n, list.form);
}

static hn_phrase *choice(pattern *p) {
    hn_phrases list = {0};
    for (;; p->at++) {
        hn_phrases_add(p->s->rules, &list, sequence(p));
        if (p->s->rc) return NULL;
        if (*p->at != '|') break;
    }
    return hn_json_any(p->s, list.n, list.form);
}

/* The alternatives of the whole pattern, each with ends of its own. */
hn_phrase *hn_json_pattern(hn_schema *s, const char *text) {
    pattern p = {.s = s, .text = text, .at = text};
    hn_phrases list = {0};
    hn_phrase *any = hn_json_repeat(s, hn_json_character(s), 0, HN_PHRASE_FOREVER), *nothing = hn_json_text(s, "");
    for (;; p.at++) {
        bool begin = *p.at == '^';
        p.at += begin;
        hn_phrase *f = sequence(&p);
        bool end = *p.at == '$';
        p.at += end;
        if (s->rc) return NULL;
        hn_phrases_add(s->rules, &list, HN_ALL(s, begin ? nothing : any, f, end ? nothing : any));
        if (*p.at != '|') break;
    }
    if (*p.at) return refuse(&p, p.at, "a ')' without its '('");
    return HN_ALL(s, hn_json_text(s, "\""), hn_json_any(s, list.n, list.form), hn_json_text(s, "\""));
}
