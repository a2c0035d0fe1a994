/* The examples of docs/how-to-add-a-pass.md and docs/how-to-add-an-operation.md compile, are quoted exactly, and work.
 */
#include "pass_text.h"
#include "quoted.h"

#include "../../../docs/code/idempotent.c"
#include "../../../docs/code/try_operation.c"

static void check_runs(const char *in, const char *want, const char *name) {
    hn_graph *g = NULL;
    hone_err err = {0};
    hn_str got = {0};
    unsigned have = 0;
    if (!ok(!hn_parse(in, strlen(in), NULL, &g, &err), "%s_reads", name)) return;
    ok(!hn_run_pass(g, &hn_pass_idempotent, (hn_pass_how){0}, &have, NULL, &err), "%s_runs", name);
    hn_print(g, &got);
    is_text(got.text, want, name);
    hn_str_free(&got);
    hn_graph_free(g);
}

int main(void) {
    check_quoted("docs/how-to-add-a-pass.md", "docs/code/idempotent.c");
    check_quoted("docs/how-to-add-an-operation.md", "docs/code/try_operation.c");
    check_runs(
        "ir 1\ninput %0 : f32[4] \"x\"\ninput %1 : f32[4] \"y\"\n%2 = max %0, %1\n%3 = max %2, %1\noutput %3 \"z\"\n",
        "ir 1\ninput %0 : f32[4] \"x\"\ninput %1 : f32[4] \"y\"\n%2 = max %0, %1 : f32[4]\noutput %2 \"z\"\n",
        "example/clamps_once");
    check_runs("ir 1\ninput %0 : f32[4] \"x\"\ninput %1 : f32[4] \"y\"\n%2 = max %0, %1 : f32[4]\n%3 = min %2, %1 : "
               "f32[4]\noutput %3 \"z\"\n",
               "ir 1\ninput %0 : f32[4] \"x\"\ninput %1 : f32[4] \"y\"\n%2 = max %0, %1 : f32[4]\n%3 = min %2, %1 : "
               "f32[4]\noutput %3 \"z\"\n",
               "example/another_operation_stays");
    float y = 0;
    hone_err err = {0};
    ok(!try_operation("sqrt", 1, 9, &y, &err) && y == 3, "example/sqrt");
    ok(!try_operation("mul", 2, 3, &y, &err) && y == 9, "example/mul");
    ok(try_operation("mul", 1, 3, &y, &err) == HONE_E_INPUT && y == 9, "example/wrong_count_is_refused");
    return done_testing();
}
