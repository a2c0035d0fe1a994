/* split.c — cutting text into pieces by the patterns of patterns.def, with PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/err.h"
#include "base/str.h"
#include "text/tokenizer_int.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 4, JIT_STACK_B = 1 << 20 };
static const uint32_t match_limit = 50000000; /* steps in one match; beyond it a text is refused */

typedef struct pattern {
    const char *name, *stage[STAGES];
} pattern;
static const pattern patterns[] = {
#define HN_PATTERN(NAME, ...) {NAME, {__VA_ARGS__}},
#include "text/patterns.def"
#undef HN_PATTERN
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

struct hn_splitter {
    pcre2_code *stage[STAGES];
    size_t n;
};

const char *hn_tokenizer_pattern(size_t i) { return i < PATTERNS ? patterns[i].name : NULL; }

static const pattern *named(const char *name) {
    for (size_t i = 0; i < PATTERNS; i++)
        if (!strcmp(patterns[i].name, name)) return &patterns[i];
    return NULL;
}

static hone_rc unknown(const char *name, hone_err *err) {
    hn_str known = {0};
    for (size_t i = 0; i < PATTERNS; i++) hn_str_addf(&known, "%s%s", i ? ", " : "", patterns[i].name);
    hone_rc rc = hn_fail(err, HONE_E_UNSUPPORTED, "the tokenizer's pattern '%s' is not known; those known are %s", name,
                         known.text ? known.text : "?");
    hn_str_free(&known);
    return rc;
}

hone_rc hn_splitter_make(const char *name, hn_splitter **out, hone_err *err) {
    const pattern *p = named(name);
    if (!p) return unknown(name, err);
    hn_splitter *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    for (; s->n < STAGES && p->stage[s->n]; s->n++) {
        int code = 0;
        PCRE2_SIZE at = 0;
        uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF;
        s->stage[s->n] = pcre2_compile((PCRE2_SPTR)p->stage[s->n], PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
        if (!s->stage[s->n]) {
            hn_splitter_free(s);
            return hn_fail(err, HONE_E_FAILED, "pattern '%s' is not understood at character %zu (PCRE2 error %d)", name,
                           (size_t)at, code);
        }
        pcre2_jit_compile(s->stage[s->n], PCRE2_JIT_COMPLETE); /* where it cannot, matching is interpreted */
    }
    *out = s;
    return HONE_OK;
}

void hn_splitter_free(hn_splitter *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n; i++) pcre2_code_free(s->stage[i]);
    free(s);
}

/* One call's state. */
typedef struct splitting {
    const hn_splitter *s;
    pcre2_match_data *data;
    pcre2_match_context *context;
    hone_rc (*piece)(void *arg, const char *text, size_t n, hone_err *err);
    void *arg;
    hone_err *err;
} splitting;

static hone_rc stage(splitting *w, size_t k, const char *text, size_t n) {
    hone_rc rc = HONE_OK;
    size_t from = 0, at = 0;
    if (!n) return HONE_OK;
    if (k == w->s->n) return w->piece(w->arg, text, n, w->err);
    while (!rc && at < n) {
        int got = pcre2_match(w->s->stage[k], (PCRE2_SPTR)text, n, at, 0, w->data, w->context);
        if (got == PCRE2_ERROR_NOMATCH) break;
        if (got < 0)
            return hn_fail(
                w->err, HONE_E_LIMIT,
                "splitting a text of %zu bytes takes too long at byte %zu (PCRE2 error %d); split it yourself", n, at,
                got);
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(w->data);
        size_t begin = span[0], end = span[1];
        if (end <= begin) { /* no pattern matches nothing, but a loop must not depend on it */
            at = begin + 1;
            continue;
        }
        rc = stage(w, k + 1, text + from, begin - from);
        if (!rc) rc = stage(w, k + 1, text + begin, end - begin);
        from = at = end;
    }
    return rc ? rc : stage(w, k + 1, text + from, n - from);
}

hone_rc hn_splitter_run(const hn_splitter *s, const char *text, size_t n,
                        hone_rc (*piece)(void *arg, const char *text, size_t n, hone_err *err), void *arg,
                        hone_err *err) {
    splitting w = {s, pcre2_match_data_create(1, NULL), pcre2_match_context_create(NULL), piece, arg, err};
    pcre2_jit_stack *stack = pcre2_jit_stack_create(32768, JIT_STACK_B, NULL);
    hone_rc rc = HONE_OK;
    if (!w.data || !w.context || !stack) rc = hn_fail(err, HONE_E_NOMEM, "out of memory splitting a text");
    if (!rc) {
        pcre2_set_match_limit(w.context, match_limit);
        pcre2_jit_stack_assign(w.context, NULL, stack);
        rc = stage(&w, 0, text, n);
    }
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(w.context);
    pcre2_match_data_free(w.data);
    return rc;
}
