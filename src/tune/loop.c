/* tune/loop.c — the search: points asked, built, judged, told, until the budget is spent.
 *
 * Where candidates run, a few points are asked, built side by side, then measured one after the other, alone. Where
 * figures of device code are all there is, nothing has to be alone: while one candidate is judged the next ones build.
 */
#include "tune/code.h"
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Candidates whose device code is read are disassembled together (cubin/read.c). */
enum { CODE_BATCH = 8 };
/* Asked ahead beyond what builds at once, so that a slow build keeps no process from starting; and how many at least.
 * Each of them is chosen without knowing those before it. */
enum { AHEAD = 2, AHEAD_LEAST = 4 };

static const char *reached(const hn_tuner *t) {
    const hn_budget *b = &t->w->budget;
    if (t->o->stop && *t->o->stop) return "interrupted";
    if (t->most_evals && t->n_trials >= t->most_evals) return "evaluations";
    if (hn_now_s() >= t->deadline_s) return "seconds";
    if (b->plateau && t->since_gain >= b->plateau) return "plateau";
    if (b->target > 0 && exp(-t->best_log_ratio) >= b->target) return "target";
    return NULL;
}

/* Candidates that were asked for and not told yet. The k-th has place k % HN_BATCH_MOST. */
typedef struct asked {
    double *point; /* HN_BATCH_MOST * slots */
    size_t slots;
    char origin[HN_BATCH_MOST][24], name[HN_BATCH_MOST][32];
    hn_recipe recipe[HN_BATCH_MOST];
    hn_build build[HN_BATCH_MOST];
    size_t first, end;
    bool exhausted;
} asked;

static double *point_of(const asked *a, size_t place) { return a->point + place * a->slots; }

/* One more; none where the space has no more. Its folder is named by the trial it will be, if builds are kept. */
static hone_rc ask_one(hn_tuner *t, asked *a, hone_err *err) {
    size_t i = a->end % HN_BATCH_MOST;
    double *p = point_of(a, i);
    hone_rc rc = hn_window_ask(&t->window, p, err);
    a->exhausted = rc == HONE_E_EXHAUSTED;
    if (rc) return a->exhausted ? HONE_OK : rc;
    t->n_asked++;
    snprintf(a->origin[i], sizeof a->origin[0], "%s", hn_opening_asked(t, p, hone_search_origin(t->window.search)));
    snprintf(a->name[i], sizeof a->name[0], t->o->keep_builds ? "t%zu" : "slot%zu",
             t->o->keep_builds ? t->n_trials + (a->end - a->first) + 1 : i);
    if ((rc = hn_plan_recipe(t->plan, p, &a->recipe[i], err))) return rc;
    a->build[i] = (hn_build){0};
    a->end++;
    return HONE_OK;
}

/* May one more be asked, where at most so many wait to be told? */
static bool may_ask(const hn_tuner *t, const asked *a, size_t most) {
    size_t n = a->end - a->first;
    return !a->exhausted && n < most && !hn_opening_waits(t) && !(t->most_evals && t->n_trials + n >= t->most_evals);
}

static void drop(const hn_tuner *t, asked *a, size_t place) {
    hn_build_drop(&a->build[place], t->o->keep_builds);
    hn_recipe_free(&a->recipe[place]);
}

/* What follows from what was told so far. */
static hone_rc go_on(hn_tuner *t, hone_err *err) {
    hone_rc rc = hn_opening_go_on(t, err);
    if (!rc) rc = hn_passes_go_on(t, err);
    if (rc || t->hinted || t->opening.stage != HN_OPENING_OVER) return rc;
    t->hinted = true;
    return hn_hint(t, err);
}

static hone_rc judge(hn_tuner *t, const asked *a, size_t i, hone_err *err) {
    return hn_judge(t, point_of(a, i), a->origin[i], &a->recipe[i], &a->build[i], err);
}

/* --- in batches --------------------------------------------------------------------------------------------------- */

static hone_rc run_batch(hn_tuner *t, asked *a, hone_err *err) {
    char *name[HN_BATCH_MOST];
    size_t n = a->end, order[HN_BATCH_MOST];
    for (size_t i = 0; i < n; i++) name[i] = a->name[i];
    hone_rc rc = hn_build_all(&t->builder, a->recipe, name, n, a->build, err);
    if (!rc) hn_prior_order(t->w, &t->bench.base.build, a->build, n, order);
    for (size_t k = 0; !rc && k < n; k++) {
        if (reached(t))
            hn_window_forget(&t->window, point_of(a, order[k]));
        else
            rc = judge(t, a, order[k], err);
    }
    return rc;
}

