/* report/boxes.c — both sides' values per objective and input: a proof's, else those that the search measured of its
 * best. */
#include "report/report_int.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- from a proof ---------------------------------------------------------------------------------------------- */

static bool constant(const hone_distribution *d) { return d->n && d->p5 == d->p95; }

/* A size is the same whatever the input: one box stands for all. */
static bool same_box(const hone_report_box *a, const hone_report_box *b) {
    return a->goal == b->goal && constant(&a->baseline) && constant(&a->tuned) && constant(&b->baseline) &&
           constant(&b->tuned) && a->baseline.p50 == b->baseline.p50 && a->tuned.p50 == b->tuned.p50;
}

static void merge_boxes(hone_report *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_boxes; i++) {
        hone_report_box b = r->box[i];
        if (n && same_box(&r->box[n - 1], &b)) {
            r->box[n - 1].input = "";
            r->box[n - 1].held_out = false;
        } else
            r->box[n++] = b;
    }
    r->n_boxes = n;
}

static hone_rc from_proof(hone_report *r, hone_err *err) {
    const hone_proof *p = r->proof;
    size_t n = p->n_objectives * p->n_inputs;
    r->box = HN_NEW_N(hn_report_arena(r), hone_report_box, n);
    if (!r->box) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const hone_comparison *c = &p->by_input[i];
        size_t goal = i / p->n_inputs;
        if (goal >= r->n_goals) break;
        r->box[r->n_boxes++] = (hone_report_box){.input = c->input,
                                                 .goal = goal,
                                                 .held_out = c->held_out,
                                                 .baseline = c->baseline,
                                                 .tuned = c->tuned,
                                                 .gain = c->gain};
    }
    merge_boxes(r);
    r->boxes_proven = true;
    return HONE_OK;
}

/* --- from samples of the search --------------------------------------------------------------------------------- */

static hone_distribution distribution(const double *x, size_t n) {
    if (!n) return (hone_distribution){0};
    return (hone_distribution){.n = n,
                               .p5 = hone_stat_percentile(x, n, 5),
                               .p25 = hone_stat_percentile(x, n, 25),
                               .p50 = hone_stat_median(x, n),
                               .p75 = hone_stat_percentile(x, n, 75),
                               .p95 = hone_stat_percentile(x, n, 95),
                               .mean = hone_stat_mean(x, n),
                               .sd = hone_stat_sd(x, n)};
}

static hone_distribution side(const hone_trial *t, const char *metric, const char *input, int which, double *x) {
    size_t n = 0;
    for (size_t i = 0; i < t->n_samples; i++) {
        const hone_sample *s = &t->sample[i];
        if (s->side == which && isfinite(s->value) && !strcmp(s->metric, metric) && !strcmp(s->input, input))
            x[n++] = s->value;
    }
    return distribution(x, n);
}

static bool known(const hone_report *r, size_t goal, const char *input) {
    for (size_t i = 0; i < r->n_boxes; i++)
        if (r->box[i].goal == goal && !strcmp(r->box[i].input, input)) return true;
    return false;
}

/* The trial that holds the samples: a trial with the same object as an earlier one refers to that one. */
static const hone_trial *measured(const hone_report *r) {
    const hone_trial *t = r->best ? r->best->trial : NULL;
    while (t && !t->n_samples && t->same_as > 0 && t->same_as < t->id && (size_t)t->same_as <= r->n_trials)
        t = r->trial[t->same_as - 1].trial;
    return t;
}

/* One more box, unless neither side has values there. */
static void add_box(hone_report *r, const hone_trial *t, size_t goal, const char *input, double *scratch) {
    const char *metric = r->goal[goal].metric;
    hone_report_box b = {.input = input, .goal = goal, .gain = {NAN, NAN, NAN}};
    b.tuned = side(t, metric, input, 0, scratch);
    b.baseline = side(t, metric, input, 1, scratch);
    if (!b.baseline.n && r->baseline) b.baseline = side(r->baseline->trial, metric, input, 0, scratch);
    if (!b.baseline.n && r->baseline) b.baseline = side(r->baseline->trial, metric, input, 1, scratch);
    if (b.tuned.n) r->box[r->n_boxes++] = b;
}

static size_t count_boxes(const hone_report *r, const hone_trial *t) {
    size_t n = 0; /* at most one per first sample of a series */
    for (size_t i = 0; i < t->n_samples; i++) {
        bool first = true;
        for (size_t j = 0; first && j < i; j++) first = strcmp(t->sample[i].input, t->sample[j].input) != 0;
        n += first;
    }
    return n * r->n_goals;
}

static hone_rc from_samples(hone_report *r, hone_err *err) {
    const hone_trial *t = measured(r);
    if (!t || r->best == r->baseline) return HONE_OK;
    size_t most = t->n_samples + (r->baseline ? r->baseline->trial->n_samples : 0);
    double *scratch = calloc(most + 1, sizeof *scratch);
    r->box = HN_NEW_N(hn_report_arena(r), hone_report_box, count_boxes(r, t));
    if (!scratch || !r->box) {
        free(scratch);
        return hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    for (size_t k = 0; k < r->n_goals; k++)
        for (size_t i = 0; i < t->n_samples; i++) {
            const hone_sample *s = &t->sample[i];
            if (s->side == 0 && !strcmp(s->metric, r->goal[k].metric) && !known(r, k, s->input))
                add_box(r, t, k, s->input, scratch);
        }
    free(scratch);
    return HONE_OK;
}

hone_rc hn_report_boxes(hone_report *r, hone_err *err) {
    return r->proof && r->proof->by_input ? from_proof(r, err) : from_samples(r, err);
}
