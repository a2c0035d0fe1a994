/* engine/gpr.h — Gaussian-process regression: Matérn-5/2, one length scale per group of columns, noise.
 *
 * Zero prior mean (hand in standardised targets), amplitude in closed form. Rasmussen & Williams (2006), chapters 2, 5.
 * Owns: its matrices.   Threads: one at a time.   Errors: E_NOMEM.
 */
#ifndef HN_GPR_H
#define HN_GPR_H

#include <hone/base.h>

typedef struct hn_gpr hn_gpr;

/* group[c]: which length scale column c has (0 .. n_groups-1). */
hone_rc hn_gpr_new(size_t n_columns, const uint16_t *group, size_t n_groups, hn_gpr **out, hone_err *err);
void hn_gpr_free(hn_gpr *g);
/* Back to the prior's length scales and noise. */
void hn_gpr_reset(hn_gpr *g);
/* Increases the log posterior over length scales and noise (marginal likelihood and log-normal priors) by a few
 * steps of Rprop (Riedmiller & Braun 1993), from where they are. x: n rows. */
hone_rc hn_gpr_tune(hn_gpr *g, const float *x, const float *y, size_t n, int steps, hone_err *err);
/* Conditions on n rows; the factor of the first `same` rows of the last fit is kept when nothing was tuned since. */
hone_rc hn_gpr_fit(hn_gpr *g, const float *x, const float *y, size_t n, size_t same, hone_err *err);
/* Posterior mean and (may be NULL) standard deviation of the noise-free function at n rows. */
hone_rc hn_gpr_predict(hn_gpr *g, const float *x, size_t n, float *mean, float *sd, hone_err *err);
/* For tests: the log length scales (n_groups), log noise variance relative to the amplitude, log marginal likelihood
 * of the last fit. */
void hn_gpr_hyper(const hn_gpr *g, double *log_scale, double *log_noise, double *amplitude, double *log_likelihood);
void hn_gpr_set(hn_gpr *g, const double *log_scale, double log_noise);

#endif
