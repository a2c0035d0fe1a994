/* engine/lfbo.c — likelihood-free optimisation: a forest learns to tell the best fraction from the rest, candidates
 * are ranked by the probability of belonging to it (Song et al. 2022; Bergstra et al. 2011 for the labels). Any number
 * of objectives (best by non-dominated rank, then crowding), failures and constraints are one and the same case.
 * Within the best fraction the label falls from 1 to 0 with the place (utility as in expected improvement, on ranks):
 * it distinguishes candidates that all trees call good, and took 5 % fewer evaluations to within 5 % of the best on the
 * recorded spaces. */
#include "engine/model.h"
#include "engine/trees.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

#define OPTIONS(X)                                                                                                     \
    X(trees, 30, 1, 1000)                                                                                              \
    X(leaf, 2, 1, 100)                                                                                                 \
    X(fraction, 0.15, 0.01, 0.9)                                                                                       \
    X(features, 0.4, 0.01, 1)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

typedef struct lfbo {
    hn_trees *trees;
    double fraction;
} lfbo;

static void close_model(void *state) {
    lfbo *l = state;
    if (l) hn_trees_free(l->trees);
    free(l);
}

static hone_rc open_model(const hn_view *view, const double *option, void **state, hone_err *err) {
    double dflt[] = {OPTIONS(HN_OPTION_DEFAULT)};
    if (!option) option = dflt;
    hn_trees_spec spec = {.n_trees = (size_t)option[OPT_trees],
                          .min_leaf = (size_t)option[OPT_leaf],
                          .features = option[OPT_features],
                          .bootstrap = true};
    lfbo *l = calloc(1, sizeof *l);
    if (!l) return hn_fail(err, HONE_E_NOMEM, "out of memory for engine 'lfbo'");
    l->fraction = option[OPT_fraction];
    hone_rc rc = hn_trees_new(view->genes->n, view->genes->ordered, &spec, &l->trees, err);
    if (rc)
        close_model(l);
    else
        *state = l;
    return rc;
}

static hone_rc score(void *state, const hn_view *view, const hn_sample *s, hn_pool *pool, hn_rng *rng, float *out,
                     hone_err *err) {
    lfbo *l = state;
    float *label;
    hone_rc rc = hn_trees_floats(l->trees, s->n, &label, err);
    if (rc) return rc;
    double fraction = view->history->m > 1 ? fmax(l->fraction, 0.2) : l->fraction;
    size_t n_best = (size_t)ceil(fraction * (double)s->n_told);
    if (n_best > s->n_feasible) n_best = s->n_feasible;
    for (size_t i = 0; i < s->n; i++) label[i] = 0;
    for (size_t k = 0; k < n_best; k++) label[s->order[k]] = 1 - (float)k / (float)n_best;
    rc = hn_trees_fit(l->trees, s->code, label, s->n, hn_rng_next(rng), err);
    if (!rc) hn_trees_predict(l->trees, pool->code, pool->n, out, NULL);
    return rc;
}

const hn_surrogate hn_model_lfbo = {"lfbo", true, -1, open_model, score, close_model};
HN_MODEL_ENGINE(lfbo, "a random forest classifies 'among the best fraction', the likeliest candidate is next")
