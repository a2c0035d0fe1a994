/* pattern.c — see pattern.h. What differs between the two syntaxes is rewritten, or refused. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.h"
#include "base/err.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { JIT_STACK_B = 1 << 20, PATTERN_B = 65536 };
static const uint32_t match_limit = 50000000; /* steps in one match; beyond it a text is refused */

struct hn_pattern {
    pcre2_code *code;
};

struct hn_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

/* --- syntax ----------------------------------------------------------------------------------------------------------
 */

/* What classes hold in Unicode's own terms, without brackets: PCRE2's \s has U+180E, and its \w has other letters and
 * numbers. */
#define SPACE "\\t-\\r\\x{85}\\p{Z}"
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD_ALONE WORD "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}" /* where it stands in no class */

typedef struct writing {
    const char *p, *end;
    bool in_class;
    hn_str out;
    const char *fault;
} writing;

static bool next_is(const writing *w, const char *what) {
    size_t n = strlen(what);
    return (size_t)(w->end - w->p) >= n && !memcmp(w->p, what, n);
}

static void put_class(writing *w, const char *members, bool negated) {
    if (w->in_class && negated)
        w->fault = "a negated class within a class";
    else if (w->in_class)
        hn_str_add(&w->out, members);
    else
        hn_str_addf(&w->out, "[%s%s]", negated ? "^" : "", members);
}

/* \u1234 as \x{1234}. */
static void put_code(writing *w) {
    if (w->end - w->p < 4) {
        w->fault = "\\u without four digits";
        return;
    }
    hn_str_addf(&w->out, "\\x{%.4s}", w->p);
    w->p += 4;
}

static void put_escape(writing *w) {
    char c = w->p < w->end ? *w->p : 0;
    w->p += w->p < w->end;
    switch (c) {
    case 's': put_class(w, SPACE, false); break;
    case 'S':
        if (w->in_class)
            hn_str_add(&w->out, "\\S");
        else
            put_class(w, SPACE, true);
        break;
    case 'w': put_class(w, w->in_class ? WORD : WORD_ALONE, false); break;
    case 'W': put_class(w, WORD_ALONE, true); break;
    case 'h': put_class(w, "0-9a-fA-F", false); break;
    case 'H': put_class(w, "0-9a-fA-F", true); break;
    case 'u': put_code(w); break;
    case 0: w->fault = "a backslash at the end"; break;
    case 'g':
    case 'k':
    case 'R':
    case 'X':
    case 'Q': w->fault = "an escape that is not read"; break;
    default: hn_str_addf(&w->out, "\\%c", c);
    }
}

static void put_in_class(writing *w, char c) {
    if (next_is(w, "&&"))
        w->fault = "an intersection of classes";
    else if (c == '[' && !next_is(w, "[:"))
        w->fault = "a class within a class";
    else if (c == '[') {
        const char *close = memmem(w->p, (size_t)(w->end - w->p), ":]", 2);
        if (!close) {
            w->fault = "a class that does not end";
            return;
        }
        hn_str_add_n(&w->out, w->p, (size_t)(close + 2 - w->p));
        w->p = close + 2;
        return;
    } else if (c == ']')
        w->in_class = false;
    hn_str_add_n(&w->out, w->p++, 1);
}

static void open_class(writing *w) {
    w->in_class = true;
    hn_str_add_n(&w->out, w->p++, 1);
    if (next_is(w, "^")) hn_str_add_n(&w->out, w->p++, 1);
    if (next_is(w, "]")) {
        hn_str_add(&w->out, "\\]");
        w->p++;
    }
}

/* In Oniguruma a{1,3}+ repeats the repetition; (?m) lets the dot match line ends. */
static bool differs(const writing *w) {
    if (next_is(w, "(?m")) return true;
    const char *close = next_is(w, "{") ? memchr(w->p, '}', (size_t)(w->end - w->p)) : NULL;
    return close && close + 1 < w->end && close[1] == '+' && w->p + 1 < w->end && w->p[1] >= '0' && w->p[1] <= '9';
}

