/* answer.c — answers as OpenAI writes them: whole, and as events of a stream. */
#include "base/err.h"
#include "language/language_int.h"
#include "serve/http.h"

#include <stdlib.h>
#include <string.h>

static const char *end_of(const hn_task *j, bool called) {
    return called ? "tool_calls" : j->answer.end == HONE_TEXT_LENGTH ? "length" : "stop";
}

/* --- log-probabilities -------------------------------------------------------------------------------------------- */

typedef struct tokens {
    const int32_t *token;
    const double *logprob;
    const hone_text_top *top;
    size_t n, n_top;
} tokens;

static json_t *text_of(const hn_http_call *c, int32_t token) {
    char *text = NULL;
    size_t n = 0;
    if (hone_text_decode(c->model->text, &token, 1, true, &text, &n, NULL)) return json_string("");
    json_t *s = json_stringn(text, n);
    hone_free(text);
    return s ? s : json_string("");
}

static json_t *one_token(const hn_http_call *c, int32_t token, double logprob) {
    json_t *bytes = json_array();
    hn_span s = hn_tokenizer_bytes(c->model->text->tokenizer, token, NULL);
    for (size_t i = 0; i < s.n; i++) json_array_append_new(bytes, json_integer((unsigned char)s.text[i]));
    return json_pack("{s:o, s:f, s:o}", "token", text_of(c, token), "logprob", logprob < -9999 ? -9999. : logprob,
                     "bytes", bytes);
}

static json_t *chat_logprobs(const hn_http_call *c, tokens t) {
    json_t *list = json_array();
    for (size_t i = 0; i < t.n; i++) {
        json_t *o = one_token(c, t.token[i], t.logprob[i]), *top = json_array();
        for (size_t k = 0; k < t.n_top; k++)
            json_array_append_new(top, one_token(c, t.top[i * t.n_top + k].token, t.top[i * t.n_top + k].logprob));
        json_object_set_new(o, "top_logprobs", top);
        json_array_append_new(list, o);
    }
    return json_pack("{s:o, s:n}", "content", list, "refusal");
}

static json_t *plain_logprobs(const hn_http_call *c, tokens t, size_t offset) {
    json_t *name = json_array(), *p = json_array(), *tops = json_array(), *at = json_array();
    for (size_t i = 0; i < t.n; i++) {
        json_t *text = text_of(c, t.token[i]), *top = json_object();
        json_array_append_new(at, json_integer((json_int_t)offset));
        offset += json_string_length(text);
        json_array_append_new(name, text);
        json_array_append_new(p, json_real(t.logprob[i] < -9999 ? -9999. : t.logprob[i]));
        for (size_t k = 0; k < t.n_top; k++) {
            json_t *key = text_of(c, t.top[i * t.n_top + k].token);
            json_object_set_new(top, json_string_value(key), json_real(t.top[i * t.n_top + k].logprob));
            json_decref(key);
        }
        json_array_append_new(tops, top);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", name, "token_logprobs", p, "top_logprobs", tops, "text_offset",
                     at);
}

static json_t *logprobs(const hn_http_call *c, bool want, tokens t, size_t offset) {
    if (!want) return json_null();
    return c->form == HN_FORM_CHAT ? chat_logprobs(c, t) : plain_logprobs(c, t, offset);
}

/* --- what all have ------------------------------------------------------------------------------------------------ */

static json_t *usage_of(const hn_http_call *c) {
    size_t prompt = 0, found = 0, n_tokens = 0;
    for (size_t i = 0; i < c->n_job; i++) {
        const hn_task *j = c->job[i];
        if (i % c->n_per_prompt == 0) prompt += j->answer.n_prompt, found += j->n_found;
        n_tokens += j->answer.n;
    }
    return json_pack("{s:I, s:I, s:I, s:{s:I}}", "prompt_tokens", (json_int_t)prompt, "completion_tokens",
                     (json_int_t)n_tokens, "total_tokens", (json_int_t)(prompt + n_tokens), "prompt_tokens_details",
                     "cached_tokens", (json_int_t)found);
}

