/* http.c — calls of clients, replies, and the loop that serves them. */
#include "serve/http.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

static void free_call(hn_visit *c) {
    for (size_t i = 0; i < c->n_job; i++) {
        hn_task *j = c->job[i];
        hone_text_answer_free(&j->answer);
        for (size_t k = 0; k < j->n_out; k++) hone_free(j->out[k].data);
        for (size_t k = 0; k < j->n_in; k++) free(j->in[k].data);
        free(j->in);
        free(j->out);
        free(j);
        hn_str_free(&c->choice[i].text);
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

static void log_call(const hn_visit *c) {
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

/* The reply is out, or nobody is there to have it, and no job is under way. */
static void end_call(hn_visit *c) {
    hn_server *s = c->server;
    hn_figures *f = c->model ? &c->model->figures : &s->figures;
    pthread_mutex_lock(&f->lock);
    if (c->status > 0 && c->status < HN_CODES) f->answered[c->status]++;
    pthread_mutex_unlock(&f->lock);
    if (s->log && !c->quiet) log_call(c);
    if (c->key) c->key->now -= c->charged;
    *c->at = c->next;
    if (c->next) c->next->at = c->at;
    s->n_calls--;
    free_call(c);
}

static void on_close(struct evhttp_connection *con, void *arg) {
    hn_visit *c = arg;
    (void)con;
    c->request = NULL;
    c->status = c->started ? c->status : 499;
    for (size_t i = 0; i < c->n_job; i++) atomic_store(&c->job[i]->gone, 1);
    if (c->n_done < c->n_job)
        hn_runner_wake(c->server->engine);
    else
        end_call(c);
}

/* While a request is looked after its client is not silent too long, whatever it does; that it goes is seen. */
static void look_after(hn_visit *c) {
    const struct timeval write_s = {WRITE_S, 0};
    struct evhttp_connection *con = evhttp_request_get_connection(c->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(con);
    evhttp_connection_set_closecb(con, on_close, c);
    bufferevent_set_timeouts(bev, NULL, &write_s);
    bufferevent_enable(bev, EV_READ);
}

static void let_go(hn_visit *c) {
    struct evhttp_connection *con = evhttp_request_get_connection(c->request);
    const struct timeval idle = {(time_t)c->server->o.idle_timeout_s, 0}, write_s = {WRITE_S, 0};
    evhttp_connection_set_closecb(con, NULL, NULL);
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
                {429, "Too Many Requests"},
                {500, "Internal Server Error"},
                {501, "Not Implemented"},
                {503, "Service Unavailable"},
                {504, "Gateway Timeout"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].status == status) return list[i].text;
    return "Error";
}

void hn_visit_reply_data(hn_visit *c, int status, const char *type, struct evbuffer *data) {
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
    end_call(c);
}

void hn_visit_reply(hn_visit *c, int status, json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    struct evbuffer *data = evbuffer_new();
    json_decref(json);
    if (!text || !data || evbuffer_add(data, text, strlen(text))) status = 500;
    free(text);
    hn_visit_reply_data(c, status, "application/json", data);
}

static json_t *error_of(const hn_visit *c, int status, const char *text) {
    const char *type = status == 401   ? "authentication_error"
                       : status == 404 ? "not_found_error"
                       : status == 429 ? "rate_limit_error"
                       : status < 500  ? "invalid_request_error"
                                       : "server_error";
    if (c->form == HN_FORM_TENSOR) return json_pack("{s:s%}", "error", text, strlen(text));
    return json_pack("{s:{s:s%, s:s, s:n, s:i}}", "error", "message", text, strlen(text), "type", type, "param", "code",
                     status);
}

void hn_visit_fail(hn_visit *c, int status, const char *text) {
    free(c->why);
    c->why = strdup(text);
    if (c->started) { /* the status is out: an event says so */
        hn_visit_event(c, error_of(c, status, text));
        c->status = status;
        hn_visit_end_stream(c);
        return;
    }
    if (c->request && (status == 429 || status == 503)) {
        char after[16];
        snprintf(after, sizeof after, "%d", RETRY_AFTER_S);
        evhttp_add_header(evhttp_request_get_output_headers(c->request), "Retry-After", after);
    }
    hn_visit_reply(c, status, error_of(c, status, text));
}

void hn_visit_event(hn_visit *c, json_t *json) {
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

void hn_visit_end_stream(hn_visit *c) {
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
    end_call(c);
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

hn_task *hn_visit_job(hn_visit *c) {
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

static uint64_t client_of(const hn_visit *c) {
    char *address = NULL;
    uint16_t port;
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    if (c->key) return (uint64_t)(c->key - c->server->key) + 1;
    evhttp_connection_get_peer(evhttp_request_get_connection(c->request), &address, &port);
    for (const char *p = address; p && *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    return h;
}

void hn_visit_submit(hn_visit *c) {
    hone_err why = {0};
    hn_key *k = c->key;
    uint64_t client = client_of(c);
    if (k && k->most && k->now + c->n_job > k->most) {
        hn_fail(&why, HONE_E_BUSY, "the key '%s' may have %" PRIu64 " answers under way; wait for one to end", k->name,
                k->most);
        c->n_done = c->n_job;
        hn_visit_fail(c, 429, why.text);
        return;
    }
    c->charged = c->n_job;
    if (k) k->now += c->charged;
    for (size_t i = 0; i < c->n_job; i++) c->job[i]->client = client;
    hone_rc rc = hn_runner_submit(c->server->engine, c->job, c->n_job, &why);
    if (!rc) return;
    c->n_done = c->n_job;
    hn_visit_fail(c, rc == HONE_E_FAILED ? 503 : hn_status_of(rc), why.text);
}

static void on_heard(evutil_socket_t fd, short what, void *arg) {
    hn_server *s = arg;
    (void)fd;
    (void)what;
    for (hn_heard *h = hn_runner_hear(s->engine), *next; h; h = next) {
        next = h->next;
        hn_task *j = h->job;
        hn_visit *c = j->call;
        if (h->done) c->n_done++;
        if (!c->request) {
            if (c->n_done == c->n_job) end_call(c);
        } else if (!h->done)
            hn_answer_piece(c, h);
        else if (c->form == HN_FORM_TENSOR)
            hn_tensors_end(c, j);
        else
            hn_answer_end(c, j);
        hn_heard_free(h);
    }
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static void models_call(hn_visit *c) {
    hn_runner *e = c->server->engine;
    json_t *list = json_array();
    for (size_t i = 0; i < e->n_model; i++) {
        const hn_served *m = &e->model[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "id", m->name, "object", "model",
                                              "created", (json_int_t)m->loaded_s, "owned_by", "hone", "version",
                                              m->version, "kind", m->language ? "language" : "tensors"));
    }
    hn_visit_reply(c, 200, json_pack("{s:s, s:o}", "object", "list", "data", list));
}

static void figures_call(hn_visit *c) {
    hn_server *s = c->server;
    hn_str text = {0};
    hn_figures **list = calloc(s->engine->n_model + 1, sizeof *list);
    struct evbuffer *data = evbuffer_new();
    if (list) {
        list[0] = &s->figures;
        for (size_t i = 0; i < s->engine->n_model; i++) list[i + 1] = &s->engine->model[i].figures;
        hn_figures_text(list, s->engine->n_model + 1, &text);
    }
    bool fine = list && data && !text.failed && !evbuffer_add(data, text.text, text.n);
    free(list);
    hn_str_free(&text);
    hn_visit_reply_data(c, fine ? 200 : 500, "text/plain; version=0.0.4; charset=utf-8", data);
}

/* The body as a JSON object, and the model that it names. */
static bool read_body(hn_visit *c) {
    struct evbuffer *in = evhttp_request_get_input_buffer(c->request);
    size_t n = evbuffer_get_length(in);
    json_error_t why = {0};
    char *text = n ? (char *)evbuffer_pullup(in, -1) : NULL, message[256];
    c->body = text ? json_loadb(text, n, JSON_ALLOW_NUL, &why) : NULL;
    if (!json_is_object(c->body)) {
        snprintf(message, sizeof message, "the body is no JSON object: %s",
                 !n        ? "it is empty"
                 : c->body ? "it is another value"
                           : why.text);
        hn_visit_fail(c, 400, message);
        return false;
    }
    return true;
}

static bool find_model(hn_visit *c, bool language) {
    hn_runner *e = c->server->engine;
    const json_t *name = json_object_get(c->body, "model");
    char message[512];
    if (name && !json_is_string(name)) {
        hn_visit_fail(c, 400, "'model' is no text");
        return false;
    }
    if (!name && e->n_model == 1) c->model = &e->model[0];
    if (name) c->model = hn_runner_model(e, json_string_value(name));
    if (c->model && c->model->language == language) return true;
    if (c->model)
        snprintf(message, sizeof message, "'%.200s' is no language model; call /v2/models/%.200s/infer", c->model->name,
                 c->model->name);
    else if (name)
        snprintf(message, sizeof message, "there is no model '%.200s' here; GET /v1/models lists them",
                 json_string_value(name));
    else
        snprintf(message, sizeof message, "'model' is missing, and there are several; GET /v1/models lists them");
    hn_visit_fail(c, name && !c->model ? 404 : 400, message);
    return false;
}

static void generate_call(hn_visit *c, hn_visit_form form) {
    hone_err why = {0};
    c->form = form;
    if (!read_body(c) || !find_model(c, true)) return;
    hone_rc rc = hn_request_text(c, &why);
    if (rc) {
        c->n_done = c->n_job;
        hn_visit_fail(c, hn_status_of(rc), why.text);
        return;
    }
    hn_visit_submit(c);
}
static void chat_call(hn_visit *c) { generate_call(c, HN_FORM_CHAT); }
static void completion_call(hn_visit *c) { generate_call(c, HN_FORM_COMPLETION); }

static void embeddings_call(hn_visit *c) {
    if (!read_body(c) || !find_model(c, true)) return;
    hn_visit_fail(c, 501,
                  "language models give no embeddings here yet; serve an ONNX model of embeddings and call /v2");
}

static void tokenize_call(hn_visit *c) {
    if (!read_body(c) || !find_model(c, true)) return;
    const json_t *text = json_object_get(c->body, "text");
    if (!text) text = json_object_get(c->body, "content");
    if (!text) text = json_object_get(c->body, "prompt");
    int32_t *id = NULL;
    size_t n = 0;
    hone_err why = {0};
    if (!json_is_string(text)) {
        hn_visit_fail(c, 400, "'text' is missing, or no text");
        return;
    }
    bool frame = json_is_true(json_object_get(c->body, "add_special_tokens"));
    hone_rc rc = hone_text_encode(c->model->text, json_string_value(text), json_string_length(text), frame, frame, &id,
                                  &n, &why);
    if (rc) {
        hn_visit_fail(c, hn_status_of(rc), why.text);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer(id[i]));
    hone_free(id);
    hn_visit_reply(c, 200, json_pack("{s:o, s:I}", "tokens", list, "count", (json_int_t)n));
}

static void detokenize_call(hn_visit *c) {
    if (!read_body(c) || !find_model(c, true)) return;
    const json_t *list = json_object_get(c->body, "tokens");
    size_t n = json_array_size(list), n_text = 0, good = 0;
    int32_t *id = malloc((n + 1) * sizeof *id);
    char *text = NULL;
    hone_err why = {0};
    while (id && good < n && json_is_integer(json_array_get(list, good))) {
        json_int_t x = json_integer_value(json_array_get(list, good));
        id[good++] = x < INT32_MIN || x > INT32_MAX ? -1 : (int32_t)x;
    }
    hone_rc rc = !json_is_array(list) || good < n
                     ? hn_fail(&why, HONE_E_INPUT, "'tokens' is missing, or no list of numbers")
                     : hone_text_decode(c->model->text, id, n, false, &text, &n_text, &why);
    free(id);
    if (rc)
        hn_visit_fail(c, hn_status_of(rc), why.text);
    else
        hn_visit_reply(c, 200, json_pack("{s:s%}", "text", text, n_text));
    hone_free(text);
}

static void health_call(hn_visit *c) { hn_visit_reply(c, 200, json_pack("{s:s}", "status", "ok")); }
static void ready_call(hn_visit *c) {
    hone_err why;
    bool ready = hn_runner_ready(c->server->engine, &why) && !c->server->ending;
    hn_visit_reply(c, ready ? 200 : 503,
                   json_pack("{s:s}", "status",
                             ready               ? "ready"
                             : c->server->ending ? "ending"
                                                 : "loading"));
}

typedef struct route {
    const char *path;
    bool post, open, early; /* open: without a key; early: before the models are loaded */
    void (*run)(hn_visit *c);
} route;
static const route routes[] = {
    {"/health", false, true, true, health_call},
    {"/ready", false, true, true, ready_call},
    {"/metrics", false, false, true, figures_call},
    {"/v1/models", false, false, false, models_call},
    {"/v1/chat/completions", true, false, false, chat_call},
    {"/v1/completions", true, false, false, completion_call},
    {"/v1/embeddings", true, false, false, embeddings_call},
    {"/tokenize", true, false, false, tokenize_call},
    {"/detokenize", true, false, false, detokenize_call},
};

static void dispatch(hn_visit *c, bool post) {
    hn_server *s = c->server;
    const route *r = NULL;
    hone_err why;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (!strcmp(routes[i].path, c->path)) r = &routes[i];
    bool tensors = !strcmp(c->path, "/v2") || !strncmp(c->path, "/v2/", 4);
    if (tensors) c->form = HN_FORM_TENSOR;
    c->quiet = r && r->open;
    if (!(r && r->open) && s->n_key) {
        c->key = hn_keys_find(s->key, s->n_key,
                              evhttp_find_header(evhttp_request_get_input_headers(c->request), "Authorization"));
        if (!c->key) {
            hn_visit_fail(c, 401, "a key is needed: Authorization: Bearer KEY");
            return;
        }
    }
    if (!r && !tensors)
        hn_visit_fail(c, 404, "there is no such call; docs/serve.md lists them");
    else if (r && r->post != post)
        hn_visit_fail(c, 405, post ? "this call is a GET" : "this call is a POST");
    else if (!(r && r->early) && !hn_runner_ready(s->engine, &why))
        hn_visit_fail(c, 503, "the models are being loaded; /ready answers 200 when they are");
    else if (s->ending && !(r && r->early))
        hn_visit_fail(c, 503, "the server is ending");
    else if (tensors)
        hn_tensors_call(c, c->path + 3);
    else
        r->run(c);
}

static void on_request(struct evhttp_request *request, void *arg) {
    hn_server *s = arg;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    hn_visit *c = calloc(1, sizeof *c);
    if (!c || !(c->path = strdup(path ? path : "/"))) {
        free(c);
        evhttp_send_error(request, 503, "out of memory");
        return;
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
    look_after(c);
    dispatch(c, evhttp_request_get_command(request) == EVHTTP_REQ_POST);
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static uint16_t port_of(const hn_server *s) {
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(evhttp_bound_socket_get_fd(s->bound), (struct sockaddr *)&a, &n)) return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

static void on_tick(evutil_socket_t fd, short what, void *arg) {
    hn_server *s = arg;
    double now_s = hn_now_s();
    (void)fd;
    (void)what;
    hn_guard_sweep(s->guard, now_s);
    bool ready = hn_runner_ready(s->engine, &s->why);
    if (ready && !s->told) {
        s->told = true;
        if (s->o.on_ready) s->o.on_ready(s->o.on_ready_arg, s->o.host, port_of(s));
    }
    if (!s->ending && s->o.stop && *s->o.stop) {
        s->ending = true;
        s->end_s = now_s + s->o.drain_s;
        evhttp_del_accept_socket(s->http, s->bound);
        s->bound = NULL;
    }
    if (s->why.rc || (s->ending && (!s->n_calls || now_s > s->end_s))) event_base_loopbreak(s->base);
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
    return HONE_OK;
}

static hone_rc open_log(hn_server *s, hone_err *err) {
    if (!s->o.log) return HONE_OK;
    s->log = fopen(strcmp(s->o.log, "-") ? s->o.log : "/dev/stderr", "ae");
    return s->log ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot open '%s': %s", s->o.log, strerror(errno));
}

static hone_rc open_server(hn_server *s, hone_err *err) {
    static const struct timeval often = {0, 50000};
    hone_rc rc = s->o.key_file ? hn_keys_read(s->o.key_file, &s->key, &s->n_key, err) : HONE_OK;
    s->figures.name = "";
    pthread_mutex_init(&s->figures.lock, NULL);
    if (!rc) rc = open_log(s, err);
    s->base = event_base_new();
    s->guard = hn_guard_new(s->o.read_timeout_s);
    if (!rc && (!s->base || !s->guard)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = open_http(s, err);
    if (!rc) rc = hn_runner_start(&s->o, &s->engine, err);
    if (rc) return rc;
    s->heard = event_new(s->base, s->engine->fd, EV_READ | EV_PERSIST, on_heard, s);
    s->tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
    if (!s->heard || !s->tick || event_add(s->heard, NULL) || event_add(s->tick, &often))
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    return HONE_OK;
}

static void close_server(hn_server *s) {
    if (s->heard) event_free(s->heard);
    if (s->tick) event_free(s->tick);
    if (s->http) evhttp_free(s->http); /* calls under way lose their clients */
    hn_runner_free(s->engine);
    while (s->calls) {
        s->calls->n_done = s->calls->n_job;
        s->calls->model = NULL; /* it is closed */
        end_call(s->calls);
    }
    hn_guard_free(s->guard);
    if (s->base) event_base_free(s->base);
    hn_keys_free(s->key, s->n_key);
    if (s->log) fclose(s->log);
    pthread_mutex_destroy(&s->figures.lock);
}

static void usual(hone_serve_options *o) {
    if (!o->host) o->host = "127.0.0.1";
    if (!o->at_once) o->at_once = HONE_TEXT_AT_ONCE;
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
    hone_rc rc = hn_options_read(&s.o, sizeof s.o, options, "serve", err);
    if (!rc && !s.o.n_model) rc = hn_fail(err, HONE_E_USAGE, "there is no model to serve; name one");
    if (rc) return rc;
    usual(&s.o);
    rc = open_server(&s, err);
    if (!rc && event_base_dispatch(s.base) < 0) rc = hn_fail(err, HONE_E_FAILED, "the loop of events failed");
    if (!rc && s.why.rc) {
        rc = s.why.rc;
        if (err) *err = s.why;
    }
    close_server(&s);
    return rc;
}
