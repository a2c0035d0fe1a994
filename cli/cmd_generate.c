/* cmd_generate.c — `hone generate`: text from a language model. */
#include "cli.h"
#include "signals.h"
#include "text_request.h"

static bool say(void *arg, const char *text, size_t n) {
    (void)arg;
    return fwrite(text, 1, n, stdout) == n && !fflush(stdout);
}

static void put_json(cli *c, const hone_text *m, const hone_text_answer *a) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_put_answer(&j, m, a);
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

/* The one prompt. */
static hone_rc set_prompt(const cli *c, cli_request *q, hone_err *err) {
    if (cli_given(c, "prompt") + cli_given(c, "file") + cli_given(c, "prompts") != 1)
        return cli_fail(err, HONE_E_USAGE,
                        "a prompt is needed: --prompt TEXT, --file FILE, or many with --prompts FILE");
    if (cli_given(c, "out") && !cli_given(c, "prompts"))
        return cli_fail(err, HONE_E_USAGE, "--out takes the answers to --prompts FILE");
    q->r.prompt = cli_text(c, "prompt", NULL);
    if (!cli_given(c, "file")) return HONE_OK;
    hone_rc rc = cli_read_text(cli_text(c, "file", NULL), &q->prompt, err);
    q->r.prompt = q->prompt;
    return rc;
}

static hone_rc answer_one(cli *c, hone_text *m, cli_request *q, hone_err *err) {
    hone_text_answer answer = {0};
    if (!c->json) q->r.on_text = say;
    hone_rc rc = hone_text_generate(m, &q->r, &answer, err);
    if (!rc && c->json) put_json(c, m, &answer);
    if (!rc && !c->json) {
        putchar('\n');
        put_figures(&answer);
    }
    hone_text_answer_free(&answer);
    return rc;
}

static hone_rc run_generate(cli *c, hone_err *err) {
    cli_request q = {0};
    hone_text_options o = hone_text_defaults();
    hone_text *m = NULL;
    cli_signals on = cli_catch_signals(false);
    hone_rc rc = cli_request_read(c, &q, err);
    if (!rc) rc = set_prompt(c, &q, err);
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    o.exact = cli_given(c, "exact");
    o.activations = cli_text(c, "activations", NULL);
    o.context = (int64_t)cli_count(c, "context", 0);
    o.cache = cli_text(c, "cache-type", NULL);
    o.compiler = cli_text(c, "cc", NULL);
    o.target = cli_text(c, "target", NULL);
    o.no_parity = cli_given(c, "no-parity");
    o.progress = (hone_progress){tell, c};
    o.stop = q.r.stop = on.stop;
    if (!rc) rc = hone_text_open(c->arg[0], &o, &m, err);
    if (!rc) rc = cli_request_draft(c, &o, &q, err);
    if (!rc) rc = cli_given(c, "prompts") ? cli_generate_many(c, m, &q, err) : answer_one(c, m, &q, err);
    cli_request_free(&q);
    hone_text_close(m);
    return rc;
}

static const cli_option options[] = {
    {"prompt", 'p', CLI_TEXT, "TEXT", 0, 0,
     "what the text begins with; names of control tokens (<|im_start|>) stand for them"},
    {"file", 'f', CLI_TEXT, "FILE", 0, 0, "the prompt is what a file holds; - is stdin"},
    {"max-tokens", 'n', CLI_COUNT, "N", 0, 1e9, "tokens at most (default 256); 0: until the context is full"},
    CLI_REQUEST_OPTIONS,
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
    {"stop", 0, CLI_TEXT, "TEXT", 0, 0, "the answer ends in front of this text"},
    {"logprobs", 0, CLI_COUNT, "N", 1, 1000, "with --json: the N most likely tokens at each place"},
    {"logit-bias", 0, CLI_TEXT, "TOKEN=X,...", 0, 0, "add X to a token's logit; -inf: it never comes"},
    {"beams", 0, CLI_COUNT, "N", 1, 1024,
     "the likeliest of N texts searched at once, nothing is drawn; --json has all of them"},
    {"length-penalty", 0, CLI_TEXT, "X", 0, 0,
     "beams: scores are divided by the number of tokens to the power of X (default 1)"},
    {"early-stop", 0, CLI_FLAG, NULL, 0, 0, "beams: end with the first N texts that came to an end"},
    {"prompts", 0, CLI_TEXT, "FILE", 0, 0,
     "a prompt a line; .jsonl: an object a line, with prompt or messages, and options"},
    {"out", 'o', CLI_TEXT, "FILE", 0, 0, "answers to --prompts, a line of JSON each; what is there already is kept"},
    {"ignore-eos", 0, CLI_FLAG, NULL, 0, 0, "go on behind the token that ends a text"},
    {"context", 'c', CLI_COUNT, "N", 1, 1e9,
     "tokens at most, prompt and answer together; else the model's, at most 8,192"},
    {"exact", 0, CLI_FLAG, NULL, 0, 0, "round nothing in products with packed weights (slower): --activations float"},
    {"activations", 0, CLI_CHOICE, "auto|int8|int8x2|float", 0, 0,
     "how products with packed weights take the other operand: int8, and two bytes where they matter most (auto, the "
     "default); int8; two bytes throughout; as it is"},
    {"cache-type", 0, CLI_TEXT, "T", 0, 0,
     "keys and values are kept as f32, f16, bf16 or q8; else f16, with --exact f32"},
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
    "ended, and times. The same seed and options give the same tokens.\n\n"
    "`--grammar` and `--json-schema` leave only tokens that such a text may go on with. `--draft` and `--lookup` guess "
    "tokens "
    "that are computed together; the answer does not depend on them.",
    options,
    "hone generate model.gguf --prompt \"Once upon a time\"\ta story\n"
    "hone generate model.gguf -p \"2+2=\" --temperature 0 -n 8 --json\tthe most likely tokens, with their "
    "probabilities\n"
    "hone generate model.gguf -f prompt.txt --seed 7\ta prompt from a file\n"
    "hone generate model.gguf -p \"A person:\" --json-schema person.json\tJSON of a known form\n"
    "hone generate model.gguf --prompts all.jsonl -o answers.jsonl\tmany; the same command goes on after a stop\n",
    1,
    1,
    run_generate,
};
