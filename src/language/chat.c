/* chat.c — a conversation as a prompt. */
#include "base/clock.h"
#include "base/err.h"
#include "language/language_int.h"
#include "text/template.h"

static json_t *token_text(const hone_text *m, int32_t id) {
    hn_span s = id < 0 ? (hn_span){"", 0} : hn_tokenizer_bytes(m->tokenizer, id, NULL);
    return json_stringn_nocheck(s.text, s.n);
}

hone_rc hn_no_template(const hone_text *m, hone_err *err) {
    return hn_fail(err, HONE_E_NOTFOUND, "'%s' has no chat template; give it a prompt as it is (hone generate)",
                   m->path);
}

hone_rc hone_text_prompt(const hone_text *m, const char *messages, bool answer, char **prompt, hone_err *err) {
    json_error_t why;
    hn_str out = {0};
    hone_rc rc = hn_language_ready(m, true, false, err);
    if (rc) return rc;
    if (!m->chat_template) return hn_no_template(m, err);
    json_t *list = json_loads(messages, 0, &why);
    if (!list || !json_is_array(list)) {
        json_decref(list);
        return hn_fail(err, HONE_E_INPUT, "the messages are no JSON list of {\"role\", \"content\"}: %s",
                       list ? "" : why.text);
    }
    json_t *context =
        json_pack("{s:o, s:o, s:o, s:b}", "messages", list, "bos_token", token_text(m, hn_tokenizer_bos(m->tokenizer)),
                  "eos_token", token_text(m, hn_tokenizer_eos(m->tokenizer)), "add_generation_prompt", answer);
    rc = context ? hn_template_render(m->chat_template, m->n_chat_template, context, hn_unix_s(), &out, err)
                 : hn_fail(err, HONE_E_NOMEM, "out of memory writing a prompt");
    json_decref(context);
    char *text = rc ? NULL : hn_str_take(&out);
    if (rc || !text) {
        hn_str_free(&out);
        return rc ? rc : hn_fail(err, HONE_E_NOMEM, "out of memory writing a prompt");
    }
    *prompt = text;
    return HONE_OK;
}
