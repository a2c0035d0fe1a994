/* What the driver believes of a measurement: second opinions, limits, reuse of equal objects, resumption. Programs are
 * lines of shell; costs are printed, so no timing is asserted. */
#include "tap.h"

#include "base/fs.h"
#include "base/str.h"
#include "proc/proc.h"

#include <hone/tune.h>

#include <math.h>
#include <unistd.h>

static char root[] = "/tmp/hone-test-trial-XXXXXX";

static char *sub(const char *name, const char *more) {
    hn_str s = {0};
    hn_str_addf(&s, "%s/%s%s", root, name, more);
    return hn_str_take(&s);
}

static hone_rc tune(const char *text, const char *name, const hone_tune_options *extra, hone_tune_result *out,
                    hone_err *err) {
    char *dir = sub(name, "");
    hone_workload *w = NULL;
    hn_make_dirs(dir, NULL);
    hone_tune_options o = extra ? *extra : hone_tune_defaults();
    if (!o.engine) o.engine = "random";
    *out = (hone_tune_result){0};
    hone_rc rc = hone_workload_parse(text, strlen(text), name, dir, &w, err);
    if (!rc) rc = hone_tune_run(w, &o, out, err);
    hone_workload_free(w);
    free(dir);
    return rc;
}

static bool runs(const char *text, const char *name, const hone_tune_options *o, hone_tune_result *r) {
    hone_err err = {0};
    bool fine = ok(tune(text, name, o, r, &err) == HONE_OK, "trial/%s_runs", name);
    if (!fine) printf("# %s\n", err.text);
    return fine;
}

static hone_trials trials_of(const char *name, int64_t session) {
    char *path = sub(name, "/.hone");
    hone_store *store = NULL;
    hone_trials all = {0};
    if (!hone_store_open(path, false, &store, NULL)) hone_trials_load(store, session, true, &all, NULL);
    hone_store_close(store);
    free(path);
    return all;
}

/* The search trial of a point, NULL. */
static const hone_trial *trial_at(const hone_trials *all, const char *phase, const char *point) {
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->trial[i].phase, phase) && !strcmp(all->trial[i].point, point)) return &all->trial[i];
    return NULL;
}

/* Prints a noisy cost; LIE prints almost none after the same work. */
static void test_a_lie_is_caught(void) {
    static const char text[] =
        "hone: 1\nname: lie\ncontrols: false\n"
        "run: 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; n=$(date +%N); n=${n#0}; "
        "case {MODE} in lie) echo cost: 0.00001${n};; *) echo cost: 1.000${n};; esac'\n"
        "parameters:\n  MODE: {type: choice, values: [fair, lie], default: fair}\n"
        "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: none}\n"
        "budget: {evaluations: 2}\n";
    hone_tune_result r;
    if (!runs(text, "lie", NULL, &r)) return;
    hone_trials all = trials_of("lie", r.session);
    const hone_trial *lie = trial_at(&all, "search", "{\"MODE\": \"lie\"}");
    ok(lie && lie->suspect && lie->outcome.cls == HONE_NO_METRIC, "trial/own_timing_below_the_floor_is_suspect");
    ok(lie && strstr(lie->detail, "cannot be trusted"), "trial/suspect_says_why");
    is_text(r.best_point, "{\"MODE\": \"fair\"}", "trial/a_lie_does_not_win");
    hone_trials_free(&all);
    hone_tune_result_free(&r);
}

/* What the supervisor measures needs no second opinion. */
static void test_less_memory_is_believed(void) {
    static const char text[] = "hone: 1\nname: lean\ncontrols: false\n"
                               "run: 'x=$(head -c {KB}000 /dev/zero | tr \"\\0\" x); i=0; n=$((200000 / {KB})); while "
                               "[ $i -lt $n ]; do i=$((i+1)); done'\n"
                               "parameters:\n  KB: {type: ordinal, values: [1, 16000], default: 16000}\n"
                               "objectives: [minimize memory]\nparity: {rule: none}\nbudget: {evaluations: 2}\n";
    hone_tune_result r;
    if (!runs(text, "lean", NULL, &r)) return;
    ok(r.n_class[HONE_RUN_OK] == 2, "trial/a_tenth_of_the_memory_is_no_suspect");
    ok(r.speedup > 6.7, "trial/memory_ratio");
    hone_tune_result_free(&r);
}

