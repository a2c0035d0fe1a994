/* controls/import.c — maps the point of a controls file into a workload's present space, completely or as far as
 * possible. */
#include "base/err.h"
#include "base/options.h"
#include "controls/key.h"
#include "record/controls_file.h"
#include "space/withheld.h"
#include "tune/plan.h"

#include <hone/check.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct importer {
    const hone_controls *c;
    const hn_plan *plan;
    size_t target;
    json_t *point; /* in today's names */
    hn_str gone;   /* one line for each gene that the space no longer has */
} importer;

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory importing controls"); }

static void drop(importer *m, const char *name, const char *value, const char *why) {
    hn_str_addf(&m->gone, "%s%s = %s: %s", m->gone.n ? "\n" : "", name, value, why);
}

/* The compiler of the same command, else the first of the same family. */
static bool find_target(importer *m) {
    const char *family = hn_pair_get(m->c->tool, m->c->n_tool, "family");
    for (size_t t = 0; t < m->plan->n_targets; t++)
        if (!strcmp(m->plan->w->compiler[t], m->c->compiler)) return m->target = t, true;
    for (size_t t = 0; family && t < m->plan->n_targets; t++)
        if (!strcmp(hone_target_fingerprint(m->plan->target[t])->family, family)) return m->target = t, true;
    return false;
}

/* Takes a gene over if the space has it with this value. */
static hone_rc take(importer *m, double *scratch, const char *name, json_t *value, const char *shown, hone_err *err) {
    hone_err why = {0};
    json_t *one = json_pack("{sO}", name, value);
    char *text = one ? json_dumps(one, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(one);
    if (!text) return nomem(err);
    hone_rc rc = hone_point_from_json(m->plan->space, text, scratch, &why);
    free(text);
    if (rc == HONE_E_NOMEM) return nomem(err);
    char *dumped = rc ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    bool unknown = hone_space_find(m->plan->space, name) == SIZE_MAX && !hn_space_withheld(m->plan->space, name);
    if (rc) drop(m, shown, dumped ? dumped : "?", unknown ? "the space has no such parameter" : why.text);
    free(dumped);
    if (!rc && json_object_set(m->point, name, value)) return nomem(err);
    return HONE_OK;
}

static hone_rc add_choice(importer *m, double *scratch, const char *name, const char *value, hone_err *err) {
    if (hone_space_find(m->plan->space, name) == SIZE_MAX) return HONE_OK;
    json_t *text = json_string(value);
    hone_rc rc = text ? take(m, scratch, name, text, name, err) : nomem(err);
    json_decref(text);
    return rc;
}

/* Genes of the driver itself, which are set from what the file says of compiler and contract. */
static bool is_choice(const hone_controls *c, const char *name, const json_t *value) {
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    return (!strcmp(name, "compiler") && !strcmp(text, c->compiler)) ||
           (!strcmp(name, "fp") && !strcmp(text, c->floating_point));
}

static hone_rc take_genes(importer *m, double *scratch, json_t *old, hone_err *err) {
    hn_arena a = {0};
    const char *prefix = hn_controls_prefix(&a, m->c->compiler), *name;
    json_t *value;
    hone_rc rc = prefix ? HONE_OK : nomem(err);
    json_object_foreach(old, name, value) {
        if (rc || is_choice(m->c, name, value)) continue;
        const char *own = hn_starts_with(name, prefix) ? name + strlen(prefix) : NULL;
        const char *full = own ? hn_format(&a, "%s.%s", m->plan->prefix[m->target], own) : name;
        rc = full ? take(m, scratch, full, value, own ? own : name, err) : nomem(err);
    }
    hn_arena_free(&a);
    return rc;
}

/* The contract has a gene only where the workload offers several. */
static void check_contract(importer *m) {
    const hone_workload *w = m->plan->w;
    if (m->plan->i_fp == SIZE_MAX && *m->c->floating_point &&
        strcmp(m->c->floating_point, hone_fp_name(w->fp_baseline)))
        drop(m, "floating_point", m->c->floating_point,
             "the workload's own contract is another, and it offers no choice");
}

static hone_rc take_all(importer *m, double *point, hone_err *err) {
    json_error_t at;
    json_t *old = json_loads(m->c->point, 0, &at);
    hone_rc rc = old ? HONE_OK : hn_fail(err, HONE_E_INPUT, "the point of '%s' is no JSON: %s", m->c->name, at.text);
    if (rc) return rc;
    bool has = find_target(m);
    if (!has) drop(m, "compiler", m->c->compiler, "the workload offers no compiler of its family");
    if (has) rc = add_choice(m, point, "compiler", m->plan->w->compiler[m->target], err);
    if (!rc) rc = add_choice(m, point, "fp", m->c->floating_point, err);
    check_contract(m);
    if (!rc) rc = take_genes(m, point, old, err);
    json_decref(old);
    return rc;
}

/* The point from what was taken over, canonical. */
static hone_rc settle(importer *m, double *point, hone_err *err) {
    hone_err why = {0};
    char *text = json_dumps(m->point, JSON_COMPACT | JSON_REAL_PRECISION(17));
    hone_rc rc = text ? hone_point_from_json(m->plan->space, text, point, err) : nomem(err);
    free(text);
    if (!rc && !hone_point_legal(m->plan->space, point, &why)) drop(m, "constraint", "false", why.text);
    return rc;
}

static hone_rc import(const hone_controls *c, const hone_workload *w, const hone_prove_options *options, char **json,
                      char **gone, hone_err *err) {
    importer m = {.c = c, .point = json_object()};
    hone_prove_options given = hone_prove_defaults();
    hone_tune_options o = hone_tune_defaults();
    hn_plan *plan = NULL;
    double *point = NULL;
    hone_rc rc = m.point ? hn_options_read(&given, sizeof given, options, "prove", err) : nomem(err);
    o.cache_dir = given.cache_dir;
    if (!rc) rc = hn_plan_open(w, &o, NULL, &plan, err);
    if (!rc) {
        m.plan = plan;
        point = calloc(hone_space_slots(plan->space) + 1, sizeof *point);
        rc = point ? take_all(&m, point, err) : nomem(err);
    }
    if (!rc) rc = settle(&m, point, err);
    if (!rc) rc = hone_point_to_json(plan->space, point, json, err);
    if (!rc && !(*gone = hn_str_take(&m.gone))) {
        hone_free(*json);
        rc = nomem(err);
    }
    hn_str_free(&m.gone);
    free(point);
    json_decref(m.point);
    hn_plan_close(plan);
    return rc;
}

hone_rc hone_controls_point(const hone_controls *c, const hone_workload *workload, const hone_prove_options *options,
                            char **point, hone_err *err) {
    char *json = NULL, *gone = NULL;
    hone_rc rc = import(c, workload, options, &json, &gone, err);
    if (rc) return rc;
    if (*gone) {
        for (char *p = gone; *p; p++)
            if (*p == '\n') *p = ';';
        rc = hn_fail(err, HONE_E_MISMATCH, "these controls do not fit workload '%s' as it is now: %.700s",
                     hone_workload_name(workload), gone);
        hone_free(json);
    } else
        *point = json;
    free(gone);
    return rc;
}

hone_rc hone_controls_nearest(const hone_controls *c, const hone_workload *workload, const hone_prove_options *options,
                              char **point, char **dropped, hone_err *err) {
    char *json = NULL, *gone = NULL;
    hone_rc rc = import(c, workload, options, &json, &gone, err);
    if (rc) return rc;
    *point = json;
    *dropped = gone;
    return HONE_OK;
}
