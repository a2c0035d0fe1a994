/* tools.c — functions that a chat may call: into the prompt by the model's own template, and out of its answer.
 *
 * Models write calls as <tool_call>{"name": ..., "arguments": {...}}</tool_call> (Hermes, Qwen), or as the JSON alone,
 * with "parameters" for "arguments" (Llama). Where a call is asked for ("tool_choice": "required", or a function's
 * name), a JSON schema holds the answer to one. */
#include "base/err.h"
#include "serve/http.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char tag[] = "<tool_call>", end_tag[] = "</tool_call>";

/* --- the prompt --------------------------------------------------------------------------------------------------- */

/* A message's content as text: parts are put together. */
static hone_rc flatten(json_t *message, hone_err *err) {
    json_t *content = json_object_get(message, "content"), *part;
    hn_str text = {0};
    size_t i;
    if (!json_is_array(content)) {
        if (!content || json_is_null(content)) json_object_set_new(message, "content", json_string(""));
        return !content || json_is_null(content) || json_is_string(content)
                   ? HONE_OK
                   : hn_fail(err, HONE_E_INPUT, "a message's 'content' is neither a text nor a list of parts");
    }
    json_array_foreach(content, i, part) {
        const json_t *t = json_object_get(part, "text");
        if (!json_is_string(t)) {
            hn_str_free(&text);
            return hn_fail(err, HONE_E_UNSUPPORTED,
                           "a message holds a part that is no text; models here read text alone");
        }
        hn_str_add_n(&text, json_string_value(t), json_string_length(t));
    }
    json_object_set_new(message, "content", json_stringn(text.n ? text.text : "", text.n));
    hn_str_free(&text);
    return HONE_OK;
}

/* Templates write arguments as JSON; OpenAI sends them as a text of JSON. */
static void open_arguments(json_t *message) {
    json_t *call;
    size_t i;
    json_array_foreach(json_object_get(message, "tool_calls"), i, call) {
        json_t *function = json_object_get(call, "function");
        const char *text = json_string_value(json_object_get(function, "arguments"));
        json_t *read = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
        if (read) json_object_set_new(function, "arguments", read);
    }
}

static hone_rc read_messages(const hn_http_call *c, json_t **out, hone_err *err) {
    const json_t *given = json_object_get(c->body, "messages");
    json_t *list = json_is_array(given) ? json_deep_copy(given) : NULL, *m;
    hone_rc rc = HONE_OK;
    size_t i;
    if (!json_array_size(list)) {
        json_decref(list);
        return hn_fail(err, HONE_E_INPUT, "'messages' is missing, empty or no list");
    }
    json_array_foreach(list, i, m) {
        const char *role = json_string_value(json_object_get(m, "role"));
        if (!role) rc = hn_fail(err, HONE_E_INPUT, "message %zu has no 'role'", i);
        if (!rc && !strcmp(role, "developer")) json_object_set_new(m, "role", json_string("system"));
        if (!rc) rc = flatten(m, err);
        if (rc) break;
        open_arguments(m);
    }
    if (rc)
        json_decref(list);
    else
        *out = list;
    return rc;
}

/* A template that knows of no tools is told of them in the system's message. */
static void describe(json_t *messages, const json_t *tools) {
    json_t *first = json_array_get(messages, 0);
    bool has = !strcmp(json_string_value(json_object_get(first, "role")), "system");
    char *text = json_dumps(tools, JSON_COMPACT), *all = NULL;
    const char *before = has ? json_string_value(json_object_get(first, "content")) : "";
    if (text && asprintf(&all,
                         "%s%sYou may call these functions: %s\nTo call one, write %s{\"name\": ..., "
                         "\"arguments\": {...}}%s",
                         before, *before ? "\n\n" : "", text, tag, end_tag) >= 0) {
        if (has)
            json_object_set_new(first, "content", json_string(all));
        else
            json_array_insert_new(messages, 0, json_pack("{s:s, s:s}", "role", "system", "content", all));
        free(all);
    }
    free(text);
}

static json_t *call_schema(const json_t *function) {
    json_t *parameters = json_object_get(function, "parameters");
    return json_pack("{s:s, s:{s:{s:O}, s:o}, s:[s, s], s:b}", "type", "object", "properties", "name", "const",
                     json_object_get(function, "name"), "arguments",
                     json_is_object(parameters) ? json_incref(parameters) : json_pack("{s:s}", "type", "object"),
                     "required", "name", "arguments", "additionalProperties", 0);
}

