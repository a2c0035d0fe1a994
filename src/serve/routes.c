/* routes.c — what each path does. */
#include "base/err.h"
#include "serve/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static json_t *model_json(const hn_served *m) {
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "id", m->name, "object", "model", "created",
                     (json_int_t)m->loaded_s, "owned_by", "hone", "version", m->version, "kind",
                     m->language ? "language" : "tensors");
}

static void models_call(hn_http_call *c) {
    hn_runner *e = c->server->engine;
    json_t *list = json_array();
    hone_err why;
    for (size_t i = 0; i < e->n_model; i++)
        if (!hn_served_broken(e->model[i], &why)) json_array_append_new(list, model_json(e->model[i]));
    hn_http_reply(c, 200, json_pack("{s:s, s:o}", "object", "list", "data", list));
}

/* One of them: what stands behind "/v1/models/". */
static void model_call(hn_http_call *c, const char *name) {
    char message[320];
    hn_http_use(c, hn_runner_model(c->server->engine, name));
    if (c->model) {
        if (!hn_http_broken(c)) hn_http_reply(c, 200, model_json(c->model));
        return;
    }
    snprintf(message, sizeof message, "there is no model '%.200s' here; GET /v1/models lists them", name);
    hn_http_fail(c, 404, message);
}

static void figures_call(hn_http_call *c) {
    hn_server *s = c->server;
    hn_str text = {0};
    const hn_runner *e = s->engine;
    hn_figures **list = calloc(e->n_figures + 1, sizeof *list);
    struct evbuffer *data = evbuffer_new();
    if (list) {
        list[0] = &s->figures;
        for (size_t i = 0; i < e->n_figures; i++) list[i + 1] = e->figures[i];
        hn_figures_text(list, e->n_figures + 1, &text);
        hn_deploy_figures(s, &text);
    }
    bool fine = list && data && !text.failed && !evbuffer_add(data, text.text, text.n);
    free(list);
    hn_str_free(&text);
    hn_http_reply_data(c, fine ? 200 : 500, "text/plain; version=0.0.4; charset=utf-8", data);
}

/* The body as a JSON object, and the model that it names. */
bool hn_http_read_body(hn_http_call *c) {
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
        hn_http_fail(c, 400, message);
        return false;
    }
    return true;
}

bool hn_http_broken(hn_http_call *c) {
    hone_err why;
    if (!hn_served_broken(c->model, &why)) return false;
    hn_http_fail(c, 503, why.text);
    return true;
}

static bool find_model(hn_http_call *c, bool language) {
    hn_runner *e = c->server->engine;
    const json_t *name = json_object_get(c->body, "model");
    char message[512];
    if (name && !json_is_string(name)) {
        hn_http_fail(c, 400, "'model' is no text");
        return false;
    }
    if (!name && e->n_model == 1) hn_http_use(c, e->model[0]);
    if (name) hn_http_use(c, hn_runner_model(e, json_string_value(name)));
    if (c->model && hn_http_broken(c)) return false;
    if (c->model && c->model->language == language) return true;
    if (c->model)
        snprintf(message, sizeof message, "'%.200s' is no language model; call /v2/models/%.200s/infer", c->model->name,
                 c->model->name);
    else if (name)
        snprintf(message, sizeof message, "there is no model '%.200s' here; GET /v1/models lists them",
                 json_string_value(name));
    else
        snprintf(message, sizeof message, "'model' is missing, and there are several; GET /v1/models lists them");
    hn_http_fail(c, name && !c->model ? 404 : 400, message);
    return false;
}

static void generate_call(hn_http_call *c, hn_http_form form) {
    hone_err why = {0};
    c->form = form;
    if (!hn_http_read_body(c) || !find_model(c, true)) return;
    hone_rc rc = form == HN_FORM_EMBEDDING ? hn_embeddings_request(c, &why) : hn_request_text(c, &why);
    if (rc) {
        c->n_done = c->n_job;
        hn_http_fail(c, hn_status_of(rc), why.text);
        return;
    }
    hn_http_submit(c);
}
static void chat_call(hn_http_call *c) { generate_call(c, HN_FORM_CHAT); }
static void completion_call(hn_http_call *c) { generate_call(c, HN_FORM_COMPLETION); }

static void embeddings_call(hn_http_call *c) { generate_call(c, HN_FORM_EMBEDDING); }

