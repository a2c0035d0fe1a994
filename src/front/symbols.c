/* symbols.c — symbolic sizes: a file may call one anything; the symbol's name is an identifier made of that. */
#include "base/err.h"
#include "front/front.h"

#include <stdlib.h>
#include <string.h>

static bool name_char(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

static const char *identifier(hn_arena *a, const char *text) {
    static const char *const taken[] = {"floordiv", "mod", "min", "max"};
    char *name = hn_format(a, "%s%.60s", name_char(text[0], true) ? "" : "d", text);
    if (!name) return "d";
    for (char *p = name; *p; p++)
        if (!name_char(*p, p == name)) *p = '_';
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (!strcmp(name, taken[i])) return hn_format(a, "%s_", name);
    return name;
}

hn_dim hn_symbol_options_dim(hn_symbol_options *o, hn_arena *a, hn_dims *dims, const char *text) {
    const char *name = identifier(a, text);
    int64_t low = 0, high = INT64_MAX;
    for (size_t i = 0; i < o->n && name; i++) {
        if (strcmp(o->option[i].name, text) && strcmp(o->option[i].name, name)) continue;
        o->option[i].used = true;
        low = o->option[i].low, high = o->option[i].high;
    }
    if (!name) return 0;
    return low == high ? hn_dim_int(dims, low) : hn_dim_symbol(dims, name, low, high);
}

static bool read_bound(const char **p, int64_t *out) {
    char *end;
    if (**p < '0' || **p > '9') return false;
    long long x = strtoll(*p, &end, 10);
    *p = end;
    *out = x;
    return x < INT64_MAX;
}

static hone_rc read_option(hn_arena *a, const char *text, hn_symbol_option *out, hone_err *err) {
    const char *eq = strrchr(text, '='), *p = eq ? eq + 1 : "";
    bool good = eq && eq > text && read_bound(&p, &out->low);
    out->high = out->low;
    if (good && *p == ':') {
        p++;
        if (*p)
            good = read_bound(&p, &out->high);
        else
            out->high = INT64_MAX;
    }
    if (!good || *p || out->low > out->high)
        return hn_fail(err, HONE_E_USAGE, "'%s': a dimension is set as name=size or name=smallest:largest", text);
    out->name = hn_strndup(a, text, (size_t)(eq - text));
    return out->name ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_symbol_options_read(hn_arena *a, const hone_import_options *o, hn_symbol_options *out, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (!o->n_symbol) return HONE_OK;
    if (!(out->option = HN_NEW_N(a, hn_symbol_option, o->n_symbol))) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < o->n_symbol && !rc; i++) rc = read_option(a, o->symbol[i], &out->option[out->n++], err);
    return rc;
}

hone_rc hn_symbol_options_check(const hn_symbol_options *o, hn_arena *a, const char *const *name, size_t n,
                                hone_err *err) {
    for (size_t i = 0; i < o->n; i++) {
        const char *asked = o->option[i].name, *near = hn_nearest(asked, name, n);
        if (o->option[i].used) continue;
        if (!n) return hn_fail(err, HONE_E_USAGE, "'%s': the model has no symbolic dimension", asked);
        return hn_fail(err, HONE_E_USAGE, "the model has no dimension '%s'; %s '%s'", asked,
                       near ? "did you mean" : "one that it has is", hn_shown(a, near ? near : name[0]));
    }
    return HONE_OK;
}
