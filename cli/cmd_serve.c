/* cmd_serve.c — `hone serve`: models behind HTTP. */
#include "cli.h"
#include "learn.h"
#include "signals.h"

#include <hone/serve.h>

#include <signal.h>
#include <stdlib.h>

static void say_note(void *arg, const char *text) {
    (void)arg;
    fprintf(stderr, "hone: %s\n", text);
}

/* What a server that runs is told by. */
typedef struct serving {
    cli *c;
    cli_learner learner;
} serving;

static void say_ready(void *arg, const char *host, uint16_t port) {
    serving *s = arg;
    cli *c = s->c;
    cli_learn_ready(&s->learner, port);
    if (c->json) {
        cli_json j = cli_json_begin(c, true);
        cli_json_object(&j);
        cli_json_ktext(&j, "host", host);
        cli_json_kcount(&j, "port", port);
        cli_json_close(&j);
        cli_json_end(&j);
        fflush(stdout);
    } else
        fprintf(stderr, "ready: %s://%s:%u\n", cli_given(c, "tls-cert") ? "https" : "http", host, port);
}

static void say_reloaded(void *arg, const hone_err *why) {
    const cli *c = ((const serving *)arg)->c;
    if (why)
        fprintf(stderr, "hone: what was there stays in use: %s\n", why->text);
    else if (cli_given(c, "tls-cert"))
        fprintf(stderr, "read '%s' anew\n", cli_text(c, "tls-cert", ""));
}

static void say_broken(void *arg, const char *model, const hone_err *why) {
    (void)arg;
    fprintf(stderr, "hone: the model '%s' is not served: %s\n", model, why->text);
}

static hone_rc run_serve(cli *c, hone_err *err) {
    hone_serve_options o = hone_serve_defaults();
    serving s = {.c = c};
    cli_signals on = cli_catch_signals(false);
    cli_catch_lost_weights();
    signal(SIGPIPE, SIG_IGN); /* a client that goes is noticed otherwise */
    o.model = c->arg;
    o.n_model = c->n_args;
    o.host = cli_text(c, "host", NULL);
    o.port = (uint16_t)cli_count(c, "port", 8000);
    o.n_threads = (uint32_t)cli_count(c, "threads", 0);
    o.at_once = (uint32_t)cli_count(c, "at-once", 0);
    o.step_tokens = (uint32_t)cli_count(c, "step-tokens", 0);
    o.max_queue = (uint32_t)cli_count(c, "max-queue", 0);
    o.context = (int64_t)cli_count(c, "context", 0);
    o.cached_tokens = (int64_t)cli_count(c, "cached-tokens", 0);
    o.kept_tokens = (int64_t)cli_count(c, "kept-tokens", 0);
    o.cache = cli_text(c, "cache-type", NULL);
    o.exact = cli_given(c, "exact");
    o.no_parity = cli_given(c, "no-parity");
    o.batch_delay_s = cli_seconds(c, "batch-delay", 0);
    o.max_batch = (uint32_t)cli_count(c, "max-batch", 0);
    o.key_file = cli_text(c, "api-key-file", NULL);
    o.log = cli_text(c, "log", NULL);
    o.max_body_b = (size_t)cli_count(c, "max-body", 0) << 20;
    o.read_timeout_s = cli_seconds(c, "read-timeout", 0);
    o.idle_timeout_s = cli_seconds(c, "idle-timeout", 0);
    o.drain_s = cli_seconds(c, "drain", 0);
    o.tls_cert = cli_text(c, "tls-cert", NULL);
    o.tls_key = cli_text(c, "tls-key", NULL);
    if (o.tls_cert || o.log) o.reload = cli_catch_hangup();
    o.on_reload = say_reloaded;
    o.stop = on.stop;
    o.on_ready = say_ready;
    o.on_ready_arg = &s;
    o.on_broken = say_broken;
    o.require_all = cli_given(c, "require-all");
    o.admin = cli_given(c, "no-admin") ? "" : cli_text(c, "admin", NULL);
    o.on_note = say_note;
    o.store = cli_text(c, "store", NULL);
    o.no_traffic = cli_given(c, "no-traffic");
    hone_rc rc = cli_learn_start(c, &o, &s.learner, err);
    if (!rc) rc = hone_serve_run(&o, err);
    cli_learn_end(&s.learner);
    return rc;
}

