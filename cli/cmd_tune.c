/* cmd_tune.c — `hone tune`: the search, shown while it runs, summed up at its end. */
#include "canary.h"
#include "flags.h"
#include "model_io.h"
#include "pack.h"
#include "session.h"
#include "signals.h"
#include "tune.h"
#include "tune_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- options -------------------------------------------------------------------------------------------------- */

/* --resume without a number: the newest session that was not finished. */
static hone_rc unfinished(const char *dir, int64_t *id, hone_err *err) {
    hone_store *store;
    hone_session *list;
    size_t n;
    hone_rc rc = hone_store_open(dir, false, &store, err);
    if (rc) return rc;
    rc = hone_session_list(store, &list, &n, err);
    int64_t newest = 0;
    for (size_t i = 0; !rc && i < n; i++)
        if (strcmp(list[i].state, "finished") != 0 && list[i].id > newest) newest = list[i].id;
    if (!rc) hone_session_list_free(list, n);
    hone_store_close(store);
    if (rc) return rc;
    if (!newest)
        return cli_fail(err, HONE_E_NOTFOUND, "'%s' has no unfinished session; leave --resume away to begin one", dir);
    *id = newest;
    return HONE_OK;
}

static hone_rc read_resume(const cli *c, const char *dir, int64_t *id, hone_err *err) {
    *id = cli_given(c, "new") ? -1 : 0;
    if (!cli_given(c, "resume")) return HONE_OK;
    if (cli_given(c, "new")) return cli_fail(err, HONE_E_USAGE, "choose one of --resume and --new");
    if (!cli_text(c, "resume", NULL)) return unfinished(dir, id, err);
    *id = (int64_t)cli_count(c, "resume", 0);
    return HONE_OK;
}

static hone_rc read_options(const cli *c, const char *dir, hone_tune_options *o, hone_err *err) {
    *o = (hone_tune_options){
        .size = sizeof *o,
        .store_dir = dir,
        .engine = cli_text(c, "engine", NULL),
        .seed = cli_count(c, "seed", 0),
        .max_evals = cli_count(c, "evals", 0),
        .budget_s = cli_seconds(c, "time", 0),
        .n_jobs = (uint32_t)cli_count(c, "jobs", 0),
        .cpu = cli_given(c, "cpu") ? (int)cli_count(c, "cpu", 0) : -1,
        .warm_start = cli_given(c, "warm-start"),
        .keep_builds = cli_given(c, "keep-builds"),
    };
    hone_rc rc = cli_check_engine(o->engine, err);
    return rc ? rc : read_resume(c, dir, &o->resume, err);
}

/* --- the summary ---------------------------------------------------------------------------------------------- */

typedef struct summary {
    const hone_workload *workload;
    const hone_tune_result *result;
    const char *dir;
    const cli_record *record; /* as it can be read back; NULL if it cannot */
} summary;

static void result_json(cli *c, const summary *s) {
    const hone_tune_result *r = s->result;
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "session", (uint64_t)r->session);
    cli_json_ktext(&j, "workload", hone_workload_name(s->workload));
    cli_json_ktext(&j, "reason", r->reason);
    cli_json_knumber(&j, "speedup", r->speedup);
    cli_json_knumber(&j, "speedup_lo", r->speedup_lo);
    cli_json_knumber(&j, "speedup_hi", r->speedup_hi);
    cli_json_kcount(&j, "trials", r->n_trials);
    cli_json_kcount(&j, "reused", r->n_reused);
    cli_json_key(&j, "classes");
    cli_json_object(&j);
    for (int i = 0; i < HONE_N_CLASSES; i++)
        cli_json_kcount(&j, hone_outcome_class_name((hone_outcome_class)i), r->n_class[i]);
    cli_json_close(&j);
    if (s->record) cli_effects_json(&j, &s->record->effects);
    if (s->record && s->record->unread) cli_json_kraw(&j, "unread", s->record->unread);
    if (s->record && s->record->objects) cli_json_kraw(&j, "objects", s->record->objects);
    if (r->hint_gain > 0) cli_json_knumber(&j, "hint_fast", r->hint_gain);
    cli_json_kraw(&j, "point", r->best_point);
    cli_json_ktext(&j, "argv", r->best_argv);
    cli_json_knumber(&j, "elapsed_s", r->elapsed_s);
    cli_json_knumber(&j, "own_s", r->own_s);
    cli_json_ktext(&j, "store", s->dir);
    cli_json_end(&j);
}

