/* tests/fuzz/fuzz_serve_text.c — bodies of /v1/completions, /v1/chat/completions and /v1/embeddings: each becomes jobs
 * whose fields are in their bounds, or is refused with a message. The first byte says which call. */
#include "language/language_int.h"
#include "serve/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 256 };
static const char template[] = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{{ tools }}";

static hn_tokenizer *tokenizer(void) {
    static char name[BYTES][8];
    static hn_span token[BYTES];
    static int32_t type[BYTES];
    static float score[BYTES];
    hn_tokenizer *t = NULL;
    for (int i = 0; i < BYTES; i++) {
        snprintf(name[i], sizeof name[i], "<0x%02X>", (unsigned)i);
        token[i] = (hn_span){name[i], strlen(name[i])};
        type[i] = HN_TOKEN_BYTE;
    }
    hn_tokenizer_spec s = {.kind = HN_TOKENIZER_SPM, .token = token, .score = score, .type = type, .n = BYTES};
    s.bos = s.eos = s.unknown = s.padding = -1;
    return hn_tokenizer_make(&s, &t, NULL) ? NULL : t;
}

static void look_at(const hn_http_call *c) {
    volatile double sum = 0;
    for (size_t i = 0; i < c->n_job; i++) {
        const hone_text_generate_options *r = &c->job[i]->ask;
        if (!r->prompt && !r->token) abort();
        if (c->job[i]->first == c->job[i] || c->job[i]->index != i) abort();
        for (size_t k = 0; k < r->n_token; k++)
            if (r->token[k] < 0 || r->token[k] >= BYTES) abort();
        for (size_t k = 0; k < r->n_stop_text; k++) sum += (double)strlen(r->stop_text[k]);
        for (size_t k = 0; k < r->n_bias; k++)
            if (r->bias[k].token < 0 || r->bias[k].token >= BYTES) abort();
        if (r->prompt) sum += (double)strlen(r->prompt);
        if (r->json_schema) sum += (double)strlen(r->json_schema);
    }
    if (c->form == HN_FORM_EMBEDDING && (c->n_dimension < 1 || c->n_dimension > 8)) abort();
}

/* What is in the call, as call.c frees it; there is no request here that could be answered. */
static void empty(hn_http_call *c) {
    for (size_t i = 0; i < c->n_job; i++) free(c->job[i]);
    for (size_t i = 0; i < c->n_token; i++) free(c->token[i]);
    free(c->job);
    free(c->choice);
    free(c->token);
    free(c->stop);
    free(c->bias);
    free(c->schema);
    hone_free(c->prompt_text);
    json_decref(c->body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static hn_tokenizer *t;
    if (!t && !(t = tokenizer())) abort();
    hone_text text = {.path = (char *)(uintptr_t) "fuzz",
                      .tokenizer = t,
                      .chat_template = (char *)(uintptr_t) template,
                      .n_chat_template = sizeof template - 1,
                      .vocabulary = BYTES,
                      .context = 4096,
                      .width = 8};
    hn_served model = {.name = (char *)(uintptr_t) "fuzz", .language = true, .text = &text};
    hn_server server = {.next_id = 1};
    hn_http_call c = {.server = &server, .model = &model, .arrived_s = 1};
    hone_err err = {0};
    if (!size) return 0;
    c.form = (hn_http_form)(data[0] % 3);
    c.body = json_loadb((const char *)data + 1, size - 1, JSON_ALLOW_NUL, NULL);
    if (json_is_object(c.body)) {
        hone_rc rc = c.form == HN_FORM_EMBEDDING ? hn_embeddings_request(&c, &err) : hn_request_text(&c, &err);
        if (rc && !err.text[0]) abort();
        if (!rc && !c.n_job) abort();
        if (!rc) look_at(&c);
    }
    empty(&c);
    return 0;
}
