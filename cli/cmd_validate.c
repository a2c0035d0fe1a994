/* cmd_validate.c — `hone validate`: candidates of a session, or one by name, against the baseline, until proven. */
#include "candidates.h"
#include "carry.h"
#include "prove.h"

#include <hone/prove.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the result ----------------------------------------------------------------------------------------------- */

typedef struct report {
    cli *c;
    const hone_workload *workload;
    const cli_candidates *from;
    const hone_proofs *proofs;
    char *controls; /* path of the file written, NULL: none */
} report;

static size_t n_kept(const hone_proofs *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->proof[i].kept;
    return n;
}

static void put_json(const report *r) {
    cli_json j = cli_json_begin(r->c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "session", (uint64_t)r->from->session);
    cli_json_ktext(&j, "workload", hone_workload_name(r->workload));
    cli_json_kcount(&j, "kept", n_kept(r->proofs));
    cli_json_ktext(&j, "controls", r->controls);
    cli_json_key(&j, "proofs");
    cli_json_array(&j);
    for (size_t i = 0; i < r->proofs->n; i++) {
        char *text = NULL;
        cli_json_object(&j);
        cli_json_kcount(&j, "trial", (uint64_t)r->from->one[i].trial);
        cli_json_knumber(&j, "claimed", r->from->one[i].claimed[0]);
        cli_json_key(&j, "proof");
        if (hone_proof_to_json(&r->proofs->proof[i], false, &text, NULL)) text = NULL;
        cli_json_raw(&j, text);
        hone_free(text);
        cli_json_close(&j);
    }
    cli_json_close(&j);
    cli_json_end(&j);
}

static void cell_gain(const cli *c, cli_table *t, hone_interval g) {
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    if (!isfinite(g.mid)) {
        cli_table_cell(t, "-");
        cli_table_cell(t, "-");
        return;
    }
    cli_table_cell(t, "%s", cli_text_ratio(c, g.mid, a));
    cli_table_cell(t, "%s to %s", cli_text_ratio(c, g.lo, lo), cli_text_ratio(c, g.hi, hi));
}

static void cell_p(cli_table *t, double p) {
    if (isnan(p))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.2g", p);
}

/* A number, or nothing. */
static void cell_count(cli_table *t, bool shown, uint64_t n) {
    if (shown)
        cli_table_cell(t, "%llu", (unsigned long long)n);
    else
        cli_table_cell(t, "%s", "");
}

static void heads(cli_table *t, const char *const *name, size_t n) {
    for (size_t i = 0; i < n; i++) cli_table_head(t, name[i]);
}

static void put_candidates(const report *r) {
    static const char *const head[] = {"#", "trial",  "objective", "claimed", "proven", "interval",
                                       "p", "p Holm", "effect",    "pairs",   "verdict"};
    cli_table *t = cli_table_new("rrlrrlrrrrl");
    char a[CLI_TEXT_N];
    heads(t, head, sizeof head / sizeof *head);
    for (size_t i = 0; i < r->proofs->n; i++) {
        const hone_proof *p = &r->proofs->proof[i];
        for (size_t k = 0; k < p->n_objectives; k++) {
            const hone_comparison *x = &p->overall[k];
            cell_count(t, !k, i + 1);
            cell_count(t, !k && r->from->one[i].trial, (uint64_t)r->from->one[i].trial);
            cli_table_cell(t, "%s", x->quantity);
            cli_table_cell(t, "%s", cli_text_ratio(r->c, r->from->one[i].claimed[k], a));
            cell_gain(r->c, t, x->gain);
            cell_p(t, x->p_wilcoxon);
            cell_p(t, x->p_adjusted);
            cli_table_cell(t, isnan(x->effect) ? "-" : "%.2f", x->effect);
            cell_count(t, !k, p->n_pairs);
            if (k)
                cli_table_cell(t, "%s", "");
            else
                cli_verdict_cell(t, p);
            cli_table_ink(t, p->kept ? CLI_GREEN : CLI_PLAIN);
        }
    }
    cli_table_print(r->c, t, stdout, cli_width(stdout));
}

static void put_row(const cli *c, cli_table *t, size_t i, const hone_comparison *x, const char *input) {
    static const char *const word[] = {[HONE_EVEN] = "even", [HONE_GAINS] = "gains", [HONE_LOSES] = "loses"};
    char b[CLI_TEXT_N], u[CLI_TEXT_N];
    if (!x->quantity) return;
    cli_table_cell(t, "%zu", i + 1);
    cli_table_cell(t, "%s", x->quantity);
    cli_table_cell(t, "%s%s", input, x->held_out && strcmp(input, "held out") != 0 ? " (held out)" : "");
    cli_table_cell(t, "%s", cli_text_quantity(x->quantity, x->baseline.p50, b));
    cli_table_cell(t, "%s", cli_text_quantity(x->quantity, x->tuned.p50, u));
    cell_gain(c, t, x->gain);
    cell_p(t, x->p_wilcoxon);
    cell_p(t, x->p_mann_whitney);
    cell_p(t, x->p_welch);
    cli_table_cell(t, "%s", word[x->finding]);
    cli_table_ink(t, x->finding == HONE_LOSES ? CLI_RED : CLI_PLAIN);
}

