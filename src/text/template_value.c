/* template_value.c — values of templates: made, compared, printed as Python does. */
#include "base/err.h"
#include "base/utf8.h"
#include "text/template_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *room(hn_trun *r, size_t n, size_t size) {
    void *p = hn_alloc_n(r->arena, n ? n : 1, size);
    if (!p && !r->rc) r->rc = hn_fail(r->err, HONE_E_NOMEM, "out of memory rendering a template");
    return p;
}

hn_tv hn_tv_text(hn_trun *r, const char *text, size_t n) {
    char *copy = room(r, n + 1, 1);
    if (!copy) return (hn_tv){0};
    memcpy(copy, text, n);
    copy[n] = 0;
    return (hn_tv){.kind = HN_TV_TEXT, .text = copy, .n = n};
}

hn_tv hn_tv_bool(bool b) { return (hn_tv){.kind = HN_TV_BOOL, .i = b}; }
hn_tv hn_tv_int(int64_t i) { return (hn_tv){.kind = HN_TV_INT, .i = i}; }

hn_tv hn_tv_new_list(hn_trun *r, size_t n) {
    hn_tv_list *l = room(r, 1, sizeof *l);
    hn_tv *item = room(r, n, sizeof *item);
    if (!l || !item) return (hn_tv){0};
    *l = (hn_tv_list){.item = item, .n = n};
    return (hn_tv){.kind = HN_TV_LIST, .list = l};
}

hn_tv hn_tv_new_dict(hn_trun *r) {
    hn_tv_dict *d = room(r, 1, sizeof *d);
    return d ? (hn_tv){.kind = HN_TV_DICT, .dict = d} : (hn_tv){0};
}

void hn_tv_set(hn_trun *r, hn_tv_dict *d, const char *key, hn_tv v) {
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->pair[i].key, key)) {
            d->pair[i].value = v;
            return;
        }
    if (d->n == d->room) {
        size_t more = d->room ? 2 * d->room : 8;
        hn_tv_pair *pair = room(r, more, sizeof *pair);
        if (!pair) return;
        if (d->n) memcpy(pair, d->pair, d->n * sizeof *pair);
        d->pair = pair;
        d->room = more;
    }
    d->pair[d->n++] = (hn_tv_pair){key, v};
}

const hn_tv *hn_tv_get(const hn_tv_dict *d, const char *key) {
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->pair[i].key, key)) return &d->pair[i].value;
    return NULL;
}

hn_tv hn_tv_from_json(hn_trun *r, const json_t *j) {
    const char *key;
    json_t *x;
    size_t i;
    hn_tv v = {.kind = HN_TV_NONE};
    switch (json_typeof(j)) {
    case JSON_NULL: break;
    case JSON_TRUE: return hn_tv_bool(true);
    case JSON_FALSE: return hn_tv_bool(false);
    case JSON_INTEGER: return hn_tv_int(json_integer_value(j));
    case JSON_REAL: return (hn_tv){.kind = HN_TV_FLOAT, .f = json_real_value(j)};
    case JSON_STRING: return hn_tv_text(r, json_string_value(j), json_string_length(j));
    case JSON_ARRAY:
        v = hn_tv_new_list(r, json_array_size(j));
        if (v.kind == HN_TV_LIST) json_array_foreach(j, i, x) v.list->item[i] = hn_tv_from_json(r, x);
        break;
    case JSON_OBJECT:
        v = hn_tv_new_dict(r);
        if (v.kind == HN_TV_DICT)
            json_object_foreach((json_t *)(uintptr_t)j, key, x)
                hn_tv_set(r, v.dict, hn_strdup(r->arena, key), hn_tv_from_json(r, x));
        break;
    }
    return v;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

bool hn_tv_is_number(const hn_tv *v) { return v->kind == HN_TV_BOOL || v->kind == HN_TV_INT || v->kind == HN_TV_FLOAT; }
double hn_tv_number(const hn_tv *v) { return v->kind == HN_TV_FLOAT ? v->f : (double)v->i; }

bool hn_tv_true(const hn_tv *v) {
    switch (v->kind) {
    case HN_TV_UNDEFINED:
    case HN_TV_NONE: return false;
    case HN_TV_BOOL:
    case HN_TV_INT: return v->i != 0;
    case HN_TV_FLOAT: return v->f != 0;
    case HN_TV_TEXT: return v->n != 0;
    case HN_TV_LIST: return v->list->n != 0;
    case HN_TV_DICT: return v->dict->open || v->dict->n != 0;
    case HN_TV_MACRO:
    case HN_TV_NAMED: return true;
    }
    return false;
}

int64_t hn_tv_modulo(int64_t a, int64_t b) {
    int64_t m = b == -1 ? 0 : a % b;
    return m && (m < 0) != (b < 0) ? m + b : m;
}

static bool equal_members(hn_trun *r, const hn_tv *a, const hn_tv *b) {
    if (a->kind == HN_TV_LIST) {
        for (size_t i = 0; i < a->list->n && a->list->n == b->list->n; i++)
            if (!hn_tv_equal(r, &a->list->item[i], &b->list->item[i])) return false;
        return a->list->n == b->list->n && a->list->tuple == b->list->tuple;
    }
    for (size_t i = 0; i < a->dict->n && a->dict->n == b->dict->n; i++) {
        const hn_tv *other = hn_tv_get(b->dict, a->dict->pair[i].key);
        if (!other || !hn_tv_equal(r, &a->dict->pair[i].value, other)) return false;
    }
    return a->dict->n == b->dict->n;
}

bool hn_tv_equal(hn_trun *r, const hn_tv *a, const hn_tv *b) {
    bool equal = false;
    if (!hn_t_work(r, 0, a->kind == HN_TV_TEXT ? a->n : 0, NULL)) return false;
    if (hn_tv_is_number(a) && hn_tv_is_number(b))
        return a->kind != HN_TV_FLOAT && b->kind != HN_TV_FLOAT ? a->i == b->i : hn_tv_number(a) == hn_tv_number(b);
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case HN_TV_UNDEFINED:
    case HN_TV_NONE: return true;
    case HN_TV_TEXT: return a->n == b->n && !memcmp(a->text, b->text, a->n);
    case HN_TV_LIST:
    case HN_TV_DICT:
        equal = hn_t_enter(r) && equal_members(r, a, b);
        hn_t_leave(r);
        return equal && !r->rc;
    case HN_TV_MACRO: return a->macro == b->macro;
    default: return false;
    }
}

