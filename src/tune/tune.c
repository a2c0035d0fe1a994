/* tune/tune.c — opens a session, prepares its baseline, searches, and lets the best race. */
#include "tune/code.h"
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "base/str.h"
#include "device/gpu.h"
#include "far/far.h"
#include "tune/host.h"
#include "tune/unread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Share of a time budget kept for the closing race. */
static const double race_share = 0.2;

/* --- opening ---------------------------------------------------------------------------------------------------------
 */

/* The baseline, then the points that were handed in. */
static hone_rc gather_given(const hn_tuner *t, hn_seeds *s, hone_err *err) {
    size_t slots = hone_space_slots(t->plan->space), n_given = 0;
    while (t->o->seeds && t->o->seeds[n_given]) n_given++;
    s->n = 1 + n_given;
    s->point = malloc((s->n * slots + 1) * sizeof *s->point);
    if (!s->point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    memcpy(s->point, t->plan->base, slots * sizeof *s->point);
    for (size_t i = 0; i < n_given; i++) {
        hone_rc rc = hone_point_from_json(t->plan->space, t->o->seeds[i], s->point + (1 + i) * slots, err);
        if (rc) return rc;
    }
    return HONE_OK;
}

static const char *engine_of(const hn_tuner *t) { return t->o->engine ? t->o->engine : t->w->engine; }

hone_search_options hn_search_config(const hn_tuner *t) {
    hone_search_options c = {.size = sizeof(hone_search_options),
                             .engine = engine_of(t),
                             .seed = t->o->seed,
                             .n_objectives = t->w->n_objectives};
    for (size_t k = 0; k < t->w->n_objectives; k++) c.maximize[k] = t->w->objective[k].maximize;
    c.n_constraints = t->w->n_limit_rules;
    c.budget = t->o->max_evals;
    c.no_default = true; /* the baseline, as a point, is the first seed */
    c.options = t->o->engine_options;
    return c;
}

/* A wrong engine or option is refused before a session begins. */
static hone_rc try_search(const hn_tuner *t, hone_err *err) {
    hone_search_options c = hn_search_config(t);
    hone_search *search;
    hone_rc rc = hone_search_open(t->plan->space, &c, &search, err);
    if (!rc) hone_search_close(search);
    return rc;
}

/* What was handed in comes first, then the best of earlier sessions, then the experiment of the big choices. */
static hone_rc open_search(hn_tuner *t, hone_err *err) {
    hn_seeds seeds = {0};
    hone_rc rc = hn_opening_begin(t, err);
    if (!rc) rc = gather_given(t, &seeds, err);
    hone_search_options c = hn_search_config(t);
    const hone_space *part = t->plan->global ? t->plan->global : t->plan->space;
    if (!rc) rc = hn_window_open(t->plan->space, part, 0, t->plan->base, &c, &t->window, err);
    if (!rc) rc = hn_window_add_seeds(&t->window, seeds.point, seeds.n, err);
    if (!rc) rc = hn_opening_winners(t, 0, 1, err);
    if (!rc) rc = hn_window_add_seeds(&t->window, t->opening.point, t->opening.n_design, err);
    hn_seeds_free(&seeds);
    return rc;
}

static void set_up_configs(hn_tuner *t) {
    hone_machine here;
    hone_machine_get(&here); /* it builds, whichever runs */
    int usable = here.n_usable > 0 ? here.n_usable : 1;
    bool times_builds = false;
    for (size_t k = 0; k < hn_n_quantities(t->w); k++)
        times_builds |= hn_quantity_at(t->w, k)->source == HN_FROM_COMPILE_TIME;
    t->builder = (hn_build_config){
        .w = t->w, .options = t->o, .root = t->work_dir, .waited_s = &t->waited_s, .objects = &t->objects};
    t->builder.jobs = times_builds ? 1 : t->o->n_jobs ? (int)t->o->n_jobs : usable;
    if (t->builder.jobs > HN_BATCH_MOST) t->builder.jobs = HN_BATCH_MOST;
    t->bench.run = (hn_run_config){.w = t->w, .options = t->o, .waited_s = &t->waited_s};
    t->bench.run.cpu = hn_host_core(t->w, t->o->cpu);
    t->bench.seed = t->o->seed;
    t->elite.n_slots = hone_space_slots(t->plan->space);
    t->elite.n_objectives = t->w->n_objectives;
    t->served.n_slots = t->elite.n_slots;
    t->served.n_objectives = t->elite.n_objectives;
}

static hone_rc make_ref_dir(hn_tuner *t, hone_err *err) {
    char *dir = hn_format(&t->arena, "%s/ref", t->work_dir);
    t->bench.run.ref_dir = dir;
    return dir ? hn_make_dirs(dir, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- the baseline ------------------------------------------------------------------------------------------------- */

static hone_rc record_baseline(hn_tuner *t, const hn_samples *samples, hone_err *err) {
    char *json = NULL;
    hone_rc rc = hone_point_to_json(t->plan->space, t->plan->base, &json, err);
    if (rc) return rc;
    const hn_baseline *b = &t->bench.base;
    hone_trial trial = {.phase = "baseline", .point = json, .origin = "baseline", .object_hash = b->build.object_hash};
    trial.point_hash = hone_point_hash(t->plan->space, t->plan->base);
    trial.detail = "";
    trial.build_s = b->build.build_s;
    trial.sample = samples->sample;
    trial.n_samples = samples->n;
    memcpy(trial.outcome.value, b->ref, t->w->n_objectives * sizeof *b->ref);
    rc = hn_journal_trial(t, &trial, err);
    t->baseline_trial = trial.id;
    hone_free(json);
    return rc;
}

/* A resumed session keeps the reference values it began with, so that its values stay comparable. */
static hone_rc adopt_baseline(hn_tuner *t, const hone_trials *past, hone_err *err) {
    for (size_t i = 0; i < past->n; i++) {
        const hone_trial *x = &past->trial[i];
        if (strcmp(x->phase, "baseline")) continue;
        if (strcmp(x->object_hash, t->bench.base.build.object_hash))
            return hn_fail(
                err, HONE_E_MISMATCH,
                "session %lld: the baseline now builds to another object (%s, was %s), so the session cannot "
                "go on; begin a new one with --new",
                (long long)t->session.id, t->bench.base.build.object_hash, x->object_hash);
        memcpy(t->bench.base.ref, x->outcome.value, t->w->n_objectives * sizeof(double));
        t->baseline_trial = x->id;
    }
    return HONE_OK;
}

/* A search ranks candidates by a few runs each. A validation distinguishes much smaller differences, but needs many
 * pairs. */
static void warn_of_noise(hn_tuner *t) {
    char text[400];
    double noise = t->bench.base.noise, least = t->w->proof.min_gain;
    if (noise <= least) return;
    snprintf(
        text, sizeof text,
        "the baseline differs from itself by %.3g %% from run to run, more than the minimum gain of %.3g %%: the "
        "search may follow noise, and a proof will need many pairs. Longer runs (measure.min_time, measure.repeats) "
        "or a quieter machine help; `hone doctor` says what disturbs this one",
        100 * noise, 100 * least);
    hn_tuner_emit(t, HONE_TUNE_WARNING, 0, 0, NULL, text);
}

static hone_rc prepare_baseline(hn_tuner *t, const hone_trials *past, hone_err *err) {
    hn_tuner_emit(t, HONE_TUNE_BASELINE, 0, 1, NULL, NULL);
    char name[] = "base", *names[] = {name};
    hn_samples samples = {0};
    hone_rc rc = hn_plan_recipe(t->plan, NULL, &t->bench.base.recipe, err);
    if (!rc) rc = hn_build_all(&t->builder, &t->bench.base.recipe, names, 1, &t->bench.base.build, err);
    if (!rc && t->bench.base.build.cls != HONE_RUN_OK)
        rc = hn_fail(err, HONE_E_BASELINE, "the baseline does not build (%s): %.800s",
                     hone_outcome_class_name(t->bench.base.build.cls), t->bench.base.build.detail);
    if (!rc) rc = hn_bench_open(&t->bench, &samples, err);
    if (t->bench.base.infeasible) t->best_log_ratio = INFINITY; /* so that the first within the limits is a gain */
    if (!rc) rc = adopt_baseline(t, past, err);
    if (!rc && !t->baseline_trial) rc = record_baseline(t, &samples, err);
    hone_outcome as_is = {.cls = HONE_RUN_OK};
    memcpy(as_is.value, t->bench.base.ref, sizeof as_is.value);
    if (!rc) t->baseline_key = hn_run_key(t, &t->bench.base.recipe, &t->bench.base.build);
    bool limited = t->w->n_limit_rules > 0; /* then an equal object must be measured for its limits */
    if (!rc && !limited) rc = hn_known_add(&t->known, t->baseline_key, t->baseline_trial, &as_is, err);
    hn_samples_free(&samples);
    if (!rc) warn_of_noise(t);
    if (!rc) hn_tuner_emit(t, HONE_TUNE_BASELINE, 1, 1, NULL, NULL);
    return rc;
}

/* --- hone_tune_run ------------------------------------------------------------------------------------------------ */

static void close_tuner(hn_tuner *t) {
    if (t->w->far) hn_far_watch(t->w->far, NULL, NULL);
    hn_bench_close(&t->bench);
    if (t->window.search) hn_window_close(&t->window);
    hn_opening_close(t);
    hn_known_free(&t->known);
    hn_elite_free(&t->elite);
    hn_elite_free(&t->served);
    if (t->work_dir && !t->o->keep_builds) hn_remove_tree(t->work_dir, NULL);
    free(t->work_dir);
    hone_store_close(t->store);
    hn_plan_close(t->plan);
    hn_arena_free(&t->arena);
}

static void tell_discovery(void *ctx, const hone_event *e) {
    hn_tuner_emit(ctx, HONE_TUNE_DISCOVER, e->done, e->total, NULL, NULL);
}

/* Used only for reported progress, so large spaces, which take time to count, are not counted. */
static size_t most_evaluations(const hn_tuner *t) {
    enum { FEW = 12 };
    hone_count points;
    size_t most = t->o->max_evals;
    bool counted = hone_space_n_params(t->plan->space) <= FEW && !hone_space_size(t->plan->space, 0, &points, NULL);
    bool fewer = counted && points.exact && (most ? points.n < (double)most : points.n < 1e6);
    return fewer ? (size_t)points.n : most;
}

static void tell_far(void *ctx, const char *text) { hn_tuner_emit(ctx, HONE_TUNE_WARNING, 0, 0, NULL, text); }

/* Which controls are offered since nobody reads what they leave out: said and recorded. */
static hone_rc tell_unread(hn_tuner *t, hone_err *err) {
    if (!t->plan->unread_known) return HONE_OK;
    char *text = hn_unread_text(t->plan), *json = hn_unread_json(t->plan);
    hone_rc rc = text && json ? hone_session_put_fact(t->store, t->session.id, "unread", json, err)
                              : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) hn_tuner_emit(t, HONE_TUNE_UNREAD, 0, 0, NULL, text);
    free(text);
    free(json);
    return rc;
}

static void tell_withheld(hn_tuner *t) {
    char text[600];
    if (t->plan->no_post_link) {
        snprintf(text, sizeof text, "the stage bolt is withheld: %.500s", t->plan->no_post_link);
        hn_tuner_emit(t, HONE_TUNE_WARNING, 0, 0, NULL, text);
    }
    if (t->plan->no_files) {
        snprintf(text, sizeof text, "controls of single files are withheld: %.500s", t->plan->no_files);
        hn_tuner_emit(t, HONE_TUNE_WARNING, 0, 0, NULL, text);
    }
    if (t->plan->no_passes) {
        snprintf(text, sizeof text, "the order of passes is withheld: %.500s", t->plan->no_passes);
        hn_tuner_emit(t, HONE_TUNE_WARNING, 0, 0, NULL, text);
    }
}

/* A trial of a later part of the search begins that part. */
static hone_rc enter_part(hn_tuner *t, const hone_trial *trial, hone_err *err) {
    bool begun;
    if (!t->plan->global || hn_part_next(t) == HN_PART_WHOLE || strcmp(trial->phase, "search")) return HONE_OK;
    double *point = malloc((hone_space_slots(t->plan->space) + 1) * sizeof *point);
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_point_from_json(t->plan->space, trial->point, point, err);
    hn_part part = rc ? HN_PART_WHOLE : hn_part_of(t->plan, point);
    if (part > t->part) rc = hn_part_begin(t, part, &begun, err);
    free(point);
    return rc;
}

static hone_rc open_tuner(hn_tuner *t, hone_err *err) {
    hone_trials past = {0};
    hn_tuner_emit(t, HONE_TUNE_DISCOVER, 0, 0, NULL, NULL);
    if (hn_workload_on_gpu(t->w) && !t->w->far) {
        const char *set = getenv("HONE_GPU_DEVICE");
        t->gpu = hn_gpu_identity(&t->arena, t->w->device ? t->w->device : set && *set ? set : NULL);
    }
    hone_progress progress = {tell_discovery, t};
    if (t->w->far) hn_far_watch(t->w->far, tell_far, t);
    hone_rc rc = hn_host_machine(t->w, t->o->stop, &t->machine, err);
    const char *doubt = rc ? NULL : hn_host_doubt(t->w, &t->machine, &t->arena);
    if (doubt) hn_tuner_emit(t, HONE_TUNE_WARNING, 0, 0, NULL, doubt);
    if (!rc) rc = hn_plan_open(t->w, t->o, &progress, &t->plan, err);
    t->waited_s += hn_now_s() - t->started_s; /* nearly all of it in compilers */
    /* Probing happens once per compiler, not once per search: it does not count against the budget. */
    if (t->o->budget_s > 0) {
        t->deadline_s = hn_now_s() + (1 - race_share) * t->o->budget_s;
        t->end_s = hn_now_s() + t->o->budget_s;
    }
    if (!rc) rc = try_search(t, err);
    if (!rc) t->n_most = most_evaluations(t);
    if (!rc) rc = hn_journal_open(t, &past, err);
    if (!rc) rc = tell_unread(t, err);
    if (!rc) tell_withheld(t);
    if (!rc) set_up_configs(t);
    if (!rc) hn_parts_plan(t);
    if (!rc) rc = make_ref_dir(t, err);
    if (!rc) rc = open_search(t, err);
    if (!rc) rc = prepare_baseline(t, &past, err);
    if (!rc) rc = hn_opening_go_on(t, err);
    for (size_t i = 0; !rc && i < past.n; i++) {
        rc = enter_part(t, &past.trial[i], err);
        if (!rc) rc = hn_resume_trial(t, &past.trial[i], err);
        if (!rc) rc = hn_opening_go_on(t, err);
        if (!rc) rc = hn_passes_go_on(t, err);
        t->n_asked = (size_t)past.trial[i].n_asked;
    }
    t->n_past = t->n_trials;
    if (!rc && past.n) hone_search_skip(t->window.search, t->n_asked - t->n_asked_before);
    hone_trials_free(&past);
    return rc;
}

/* How many objects this run compiled, and how many it took from those it had. */
static hone_rc record_objects(hn_tuner *t, hone_err *err) {
    const hn_object_counts *c = &t->objects;
    char json[200];
    snprintf(json, sizeof json, "{\"compiled\":%zu,\"known\":%zu,\"builds_cut\":%zu,\"builds_whole\":%zu}",
             c->n_compiled, c->n_known, c->n_cut, c->n_whole);
    return hone_session_put_fact(t->store, t->session.id, "objects", json, err);
}

static hone_rc search_and_race(hn_tuner *t, hone_tune_result *out, hone_err *err) {
    const char *reason = "";
    hone_rc rc = hn_search_loop(t, &reason, err);
    t->deadline_s = INFINITY;
    if (!rc && strcmp(reason, "interrupted") != 0) rc = hn_final(t, out, err);
    bool stopped = rc == HONE_E_INTERRUPTED || (!rc && !strcmp(reason, "interrupted"));
    if (stopped) rc = hn_best_so_far(t, out, err);
    if (rc) return rc;
    out->reason = stopped ? "interrupted" : reason;
    if ((rc = record_objects(t, err))) return rc;
    return hone_session_end(t->store, t->session.id, stopped ? "interrupted" : "finished", out->reason, err);
}

hone_rc hone_tune_run(const hone_workload *workload, const hone_tune_options *options, hone_tune_result *out,
                      hone_err *err) {
    hone_tune_options o = hone_tune_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "tune", err);
    if (rc) return rc;
    hn_tuner *t = calloc(1, sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!o.max_evals) o.max_evals = workload->budget.evaluations;
    if (o.budget_s <= 0) o.budget_s = workload->budget.seconds;
    t->w = workload;
    t->o = &o;
    t->started_s = hn_now_s();
    t->deadline_s = INFINITY;
    t->end_s = INFINITY;
    hone_tune_result result = {0};
    rc = open_tuner(t, err);
    if (!rc) rc = search_and_race(t, &result, err);
    if (!rc) {
        result.session = t->session.id;
        result.n_trials = t->n_trials;
        result.n_reused = t->n_reused;
        memcpy(result.n_class, t->n_class, sizeof result.n_class);
        result.elapsed_s = hn_now_s() - t->started_s;
        result.hint_gain = t->hint_gain;
        result.own_s = result.elapsed_s - t->waited_s;
        hn_tuner_emit(t, HONE_TUNE_DONE, t->n_trials, t->n_trials, NULL, NULL);
    }
    close_tuner(t);
    free(t);
    if (rc)
        hone_tune_result_free(&result);
    else
        *out = result;
    return rc;
}

void hone_tune_result_free(hone_tune_result *result) {
    free(result->best_point);
    free(result->best_argv);
    result->best_point = result->best_argv = NULL;
}