/* The schema of a call of one of the tools (name NULL: of any). */
static hone_rc force(hn_http_call *c, const json_t *tools, const char *name, hone_err *err) {
    json_t *any = json_array(), *t, *all;
    size_t i;
    json_array_foreach(tools, i, t) {
        const json_t *f = json_object_get(t, "function");
        if (!name || !strcmp(json_string_value(json_object_get(f, "name")), name))
            json_array_append_new(any, call_schema(f));
    }
    if (!json_array_size(any)) {
        json_decref(any);
        return hn_fail(err, HONE_E_INPUT, "'tool_choice' names '%.100s', which is none of the tools", name ? name : "");
    }
    all = json_array_size(any) == 1 ? json_incref(json_array_get(any, 0)) : json_pack("{s:O}", "anyOf", any);
    free(c->schema);
    c->schema = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    json_decref(any);
    c->tools = HN_TOOLS_FORCED;
    return c->schema ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc choose(hn_http_call *c, const json_t *tools, hone_err *err) {
    const json_t *choice = json_object_get(c->body, "tool_choice"), *t;
    const char *word = json_string_value(choice);
    size_t i;
    json_array_foreach(tools, i, t) {
        if (!json_is_string(json_object_get(json_object_get(t, "function"), "name")))
            return hn_fail(err, HONE_E_INPUT, "tool %zu is no {\"type\": \"function\", \"function\": {\"name\", ...}}",
                           i);
    }
    c->tools = hone_text_template_names(c->model->text, tag) || !hone_text_template_names(c->model->text, "tools")
                   ? HN_TOOLS_TAGGED
                   : HN_TOOLS_BARE;
    if (word && !strcmp(word, "none")) c->tools = HN_TOOLS_NONE;
    if (word && !strcmp(word, "required")) return force(c, tools, NULL, err);
    if (json_is_object(choice)) {
        word = json_string_value(json_object_get(json_object_get(choice, "function"), "name"));
        return word ? force(c, tools, word, err) : hn_fail(err, HONE_E_INPUT, "'tool_choice' names no function");
    }
    if (word && strcmp(word, "auto") && strcmp(word, "none"))
        return hn_fail(err, HONE_E_INPUT, "'tool_choice' is '%.40s'; it is none, auto, required or a function", word);
    return HONE_OK;
}

hone_rc hn_tools_prompt(hn_http_call *c, char **prompt, size_t *n_prompt, hone_err *err) {
    json_t *messages = NULL, *tools = json_object_get(c->body, "tools"), *names = json_object();
    json_t *more = json_object_get(c->body, "chat_template_kwargs");
    bool some = json_is_array(tools) && json_array_size(tools);
    hone_rc rc = read_messages(c, &messages, err);
    if (!rc && json_is_object(more)) json_object_update(names, more);
    if (!rc && some) rc = choose(c, tools, err);
    if (!rc && c->tools != HN_TOOLS_NONE) {
        if (hone_text_template_names(c->model->text, "tools"))
            json_object_set(names, "tools", tools);
        else
            describe(messages, tools);
    }
    char *text = rc ? NULL : json_dumps(messages, JSON_COMPACT), *further = rc ? NULL : json_dumps(names, JSON_COMPACT);
    if (!rc && (!text || !further)) rc = hn_fail(err, HONE_E_INPUT, "'messages' cannot be written as a prompt");
    if (!rc) rc = hone_text_prompt_with(c->model->text, text, further, true, prompt, n_prompt, err);
    if (rc == HONE_E_NOTFOUND)
        rc = hn_fail(err, HONE_E_INPUT, "'%s' has no chat template; call /v1/completions", c->model->name);
    free(text);
    free(further);
    json_decref(messages);
    json_decref(names);
    return rc;
}

/* --- the answer --------------------------------------------------------------------------------------------------- */

static const char *skip_space(const char *p, const char *end) {
    while (p < end && isspace((unsigned char)*p)) p++;
    return p;
}

/* One call of JSON at p; *p behind it. choice, index: its id is made of them. */
static json_t *read_call(const hn_http_call *c, size_t choice, const char **p, const char *end, size_t index) {
    json_error_t why;
    const char *from = skip_space(*p, end);
    json_t *o = json_loadb(from, (size_t)(end - from), JSON_DISABLE_EOF_CHECK, &why), *call = NULL;
    json_t *name = json_object_get(o, "name"), *given = json_object_get(o, "arguments");
    if (!given) given = json_object_get(o, "parameters");
    if (json_is_string(name) && given) {
        char *text = json_is_string(given) ? strdup(json_string_value(given))
                                           : json_dumps(given, JSON_COMPACT | JSON_ENCODE_ANY);
        char id[sizeof c->id + 40];
        snprintf(id, sizeof id, "call_%s_%zu_%zu", c->id, choice, index);
        call = json_pack("{s:s, s:s, s:i, s:{s:O, s:s}}", "id", id, "type", "function", "index", (int)index, "function",
                         "name", name, "arguments", text ? text : "{}");
        free(text);
    }
    *p = call ? from + why.position : *p;
    json_decref(o);
    return call;
}

json_t *hn_tools_calls(const hn_http_call *c, size_t choice, const char *text, size_t n, size_t *n_front) {
    json_t *list = json_array(), *call;
    const char *end = text + n, *p = text;
    *n_front = n;
    if (c->tools == HN_TOOLS_TAGGED) {
        while ((p = memmem(p, (size_t)(end - p), tag, sizeof tag - 1))) {
            const char *at = p;
            p += sizeof tag - 1;
            if (!(call = read_call(c, choice, &p, end, json_array_size(list)))) continue;
            if (!json_array_size(list)) *n_front = (size_t)(at - text);
            json_array_append_new(list, call);
        }
    } else if (c->tools != HN_TOOLS_NONE && (call = read_call(c, choice, &p, end, 0))) {
        *n_front = 0;
        json_array_append_new(list, call);
    }
    if (json_array_size(list)) return list;
    json_decref(list);
    return NULL;
}

size_t hn_tools_certain(const hn_http_call *c, const char *text, size_t n) {
    const char *first = skip_space(text, text + n);
    if (c->tools == HN_TOOLS_NONE) return n;
    if (c->tools == HN_TOOLS_FORCED) return 0;
    if (c->tools == HN_TOOLS_BARE) return first < text + n && *first != '{' ? n : 0;
    const char *at = memmem(text, n, tag, sizeof tag - 1);
    if (at) return (size_t)(at - text);
    for (size_t k = sizeof tag - 2; k > 0; k--)
        if (k <= n && !memcmp(text + n - k, tag, k)) return n - k;
    return n;
}
