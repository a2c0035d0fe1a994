/* report/verdict.c — the result: the proof that counts, one sentence, the winner and its flags. */
#include "report/report_int.h"

#include "base/err.h"
#include "tune/workload.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the proof that counts -------------------------------------------------------------------------------------- */

/* Proofs are ordered newest first: the first one of a point is the current one. */
static bool superseded(const hone_report *r, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (!strcmp(r->proofs.proof[k].point, r->proofs.proof[i].point)) return true;
    return false;
}

static double claim(const hone_proof *p) { return p->n_objectives && p->overall ? p->overall[0].gain.mid : NAN; }

static bool same_point(const char *a, const char *b) {
    json_t *x = json_loads(a, 0, NULL), *y = json_loads(b, 0, NULL);
    bool same = x && y && json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}

/* Of the kept ones the one that the controls file was made of, which may be a reduced one, else the one that gains most
 * in the first objective; if none was kept the one about the search's best; else the newest. */
static const hone_proof *choose(const hone_report *r) {
    const hone_proof *kept = NULL, *best = NULL;
    for (size_t i = 0; i < r->proofs.n; i++) {
        const hone_proof *p = &r->proofs.proof[i];
        if (superseded(r, i)) continue;
        if (p->kept && r->controls && same_point(p->point, r->controls->point)) return p;
        if (p->kept && (!kept || claim(p) > claim(kept))) kept = p;
        if (!best && r->best && !strcmp(p->point, r->best->trial->point)) best = p;
    }
    return kept ? kept : best ? best : r->proofs.n ? &r->proofs.proof[0] : NULL;
}

/* --- the sentence ----------------------------------------------------------------------------------------------- */

/* Is the best better than the baseline in some objective? Where values have no ratio, they are compared. */
static bool gains(const hone_report *r) {
    if (!r->best || r->best == r->baseline) return false;
    if (!r->baseline || !r->baseline->feasible)
        return true; /* a feasible point beats an infeasible one, whatever its speed */
    for (size_t k = 0; k < r->n_goals; k++) {
        double x = r->best->trial->outcome.value[k], base = r->baseline->trial->outcome.value[k];
        if (r->goal[k].maximize ? x > base : x < base) return true;
    }
    return false;
}

static void add_claims(const hone_report *r, hn_str *s) {
    for (size_t k = 0; k < r->n_goals; k++) {
        double g = r->best->gain[k];
        const char *gap = !k ? "" : k + 1 < r->n_goals ? ", " : " and ";
        if (isfinite(g))
            hn_str_addf(s, "%s%.3fx on %s", gap, g, r->goal[k].expr);
        else
            hn_str_addf(s, "%s%s = %.4g", gap, r->goal[k].expr, r->best->trial->outcome.value[k]);
    }
}

static void add_unproven(const hone_report *r, hn_str *s) {
    hn_str_add(s, "not validated: the search claims ");
    add_claims(r, s);
    if (r->n_goals > 1) {
        size_t n = 0;
        for (size_t i = 0; i < r->n_trials; i++) n += r->trial[i].front;
        hn_str_addf(s, ", one of %zu trade-offs on the front", n);
    }
    hn_str_addf(s, "; run hone validate");
}

static void add_nothing(const hone_report *r, hn_str *s) {
    bool running = !strcmp(r->session.state, "running");
    if (!r->n_search)
        hn_str_add(s, running ? "nothing was measured yet" : "the session ended before a candidate was measured");
    else if (!r->best)
        hn_str_addf(s, "none of %zu candidates worked within the limits; the table of failures says why", r->n_search);
    else
        hn_str_addf(s, "the search found nothing better than the baseline in %zu evaluations", r->n_search);
}

static hone_rc set_verdict(hone_report *r, hone_err *err) {
    hn_str s = {0};
    if (r->proof)
        hn_report_clean(&s, r->proof->verdict ? r->proof->verdict : "");
    else if (gains(r))
        add_unproven(r, &s);
    else
        add_nothing(r, &s);
    r->standing = r->proof ? (r->proof->kept ? HONE_KEPT : HONE_REJECTED) : gains(r) ? HONE_UNPROVEN : HONE_NO_GAIN;
    char *text = hn_str_take(&s);
    r->verdict = text ? hn_strdup(hn_report_arena(r), text) : NULL;
    free(text);
    return r->verdict ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- flags ------------------------------------------------------------------------------------------------------- */

static void add_words(const hone_report *r, const hone_command *m, hn_str *s) {
    json_t *point = json_loads(r->point, 0, NULL);
    const char *compiler = json_string_value(json_object_get(point, "compiler"));
    for (size_t i = 0; i < m->n_env; i++) {
        hn_str_add_shell(s, m->env[i]);
        hn_str_add(s, " ");
    }
    hn_str_add_shell(s, compiler ? compiler : r->workload->compiler[0]);
    for (size_t i = 0; i < m->n_argv; i++) {
        hn_str_add(s, " ");
        hn_str_add_shell(s, m->argv[i]);
    }
    json_decref(point);
}

static hone_rc render(const hone_report *r, hone_space *space, hn_str *s, hone_err *err) {
    double *point = calloc(hone_space_slots(space) + 1, sizeof *point);
    hone_command m;
    hone_rc rc = point ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hone_point_from_json(space, r->point, point, err);
    if (!rc) rc = hone_workload_flags(r->workload, space, point, NULL, &m, err);
    if (!rc) {
        add_words(r, &m, s);
        hone_command_free(&m);
    }
    free(point);
    return rc;
}

/* Flags that cannot be made any more (the compiler is gone) are not an error: the page says why they are missing. */
static hone_rc find_flags(hone_report *r, hone_err *err) {
    hn_arena *a = hn_report_arena(r);
    hone_err why = {0};
    hone_space *space = NULL;
    hn_str s = {0};
    hone_rc rc = hone_space_parse(r->session.space_text, strlen(r->session.space_text), "the record", &space, &why);
    if (!rc) rc = render(r, space, &s, &why);
    char *text = rc ? NULL : hn_str_take(&s);
    if (text)
        r->argv = hn_strdup(a, text);
    else
        r->no_argv = hn_strdup(a, why.text);
    free(text);
    hn_str_free(&s);
    hone_space_free(space);
    return hn_arena_ok(a) && rc != HONE_E_NOMEM ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_report_judge(hone_report *r, hone_err *err) {
    r->proof = choose(r);
    hone_rc rc = set_verdict(r, err);
    if (rc) return rc;
    r->point = r->proof ? r->proof->point : gains(r) ? r->best->trial->point : NULL;
    if (!r->point) return HONE_OK;
    if (r->proof && r->proof->argv && *r->proof->argv) r->argv = r->proof->argv;
    if (r->argv) return HONE_OK;
    if (r->workload && r->workload->controls) return find_flags(r, err);
    if (!r->workload) r->no_argv = "the workload file of this session was not found, or has changed since";
    return HONE_OK;
}
