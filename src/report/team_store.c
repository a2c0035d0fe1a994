/* report/team_store.c — sessions as rows: programs that were tuned, and that no controls file is of. */
#include "report/team_int.h"

#include "base/err.h"
#include "report/report_int.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* "2026-01-31T14:05:00Z", as controls files have it */
static const char *when_of(hn_arena *a, double unix_s) {
    time_t at = (time_t)unix_s;
    struct tm t;
    char text[32] = "";
    if (gmtime_r(&at, &t)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    return hn_strdup(a, text);
}

/* Is a controls file of the same workload, written after the session began? Within the same second it must name it. */
static bool has_controls(const hn_team_gathering *g, const hone_session *s, const char *started) {
    for (size_t i = 0; i < g->n_rows; i++) {
        const hn_team_origin *from = &g->origin[i];
        if (!from->workload_hash || !from->created) continue;
        if (strcmp(g->row[i].program, s->workload) != 0 || strcmp(from->workload_hash, s->workload_hash) != 0) continue;
        int later = strcmp(from->created, started);
        if (later > 0 || (!later && from->session == s->id)) return true;
    }
    return false;
}

/* "AMD EPYC 9755, 2 cores, 8.0 GiB, Linux 6.1; a device": the processor, and what follows the semicolon. */
static const char *machine_of(hn_arena *a, const char *line) {
    const char *cores = strstr(line, " cores, "), *end = cores, *more = cores ? strchr(cores, ';') : NULL;
    while (end && end > line && end[-1] >= '0' && end[-1] <= '9') end--;
    size_t n = end && end - line > 2 ? (size_t)(end - line) - 2 : strlen(line);
    return hn_format(a, "%.*s%s", (int)n, line, more ? more : "");
}

/* The winner's compiler, or the only one there was. */
static void fill_compiler(hn_arena *a, const hone_report *r, hone_team_row *row) {
    json_t *point = r->point ? json_loads(r->point, 0, NULL) : NULL, *one;
    json_t *all = json_loads(r->session.compilers, 0, NULL);
    const char *name = json_string_value(json_object_get(point, "compiler"));
    size_t i;
    json_array_foreach(all, i, one) {
        const char *command = json_string_value(json_object_get(one, "command"));
        const char *version = json_string_value(json_object_get(one, "version"));
        if (!command || (name ? strcmp(command, name) != 0 : json_array_size(all) != 1)) continue;
        row->compiler = hn_strdup(a, command);
        row->version = hn_team_version(a, version);
    }
    if (name && !*row->compiler) row->compiler = hn_strdup(a, name);
    json_decref(point);
    json_decref(all);
}

static void fill_goals(hn_arena *a, const hone_report *r, hone_team_row *row) {
    for (size_t k = 0; k < r->n_goals; k++) {
        hone_team_goal *goal = &row->goal[k];
        goal->objective = hn_strdup(a, r->goal[k].expr);
        goal->metric = hn_strdup(a, r->goal[k].metric);
        if (r->proof && k < r->proof->n_objectives) goal->gain = r->proof->overall[k].gain;
        if (r->best) goal->claimed = r->best->gain[k];
    }
}

static const char *why_of(hn_arena *a, const hone_report *r) {
    hn_str s = {0};
    hn_report_clean(&s, r->standing == HONE_REJECTED ? r->verdict : "");
    char *text = hn_str_take(&s);
    const char *kept = hn_strdup(a, text);
    free(text);
    return kept;
}

static hone_rc add_session(hn_team_gathering *g, hone_store *store, const char *dir, const hone_session *s,
                           const char *started, hone_err *err) {
    static const hone_team_state state[] = {[HONE_UNPROVEN] = HONE_TEAM_UNPROVEN,
                                            [HONE_NO_GAIN] = HONE_TEAM_NO_GAIN,
                                            [HONE_KEPT] = HONE_TEAM_UNWRITTEN,
                                            [HONE_REJECTED] = HONE_TEAM_REJECTED};
    hone_report r;
    hone_rc rc = hone_report_open(store, s->id, NULL, NULL, &r, err);
    if (rc) return rc;
    hone_team_row *row = hn_team_add(g, r.n_goals, (hn_team_origin){0});
    if (row) {
        row->state = state[r.standing];
        row->program = hn_strdup(g->a, s->workload);
        row->machine = machine_of(g->a, s->machine);
        row->when = hn_strndup(g->a, started, strnlen(started, 10));
        row->where = hn_strdup(g->a, dir);
        row->session = s->id;
        row->why = why_of(g->a, &r);
        fill_compiler(g->a, &r, row);
        fill_goals(g->a, &r, row);
    }
    hone_report_free(&r);
    return row ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", dir);
}

/* Is there a later one of the same program on the same machine? */
static bool superseded(const hone_session *list, size_t n, size_t i) {
    for (size_t k = 0; k < n; k++)
        if (list[k].id > list[i].id && !strcmp(list[k].workload, list[i].workload) &&
            !strcmp(list[k].machine_hash, list[i].machine_hash))
            return true;
    return false;
}

hone_rc hn_team_store(hn_team_gathering *g, const char *dir, hone_err *err) {
    hone_store *store = NULL;
    hone_session *list = NULL;
    size_t n = 0;
    hone_err why = {0};
    hone_rc rc = hone_store_open(dir, false, &store, &why);
    if (!rc) rc = hone_session_list(store, &list, &n, &why);
    if (rc && rc != HONE_E_NOMEM) hn_team_problem(g, dir, why.text);
    for (size_t i = 0; i < n && rc != HONE_E_NOMEM; i++) {
        const char *started = when_of(g->a, list[i].started_s);
        if (!started || superseded(list, n, i) || has_controls(g, &list[i], started)) continue;
        rc = add_session(g, store, dir, &list[i], started, &why);
        if (rc && rc != HONE_E_NOMEM)
            hn_team_problem(g, dir, hn_format(g->a, "session %lld: %s", (long long)list[i].id, why.text));
    }
    if (list) hone_session_list_free(list, n);
    hone_store_close(store);
    return rc == HONE_E_NOMEM ? hn_fail(err, rc, "%s", why.text) : HONE_OK;
}
