/* cmd_rollback.c — `hone rollback`: the version that answered before answers again. */
#include "admin.h"

static hone_rc run_rollback(cli *c, hone_err *err) {
    json_t *reply = NULL, *body = json_object();
    if (c->n_args) json_object_set_new(body, "model", json_string(c->arg[0]));
    hone_rc rc = cli_admin_ask(c, "/rollback", body, &reply, err);
    if (rc) return rc;
    const json_t *m = json_object_get(reply, "model"), *now = json_object_get(m, "now");
    if (c->json)
        cli_admin_print(c, reply);
    else if (json_object_get(reply, "ended"))
        printf("%s: the trial has ended, %s answers, version %s\n", cli_admin_text(m, "name"),
               cli_admin_text(now, "path"), cli_admin_text(now, "version"));
    else
        printf("%s: %s answers now, version %s\n", cli_admin_text(m, "name"), cli_admin_text(now, "path"),
               cli_admin_text(now, "version"));
    json_decref(reply);
    return HONE_OK;
}

static const cli_option options[] = {
    CLI_ADMIN_OPTIONS,
    {0},
};

const cli_command cli_cmd_rollback = {
    "rollback",
    "Models",
    "[MODEL]",
    "let the version of a model that answered before answer again",
    "Ends a trial that is under way: no request goes to the version on trial any more. Without one, the version that "
    "answered before the last promotion or replacement answers again; it is still open in the server, so it does at "
    "once. Requests under way end with the version that they began with.",
    options,
    "hone rollback model\tat once\n",
    0,
    1,
    run_rollback,
};