static void tokenize_call(hn_http_call *c) {
    if (!hn_http_read_body(c) || !find_model(c, true)) return;
    const json_t *text = json_object_get(c->body, "text");
    if (!text) text = json_object_get(c->body, "content");
    if (!text) text = json_object_get(c->body, "prompt");
    int32_t *id = NULL;
    size_t n = 0;
    hone_err why = {0};
    if (!json_is_string(text)) {
        hn_http_fail(c, 400, "'text' is missing, or no text");
        return;
    }
    bool frame = json_is_true(json_object_get(c->body, "add_special_tokens"));
    hone_rc rc = hone_text_encode(c->model->text, json_string_value(text), json_string_length(text), frame, frame, &id,
                                  &n, &why);
    if (rc) {
        hn_http_fail(c, hn_status_of(rc), why.text);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_integer(id[i]));
    hone_free(id);
    hn_http_reply(c, 200, json_pack("{s:o, s:I}", "tokens", list, "count", (json_int_t)n));
}

static void detokenize_call(hn_http_call *c) {
    if (!hn_http_read_body(c) || !find_model(c, true)) return;
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
        hn_http_fail(c, hn_status_of(rc), why.text);
    else
        hn_http_reply(c, 200, json_pack("{s:s%}", "text", text, n_text));
    hone_free(text);
}

typedef struct route {
    const char *path;
    bool post, open, early; /* open: without a key; early: before the models are loaded */
    void (*run)(hn_http_call *c);
} route;
static const route routes[] = {
    {"/", false, true, true, hn_page_call},
    {"/health", false, true, true, hn_status_health},
    {"/ready", false, true, true, hn_status_ready},
    {"/v2/health/live", false, true, true, hn_status_live},
    {"/v2/health/ready", false, true, true, hn_status_all_ready},
    {"/metrics", false, false, true, figures_call},
    {"/status", false, false, true, hn_status_call},
    {"/v1/models", false, false, false, models_call},
    {"/v1/chat/completions", true, false, false, chat_call},
    {"/v1/completions", true, false, false, completion_call},
    {"/v1/embeddings", true, false, false, embeddings_call},
    {"/tokenize", true, false, false, tokenize_call},
    {"/detokenize", true, false, false, detokenize_call},
};

/* Bodies are read as they are. */
static const char *encoding_of(const hn_http_call *c) {
    const char *text = evhttp_find_header(evhttp_request_get_input_headers(c->request), "Content-Encoding");
    return text && *text && strcasecmp(text, "identity") != 0 ? text : NULL;
}

static void refuse_encoding(hn_http_call *c, const char *encoding) {
    char message[160];
    snprintf(message, sizeof message, "a body with Content-Encoding '%.60s' is not read; send it as it is", encoding);
    hn_http_fail(c, 415, message);
}

void hn_http_route(hn_http_call *c, bool post) {
    static const char one_model[] = "/v1/models/";
    hn_server *s = c->server;
    const route *r = NULL;
    const char *encoding = encoding_of(c);
    hone_err why;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (!strcmp(routes[i].path, c->path)) r = &routes[i];
    bool tensors = !strcmp(c->path, "/v2") || !strncmp(c->path, "/v2/", 4);
    bool one = !post && !strncmp(c->path, one_model, sizeof one_model - 1);
    if (tensors) c->form = HN_FORM_TENSOR;
    c->quiet = r && r->open;
    if (!(r && r->open) && s->n_key) {
        c->key = hn_keys_find(s->key, s->n_key,
                              evhttp_find_header(evhttp_request_get_input_headers(c->request), "Authorization"));
        if (!c->key) {
            hn_http_fail(c, 401, "a key is needed: Authorization: Bearer KEY");
            return;
        }
    }
    if (!r && !tensors && !one)
        hn_http_fail(c, 404, "there is no such call; docs/serve.md lists them");
    else if (r && r->post != post)
        hn_http_fail(c, 405, post ? "this call is a GET" : "this call is a POST");
    else if (!(r && r->early) && !hn_runner_ready(s->engine, &why))
        hn_http_fail(c, 503, "the models are being loaded; /ready answers 200 when they are");
    else if (s->ending && !(r && r->early))
        hn_http_fail(c, 503, "the server is ending");
    else if (post && encoding)
        refuse_encoding(c, encoding);
    else if (r)
        r->run(c);
    else if (one)
        model_call(c, c->path + sizeof one_model - 1);
    else
        hn_tensors_call(c, c->path + 3);
}
