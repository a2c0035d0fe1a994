/* cmd_gen.c — `hone gen`: write the ONNX model of a well-known architecture with synthetic weights. */
#include "cli.h"

#include <hone/import.h>
#include <hone/onnx.h>

static void list_json(cli *c) {
    hone_gen_architecture a;
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 0; hone_gen_architecture_at(i, &a); i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "name", a.name);
        cli_json_ktext(&j, "summary", a.summary);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void list_architectures(cli *c) {
    hone_gen_architecture a;
    cli_table *t = cli_table_new("lx");
    cli_table_head(t, "architecture");
    cli_table_head(t, "what it is");
    for (size_t i = 0; hone_gen_architecture_at(i, &a); i++) {
        cli_table_cell(t, "%s", a.name);
        cli_table_cell(t, "%s", a.summary);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static void report(cli *c, const char *path, const hone_gen_summary *s) {
    char size[CLI_TEXT_N];
    if (!c->json) {
        fprintf(stderr, "%s: %.1f M parameters, %llu nodes, %s\n", path, (double)s->n_parameters / 1e6,
                (unsigned long long)s->n_nodes, cli_text_bytes((double)s->size_b, size));
        return;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "path", path);
    cli_json_kcount(&j, "parameters", s->n_parameters);
    cli_json_kcount(&j, "nodes", s->n_nodes);
    cli_json_kcount(&j, "size_b", s->size_b);
    cli_json_end(&j);
}

static hone_rc run_gen(cli *c, hone_err *err) {
    if (cli_given(c, "list")) {
        if (c->n_args) return cli_fail(err, HONE_E_USAGE, "--list takes no architecture");
        c->json ? list_json(c) : list_architectures(c);
        return HONE_OK;
    }
    if (c->n_args != 2)
        return cli_fail(err, HONE_E_USAGE, "an architecture and a file are needed; see hone gen --list");
    hone_gen_options o = {
        .size = sizeof(hone_gen_options),
        .batch = (int64_t)cli_count(c, "batch", 1),
        .seq = (int64_t)cli_count(c, "seq", 128),
        .dynamic = cli_given(c, "dynamic"),
    };
    if (o.dynamic && (cli_given(c, "batch") || cli_given(c, "seq")))
        return cli_fail(err, HONE_E_USAGE, "--dynamic leaves batch and sequence open; leave out --batch and --seq");
    hone_gen_summary s;
    hone_rc rc = hone_gen_onnx(c->arg[0], c->arg[1], &o, &s, err);
    if (!rc) report(c, c->arg[1], &s);
    return rc;
}

static const cli_option options[] = {
    {"batch", 'b', CLI_COUNT, "N", 1, 1e6, "batch size (default 1)"},
    {"seq", 's', CLI_COUNT, "N", 1, 1e6, "length of the token sequence (default 128)"},
    {"dynamic", 'd', CLI_FLAG, NULL, 0, 0, "batch and sequence length as symbolic dimensions, `batch` and `seq`"},
    {"list", 0, CLI_FLAG, NULL, 0, 0, "show the architectures"},
    {0},
};

const cli_command cli_cmd_gen = {
    "gen",
    "Models",
    "ARCH OUT.onnx",
    "write a model of a known architecture with synthetic weights",
    "Writes an ONNX model as exporters write it: the operators, shapes and order of a real architecture, with random "
    "weights in place of trained ones. A model's speed does not depend on the values of its weights, so such models "
    "stand in for trained ones in tests and benchmarks. The weights are Gaussian, with the scales of "
    "`genmodel.py` but from another random stream, so that activations stay finite; the same arguments always give the "
    "same file.\n\n"
    "Memory does not grow with the model: weights are made while the file is written.",
    options,
    "hone gen resnet50 resnet50.onnx\tan image classifier for one image at a time\n"
    "hone gen minilm_l6 minilm.onnx --dynamic\ta text encoder for any batch and length\n"
    "hone gen --list\twhat there is\n",
    0,
    2,
    run_gen,
};
