/* grammar_schema.c — a JSON schema (2020-12, and what older drafts wrote otherwise) as rules.
 *
 * Every text of the grammar is valid by the schema; not every valid text is one of the grammar: properties come in the
 * schema's order, others only where additionalProperties says so, items only where items or prefixItems do. A keyword
 * that would have to be left out is refused. */
#include "base/err.h"
#include "text/grammar_json.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NIL = 1, BOOL = 2, WHOLE = 4, BROKEN = 8, STRING = 16, OBJECT = 32, ARRAY = 64, ALL = 127 };
enum { MOST_B = 4 << 20, SAYS = 128, COMBINES = 256 };

static const struct {
    const char *name;
    int type;
} type_names[] = {{"null", NIL},      {"boolean", BOOL},  {"integer", WHOLE}, {"number", WHOLE | BROKEN},
                  {"string", STRING}, {"object", OBJECT}, {"array", ARRAY}};

/* SAYS: describes, and forbids nothing. COMBINES: stands for other schemas. */
static const struct {
    const char *name;
    int of;
} keywords[] = {{"$schema", SAYS},
                {"$id", SAYS},
                {"$comment", SAYS},
                {"$defs", SAYS},
                {"definitions", SAYS},
                {"title", SAYS},
                {"description", SAYS},
                {"default", SAYS},
                {"examples", SAYS},
                {"example", SAYS},
                {"deprecated", SAYS},
                {"readOnly", SAYS},
                {"writeOnly", SAYS},
                {"nullable", SAYS}, /* OpenAPI's; type looks at it */
                {"discriminator", SAYS},
                {"externalDocs", SAYS},
                {"contentEncoding", SAYS},
                {"contentMediaType", SAYS},
                {"type", ALL},
                {"enum", COMBINES},
                {"const", COMBINES},
                {"$ref", COMBINES},
                {"anyOf", COMBINES},
                {"oneOf", COMBINES},
                {"allOf", COMBINES},
                {"properties", OBJECT},
                {"required", OBJECT},
                {"additionalProperties", OBJECT},
                {"items", ARRAY},
                {"prefixItems", ARRAY},
                {"additionalItems", ARRAY},
                {"minItems", ARRAY},
                {"maxItems", ARRAY},
                {"minLength", STRING},
                {"maxLength", STRING},
                {"pattern", STRING},
                {"format", STRING},
                {"minimum", WHOLE | BROKEN},
                {"maximum", WHOLE | BROKEN},
                {"exclusiveMinimum", WHOLE | BROKEN},
                {"exclusiveMaximum", WHOLE | BROKEN}};

static hn_phrase *schema(hn_schema *s, json_t *v);

hn_phrase *hn_schema_wrong(hn_schema *s, hone_rc rc, const char *fmt, ...) {
    char text[400];
    va_list ap;
    if (s->rc) return NULL;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    s->rc = hn_fail(s->err, rc, "%s: %s: %s", s->rules->file, s->at.text ? s->at.text : "#", text);
    return NULL;
}

/* --- places in the schema ---------------------------------------------------------------------------------------- */

static size_t enter(hn_schema *s, const char *key) {
    size_t n = s->at.n;
    hn_str_add(&s->at, "/");
    hn_str_add(&s->at, key);
    return n;
}

static void leave(hn_schema *s, size_t n) {
    if (s->at.n > n) s->at.text[s->at.n = n] = 0;
}

static hn_phrase *schema_at(hn_schema *s, const char *key, json_t *v) {
    size_t n = enter(s, key);
    hn_phrase *f = schema(s, v);
    leave(s, n);
    return f;
}

/* A rule of its own for a phrase that stands in several places. */
static hn_phrase *as_rule(hn_schema *s, hn_phrase *f) {
    char name[40];
    if (!f || f->kind == HN_PHRASE_CALL || s->rc) return f;
    snprintf(name, sizeof name, "(part %zu)", s->rules->n);
    size_t i = hn_productions_find(s->rules, name, strlen(name));
    hn_phrase *call = hn_schema_made(s, hn_phrase_call(s->rules, i));
    if (call) s->rules->rule[i].form = f;
    return call;
}