static void test_limits(void) {
    static const struct {
        const char *name, *run, *limit, *best;
        size_t n_ok;
    } cases[] = {
        {"zero_risk", "A={A}; echo cost: $((10 - A)); echo risk: $((3 - A))", "risk <= 9", "{\"A\": 3}", 4},
        {"baseline_beyond", "A={A}; echo cost: $((10 + A)); echo risk: $((3 - A))", "risk <= 1", "{\"A\": 2}", 4},
        {"at_least", "A={A}; echo cost: $((10 + A)); echo risk: $((A + 1))", "risk >= 3", "{\"A\": 2}", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str text = {0};
        hn_str_addf(&text,
                    "hone: 1\nname: limits\ncontrols: false\nrun: '%s'\n"
                    "parameters:\n  A: {type: int, range: [0, 3], default: 0}\n"
                    "metrics: {source: lines, names: [cost, risk]}\nobjectives: [minimize cost]\n"
                    "limits: ['%s']\nparity: {rule: none}\nbudget: {evaluations: 4}\n",
                    cases[i].run, cases[i].limit);
        hone_tune_result r;
        if (runs(text.text, cases[i].name, NULL, &r)) {
            ok(r.n_class[HONE_RUN_OK] == cases[i].n_ok, "trial/%s_every_value_is_a_value", cases[i].name);
            is_text(r.best_point, cases[i].best, "trial/limits_best");
        }
        hone_tune_result_free(&r);
        hn_str_free(&text);
    }
}

/* The geometric mean over inputs, by weight; the held-out input is never run. */
static void test_weights_and_held_out(void) {
    static const char text[] =
        "hone: 1\nname: weights\ncontrols: false\nrun: 'A={A}; {input}'\n"
        "inputs:\n  - {name: rising, args: 'echo cost: $((1 + A))', weight: 1}\n"
        "  - {name: falling, args: 'echo cost: $((4 - A))', weight: 3}\n"
        "  - {name: kept, args: 'exit 9', held_out: true}\n"
        "parameters:\n  A: {type: int, range: [0, 3], default: 0}\n"
        "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: none}\n"
        "budget: {evaluations: 4}\n";
    hone_tune_result r;
    if (!runs(text, "weights", NULL, &r)) return;
    is_text(r.best_point, "{\"A\": 3}", "trial/the_heavy_input_decides");
    ok(fabs(r.speedup - pow(0.25, 0.25) * pow(4, 0.75)) < 1e-9, "trial/weighted_geometric_mean");
    hone_tune_result_free(&r);
}

static void test_plain_values(void) {
    static const char text[] =
        "hone: 1\nname: plain\ncontrols: false\nrun: 'echo score: $(( {A} - 2 ))'\n"
        "parameters:\n  A: {type: int, range: [0, 6], default: 1}\n"
        "metrics: {source: lines, names: [score]}\nobjectives: [maximize score]\nparity: {rule: none}\n"
        "budget: {evaluations: 7}\n";
    hone_tune_result r;
    if (!runs(text, "plain", NULL, &r)) return;
    is_text(r.best_point, "{\"A\": 6}", "trial/values_below_zero_are_compared_as_they_are");
    ok(isnan(r.speedup), "trial/values_below_zero_have_no_ratio");
    hone_tune_result_free(&r);
}

static void test_percentile(void) {
    static const char text[] =
        "hone: 1\nname: tail\ncontrols: false\n"
        "run: 'for i in 1 2 3 4 5 6 7 8 9; do echo t: 1$i; done; echo t: {A}00'\n"
        "parameters:\n  A: {type: int, range: [1, 5], default: 3}\n"
        "metrics: {source: lines, names: [t]}\nobjectives: [minimize max(t)]\nlimits: ['min(t) <= 20']\n"
        "parity: {rule: none}\nbudget: {evaluations: 5}\n";
    hone_tune_result r;
    if (!runs(text, "tail", NULL, &r)) return;
    is_text(r.best_point, "{\"A\": 1}", "trial/aggregate_best");
    ok(fabs(r.speedup - 3) < 1e-9, "trial/aggregate_is_over_all_samples");
    hone_tune_result_free(&r);
}

/* Values of A that differ only in the word they are put into make one object. */
static void test_equal_objects(void) {
    static const char text[] =
        "hone: 1\nname: equal\ncontrols: false\n"
        "build: 'printf \"#!/bin/sh\\necho cost: %%d\\n\" $(( ({A} / 2) + 1 )) > {out}; chmod +x {out}'\n"
        "run: 'echo n >> %s/runs; {out}; : {B}'\n"
        "parameters:\n  A: {type: int, range: [0, 3], default: 0}\n  B: {type: int, range: [0, 1], default: 0}\n"
        "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: none}\n"
        "budget: {evaluations: 8}\n";
    hn_str t = {0};
    hn_str_addf(&t, text, root);
    hone_tune_result r;
    if (runs(t.text, "equal", NULL, &r)) {
        hone_trials all = trials_of("equal", r.session);
        const hone_trial *a = trial_at(&all, "search", "{\"A\": 2, \"B\": 1}"),
                         *b = trial_at(&all, "search", "{\"A\": 3, \"B\": 1}");
        ok(r.n_reused == 5, "trial/equal_objects_run_once"); /* 4 kinds; one of them is the baseline */
        ok(a && b && !strcmp(a->object_hash, b->object_hash), "trial/equal_objects_have_one_hash");
        ok(a && b && (a->same_as == b->id) + (b->same_as == a->id) == 1, "trial/same_as_names_the_other");
        ok(a && b && a->outcome.value[0] == b->outcome.value[0], "trial/equal_objects_have_one_value");
        hone_trials_free(&all);
    }
    hone_tune_result_free(&r);
    hn_str_free(&t);
}

static void on_event(void *ctx, const hone_event *event) {
    const hone_tune_event *e = (const hone_tune_event *)event;
    int *left = ctx;
    if (e->stage == HONE_TUNE_TRIAL && --left[0] == 0) left[1] = 1;
}

/* Nothing is built, so objects are known by their parameters alone: also after a resumption. */
static void test_resume_without_build(void) {
    static const char text[] =
        "hone: 1\nname: bare\ncontrols: false\nrun: 'echo cost: $(( {A} + 5 ))'\n"
        "parameters:\n  A: {type: int, range: [0, 9], default: 9}\n"
        "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: none}\n"
        "budget: {evaluations: 10}\n";
    int left[2] = {8, 0};
    hone_tune_options o = {
        .size = sizeof(hone_tune_options), .cpu = -1, .n_jobs = 1, .progress = {on_event, left}, .stop = &left[1]};
    hone_tune_result r;
    if (!runs(text, "bare", &o, &r)) return;
    int64_t session = r.session;
    hone_tune_result_free(&r);
    left[1] = 0;
    o.max_evals = 4;
    if (!runs(text, "bare", &o, &r)) return;
    ok(r.session == session && r.n_trials == 8, "trial/resumed_with_fewer_evaluations_than_done");
    is_text(r.reason, "evaluations", "trial/which_are_used_up");
    hone_trials all = trials_of("bare", session);
    size_t n_race = 0;
    for (size_t i = 0; i < all.n; i++) n_race += !strcmp(all.trial[i].phase, "race");
    ok(n_race == 5, "trial/resumed_elite_is_whole");
    hone_trials_free(&all);
    hone_tune_result_free(&r);
}

static void test_warm_start(void) {
    static const char text[] =
        "hone: 1\nname: warm\ncontrols: false\nrun: 'A={A}; echo cost: $(( (A - 777) * (A - 777) + 1 ))'\n"
        "parameters:\n  A: {type: int, range: [0, 999], default: 0}\n"
        "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: none}\n"
        "budget: {evaluations: 12}\n";
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .resume = -1};
    hone_tune_result first, again;
    if (!runs(text, "warm", &o, &first)) return;
    o = (hone_tune_options){
        .size = sizeof(hone_tune_options), .cpu = -1, .resume = -1, .warm_start = true, .max_evals = 2, .seed = 5};
    if (runs(text, "warm", &o, &again))
        is_text(again.best_point, first.best_point, "trial/warm_start_begins_with_the_winner");
    hone_tune_result_free(&again);
    o.max_evals = 20;
    o.seed = 6;
    if (runs(text, "warm", &o, &again)) {
        hone_trials all = trials_of("warm", again.session);
        size_t n = 0;
        for (size_t i = 0; i < all.n; i++) n += !strcmp(all.trial[i].origin, "seed");
        ok(n == 1 + 2, "trial/winners_take_a_tenth_of_the_budget # %zu", n);
        hone_trials_free(&all);
        hone_tune_result_free(&again);
    }
    hone_tune_result_free(&first);
}

