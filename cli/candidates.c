/* candidates.c — choosing among the trials of a session. */
#include "candidates.h"

#include <hone/prove.h>

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

/* a before b: the closing race measured fresh builds, the search is partly luck. */
static bool before(const cli_record *r, const hone_trial *a, const hone_trial *b) {
    bool a_raced = strcmp(a->phase, "race") == 0, b_raced = strcmp(b->phase, "race") == 0;
    if (a_raced != b_raced) return a_raced;
    return cli_better(r, a, b);
}

static bool eligible(const cli_record *r, const hone_trial *t) {
    if (!cli_feasible(t) || strcmp(t->phase, "baseline") == 0) return false;
    bool same = r->baseline && *t->object_hash && strcmp(t->object_hash, r->baseline->object_hash) == 0;
    return !same;
}

static bool same_program(const hone_trial *a, const hone_trial *b) {
    if (a->point_hash == b->point_hash) return true;
    return *a->object_hash && strcmp(a->object_hash, b->object_hash) == 0;
}

static bool dominates(const cli_record *r, const hone_trial *a, const hone_trial *b) {
    bool better = false;
    for (size_t k = 0; k < r->n_goals; k++) {
        double x = a->outcome.value[k], y = b->outcome.value[k];
        if (r->goal[k].maximize ? x < y : x > y) return false;
        better |= x != y;
    }
    return better;
}

static bool on_front(const cli_record *r, const hone_trial *t) {
    for (size_t i = 0; i < r->trials.n; i++)
        if (cli_feasible(&r->trials.trial[i]) && dominates(r, &r->trials.trial[i], t)) return false;
    return true;
}

/* The next best whose program is not among those chosen. */
static const hone_trial *next_best(const cli_record *r, const hone_trial **chosen, size_t n, bool front) {
    const hone_trial *best = NULL;
    for (size_t i = 0; i < r->trials.n; i++) {
        const hone_trial *t = &r->trials.trial[i];
        bool taken = !eligible(r, t) || (front && !on_front(r, t));
        for (size_t k = 0; k < n && !taken; k++) taken = same_program(t, chosen[k]);
        if (!taken && (!best || before(r, t, best))) best = t;
    }
    return best;
}

/* The search's own scores of this point are what it claimed; the closing race has taken some luck out already. */
static void note_claims(const cli_record *r, const hone_trial *t, cli_candidate *c) {
    const hone_trial *from = t;
    for (size_t i = 0; i < r->trials.n; i++) {
        const hone_trial *x = &r->trials.trial[i];
        if (x->point_hash == t->point_hash && strcmp(x->phase, "search") == 0) from = x;
    }
    for (size_t k = 0; k < r->n_goals; k++) c->claimed[k] = cli_gain(r, from, k);
}

static hone_rc from_session(const cli *c, const hone_workload *w, cli_candidates *x, hone_err *err) {
    enum { MOST = 100 };
    const hone_trial *chosen[MOST];
    cli_record r;
    char hash[33];
    hone_rc rc = cli_record_open(c, false, &r, err);
    if (rc) return rc;
    bool front = r.n_goals > 1;
    size_t n = 0, most = (size_t)cli_count(c, "top", front ? MOST : 3);
    hone_workload_hash(w, hash);
    x->session = r.session.id;
    if (strcmp(hash, r.session.workload_hash) != 0)
        rc = cli_fail(err, HONE_E_MISMATCH,
                      "'%s' is not the workload that session %lld was recorded with; name the right one with "
                      "--workload, or prove a point of it with --point",
                      r.workload, (long long)r.session.id);
    while (!rc && n < most && (chosen[n] = next_best(&r, chosen, n, front)) != NULL) n++;
    for (size_t i = 0; i < n; i++) note_claims(&r, chosen[i], add(x, cli_strdup(chosen[i]->point), chosen[i]->id));
    if (!rc && !n)
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
