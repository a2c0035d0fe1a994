/* backend/spelling.c — the table of spellings, and operands put into one. */
#include "backend/spelling.h"

#include <stdio.h>
#include <stdlib.h>

const hn_spelling hn_spellings[HN_N_OPS] = {
#define BASE HN_MATH_BASE
#define ROOT HN_MATH_ROOT
#define EXP HN_MATH_EXP
#define LOG HN_MATH_LOG
#define SIN HN_MATH_SIN
#define ERF HN_MATH_ERF
#define POW HN_MATH_POW
#define HN_SPELL(id, ...) [HN_OP_##id] = {__VA_ARGS__},
#include "backend/spelling.def"
};

void hn_spell(hn_str *out, const char *form, const char *cast_double, const char *const operand[]) {
    for (; *form; form++) {
        if (*form != '$' && *form != '#') {
            hn_str_add_n(out, form, 1);
            continue;
        }
        if (*form == '#') hn_str_add(out, cast_double);
        hn_str_add(out, operand[*++form - '0']);
    }
}

char hn_buf_letter(hn_space s) {
    return s == HN_PARAM    ? 'p'
           : s == HN_RESULT ? 'r'
           : s == HN_WORDS  ? 'w'
           : s == HN_SHARED ? 's'
           : s == HN_GATE   ? 'g'
                            : 't';
}
const char *hn_buf_pointee(const hn_nbuf *b) { return b->space == HN_WORDS ? "word" : hn_dtype_of(b->dtype)->text; }

void hn_spell_line(hn_str *out, int indent, const char *fmt, va_list ap) {
    char buf[512], *text = buf;
    va_list again;
    va_copy(again, ap);
    for (int k = 0; k < indent; k++) hn_str_add(out, "    ");
    int n = vsnprintf(buf, sizeof buf, fmt, ap);
    if (n >= (int)sizeof buf) {
        text = malloc((size_t)n + 1);
        if (text) vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    if (!text || n < 0) {
        out->failed = true;
        return;
    }
    hn_str_add(out, text);
    hn_str_add(out, "\n");
    if (text != buf) free(text);
}
