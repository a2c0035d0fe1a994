/* target/help_int.h — text cutting shared by the two help parsers. */
#ifndef HN_HELP_INT_H
#define HN_HELP_INT_H

#include "target/help.h"

typedef struct hn_help_span {
    const char *at;
    size_t n;
} hn_help_span;
typedef struct hn_help_text {
    const char *at, *end;
} hn_help_text;

bool hn_help_line(hn_help_text *t, hn_help_span *out); /* the next line without its end; false at the end */
size_t hn_span_indent(hn_help_span s);
hn_help_span hn_span_trim(hn_help_span s);
hn_help_span hn_span_word(hn_help_span *s); /* takes the first word off; the remainder is trimmed */
bool hn_span_is(hn_help_span s, const char *text);
bool hn_span_starts(hn_help_span s, const char *text);
size_t hn_span_find(hn_help_span s, const char *text); /* SIZE_MAX = not in it */
bool hn_span_name(hn_help_span s);                     /* fit to be a parameter's name or value */
char *hn_span_copy(hn_arena *a, hn_help_span s);
double hn_span_number(hn_help_span s); /* NAN when it is none */

/* A new row, NULL when memory or the limit ran out. */
hn_help_row *hn_help_add(hn_arena *a, hn_help *help, hn_help_span name);
/* Sets the row's enumeration from a separated list; items that are no names are left out. */
void hn_help_values(hn_arena *a, hn_help_row *r, hn_help_span list, char separator);

#endif
