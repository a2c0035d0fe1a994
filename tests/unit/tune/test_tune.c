/* The driver on programs that are one line of shell: what it finds, records, resumes and refuses. No timing is
 * asserted: costs are printed by the program. */
#include "tap.h"

#include "base/fs.h"
#include "base/str.h"

#include <hone/tune.h>

#include <math.h>
#include <unistd.h>

static char root[] = "/tmp/hone-test-tune-XXXXXX";

typedef struct seen {
    size_t n_trials, n_warnings, total;
    int *stop;
    size_t stop_after;
} seen;

static void on_event(void *ctx, const hone_event *event) {
    const hone_tune_event *e = (const hone_tune_event *)event;
    seen *s = ctx;
    if (e->stage == HONE_TUNE_WARNING) s->n_warnings++;
    if (e->stage == HONE_TUNE_TRIAL) s->total = e->base.total;
    if (e->stage == HONE_TUNE_TRIAL && ++s->n_trials == s->stop_after && s->stop) *s->stop = 1;
}

static char *sub(const char *name) {
    hn_str s = {0};
    hn_str_addf(&s, "%s/%s", root, name);
    return hn_str_take(&s);
}

static hone_rc tune(const char *text, const char *name, const hone_tune_options *extra, hone_tune_result *out,
                    hone_err *err) {
    char *dir = sub(name);
    hone_workload *w = NULL;
    hn_make_dirs(dir, NULL);
    hone_rc rc = hone_workload_parse(text, strlen(text), name, dir, &w, err);
    hone_tune_options o = extra ? *extra : hone_tune_defaults();
    if (!rc) rc = hone_tune_run(w, &o, out, err);
    hone_workload_free(w);
    free(dir);
    return rc;
}

/* cost = (A - 7)^2 + (B - 3)^2 + 1, printed by the shell. */
static const char bowl[] =
    "hone: 1\nname: bowl\ncontrols: false\nrun: 'A={A}; B={B}; echo cost: $(( (A-7)*(A-7) + (B-3)*(B-3) + 1 ))'\n"
    "parameters:\n  A: {type: int, range: [0, 9], default: 0}\n  B: {type: int, range: [0, 9], default: 0}\n"
    "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: none}\n"
    "budget: {evaluations: 100}\n";

static void test_finds_the_optimum(void) {
    hone_tune_result r = {0};
    hone_err err = {0};
    hone_rc rc = tune(bowl, "bowl", NULL, &r, &err);
    if (!ok(rc == HONE_OK, "tune/bowl_runs")) {
        printf("# %s\n", err.text);
        return;
    }
    is_text(r.best_point, "{\"A\": 7, \"B\": 3}", "tune/bowl_optimum");
    ok(fabs(r.speedup - 59) < 1e-9, "tune/bowl_speedup_is_baseline_over_best");
    ok(r.n_trials == 100 && r.n_class[HONE_RUN_OK] == 100, "tune/bowl_every_point_once");
    hone_tune_result_free(&r);
}

/* Progress is told towards the end that there can be: three points, whatever the budget. */
static void test_progress_of_a_small_space(void) {
    static const char text[] =
        "hone: 1\nname: small\ncontrols: false\nrun: 'echo cost: {A}'\nparameters: {A: [1, 2, 3, 4]}\n"
        "constraints: [A != 3]\nmetrics: {source: lines, names: [cost]}\nparity: {rule: none}\n"
        "budget: {evaluations: 100}\n";
    seen s = {0};
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .progress = {on_event, &s}};
    hone_tune_result r = {0};
    hone_err err = {0};
    if (!ok(tune(text, "small", &o, &r, &err) == HONE_OK, "tune/small_runs")) printf("# %s\n", err.text);
    ok(s.total == 3 && s.n_trials == 3, "tune/progress_of_a_small_space");
    hone_tune_result_free(&r);
}

static void test_maximize_and_limit(void) {
    static const char text[] =
        "hone: 1\nname: limited\ncontrols: false\nrun: 'A={A}; echo gain: $((A + 1)); echo risk: $A'\n"
        "parameters:\n  A: {type: int, range: [0, 40], default: 5}\n"
        "metrics: {source: lines, names: [gain, risk]}\nobjectives: [maximize gain]\n"
        "limits: ['risk <= 30']\nparity: {rule: none}\nbudget: {evaluations: 41}\n";
    hone_tune_result r = {0};
    hone_err err = {0};
    if (!ok(tune(text, "limited", NULL, &r, &err) == HONE_OK, "tune/limited_runs")) printf("# %s\n", err.text);
    is_text(r.best_point, "{\"A\": 30}", "tune/limit_binds_the_maximum");
    hone_tune_result_free(&r);
}