/* A winner with many controls is summarised; `hone best` prints all of it. */
enum { SUMMARY_LINES = 20, SUMMARY_ARGV = 400 };

static void label(const cli *c, const char *name) {
    printf("%s%-9s%s ", cli_paint(c->color_out, CLI_BOLD), name, cli_paint(c->color_out, CLI_PLAIN));
}

static void put_speedup(const cli *c, const summary *s) {
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    const hone_tune_result *r = s->result;
    label(c, "result");
    cli_put(c, stdout, hone_workload_objective(s->workload, 0, NULL), 0);
    if (isnan(r->speedup)) {
        printf(": better than the baseline; values that can be 0 or less have no ratio\n");
        return;
    }
    if (r->speedup < 1 && hone_workload_n_objectives(s->workload) == 1) {
        printf(": %s against the baseline, which is beyond a limit itself; the best within the limits\n",
               cli_text_ratio(c, r->speedup, a));
        return;
    }
    if (!(r->speedup > 1)) {
        printf(": nothing that was tried beats the baseline\n");
        return;
    }
    printf(": %s%s%s better than the baseline\n", cli_paint(c->color_out, CLI_GREEN), cli_text_ratio(c, r->speedup, a),
           cli_paint(c->color_out, CLI_PLAIN));
    label(c, "");
    if (isfinite(r->speedup_lo))
        printf("closing race: %s to %s (95 %% interval); %s\n", cli_text_ratio(c, r->speedup_lo, lo),
               cli_text_ratio(c, r->speedup_hi, hi),
               r->speedup_lo > 1 ? "not yet a proof" : "it may be no gain at all");
    else
        printf("as the search measured it, without a closing race: part of it is chance\n");
}

/* What differs from the baseline, one flag or setting per line. */
static void put_delta(const cli *c, const summary *s) {
    cli_lines lines;
    const cli_record *r = s->record;
    if (!r || !s->result->best_point) return;
    cli_flags_compare(s->workload, r, s->result->best_point, r->baseline ? r->baseline->point : NULL, &lines);
    size_t shown = lines.n <= SUMMARY_LINES ? lines.n : SUMMARY_LINES - 1;
    for (size_t i = 0; i < shown; i++) {
        label(c, i ? "" : "changes");
        cli_put(c, stdout, lines.line[i], 0);
        putchar('\n');
    }
    if (shown < lines.n) label(c, ""), printf("and %zu more: `hone best` lists them\n", lines.n - shown);
    cli_lines_free(&lines);
}

static void put_argv(const cli *c, const char *argv) {
    size_t words = 0;
    for (const char *p = argv; *p; p++) words += *p == ' ' && p[1] != ' ';
    label(c, "compiler");
    if (strlen(argv) <= SUMMARY_ARGV)
        cli_put(c, stdout, argv, 0);
    else
        printf("%.*s with %zu flags: `hone best --argv` prints them", (int)strcspn(argv, " "), argv, words);
    putchar('\n');
}

