/* template_call.c — what templates may call: filters, tests, methods of values, functions. Each list is a table. */
#include "base/err.h"
#include "base/locale.h"
#include "base/utf8.h"
#include "text/template_int.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const hn_tv *hn_t_arg(const hn_targs *a, size_t i, const char *name) {
    size_t at = 0;
    for (size_t k = 0; k < a->n; k++) {
        if (a->name[k] ? !strcmp(a->name[k], name) : at == i) return &a->value[k];
        at += !a->name[k];
    }
    return NULL;
}

/* What a filter, test, method or function works on. */
typedef struct calling {
    hn_trun *r;
    const hn_tnode *n;
    const char *name;
    const hn_tv *v;
    const hn_targs *args;
} calling;

static hn_tv wrong(const calling *c, const char *what) { return hn_t_fail(c->r, c->n->line, "'%s' %s", c->name, what); }

static const hn_tv *arg(const calling *c, size_t i, const char *name) { return hn_t_arg(c->args, i, name); }

static int64_t int_arg(const calling *c, size_t i, const char *name, int64_t otherwise) {
    const hn_tv *v = arg(c, i, name);
    return v && (v->kind == HN_TV_INT || v->kind == HN_TV_BOOL) ? v->i : otherwise;
}

static hn_tv taken(hn_trun *r, hn_str *s) {
    hn_tv v = hn_tv_text(r, s->text ? s->text : "", s->n);
    hn_str_free(s);
    return v;
}

/* v as a text: what printing it gives. */
static hn_tv as_text(const calling *c, const hn_tv *v) {
    hn_str s = {0};
    if (v->kind == HN_TV_TEXT) return *v;
    hn_tv_print(c->r, v, &s);
    return taken(c->r, &s);
}

/* --- texts
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* sides: 1 left, 2 right; chars NULL: white space. */
static hn_tv stripped(const calling *c, int sides) {
    hn_tv v = as_text(c, c->v);
    const hn_tv *chars = arg(c, 0, "chars");
    const char *set = chars && chars->kind == HN_TV_TEXT ? chars->text : NULL;
    size_t from = 0, to = v.n;
    if (c->r->rc) return v;
#define GONE(x) (set ? (x) && strchr(set, x) : isspace((unsigned char)(x)))
    while (sides & 1 && from < to && GONE(v.text[from])) from++;
    while (sides & 2 && to > from && GONE(v.text[to - 1])) to--;
#undef GONE
    return hn_tv_text(c->r, v.text + from, to - from);
}
static hn_tv strip(const calling *c) { return stripped(c, 3); }
static hn_tv strip_left(const calling *c) { return stripped(c, 1); }
static hn_tv strip_right(const calling *c) { return stripped(c, 2); }

/* Letters of ASCII. how: 'u' upper, 'l' lower, 't' each word, 'c' the first alone. */
static hn_tv cased(const calling *c, char how) {
    hn_tv v = as_text(c, c->v), out = hn_tv_text(c->r, v.text, v.n);
    bool begins = true;
    char *p = (char *)(uintptr_t)out.text;
    for (size_t i = 0; !c->r->rc && i < out.n; i++) {
        bool up = how == 'u' || (how == 't' && begins) || (how == 'c' && !i);
        p[i] = (char)(up ? toupper((unsigned char)p[i]) : tolower((unsigned char)p[i]));
        begins = !isalpha((unsigned char)p[i]);
    }
    return out;
}
static hn_tv upper(const calling *c) { return cased(c, 'u'); }
static hn_tv lower(const calling *c) { return cased(c, 'l'); }
static hn_tv title(const calling *c) { return cased(c, 't'); }
static hn_tv capitalize(const calling *c) { return cased(c, 'c'); }