static void test_failures_are_classed(void) {
    static const char text[] =
        "hone: 1\nname: faulty\ncontrols: false\n"
        "run: 'case {MODE} in crash) kill -SEGV $$;; fail) exit 3;; hang) sleep 60;; none) ;; nan) echo cost: nan;; "
        "wrong) echo value 8; echo cost: 1;; flood) yes;; *) echo value 9; echo cost: 5;; esac'\n"
        "parameters:\n  MODE: {type: choice, values: [fine, crash, fail, hang, none, nan, wrong, flood], default: "
        "fine}\n"
        "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: exact}\n"
        "stages: {run: 1 s, output: 100 kB}\nbudget: {evaluations: 8}\n";
    hone_tune_result r = {0};
    hone_err err = {0};
    if (!ok(tune(text, "faulty", NULL, &r, &err) == HONE_OK, "tune/faulty_runs")) printf("# %s\n", err.text);
    ok(r.n_class[HONE_RUN_OK] == 1, "tune/fine_is_ok");
    ok(r.n_class[HONE_RUN_CRASH] == 2, "tune/crash_and_exit_3_are_crashes");
    ok(r.n_class[HONE_RUN_TIMEOUT] == 1, "tune/hang_is_a_timeout");
    ok(r.n_class[HONE_WRONG_RESULT] + r.n_class[HONE_NO_METRIC] == 3, "tune/nothing_nan_and_wrong");
    ok(r.n_class[HONE_WRONG_RESULT] >= 1, "tune/wrong_output_is_wrong");
    ok(r.n_class[HONE_OVER_LIMIT] == 1, "tune/flood_is_over_the_limit");
    is_text(r.best_point, "{\"MODE\": \"fine\"}", "tune/faulty_best_is_fine");
    hone_tune_result_free(&r);
}

static size_t count_trials(const char *name, int64_t session, size_t *n_points) {
    char *dir = sub(name);
    hn_str path = {0};
    hn_str_addf(&path, "%s/.hone", dir);
    hone_store *store = NULL;
    hone_trials all = {0};
    size_t n = 0;
    *n_points = 0;
    if (!hone_store_open(path.text, false, &store, NULL) && !hone_trials_load(store, session, false, &all, NULL))
        for (size_t i = 0; i < all.n; i++) {
            if (strcmp(all.trial[i].phase, "search")) continue;
            n++;
            size_t first = 1;
            for (size_t k = 0; k < i; k++)
                first &= strcmp(all.trial[k].phase, "search") || all.trial[k].point_hash != all.trial[i].point_hash;
            *n_points += first;
        }
    hone_trials_free(&all);
    hone_store_close(store);
    hn_str_free(&path);
    free(dir);
    return n;
}

static void test_resumes(void) {
    int stop = 0;
    seen s = {.stop = &stop, .stop_after = 20};
    hone_tune_options o = {
        .size = sizeof(hone_tune_options), .cpu = -1, .progress = {on_event, &s}, .stop = &stop, .n_jobs = 2};
    hone_tune_result r = {0};
    hone_err err = {0};
    if (!ok(tune(bowl, "resume", &o, &r, &err) == HONE_OK, "tune/stops_when_told")) printf("# %s\n", err.text);
    is_text(r.reason, "interrupted", "tune/stop_reason");
    int64_t session = r.session;
    ok(r.n_trials >= 20 && r.n_trials < 30, "tune/stopped_early");
    hone_tune_result_free(&r);
    stop = 0;
    s = (seen){0};
    ok(tune(bowl, "resume", &o, &r, &err) == HONE_OK && r.session == session, "tune/resumes_the_unfinished_session");
    ok(r.n_trials == 100 && s.n_trials <= 80, "tune/goes_on_where_it_was");
    is_text(r.best_point, "{\"A\": 7, \"B\": 3}", "tune/resumed_optimum");
    size_t n_points, n = count_trials("resume", session, &n_points);
    ok(n == 100 && n_points == 100, "tune/resumed_none_lost_none_twice");
    hone_tune_result_free(&r);
    ok(tune(bowl, "resume", NULL, &r, &err) == HONE_OK && r.session != session, "tune/finished_session_is_not_resumed");
    hone_tune_result_free(&r);
}

