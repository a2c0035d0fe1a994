/* ir/scan.h — words, numbers and constants of the text forms of graphs and programs.
 *
 * A scanner stands somewhere in a NUL-terminated text. Every take_… skips blanks, comments (# to the end of the line)
 * and returns false after the first failure, which is kept with its line and column.
 * Owns: nothing; texts go into `arena`.
 */
#ifndef HN_SCAN_H
#define HN_SCAN_H

#include "ir/graph.h"

typedef struct hn_scan {
    const char *text, *at, *end, *path;
    hn_arena *arena;  /* holds what is read */
    hn_dims *dims;    /* whose symbols are known */
    const char *side; /* the mapped side file, NULL: none */
    uint64_t side_b;
    hone_err *err;
    bool failed;
} hn_scan;

/* E_INPUT at a place of the text: path:line:column: … Returns false. The first failure stays. */
bool hn_scan_fail(hn_scan *s, const char *at, const char *fmt, ...) HONE_PRINTF(3, 4);
void hn_scan_blanks(hn_scan *s);
bool hn_scan_is(hn_scan *s, char c);                   /* is it the next character? */
bool hn_scan_char(hn_scan *s, char c);                 /* takes it if it is next */
bool hn_scan_need(hn_scan *s, char c);                 /* fails if it is not */
bool hn_scan_word(hn_scan *s, const char *word);       /* takes it if it is the next whole word */
bool hn_scan_name(hn_scan *s, char *buf, size_t room); /* [A-Za-z_][A-Za-z0-9_]* */
bool hn_scan_quoted(hn_scan *s, const char **out);     /* in the arena */
bool hn_scan_int(hn_scan *s, int64_t *out);
bool hn_scan_dim(hn_scan *s, hn_dim *out); /* all symbols must be declared */
bool hn_scan_dtype(hn_scan *s, hone_dtype *out);
bool hn_scan_type(hn_scan *s, hn_type *out);
bool hn_scan_tensor(hn_scan *s, hn_tensor *out);
bool hn_scan_float(hn_scan *s, double *out);

#endif
