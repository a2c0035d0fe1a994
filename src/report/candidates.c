/* report/candidates.c — which trials of a session are worth proving: each a program of its own, the best ones first. */
#include "report/report_int.h"

#include <string.h>

static bool same_program(const hone_trial *a, const hone_trial *b) {
    if (a->point_hash == b->point_hash) return true;
    return *a->object_hash && strcmp(a->object_hash, b->object_hash) == 0;
}

static bool eligible(const hone_report *r, const hone_report_trial *t) {
    if (!t->feasible || strcmp(t->trial->phase, "baseline") == 0) return false;
    if (r->n_goals > 1 && !t->front) return false;
    const hone_trial *base = r->baseline ? r->baseline->trial : NULL;
    return !(base && *base->object_hash && strcmp(base->object_hash, t->trial->object_hash) == 0);
}

/* a before b: the closing race measured fresh builds, while the best value of a search is biased. */
static bool before(const hone_report *r, const hone_trial *a, const hone_trial *b) {
    bool a_raced = strcmp(a->phase, "race") == 0, b_raced = strcmp(b->phase, "race") == 0;
    double x = a->outcome.value[0], y = b->outcome.value[0];
    if (a_raced != b_raced) return a_raced;
    return r->n_goals && r->goal[0].maximize ? x > y : x < y;
}

static const hone_report_trial *next_best(const hone_report *r, const hone_report_candidate *chosen, size_t n) {
    const hone_report_trial *best = NULL;
    for (size_t i = 0; i < r->n_trials; i++) {
        const hone_report_trial *t = &r->trial[i];
        bool taken = !eligible(r, t);
        for (size_t k = 0; k < n && !taken; k++) taken = same_program(t->trial, chosen[k].trial->trial);
        if (!taken && (!best || before(r, t->trial, best->trial))) best = t;
    }
    return best;
}

/* The search's own scores of this point; the closing race has less of that bias. */
static void note_claims(const hone_report *r, hone_report_candidate *c) {
    const hone_report_trial *from = c->trial;
    for (size_t i = 0; i < r->n_trials; i++)
        if (r->trial[i].search && r->trial[i].trial->point_hash == c->trial->trial->point_hash) from = &r->trial[i];
    memcpy(c->claimed, from->gain, sizeof c->claimed);
}

size_t hone_report_candidates(const hone_report *r, size_t most, hone_report_candidate out[HONE_CANDIDATES_MAX]) {
    size_t n = 0;
    if (!most) most = r->n_goals > 1 ? HONE_CANDIDATES_MAX : 3;
    if (most > HONE_CANDIDATES_MAX) most = HONE_CANDIDATES_MAX;
    while (n < most && (out[n].trial = next_best(r, out, n)) != NULL) note_claims(r, &out[n++]);
    return n;
}