static json_t *frame(const hn_http_call *c, bool chunk, json_t *choices) {
    bool chat = c->form == HN_FORM_CHAT;
    const char *object = !chat ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion";
    return json_pack("{s:s+, s:s, s:I, s:s, s:s, s:o}", "id", chat ? "chatcmpl-" : "cmpl-", c->id + 4, "object", object,
                     "created", (json_int_t)c->created_s, "model", c->model->name, "system_fingerprint",
                     c->version ? c->version : c->model->version, "choices", choices);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* `delta` (a chat's) or the text is given away or copied. */
static void chunk(hn_http_call *c, const hn_task *j, json_t *delta, const char *text, size_t n, json_t *probs,
                  const char *end) {
    json_t *choice = json_pack("{s:i, s:o, s:s?}", "index", (int)j->index, "logprobs", probs, "finish_reason", end);
    if (c->form == HN_FORM_CHAT)
        json_object_set_new(choice, "delta", delta);
    else
        json_object_set_new(choice, "text", json_stringn(text, n));
    json_t *o = frame(c, true, json_pack("[o]", choice));
    if (c->usage) json_object_set_new(o, "usage", json_null());
    hn_http_event(c, o);
}

static void begin_stream(hn_http_call *c, const hn_task *j) {
    hn_choice *x = &c->choice[j->index];
    if (x->begun || c->form != HN_FORM_CHAT) return;
    x->begun = true;
    chunk(c, j, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL, 0, json_null(), NULL);
}

static void give(hn_http_call *c, const hn_task *j, const char *text, size_t n, json_t *probs) {
    json_t *delta = c->form == HN_FORM_CHAT ? json_pack("{s:s%}", "content", text, n) : NULL;
    chunk(c, j, delta, text, n, probs, NULL);
}

void hn_answer_piece(hn_http_call *c, const hn_event *h) {
    const hn_task *j = h->job;
    hn_choice *x = &c->choice[j->index];
    tokens t = {h->token, h->logprob, h->top, h->n, h->n_top};
    begin_stream(c, j);
    if (c->tools == HN_TOOLS_NONE) {
        give(c, j, h->text, h->n_text, logprobs(c, j->want_logprobs, t, x->n_given));
        x->n_given += h->n_text;
        return;
    }
    hn_str_add_n(&x->text, h->text, h->n_text);
    size_t until = x->text.failed ? 0 : hn_tools_certain(c, x->text.text, x->text.n);
    if (until > x->n_given) {
        give(c, j, x->text.text + x->n_given, until - x->n_given, json_null());
        x->n_given = until;
    }
}

/* What is left to say of a choice, and how it ended. */
static void end_choice(hn_http_call *c, const hn_task *j) {
    hn_choice *x = &c->choice[j->index];
    const hone_text_answer *a = &j->answer;
    size_t front = a->n_text;
    begin_stream(c, j);
    json_t *calls = c->form == HN_FORM_CHAT ? hn_tools_calls(c, j->index, a->text, a->n_text, &front) : NULL;
    if (c->tools != HN_TOOLS_NONE && front > x->n_given)
        give(c, j, a->text + x->n_given, front - x->n_given, json_null());
    x->called = calls != NULL;
    if (calls) chunk(c, j, json_pack("{s:o}", "tool_calls", calls), NULL, 0, json_null(), NULL);
    tokens t = {a->token + j->n_told, a->logprob + j->n_told, a->top ? a->top + j->n_told * a->n_top : NULL,
                a->n - j->n_told, a->n_top};
    bool left = j->want_logprobs && t.n > 0;
    chunk(c, j, c->form == HN_FORM_CHAT ? json_object() : NULL, "", 0,
          left ? logprobs(c, true, t, x->n_given) : json_null(), end_of(j, x->called));
}

/* --- whole answers ------------------------------------------------------------------------------------------------ */

static json_t *whole_choice(const hn_http_call *c, const hn_task *j) {
    const hone_text_answer *a = &j->answer;
    tokens t = {a->token, a->logprob, a->top, a->n, a->n_top};
    size_t front = a->n_text;
    json_t *calls = c->form == HN_FORM_CHAT ? hn_tools_calls(c, j->index, a->text, a->n_text, &front) : NULL;
    json_t *o = json_pack("{s:i, s:o, s:s}", "index", (int)j->index, "logprobs", logprobs(c, j->want_logprobs, t, 0),
                          "finish_reason", end_of(j, calls != NULL));
    if (c->form != HN_FORM_CHAT) {
        json_object_set_new(o, "text", json_stringn(a->text, a->n_text));
        return o;
    }
    json_t *message = json_pack("{s:s}", "role", "assistant");
    json_object_set_new(message, "content", calls && !front ? json_null() : json_stringn(a->text, front));
    if (calls) json_object_set_new(message, "tool_calls", calls);
    json_object_set_new(o, "message", message);
    return o;
}

static void reply_whole(hn_http_call *c) {
    json_t *choices = json_array();
    for (size_t i = 0; i < c->n_job; i++) json_array_append_new(choices, whole_choice(c, c->job[i]));
    json_t *o = frame(c, false, choices);
    if (o) json_object_set_new(o, "usage", usage_of(c));
    hn_http_reply(c, 200, o);
}

void hn_answer_end(hn_http_call *c, hn_task *j) {
    if (c->stream && !j->rc) end_choice(c, j);
    if (j->rc) /* the others' answers are of no use now */
        for (size_t i = 0; i < c->n_job; i++) atomic_store(&c->job[i]->gone, 1);
    if (c->n_done < c->n_job) return;
    const hn_task *failed = NULL;
    for (size_t i = 0; i < c->n_job; i++)
        if (c->job[i]->rc && (!failed || failed->rc == HONE_E_INTERRUPTED)) failed = c->job[i];
    if (failed)
        hn_http_fail(c, hn_status_of(failed->rc), failed->why.text);
    else if (c->form == HN_FORM_EMBEDDING)
        hn_embeddings_end(c);
    else if (!c->stream)
        reply_whole(c);
    else {
        if (c->usage) {
            json_t *o = frame(c, true, json_array());
            json_object_set_new(o, "usage", usage_of(c));
            hn_http_event(c, o);
        }
        hn_http_end_stream(c);
    }
}
