/* cmd_deploy.c — `hone deploy`: another version of a model that a server has. */
#include "admin.h"
#include "signals.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- what there is ------------------------------------------------------------------------------------------------ */

static void put_version(cli_table *t, const json_t *m, const json_t *v, const char *state) {
    cli_table_cell(t, "%s", cli_admin_text(m, "name"));
    cli_table_cell(t, "%s", cli_admin_text(m, "kind"));
    cli_table_cell(t, "%s", cli_admin_text(v, "version"));
    cli_table_cell(t, "%s", state);
    cli_table_cell(t, "%s", cli_admin_text(v, json_object_get(v, "path") ? "path" : "next"));
}

static void list_models(const cli *c, const json_t *reply) {
    static const char *const head[] = {"model", "kind", "version", "state", "path"};
    cli_table *t = cli_table_new("llllx");
    json_t *m;
    size_t i;
    for (size_t k = 0; k < sizeof head / sizeof *head; k++) cli_table_head(t, head[k]);
    json_array_foreach(json_object_get(reply, "models"), i, m) {
        const json_t *before = json_object_get(m, "before"), *trial = json_object_get(m, "deployment");
        put_version(t, m, json_object_get(m, "now"), "answers");
        if (json_is_object(trial)) put_version(t, m, trial, cli_admin_text(trial, "state"));
        if (json_is_object(before)) put_version(t, m, before, "before");
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
    json_array_foreach(json_object_get(reply, "models"), i, m) {
        const char *text = cli_admin_text(json_object_get(m, "deployment"), "text");
        if (*text) printf("%s: %s\n", cli_admin_text(m, "name"), text);
    }
}

/* What was learned, and what was lost, between the deployments. */
static void list_events(const cli *c, const json_t *events) {
    static const char *const head[] = {"time (UTC)", "model", "what", "text"};
    if (!json_array_size(events)) return;
    cli_table *t = cli_table_new("lllx");
    json_t *e;
    size_t i;
    for (size_t k = 0; k < sizeof head / sizeof *head; k++) cli_table_head(t, head[k]);
    json_array_foreach(events, i, e) {
        time_t at = (time_t)json_number_value(json_object_get(e, "at_s"));
        struct tm when;
        char text[32] = "";
        if (gmtime_r(&at, &when)) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &when);
        cli_table_cell(t, "%s", text);
        cli_table_cell(t, "%s", cli_admin_text(e, "model"));
        cli_table_cell(t, "%s", cli_admin_text(e, "kind"));
        cli_table_cell(t, "%s", cli_admin_text(e, "text"));
    }
    printf("\n");
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static void list_history(const cli *c, const json_t *reply) {
    static const char *const head[] = {"id", "state", "why", "next", "what"};
    cli_table *t = cli_table_new("rlllx");
    json_t *d;
    size_t i;
    for (size_t k = 0; k < sizeof head / sizeof *head; k++) cli_table_head(t, head[k]);
    json_array_foreach(json_object_get(reply, "deployments"), i, d) {
        cli_table_cell(t, "%lld", (long long)json_integer_value(json_object_get(d, "id")));
        cli_table_cell(t, "%s", cli_admin_text(d, "state"));
        cli_table_cell(t, "%s", cli_admin_text(d, "why"));
        cli_table_cell(t, "%s", cli_admin_text(d, "next"));
        cli_table_cell(t, "%s", cli_admin_text(d, "text"));
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
    list_events(c, json_object_get(reply, "events"));
}

static hone_rc list(cli *c, const char *path, void (*show)(const cli *c, const json_t *reply), hone_err *err) {
    json_t *reply = NULL;
    hone_rc rc = cli_admin_ask(c, path, NULL, &reply, err);
    if (rc) return rc;
    if (c->json)
        cli_admin_print(c, reply);
    else
        show(c, reply);
    json_decref(reply);
    return HONE_OK;
}

/* --- a deployment ------------------------------------------------------------------------------------------------- */

/* "5%" or "0.05". */
static hone_rc share_of(const char *text, json_t *body, hone_err *err) {
    char *end = NULL;
    double x = strtod(text, &end);
    if (!strcmp(end, "%"))
        x /= 100;
    else if (*end)
        end = (char *)text;
    if (end == text || !(x > 0 && x <= 0.5))
        return cli_fail(err, HONE_E_USAGE, "--share %s: a share is above 0 and at most 50%%, as 5%%", text);
    json_object_set_new(body, "share", json_real(x));
    return HONE_OK;
}

static hone_rc number_of(const cli *c, const char *option, const char *key, bool percent, json_t *body, hone_err *err) {
    const char *text = cli_text(c, option, NULL);
    char *end = NULL;
    if (!text) return HONE_OK;
    double x = strtod(text, &end);
    if (percent && !strcmp(end, "%"))
        x /= 100;
    else if (end == text || *end)
        return cli_fail(err, HONE_E_USAGE, "--%s %s: no number", option, text);
    json_object_set_new(body, key, json_real(x));
    return HONE_OK;
}

static hone_rc ask_of(const cli *c, const char *path, json_t *body, hone_err *err) {
    hone_rc rc = HONE_OK;
    json_object_set_new(body, "path", json_string(path));
    if (cli_given(c, "of")) json_object_set_new(body, "model", json_string(cli_text(c, "of", "")));
    json_object_set_new(body, "replace", json_boolean(cli_given(c, "replace")));
    json_object_set_new(body, "shadow", json_boolean(cli_given(c, "shadow")));
    if (cli_given(c, "share")) rc = share_of(cli_text(c, "share", ""), body, err);
    if (!rc) rc = number_of(c, "margin", "margin", true, body, err);
    if (!rc) rc = number_of(c, "min-gain", "min_gain", true, body, err);
    if (!rc) rc = number_of(c, "tolerance", "tolerance", false, body, err);
    if (cli_given(c, "age")) json_object_set_new(body, "age_s", json_real(cli_seconds(c, "age", 0)));
    if (cli_given(c, "pairs")) json_object_set_new(body, "pairs", json_integer((json_int_t)cli_count(c, "pairs", 0)));
    if (cli_given(c, "runs")) json_object_set_new(body, "runs", json_integer((json_int_t)cli_count(c, "runs", 0)));
    if (cli_given(c, "elements"))
        json_object_set_new(body, "elements", json_integer((json_int_t)cli_count(c, "elements", 0)));
    return rc;
}

static json_t *by_id(const json_t *list, json_int_t id) {
    json_t *d;
    size_t i;
    json_array_foreach(list, i, d) if (json_integer_value(json_object_get(d, "id")) == id) return d;
    return NULL;
}

/* Until it has ended, or is held. *end: of the store. */
static hone_rc follow(const cli *c, json_int_t id, const volatile int *stop, json_t **end, hone_err *err) {
    for (;;) {
        json_t *reply = NULL;
        hone_rc rc = cli_admin_ask(c, "/deployments", NULL, &reply, err);
        if (rc) return rc;
        json_t *d = by_id(json_object_get(reply, "deployments"), id);
        const char *state = cli_admin_text(d, "state");
        if (strcmp(state, "running") != 0) {
            *end = json_incref(d);
            json_decref(reply);
            return HONE_OK;
        }
        json_decref(reply);
        if (*stop)
            return cli_fail(err, HONE_E_INTERRUPTED, "deployment %lld goes on without being followed", (long long)id);
        usleep(200000);
    }
}

static void say(cli *c, const json_t *reply) {
    const json_t *m = json_object_get(reply, "model"), *now = json_object_get(m, "now"),
                 *d = json_object_get(reply, "deployment");
    if (c->json)
        cli_admin_print(c, reply);
    else if (d)
        printf("%s: deployment %lld of %s began; `hone deploy --list` shows it, `hone rollback` ends it\n",
               cli_admin_text(m, "name"), (long long)json_integer_value(json_object_get(d, "id")),
               cli_admin_text(d, "next"));
    else
        printf("%s: %s answers now, version %s; opened in %.3g s\n", cli_admin_text(m, "name"),
               cli_admin_text(now, "path"), cli_admin_text(now, "version"),
               json_number_value(json_object_get(reply, "load_s")));
}

static hone_rc wait_for(cli *c, json_t *reply, const volatile int *stop, hone_err *err) {
    json_t *end = NULL;
    json_int_t id = json_integer_value(json_object_get(json_object_get(reply, "deployment"), "id"));
    hone_rc rc = follow(c, id, stop, &end, err);
    if (rc) return rc;
    const char *state = cli_admin_text(end, "state"), *text = cli_admin_text(end, "text");
    if (!strcmp(state, "rolled_back"))
        rc = cli_fail(err, HONE_E_REJECTED, "deployment %lld was rolled back: %s", (long long)id, text);
    else if (c->json)
        cli_admin_print(c, end);
    else
        printf("deployment %lld is %s: %s\n", (long long)id, state, text);
    json_decref(end);
    return rc;
}

static hone_rc run_deploy(cli *c, hone_err *err) {
    char path[PATH_MAX];
    json_t *reply = NULL, *body;
    if (cli_given(c, "list")) return list(c, "/models", list_models, err);
    if (cli_given(c, "history")) return list(c, "/deployments", list_history, err);
    if (!c->n_args) return cli_fail(err, HONE_E_USAGE, "no version is named; `hone deploy NEW --of MODEL`");
    if (cli_given(c, "replace") + cli_given(c, "shadow") + cli_given(c, "share") > 1)
        return cli_fail(err, HONE_E_USAGE, "--replace, --shadow and --share exclude each other");
    if (!realpath(c->arg[0], path))
        return cli_fail(err, HONE_E_IO, "cannot open '%s': there is no such model", c->arg[0]);
    cli_signals on = cli_catch_signals(false);
    body = json_object();
    hone_rc rc = ask_of(c, path, body, err);
    if (rc) {
        json_decref(body);
        return rc;
    }
    rc = cli_admin_ask(c, "/deploy", body, &reply, err);
    if (rc) return rc;
    if (cli_given(c, "wait") && !cli_given(c, "replace"))
        rc = wait_for(c, reply, on.stop, err);
    else
        say(c, reply);
    json_decref(reply);
    return rc;
}

static const cli_option options[] = {
    {"of", 0, CLI_TEXT, "MODEL", 0, 0, "the name that the server has for the model; else the only one"},
    {"share", 0, CLI_TEXT, "PART", 0, 0, "of the requests that NEW answers while it is on trial, at most 50% (5%)"},
    {"shadow", 0, CLI_FLAG, NULL, 0, 0, "NEW runs beside the old version, which answers all requests"},
    {"replace", 0, CLI_FLAG, NULL, 0, 0, "answer with NEW as soon as it is open, without a trial"},
    {"wait", 'w', CLI_FLAG, NULL, 0, 0, "until it is promoted, held or rolled back; exits with 17 for rolled back"},
    {"margin", 0, CLI_TEXT, "PART", 0, 0, "slower by more than that is too slow (1%)"},
    {"min-gain", 0, CLI_TEXT, "PART", 0, 0, "promote only what is faster by so much; else what is not slower"},
    {"tolerance", 0, CLI_TEXT, "X", 0, 0,
     "relative difference of outputs (1e-3, or what the model's types allow); of log-probabilities (0.1)"},
    {"pairs", 0, CLI_COUNT, "N", 1, 1e9, "a promotion needs so many requests that both versions ran (100)"},
    {"runs", 0, CLI_COUNT, "N", 1, 1e9, "and so many runs of NEW; of a language model steps (2300)"},
    {"elements", 0, CLI_COUNT, "N", 1, 1e9, "and so many elements or tokens compared (4610)"},
    {"age", 0, CLI_SECONDS, "TIME", 0, 0, "what is undecided by then is held (a day)"},
    {"list", 'l', CLI_FLAG, NULL, 0, 0, "show the models of the server, their versions, and what is on trial"},
    {"history", 0, CLI_FLAG, NULL, 0, 0, "show deployments and what became of them, and what was learned"},
    CLI_ADMIN_OPTIONS,
    {0},
};

const cli_command cli_cmd_deploy = {
    "deploy",
    "Models",
    "[NEW]",
    "put another version of a model into a running server, on trial first",
    "NEW answers a share of the requests (or none, with `--shadow`) in a process of its own, while a sample of all "
    "requests is run by both versions and compared: answers, errors, times. Statistics that are valid at any time "
    "promote NEW, hold it, or roll it back, each with a sentence that says why. A request that NEW fails, or dies of, "
    "is "
    "answered by the old version. `--replace` leaves the trial out. Requests under way end with the version that they "
    "began with: none is lost. `hone rollback` goes back by hand.",
    options,
    "hone deploy better.onnx --of model --share 5% --wait\ttry it on 5 % of the requests, until that is decided\n"
    "hone deploy better.onnx --of model --shadow\tno client sees it\n"
    "hone deploy better.onnx --of model --replace\tanswer with it from now on\n"
    "hone deploy --list\tmodels, versions, and what is on trial\n",
    0,
    1,
    run_deploy,
};
