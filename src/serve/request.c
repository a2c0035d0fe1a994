/* request.c — the body of a completion or of a chat, as OpenAI has it, becomes jobs. */
#include "base/err.h"
#include "base/rng.h"
#include "serve/http.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHOICES = 128, MOST_TOP = 20, MOST_STOPS = 16 };

static hone_rc wrong(hone_err *err, const char *key, const char *what) {
    return hn_fail(err, HONE_E_INPUT, "'%s' is not %s", key, what);
}

/* A member that is there and not null; NULL otherwise. */
static json_t *member(const json_t *o, const char *key) {
    json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

static hone_rc number(const json_t *o, const char *key, double low, double high, double *out, hone_err *err) {
    const json_t *v = member(o, key);
    if (!v) return HONE_OK;
    double x = json_number_value(v);
    if (!json_is_number(v)) return wrong(err, key, "a number");
    if (!(x >= low && x <= high))
        return hn_fail(err, HONE_E_INPUT, "'%s' is %g; it goes from %g to %g", key, x, low, high);
    *out = x;
    return HONE_OK;
}

static hone_rc count(const json_t *o, const char *key, int64_t low, int64_t high, int64_t *out, hone_err *err) {
    const json_t *v = member(o, key);
    if (!v) return HONE_OK;
    json_int_t x = json_integer_value(v);
    if (!json_is_integer(v)) return wrong(err, key, "a whole number");
    if (x < low || x > high)
        return hn_fail(err, HONE_E_INPUT, "'%s' is %lld; it goes from %lld to %lld", key, (long long)x, (long long)low,
                       (long long)high);
    *out = x;
    return HONE_OK;
}

static hone_rc truth(const json_t *o, const char *key, bool *out, hone_err *err) {
    const json_t *v = member(o, key);
    if (!v) return HONE_OK;
    if (!json_is_boolean(v)) return wrong(err, key, "true or false");
    *out = json_is_true(v);
    return HONE_OK;
}

/* --- what is drawn ------------------------------------------------------------------------------------------------ */

static hone_rc sampling(const hn_http_call *c, hone_text_generate_options *r, hone_err *err) {
    const json_t *o = c->body;
    const struct {
        const char *key;
        double low, high, *to;
    } field[] = {
        {"temperature", 0, 100, &r->temperature},
        {"top_p", 0, 1, &r->top_p},
        {"min_p", 0, 1, &r->min_p},
        {"typical_p", 0, 1, &r->typical_p},
        {"frequency_penalty", -2, 2, &r->frequency_penalty},
        {"presence_penalty", -2, 2, &r->presence_penalty},
        {"repeat_penalty", 0, 100, &r->repeat_penalty},
    };
    hone_rc rc = HONE_OK;
    int64_t top_k = 0, most = 0, most_new = 0, seed = -1;
    r->temperature = 1, r->top_p = 1, r->min_p = 0;
    r->penalty_window = -1;
    for (size_t i = 0; !rc && i < sizeof field / sizeof *field; i++)
        rc = number(o, field[i].key, field[i].low, field[i].high, field[i].to, err);
    if (!rc) rc = count(o, "top_k", -1, INT32_MAX, &top_k, err);
    if (!rc) rc = count(o, "max_tokens", 1, UINT32_MAX, &most, err);
    if (!rc) rc = count(o, "max_completion_tokens", 1, UINT32_MAX, &most_new, err);
    if (!rc) rc = count(o, "seed", INT64_MIN, INT64_MAX, &seed, err);
    if (!rc) rc = truth(o, "ignore_eos", &r->ignore_end, err);
    r->top_k = top_k < 0 ? 0 : (int32_t)top_k;
    r->max_tokens = (uint32_t)(most_new ? most_new : most ? most : c->form == HN_FORM_COMPLETION ? 16 : 0);
    r->seed = (uint64_t)seed;
    if (!rc && !member(o, "seed")) {
        hn_rng any = hn_rng_make((uint64_t)(1e6 * c->created_s), c->server->next_id);
        r->seed = hn_rng_next(&any);
    }
    return rc;
}

static hone_rc stops(hn_http_call *c, hone_text_generate_options *r, hone_err *err) {
    const json_t *v = member(c->body, "stop");
    size_t n = json_is_array(v) ? json_array_size(v) : v != NULL;
    if (!n) return HONE_OK;
    if (n > MOST_STOPS) return hn_fail(err, HONE_E_INPUT, "'stop' has %zu texts; %d are the most", n, MOST_STOPS);
    if (!(c->stop = calloc(n, sizeof *c->stop))) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_string(one)) return wrong(err, "stop", "a text or a list of texts");
        c->stop[i] = json_string_value(one);
    }
    r->stop_text = c->stop;
    r->n_stop_text = n;
    return HONE_OK;
}

