/* tune_model.c — tuning a model: progress while it runs, kernel by kernel at its end. */
#include "tune_model.h"
#include "bench_text.h"
#include "model_io.h"
#include "progress.h"
#include "signals.h"

#include <hone/text.h>
#include <hone/tune_model.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- options -------------------------------------------------------------------------------------------------------
 */

hone_rc cli_tune_check_options(const cli *c, bool model, hone_err *err) {
    static const char *const of_models[] = {
        "budget", "target",    "symbol",     "size",         "threads",       "kernels",    "winners",
        "cc",     "relaxed",   "exhaust",    "from-traffic", "traffic",       "cache-type", "precision",
        "data",   "calibrate", "percentile", "no-smooth",    "max-error",     "metric",     "metric-limit",
        "front",  "points",    "key",        "output",       "prove-latency", NULL};
    static const char *const of_workloads[] = {"evals", "time",   "engine-options", "no-canary", "keep-builds",
                                               "store", "resume", "warm-start",     "pack",      NULL};
    const char *const *wrong = model ? of_workloads : of_models;
    for (size_t i = 0; wrong[i]; i++)
        if (cli_given(c, wrong[i]))
            return cli_fail(err, HONE_E_USAGE, "'--%s' is for %s; `hone help tune` says which options are for what",
                            wrong[i], model ? "workload files, not for models" : "models, not for workload files");
    return HONE_OK;
}

/* --- progress ------------------------------------------------------------------------------------------------------
 */

static void say_search(cli_live *l, const hone_tune_model_event *e) {
    char a[CLI_TEXT_N], b[CLI_TEXT_N], left[CLI_TEXT_N];
    const char *rate = isnan(e->rate) ? "" : cli_format(", %.1f/s", e->rate);
    cli_live_say(l, e->base.elapsed_s, false, "%s %s, %.0f %%: %s -> %s  %zu candidates%s  %zu of %zu kernels  %s left",
                 e->kernel, e->kind, 100 * e->share, cli_text_seconds(e->default_s, a), cli_text_seconds(e->best_s, b),
                 e->n_candidates, rate, e->base.done, e->base.total, cli_text_duration(e->base.left_s, left));
    if (*rate) free((void *)(uintptr_t)rate);
}

static void on_event(void *ctx, const hone_event *event) {
    const hone_tune_model_event *e = (const hone_tune_model_event *)event;
    cli_live *l = ctx;
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    switch (e->stage) {
    case HONE_TUNE_MODEL_PROFILE:
        cli_live_say(l, e->base.elapsed_s, true, "compiling and timing the default kernels");
        break;
    case HONE_TUNE_MODEL_SEARCH: say_search(l, e); break;
    case HONE_TUNE_MODEL_PROOF:
        cli_live_say(l, e->base.elapsed_s, false, "%s %s: proof on fresh builds", e->kernel, e->kind);
        break;
    case HONE_TUNE_MODEL_WINNER:
        cli_live_say(l, e->base.elapsed_s, true, "%s %s, %.0f %%: %s proven (%s .. %s): %s", e->kernel, e->kind,
                     100 * e->share, cli_text_ratio(l->c, e->gain.mid, a), cli_text_ratio(l->c, e->gain.lo, lo),
                     cli_text_ratio(l->c, e->gain.hi, hi), e->base.text);
        break;
    case HONE_TUNE_MODEL_CHECK:
        cli_live_say(l, e->base.elapsed_s, true, "the whole model, tuned against default");
        break;
    case HONE_TUNE_MODEL_WARNING: cli_live_warn(l, e->base.text); break;
    }
}

/* --- the result ----------------------------------------------------------------------------------------------------
 */

static const char *gain_text(const cli *c, const hone_interval *g, char *buf, size_t n) {
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    if (isnan(g->mid)) return "-";
    snprintf(buf, n, "%s (%s .. %s)", cli_text_ratio(c, g->mid, a), cli_text_ratio(c, g->lo, lo),
             cli_text_ratio(c, g->hi, hi));
    return buf;
}

static void put_row(const cli *c, cli_table *t, const hone_tune_model_kernel *k) {
    char a[CLI_TEXT_N], b[CLI_TEXT_N], g[3 * CLI_TEXT_N];
    cli_table_cell(t, "%s", k->name);
    cli_table_cell(t, "%s", k->kind);
    cli_table_cell(t, "%u", k->n_uses);
    cli_table_cell(t, "%.1f %%", 100 * k->share);
    cli_table_cell(t, "%s", cli_text_seconds(k->default_s, a));
    cli_table_cell(t, "%s", k->winner ? cli_text_seconds(k->tuned_s, b) : "-");
    cli_table_cell(t, "%s%s", gain_text(c, &k->gain, g, sizeof g), k->winner || isnan(k->gain.mid) ? "" : " unproven");
    cli_table_cell(t, "%zu", k->n_candidates);
    cli_table_cell(t, "%s", k->end);
    cli_table_cell(t, "%s", k->shape);
    cli_table_cell(t, "%s%s%s", k->schedule, *k->flags ? " " : "", k->flags);
    if (k->winner) cli_table_ink(t, CLI_GREEN);
}

