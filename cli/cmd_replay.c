/* cmd_replay.c — `hone replay`: judge a search engine on recorded spaces. */
#include "cli.h"

#include <hone/search.h>
#include <hone/stat.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const stage[4] = {"25", "50", "100", "200"};

static hone_replay_options config_of(const cli *c, const char **engine_options) {
    hone_replay_options config = {
        .size = sizeof(hone_replay_options),
        .engine = cli_text(c, "engine", "auto"),
        .n_evals = cli_count(c, "evals", 200),
        .n_seeds = cli_count(c, "seeds", 50),
        .first_seed = cli_count(c, "seed", 0),
        .constraints_known = strcmp(cli_text(c, "constraints", "known"), "known") == 0,
        .noisy = cli_given(c, "noisy"),
        .two_objectives = cli_given(c, "two-objectives"),
        .batch = cli_count(c, "batch", 1),
        .options = engine_options,
    };
    return config;
}

/* One line per space; the first five keys and their order are part of the interface. */
static void line_json(cli *c, const char *space, const hone_replay_options *g, const hone_replay_result *r) {
    cli_json j = cli_json_begin(c, true);
    cli_json_object(&j);
    cli_json_ktext(&j, "space", space);
    cli_json_ktext(&j, "engine", g->engine);
    cli_json_key(&j, "fraction_of_best");
    cli_json_object(&j);
    for (int i = 0; i < 4; i++) cli_json_knumber(&j, stage[i], r->fraction[i]);
    cli_json_close(&j);
    cli_json_knumber(&j, "evals_to_95", r->evals_to_95);
    cli_json_knumber(&j, "ask_s", r->ask_s);
    cli_json_kcount(&j, "evals", r->n_evals);
    cli_json_kcount(&j, "seeds", r->n_seeds);
    cli_json_key(&j, "fraction_sd");
    cli_json_object(&j);
    for (int i = 0; i < 4; i++) cli_json_knumber(&j, stage[i], r->fraction_sd[i]);
    cli_json_close(&j);
    if (cli_given(c, "curve")) {
        cli_json_key(&j, "curve");
        cli_json_array(&j);
        for (size_t i = 0; i < r->n_evals; i++) cli_json_number(&j, r->curve[i]);
        cli_json_close(&j);
    }
    cli_json_end(&j);
    fflush(stdout);
}

typedef struct score {
    char *space;
    double fraction[4], evals_to_95, ask_s;
} score;

static void put_fraction(cli_table *t, double x) {
    if (isnan(x))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.3f", x);
}

static void put_row(cli_table *t, const score *s) {
    cli_table_cell(t, "%s", s->space);
    for (int k = 0; k < 4; k++) put_fraction(t, s->fraction[k]);
    if (isnan(s->evals_to_95))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.1f", s->evals_to_95);
    cli_table_cell(t, "%.0f", 1e6 * s->ask_s);
}

/* Mean, or geometric mean, of a column over the spaces. */
static double over_spaces(const score *s, size_t n, int k, bool geometric) {
    double *x = cli_alloc(n, sizeof *x), mean;
    for (size_t i = 0; i < n; i++) x[i] = k < 4 ? s[i].fraction[k] : k == 4 ? s[i].evals_to_95 : s[i].ask_s;
    bool bad = false;
    for (size_t i = 0; i < n; i++) bad |= !isfinite(x[i]) || (geometric && x[i] <= 0);
    mean = bad ? NAN : geometric ? hone_stat_geomean(x, NULL, n) : hone_stat_mean(x, n);
    free(x);
    return mean;
}

static void summary_row(cli_table *t, const score *s, size_t n, bool geometric) {
    score m = {.space = geometric ? "geometric mean" : "mean"};
    for (int k = 0; k < 4; k++) m.fraction[k] = over_spaces(s, n, k, geometric);
    m.evals_to_95 = over_spaces(s, n, 4, geometric);
    m.ask_s = over_spaces(s, n, 5, geometric);
    put_row(t, &m);
    cli_table_ink(t, CLI_BOLD);
}

