/* deploy.c — deployments under way: a trial is kept going, its evidence stored, and what the statistics decide is done.
 *
 * What happens in a trial is noted when it happens and acted on in the next tick of the loop, so that nothing is closed
 * while something in it runs. A decision is written before it is acted on; a rollback is acted on even where it cannot
 * be written, and a promotion is not. */
#include "serve/deploy.h"
#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double store_every_s = 5, look_every_s = 0.1, again_s = 1;

hn_ongoing *hn_ongoing_new(hn_server *s, size_t at) {
    hn_ongoing *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->s = s;
    d->at = at;
    d->total = d->fresh = hone_rollout_no_evidence();
    d->rules = hone_rollout_defaults();
    d->last.ratio = (hone_interval){-INFINITY, NAN, INFINITY};
    d->coin = hn_rng_make((uint64_t)(1e6 * hn_unix_s()), at);
    return d;
}

void hn_ongoing_free(hn_ongoing *d) {
    if (!d) return;
    hn_tryout_close(d->trial);
    free(d->now);
    free(d->next);
    free(d->ratio);
    free(d);
}

/* --- evidence ----------------------------------------------------------------------------------------------------- */

static void look(hn_ongoing *d) {
    hone_rollout_evidence e = d->total;
    e.log_ratio = d->ratio;
    e.age_s = hn_unix_s() - d->began_s;
    hone_rollout_decide(&d->rules, &e, &d->last, NULL);
    d->looked_s = hn_now_s();
    d->news = false;
}

#define HN_COUNT(d, field, k) ((d)->total.field += (uint64_t)(k), (d)->fresh.field += (uint64_t)(k), (d)->news = true)

static void add_ratio(hn_ongoing *d, double x) {
    if (d->total.n == d->room) {
        size_t room = d->room ? 2 * d->room : 256;
        double *more = realloc(d->ratio, room * sizeof *more);
        if (!more) return;
        d->ratio = more;
        d->room = room;
    }
    d->ratio[d->total.n++] = x;
    d->news = true;
}

void hn_ongoing_event(hn_ongoing *d, const char *kind, const char *text) {
    hone_err why = {0};
    if (hone_rollouts_event(d->s->store, d->id, NULL, kind, text, NULL, &why))
        hn_server_note(d->s, "an event of deployment %lld is not stored: %s", (long long)d->id, why.text);
}

/* What came since the last time, in one transaction. */
static hone_rc flush(hn_ongoing *d, hone_err *err) {
    hone_rollout_evidence e = d->fresh;
    e.log_ratio = d->ratio + d->n_stored;
    e.n = d->total.n - d->n_stored;
    d->stored_s = hn_now_s();
    hone_rc rc = hone_rollouts_add(d->s->store, d->id, &e, err);
    if (rc) return rc;
    d->fresh = hone_rollout_no_evidence();
    d->n_stored = d->total.n;
    return HONE_OK;
}

/* --- what the trial tells ----------------------------------------------------------------------------------------- */

static void on_opened(void *arg, hone_rc rc, const char *now_or_why, const char *next) {
    hn_ongoing *d = arg;
    if (rc) {
        d->refused = rc;
        snprintf(d->why.text, sizeof d->why.text, "%s", now_or_why);
        d->why.rc = rc;
        return;
    }
    d->opened = true;
    snprintf(d->version, sizeof d->version, "%.16s", next);
    d->figures = hn_runner_figures(d->s->engine, d->s->engine->model[d->at]->name, d->version);
}

static void on_sampled(void *arg, const hn_wire_sample *x) {
    hn_ongoing *d = arg;
    if (x->rc_now) return; /* a request that NOW cannot answer either */
    HN_COUNT(d, runs_now, x->runs);
    HN_COUNT(d, runs_next, x->runs);
    if (x->rc_next) {
        HN_COUNT(d, failures_next, 1);
        hn_ongoing_event(d, "failure", x->text);
        return;
    }
    HN_COUNT(d, compared, x->compared);
    HN_COUNT(d, elements, x->elements);
    HN_COUNT(d, differing, x->differing);
    if (x->differing) hn_ongoing_event(d, "differs", x->text);
    if (x->now_s > 0 && x->next_s > 0) add_ratio(d, log(x->next_s / x->now_s));
}

static void on_answered(void *arg, size_t runs) {
    hn_ongoing *d = arg;
    HN_COUNT(d, runs_next, runs);
}

void hn_deploy_retried(const hn_http_call *c, bool failed) {
    hn_server *s = c->server;
    hn_ongoing *d = s->deployment ? s->deployment[hn_runner_at(s->engine, c->model->name)] : NULL;
    if (!d || failed) return; /* a request that NOW cannot answer either */
    HN_COUNT(d, runs_next, 1);
    HN_COUNT(d, failures_next, 1);
}

