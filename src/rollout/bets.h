/* rollout/bets.h — tests that hold at any time: capital of one who bets against a hypothesis.
 *
 * Under "each draw is a success with a chance of at most p, whatever came before", capital that starts at 1 is a
 * nonnegative supermartingale, so that it ever reaches 1 / alpha with a chance of at most alpha (Ville 1939). The
 * better's capital is spread evenly over alternatives whose log-odds lie 4, 4 / sqrt 2, 2, … beyond those of p, so that
 * strong effects are found in few draws and weak ones at all (docs/rollout.md). Pure.
 */
#ifndef HN_BETS_H
#define HN_BETS_H

#include <hone/stat.h>

/* Logarithm of the capital after k successes in n draws; 0 < p < 1. */
double hn_bet_capital(uint64_t k, uint64_t n, double p);
/* The fewest successes in n draws at which it reaches 1 / alpha; n + 1: none are enough. */
uint64_t hn_bet_least(uint64_t n, double p, double alpha);
/* Confidence sequence of the median: each end errs, at any time, with a chance of at most alpha. sorted: n values,
 * rising. What is asked of the values is that each lies above the median with a chance of a half, given those before
 * it; neither independence nor a distribution. Ends are infinite while n is too small. */
hone_interval hn_bet_median(const double *sorted, size_t n, double alpha);

#endif