static hone_rc biases(hn_http_call *c, hone_text_generate_options *r, hone_err *err) {
    json_t *v = member(c->body, "logit_bias"), *x;
    const char *key;
    size_t n = 0;
    if (!v) return HONE_OK;
    if (!json_is_object(v)) return wrong(err, "logit_bias", "an object of tokens' numbers");
    if (!(c->bias = calloc(json_object_size(v) + 1, sizeof *c->bias)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    json_object_foreach(v, key, x) {
        char *end = NULL;
        long token = strtol(key, &end, 10);
        if (*end || token < 0 || (size_t)token >= hone_text_vocabulary(c->model->text) || !json_is_number(x))
            return hn_fail(err, HONE_E_INPUT, "'logit_bias' names '%.40s'; tokens go from 0 to %zu", key,
                           hone_text_vocabulary(c->model->text) - 1);
        double add = json_number_value(x);
        c->bias[n++] = (hone_text_bias){(int32_t)token, add <= -100 ? -INFINITY : (float)add};
    }
    r->bias = c->bias;
    r->n_bias = n;
    return HONE_OK;
}

/* response_format, or the extensions `grammar` and `json_schema`. */
static hone_rc format(hn_http_call *c, hone_text_generate_options *r, hone_err *err) {
    const json_t *f = member(c->body, "response_format"), *grammar = member(c->body, "grammar"), *schema = NULL;
    const char *type = json_string_value(json_object_get(f, "type"));
    if (grammar && !json_is_string(grammar)) return wrong(err, "grammar", "a text");
    if (f && (!type || (strcmp(type, "text") && strcmp(type, "json_object") && strcmp(type, "json_schema"))))
        return wrong(err, "response_format", "of the type text, json_object or json_schema");
    if (f && !strcmp(type, "json_object")) c->schema = strdup("{\"type\":\"object\"}");
    if (f && !strcmp(type, "json_schema")) {
        schema = json_object_get(json_object_get(f, "json_schema"), "schema");
        if (!json_is_object(schema)) return wrong(err, "response_format.json_schema.schema", "a JSON schema");
        c->schema = json_dumps(schema, JSON_COMPACT);
    }
    r->grammar = json_string_value(grammar);
    r->json_schema = c->schema;
    r->constraint_name = grammar ? "grammar" : "response_format";
    return HONE_OK;
}

static hone_rc logprobs(hn_http_call *c, hone_text_generate_options *r, bool *want, hone_err *err) {
    const json_t *v = member(c->body, "logprobs");
    int64_t top = 0;
    hone_rc rc = HONE_OK;
    *want = v && !json_is_false(v);
    if (c->form == HN_FORM_CHAT) {
        rc = count(c->body, "top_logprobs", 0, MOST_TOP, &top, err);
        if (!rc && v && !json_is_boolean(v)) rc = wrong(err, "logprobs", "true or false");
        if (!rc && top && !*want) rc = hn_fail(err, HONE_E_INPUT, "'top_logprobs' needs 'logprobs': true");
    } else
        rc = count(c->body, "logprobs", 0, MOST_TOP, &top, err);
    c->n_top = r->n_top = (uint32_t)top;
    return rc;
}

/* --- prompts ------------------------------------------------------------------------------------------------------ */

static hone_rc tokens_of(hn_http_call *c, const char *key, const json_t *list, hone_text_generate_options *r,
                         hone_err *err) {
    size_t n = json_array_size(list), vocabulary = hone_text_vocabulary(c->model->text);
    int32_t *token = malloc((n + 1) * sizeof *token), **more = realloc(c->token, (c->n_token + 1) * sizeof *more);
    if (more) c->token = more;
    if (!token || !more) {
        free(token);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    c->token[c->n_token++] = token;
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(list, i);
        json_int_t id = json_integer_value(x);
        if (!json_is_integer(x) || id < 0 || (size_t)id >= vocabulary)
            return hn_fail(err, HONE_E_INPUT, "'%s' holds what is no token; they go from 0 to %zu", key,
                           vocabulary - 1);
        token[i] = (int32_t)id;
    }
    r->token = token;
    r->n_token = n;
    return n ? HONE_OK : hn_fail(err, HONE_E_INPUT, "'%s' is empty", key);
}

hone_rc hn_request_jobs(hn_http_call *c, const hone_text_generate_options *r, bool want_logprobs, int64_t n,
                        hone_err *err) {
    const hn_task *first = NULL;
    int64_t priority = 0;
    double deadline_ms = 0;
    hone_rc rc = count(c->body, "priority", -1000000, 1000000, &priority, err);
    if (!rc) rc = number(c->body, "deadline_ms", 1, 1e9, &deadline_ms, err);
    for (int64_t i = 0; !rc && i < n; i++) {
        hn_task *j = hn_http_job(c);
        if (!j) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        j->ask = *r;
        j->ask.seed += (uint64_t)i;
        j->stream = c->stream;
        j->want_logprobs = want_logprobs;
        j->priority = priority;
        j->deadline_s = deadline_ms > 0 ? c->arrived_s + 1e-3 * deadline_ms : 0;
        j->first = first;
        if (!first) first = j;
    }
    return rc;
}

hone_rc hn_request_prompt(hn_http_call *c, const char *key, const json_t *v, hone_text_generate_options *r,
                          hone_err *err) {
    r->prompt = NULL;
    r->n_prompt = 0;
    r->token = NULL;
    r->n_token = 0;
    if (json_is_array(v)) return tokens_of(c, key, v, r, err);
    if (!json_is_string(v)) return wrong(err, key, "a text, a list of tokens, or a list of these");
    r->prompt = json_string_value(v);
    r->n_prompt = json_string_length(v);
    return HONE_OK;
}

bool hn_request_several(const json_t *v) {
    return json_is_array(v) && json_array_size(v) && !json_is_integer(json_array_get(v, 0));
}

static hone_rc prompts(hn_http_call *c, hone_text_generate_options *r, bool want, int64_t n, hone_err *err) {
    const json_t *v = member(c->body, "prompt");
    bool several = hn_request_several(v);
    size_t n_prompt = several ? json_array_size(v) : 1;
    hone_rc rc = HONE_OK;
    if (!v) return hn_fail(err, HONE_E_INPUT, "'prompt' is missing");
    if ((int64_t)n_prompt * n > MOST_CHOICES)
        return hn_fail(err, HONE_E_INPUT, "%zu prompts, %lld answers each; %d answers are the most", n_prompt,
                       (long long)n, MOST_CHOICES);
    for (size_t i = 0; !rc && i < n_prompt; i++) {
        rc = hn_request_prompt(c, "prompt", several ? json_array_get(v, i) : v, r, err);
        if (!rc) rc = hn_request_jobs(c, r, want, n, err);
    }
    return rc;
}

static hone_rc refuse(const json_t *body, hone_err *err) {
    static const char *const none[] = {"suffix", "audio", "modalities"};
    const json_t *best = member(body, "best_of"), *n = member(body, "n");
    if (json_is_true(json_object_get(body, "echo"))) return hn_fail(err, HONE_E_UNSUPPORTED, "'echo' is not offered");
    if (best && json_integer_value(best) != (n ? json_integer_value(n) : 1))
        return hn_fail(err, HONE_E_UNSUPPORTED, "'best_of' is not offered beyond 'n': all answers are given");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (member(body, none[i])) return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' is not offered", none[i]);
    return HONE_OK;
}

hone_rc hn_request_text(hn_http_call *c, hone_err *err) {
    hone_text_generate_options r = hone_text_generate_defaults();
    const json_t *stream_options = member(c->body, "stream_options");
    int64_t n = 1;
    bool want = false;
    hone_rc rc = refuse(c->body, err);
    if (!rc) rc = truth(c->body, "stream", &c->stream, err);
    if (!rc && stream_options) rc = truth(stream_options, "include_usage", &c->usage, err);
    if (!rc) rc = count(c->body, "n", 1, MOST_CHOICES, &n, err);
    if (!rc) rc = sampling(c, &r, err);
    if (!rc) rc = stops(c, &r, err);
    if (!rc) rc = biases(c, &r, err);
    if (!rc) rc = format(c, &r, err);
    if (!rc) rc = logprobs(c, &r, &want, err);
    c->n_per_prompt = (size_t)n;
    if (rc) return rc;
    if (c->form == HN_FORM_COMPLETION) return prompts(c, &r, want, n, err);
    rc = hn_tools_prompt(c, &c->prompt_text, &r.n_prompt, err);
    if (!rc && c->tools == HN_TOOLS_FORCED) {
        if (r.grammar) return hn_fail(err, HONE_E_INPUT, "a tool must be called, and 'grammar' says what is written");
        r.json_schema = c->schema;
        r.constraint_name = "tools";
    }
    r.prompt = c->prompt_text;
    return rc ? rc : hn_request_jobs(c, &r, want, n, err);
}
