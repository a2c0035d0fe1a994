/* engine/forest.c — random-forest regression of the log cost and expected improvement (SMAC: Hutter et al. 2011). */
#include "engine/model.h"
#include "engine/trees.h"

#include "base/err.h"

#include <math.h>

#define OPTIONS(X)                                                                                                     \
    X(trees, 20, 1, 1000)                                                                                              \
    X(leaf, 2, 1, 100)                                                                                                 \
    X(features, 0.5, 0.01, 1)
enum { OPTIONS(HN_OPTION_ID) };
static const hn_option options[] = {OPTIONS(HN_OPTION_ROW){0}};

static void close_model(void *state) { hn_trees_free(state); }

static hone_rc open_model(const hn_view *view, const double *option, void **state, hone_err *err) {
    double dflt[] = {OPTIONS(HN_OPTION_DEFAULT)};
    if (!option) option = dflt;
    hn_trees_spec spec = {.n_trees = (size_t)option[OPT_trees],
                          .min_leaf = (size_t)option[OPT_leaf],
                          .features = option[OPT_features],
                          .bootstrap = true};
    hn_trees *trees;
    hone_rc rc = hn_trees_new(view->genes->n, view->genes->ordered, &spec, &trees, err);
    if (!rc) *state = trees;
    return rc;
}

/* log of the expected improvement below `best` of a normal, without underflow far above it: for z < -5 the
 * asymptotic series of the Mills ratio. */
float hn_log_ei(float mean, float sd, float best) {
    double s = sd > 1e-6f ? (double)sd : 1e-6, z = ((double)best - (double)mean) / s;
    double log_pdf = -0.5 * z * z - 0.91893853320467274;
    if (z < -5) return (float)(log(s) + log_pdf - 2 * log(-z));
    return (float)(log(s) + log(exp(log_pdf) + z * 0.5 * erfc(-z * 0.70710678118654752)));
}

static hone_rc score(void *state, const hn_view *view, const hn_sample *s, hn_pool *pool, hn_rng *rng, float *out,
                     hone_err *err) {
    (void)view;
    float *sd;
    hone_rc rc = hn_trees_floats(state, pool->room, &sd, err);
    if (!rc) rc = hn_trees_fit(state, s->code, s->target, s->n, hn_rng_next(rng), err);
    if (rc) return rc;
    hn_trees_predict(state, pool->code, pool->n, out, sd);
    float best = INFINITY;
    for (size_t i = 0; i < s->n_told; i++)
        if (s->feasible[i] && s->target[i] < best) best = s->target[i];
    for (size_t i = 0; i < pool->n; i++) out[i] = hn_log_ei(out[i], sd[i], best);
    return HONE_OK;
}

const hn_surrogate hn_model_forest = {"forest", false, -1, open_model, score, close_model};
HN_MODEL_ENGINE(forest, "random-forest regression of the log cost, greatest expected improvement is next")
