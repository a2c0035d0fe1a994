/* tune/judge.c — one candidate: look its object up, measure it as long as it may win, record it, tell the
 * search. */
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"
#include "experiment/race.h"
#include "tune/code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* The most passes of one candidate during the search (the closing race decides among the best), and the fewest of one
 * that becomes the best: the best of many noisy values is biased, and other load can slow one whole process. */
enum { SEARCH_PASSES = 15, LEAD_PASSES = 3 };
/* A candidate this much worse than the incumbent on its first run is not worth a baseline run beside it. */
static const double give_up_factor = 1.3;

/* With less free space than this, a failed build or run is attributed to the full disk. */
static const double disk_least_b = 256 << 10;

uint64_t hn_run_key(const hn_tuner *t, const hn_recipe *r, const hn_build *b) { return hn_program_key(t->w, r, b); }

/* --- measuring -------------------------------------------------------------------------------------------------------
 */

static bool feasible(const hn_tuner *t, const hone_outcome *o) {
    if (o->cls != HONE_RUN_OK) return false;
    for (size_t c = 0; c < t->w->n_limit_rules; c++)
        if (o->violation[c] > 0) return false;
    return true;
}

static double log_ratio_of(const hn_tuner *t, const hone_outcome *o) {
    double ref = t->bench.base.ref[0], v = o->value[0];
    bool low = !t->w->objective[0].maximize;
    if (t->bench.base.plain[0]) return (low ? v - ref : ref - v) / (fabs(ref) > 0 ? fabs(ref) : 1);
    return low ? log(v / ref) : log(ref / v);
}

/* What the elite compares: lower is better. */
static void values_of(const hn_tuner *t, const hone_outcome *o, double value[HONE_MAX_OBJECTIVES]) {
    for (size_t k = 0; k < t->w->n_objectives; k++) value[k] = t->w->objective[k].maximize ? -o->value[k] : o->value[k];
}

/* With several objectives no single candidate leads: any that would be on the front is measured again. */
static size_t passes_of_front(const hn_tuner *t, const hn_measured *m, const hone_outcome *so_far) {
    double value[HONE_MAX_OBJECTIVES];
    values_of(t, so_far, value);
    return m->n_pass < LEAD_PASSES && hn_elite_takes(&t->elite, value) ? LEAD_PASSES - m->n_pass : 0;
}

/* Does any objective differ from run to run? */
static bool varies(const hn_tuner *t) {
    for (size_t k = 0; k < t->w->n_objectives; k++)
        if (hn_quantity_is_noisy(&t->w->objective[k].quantity) && !t->bench.base.steady[k]) return true;
    return false;
}

/* How many more passes: candidates that cannot be distinguished from the best double theirs (1, 2, 4, 8), and one that
 * is ahead of the best is measured LEAD_PASSES times. */
static size_t passes_more(const hn_tuner *t, const hn_build *b, const hn_measured *m) {
    if (!varies(t) || m->n_pass >= SEARCH_PASSES || hn_now_s() > t->deadline_s) return 0;
    hone_outcome so_far;
    hn_outcome_of(&t->bench, b, m, &so_far);
    if (!feasible(t, &so_far)) return 0;
    if (t->w->n_objectives > 1) return passes_of_front(t, m, &so_far);
    double mine[HN_MAX_PASSES];
    size_t n = hn_ratios(&t->bench, m, mine);
    hn_race_config c = hn_race_rules(&t->bench, SEARCH_PASSES);
    if (hn_race_decide(t->best_pass, t->n_best_pass, mine, n, &c).verdict == HN_RACE_MORE)
        return n < SEARCH_PASSES - n ? n : SEARCH_PASSES - n;
    return n < LEAD_PASSES && log_ratio_of(t, &so_far) < t->best_log_ratio ? LEAD_PASSES - n : 0;
}

