/* admin.c — admin calls: HTTP and JSON on a UNIX socket that only its owner can open. */
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "serve/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BODY_B = 1 << 20, IDLE_S = 60 };

void hn_admin_fail(hn_http_call *c, hone_rc rc, const hone_err *why) {
    int status = rc == HONE_E_BUSY ? 409 : hn_status_of(rc);
    free(c->why);
    c->why = strdup(why->text);
    hn_http_reply(
        c, status,
        json_pack("{s:{s:s%, s:s}}", "error", "message", why->text, strlen(why->text), "name", hone_rc_name(rc)));
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static json_t *version_json(const hn_served *m) {
    if (!m) return json_null();
    return json_pack("{s:s, s:s, s:f, s:I}", "path", m->path, "version", m->version, "loaded_s", m->loaded_s, "calls",
                     (json_int_t)m->n_calls);
}

json_t *hn_admin_model(hn_server *s, size_t at) {
    const hn_served *m = s->engine->model[at];
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", m->name, "kind", m->language ? "language" : "tensors",
                     "base", s->engine->base[at], "now", version_json(m), "before", version_json(s->engine->before[at]),
                     "deployment", hn_deploy_json(s, at));
}

static void models_call(hn_http_call *c) {
    hn_server *s = c->server;
    json_t *list = json_array();
    for (size_t i = 0; i < s->engine->n_model; i++) json_array_append_new(list, hn_admin_model(s, i));
    hn_http_reply(c, 200,
                  json_pack("{s:o, s:b, s:I, s:I}", "models", list, "ending", s->ending, "calls",
                            (json_int_t)s->n_calls, "asked", (json_int_t)s->n_asked));
}

static void drain_call(hn_http_call *c) {
    c->server->drain = true;
    hn_http_reply(c, 200, json_pack("{s:b}", "ending", 1));
}

/* The model that the body names, or the only one. */
static bool find_model(hn_http_call *c, size_t *at) {
    hn_runner *e = c->server->engine;
    const char *name = json_string_value(json_object_get(c->body, "model"));
    hone_err why = {0};
    *at = name ? hn_runner_at(e, name) : 0;
    if (!name && e->n_model > 1)
        hn_fail(&why, HONE_E_USAGE, "'model' is missing, and %zu are served; name one", e->n_model);
    else if (*at == e->n_model)
        hn_fail(&why, HONE_E_NOTFOUND, "there is no model '%.200s' here; `hone deploy --list` names them", name);
    if (why.rc) hn_admin_fail(c, why.rc, &why);
    return !why.rc;
}

static void deploy_call(hn_http_call *c) {
    size_t at;
    if (find_model(c, &at)) hn_deploy_begin(c, at);
}

static void rollback_call(hn_http_call *c) {
    size_t at;
    if (find_model(c, &at)) hn_deploy_revert(c, at);
}

typedef struct admin_route {
    const char *path;
    bool post;
    void (*run)(hn_http_call *c);
} admin_route;
static const admin_route routes[] = {
    {"/models", false, models_call}, {"/deployments", false, hn_deploy_history},
    {"/deploy", true, deploy_call},  {"/rollback", true, rollback_call},
    {"/drain", true, drain_call},
};

static void on_request(struct evhttp_request *request, void *arg) {
    hn_http_call *c = hn_http_begin(arg, request);
    if (!c) return;
    const admin_route *r = NULL;
    bool post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
    hone_err why = {0};
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (!strcmp(routes[i].path, c->path)) r = &routes[i];
    if (!r)
        hn_fail(&why, HONE_E_NOTFOUND, "there is no such call; docs/serve.md lists them");
    else if (r->post != post)
        hn_fail(&why, HONE_E_USAGE, post ? "this call is a GET" : "this call is a POST");
    else if (!hn_runner_ready(c->server->engine, &why))
        hn_fail(&why, HONE_E_BUSY, "the models are being loaded; try again when /ready answers 200");
    else if (c->server->ending && post)
        hn_fail(&why, HONE_E_FAILED, "the server is ending");
    if (why.rc)
        hn_admin_fail(c, why.rc, &why);
    else if (!post || hn_http_read_body(c))
        r->run(c);
}

/* --- the socket --------------------------------------------------------------------------------------------------- */

static bool somebody_answers(const struct sockaddr_un *a) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool yes = fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof *a) || errno == EAGAIN);
    if (fd >= 0) close(fd);
    return yes;
}

/* The mode is that of the socket before it has a name, so that there is no moment at which others could open it. What a
 * server left that was killed is replaced. */
static hone_rc listen_at(const char *path, int *out, hone_err *err) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    int dir = -1, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (slash) *slash = 0;
    hone_rc rc = slash && *folder ? hn_make_dirs(folder, err) : HONE_OK;
    if (!rc && strlen(path) >= sizeof a.sun_path && slash) /* reached through its folder's descriptor */
        dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int n = dir >= 0 ? snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s", dir, slash + 1)
                     : snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    if (!rc && (fd < 0 || n >= (int)sizeof a.sun_path))
        rc = hn_fail(err, HONE_E_IO, "cannot make the admin socket '%s': %s", path,
                     fd < 0 ? strerror(errno) : "its name is too long");
    bool bound = !rc && !fchmod(fd, 0600) && !bind(fd, (struct sockaddr *)&a, sizeof a);
    if (!rc && !bound && errno == EADDRINUSE) {
        if (somebody_answers(&a))
            rc = hn_fail(err, HONE_E_BUSY, "another server has the admin socket '%s'; give another --admin", path);
        else
            bound = !unlink(a.sun_path) && !bind(fd, (struct sockaddr *)&a, sizeof a);
    }
    if (!rc && (!bound || listen(fd, 16)))
        rc = hn_fail(err, HONE_E_IO, "cannot make the admin socket '%s': %s", path, strerror(errno));
    if (dir >= 0) close(dir);
    free(folder);
    if (rc && fd >= 0) close(fd);
    if (!rc) *out = fd;
    return rc;
}

static hone_rc open_at(hn_server *s, const char *path, hone_err *err) {
    int fd = -1;
    hone_rc rc = listen_at(path, &fd, err);
    if (rc) return rc;
    s->admin = evhttp_new(s->base);
    if (!s->admin || !evhttp_accept_socket_with_handle(s->admin, fd)) {
        close(fd);
        unlink(path);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    evhttp_set_allowed_methods(s->admin, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
    evhttp_set_max_headers_size(s->admin, 64 << 10);
    evhttp_set_max_body_size(s->admin, BODY_B);
    evhttp_set_timeout(s->admin, IDLE_S);
    evhttp_set_gencb(s->admin, on_request, s);
    return HONE_OK;
}

hone_rc hn_admin_open(hn_server *s, uint16_t port, hone_err *err) {
    hone_err why = {0};
    const char *wish = s->o.admin;
    if (wish && !*wish) return HONE_OK;
    s->admin_path = wish ? strdup(wish) : hone_serve_admin_path(port);
    if (!s->admin_path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = open_at(s, s->admin_path, wish ? err : &why);
    if (!rc) return HONE_OK;
    free(s->admin_path);
    s->admin_path = NULL;
    if (wish) return rc;
    hn_server_note(s, "no admin calls: %s", why.text); /* the usual place is one that nobody asked for */
    return HONE_OK;
}

void hn_admin_close(hn_server *s) {
    if (s->admin) evhttp_free(s->admin);
    if (s->admin_path) unlink(s->admin_path);
    free(s->admin_path);
    s->admin = NULL;
    s->admin_path = NULL;
}