static void test_refuses_other_environment(void) {
    int stop = 0;
    seen s = {.stop = &stop, .stop_after = 5};
    hone_tune_options o = {
        .size = sizeof(hone_tune_options), .cpu = -1, .progress = {on_event, &s}, .stop = &stop, .n_jobs = 1};
    hone_tune_result r = {0};
    hone_err err = {0};
    ok(tune(bowl, "mixed", &o, &r, &err) == HONE_OK, "tune/first_part");
    hone_tune_result_free(&r);
    stop = 0;
    hn_str other = {0};
    hn_str_add(&other, bowl);
    strstr(other.text, "+ 1 ))")[2] = '2'; /* another program */
    s = (seen){0};
    hone_rc rc = tune(other.text, "mixed", &o, &r, &err);
    ok(rc == HONE_E_MISMATCH, "tune/other_workload_is_refused");
    ok(strstr(err.text, "workload") != NULL, "tune/refusal_names_the_part");
    if (!rc) hone_tune_result_free(&r);
    o.resume = -1;
    ok(tune(other.text, "mixed", &o, &r, &err) == HONE_OK, "tune/new_session_is_accepted");
    hone_tune_result_free(&r);
    hn_str_free(&other);
}

static void test_bad_baselines(void) {
    static const struct {
        const char *name, *run, *says;
    } cases[] = {
        {"tune/baseline_crash", "kill -ABRT $$", "run_crash"},
        {"tune/baseline_no_metric", "echo nothing", "no_metric"},
        {"tune/baseline_not_deterministic", "echo cost 1; date +%N", "deterministic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str text = {0};
        hn_str_addf(&text, "hone: 1\nname: bad\ncontrols: false\nrun: 'X={X}; %s'\nparameters: {X: [1, 2]}\n",
                    cases[i].run);
        hn_str_add(&text,
                   "metrics: {source: lines, names: [cost]}\nobjectives: [minimize cost]\nparity: {rule: exact}\n");
        hone_tune_result r = {0};
        hone_err err = {0};
        hone_rc rc = tune(text.text, "bad", NULL, &r, &err);
        if (!ok(rc == HONE_E_BASELINE && strstr(err.text, cases[i].says), "%s", cases[i].name))
            printf("# %d %s\n", rc, err.text);
        if (!rc) hone_tune_result_free(&r);
        hn_str_free(&text);
    }
}

static void test_two_objectives(void) {
    static const char text[] =
        "hone: 1\nname: pair\ncontrols: false\nrun: 'A={A}; echo x: $((A + 1)); echo y: $((20 - A))'\n"
        "parameters:\n  A: {type: int, range: [0, 15], default: 5}\n"
        "metrics: {source: lines, names: [x, y]}\nobjectives: [minimize x, minimize y]\n"
        "parity: {rule: none}\nbudget: {evaluations: 16}\n";
    hone_tune_result r = {0};
    hone_err err = {0};
    if (!ok(tune(text, "pair", NULL, &r, &err) == HONE_OK, "tune/pair_runs")) printf("# %s\n", err.text);
    ok(r.n_class[HONE_RUN_OK] == 16, "tune/pair_all_measured");
    hone_tune_result_free(&r);
}

/* A neighbour's burst: the first run of a point may look twice as fast as the others. */
static const hone_trial *trial_of(const hone_trials *all, const char *point) {
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->trial[i].phase, "search") && !strcmp(all->trial[i].point, point)) return &all->trial[i];
    return NULL;
}