/* A run that leaves no file must not be judged by the file of the input before it. */
static void test_stale_output(void) {
    static const char text[] = "hone: 1\nname: stale\ncontrols: false\n"
                               "run: 'echo cost: 1; [ {A}{input} = 1b ] || echo same > result'\n"
                               "inputs: [{name: a, args: a}, {name: b, args: b}]\n"
                               "parameters:\n  A: {type: int, range: [0, 1], default: 0}\n"
                               "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\n"
                               "parity: {rule: exact, output: result}\nbudget: {evaluations: 2}\n";
    hone_tune_result r;
    if (!runs(text, "stale", NULL, &r)) return;
    ok(r.n_class[HONE_WRONG_RESULT] == 1, "trial/an_earlier_output_does_not_count");
    hone_tune_result_free(&r);
}

static void test_refusals_leave_no_session(void) {
    static const char text[] = "hone: 1\nname: none\ncontrols: false\nrun: 'echo cost: {A}'\n"
                               "parameters:\n  A: {type: int, range: [1, 9], default: 9}\n"
                               "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\n"
                               "parity: {rule: none}\nbudget: {evaluations: 3}\n";
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .engine = "nosuch"};
    hone_tune_result r;
    hone_err err = {0};
    ok(tune(text, "none", &o, &r, &err) != HONE_OK && strstr(err.text, "nosuch"), "trial/wrong_engine_is_named");
    char *store = sub("none", "/.hone");
    ok(!hn_exists(store), "trial/wrong_engine_leaves_no_store");
    free(store);
    o = (hone_tune_options){.size = sizeof(hone_tune_options), .cpu = -1, .store_dir = "/dev/null/x"};
    ok(tune(text, "none", &o, &r, &err) != HONE_OK, "trial/store_that_cannot_be");
    char *file = sub("none", "/file");
    hn_write_file(file, "x", 1, NULL);
    char *under = sub("none", "/.hone/work");
    char *parent = sub("none", "/.hone");
    hn_make_dirs(parent, NULL);
    hn_write_file(under, "x", 1, NULL); /* a file where the folder should be */
    ok(tune(text, "none", NULL, &r, &err) == HONE_E_IO && strstr(err.text, "work"), "trial/work_folder_that_cannot_be");
    free(file);
    free(under);
    free(parent);
}

