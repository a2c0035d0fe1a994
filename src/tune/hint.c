/* tune/hint.c — what a looser floating-point contract than the workload allows would bring: one point, the baseline
 * under it, built and measured beside the baseline. It is no trial, and never a result. */
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 5 };
/* Less is no reason to change what a program may compute. */
static const double least_gain = 1.05;

/* Would results be compared with a tolerance, and does the baseline's compiler go further than the workload? */
static bool applies(const hn_tuner *t) {
    const hone_workload *w = t->w;
    if (!w->controls || w->fp_max == HONE_FP_FAST || !t->plan->n_targets || t->gpu) return false;
    if (w->parity == HN_PARITY_EXACT || w->parity == HN_PARITY_NONE) return false;
    return hn_target_family(t->plan->target[0])->contract[HONE_FP_FAST] != NULL;
}

/* Builds and measures it; *log_ratio: lower is better; NAN: it does not work, or its results are beyond the tolerance.
 */
static hone_rc measure(hn_tuner *t, const hn_recipe *r, double *log_ratio, hone_err *err) {
    char name[] = "hint", *names[] = {name};
    hn_build b;
    hn_measured *m = calloc(1, sizeof *m);
    if (!m) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_build_all(&t->builder, r, names, 1, &b, err);
    m->cls = b.cls;
    for (int i = 0; !rc && m->cls == HONE_RUN_OK && i < PASSES; i++)
        rc = hn_measure_pass(&t->bench, r, &b, i == 0, 0, m, err);
    if (!rc && m->cls == HONE_RUN_OK) rc = hn_confirm(&t->bench, r, &b, m, err);
    *log_ratio = !rc && m->cls == HONE_RUN_OK ? hn_median_log_ratio(&t->bench, m, 0) : NAN;
    hn_measured_free(m);
    free(m);
    hn_build_drop(&b, false);
    return rc;
}

static void tell(hn_tuner *t, double gain) {
    char text[500];
    snprintf(text, sizeof text,
             "under 'floating_point: fast', which this workload does not allow, the baseline's own flags are %.2fx as "
             "good and the "
             "results stay within the parity rule's tolerance. The search does not use it; allow it in the workload "
             "file if the program may compute so",
             gain);
    hn_tuner_emit(t, HONE_TUNE_HINT, 0, 0, NULL, text);
}

hone_rc hn_hint(hn_tuner *t, hone_err *err) {
    hn_recipe r;
    double log_ratio;
    if (!applies(t) || hn_now_s() > t->deadline_s) return HONE_OK;
    hone_rc rc = hn_plan_recipe_under(t->plan, t->plan->base, HONE_FP_FAST, &r, err);
    if (rc) return rc;
    rc = measure(t, &r, &log_ratio, err);
    hn_recipe_free(&r);
    if (rc || !(exp(-log_ratio) >= least_gain) || t->bench.base.plain[0]) return rc;
    t->hint_gain = exp(-log_ratio);
    tell(t, t->hint_gain);
    return HONE_OK;
}
