/* report/team.c — gathers a team's rows, puts them in order, and sums them up. */
#include "report/team_int.h"

#include "base/err.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hone_team_state_name(hone_team_state state) {
    static const char *const name[HONE_N_TEAM] = {"valid",    "elsewhere", "stale",  "unwritten",
                                                  "unproven", "rejected",  "no_gain"};
    return (unsigned)state < HONE_N_TEAM ? name[state] : "unknown";
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static void *room(hn_team_gathering *g, void *list, size_t n, size_t *most, size_t size, bool *fine) {
    void *more = hn_arena_grow(g->a, list, n, most, size);
    *fine &= more != NULL;
    return more ? more : list;
}

hone_team_row *hn_team_add(hn_team_gathering *g, size_t n_goals, hn_team_origin origin) {
    static const hone_interval unknown = {(double)NAN, (double)NAN, (double)NAN};
    bool fine = true;
    size_t n = n_goals ? n_goals : 1;
    hone_team_goal *goal = HN_NEW_N(g->a, hone_team_goal, n);
    g->row = room(g, g->row, g->n_rows, &g->row_room, sizeof *g->row, &fine);
    g->origin = room(g, g->origin, g->n_rows, &g->origin_room, sizeof *g->origin, &fine);
    if (!goal || !fine) return NULL;
    for (size_t k = 0; k < n; k++)
        goal[k] = (hone_team_goal){.objective = "", .metric = "", .gain = unknown, .claimed = (double)NAN};
    g->origin[g->n_rows] = (hn_team_origin){.workload_hash = hn_strdup(g->a, origin.workload_hash),
                                            .created = hn_strdup(g->a, origin.created),
                                            .session = origin.session};
    g->row[g->n_rows] = (hone_team_row){.compiler = "", .version = "", .why = "", .goal = goal, .n_goals = n};
    return &g->row[g->n_rows++];
}

void hn_team_problem(hn_team_gathering *g, const char *where, const char *text) {
    hone_team_problem *list = hn_arena_grow(g->a, g->problem, g->n_problems, &g->problem_room, sizeof *list);
    if (!list) return;
    g->problem = list;
    g->problem[g->n_problems++] = (hone_team_problem){hn_strdup(g->a, where), text ? hn_strdup(g->a, text) : ""};
}

const char *hn_team_metric(hn_arena *a, const char *expr) {
    const char *open = strchr(expr, '('), *from = open ? open + 1 : expr;
    return hn_strndup(a, from, strcspn(from, ")"));
}

const char *hn_team_version(hn_arena *a, const char *text) {
    const char *from = NULL;
    size_t n = 0;
    int depth = 0;
    for (const char *p = text ? text : ""; *p;) {
        size_t word = strcspn(p, " ()");
        if (!depth && *p >= '0' && *p <= '9' && memchr(p, '.', word)) from = p, n = word;
        p += word;
        depth += (*p == '(') - (*p == ')' && depth);
        p += *p != 0;
    }
    return from ? hn_strndup(a, from, n) : hn_strdup(a, text ? text : "");
}

