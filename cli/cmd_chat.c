/* cmd_chat.c — `hone chat`: a conversation with a language model. */
#include "cli.h"
#include "signals.h"
#include "text_request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool say(void *arg, const char *text, size_t n) {
    (void)arg;
    return fwrite(text, 1, n, stdout) == n && !fflush(stdout);
}

static void add(json_t *messages, const char *role, const char *content, size_t n) {
    json_array_append_new(messages, json_pack("{s:s, s:s%}", "role", role, "content", content, n));
}

/* One answer, which joins the conversation. */
static hone_rc answer(const cli *c, hone_text *m, json_t *messages, hone_text_generate_options *r, hone_err *err) {
    hone_text_answer got = {0};
    char *text = json_dumps(messages, 0), *prompt = NULL, rate[CLI_TEXT_N];
    hone_rc rc = hone_text_prompt(m, text, true, &prompt, &r->n_prompt, err);
    r->prompt = prompt;
    if (!rc) rc = hone_text_generate(m, r, &got, err);
    if (!rc) {
        add(messages, "assistant", got.text, got.n_text);
        putchar('\n');
        if (cli_given(c, "figures"))
            fprintf(stderr, "%zu tokens at %s a second; end: %s\n", got.n,
                    cli_text_number(got.n > 1 ? (double)(got.n - 1) / got.generate_s : 0, rate),
                    hone_text_end_name(got.end));
        hone_text_answer_free(&got);
    }
    hone_free(prompt);
    free(text);
    return rc;
}

static hone_rc talk(const cli *c, hone_text *m, json_t *messages, hone_text_generate_options *r, hone_err *err) {
    bool person = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    char *line = NULL;
    size_t room = 0;
    hone_rc rc = HONE_OK;
    while (!rc) {
        if (person) fputs("> ", stderr);
        ssize_t n = getline(&line, &room, stdin);
        if (n < 0) break;
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
        if (!n) continue;
        add(messages, "user", line, (size_t)n);
        rc = answer(c, m, messages, r, err);
    }
    free(line);
    return rc;
}

/* The conversation as a session: what was computed for it is found again, not computed. */
static hone_rc save(hone_text *m, const json_t *messages, const char *path, hone_err *err) {
    char *note = json_dumps(messages, 0), *prompt = NULL;
    hone_text_session *s = NULL;
    int32_t *token = NULL;
    size_t n = 0, n_prompt = 0;
    hone_rc rc = hone_text_prompt(m, note, false, &prompt, &n_prompt, err);
    if (!rc) rc = hone_text_encode(m, prompt, n_prompt, true, true, &token, &n, err);
    if (!rc) rc = hone_text_session_open(m, &s, err);
    if (!rc && n) rc = hone_text_session_feed(s, token, n, 1, NULL, err);
    if (!rc) rc = hone_text_session_save(s, note, path, err);
    hone_text_session_close(s);
    hone_free(token);
    hone_free(prompt);
    free(note);
    return rc;
}

/* *s stays open as long as its keys and values are to be found. */
static hone_rc load(hone_text *m, const char *path, json_t *messages, hone_text_session **s, hone_err *err) {
    char *note = NULL;
    hone_rc rc = hone_text_session_load(m, path, s, &note, err);
    json_t *list = rc ? NULL : json_loads(note, JSON_ALLOW_NUL, NULL);
    if (!rc && (!json_is_array(list) || json_array_extend(messages, list)))
        rc = cli_fail(err, HONE_E_INPUT, "'%s' is a session, but no conversation of hone chat", path);
    json_decref(list);
    hone_free(note);
    return rc;
}

static hone_rc run_chat(cli *c, hone_err *err) {
    hone_text_session *loaded = NULL;
    hone_text_options o = hone_text_defaults();
    hone_text *m = NULL;
    json_t *messages = json_array();
    cli_signals on = cli_catch_signals(false);
    cli_request q = {0};
    hone_rc rc = cli_request_read(c, &q, err);
    q.r.max_tokens = (uint32_t)cli_count(c, "max-tokens", 0);
    q.r.on_text = say;
    q.r.no_logprobs = true;
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    o.chat = true;
    o.exact = cli_given(c, "exact");
    o.activations = cli_text(c, "activations", NULL);
    o.context = (int64_t)cli_count(c, "context", 0);
    o.cache = cli_text(c, "cache-type", NULL);
    o.stop = q.r.stop = on.stop;
    if (cli_given(c, "system")) {
        const char *text = cli_text(c, "system", NULL);
        add(messages, "system", text, strlen(text));
    }
    if (!rc) rc = hone_text_open(c->arg[0], &o, &m, err);
    if (!rc) rc = cli_request_draft(c, &o, &q, err);
    if (!rc && cli_given(c, "load")) rc = load(m, cli_text(c, "load", NULL), messages, &loaded, err);
    if (!rc) rc = talk(c, m, messages, &q.r, err);
    if (!rc && cli_given(c, "save")) rc = save(m, messages, cli_text(c, "save", NULL), err);
    hone_text_session_close(loaded);
    cli_request_free(&q);
    hone_text_close(m);
    json_decref(messages);
    return rc;
}

static const cli_option options[] = {
    {"system", 's', CLI_TEXT, "TEXT", 0, 0, "what the model is told in front of the conversation"},
    {"max-tokens", 'n', CLI_COUNT, "N", 0, 1e9, "tokens of an answer at most; else until the context is full"},
    CLI_REQUEST_OPTIONS,
    {"context", 'c', CLI_COUNT, "N", 1, 1e9, "tokens of the conversation at most; else the model's, at most 8,192"},
    {"exact", 0, CLI_FLAG, NULL, 0, 0, "round nothing in products with packed weights (slower): --activations float"},
    {"activations", 0, CLI_CHOICE, "auto|int8|int8x2|float", 0, 0,
     "how products with packed weights take the other operand: int8, and two bytes where they matter most (auto, the "
     "default); int8; two bytes throughout; as it is"},
    {"cache-type", 0, CLI_TEXT, "T", 0, 0,
     "keys and values are kept as f32, f16, bf16 or q8; else f16, with --exact f32"},
    {"save", 0, CLI_TEXT, "FILE", 0, 0, "at the end, keep the conversation and what was computed for it"},
    {"load", 0, CLI_TEXT, "FILE", 0, 0, "go on with a conversation that was saved"},
    {"figures", 0, CLI_FLAG, NULL, 0, 0, "tokens per second, on stderr, behind each answer"},
    {0},
};

const cli_command cli_cmd_chat = {
    "chat",
    "Models",
    "MODEL",
    "a conversation with a language model",
    "Reads a line from stdin, answers, and so on, until the input ends. The conversation becomes a prompt by the "
    "model's own chat "
    "template; what was computed for it is kept from answer to answer. The model is compiled when it is used first.",
    options,
    "hone chat model.gguf\ta conversation; Ctrl-D ends it\n"
    "echo \"What is 2+2?\" | hone chat model.gguf --temperature 0\tone question\n",
    1,
    1,
    run_chat,
};
