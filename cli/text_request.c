/* text_request.c — requests to a language model from options or a line of JSON; answers as JSON. */
#include "text_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- options ----------------------------------------------------------------------------------------------------- */

typedef struct number_field {
    const char *name; /* of the option; in JSON with _ for - */
    double *to;
} number_field;

enum { N_NUMBERS = 10 };
static void number_fields(hone_text_generate_options *r, number_field out[N_NUMBERS]) {
    const number_field all[N_NUMBERS] = {
        {"temperature", &r->temperature},
        {"top-p", &r->top_p},
        {"min-p", &r->min_p},
        {"typical-p", &r->typical_p},
        {"repeat-penalty", &r->repeat_penalty},
        {"frequency-penalty", &r->frequency_penalty},
        {"presence-penalty", &r->presence_penalty},
        {"mirostat-tau", &r->mirostat_tau},
        {"mirostat-eta", &r->mirostat_eta},
        {"length-penalty", &r->length_penalty},
    };
    memcpy(out, all, sizeof all);
}

static hone_rc real(const cli *c, const char *option, double *out, hone_err *err) {
    const char *text = cli_text(c, option, NULL);
    char *end = NULL;
    if (!text) return HONE_OK;
    *out = strtod(text, &end);
    return *end || end == text ? cli_fail(err, HONE_E_USAGE, "--%s '%s' is no number", option, text) : HONE_OK;
}

/* "12=-1.5,99=-inf" */
static hone_rc read_bias(const char *text, cli_request *q, hone_err *err) {
    size_t room = 0;
    for (const char *p = text; p && *p;) {
        char *end, *last;
        unsigned long token = strtoul(p, &end, 10);
        double add = *end == '=' ? strtod(end + 1, &last) : 0;
        bool fine =
            end > p && *p >= '0' && *p <= '9' && *end == '=' && last > end + 1 && !isnan(add) && token <= INT32_MAX;
        if (!fine || (*last && *last != ','))
            return cli_fail(
                err, HONE_E_USAGE,
                "--logit-bias '%s': TOKEN=VALUE,... is meant, as in 198=-inf,40=1.5; hone tokenize shows tokens", text);
        q->bias = cli_grow(q->bias, &room, q->r.n_bias, sizeof *q->bias);
        q->bias[q->r.n_bias++] = (hone_text_bias){(int32_t)token, (float)add};
        p = last + (*last == ',');
    }
    q->r.bias = q->bias;
    return HONE_OK;
}

/* A grammar or schema as it is, or the file that holds it. */
static hone_rc read_constraint(const cli *c, cli_request *q, hone_err *err) {
    const char *grammar = cli_text(c, "grammar", NULL), *schema = cli_text(c, "json-schema", NULL);
    const char *text = grammar ? grammar : schema;
    if (!text) return HONE_OK;
    if (grammar && schema)
        return cli_fail(err, HONE_E_USAGE, "--grammar and --json-schema: an answer follows one of them");
    bool is_text = grammar ? strstr(text, "::=") != NULL : text[strspn(text, " \t\r\n")] == '{';
    if (!is_text) {
        hone_rc rc = cli_read_text(text, &q->constraint, err);
        if (rc) return rc;
        q->r.constraint_name = text;
        text = q->constraint;
    }
    if (grammar)
        q->r.grammar = text;
    else
        q->r.json_schema = text;
    return HONE_OK;
}

hone_rc cli_request_read(const cli *c, cli_request *q, hone_err *err) {
    number_field number[N_NUMBERS];
    hone_rc rc = HONE_OK;
    *q = (cli_request){.r = hone_text_generate_defaults()};
    hone_text_generate_options *r = &q->r;
    number_fields(r, number);
    for (size_t i = 0; !rc && i < N_NUMBERS; i++) rc = real(c, number[i].name, number[i].to, err);
    r->max_tokens = (uint32_t)cli_count(c, "max-tokens", r->max_tokens);
    r->top_k = (int32_t)cli_count(c, "top-k", (uint64_t)r->top_k);
    r->mirostat = cli_given(c, "mirostat") ? 2 : 0;
    r->seed = cli_count(c, "seed", 0);
    r->ignore_end = cli_given(c, "ignore-eos");
    r->n_top = (uint32_t)cli_count(c, "logprobs", 0);
    r->n_beams = (uint32_t)cli_count(c, "beams", 0);
    r->early_stop = cli_given(c, "early-stop");
    r->lookup = (uint32_t)cli_count(c, "lookup", 0);
    r->n_draft = (uint32_t)cli_count(c, "draft-tokens", 0);
    if (cli_given(c, "stop")) {
        q->stop = cli_alloc(1, sizeof *q->stop);
        q->stop[0] = cli_text(c, "stop", NULL);
        r->stop_text = q->stop;
        r->n_stop_text = 1;
    }
    if (!rc) rc = read_bias(cli_text(c, "logit-bias", NULL), q, err);
    if (!rc) rc = read_constraint(c, q, err);
    return rc;
}

