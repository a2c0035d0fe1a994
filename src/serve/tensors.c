/* tensors.c — the Open Inference Protocol, version 2, over REST, with its extension for binary tensors.
 *
 * A request's JSON has `inputs`; the data of one stands in it as a list, flat or nested, or behind the JSON as
 * little-endian bytes, in order, where the header Inference-Header-Content-Length says how long the JSON is. */
#include "base/err.h"
#include "serve/http.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const header = "Inference-Header-Content-Length";

typedef struct type_name {
    const char *name;
    hone_dtype dtype;
} type_name;
static const type_name types[] = {{"FP32", HONE_F32}, {"FP64", HONE_F64},   {"FP16", HONE_F16},   {"BF16", HONE_BF16},
                                  {"INT8", HONE_I8},  {"INT16", HONE_I16},  {"INT32", HONE_I32},  {"INT64", HONE_I64},
                                  {"UINT8", HONE_U8}, {"UINT16", HONE_U16}, {"UINT32", HONE_U32}, {"UINT64", HONE_U64},
                                  {"BOOL", HONE_BOOL}};

const char *hn_tensors_type(int32_t dtype) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((int32_t)types[i].dtype == dtype) return types[i].name;
    return "UNKNOWN";
}

/* --- metadata ----------------------------------------------------------------------------------------------------- */

json_t *hn_tensors_ports(const hone_model_port *p, int32_t n) {
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++) {
        json_t *shape = json_array();
        for (int32_t d = 0; d < p[i].rank; d++) json_array_append_new(shape, json_integer(p[i].dim[d]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", p[i].name, "datatype",
                                              hn_tensors_type(p[i].dtype), "shape", shape));
    }
    return list;
}