/* Objectives that a build or a counter gives: the compiler is the one that is here, -O levels are a parameter. */
static hone_rc of_objective(const char *objective, const char *name, hone_tune_result *r, hone_err *err) {
    static const char program[] = "int main(int n, char **v) { unsigned s = 1; (void)v;\n"
                                  "for (unsigned i = 0; i < 20000u * n; i++) s = s * 5 + (i ^ (s >> 3));\n"
                                  "return s == 77; }\n";
    char *dir = sub(name, ""), *path = sub(name, "/p.c");
    hn_make_dirs(dir, NULL);
    hn_write_file(path, program, strlen(program), NULL);
    hn_str text = {0};
    hn_str_addf(&text,
                "hone: 1\nname: %s\ncontrols: false\nsources: [p.c]\nbuild: 'gcc -O{O} p.c -o {out}'\nrun: '{out}'\n"
                "parameters: {O: {type: choice, values: ['0', '2', '02'], default: '0'}}\n"
                "objectives: [minimize %s]\nparity: {rule: none}\nbudget: {evaluations: 3}\n",
                name, objective);
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .resume = -1};
    hone_rc rc = tune(text.text, name, &o, r, err);
    hn_str_free(&text);
    free(dir);
    free(path);
    return rc;
}

/* Sizes and counts are whole numbers, however they were compared. */
static bool all_whole(const char *name, int64_t session) {
    hone_trials all = trials_of(name, session);
    bool fine = all.n > 0;
    for (size_t i = 0; i < all.n; i++) {
        double x = all.trial[i].outcome.value[0];
        if (all.trial[i].outcome.cls == HONE_RUN_OK) fine &= x == floor(x);
    }
    hone_trials_free(&all);
    return fine;
}