/* --- references -------------------------------------------------------------------------------------------------- */

/* "a~1b" up to the next '/', as a key. */
static const char *pointer_key(const char *p, hn_str *out) {
    for (; *p && *p != '/'; p++) {
        if (*p == '~' && (p[1] == '0' || p[1] == '1'))
            hn_str_add(out, *++p == '0' ? "~" : "/");
        else
            hn_str_add_n(out, p, 1);
    }
    return p;
}

static json_t *target(hn_schema *s, const char *ref) {
    json_t *v = s->root;
    const char *p = ref + 1;
    while (v && *p == '/') {
        hn_str key = {0};
        p = pointer_key(p + 1, &key);
        const char *name = key.text ? key.text : "";
        v = json_is_array(v) && isdigit((unsigned char)*name) ? json_array_get(v, strtoul(name, NULL, 10))
                                                              : json_object_get(v, name);
        hn_str_free(&key);
    }
    return *p ? NULL : v;
}

static json_t *target_of(hn_schema *s, json_t *ref) {
    const char *name = json_string_value(ref);
    json_t *v = name && *name == '#' ? target(s, name) : NULL;
    if (!name)
        hn_schema_wrong(s, HONE_E_INPUT, "$ref is no text");
    else if (*name != '#')
        hn_schema_wrong(s, HONE_E_UNSUPPORTED, "$ref '%s' leads out of this document; put what it names under $defs",
                        name);
    else if (!v)
        hn_schema_wrong(s, HONE_E_INPUT, "$ref '%s' leads to nothing", name);
    return v;
}

static hn_phrase *reference(hn_schema *s, json_t *ref) {
    json_t *v = target_of(s, ref);
    const char *name = json_string_value(ref);
    if (!v) return NULL;
    if (v == s->root) name = "root";
    size_t i = hn_productions_find(s->rules, name, strlen(name));
    hn_phrase *call = hn_schema_made(s, hn_phrase_call(s->rules, i));
    if (!call || s->rules->rule[i].form) return call;
    s->rules->rule[i].form = call; /* it is being made */
    hn_str at = s->at;
    s->at = (hn_str){0};
    hn_str_add(&s->at, name);
    hn_phrase *f = schema(s, v);
    hn_str_free(&s->at);
    s->at = at;
    s->rules->rule[i].form = f;
    return s->rc ? NULL : call;
}

/* --- strings ----------------------------------------------------------------------------------------------------- */

static hn_phrase *format(hn_schema *s, const char *name) {
    const char *gbnf = hn_json_format(name);
    if (!gbnf) {
        hn_str known = {0};
        for (size_t i = 0; hn_json_format_at(i); i++) hn_str_addf(&known, "%s%s", i ? ", " : "", hn_json_format_at(i));
        hn_schema_wrong(s, HONE_E_UNSUPPORTED, "format '%s' is not translated; known are %s", name,
                        known.text ? known.text : "");
        hn_str_free(&known);
        return NULL;
    }
    if (!*gbnf) return hn_json_string(s);
    hn_phrase *f = hn_schema_made(s, hn_gbnf_phrase(s->rules, gbnf, s->err));
    return HN_ALL(s, hn_json_text(s, "\""), f, hn_json_text(s, "\""));
}

/* A count of at most HN_PHRASE_MANY. */
static uint32_t count(hn_schema *s, json_t *v, const char *key, uint32_t none) {
    json_t *x = json_object_get(v, key);
    double n = json_number_value(x);
    if (!x) return none;
    if (!json_is_number(x) || n < 0 || n != floor(n))
        return hn_schema_wrong(s, HONE_E_INPUT, "%s is no whole number of at least 0", key), none;
    if (n > HN_PHRASE_MANY)
        return hn_schema_wrong(s, HONE_E_LIMIT, "%s is above %d; leave it out", key, HN_PHRASE_MANY), none;
    return (uint32_t)n;
}

static void counts(hn_schema *s, json_t *v, const char *least_key, const char *most_key, uint32_t *least,
                   uint32_t *most) {
    *least = count(s, v, least_key, 0);
    *most = count(s, v, most_key, HN_PHRASE_FOREVER);
    if (!s->rc && *most < *least) hn_schema_wrong(s, HONE_E_INPUT, "%s is above %s", least_key, most_key);
}