static hone_rc measure(hn_tuner *t, const hn_recipe *r, const hn_build *b, hn_measured *m, hone_err *err) {
    double give_up = t->w->n_objectives == 1 ? give_up_factor * exp(t->best_log_ratio) : 0;
    hone_rc rc = hn_measure_pass(&t->bench, r, b, true, give_up, m, err);
    if (!rc) rc = hn_confirm(&t->bench, r, b, m, err);
    bool brief = m->n_pass == 1 && t->bench.any_noisy && hn_race_first(m->run_s) > 1;
    if (!rc && m->cls == HONE_RUN_OK && brief) rc = hn_measure_pass(&t->bench, r, b, false, 0, m, err);
    size_t more;
    while (!rc && m->cls == HONE_RUN_OK && (more = passes_more(t, b, m)) > 0)
        for (; !rc && m->cls == HONE_RUN_OK && more > 0; more--)
            rc = hn_measure_pass(&t->bench, r, b, false, 0, m, err);
    return rc;
}

/* --- what was seen ------------------------------------------------------------------------------------------------ */

/* Counts a trial and takes a feasible one into the elite; true when it is the best so far. */
static hone_rc count_trial(hn_tuner *t, const double *point, uint64_t key, const hone_trial *trial, bool *gain,
                           hone_err *err) {
    const hone_outcome *o = &trial->outcome;
    t->n_trials++;
    t->n_class[o->cls]++;
    t->n_reused += trial->same_as != 0;
    t->since_gain++;
    *gain = false;
    t->log_ratio = o->cls == HONE_RUN_OK ? log_ratio_of(t, o) : NAN;
    hn_opening_told(t, point, feasible(t, o) ? t->log_ratio : NAN);
    hn_passes_told(t, point, feasible(t, o) ? t->log_ratio : NAN);
    if (!feasible(t, o)) return HONE_OK;
    double value[HONE_MAX_OBJECTIVES];
    values_of(t, o, value);
    size_t n_before = t->elite.n;
    hone_rc rc = hn_elite_add(&t->elite, point, key, value, err);
    if (!rc) rc = hn_part_told(t, point, key, value, err);
    *gain = t->log_ratio < t->best_log_ratio;
    bool front_grew = t->w->n_objectives > 1 && t->elite.n != n_before;
    if (*gain) t->best_log_ratio = t->log_ratio;
    if (*gain || front_grew) t->since_gain = 0;
    return rc;
}

static void keep_incumbent(hn_tuner *t, const hn_measured *m) {
    t->n_best_pass = hn_ratios(&t->bench, m, t->best_pass);
}

/* A main alternative is reported with its command line, so that each can be shown with its result. */
static void report_trial(hn_tuner *t, const hn_recipe *r, const hone_trial *trial) {
    bool shown = !strcmp(trial->origin, "plain") || !strcmp(trial->origin, "combined");
    char *line = shown ? hn_recipe_line(r, true) : NULL;
    hn_tuner_emit(t, HONE_TUNE_TRIAL, t->n_trials, t->n_most, trial, line);
    free(line);
}

/* Is a build's own cost asked for? Then equal programs are not equally good. */
static bool cost_of_build_counts(const hone_workload *w) {
    bool counts = false;
    for (size_t k = 0; k < w->n_objectives; k++) counts |= hn_quantity_differs_by_build(&w->objective[k].quantity);
    for (size_t c = 0; c < w->n_limit_rules; c++) counts |= hn_quantity_differs_by_build(&w->limit_rule[c].quantity);
    return counts;
}

/* The search learns from equal programs which parameters do nothing. */
static hone_rc tell(hn_tuner *t, const double *point, uint64_t key, const hone_outcome *seen, hone_err *err) {
    bool built = seen->cls != HONE_BUILD_ERROR && seen->cls != HONE_BUILD_TIMEOUT;
    return hn_window_tell(&t->window, point, seen, built && !cost_of_build_counts(t->w) ? key : 0, err);
}

