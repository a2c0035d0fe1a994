/* Every function that takes options refuses a struct without its size and one that is newer than the library, and takes
 * one that is older; defaults leave the core to the library. */
#include <hone/artifact.h>
#include <hone/check.h>
#include <hone/compile.h>
#include <hone/explain.h>
#include <hone/import.h>
#include <hone/latency.h>
#include <hone/onnx.h>
#include <hone/pack.h>
#include <hone/pass.h>
#include <hone/peer.h>
#include <hone/profile.h>
#include <hone/program.h>
#include <hone/prove.h>
#include <hone/quantize.h>
#include <hone/reduce.h>
#include <hone/search.h>
#include <hone/target.h>
#include <hone/text.h>
#include <hone/tune.h>
#include <hone/tune_model.h>
#include <hone/verify.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static hone_err err;
static const char file[] = "/dev/null/x";

/* What the functions work on: nothing, since options are looked at first. */
typedef struct subjects {
    hone_workload *workload;
    hone_space *space;
    hone_graph *graph;
    hone_target *target;
    hone_recording *recording;
    double point[8];
} subjects;

/* One call each; `o` is the struct of options under test. */
static hone_rc call_import(subjects *s, const void *o) { return hone_import_model(file, o, &s->graph, NULL, &err); }
static hone_rc call_import_memory(subjects *s, const void *o) {
    return hone_import_memory("", 0, o, &s->graph, NULL, &err);
}
static hone_rc call_passes(subjects *s, const void *o) {
    return hone_graph_run_passes(s->graph, NULL, o, NULL, 0, NULL, &err);
}
static hone_rc call_optimise(subjects *s, const void *o) { return hone_graph_optimise(&s->graph, NULL, 0, o, &err); }
static hone_rc call_gen(subjects *s, const void *o) { return (void)s, hone_gen_onnx("mlp", file, o, NULL, &err); }
static hone_rc call_compile(subjects *s, const void *o) { return (void)s, hone_compile_model(file, o, NULL, &err); }
static hone_rc call_compile_graph(subjects *s, const void *o) {
    return hone_compile_graph(s->graph, "x", o, NULL, &err);
}
static hone_rc call_program(subjects *s, const void *o) {
    char *out;
    return hone_program_print(s->graph, "x", o, &out, NULL, &err);
}
static hone_rc call_text(subjects *s, const void *o) {
    hone_text *out;
    return (void)s, hone_text_open(file, o, &out, &err);
}
static hone_rc call_text_generate(subjects *s, const void *o) {
    hone_text_answer out;
    return (void)s, hone_text_generate(NULL, o, &out, &err);
}
static hone_rc call_quantize(subjects *s, const void *o) {
    return (void)s, hone_quantize_file(file, "/dev/null/y", o, NULL, &err);
}
static hone_rc call_importance(subjects *s, const void *o) {
    return (void)s, hone_quantize_importance(file, "x", 1, "/dev/null/y", o, NULL, &err);
}
static hone_rc call_artifact(subjects *s, const void *o) {
    hone_artifact *out;
    return (void)s, hone_artifact_load(file, o, &out, &err);
}
static hone_rc call_peer(subjects *s, const void *o) {
    hone_peer *out;
    return (void)s, hone_peer_open(file, o, &out, &err);
}
static hone_rc call_latency(subjects *s, const void *o) {
    hone_latency out;
    return (void)s, hone_latency_measure(NULL, NULL, o, &out, &err);
}
static hone_rc call_profile(subjects *s, const void *o) {
    hone_profile out;
    return (void)s, hone_profile_model(NULL, NULL, o, &out, &err);
}
static hone_rc call_verify(subjects *s, const void *o) {
    bool same;
    return (void)s, hone_verify_run(NULL, o, NULL, &same, &err);
}
static hone_rc call_target(subjects *s, const void *o) { return hone_target_space(s->target, o, &s->space, &err); }
static hone_rc call_search(subjects *s, const void *o) {
    hone_search *out;
    return hone_search_open(s->space, o, &out, &err);
}
static hone_rc call_replay(subjects *s, const void *o) {
    hone_replay_result out;
    return hone_replay_run(s->recording, o, &out, &err);
}
static hone_rc call_tune(subjects *s, const void *o) {
    hone_tune_result out;
    return hone_tune_run(s->workload, o, &out, &err);
}
static hone_rc call_workload_space(subjects *s, const void *o) {
    hone_space *out;
    return hone_workload_space(s->workload, o, &out, &err);
}
static hone_rc call_workload_command(subjects *s, const void *o) {
    char *out;
    return hone_workload_command(s->workload, s->space, s->point, o, &out, &err);
}
static hone_rc call_workload_flags(subjects *s, const void *o) {
    hone_command out;
    return hone_workload_flags(s->workload, s->space, s->point, o, &out, &err);
}
static hone_rc call_validate(subjects *s, const void *o) {
    const char *const point[] = {"{}"};
    hone_proofs out;
    return hone_prove_validate(s->workload, point, 1, 0, o, &out, &err);
}
static hone_rc call_minimize(subjects *s, const void *o) {
    hone_reduction out;
    return hone_prove_minimize(s->workload, "{}", o, &out, &err);
}
static hone_rc call_explain(subjects *s, const void *o) {
    hone_explanation out;
    return hone_prove_explain(s->workload, "{}", o, &out, &err);
}
static hone_rc call_canary(subjects *s, const void *o) {
    hone_canary_result out;
    return hone_canary_run(s->workload, o, &out, &err);
}
static hone_rc call_controls_make(subjects *s, const void *o) {
    hone_proof proof = {.kept = true};
    hone_controls *out;
    return hone_controls_make(s->workload, &proof, NULL, 0, ".", o, &out, &err);
}
static hone_rc call_controls_point(subjects *s, const void *o) {
    char *out;
    return hone_controls_point(NULL, s->workload, o, &out, &err);
}
static hone_rc call_controls_nearest(subjects *s, const void *o) {
    char *out, *dropped;
    return hone_controls_nearest(NULL, s->workload, o, &out, &dropped, &err);
}
static hone_rc call_check(subjects *s, const void *o) {
    hone_check_result out;
    return (void)s, hone_check_controls(file, o, &out, &err);
}
static hone_rc call_check_prove(subjects *s, const void *o) {
    hone_check_options with = hone_check_defaults();
    with.prove = o;
    return call_check(s, &with);
}
static hone_rc call_tune_model(subjects *s, const void *o) {
    hone_tune_model_result out;
    return hone_tune_model_run(s->graph, "x", o, &out, &err);
}
static hone_rc call_tune_model_compile(subjects *s, const void *o) {
    hone_tune_model_options with = hone_tune_model_defaults();
    with.compile = o;
    return call_tune_model(s, &with);
}

