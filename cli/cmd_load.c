/* cmd_load.c — `hone load`: how a server of models does under load, alone or beside another one. */
#include "cli.h"
#include "signals.h"

#include <hone/load.h>
#include <hone/report.h>

#include <signal.h>
#include <stdlib.h>

static void put_interval(cli_json *j, const char *key, const hone_interval *x) {
    cli_json_key(j, key);
    cli_json_array(j);
    cli_json_number(j, x->lo);
    cli_json_number(j, x->mid);
    cli_json_number(j, x->hi);
    cli_json_close(j);
}

static void put_numbers(cli_json *j, const char *key, const double *x, size_t n) {
    cli_json_key(j, key);
    cli_json_array(j);
    for (size_t i = 0; i < n; i++) cli_json_number(j, x[i]);
    cli_json_close(j);
}

static void put_times(cli_json *j, const char *key, const hone_load_times *t) {
    cli_json_key(j, key);
    cli_json_object(j);
    cli_json_knumber(j, "p50", t->p50);
    cli_json_knumber(j, "p95", t->p95);
    cli_json_knumber(j, "p99", t->p99);
    put_interval(j, "p50_range", &t->p50_range);
    put_interval(j, "p95_range", &t->p95_range);
    put_interval(j, "p99_range", &t->p99_range);
    put_numbers(j, "quantiles", t->quantile, sizeof t->quantile / sizeof *t->quantile);
    cli_json_close(j);
}

static void put_side(cli_json *j, const char *url, const hone_load_side *s, bool tensors) {
    cli_json_object(j);
    cli_json_ktext(j, "url", url);
    cli_json_kcount(j, "requests", s->n);
    cli_json_kcount(j, "failed", s->n_failed);
    if (!tensors) cli_json_kcount(j, "tokens", s->n_tokens);
    put_interval(j, tensors ? "requests_per_s" : "tokens_per_s", &s->tokens_per_s);
    put_numbers(j, "rounds", s->rate, s->n_rounds);
    if (!tensors) put_times(j, "first_s", &s->first_s);
    if (!tensors) put_times(j, "between_s", &s->between_s);
    put_times(j, "whole_s", &s->whole_s);
    cli_json_close(j);
}

static void cell(cli_table *t, const hone_interval *x) {
    char mid[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    cli_table_cell(t, "%s (%s to %s)", cli_text_seconds(x->mid, mid), cli_text_seconds(x->lo, lo),
                   cli_text_seconds(x->hi, hi));
}

static void row(cli_table *t, const char *name, const hone_load_times *x) {
    cli_table_cell(t, "%s", name);
    cell(t, &x->p50_range);
    cell(t, &x->p95_range);
    cell(t, &x->p99_range);
}

static void put_text(const cli *c, const char *url, const hone_load_side *s, bool tensors) {
    cli_table *t = cli_table_new("lrrr");
    printf("%s: %zu requests, %zu failed, %.4g %s a second (%.4g to %.4g)\n", url, s->n, s->n_failed,
           s->tokens_per_s.mid, tensors ? "of them" : "tokens", s->tokens_per_s.lo, s->tokens_per_s.hi);
    cli_table_head(t, "");
    cli_table_head(t, "p50");
    cli_table_head(t, "p95");
    cli_table_head(t, "p99");
    if (!tensors) row(t, "first token", &s->first_s);
    if (!tensors) row(t, "between tokens", &s->between_s);
    row(t, "whole answer", &s->whole_s);
    cli_table_print(c, t, stdout, 0);
}

static void put_json(cli_json *j, const hone_load_options *o, const hone_load_result *got) {
    cli_json_object(j);
    cli_json_key(j, "servers");
    cli_json_array(j);
    put_side(j, o->url, &got->mine, o->infer);
    if (o->against) put_side(j, o->against, &got->peer, o->infer);
    cli_json_close(j);
    put_interval(j, "ratio", &got->ratio);
    cli_json_close(j);
    cli_json_end(j);
}

static hone_rc write_page(const hone_load_options *o, const hone_load_result *got, const char *path, hone_err *err) {
    char *json = NULL, first[CLI_TEXT_N];
    size_t n = 0;
    FILE *f = open_memstream(&json, &n);
    if (!f) return cli_fail(err, HONE_E_NOMEM, "out of memory");
    cli_json j = cli_json_to(f, true);
    put_json(&j, o, got);
    if (fclose(f)) return free(json), cli_fail(err, HONE_E_NOMEM, "out of memory");
    char *sentence =
        cli_format("%zu requests, %zu failed: %.4g %s a second, %s after %s (median)", got->mine.n, got->mine.n_failed,
                   got->mine.tokens_per_s.mid, o->infer ? "of them" : "tokens", o->infer ? "answered" : "the first",
                   cli_text_seconds(o->infer ? got->mine.whole_s.p50 : got->mine.first_s.p50, first));
    hone_rc rc = hone_report_load(o->url, sentence, json, path, NULL, err);
    free(sentence);
    free(json);
    return rc;
}

static void on_round(void *arg, const hone_event *e) {
    (void)arg;
    if (e->done)
        fprintf(stderr, "round %llu of %llu\n", (unsigned long long)e->done, (unsigned long long)e->total);
    else
        fputs("warmed up\n", stderr);
}

/* The plans exclude each other. */
static hone_rc check_plan(const cli *c, hone_err *err) {
    static const char *const plan[] = {"single", "clients", "per-minute", "trace"};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
        if (!cli_given(c, plan[i])) continue;
        if (first) return cli_fail(err, HONE_E_USAGE, "--%s and --%s are two plans; give one", first, plan[i]);
        first = plan[i];
    }
    if (cli_given(c, "burst") && !cli_given(c, "per-minute"))
        return cli_fail(err, HONE_E_USAGE, "--burst needs --per-minute, the rate that bursts keep");
    return HONE_OK;
}