/* Proven, at one of what was compared; else it merely may be. */
static bool was_slower(const hone_tune_model_result *m) {
    return m->gain.hi < 1 || m->gain_all.hi < 1 || m->gain_also.hi < 1; /* of what was not compared it is NaN */
}

static bool had_no_time(const hone_tune_model_result *m) {
    bool time = false;
    for (size_t i = 0; i < m->n_kernels; i++) time |= !strcmp(m->kernel[i].end, "time");
    return time && !m->n_candidates;
}

void cli_tune_put_text(const cli *c, const hone_tune_model_result *m) {
    static const char *const heads[] = {"kernel", "kind",       "calls",  "share", "default", "tuned",
                                        "gain",   "candidates", "search", "shape", "schedule"};
    char t[CLI_TEXT_N], g[3 * CLI_TEXT_N];
    size_t n_winners = 0, n_new = 0;
    cli_table *table = cli_table_new("llrrrrlrlxx");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) cli_table_head(table, heads[i]);
    for (size_t i = 0; i < m->n_kernels; i++) {
        put_row(c, table, &m->kernel[i]);
        n_winners += m->kernel[i].winner, n_new += m->kernel[i].is_new;
    }
    cli_table_print(c, table, stdout, cli_width(stdout));
    printf("\nwinners   %zu of %zu kernels, %zu of them new; in ", n_winners, m->n_kernels, n_new);
    cli_put(c, stdout, m->winners, 0);
    printf("\nmodel     ");
    if (isnan(m->gain.mid))
        printf("%s\n", m->stopped       ? "not compared: stopped before"
                       : had_no_time(m) ? "as it was: there was time for no candidate; a longer --budget has it"
                                        : "as it was: the default schedules are the best known");
    else
        printf("%s against the default one, one thread\n", gain_text(c, &m->gain, g, sizeof g));
    if (!isnan(m->gain_all.mid))
        printf("          %s on %u threads\n", gain_text(c, &m->gain_all, g, sizeof g), m->n_threads);
    if (!isnan(m->gain_also.mid)) printf("          %s at the other sizes\n", gain_text(c, &m->gain_also, g, sizeof g));
    if (m->dropped)
        printf(was_slower(m) ? "          that is slower: its winners were taken out again\n"
                             : "          it may be slower: its winners were taken out again; run it again with "
                               "nothing beside it\n");
    printf("search    %zu candidates", m->n_candidates);
    if (!isnan(m->rate)) printf(", %.1f per second", m->rate);
    printf("; %s in all\n", cli_text_duration(m->elapsed_s, t));
    if (n_winners) printf("more      `hone compile` takes the winners; `hone winners list` shows them\n");
}

static void put_interval(cli_json *j, const char *name, const hone_interval *g) {
    cli_json_key(j, name);
    cli_json_array(j);
    cli_json_number(j, g->lo), cli_json_number(j, g->mid), cli_json_number(j, g->hi);
    cli_json_close(j);
}

static void put_kernel(cli_json *j, const hone_tune_model_kernel *k) {
    cli_json_object(j);
    cli_json_ktext(j, "kernel", k->name);
    cli_json_ktext(j, "kind", k->kind);
    cli_json_kcount(j, "calls", k->n_uses);
    cli_json_knumber(j, "share", k->share);
    cli_json_knumber(j, "default_s", k->default_s);
    cli_json_knumber(j, "tuned_s", k->tuned_s);
    put_interval(j, "gain", &k->gain);
    cli_json_kcount(j, "candidates", k->n_candidates);
    cli_json_ktext(j, "end", k->end);
    cli_json_kbool(j, "winner", k->winner);
    cli_json_kbool(j, "new", k->is_new);
    cli_json_ktext(j, "shape", k->shape);
    cli_json_ktext(j, "schedule", k->schedule);
    cli_json_ktext(j, "flags", k->flags);
    cli_json_ktext(j, "source", k->source);
    cli_json_close(j);
}

void cli_tune_put_json(cli_json *j, const cli_tune_choice *k, const hone_tune_model_result *m) {
    cli_json_object(j);
    if (k) cli_tune_choice_json(j, k);
    put_interval(j, "gain", &m->gain);
    put_interval(j, "gain_all_cores", &m->gain_all);
    put_interval(j, "gain_also", &m->gain_also);
    cli_json_kcount(j, "threads", m->n_threads);
    cli_json_kbool(j, "dropped", m->dropped);
    cli_json_kbool(j, "stopped", m->stopped);
    cli_json_kcount(j, "candidates", m->n_candidates);
    cli_json_knumber(j, "candidates_per_s", m->rate);
    cli_json_knumber(j, "elapsed_s", m->elapsed_s);
    cli_json_ktext(j, "winners", m->winners);
    cli_json_key(j, "kernels");
    cli_json_array(j);
    for (size_t i = 0; i < m->n_kernels; i++) put_kernel(j, &m->kernel[i]);
    cli_json_close(j);
    cli_json_close(j);
}