static int by_name(const void *x, const void *y) {
    const hone_team_row *a = x, *b = y;
    int order = strcmp(a->program, b->program);
    if (!order) order = strcmp(a->machine, b->machine);
    if (!order) order = strcmp(a->where, b->where);
    return order ? order : (a->session > b->session) - (a->session < b->session);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static bool holds(const hone_team_row *r) { return r->state == HONE_TEAM_VALID || r->state == HONE_TEAM_ELSEWHERE; }

static hone_team_group *group_of(hone_team *t, const hone_team_row *r, const hone_team_goal *goal) {
    for (size_t i = 0; i < t->n_groups; i++) {
        hone_team_group *g = &t->group[i];
        if (!strcmp(g->machine, r->machine) && !strcmp(g->compiler, r->compiler) && !strcmp(g->version, r->version) &&
            !strcmp(g->metric, goal->metric))
            return g;
    }
    t->group[t->n_groups] = (hone_team_group){
        .machine = r->machine, .compiler = r->compiler, .version = r->version, .metric = goal->metric};
    return &t->group[t->n_groups++];
}

/* The geometric mean of gains whose errors are independent: half widths of the logarithms add up in squares. */
static hone_interval mean_of(double sum, double squares, size_t n) {
    if (!n) return (hone_interval){(double)NAN, (double)NAN, (double)NAN};
    double mid = sum / (double)n, half = sqrt(squares) / (double)n;
    return (hone_interval){exp(mid - half), exp(mid), exp(mid + half)};
}

/* Over the rows of a group; sums are kept in its interval until all are in. */
static void add_to_group(hone_team_group *g, const hone_team_row *r, const hone_team_goal *goal) {
    bool counts = holds(r) && goal->gain.lo > 0 && isfinite(goal->gain.mid) && isfinite(goal->gain.hi);
    g->n++;
    g->n_state[r->state]++;
    if (!counts) return;
    double half = log(goal->gain.hi / goal->gain.lo) / 2;
    g->n_holding++;
    g->gain.mid += log(goal->gain.mid);
    g->gain.hi += half * half;
}

static void make_groups(hone_team *t, hn_arena *a) {
    size_t most = 0;
    for (size_t i = 0; i < t->n_rows; i++) most += t->row[i].n_goals;
    t->group = HN_NEW_N(a, hone_team_group, most);
    for (size_t i = 0; t->group && i < t->n_rows; i++)
        for (size_t k = 0; k < t->row[i].n_goals; k++) {
            const hone_team_goal *goal = &t->row[i].goal[k];
            add_to_group(group_of(t, &t->row[i], goal), &t->row[i], goal);
        }
    for (size_t i = 0; i < t->n_groups; i++) {
        hone_team_group *g = &t->group[i];
        g->gain = mean_of(g->gain.mid, g->gain.hi, g->n_holding);
    }
}

/* --- the sentence ------------------------------------------------------------------------------------------------- */

static void count(hone_team *t) {
    for (size_t i = 0; i < t->n_rows; i++) {
        bool program = true, machine = true;
        for (size_t k = 0; k < i; k++) {
            program &= strcmp(t->row[k].program, t->row[i].program) != 0;
            machine &= strcmp(t->row[k].machine, t->row[i].machine) != 0;
        }
        t->n_programs += program;
        t->n_machines += machine;
        t->n_state[t->row[i].state]++;
    }
}

static void add_count(hn_str *s, size_t n, const char *one, const char *many) {
    if (n) hn_str_addf(s, "; %zu %s", n, n == 1 ? one : many);
}

static const char *sentence(const hone_team *t, hn_arena *a) {
    hn_str s = {0};
    size_t holding = t->n_state[HONE_TEAM_VALID] + t->n_state[HONE_TEAM_ELSEWHERE];
    hn_str_addf(&s, "%zu program%s on %zu machine%s: %zu proven gain%s hold%s", t->n_programs,
                t->n_programs == 1 ? "" : "s", t->n_machines, t->n_machines == 1 ? "" : "s", holding,
                holding == 1 ? "" : "s", holding == 1 ? "s" : "");
    if (t->n_groups == 1 && t->group[0].n_holding)
        hn_str_addf(&s, ", %.3fx on the mean (%.3f to %.3f)", t->group[0].gain.mid, t->group[0].gain.lo,
                    t->group[0].gain.hi);
    add_count(&s, t->n_state[HONE_TEAM_STALE], "is stale", "are stale");
    add_count(&s, t->n_state[HONE_TEAM_UNWRITTEN], "has a proof and no controls file",
              "have proofs and no controls files");
    add_count(&s, t->n_state[HONE_TEAM_UNPROVEN], "is not validated", "are not validated");
    add_count(&s, t->n_state[HONE_TEAM_REJECTED], "was rejected", "were rejected");
    add_count(&s, t->n_state[HONE_TEAM_NO_GAIN], "has no gain", "have no gain");
    add_count(&s, t->n_problems, "file or store cannot be read", "files or stores cannot be read");
    char *text = hn_str_take(&s);
    const char *kept = hn_strdup(a, text);
    if (!kept) a->failed = true;
    free(text);
    return kept;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static hone_rc gather(hone_team *t, hn_arena *a, const char *const *path, size_t n, hone_err *err) {
    hn_team_gathering g = {.a = a};
    hone_rc rc = hn_team_walk(&g, path, n, err);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory gathering what was tuned");
    if (rc) return rc;
    if (!g.n_rows && !g.n_problems)
        return hn_fail(err, HONE_E_NOTFOUND,
                       "nothing was tuned there: no store (.hone), which `hone tune` makes, and no controls file "
                       "(NAME.hone), which `hone validate` does");
    if (g.n_rows) qsort(g.row, g.n_rows, sizeof *g.row, by_name);
    t->row = g.row, t->n_rows = g.n_rows;
    t->problem = g.problem, t->n_problems = g.n_problems;
    make_groups(t, a);
    count(t);
    t->sentence = sentence(t, a);
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory gathering what was tuned");
}

hone_rc hone_team_open(const char *const *path, size_t n, hone_team *out, hone_err *err) {
    hone_team t = {0};
    hn_arena *a = calloc(1, sizeof *a);
    if (!a) return hn_fail(err, HONE_E_NOMEM, "out of memory gathering what was tuned");
    t.block = a;
    hone_rc rc = gather(&t, a, path, n, err);
    if (rc)
        hone_team_free(&t);
    else
        *out = t;
    return rc;
}

void hone_team_free(hone_team *team) {
    if (!team || !team->block) return;
    hn_arena_free(team->block);
    free(team->block);
    *team = (hone_team){0};
}
