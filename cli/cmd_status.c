/* cmd_status.c — `hone status`: the state of a session; the list of sessions. */
#include "session.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- one session ---------------------------------------------------------------------------------------------- */

static const char *state_text(const hone_session *s, char *buf) {
    if (strcmp(s->state, "finished") == 0)
        snprintf(buf, CLI_TEXT_N, "finished (%s)", s->reason);
    else if (strcmp(s->state, "running") == 0)
        snprintf(buf, CLI_TEXT_N, "running, or ended from outside");
    else
        snprintf(buf, CLI_TEXT_N, "%s", s->state);
    return buf;
}

/* Until its end, or until its last trial when it has none. */
static double lasted_s(const cli_record *r) {
    double end = r->session.ended_s;
    if (!(end > 0) && r->trials.n) end = r->trials.trial[r->trials.n - 1].at_s;
    return end > r->session.started_s ? end - r->session.started_s : 0;
}

static void goals_json(cli_json *j, const cli_record *r) {
    cli_json_key(j, "objectives");
    cli_json_array(j);
    for (size_t k = 0; k < r->n_goals; k++) {
        cli_json_object(j);
        cli_json_ktext(j, "expr", r->goal[k].expr);
        cli_json_ktext(j, "direction", r->goal[k].maximize ? "maximize" : "minimize");
        cli_json_knumber(j, "baseline", r->baseline ? r->baseline->outcome.value[k] : NAN);
        cli_json_knumber(j, "best", r->best ? r->best->outcome.value[k] : NAN);
        cli_json_knumber(j, "speedup", r->best ? cli_gain(r, r->best, k) : NAN);
        cli_json_close(j);
    }
    cli_json_close(j);
}

static void one_json(cli *c, const cli_record *r) {
    const hone_session *s = &r->session;
    size_t n_class[HONE_N_CLASSES], n_reused, n = cli_count_classes(r, n_class, &n_reused);
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "session", (uint64_t)s->id);
    cli_json_ktext(&j, "workload", s->workload);
    cli_json_ktext(&j, "state", s->state);
    cli_json_ktext(&j, "reason", s->reason);
    cli_json_ktext(&j, "engine", s->engine);
    cli_json_kcount(&j, "seed", s->seed);
    cli_json_knumber(&j, "started", s->started_s);
    cli_json_knumber(&j, "ended", s->ended_s > 0 ? s->ended_s : NAN);
    cli_json_knumber(&j, "elapsed_s", lasted_s(r));
    cli_json_kcount(&j, "trials", n);
    cli_json_kcount(&j, "reused", n_reused);
    cli_json_key(&j, "classes");
    cli_json_object(&j);
    for (int i = 0; i < HONE_N_CLASSES; i++)
        cli_json_kcount(&j, hone_outcome_class_name((hone_outcome_class)i), n_class[i]);
    cli_json_close(&j);
    goals_json(&j, r);
    cli_effects_json(&j, &r->effects);
    if (r->unread) cli_json_kraw(&j, "unread", r->unread);
    if (r->objects) cli_json_kraw(&j, "objects", r->objects);
    cli_json_ktext(&j, "machine", s->machine);
    cli_json_kraw(&j, "compilers", s->compilers);
    cli_json_ktext(&j, "space_hash", s->space_hash);
    cli_json_ktext(&j, "workload_hash", s->workload_hash);
    cli_json_ktext(&j, "store", r->dir);
    cli_json_ktext(&j, "version", s->version);
    cli_json_end(&j);
}

static void print_goals(const cli *c, const cli_record *r) {
    char a[CLI_TEXT_N], b[CLI_TEXT_N], g[CLI_TEXT_N];
    for (size_t k = 0; k < r->n_goals; k++) {
        double base = r->baseline ? r->baseline->outcome.value[k] : NAN;
        double best = r->best ? r->best->outcome.value[k] : NAN;
        printf("%-10s  ", r->goal[k].maximize ? "maximize" : "minimize");
        cli_put(c, stdout, r->goal[k].expr, 0);
        printf(": baseline %s", cli_text_quantity(r->goal[k].expr, base, a));
        if (r->best)
            printf(", best %s (%s)", cli_text_quantity(r->goal[k].expr, best, b),
                   cli_text_ratio(c, cli_gain(r, r->best, k), g));
        putchar('\n');
    }
}

static void field(const cli *c, const char *name, const char *text) {
    printf("%-10s  ", name);
    cli_put(c, stdout, text, 0);
    putchar('\n');
}

static void print_effects(const cli *c, const cli_record *r) {
    char text[400];
    for (size_t i = 0; i < r->effects.n; i++) {
        hone_tune_effect_text(&r->effects.effect[i], text, sizeof text);
        field(c, i ? "" : "choices", text);
    }
}

/* Controls that leave out what nobody reads. */
static void print_unread(const cli *c, const cli_record *r) {
    json_t *list = r->unread ? json_loads(r->unread, 0, NULL) : NULL, *x;
    char text[500];
    size_t i;
    json_array_foreach(list, i, x) {
        snprintf(text, sizeof text, "%s is %s: %s", json_string_value(json_object_get(x, "flag")),
                 json_is_true(json_object_get(x, "offered")) ? "offered" : "not offered",
                 json_string_value(json_object_get(x, "why")));
        field(c, i ? "" : "unread", text);
    }
    json_decref(list);
}