static void on_died(void *arg, int version, int signal, const char *why) {
    hn_ongoing *d = arg;
    char text[200];
    const char *name = signal ? strsignal(signal) : "it was killed";
    d->dead = true;
    if (d->refused) return; /* it said why before */
    snprintf(text, sizeof text, "the process of the trial ended while %s ran: %s",
             version == 1   ? "NEXT"
             : version == 0 ? "NOW"
                            : "nothing",
             why ? why : name);
    hn_ongoing_event(d, "crash", text);
    if (!d->opened) {
        d->refused = HONE_E_FAILED;
        hn_fail(&d->why, HONE_E_FAILED, "the process that opens both versions ended while %s was opened: %s",
                version == 1 ? "the new one" : "the old one", why ? why : name);
        return;
    }
    hn_server_note(d->s, "deployment %lld: %s", (long long)d->id, text);
    if (version == 1) HN_COUNT(d, runs_next, 1);
    if (version == 0) HN_COUNT(d, runs_now, 1);
    if (why) { /* it hung: took longer than allowed */
        if (version == 1) HN_COUNT(d, failures_next, 1);
        if (version == 0) HN_COUNT(d, failures_now, 1);
        return;
    }
    if (version == 1) HN_COUNT(d, crashes_next, 1);
    if (version == 0) HN_COUNT(d, crashes_now, 1);
}

hone_rc hn_ongoing_start(hn_ongoing *d, hone_err *err) {
    const hone_serve_options *o = &d->s->o;
    const hn_canary_plan plan = {d->now,     d->next,  d->rules.tolerance, o->n_threads,
                                 o->context, o->cache, o->exact,           o->no_parity};
    const hn_tryout_ear ear = {on_opened, on_sampled, on_answered, on_died, d};
    d->dead = false;
    return hn_tryout_open(d->s, &plan, &ear, &d->trial, err);
}

/* --- decisions ---------------------------------------------------------------------------------------------------- */

static void end(hn_ongoing *d) {
    d->s->deployment[d->at] = NULL;
    hn_ongoing_free(d);
}

hone_rc hn_ongoing_conclude(hn_ongoing *d, const hone_rollout_decision *x, hone_err *err) {
    hone_rc rc = flush(d, err);
    if (!rc) rc = hone_rollouts_conclude(d->s->store, d->id, x, err);
    return rc;
}

/* The call that began it hears how; the deployment ends. */
static void refuse(hn_ongoing *d) {
    hone_err why = d->why, store = {0};
    hn_http_call *c = d->call;
    hone_rollout_decision x = hone_rollout_by_hand(HONE_ROLLOUT_ROLL_BACK, why.text);
    if (hn_ongoing_conclude(d, &x, &store)) hn_server_note(d->s, "a decision is not stored: %s", store.text);
    hn_server_note(d->s, "deployment %lld: '%s' is not tried: %s", (long long)d->id, d->next, why.text);
    d->call = NULL;
    end(d);
    if (!c) return;
    c->held = false;
    hn_admin_fail(c, why.rc, &why);
}

static void roll_back(hn_ongoing *d) {
    hone_err why = {0};
    if (hn_ongoing_conclude(d, &d->last, &why)) {
        if (!d->stopped) hn_server_note(d->s, "a rollback is not stored, and is tried again: %s", why.text);
        d->stopped = true; /* no request goes to NEXT */
        hn_tryout_close(d->trial);
        d->trial = NULL;
        return;
    }
    hn_server_note(d->s, "deployment %lld of '%s' is rolled back: %s", (long long)d->id,
                   d->s->engine->model[d->at]->name, d->last.text);
    end(d);
}

static void hold(hn_ongoing *d) {
    hone_err why = {0};
    if (d->held && d->held_why == d->last.why) return;
    if (hn_ongoing_conclude(d, &d->last, &why)) return;
    d->held = true;
    d->held_why = d->last.why;
    hn_server_note(d->s, "deployment %lld of '%s' is held: %s", (long long)d->id, d->s->engine->model[d->at]->name,
                   d->last.text);
}

