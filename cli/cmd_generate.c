/* cmd_generate.c — `hone generate`: text from a language model. */
#include "cli.h"
#include "signals.h"

#include <hone/text.h>

#include <stdlib.h>
#include <string.h>

/* --- options
 * ----------------------------------------------------------------------------------------------------------- */

static hone_rc real(const cli *c, const char *option, double *out, hone_err *err) {
    const char *text = cli_text(c, option, NULL);
    char *end = NULL;
    if (!text) return HONE_OK;
    *out = strtod(text, &end);
    return *end || end == text ? cli_fail(err, HONE_E_USAGE, "--%s '%s' is no number", option, text) : HONE_OK;
}

static bool say(void *arg, const char *text, size_t n) {
    (void)arg;
    return fwrite(text, 1, n, stdout) == n && !fflush(stdout);
}

/* A whole file, or stdin for "-", as the prompt. */
static hone_rc read_prompt(const char *path, char **out, hone_err *err) {
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t n = 0, room = 0;
    char *text = NULL;
    if (!f) return cli_fail(err, HONE_E_IO, "cannot open '%s'", path);
    for (int k; (k = getc(f)) != EOF;) {
        text = cli_grow(text, &room, n + 1, 1);
        text[n++] = (char)k;
    }
    if (f != stdin) fclose(f);
    text = cli_grow(text, &room, n + 1, 1);
    text[n] = 0;
    *out = text;
    return strlen(text) == n ? HONE_OK : cli_fail(err, HONE_E_INPUT, "'%s' holds a byte 0; it is no text", path);
}

static hone_rc set_request(const cli *c, hone_text_generate_options *r, char **file, hone_err *err) {
    const struct {
        const char *option;
        double *to;
    } number[] = {{"temperature", &r->temperature},
                  {"top-p", &r->top_p},
                  {"min-p", &r->min_p},
                  {"typical-p", &r->typical_p},
                  {"repeat-penalty", &r->repeat_penalty},
                  {"frequency-penalty", &r->frequency_penalty},
                  {"presence-penalty", &r->presence_penalty},
                  {"mirostat-tau", &r->mirostat_tau},
                  {"mirostat-eta", &r->mirostat_eta}};
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < sizeof number / sizeof *number; i++)
        rc = real(c, number[i].option, number[i].to, err);
    r->prompt = cli_text(c, "prompt", NULL);
    r->max_tokens = (uint32_t)cli_count(c, "max-tokens", r->max_tokens);
    r->top_k = (int32_t)cli_count(c, "top-k", (uint64_t)r->top_k);
    r->mirostat = cli_given(c, "mirostat") ? 2 : 0;
    r->seed = cli_count(c, "seed", 0);
    r->ignore_end = cli_given(c, "ignore-eos");
    if (!rc && cli_given(c, "prompt") == cli_given(c, "file"))
        rc = cli_fail(err, HONE_E_USAGE, "a prompt is needed: --prompt TEXT, or --file FILE");
    if (!rc && cli_given(c, "file")) rc = read_prompt(cli_text(c, "file", NULL), file, err);
    if (!rc && *file) r->prompt = *file;
    return rc;
}

/* --- what is said
 * ------------------------------------------------------------------------------------------------------ */

static void put_json(cli *c, const hone_text_answer *a) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "text", a->text);
    cli_json_key(&j, "tokens");
    cli_json_array(&j);
    for (size_t i = 0; i < a->n; i++) cli_json_count(&j, (uint64_t)a->token[i]);
    cli_json_close(&j);
    cli_json_key(&j, "logprobs");
    cli_json_array(&j);
    for (size_t i = 0; i < a->n; i++) cli_json_number(&j, a->logprob[i]);
    cli_json_close(&j);
    cli_json_ktext(&j, "end", hone_text_end_name(a->end));
    cli_json_kcount(&j, "prompt_tokens", a->n_prompt);
    cli_json_knumber(&j, "prompt_s", a->prompt_s);
    cli_json_knumber(&j, "first_token_s", a->first_s);
    cli_json_knumber(&j, "generate_s", a->generate_s);
    cli_json_end(&j);
}

static void put_figures(const hone_text_answer *a) {
    char first[CLI_TEXT_N];
    fprintf(stderr, "%zu prompt tokens at %.1f a second, %zu tokens at %.1f a second, the first after %s; end: %s\n",
            a->n_prompt, (double)a->n_prompt / a->prompt_s, a->n, a->n > 1 ? (double)(a->n - 1) / a->generate_s : 0.0,
            cli_text_seconds(a->first_s, first), hone_text_end_name(a->end));
}

static void tell(void *arg, const hone_event *e) {
    const cli *c = arg;
    if (!c->json && e->text) fprintf(stderr, "%s\n", e->text);
}