static hn_tv replace(const calling *c) {
    const hn_tv *from = arg(c, 0, "old"), *to = arg(c, 1, "new");
    hn_tv v = as_text(c, c->v);
    int64_t most = int_arg(c, 2, "count", -1);
    hn_str s = {0};
    if (!from || !to || from->kind != HN_TV_TEXT || to->kind != HN_TV_TEXT) return wrong(c, "takes two texts");
    for (size_t at = 0; hn_t_work(c->r, c->n->line, 0, &s) && at <= v.n;) {
        bool here = most && from->n <= v.n - at && !memcmp(v.text + at, from->text, from->n);
        if (here) {
            hn_str_add_n(&s, to->text, to->n);
            most--;
            at += from->n;
        }
        if (!here || !from->n) {
            if (at < v.n) hn_str_add_n(&s, v.text + at, 1);
            at++;
        }
    }
    return taken(c->r, &s);
}

static hn_tv pieces(const calling *c, const hn_tv *by, int64_t most) {
    hn_tv v = *c->v, list = hn_tv_new_list(c->r, v.n + 1);
    size_t from = 0, n = 0;
    if (c->r->rc) return list;
    if (!by) { /* by white space, which is dropped */
        for (size_t at = 0; at < v.n;) {
            while (at < v.n && isspace((unsigned char)v.text[at])) at++;
            size_t begin = at;
            while (at < v.n && (!isspace((unsigned char)v.text[at]) || (most >= 0 && (int64_t)n >= most))) at++;
            if (at > begin) list.list->item[n++] = hn_tv_text(c->r, v.text + begin, at - begin);
        }
    } else {
        for (size_t at = 0; at + by->n <= v.n;) {
            bool here = (most < 0 || (int64_t)n < most) && !memcmp(v.text + at, by->text, by->n);
            if (here) list.list->item[n++] = hn_tv_text(c->r, v.text + from, at - from), from = at += by->n;
            at += !here;
        }
        list.list->item[n++] = hn_tv_text(c->r, v.text + from, v.n - from);
    }
    list.list->n = n;
    return list;
}

static hn_tv split(const calling *c) {
    const hn_tv *by = arg(c, 0, "sep");
    if (by && by->kind == HN_TV_NONE) by = NULL;
    if (by && (by->kind != HN_TV_TEXT || !by->n)) return wrong(c, "takes a text that is not empty");
    return pieces(c, by, int_arg(c, 1, "maxsplit", -1));
}

static hn_tv split_lines(const calling *c) {
    hn_tv line = hn_tv_text(c->r, "\n", 1), list = pieces(c, &line, -1);
    if (!c->r->rc && list.list->n && !list.list->item[list.list->n - 1].n) list.list->n--;
    return list;
}

static bool at_end(const calling *c, const hn_tv *what, bool end) {
    const hn_tv *v = c->v;
    return what->kind == HN_TV_TEXT && what->n <= v->n &&
           !memcmp(v->text + (end ? v->n - what->n : 0), what->text, what->n);
}
static hn_tv affix(const calling *c, bool end) {
    const hn_tv *what = arg(c, 0, "prefix");
    if (!what) return wrong(c, "takes a text");
    if (what->kind != HN_TV_LIST) return hn_tv_bool(at_end(c, what, end));
    for (size_t i = 0; i < what->list->n; i++)
        if (at_end(c, &what->list->item[i], end)) return hn_tv_bool(true);
    return hn_tv_bool(false);
}
static hn_tv starts_with(const calling *c) { return affix(c, false); }
static hn_tv ends_with(const calling *c) { return affix(c, true); }

static hn_tv find(const calling *c) {
    const hn_tv *what = arg(c, 0, "sub");
    if (!what || what->kind != HN_TV_TEXT) return wrong(c, "takes a text");
    const char *at = what->n ? memmem(c->v->text, c->v->n, what->text, what->n) : c->v->text;
    return hn_tv_int(at ? at - c->v->text : -1);
}

static hn_tv count_text(const calling *c) {
    const hn_tv *what = arg(c, 0, "sub");
    int64_t n = 0;
    if (!what || what->kind != HN_TV_TEXT || !what->n) return wrong(c, "takes a text that is not empty");
    for (size_t at = 0; at + what->n <= c->v->n;) {
        bool here = !memcmp(c->v->text + at, what->text, what->n);
        n += here;
        at += here ? what->n : 1;
    }
    return hn_tv_int(n);
}

