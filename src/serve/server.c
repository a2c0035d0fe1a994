/* server.c — the loop that takes calls in, hands events of the engine to them, and ends. */
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "serve/http.h"
#include "serve/tls.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void hn_server_note(hn_server *s, const char *fmt, ...) {
    hone_err text = {0};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text.text, sizeof text.text, fmt, ap);
    va_end(ap);
    if (s->o.on_note) s->o.on_note(s->o.on_note_arg, text.text);
    json_t *o = s->log ? json_pack("{s:f, s:s}", "time", hn_unix_s(), "note", text.text) : NULL;
    char *line = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    if (line) fprintf(s->log, "%s\n", line);
    if (line) fflush(s->log);
    free(line);
    json_decref(o);
}

void hn_server_take(hn_server *s, hn_event *h) {
    hn_task *j = h->job;
    if (!j) {
        hn_runner_take(s->engine, h);
        hn_event_free(h);
        return;
    }
    hn_http_call *c = j->call;
    if (h->done) c->n_done++;
    if (h->done && c->model && c->choice[j->index].failed) hn_deploy_retried(c, j->rc != HONE_OK);
    if (h->done && c->request && c->choice[j->index].torn)
        j->rc =
            hn_fail(&j->why, HONE_E_FAILED,
                    "the version on trial ended in the middle of this answer, which the other one gives differently");
    if (!c->request) {
        if (c->n_done == c->n_job) hn_http_end(c);
    } else if (!h->done) {
        hn_choice *x = &c->choice[j->index];
        if (!hn_tryout_merge(x, h)) {
            x->torn = true;
            atomic_store(&j->gone, 1);
        } else if (h->n_text)
            hn_answer_piece(c, h);
    } else if (c->form == HN_FORM_TENSOR)
        hn_tensors_end(c, j);
    else
        hn_answer_end(c, j);
    hn_event_free(h);
}

static void on_events(evutil_socket_t fd, short what, void *arg) {
    hn_server *s = arg;
    (void)fd;
    (void)what;
    for (hn_event *h = hn_runner_events(s->engine), *next; h; h = next) {
        next = h->next;
        hn_server_take(s, h);
    }
}

/* The path with its %XX as characters, but for U+0000: names of models may have spaces. */
static char *path_of(struct evhttp_request *request) {
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    size_t n = 0;
    char *text = path ? evhttp_uridecode(path, 0, &n) : NULL;
    if (text && strlen(text) == n) return text;
    free(text);
    return strdup(path ? path : "/");
}

hn_http_call *hn_http_begin(hn_server *s, struct evhttp_request *request) {
    hn_http_call *c = calloc(1, sizeof *c);
    if (!c || !(c->path = path_of(request))) {
        free(c);
        evhttp_send_error(request, 503, "out of memory");
        return NULL;
    }
    hn_guard_whole(s->guard, evhttp_request_get_connection(request));
    c->server = s;
    c->request = request;
    c->arrived_s = hn_now_s();
    c->created_s = hn_unix_s();
    snprintf(c->id, sizeof c->id, "req-%08" PRIx64 "%08" PRIx64, (uint64_t)c->created_s & 0xffffffff, ++s->next_id);
    c->next = s->calls;
    c->at = &s->calls;
    if (s->calls) s->calls->at = &c->next;
    s->calls = c;
    s->n_calls++;
    hn_http_watch(c);
    return c;
}

