/* prove.c — options, progress and controls files of the commands that prove. */
#include "prove.h"

#include <hone/check.h>
#include <hone/reduce.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

hone_prove_options cli_prove_options(const cli *c, const char *store, cli_live *live, cli_signals on) {
    hone_prove_options o = hone_prove_defaults();
    o.store_dir = store;
    o.seed = cli_count(c, "seed", 0);
    o.n_jobs = (uint32_t)cli_count(c, "jobs", 0);
    if (cli_given(c, "cpu")) o.cpu = (int)cli_count(c, "cpu", 0);
    o.pairs_least = (size_t)cli_count(c, "pairs", 0);
    o.pairs_most = (size_t)cli_count(c, "pairs-most", 0);
    o.variants = (size_t)cli_count(c, "variants", 0);
    o.budget_s = cli_seconds(c, "time", 0);
    o.progress = (hone_progress){cli_prove_event, live};
    o.stop = on.stop;
    return o;
}

hone_rc cli_share(const cli *c, const char *option, double most, double *out, hone_err *err) {
    const char *text = cli_text(c, option, NULL);
    if (!text) return HONE_OK;
    char *end;
    double x = strtod(text, &end);
    while (*end == ' ') end++;
    bool percent = *end == '%' && !end[1];
    if (percent) x /= 100;
    if (end == text || (*end && !percent) || !(x >= 0) || x > most)
        return cli_fail(err, HONE_E_USAGE, "--%s takes a share such as 0.01 or 1%%, at most %g, not '%s'", option, most,
                        text);
    *out = x;
    return HONE_OK;
}

/* Whose builds or pairs these are; "" where only one is at work. */
static void put_subject(const hone_prove_event *e, char *buf, size_t n) {
    *buf = 0;
    if (e->base.text)
        snprintf(buf, n, "%.50s: ", e->base.text);
    else if (e->n_candidates && e->candidate >= e->n_candidates)
        snprintf(buf, n, "baseline: ");
    else if (e->n_candidates > 1)
        snprintf(buf, n, "candidate %zu of %zu: ", e->candidate + 1, e->n_candidates);
}

void cli_prove_event(void *live, const hone_event *event) {
    const hone_prove_event *e = (const hone_prove_event *)event;
    static const char *const unit[] = {
        [HONE_PROVE_BUILD] = "build", [HONE_PROVE_MEASURE] = "pair", [HONE_PROVE_REDUCE] = "measurement"};
    cli_live *l = live;
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N], gain[3 * CLI_TEXT_N + 20] = "", subject[64];
    if (e->stage == HONE_PROVE_WARNING) {
        cli_live_warn(l, e->base.text);
        return;
    }
    put_subject(e, subject, sizeof subject);
    if (isfinite(e->gain.mid))
        snprintf(gain, sizeof gain, ", gain %s (%s to %s)", cli_text_ratio(l->c, e->gain.mid, a),
                 cli_text_ratio(l->c, e->gain.lo, lo), cli_text_ratio(l->c, e->gain.hi, hi));
    bool may_end_early = e->stage != HONE_PROVE_BUILD && !e->base.text;
    cli_live_say(l, e->base.elapsed_s, e->base.done <= 1, "%s%s %zu of %s%zu%s", subject, unit[e->stage], e->base.done,
                 may_end_early ? "at most " : "", e->base.total, gain);
}

/* Is the file signed? Replacing it removes its signature. */
static bool is_signed(const char *path) {
    hone_controls *before = NULL;
    bool has = !hone_controls_read(path, &before, NULL) && *before->signer;
    hone_controls_free(before);
    return has;
}

hone_rc cli_controls_keep(const char *path, const hone_workload *w, const hone_proof *proof,
                          const hone_reduction *reduction, int64_t session, double claimed, const hone_prove_options *o,
                          hone_err *err) {
    hone_controls *made = NULL;
    const char *slash = strrchr(path, '/');
    char *dir = slash ? cli_format("%.*s", slash == path ? 1 : (int)(slash - path), path) : cli_strdup(".");
    hone_rc rc = hone_controls_make(w, proof, reduction, session, dir, o, &made, err);
    if (!rc) made->claimed = claimed;
    bool was_signed = is_signed(path);
    if (!rc) rc = hone_controls_write(made, path, err);
    if (!rc && was_signed)
        fprintf(stderr, "hone: warning: '%s' was signed, what replaces it is not; `hone sign` signs it\n", path);
    hone_controls_free(made);
    free(dir);
    return rc;
}

char *cli_controls_workload(const cli *c, const char *file, const hone_controls *controls) {
    const char *given = cli_text(c, "workload", NULL), *slash = strrchr(file, '/');
    if (given) return cli_strdup(given);
    if (!slash || *controls->workload == '/') return cli_strdup(controls->workload);
    return cli_format("%.*s/%s", (int)(slash - file), file, controls->workload);
}

void cli_verdict_cell(cli_table *t, const hone_proof *p) {
    if (p->kept)
        cli_table_cell(t, "kept");
    else if (p->why == HONE_REJECT_UNREACHED)
        cli_table_cell(t, "not reached");
    else
        cli_table_cell(t, "rejected: %s", hone_proof_reject_name(p->why));
}
