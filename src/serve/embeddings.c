/* embeddings.c — OpenAI's /v1/embeddings: texts or tokens in, a vector for each out. */
#include "base/err.h"
#include "base/sign.h"
#include "serve/http.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 2048 }; /* as OpenAI's */

static hone_rc word(const json_t *body, const char *key, const char *a, const char *b, bool *is_b, hone_err *err) {
    const json_t *v = json_object_get(body, key);
    const char *text = json_string_value(v);
    if (!v || json_is_null(v)) return HONE_OK;
    *is_b = text && !strcmp(text, b);
    if (*is_b || (text && !strcmp(text, a))) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "'%s' is not \"%s\" or \"%s\"", key, a, b);
}

static hone_rc dimensions(hn_http_call *c, hone_err *err) {
    const json_t *v = json_object_get(c->body, "dimensions");
    size_t width = hone_text_width(c->model->text);
    json_int_t n = json_integer_value(v);
    c->n_dimension = width;
    if (!v || json_is_null(v)) return HONE_OK;
    if (!json_is_integer(v) || n < 1 || (size_t)n > width)
        return hn_fail(err, HONE_E_INPUT, "'dimensions' is not a whole number from 1 to %zu", width);
    c->n_dimension = (size_t)n;
    return HONE_OK;
}

hone_rc hn_embeddings_request(hn_http_call *c, hone_err *err) {
    const json_t *v = json_object_get(c->body, "input");
    hone_text_generate_options r = hone_text_generate_defaults();
    bool several = hn_request_several(v), last = false;
    size_t n = several ? json_array_size(v) : 1;
    hone_rc rc = dimensions(c, err);
    if (!rc) rc = word(c->body, "encoding_format", "float", "base64", &c->base64, err);
    if (!rc) rc = word(c->body, "pooling", "mean", "last", &last, err);
    if (!rc && !v) rc = hn_fail(err, HONE_E_INPUT, "'input' is missing");
    if (!rc && n > MOST_INPUTS)
        rc = hn_fail(err, HONE_E_INPUT, "'input' has %zu texts; %d are the most", n, MOST_INPUTS);
    c->n_per_prompt = 1;
    for (size_t i = 0; !rc && i < n; i++) {
        rc = hn_request_prompt(c, "input", several ? json_array_get(v, i) : v, &r, err);
        if (!rc && r.prompt && !*r.prompt) rc = hn_fail(err, HONE_E_INPUT, "'input' is empty");
        if (!rc) rc = hn_request_jobs(c, &r, false, 1, err);
        if (rc) break;
        c->job[i]->embed = true;
        c->job[i]->pooling = last ? HONE_TEXT_LAST : HONE_TEXT_MEAN;
    }
    return rc;
}

/* The first n numbers, of length 1 again. */
static void shorten(float *x, size_t n) {
    double square = 0;
    for (size_t i = 0; i < n; i++) square += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n && square > 0; i++) x[i] = (float)((double)x[i] / sqrt(square));
}

static json_t *as_base64(const float *x, size_t n) {
    char *text = hn_base64(x, n * sizeof *x);
    json_t *v = text ? json_string(text) : NULL;
    free(text);
    return v;
}

static json_t *as_list(const float *x, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, json_real((double)x[i]));
    return list;
}

void hn_embeddings_end(hn_http_call *c) {
    json_t *data = json_array();
    size_t n_tokens = 0, n = c->n_dimension;
    for (size_t i = 0; i < c->n_job; i++) {
        hn_task *j = c->job[i];
        if (n < hone_text_width(c->model->text)) shorten(j->vector, n);
        json_t *x = c->base64 ? as_base64(j->vector, n) : as_list(j->vector, n);
        json_array_append_new(data,
                              json_pack("{s:s, s:i, s:o}", "object", "embedding", "index", (int)i, "embedding", x));
        n_tokens += j->answer.n_prompt;
    }
    hn_http_reply(c, 200,
                  json_pack("{s:s, s:o, s:s, s:{s:I, s:I}}", "object", "list", "data", data, "model", c->model->name,
                            "usage", "prompt_tokens", (json_int_t)n_tokens, "total_tokens", (json_int_t)n_tokens));
}
