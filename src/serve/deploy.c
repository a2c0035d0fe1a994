/* deploy.c — deployments as admin calls begin and end them. */
#include "base/err.h"
#include "serve/http.h"

#include <stdlib.h>
#include <string.h>

/* --- at once ------------------------------------------------------------------------------------------------------ */

static void say_model(hn_http_call *c, size_t at, double load_s) {
    hn_http_reply(c, 200, json_pack("{s:o, s:f}", "model", hn_admin_model(c->server, at), "load_s", load_s));
}

/* The version is open, or cannot be: the call that asked for it hears of it. */
static void on_replacement(void *arg, hn_load *l) {
    hn_http_call *c = arg;
    hn_server *s = c->server;
    size_t at = hn_runner_at(s->engine, l->model->name);
    hone_err why = l->why;
    hone_rc rc = l->rc;
    if (!rc) rc = hn_served_fits(s->engine->model[at], l->model, &why);
    if (!rc) rc = hn_runner_put(s->engine, at, l->model, &why);
    c->held = false;
    if (rc) {
        hn_admin_fail(c, rc, &why);
        return;
    }
    l->model = NULL;
    hn_server_note(s, "'%s' is answered by '%s' (version %s) now", s->engine->model[at]->name,
                   s->engine->model[at]->path, s->engine->model[at]->version);
    say_model(c, at, l->seconds);
}

static hone_rc read_path(const hn_http_call *c, char **path, hone_err *err) {
    const char *text = json_string_value(json_object_get(c->body, "path"));
    if (!text) return hn_fail(err, HONE_E_USAGE, "'path' is missing: that of the new version");
    *path = realpath(text, NULL);
    return *path ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot open '%s': there is no such model", text);
}

void hn_deploy_begin(hn_http_call *c, size_t at) {
    hn_runner *e = c->server->engine;
    hone_err why = {0};
    char *path = NULL;
    hone_rc rc = read_path(c, &path, &why);
    if (!rc && !json_is_true(json_object_get(c->body, "replace")))
        rc = hn_fail(&why, HONE_E_UNSUPPORTED, "only \"replace\": true is offered");
    c->held = true;
    if (!rc) rc = hn_runner_load(e, e->model[at]->name, path, on_replacement, c, &why);
    free(path);
    if (!rc) return;
    c->held = false;
    hn_admin_fail(c, rc, &why);
}

void hn_deploy_revert(hn_http_call *c, size_t at) {
    hn_runner *e = c->server->engine;
    hone_err why = {0};
    hone_rc rc = e->before[at] ? hn_runner_put(e, at, e->before[at], &why)
                               : hn_fail(&why, HONE_E_NOTFOUND, "no version answered for '%s' before this one",
                                         e->model[at]->name);
    if (rc)
        hn_admin_fail(c, rc, &why);
    else
        say_model(c, at, 0);
}
