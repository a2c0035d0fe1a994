/* cmd_compile.c — `hone compile`: a model becomes a native library. */
#include "model_io.h"
#include "signals.h"

#include <stdlib.h>
#include <string.h>

static void put_stages(FILE *f, const hone_compile_result *r) {
    fprintf(f, "stages    import %.2f s, passes %.2f s, kernels %.2f s, compiler %.2f s, parity %.2f s\n", r->import_s,
            r->passes_s, r->emit_s, r->compiler_s, r->parity_s);
}

static void put_json(cli *c, const hone_compile_result *r, const char *output, const cli_precision *precision,
                     const cli_precision_report *report) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "output", output);
    cli_json_kcount(&j, "nodes", r->n_nodes);
    cli_json_kcount(&j, "kernels", r->n_kernels);
    cli_json_kcount(&j, "distinct", r->n_distinct);
    cli_json_kcount(&j, "fallbacks", r->n_fallback);
    cli_json_kcount(&j, "winners", r->n_winners);
    cli_json_kbool(&j, "cached", r->cached);
    cli_json_kcount(&j, "arena_b", r->arena_b);
    cli_json_kcount(&j, "arena_lower_bound_b", r->lower_bound_b);
    cli_json_kcount(&j, "weights_b", r->weights_b);
    cli_json_kcount(&j, "code_b", r->code_b);
    cli_json_knumber(&j, "time_s", r->time_s);
    cli_json_key(&j, "stages");
    cli_json_object(&j);
    cli_json_knumber(&j, "import_s", r->import_s);
    cli_json_knumber(&j, "passes_s", r->passes_s);
    cli_json_knumber(&j, "kernels_s", r->emit_s);
    cli_json_knumber(&j, "compiler_s", r->compiler_s);
    cli_json_knumber(&j, "parity_s", r->parity_s);
    cli_json_close(&j);
    char *split = cli_split_line(r->text);
    cli_json_ktext(&j, "split", split);
    free(split);
    cli_mixed_json(&j, precision);
    if (report->n) cli_precision_json(&j, report);
    cli_json_ktext(&j, "text", r->text);
    cli_json_end(&j);
}

/* The name without folders and ending, as the library does it. */
static char *default_output(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    return cli_format("%.*s", dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
}

/* As the library takes names: with the ending of what is made, or without. */
static char *without_ending(const char *name, const char *ending) {
    size_t n = strlen(name), k = strlen(ending);
    bool has = n > k && !strcmp(name + n - k, ending) && name[n - k - 1] != '/';
    return cli_format("%.*s", (int)(has ? n - k : n), name);
}

/* Says line by line what hone does not support. */
static hone_rc explain_refusal(const cli_compiling *x, const char *path, hone_rc rc) {
    hone_import_options options = {
        .size = sizeof(hone_import_options), .symbol = x->options.symbol, .n_symbol = x->options.n_symbol};
    char *report = NULL;
    hone_graph *g = NULL;
    if (rc != HONE_E_UNSUPPORTED) return rc;
    if (hone_import_model(path, &options, &g, &report, NULL) == HONE_OK) hone_graph_free(g);
    if (report && *report) fputs(report, stderr);
    hone_free(report);
    return rc;
}

static hone_rc run_compile(cli *c, hone_err *err) {
    cli_compiling x;
    hone_compile_result r = {0};
    const char *path = c->arg[0];
    bool only_c = !strcmp(cli_text(c, "emit", "so"), "c");
    char *output = cli_given(c, "output") ? without_ending(cli_text(c, "output", ""), only_c ? ".c" : ".so")
                                          : default_output(path);
    hone_rc rc = cli_precision_check(c, err);
    if (rc) return free(output), rc;
    cli_compiling_set(c, &x);
    x.options.output = output;
    x.options.emit = only_c ? HONE_EMIT_C : HONE_EMIT_SO;
    x.options.embed_weights = cli_given(c, "embed-weights");
    x.options.stop = cli_catch_signals(false).stop;
    cli_precision precision = {0};
    cli_precision_report report = {0};
    rc = cli_precision_choose(c, path, &x, &precision, err);
    if (!rc) rc = cli_precision_compile(path, &precision, &x.options, &r, err);
    if (!rc && precision.all.n && !only_c) rc = cli_precision_judge(c, path, output, &precision, &report, err);
    cli_compiling_done(&x);
    if (rc) {
        explain_refusal(&x, path, rc);
    } else if (c->json) {
        put_json(c, &r, output, &precision, &report);
    } else {
        printf("%s.%s\n", output, x.options.emit == HONE_EMIT_C ? "c" : "so");
        fputs(r.text, stdout);
        cli_mixed_put(c, &precision);
        if (report.n) cli_precision_put(c, &report);
        if (cli_given(c, "stats")) put_stages(stdout, &r);
        char t[CLI_TEXT_N];
        printf("time      %s%s\n", cli_text_seconds(r.time_s, t), r.cached ? ", compiled before" : "");
    }
    hone_free(r.text);
    cli_compiling_free(&x);
    cli_precision_report_free(&report);
    cli_precision_free(&precision);
    free(output);
    return rc;
}

static const cli_option options[] = {
    {"output", 'o', CLI_TEXT, "DIR/NAME", 0, 0, "where the files go: DIR/NAME.so, .h, .weights, .manifest"},
    {"emit", 0, CLI_CHOICE, "so|c", 0, 0, "a shared library, or one C file and its header"},
    {"embed-weights", 0, CLI_FLAG, NULL, 0, 0, "weights inside the library instead of a file beside it"},
    CLI_COMPILE_OPTIONS,
    CLI_PRECISION_OPTIONS,
    CLI_PRECISION_KEY_OPTION,
    CLI_PRECISION_LATENCY_OPTION,
    CLI_SPLIT_OPTION,
    CLI_STATE_OPTION,
    CLI_THREADS("threads that it is to run on: which winners are taken; else one per processor"),
    {"stats", 0, CLI_FLAG, NULL, 0, 0, "also how long each stage took"},
    {0},
};

const cli_command cli_cmd_compile = {
    "compile",
    "Models",
    "MODEL",
    "compile a model to a native library",
    "Makes a shared library that needs only libc and libm, its header, its weights and a manifest. Every kernel is "
    "held "
    "against the reference interpreter; one that fails is replaced by its reference version and reported. MODEL is "
    "an ONNX file or a graph as `hone ir` prints it: the content decides which.\n\n"
    "Symbolic sizes stay symbolic: one library serves them all. `--symbol` fixes (`seq=128`) or bounds (`batch=1:64`) "
    "them; bounded ones let all memory be reserved when an instance is created.\n\n"
    "What is not supported is refused, each node on a line of stderr with its reason (exit status 14).",
    options,
    "hone compile resnet50.onnx -o build/resnet50\tbuild/resnet50.so and the files beside it\n"
    "hone compile bert.onnx --symbol batch=1:8,seq=1:512\tbounded sizes: no allocation in a run\n"
    "hone compile mlp.onnx --emit=c\tone C file\n",
    1,
    1,
    run_compile,
};
