/* Builds that time their kernels: what a run leaves behind, call by call; and that other builds carry nothing of it. */
#include "base/fs.h"
#include "tap.h"

#include <hone/artifact.h>
#include <hone/compile.h>

#include <string.h>
#include <unistd.h>

/* A branch that is not taken, one that is, a loop, symbolic sizes. */
static const char graph[] =
    "ir 1\nsymbol n in 1..8\ninput %0 : f32[n, 4] \"x\"\n%1 = const {value = bool[] (false)}\n"
    "%2 = const {value = i64[] (3)}\n%3 = const {value = bool[] (true)}\n"
    "%4 = sum %0 {axes = [1], keep = 0} from \"the first\"\n"
    "%5 = sum %4 {axes = [0], keep = 0}\n%6 = const {value = f32[] (1e30)}\n%7 = lt %6, %5\n"
    "%8 = if %7 : f32[n, 4] do () {\n  %9 = exp %0\n  yield %9\n} do () {\n  %10 = sigmoid %0\n  yield %10\n}\n"
    "%11 = loop %2, %3, %8 {count = 0} : f32[n, 4] do (%12 : i64[], %13 : bool[], %14 : f32[n, 4]) {\n"
    "  %15 = tanh %14\n  yield %13, %15\n}\noutput %11 \"y\"\n";

static hone_artifact *build(const char *folder, bool profile, hone_err *err) {
    char path[300];
    hone_compile_options options = {.size = sizeof(hone_compile_options),
                                    .output = path,
                                    .target = "generic",
                                    .no_parity = true,
                                    .profile = profile};
    hone_graph *g = NULL;
    hone_artifact *p = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, profile ? "timed" : "plain");
    if (hone_graph_parse(graph, sizeof graph - 1, &g, err)) return NULL;
    hone_rc rc = hone_compile_graph(g, "model", &options, NULL, err);
    hone_graph_free(g);
    snprintf(path + strlen(path), 8, ".so");
    return !rc && !hone_artifact_load(
                      path, &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, &p, err)
               ? p
               : NULL;
}

static const hone_model_time *run(const hone_model *m, hone_model_instance *x, int64_t n) {
    float data[32] = {1, -2, 3};
    hone_model_tensor in = {.data = data, .dtype = HONE_F32, .rank = 2, .dim = {n, 4}}, out = {0};
    if (m->run(x, &in, 1, &out, 1)) return NULL;
    return m->profile->time(x);
}

/* What call number i, which computes `shape` n times, should have left. */
static void check_calls(const hone_model *m, const hone_model_time *t, int64_t n) {
    int64_t launches[8] = {0}, end_ns = 0;
    double flops = 0, bytes = 0;
    bool in_order = true;
    for (int32_t i = 0; i < m->profile->n_calls; i++) {
        if (t[i].count < 8 && t[i].count >= 0) launches[t[i].count]++;
        if (!strcmp(m->profile->call[i].shape, "f32[n, 4]") && t[i].count == 3) flops = t[i].flops, bytes = t[i].bytes;
        if (!t[i].count) in_order = in_order && !t[i].begin_ns && !t[i].time_ns;
        if (t[i].count == 1) in_order = in_order && t[i].begin_ns >= end_ns, end_ns = t[i].begin_ns + t[i].time_ns;
    }
    ok(launches[0] == 1 && launches[3] == 1 && launches[1] >= 2, "profile/launches_counted n=%d", (int)n);
    ok(in_order, "profile/one_after_the_other n=%d", (int)n);
    ok(flops == (double)(3 * 4 * n) && bytes == (double)(3 * 2 * 16 * n), "profile/amounts_of_the_sizes_run n=%d",
       (int)n);
}

static void check_timed(const hone_model *m) {
    hone_model_config config = {.size = sizeof config, .n_threads = 1};
    hone_model_instance *x = NULL;
    bool named = false;
    if (!ok(m->profile && !m->create(&config, &x), "profile/timed_build_has_a_table")) return;
    for (int32_t i = 0; i < m->profile->n_calls; i++) {
        const hone_model_call *c = &m->profile->call[i];
        named = named || !strcmp(c->source, "the first");
        ok(c->kernel >= 0 && c->kernel < m->n_kernels && *c->kind && *c->shape, "profile/call_%d_described", i);
    }
    ok(named, "profile/source_named");
    for (int64_t n = 1; n <= 8; n += 7) {
        const hone_model_time *t = run(m, x, n);
        if (ok(t != NULL, "profile/runs n=%d", (int)n)) check_calls(m, t, n);
    }
    m->free(x);
}

int main(void) {
    char folder[] = "/tmp/hone-test-profile-XXXXXX";
    hone_err err = {0};
    if (!mkdtemp(folder)) return 1;
    hone_artifact *timed = build(folder, true, &err);
    if (ok(timed != NULL, "profile/timed_build %s", err.text)) check_timed(hone_artifact_model(timed));
    hone_artifact_free(timed);
    hone_artifact *plain = build(folder, false, &err);
    if (ok(plain != NULL, "profile/plain_build %s", err.text))
        ok(!hone_artifact_model(plain)->profile, "profile/plain_build_has_none");
    hone_artifact_free(plain);
    hn_remove_tree(folder, NULL);
    return done_testing();
}
