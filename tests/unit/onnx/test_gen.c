/* Synthetic models: sizes as ../shared/models/genmodel.py writes them (less its longer producer name), and what the
 * importer makes of them. */
#include "ir/graph.h"
#include "tap.h"

#include <hone/import.h>
#include <hone/onnx.h>
#include <stdlib.h>
#include <unistd.h>

static const struct {
    const char *name;
    bool dynamic;
    uint64_t n_nodes, n_parameters, size_b;
    const char *input, *output; /* shapes of the first ones; NULL: too large to read back in a test */
} row[] = {
    {"mlp", false, 6, 535818, 2143630, "[1, 784]", "[1, 10]"},
    {"mlp", true, 6, 535818, 2143640, "[batch, 784]", "[batch, 10]"},
    {"resnet50", false, 175, 25610152, 102456209, NULL, NULL},
    {"resnet50", true, 175, 25610152, 102456219, NULL, NULL},
    {"mobilenet_v2", false, 152, 3538984, 14172144, "[1, 3, 224, 224]", "[1, 1000]"},
    {"mobilenet_v2", true, 152, 3538984, 14172154, "[batch, 3, 224, 224]", "[batch, 1000]"},
    {"minilm_l6", false, 208, 22564608, 90268314, NULL, NULL},
    {"minilm_l6", true, 210, 22564608, 90268396, "[batch, seq]", "[batch, seq, 384]"},
    {"bert_base", false, 412, 108890112, 435580327, NULL, NULL},
    {"bert_base", true, 414, 108890112, 435580409, NULL, NULL},
    {"gpt2", false, 450, 124439808, 497780420, NULL, NULL},
    {"gpt2", true, 450, 124439808, 497780450, NULL, NULL},
};

static const hone_gen_options open_sizes = {.size = sizeof open_sizes, .dynamic = true};

static void check_import(const char *path, size_t i) {
    hone_graph *g = NULL;
    hone_err err = {0};
    hone_graph_port in = {0}, out = {0};
    hone_rc rc = hone_import_model(path, NULL, &g, NULL, &err);
    if (!rc) rc = hone_graph_verify(g, &err);
    if (!rc) rc = hone_graph_input(g, 0, &in, &err);
    if (!rc) rc = hone_graph_output(g, 0, &out, &err);
    ok(!rc, "gen/%s%s_is_imported", row[i].name, row[i].dynamic ? "_dynamic" : "");
    if (rc) printf("# %s\n", err.text);
    is_text(in.shape, row[i].input, "gen/shape_of_the_input");
    is_text(out.shape, row[i].output, "gen/shape_of_the_output");
    hone_graph_free(g);
}

static void check(const char *path, size_t i) {
    hone_gen_summary s = {0};
    hone_err err = {0};
    const hone_gen_options *o = row[i].dynamic ? &open_sizes : NULL;
    hone_rc rc = hone_gen_onnx(row[i].name, row[i].output ? path : "/dev/null", o, &s, &err);
    if (!ok(!rc && s.n_nodes == row[i].n_nodes && s.n_parameters == row[i].n_parameters && s.size_b == row[i].size_b,
            "gen/%s%s_is_what_it_was", row[i].name, row[i].dynamic ? "_dynamic" : ""))
        printf("# %s: %llu nodes, %llu parameters, %llu bytes\n", err.text, (unsigned long long)s.n_nodes,
               (unsigned long long)s.n_parameters, (unsigned long long)s.size_b);
    if (row[i].output) check_import(path, i);
    unlink(path);
}

int main(void) {
    char folder[] = "/tmp/hone-gen-XXXXXX", path[64];
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) check(path, i);
    hone_err err = {0};
    ok(hone_gen_onnx("mlpp", path, NULL, NULL, &err) == HONE_E_NOTFOUND && strstr(err.text, "'mlp'"),
       "gen/nearest_name");
    ok(hone_gen_onnx("mlp", path, &(hone_gen_options){.size = sizeof(hone_gen_options)}, NULL, &err) == HONE_E_USAGE,
       "gen/sizes_are_checked");
    hone_gen_architecture a;
    ok(hone_gen_architecture_at(5, &a) && !strcmp(a.name, "gpt2") && !hone_gen_architecture_at(6, &a),
       "gen/list_of_six");
    rmdir(folder);
    return done_testing();
}