hone_rc cli_request_draft(const cli *c, const hone_text_options *o, cli_request *q, hone_err *err) {
    const char *path = cli_text(c, "draft", NULL);
    if (!path) return HONE_OK;
    hone_rc rc = hone_text_open(path, o, &q->draft, err);
    q->r.draft = q->draft;
    return rc;
}

void cli_request_free(cli_request *q) {
    hone_text_close(q->draft);
    hone_free(q->prompt);
    free(q->constraint);
    free(q->stop);
    free(q->bias);
    json_decref(q->line);
    *q = (cli_request){0};
}

/* --- a line of JSON ---------------------------------------------------------------------------------------------- */

static hone_rc wrong(hone_err *err, const char *key, const char *want) {
    return cli_fail(err, HONE_E_INPUT, "'%s' is not %s", key, want);
}

static hone_rc read_stop(cli_request *q, json_t *v, hone_err *err) {
    size_t n = json_is_array(v) ? json_array_size(v) : 1;
    q->stop = cli_alloc(n + 1, sizeof *q->stop);
    for (size_t i = 0; i < n; i++)
        if (!(q->stop[i] = json_string_value(json_is_array(v) ? json_array_get(v, i) : v)))
            return wrong(err, "stop", "a text or a list of texts");
    q->r.stop_text = q->stop;
    q->r.n_stop_text = n;
    return HONE_OK;
}

static hone_rc read_json_bias(cli_request *q, json_t *v, hone_err *err) {
    const char *key;
    json_t *x;
    if (!json_is_object(v)) return wrong(err, "logit_bias", "an object of tokens and numbers");
    q->bias = cli_alloc(json_object_size(v) + 1, sizeof *q->bias);
    q->r.n_bias = 0;
    json_object_foreach(v, key, x) {
        uint64_t token;
        if (!cli_parse_count(key, &token) || token > INT32_MAX || !json_is_number(x))
            return wrong(err, "logit_bias", "an object of tokens and numbers");
        q->bias[q->r.n_bias++] = (hone_text_bias){(int32_t)token, (float)json_number_value(x)};
    }
    q->r.bias = q->bias;
    return HONE_OK;
}

static hone_rc read_json_constraint(cli_request *q, const char *key, json_t *v, hone_err *err) {
    bool grammar = !strcmp(key, "grammar");
    const char *text = json_string_value(v);
    if (grammar && !text) return wrong(err, key, "a text");
    if (!text) text = q->constraint = json_dumps(v, JSON_ENCODE_ANY);
    q->r.grammar = grammar ? text : NULL;
    q->r.json_schema = grammar ? NULL : text;
    q->r.constraint_name = NULL;
    return HONE_OK;
}

static hone_rc read_count(const char *key, json_t *v, double most, double *out, hone_err *err) {
    double x = json_number_value(v);
    if (!json_is_integer(v) || x < 0 || x > most) return wrong(err, key, "a whole number that fits");
    *out = x;
    return HONE_OK;
}

/* True where the key is one of the numbers. */
static bool take_number(cli_request *q, const char *key, json_t *v, hone_rc *rc, hone_err *err) {
    number_field number[N_NUMBERS];
    number_fields(&q->r, number);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        const char *a = number[i].name, *b = key;
        while (*a && (*a == *b || (*a == '-' && *b == '_'))) a++, b++;
        if (*a || *b) continue;
        if (json_is_number(v))
            *number[i].to = json_number_value(v);
        else
            *rc = wrong(err, key, "a number");
        return true;
    }
    return false;
}

static hone_rc take_key(cli_request *q, const char *key, json_t *v, hone_err *err) {
    double n = 0;
    hone_rc rc = HONE_OK;
    if (take_number(q, key, v, &rc, err)) return rc;
    if (!strcmp(key, "id") || !strcmp(key, "prompt") || !strcmp(key, "messages")) return HONE_OK;
    if (!strcmp(key, "stop")) return read_stop(q, v, err);
    if (!strcmp(key, "logit_bias")) return read_json_bias(q, v, err);
    if (!strcmp(key, "grammar") || !strcmp(key, "json_schema")) return read_json_constraint(q, key, v, err);
    if (!strcmp(key, "max_tokens")) {
        rc = read_count(key, v, 1e9, &n, err);
        q->r.max_tokens = (uint32_t)n;
    } else if (!strcmp(key, "top_k")) {
        rc = read_count(key, v, 1e9, &n, err);
        q->r.top_k = (int32_t)n;
    } else if (!strcmp(key, "seed")) {
        rc = read_count(key, v, 1e18, &n, err);
        q->r.seed = (uint64_t)json_integer_value(v);
    } else if (!strcmp(key, "logprobs")) {
        rc = read_count(key, v, 1e6, &n, err);
        q->r.n_top = (uint32_t)n;
    } else
        rc = cli_fail(err, HONE_E_INPUT,
                      "the key '%s' is not known; those are id, prompt, messages, max_tokens, seed, stop, grammar, "
                      "json_schema, logit_bias, logprobs, and the options of sampling",
                      key);
    return rc;
}