static hone_rc in_batches(hn_tuner *t, asked *a, const char **reason, hone_err *err) {
    size_t most = (size_t)t->builder.jobs;
    hone_rc rc = HONE_OK;
    if (hn_code_is_read(t->w) && most < CODE_BATCH) most = CODE_BATCH;
    while (!rc && !a->exhausted && !(*reason = reached(t))) {
        rc = go_on(t, err);
        while (!rc && may_ask(t, a, most)) rc = ask_one(t, a, err);
        if (!rc && a->end) rc = run_batch(t, a, err);
        for (size_t i = 0; i < a->end; i++) drop(t, a, i);
        a->end = 0;
    }
    return rc;
}

/* --- in a stream -------------------------------------------------------------------------------------------------- */

/* Does nothing run but builds? */
static bool only_builds(const hone_workload *w) { return hn_code_is_read(w) && !*w->run; }

static hone_rc ask_ahead(hn_tuner *t, asked *a, size_t most, hn_builds *builds, hone_err *err) {
    hone_rc rc = HONE_OK;
    while (!rc && may_ask(t, a, most)) {
        size_t end = a->end, i = end % HN_BATCH_MOST;
        rc = ask_one(t, a, err);
        if (!rc && a->end > end) rc = hn_builds_add(builds, &a->recipe[i], a->name[i], &a->build[i], err);
    }
    return rc;
}

/* They are told in the order in which they were asked, and what is asked next depends on how many were told alone: the
 * search is the same whichever build ends first. */
static hone_rc in_stream(hn_tuner *t, asked *a, const char **reason, hone_err *err) {
    size_t most = (size_t)t->builder.jobs + AHEAD;
    hn_builds *builds;
    if (most < AHEAD_LEAST) most = AHEAD_LEAST;
    if (most > HN_BATCH_MOST) most = HN_BATCH_MOST;
    hone_rc rc = hn_builds_open(&t->builder, most, &builds, err);
    if (rc) return rc;
    while (!rc && !(*reason = reached(t))) {
        size_t i = a->first % HN_BATCH_MOST;
        rc = go_on(t, err);
        if (!rc) rc = ask_ahead(t, a, most, builds, err);
        if (!rc && a->first == a->end && a->exhausted) break;
        if (rc || a->first == a->end) continue;
        if ((rc = hn_builds_next(builds, err))) continue;
        rc = judge(t, a, i, err);
        drop(t, a, i);
        a->first++;
    }
    hn_builds_close(builds);
    for (size_t k = a->first; k < a->end; k++) {
        hn_window_forget(&t->window, point_of(a, k % HN_BATCH_MOST));
        drop(t, a, k % HN_BATCH_MOST);
    }
    return rc;
}

static hone_rc one_part(hn_tuner *t, asked *a, const char **reason, hone_err *err) {
    a->exhausted = false;
    a->first = a->end = 0;
    *reason = NULL;
    hone_rc rc = (only_builds(t->w) ? in_stream : in_batches)(t, a, reason, err);
    if (!rc && !*reason) *reason = "exhausted";
    return rc;
}

/* Is there a further part? Not behind what ends the whole. */
static bool may_go_on(const hn_tuner *t, const char *reason) {
    return hn_part_next(t) != HN_PART_WHOLE && strcmp(reason, "interrupted") != 0 && strcmp(reason, "target") != 0;
}

hone_rc hn_search_loop(hn_tuner *t, const char **reason, hone_err *err) {
    asked *a = calloc(1, sizeof *a);
    if (a) a->slots = hone_space_slots(t->plan->space);
    if (a) a->point = malloc((HN_BATCH_MOST * a->slots + 1) * sizeof *a->point);
    hone_rc rc = a && a->point ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t before = t->n_trials;
    double start_s = hn_now_s();
    *reason = NULL;
    if (!rc) rc = one_part(t, a, reason, err);
    while (!rc && may_go_on(t, *reason)) {
        bool begun;
        rc = hn_opening_end(t, err);
        if (!rc) rc = hn_part_begin(t, hn_part_next(t), &begun, err);
        /* Where nothing began, what was searched before goes on with the budget that the part would have had. */
        if (!rc) rc = one_part(t, a, reason, err);
    }
    if (t->n_trials > before) t->trial_s = (hn_now_s() - start_s) / (double)(t->n_trials - before);
    if (a) free(a->point);
    free(a);
    return rc ? rc : hn_opening_end(t, err);
}