static hn_phrase *string(hn_schema *s, json_t *v) {
    json_t *pattern = json_object_get(v, "pattern"), *form = json_object_get(v, "format");
    bool sized = json_object_get(v, "minLength") || json_object_get(v, "maxLength");
    uint32_t least, most;
    counts(s, v, "minLength", "maxLength", &least, &most);
    if (s->rc) return NULL;
    if ((pattern != NULL) + (form != NULL) + sized > 1)
        return hn_schema_wrong(s, HONE_E_UNSUPPORTED,
                               "more than one of pattern, format and a length cannot become a grammar; "
                               "write the length into the pattern: ^[a-z]{2,5}$");
    if ((pattern && !json_is_string(pattern)) || (form && !json_is_string(form)))
        return hn_schema_wrong(s, HONE_E_INPUT, "%s is no text", pattern ? "pattern" : "format");
    if (pattern) return hn_json_pattern(s, json_string_value(pattern));
    if (form) return format(s, json_string_value(form));
    if (!sized) return hn_json_string(s);
    return HN_ALL(s, hn_json_text(s, "\""), hn_json_repeat(s, hn_json_character(s), least, most),
                  hn_json_text(s, "\""));
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

static hn_number_bound bound(hn_schema *s, json_t *v, const char *key, bool open) {
    json_t *x = json_object_get(v, key);
    hn_number_bound b = {.given = x != NULL, .open = open};
    if (x && json_is_boolean(x)) /* draft 4: beside minimum, it says whether that is open */
        return hn_schema_wrong(s, HONE_E_UNSUPPORTED, "%s is true or false, as draft 4 had it; give it the number",
                               key),
               b;
    if (x && !json_is_number(x)) return hn_schema_wrong(s, HONE_E_INPUT, "%s is no number", key), b;
    b.value = json_number_value(x);
    b.integer = json_integer_value(x);
    b.whole = json_is_integer(x);
    return b;
}

/* The narrower of two. */
static hn_number_bound tighter(hn_number_bound a, hn_number_bound b, bool low) {
    if (!a.given || !b.given) return a.given ? a : b;
    if (a.value == b.value) return a.open ? a : b;
    return (a.value > b.value) == low ? a : b;
}

static hn_phrase *number(hn_schema *s, json_t *v, bool whole) {
    hn_number_bound low = tighter(bound(s, v, "minimum", false), bound(s, v, "exclusiveMinimum", true), true);
    hn_number_bound high = tighter(bound(s, v, "maximum", false), bound(s, v, "exclusiveMaximum", true), false);
    if (s->rc) return NULL;
    if (low.given && high.given && (low.value > high.value || (low.value == high.value && (low.open || high.open))))
        return hn_schema_wrong(s, HONE_E_INPUT, "no number lies within its bounds");
    return whole ? hn_json_integer(s, low, high) : hn_json_number(s, low, high);
}

/* --- arrays ------------------------------------------------------------------------------------------------------ */

/* Behind k items of `prefix`: the rest of the list. */
static hn_phrase *more_items(hn_schema *s, hn_phrase **prefix, size_t k, size_t n, hn_phrase *item, uint32_t least,
                             uint32_t most) {
    hn_phrase *comma = hn_json_text(s, ","), *blank = hn_json_blank(s), *rest = NULL;
    if (!item)
        rest = hn_json_text(s, "");
    else if (most > n) {
        hn_phrase *one = HN_ALL(s, comma, blank, item);
        rest = hn_json_repeat(s, one, least > n ? least - (uint32_t)n : 0,
                              most == HN_PHRASE_FOREVER ? most : most - (uint32_t)n);
    } else
        rest = hn_json_text(s, "");
    for (size_t i = n; i-- > k;) {
        if (i >= most) continue;
        hn_phrase *one = HN_ALL(s, comma, blank, prefix[i], as_rule(s, rest));
        rest = i < least ? one : hn_json_repeat(s, one, 0, 1);
    }
    return rest;
}

static hn_phrase *list_of(hn_schema *s, hn_phrase **prefix, size_t n, hn_phrase *item, uint32_t least, uint32_t most) {
    hn_phrase *open = HN_ALL(s, hn_json_text(s, "["), hn_json_blank(s)), *close = hn_json_text(s, "]");
    if (!n && item) prefix[n++] = item;
    if (least > n && !item) return hn_schema_wrong(s, HONE_E_INPUT, "minItems is above the items that there are");
    if (!n || !most) return HN_ALL(s, open, close);
    hn_phrase *items = HN_ALL(s, prefix[0], more_items(s, prefix, 1, n, item, least, most), hn_json_blank(s));
    return HN_ALL(s, open, least ? items : hn_json_repeat(s, items, 0, 1), close);
}

static hn_phrase *array(hn_schema *s, json_t *v) {
    json_t *items = json_object_get(v, "items"), *front = json_object_get(v, "prefixItems");
    uint32_t least, most;
    counts(s, v, "minItems", "maxItems", &least, &most);
    if (json_is_array(items)) { /* older drafts */
        front = items;
        items = json_object_get(v, "additionalItems");
    }
    if (front && !json_is_array(front)) return hn_schema_wrong(s, HONE_E_INPUT, "prefixItems is no list of schemas");
    size_t n = json_array_size(front);
    hn_phrase **prefix = HN_NEW_N(&s->rules->arena, hn_phrase *, n + 1), *item = NULL;
    if (!prefix) return hn_schema_made(s, NULL);
    for (size_t i = 0; i < n && !s->rc; i++) {
        char key[40];
        snprintf(key, sizeof key, "prefixItems/%zu", i);
        prefix[i] = as_rule(s, schema_at(s, key, json_array_get(front, i)));
    }
    if (items && !json_is_false(items)) item = as_rule(s, schema_at(s, "items", items));
    if (!items && (!n || least > n)) item = hn_json_value(s);
    return s->rc ? NULL : list_of(s, prefix, n, item, least, most);
}

/* --- objects ----------------------------------------------------------------------------------------------------- */

typedef struct names {
    const char **name;
    size_t n;
} names;

static hn_phrase *key_rest(hn_schema *s) {
    return HN_ALL(s, hn_json_repeat(s, hn_json_key(s), 0, HN_PHRASE_FOREVER), hn_json_text(s, "\""));
}

/* The end of a key that is none of the names, which all share their first bytes; a key has no escapes. */
static hn_phrase *other_key(hn_schema *s, const names *all, size_t at) {
    hn_phrases list = {0};
    hn_chars no[256] = {{0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
    size_t n_no = 3;
    bool ends = false;
    for (size_t i = 0; i < all->n; i++) {
        uint32_t c = (unsigned char)all->name[i][at];
        ends |= !c;
        bool seen = c < 0x20 || c == '"' || c == '\\';
        for (size_t k = 3; k < n_no; k++) seen |= no[k].low == c;
        if (seen) continue;
        no[n_no++] = (hn_chars){c, c};
        names same = {.name = HN_NEW_N(&s->rules->arena, const char *, all->n)};
        if (!same.name) return hn_schema_made(s, NULL);
        for (size_t k = i; k < all->n; k++)
            if ((unsigned char)all->name[k][at] == c) same.name[same.n++] = all->name[k];
        char text[2] = {(char)c, 0};
        hn_phrases_add(s->rules, &list, HN_ALL(s, hn_json_text(s, text), other_key(s, &same, at + 1)));
    }
    if (!ends) hn_phrases_add(s->rules, &list, hn_json_text(s, "\""));
    hn_phrases_add(s->rules, &list, HN_ALL(s, hn_schema_made(s, hn_phrase_class_not(s->rules, no, n_no)), key_rest(s)));
    return hn_json_any(s, list.n, list.form);
}

/* A pair whose name is none of the properties'. */
static hn_phrase *other_pair(hn_schema *s, json_t *properties, hn_phrase *value) {
    const char *name;
    json_t *v;
    names all = {.name = HN_NEW_N(&s->rules->arena, const char *, json_object_size(properties) + 1)};
    if (!all.name) return hn_schema_made(s, NULL);
    json_object_foreach(properties, name, v) {
        size_t n = strlen(name);
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)name[i] >= 0x80 || n > HN_PHRASE_DEPTH)
                return hn_schema_wrong(
                    s, HONE_E_UNSUPPORTED,
                    "additionalProperties beside a name like '%.40s' (of other than ASCII, or of more than %d "
                    "characters) is not translated; set it to false",
                    name, HN_PHRASE_DEPTH);
        all.name[all.n++] = name;
    }
    hn_phrase *key = HN_ALL(s, hn_json_text(s, "\""), as_rule(s, other_key(s, &all, 0)));
    return as_rule(s, HN_ALL(s, key, hn_json_text(s, ":"), hn_json_blank(s), value));
}

static bool is_required(json_t *required, const char *name) {
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *r = json_string_value(json_array_get(required, i));
        if (r && !strcmp(r, name)) return true;
    }
    return false;
}