static void print_scores(const cli *c, const hone_replay_options *g, const score *s, size_t n) {
    printf("%s, %zu evaluations, %zu seeds, constraints %s: mean %s after n evaluations\n", g->engine, g->n_evals,
           g->n_seeds, g->constraints_known ? "known" : "unknown",
           g->two_objectives ? "share of the front's hypervolume" : "fraction of the best");
    cli_table *t = cli_table_new("xrrrrrr");
    static const char *const head[] = {"space", "n=25", "n=50", "n=100", "n=200", "to 95 %", "ask us"};
    for (size_t i = 0; i < 7; i++) cli_table_head(t, head[i]);
    for (size_t i = 0; i < n; i++) put_row(t, &s[i]);
    if (n > 1) summary_row(t, s, n, false), summary_row(t, s, n, true);
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static hone_rc replay_one(cli *c, const char *path, const hone_replay_options *g, score *s, hone_err *err) {
    hone_recording *rec;
    hone_replay_result r;
    hone_rc rc = hone_recording_load(path, &rec, err);
    if (rc) return rc;
    rc = hone_replay_run(rec, g, &r, err);
    if (!rc) {
        if (c->json) line_json(c, hone_recording_label(rec), g, &r);
        s->space = cli_strdup(hone_recording_label(rec));
        memcpy(s->fraction, r.fraction, sizeof s->fraction);
        s->evals_to_95 = r.evals_to_95;
        s->ask_s = r.ask_s;
        hone_free(r.curve);
    }
    hone_recording_free(rec);
    return rc;
}

static hone_rc run_replay(cli *c, hone_err *err) {
    hone_rc rc = cli_check_engine(cli_text(c, "engine", NULL), err);
    if (rc) return rc;
    char *text = cli_strdup(cli_text(c, "engine-options", ""));
    const char **engine_options = cli_split_options(text);
    hone_replay_options g = config_of(c, engine_options);
    score *s = cli_alloc(c->n_args, sizeof *s);
    for (size_t i = 0; !rc && i < c->n_args; i++) {
        if (cli_width(stderr) && !c->json) fprintf(stderr, "\r%zu of %zu ", i + 1, c->n_args);
        rc = replay_one(c, c->arg[i], &g, &s[i], err);
    }
    if (cli_width(stderr) && !c->json) fprintf(stderr, "\r%20s\r", "");
    if (!rc && !c->json) print_scores(c, &g, s, c->n_args);
    for (size_t i = 0; i < c->n_args; i++) free(s[i].space);
    free(s);
    free(engine_options);
    free(text);
    return rc;
}

static const cli_option options[] = {
    {"engine", 'e', CLI_TEXT, "NAME", 0, 0, "the engine to judge (default auto)"},
    {"engine-options", 0, CLI_TEXT, "LIST", 0, 0, "options of the engine, name=value separated by commas"},
    {"evals", 0, CLI_COUNT, "N", 1, 1e6, "evaluations per run (default 200)"},
    {"seeds", 0, CLI_COUNT, "K", 1, 1e6, "number of runs, each with a seed of its own (default 50)"},
    {"seed", 0, CLI_COUNT, "S", 0, 0, "the first of these seeds (default 0)"},
    {"constraints", 0, CLI_CHOICE, "known|unknown", 0, 0,
     "known (default): the engine is told which configurations exist; unknown: asking for another one fails"},
    {"noisy", 0, CLI_FLAG, NULL, 0, 0, "each evaluation is one noisy sample, not the recorded mean"},
    {"two-objectives", 0, CLI_FLAG, NULL, 0, 0, "time and compile time together, judged by hypervolume"},
    {"batch", 0, CLI_COUNT, "N", 1, 10000, "points asked for before the first is answered (default 1)"},
    {"curve", 0, CLI_FLAG, NULL, 0, 0, "with --json: the score after every evaluation, too"},
    {0},
};

const cli_command cli_cmd_replay = {
    "replay",
    "Check",
    "SPACE.tsv[.xz]...",
    "judge a search engine on recorded spaces",
    "Runs a search engine on spaces in which every configuration was measured before, so that an engine is "
    "judged in seconds and without noise of this machine. A run's score after n evaluations is the best time of the "
    "space "
    "divided by the best time found so far; failures count as evaluations. `to 95 %` is the mean number of evaluations "
    "until that score is 0.95.\n\n"
    "With --json one line is printed per space.",
    options,
    "hone replay gemm.tsv.xz --engine forest --seeds 20\tjudge one engine\n"
    "hone replay *.tsv.xz --constraints unknown --json\tall spaces, the engine has to learn what is illegal\n",
    1,
    -1,
    run_replay,
};
