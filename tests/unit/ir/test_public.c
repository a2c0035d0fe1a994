/* The calls of hone/ir.h: ports, runs, passes; what is wrong with arguments is told. */
#include "tap.h"

#include <hone/ir.h>
#include <hone/pass.h>

static const char text[] = "ir 1\nsymbol n in 1..9\ninput %0 : f32[n, 2] \"x\"\n%1 = const {value = f32[] (1)}\n"
                           "%2 = broadcast %1 {shape = [n, 2], map = []}\n%3 = mul %0, %2\n%4 = add %3, %0\n"
                           "output %4 \"y\"\n";

static hone_graph *sample(void) {
    hone_graph *g = NULL;
    hone_err err = {0};
    if (hone_graph_parse(text, strlen(text), &g, &err)) printf("# %s\n", err.text);
    return g;
}

static void test_ports(const hone_graph *g) {
    hone_graph_port p = {0};
    hone_err err = {0};
    ok(hone_graph_inputs(g) == 1 && hone_graph_outputs(g) == 1, "public/number_of_ports");
    ok(!hone_graph_input(g, 0, &p, &err) && p.dtype == HONE_F32 && p.rank == 2, "public/input");
    is_text(p.name, "x", "public/input_name");
    is_text(p.shape, "[n, 2]", "public/input_shape");
    ok(p.dim[0] == -1 && p.dim[1] == 2, "public/input_sizes");
    ok(!hone_graph_output(g, 0, &p, &err) && !strcmp(p.name, "y"), "public/output");
    ok(hone_graph_output(g, 1, &p, &err) == HONE_E_USAGE && !strcmp(p.name, "y"), "public/no_such_output");
}

static void test_run(const hone_graph *g, const char *name) {
    float x[6] = {1, 2, 3, 4, 5, 6};
    hone_array in = {.dtype = HONE_F32, .rank = 2, .dim = {3, 2}, .data = x}, out = {0};
    hone_err err = {0};
    bool good = !hone_graph_run(g, &in, 1, &out, 1, &err) && out.rank == 2 && out.dim[0] == 3;
    for (int i = 0; good && i < 6; i++) good = ((float *)out.data)[i] == 2 * x[i];
    if (!ok(good, "public/%s", name)) printf("#   %s\n", err.text);
    hone_free(out.data);
}

static void test_wrong_run(const hone_graph *g) {
    float x[6] = {0};
    hone_array in = {.dtype = HONE_F32, .rank = 2, .dim = {3, 2}, .data = x}, out = {.rank = 77};
    hone_err err = {0};
    ok(hone_graph_run(g, &in, 1, &out, 2, &err) == HONE_E_USAGE, "public/wrong_number_of_outputs");
    in.dim[1] = 3;
    ok(hone_graph_run(g, &in, 1, &out, 1, &err) == HONE_E_INPUT, "public/wrong_size");
    in.dim[1] = 2;
    in.data = NULL;
    ok(hone_graph_run(g, &in, 1, &out, 1, &err) == HONE_E_USAGE, "public/no_data");
    in.rank = 99;
    ok(hone_graph_run(g, &in, 1, &out, 1, &err) == HONE_E_USAGE, "public/wrong_rank");
    ok(out.rank == 77, "public/outputs_are_untouched_by_failures");
}

static void test_passes(void) {
    static const char *const good[] = {"simplify", "dce"}, *const bad[] = {"simplify", "dec"};
    hone_graph *g = sample(), *before = g;
    hone_pass_stat stat[32];
    hone_pass p;
    hone_err err = {0};
    size_t n = 0;
    char *out = NULL;
    ok(hone_pass_at(0, &p) && !strcmp(p.name, "joint") && !hone_pass_at(999, &p), "public/pass_at");
    ok(hone_graph_optimise(&g, bad, 2, NULL, &err) == HONE_E_NOTFOUND && g == before, "public/unknown_pass");
    ok(strstr(err.text, "did you mean 'dce'") != NULL, "public/unknown_pass_names_the_nearest");
    ok(!hone_graph_optimise(&g, good, 2, NULL, &err), "public/optimise");
    ok(!hone_graph_print(g, &out, &err), "public/print");
    is_text(out, "ir 1\nsymbol n in 1..9\ninput %0 : f32[n, 2] \"x\"\n%1 = add %0, %0 : f32[n, 2]\noutput %1 \"y\"\n",
            "public/optimised");
    test_run(g, "optimised_runs");
    ok(!hone_graph_run_passes(g, "dce", NULL, stat, 32, &n, &err) && n == 7, "public/run_passes");
    ok(!strcmp(stat[6].name, "dce") && stat[6].n_nodes == 1, "public/pass_statistics");
    ok(hone_graph_run_passes(g, "xyz", NULL, NULL, 0, NULL, &err) == HONE_E_NOTFOUND, "public/no_such_pass");
    hone_free(out);
    hone_graph_free(g);
}

int main(void) {
    hone_graph *g = sample();
    hone_err err = {0};
    test_ports(g);
    test_run(g, "runs");
    test_wrong_run(g);
    test_passes();
    ok(!hone_graph_verify(g, &err), "public/verify");
    hone_graph_free(g);
    hone_graph_free(NULL);
    ok(hone_graph_read("/nonexistent/g.ir", &g, &err) == HONE_E_IO, "public/missing_file");
    return done_testing();
}