/* Puts blanks in front of each line but the first, and of empty ones only where asked for. */
static hn_tv indent(const calling *c) {
    hn_tv v = as_text(c, c->v);
    const hn_tv *first = arg(c, 1, "first"), *blank = arg(c, 2, "blank");
    int64_t width = int_arg(c, 0, "width", 4);
    hn_str s = {0};
    for (size_t i = 0; hn_t_work(c->r, c->n->line, 0, &s) && i <= v.n; i++) {
        bool begins = i ? v.text[i - 1] == '\n' : first && hn_tv_true(first);
        bool empty = i == v.n || v.text[i] == '\n';
        for (int64_t k = 0; begins && (!empty || (blank && hn_tv_true(blank))) && k < width && k < 1000; k++)
            hn_str_add(&s, " ");
        if (i < v.n) hn_str_add_n(&s, v.text + i, 1);
    }
    return taken(c->r, &s);
}

/* --- lists
 * ----------------------------------------------------------------------------------------------------------------------
 */

static hn_tv length(const calling *c) {
    if (c->v->kind == HN_TV_DICT) return hn_tv_int((int64_t)c->v->dict->n);
    hn_tv items = hn_tv_items(c->r, c->v);
    return c->r->rc ? items : hn_tv_int((int64_t)items.list->n);
}

static hn_tv items_of(const calling *c) { return hn_tv_items(c->r, c->v); }

static hn_tv as_list(const calling *c) {
    hn_tv items = hn_tv_items(c->r, c->v), none = hn_tv_new_list(c->r, 0);
    if (c->r->rc) return items;
    none.list->n = items.list->n;
    none.list->item = items.list->item;
    return none;
}

static hn_tv first(const calling *c) {
    hn_tv items = items_of(c);
    return c->r->rc || !items.list->n ? (hn_tv){0} : items.list->item[0];
}
static hn_tv last(const calling *c) {
    hn_tv items = items_of(c);
    return c->r->rc || !items.list->n ? (hn_tv){0} : items.list->item[items.list->n - 1];
}

/* A member of a value by a path "function.name". */
static hn_tv attribute(const hn_tv *v, const char *path) {
    hn_tv now = *v;
    while (*path) {
        char key[128];
        size_t n = strcspn(path, ".");
        if (n >= sizeof key || now.kind != HN_TV_DICT) return (hn_tv){0};
        memcpy(key, path, n);
        key[n] = 0;
        const hn_tv *found = hn_tv_get(now.dict, key);
        if (!found) return (hn_tv){0};
        now = *found;
        path += n + (path[n] == '.');
    }
    return now;
}

static const char *attribute_arg(const calling *c, size_t i) {
    const hn_tv *v = arg(c, i, "attribute");
    return v && v->kind == HN_TV_TEXT ? v->text : NULL;
}

static hn_tv join(const calling *c) {
    hn_tv items = items_of(c);
    const hn_tv *by = arg(c, 0, "d");
    const char *path = attribute_arg(c, 1);
    hn_str s = {0};
    for (size_t i = 0; hn_t_work(c->r, c->n->line, 0, &s) && i < items.list->n; i++) {
        hn_tv v = path ? attribute(&items.list->item[i], path) : items.list->item[i];
        if (i && by) hn_tv_print(c->r, by, &s);
        hn_tv_print(c->r, &v, &s);
    }
    return taken(c->r, &s);
}

/* ",".join(list) */
static hn_tv join_method(const calling *c) {
    const hn_tv *list = arg(c, 0, "iterable");
    if (!list) return wrong(c, "takes a list");
    hn_targs by = {.value = (hn_tv *)(uintptr_t)c->v, .name = (const char *[]){NULL}, .n = 1};
    calling turned = {c->r, c->n, c->name, list, &by};
    return join(&turned);
}

static hn_tv reversed(const calling *c) {
    hn_tv items = items_of(c), out = hn_tv_new_list(c->r, c->r->rc ? 0 : items.list->n);
    for (size_t i = 0; !c->r->rc && i < items.list->n; i++) out.list->item[i] = items.list->item[items.list->n - 1 - i];
    if (c->r->rc || c->v->kind != HN_TV_TEXT) return out;
    calling joining = {c->r, c->n, c->name, &out, &(hn_targs){0}};
    return join(&joining);
}