static void lucky_once(const char *name, const char *more, const char *what) {
    hn_str text = {0};
    hn_str_addf(
        &text,
        "hone: 1\nname: %s\ncontrols: false\nrun: 'r=1$(date +%%N); f=%s/%s-{A}; n=1; test -f $f && n=2; touch $f; "
        "echo cost: $(( (1000 + {A} + r %% 7) * (n == 1 && {A} == 5 ? 1 : 2) )); echo size: $((20 - {A}))'\n"
        "parameters:\n  A: {type: int, range: [0, 9], default: 0}\nparity: none\n"
        "metrics: {source: lines, names: [cost, size]}\nstages: {confine: false}\n%sbudget: {evaluations: 10}\n",
        name, root, name, more);
    hone_tune_result r = {0};
    hone_err err = {0};
    hone_store *store = NULL;
    hone_trials all = {0};
    char *dir = sub(name), path[400];
    snprintf(path, sizeof path, "%s/.hone", dir);
    bool fine = !tune(text.text, name, NULL, &r, &err) && !hone_store_open(path, false, &store, &err) &&
                !hone_trials_load(store, r.session, true, &all, &err);
    const hone_trial *lucky = fine ? trial_of(&all, "{\"A\": 5}") : NULL;
    if (!ok(lucky && lucky->outcome.value[0] > 1900, "tune/%s", what))
        printf("# %g %zu %s\n", lucky ? lucky->outcome.value[0] : NAN, lucky ? lucky->n_samples : 0, err.text);
    ok(lucky && lucky->n_samples >= 3, "tune/%s_is_measured_again", what);
    hone_trials_free(&all);
    hone_store_close(store);
    hone_tune_result_free(&r);
    hn_str_free(&text);
    free(dir);
}

static void test_luck_does_not_lead(void) {
    lucky_once("lucky", "objectives: minimize cost\n", "luck_does_not_lead");
    lucky_once("front", "objectives: [minimize cost, minimize size]\n", "luck_is_not_on_the_front");
}

typedef struct told {
    char first[200]; /* the first command line */
    double first_gain;
    size_t n_plain, n_other_before; /* other trials than big choices before the last of these */
    size_t n_others;
    char effects[200];
} told;

static void on_plain(void *ctx, const hone_event *event) {
    const hone_tune_event *e = (const hone_tune_event *)event;
    told *s = ctx;
    if (e->stage == HONE_TUNE_EFFECTS)
        snprintf(s->effects, sizeof s->effects, "%.*s", (int)strcspn(e->base.text, "\n"), e->base.text);
    if (e->stage != HONE_TUNE_TRIAL) return;
    if (!e->base.text) {
        s->n_others++;
        return;
    }
    if (!s->n_plain++) {
        snprintf(s->first, sizeof s->first, "%s", e->base.text);
        s->first_gain = e->speedup;
    }
    s->n_other_before = s->n_others;
}

/* The record keeps what was told. */
static void check_effects(const char *name) {
    hone_store *store = NULL;
    hone_effects all = {0};
    char *dir = hn_path_join(root, name), *at = dir ? hn_path_join(dir, ".hone") : NULL;
    bool there = at && !hone_store_open(at, false, &store, NULL) && !hone_session_effects(store, 1, &all, NULL);
    ok(there && all.n >= 5 && !strcmp(all.effect[0].choice, "fp") && !strcmp(all.effect[0].value, "fast") &&
           fabs(all.effect[0].gain - 1.9) < 0.1 && all.effect[0].n_trials > 1,
       "tune/effects_are_recorded");
    hone_session_effects_free(&all);
    hone_store_close(store);
    free(at);
    free(dir);
}

/* A program that only -ffast-math makes fast: the first trial finds that out, whatever the seed of the search. */
static void test_big_choices_come_first(void) {
    static const char text[] =
        "hone: 1\nname: fast\ncompilers: [gcc]\nbaseline: {flags: '-O3 -march=native'}\nfloating_point: fast\n"
        "build: 'case \"{cc} {flags}\" in *-ffast-math*) c=10;; *) c=19;; esac; "
        "printf \"#!/bin/sh\\n# {flags}\\necho cost: $c\\n\" >{out}; chmod +x {out}'\nrun: '{out}'\n"
        "metrics: {source: lines, names: [cost]}\nparity: {rule: rel, tolerance: 1e-4}\n";
    for (size_t evals = 1; evals <= 20; evals += 19) {
        told s = {0};
        hone_tune_options o = {.size = sizeof(hone_tune_options),
                               .cpu = -1,
                               .progress = {on_plain, &s},
                               .seed = evals,
                               .max_evals = evals};
        hone_tune_result r = {0};
        hone_err err = {0};
        char name[20];
        snprintf(name, sizeof name, "fast%zu", evals);
        if (!ok(tune(text, name, &o, &r, &err) == HONE_OK, "tune/big_choices_run %zu", evals))
            printf("# %s\n", err.text);
        if (evals > 1) {
            is_text(s.first, "gcc -O3 -march=native -ffast-math -ffp-contract=fast",
                    "tune/loosest_contract_comes_first");
            ok(fabs(s.first_gain - 1.9) < 1e-9, "tune/gain_of_a_big_choice_is_told");
            ok(s.n_plain >= 9 && s.n_plain <= 12, "tune/big_choices_of_one_compiler (%zu)", s.n_plain);
            ok(!strncmp(s.effects, "fast floating point: 1.9", 24), "tune/effects_are_told (%s)", s.effects);
            check_effects(name);
            ok(s.n_other_before == 1, "tune/only_the_baseline_comes_before (%zu)", s.n_other_before);
            ok(fabs(r.speedup - 1.9) < 1e-9, "tune/gain_of_fast_is_found");
        }
        hone_tune_result_free(&r);
    }
}

