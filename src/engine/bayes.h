/* engine/bayes.h — additive Bayesian ridge regression on one-hot levels, in its dual form.
 *
 * y = b + sum over genes of w[gene][level] + noise, every weight N(0, 1) a priori, b of variance BIAS, noise variance
 * `noise` (all relative). With n rows far below the number of weights, the n x n form is the cheap one: a row costs
 * O(n * genes + n^2) to add and a sample of all weights O(n * genes + n^2) (Matheron's rule: draw from the prior,
 * correct by what the data say about the draw; Wilson et al. 2020).
 * Owns: its matrices.   Errors: E_NOMEM.
 */
#ifndef HN_BAYES_H
#define HN_BAYES_H

#include "base/rng.h"

typedef struct hn_bayes hn_bayes;

/* Levels are 0 .. n_levels-1, at most 255. */
hone_rc hn_bayes_new(size_t n_genes, size_t n_levels, hn_bayes **out, hone_err *err);
void hn_bayes_free(hn_bayes *b);
/* Conditions on n rows of level codes; the factor of the first `same` rows is kept when the noise is the same. */
hone_rc hn_bayes_fit(hn_bayes *b, const unsigned char *x, size_t n, size_t same, double noise, hone_err *err);
/* Weights (n_genes * n_levels, then the bias) given targets y of the fitted rows: the posterior mean when rng is NULL,
 * else a draw from the posterior with everything scaled by `scale` (the square root of the amplitude). */
void hn_bayes_weights(hn_bayes *b, const float *y, hn_rng *rng, double scale, float *weight);
/* Log marginal likelihood and the amplitude (variance of a weight) in closed form. */
double hn_bayes_evidence(hn_bayes *b, const float *y, double *amplitude);

#endif