static hn_phrase *pair(hn_schema *s, const char *name, hn_phrase *value) {
    return as_rule(s, HN_ALL(s, hn_json_quoted(s, name), hn_json_text(s, ":"), hn_json_blank(s), value));
}

typedef struct object_parts {
    hn_phrase **pair;
    bool *required;
    size_t n;
    hn_phrase *other; /* NULL: no others may come */
} object_parts;

/* The first pair is any up to the first that must come; behind each, the later ones with commas. */
static hn_phrase *object_of(hn_schema *s, const object_parts *o) {
    hn_phrase *comma = HN_ALL(s, hn_json_text(s, ","), hn_json_blank(s)), *nothing = hn_json_text(s, ""), *rest;
    hn_phrases first = {0};
    size_t n_first = 0;
    while (n_first < o->n && !o->required[n_first]) n_first++;
    rest = o->other ? hn_json_repeat(s, HN_ALL(s, comma, o->other), 0, HN_PHRASE_FOREVER) : nothing;
    if (n_first == o->n) { /* none must come */
        hn_phrases_add(s->rules, &first, nothing);
        if (o->other) hn_phrases_add(s->rules, &first, HN_ALL(s, o->other, rest));
    }
    for (size_t i = o->n; i-- > 0 && !s->rc;) {
        if (i <= n_first) hn_phrases_add(s->rules, &first, HN_ALL(s, o->pair[i], rest));
        hn_phrase *one = HN_ALL(s, comma, o->pair[i]);
        if (i) rest = as_rule(s, HN_ALL(s, o->required[i] ? one : hn_json_repeat(s, one, 0, 1), as_rule(s, rest)));
    }
    return HN_ALL(s, hn_json_text(s, "{"), hn_json_blank(s), hn_json_any(s, first.n, first.form), hn_json_blank(s),
                  hn_json_text(s, "}"));
}

