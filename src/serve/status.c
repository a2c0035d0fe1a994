/* status.c — how the server is: /health, /ready, /status. */
#include "base/clock.h"
#include "serve/http.h"

#include <math.h>

static bool is_ready(const hn_http_call *c) {
    hone_err why;
    return hn_runner_ready(c->server->engine, &why) && !c->server->ending;
}

/* {"NAME": why} of the models that answer nothing; NULL: all do. */
static json_t *broken_models(const hn_runner *e) {
    json_t *o = NULL;
    hone_err why;
    for (size_t i = 0; i < e->n_model; i++) {
        if (!hn_served_broken(e->model[i], &why)) continue;
        if (!o) o = json_object();
        json_object_set_new(o, e->model[i]->name, json_string(why.text));
    }
    return o;
}

void hn_status_live(hn_http_call *c) { hn_http_reply(c, 200, json_pack("{s:b}", "live", 1)); }

void hn_status_all_ready(hn_http_call *c) {
    json_t *broken = broken_models(c->server->engine);
    bool ready = is_ready(c) && !broken;
    json_decref(broken);
    hn_http_reply(c, ready ? 200 : 503, json_pack("{s:b}", "ready", ready));
}

void hn_status_health(hn_http_call *c) { hn_http_reply(c, 200, json_pack("{s:s}", "status", "ok")); }

static const char *state_of(const hn_http_call *c, const json_t *broken) {
    if (c->server->ending) return "ending";
    return !is_ready(c) ? "loading" : broken ? "degraded" : "ready";
}

void hn_status_ready(hn_http_call *c) {
    json_t *broken = broken_models(c->server->engine);
    bool ready = is_ready(c) && !broken;
    hn_http_reply(c, ready ? 200 : 503, json_pack("{s:s, s:o*}", "status", state_of(c, broken), "models", broken));
}

/* --- /status ------------------------------------------------------------------------------------------------------ */

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *times_of(const hn_histogram *h) {
    double q[3];
    static const double at[3] = {0.5, 0.95, 0.99};
    size_t n = hn_histogram_quantiles(h, at, 3, q);
    return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)n, "p50", number(q[0]), "p95", number(q[1]), "p99",
                     number(q[2]));
}

static json_t *requests_of(const hn_figures *f) {
    json_t *o = json_object();
    for (int code = 0; code < HN_CODES; code++) {
        char text[16];
        if (!f->answered[code]) continue;
        snprintf(text, sizeof text, "%d", code);
        json_object_set_new(o, text, json_integer((json_int_t)f->answered[code]));
    }
    return o;
}

static json_t *figures_of(hn_figures *f) {
    pthread_mutex_lock(&f->lock);
    json_t *o = json_pack("{s:o, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "requests", requests_of(f),
                          "waiting", (json_int_t)f->waiting, "running", (json_int_t)f->running, "tokens_per_s",
                          hn_rate_now(&f->tokens_now, hn_now_s()), "prompt_tokens", (json_int_t)f->prompt_tokens,
                          "answer_tokens", (json_int_t)f->answer_tokens, "preemptions", (json_int_t)f->preempted,
                          "cache_blocks", (json_int_t)f->cache_blocks, "cache_blocks_used", (json_int_t)f->cache_used,
                          "first_s", times_of(&f->first_s), "between_s", times_of(&f->between_s), "whole_s",
                          times_of(&f->whole_s));
    pthread_mutex_unlock(&f->lock);
    return o;
}

static json_t *model_of(const hn_http_call *c, hn_served *m, bool loaded) {
    hone_err why = {0};
    hn_broken broken = hn_served_broken(m, &why);
    json_t *o = figures_of(m->figures);
    const char *state = broken == HN_DAMAGED ? "damaged" : broken ? "failed" : loaded ? "ready" : "loading";
    bool shown = loaded && !broken;
    (void)c;
    if (!o) return json_null();
    json_object_set_new(o, "name", json_string(m->name));
    json_object_set_new(o, "state", json_string(state));
    if (broken) json_object_set_new(o, "why", json_string(why.text));
    if (!shown) return o; /* the engine's thread writes what follows */
    json_object_set_new(o, "kind", json_string(m->language ? "language" : "tensors"));
    json_object_set_new(o, "version", json_string(m->version));
    json_object_set_new(o, "loaded", json_integer((json_int_t)m->loaded_s));
    if (m->model) {
        json_object_set_new(o, "inputs", hn_tensors_ports(m->model->input, m->model->n_inputs));
        json_object_set_new(o, "outputs", hn_tensors_ports(m->model->output, m->model->n_outputs));
    }
    return o;
}

void hn_status_call(hn_http_call *c) {
    hn_server *s = c->server;
    hone_err why;
    bool loaded = hn_runner_ready(s->engine, &why);
    json_t *broken = broken_models(s->engine), *models = json_array(), *deployments = json_array();
    for (size_t i = 0; i < s->engine->n_model; i++)
        json_array_append_new(models, model_of(c, s->engine->model[i], loaded));
    for (size_t i = 0; s->deployment && i < s->engine->n_model; i++)
        if (s->deployment[i]) json_array_append_new(deployments, hn_deploy_json(s, i));
    hn_http_reply(c, 200,
                  json_pack("{s:s, s:s, s:f, s:I, s:I, s:I, s:o, s:o}", "version", hone_version(), "status",
                            state_of(c, broken), "up_s", hn_now_s() - s->begin_s, "calls", (json_int_t)s->n_calls,
                            "queue", (json_int_t)hn_runner_queued(s->engine), "max_queue", (json_int_t)s->o.max_queue,
                            "models", models, "deployments", deployments));
    json_decref(broken);
}