static hn_tv unique(const calling *c) {
    hn_tv items = items_of(c), out = hn_tv_new_list(c->r, c->r->rc ? 0 : items.list->n);
    size_t n = 0;
    for (size_t i = 0; !c->r->rc && i < items.list->n; i++) {
        bool seen = false;
        for (size_t k = 0; k < n && !seen; k++) seen = hn_tv_equal(c->r, &out.list->item[k], &items.list->item[i]);
        if (!seen) out.list->item[n++] = items.list->item[i];
    }
    if (!c->r->rc) out.list->n = n;
    return out;
}

/* Insertion: stable, and lists of templates are short. */
static hn_tv sorted(const calling *c) {
    hn_tv items = items_of(c), out = hn_tv_new_list(c->r, c->r->rc ? 0 : items.list->n);
    const hn_tv *down = arg(c, 0, "reverse");
    const char *path = attribute_arg(c, 2);
    for (size_t i = 0; hn_t_step(c->r, c->n->line) && i < items.list->n; i++) {
        hn_tv v = items.list->item[i], key = path ? attribute(&v, path) : v;
        size_t k = i;
        for (; k && hn_t_step(c->r, c->n->line); k--) {
            hn_tv other = path ? attribute(&out.list->item[k - 1], path) : out.list->item[k - 1];
            int order = hn_tv_order(c->r, &key, &other);
            if (down && hn_tv_true(down) ? order <= 0 : order >= 0) break;
            out.list->item[k] = out.list->item[k - 1];
        }
        out.list->item[k] = v;
    }
    return out;
}

/* The arguments behind the first ones. */
static void rest(const calling *c, size_t skip, hn_targs *out) {
    out->n = c->args->n > skip ? c->args->n - skip : 0;
    out->value = c->args->value + skip;
    out->name = c->args->name + skip;
}

static hn_tv map(const calling *c) {
    hn_tv items = items_of(c), out = hn_tv_new_list(c->r, c->r->rc ? 0 : items.list->n);
    const hn_tv *named = c->args->n && c->args->name[0] ? arg(c, SIZE_MAX, "attribute") : NULL,
                *filter = named ? NULL : arg(c, 0, "");
    hn_targs more;
    rest(c, 1, &more);
    if ((!named || named->kind != HN_TV_TEXT) && (!filter || filter->kind != HN_TV_TEXT))
        return wrong(c, "takes attribute= or the name of a filter");
    for (size_t i = 0; !c->r->rc && i < items.list->n; i++) {
        const hn_tv *v = &items.list->item[i];
        out.list->item[i] = named ? attribute(v, named->text) : hn_t_filter(c->r, c->n, filter->text, v, &more);
    }
    return out;
}

/* select and reject (by the value), selectattr and rejectattr (by a member): a test, or being true. */
static hn_tv picked(const calling *c, bool by_member, bool keep) {
    hn_tv items = items_of(c), out = hn_tv_new_list(c->r, c->r->rc ? 0 : items.list->n);
    const hn_tv *path = by_member ? arg(c, 0, "attribute") : NULL, *test = arg(c, by_member, "test");
    hn_targs more;
    size_t n = 0;
    rest(c, (size_t)by_member + 1, &more);
    if ((by_member && (!path || path->kind != HN_TV_TEXT)) || (test && test->kind != HN_TV_TEXT))
        return wrong(c, "takes names");
    for (size_t i = 0; !c->r->rc && i < items.list->n; i++) {
        hn_tv v = path ? attribute(&items.list->item[i], path->text) : items.list->item[i];
        bool yes = test ? hn_t_test(c->r, c->n, test->text, &v, &more) : hn_tv_true(&v);
        if (yes == keep) out.list->item[n++] = items.list->item[i];
    }
    if (!c->r->rc) out.list->n = n;
    return out;
}
static hn_tv select_values(const calling *c) { return picked(c, false, true); }
static hn_tv reject(const calling *c) { return picked(c, false, false); }
static hn_tv select_by(const calling *c) { return picked(c, true, true); }
static hn_tv reject_by(const calling *c) { return picked(c, true, false); }