/* --- the command ---------------------------------------------------------------------------------------------------
 */

hone_rc cli_tune_renew(const char *path, const hone_tune_model_result *m, hone_err *err) {
    bool any = m->dropped;
    for (size_t i = 0; i < m->n_kernels; i++) any |= m->kernel[i].is_new;
    return any && cli_is_language_model(path) ? hone_text_renew(path, err) : HONE_OK;
}

/* A language model is tuned as it is served, with keys and values in a pool. */
static hone_rc open_graph(const cli *c, const char *path, const cli_compiling *x, hone_graph **out, hone_err *err) {
    cli_compiling how = *x;
    const char *cache = cli_text(c, "cache-type", "f16");
    bool language = cli_is_language_model(path);
    if (!language && cli_given(c, "cache-type"))
        return cli_fail(err, HONE_E_USAGE, "--cache-type is for language models; '%s' is none", path);
    how.options.cache = language && strcmp(cache, "none") != 0 ? cache : NULL;
    return cli_graph_open(path, &how, out, err);
}

void cli_tune_live(cli_live *live, const cli *c) { cli_live_begin(live, c, cli_catch_signals(true).resized); }

hone_rc cli_tune_run(cli *c, const char *path, const cli_compiling *x, const cli_tune_sizes *at, cli_live *live,
                     hone_tune_model_result *out, hone_err *err) {
    hone_graph *g;
    hone_tune_model_options o = hone_tune_model_defaults();
    const char *slash = strrchr(path, '/');
    hone_rc rc = open_graph(c, path, x, &g, err);
    if (rc) return rc;
    live->last_s = -INFINITY; /* its time begins anew */
    o.compile = &x->options;
    o.budget_s = at->budget_s;
    o.sizes = at->sizes;
    o.also = at->also;
    o.kernels = cli_text(c, "kernels", NULL);
    o.engine = cli_text(c, "engine", NULL);
    o.seed = cli_count(c, "seed", 0);
    o.cpu = cli_given(c, "cpu") ? (int)cli_count(c, "cpu", 0) : -1;
    o.fresh = cli_given(c, "new");
    o.exhaust = cli_given(c, "exhaust");
    o.stop = cli_catch_signals(true).stop;
    o.progress = (hone_progress){on_event, live};
    rc = hone_tune_model_run(g, slash ? slash + 1 : path, &o, out, err);
    cli_live_end(live);
    hone_graph_free(g);
    return rc;
}

/* The choice, then the kernels of what was chosen, then what it costs. */
static hone_rc tune(cli *c, const char *path, cli_compiling *x, cli_tune_choice *k, hone_tune_model_result *m,
                    hone_err *err) {
    cli_live live;
    cli_tune_live(&live, c);
    hone_rc rc = cli_tune_choose(c, path, x, &live, k, err);
    if (rc) return rc;
    if (!c->json) cli_tune_put_choice(c, k);
    cli_tune_sizes at = {cli_tune_left(k, cli_seconds(c, "budget", 0)), cli_text(c, "size", k->sizes), NULL};
    rc = cli_tune_run(c, path, x, &at, &live, m, err);
    if (!rc) rc = cli_tune_renew(path, m, err);
    if (!rc && !m->stopped) rc = cli_tune_judge(c, path, x, k, err);
    return rc;
}

static void put(cli *c, const char *path, const cli_tune_choice *k, const hone_tune_model_result *m) {
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        cli_tune_put_json(&j, k, m);
        cli_json_end(&j);
    } else {
        cli_tune_put_text(c, m);
        cli_tune_put_cost(c, path, k);
    }
}

hone_rc cli_tune_model(cli *c, const char *path, hone_err *err) {
    cli_compiling x;
    cli_tune_choice k = {0};
    hone_tune_model_result m = {0};
    hone_rc rc = cli_tune_check_options(c, true, err);
    if (!rc) rc = cli_check_engine(cli_text(c, "engine", NULL), err);
    if (rc) return rc;
    if (cli_given(c, "from-traffic")) return cli_tune_from_traffic(c, path, err);
    if (cli_given(c, "traffic"))
        return cli_fail(err, HONE_E_USAGE, "--traffic says what --from-traffic reads; give both");
    cli_compiling_set(c, &x);
    x.options.progress.fn = NULL;
    rc = tune(c, path, &x, &k, &m, err);
    if (!rc) put(c, path, &k, &m);
    bool stopped = m.stopped;
    hone_tune_model_result_free(&m);
    cli_tune_choice_free(&k);
    cli_compiling_free(&x);
    return rc || !stopped ? rc : cli_tune_interrupted(err);
}

hone_rc cli_tune_interrupted(hone_err *err) {
    return cli_fail(err, HONE_E_INTERRUPTED,
                    "interrupted; what was measured is kept, what was proven is a winner; run again to go on");
}
