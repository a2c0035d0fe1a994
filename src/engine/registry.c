/* engine/registry.c — the list of engines and their options. Adding an engine: docs/how-to-add-an-engine.md. */
#include "engine/engine_int.h"

#include "base/err.h"
#include "base/locale.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const hn_engine *const hn_engines[] = {
    &hn_engine_auto,  &hn_engine_random, &hn_engine_evolve,
    &hn_engine_nsga2, &hn_engine_forest, &hn_engine_lfbo,
    &hn_engine_gp,    &hn_engine_ridge,  NULL,
};

bool hone_engine_at(size_t i, hone_engine_info *out) {
    if (i >= sizeof hn_engines / sizeof *hn_engines - 1) return false;
    *out = (hone_engine_info){hn_engines[i]->name, hn_engines[i]->summary, hn_engines[i]->options};
    return true;
}

const hn_engine *hn_engine_find(const char *name, hone_err *err) {
    const char *names[sizeof hn_engines / sizeof *hn_engines];
    size_t n = 0;
    if (!name) name = "auto";
    for (; hn_engines[n]; n++) {
        names[n] = hn_engines[n]->name;
        if (!strcmp(names[n], name)) return hn_engines[n];
    }
    const char *near = hn_nearest(name, names, n);
    if (near)
        hn_fail(err, HONE_E_NOTFOUND, "unknown engine '%s', did you mean '%s'?", name, near);
    else
        hn_fail(err, HONE_E_NOTFOUND, "unknown engine '%s': 'hone engines' lists them", name);
    return NULL;
}

static hone_rc set_option(const hn_engine *e, const char *text, double *out, hone_err *err) {
    const char *eq = strchr(text, '=');
    size_t n = 0, len = eq ? (size_t)(eq - text) : strlen(text);
    const char *names[HN_MAX_OPTIONS];
    for (const hn_option *o = e->option; o && o->name; o++, n++) {
        names[n] = o->name;
        if (strlen(o->name) != len || strncmp(o->name, text, len)) continue;
        char *end = NULL;
        double v = eq ? hn_strtod(eq + 1, &end) : 0;
        if (!eq || end == eq + 1 || *end || !(v >= o->lo && v <= o->hi))
            return hn_fail(err, HONE_E_USAGE,
                           "option '%s' of engine '%s' must be a number from %g to %g, as in '%s=%g'", o->name, e->name,
                           o->lo, o->hi, o->name, o->dflt);
        out[n] = v;
        return HONE_OK;
    }
    char name[64] = "";
    memcpy(name, text, len < sizeof name ? len : sizeof name - 1);
    const char *near = hn_nearest(name, names, n);
    if (near)
        return hn_fail(err, HONE_E_USAGE, "engine '%s' has no option '%s', did you mean '%s'?", e->name, name, near);
    return hn_fail(err, HONE_E_USAGE, "engine '%s' has no option '%s'; it has: %s", e->name, name,
                   n ? e->options : "none");
}

hone_rc hn_engine_options(const hn_engine *e, const char *const *texts, double *out, hone_err *err) {
    size_t n = 0;
    for (const hn_option *o = e->option; o && o->name; o++) out[n++] = o->dflt;
    for (; texts && *texts; texts++) {
        hone_rc rc = set_option(e, *texts, out, err);
        if (rc) return rc;
    }
    return HONE_OK;
}