/* NEXT is open in the server, too: written, then done. */
static void on_promoted(void *arg, hn_load *l) {
    hn_server *s = arg;
    size_t at = hn_runner_at(s->engine, l->model->name);
    hn_ongoing *d = at < s->engine->n_model ? s->deployment[at] : NULL;
    hone_err why = l->why;
    hone_rollout_decision x;
    if (!d || !d->loading || strcmp(d->next, l->model->path)) return; /* it was rolled back meanwhile */
    d->loading = false;
    if (d->last.verdict != HONE_ROLLOUT_PROMOTE || s->ending) return;
    x = d->last;
    hone_rc rc = l->rc ? l->rc : hn_served_fits(s->engine->model[at], l->model, &why);
    if (!rc && strcmp(l->model->version, d->version))
        rc = hn_fail(&why, HONE_E_MISMATCH, "'%s' was changed during its trial", d->next);
    if (rc) {
        d->why = why;
        d->refused = rc;
        return;
    }
    if (hn_ongoing_conclude(d, &x, &why)) {
        hn_server_note(s, "a promotion is not stored, and waits: %s", why.text);
        return;
    }
    if (hn_runner_put(s->engine, at, l->model, &why)) {
        hn_server_note(s, "'%s' answers from the next start on: %s", d->next, why.text);
        return;
    }
    l->model = NULL;
    hn_server_note(s, "deployment %lld of '%s' is promoted: %s", (long long)d->id, s->engine->model[at]->name, x.text);
    end(d);
}

static void promote(hn_ongoing *d) {
    hone_err why;
    hn_runner *e = d->s->engine;
    if (d->loading || e->load || hn_now_s() < d->again_s) return;
    d->again_s = hn_now_s() + again_s;
    d->loading = !hn_runner_load(e, e->model[d->at]->name, NULL, d->next, on_promoted, d->s, &why);
}

/* --- time passes -------------------------------------------------------------------------------------------------- */

static void restart(hn_ongoing *d, double now_s) {
    hone_err why = {0};
    hn_tryout_close(d->trial);
    d->trial = NULL;
    if (now_s < d->again_s || d->s->ending) return;
    d->again_s = now_s + again_s;
    if (hn_ongoing_start(d, &why)) hn_server_note(d->s, "deployment %lld: %s", (long long)d->id, why.text);
}

static void act(hn_ongoing *d) {
    switch (d->last.verdict) {
    case HONE_ROLLOUT_ROLL_BACK: roll_back(d); break;
    case HONE_ROLLOUT_HOLD: hold(d); break;
    case HONE_ROLLOUT_PROMOTE: promote(d); break;
    default: break;
    }
}

static void tick(hn_ongoing *d, double now_s) {
    hone_err why = {0};
    if (d->trial) hn_tryout_tick(d->trial, now_s);
    if (d->refused) {
        refuse(d);
        return;
    }
    if (d->opened && d->call) hn_ongoing_began(d);
    if (d->stopped) {
        if (now_s >= d->stored_s + store_every_s) roll_back(d);
        return;
    }
    if (!d->opened) return;
    if ((d->news && now_s >= d->looked_s + look_every_s) || now_s >= d->looked_s + 1) look(d);
    if (d->last.verdict != HONE_ROLLOUT_ROLL_BACK && (d->dead || !d->trial)) restart(d, now_s);
    if (now_s >= d->stored_s + store_every_s && (d->total.n > d->n_stored || d->fresh.runs_next)) flush(d, &why);
    act(d);
}

/* Requests of clients come to an end; nothing is decided any more. */
static void tick_at_end(hn_ongoing *d, double now_s) {
    if (d->trial) hn_tryout_tick(d->trial, now_s);
    if (!d->dead) return;
    hn_tryout_close(d->trial);
    d->trial = NULL;
}

void hn_deploy_tick(hn_server *s, double now_s) {
    for (size_t i = 0; s->deployment && i < s->engine->n_model; i++)
        if (s->deployment[i] && s->ending)
            tick_at_end(s->deployment[i], now_s);
        else if (s->deployment[i])
            tick(s->deployment[i], now_s);
}

/* --- clients' requests -------------------------------------------------------------------------------------------- */

/* The job is one of the model that answers now. Those of NEXT's share go there, others may be a sample. */
bool hn_deploy_take(hn_http_call *c) {
    hn_server *s = c->server;
    size_t at = s->deployment ? hn_runner_at(s->engine, c->model->name) : 0;
    hn_ongoing *d = s->deployment ? s->deployment[at] : NULL;
    if (!d || d->dead || !hn_tryout_ready(d->trial) || c->model != s->engine->model[at] || s->ending || d->stopped ||
        c->n_job != 1 || c->form == HN_FORM_EMBEDDING)
        return false;
    hn_tryout_sample(d->trial, c->job[0]);
    if (d->shadow || hn_rng_unit(&d->coin) >= d->rules.share) return false;
    if (!hn_tryout_take(d->trial, c)) return false;
    c->version = d->version;
    c->figures = d->figures;
    return true;
}