static hn_phrase *property(hn_schema *s, const char *name, json_t *v) {
    size_t n = enter(s, "properties");
    hn_phrase *f = pair(s, name, as_rule(s, schema_at(s, name, v)));
    leave(s, n);
    return f;
}

/* Names that must come and have no schema take the others'. */
static void required_others(hn_schema *s, json_t *required, json_t *properties, hn_phrase *value, bool none,
                            object_parts *o) {
    for (size_t i = 0; i < json_array_size(required) && !s->rc; i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (!name) {
            hn_schema_wrong(s, HONE_E_INPUT, "required is no list of names");
            return;
        }
        if (json_object_get(properties, name)) continue;
        if (none)
            hn_schema_wrong(s, HONE_E_INPUT,
                            "'%s' is required, but neither among the properties nor allowed beside them", name);
        o->required[o->n] = true;
        o->pair[o->n++] = pair(s, name, value);
    }
}

static hn_phrase *object(hn_schema *s, json_t *v) {
    json_t *properties = json_object_get(v, "properties"), *required = json_object_get(v, "required");
    json_t *others = json_object_get(v, "additionalProperties"), *p;
    const char *name;
    if ((properties && !json_is_object(properties)) || (required && !json_is_array(required)))
        return hn_schema_wrong(s, HONE_E_INPUT, "%s",
                               properties && !json_is_object(properties) ? "properties is no object"
                                                                         : "required is no list");
    if (!properties && !required && (!others || json_is_true(others))) return hn_json_object(s);
    size_t room = json_object_size(properties) + json_array_size(required) + 1;
    object_parts o = {.pair = HN_NEW_N(&s->rules->arena, hn_phrase *, room),
                      .required = HN_NEW_N(&s->rules->arena, bool, room)};
    if (!o.pair || !o.required) return hn_schema_made(s, NULL);
    json_object_foreach(properties, name, p) {
        bool must = is_required(required, name);
        if (json_is_false(p) && !must) continue;
        o.required[o.n] = must;
        o.pair[o.n++] = property(s, name, p);
        if (s->rc) return NULL;
    }
    bool any = !others || json_is_true(others), none = json_is_false(others);
    hn_phrase *value = any ? hn_json_value(s) : none ? NULL : as_rule(s, schema_at(s, "additionalProperties", others));
    json_t *known = properties ? json_copy(properties) : json_object();
    required_others(s, required, properties, value, none, &o);
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *r = json_string_value(json_array_get(required, i));
        if (known && r && !json_object_get(known, r)) json_object_set_new(known, r, json_true());
    }
    if (!s->rc && others && !none) o.other = known ? other_pair(s, known, value) : hn_schema_made(s, NULL);
    hn_phrase *f = s->rc ? NULL : object_of(s, &o);
    json_decref(known);
    return f;
}