static hone_rc read_prompt(const hone_text *m, cli_request *q, hone_err *err) {
    json_t *prompt = json_object_get(q->line, "prompt"), *messages = json_object_get(q->line, "messages");
    if ((prompt != NULL) == (messages != NULL))
        return cli_fail(err, HONE_E_INPUT, "either 'prompt' or 'messages' is needed");
    if (prompt && !json_is_string(prompt)) return wrong(err, "prompt", "a text");
    if (prompt) {
        q->r.prompt = json_string_value(prompt);
        q->r.n_prompt = json_string_length(prompt);
        return HONE_OK;
    }
    char *text = json_dumps(messages, JSON_ENCODE_ANY), *made = NULL;
    hone_rc rc = hone_text_prompt(m, text, true, &made, &q->r.n_prompt, err);
    if (!rc) q->r.prompt = q->prompt = made;
    free(text);
    return rc;
}

hone_rc cli_request_line(const hone_text *m, const cli_request *usual, const char *line, cli_request *q,
                         hone_err *err) {
    json_error_t why;
    const char *key;
    json_t *v;
    hone_rc rc = HONE_OK;
    *q = (cli_request){.r = usual->r};
    q->line = json_loads(line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!json_is_object(q->line))
        return cli_fail(err, HONE_E_INPUT, "no JSON object: %s", q->line ? "a list" : why.text);
    json_object_foreach(q->line, key, v) {
        rc = take_key(q, key, v, err);
        if (rc) return rc;
    }
    return read_prompt(m, q, err);
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static void put_tokens(cli_json *j, const int32_t *token, const double *logprob, size_t n) {
    cli_json_key(j, "tokens");
    cli_json_array(j);
    for (size_t i = 0; i < n; i++) cli_json_count(j, (uint64_t)token[i]);
    cli_json_close(j);
    cli_json_key(j, "logprobs");
    cli_json_array(j);
    for (size_t i = 0; i < n; i++) cli_json_number(j, logprob[i]);
    cli_json_close(j);
}

static void put_top(cli_json *j, const hone_text *m, const hone_text_answer *a) {
    cli_json_key(j, "top_logprobs");
    cli_json_array(j);
    for (size_t i = 0; i < a->n; i++) {
        cli_json_array(j);
        for (size_t k = 0; k < a->n_top; k++) {
            const hone_text_top *t = &a->top[i * a->n_top + k];
            char *text = NULL;
            size_t n = 0;
            hone_text_decode(m, &t->token, 1, true, &text, &n, NULL);
            cli_json_object(j);
            cli_json_kcount(j, "token", (uint64_t)t->token);
            cli_json_ktext(j, "text", text);
            cli_json_knumber(j, "logprob", t->logprob);
            cli_json_close(j);
            hone_free(text);
        }
        cli_json_close(j);
    }
    cli_json_close(j);
}

static void put_beams(cli_json *j, const hone_text_answer *a) {
    cli_json_key(j, "beams");
    cli_json_array(j);
    for (size_t i = 0; i < a->n_beams; i++) {
        const hone_text_beam *b = &a->beam[i];
        cli_json_object(j);
        cli_json_ktext(j, "text", b->text);
        put_tokens(j, b->token, b->logprob, b->n);
        cli_json_knumber(j, "score", b->score);
        cli_json_ktext(j, "end", hone_text_end_name(b->end));
        cli_json_close(j);
    }
    cli_json_close(j);
}

void cli_put_answer(cli_json *j, const hone_text *m, const hone_text_answer *a) {
    cli_json_ktext(j, "text", a->text);
    put_tokens(j, a->token, a->logprob, a->n);
    if (a->n_top) put_top(j, m, a);
    if (a->n_beams) put_beams(j, a);
    cli_json_ktext(j, "end", hone_text_end_name(a->end));
    cli_json_kcount(j, "prompt_tokens", a->n_prompt);
    if (a->n_guessed) {
        cli_json_kcount(j, "guessed_tokens", a->n_guessed);
        cli_json_kcount(j, "guessed_right", a->n_right);
    }
    if (a->n_beams) return;
    cli_json_knumber(j, "prompt_s", a->prompt_s);
    cli_json_knumber(j, "first_token_s", a->first_s);
    cli_json_knumber(j, "generate_s", a->generate_s);
}
