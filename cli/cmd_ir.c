/* cmd_ir.c — `hone ir`: a model as the text of the graph IR, as imported or after a pass. */
#include "model_io.h"
#include "text_file.h"

#include <hone/pass.h>
#include <hone/program.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES_MAX = 64 };

static void list_passes(cli *c) {
    hone_pass p;
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        cli_json_array(&j);
        for (size_t i = 0; hone_pass_at(i, &p); i++) {
            cli_json_object(&j);
            cli_json_ktext(&j, "name", p.name);
            cli_json_ktext(&j, "summary", p.summary);
            cli_json_close(&j);
        }
        cli_json_end(&j);
        return;
    }
    cli_table *t = cli_table_new("lx");
    cli_table_head(t, "PASS");
    cli_table_head(t, "WHAT IT DOES");
    for (size_t i = 0; hone_pass_at(i, &p); i++) {
        cli_table_cell(t, "%s", p.name);
        cli_table_cell(t, "%s", p.summary);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

/* --- statistics ------------------------------------------------------------------------------------------------- */

typedef struct passes {
    hone_pass_stat stat[PASSES_MAX];
    size_t n;
} passes;

static void put_stats_json(cli *c, const passes *p) {
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 0; i < p->n; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "pass", p->stat[i].name);
        cli_json_kcount(&j, "rewrites", p->stat[i].n_rewrites);
        cli_json_kcount(&j, "nodes", p->stat[i].n_nodes);
        cli_json_knumber(&j, "time_s", p->stat[i].time_s);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void put_stats(cli *c, const passes *p) {
    char buf[CLI_TEXT_N];
    if (c->json) {
        put_stats_json(c, p);
        return;
    }
    cli_table *t = cli_table_new("lrrr");
    static const char *const head[] = {"PASS", "REWRITES", "NODES", "TIME"};
    for (size_t i = 0; i < 4; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; i < p->n; i++) {
        cli_table_cell(t, "%s", p->stat[i].name);
        cli_table_cell(t, "%llu", (unsigned long long)p->stat[i].n_rewrites);
        cli_table_cell(t, "%llu", (unsigned long long)p->stat[i].n_nodes);
        cli_table_cell(t, "%s", cli_text_seconds(p->stat[i].time_s, buf));
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

/* --- the graph -------------------------------------------------------------------------------------------------- */

static void put_text_json(cli *c, const char *text) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "ir", text);
    cli_json_end(&j);
}

static hone_rc put_graph(cli *c, const hone_graph *g, hone_err *err) {
    const char *weights = cli_text(c, "weights", NULL), *output = cli_text(c, "output", NULL);
    char *text = NULL;
    if (!output && cli_given(c, "stats")) return HONE_OK;
    hone_rc rc = weights ? hone_graph_print_weights(g, weights, &text, err) : hone_graph_print(g, &text, err);
    if (!rc && output)
        rc = cli_write_text(output, text, err);
    else if (!rc && c->json)
        put_text_json(c, text);
    else if (!rc)
        fputs(text, stdout);
    hone_free(text);
    return rc;
}

/* --- the program ------------------------------------------------------------------------------------------------ */

static void put_program_json(cli *c, const char *text, const hone_program_counts *n) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "values", n->n_values);
    cli_json_kcount(&j, "steps", n->n_steps);
    cli_json_kcount(&j, "launches", n->n_launches);
    cli_json_kcount(&j, "copies", n->n_copies);
    cli_json_kcount(&j, "arena_b", n->arena_b);
    cli_json_ktext(&j, "program", text);
    cli_json_end(&j);
}

static hone_rc make_program(const char *path, const cli_compiling *x, char **text, hone_program_counts *n,
                            hone_err *err) {
    hone_graph *g = NULL;
    if (!cli_is_model(path)) return hone_program_read(path, text, n, err);
    hone_rc rc = cli_graph_open(path, x, &g, err);
    if (!rc) rc = hone_program_print(g, path, &x->options, text, n, err);
    hone_graph_free(g);
    return rc;
}

static hone_rc put_program(cli *c, const cli_compiling *x, hone_err *err) {
    const char *output = cli_text(c, "output", NULL);
    char *text = NULL;
    hone_program_counts n;
    hone_rc rc = make_program(c->arg[0], x, &text, &n, err);
    if (rc) return rc;
    if (output)
        rc = cli_write_text(output, text, err);
    else if (c->json)
        put_program_json(c, text, &n);
    else
        fputs(text, stdout);
    hone_free(text);
    return rc;
}

/* --- the nests -------------------------------------------------------------------------------------------------- */

typedef struct nests {
    const char *kernel; /* this one alone */
    uint32_t n;
    FILE *to;
    cli_json j;
    bool json;
} nests;

static hone_rc put_nest(void *ctx, const hone_program_nest *x, hone_err *err) {
    nests *p = ctx;
    (void)err;
    if (p->kernel && strcmp(p->kernel, x->kernel) != 0) return HONE_OK;
    p->n++;
    if (p->json) {
        cli_json_object(&p->j);
        cli_json_ktext(&p->j, "kernel", x->kernel);
        cli_json_ktext(&p->j, "kind", x->kind);
        if (x->schedule) cli_json_ktext(&p->j, "schedule", x->schedule);
        cli_json_ktext(&p->j, x->text ? "nest" : "why_none", x->text ? x->text : x->why);
        cli_json_close(&p->j);
        return HONE_OK;
    }
    fprintf(p->to, "%s# %s, %s", p->n > 1 ? "\n" : "", x->kernel, x->kind);
    if (x->schedule) fprintf(p->to, ", schedule %s", x->schedule);
    fprintf(p->to, x->text ? "\n%s" : "\n# no nest: %s\n", x->text ? x->text : x->why);
    return HONE_OK;
}