static void on_request(struct evhttp_request *request, void *arg) {
    hn_http_call *c = hn_http_begin(arg, request);
    if (c) hn_http_route(c, evhttp_request_get_command(request) == EVHTTP_REQ_POST);
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static uint16_t port_of(const hn_server *s) {
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(evhttp_bound_socket_get_fd(s->bound), (struct sockaddr *)&a, &n)) return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

/* Who started the server is told once of each model that answers nothing. */
static void tell_broken(hn_server *s) {
    hone_err why;
    for (size_t i = 0; i < s->engine->n_model; i++) {
        hn_served *m = s->engine->model[i];
        if (m->told || !hn_served_broken(m, &why)) continue;
        m->told = true;
        if (s->o.on_broken) s->o.on_broken(s->o.on_ready_arg, m->name, &why);
    }
}

static hone_rc open_log(const hn_server *s, FILE **out, hone_err *err) {
    if (!s->o.log) return HONE_OK;
    FILE *f = fopen(strcmp(s->o.log, "-") ? s->o.log : "/dev/stderr", "ae");
    if (!f) return hn_fail(err, HONE_E_IO, "cannot open '%s': %s", s->o.log, strerror(errno));
    *out = f;
    return HONE_OK;
}

/* The certificate, and the log by its name, which may be another file by now. What fails stays as it was. */
static void reload(hn_server *s) {
    FILE *log = NULL;
    hone_err why = {0};
    hone_rc rc = s->tls ? hn_tls_reload(s->tls, &why) : HONE_OK;
    hone_rc log_rc = open_log(s, &log, rc ? NULL : &why);
    if (!log_rc && log) {
        fclose(s->log);
        s->log = log;
    }
    if (s->o.on_reload) s->o.on_reload(s->o.on_ready_arg, rc || log_rc ? &why : NULL);
}

/* The engine looks at its models when it is awake; who asks none for long wants to know, too. */
static void look_at_weights(hn_server *s, double now_s) {
    if (now_s - s->looked_s < 1) return;
    s->looked_s = now_s;
    hone_err why;
    for (size_t i = 0; i < s->engine->n_model; i++) {
        const hn_served *m = s->engine->model[i];
        if (!hn_served_broken(m, &why) && hn_lost_is(&m->weights)) hn_runner_wake(s->engine);
    }
}

static void on_tick(evutil_socket_t fd, short what, void *arg) {
    hn_server *s = arg;
    double now_s = hn_now_s();
    (void)fd;
    (void)what;
    hn_guard_sweep(s->guard, now_s);
    hone_err why = {0};
    if (!hn_traffic_tick(s->engine->traffic, now_s, &why))
        hn_server_note(s, "what was asked for is not written: %s", why.text);
    if (s->told) look_at_weights(s, now_s);
    bool ready = hn_runner_ready(s->engine, &s->why);
    hn_deploy_tick(s, now_s);
    if (ready && !s->told) {
        s->told = true;
        hn_deploy_resume(s);
        tell_broken(s);
        if (s->o.on_ready) s->o.on_ready(s->o.on_ready_arg, s->o.host, port_of(s));
    }
    if (s->o.reload && *s->o.reload != s->reloaded) {
        s->reloaded = *s->o.reload;
        reload(s);
    }
    if (s->told || (s->why.rc && s->o.n_model > 1)) tell_broken(s);
    if (!s->ending && ((s->o.stop && *s->o.stop) || s->drain)) {
        s->ending = true;
        s->engine->stop_load = 1;
        s->end_s = now_s + s->o.drain_s;
        hn_guard_listener(s->guard, NULL);
        evhttp_del_accept_socket(s->http, s->bound);
        s->bound = NULL;
    }
    if (s->why.rc || (s->ending && (!(s->n_calls + s->n_writing) || now_s > s->end_s))) event_base_loopbreak(s->base);
}

static hone_rc open_http(hn_server *s, hone_err *err) {
    const hone_serve_options *o = &s->o;
    s->http = evhttp_new(s->base);
    if (!s->http) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
    evhttp_set_max_headers_size(s->http, 64 << 10);
    evhttp_set_max_body_size(s->http, (ev_ssize_t)o->max_body_b);
    evhttp_set_timeout(s->http, (int)(o->idle_timeout_s < 1 ? 1 : o->idle_timeout_s));
    evhttp_set_bevcb(s->http, hn_guard_watch, s->guard);
    evhttp_set_gencb(s->http, on_request, s);
    s->bound = evhttp_bind_socket_with_handle(s->http, o->host, o->port);
    if (!s->bound)
        return hn_fail(err, HONE_E_IO, "cannot listen on %s, port %u: %s; choose another --port", o->host, o->port,
                       strerror(errno));
    hn_guard_listener(s->guard, evhttp_bound_socket_get_listener(s->bound));
    return HONE_OK;
}

static hone_rc open_tls(hn_server *s, hone_err *err) {
    const hone_serve_options *o = &s->o;
    if (!o->tls_cert != !o->tls_key)
        return hn_fail(err, HONE_E_USAGE, "a certificate and its key go together; give the %s, too",
                       o->tls_cert ? "key" : "certificate");
    return o->tls_cert ? hn_tls_open(o->tls_cert, o->tls_key, &s->tls, err) : HONE_OK;
}

static hone_rc open_server(hn_server *s, hone_err *err) {
    static const struct timeval often = {0, 50000};
    hone_rc rc = s->o.key_file ? hn_keys_read(s->o.key_file, &s->key, &s->n_key, err) : HONE_OK;
    s->figures.name = "";
    s->begin_s = hn_now_s();
    pthread_mutex_init(&s->figures.lock, NULL);
    if (!rc) rc = open_log(s, &s->log, err);
    s->base = event_base_new();
    if (!rc) rc = open_tls(s, err);
    s->guard = hn_guard_new(s->o.read_timeout_s, s->tls);
    if (!rc && (!s->base || !s->guard)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = open_http(s, err);
    if (!rc) rc = hn_admin_open(s, port_of(s), err);
    if (rc) return rc;
    hn_deploy_open(s);
    rc = hn_runner_start(&s->o, hn_deploy_path, s, &s->engine, err);
    if (!rc && !(s->deployment = calloc(s->engine->n_model + 1, sizeof *s->deployment)))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (rc) return rc;
    s->on_event = event_new(s->base, s->engine->fd, EV_READ | EV_PERSIST, on_events, s);
    s->tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
    if (!s->on_event || !s->tick || event_add(s->on_event, NULL) || event_add(s->tick, &often))
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    return HONE_OK;
}

static void close_server(hn_server *s) {
    if (s->engine) hn_deploy_close(s);
    hn_nursery_close(&s->nursery);
    if (s->on_event) event_free(s->on_event);
    if (s->tick) event_free(s->tick);
    hn_admin_close(s);
    if (s->http) evhttp_free(s->http); /* calls under way lose their clients */
    hn_runner_free(s->engine);
    while (s->calls) {
        s->calls->n_done = s->calls->n_job;
        s->calls->model = NULL; /* it is closed */
        hn_http_end(s->calls);
    }
    hn_guard_free(s->guard);
    hn_tls_free(s->tls);
    if (s->base) event_base_free(s->base);
    hn_keys_free(s->key, s->n_key);
    if (s->log) fclose(s->log);
    pthread_mutex_destroy(&s->figures.lock);
}

static void usual(hone_serve_options *o) {
    if (!o->host) o->host = "127.0.0.1";
    if (!o->at_once) o->at_once = 32;
    if (o->at_once > HN_AT_ONCE) o->at_once = HN_AT_ONCE;
    if (!o->step_tokens) o->step_tokens = 256;
    if (!o->max_queue) o->max_queue = 256;
    if (!o->max_batch) o->max_batch = 32;
    if (!o->max_body_b) o->max_body_b = (size_t)32 << 20;
    if (!(o->read_timeout_s > 0)) o->read_timeout_s = 30;
    if (!(o->idle_timeout_s > 0)) o->idle_timeout_s = 300;
    if (!(o->drain_s > 0)) o->drain_s = 30;
}

hone_rc hone_serve_run(const hone_serve_options *options, hone_err *err) {
    hn_server s = {.o = hone_serve_defaults()};
    hone_err none;
    hone_rc rc = hn_options_read(&s.o, sizeof s.o, options, "serve", err);
    if (!rc && !s.o.n_model) rc = hn_fail(err, HONE_E_USAGE, "there is no model to serve; name one");
    if (rc) return rc;
    usual(&s.o);
    if (s.o.admin && !*s.o.admin)
        s.nursery.fd = -1;
    else if (hn_nursery_open(&s.nursery, &none)) /* before there are threads */
        s.nursery.fd = -1;
    rc = open_server(&s, err);
    if (!rc && event_base_dispatch(s.base) < 0) rc = hn_fail(err, HONE_E_FAILED, "the loop of events failed");
    if (!rc && s.why.rc) {
        rc = s.why.rc;
        if (err) *err = s.why;
    }
    close_server(&s);
    return rc;
}
