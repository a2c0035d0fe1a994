/* grammar_value.c — JSON as phrases (RFC 8259): values of every kind, and literals.
 *
 * Numbers have at most 16 digits in front of the point, 16 behind and an exponent of two digits; blanks are few: what a
 * model could write for ever has an end. */
#include "base/err.h"
#include "base/utf8.h"
#include "text/grammar_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hn_phrase *hn_schema_made(hn_schema *s, hn_phrase *f) {
    if (!f && !s->rc) s->rc = hn_fail(s->err, HONE_E_NOMEM, "out of memory reading '%s'", s->rules->file);
    return s->rc ? NULL : f;
}

/* --- short ways -------------------------------------------------------------------------------------------------- */

hn_phrase *hn_json_text(hn_schema *s, const char *text) {
    return hn_schema_made(s, hn_phrase_text(s->rules, text, strlen(text)));
}

hn_phrase *hn_json_all(hn_schema *s, size_t n, hn_phrase *const *part) {
    return s->rc ? NULL : hn_schema_made(s, hn_phrase_list(s->rules, HN_PHRASE_ALL, part, n));
}

hn_phrase *hn_json_any(hn_schema *s, size_t n, hn_phrase *const *part) {
    return s->rc ? NULL : hn_schema_made(s, hn_phrase_list(s->rules, HN_PHRASE_ANY, part, n));
}

hn_phrase *hn_json_repeat(hn_schema *s, hn_phrase *f, uint32_t least, uint32_t most) {
    return s->rc ? NULL : hn_schema_made(s, hn_phrase_repeat(s->rules, f, least, most));
}

static hn_phrase *chars(hn_schema *s, const hn_chars *c, size_t n) {
    return hn_schema_made(s, hn_phrase_class(s->rules, c, n));
}

hn_phrase *hn_json_digits(hn_schema *s, uint32_t low, uint32_t high, uint32_t least, uint32_t most) {
    hn_chars c = {'0' + low, '0' + high};
    hn_phrase *f = chars(s, &c, 1);
    return least == 1 && most == 1 ? f : hn_json_repeat(s, f, least, most);
}

/* The rule of this name, and whether it is new: then the caller fills it in. */
static hn_production *rule(hn_schema *s, const char *name, hn_phrase **call, size_t *index) {
    size_t i = hn_productions_find(s->rules, name, strlen(name));
    *call = hn_schema_made(s, hn_phrase_call(s->rules, i));
    if (!*call) return NULL;
    *index = i;
    return s->rules->rule[i].form ? NULL : &s->rules->rule[i];
}

/* --- values ------------------------------------------------------------------------------------------------------ */

typedef hn_phrase *made_by(hn_schema *s);

static hn_phrase *named(hn_schema *s, const char *name, made_by *make) {
    hn_phrase *call = NULL;
    size_t i = 0;
    if (s->rc || !rule(s, name, &call, &i)) return call;
    s->rules->rule[i].form = call; /* so that a rule which calls itself is made once */
    hn_phrase *f = make(s);
    s->rules->rule[i].form = f; /* the table may have moved meanwhile */
    return s->rc ? NULL : call;
}

static hn_phrase *make_blank(hn_schema *s) {
    static const hn_chars space[] = {{' ', ' '}, {'\t', '\t'}};
    return HN_ANY(s, hn_json_text(s, ""), hn_json_text(s, " "),
                  HN_ALL(s, hn_json_text(s, "\n"), hn_json_repeat(s, chars(s, space, 2), 0, 20)));
}
hn_phrase *hn_json_blank(hn_schema *s) { return named(s, "(blank)", make_blank); }