static bool measured(const hone_proof *p) { return p->n_objectives && isfinite(p->overall[0].gain.mid); }

/* The measurements behind the verdicts: tails, held-out inputs, each input. */
static void put_details(const report *r) {
    static const char *const head[] = {"#",        "quantity", "input",   "baseline", "tuned",  "gain",
                                       "interval", "Wilcoxon", "Mann-W.", "Welch",    "finding"};
    cli_table *t = cli_table_new("rlxrrrlrrrl");
    heads(t, head, sizeof head / sizeof *head);
    for (size_t i = 0; i < r->proofs->n; i++) {
        const hone_proof *p = &r->proofs->proof[i];
        if (!measured(p)) continue;
        for (size_t k = 0; k < p->n_objectives; k++) {
            put_row(r->c, t, i, &p->overall[k], "all, by weight");
            put_row(r->c, t, i, &p->tail[k], "all, by weight");
            if (p->held_out) put_row(r->c, t, i, &p->held_out[k], "held out");
            for (size_t x = 0; p->n_inputs > 1 && x < p->n_inputs; x++)
                put_row(r->c, t, i, &p->by_input[k * p->n_inputs + x], p->by_input[k * p->n_inputs + x].input);
        }
    }
    cli_table_print(r->c, t, stdout, cli_width(stdout));
}

static void put_text(const report *r) {
    const hone_proofs *all = r->proofs;
    const hone_proof *shown = NULL;
    put_candidates(r);
    for (size_t i = 0; i < all->n; i++)
        if (!shown && measured(&all->proof[i])) shown = &all->proof[i];
    if (shown) putchar('\n'), put_details(r);
    putchar('\n');
    for (size_t i = 0; i < all->n; i++) {
        char *line = cli_format("%zu %s", i + 1, all->proof[i].verdict);
        cli_wrap(stdout, line, 0, cli_width(stdout) ? cli_width(stdout) : 120, r->c->color_out);
        free(line);
    }
    if (shown) printf("layout of the builds: %s\n", shown->layout);
    if (r->controls) printf("controls written to %s\n", r->controls);
}

/* --- the controls file ---------------------------------------------------------------------------------------- */

/* --out, else NAME.hone beside the workload file. */
static char *controls_path(const cli *c, const hone_workload *w) {
    const char *given = cli_text(c, "out", NULL);
    if (given) return cli_strdup(given);
    return cli_format("%s/%s.hone", hone_workload_dir(w), hone_workload_name(w));
}

