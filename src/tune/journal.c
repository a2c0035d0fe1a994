/* tune/journal.c — the session in the store: what must agree, resuming one, adding trials, reporting to the caller. */
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "tune/host.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Dumps and drops a JSON value into the arena. */
static const char *keep_json(hn_arena *a, json_t *j) {
    char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
    const char *kept = text ? hn_strdup(a, text) : NULL;
    free(text);
    json_decref(j);
    if (!kept) a->failed = true;
    return kept;
}

static const char *compilers_json(hn_tuner *t) {
    json_t *all = json_array();
    for (size_t i = 0; all && i < t->plan->n_targets; i++) {
        const hone_fingerprint *f = hone_target_fingerprint(t->plan->target[i]);
        json_array_append_new(all, json_pack("{ss ss ss ss ss ss}", "family", f->family, "command", f->command, "path",
                                             f->path, "version", f->version, "hash", f->hash, "march", f->march));
    }
    return keep_json(&t->arena, all);
}

static const char *objectives_json(hn_tuner *t) {
    json_t *all = json_array();
    for (size_t i = 0; all && i < t->w->n_objectives; i++) {
        const hn_objective *o = &t->w->objective[i];
        json_array_append_new(
            all, json_pack("{ss ss}", "expr", o->quantity.text, "direction", o->maximize ? "maximize" : "minimize"));
    }
    return keep_json(&t->arena, all);
}

static const char *machine_line(hn_tuner *t) {
    const hone_machine *m = &t->machine;
    return hn_format(&t->arena, "%s, %d cores, %.1f GiB, %s%s%s%s", m->cpu, m->n_cpu, (double)m->memory_b / 0x1p30,
                     m->kernel, t->gpu ? "; " : "", t->gpu ? t->gpu : "", hn_host_line(t->w, &t->arena));
}

/* Of the machine and, where kernels run on a device, of that. */
static const char *machine_hash(hn_tuner *t) {
    char hex[33];
    hn_hash h;
    if (!t->gpu) return t->machine.hash;
    hn_hash_begin(&h);
    hn_hash_text(&h, t->machine.hash);
    hn_hash_text(&h, t->gpu);
    hn_hash_end(&h, hex);
    return hn_strdup(&t->arena, hex);
}

static const char *space_text(hn_tuner *t, hone_err *err) {
    char *text = NULL;
    if (hone_space_print(t->plan->space, &text, err)) return NULL;
    const char *kept = hn_strdup(&t->arena, text);
    hone_free(text);
    if (!kept) hn_fail(err, HONE_E_NOMEM, "out of memory");
    return kept;
}

static const char *keep_hash(hn_tuner *t, void (*hash)(const hone_space *, char[33])) {
    char hex[33];
    hash(t->plan->space, hex);
    return hn_strdup(&t->arena, hex);
}

