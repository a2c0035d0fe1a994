/* chosen.c — which point, of which workload. */
#include "chosen.h"

#include "candidates.h"
#include "prove.h"

#include <hone/check.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_controls(const char *operand) {
    size_t n = strlen(operand);
    return n > 5 && strcmp(operand + n - 5, ".hone") == 0;
}

static hone_rc open_workload(const cli *c, char *path, cli_chosen *x, hone_err *err) {
    x->store = cli_store_dir(c, path);
    hone_rc rc = cli_workload_load(path, &x->workload, err);
    free(path);
    return rc;
}

/* The session that the controls came from, if this record has it and it was made with the present workload; else 0. */
static int64_t session_of(const cli_chosen *x, const hone_controls *controls) {
    hone_store *store = NULL;
    hone_session session = {0};
    hone_err ignored;
    char hash[33];
    int64_t id = 0;
    if (!controls->session || hone_store_open(x->store, false, &store, &ignored)) return 0;
    hone_workload_hash(x->workload, hash);
    if (!hone_session_get(store, controls->session, NULL, &session, &ignored) && !strcmp(session.workload_hash, hash))
        id = controls->session;
    hone_session_free(&session);
    hone_store_close(store);
    return id;
}

static hone_rc from_controls(const cli *c, const char *path, cli_chosen *x, hone_err *err) {
    hone_controls *controls = NULL;
    hone_prove_options o = hone_prove_defaults();
    char *point = NULL;
    hone_rc rc = hone_controls_read(path, &controls, err);
    if (rc) return rc;
    rc = open_workload(c, cli_controls_workload(c, path, controls), x, err);
    if (!rc) rc = hone_controls_point(controls, x->workload, &o, &point, err);
    if (!rc) {
        x->point = cli_strdup(point);
        x->claimed = controls->claimed;
        x->session = session_of(x, controls);
        x->controls = cli_strdup(path);
        x->from = cli_format("controls file '%s'", path);
    }
    hone_free(point);
    hone_controls_free(controls);
    return rc;
}

static const hone_proof *newest_kept(const hone_proofs *p) {
    for (size_t i = 0; i < p->n; i++)
        if (p->proof[i].kept) return &p->proof[i];
    return NULL;
}

static hone_rc take_from(const cli_record *r, cli_chosen *x, hone_err *err) {
    hone_proofs proofs;
    hone_rc rc = hone_proofs_load(r->store, r->session.id, &proofs, err);
    if (rc) return rc;
    const hone_proof *kept = newest_kept(&proofs);
    const hone_trial *best = r->best;
    if (kept) {
        x->point = cli_strdup(kept->point);
        x->from = cli_format("session %lld, the newest proof that was kept", (long long)r->session.id);
    } else if (best) {
        x->point = cli_strdup(best->point);
        x->from = cli_format("session %lld, trial %lld, its best; not yet proven", (long long)r->session.id,
                             (long long)best->id);
        x->claimed = cli_gain(r, best, 0);
    } else
        rc = cli_fail(err, HONE_E_NOTFOUND, "session %lld has no trial that worked", (long long)r->session.id);
    hone_proofs_free(&proofs);
    return rc;
}

static hone_rc from_session(const cli *c, cli_chosen *x, hone_err *err) {
    cli_record r;
    char hash[33];
    hone_rc rc = open_workload(c, cli_strdup(cli_text(c, "workload", "hone.yaml")), x, err);
    if (!rc) rc = cli_record_open(c, false, &r, err);
    if (rc) return rc;
    hone_workload_hash(x->workload, hash);
    x->session = r.session.id;
    if (strcmp(hash, r.session.workload_hash) != 0)
        rc = cli_fail(err, HONE_E_MISMATCH,
                      "'%s' is not the workload that session %lld was recorded with; name the right one with "
                      "--workload, or a point of it with --point",
                      r.workload, (long long)r.session.id);
    if (!rc) rc = take_from(&r, x, err);
    cli_record_close(&r);
    return rc;
}

static hone_rc from_point(const cli *c, cli_chosen *x, hone_err *err) {
    cli_candidates one;
    hone_rc rc = c->n_args ? cli_fail(err, HONE_E_USAGE, "--point or '%s', but not both", c->arg[0]) : HONE_OK;
    if (!rc) rc = open_workload(c, cli_strdup(cli_text(c, "workload", "hone.yaml")), x, err);
    if (!rc) rc = cli_candidates_choose(c, x->workload, &one, err);
    if (rc) return rc;
    x->point = cli_strdup(one.point[0]);
    x->from = cli_strdup("the point given");
    cli_candidates_free(&one);
    return HONE_OK;
}

hone_rc cli_chosen_open(const cli *c, cli_chosen *out, hone_err *err) {
    cli_chosen x = {.claimed = NAN};
    hone_rc rc;
    if (cli_given(c, "point"))
        rc = from_point(c, &x, err);
    else if (c->n_args && is_controls(c->arg[0]))
        rc = from_controls(c, c->arg[0], &x, err);
    else
        rc = from_session(c, &x, err);
    if (rc)
        cli_chosen_free(&x);
    else
        *out = x;
    return rc;
}

void cli_chosen_free(cli_chosen *x) {
    hone_workload_free(x->workload);
    free(x->store);
    free(x->point);
    free(x->from);
    free(x->controls);
    *x = (cli_chosen){0};
}
