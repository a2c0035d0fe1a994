/* Random inputs, timing, profiles and verification of a small model through the public API; libraries that move. */
#include "base/fs.h"
#include "tap.h"

#include <hone/compile.h>
#include <hone/inputs.h>
#include <hone/profile.h>
#include <hone/verify.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char graph[] = "ir 1\nsymbol n in 1..8\ninput %0 : f32[n, 4] \"x\"\ninput %1 : bool[n] \"keep\"\n"
                            "%2 = const {value = f32[4, 2] (1, 2, 3, 4, 5, 6, 7, 8)}\n"
                            "%3 = contract %0, %2 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
                            "output %3 \"y\"\noutput %1 \"kept\"\n";

static char folder[] = "/tmp/hone-test-bench-model-XXXXXX";

static char *path_of(const char *name) {
    static char path[2][300];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static hone_rc build(const char *text, const char *name, bool profile, hone_err *err) {
    hone_compile_options options = {.size = sizeof(hone_compile_options),
                                    .output = path_of(name),
                                    .target = "generic",
                                    .no_parity = true,
                                    .profile = profile};
    hone_graph *g = NULL;
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, err);
    if (!rc) rc = hone_compile_graph(g, name, &options, NULL, err);
    hone_graph_free(g);
    return rc;
}

static void check_random(const hone_model *m) {
    hone_array a[2], b[2], untouched = {.rank = 7};
    hone_err err;
    ok(!hone_inputs_random(m, "n=3", 5, a, &err) && a[0].rank == 2 && a[0].dim[0] == 3 && a[1].dim[0] == 3,
       "random/sizes_given");
    ok(!hone_inputs_random(m, "n=3", 5, b, &err) && !memcmp(a[0].data, b[0].data, 48), "random/same_seed_same_numbers");

    ok(((unsigned char *)a[1].data)[0] < 2 && ((unsigned char *)a[1].data)[2] < 2, "random/bools_are_0_or_1");
    for (int i = 0; i < 2; i++) hone_free(a[i].data), hone_free(b[i].data);
    a[0] = untouched;
    ok(hone_inputs_random(m, "n=9", 5, a, &err) == HONE_E_USAGE && a[0].rank == 7 && strstr(err.text, "1 .. 8"),
       "random/size_out_of_range %s", err.text);
}