int hn_tv_order(hn_trun *r, const hn_tv *a, const hn_tv *b) {
    if (hn_tv_is_number(a) && hn_tv_is_number(b)) {
        double x = hn_tv_number(a), y = hn_tv_number(b);
        return x < y ? -1 : x > y;
    }
    if (a->kind == HN_TV_TEXT && b->kind == HN_TV_TEXT) {
        int order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
        return order ? order : a->n < b->n ? -1 : a->n > b->n;
    }
    if (a->kind == HN_TV_LIST && b->kind == HN_TV_LIST) {
        int order = 0;
        hn_t_enter(r);
        for (size_t i = 0; !r->rc && !order && i < a->list->n && i < b->list->n; i++)
            order = hn_tv_order(r, &a->list->item[i], &b->list->item[i]);
        hn_t_leave(r);
        if (order || r->rc) return order;
        return a->list->n < b->list->n ? -1 : a->list->n > b->list->n;
    }
    hn_t_fail(r, 0, "values of these kinds have no order");
    return 0;
}

hn_tv hn_tv_items(hn_trun *r, const hn_tv *v) {
    hn_tv list = {0};
    size_t n = 0;
    switch (v->kind) {
    case HN_TV_LIST: return *v;
    case HN_TV_UNDEFINED: return hn_tv_new_list(r, 0);
    case HN_TV_TEXT:
        for (size_t at = 0, k; at < v->n; at += k ? k : 1, n++) k = hn_utf8_next(v->text + at, v->n - at, NULL);
        list = hn_tv_new_list(r, n);
        if (list.kind == HN_TV_LIST)
            for (size_t at = 0, k, i = 0; at < v->n; at += k, i++) {
                k = hn_utf8_next(v->text + at, v->n - at, NULL);
                k = k ? k : 1;
                list.list->item[i] = hn_tv_text(r, v->text + at, k);
            }
        return list;
    case HN_TV_DICT:
        list = hn_tv_new_list(r, v->dict->n);
        for (size_t i = 0; i < v->dict->n && list.kind == HN_TV_LIST; i++)
            list.list->item[i] = hn_tv_text(r, v->dict->pair[i].key, strlen(v->dict->pair[i].key));
        return list;
    default: return hn_t_fail(r, 0, "a value that is no list, text or mapping is gone through");
    }
}

/* --- printing ----------------------------------------------------------------------------------------------------- */

