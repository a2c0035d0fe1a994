/* controls/check.c — is a controls file still valid? Checks the seal, then the response file, then each part of the key
 * against its present state. */
#include "controls/check.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/options.h"
#include "record/controls_file.h"
#include "tune/host.h"

#include <hone/check.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory checking a controls file"); }

static const char *const status_name[HONE_N_CHECK] = {"valid", "stale", "regressed", "tampered", "broken"};

const char *hone_check_name(hone_check_status status) {
    return (unsigned)status < HONE_N_CHECK ? status_name[status] : "unknown";
}

static void set_status(hn_checker *k, hone_check_status status, const char *text) {
    k->status = status;
    k->text = hn_strdup(k->a, text);
}

/* --- the file itself ------------------------------------------------------------------------------------------- */

/* A later format is reported as stale, since this hone cannot read it. */
static void judge_unreadable(hn_checker *k, const char *text, size_t n, hone_rc rc, const hone_err *why) {
    int format = text ? hn_controls_format(text, n) : 0;
    if (rc == HONE_E_TAMPERED) {
        set_status(k, HONE_CHECK_TAMPERED, why->text);
    } else if (rc == HONE_E_INPUT && format > HONE_CONTROLS_FORMAT) {
        hn_differ(&k->diff, "format", "controls file", hn_format(k->a, "%d", format),
                  hn_format(k->a, "%d", HONE_CONTROLS_FORMAT));
        set_status(k, HONE_CHECK_STALE, why->text);
    } else {
        set_status(k, HONE_CHECK_BROKEN, why->text);
    }
}

static hone_rc read_file(hn_checker *k, hone_err *err) {
    hone_err why = {0};
    char *text = NULL;
    size_t n = 0;
    hone_rc rc = hone_controls_read(k->path, &k->c, &why);
    if (rc == HONE_OK) return HONE_OK;
    if (rc == HONE_E_NOMEM) return nomem(err);
    if (rc != HONE_E_IO && hn_read_file(k->path, &text, &n, NULL)) text = NULL;
    judge_unreadable(k, text, n, rc, &why);
    free(text);
    return HONE_OK;
}

/* With a key asked for, only a file signed with it passes. */
static hone_rc check_signature(hn_checker *k, hone_err *err) {
    hone_err why = {0};
    if (!k->o->public_key) return HONE_OK;
    hone_rc rc = hn_signer_check(k->c, k->path, k->o->public_key, &why);
    if (rc == HONE_E_MISMATCH || rc == HONE_E_NOTFOUND)
        set_status(k, HONE_CHECK_TAMPERED, why.text);
    else if (rc) /* the key file */
        return hn_fail(err, rc, "%s", why.text);
    return HONE_OK;
}

static hone_rc check_response(hn_checker *k, hone_err *err) {
    hone_err why = {0};
    hone_rc rc = hn_rsp_check(k->c, k->path, &why);
    if (rc == HONE_E_NOMEM) return nomem(err);
    if (rc == HONE_OK || k->status == HONE_CHECK_TAMPERED) return HONE_OK;
    if (rc == HONE_E_TAMPERED) {
        hn_differ(&k->diff, "response file", "flags", "as in the controls file", "changed");
        set_status(k, HONE_CHECK_TAMPERED, why.text);
    } else if (rc == HONE_E_INPUT) {
        set_status(k, HONE_CHECK_BROKEN, why.text);
    } else {
        hn_differ(&k->diff, "response file", "file", "beside the controls file",
                  rc == HONE_E_NOTFOUND ? "missing" : why.text);
    }
    return HONE_OK;
}

/* --- the world of today ---------------------------------------------------------------------------------------- */

static char *workload_path(const hn_checker *k) {
    if (k->o->workload) return strdup(k->o->workload);
    const char *slash = strrchr(k->path, '/');
    char *dir = slash ? strndup(k->path, slash == k->path ? 1 : (size_t)(slash - k->path)) : strdup(".");
    char *path = !dir ? NULL : strcmp(dir, ".") ? hn_path_join(dir, k->c->workload) : strdup(k->c->workload);
    free(dir);
    return path;
}