/* The least (want -1) or largest (1). */
static hn_tv extreme(const calling *c, int want) {
    hn_tv items = items_of(c), best = {0};
    for (size_t i = 0; !c->r->rc && i < items.list->n; i++)
        if (!i || hn_tv_order(c->r, &items.list->item[i], &best) * want > 0) best = items.list->item[i];
    return best;
}
static hn_tv minimum(const calling *c) { return extreme(c, -1); }
static hn_tv maximum(const calling *c) { return extreme(c, 1); }

static hn_tv sum(const calling *c) {
    hn_tv items = items_of(c);
    double total = 0;
    bool whole = true;
    for (size_t i = 0; !c->r->rc && i < items.list->n; i++) {
        if (!hn_tv_is_number(&items.list->item[i])) return wrong(c, "adds numbers");
        whole &= items.list->item[i].kind != HN_TV_FLOAT;
        total += hn_tv_number(&items.list->item[i]);
    }
    return whole && fabs(total) < 0x1p63 ? hn_tv_int((int64_t)total) : (hn_tv){.kind = HN_TV_FLOAT, .f = total};
}

/* --- mappings
 * --------------------------------------------------------------------------------------------------------------------
 */

static hn_tv pairs(const calling *c) {
    if (c->v->kind == HN_TV_UNDEFINED) return hn_tv_new_list(c->r, 0);
    if (c->v->kind != HN_TV_DICT) return wrong(c, "asks for a mapping");
    hn_tv out = hn_tv_new_list(c->r, c->v->dict->n);
    for (size_t i = 0; !c->r->rc && i < c->v->dict->n; i++) {
        const hn_tv_pair *p = &c->v->dict->pair[i];
        hn_tv pair = hn_tv_new_list(c->r, 2);
        if (c->r->rc) break;
        pair.list->item[0] = hn_tv_text(c->r, p->key, strlen(p->key));
        pair.list->item[1] = p->value;
        pair.list->tuple = true;
        out.list->item[i] = pair;
    }
    return out;
}

static hn_tv sorted_pairs(const calling *c) {
    hn_tv all = pairs(c);
    calling sorting = {c->r, c->n, c->name, &all, &(hn_targs){0}};
    return c->r->rc ? all : sorted(&sorting);
}

static hn_tv values(const calling *c) {
    hn_tv out = hn_tv_new_list(c->r, c->v->dict->n);
    for (size_t i = 0; !c->r->rc && i < c->v->dict->n; i++) out.list->item[i] = c->v->dict->pair[i].value;
    return out;
}

static hn_tv get(const calling *c) {
    const hn_tv *key = arg(c, 0, "key"), *otherwise = arg(c, 1, "default");
    const hn_tv *found = key && key->kind == HN_TV_TEXT ? hn_tv_get(c->v->dict, key->text) : NULL;
    return found ? *found : otherwise ? *otherwise : (hn_tv){.kind = HN_TV_NONE};
}

/* --- other filters ------------------------------------------------------------------------------------------------ */

static hn_tv to_json(const calling *c) {
    hn_str s = {0};
    int64_t width = int_arg(c, SIZE_MAX, "indent", int_arg(c, 0, "indent", -1));
    hn_tv_json(c->r, c->v, width > 100 ? 100 : (int)width, 0, &s);
    return taken(c->r, &s);
}

static hn_tv or_default(const calling *c) {
    const hn_tv *otherwise = arg(c, 0, "default_value"), *untrue = arg(c, 1, "boolean");
    bool use = c->v->kind == HN_TV_UNDEFINED || (untrue && hn_tv_true(untrue) && !hn_tv_true(c->v));
    return !use ? *c->v : otherwise ? *otherwise : hn_tv_text(c->r, "", 0);
}

static hn_tv to_text(const calling *c) { return as_text(c, c->v); }
static hn_tv as_it_is(const calling *c) { return *c->v; }

static hn_tv to_int(const calling *c) {
    if (c->v->kind == HN_TV_TEXT) return hn_tv_int(strtoll(c->v->text, NULL, 10));
    if (c->v->kind == HN_TV_FLOAT) return hn_tv_int(fabs(c->v->f) < 0x1p62 ? (int64_t)c->v->f : 0);
    return hn_tv_int(hn_tv_is_number(c->v) ? c->v->i : int_arg(c, 0, "default", 0));
}

