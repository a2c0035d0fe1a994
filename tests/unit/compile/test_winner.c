/* Winners in a compilation: taken by key, in other models too, with flags of their own; refused where anything behind
 * the proof has changed. Whose turn it is in tuning. And a library that was compiled before. */
#include "base/fs.h"
#include "compile/driver.h"
#include "compile/winner.h"
#include "tap.h"
#include "tune_model/tune_model_int.h"

#include <hone/artifact.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char one[] = "ir 1\ninput %0 : f32[24, 40] \"x\"\ninput %1 : f32[40, 32] \"w\"\n"
                          "%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
                          "output %2 \"y\"\n";
/* The same product, behind something else, under other numbers. */
static const char other[] =
    "ir 1\ninput %0 : f32[9] \"z\"\ninput %1 : f32[40, 32] \"w\"\ninput %2 : f32[24, 40] \"x\"\n"
    "%3 = exp %0\n"
    "%4 = contract %2, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\n"
    "output %3 \"a\"\noutput %4 \"b\"\n";

static char folder[64];
static const char *path_of(const char *name) {
    static char path[4][160];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static hone_graph *graph_of(const char *text) {
    hone_graph *g = NULL;
    hone_err err = {0};
    if (hone_graph_parse(text, strlen(text), &g, &err)) printf("# %s\n", err.text);
    return g;
}

/* A winner of the product: the schedule that is not the default one. */
static int make_winner(hone_winners *file, const char *flags, hone_winner *out) {
    static const hone_compile_options options = {.size = sizeof(hone_compile_options), .no_winners = true};
    hn_library lib = {.options = &options};
    hn_kernel_code code = {0};
    hone_err err = {0};
    char hash[33], dflt[33];
    hone_graph *g = graph_of(one);
    hone_winner w;
    int good = !hn_compile_kernels(&lib, g, "one", &err) && !hn_winner_key_begin(&lib.model[0], &err);
    if (good) {
        hn_model *m = &lib.model[0];
        hn_kernel *k = &m->kernel[0];
        const hn_emit_how how = {.dialect = m->dialect, .machine = m->machine, .schedule = "plain"};
        good = hn_winner_key(m, k, NULL, 1, &w) &&
               !hn_emit_kernel(m->g, k->body, k->kind, k->name, &how, &m->arena, &code, &err);
        hn_code_hash(&k->code, k->name, "", "", dflt);
        if (good) hn_code_hash(&code, k->name, "", flags, hash);
        w.schedule = "plain", w.flags = flags, w.cc = w.cc_identity = "";
        w.code = hash, w.default_code = dflt, w.provenance = "a test";
        w.gain = 1.25, w.gain_lo = 1.2, w.gain_hi = 1.3, w.at_s = 1e9;
        good = good && !hone_winners_put(file, &w, &err) && !hone_winners_find(file, &w, out, &err);
    }
    if (!good) printf("# %s\n", err.text);
    hn_library_free(&lib);
    hone_graph_free(g);
    return good;
}

static hone_compile_result compile(const char *text, const char *winners, hone_emit emit, const char *name) {
    hone_compile_result r = {0};
    hone_err err = {0};
    const hone_compile_options o = {.size = sizeof(hone_compile_options),
                                    .output = path_of(name),
                                    .winners = winners,
                                    .emit = emit,
                                    .no_winners = !winners};
    hone_graph *g = graph_of(text);
    if (hone_compile_graph(g, name, &o, &r, &err)) printf("# %s\n", err.text), r.n_winners = 99;
    hone_graph_free(g);
    hone_free(r.text);
    r.text = NULL;
    return r;
}

/* Does the summary of a compilation with this file of winners say so? */
static int summary_says(hone_winners *file, const hone_winner *only, const char *db, const char *what) {
    hone_compile_result r = {0};
    hone_err err = {0};
    const hone_compile_options o = {.size = sizeof(hone_compile_options), .output = path_of("why"), .winners = db};
    hone_graph *g = graph_of(one);
    hone_winner *all = NULL;
    size_t n = 0;
    char id[33];
    hone_winners_list(file, &all, &n, NULL);
    for (size_t i = 0; i < n; i++) hone_winner_id(&all[i], id), hone_winners_remove(file, id, NULL);
    hone_winners_list_free(all, n);
    hone_winners_put(file, only, NULL);
    int said = !hone_compile_graph(g, "why", &o, &r, &err) && strstr(r.text, what);
    if (!said) printf("# %s%s\n", err.text, r.text ? r.text : "");
    hone_graph_free(g);
    hone_free(r.text);
    return said;
}

static int manifest_says(const char *name, const char *what) {
    char file[64], *text = NULL;
    size_t n;
    snprintf(file, sizeof file, "%s.manifest", name);
    int found = !hn_read_file(path_of(file), &text, &n, NULL) && strstr(text, what);
    free(text);
    return found;
}

static void test_taken(void) {
    hone_winners *file = NULL;
    hone_winner w = {0};
    char db[160];
    strcpy(db, path_of("w.db"));
    ok(!hone_winners_open(db, true, &file, NULL), "winner/file_opens");
    ok(make_winner(file, "-O3 -funroll-loops", &w), "winner/is_made");
    hone_compile_result r = compile(one, db, HONE_EMIT_SO, "one");
    ok(r.n_winners == 1 && r.n_fallback == 0, "winner/is_taken");
    ok(manifest_says("one", "winner: \"-O3 -funroll-loops 1.250 (1.200 .. 1.300), 2001-09-09, a test\"") &&
           manifest_says("one", "schedule: \"plain\"") && manifest_says("one", "parity: same"),
       "winner/manifest_says_so");
    ok(compile(other, db, HONE_EMIT_SO, "other").n_winners == 1, "winner/is_taken_by_another_model");
    ok(compile(one, NULL, HONE_EMIT_SO, "none").n_winners == 0, "winner/none_without_winners");
    ok(compile(one, db, HONE_EMIT_C, "c").n_winners == 0, "winner/flags_do_not_fit_one_c_file");
    hone_winner bad = w;
    bad.default_code = "0123";
    ok(!hone_winners_put(file, &bad, NULL) && compile(one, db, HONE_EMIT_SO, "one").n_winners == 0,
       "winner/refused_where_the_default_changed");
    bad = w, bad.code = "0123";
    ok(!hone_winners_put(file, &bad, NULL) && compile(one, db, HONE_EMIT_SO, "one").n_winners == 0,
       "winner/refused_where_its_code_changed");
    bad = w, bad.flags = "-O3 -fplugin=evil.so";
    ok(!hone_winners_put(file, &bad, NULL) && compile(one, db, HONE_EMIT_SO, "one").n_winners == 0,
       "winner/refused_with_flags_that_are_not_tuned");
    bad = w, bad.cc = "sh -c gcc";
    ok(!hone_winners_put(file, &bad, NULL) && compile(one, db, HONE_EMIT_SO, "one").n_winners == 0,
       "winner/refused_with_a_command_that_is_no_compiler");
    bad = w, bad.schedule = "nonsense rows=7";
    ok(!hone_winners_put(file, &bad, NULL) && compile(one, db, HONE_EMIT_SO, "one").n_winners == 0,
       "winner/refused_with_a_schedule_that_is_none");
    bad = w, bad.compiler = "gcc 9; 0123";
    ok(summary_says(file, &bad, db, "not taken: 1 of another compiler"), "winner/of_another_compiler_is_named");
    bad = w, bad.device = "a faster one";
    ok(summary_says(file, &bad, db, "not taken: 1 of another machine"), "winner/of_another_machine_is_named");
    bad = w, bad.code = "0123";
    ok(summary_says(file, &bad, db, "not taken: 1 of other code"), "winner/of_other_code_is_named");
    bad = w, bad.sizes = "3 threads";
    ok(summary_says(file, &bad, db, "winners   1 of"), "winner/of_other_threads_serves");
    ok(compile(one, path_of("missing.db"), HONE_EMIT_SO, "one").n_winners == 99, "winner/a_named_file_must_be_there");
    hone_winner_free(&w);
    hone_winners_close(file);
}

static void test_cache(void) {
    hone_compile_result first = compile(one, NULL, HONE_EMIT_SO, "one"),
                        again = compile(one, NULL, HONE_EMIT_SO, "one");
    ok(again.cached && first.n_distinct == again.n_distinct && again.code_b > 0, "winner/second_compilation_is_known");
    ok(manifest_says("one", "parity: same"), "winner/known_library_has_its_verdicts");
    hone_artifact *p = NULL;
    ok(!hone_artifact_load(path_of("one.so"),
                           &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, &p, NULL),
       "winner/known_library_loads");
    hone_artifact_free(p);
}

static void test_flags(void) {
    ok(hn_flags_known("gcc", "") && hn_flags_known("gcc", "-O3 -funroll-loops"), "winner/flags_known");
    ok(!hn_flags_known("gcc", "-O3 -ffast-math") && !hn_flags_known("clang", "-funroll-loops"), "winner/flags_unknown");
}

static void test_turns(void) {
    hn_prospect p[3] = {{.share = 0.6, .best = 1, .eval_s = 0.1},
                        {.share = 0.3, .best = 1, .eval_s = 0.1},
                        {.share = 0.1, .best = 1, .eval_s = 0.1}};
    ok(hn_prospect_next(p, 3) == 0, "tune/turn_of_the_largest_share");
    p[0].n_since = 30;
    ok(hn_prospect_next(p, 3) == 1, "tune/turn_passes_when_nothing_is_found");
    p[1].bound = 0.99;
    ok(hn_prospect_next(p, 3) == 0, "tune/turn_passes_at_the_roofline");
    p[0].done = p[1].done = true;
    ok(hn_prospect_next(p, 3) == 2, "tune/turn_of_what_is_left");
    p[2].best = 0.9, p[2].bound = 0.95;
    ok(hn_prospect_next(p, 3) == 3, "tune/turn_of_nobody");
    p[2] = (hn_prospect){.share = 0.1, .best = 1, .eval_s = 0.1}, p[1] = p[2], p[1].eval_s = 0.05, p[1].done = false;
    ok(hn_prospect_next(p, 3) == 1, "tune/turn_of_the_quicker");
    ok(hn_prospect_next(p, 0) == 0, "tune/turn_of_no_kernels");
}

int main(void) {
    strcpy(folder, "/tmp/hone-winner-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    setenv("XDG_CACHE_HOME", folder, 1); /* an empty one */
    test_taken();
    test_cache();
    test_flags();
    test_turns();
    ok(hn_remove_tree(folder, NULL) == HONE_OK, "winner/cleans_up");
    return done_testing();
}
