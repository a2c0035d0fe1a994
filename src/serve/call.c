/* call.c — a call of a client from its first byte to its end: replies, streams, the jobs it hands to the engine. */
#include "base/clock.h"
#include "base/err.h"
#include "serve/http.h"

#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { OUTPUT_MOST = 4 << 20, RETRY_AFTER_S = 1, WRITE_S = 30 };

int hn_status_of(hone_rc rc) {
    switch (rc) {
    case HONE_OK: return 200;
    case HONE_E_USAGE:
    case HONE_E_INPUT:
    case HONE_E_UNSUPPORTED:
    case HONE_E_LIMIT: return 400;
    case HONE_E_NOTFOUND: return 404;
    case HONE_E_BUSY: return 429;
    case HONE_E_INTERRUPTED: return 499;
    case HONE_E_EXHAUSTED: return 504;
    default: return 500;
    }
}

/* --- the end of a call -------------------------------------------------------------------------------------------- */

static void free_call(hn_http_call *c) {
    for (size_t i = 0; i < c->n_job; i++) {
        hn_task *j = c->job[i];
        hone_text_answer_free(&j->answer);
        free(j->vector);
        for (size_t k = 0; k < j->n_out; k++) hone_free(j->out[k].data);
        for (size_t k = 0; k < j->n_in; k++) free(j->in[k].data);
        free(j->in);
        free(j->out);
        free(j);
        hn_str_free(&c->choice[i].text);
        hn_str_free(&c->choice[i].sent);
    }
    for (size_t i = 0; i < c->n_token; i++) free(c->token[i]);
    free(c->job);
    free(c->choice);
    free(c->token);
    free(c->stop);
    free(c->bias);
    free(c->schema);
    free(c->why);
    hone_free(c->prompt_text);
    json_decref(c->body);
    free(c->path);
    free(c);
}

static void log_call(const hn_http_call *c) {
    size_t prompt = 0, tokens = 0;
    double first_s = 0, now_s = hn_now_s();
    for (size_t i = 0; i < c->n_job; i++) {
        prompt += i % (c->n_per_prompt ? c->n_per_prompt : 1) ? 0 : c->job[i]->answer.n_prompt;
        tokens += c->job[i]->answer.n;
        if (c->job[i]->first_s > 0 && (!(first_s > 0) || c->job[i]->first_s < first_s)) first_s = c->job[i]->first_s;
    }
    json_t *o = json_pack("{s:f, s:s, s:s, s:i, s:s*, s:s*, s:I, s:I, s:f, s:s*}", "time", hn_unix_s(), "id", c->id,
                          "path", c->path, "status", c->status, "model", c->model ? c->model->name : NULL, "key",
                          c->key ? c->key->name : NULL, "prompt_tokens", (json_int_t)prompt, "answer_tokens",
                          (json_int_t)tokens, "whole_s", now_s - c->arrived_s, "why", c->why);
    if (o && first_s > 0) json_object_set_new(o, "first_s", json_real(first_s - c->arrived_s));
    char *line = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    if (line) fprintf(c->server->log, "%s\n", line);
    if (line) fflush(c->server->log);
    free(line);
    json_decref(o);
}

void hn_http_use(hn_http_call *c, hn_served *m) {
    if (m) hn_served_use(m);
    if (c->model) hn_served_release(c->server->engine, c->model);
    c->model = m;
}

/* The reply is out, or nobody is there to have it, and no job is under way. */
void hn_http_end(hn_http_call *c) {
    hn_server *s = c->server;
    hn_figures *f = c->figures ? c->figures : c->model ? c->model->figures : &s->figures;
    pthread_mutex_lock(&f->lock);
    if (c->status > 0 && c->status < HN_CODES) f->answered[c->status]++;
    pthread_mutex_unlock(&f->lock);
    if (s->log && !c->quiet) log_call(c);
    if (c->key) c->key->now -= c->charged;
    *c->at = c->next;
    if (c->next) c->next->at = c->at;
    s->n_calls--;
    hn_http_use(c, NULL);
    free_call(c);
}

