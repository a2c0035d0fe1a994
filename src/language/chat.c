/* chat.c — a conversation as a prompt. */
#include "base/clock.h"
#include "base/err.h"
#include "language/language_int.h"
#include "text/template.h"

#include <string.h>

static json_t *token_text(const hone_text *m, int32_t id) {
    hn_span s = id < 0 ? (hn_span){"", 0} : hn_tokenizer_bytes(m->tokenizer, id, NULL);
    return json_stringn_nocheck(s.text, s.n);
}

hone_rc hn_no_template(const hone_text *m, hone_err *err) {
    return hn_fail(err, HONE_E_NOTFOUND, "'%s' has no chat template; give it a prompt as it is (hone generate)",
                   m->path);
}

hone_rc hone_text_prompt(const hone_text *m, const char *messages, bool answer, char **prompt, size_t *n_prompt,
                         hone_err *err) {
    return hone_text_prompt_with(m, messages, NULL, answer, prompt, n_prompt, err);
}

bool hone_text_template_names(const hone_text *m, const char *word) {
    return m->chat_template && memmem(m->chat_template, m->n_chat_template, word, strlen(word));
}

static hone_rc read_json(const char *text, bool list, const char *what, json_t **out, hone_err *err) {
    json_error_t why = {0};
    json_t *made = json_loads(text, JSON_ALLOW_NUL, &why);
    if (made && (list ? json_is_array(made) : json_is_object(made))) {
        *out = made;
        return HONE_OK;
    }
    json_decref(made);
    return hn_fail(err, HONE_E_INPUT, "%s%s%s", what, made ? "" : ": ", made ? "" : why.text);
}

hone_rc hone_text_prompt_with(const hone_text *m, const char *messages, const char *names, bool answer, char **prompt,
                              size_t *n_prompt, hone_err *err) {
    json_t *list = NULL, *more = NULL;
    hn_str out = {0};
    hone_rc rc = hn_language_ready(m, true, false, err);
    if (!rc && !m->chat_template) rc = hn_no_template(m, err);
    if (!rc) rc = read_json(messages, true, "the messages are no JSON list of {\"role\", \"content\"}", &list, err);
    if (!rc && names) rc = read_json(names, false, "the template's further names are no JSON object", &more, err);
    json_t *context = rc ? NULL
                         : json_pack("{s:O, s:o, s:o, s:b}", "messages", list, "bos_token",
                                     token_text(m, hn_tokenizer_bos(m->tokenizer)), "eos_token",
                                     token_text(m, hn_tokenizer_eos(m->tokenizer)), "add_generation_prompt", answer);
    if (!rc && (!context || (more && json_object_update_missing(context, more))))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing a prompt");
    if (!rc) rc = hn_template_render(m->chat_template, m->n_chat_template, context, hn_unix_s(), &out, err);
    if (!rc && !n_prompt && memchr(out.text, 0, out.n))
        rc = hn_fail(err, HONE_E_INPUT,
                     "the conversation holds the character U+0000, which a prompt without its length cannot; ask for "
                     "n_prompt, too");
    json_decref(context);
    json_decref(more);
    json_decref(list);
    size_t n = out.n;
    char *text = rc ? NULL : hn_str_take(&out);
    if (rc || !text) {
        hn_str_free(&out);
        return rc ? rc : hn_fail(err, HONE_E_NOMEM, "out of memory writing a prompt");
    }
    *prompt = text;
    if (n_prompt) *n_prompt = n;
    return HONE_OK;
}