static hn_tv to_float(const calling *c) {
    return (hn_tv){.kind = HN_TV_FLOAT,
                   .f = c->v->kind == HN_TV_TEXT ? hn_strtod(c->v->text, NULL)
                        : hn_tv_is_number(c->v)  ? hn_tv_number(c->v)
                                                 : 0};
}

static hn_tv absolute(const calling *c) {
    if (!hn_tv_is_number(c->v)) return wrong(c, "asks for a number");
    return c->v->kind == HN_TV_FLOAT ? (hn_tv){.kind = HN_TV_FLOAT, .f = fabs(c->v->f)}
                                     : hn_tv_int(c->v->i < 0 ? (int64_t)(0 - (uint64_t)c->v->i) : c->v->i);
}

static hn_tv rounded(const calling *c) {
    double scale = pow(10, (double)int_arg(c, 0, "precision", 0));
    if (!hn_tv_is_number(c->v)) return wrong(c, "asks for a number");
    return (hn_tv){.kind = HN_TV_FLOAT, .f = nearbyint(hn_tv_number(c->v) * scale) / scale};
}

/* --- functions
 * ---------------------------------------------------------------------------------------------------------------------
 */

static hn_tv make_namespace(const calling *c) {
    hn_tv v = hn_tv_new_dict(c->r);
    if (c->r->rc) return v;
    v.dict->open = !strcmp(c->name, "namespace");
    for (size_t i = 0; i < c->args->n; i++) {
        const hn_tv *from = &c->args->value[i];
        if (c->args->name[i])
            hn_tv_set(c->r, v.dict, c->args->name[i], *from);
        else if (from->kind != HN_TV_DICT)
            return wrong(c, "takes members, or a mapping");
        else
            for (size_t k = 0; k < from->dict->n; k++)
                hn_tv_set(c->r, v.dict, from->dict->pair[k].key, from->dict->pair[k].value);
    }
    return v;
}

static hn_tv range(const calling *c) {
    bool one = c->args->n == 1;
    int64_t from = one ? 0 : int_arg(c, 0, "start", 0), to = int_arg(c, one ? 0 : 1, "stop", 0),
            step = int_arg(c, 2, "step", 1);
    if (!step) return wrong(c, "with steps of 0");
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step,
             far = step > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    uint64_t n = (step > 0 ? to > from : from > to) ? (far - 1) / by + 1 : 0;
    if (n > 1000000) return wrong(c, "of more than a million numbers");
    hn_tv v = hn_tv_new_list(c->r, (size_t)n);
    for (uint64_t i = 0; !c->r->rc && i < n; i++)
        v.list->item[i] = hn_tv_int((int64_t)((uint64_t)from + i * (uint64_t)step));
    return v;
}

static hn_tv raise_exception(const calling *c) {
    const hn_tv *text = arg(c, 0, "message");
    return hn_t_fail(c->r, c->n->line, "%s",
                     text && text->kind == HN_TV_TEXT ? text->text : "the template refuses these messages");
}

/* The format is the template's: strftime writes no more than it is given room for. */
static hn_tv strftime_now(const calling *c) {
    const hn_tv *format = arg(c, 0, "format");
    char text[256];
    time_t t = (time_t)c->r->now_s;
    struct tm tm;
    if (!format || format->kind != HN_TV_TEXT) return wrong(c, "takes a format");
    if (!localtime_r(&t, &tm)) return wrong(c, "has no time");
    size_t (*print)(char *, size_t, const char *, const struct tm *) = strftime; /* the format is no constant */
    size_t n = print(text, sizeof text, format->text, &tm);
    return hn_tv_text(c->r, text, n);
}

static hn_tv list_of(const calling *c) {
    const hn_tv *v = arg(c, 0, "iterable");
    return v ? hn_tv_items(c->r, v) : hn_tv_new_list(c->r, 0);
}

/* --- the tables
 * --------------------------------------------------------------------------------------------------------------------
 */

typedef struct entry {
    const char *name;
    hn_tv (*call)(const calling *c);
    hn_tv_kind of; /* methods: of which kind of value */
} entry;

