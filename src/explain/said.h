/* explain/said.h — what both comparisons, of functions and of kernels for a GPU, add to an explanation: facts and
 * sentences. Memory is of the arena; running out of it is sticky there.   Threads: one at a time per explanation. */
#ifndef HN_EXPLAIN_SAID_H
#define HN_EXPLAIN_SAID_H

#include "base/arena.h"
#include "base/str.h"

#include <hone/explain.h>

enum { HN_SENTENCES_MOST = 12 }; /* about single functions or kernels */

typedef struct hn_explaining {
    hn_arena *a;
    hone_explanation *out; /* its sentence[] has room for what is added */
    size_t room_facts;
} hn_explaining;

/* function: "" for the whole program. NAN: it is not there on that side. */
void hn_explain_fact(hn_explaining *x, const char *function, const char *what, double baseline, double tuned);
/* Takes what *s holds as a sentence of its own, and leaves *s empty. */
void hn_explain_sentence(hn_explaining *x, hn_str *s);
/* A clause more, behind "; " where one stands already. */
void hn_explain_clause(hn_str *s, const char *fmt, ...) HONE_PRINTF(2, 3);

#endif