/* A float as Python prints it: the shortest text, with a point. */
static void add_float(double x, hn_str *out) {
    char text[40];
    if (!isfinite(x)) {
        hn_str_add(out, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    hn_double_text(x, text);
    hn_str_add(out, text);
    if (!strpbrk(text, ".en")) hn_str_add(out, ".0");
}

static void add_quoted(const char *text, size_t n, hn_str *out) {
    char q = memchr(text, '\'', n) && !memchr(text, '"', n) ? '"' : '\'';
    hn_str_add_n(out, &q, 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        static const char from[] = "\n\r\t\\", to[] = "nrt\\";
        const char *k = c ? strchr(from, c) : NULL;
        if (k)
            hn_str_addf(out, "\\%c", to[k - from]);
        else if (c == (unsigned char)q)
            hn_str_addf(out, "\\%c", q);
        else if (c < 0x20 || c == 0x7f)
            hn_str_addf(out, "\\x%02x", c);
        else
            hn_str_add_n(out, text + i, 1);
    }
    hn_str_add_n(out, &q, 1);
}

static void add_list(hn_trun *r, const hn_tv_list *l, hn_str *out) {
    hn_str_add(out, l->tuple ? "(" : "[");
    for (size_t i = 0; !r->rc && i < l->n; i++) {
        if (i) hn_str_add(out, ", ");
        hn_tv_repr(r, &l->item[i], out);
    }
    hn_str_add(out, !l->tuple ? "]" : l->n == 1 ? ",)" : ")");
}

static void add_dict(hn_trun *r, const hn_tv_dict *d, hn_str *out) {
    hn_str_add(out, "{");
    for (size_t i = 0; !r->rc && i < d->n; i++) {
        if (i) hn_str_add(out, ", ");
        add_quoted(d->pair[i].key, strlen(d->pair[i].key), out);
        hn_str_add(out, ": ");
        hn_tv_repr(r, &d->pair[i].value, out);
    }
    hn_str_add(out, "}");
}

void hn_tv_repr(hn_trun *r, const hn_tv *v, hn_str *out) {
    if (!hn_t_work(r, 0, v->kind == HN_TV_TEXT ? v->n : 0, out)) return;
    switch (v->kind) {
    case HN_TV_TEXT: add_quoted(v->text, v->n, out); break;
    case HN_TV_LIST:
    case HN_TV_DICT:
        if (hn_t_enter(r) && v->kind == HN_TV_LIST)
            add_list(r, v->list, out);
        else if (!r->rc)
            add_dict(r, v->dict, out);
        hn_t_leave(r);
        break;
    case HN_TV_NONE: hn_str_add(out, "None"); break;
    case HN_TV_BOOL: hn_str_add(out, v->i ? "True" : "False"); break;
    case HN_TV_INT: hn_str_addf(out, "%" PRId64, v->i); break;
    case HN_TV_FLOAT: add_float(v->f, out); break;
    case HN_TV_UNDEFINED: hn_str_add(out, "Undefined"); break;
    case HN_TV_MACRO:
    case HN_TV_NAMED: hn_t_fail(r, 0, "a function is printed; it should be called"); break;
    }
}

void hn_tv_print(hn_trun *r, const hn_tv *v, hn_str *out) {
    if (v->kind == HN_TV_TEXT)
        hn_str_add_n(out, v->text, v->n);
    else if (v->kind != HN_TV_UNDEFINED)
        hn_tv_repr(r, v, out);
}

static void add_json_text(const char *text, size_t n, hn_str *out) {
    hn_str_add(out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
        const char *k = c ? strchr(from, c) : NULL;
        if (k)
            hn_str_addf(out, "\\%c", to[k - from]);
        else if (c < 0x20)
            hn_str_addf(out, "\\u%04x", c);
        else
            hn_str_add_n(out, text + i, 1);
    }
    hn_str_add(out, "\"");
}

enum { DEEPEST = 500 }; /* values within each other */
static void json_break(int indent, int level, hn_str *out) {
    if (indent < 0) return;
    hn_str_add(out, "\n");
    for (int i = 0; i < indent * level; i++) hn_str_add(out, " ");
}

void hn_tv_json(hn_trun *r, const hn_tv *v, int indent, int level, hn_str *out) {
    const char *comma = indent < 0 ? ", " : ",";
    size_t n = v->kind == HN_TV_LIST ? v->list->n : v->kind == HN_TV_DICT ? v->dict->n : 0;
    if (!hn_t_work(r, 0, v->kind == HN_TV_TEXT ? v->n : 0, out)) return;
    if (level > DEEPEST) {
        hn_t_fail(r, 0, "a value holds itself, or too many within each other");
        return;
    }
    switch (v->kind) {
    case HN_TV_NONE: hn_str_add(out, "null"); break;
    case HN_TV_BOOL: hn_str_add(out, v->i ? "true" : "false"); break;
    case HN_TV_TEXT: add_json_text(v->text, v->n, out); break;
    case HN_TV_LIST:
    case HN_TV_DICT:
        hn_str_add(out, v->kind == HN_TV_LIST ? "[" : "{");
        for (size_t i = 0; !r->rc && i < n; i++) {
            if (i) hn_str_add(out, comma);
            json_break(indent, level + 1, out);
            if (v->kind == HN_TV_DICT) {
                add_json_text(v->dict->pair[i].key, strlen(v->dict->pair[i].key), out);
                hn_str_add(out, ": ");
            }
            hn_tv_json(r, v->kind == HN_TV_LIST ? &v->list->item[i] : &v->dict->pair[i].value, indent, level + 1, out);
        }
        if (n) json_break(indent, level, out);
        hn_str_add(out, v->kind == HN_TV_LIST ? "]" : "}");
        break;
    case HN_TV_INT:
    case HN_TV_FLOAT: hn_tv_repr(r, v, out); break;
    default: hn_t_fail(r, 0, "tojson of a value that has no JSON form");
    }
}
