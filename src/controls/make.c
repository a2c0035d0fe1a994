/* controls/make.c — a controls file's contents from a kept proof: what to do, the key of today, the claim. */
#include "controls/key.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"
#include "record/controls_file.h"
#include "tune/host.h"
#include "tune/plan.h"

#include <hone/check.h>
#include <hone/reduce.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct maker {
    const hone_workload *w;
    const hone_proof *proof;
    const hone_reduction *reduction;
    const hone_prove_options *o;
    hn_plan *plan;
    double *point;
    hone_controls *c;
    hn_arena *a;
} maker;

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory making a controls file"); }

/* --- what to do ------------------------------------------------------------------------------------------------ */

/* The proof must be of the very point that is written. */
static hone_rc read_point(maker *m, hone_err *err) {
    size_t slots = hone_space_slots(m->plan->space);
    double *reduced = HN_NEW_N(m->a, double, slots + 1);
    m->point = HN_NEW_N(m->a, double, slots + 1);
    if (!reduced || !m->point) return nomem(err);
    hone_rc rc = hone_point_from_json(m->plan->space, m->proof->point, m->point, err);
    if (!rc && m->reduction) rc = hone_point_from_json(m->plan->space, m->reduction->point, reduced, err);
    if (rc) return hn_context(err, "the proof does not belong to workload '%s' as it is now: ", m->w->name);
    if (m->reduction && !hone_point_equal(m->plan->space, m->point, reduced))
        return hn_fail(err, HONE_E_MISMATCH,
                       "the proof is not of the reduced point; validate the reduced point and write that proof");
    return HONE_OK;
}

static hone_rc add_words(maker *m, const hn_recipe *r, hone_err *err) {
    hone_controls *c = m->c;
    c->flag = HN_NEW_N(m->a, const char *, r->n_flags + r->n_app + 1);
    if (!c->flag) return nomem(err);
    for (size_t i = 0; i < r->n_flags; i++) c->flag[c->n_flags++] = hn_strdup(m->a, r->flag[i]);
    for (size_t i = 0; i < r->n_app; i++)
        if (r->app_defined[i]) c->flag[c->n_flags++] = hn_recipe_definition(r, i, m->a);
    size_t n_env = 0;
    while (r->env && r->env[n_env]) n_env++;
    c->environment = HN_NEW_N(m->a, hone_pair, n_env + 1);
    for (size_t i = 0; i < n_env && c->environment; i++) {
        const char *eq = strchr(r->env[i], '=');
        if (!eq) continue;
        c->environment[c->n_environment++] =
            (hone_pair){hn_strndup(m->a, r->env[i], (size_t)(eq - r->env[i])), hn_strdup(m->a, eq + 1)};
    }
    return hn_arena_ok(m->a) ? HONE_OK : nomem(err);
}

static hone_rc add_post_link(maker *m, const hn_recipe *r, hone_err *err) {
    if (!r->bolt) return HONE_OK;
    const hone_pair from[] = {{"stage", "bolt"},
                              {"command", r->bolt->command},
                              {"version", r->bolt->version},
                              {"hash", r->bolt->hash},
                              {"options", r->bolt_options}};
    size_t n = sizeof from / sizeof *from;
    m->c->post_link = HN_NEW_N(m->a, hone_pair, n);
    for (size_t i = 0; m->c->post_link && i < n; i++)
        m->c->post_link[m->c->n_post_link++] = (hone_pair){from[i].name, hn_strdup(m->a, from[i].value)};
    return hn_arena_ok(m->a) ? HONE_OK : nomem(err);
}

static hone_rc add_passes(maker *m, const hn_recipe *r, hone_err *err) {
    if (!r->opt) return HONE_OK;
    const hone_pair from[] = {{"opt", r->opt->command}, {"version", r->opt->version},    {"hash", r->opt->hash},
                              {"level", "O3"},          {"pipeline", r->opt->text_hash}, {"edits", r->edits}};
    size_t n = sizeof from / sizeof *from;
    m->c->passes = HN_NEW_N(m->a, hone_pair, n);
    for (size_t i = 0; m->c->passes && i < n; i++)
        m->c->passes[m->c->n_passes++] = (hone_pair){from[i].name, hn_strdup(m->a, from[i].value)};
    return hn_arena_ok(m->a) ? HONE_OK : nomem(err);
}