/* Without a workload the recorded sources can still be looked at, where they lie beside it. */
static void check_bare_sources(hn_checker *k, const char *workload) {
    const char *slash = strrchr(workload, '/');
    char *dir = strndup(workload, slash ? (size_t)(slash - workload) : 0);
    for (size_t i = 0; dir && i < k->c->n_sources; i++) {
        char hex[33] = "missing", *path = hn_path_join(dir, k->c->source[i].name);
        if (path && hn_exists(path) && hn_hash_file(path, hex, NULL)) strcpy(hex, "unreadable");
        if (strcmp(hex, k->c->source[i].value) != 0)
            hn_differ(&k->diff, "source", k->c->source[i].name, k->c->source[i].value, hex);
        free(path);
    }
    free(dir);
}

static hone_rc today_workload(hn_checker *k, hone_controls *now, hone_err *err) {
    hone_err why = {0};
    char *path = workload_path(k);
    if (!path) return nomem(err);
    hone_rc rc = hone_workload_load(path, &k->w, &why);
    if (rc == HONE_OK) {
        rc = hn_key_workload(k->w, now, k->a, &why);
        if (!rc) rc = hn_key_sources(k->w, now, k->a, &why);
    } else if (rc != HONE_E_NOMEM) {
        hn_differ(&k->diff, "workload", "file", k->c->workload, why.text);
        check_bare_sources(k, path);
        rc = HONE_OK;
    }
    free(path);
    return rc ? hn_fail(err, rc, "%s", why.text) : HONE_OK;
}

/* *had false: they are not available today, which is recorded as a difference. */
static hone_rc today_tools(hn_checker *k, hone_controls *now, bool *had, hone_err *err) {
    hone_err why = {0};
    hone_rc rc = hn_key_tools(k->w ? k->w->compiler[0] : NULL, now, k->a, k->o->prove->cache_dir, &why);
    *had = rc == HONE_OK;
    if (!k->w) { /* the baseline's compiler is unknown, which is not a difference */
        now->baseline_tool = k->c->baseline_tool;
        now->n_baseline_tool = k->c->n_baseline_tool;
    }
    if (rc == HONE_OK) return HONE_OK;
    if (rc != HONE_E_TOOL) return hn_fail(err, rc, "%s", why.text);
    hn_differ(&k->diff, now->n_tool ? "baseline" : "compiler", "command", k->c->compiler, why.text);
    return HONE_OK;
}

static hone_rc check_key(hn_checker *k, hone_err *err) {
    hone_controls now = {.format = HONE_CONTROLS_FORMAT, .compiler = k->c->compiler, .baseline = ""};
    hone_machine machine;
    const char *skip[4] = {NULL};
    size_t n = 0;
    bool tools;
    hone_rc rc = today_workload(k, &now, err);
    if (!rc) rc = today_tools(k, &now, &tools, err);
    if (!rc) rc = hn_key_post_link(k->c, &now, k->a, err);
    if (!rc) rc = hn_key_passes(k->c, &now, k->a, err);
    if (!rc && k->w)
        rc = hn_host_machine(k->w, NULL, &machine, err);
    else
        hone_machine_get(&machine);
    if (!rc) rc = hn_key_machine(&machine, k->w ? hn_host_gpus(k->w, k->a) : NULL, &now, k->a, err);
    if (rc) return rc;
    if (!k->w) skip[n++] = "workload", skip[n++] = "source";
    if (!tools) skip[n++] = "compiler";
    hn_key_compare(k->c, &now, skip, &k->diff);
    return HONE_OK;
}

/* --- parts that do not count ----------------------------------------------------------------------------------- */

/* A name of the list at *at, and *at moved behind it; false at the end. */
static bool next_name(const char **at, char name[64]) {
    const char *s = *at + strspn(*at, ", ");
    size_t n = strcspn(s, ","), len = n;
    if (!n) return false;
    while (len && s[len - 1] == ' ') len--;
    snprintf(name, 64, "%.*s", (int)(len < 63 ? len : 63), s);
    *at = s + n;
    return true;
}

