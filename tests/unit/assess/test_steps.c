/* Models with state: verified step by step against a reference that is handed its own state, timed from one state. */
#include "base/fs.h"
#include "tap.h"

#include <hone/compile.h>
#include <hone/profile.h>
#include <hone/verify.h>

#include <math.h>
#include <string.h>

/* A cache, a mask as long as the cache will be, and a running sum. */
#define MODEL(sum)                                                                                                     \
    "ir 1\nsymbol seq in 1..4\nsymbol past in 0..64\ninput %x : f32[seq, 2] \"x\"\n"                                   \
    "input %m : f32[past + seq, 2] \"mask\"\ninput %p : f32[past, 2] \"past\"\ninput %t : f32[2] \"total\"\n"          \
    "%c = concat %p, %x {axis = 0}\n%d = mul %c, %m\n%n = sum %d {axes = [0], keep = 0}\n" sum                         \
    "output %n \"y\"\noutput %c \"present\"\noutput %u \"total_next\"\noutput %u \"z\"\n"
static const char graph[] = MODEL("%u = add %n, %t\n");
static const char other[] = MODEL("%w = add %n, %t\n%u = add %w, %t\n"); /* the same in the first step */

static char folder[] = "/tmp/hone-test-steps-XXXXXX";
static const char *const state[] = {"past=present", "total=total_next"};

static hone_artifact *build(const char *name, bool profile, hone_err *err) {
    char output[100], path[110];
    hone_graph *g = NULL;
    hone_artifact *p = NULL;
    snprintf(output, sizeof output, "%s/%s", folder, name);
    snprintf(path, sizeof path, "%s.so", output);
    hone_compile_options o = hone_compile_defaults();
    o.output = output, o.target = "generic", o.no_parity = o.no_winners = true, o.profile = profile;
    o.state = state, o.n_state = 2;
    hone_rc rc = hone_graph_parse(graph, strlen(graph), &g, err);
    if (!rc) rc = hone_compile_graph(g, name, &o, NULL, err);
    if (!rc) rc = hone_artifact_load(path, NULL, &p, err);
    hone_graph_free(g);
    return p;
}

static void check_verify(hone_artifact *p, const char *text, uint64_t n_steps, bool right) {
    hone_graph *g = NULL;
    hone_err err = {0};
    bool same = !right;
    hone_verify_output output[2] = {0};
    hone_verify_options o = hone_verify_defaults();
    o.state = state, o.n_state = 2, o.n_steps = n_steps, o.sizes = "seq=2", o.n_inputs = 1;
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, &err);
    o.graph = g;
    if (!rc) rc = hone_verify_run(p, &o, output, &same, &err);
    ok(!rc && same == right && output[0].worst.same && output[1].worst.same == right, "steps/%s_in_%d %s",
       right ? "agrees" : "differs", (int)n_steps, err.text);
    ok(output[0].n_elements == 2 * n_steps, "steps/%d_are_compared", (int)n_steps);
    hone_graph_free(g);
}

static void check_refused(hone_artifact *p, const hone_graph *g) {
    hone_err err = {0};
    bool same;
    hone_verify_output output[2];
    hone_verify_options o = hone_verify_defaults();
    o.graph = g;
    ok(hone_verify_run(p, &o, output, &same, &err) == HONE_E_USAGE && strstr(err.text, "has state"),
       "steps/state_must_be_named %s", err.text);
    o.state = state, o.n_state = 1;
    ok(hone_verify_run(p, &o, output, &same, &err) == HONE_E_USAGE && strstr(err.text, "2 states, but 1"),
       "steps/all_of_it %s", err.text);
    o.n_state = 2, o.sizes = "sec=2";
    ok(hone_verify_run(p, &o, output, &same, &err) == HONE_E_USAGE && strstr(err.text, "'sec'"),
       "steps/unknown_size_is_refused %s", err.text);
    o.sizes = "seq=4", o.n_steps = 20;
    ok(hone_verify_run(p, &o, output, &same, &err) == HONE_E_USAGE && strstr(err.text, "68"),
       "steps/a_full_cache_is_said %s", err.text);
}

static void check_timed(const hone_model *m, const hone_model *timed, const hone_graph *g) {
    hone_err err = {0};
    hone_latency b = {0};
    hone_profile p = {0};
    hone_latency_options o = hone_latency_defaults();
    o.n_threads = 1, o.budget_s = 0.001, o.seed = 1;
    float x[2] = {1, 2};
    hone_array in[2] = {{HONE_F32, 2, {1, 2}, x}, {HONE_F32, 2, {1, 2}, x}};
    /* Hundreds of runs do not fill the cache of 64 rows, nor outgrow the mask. */
    if (ok(!hone_latency_measure(m, in, &o, &b, &err), "steps/bench_from_a_reset %s", err.text)) hone_latency_free(&b);
    o.graph = g, o.state = state, o.n_state = 2, o.n_steps = 50;
    if (ok(!hone_latency_measure(m, NULL, &o, &b, &err), "steps/bench_behind_others %s", err.text))
        hone_latency_free(&b);
    if (ok(!hone_profile_model(timed, NULL, &o, &p, &err), "steps/profile %s", err.text)) {
        double bytes = 0;
        for (uint32_t i = 0; i < p.n_calls; i++) bytes += p.call[i].bytes;
        ok(bytes > 51 * 2 * 4, "steps/profile_is_of_the_step_behind_others");
        hone_profile_free(&p);
    }
    o.graph = NULL;
    ok(hone_latency_measure(m, NULL, &o, &b, &err) == HONE_E_USAGE, "steps/inputs_are_needed");
}

int main(void) {
    hone_err err = {0};
    hone_graph *g = NULL;
    if (!mkdtemp(folder)) return 1;
    hone_artifact *p = build("plain", false, &err), *timed = p ? build("timed", true, &err) : NULL;
    if (ok(timed && !hone_graph_parse(graph, strlen(graph), &g, &err), "steps/builds %s", err.text)) {
        check_verify(p, graph, 4, true);
        check_verify(p, other, 1, true);
        check_verify(p, other, 2, false);
        check_refused(p, g);
        check_timed(hone_artifact_model(p), hone_artifact_model(timed), g);
    }
    hone_graph_free(g);
    hone_artifact_free(p), hone_artifact_free(timed);
    hn_remove_tree(folder, NULL);
    return done_testing();
}