static hone_rc describe(hn_tuner *t, hone_session *s, hone_err *err) {
    char hex[33];
    hone_rc rc = hn_workload_source_hash(t->w, hex, err);
    if (rc) return rc;
    const char *space = space_text(t, err);
    if (!space) return err ? err->rc : HONE_E_NOMEM;
    *s = (hone_session){
        .workload = t->w->name,
        .source_hash = hn_strdup(&t->arena, hex),
        .space_hash = keep_hash(t, hone_space_hash),
        .space_text = space,
        .machine_hash = machine_hash(t),
        .machine = machine_line(t),
        .compilers = compilers_json(t),
        .objectives = objectives_json(t),
        .engine = t->o->engine   ? t->o->engine
                  : t->w->engine ? t->w->engine
                                 : "auto",
        .seed = t->o->seed,
        .state = "running",
        .reason = "",
        .started_s = hn_unix_s(),
        .version = HONE_VERSION,
    };
    hone_workload_hash(t->w, hex);
    s->workload_hash = hn_strdup(&t->arena, hex);
    return hn_arena_ok(&t->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* The session to go on with, 0 for none. */
static hone_rc choose(hn_tuner *t, int64_t *id, hone_err *err) {
    *id = t->o->resume > 0 ? t->o->resume : 0;
    if (t->o->resume != 0) return HONE_OK;
    hone_session newest = {0};
    hone_rc rc = hone_session_get(t->store, 0, t->w->name, &newest, err);
    if (rc == HONE_E_NOTFOUND) return HONE_OK;
    if (rc) return rc;
    if (strcmp(newest.state, "finished") && newest.n_trials > 0)
        *id = newest.id; /* without trials there is nothing to resume */
    hone_session_free(&newest);
    return HONE_OK;
}

static hone_rc make_work_dir(hn_tuner *t, const char *store_dir, hone_err *err) {
    const char *dir = hn_format(&t->arena, "%s/work/s%lld", store_dir, (long long)t->session.id);
    if (!dir) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_make_dirs(dir, err);
    if (rc) return rc;
    t->work_dir = realpath(dir, NULL);
    return t->work_dir ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot resolve the work folder '%s'", dir);
}

hone_rc hn_journal_open(hn_tuner *t, hone_trials *past, hone_err *err) {
    const char *dir = t->o->store_dir ? t->o->store_dir : hn_format(&t->arena, "%s/.hone", t->w->dir);
    if (!dir) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    int64_t id = 0;
    *past = (hone_trials){0};
    hone_rc rc = hone_store_open(dir, true, &t->store, err);
    if (!rc) rc = describe(t, &t->session, err);
    if (!rc) rc = choose(t, &id, err);
    if (rc) return rc;
    if (!id) {
        rc = hone_session_begin(t->store, &t->session, err);
    } else {
        rc = hone_session_resume(t->store, id, &t->session, err);
        t->session.id = id;
        if (!rc) rc = hone_trials_load(t->store, id, false, past, err);
    }
    return rc ? rc : make_work_dir(t, dir, err);
}

hone_rc hn_journal_trial(hn_tuner *t, hone_trial *trial, hone_err *err) {
    trial->n_objectives = t->w->n_objectives;
    trial->n_constraints = t->w->n_limit_rules;
    trial->at_s = hn_unix_s();
    trial->n_asked = (int64_t)t->n_asked;
    return hone_trial_add(t->store, t->session.id, trial, NULL, err);
}

static double eta(const hn_tuner *t, double elapsed, size_t done, size_t total) {
    double by_time = isfinite(t->deadline_s) ? fmax(0, t->deadline_s - hn_now_s()) : INFINITY;
    double by_count =
        total && done ? elapsed / (double)done * (double)(total - (done < total ? done : total)) : INFINITY;
    double least = fmin(by_time, by_count);
    return isfinite(least) ? least : NAN;
}

void hn_tuner_emit(hn_tuner *t, hone_tune_stage stage, size_t done, size_t total, const hone_trial *trial,
                   const char *text) {
    static const char *const word[] = {"discover", "baseline", "trial", "race",  "done",
                                       "warning",  "effects",  "hint",  "unread"};
    if (!t->o->progress.fn) return;
    double elapsed = hn_now_s() - t->started_s;
    hone_tune_event e = {.stage = stage, .trial = trial, .session = t->session.id};
    e.base = (hone_event){word[stage], done, total, elapsed, NAN, text};
    e.base.left_s = stage == HONE_TUNE_TRIAL ? eta(t, elapsed, done, total) : NAN;
    bool no_ratio = t->bench.base.plain[0] || isinf(t->best_log_ratio);
    e.best_speedup = no_ratio ? NAN : exp(-t->best_log_ratio);
    e.speedup = no_ratio || !trial ? NAN : exp(-t->log_ratio);
    e.n_reused = t->n_reused;
    memcpy(e.n_class, t->n_class, sizeof e.n_class);
    t->o->progress.fn(t->o->progress.arg, &e.base);
}
