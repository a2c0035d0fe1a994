/* report/team_controls.c — a controls file as a row: what it claims, and whether that still holds. */
#include "report/team_int.h"

#include "base/err.h"
#include "controls/key.h"

#include <hone/check.h>

#include <string.h>

enum { SHOWN = 6, SHORT = 40 }; /* differences named; the longest value that is quoted */

/* A processor of another model: what was proven there may well hold there, and cannot be judged here. */
static bool is_elsewhere(const hone_check_result *r) {
    for (size_t i = 0; i < r->n_differences; i++)
        if (!strcmp(r->difference[i].part, "cpu") && !strcmp(r->difference[i].what, "cpu")) return true;
    return false;
}

/* Does the difference say more about the machine that looks than about the program? */
static bool of_machine(const hone_difference *d) {
    static const char *const part[] = {"cpu", "driver", "compiler", "post link", "passes"};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (!strcmp(d->part, part[i])) return true;
    return !strcmp(d->part, "baseline") && strcmp(d->what, "flags") != 0;
}

static bool is_hash(const char *text) { return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32; }

static const char *told(hn_arena *a, const char *before, const hone_difference *d) {
    bool quoted = strlen(d->then) <= SHORT && strlen(d->now) <= SHORT && !is_hash(d->then) && !is_hash(d->now);
    before = hn_format(a, "%s%s%s%s%s", before, *before ? "; " : "", d->part, *d->what ? " " : "", d->what);
    if (before && !strcmp(d->now, "missing")) return hn_format(a, "%s: missing", before);
    return !before || !quoted ? before : hn_format(a, "%s: %s, now %s", before, d->then, d->now);
}

/* "source NAME.c; compiler version: 12.2.0, now 13.2.0"; "": nothing that can be judged here. */
static const char *differences(hn_arena *a, const hone_check_result *r, bool elsewhere) {
    const char *text = "";
    size_t n = 0;
    for (size_t i = 0; text && i < r->n_differences; i++) {
        if (elsewhere && of_machine(&r->difference[i])) continue;
        if (n++ < SHOWN) text = told(a, text, &r->difference[i]);
    }
    return text && n > SHOWN ? hn_format(a, "%s; and %zu more", text, n - SHOWN) : text;
}

static bool is_whole(const hone_controls_row *row) { return !row->held_out && !*row->input; }

static void fill_goals(hn_team_gathering *g, const hone_controls *c, hone_team_row *row) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_rows && n < row->n_goals; i++) {
        if (!is_whole(&c->row[i])) continue;
        hone_team_goal *goal = &row->goal[n];
        goal->objective = hn_strdup(g->a, c->row[i].objective);
        goal->metric = hn_team_metric(g->a, c->row[i].objective);
        goal->gain = c->row[i].gain;
        if (!n++) goal->claimed = c->claimed;
    }
}

/* The processor, and what drives its devices where there are any. */
static const char *machine_of(hn_arena *a, const hone_controls *c) {
    const char *cpu = hn_pair_get(c->machine, c->n_machine, "cpu");
    const char *driver = hn_pair_get(c->machine, c->n_machine, "driver");
    bool devices = driver && *driver && strcmp(driver, "none") != 0;
    return hn_format(a, "%s%s%s", cpu && *cpu ? cpu : "unknown", devices ? "; " : "", devices ? driver : "");
}

static hone_rc add_row(hn_team_gathering *g, const char *path, const hone_controls *c, const hone_check_result *r,
                       hone_err *err) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_rows; i++) n += is_whole(&c->row[i]);
    hone_team_row *row = hn_team_add(g, n, (hn_team_origin){c->workload_hash, c->created, c->session});
    if (!row) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    bool stale = r->status == HONE_CHECK_STALE, elsewhere = stale && is_elsewhere(r);
    const char *version = hn_pair_get(c->tool, c->n_tool, "version");
    row->why = stale ? differences(g->a, r, elsewhere) : "";
    row->state = !stale ? HONE_TEAM_VALID : elsewhere && row->why && !*row->why ? HONE_TEAM_ELSEWHERE : HONE_TEAM_STALE;
    row->program = hn_strdup(g->a, c->name);
    row->machine = machine_of(g->a, c);
    row->compiler = hn_strdup(g->a, c->compiler);
    row->version = hn_team_version(g->a, version);
    row->when = hn_strndup(g->a, c->created, strnlen(c->created, 10));
    row->where = hn_strdup(g->a, path);
    fill_goals(g, c, row);
    return HONE_OK;
}

hone_rc hn_team_controls(hn_team_gathering *g, const char *path, hone_err *err) {
    hone_check_options o = hone_check_defaults();
    hone_check_result r;
    hone_controls *c = NULL;
    hone_err why = {0};
    hone_rc rc = hone_check_controls(path, &o, &r, &why);
    if (rc == HONE_E_NOMEM) return hn_fail(err, rc, "%s", why.text);
    if (rc) {
        hn_team_problem(g, path, why.text);
        return HONE_OK;
    }
    bool holds = r.status == HONE_CHECK_VALID || r.status == HONE_CHECK_STALE;
    if (holds) rc = hone_controls_read(path, &c, &why); /* of a later format: stale, and cannot be read */
    if (rc == HONE_E_NOMEM)
        rc = hn_fail(err, rc, "%s", why.text);
    else if (c)
        rc = add_row(g, path, c, &r, err);
    else
        hn_team_problem(g, path, hn_format(g->a, "%s: %s", hone_check_name(r.status), r.text)), rc = HONE_OK;
    hone_controls_free(c);
    hone_check_free(&r);
    return rc;
}