static void describe(hn_http_call *c) {
    const hn_served *m = c->model;
    const hone_model *x = m->model;
    hn_http_reply(c, 200,
                  json_pack("{s:s, s:[s], s:s, s:o, s:o}", "name", m->name, "versions", m->version, "platform", "hone",
                            "inputs", x ? hn_tensors_ports(x->input, x->n_inputs) : json_array(), "outputs",
                            x ? hn_tensors_ports(x->output, x->n_outputs) : json_array()));
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

static bool put_number(const json_t *v, hone_dtype t, char *to) {
    double f = json_number_value(v);
    int64_t i = json_is_integer(v) ? json_integer_value(v) : json_is_boolean(v) ? json_is_true(v) : 0;
    bool whole = json_is_integer(v) || json_is_boolean(v);
    switch (t) {
    case HONE_F32: return memcpy(to, &(float){(float)f}, 4), json_is_number(v);
    case HONE_F64: return memcpy(to, &f, 8), json_is_number(v);
    case HONE_BOOL: return *to = i != 0, whole;
    case HONE_I8: return memcpy(to, &(int8_t){(int8_t)i}, 1), whole && i >= INT8_MIN && i <= INT8_MAX;
    case HONE_U8: return memcpy(to, &(uint8_t){(uint8_t)i}, 1), whole && i >= 0 && i <= UINT8_MAX;
    case HONE_I16: return memcpy(to, &(int16_t){(int16_t)i}, 2), whole && i >= INT16_MIN && i <= INT16_MAX;
    case HONE_U16: return memcpy(to, &(uint16_t){(uint16_t)i}, 2), whole && i >= 0 && i <= UINT16_MAX;
    case HONE_I32: return memcpy(to, &(int32_t){(int32_t)i}, 4), whole && i >= INT32_MIN && i <= INT32_MAX;
    case HONE_U32: return memcpy(to, &(uint32_t){(uint32_t)i}, 4), whole && i >= 0 && i <= UINT32_MAX;
    case HONE_I64: return memcpy(to, &i, 8), whole;
    case HONE_U64: return memcpy(to, &i, 8), whole && i >= 0;
    default: return false; /* halves come as bytes alone */
    }
}

/* Appends the numbers of a list, nested or flat; false: what is no number of the type, or too many. */
static bool put_list(const json_t *list, hone_dtype t, char *data, size_t most, size_t *n, int depth) {
    size_t size_b = hone_dtype_size_b(t);
    const json_t *v;
    size_t i;
    if (depth > HONE_RANK_MAX) return false;
    json_array_foreach((json_t *)list, i, v) {
        if (json_is_array(v)) {
            if (!put_list(v, t, data, most, n, depth + 1)) return false;
        } else if (*n >= most || !put_number(v, t, data + (*n)++ * size_b))
            return false;
    }
    return true;
}

typedef struct body {
    const char *bytes; /* behind the JSON */
    size_t n, at;
} body;

static hone_rc read_shape(const json_t *input, const char *name, hone_array *a, size_t *n, hone_err *err) {
    const json_t *shape = json_object_get(input, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > HONE_RANK_MAX)
        return hn_fail(err, HONE_E_INPUT, "input '%s' has no 'shape' of up to %d sizes", name, HONE_RANK_MAX);
    *n = 1;
    a->rank = (uint32_t)json_array_size(shape);
    for (uint32_t d = 0; d < a->rank; d++) {
        const json_t *x = json_array_get(shape, d);
        a->dim[d] = json_integer_value(x);
        if (!json_is_integer(x) || a->dim[d] < 0 || __builtin_mul_overflow(*n, (size_t)a->dim[d], n) ||
            *n > (size_t)1 << 40)
            return hn_fail(err, HONE_E_INPUT, "input '%s': its shape is no list of sizes", name);
    }
    return HONE_OK;
}

static hone_rc read_input(const json_t *input, const hone_model_port *p, body *b, size_t most_b, hone_array *a,
                          hone_err *err) {
    const char *type = json_string_value(json_object_get(input, "datatype"));
    const json_t *data = json_object_get(input, "data");
    const json_t *size = json_object_get(json_object_get(input, "parameters"), "binary_data_size");
    size_t n = 0, put = 0;
    hone_rc rc = read_shape(input, p->name, a, &n, err);
    if (rc) return rc;
    if (!type || strcmp(type, hn_tensors_type(p->dtype)))
        return hn_fail(err, HONE_E_INPUT, "input '%s' is of the type %.20s, not %s", p->name, type ? type : "?",
                       hn_tensors_type(p->dtype));
    a->dtype = (hone_dtype)p->dtype;
    size_t size_b = n * hone_dtype_size_b(a->dtype);
    if (size_b > 8 * most_b)
        return hn_fail(err, HONE_E_INPUT, "input '%s' has %zu bytes; that is too much", p->name, size_b);
    if (!(a->data = calloc(size_b ? size_b : 1, 1))) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (json_is_integer(size)) {
        if ((size_t)json_integer_value(size) != size_b || size_b > b->n - b->at)
            return hn_fail(err, HONE_E_INPUT, "input '%s' takes %zu bytes; %lld are said to come, and %zu are there",
                           p->name, size_b, (long long)json_integer_value(size), b->n - b->at);
        if (size_b) memcpy(a->data, b->bytes + b->at, size_b);
        b->at += size_b;
        return HONE_OK;
    }
    if (!json_is_array(data) || !put_list(data, a->dtype, a->data, n, &put, 0) || put != n)
        return hn_fail(err, HONE_E_INPUT, "input '%s': its 'data' are not %zu numbers of the type %s", p->name, n,
                       hn_tensors_type(p->dtype));
    return HONE_OK;
}

static const json_t *named(const json_t *list, const char *name) {
    const json_t *o;
    size_t i;
    json_array_foreach((json_t *)list, i, o) {
        const char *text = json_string_value(json_object_get(o, "name"));
        if (text && !strcmp(text, name)) return o;
    }
    return NULL;
}

/* Binary data lie in the order of the request's inputs, so these are read in that order. */
/* Outputs that are asked for. Extensions of Triton's that would give something else than the output are refused. */
static hone_rc check_outputs(const hn_http_call *c, hone_err *err) {
    static const char *const none[] = {"classification", "shared_memory_region"};
    const hone_model *x = c->model->model;
    json_t *o;
    size_t i;
    json_array_foreach(json_object_get(c->body, "outputs"), i, o) {
        const char *name = json_string_value(json_object_get(o, "name"));
        int32_t k = 0;
        while (k < x->n_outputs && (!name || strcmp(x->output[k].name, name))) k++;
        if (k == x->n_outputs)
            return hn_fail(err, HONE_E_INPUT, "'%s' has no output '%.100s'", c->model->name, name ? name : "");
        for (size_t m = 0; m < sizeof none / sizeof *none; m++)
            if (json_object_get(json_object_get(o, "parameters"), none[m]))
                return hn_fail(err, HONE_E_UNSUPPORTED, "output '%s': '%s' is not offered", name, none[m]);
    }
    return HONE_OK;
}

static hone_rc read_inputs(hn_http_call *c, hn_task *j, body *b, hone_err *err) {
    const hone_model *x = c->model->model;
    const json_t *inputs = json_object_get(c->body, "inputs"), *o;
    size_t i;
    json_array_foreach((json_t *)inputs, i, o) {
        const char *name = json_string_value(json_object_get(o, "name"));
        int32_t k = 0;
        while (k < x->n_inputs && (!name || strcmp(x->input[k].name, name))) k++;
        if (k == x->n_inputs)
            return hn_fail(err, HONE_E_INPUT, "'%s' has no input '%.100s'; GET /v2/models/%s lists them",
                           c->model->name, name ? name : "", c->model->name);
        if (j->in[k].data) return hn_fail(err, HONE_E_INPUT, "input '%s' is given twice", name);
        hone_rc rc = read_input(o, &x->input[k], b, c->server->o.max_body_b, &j->in[k], err);
        if (rc) return rc;
    }
    for (int32_t k = 0; k < x->n_inputs; k++)
        if (!j->in[k].data) return hn_fail(err, HONE_E_INPUT, "input '%s' is missing", x->input[k].name);
    hone_rc named = check_outputs(c, err);
    if (named) return named;
    j->rows = c->model->joins ? j->in[0].dim[0] : 0;
    for (size_t k = 0; k < j->n_in; k++)
        if (j->in[k].rank < 1 || j->in[k].dim[0] != j->rows) j->rows = 0;
    return HONE_OK;
}

hone_rc hn_tensors_read(hn_http_call *c, const char *text, size_t n, const char *length, hone_err *err) {
    size_t n_json = n;
    char *end = NULL;
    json_error_t why = {0};
    if (length) n_json = strtoull(length, &end, 10);
    if (length && (*end || n_json > n))
        return hn_fail(err, HONE_E_INPUT, "the header %s is no length of the JSON", header);
    c->body = json_loadb(text, n_json, JSON_ALLOW_NUL, &why);
    if (!json_is_object(c->body)) return hn_fail(err, HONE_E_INPUT, "the body is no JSON object: %s", why.text);
    hn_task *j = hn_http_job(c);
    if (!j) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t n_in = (size_t)c->model->model->n_inputs, n_out = (size_t)c->model->model->n_outputs;
    j->in = calloc(n_in + 1, sizeof *j->in);
    j->out = calloc(n_out + 1, sizeof *j->out);
    if (!j->in || !j->out) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    j->n_in = n_in;
    j->n_out = n_out;
    body b = {text + n_json, n - n_json, 0};
    return read_inputs(c, j, &b, err);
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static json_t *get_number(const char *p, hone_dtype t) {
    union {
        float f;
        double d;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
    } x = {0};
    memcpy(&x, p, hone_dtype_size_b(t));
    switch (t) {
    case HONE_F32: return json_real((double)x.f);
    case HONE_F64: return json_real(x.d);
    case HONE_I8: return json_integer(x.i8);
    case HONE_I16: return json_integer(x.i16);
    case HONE_I32: return json_integer(x.i32);
    case HONE_I64: return json_integer(x.i64);
    case HONE_U64: return x.i64 < 0 ? NULL : json_integer(x.i64); /* jansson's integers have a sign */
    case HONE_U8: return json_integer(x.u8);
    case HONE_U16: return json_integer(x.u16);
    case HONE_U32: return json_integer(x.u32);
    case HONE_BOOL: return json_boolean(x.u8);
    default: return NULL;
    }
}

static bool wants_bytes(const hn_http_call *c, const json_t *asked) {
    const json_t *all = json_object_get(json_object_get(c->body, "parameters"), "binary_data_output");
    const json_t *one = json_object_get(json_object_get(asked, "parameters"), "binary_data");
    return one ? json_is_true(one) : json_is_true(all);
}

/* NULL: a type that JSON cannot have. */
static json_t *output_of(hn_http_call *c, const hone_array *a, const char *name, const json_t *asked,
                         struct evbuffer *bytes) {
    json_t *shape = json_array(), *o;
    size_t n = 1, size_b = hone_dtype_size_b(a->dtype);
    for (uint32_t d = 0; d < a->rank; d++) {
        n *= (size_t)a->dim[d];
        json_array_append_new(shape, json_integer(a->dim[d]));
    }
    o = json_pack("{s:s, s:s, s:o}", "name", name, "datatype", hn_tensors_type((int32_t)a->dtype), "shape", shape);
    if (wants_bytes(c, asked)) {
        c->binary = true;
        json_object_set_new(o, "parameters", json_pack("{s:I}", "binary_data_size", (json_int_t)(n * size_b)));
        evbuffer_add(bytes, a->data, n * size_b);
        return o;
    }
    json_t *data = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(data, get_number((const char *)a->data + i * size_b, a->dtype))) {
            json_decref(data);
            json_decref(o);
            return NULL;
        }
    json_object_set_new(o, "data", data);
    return o;
}

void hn_tensors_end(hn_http_call *c, hn_task *j) {
    const hone_model *x = c->model->model;
    const json_t *asked = json_object_get(c->body, "outputs"), *id = json_object_get(c->body, "id");
    struct evbuffer *bytes = j->rc ? NULL : evbuffer_new(), *all = evbuffer_new();
    json_t *list = json_array();
    const char *refused = NULL;
    for (int32_t i = 0; bytes && i < x->n_outputs && !refused; i++) {
        const json_t *one = named(asked, x->output[i].name);
        if (json_array_size(asked) && !one) continue;
        if (json_array_append_new(list, output_of(c, &j->out[i], x->output[i].name, one, bytes)))
            refused = x->output[i].name;
    }
    json_t *o = json_pack("{s:s, s:s, s:O*, s:o}", "model_name", c->model->name, "model_version",
                          c->version ? c->version : c->model->version, "id", id, "outputs", list);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL, length[24], why[200];
    json_decref(o);
    if (j->rc)
        hn_http_fail(c, hn_status_of(j->rc), j->why.text);
    else if (refused) {
        snprintf(why, sizeof why, "output '%.100s' cannot be written as JSON; ask for binary data", refused);
        hn_http_fail(c, 400, why);
    } else if (!text || !bytes || !all)
        hn_http_fail(c, 500, "out of memory writing the outputs");
    else {
        snprintf(length, sizeof length, "%zu", strlen(text));
        if (c->binary) evhttp_add_header(evhttp_request_get_output_headers(c->request), header, length);
        evbuffer_add(all, text, strlen(text));
        evbuffer_add_buffer(all, bytes);
        hn_http_reply_data(c, 200, c->binary ? "application/octet-stream" : "application/json", all);
        all = NULL;
    }
    free(text);
    if (bytes) evbuffer_free(bytes);
    if (all) evbuffer_free(all);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static void infer(hn_http_call *c) {
    hone_err why = {0};
    if (c->model->language) {
        hn_http_fail(c, 400, "this is a language model; call /v1/completions or /v1/chat/completions");
        return;
    }
    struct evbuffer *in = evhttp_request_get_input_buffer(c->request);
    size_t n = evbuffer_get_length(in);
    const char *length = evhttp_find_header(evhttp_request_get_input_headers(c->request), header);
    hone_rc rc = hn_tensors_read(c, n ? (const char *)evbuffer_pullup(in, -1) : "", n, length, &why);
    if (rc) {
        c->n_done = c->n_job;
        hn_http_fail(c, hn_status_of(rc), why.text);
    } else
        hn_http_submit(c);
}

/* What is asked of a model; false: there is no such call. */
static bool model_call(hn_http_call *c, const char *rest, bool post) {
    if (!rest && !post)
        describe(c);
    else if (rest && !strcmp(rest, "ready") && !post)
        hn_http_reply(c, 200,
                      json_pack("{s:s, s:b}", "name", c->model->name, "ready", 1)); /* hn_http_broken was asked */
    else if (rest && !strcmp(rest, "infer") && post)
        infer(c);
    else if (rest && !strcmp(rest, "config") && !post)
        hn_triton_config(c);
    else if (rest && !strcmp(rest, "stats") && !post)
        hn_triton_stats(c);
    else
        return false;
    return true;
}

/* path: behind "/v2". */
void hn_tensors_call(hn_http_call *c, const char *path) {
    static const char models[] = "/models/";
    bool post = evhttp_request_get_command(c->request) == EVHTTP_REQ_POST;
    char name[300], *rest;
    if (!*path) {
        hn_http_reply(c, 200,
                      json_pack("{s:s, s:s, s:[s, s, s]}", "name", "hone", "version", hone_version(), "extensions",
                                "binary_tensor_data", "model_configuration", "statistics"));
        return;
    }
    if (!strncmp(path, models, sizeof models - 1) && strlen(path) < sizeof name) {
        strcpy(name, path + sizeof models - 1);
        if ((rest = strchr(name, '/'))) *rest++ = 0;
        hn_served *m = hn_runner_model(c->server->engine, name);
        if (m && rest && !strncmp(rest, "versions/", 9)) {
            char *version = rest + 9;
            if ((rest = strchr(version, '/'))) *rest++ = 0;
            if (strcmp(version, m->version)) m = NULL;
        }
        hn_http_use(c, m);
        if (c->model && hn_http_broken(c)) return;
        if (c->model && model_call(c, rest, post)) return;
        if (!c->model && !strcmp(path, "/models/stats") && !post) {
            hn_triton_stats(c);
            return;
        }
    } else if (!strcmp(path, "/repository/index") && post) {
        hn_triton_index(c);
        return;
    }
    hn_http_fail(c, 404,
                 c->model ? "there is no such call of a model; docs/serve.md lists them"
                          : "there is no such model or call; GET /v1/models lists the models");
}