static const entry filters[] = {
    {"trim", strip, 0},
    {"length", length, 0},
    {"count", length, 0},
    {"upper", upper, 0},
    {"lower", lower, 0},
    {"title", title, 0},
    {"capitalize", capitalize, 0},
    {"tojson", to_json, 0},
    {"default", or_default, 0},
    {"d", or_default, 0},
    {"join", join, 0},
    {"first", first, 0},
    {"last", last, 0},
    {"list", as_list, 0},
    {"string", to_text, 0},
    {"int", to_int, 0},
    {"float", to_float, 0},
    {"replace", replace, 0},
    {"reverse", reversed, 0},
    {"sort", sorted, 0},
    {"unique", unique, 0},
    {"map", map, 0},
    {"select", select_values, 0},
    {"reject", reject, 0},
    {"selectattr", select_by, 0},
    {"rejectattr", reject_by, 0},
    {"items", pairs, 0},
    {"dictsort", sorted_pairs, 0},
    {"indent", indent, 0},
    {"safe", as_it_is, 0},
    {"abs", absolute, 0},
    {"round", rounded, 0},
    {"sum", sum, 0},
    {"min", minimum, 0},
    {"max", maximum, 0},
};
static const entry methods[] = {
    {"strip", strip, HN_TV_TEXT},
    {"lstrip", strip_left, HN_TV_TEXT},
    {"rstrip", strip_right, HN_TV_TEXT},
    {"split", split, HN_TV_TEXT},
    {"splitlines", split_lines, HN_TV_TEXT},
    {"startswith", starts_with, HN_TV_TEXT},
    {"endswith", ends_with, HN_TV_TEXT},
    {"upper", upper, HN_TV_TEXT},
    {"lower", lower, HN_TV_TEXT},
    {"title", title, HN_TV_TEXT},
    {"capitalize", capitalize, HN_TV_TEXT},
    {"replace", replace, HN_TV_TEXT},
    {"find", find, HN_TV_TEXT},
    {"count", count_text, HN_TV_TEXT},
    {"join", join_method, HN_TV_TEXT},
    {"items", pairs, HN_TV_DICT},
    {"keys", items_of, HN_TV_DICT},
    {"values", values, HN_TV_DICT},
    {"get", get, HN_TV_DICT},
};
static const entry functions[] = {
    {"namespace", make_namespace, 0},        {"dict", make_namespace, 0},       {"range", range, 0},
    {"raise_exception", raise_exception, 0}, {"strftime_now", strftime_now, 0}, {"list", list_of, 0},
};
#define COUNT(table) (sizeof(table) / sizeof *(table))

static const entry *entry_of(const entry *table, size_t n, const char *name, hn_tv_kind kind, bool method) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(table[i].name, name) && (!method || table[i].of == kind)) return &table[i];
    return NULL;
}

bool hn_t_is_method(const hn_tv *v, const char *name) {
    return entry_of(methods, COUNT(methods), name, v->kind, true) != NULL;
}

static size_t size_of(const hn_tv *v) {
    return !v ? 0 : v->kind == HN_TV_TEXT ? v->n : v->kind == HN_TV_LIST ? 64 * v->list->n : 0;
}

hn_tv hn_t_filter(hn_trun *r, const hn_tnode *n, const char *name, const hn_tv *v, const hn_targs *args) {
    const entry *e = entry_of(filters, COUNT(filters), name, 0, false);
    if (!hn_t_work(r, n->line, size_of(v), NULL)) return (hn_tv){0};
    calling c = {r, n, name, v, args};
    return e ? e->call(&c) : hn_t_fail(r, n->line, "the filter '%s' is not known", name);
}

hn_tv hn_t_call_named(hn_trun *r, const hn_tnode *n, const hn_tv_method *m, const hn_targs *args) {
    const entry *e = m->self ? entry_of(methods, COUNT(methods), m->name, m->self->kind, true)
                             : entry_of(functions, COUNT(functions), m->name, 0, false);
    calling c = {r, n, m->name, m->self, args};
    if (!hn_t_work(r, n->line, size_of(m->self), NULL)) return (hn_tv){0};
    return e ? e->call(&c) : hn_t_fail(r, n->line, "the function '%s' is not known", m->name);
}

