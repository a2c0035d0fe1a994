/* cmd_perplexity.c — `hone perplexity`: how well a language model predicts a text. */
#include "cli.h"
#include "signals.h"
#include "text_file.h"

#include <hone/text.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Windows one behind the other, each on its own; the mean of minus the log-probabilities of all tokens but each
 * window's first, with its standard error. */
typedef struct loss {
    double sum, squares;
    size_t n;
} loss;

static hone_rc score(hone_text *m, const int32_t *id, size_t n, size_t window, const volatile int *stop, loss *out,
                     hone_err *err) {
    double *logprob = cli_alloc(window + 1, sizeof *logprob);
    hone_rc rc = HONE_OK;
    for (size_t at = 0; !rc && at + 1 < n; at += window) {
        size_t k = n - at < window ? n - at : window;
        rc = hone_text_score(m, id + at, k, logprob, stop, err);
        for (size_t i = 0; !rc && i + 1 < k; i++) {
            out->sum -= logprob[i];
            out->squares += logprob[i] * logprob[i];
            out->n++;
        }
    }
    free(logprob);
    return rc;
}

static void report(cli *c, const loss *x) {
    double mean = x->sum / (double)x->n, variance = x->squares / (double)x->n - mean * mean;
    double error = sqrt(variance / (double)x->n), low = exp(mean - 1.96 * error), high = exp(mean + 1.96 * error);
    if (!c->json) {
        printf("perplexity %.4f (%.4f .. %.4f), %zu tokens\n", exp(mean), low, high, x->n);
        return;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_knumber(&j, "perplexity", exp(mean));
    cli_json_knumber(&j, "low", low);
    cli_json_knumber(&j, "high", high);
    cli_json_kcount(&j, "tokens", x->n);
    cli_json_end(&j);
}

static hone_rc run_perplexity(cli *c, hone_err *err) {
    hone_text_options o = hone_text_defaults();
    hone_text *m = NULL;
    char *text = NULL;
    int32_t *id = NULL;
    size_t n = 0, n_id = 0, window = (size_t)cli_count(c, "window", 512);
    loss x = {0};
    cli_signals on = cli_catch_signals(false);
    hone_rc rc = cli_read_bytes(c->arg[1], &text, &n, err);
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    o.exact = cli_given(c, "exact");
    o.activations = cli_text(c, "activations", NULL);
    o.context = (int64_t)window;
    o.cache = cli_text(c, "cache-type", NULL);
    o.stop = on.stop;
    if (!rc) rc = hone_text_open(c->arg[0], &o, &m, err);
    if (!rc) rc = hone_text_encode(m, text, n, true, false, &id, &n_id, err);
    if (!rc) rc = score(m, id, n_id, window, o.stop, &x, err);
    if (!rc && !x.n) rc = cli_fail(err, HONE_E_EMPTY, "'%s' is a single token; a longer text is needed", c->arg[1]);
    if (!rc) report(c, &x);
    hone_free(id);
    hone_text_close(m);
    free(text);
    return rc;
}

static const cli_option options[] = {
    {"window", 'w', CLI_COUNT, "N", 2, 1e9, "tokens in a window (default 512); each window begins without a past"},
    {"cache-type", 0, CLI_TEXT, "T", 0, 0,
     "keys and values are kept as f32, f16, bf16 or q8; else f16, with --exact f32"},
    {"threads", 0, CLI_COUNT, "N", 1, 1024, "threads to run on; else one per processor"},
    {"exact", 0, CLI_FLAG, NULL, 0, 0, "round nothing in products with packed weights (slower): --activations float"},
    {"activations", 0, CLI_CHOICE, "auto|int8|int8x2|float", 0, 0,
     "how products with packed weights take the other operand: int8, and two bytes where they matter most (auto, the "
     "default); int8; two bytes throughout; as it is"},
    {0},
};

const cli_command cli_cmd_perplexity = {
    "perplexity",
    "Models",
    "MODEL TEXT.txt",
    "how well a language model predicts a text",
    "The exponential of the mean of minus the natural logarithm of each token's probability behind those in front of "
    "it in its "
    "window, with a 95 % interval (tokens taken as independent). A lower number is better; compare numbers of the same "
    "text, window "
    "and tokenizer alone.",
    options,
    "hone perplexity model.gguf wiki.txt\tby windows of 512 tokens\n",
    2,
    2,
    run_perplexity,
};
