/* tune/pass_search.c — the search for an order of passes: the unedited list, each pass cut alone, in a drawn order,
 * then the cuts that helped joined, the best first; an evolution of those that are best goes on (parts.c). A cut that
 * leaves the program as it was is known by its object and costs no run. */
#include "tune/tuner.h"

#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { STREAM = 26, JOINED_MOST = 8 };

static size_t slot_of(const hn_pass_search *p, size_t i) { return hone_space_param(p->space, i)->slot; }

/* The list with no edit, or with none but these cuts: the first value of a pass is its cut. */
static void make_point(const hn_pass_search *p, const size_t *cut, size_t n, double *point) {
    for (size_t i = 0; i < hone_space_slots(p->space); i++) point[i] = NAN;
    point[slot_of(p, 0)] = 1;
    for (size_t i = 0; i < n; i++) point[slot_of(p, 1 + cut[i])] = 0;
    hone_point_canon(p->space, point);
}

hone_rc hn_passes_open(hn_tuner *t, const hone_space *space, hone_err *err) {
    hn_pass_search *p = &t->passes;
    hn_rng rng = hn_rng_make(t->o->seed, STREAM);
    size_t n = hone_space_n_params(space) - 1, slots = hone_space_slots(space);
    *p = (hn_pass_search){.space = space, .n = n < HN_PASSES_MOST ? n : HN_PASSES_MOST, .whole = (double)NAN};
    double *point = malloc((p->n + 1) * slots * sizeof *point);
    size_t *order = malloc((p->n + 1) * sizeof *order);
    hone_rc rc = point && order ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < p->n; i++) {
        size_t j = (size_t)hn_rng_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
        p->y[i] = (double)NAN;
    }
    if (!rc) make_point(p, NULL, 0, point);
    for (size_t i = 0; !rc && i < p->n; i++) make_point(p, &order[i], 1, point + (i + 1) * slots);
    p->n_waiting = p->n;
    if (!rc) rc = hone_search_add_seeds(t->window.search, point, p->n + 1, err);
    free(point);
    free(order);
    return rc;
}

/* The only cut of a point without other edits; n: none; SIZE_MAX: it has more, or others. */
static size_t only_cut(const hn_pass_search *p, const double *point) {
    size_t only = p->n;
    for (size_t i = 0; i + 1 < hone_space_n_params(p->space); i++) {
        double v = point[slot_of(p, 1 + i)];
        if (isnan(v)) continue;
        if (v != 0 || only < p->n || i >= p->n) return SIZE_MAX;
        only = i;
    }
    return only;
}

void hn_passes_told(hn_tuner *t, const double *point, double log_ratio) {
    hn_pass_search *p = &t->passes;
    if (!p->space || t->part != HN_PART_PASSES || !hn_window_holds(&t->window, point)) return;
    const double *own = point + t->window.at;
    if (own[slot_of(p, 0)] != 1) return;
    size_t i = only_cut(p, own);
    if (i == SIZE_MAX) return;
    if (i == p->n) {
        p->whole = log_ratio;
        return;
    }
    p->y[i] = log_ratio;
    if (p->n_waiting) p->n_waiting--;
}

/* The cuts that are better than the unedited list, the best first. */
static size_t list_helpful(const hn_pass_search *p, size_t *best) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!(p->y[i] < p->whole)) continue;
        size_t k = n < JOINED_MOST ? n++ : n;
        for (; k && p->y[best[k - 1]] > p->y[i]; k--)
            if (k < JOINED_MOST) best[k] = best[k - 1];
        if (k < JOINED_MOST) best[k] = i;
    }
    return n;
}

hone_rc hn_passes_go_on(hn_tuner *t, hone_err *err) {
    hn_pass_search *p = &t->passes;
    size_t best[JOINED_MOST];
    if (!p->space || p->combined || p->n_waiting) return HONE_OK;
    p->combined = true;
    size_t n = list_helpful(p, best);
    double *point = malloc((hone_space_slots(p->space) + 1) * sizeof *point);
    hone_rc rc = point ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t k = 2; !rc && k <= n; k++) {
        make_point(p, best, k, point);
        rc = hone_search_add_seeds(t->window.search, point, 1, err);
    }
    free(point);
    return rc;
}