static const struct {
    const char *name, *options;
    size_t size;
    hone_rc (*call)(subjects *s, const void *o);
} row[] = {
    {"import_model", "import", sizeof(hone_import_options), call_import},
    {"import_memory", "import", sizeof(hone_import_options), call_import_memory},
    {"gen_onnx", "gen", sizeof(hone_gen_options), call_gen},
    {"graph_run_passes", "pass", sizeof(hone_pass_options), call_passes},
    {"graph_optimise", "pass", sizeof(hone_pass_options), call_optimise},
    {"compile_model", "compile", sizeof(hone_compile_options), call_compile},
    {"compile_graph", "compile", sizeof(hone_compile_options), call_compile_graph},
    {"program_print", "compile", sizeof(hone_compile_options), call_program},
    {"text_open", "text", sizeof(hone_text_options), call_text},
    {"text_generate", "text_generate", sizeof(hone_text_generate_options), call_text_generate},
    {"quantize_file", "quantize", sizeof(hone_quantize_options), call_quantize},
    {"quantize_importance", "quantize_importance", sizeof(hone_quantize_importance_options), call_importance},
    {"artifact_load", "artifact", sizeof(hone_artifact_options), call_artifact},
    {"peer_open", "peer", sizeof(hone_peer_options), call_peer},
    {"latency_measure", "latency", sizeof(hone_latency_options), call_latency},
    {"profile_model", "latency", sizeof(hone_latency_options), call_profile},
    {"verify_run", "verify", sizeof(hone_verify_options), call_verify},
    {"target_space", "target", sizeof(hone_target_options), call_target},
    {"search_open", "search", sizeof(hone_search_options), call_search},
    {"replay_run", "replay", sizeof(hone_replay_options), call_replay},
    {"tune_run", "tune", sizeof(hone_tune_options), call_tune},
    {"workload_space", "tune", sizeof(hone_tune_options), call_workload_space},
    {"workload_command", "tune", sizeof(hone_tune_options), call_workload_command},
    {"workload_flags", "tune", sizeof(hone_tune_options), call_workload_flags},
    {"prove_validate", "prove", sizeof(hone_prove_options), call_validate},
    {"prove_minimize", "prove", sizeof(hone_prove_options), call_minimize},
    {"prove_explain", "prove", sizeof(hone_prove_options), call_explain},
    {"canary_run", "prove", sizeof(hone_prove_options), call_canary},
    {"controls_make", "prove", sizeof(hone_prove_options), call_controls_make},
    {"controls_point", "prove", sizeof(hone_prove_options), call_controls_point},
    {"controls_nearest", "prove", sizeof(hone_prove_options), call_controls_nearest},
    {"check_controls", "check", sizeof(hone_check_options), call_check},
    {"check_controls_prove", "prove", sizeof(hone_prove_options), call_check_prove},
    {"tune_model_run", "tune_model", sizeof(hone_tune_model_options), call_tune_model},
    {"tune_model_run_compile", "compile", sizeof(hone_compile_options), call_tune_model_compile},
};