static hone_rc record(hn_tuner *t, const double *point, uint64_t key, const hn_recipe *r, hone_trial *trial,
                      const hn_measured *m, hone_err *err) {
    char *json = NULL;
    hone_rc rc = hone_point_to_json(t->plan->space, point, &json, err);
    if (rc) return rc;
    trial->phase = "search";
    trial->point = json;
    trial->point_hash = hone_point_hash(t->plan->space, point);
    rc = hn_journal_trial(t, trial, err);
    bool gain = false;
    if (!rc) rc = tell(t, point, key, &trial->outcome, err);
    if (!rc) rc = count_trial(t, point, key, trial, &gain, err);
    if (!rc && gain && m->n_pass) keep_incumbent(t, m);
    if (!rc && key && !trial->same_as) rc = hn_known_add(&t->known, key, trial->id, &trial->outcome, err);
    if (!rc) report_trial(t, r, trial);
    hone_free(json);
    return rc;
}

/* A failure for lack of disk space says nothing about the candidate. */
static hone_rc check_disk(const hn_tuner *t, hone_err *err) {
    struct statvfs fs;
    if (statvfs(t->work_dir, &fs) != 0 || (double)fs.f_bavail * (double)fs.f_frsize >= disk_least_b) return HONE_OK;
    return hn_fail(err, HONE_E_IO,
                   "the disk that holds '%s' is full; everything finished is recorded: free some space and run again",
                   t->work_dir);
}

hone_rc hn_judge(hn_tuner *t, const double *point, const char *origin, const hn_recipe *r, const hn_build *b,
                 hone_err *err) {
    hone_trial trial = {.origin = origin, .object_hash = b->object_hash, .detail = b->detail, .build_s = b->build_s};
    hn_measured m = {.cls = b->cls};
    uint64_t key = 0;
    hone_rc rc = HONE_OK;
    if (b->cls == HONE_RUN_OK) {
        key = hn_run_key(t, r, b);
        const hn_known_entry *same = hn_known_find(&t->known, key);
        if (same) {
            trial.same_as = same->id;
            trial.outcome = same->outcome;
            hn_outcome_of_build(&t->bench, b, &trial.outcome);
        } else {
            if (hn_prior_prunes(t->w, &t->bench.base.build, b, m.detail, sizeof m.detail))
                m.cls = HONE_NO_METRIC;
            else
                rc = measure(t, r, b, &m, err);
            trial.detail = m.detail;
        }
    }
    if (!rc && m.cls != HONE_RUN_OK && !trial.same_as) rc = check_disk(t, err);
    if (!rc && !trial.same_as) {
        hn_outcome_of(&t->bench, b, &m, &trial.outcome);
        trial.run_s = m.run_s;
        trial.suspect = m.suspect;
        trial.sample = m.samples.sample;
        trial.n_samples = m.samples.n;
    }
    if (!rc) rc = record(t, point, key, r, &trial, &m, err);
    hn_measured_free(&m);
    return rc;
}

/* --- resumption --------------------------------------------------------------------------------------------------- */

hone_rc hn_resume_trial(hn_tuner *t, const hone_trial *trial, hone_err *err) {
    if (strcmp(trial->phase, "search")) return HONE_OK;
    double *point = malloc((hone_space_slots(t->plan->space) + 1) * sizeof *point);
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hone_point_from_json(t->plan->space, trial->point, point, err);
    uint64_t key = 0;
    bool built = *trial->object_hash || !*t->w->build; /* else there was no object to look up */
    if (!rc && built) {
        hn_recipe r;
        hn_build b = {.cls = HONE_RUN_OK};
        snprintf(b.object_hash, sizeof b.object_hash, "%s", trial->object_hash);
        rc = hn_plan_recipe(t->plan, point, &r, err);
        if (!rc) {
            key = hn_run_key(t, &r, &b);
            hn_recipe_free(&r);
        }
    }
    bool gain;
    if (!rc) rc = tell(t, point, key, &trial->outcome, err);
    if (!rc) rc = count_trial(t, point, key, trial, &gain, err);
    if (!rc && gain) {
        t->n_best_pass = 1;
        t->best_pass[0] = exp(t->best_log_ratio);
    }
    if (!rc && key && !trial->same_as) rc = hn_known_add(&t->known, key, trial->id, &trial->outcome, err);
    free(point);
    return rc;
}