static hone_rc write_controls(report *r, const hone_prove_options *o, hone_err *err) {
    const hone_proof *best = hone_proofs_best(r->proofs);
    if (!best || cli_given(r->c, "no-controls")) return HONE_OK;
    double claimed = r->from->one[best - r->proofs->proof].claimed[0];
    char *path = controls_path(r->c, r->workload);
    hone_rc rc = cli_controls_keep(path, r->workload, best, NULL, r->from->session, claimed, o, err);
    if (rc)
        free(path);
    else
        r->controls = path;
    return rc;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static hone_rc validate(cli *c, const hone_workload *w, const cli_candidates *from, const char *store, double min_gain,
                        hone_err *err) {
    cli_live live;
    hone_proofs proofs;
    cli_signals on = cli_catch_signals(true);
    hone_prove_options o = cli_prove_options(c, store, &live, on);
    o.min_gain = min_gain;
    cli_live_begin(&live, c, on.resized);
    hone_rc rc = hone_prove_validate(w, from->point, from->n, from->session, &o, &proofs, err);
    cli_live_end(&live);
    if (rc == HONE_E_INTERRUPTED)
        return cli_fail(err, rc, "interrupted; candidates that were judged by then are recorded");
    if (rc) return rc;
    report r = {.c = c, .workload = w, .from = from, .proofs = &proofs};
    rc = write_controls(&r, &o, err);
    if (c->json)
        put_json(&r);
    else
        put_text(&r);
    if (!rc && !n_kept(&proofs)) c->exit_code = hone_rc_exit(HONE_E_REJECTED);
    free(r.controls);
    hone_proofs_free(&proofs);
    return rc;
}

/* --on: what --controls names, else the controls file of the workload, on other workloads. */
static hone_rc validate_on(cli *c, const char *path, hone_err *err) {
    cli_live live;
    cli_signals on = cli_catch_signals(true);
    hone_prove_options o = cli_prove_options(c, NULL, &live, on);
    hone_rc rc = cli_share(c, "min-gain", 10, &o.min_gain, err);
    hone_workload *w = NULL;
    bool named = cli_given(c, "controls");
    if (!rc && !named) rc = cli_workload_load(path, &w, err);
    if (rc) return rc;
    char *files = named ? cli_strdup(cli_text(c, "controls", "")) : controls_path(c, w);
    cli_live_begin(&live, c, on.resized);
    rc = cli_carry(c, files, cli_text(c, "on", ""), o, &live, err);
    cli_live_end(&live);
    free(files);
    hone_workload_free(w);
    return rc;
}

static hone_rc run_validate(cli *c, hone_err *err) {
    if (cli_given(c, "on")) return validate_on(c, cli_text(c, "workload", "hone.yaml"), err);
    const char *path = cli_text(c, "workload", "hone.yaml");
    hone_workload *w;
    hone_rc rc = cli_workload_load(path, &w, err);
    if (rc) return rc;
    char *dir = cli_store_dir(c, path);
    double min_gain = hone_prove_defaults().min_gain;
    cli_candidates from;
    rc = cli_share(c, "min-gain", 10, &min_gain, err);
    if (!rc) rc = cli_candidates_choose(c, w, &from, err);
    if (!rc) {
        rc = validate(c, w, &from, dir, min_gain, err);
        cli_candidates_free(&from);
    }
    hone_workload_free(w);
    free(dir);
    return rc;
}

static const cli_option options[] = {
    {"top", 'n', CLI_COUNT, "N", 1, 100,
     "candidates: the best N with programs of their own (default 3; several objectives: the whole Pareto front)"},
    {"point", 0, CLI_TEXT, "FILE|JSON", 0, 0, "this point instead of a session's (`hone best --point` prints one)"},
    {"controls", 0, CLI_TEXT, "FILE", 0, 0, "the point of this controls file instead"},
    {"on", 0, CLI_TEXT, "FILES", 0, 0,
     "on these other workloads instead (separated by commas): do the controls files of --controls (default: the "
     "workload's own) carry over? Prints a matrix; controls that have no place there are left out and named"},
    {"pairs", 0, CLI_COUNT, "N", 10, 1e6, "least pairs of runs before anything is kept (default: the workload's, 100)"},
    {"pairs-most", 0, CLI_COUNT, "N", 10, 1e6, "most pairs (default: the workload's, 400)"},
    {"variants", 0, CLI_COUNT, "N", 3, 100, "builds of each side (default: the workload's, 10)"},
    {"min-gain", 0, CLI_TEXT, "SHARE", 0, 0, "what a gain must exceed: 0.01 or 1% (default: the workload's, 1%)"},
    {"time", 't', CLI_SECONDS, "TIME", 0, 0,
     "time at most: 90s, 10m; what is not decided by then is rejected, what is not reached is named"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "seed of layouts and orders (default 0)"},
    {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "builds side by side (default: one per core)"},
    {"cpu", 0, CLI_COUNT, "N", 0, 4095, "the core to measure on (default: the last usable one)"},
    {"out", 'o', CLI_TEXT, "FILE", 0, 0, "the controls file to write (default NAME.hone beside the workload file)"},
    {"no-controls", 0, CLI_FLAG, NULL, 0, 0, "write no controls file"},
    {"quiet", 'q', CLI_FLAG, NULL, 0, 0, "no progress, only the result"},
    CLI_RECORD_OPTIONS,
    {0},
};

const cli_command cli_cmd_validate = {
    "validate",
    "Prove",
    "[SESSION]",
    "prove candidates against the baseline, and write the controls of the best one kept",
    "Builds the baseline and each candidate several times with different layouts, and runs them in interleaved pairs "
    "on "
    "every input, held-out ones too, until the gain is clear either way. Nothing that the search measured is used. A "
    "candidate is kept when the lower end of its gain's interval is above the minimum, its tail is not worse, its "
    "spread does not grow by more than a quarter, held-out inputs do not lose, limits hold, and every result is "
    "right.\n\n"
    "Candidates are the best of a session (the newest unless a number is given). Every verdict is recorded there. The "
    "best one kept is written as a controls file and a response file beside it.\n\n"
    "Exit status: 0 when a candidate was kept, 17 when none was; with --on 17 unless all are kept "
    "everywhere.",
    options,
    "hone validate\tthe three best of the newest session\n"
    "hone validate 4 --top 1 --min-gain 0.5%\tthe best of session 4 against another margin\n"
    "hone validate --point point.json --pairs 200\tone point, with more effort\n"
    "hone validate --controls a.hone,b.hone --on x/hone.yaml,y/hone.yaml\tdo they carry over?\n"
    "hone validate --json -q > proof.json\tfor scripts\n",
    0,
    1,
    run_validate,
};
