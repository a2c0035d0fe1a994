/* session.c — reading a record: the session asked for, its goals, baseline and best trial, differences of points. */
#include "session.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *cli_store_dir(const cli *c, const char *workload) {
    const char *given = cli_text(c, "store", NULL), *slash = strrchr(workload, '/');
    if (given) return cli_strdup(given);
    return slash ? cli_format("%.*s/.hone", (int)(slash - workload), workload) : cli_strdup(".hone");
}

hone_rc cli_store_open(const cli *c, cli_record *out, hone_err *err) {
    struct stat st;
    cli_record r = {.workload = cli_strdup(cli_text(c, "workload", "hone.yaml"))};
    r.dir = cli_store_dir(c, r.workload);
    hone_rc rc = HONE_OK;
    if (stat(r.dir, &st))
        rc = cli_fail(err, HONE_E_NOTFOUND,
                      "there is no record at '%s'; `hone tune` makes one, --workload or --store name another place",
                      r.dir);
    if (!rc) rc = hone_store_open(r.dir, false, &r.store, err);
    if (rc)
        cli_record_close(&r);
    else
        *out = r;
    return rc;
}

/* [{"expr": "p50(latency)", "direction": "minimize"}, ...] */
static void read_goals(cli_record *r) {
    json_t *all = json_loads(r->session.objectives, 0, NULL);
    size_t i;
    json_t *one;
    json_array_foreach(all, i, one) {
        const char *expr = json_string_value(json_object_get(one, "expr"));
        const char *direction = json_string_value(json_object_get(one, "direction"));
        if (r->n_goals == HONE_MAX_OBJECTIVES) break;
        r->goal[r->n_goals++] =
            (cli_goal){cli_strdup(expr ? expr : "objective"), direction && strcmp(direction, "maximize") == 0};
    }
    json_decref(all);
}

bool cli_feasible(const hone_trial *t) {
    if (t->outcome.cls != HONE_RUN_OK || t->suspect) return false;
    for (size_t i = 0; i < t->n_constraints && i < HONE_MAX_CONSTRAINTS; i++)
        if (t->outcome.violation[i] > 0) return false;
    return isfinite(t->outcome.value[0]);
}

bool cli_better(const cli_record *r, const hone_trial *a, const hone_trial *b) {
    double x = a->outcome.value[0], y = b->outcome.value[0];
    return r->n_goals && r->goal[0].maximize ? x > y : x < y;
}

double cli_gain(const cli_record *r, const hone_trial *t, size_t k) {
    if (!r->baseline || k >= r->n_goals || t->outcome.cls != HONE_RUN_OK) return NAN;
    double base = r->baseline->outcome.value[k], x = t->outcome.value[k];
    if (!(base > 0) || !(x > 0)) return NAN;
    return r->goal[k].maximize ? x / base : base / x;
}

/* What the closing race measured on fresh builds outranks what the search measured, which is biased. */
static void find_best(cli_record *r) {
    bool raced = false;
    for (size_t i = 0; i < r->trials.n; i++) {
        const hone_trial *t = &r->trials.trial[i];
        bool race = strcmp(t->phase, "race") == 0;
        if (strcmp(t->phase, "baseline") == 0)
            r->baseline = t;
        else if (!cli_feasible(t) || (raced && !race))
            continue;
        else if (!r->best || (race && !raced) || cli_better(r, t, r->best))
            r->best = t;
        raced |= race && r->best == t;
    }
}

static hone_rc session_id(const cli *c, int64_t *id, hone_err *err) {
    uint64_t n;
    *id = 0;
    if (!c->n_args) return HONE_OK;
    if (!cli_parse_count(c->arg[0], &n) || n == 0 || n > INT64_MAX)
        return cli_fail(err, HONE_E_USAGE,
                        "'%s' is not a session: sessions are numbered from 1, `hone status --all` "
                        "lists them",
                        c->arg[0]);
    *id = (int64_t)n;
    return HONE_OK;
}

static hone_rc load(cli_record *r, int64_t id, bool with_samples, hone_err *err) {
    hone_rc rc = hone_session_get(r->store, id, NULL, &r->session, err);
    if (!rc) rc = hone_trials_load(r->store, r->session.id, with_samples, &r->trials, err);
    if (!rc) rc = hone_session_effects(r->store, r->session.id, &r->effects, err);
    if (!rc) rc = hone_session_fact(r->store, r->session.id, "unread", &r->unread, err);
    if (!rc) rc = hone_session_fact(r->store, r->session.id, "objects", &r->objects, err);
    if (rc) return rc;
    read_goals(r);
    find_best(r);
    return HONE_OK;
}

hone_rc cli_record_open(const cli *c, bool with_samples, cli_record *out, hone_err *err) {
    cli_record r = {0};
    int64_t id;
    hone_rc rc = session_id(c, &id, err);
    if (!rc) rc = cli_store_open(c, &r, err);
    if (rc) return rc;
    rc = load(&r, id, with_samples, err);
    if (rc)
        cli_record_close(&r);
    else
        *out = r;
    return rc;
}

