/* triton.c — what clients of Triton ask beyond the Open Inference Protocol: a model's configuration, statistics, the
 * index of the models (Triton's extensions model_configuration, statistics, and of model_repository the index alone:
 * versions are loaded by deployments). Figures that are not taken are left out. */
#include "serve/http.h"

/* The batch is no dimension of a port where requests share runs, as Triton writes it. */
static json_t *ports(const hone_model_port *p, int32_t n, bool joins) {
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++) {
        char type[16];
        json_t *dims = json_array();
        snprintf(type, sizeof type, "TYPE_%s", hn_tensors_type(p[i].dtype));
        for (int32_t d = joins; d < p[i].rank; d++) json_array_append_new(dims, json_integer(p[i].dim[d]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", p[i].name, "data_type", type, "dims", dims));
    }
    return list;
}

void hn_triton_config(hn_http_call *c) {
    const hn_served *m = c->model;
    const hone_model *x = m->model;
    json_int_t most = m->joins ? (json_int_t)c->server->o.max_batch : 0;
    json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "name", m->name, "platform", "hone", "backend", "hone",
                          "max_batch_size", most, "input", x ? ports(x->input, x->n_inputs, m->joins) : json_array(),
                          "output", x ? ports(x->output, x->n_outputs, m->joins) : json_array());
    if (m->joins && c->server->o.batch_delay_s > 0)
        json_object_set_new(
            o, "dynamic_batching",
            json_pack("{s:I}", "max_queue_delay_microseconds", (json_int_t)(c->server->o.batch_delay_s * 1e6)));
    hn_http_reply(c, 200, o);
}

static json_t *stats_of(const hn_served *m) {
    hn_figures *f = m->figures;
    pthread_mutex_lock(&f->lock);
    json_int_t answers = (json_int_t)f->whole_s.n, ns = (json_int_t)(f->whole_s.sum * 1e9), failed = 0;
    for (int code = 400; code < HN_CODES; code++) failed += (json_int_t)f->answered[code];
    json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:{s:{s:I, s:I}, s:{s:I}}}", "name", m->name, "version", m->version,
                          "inference_count", answers, "execution_count", (json_int_t)f->batch.n, "inference_stats",
                          "success", "count", answers, "ns", ns, "fail", "count", failed);
    pthread_mutex_unlock(&f->lock);
    return o;
}

void hn_triton_stats(hn_http_call *c) {
    const hn_runner *e = c->server->engine;
    json_t *list = json_array();
    for (size_t i = 0; i < e->n_model; i++)
        if (!c->model || c->model == e->model[i]) json_array_append_new(list, stats_of(e->model[i]));
    hn_http_reply(c, 200, json_pack("{s:o}", "model_stats", list));
}

void hn_triton_index(hn_http_call *c) {
    struct evbuffer *in = evhttp_request_get_input_buffer(c->request);
    if (evbuffer_get_length(in) && !hn_http_read_body(c)) return;
    const hn_runner *e = c->server->engine;
    bool ready_alone = json_is_true(json_object_get(c->body, "ready"));
    json_t *list = json_array();
    for (size_t i = 0; i < e->n_model; i++) {
        hone_err why;
        bool broken = hn_served_broken(e->model[i], &why);
        if (broken && ready_alone) continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s*}", "name", e->model[i]->name, "version",
                                              e->model[i]->version, "state", broken ? "UNAVAILABLE" : "READY", "reason",
                                              broken ? why.text : NULL));
    }
    hn_http_reply(c, 200, list);
}
