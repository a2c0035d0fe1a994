/* deploy_calls.c — deployments as admin calls begin and end them, and as a server finds them when it starts. */
#include "base/clock.h"
#include "base/err.h"
#include "serve/deploy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the store ---------------------------------------------------------------------------------------------------- */

static hone_rc need_store(hn_server *s, hone_err *err) {
    return s->store ? HONE_OK : hone_rollouts_open(s->o.store, true, &s->store, err);
}

void hn_deploy_open(hn_server *s) {
    hone_err why = {0};
    hone_rollouts *there = NULL;
    hone_rc rc = hone_rollouts_open(s->o.store, false, &there, &why);
    hone_rollouts_close(there);
    if (!rc) rc = hone_rollouts_open(s->o.store, true, &s->store, &why);
    if (rc && rc != HONE_E_NOTFOUND)
        hn_server_note(s, "what was deployed earlier is not known, and the models named answer: %s", why.text);
}

char *hn_deploy_path(void *server, const char *base) {
    hn_server *s = server;
    hone_rollout_current now = {0};
    if (!s->store || hone_rollouts_current(s->store, base, &now, NULL)) return NULL;
    char *path = now.promoted ? strdup(now.path) : NULL;
    hone_rollout_current_free(&now);
    if (path) hn_server_note(s, "'%s' was promoted in place of '%s' and answers", path, base);
    return path;
}

static void take_up_evidence(hn_ongoing *d, const hone_rollout *r) {
    d->total = r->evidence;
    d->ratio = malloc((r->evidence.n + 256) * sizeof *d->ratio);
    d->room = d->ratio ? r->evidence.n + 256 : 0;
    d->total.n = d->ratio ? r->evidence.n : 0;
    if (d->total.n) memcpy(d->ratio, r->evidence.log_ratio, d->total.n * sizeof *d->ratio);
    d->total.log_ratio = NULL;
    d->n_stored = d->total.n;
}