hone_rc cli_record_load(const char *dir, int64_t id, cli_record *out, hone_err *err) {
    cli_record r = {.dir = cli_strdup(dir)};
    hone_rc rc = hone_store_open(dir, false, &r.store, err);
    if (!rc) rc = load(&r, id, false, err);
    if (rc)
        cli_record_close(&r);
    else
        *out = r;
    return rc;
}

void cli_record_close(cli_record *r) {
    for (size_t i = 0; i < r->n_goals; i++) free(r->goal[i].expr);
    hone_trials_free(&r->trials);
    hone_session_free(&r->session);
    hone_session_effects_free(&r->effects);
    hone_free(r->unread);
    hone_free(r->objects);
    hone_store_close(r->store);
    free(r->dir);
    free(r->workload);
    *r = (cli_record){0};
}

size_t cli_count_classes(const cli_record *r, size_t n_class[HONE_N_CLASSES], size_t *n_reused) {
    size_t n = 0;
    memset(n_class, 0, HONE_N_CLASSES * sizeof *n_class);
    *n_reused = 0;
    for (size_t i = 0; i < r->trials.n; i++) {
        const hone_trial *t = &r->trials.trial[i];
        if (strcmp(t->phase, "search") != 0) continue;
        n++;
        n_class[t->outcome.cls]++;
        *n_reused += t->same_as != 0;
    }
    return n;
}

char *cli_failures_text(const size_t n_class[HONE_N_CLASSES]) {
    char *text = NULL;
    size_t size = 0;
    const char *gap = "";
    FILE *f = open_memstream(&text, &size);
    if (!f) return cli_strdup("");
    for (int i = HONE_RUN_OK + 1; i < HONE_N_CLASSES; i++)
        if (n_class[i])
            fprintf(f, "%s%zu %s", gap, n_class[i], hone_outcome_class_name((hone_outcome_class)i)), gap = ", ";
    fclose(f);
    return text;
}

/* --- points --------------------------------------------------------------------------------------------------- */

/* A value as people write it: on, off, 16, avx2, [b, a]. */
static void put_value(FILE *f, const json_t *v) {
    if (json_is_boolean(v))
        fputs(json_is_true(v) ? "on" : "off", f);
    else if (json_is_string(v))
        fputs(json_string_value(v), f);
    else if (json_is_integer(v))
        fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v))
        fprintf(f, "%.6g", json_real_value(v));
    else if (json_is_array(v)) {
        for (size_t i = 0; i < json_array_size(v); i++) fputs(i ? ", " : "[", f), put_value(f, json_array_get(v, i));
        fputc(']', f);
    }
}

static void put_delta(FILE *f, json_t *point, json_t *base, bool plain) {
    const char *name, *gap = "";
    json_t *value;
    json_object_foreach(point, name, value) {
        const json_t *old = json_object_get(base, name);
        if ((plain && strchr(name, '.')) || (old && json_equal(value, old))) continue;
        fprintf(f, "%s%s=", gap, name);
        put_value(f, value);
        gap = " ";
    }
    json_object_foreach(base, name, value) {
        if ((plain && strchr(name, '.')) || json_object_get(point, name)) continue;
        fprintf(f, "%s%s=absent", gap, name);
        gap = " ";
    }
}

char *cli_point_delta(const char *point, const char *base, bool plain) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return cli_strdup("");
    json_t *p = json_loads(point, 0, NULL), *b = base ? json_loads(base, 0, NULL) : NULL;
    put_delta(f, p, b, plain);
    json_decref(p);
    json_decref(b);
    fclose(f);
    return text;
}

hone_rc cli_workload_load(const char *path, hone_workload **out, hone_err *err) {
    if (!strcmp(path, "hone.yaml") && access(path, F_OK))
        return cli_fail(err, HONE_E_IO,
                        "there is no 'hone.yaml' here; `hone init` writes one, or name a workload file");
    return hone_workload_load(path, out, err);
}

void cli_effects_json(cli_json *j, const hone_effects *effects) {
    cli_json_key(j, "effects");
    cli_json_array(j);
    for (size_t i = 0; i < effects->n; i++) {
        const hone_effect *e = &effects->effect[i];
        cli_json_object(j);
        cli_json_ktext(j, "choice", e->choice);
        cli_json_ktext(j, "value", e->value);
        cli_json_ktext(j, "against", e->against);
        cli_json_ktext(j, "words", e->words);
        cli_json_knumber(j, "gain", e->gain);
        cli_json_knumber(j, "lo", e->lo);
        cli_json_knumber(j, "hi", e->hi);
        cli_json_kcount(j, "trials", (uint64_t)e->n_trials);
        cli_json_kcount(j, "failed", (uint64_t)e->n_failed);
        cli_json_close(j);
    }
    cli_json_close(j);
}
