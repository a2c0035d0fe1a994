/* Every allocation fails once: of reading, printing, copying, verifying, and of the passes. */
#include "../failalloc.h"

#include "ir/graph.h"
#include <hone/ir.h>
#include <hone/pass.h>

static const char text[] =
    "ir 1\nsymbol n in 1..9\nsymbol m in 0..\nsymbol k in 0..\nequal n, m\ninput %0 : f32[n, 4] \"x\"\ninput %1 : "
    "f32[m, 4] "
    "\"y\"\n%2 = const {value = f32[2, 10] x\""
    "0000803f000000400000803f000000400000803f000000400000803f000000400000803f00000040"
    "0000803f000000400000803f000000400000803f000000400000803f000000400000803f00000040\"}\n"
    "%3 = const {value = f32[2] (1, 2)}\n%4 = broadcast %3 {shape = [2, 10], map = [0]}\n%5 = mul %2, %4\n"
    "%6 = sum %5 {axes = [0, 1], keep = 0}\n%7 = broadcast %6 {shape = [n, 4], map = []}\n%8 = add %0, %7 from \"a\"\n"
    "%9 = transpose %8 {perm = [1, 0]}\n%10 = exp %9\n%11 = transpose %10 {perm = [1, 0]}\n%12 = add %11, %1\n"
    "%13 = const {value = i64[] (3)}\n%14 = const {value = bool[] (true)}\n"
    "%15, %16 = loop %13, %14, %12 {defines = [k], count = 1} : f32[n, 4], f32[k, n, 4] do (%17 : i64[], %18 : bool[], "
    "%19 : "
    "f32[n, 4]) {\n  %20 = add %19, %8\n  yield %18, %20, %20\n}\noutput %15 \"a\"\noutput %16 \"b\"\n";

static hone_rc read_and_print(void *ctx) {
    hone_graph *g = NULL;
    char *out = NULL;
    hone_err err;
    (void)ctx;
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, &err);
    if (rc) return g ? HONE_E_FAILED : rc;
    rc = hone_graph_print(g, &out, &err);
    if (rc && out) rc = HONE_E_FAILED;
    hone_graph_port port;
    if (!rc) rc = hone_graph_output(g, 1, &port, &err);
    hone_free(out);
    hone_graph_free(g);
    return rc;
}

static hone_rc copy(void *ctx) {
    hn_graph *g = hn_copy_graph(ctx);
    hone_rc rc = !g || !hn_arena_ok(&g->arena) ? HONE_E_NOMEM : g->err.rc;
    hn_graph_free(g);
    return rc;
}

static hone_rc passes(void *ctx) {
    hone_graph *g = NULL;
    hone_err err;
    (void)ctx;
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, &err);
    if (!rc) rc = hone_graph_run_passes(g, "attention", NULL, NULL, 0, NULL, &err);
    hone_graph_free(g);
    return rc;
}

int main(void) {
    hone_graph *g = NULL;
    hone_err err = {0};
    if (!ok(!hone_graph_parse(text, strlen(text), &g, &err), "ir/sample_reads")) printf("# %s\n", err.text);
    sweep_allocations("ir/read_nth_allocation_fails", read_and_print, NULL);
    sweep_allocations("ir/copy_nth_allocation_fails", copy, g);
    sweep_allocations("ir/passes_nth_allocation_fails", passes, NULL);
    hone_graph_free(g);
    return done_testing();
}