static const cli_option options[] = {
    {"port", 'p', CLI_COUNT, "N", 0, 65535, "listen there; 0: a free port, which is printed (8000)"},
    {"host", 0, CLI_TEXT, "ADDRESS", 0, 0, "listen on this address; else on 127.0.0.1 alone"},
    {"threads", 't', CLI_COUNT, "N", 1, 1024, "threads of each model's kernels; else all processors"},
    {"at-once", 0, CLI_COUNT, "N", 1, 64, "answers that share a step of a language model at most (32)"},
    {"step-tokens", 0, CLI_COUNT, "N", 1, 1e6, "tokens of a step at most: answers first, then pieces of prompts (256)"},
    {"max-queue", 0, CLI_COUNT, "N", 1, 1e6, "requests that wait; more are answered 429 (256)"},
    {"context", 'c', CLI_COUNT, "N", 1, 1e9, "tokens of prompt and answer at most; else the model's, at most 8,192"},
    {"cached-tokens", 0, CLI_COUNT, "N", 1, 1e9,
     "tokens whose keys and values there is room for, of all requests (16 contexts)"},
    {"kept-tokens", 0, CLI_COUNT, "N", 1, 1e9,
     "of these, tokens of ended requests that stay, for prompts that begin alike (all of --cached-tokens, else 512 "
     "MiB)"},
    {"cache-type", 0, CLI_TEXT, "T", 0, 0,
     "keys and values are kept as f32, f16, bf16 or q8; else f16, with --exact f32"},
    {"exact", 0, CLI_FLAG, NULL, 0, 0, "round nothing in products with packed weights (slower)"},
    {"no-parity", 0, CLI_FLAG, NULL, 0, 0, "compile without checking kernels against the interpreter"},
    {"batch-delay", 0, CLI_SECONDS, "TIME", 0, 0,
     "models of tensors: a request waits so long for others to share its run; else none is shared"},
    {"max-batch", 0, CLI_COUNT, "N", 1, 1e6, "rows of such a run at most (32)"},
    {"api-key-file", 0, CLI_TEXT, "FILE", 0, 0, "a key a line, `KEY [NAME [ANSWERS-AT-ONCE]]`: calls need one of them"},
    {"admin", 0, CLI_TEXT, "PATH", 0, 0,
     "the socket for `hone deploy` and other admin calls; else serve-PORT.sock in $XDG_RUNTIME_DIR/hone or the cache"},
    {"store", 0, CLI_TEXT, "FILE", 0, 0,
     "of deployments and what is asked for; else $XDG_DATA_HOME/hone/rollouts.db, ~/.local/share/hone/rollouts.db"},
    {"no-admin", 0, CLI_FLAG, NULL, 0, 0, "no such socket"},
    {"tls-cert", 0, CLI_TEXT, "FILE", 0, 0, "HTTPS alone, with this certificate and its chain (PEM)"},
    {"tls-key", 0, CLI_TEXT, "FILE", 0, 0, "its private key (PEM, without a passphrase)"},
    {"log", 0, CLI_TEXT, "FILE", 0, 0, "a line of JSON for each call; - is stderr"},
    {"max-body", 0, CLI_COUNT, "MIB", 1, 4096, "a request's body at most (32)"},
    {"read-timeout", 0, CLI_SECONDS, "TIME", 0, 0, "a request that is not whole by then ends its connection (30s)"},
    {"idle-timeout", 0, CLI_SECONDS, "TIME", 0, 0, "a connection without a request ends (300s)"},
    {"require-all", 0, CLI_FLAG, NULL, 0, 0, "end where a model cannot be loaded; else the others are served"},
    {"no-traffic", 0, CLI_FLAG, NULL, 0, 0, "do not count sizes and times of requests there"},
    {"learn", 0, CLI_FLAG, NULL, 0, 0,
     "tune models in idle time for what they are asked for, and put what is proven on trial"},
    {"learn-idle", 0, CLI_SECONDS, "TIME", 0, 0, "idle is who was asked nothing for so long (60s)"},
    {"learn-budget", 0, CLI_SECONDS, "TIME", 0, 0, "tune a model for so long at most (300s)"},
    {"learn-every", 0, CLI_SECONDS, "TIME", 0, 0, "and again after so long (24h)"},
    {"drain", 0, CLI_SECONDS, "TIME", 0, 0, "when the server is told to end, answers under way may take so long (30s)"},
    {0},
};

const cli_command cli_cmd_serve = {
    "serve",
    "Models",
    "MODEL...",
    "answer requests for models over HTTP",
    "Serves language models (GGUF files, folders) by OpenAI's calls, and other models (ONNX, compiled libraries) by "
    "the Open Inference Protocol. Answers of several clients share the steps of a language model; each is the same as "
    "alone. A model is named for its file; NAME=PATH gives another name. `/ready` answers 200 when all models are "
    "loaded, `/metrics` is for Prometheus. The first SIGTERM or Ctrl-C ends the server when the answers under way are "
    "out, the second at once. SIGHUP reads the certificate anew and opens the log again; connections go on.",
    options,
    "hone serve model.gguf --port 8000\tOpenAI's calls at http://127.0.0.1:8000/v1\n"
    "hone serve model.gguf --tls-cert cert.pem --tls-key key.pem\tHTTPS alone\n"
    "hone serve chat=model.gguf resnet.onnx --batch-delay 2ms\ttwo models\n"
    "hone serve resnet.onnx --learn\tit tunes itself on what it is asked for\n",
    1,
    64,
    run_serve,
};
