/* explain/said.c — facts and sentences of an explanation. */
#include "explain/said.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_explain_fact(hn_explaining *x, const char *function, const char *what, double baseline, double tuned) {
    hone_explanation *out = x->out;
    if (out->n_facts == x->room_facts) {
        size_t room = x->room_facts ? 2 * x->room_facts : 128;
        hone_code_fact *more = HN_NEW_N(x->a, hone_code_fact, room);
        if (!more) return;
        if (out->n_facts) memcpy(more, out->fact, out->n_facts * sizeof *more);
        out->fact = more;
        x->room_facts = room;
    }
    out->fact[out->n_facts++] = (hone_code_fact){function, what, baseline, tuned};
}

void hn_explain_sentence(hn_explaining *x, hn_str *s) {
    char *text = hn_str_take(s);
    const char *kept = text ? hn_strdup(x->a, text) : NULL;
    free(text);
    *s = (hn_str){0};
    if (kept)
        x->out->sentence[x->out->n_sentences++] = kept;
    else
        x->a->failed = true;
}

void hn_explain_clause(hn_str *s, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (s->n && s->text[s->n - 1] != ' ') hn_str_add(s, "; ");
    hn_str_add(s, text);
}