/* Escapes of surrogates would have to come in pairs: left out, a character beyond U+FFFF is written as it is. */
static hn_phrase *make_character(hn_schema *s) {
    static const hn_chars no[] = {{0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
    static const hn_chars letter[] = {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'},
                                      {'f', 'f'}, {'n', 'n'},   {'r', 'r'}, {'t', 't'}};
    static const hn_chars hex[] = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}}, low[] = {{'0', '7'}};
    static const hn_chars but_d[] = {{'0', '9'}, {'a', 'c'}, {'e', 'f'}, {'A', 'C'}, {'E', 'F'}};
    static const hn_chars d[] = {{'d', 'd'}, {'D', 'D'}};
    hn_phrase *digit = chars(s, hex, 3);
    hn_phrase *code = HN_ANY(s, HN_ALL(s, chars(s, but_d, 5), digit), HN_ALL(s, chars(s, d, 2), chars(s, low, 1)));
    hn_phrase *escape = HN_ANY(s, chars(s, letter, 8), HN_ALL(s, hn_json_text(s, "u"), code, digit, digit));
    return HN_ANY(s, hn_schema_made(s, hn_phrase_class_not(s->rules, no, 3)), HN_ALL(s, hn_json_text(s, "\\"), escape));
}
hn_phrase *hn_json_character(hn_schema *s) { return named(s, "(character)", make_character); }

static hn_phrase *make_string(hn_schema *s) {
    return HN_ALL(s, hn_json_text(s, "\""), hn_json_repeat(s, hn_json_character(s), 0, HN_PHRASE_FOREVER),
                  hn_json_text(s, "\""));
}
hn_phrase *hn_json_string(hn_schema *s) { return named(s, "(string)", make_string); }

static hn_phrase *make_key(hn_schema *s) {
    static const hn_chars no[] = {{0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
    return hn_schema_made(s, hn_phrase_class_not(s->rules, no, 3));
}
hn_phrase *hn_json_key(hn_schema *s) { return named(s, "(key)", make_key); }

static hn_phrase *listed(hn_schema *s, const char *open, hn_phrase *item, const char *close) {
    hn_phrase *blank = hn_json_blank(s);
    hn_phrase *more = HN_ALL(s, hn_json_text(s, ","), blank, item);
    hn_phrase *items = HN_ALL(s, item, hn_json_repeat(s, more, 0, HN_PHRASE_FOREVER), blank);
    return HN_ALL(s, hn_json_text(s, open), blank, hn_json_repeat(s, items, 0, 1), hn_json_text(s, close));
}

static hn_phrase *make_object(hn_schema *s) {
    hn_phrase *pair = HN_ALL(s, hn_json_string(s), hn_json_text(s, ":"), hn_json_blank(s), hn_json_value(s));
    return listed(s, "{", pair, "}");
}
hn_phrase *hn_json_object(hn_schema *s) { return named(s, "(object)", make_object); }

static hn_phrase *make_list(hn_schema *s) { return listed(s, "[", hn_json_value(s), "]"); }
hn_phrase *hn_json_list(hn_schema *s) { return named(s, "(array)", make_list); }

static hn_phrase *make_value(hn_schema *s) {
    hn_number_bound none = {0};
    return HN_ANY(s, hn_json_object(s), hn_json_list(s), hn_json_string(s), hn_json_number(s, none, none),
                  hn_json_text(s, "true"), hn_json_text(s, "false"), hn_json_text(s, "null"));
}
hn_phrase *hn_json_value(hn_schema *s) { return named(s, "(value)", make_value); }

/* --- literals ---------------------------------------------------------------------------------------------------- */

static hn_phrase *take(hn_schema *s, char *text) {
    hn_phrase *f = text ? hn_json_text(s, text) : hn_schema_made(s, NULL);
    free(text);
    return f;
}

hn_phrase *hn_json_literal(hn_schema *s, const json_t *value) {
    char number[32];
    if (s->rc) return NULL;
    if (json_is_real(value)) return hn_json_text(s, hn_double_text(json_real_value(value), number));
    return take(s, json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT));
}

hn_phrase *hn_json_quoted(hn_schema *s, const char *text) {
    json_t *value = json_string(text);
    hn_phrase *f = value ? hn_json_literal(s, value) : hn_schema_made(s, NULL);
    json_decref(value);
    return f;
}