static hone_rc run_generate(cli *c, hone_err *err) {
    hone_text_generate_options r = hone_text_generate_defaults();
    hone_text_options o = hone_text_defaults();
    hone_text_answer answer = {0};
    hone_text *m = NULL;
    char *file = NULL;
    const char *stop[1] = {cli_text(c, "stop", NULL)};
    cli_signals on = cli_catch_signals(false);
    hone_rc rc = set_request(c, &r, &file, err);
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    o.context = (int64_t)cli_count(c, "context", 0);
    o.compiler = cli_text(c, "cc", NULL);
    o.target = cli_text(c, "target", NULL);
    o.no_parity = cli_given(c, "no-parity");
    o.progress = (hone_progress){tell, c};
    o.stop = r.stop = on.stop;
    r.stop_text = stop;
    r.n_stop_text = stop[0] != NULL;
    if (!c->json) r.on_text = say;
    if (!rc) rc = hone_text_open(c->arg[0], &o, &m, err);
    if (!rc) rc = hone_text_generate(m, &r, &answer, err);
    if (!rc && c->json) put_json(c, &answer);
    if (!rc && !c->json) {
        putchar('\n');
        put_figures(&answer);
    }
    hone_text_answer_free(&answer);
    hone_text_close(m);
    free(file);
    return rc;
}

static const cli_option options[] = {
    {"prompt", 'p', CLI_TEXT, "TEXT", 0, 0,
     "what the text begins with; names of control tokens (<|im_start|>) stand for them"},
    {"file", 'f', CLI_TEXT, "FILE", 0, 0, "the prompt is what a file holds; - is stdin"},
    {"max-tokens", 'n', CLI_COUNT, "N", 0, 1e9, "tokens at most (default 256); 0: until the context is full"},
    {"temperature", 0, CLI_TEXT, "T", 0, 0, "0: always the most likely token (default .8)"},
    {"top-k", 0, CLI_COUNT, "K", 0, 1e9, "from the K most likely tokens (default 40; 0: all)"},
    {"top-p", 0, CLI_TEXT, "P", 0, 0, "from the fewest tokens that have this probability together (default .95)"},
    {"min-p", 0, CLI_TEXT, "P", 0, 0, "from tokens with this share of the largest probability (default .05)"},
    {"typical-p", 0, CLI_TEXT, "P", 0, 0,
     "from the tokens whose surprise is nearest to the expected one (default 1: all)"},
    {"repeat-penalty", 0, CLI_TEXT, "X", 0, 0, "divides the logits of the last 64 tokens (default 1)"},
    {"frequency-penalty", 0, CLI_TEXT, "X", 0, 0, "taken off for each time that a token stood there (default 0)"},
    {"presence-penalty", 0, CLI_TEXT, "X", 0, 0, "taken off where a token stood there (default 0)"},
    {"mirostat", 0, CLI_FLAG, NULL, 0, 0,
     "keep the surprise constant (mirostat 2) instead of top-k, top-p, min-p and typical-p"},
    {"mirostat-tau", 0, CLI_TEXT, "X", 0, 0, "mirostat: the surprise in bits (default 5)"},
    {"mirostat-eta", 0, CLI_TEXT, "X", 0, 0, "mirostat: how fast it follows (default .1)"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "the same seed gives the same text (default 0)"},
    {"stop", 0, CLI_TEXT, "TEXT", 0, 0, "the answer ends in front of this text"},
    {"ignore-eos", 0, CLI_FLAG, NULL, 0, 0, "go on behind the token that ends a text"},
    {"context", 'c', CLI_COUNT, "N", 1, 1e9,
     "tokens at most, prompt and answer together; else the model's, at most 8,192"},
    {"threads", 0, CLI_COUNT, "N", 1, 1024, "threads to run on; else one per processor"},
    {"target", 't', CLI_TEXT, "T", 0, 0, "instruction set, as of hone compile; else native"},
    {"cc", 0, CLI_TEXT, "CC", 0, 0, "the C compiler; else cc"},
    {"no-parity", 0, CLI_FLAG, NULL, 0, 0, "do not compare kernels with the interpreter when the model is compiled"},
    {0},
};

const cli_command cli_cmd_generate = {
    "generate",
    "Models",
    "MODEL",
    "text from a language model",
    "Continues a prompt. The model is compiled when it is used first, for this machine, and kept in the cache. The "
    "text goes to "
    "stdout as it comes; figures go to stderr.\n\n"
    "With `--json` one value is printed at the end: the text, its tokens, the natural logarithm of each one's "
    "probability, why it "
    "ended, and times. The same seed and options give the same tokens.",
    options,
    "hone generate model.gguf --prompt \"Once upon a time\"\ta story\n"
    "hone generate model.gguf -p \"2+2=\" --temperature 0 -n 8 --json\tthe most likely tokens, with their "
    "probabilities\n"
    "hone generate model.gguf -f prompt.txt --seed 7\ta prompt from a file\n",
    1,
    1,
    run_generate,
};
