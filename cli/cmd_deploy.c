/* cmd_deploy.c — `hone deploy`: another version of a model that a server has. */
#include "admin.h"

#include <limits.h>
#include <stdlib.h>

static hone_rc list(cli *c, hone_err *err) {
    json_t *reply = NULL, *m;
    size_t i;
    hone_rc rc = cli_admin_ask(c, "/models", NULL, &reply, err);
    if (rc) return rc;
    if (c->json)
        cli_admin_print(c, reply);
    else {
        cli_table *t = cli_table_new("llllx");
        static const char *const head[] = {"model", "kind", "version", "state", "path"};
        for (size_t k = 0; k < sizeof head / sizeof *head; k++) cli_table_head(t, head[k]);
        json_array_foreach(json_object_get(reply, "models"), i, m) {
            const json_t *now = json_object_get(m, "now"), *before = json_object_get(m, "before");
            for (int old = 0; old < 1 + json_is_object(before); old++) {
                const json_t *v = old ? before : now;
                cli_table_cell(t, "%s", cli_admin_text(m, "name"));
                cli_table_cell(t, "%s", cli_admin_text(m, "kind"));
                cli_table_cell(t, "%s", cli_admin_text(v, "version"));
                cli_table_cell(t, "%s", old ? "before" : "answers");
                cli_table_cell(t, "%s", cli_admin_text(v, "path"));
            }
        }
        cli_table_print(c, t, stdout, cli_width(stdout));
    }
    json_decref(reply);
    return HONE_OK;
}

static hone_rc run_deploy(cli *c, hone_err *err) {
    char path[PATH_MAX];
    json_t *reply = NULL;
    if (cli_given(c, "list")) return list(c, err);
    if (!c->n_args) return cli_fail(err, HONE_E_USAGE, "no version is named; `hone deploy NEW --of MODEL`");
    if (!realpath(c->arg[0], path))
        return cli_fail(err, HONE_E_IO, "cannot open '%s': there is no such model", c->arg[0]);
    if (!cli_given(c, "replace")) return cli_fail(err, HONE_E_UNSUPPORTED, "only `--replace` is offered");
    json_t *body = json_pack("{s:s, s:b}", "path", path, "replace", 1);
    if (cli_given(c, "of")) json_object_set_new(body, "model", json_string(cli_text(c, "of", "")));
    hone_rc rc = cli_admin_ask(c, "/deploy", body, &reply, err);
    if (rc) return rc;
    const json_t *m = json_object_get(reply, "model"), *now = json_object_get(m, "now");
    if (c->json)
        cli_admin_print(c, reply);
    else
        printf("%s: %s answers now, version %s; opened in %.3g s\n", cli_admin_text(m, "name"),
               cli_admin_text(now, "path"), cli_admin_text(now, "version"),
               json_number_value(json_object_get(reply, "load_s")));
    json_decref(reply);
    return HONE_OK;
}

static const cli_option options[] = {
    {"of", 0, CLI_TEXT, "MODEL", 0, 0, "the name that the server has for the model; else the only one"},
    {"replace", 0, CLI_FLAG, NULL, 0, 0, "answer with it as soon as it is open, without a trial"},
    {"list", 'l', CLI_FLAG, NULL, 0, 0, "show the models of the server and their versions"},
    CLI_ADMIN_OPTIONS,
    {0},
};

const cli_command cli_cmd_deploy = {
    "deploy",
    "Models",
    "[NEW]",
    "put another version of a model into a running server",
    "Opens the version (compiling it where that has not been done) in the running server while the old one answers. "
    "Then new requests go to it, and those under way end with the old one: none is lost. The old version stays open; "
    "`hone rollback` lets it answer again.",
    options,
    "hone deploy better.onnx --of model --replace\tanswer with it from now on\n"
    "hone deploy --list\tmodels and versions\n",
    0,
    1,
    run_deploy,
};
