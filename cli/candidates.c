/* candidates.c — choosing among the trials of a session. */
#include "candidates.h"

#include <hone/check.h>
#include <hone/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the search claims of a candidate is not known yet. */
static cli_candidate *add(cli_candidates *x, char *point, int64_t trial) {
    size_t room = x->n + 1;
    const char **list = realloc(x->point, room * sizeof *list);
    cli_candidate *one = realloc(x->one, room * sizeof *one);
    if (!list || !one) abort();
    x->point = list;
    x->one = one;
    x->point[x->n] = point;
    cli_candidate *c = &x->one[x->n++];
    c->trial = trial;
    for (size_t k = 0; k < HONE_MAX_OBJECTIVES; k++) c->claimed[k] = NAN;
    return c;
}

void cli_candidates_free(cli_candidates *x) {
    for (size_t i = 0; i < x->n; i++) free((void *)(uintptr_t)x->point[i]);
    free(x->point);
    free(x->one);
    *x = (cli_candidates){0};
}

/* --- a point by itself ---------------------------------------------------------------------------------------- */

static hone_rc read_point(const char *given, char **out, hone_err *err) {
    if (given[strspn(given, " \t\n")] == '{') return *out = cli_strdup(given), HONE_OK;
    FILE *f = fopen(given, "r");
    char *text = NULL;
    size_t room = 0;
    ssize_t n = f ? getdelim(&text, &room, 0, f) : -1;
    if (f) fclose(f);
    if (n <= 0) {
        free(text);
        return cli_fail(err, HONE_E_IO, "cannot read a point from '%s': give a file or JSON such as {\"tile\": 8}",
                        given);
    }
    *out = text;
    return HONE_OK;
}

static hone_rc from_controls(const char *path, const hone_workload *w, cli_candidates *x, hone_err *err) {
    hone_controls *controls = NULL;
    hone_prove_options o = hone_prove_defaults();
    char *point = NULL;
    hone_rc rc = hone_controls_read(path, &controls, err);
    if (!rc) rc = hone_controls_point(controls, w, &o, &point, err);
    if (!rc) add(x, cli_strdup(point), 0)->claimed[0] = controls->claimed;
    hone_free(point);
    hone_controls_free(controls);
    return rc;
}

/* --- a session ------------------------------------------------------------------------------------------------ */

/* Adds what is worth proving, with what the search claimed of it. */
static void add_best(const cli *c, const hone_report *r, cli_candidates *x) {
    hone_report_candidate best[HONE_CANDIDATES_MAX];
    size_t n = hone_report_candidates(r, (size_t)cli_count(c, "top", 0), best);
    for (size_t i = 0; i < n; i++) {
        cli_candidate *one = add(x, cli_strdup(best[i].trial->trial->point), best[i].trial->trial->id);
        memcpy(one->claimed, best[i].claimed, sizeof one->claimed);
    }
}

static hone_rc from_session(const cli *c, const hone_workload *w, cli_candidates *x, hone_err *err) {
    cli_record r;
    hone_report report;
    char hash[33];
    hone_rc rc = cli_record_open(c, false, &r, err);
    if (rc) return rc;
    hone_workload_hash(w, hash);
    x->session = r.session.id;
    if (strcmp(hash, r.session.workload_hash) != 0)
        rc = cli_fail(err, HONE_E_MISMATCH,
                      "'%s' is not the workload that session %lld was recorded with; name the right one with "
                      "--workload, or prove a point of it with --point",
                      r.workload, (long long)r.session.id);
    if (!rc) rc = hone_report_open(r.store, r.session.id, w, NULL, &report, err);
    if (!rc) {
        add_best(c, &report, x);
        hone_report_free(&report);
    }
    if (!rc && !x->n)
        rc = cli_fail(err, HONE_E_NOTFOUND,
                      "session %lld has no candidate: nothing that worked differs from the baseline's program",
                      (long long)r.session.id);
    cli_record_close(&r);
    return rc;
}

hone_rc cli_candidates_choose(const cli *c, const hone_workload *w, cli_candidates *out, hone_err *err) {
    const char *point = cli_text(c, "point", NULL), *controls = cli_text(c, "controls", NULL);
    cli_candidates x = {0};
    char *text = NULL;
    hone_rc rc = HONE_OK;
    if (point && controls)
        rc = cli_fail(err, HONE_E_USAGE, "choose one of --point and --controls");
    else if (c->n_args && (point || controls))
        rc = cli_fail(err, HONE_E_USAGE, "a session's candidates, or --point or --controls, but not both");
    else if (controls)
        rc = from_controls(controls, w, &x, err);
    else if (point && !(rc = read_point(point, &text, err)))
        add(&x, text, 0);
    else if (!point)
        rc = from_session(c, w, &x, err);
    if (rc)
        cli_candidates_free(&x);
    else
        *out = x;
    return rc;
}
