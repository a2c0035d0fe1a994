/* base/yaml.c — libyaml's events built into a tree in one arena. */
#include "base/yaml.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/locale.h"
#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum { MAX_DEPTH = 64, MAX_NODES = 1000000 };

struct hn_yaml {
    hn_arena arena;
    const char *label;
    const hn_ynode *root;
};

typedef struct build {
    yaml_parser_t *parser;
    const char *text; /* n bytes */
    size_t n;
    hn_yaml *doc;
    size_t n_nodes;
    hone_err *err;
} build;

static hone_rc fail_at(const build *b, unsigned long line, unsigned long column, const char *what) {
    return hn_fail(b->err, HONE_E_INPUT, "%s:%lu:%lu: %s", b->doc->label, line, column, what);
}

static hone_rc no_memory(const build *b) {
    return hn_fail(b->err, HONE_E_NOMEM, "out of memory reading '%s'", b->doc->label);
}

/* Bytes that are not valid text: libyaml reports only their offset. Columns count bytes here. */
static hone_rc fail_unreadable(const build *b, size_t offset, const char *what) {
    unsigned long line = 1, column = 1;
    for (size_t i = 0; i < offset && i < b->n; i++) {
        column++;
        if (b->text[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return fail_at(b, line, column, what);
}

static hone_rc next_event(const build *b, yaml_event_t *e) {
    if (yaml_parser_parse(b->parser, e)) return HONE_OK;
    const yaml_parser_t *p = b->parser;
    const char *what = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_MEMORY_ERROR) return no_memory(b);
    if (p->error == YAML_READER_ERROR) return fail_unreadable(b, p->problem_offset, what);
    if (!p->context) return fail_at(b, p->problem_mark.line + 1, p->problem_mark.column + 1, what);
    return hn_fail(b->err, HONE_E_INPUT, "%s:%zu:%zu: %s %s that starts on line %zu", b->doc->label,
                   p->problem_mark.line + 1, p->problem_mark.column + 1, what, p->context, p->context_mark.line + 1);
}

/* Pointers gathered before their number is known. */
typedef struct list {
    const hn_ynode **p;
    size_t n, room;
} list;

static bool push(list *l, const hn_ynode *x) {
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 8;
        const hn_ynode **p = realloc(l->p, room * sizeof *p);
        if (!p) return false;
        l->p = p;
        l->room = room;
    }
    l->p[l->n++] = x;
    return true;
}

static const hn_ynode *const *keep(hn_arena *a, const list *l) {
    const hn_ynode **p = HN_NEW_N(a, const hn_ynode *, l->n);
    if (p && l->n) memcpy(p, l->p, l->n * sizeof *p);
    return p;
}

static hone_rc make_node(build *b, yaml_event_t *e, int depth, const hn_ynode **out);

/* The null of YAML 1.2's core schema. */
static bool is_null_text(const char *s) {
    return !*s || !strcmp(s, "~") || !strcmp(s, "null") || !strcmp(s, "Null") || !strcmp(s, "NULL");
}

static hone_rc fill_scalar(build *b, const yaml_event_t *e, hn_ynode *x) {
    const char *text = (const char *)e->data.scalar.value;
    if (strlen(text) != e->data.scalar.length) return fail_at(b, x->line, x->column, "a NUL byte in a text");
    x->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    x->kind = !x->quoted && is_null_text(text) ? HN_Y_NULL : HN_Y_SCALAR;
    x->text = hn_strdup(&b->doc->arena, text);
    return x->text ? HONE_OK : no_memory(b);
}

static hone_rc add_key(build *b, const hn_ynode *k, list *keys) {
    if (k->kind != HN_Y_SCALAR) return fail_at(b, k->line, k->column, "a key must be a plain text");
    return push(keys, k) ? HONE_OK : no_memory(b);
}

static int by_text_then_place(const void *a, const void *b) {
    const hn_ynode *x = *(const hn_ynode *const *)a, *y = *(const hn_ynode *const *)b;
    int order = strcmp(x->text, y->text);
    if (order) return order;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* Sorts the gathered keys (a map's own copy stays in the order of the text), so that the check of a large map is not
 * quadratic. */
static hone_rc check_duplicates(const build *b, list *keys) {
    if (keys->n > 1) qsort(keys->p, keys->n, sizeof *keys->p, by_text_then_place);
    for (size_t i = 1; i < keys->n; i++)
        if (!strcmp(keys->p[i - 1]->text, keys->p[i]->text))
            return hn_yaml_fail(b->doc, keys->p[i], b->err, "key '%s' is given twice (first on line %u)",
                                keys->p[i]->text, keys->p[i - 1]->line);
    return HONE_OK;
}

static hone_rc fill_collection(build *b, hn_ynode *x, int depth, list *keys, list *items) {
    yaml_event_type_t end = x->kind == HN_Y_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    bool key_next = x->kind == HN_Y_MAP;
    for (;;) {
        yaml_event_t e;
        hone_rc rc = next_event(b, &e);
        if (rc) return rc;
        if (e.type == end) {
            yaml_event_delete(&e);
            break;
        }
        const hn_ynode *child;
        rc = make_node(b, &e, depth + 1, &child);
        if (rc) return rc;
        if (key_next)
            rc = add_key(b, child, keys);
        else if (!push(items, child))
            rc = no_memory(b);
        if (rc) return rc;
        if (x->kind == HN_Y_MAP) key_next = !key_next;
    }
    x->n = items->n;
    x->item = keep(&b->doc->arena, items);
    if (x->kind == HN_Y_MAP) x->key = keep(&b->doc->arena, keys);
    if (!hn_arena_ok(&b->doc->arena)) return no_memory(b);
    return check_duplicates(b, keys);
}

static bool has_extras(const yaml_event_t *e) {
    switch (e->type) {
    case YAML_SCALAR_EVENT: return e->data.scalar.anchor || e->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT: return e->data.sequence_start.anchor || e->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT: return e->data.mapping_start.anchor || e->data.mapping_start.tag;
    default: return true; /* an alias */
    }
}

/* Consumes the event. */
static hone_rc make_node(build *b, yaml_event_t *e, int depth, const hn_ynode **out) {
    unsigned line = (unsigned)e->start_mark.line + 1, column = (unsigned)e->start_mark.column + 1;
    hn_ynode *x = HN_NEW(&b->doc->arena, hn_ynode);
    hone_rc rc = HONE_OK;
    if (!x)
        rc = no_memory(b);
    else if (has_extras(e))
        rc = fail_at(b, line, column, "anchors, aliases and tags are not accepted here; write the value out");
    else if (depth >= MAX_DEPTH)
        rc = fail_at(b, line, column, "nested more than 64 levels deep");
    else if (++b->n_nodes > MAX_NODES)
        rc = fail_at(b, line, column, "more than 1000000 values");
    if (rc) {
        yaml_event_delete(e);
        return rc;
    }
    x->line = line;
    x->column = column;
    list keys = {0}, items = {0};
    if (e->type == YAML_SCALAR_EVENT) {
        rc = fill_scalar(b, e, x);
        yaml_event_delete(e);
    } else {
        x->kind = e->type == YAML_MAPPING_START_EVENT ? HN_Y_MAP : HN_Y_SEQ;
        yaml_event_delete(e);
        rc = fill_collection(b, x, depth, &keys, &items);
    }
    free(keys.p);
    free(items.p);
    if (!rc) *out = x;
    return rc;
}

/* The stream: start, one document, end. */
static hone_rc build_doc(build *b) {
    static const hn_ynode empty = {.kind = HN_Y_NULL, .text = "", .line = 1, .column = 1};
    for (bool seen = false;;) {
        yaml_event_t e;
        hone_rc rc = next_event(b, &e);
        if (rc) return rc;
        yaml_event_type_t type = e.type;
        if (type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&e);
            if (!seen) b->doc->root = &empty;
            return HONE_OK;
        }
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_END_EVENT) {
            yaml_event_delete(&e);
        } else if (type == YAML_DOCUMENT_START_EVENT) {
            unsigned long line = e.start_mark.line + 1;
            yaml_event_delete(&e);
            if (seen) return fail_at(b, line, 1, "a second YAML document; only one is accepted");
            seen = true;
        } else {
            rc = make_node(b, &e, 0, &b->doc->root);
            if (rc) return rc;
        }
    }
}

hone_rc hn_yaml_parse(const char *text, size_t n, const char *label, hn_yaml **out, hone_err *err) {
    hn_yaml *doc = calloc(1, sizeof *doc);
    yaml_parser_t parser;
    if (!doc || !yaml_parser_initialize(&parser)) {
        free(doc);
        return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", label);
    }
    doc->label = hn_strdup(&doc->arena, label);
    if (!doc->label) doc->label = "?";
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    hone_err local;
    build b = {.parser = &parser, .text = text, .n = n, .doc = doc, .err = err ? err : &local};
    hone_rc rc = build_doc(&b);
    yaml_parser_delete(&parser);
    if (!rc && !hn_arena_ok(&doc->arena)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", label);
    if (rc)
        hn_yaml_free(doc);
    else
        *out = doc;
    return rc;
}

hone_rc hn_yaml_load(const char *path, hn_yaml **out, hone_err *err) {
    char *text;
    size_t n;
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    rc = hn_yaml_parse(text, n, path, out, err);
    free(text);
    return rc;
}

void hn_yaml_free(hn_yaml *doc) {
    if (!doc) return;
    hn_arena_free(&doc->arena);
    free(doc);
}

const hn_ynode *hn_yaml_root(const hn_yaml *doc) { return doc->root; }
const char *hn_yaml_label(const hn_yaml *doc) { return doc->label; }

hone_rc hn_yaml_fail(const hn_yaml *doc, const hn_ynode *at, hone_err *err, const char *fmt, ...) {
    char what[800];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return hn_fail(err, HONE_E_INPUT, "%s:%u:%u: %s", doc->label, at->line, at->column, what);
}

const hn_ynode *hn_yaml_get(const hn_ynode *map, const char *key) {
    if (!map || map->kind != HN_Y_MAP) return NULL;
    for (size_t i = 0; i < map->n; i++)
        if (!strcmp(map->key[i]->text, key)) return map->item[i];
    return NULL;
}

hone_rc hn_yaml_check_keys(const hn_yaml *doc, const hn_ynode *map, const char *what, const char *const *known,
                           size_t n_known, hone_err *err) {
    if (map->kind != HN_Y_MAP) return hn_yaml_fail(doc, map, err, "%s must be a map of keys and values", what);
    for (size_t i = 0; i < map->n; i++) {
        const char *key = map->key[i]->text;
        bool found = false;
        for (size_t k = 0; k < n_known && !found; k++) found = !strcmp(key, known[k]);
        if (found) continue;
        const char *near = hn_nearest(key, known, n_known);
        if (near)
            return hn_yaml_fail(doc, map->key[i], err, "unknown key '%s' in %s; did you mean '%s'?", key, what, near);
        hn_str all = {0};
        for (size_t k = 0; k < n_known; k++) hn_str_addf(&all, "%s%s", k ? ", " : "", known[k]);
        hone_rc rc = hn_yaml_fail(doc, map->key[i], err, "unknown key '%s' in %s; known are: %s", key, what,
                                  all.text ? all.text : "");
        hn_str_free(&all);
        return rc;
    }
    return HONE_OK;
}

/* The text of a node, for messages: one short line. */
static const char *shown(const hn_ynode *x, char buf[64]) {
    switch (x->kind) {
    case HN_Y_NULL: return "nothing";
    case HN_Y_SEQ: return "a list";
    case HN_Y_MAP: return "a map";
    default: break;
    }
    int n = (int)strcspn(x->text, "\r\n\t"), most = 48;
    while (n > most && ((unsigned char)x->text[most] & 0xc0) == 0x80) most--; /* not inside a UTF-8 sequence */
    bool cut = x->text[n] || n > most;
    snprintf(buf, 64, "%s'%.*s%s'", x->quoted ? "the text " : "", n < most ? n : most, x->text, cut ? "..." : "");
    return buf;
}

static hone_rc expected(const hn_yaml *doc, const hn_ynode *x, hone_err *err, const char *what) {
    char buf[64];
    return hn_yaml_fail(doc, x, err, "expected %s, found %s", what, shown(x, buf));
}

/* Reads a number and gives where it ends, or NULL. */
static const char *number(const hn_ynode *x, double *out) {
    if (x->kind != HN_Y_SCALAR) return NULL;
    char *end;
    *out = hn_strtod(x->text, &end);
    return end == x->text ? NULL : end;
}

hone_rc hn_yaml_double(const hn_yaml *doc, const hn_ynode *node, double *out, hone_err *err) {
    double v;
    const char *end = number(node, &v);
    if (!end || *end || node->quoted || !isfinite(v)) return expected(doc, node, err, "a number");
    *out = v;
    return HONE_OK;
}

hone_rc hn_yaml_int(const hn_yaml *doc, const hn_ynode *node, int64_t *out, hone_err *err) {
    double v;
    const char *end = number(node, &v);
    if (!end || *end || node->quoted || v != floor(v)) return expected(doc, node, err, "a whole number");
    if (fabs(v) > 0x1p53) return expected(doc, node, err, "a whole number of at most 2^53");
    *out = (int64_t)v;
    return HONE_OK;
}

hone_rc hn_yaml_bool(const hn_yaml *doc, const hn_ynode *node, bool *out, hone_err *err) {
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    for (int i = 0; node->kind == HN_Y_SCALAR && !node->quoted && i < 3; i++) {
        bool is_yes = !strcasecmp(node->text, yes[i]);
        if (!is_yes && strcasecmp(node->text, no[i])) continue;
        *out = is_yes;
        return HONE_OK;
    }
    return expected(doc, node, err, "true or false");
}

hone_rc hn_yaml_text(const hn_yaml *doc, const hn_ynode *node, const char **out, hone_err *err) {
    if (node->kind != HN_Y_SCALAR || !*node->text) return expected(doc, node, err, "a text");
    *out = node->text;
    return HONE_OK;
}

typedef struct unit {
    const char *name;
    double factor;
} unit;

static hone_rc with_unit(const hn_yaml *doc, const hn_ynode *node, const unit *units, size_t n, const char *what,
                         double *out, hone_err *err) {
    double v;
    const char *end = number(node, &v);
    if (!end || !isfinite(v) || v < 0) return expected(doc, node, err, what);
    while (*end == ' ') end++;
    if (!*end) {
        *out = v;
        return HONE_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (!strcmp(end, units[i].name) && isfinite(v * units[i].factor)) {
            *out = v * units[i].factor;
            return HONE_OK;
        }
    return expected(doc, node, err, what);
}

hone_rc hn_yaml_seconds(const hn_yaml *doc, const hn_ynode *node, double *out, hone_err *err) {
    static const unit units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                                 {"m", 60},    {"min", 60},  {"h", 3600}};
    return with_unit(doc, node, units, sizeof units / sizeof *units, "a time such as 250 ms, 10 s, 2 min or 1 h", out,
                     err);
}

hone_rc hn_yaml_bytes(const hn_yaml *doc, const hn_ynode *node, uint64_t *out, hone_err *err) {
    static const unit units[] = {{"B", 1},    {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},
                                 {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
    double v;
    hone_rc rc = with_unit(doc, node, units, sizeof units / sizeof *units, "a size such as 64 MiB or 2 GiB", &v, err);
    if (rc) return rc;
    if (v >= 0x1p63) return expected(doc, node, err, "a size below 8 EiB");
    *out = (uint64_t)v;
    return HONE_OK;
}

/* Bytes of the UTF-8 sequence at c that YAML does not take as it is, even in quotes: C1 controls, NEL and the Unicode
 * line and paragraph separators (line breaks to YAML 1.1), the byte order mark, U+FFFE and U+FFFF. *code: its code
 * point. */
static size_t unprintable(const unsigned char *c, unsigned *code) {
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) {
        *code = c[1];
        return 2;
    }
    if ((c[0] != 0xe2 && c[0] != 0xef) || (c[1] & 0xc0) != 0x80 || (c[2] & 0xc0) != 0x80) return 0;
    *code = (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    bool bad = *code == 0x2028 || *code == 0x2029 || *code == 0xfeff || *code == 0xfffe || *code == 0xffff;
    return bad ? 3 : 0;
}

void hn_yaml_add_quoted(hn_str *s, const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    hn_str_add(s, "\"");
    while (*c) {
        unsigned code = *c;
        size_t n = unprintable(c, &code);
        if (*c == '"' || *c == '\\')
            hn_str_addf(s, "\\%c", *c);
        else if (*c == '\n')
            hn_str_add(s, "\\n");
        else if (n || code < 0x20 || code == 0x7f)
            hn_str_addf(s, "\\u%04x", code);
        else
            hn_str_add_n(s, (const char *)c, 1);
        c += n ? n : 1;
    }
    hn_str_add(s, "\"");
}

void hn_yaml_add_scalar(hn_str *s, const char *text) {
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=-";
    bool plain = *text && strspn(text, safe) == strlen(text) && !strchr("-+.=0123456789", *text);
    for (size_t i = 0; plain && i < sizeof words / sizeof *words; i++) plain = strcasecmp(text, words[i]) != 0;
    if (plain)
        hn_str_add(s, text);
    else
        hn_yaml_add_quoted(s, text);
}