static long long member(const json_t *o, const char *name) { return json_integer_value(json_object_get(o, name)); }

/* Of builds that were cut into compilations and a link; nothing where there were none. */
static void print_objects(const cli *c, const cli_record *r) {
    json_t *o = r->objects ? json_loads(r->objects, 0, NULL) : NULL;
    char text[200];
    if (member(o, "builds_cut")) {
        snprintf(text, sizeof text,
                 "%lld compiled, %lld taken from those compiled before, in %lld builds of several files",
                 member(o, "compiled"), member(o, "known"), member(o, "builds_cut"));
        field(c, "objects", text);
    }
    json_decref(o);
}

static void one_text(const cli *c, const cli_record *r) {
    const hone_session *s = &r->session;
    char a[CLI_TEXT_N], b[CLI_TEXT_N];
    size_t n_class[HONE_N_CLASSES], n_reused, n = cli_count_classes(r, n_class, &n_reused);
    char *failures = cli_failures_text(n_class);
    printf("%-10s  %lld of '", "session", (long long)s->id);
    cli_put(c, stdout, s->workload, 0);
    printf("', %s\n", state_text(s, a));
    printf("%-10s  %s, lasted %s\n", "started", cli_text_when(s->started_s, a), cli_text_duration(lasted_s(r), b));
    printf("%-10s  %s, seed %llu\n", "engine", s->engine, (unsigned long long)s->seed);
    printf("%-10s  %zu, %zu of them with an object that was known\n", "trials", n, n_reused);
    printf("%-10s  %s\n", "failures", *failures ? failures : "none");
    print_goals(c, r);
    print_effects(c, r);
    print_unread(c, r);
    print_objects(c, r);
    field(c, "machine", s->machine);
    field(c, "record", r->dir);
    free(failures);
}

/* --- all sessions --------------------------------------------------------------------------------------------- */

static void all_json(cli *c, const hone_session *s, size_t n) {
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 0; i < n; i++) {
        cli_json_object(&j);
        cli_json_kcount(&j, "session", (uint64_t)s[i].id);
        cli_json_ktext(&j, "workload", s[i].workload);
        cli_json_ktext(&j, "state", s[i].state);
        cli_json_ktext(&j, "reason", s[i].reason);
        cli_json_ktext(&j, "engine", s[i].engine);
        cli_json_kcount(&j, "seed", s[i].seed);
        cli_json_knumber(&j, "started", s[i].started_s);
        cli_json_knumber(&j, "ended", s[i].ended_s > 0 ? s[i].ended_s : NAN);
        cli_json_kcount(&j, "trials", (uint64_t)s[i].n_trials);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void all_text(const cli *c, const hone_session *s, size_t n) {
    static const char *const head[] = {"session", "workload", "state", "engine", "trials", "started"};
    cli_table *t = cli_table_new("rxllrl");
    char text[CLI_TEXT_N];
    for (size_t i = 0; i < 6; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; i < n; i++) {
        cli_table_cell(t, "%lld", (long long)s[i].id);
        cli_table_cell(t, "%s", s[i].workload);
        cli_table_cell(t, "%s%s%s", s[i].state, *s[i].reason ? ": " : "", s[i].reason);
        cli_table_cell(t, "%s", s[i].engine);
        cli_table_cell(t, "%lld", (long long)s[i].n_trials);
        cli_table_cell(t, "%s", cli_text_when(s[i].started_s, text));
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static hone_rc list_all(cli *c, hone_err *err) {
    cli_record r = {0};
    hone_session *s = NULL;
    size_t n = 0;
    hone_rc rc = cli_store_open(c, &r, err);
    if (!rc) rc = hone_session_list(r.store, &s, &n, err);
    if (!rc && c->json)
        all_json(c, s, n);
    else if (!rc)
        all_text(c, s, n);
    if (!rc) hone_session_list_free(s, n);
    cli_record_close(&r);
    return rc;
}

static hone_rc run_status(cli *c, hone_err *err) {
    cli_record r;
    if (cli_given(c, "all") && c->n_args)
        return cli_fail(err, HONE_E_USAGE, "--all lists every session; leave '%s' away", c->arg[0]);
    if (cli_given(c, "all")) return list_all(c, err);
    hone_rc rc = cli_record_open(c, false, &r, err);
    if (rc) return rc;
    if (c->json)
        one_json(c, &r);
    else
        one_text(c, &r);
    cli_record_close(&r);
    return HONE_OK;
}

static const cli_option options[] = {
    {"all", 'a', CLI_FLAG, NULL, 0, 0, "list every session of the record"},
    CLI_RECORD_OPTIONS,
    {0},
};

const cli_command cli_cmd_status = {
    "status",
    "Look",
    "[SESSION]",
    "show the state of a session",
    "Shows a session of the record: its state, trials, failures by class, and the best value against the baseline. "
    "Without a number it is the newest. It can be used while `hone tune` runs.",
    options,
    "hone status\tthe newest session\n"
    "hone status --all\tall of them\n",
    0,
    1,
    run_status,
};