/* Flags of single files, as words for the shell. */
static hone_rc add_files(maker *m, const hn_recipe *r, hone_err *err) {
    m->c->file = HN_NEW_N(m->a, hone_pair, r->n_files + 1);
    for (size_t i = 0; m->c->file && i < r->n_files; i++) {
        hn_str s = {0};
        for (size_t k = 0; k < r->file[i].n_flags; k++) {
            hn_str_add(&s, k ? " " : "");
            hn_str_add_shell(&s, r->file[i].flag[k]);
        }
        m->c->file[m->c->n_files++] =
            (hone_pair){hn_strdup(m->a, r->file[i].name), s.failed ? NULL : hn_strdup(m->a, s.text ? s.text : "")};
        if (s.failed) m->a->failed = true;
        hn_str_free(&s);
    }
    return hn_arena_ok(m->a) ? HONE_OK : nomem(err);
}

static hone_rc add_what(maker *m, hone_err *err) {
    const hn_plan *plan = m->plan;
    hn_recipe r;
    char *json = NULL;
    hone_rc rc = hn_plan_recipe(plan, m->point, &r, err);
    if (rc) return rc;
    hone_fp fp = m->w->fp_baseline;
    if (plan->i_fp != SIZE_MAX) fp = m->w->fp_min + (hone_fp)m->point[hone_space_param(plan->space, plan->i_fp)->slot];
    m->c->compiler = hn_strdup(m->a, r.cc);
    m->c->floating_point = hone_fp_name(fp);
    m->c->pgo = r.pgo;
    rc = add_words(m, &r, err);
    if (!rc) rc = add_post_link(m, &r, err);
    if (!rc) rc = add_files(m, &r, err);
    if (!rc) rc = add_passes(m, &r, err);
    hn_recipe_free(&r);
    if (!rc) rc = hone_point_to_json(plan->space, m->point, &json, err);
    if (rc) return rc;
    m->c->point = hn_strdup(m->a, json);
    hone_free(json);
    return hn_arena_ok(m->a) ? hn_controls_derive(m->c, m->a, err) : nomem(err);
}

/* --- the key --------------------------------------------------------------------------------------------------- */

/* `path` as seen from the folder `dir`; both absolute and resolved. */
static const char *relative_to(hn_arena *a, const char *dir, const char *path) {
    size_t same = 0;
    for (size_t i = 0;; i++) {
        if ((!dir[i] || dir[i] == '/') && path[i] == '/') same = i + 1; /* behind a folder they share */
        if (!dir[i] || dir[i] != path[i]) break;
    }
    hn_str s = {0};
    const char *rest = dir + (same < strlen(dir) ? same : strlen(dir));
    if (*rest) hn_str_add(&s, "../");
    for (; *rest; rest++)
        if (*rest == '/' && rest[1]) hn_str_add(&s, "../");
    hn_str_add(&s, path + same);
    char *text = hn_str_take(&s);
    const char *kept = text ? hn_strdup(a, text) : NULL;
    free(text);
    return kept;
}

static const char *workload_path(maker *m, const char *dir) {
    char *from = realpath(dir && *dir ? dir : ".", NULL), *path = realpath(m->w->path, NULL);
    const char *text =
        from && path ? relative_to(m->a, strcmp(from, "/") ? from : "", path) : hn_strdup(m->a, m->w->path);
    free(from);
    free(path);
    return text;
}

static hone_rc add_key(maker *m, const char *dir, hone_err *err) {
    hone_machine machine;
    hone_rc rc = hn_host_machine(m->w, NULL, &machine, err);
    if (rc) return rc;
    m->c->workload = workload_path(m, dir);
    rc = hn_key_workload(m->w, m->c, m->a, err);
    if (!rc) rc = hn_key_sources(m->w, m->c, m->a, err);
    if (!rc) rc = hn_key_tools(m->w->compiler[0], m->c, m->a, m->o ? m->o->cache_dir : NULL, err);
    if (!rc) rc = hn_key_machine(&machine, hn_host_gpus(m->w, m->a), m->c, m->a, err);
    return rc;
}

/* --- the claim ------------------------------------------------------------------------------------------------- */

static void add_row(maker *m, const hone_comparison *x) {
    if (!x->quantity) return;
    hone_controls_row *row = &m->c->row[m->c->n_rows++];
    *row = (hone_controls_row){.held_out = x->held_out, .gain = x->gain, .baseline = x->baseline, .tuned = x->tuned};
    row->objective = hn_strdup(m->a, x->quantity);
    row->input = hn_strdup(m->a, x->input ? x->input : "");
}

static hone_rc add_rows(maker *m, hone_err *err) {
    const hone_proof *p = m->proof;
    size_t n = p->n_objectives;
    m->c->row = HN_NEW_N(m->a, hone_controls_row, n * (3 + p->n_inputs) + 1);
    if (!m->c->row) return nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (p->overall) add_row(m, &p->overall[i]);
        if (p->tail) add_row(m, &p->tail[i]);
        if (p->held_out) add_row(m, &p->held_out[i]);
        for (size_t k = 0; p->by_input && p->n_inputs > 1 && k < p->n_inputs; k++)
            add_row(m, &p->by_input[i * p->n_inputs + k]);
    }
    return HONE_OK;
}