/* --- types ------------------------------------------------------------------------------------------------------- */

static int type_of_name(const char *name) {
    for (size_t i = 0; name && i < sizeof type_names / sizeof *type_names; i++)
        if (!strcmp(name, type_names[i].name)) return type_names[i].type;
    return 0;
}

static int type_of_value(const json_t *v) {
    switch (json_typeof(v)) {
    case JSON_NULL: return NIL;
    case JSON_TRUE:
    case JSON_FALSE: return BOOL;
    case JSON_INTEGER: return WHOLE;
    case JSON_REAL: return json_real_value(v) == floor(json_real_value(v)) ? WHOLE : BROKEN;
    case JSON_STRING: return STRING;
    case JSON_OBJECT: return OBJECT;
    default: return ARRAY;
    }
}

static int keyword(const char *name) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strcmp(name, keywords[i].name)) return keywords[i].of;
    return 0;
}

/* The types that "type" names; without it, those that other keywords are about; 0 after a failure. */
static int types(hn_schema *s, json_t *v) {
    json_t *t = json_object_get(v, "type"), *x;
    const char *name;
    int all = 0;
    if (!t) {
        json_object_foreach(v, name, x) {
            int of = keyword(name);
            if (of < SAYS) all |= of;
        }
        return all ? all : ALL;
    }
    size_t n = json_is_array(t) ? json_array_size(t) : 1;
    for (size_t i = 0; i < n; i++) {
        name = json_string_value(json_is_array(t) ? json_array_get(t, i) : t);
        int one = type_of_name(name);
        if (!one) return hn_schema_wrong(s, HONE_E_INPUT, "there is no type '%s'", name ? name : "?"), 0;
        all |= one;
    }
    if (!all) hn_schema_wrong(s, HONE_E_INPUT, "type is an empty list");
    if (all && json_is_true(json_object_get(v, "nullable"))) all |= NIL;
    return all;
}

static hn_phrase *by_type(hn_schema *s, json_t *v) {
    int all = types(s, v);
    hn_phrases list = {0};
    if (!all) return NULL;
    if (all == ALL) return hn_json_value(s);
    if (all & OBJECT) hn_phrases_add(s->rules, &list, object(s, v));
    if (all & ARRAY && !s->rc) hn_phrases_add(s->rules, &list, array(s, v));
    if (all & STRING && !s->rc) hn_phrases_add(s->rules, &list, string(s, v));
    if (all & (WHOLE | BROKEN) && !s->rc) hn_phrases_add(s->rules, &list, number(s, v, !(all & BROKEN)));
    if (all & BOOL) hn_phrases_add(s->rules, &list, HN_ANY(s, hn_json_text(s, "true"), hn_json_text(s, "false")));
    if (all & NIL) hn_phrases_add(s->rules, &list, hn_json_text(s, "null"));
    return list.n == 1 ? list.form[0] : hn_json_any(s, list.n, list.form);
}

