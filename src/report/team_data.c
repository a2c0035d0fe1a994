/* report/team_data.c — a team's report as the JSON that its page draws, and the page. docs/report.md lists the fields.
 */
#include "report/report_int.h"

#include "base/err.h"

#include <hone/team.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* A NULL from jansson is lack of memory and makes the object that it is put into fail. */
static json_t *text(const char *s) {
    hn_str clean = {0};
    hn_report_clean(&clean, s ? s : "");
    char *t = hn_str_take(&clean);
    json_t *j = t ? json_string(t) : NULL;
    free(t);
    return j;
}

static json_t *count(size_t n) { return json_integer((json_int_t)n); }
static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *interval(hone_interval x) {
    if (!isfinite(x.mid)) return json_null();
    return json_pack("{so so so}", "lo", number(x.lo), "mid", number(x.mid), "hi", number(x.hi));
}

static json_t *states(const size_t n_state[HONE_N_TEAM]) {
    json_t *all = json_object();
    for (int i = 0; all && i < HONE_N_TEAM; i++)
        if (json_object_set_new(all, hone_team_state_name((hone_team_state)i), count(n_state[i])))
            json_decref(all), all = NULL;
    return all;
}

static json_t *one_goal(const void *list, size_t i) {
    const hone_team_goal *g = (const hone_team_goal *)list + i;
    return json_pack("{so so so so}", "objective", text(g->objective), "metric", text(g->metric), "gain",
                     interval(g->gain), "claimed", number(g->claimed));
}

static json_t *list_of(const void *list, size_t n, json_t *(*make)(const void *list, size_t i)) {
    json_t *all = json_array();
    for (size_t i = 0; all && i < n; i++)
        if (json_array_append_new(all, make(list, i))) json_decref(all), all = NULL;
    return all;
}

static json_t *one_row(const void *list, size_t i) {
    const hone_team_row *r = (const hone_team_row *)list + i;
    return json_pack("{so so so so so so so so so so}", "program", text(r->program), "machine", text(r->machine),
                     "compiler", text(r->compiler), "version", text(r->version), "state",
                     text(hone_team_state_name(r->state)), "why", text(r->why), "goals",
                     list_of(r->goal, r->n_goals, one_goal), "when", text(r->when), "where", text(r->where), "session",
                     r->session ? json_integer(r->session) : json_null());
}

static json_t *one_group(const void *list, size_t i) {
    const hone_team_group *g = (const hone_team_group *)list + i;
    return json_pack("{so so so so so so so so}", "machine", text(g->machine), "compiler", text(g->compiler), "version",
                     text(g->version), "metric", text(g->metric), "results", count(g->n), "holding",
                     count(g->n_holding), "states", states(g->n_state), "gain", interval(g->gain));
}

static json_t *one_problem(const void *list, size_t i) {
    const hone_team_problem *p = (const hone_team_problem *)list + i;
    return json_pack("{so so}", "where", text(p->where), "text", text(p->text));
}

hone_rc hone_team_json(const hone_team *t, char **out, hone_err *err) {
    json_t *j = json_pack("{si so so so so so so so so so}", "format", 1, "hone", text(HONE_VERSION), "sentence",
                          text(t->sentence), "programs", count(t->n_programs), "machines", count(t->n_machines),
                          "results", count(t->n_rows), "states", states(t->n_state), "groups",
                          list_of(t->group, t->n_groups, one_group), "rows", list_of(t->row, t->n_rows, one_row),
                          "problems", list_of(t->problem, t->n_problems, one_problem));
    char *plain = j ? json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) : NULL;
    hn_str s = {0};
    if (plain) hn_report_json_safe(&s, plain);
    json_decref(j);
    free(plain);
    char *done = plain ? hn_str_take(&s) : NULL;
    if (!done) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *out = done;
    return HONE_OK;
}

hone_rc hone_team_write(const hone_team *t, const char *path, size_t *n, hone_err *err) {
    char *json = NULL;
    bool open = t->n_state[HONE_TEAM_STALE] || t->n_problems;
    hone_rc rc = hone_team_json(t, &json, err);
    if (!rc) rc = hn_report_team(t->sentence, open ? "unproven" : "plain", json, path, n, err);
    hone_free(json);
    return rc;
}