/* --- tests
 * ---------------------------------------------------------------------------------------------------------------------------
 */

static bool all_cased(const hn_tv *v, bool up) {
    bool any = false;
    for (size_t i = 0; v->kind == HN_TV_TEXT && i < v->n; i++) {
        unsigned char c = (unsigned char)v->text[i];
        if (up ? islower(c) : isupper(c)) return false;
        any |= isalpha(c) != 0;
    }
    return any;
}

static bool kind_test(const char *name, const hn_tv *v, bool *yes) {
    const struct {
        const char *name;
        bool yes;
    } row[] = {
        {"defined", v->kind != HN_TV_UNDEFINED},
        {"undefined", v->kind == HN_TV_UNDEFINED},
        {"none", v->kind == HN_TV_NONE},
        {"string", v->kind == HN_TV_TEXT},
        {"mapping", v->kind == HN_TV_DICT},
        {"iterable",
         v->kind == HN_TV_TEXT || v->kind == HN_TV_LIST || v->kind == HN_TV_DICT || v->kind == HN_TV_UNDEFINED},
        {"sequence",
         v->kind == HN_TV_TEXT || v->kind == HN_TV_LIST || v->kind == HN_TV_DICT || v->kind == HN_TV_UNDEFINED},
        {"number", hn_tv_is_number(v)},
        {"integer", v->kind == HN_TV_INT},
        {"float", v->kind == HN_TV_FLOAT},
        {"boolean", v->kind == HN_TV_BOOL},
        {"true", v->kind == HN_TV_BOOL && v->i},
        {"false", v->kind == HN_TV_BOOL && !v->i},
        {"callable", v->kind == HN_TV_MACRO || v->kind == HN_TV_NAMED},
        {"upper", all_cased(v, true)},
        {"lower", all_cased(v, false)},
        {"odd", hn_tv_is_number(v) && v->kind != HN_TV_FLOAT && v->i % 2},
        {"even", hn_tv_is_number(v) && v->kind != HN_TV_FLOAT && v->i % 2 == 0},
    };
    for (size_t i = 0; i < COUNT(row); i++)
        if (!strcmp(row[i].name, name)) return *yes = row[i].yes, true;
    return false;
}

static bool one_of(const char *name, const char *words) {
    const char *at = strstr(words, name);
    size_t n = strlen(name);
    return at && (at == words || at[-1] == ' ') && (!at[n] || at[n] == ' ');
}

bool hn_t_test(hn_trun *r, const hn_tnode *n, const char *name, const hn_tv *v, const hn_targs *args) {
    bool yes = false;
    if (kind_test(name, v, &yes)) return yes;
    const hn_tv *other = hn_t_arg(args, 0, "");
    if (!other) {
        hn_t_fail(r, n->line, "the test '%s' is not known, or lacks a value", name);
        return false;
    }
    if (one_of(name, "equalto eq sameas")) return hn_tv_equal(r, v, other);
    if (!strcmp(name, "ne")) return !hn_tv_equal(r, v, other);
    if (one_of(name, "lt lessthan")) return hn_tv_order(r, v, other) < 0;
    if (!strcmp(name, "le")) return hn_tv_order(r, v, other) <= 0;
    if (one_of(name, "gt greaterthan")) return hn_tv_order(r, v, other) > 0;
    if (!strcmp(name, "ge")) return hn_tv_order(r, v, other) >= 0;
    if (!strcmp(name, "divisibleby") && v->kind == HN_TV_INT && other->kind == HN_TV_INT && other->i)
        return hn_tv_modulo(v->i, other->i) == 0;
    if (!strcmp(name, "in")) {
        hn_tv items = other->kind == HN_TV_TEXT ? (hn_tv){0} : hn_tv_items(r, other);
        if (other->kind == HN_TV_TEXT) return v->kind == HN_TV_TEXT && memmem(other->text, other->n, v->text, v->n);
        for (size_t i = 0; !r->rc && i < items.list->n; i++)
            if (hn_tv_equal(r, v, &items.list->item[i])) return true;
        return false;
    }
    hn_t_fail(r, n->line, "the test '%s' is not known", name);
    return false;
}