static const char *rewrite(hn_span text, hn_str *out) {
    writing w = {text.text, text.text + text.n, false, {0}, NULL};
    while (w.p < w.end && !w.fault) {
        char c = *w.p;
        if (c == '\\') {
            w.p++;
            put_escape(&w);
        } else if (w.in_class)
            put_in_class(&w, c);
        else if (c == '[')
            open_class(&w);
        else if (differs(&w))
            w.fault = "what means something else in another syntax";
        else
            hn_str_add_n(&w.out, w.p++, 1);
    }
    *out = w.out;
    return w.fault;
}

hone_rc hn_pattern_make(hn_span text, bool literal, hn_pattern **out, hone_err *err) {
    hn_str s = {0};
    int code = 0, shown = (int)(text.n < 80 ? text.n : 80);
    PCRE2_SIZE at = 0;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE);
    if (!text.n || text.n > PATTERN_B)
        return hn_fail(err, HONE_E_UNSUPPORTED, "a pattern of %zu bytes; 1 to %d are read", text.n, PATTERN_B);
    const char *fault = literal ? NULL : rewrite(text, &s);
    if (fault) {
        hn_str_free(&s);
        return hn_fail(err, HONE_E_UNSUPPORTED, "pattern '%.*s' has %s, which is not read", shown, text.text, fault);
    }
    hn_pattern *p = calloc(1, sizeof *p);
    if (!p || s.failed) {
        hn_str_free(&s);
        free(p);
        return hn_fail(err, HONE_E_NOMEM, "out of memory reading a pattern");
    }
    p->code = literal ? pcre2_compile((PCRE2_SPTR)text.text, text.n, options, &code, &at, NULL)
                      : pcre2_compile((PCRE2_SPTR)s.text, s.n, options, &code, &at, NULL);
    hn_str_free(&s);
    if (!p->code) {
        free(p);
        return hn_fail(err, HONE_E_UNSUPPORTED, "pattern '%.*s' is not understood (PCRE2 error %d at %zu)", shown,
                       text.text, code, (size_t)at);
    }
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* where it cannot, matching is interpreted */
    *out = p;
    return HONE_OK;
}

void hn_pattern_free(hn_pattern *p) {
    if (p) pcre2_code_free(p->code);
    free(p);
}

/* --- matching --------------------------------------------------------------------------------------------------------
 */

hn_matcher *hn_matcher_new(void) {
    hn_matcher *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->data = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    m->stack = pcre2_jit_stack_create(32768, JIT_STACK_B, NULL);
    if (!m->data || !m->context || !m->stack) {
        hn_matcher_free(m);
        return NULL;
    }
    pcre2_set_match_limit(m->context, match_limit);
    pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return m;
}

void hn_matcher_free(hn_matcher *m) {
    if (!m) return;
    pcre2_jit_stack_free(m->stack);
    pcre2_match_context_free(m->context);
    pcre2_match_data_free(m->data);
    free(m);
}

hone_rc hn_pattern_find(const hn_pattern *p, hn_matcher *m, const char *text, size_t n, size_t at, size_t *begin,
                        size_t *end, hone_err *err) {
    *begin = *end = n;
    if (at >= n) return HONE_OK;
    int got = pcre2_match(p->code, (PCRE2_SPTR)text, n, at, PCRE2_NOTEMPTY, m->data, m->context);
    if (got == PCRE2_ERROR_NOMATCH) return HONE_OK;
    if (got < 0)
        return hn_fail(err, HONE_E_LIMIT,
                       "splitting a text of %zu bytes takes too long at byte %zu (PCRE2 error %d); split it yourself",
                       n, at, got);
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(m->data);
    *begin = span[0];
    *end = span[1];
    if (*end <= *begin) *begin = *end = n; /* \K can turn a match round */
    return HONE_OK;
}
