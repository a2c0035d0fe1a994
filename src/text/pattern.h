/* text/pattern.h — regular expressions of tokenizers, written in Oniguruma's syntax, by PCRE2 under limits. */
#ifndef HN_PATTERN_H
#define HN_PATTERN_H

#include "base/str.h"
#include "text/steps.h"

typedef struct hn_pattern hn_pattern;

/* E_UNSUPPORTED: the pattern means something else in PCRE2, or nothing; the message quotes it. */
hone_rc hn_pattern_make(hn_span text, bool literal, hn_pattern **out, hone_err *err);
void hn_pattern_free(hn_pattern *p);
/* The first match at or behind `at` that is not empty; *begin = n: there is none. */
hone_rc hn_pattern_find(const hn_pattern *p, hn_matcher *m, const char *text, size_t n, size_t at, size_t *begin,
                        size_t *end, hone_err *err);

#endif