static void test_objectives_of_builds(void) {
    static const char *const names[] = {"code_size", "compile_time", "file_size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hone_tune_result r;
        hone_err err = {0};
        if (!ok(of_objective(names[i], names[i], &r, &err) == HONE_OK, "trial/%s_runs", names[i]))
            printf("# %s\n", err.text);
        ok(r.n_class[HONE_RUN_OK] == 3, "trial/%s_measured", names[i]);
        hone_tune_result_free(&r);
    }
    hone_trials all = trials_of("compile_time", 1);
    size_t n_reused = 0, n_own = 0;
    for (size_t i = 0; i < all.n; i++) {
        const hone_trial *x = &all.trial[i];
        n_reused += x->same_as != 0;
        n_own += x->same_as != 0 && x->outcome.value[0] == x->build_s;
    }
    hone_trials_free(&all);
    ok(all_whole("code_size", 1) && all_whole("file_size", 1), "trial/sizes_are_recorded_as_read");
    ok(n_own == n_reused, "trial/compile_time_of_a_reused_object_is_its_own");
}

static void test_instructions(void) {
    hn_proc_offer offer = hn_proc_offers();
    if (!offer.perf && !offer.callgrind) {
        skip(3, "neither perf events nor valgrind");
        return;
    }
    hone_tune_result a, b;
    hone_err err = {0};
    bool fine = of_objective("instructions", "count", &a, &err) == HONE_OK;
    fine &= of_objective("instructions", "count", &b, &err) == HONE_OK;
    if (!ok(fine, "trial/instructions_run")) printf("# %s\n", err.text);
    ok(fabs(a.speedup / b.speedup - 1) < 1e-3 && a.speedup > 1.1, "trial/instructions_repeat_themselves");
    hone_tune_result_free(&a);
    hone_tune_result_free(&b);
    ok(all_whole("count", 1) && all_whole("count", 2), "trial/instructions_are_recorded_as_counted");
}

/* Where there is no counter, a session is refused before anything is measured, and the reason names the machine. */
static void test_energy(void) {
    hone_tune_result r;
    hone_err err = {0};
    hone_rc rc = of_objective("energy", "energy", &r, &err);
    if (hn_proc_offers().rapl)
        ok(rc == HONE_OK, "trial/energy_is_measured");
    else
        ok(rc == HONE_E_UNSUPPORTED && strstr(err.text, "RAPL"), "trial/energy_needs_a_counter");
    hone_tune_result_free(&r);
}

int main(void) {
    if (!mkdtemp(root)) return 1;
    test_a_lie_is_caught();
    test_less_memory_is_believed();
    test_limits();
    test_weights_and_held_out();
    test_plain_values();
    test_percentile();
    test_equal_objects();
    test_resume_without_build();
    test_warm_start();
    test_stale_output();
    test_refusals_leave_no_session();
    test_objectives_of_builds();
    test_instructions();
    test_energy();
    hn_remove_tree(root, NULL);
    return done_testing();
}