static hone_rc add_shares(maker *m, hone_err *err) {
    const hone_reduction *r = m->reduction;
    if (!r) return HONE_OK;
    m->c->share = HN_NEW_N(m->a, hone_share, r->n_after + 1);
    if (!m->c->share) return nomem(err);
    for (size_t i = 0; r->share && i < r->n_after; i++)
        m->c->share[m->c->n_shares++] = (hone_share){hn_strdup(m->a, r->share[i].name), r->share[i].gain};
    m->c->n_before = r->n_before;
    return HONE_OK;
}

/* The gain that the search measured for exactly this point: from the closing race if it took part, else from its trial.
 */
static double claim_of(const maker *m, const hone_trials *trials) {
    const hone_trial *base = NULL, *found = NULL;
    uint64_t hash = hone_point_hash(m->plan->space, m->point);
    for (size_t i = 0; i < trials->n; i++) {
        const hone_trial *t = &trials->trial[i];
        if (!strcmp(t->phase, "baseline")) base = t;
        bool better = !found || !strcmp(t->phase, "race");
        if (strcmp(t->phase, "baseline") && t->point_hash == hash && t->outcome.cls == HONE_RUN_OK && better) found = t;
    }
    if (!base || !found) return (double)NAN;
    double b = base->outcome.value[0], x = found->outcome.value[0];
    if (!(b > 0) || !(x > 0)) return (double)NAN;
    return m->w->objective[0].maximize ? x / b : b / x;
}

/* Without the record only this number is missing. */
static void add_claim(maker *m, int64_t session) {
    hone_store *store;
    hone_trials trials;
    const char *dir = m->o && m->o->store_dir ? m->o->store_dir : hn_format(m->a, "%s/.hone", m->w->dir);
    if (session <= 0 || !dir || hone_store_open(dir, false, &store, NULL)) return;
    if (!hone_trials_load(store, session, false, &trials, NULL)) {
        m->c->claimed = claim_of(m, &trials);
        hone_trials_free(&trials);
    }
    hone_store_close(store);
}

static const char *creation_time(hn_arena *a) {
    time_t now = (time_t)hn_unix_s();
    struct tm t;
    char text[32];
    if (!gmtime_r(&now, &t) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t)) return "";
    return hn_strdup(a, text);
}

static hone_rc fill(maker *m, int64_t session, const char *dir, hone_err *err) {
    hone_controls *c = m->c;
    c->name = hn_strdup(m->a, m->w->name);
    c->version = HONE_VERSION;
    c->created = creation_time(m->a);
    c->verdict = hn_strdup(m->a, m->proof->verdict ? m->proof->verdict : "");
    c->n_pairs = m->proof->n_pairs;
    c->n_variants = m->proof->n_variants;
    c->session = session > 0 ? session : 0;
    hone_rc rc = read_point(m, err);
    if (!rc) rc = add_what(m, err);
    if (!rc) rc = add_key(m, dir, err);
    if (!rc) rc = add_rows(m, err);
    if (!rc) rc = add_shares(m, err);
    if (!rc) add_claim(m, session);
    return !rc && !hn_arena_ok(m->a) ? nomem(err) : rc;
}

hone_rc hone_controls_make(const hone_workload *workload, const hone_proof *proof, const hone_reduction *reduction,
                           int64_t session, const char *dir, const hone_prove_options *options, hone_controls **out,
                           hone_err *err) {
    hone_prove_options given = hone_prove_defaults();
    maker m = {.w = workload, .proof = proof, .reduction = reduction, .o = &given};
    hone_rc rc = hn_options_read(&given, sizeof given, options, "prove", err);
    if (rc) return rc;
    if (!proof->kept)
        return hn_fail(err, HONE_E_INPUT, "only what a proof kept is written; this candidate was rejected: %s",
                       hone_proof_reject_name(proof->why));
    m.c = hn_controls_new(&m.a);
    if (!m.c) return nomem(err);
    hone_tune_options o = hone_tune_defaults();
    o.cache_dir = given.cache_dir;
    rc = hn_plan_open(workload, &o, NULL, &m.plan, err);
    if (!rc) rc = fill(&m, session, dir, err);
    hn_plan_close(m.plan);
    if (rc)
        hone_controls_free(m.c);
    else
        *out = m.c;
    return rc;
}