/* Usual sizes that a library takes, whose relations are in its code alone. */
static void check_accepted(void) {
    static const struct {
        const char *name, *graph, *given, *want;
    } row[] = {
        {"fixed", "input %0 : f32[2, 4] \"x\"\n%1 = neg %0\noutput %1 \"y\"\n", NULL, ""},
        {"related",
         "symbol past in 0..\nsymbol seq in 0..\nsymbol total in 0..\nequal past + seq, total\ninput %0 : f32[1, past] "
         "\"x\"\ninput %1 : f32[1, seq] \"y\"\ninput %2 : f32[1, total] \"m\"\n%3 = neg %2\noutput %3 \"z\"\n",
         NULL, "past=64,seq=64,total=128"},
        {"related_to_given",
         "symbol past in 0..\nsymbol seq in 0..\nsymbol total in 0..\nequal past + seq, total\ninput %0 : f32[1, past] "
         "\"x\"\ninput %1 : f32[1, seq] \"y\"\ninput %2 : f32[1, total] \"m\"\n%3 = neg %2\noutput %3 \"z\"\n",
         "seq=1", "seq=1,past=1,total=2"},
        {"multiples",
         "symbol h in 0..\ndivisible h, 48\ninput %0 : f32[1, 3, h, 9] \"x\"\n%1 = neg %0\noutput %1 \"y\"\n", NULL,
         "h=384"},
        {"nothing_fits",
         "symbol seq in 0..\nequal mod(seq, 2), 5\ninput %0 : f32[1, seq] \"x\"\n%1 = neg %0\noutput %1 \"y\"\n", NULL,
         ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[600], name[40], *got = NULL;
        hone_artifact *p = NULL;
        hone_err err = {0};
        snprintf(text, sizeof text, "ir 1\n%s", row[i].graph), snprintf(name, sizeof name, "sizes-%zu", i);
        hone_rc rc = build(text, name, false, &err);
        snprintf(name, sizeof name, "sizes-%zu.so", i);
        hone_artifact_options o = hone_artifact_defaults();
        o.n_threads = 1;
        if (!rc) rc = hone_artifact_load(path_of(name), &o, &p, &err);
        if (!rc) rc = hone_inputs_accepted(hone_artifact_model(p), row[i].given, 1, &got, &err);
        if (ok(!rc, "accepted/%s_is_asked (%s)", row[i].name, err.text)) is_text(got, row[i].want, row[i].name);
        hone_free(got);
        hone_artifact_free(p);
    }
}

static void check_bench(const hone_model *m) {
    hone_array in[2];
    hone_latency b;
    hone_latency_pattern pattern;
    hone_err err = {0};
    int stop = 1;
    hone_latency_options o = {
        .size = sizeof(hone_latency_options), .n_threads = 1, .budget_s = 0.001, .pattern = "none"};
    if (!ok(!hone_inputs_random(m, NULL, 1, in, &err), "bench/inputs %s", err.text)) return;
    ok(hone_latency_measure(m, in, &o, &b, &err) == HONE_E_USAGE && strstr(err.text, "'none'"),
       "bench/pattern_unknown");
    for (size_t i = 0; hone_latency_pattern_at(i, &pattern); i++) {
        o.pattern = pattern.name;
        if (!ok(!hone_latency_measure(m, in, &o, &b, &err), "bench/runs_%s %s", pattern.name, err.text)) continue;
        ok(b.mine.n >= 20 && !b.peer.n && b.mine.p50_s.lo <= b.mine.p50_s.mid && b.mine.p50_s.mid <= b.mine.p99_s,
           "bench/series_%s", pattern.name);
        hone_latency_free(&b);
    }
    o.stop = &stop;
    ok(hone_latency_measure(m, in, &o, &b, &err) == HONE_E_INTERRUPTED, "bench/stops");
    for (int i = 0; i < 2; i++) hone_free(in[i].data);
}

static void check_profile(const hone_model *plain, const hone_model *timed) {
    hone_array in[2];
    hone_profile p;
    hone_err err = {0};
    double share = 0;
    hone_latency_options o = {.size = sizeof(hone_latency_options), .n_threads = 1, .budget_s = 0.001};
    if (!ok(!hone_inputs_random(timed, "n=2", 1, in, &err), "profile/inputs %s", err.text)) return;
    ok(hone_profile_model(plain, in, &o, &p, &err) == HONE_E_USAGE, "profile/plain_build_refused");
    if (ok(!hone_profile_model(timed, in, &o, &p, &err), "profile/runs %s", err.text)) {
        for (uint32_t i = 0; i < p.n_calls; i++) share += p.call[i].share;
        ok(p.n_runs >= 20 && p.n_calls >= 1 && p.n_threads == 1, "profile/rows");
        ok(fabs(share - 1) < 1e-9, "profile/shares_add_up");
        ok(p.kernel[0].flops == 2 * 2 * 4 * 2, "profile/operations_of_the_sizes_run");
        hone_profile_free(&p);
    }
    for (int i = 0; i < 2; i++) hone_free(in[i].data);
}

static void check_verify(hone_artifact *program, const char *text, bool right) {
    hone_graph *g = NULL;
    hone_err err = {0};
    bool same = !right;
    hone_verify_output output[2];
    if (!ok(!hone_graph_parse(text, strlen(text), &g, &err), "verify/graph %s", err.text)) return;
    hone_verify_options o = {.size = sizeof(hone_verify_options), .graph = g, .sizes = "n=5", .rtol = -1, .atol = -1};
    ok(!hone_verify_run(program, &o, output, &same, &err) && same == right && output[0].worst.same == right,
       "verify/%s %s", right ? "agrees" : "differs", err.text);
    ok(output[1].worst.same && (right || output[0].worst.n_wrong > 0), "verify/by_output_%d", right);
    hone_graph_free(g);
}

static float first_output(const char *path) {
    hone_artifact *p = NULL;
    float x[4] = {1}, y = NAN;
    unsigned char keep = 1;
    hone_array in[2] = {{HONE_F32, 2, {1, 4}, x}, {HONE_BOOL, 1, {1}, &keep}}, out[2];
    if (!hone_artifact_load(path, &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, &p,
                            NULL) &&
        !hone_artifact_run(p, in, 2, out, 2, NULL)) {
        memcpy(&y, out[0].data, sizeof y);
        hone_free(out[0].data), hone_free(out[1].data);
    }
    hone_artifact_free(p);
    return y;
}

/* The weights file moves with the library; a library written over one that is loaded is another one. */
static void check_moves(const char *other) {
    hone_artifact *loaded = NULL;
    hone_err err = {0};
    ok(!hone_artifact_load(path_of("plain.so"),
                           &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, &loaded,
                           &err),
       "moves/loaded %s", err.text);
    ok(!build(other, "plain", false, &err), "moves/written_over %s", err.text);
    ok(first_output(path_of("plain.so")) == 9, "moves/new_file_is_loaded");
    ok(!rename(path_of("plain.so"), path_of("else.so")) && !rename(path_of("plain.weights"), path_of("else.weights")) &&
           first_output(path_of("else.so")) == 9,
       "moves/weights_under_the_library's_name");
    hone_artifact_free(loaded);
}

int main(void) {
    hone_err err = {0};
    hone_artifact *plain = NULL, *timed = NULL;
    char other[sizeof graph];
    if (!mkdtemp(folder)) return 1;
    memcpy(other, graph, sizeof graph);
    *strstr(other, "1, 2, 3, 4, 5") = '9';
    if (ok(!build(graph, "plain", false, &err) && !build(graph, "timed", true, &err), "bench_model/builds %s",
           err.text) &&
        ok(!hone_artifact_load(path_of("plain.so"),
                               &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, &plain,
                               &err) &&
               !hone_artifact_load(path_of("timed.so"),
                                   &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1},
                                   &timed, &err),
           "bench_model/loads %s", err.text)) {
        check_random(hone_artifact_model(plain));
        check_bench(hone_artifact_model(plain));
        check_profile(hone_artifact_model(plain), hone_artifact_model(timed));
        check_verify(plain, graph, true);
        check_verify(plain, other, false);
    }
    hone_artifact_free(plain), hone_artifact_free(timed);
    check_moves(other);
    check_accepted();
    hn_remove_tree(folder, NULL);
    return done_testing();
}
