/* Rounding against the graph in double: none where there is none, known amounts, and models that amplify it. */
#include "base/fs.h"
#include "tap.h"

#include <hone/compile.h>
#include <hone/exactness.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/hone-test-exactness-XXXXXX";

static hone_rc load(hone_graph *g, hone_artifact **out, hone_err *err) {
    char path[2][300];
    snprintf(path[0], sizeof path[0], "%s/model", folder);
    snprintf(path[1], sizeof path[1], "%s/model.so", folder);
    hone_compile_options options = hone_compile_defaults();
    hone_artifact_options how = hone_artifact_defaults();
    options.output = path[0], options.target = "generic", options.no_parity = true, how.n_threads = 1;
    hone_rc rc = hone_compile_graph(g, "model", &options, NULL, err);
    return rc ? rc : hone_artifact_load(path[1], &how, out, err);
}

static hone_rc measure(const char *text, hone_exactness_output *out, bool *by_constants, hone_err *err) {
    hone_artifact *p = NULL;
    hone_graph *g = NULL, *compiled = NULL;
    hone_exactness_options o = hone_exactness_defaults();
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, err);
    if (!rc) rc = hone_graph_parse(text, strlen(text), &compiled, err);
    if (!rc) rc = load(compiled, &p, err);
    if (!rc) rc = hone_exactness_run(p, g, &o, out, by_constants, err);
    hone_artifact_free(p);
    hone_graph_free(g);
    hone_graph_free(compiled);
    return rc;
}

#define CONSTANT(name, x)                                                                                              \
    "%" name "0 = const {value = f32[] (" x ")}\n%" name " = broadcast %" name "0 {shape = [512], map = []}\n"
#define HEAD "ir 1\ninput %x : f32[512] \"x\"\n"
/* One step of the logistic map. */
#define STEP(a, b) "%m" b " = sub %one, %v" a "\n%n" b " = mul %m" b ", %v" a "\n%v" b " = mul %n" b ", %four\n"
#define STEPS(a, b, c, d, e) STEP(a, b) STEP(b, c) STEP(c, d) STEP(d, e)

int main(void) {
    hone_exactness_output v[2] = {0};
    hone_err err = {0};
    bool by_constants = true;
    if (!mkdtemp(folder)) return 1;
    ok(!measure(HEAD "%y = neg %x\n%q = cast %x {dtype = i32, saturate = 1}\noutput %y \"y\"\noutput %q \"q\"\n", v,
                &by_constants, &err),
       "exactness/runs %s", err.text);
    ok(v[0].is_float && v[0].hone.rms == 0 && v[0].hone.largest == 0 && !by_constants, "exactness/negation_is_exact");
    ok(v[0].moved.rms > 0x1p-26 && v[0].moved.rms < 0x1p-22 && v[0].amplification < 4, "exactness/one_unit_stays_one");
    ok(!v[1].is_float, "exactness/integers_have_none");
    ok(!measure(HEAD CONSTANT("c", "1048576") "%s = add %x, %c\n%y = sub %s, %c\noutput %y \"y\"\n", v, &by_constants,
                &err) &&
           v[0].hone.rms > 1e-3 && v[0].moved.rms < 1e-6,
       "exactness/cancellation_is_the_program's %g %g", v[0].hone.rms, v[0].moved.rms);
    ok(!measure(HEAD CONSTANT("one", "1") CONSTANT("four", "4") "%va = sigmoid %x\n" STEPS("a", "b", "c", "d", "e")
                    STEPS("e", "f", "g", "h", "i") STEPS("i", "j", "k", "l", "m") STEPS("m", "n", "o", "p", "q")
                        STEPS("q", "r", "s", "t", "u") "output %vu \"y\"\n",
                v, &by_constants, &err) &&
           v[0].amplification > HONE_EXACTNESS_CHAOTIC,
       "exactness/a_chaotic_map %g", v[0].amplification);
    ok(!measure("ir 1\ninput %x : i64[3] \"x\"\n%t = const {value = f32[4] (0.1, 0.2, 0.3, 0.4)}\n"
                "%g = gather %t, %x {axis = 0, batch = 0} : f32[3]\n%y = exp %g\noutput %y \"y\"\n",
                v, &by_constants, &err) &&
           by_constants && v[0].moved.rms > 0 && v[0].hone.rms < 1e-6,
       "exactness/constants_move_where_no_input_can %s", err.text);
    ok(measure(HEAD "%r = random {shape = [512], dtype = f32, seed = 1, mode = uniform} : f32[512]\n%y = add %x, "
                    "%r\noutput %y \"y\"\n",
               v, &by_constants, &err) != HONE_OK,
       "exactness/random_numbers_are_refused %s", err.text);
    hn_remove_tree(folder, NULL);
    return done_testing();
}