static void refused(size_t i, subjects *s, size_t size, const char *what) {
    union {
        size_t size;
        char byte[1024];
    } o = {.size = size};
    char want[80];
    snprintf(want, sizeof want, "hone_%s_defaults()", row[i].options);
    err.text[0] = 0;
    ok(row[i].call(s, &o) == HONE_E_USAGE && strstr(err.text, want), "options/%s_%s: %s", row[i].name, what, err.text);
}

/* A struct that ends before a field: what stands there in memory is not read. */
static void older(void) {
    hone_gen_options o = {.size = offsetof(hone_gen_options, dynamic), .batch = 1, .seq = 4, .dynamic = true};
    char folder[] = "/tmp/hone-options-XXXXXX", path[64];
    hone_graph_port in = {0};
    hone_graph *g = NULL;
    if (!mkdtemp(folder)) return;
    snprintf(path, sizeof path, "%s/mlp.onnx", folder);
    hone_rc rc = hone_gen_onnx("mlp", path, &o, NULL, &err);
    if (!rc) rc = hone_import_model(path, NULL, &g, NULL, &err);
    if (!rc) rc = hone_graph_input(g, 0, &in, &err);
    ok(!rc && in.dim[0] == 1, "options/older_struct_has_the_default_of_a_later_field %s", err.text);
    hone_graph_free(g);
    remove(path), remove(folder);
}

static void devices(void) {
    hone_artifact_options a = hone_artifact_defaults();
    hone_latency_options l = hone_latency_defaults();
    hone_tune_model_options t = hone_tune_model_defaults();
    subjects s = {0};
    a.device = l.device = t.device = 1;
    ok(call_artifact(&s, &a) == HONE_E_UNSUPPORTED && strstr(err.text, "no device 1"), "options/no_device_to_load_on");
    ok(call_latency(&s, &l) == HONE_E_UNSUPPORTED, "options/no_device_to_measure_on");
    ok(call_profile(&s, &l) == HONE_E_UNSUPPORTED, "options/no_device_to_profile_on");
    ok(call_tune_model(&s, &t) == HONE_E_UNSUPPORTED, "options/no_device_to_tune_on");
}

int main(void) {
    subjects s = {0};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        refused(i, &s, 0, "without_a_size");
        refused(i, &s, row[i].size + sizeof(size_t), "newer_than_the_library");
    }
    older();
    devices();
    ok(hone_tune_defaults().cpu == -1 && hone_prove_defaults().cpu == -1 && hone_tune_model_defaults().cpu == -1,
       "options/the_core_is_chosen_by_default");
    return done_testing();
}