static hone_rc check_ignored(const char *list, hone_err *err) {
    static const char *const part[] = {"source",   "workload", "input",  "space",     "baseline", "floating point",
                                       "compiler", "cpu",      "driver", "post link", "passes"};
    char name[64];
    size_t n = sizeof part / sizeof *part;
    while (list && next_name(&list, name)) {
        size_t i = 0;
        while (i < n && strcmp(name, part[i]) != 0) i++;
        const char *near = i < n ? NULL : hn_nearest(name, part, n);
        if (near) return hn_fail(err, HONE_E_INPUT, "there is no part '%s' to ignore; did you mean '%s'?", name, near);
        if (i == n)
            return hn_fail(err, HONE_E_INPUT,
                           "there is no part '%s' to ignore; there are: source, workload, input, space, baseline, "
                           "floating point, compiler, cpu, driver, post link, passes",
                           name);
    }
    return HONE_OK;
}

static bool ignored(const char *list, const char *part) {
    char name[64];
    while (list && next_name(&list, name))
        if (!strcmp(name, part)) return true;
    return false;
}

static void drop_ignored(hn_checker *k) {
    size_t n = 0;
    for (size_t i = 0; i < k->diff.n; i++)
        if (!ignored(k->o->ignore, k->diff.item[i].part)) k->diff.item[n++] = k->diff.item[i];
    k->diff.n = n;
}

/* --- the whole ------------------------------------------------------------------------------------------------- */

/* "2 parts differ: source 'softmax.c', compiler 'hash'" */
static const char *sentence(const hn_checker *k) {
    enum { SHOWN = 8 };
    const hn_differences *d = &k->diff;
    hn_str s = {0};
    if (!d->n) hn_str_addf(&s, "nothing that counts has changed since: %s", k->c ? k->c->verdict : "");
    if (d->n) hn_str_addf(&s, "%zu part%s: ", d->n, d->n == 1 ? " differs" : "s differ");
    for (size_t i = 0; i < d->n && i < SHOWN; i++)
        hn_str_addf(&s, "%s%s '%s'", i ? ", " : "", d->item[i].part, d->item[i].what);
    if (d->n > SHOWN) hn_str_addf(&s, " and %zu more", d->n - SHOWN);
    if (k->o->ignore) hn_str_addf(&s, " (not looked at: %s)", k->o->ignore);
    char *text = hn_str_take(&s);
    const char *kept = text ? hn_strdup(k->a, text) : NULL;
    if (!kept) k->a->failed = true;
    free(text);
    return kept;
}

static hone_rc judge(hn_checker *k, hone_err *err) {
    hone_rc rc = check_ignored(k->o->ignore, err);
    if (!rc) rc = read_file(k, err);
    if (rc || !k->c) return rc;
    rc = check_signature(k, err);
    if (!rc) rc = check_response(k, err);
    if (rc || k->status == HONE_CHECK_TAMPERED || k->status == HONE_CHECK_BROKEN) return rc;
    rc = check_key(k, err);
    drop_ignored(k);
    if (!rc && k->diff.n) k->status = HONE_CHECK_STALE;
    if (!rc && k->o->measure) rc = hn_check_measure(k, err);
    return rc;
}

hone_rc hone_check_controls(const char *path, const hone_check_options *options, hone_check_result *out,
                            hone_err *err) {
    hone_check_options o = hone_check_defaults();
    hone_prove_options prove = hone_prove_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "check", err);
    if (!rc) rc = hn_options_read(&prove, sizeof prove, o.prove, "prove", err);
    if (rc) return rc;
    o.prove = &prove;
    hn_arena *a = calloc(1, sizeof *a);
    if (!a) return nomem(err);
    hn_checker k = {.path = path, .o = &o, .a = a, .diff = {.a = a}};
    k.gain = (hone_interval){(double)NAN, (double)NAN, (double)NAN};
    rc = judge(&k, err);
    if (!rc && !k.text) k.text = sentence(&k);
    if (!rc && !hn_arena_ok(a)) rc = nomem(err);
    hone_workload_free(k.w);
    hone_controls_free(k.c);
    if (rc) {
        hn_arena_free(a);
        free(a);
        return rc;
    }
    *out = (hone_check_result){.status = k.status,
                               .difference = k.diff.item,
                               .n_differences = k.diff.n,
                               .gain = k.gain,
                               .text = k.text,
                               .block = a};
    return HONE_OK;
}

void hone_check_free(hone_check_result *result) {
    if (!result || !result->block) return;
    hn_arena_free(result->block);
    free(result->block);
    *result = (hone_check_result){0};
}