static hone_rc put_nests(cli *c, const cli_compiling *x, hone_err *err) {
    const char *output = cli_text(c, "output", NULL);
    nests p = {.kernel = cli_text(c, "kernel", NULL), .to = stdout, .json = c->json && !output};
    hone_graph *g = NULL;
    hone_rc rc = cli_graph_open(c->arg[0], x, &g, err);
    if (!rc && output && !(p.to = fopen(output, "w")))
        rc = cli_fail(err, HONE_E_IO, "cannot write '%s': %s", output, strerror(errno));
    if (!rc && p.json) {
        p.j = cli_json_begin(c, false);
        cli_json_array(&p.j);
    }
    if (!rc) rc = hone_program_nests(g, c->arg[0], &x->options, cli_given(c, "target"), put_nest, &p, err);
    if (!rc && p.json) cli_json_end(&p.j);
    if (!rc && p.kernel && !p.n)
        rc = cli_fail(err, HONE_E_INPUT, "there is no kernel '%s'; without --kernel all are printed", p.kernel);
    if (p.to && p.to != stdout && fclose(p.to) && !rc)
        rc = cli_fail(err, HONE_E_IO, "cannot write '%s': %s", output, strerror(errno));
    hone_graph_free(g);
    return rc;
}

static hone_rc run_ir(cli *c, hone_err *err) {
    cli_compiling x;
    hone_graph *g = NULL;
    passes p = {.n = 0};
    if (cli_given(c, "list")) return list_passes(c), HONE_OK;
    if (!c->n_args) return cli_fail(err, HONE_E_USAGE, "name a model, or ask for --list");
    const char *after = cli_text(c, "after", NULL);
    const hone_pass_options how = {.size = sizeof how,
                                   .relaxed = cli_given(c, "relaxed"),
                                   .bytes = cli_given(c, "bytes"),
                                   .tolerance = cli_tolerance(c)};
    cli_compiling_set(c, &x);
    if (cli_given(c, "program") || cli_given(c, "nest")) {
        hone_rc made = cli_given(c, "nest") ? put_nests(c, &x, err) : put_program(c, &x, err);
        cli_compiling_free(&x);
        return made;
    }
    hone_rc rc = cli_graph_open(c->arg[0], &x, &g, err);
    if (!rc && (after || cli_given(c, "all")))
        rc = hone_graph_run_passes(g, after, &how, p.stat, PASSES_MAX, &p.n, err);
    if (!rc) rc = put_graph(c, g, err);
    if (!rc && cli_given(c, "stats")) put_stats(c, &p);
    hone_graph_free(g);
    cli_compiling_free(&x);
    return rc;
}

static const cli_option options[] = {
    {"after", 0, CLI_TEXT, "PASS", 0, 0, "run the passes up to this one"},
    {"all", 0, CLI_FLAG, NULL, 0, 0, "run all passes"},
    {"relaxed", 0, CLI_FLAG, NULL, 0, 0, "allow rewrites that change rounding"},
    CLI_TOLERANCE_OPTION,
    {"bytes", 0, CLI_FLAG, NULL, 0, 0, "for machines that multiply bytes (x86-64-v4-vnni)"},
    {"symbol", 's', CLI_TEXT, "NAME=RANGE,...", 0, 0, "fix or bound symbolic sizes: batch=1:64,seq=128"},
    {"stats", 0, CLI_FLAG, NULL, 0, 0, "what each pass did, instead of the graph (which -o still writes)"},
    {"program", 0, CLI_FLAG, NULL, 0, 0, "the steps of a run instead of the graph, verified; of a file PROGRAM, too"},
    {"nest", 0, CLI_FLAG, NULL, 0, 0,
     "the kernels' loop nests instead of the graph: as lowered; with --target scheduled"},
    {"kernel", 'k', CLI_TEXT, "NAME", 0, 0, "with --nest: this kernel alone"},
    {"target", 't', CLI_TEXT, "T", 0, 0, "with --program and --nest: whose kernels; else native"},
    CLI_SPLIT_OPTION, /* with --program, as the next */
    CLI_STATE_OPTION,
    {"weights", 0, CLI_TEXT, "FILE", 0, 0, "constants of more than 256 elements go to this file"},
    {"output", 'o', CLI_TEXT, "FILE", 0, 0, "write the graph, or the program, there"},
    {"list", 0, CLI_FLAG, NULL, 0, 0, "list the passes, in the order they run"},
    {0},
};

const cli_command cli_cmd_ir = {
    "ir",
    "Models",
    "[MODEL|PROGRAM]",
    "print a model as text, as imported, after a pass or as a program",
    "Prints the graph in the form that docs/ir.md describes. What is printed is read back by this and by every other "
    "command that takes a model, so a pass can be looked at, changed by hand, and processed further.\n\n"
    "With `--weights` the file of constants must lie beside the text, which names it.\n\n"
    "With `--program` the graph is fused and lowered to its program (docs/program.md): what the host does in a run, "
    "and "
    "where every value lies. A file that is no model is read as the text of a program and verified.\n\n"
    "With `--nest` the loops of every kernel are printed (docs/loop-nests.md), as they are lowered, or as a target's "
    "default "
    "schedules make them.",
    options,
    "hone ir model.onnx\tas imported\n"
    "hone ir model.onnx --after=simplify\tafter the passes up to simplify\n"
    "hone ir model.onnx --all --stats\twhat each pass did\n"
    "hone ir model.onnx --weights m.weights -o m.ir\ttext and constants in two files\n"
    "hone ir model.onnx --program\tthe steps of a run\n"
    "hone ir model.onnx --nest -t cuda:sm_80\tthe kernels' scheduled loops\n"
    "hone ir --list\tthe passes\n",
    0,
    1,
    run_ir,
};