typedef struct hint {
    size_t n, n_fast; /* hints; trials with -ffast-math */
} hint;

static void on_hint(void *ctx, const hone_event *event) {
    const hone_tune_event *e = (const hone_tune_event *)event;
    hint *h = ctx;
    h->n += e->stage == HONE_TUNE_HINT && strstr(e->base.text, "1.90x as good");
    h->n_fast += e->stage == HONE_TUNE_TRIAL && e->base.text && strstr(e->base.text, "-ffast-math");
}

/* A tolerance that would admit fast floating point gives a hint with its gain, and no trial; results beyond the
 * tolerance, a workload that offers it, and exact parity give none. */
static void test_hint(void) {
    static const struct {
        const char *name, *parity, *more, *output;
        bool hints;
    } cases[] = {
        {"hinted", "{rule: rel, tolerance: 1e-4}", "", "1.00001", true},
        {"hint_beyond", "{rule: rel, tolerance: 1e-4}", "", "1.1", false},
        {"hint_exact", "exact", "", "1", false},
        {"hint_offered", "{rule: rel, tolerance: 1e-4}", "floating_point: fast\n", "1.00001", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str text = {0};
        hn_str_addf(&text,
                    "hone: 1\nname: hint\ncompilers: [gcc]\nbaseline: {flags: '-O3 -march=native'}\n"
                    "build: 'case \"{cc} {flags}\" in *-ffast-math*) c=10; r=%s;; *) c=19; r=1;; esac; "
                    "printf \"#!/bin/sh\\necho $r >result; echo cost: $c\\n\" >{out}; chmod +x {out}'\nrun: '{out}'\n"
                    "metrics: {source: lines, names: [cost]}\nobjectives: minimize cost\n%s",
                    cases[i].output, cases[i].more);
        if (*cases[i].parity == '{')
            hn_str_addf(&text, "parity: {rule: rel, tolerance: 1e-4, output: result}\n");
        else
            hn_str_addf(&text, "parity: {rule: exact, output: result}\n");
        hint h = {0};
        hone_tune_options o = {
            .size = sizeof(hone_tune_options), .cpu = -1, .progress = {on_hint, &h}, .max_evals = 24};
        hone_tune_result r = {0};
        hone_err err = {0};
        if (!ok(!tune(text.text, cases[i].name, &o, &r, &err), "tune/%s_runs", cases[i].name))
            printf("# %s\n", err.text);
        ok((h.n == 1) == cases[i].hints && (r.hint_gain > 1.8) == cases[i].hints, "tune/%s", cases[i].name);
        if (cases[i].hints)
            ok(!h.n_fast && r.speedup == 1 && r.n_trials == 24, "tune/a_hint_is_no_trial (%g)", r.speedup);
        hone_tune_result_free(&r);
        hn_str_free(&text);
    }
}

int main(void) {
    if (!mkdtemp(root)) return 1;
    test_finds_the_optimum();
    test_progress_of_a_small_space();
    test_maximize_and_limit();
    test_failures_are_classed();
    test_resumes();
    test_refuses_other_environment();
    test_bad_baselines();
    test_two_objectives();
    test_luck_does_not_lead();
    test_big_choices_come_first();
    test_hint();
    hn_remove_tree(root, NULL);
    return done_testing();
}