static hone_rc run_load(cli *c, hone_err *err) {
    hone_rc rc = check_plan(c, err);
    if (rc) return rc;
    hone_load_options o = hone_load_defaults();
    hone_load_result got;
    cli_signals on = cli_catch_signals(false);
    signal(SIGPIPE, SIG_IGN); /* a server that goes is told otherwise */
    o.url = c->arg[0];
    o.against = cli_text(c, "against", NULL);
    o.model = cli_text(c, "model", NULL);
    o.key = cli_text(c, "key", NULL);
    o.n = (size_t)cli_count(c, "requests", 0);
    o.rounds = (uint32_t)cli_count(c, "rounds", 0);
    o.rate = (double)cli_count(c, "per-minute", 0) / 60;
    o.burst = (uint32_t)cli_count(c, "burst", 0);
    o.n_clients = (uint32_t)cli_count(c, "clients", 0);
    o.prompt_words = (uint32_t)cli_count(c, "prompt", 0);
    o.tokens = (uint32_t)cli_count(c, "tokens", 0);
    o.seed = cli_count(c, "seed", 0);
    o.stop = on.stop;
    o.ca = cli_text(c, "ca", NULL);
    o.insecure = cli_given(c, "insecure");
    o.infer = cli_text(c, "infer", NULL);
    o.sizes = cli_text(c, "sizes", NULL);
    o.trace = cli_text(c, "trace", NULL);
    o.save_trace = cli_text(c, "save-trace", NULL);
    if (cli_width(stderr)) o.progress = (hone_progress){on_round, c};
    rc = hone_load_run(&o, &got, err);
    if (rc) return rc;
    const char *page = cli_text(c, "report", NULL);
    if (page) rc = write_page(&o, &got, page, err);
    if (rc) return rc;
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        put_json(&j, &o, &got);
        return HONE_OK;
    }
    put_text(c, o.url, &got.mine, o.infer);
    if (!o.against) return HONE_OK;
    put_text(c, o.against, &got.peer, o.infer);
    printf("%s a second, first / second: %.4g (%.4g to %.4g)\n", o.infer ? "requests" : "tokens", got.ratio.mid,
           got.ratio.lo, got.ratio.hi);
    return HONE_OK;
}

static const cli_option options[] = {
    {"requests", 'n', CLI_COUNT, "N", 1, 1e7, "requests of a round (32)"},
    {"rounds", 0, CLI_COUNT, "N", 1, 64, "rounds that count, behind one that warms up (3)"},
    {"single", 0, CLI_FLAG, NULL, 0, 0, "single-shot: one request after another (when no other plan is given)"},
    {"clients", 0, CLI_COUNT, "N", 1, 4096, "clients, each of which asks again when it has its answer (1)"},
    {"per-minute", 0, CLI_COUNT, "N", 1, 1e7, "instead: requests a minute at random times, however many are under way"},
    {"burst", 0, CLI_COUNT, "N", 1, 4096, "so many of them come at once (1)"},
    {"trace", 0, CLI_TEXT, "FILE", 0, 0,
     "instead: recorded times and lengths, a line of JSON for each request; the log of `hone serve` is such a file"},
    {"save-trace", 0, CLI_TEXT, "FILE", 0, 0, "write the first round that counts as such a file"},
    {"report", 0, CLI_TEXT, "FILE", 0, 0, "also write a page with pictures: latencies, tokens per second"},
    {"infer", 0, CLI_TEXT, "MODEL", 0, 0,
     "a model of tensors (Open Inference Protocol) in place of completions, with random inputs"},
    {"sizes", 0, CLI_TEXT, "N,...", 0, 0,
     "of its symbolic dimensions, in the order that each input has them; the last is for the rest (1)"},
    {"prompt", 0, CLI_COUNT, "N", 1, 1e6, "words of a prompt (64)"},
    {"tokens", 0, CLI_COUNT, "N", 1, 1e6, "tokens of an answer (64)"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "of prompts and times (0)"},
    {"against", 0, CLI_TEXT, "URL", 0, 0, "a second server, in turns with the first, with the same requests"},
    {"model", 0, CLI_TEXT, "NAME", 0, 0, "the model's name, where the server has several"},
    {"ca", 0, CLI_TEXT, "FILE", 0, 0, "https: trust these certificates (PEM); else those of the system"},
    {"insecure", 0, CLI_FLAG, NULL, 0, 0, "https: trust any certificate"},
    {"key", 0, CLI_TEXT, "KEY", 0, 0, "an API key"},
    {0},
};

const cli_command cli_cmd_load = {
    "load",
    "Models",
    "URL",
    "time a server of models under load, alone or beside another one",
    "Sends streams of /v1/completions to http://HOST:PORT or https://HOST:PORT and times them: to the first token, "
    "between pieces of text, "
    "to the "
    "end. Clients ask one after the other, or requests come at random times (Poisson) at a rate, in bursts if wanted; "
    "then "
    "times count from when a request was due. Prompts and times follow from the seed. Rates have the 95 % interval of "
    "the "
    "median over the rounds, percentiles that of order statistics. Two servers get the same requests, in turns. "
    "With --infer, requests are runs of a model of tensors, whose inputs are random numbers of the types and shapes "
    "that "
    "the server tells.",
    options,
    "hone load http://127.0.0.1:8000 --clients 16\tsixteen clients\n"
    "hone load http://127.0.0.1:8000 --per-minute 240 --burst 32 --json\tbursts, for scripts\n"
    "hone load http://127.0.0.1:8000 --infer resnet --sizes 1,224 --clients 16\ta model of tensors\n",
    1,
    1,
    run_load,
};