/* --- values and choices ------------------------------------------------------------------------------------------ */

static hn_phrase *values(hn_schema *s, json_t *list, json_t *v) {
    hn_phrases out = {0};
    int all = json_object_get(v, "type") ? types(s, v) : ALL;
    if (!json_array_size(list)) return hn_schema_wrong(s, HONE_E_INPUT, "enum is no list of values");
    for (size_t i = 0; i < json_array_size(list) && !s->rc; i++) {
        const json_t *x = json_array_get(list, i);
        if (type_of_value(x) & all) hn_phrases_add(s->rules, &out, hn_json_literal(s, x));
    }
    if (!out.n) return hn_schema_wrong(s, HONE_E_INPUT, "none of the values is of the type");
    return hn_json_any(s, out.n, out.form);
}

static bool same_value(json_t *a, json_t *b) {
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

/* The values that a schema names, as a new list; NULL: it names none. */
static json_t *named_values(json_t *v) {
    json_t *one = json_object_get(v, "const"), *many = json_object_get(v, "enum");
    if (one) return json_pack("[O]", one);
    return json_is_array(many) ? json_incref(many) : NULL;
}

static bool different_values(json_t *a, json_t *b) {
    json_t *x = named_values(a), *y = named_values(b);
    bool apart = x && y && json_array_size(x) * json_array_size(y) < 1000000; /* else it would take long */
    for (size_t i = 0; apart && i < json_array_size(x); i++)
        for (size_t k = 0; apart && k < json_array_size(y); k++)
            apart = !same_value(json_array_get(x, i), json_array_get(y, k));
    json_decref(x);
    json_decref(y);
    return apart;
}

static int types_within(hn_schema *s, json_t *v) {
    json_t *x = named_values(v);
    int all = x ? 0 : json_object_get(v, "type") ? types(s, v) : ALL;
    for (size_t i = 0; i < json_array_size(x); i++) all |= type_of_value(json_array_get(x, i));
    json_decref(x);
    return all;
}

/* Whether no value can be of both: by their types, their values, or a property that both require. */
static bool apart(hn_schema *s, json_t *a, json_t *b) {
    json_t *ref = json_object_get(a, "$ref");
    const char *name;
    json_t *x;
    if (ref && !(a = target_of(s, ref))) return false;
    ref = json_object_get(b, "$ref");
    if (ref && !(b = target_of(s, ref))) return false;
    if (!(types_within(s, a) & types_within(s, b)) || different_values(a, b)) return true;
    if (types_within(s, a) != OBJECT || types_within(s, b) != OBJECT) return false;
    json_object_foreach(json_object_get(a, "properties"), name, x) {
        json_t *y = json_object_get(json_object_get(b, "properties"), name);
        if (y && is_required(json_object_get(a, "required"), name) &&
            is_required(json_object_get(b, "required"), name) && different_values(x, y))
            return true;
    }
    return false;
}

static hn_phrase *choices(hn_schema *s, json_t *v, const char *key) {
    json_t *list = json_object_get(v, key);
    size_t n = json_array_size(list);
    hn_phrases out = {0};
    if (!n) return hn_schema_wrong(s, HONE_E_INPUT, "%s is no list of schemas", key);
    if (n > 1 && !strcmp(key, "allOf"))
        return hn_schema_wrong(s, HONE_E_UNSUPPORTED, "allOf of several schemas is not translated; write them as one");
    bool one = !strcmp(key, "oneOf");
    if (one && n > HN_PHRASE_DEPTH)
        return hn_schema_wrong(s, HONE_E_LIMIT, "oneOf of more than %d schemas; write anyOf", HN_PHRASE_DEPTH);
    for (size_t i = 0; one && i < n && !s->rc; i++)
        for (size_t k = 0; k < i; k++)
            if (!apart(s, json_array_get(list, k), json_array_get(list, i)))
                return hn_schema_wrong(s, HONE_E_UNSUPPORTED,
                                       "a value may be of both schemas %zu and %zu of oneOf, as far as can be "
                                       "seen; write anyOf, or require a property with another const in each",
                                       k, i);
    for (size_t i = 0; i < n && !s->rc; i++) {
        char at[60];
        snprintf(at, sizeof at, "%s/%zu", key, i);
        hn_phrases_add(s->rules, &out, schema_at(s, at, json_array_get(list, i)));
    }
    return hn_json_any(s, out.n, out.form);
}

/* Keywords that stand for a whole schema stand alone, but for what describes; enum and const may have a type. */
static const char *combined(hn_schema *s, json_t *v) {
    const char *name, *found = NULL, *beside = NULL;
    json_t *x;
    json_object_foreach(v, name, x) {
        int of = keyword(name);
        bool harmless = (!strcmp(name, "uniqueItems") && json_is_false(x)) ||
                        (!strcmp(name, "minProperties") && json_is_integer(x) && !json_integer_value(x));
        if (!of && !harmless) {
            hn_schema_wrong(s, HONE_E_UNSUPPORTED, "the keyword '%s' is not translated; leave it out", name);
            return NULL;
        }
        if (of == COMBINES && !found)
            found = name;
        else if (of && of != SAYS)
            beside = name;
    }
    bool values = found && (!strcmp(found, "enum") || !strcmp(found, "const"));
    if (found && beside && !(values && !strcmp(beside, "type")))
        hn_schema_wrong(s, HONE_E_UNSUPPORTED, "'%s' beside '%s' is not translated; write one of them into the other",
                        found, beside);
    return found;
}

static hn_phrase *schema(hn_schema *s, json_t *v) {
    hn_phrase *f = NULL;
    if (s->rc) return NULL;
    if (json_is_true(v)) return hn_json_value(s);
    if (json_is_false(v)) return hn_schema_wrong(s, HONE_E_INPUT, "'false' allows nothing");
    if (!json_is_object(v)) return hn_schema_wrong(s, HONE_E_INPUT, "a schema is an object, or true or false");
    if (++s->depth > HN_PHRASE_DEPTH)
        return hn_schema_wrong(s, HONE_E_LIMIT, "more than %d schemas in each other", HN_PHRASE_DEPTH);
    const char *key = combined(s, v);
    if (s->rc)
        f = NULL;
    else if (!key)
        f = by_type(s, v);
    else if (!strcmp(key, "$ref"))
        f = reference(s, json_object_get(v, key));
    else if (!strcmp(key, "enum"))
        f = values(s, json_object_get(v, key), v);
    else if (!strcmp(key, "const")) {
        json_t *one = json_pack("[O]", json_object_get(v, key));
        f = one ? values(s, one, v) : hn_schema_made(s, NULL);
        json_decref(one);
    } else
        f = choices(s, v, key);
    s->depth--;
    return f;
}

hone_rc hn_grammar_schema(const char *text, size_t n, const char *name, hn_grammar **out, hone_err *err) {
    hn_productions rules = {.file = name};
    json_error_t why = {0};
    if (n > MOST_B)
        return hn_fail(err, HONE_E_LIMIT, "%s: a schema of %zu bytes; at most %d are read", name, n, MOST_B);
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!root) return hn_fail(err, HONE_E_INPUT, "%s:%d:%d: no JSON: %s", name, why.line, why.column, why.text);
    hn_schema s = {.rules = &rules, .root = root, .err = err};
    hn_str_add(&s.at, "#");
    if (hn_productions_find(&rules, "root", 4) == SIZE_MAX) hn_schema_made(&s, NULL);
    hn_phrase *f = schema(&s, root);
    if (!s.rc) rules.rule[0].form = f;
    if (!s.rc && (!f || !hn_arena_ok(&rules.arena) || s.at.failed)) hn_schema_made(&s, NULL);
    if (!s.rc) s.rc = hn_grammar_build(&rules, out, err);
    hn_str_free(&s.at);
    json_decref(root);
    hn_productions_free(&rules);
    return s.rc;
}