static void on_close(struct evhttp_connection *con, void *arg) {
    hn_http_call *c = arg;
    hn_guard_gone(c->server->guard, con);
    c->request = NULL;
    c->status = c->started ? c->status : 499;
    if (c->held) return;
    for (size_t i = 0; i < c->n_job; i++) atomic_store(&c->job[i]->gone, 1);
    if (c->n_done < c->n_job)
        hn_runner_wake(c->server->engine);
    else
        hn_http_end(c);
}

/* While a request is looked after its client is not silent too long, whatever it does; that it goes is seen. */
void hn_http_watch(hn_http_call *c) {
    const struct timeval write_s = {WRITE_S, 0};
    struct evhttp_connection *con = evhttp_request_get_connection(c->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(con);
    evhttp_connection_set_closecb(con, on_close, c);
    bufferevent_set_timeouts(bev, NULL, &write_s);
    bufferevent_enable(bev, EV_READ);
}

static void on_written(struct evhttp_request *request, void *arg) {
    hn_server *s = arg;
    s->n_writing--;
    hn_guard_between(s->guard, evhttp_request_get_connection(request));
}

static void on_lost(struct evhttp_connection *con, void *arg) {
    hn_server *s = arg;
    s->n_writing--;
    hn_guard_gone(s->guard, con);
    evhttp_connection_set_closecb(con, NULL, NULL);
}

/* Before the last bytes of the reply: the server does not end while they are on their way. */
static void let_go(hn_http_call *c) {
    struct evhttp_connection *con = evhttp_request_get_connection(c->request);
    const struct timeval idle = {(time_t)c->server->o.idle_timeout_s, 0}, write_s = {WRITE_S, 0};
    c->server->n_writing++;
    evhttp_request_set_on_complete_cb(c->request, on_written, c->server);
    evhttp_connection_set_closecb(con, on_lost, c->server);
    bufferevent_set_timeouts(evhttp_connection_get_bufferevent(con), &idle, &write_s);
    if (c->server->ending) evhttp_add_header(evhttp_request_get_output_headers(c->request), "Connection", "close");
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static const char *reason(int status) {
    static const struct {
        int status;
        const char *text;
    } list[] = {{200, "OK"},
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {413, "Payload Too Large"},
                {415, "Unsupported Media Type"},
                {429, "Too Many Requests"},
                {500, "Internal Server Error"},
                {501, "Not Implemented"},
                {503, "Service Unavailable"},
                {504, "Gateway Timeout"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].status == status) return list[i].text;
    return "Error";
}

void hn_http_reply_data(hn_http_call *c, int status, const char *type, struct evbuffer *data) {
    c->status = status;
    if (c->request) {
        struct evkeyvalq *head = evhttp_request_get_output_headers(c->request);
        evhttp_add_header(head, "Content-Type", type);
        evhttp_add_header(head, "X-Request-Id", c->id);
        let_go(c);
        evhttp_send_reply(c->request, status, reason(status), data);
    }
    if (data) evbuffer_free(data);
    c->request = NULL;
    hn_http_end(c);
}

void hn_http_reply(hn_http_call *c, int status, json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    struct evbuffer *data = evbuffer_new();
    json_decref(json);
    if (!text || !data || evbuffer_add(data, text, strlen(text))) status = 500;
    free(text);
    hn_http_reply_data(c, status, "application/json", data);
}

static json_t *error_of(const hn_http_call *c, int status, const char *text) {
    const char *type = status == 401   ? "authentication_error"
                       : status == 404 ? "not_found_error"
                       : status == 429 ? "rate_limit_error"
                       : status < 500  ? "invalid_request_error"
                                       : "server_error";
    if (c->form == HN_FORM_TENSOR) return json_pack("{s:s%}", "error", text, strlen(text));
    return json_pack("{s:{s:s%, s:s, s:n, s:i}}", "error", "message", text, strlen(text), "type", type, "param", "code",
                     status);
}

void hn_http_fail(hn_http_call *c, int status, const char *text) {
    free(c->why);
    c->why = strdup(text);
    if (c->started) { /* the status is out: an event says so */
        hn_http_event(c, error_of(c, status, text));
        c->status = status;
        hn_http_end_stream(c);
        return;
    }
    if (c->request && (status == 429 || status == 503)) {
        char after[16];
        snprintf(after, sizeof after, "%d", RETRY_AFTER_S);
        evhttp_add_header(evhttp_request_get_output_headers(c->request), "Retry-After", after);
    }
    hn_http_reply(c, status, error_of(c, status, text));
}

void hn_http_event(hn_http_call *c, json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    struct evbuffer *data = text && c->request ? evbuffer_new() : NULL;
    json_decref(json);
    if (data && !c->started) {
        struct evkeyvalq *head = evhttp_request_get_output_headers(c->request);
        evhttp_add_header(head, "Content-Type", "text/event-stream; charset=utf-8");
        evhttp_add_header(head, "Cache-Control", "no-cache");
        evhttp_add_header(head, "X-Request-Id", c->id);
        c->status = 200;
        c->started = true;
        evhttp_send_reply_start(c->request, 200, "OK");
    }
    if (data) {
        evbuffer_add_printf(data, "data: %s\n\n", text);
        evhttp_send_reply_chunk(c->request, data);
        evbuffer_free(data);
    }
    free(text);
    if (!c->request) return;
    struct evhttp_connection *con = evhttp_request_get_connection(c->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(con);
    if (evbuffer_get_length(bufferevent_get_output(bev)) > OUTPUT_MOST)
        shutdown(bufferevent_getfd(bev), SHUT_RDWR); /* never reads */
}

void hn_http_end_stream(hn_http_call *c) {
    struct evbuffer *data = c->request ? evbuffer_new() : NULL;
    if (data) {
        evbuffer_add_printf(data, "data: [DONE]\n\n");
        evhttp_send_reply_chunk(c->request, data);
        evbuffer_free(data);
    }
    if (c->request) {
        let_go(c);
        evhttp_send_reply_end(c->request);
    }
    c->request = NULL;
    hn_http_end(c);
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

hn_task *hn_http_job(hn_http_call *c) {
    hn_task **more = realloc(c->job, (c->n_job + 1) * sizeof *more), *j = calloc(1, sizeof *j);
    if (more) c->job = more;
    hn_choice *choice = realloc(c->choice, (c->n_job + 1) * sizeof *choice);
    if (choice) c->choice = choice;
    if (!more || !choice || !j) {
        free(j);
        return NULL;
    }
    *j = (hn_task){.model = c->model, .call = c, .index = c->n_job, .arrived_s = c->arrived_s};
    choice[c->n_job] = (hn_choice){0};
    return c->job[c->n_job++] = j;
}

static uint64_t client_of(const hn_http_call *c) {
    char *address = NULL;
    uint16_t port;
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    if (c->key) return (uint64_t)(c->key - c->server->key) + 1;
    evhttp_connection_get_peer(evhttp_request_get_connection(c->request), &address, &port);
    for (const char *p = address; p && *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    return h;
}

void hn_http_submit(hn_http_call *c) {
    hone_err why = {0};
    hn_key *k = c->key;
    uint64_t client = client_of(c);
    if (k && k->most && k->now + c->n_job > k->most) {
        hn_fail(&why, HONE_E_BUSY, "the key '%s' may have %" PRIu64 " answers under way; wait for one to end", k->name,
                k->most);
        c->n_done = c->n_job;
        hn_http_fail(c, 429, why.text);
        return;
    }
    c->charged = c->n_job;
    c->server->n_asked++;
    if (k) k->now += c->charged;
    for (size_t i = 0; i < c->n_job; i++) c->job[i]->client = client;
    if (hn_deploy_take(c)) return;
    hone_rc rc = hn_runner_submit(c->server->engine, c->job, c->n_job, &why);
    if (!rc) return;
    c->n_done = c->n_job;
    hn_http_fail(c, rc == HONE_E_FAILED ? 503 : hn_status_of(rc), why.text);
}