static const char *reason_text(const char *reason) {
    static const char *const text[][2] = {
        {"evaluations", "all evaluations of the budget"}, {"seconds", "the budget's time is over"},
        {"plateau", "no gain for long enough"},           {"target", "the target is reached"},
        {"exhausted", "every point was tried"},
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        if (strcmp(text[i][0], reason) == 0) return text[i][1];
    return reason;
}

static void result_text(const cli *c, const summary *s) {
    const hone_tune_result *r = s->result;
    char t[CLI_TEXT_N], own[CLI_TEXT_N];
    char *failures = cli_failures_text(r->n_class);
    put_speedup(c, s);
    if (r->speedup > 1) put_delta(c, s);
    if (r->speedup > 1 && r->best_argv) put_argv(c, r->best_argv);
    label(c, "trials");
    printf("%zu (%s), %zu with a known object\n", r->n_trials, reason_text(r->reason), r->n_reused);
    label(c, "time");
    printf("%s, of which hone itself took %s\n", cli_text_duration(r->elapsed_s, t), cli_text_seconds(r->own_s, own));
    if (r->hint_gain > 0) {
        char g[CLI_TEXT_N];
        label(c, "hint");
        printf("'floating_point: fast' would make the baseline's flags alone %s as good, within the tolerance\n",
               cli_text_ratio(c, r->hint_gain, g));
    }
    label(c, "failures");
    printf("%s\n", *failures ? failures : "none");
    label(c, "record");
    cli_put(c, stdout, s->dir, 0);
    printf(", session %lld\n", (long long)r->session);
    label(c, "more");
    printf("`hone results` lists the trials, `hone best` prints the winner for a build\n");
    free(failures);
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static hone_rc interrupted(hone_err *err) {
    return cli_fail(err, HONE_E_INTERRUPTED, "interrupted; everything finished is recorded; run again to go on");
}

static hone_rc run_canary(const hone_workload *workload, const hone_tune_options *o, cli_live *live, hone_err *err) {
    hone_prove_options p = hone_prove_defaults();
    p.store_dir = o->store_dir;
    p.n_jobs = o->n_jobs;
    p.cpu = o->cpu;
    p.stop = o->stop;
    hone_rc rc = cli_canary(workload, p, live, NULL, err);
    if (rc != HONE_E_CANARY) return rc;
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, " (--no-canary searches without this check)");
    return rc;
}

static hone_rc search(cli *c, const hone_workload *workload, hone_tune_options *o, hone_err *err) {
    cli_live live;
    hone_tune_result result;
    cli_signals on = cli_catch_signals(true);
    cli_live_begin(&live, c, on.resized);
    o->progress = (hone_progress){cli_live_event, &live};
    o->stop = on.stop;
    hone_rc rc = cli_given(c, "no-canary") ? HONE_OK : run_canary(workload, o, &live, err);
    if (!rc) rc = hone_tune_run(workload, o, &result, err);
    cli_live_end(&live);
    if (rc == HONE_E_INTERRUPTED) return interrupted(err);
    if (rc) return rc;
    cli_record record;
    bool readable = !cli_record_load(o->store_dir, result.session, &record, NULL);
    summary s = {workload, &result, o->store_dir, readable ? &record : NULL};
    if (c->json)
        result_json(c, &s);
    else
        result_text(c, &s);
    bool stopped = strcmp(result.reason, "interrupted") == 0;
    if (readable) cli_record_close(&record);
    hone_tune_result_free(&result);
    return stopped ? interrupted(err) : HONE_OK;
}

hone_rc cli_tune(cli *c, const hone_workload *workload, const char *path, const char *const *seeds, hone_err *err) {
    hone_tune_options options;
    char *dir = cli_store_dir(c, path);
    char *text = cli_strdup(cli_text(c, "engine-options", ""));
    const char **engine_options = cli_split_options(text);
    hone_rc rc = read_options(c, dir, &options, err);
    options.engine_options = engine_options;
    if (seeds) {
        options.seeds = seeds;
        options.resume = -1;
        options.warm_start = true;
    }
    if (!rc) rc = search(c, workload, &options, err);
    free(engine_options);
    free(text);
    free(dir);
    return rc;
}

/* The controls of a pack are the first candidates. */
static hone_rc tune_from_pack(cli *c, const hone_workload *workload, const char *path, hone_err *err) {
    cli_pack k;
    if (cli_given(c, "resume"))
        return cli_fail(err, HONE_E_USAGE, "choose one of --resume and --pack: a pack is where a new session starts");
    hone_rc rc = cli_pack_open(c, cli_text(c, "pack", ""), workload, &k, err);
    if (rc) return rc;
    rc = cli_tune(c, workload, path, k.point, err);
    cli_pack_close(&k);
    return rc;
}

static hone_rc run_tune(cli *c, hone_err *err) {
    const char *path = c->n_args ? c->arg[0] : "hone.yaml";
    hone_workload *workload;
    if (cli_is_model(path)) return cli_tune_model(c, path, err);
    hone_rc rc = cli_tune_check_options(c, false, err);
    if (!rc) rc = cli_workload_load(path, &workload, err);
    if (rc) return rc;
    rc = cli_given(c, "pack") ? tune_from_pack(c, workload, path, err) : cli_tune(c, workload, path, NULL, err);
    hone_workload_free(workload);
    return rc;
}

static const cli_option options[] = {
    CLI_SEARCH_OPTIONS,
    {"resume", 0, CLI_MAYBE, "SESSION", 1, 0,
     "go on with this session; without a number: the newest unfinished one (which is also what happens without this "
     "option, if there is one)"},
    {"new", 0, CLI_FLAG, NULL, 0, 0, "begin a new session even if one is unfinished; of a model: measure all anew"},
    {"warm-start", 0, CLI_FLAG, NULL, 0, 0, "try the winners of earlier sessions of the same space first"},
    {"pack", 0, CLI_TEXT, "DIR", 0, 0, "try the controls of this pack first, in a new session (see `hone pack`)"},
    CLI_TUNE_MODEL_OPTIONS,
    CLI_TUNE_PRECISION_OPTIONS,
    {0},
};

const cli_command cli_cmd_tune = {
    "tune",
    "Tune",
    "[hone.yaml | MODEL]",
    "search for the best controls of a workload, or of a model's kernels",
    "Builds and measures the baseline, then one candidate after another: first a small experiment "
    "that crosses compilers, floating-point contracts, levels and the like and says what each brought, then what its "
    "result promises, known combinations, and what the search engine proposes. Candidates are built "
    "side by side in private folders, run alone, compared with a baseline measured at the same time, and checked for "
    "correct results. At the end the best few are built again and compared in interleaved rounds.\n\n"
    "Every finished trial is recorded at once. Ctrl-C ends the search with what it has found so far; the same command "
    "continues it. A session whose compiler, machine, sources or workload changed is refused, with what differs.\n\n"
    "Of a model file the kernels that take most of the time are tuned: schedules, compiler and flags, measured on the "
    "kernel's real sizes, each kernel for as long as the model is expected to gain by it. What is proven correct and "
    "faster than the default on fresh builds becomes a winner, which `hone compile` uses from then on, in other "
    "models, "
    "too (see `hone winners`). At the end the whole model is compared; if the tuned one is slower its winners are not "
    "kept. Measurements are kept, so an interrupted run can be continued. A language model (a GGUF file, a folder) is "
    "tuned as `hone serve` runs it, for its answers, one token behind 512, unless --size says otherwise, and must not "
    "get slower in reading a prompt of 128, nor behind 4,096; what `hone chat` has compiled of it is then compiled "
    "again.\n\n"
    "With --precision mixed --data SAMPLES the search for the products that may be in bytes comes first: the engine "
    "looks "
    "for the front of error, latency and size, each point of it is proven on held-out samples, and the kernels of the "
    "chosen version are what is tuned. The choice is written beside the model, as NAME.precision, for `hone compile "
    "--precision`. int8, bf16 and such a file are taken, too.\n\n"
    "--budget counts everything from the start on: of a model also compilations, the proof and the comparison at the "
    "end. With --precision mixed half of it is for the choice; kernels have what is left. What has begun is finished, "
    "so that a budget below what the compilations take is exceeded; then the choice says that time was over, and the "
    "same call goes on from the points that it kept. Without --budget the choice takes as long as --points ask for, "
    "and kernels a minute.\n\n"
    "Progress is shown on standard error, the result on standard output.",
    options,
    "hone tune\thone.yaml here, with the budget it names\n"
    "hone tune softmax.yaml --evals 300 --time 10m\twhichever ends first\n"
    "hone tune --new --seed 2 --engine forest\tanother session, another search\n"
    "hone tune --json -q > result.json\tfor scripts\n"
    "hone tune minilm.onnx --budget 5m\tthe kernels of a model\n"
    "hone tune model.onnx --precision mixed --data samples.npz --max-error 1%\twhich products may be narrow, then "
    "kernels\n"
    "hone tune model.gguf --budget 5m\tthose of a language model\n",
    0,
    1,
    run_tune,
};
