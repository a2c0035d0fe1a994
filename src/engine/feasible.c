/* engine/feasible.c — the probability of success, learnt from failures. */
#include "engine/feasible.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

static const hn_trees_spec spec = {.n_trees = 20, .min_leaf = 1, .features = 0.4, .bootstrap = true};
/* Failures are modelled from this number and this share on. */
enum { LEAST_FAILED = 3 };
static const double least_share = 0.04;
static const float least_chance = 0.1f, behind = 1000;

void hn_feasible_free(hn_feasible *f) {
    hn_trees_free(f->trees);
    free(f->label);
    free(f->chance);
}

static bool grow(float **p, size_t *room, size_t n) {
    if (n <= *room) return true;
    free(*p);
    *room = n + n / 2 + 64;
    *p = malloc(*room * sizeof **p);
    if (!*p) *room = 0;
    return *p;
}

static bool has_enough_failures(const hn_sample *s) {
    size_t failed = s->n_told - s->n_feasible;
    return failed >= LEAST_FAILED && (double)failed > least_share * (double)s->n_told;
}

hone_rc hn_feasible_penalize(hn_feasible *f, const hn_view *v, const hn_sample *s, const hn_pool *pool, hn_rng *rng,
                             float *score, hone_err *err) {
    if (!has_enough_failures(s)) return HONE_OK;
    hone_rc rc = f->trees ? HONE_OK : hn_trees_new(v->genes->n, v->genes->ordered, &spec, &f->trees, err);
    if (rc) return rc;
    if (!grow(&f->label, &f->rows, s->n_told) || !grow(&f->chance, &f->points, pool->n))
        return hn_fail(err, HONE_E_NOMEM, "out of memory for the model of failures");
    for (size_t i = 0; i < s->n_told; i++) f->label[i] = s->feasible[i] ? 1 : 0;
    rc = hn_trees_fit(f->trees, s->code, f->label, s->n_told, hn_rng_next(rng), err);
    if (rc) return rc;
    hn_trees_predict(f->trees, pool->code, pool->n, f->chance, NULL);
    for (size_t i = 0; i < pool->n; i++)
        if (f->chance[i] < least_chance) score[i] -= behind;
    return HONE_OK;
}