static hone_rc go_on(hn_server *s, size_t at, int64_t id, hone_err *err) {
    hone_rollout r = {0};
    hn_ongoing *d = hn_ongoing_new(s, at);
    hone_rc rc = d ? hone_rollouts_get(s->store, id, &r, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) {
        d->id = id;
        d->shadow = r.shadow;
        d->rules = r.rules;
        d->began_s = r.began_s;
        d->held = r.state == HONE_ROLLOUT_HELD;
        d->now = strdup(r.now);
        d->next = strdup(r.next);
        take_up_evidence(d, &r);
        rc = d->now && d->next ? hn_ongoing_start(d, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    hone_rollout_free(&r);
    if (rc) {
        hn_ongoing_free(d);
        return rc;
    }
    s->deployment[at] = d;
    hn_ongoing_event(d, "resumed", "the server started again");
    hn_server_note(s, "deployment %lld of '%s' goes on", (long long)id, s->engine->model[at]->name);
    return HONE_OK;
}

void hn_deploy_resume(hn_server *s) {
    for (size_t i = 0; s->store && s->deployment && i < s->engine->n_model; i++) {
        hone_rollout_current now = {0};
        hone_err why = {0};
        if (hone_rollouts_current(s->store, s->engine->base[i], &now, NULL)) continue;
        int64_t id = now.under_way;
        hone_rollout_current_free(&now);
        if (!id) continue;
        hone_rc rc = hone_rollouts_take(s->store, id, &why);
        if (!rc) rc = go_on(s, i, id, &why);
        if (!rc) continue;
        hn_server_note(s, "deployment %lld of '%s' does not go on: %s", (long long)id, s->engine->model[i]->name,
                       why.text);
        if (rc == HONE_E_BUSY) continue;
        hone_rollout_decision x = hone_rollout_by_hand(HONE_ROLLOUT_ROLL_BACK, why.text);
        hone_rollouts_conclude(s->store, id, &x, NULL);
    }
}

void hn_deploy_close(hn_server *s) {
    for (size_t i = 0; s->deployment && i < s->engine->n_model; i++) {
        hn_ongoing *d = s->deployment[i];
        hone_rollout_evidence e = d ? d->fresh : hone_rollout_no_evidence();
        if (!d) continue;
        e.log_ratio = d->ratio + d->n_stored;
        e.n = d->total.n - d->n_stored;
        hone_rollouts_add(s->store, d->id, &e, NULL);
        if (d->call) d->call->held = false; /* its connection goes with the server */
        s->deployment[i] = NULL;
        hn_ongoing_free(d);
    }
    free(s->deployment);
    s->deployment = NULL;
    hone_rollouts_close(s->store);
    s->store = NULL;
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *hn_deploy_json(const hn_server *s, size_t at) {
    const hn_ongoing *d = s->deployment ? s->deployment[at] : NULL;
    if (!d) return json_null();
    const hone_rollout_evidence *e = &d->total;
    json_t *o = json_pack("{s:I, s:s, s:s, s:s, s:s, s:b, s:f, s:f, s:s, s:s, s:s}", "id", (json_int_t)d->id, "model",
                          s->engine->model[at]->name, "now", d->now, "next", d->next, "version", d->version, "shadow",
                          d->shadow, "share", d->rules.share, "age_s", hn_unix_s() - d->began_s, "state",
                          !d->opened   ? "opening"
                          : d->loading ? "promoting"
                          : d->held    ? "held"
                                       : "running",
                          "verdict", hone_rollout_verdict_name(d->last.verdict), "text", d->last.text);
    json_object_set_new(
        o, "ratio",
        json_pack("[o, o, o]", number(d->last.ratio.lo), number(d->last.ratio.mid), number(d->last.ratio.hi)));
    json_object_set_new(o, "evidence",
                        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pairs", (json_int_t)e->n,
                                  "compared", (json_int_t)e->compared, "elements", (json_int_t)e->elements, "differing",
                                  (json_int_t)e->differing, "runs_now", (json_int_t)e->runs_now, "runs_next",
                                  (json_int_t)e->runs_next, "failures_now", (json_int_t)e->failures_now,
                                  "failures_next", (json_int_t)e->failures_next, "crashes_now",
                                  (json_int_t)e->crashes_now, "crashes_next", (json_int_t)e->crashes_next));
    return o;
}

void hn_deploy_figures(const hn_server *s, hn_str *out) {
    static const struct {
        const char *name, *help;
    } gauge[] = {{"hone_serve_deployment_pairs", "requests that both versions of a deployment under way ran"},
                 {"hone_serve_deployment_runs", "runs of the version on trial"},
                 {"hone_serve_deployment_ratio", "its time by that of the version that answers, median"},
                 {"hone_serve_deployment_crashes", "of the version on trial"}};
    for (size_t k = 0; k < sizeof gauge / sizeof *gauge; k++) {
        hn_str_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", gauge[k].name, gauge[k].help, gauge[k].name);
        for (size_t i = 0; s->deployment && i < s->engine->n_model; i++) {
            const hn_ongoing *d = s->deployment[i];
            char text[32];
            if (!d) continue;
            const double x[] = {(double)d->total.n, (double)d->total.runs_next, d->last.ratio.mid,
                                (double)d->total.crashes_next};
            hn_str_addf(out, "%s{", gauge[k].name);
            hn_figures_labels(out, s->engine->model[i]->name, d->version);
            hn_str_addf(out, "} %s\n", isnan(x[k]) ? "NaN" : hn_double_text(x[k], text));
        }
    }
}

static void say_model(hn_http_call *c, size_t at, double load_s) {
    hn_http_reply(c, 200, json_pack("{s:o, s:f}", "model", hn_admin_model(c->server, at), "load_s", load_s));
}

void hn_ongoing_began(hn_ongoing *d) {
    hn_http_call *c = d->call;
    d->call = NULL;
    c->held = false;
    hn_server_note(d->s, "deployment %lld of '%s' began: '%s', version %s", (long long)d->id,
                   d->s->engine->model[d->at]->name, d->next, d->version);
    hn_http_reply(
        c, 200,
        json_pack("{s:o, s:o}", "model", hn_admin_model(d->s, d->at), "deployment", hn_deploy_json(d->s, d->at)));
}

/* --- at once ------------------------------------------------------------------------------------------------------ */

/* Written before it is done. The file that the server was started with needs no record: it answers anyway. */
static hone_rc record_replacement(hn_server *s, size_t at, const char *next, hone_err *err) {
    int64_t id;
    hone_err why = {0};
    const char *base = s->engine->base[at];
    char *real = realpath(base, NULL);
    bool own = real && !strcmp(real, next);
    free(real);
    hone_rc rc = need_store(s, err);
    if (!rc) rc = hone_rollouts_begin(s->store, base, next, false, NULL, &id, &why);
    if (rc == HONE_E_INPUT && own) return HONE_OK;
    if (rc) {
        if (why.rc && err) *err = why;
        return rc;
    }
    hone_rollout_decision x = hone_rollout_by_hand(HONE_ROLLOUT_PROMOTE, "replaced by hand, without a trial");
    return hone_rollouts_conclude(s->store, id, &x, err);
}

/* The version is open, or cannot be: the call that asked for it hears of it. */
static void on_replacement(void *arg, hn_load *l) {
    hn_http_call *c = arg;
    hn_server *s = c->server;
    size_t at = hn_runner_at(s->engine, l->model->name);
    hone_err why = l->why;
    hone_rc rc = l->rc;
    if (!rc && s->ending) rc = hn_fail(&why, HONE_E_FAILED, "the server is ending");
    if (!rc) rc = hn_served_fits(s->engine->model[at], l->model, &why);
    if (!rc) rc = record_replacement(s, at, l->model->path, &why);
    if (!rc) rc = hn_runner_put(s->engine, at, l->model, &why);
    c->held = false;
    if (rc) {
        hn_admin_fail(c, rc, &why);
        return;
    }
    l->model = NULL;
    hn_server_note(s, "'%s' is answered by '%s' (version %s) now", s->engine->model[at]->name,
                   s->engine->model[at]->path, s->engine->model[at]->version);
    say_model(c, at, l->seconds);
}

/* --- a trial ------------------------------------------------------------------------------------------------------ */

static hone_rc read_path(const hn_http_call *c, char **path, hone_err *err) {
    const char *text = json_string_value(json_object_get(c->body, "path"));
    if (!text) return hn_fail(err, HONE_E_USAGE, "'path' is missing: that of the new version");
    *path = realpath(text, NULL);
    return *path ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot open '%s': there is no such model", text);
}

static hone_rc read_number(const hn_http_call *c, const char *key, double least, double most, double *to,
                           hone_err *err) {
    const json_t *v = json_object_get(c->body, key);
    if (!v || json_is_null(v)) return HONE_OK;
    double x = json_number_value(v);
    if (!json_is_number(v) || !(x >= least && x <= most))
        return hn_fail(err, HONE_E_USAGE, "'%s' is no number from %g to %g", key, least, most);
    *to = x;
    return HONE_OK;
}

static hone_rc read_count(const hn_http_call *c, const char *key, uint64_t *to, hone_err *err) {
    double x = (double)*to;
    hone_rc rc = read_number(c, key, 1, 1e9, &x, err);
    if (!rc) *to = (uint64_t)x;
    return rc;
}

static hone_rc read_rules(const hn_http_call *c, hn_ongoing *d, hone_err *err) {
    hone_rollout_rules *r = &d->rules;
    d->shadow = json_is_true(json_object_get(c->body, "shadow"));
    hone_rc rc = read_number(c, "share", 1e-6, 0.5, &r->share, err);
    if (!rc) rc = read_number(c, "margin", 0, 1, &r->margin, err);
    if (!rc) rc = read_number(c, "min_gain", 0, 100, &r->min_gain, err);
    if (!rc) rc = read_number(c, "age_s", 1, 1e9, &r->age_s, err);
    if (!rc) rc = read_number(c, "alpha", 1e-6, 0.5, &r->alpha, err);
    if (!rc) rc = read_number(c, "tolerance", 0, 1e6, &r->tolerance, err);
    if (!rc) rc = read_count(c, "pairs", &r->pairs, err);
    if (!rc) rc = read_count(c, "runs", &r->runs, err);
    if (!rc) rc = read_count(c, "elements", &r->elements, err);
    if (d->shadow) r->share = 0;
    return rc;
}

static hone_rc begin_trial(hn_http_call *c, size_t at, const char *path, hone_err *err) {
    hn_server *s = c->server;
    const hn_served *now = s->engine->model[at];
    hn_ongoing *d = hn_ongoing_new(s, at);
    hone_rc rc = d ? read_rules(c, d, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && hn_served_broken(now, err)) rc = HONE_E_FAILED;
    if (!rc && s->deployment[at])
        rc = hn_fail(err, HONE_E_BUSY, "deployment %lld of '%s' is under way; `hone rollback %s` ends it",
                     (long long)s->deployment[at]->id, now->name, now->name);
    if (!rc) rc = need_store(s, err);
    if (!rc) rc = hone_rollouts_begin(s->store, s->engine->base[at], path, d->shadow, &d->rules, &d->id, err);
    if (rc) {
        hn_ongoing_free(d);
        return rc;
    }
    d->began_s = hn_unix_s();
    d->now = realpath(now->path, NULL);
    d->next = strdup(path);
    d->call = c;
    rc = d->now && d->next ? hn_ongoing_start(d, err) : hn_fail(err, HONE_E_IO, "cannot open '%s'", now->path);
    if (rc) {
        hone_rollout_decision x = hone_rollout_by_hand(HONE_ROLLOUT_ROLL_BACK, err->text);
        hone_rollouts_conclude(s->store, d->id, &x, NULL);
        hn_ongoing_free(d);
        return rc;
    }
    s->deployment[at] = d;
    return HONE_OK;
}

/* The contents are known to the store; the trial begins, or is refused. */
static void on_read(void *arg, hn_load *l) {
    hn_http_call *c = arg;
    hn_server *s = c->server;
    hone_err why = {0};
    hone_rc rc = s->ending ? hn_fail(&why, HONE_E_FAILED, "the server is ending")
                           : begin_trial(c, hn_runner_at(s->engine, l->model->name), l->model->path, &why);
    if (!rc) return;
    c->held = false;
    hn_admin_fail(c, rc, &why);
}

void hn_deploy_begin(hn_http_call *c, size_t at) {
    hn_runner *e = c->server->engine;
    hone_err why = {0};
    char *path = NULL;
    hone_rc rc = read_path(c, &path, &why);
    bool replace = json_is_true(json_object_get(c->body, "replace"));
    c->held = true;
    if (!rc && replace && c->server->deployment[at])
        rc = hn_fail(&why, HONE_E_BUSY, "a deployment of '%s' is under way; `hone rollback %s` ends it",
                     e->model[at]->name, e->model[at]->name);
    if (!rc)
        rc = replace ? hn_runner_load(e, e->model[at]->name, e->base[at], path, on_replacement, c, &why)
                     : hn_runner_read(e, e->model[at]->name, e->base[at], path, on_read, c, &why);
    free(path);
    if (!rc) return;
    c->held = false;
    hn_admin_fail(c, rc, &why);
}

/* --- back --------------------------------------------------------------------------------------------------------- */

static void on_reverted(void *arg, hn_load *l) {
    hn_http_call *c = arg;
    hn_server *s = c->server;
    size_t at = hn_runner_at(s->engine, l->model->name);
    hone_err why = l->why;
    hone_rc rc = l->rc ? l->rc : hn_runner_put(s->engine, at, l->model, &why);
    c->held = false;
    if (rc) {
        hn_admin_fail(c, rc, &why);
        return;
    }
    l->model = NULL;
    say_model(c, at, l->seconds);
}

static void end_by_hand(hn_http_call *c, size_t at) {
    hn_server *s = c->server;
    hn_ongoing *d = s->deployment[at];
    hone_err why = {0};
    hone_rollout_decision x = hone_rollout_by_hand(HONE_ROLLOUT_ROLL_BACK, "rolled back by hand");
    hone_rc rc = hn_ongoing_conclude(d, &x, &why);
    if (rc) hn_server_note(s, "a rollback is not stored: %s", why.text);
    hn_http_call *waits = d->call;
    json_t *what = hn_deploy_json(s, at);
    s->deployment[at] = NULL;
    hn_ongoing_free(d);
    if (waits) {
        hone_err ended = {0};
        hn_fail(&ended, HONE_E_REJECTED, "the deployment was rolled back by hand before it began");
        waits->held = false;
        hn_admin_fail(waits, ended.rc, &ended);
    }
    hn_server_note(s, "'%s' is rolled back by hand: the deployment has ended", s->engine->model[at]->name);
    hn_http_reply(c, 200, json_pack("{s:o, s:o}", "model", hn_admin_model(s, at), "ended", what));
}

/* The version before the last replacement. The store says which it is; it is open, or is opened again. */
static void revert(hn_http_call *c, size_t at) {
    hn_server *s = c->server;
    hn_runner *e = s->engine;
    hone_err why = {0}, store = {0};
    hone_rollout_current now = {0};
    hone_rc rc =
        s->store ? hone_rollouts_revert(s->store, e->base[at], "rolled back by hand", &store) : HONE_E_NOTFOUND;
    if (rc && rc != HONE_E_NOTFOUND) {
        hn_admin_fail(c, rc, &store);
        return;
    }
    bool told = !rc && !hone_rollouts_current(s->store, e->base[at], &now, NULL);
    char *want = told ? realpath(now.path, NULL) : NULL,
         *open = e->before[at] ? realpath(e->before[at]->path, NULL) : NULL;
    hone_rollout_current_free(&now);
    if (e->before[at] && (!want || (open && !strcmp(want, open)))) {
        rc = hn_runner_put(e, at, e->before[at], &why);
        if (!rc) say_model(c, at, 0);
    } else if (want) {
        c->held = true;
        rc = hn_runner_load(e, e->model[at]->name, NULL, want, on_reverted, c, &why);
    } else
        rc = hn_fail(&why, HONE_E_NOTFOUND, "no version answered for '%s' before this one", e->model[at]->name);
    free(want);
    free(open);
    if (!rc) return;
    c->held = false;
    hn_admin_fail(c, rc, &why);
}

void hn_deploy_revert(hn_http_call *c, size_t at) {
    if (c->server->deployment[at])
        end_by_hand(c, at);
    else
        revert(c, at);
}

/* What happened to the models outside of deployments: steps of learning, versions that were lost. */
static hone_rc add_events(const hn_server *s, json_t *into, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < s->engine->n_model && !rc; i++) {
        char *text = NULL;
        json_t *e;
        size_t k;
        if ((rc = hone_rollouts_events(s->store, s->engine->base[i], &text, err))) break;
        json_t *list = json_loads(text, 0, NULL);
        hone_free(text);
        json_array_foreach(list, k, e) {
            json_object_set_new(e, "model", json_string(s->engine->model[i]->name));
            json_array_append(into, e);
        }
        json_decref(list);
    }
    return rc;
}

void hn_deploy_history(hn_http_call *c) {
    hn_server *s = c->server;
    char *text = NULL;
    hone_err why = {0};
    json_t *events = json_array();
    hone_rc rc = s->store ? hone_rollouts_history(s->store, NULL, 100, &text, &why) : HONE_OK;
    if (!rc && s->store) rc = add_events(s, events, &why);
    json_t *list = text ? json_loads(text, 0, NULL) : json_array();
    hone_free(text);
    if (rc) {
        json_decref(list);
        json_decref(events);
        hn_admin_fail(c, rc, &why);
    } else
        hn_http_reply(c, 200, json_pack("{s:o, s:o}", "deployments", list, "events", events));
}
