/* base/str.h — a growing string, and small helpers on strings.
 *
 * hn_str: zero-initialise, append, then take the text (malloc'ed) or free it. Failure is sticky (`failed`).
 */
#ifndef HN_STR_H
#define HN_STR_H

#include <hone/base.h>

typedef struct hn_str {
    char *text; /* NUL-terminated once anything was appended; may be NULL before */
    size_t n, room;
    bool failed;
} hn_str;

void hn_str_add(hn_str *s, const char *text);
void hn_str_add_n(hn_str *s, const char *text, size_t n);
void hn_str_addf(hn_str *s, const char *fmt, ...) HONE_PRINTF(2, 3);
/* One word for sh: quoted when it needs to be. */
void hn_str_add_shell(hn_str *s, const char *word);
/* One word of a response file, as libiberty's buildargv and LLVM's GNU tokeniser both read it: white space ends a word,
 * a backslash takes the next character as it is. */
void hn_str_add_rsp(hn_str *s, const char *word);
/* A string literal of C, whatever the text is (NULL: ""). */
void hn_str_add_c(hn_str *s, const char *text);
/* The text, owned by the caller (free / hone_free); "" when nothing was added; NULL when an append failed. */
char *hn_str_take(hn_str *s);
void hn_str_free(hn_str *s);

/* Shortest decimal text that reads back as the same double; "inf", "-inf", "nan" as such. Returns buf. */
char *hn_double_text(double x, char buf[32]);

/* The nearest of n names by edit distance (Damerau-Levenshtein, optimal string alignment) if it is near enough for a
 * likely typing error, else NULL. */
const char *hn_nearest(const char *name, const char *const *names, size_t n);

bool hn_starts_with(const char *s, const char *prefix);

#endif
