/* text/grammar_json.h — what a JSON schema's parts become, for the files that translate one. */
#ifndef HN_GRAMMAR_JSON_H
#define HN_GRAMMAR_JSON_H

#include "base/str.h"
#include "text/grammar_int.h"

#include <jansson.h>

typedef struct hn_schema {
    hn_productions *rules;
    json_t *root;
    hn_str at; /* the place in the schema: "#/properties/x" */
    unsigned depth;
    hone_err *err;
    hone_rc rc; /* sticky */
} hn_schema;

/* All give NULL after a failure, which is in s->rc. */
HONE_PRINTF(3, 4) hn_phrase *hn_schema_wrong(hn_schema *s, hone_rc rc, const char *fmt, ...);
/* f, or the failure that memory lacks. */
hn_phrase *hn_schema_made(hn_schema *s, hn_phrase *f);

/* grammar_value.c: rules that every schema may use, made when they are first called. */
hn_phrase *hn_json_blank(hn_schema *s);     /* where JSON has white space: none, a space, or a line's end and some */
hn_phrase *hn_json_value(hn_schema *s);     /* any value */
hn_phrase *hn_json_object(hn_schema *s);    /* any object */
hn_phrase *hn_json_list(hn_schema *s);      /* any array */
hn_phrase *hn_json_character(hn_schema *s); /* one of a string, escaped or not */
hn_phrase *hn_json_key(hn_schema *s);       /* of a name: not escaped */
hn_phrase *hn_json_string(hn_schema *s);
hn_phrase *hn_json_literal(hn_schema *s, const json_t *value);
hn_phrase *hn_json_quoted(hn_schema *s, const char *text); /* a string with this content */

/* grammar_number.c: numbers within bounds. */
typedef struct hn_number_bound {
    double value;
    int64_t integer;         /* where it is one, exactly */
    bool given, open, whole; /* open: the bound itself is not meant */
} hn_number_bound;
hn_phrase *hn_json_integer(hn_schema *s, hn_number_bound low, hn_number_bound high);
hn_phrase *hn_json_number(hn_schema *s, hn_number_bound low, hn_number_bound high);

/* grammar_pattern.c: a string that a regular expression (ECMA-262) finds something in. */
hn_phrase *hn_json_pattern(hn_schema *s, const char *pattern);

/* Short ways to write phrases. */
hn_phrase *hn_json_text(hn_schema *s, const char *text);
hn_phrase *hn_json_digits(hn_schema *s, uint32_t low, uint32_t high, uint32_t least, uint32_t most);
hn_phrase *hn_json_all(hn_schema *s, size_t n, hn_phrase *const *part);
hn_phrase *hn_json_any(hn_schema *s, size_t n, hn_phrase *const *part);
hn_phrase *hn_json_repeat(hn_schema *s, hn_phrase *f, uint32_t least, uint32_t most);
#define HN_ALL(s, ...)                                                                                                 \
    hn_json_all(s, sizeof((hn_phrase *[]){__VA_ARGS__}) / sizeof(hn_phrase *), (hn_phrase *[]){__VA_ARGS__})
#define HN_ANY(s, ...)                                                                                                 \
    hn_json_any(s, sizeof((hn_phrase *[]){__VA_ARGS__}) / sizeof(hn_phrase *), (hn_phrase *[]){__VA_ARGS__})

/* grammar_format.c: a format of strings as a phrase of GBNF; "": any text; NULL: it is not known. Their names, NULL
 * past the last. */
const char *hn_json_format(const char *name);
const char *hn_json_format_at(size_t i);

#endif
