/* experiment/factorial.h — what each of a few choices brings, from few combinations of them.
 *
 * A factor is a choice, its levels are what can be chosen; level 0 is the reference's. The model is additive: the
 * logarithm of a combination's ratio to the reference is the sum of the effects of its levels. Each effect has a normal
 * prior around 0 whose standard deviation says how much that level may matter, so that every measurement is an update
 * of a normal distribution, and what a further one could tell is the variance of its prediction. Units: logarithms of
 * ratios; the caller says which way is better.   Threads: re-entrant, pure.
 */
#ifndef HN_FACTORIAL_H
#define HN_FACTORIAL_H

#include <stdbool.h>
#include <stddef.h>

enum { HN_FACTORS = 16, HN_LEVELS = 8, HN_TERMS = 48 };

typedef struct hn_factors {
    size_t n, n_levels[HN_FACTORS];   /* n_levels >= 1, level 0 included */
    double sd[HN_FACTORS][HN_LEVELS]; /* of each effect; that of level 0 is not used */
} hn_factors;

/* One level of each factor. */
typedef struct hn_combination {
    unsigned char level[HN_FACTORS];
} hn_combination;

typedef struct hn_effects {
    size_t n; /* terms: one for each level but those 0 */
    double mean[HN_TERMS], cov[HN_TERMS][HN_TERMS];
} hn_effects;

/* The term of a level; SIZE_MAX: level 0, which has none, or beyond HN_TERMS. */
size_t hn_factor_term(const hn_factors *f, size_t factor, size_t level);

/* Nothing is measured yet. */
void hn_effects_begin(const hn_factors *f, hn_effects *out);
/* Takes one measurement in. noise: its standard deviation, > 0. */
void hn_effects_see(const hn_factors *f, hn_effects *e, const hn_combination *c, double y, double noise);
double hn_effects_predict(const hn_factors *f, const hn_effects *e, const hn_combination *c);
/* Standard deviation of that prediction. */
double hn_effects_doubt(const hn_factors *f, const hn_effects *e, const hn_combination *c);

/* All n measurements at once. `noise` is what is known of one's standard deviation; how badly the additive model fits
 * (choices that work only together) widens it. */
void hn_effects_fit(const hn_factors *f, const hn_combination *c, const double *y, size_t n, double noise,
                    hn_effects *out);

/* Orders combinations to measure: the next is always the one that would tell the most for its cost, given those before
 * it (a greedy Bayesian D-optimal design: Chaloner and Verdinelli, Statistical Science 1995). chosen[0 .. n_given) are
 * given; indices into c follow until there are `most` or no combination tells anything. Returns their number.
 * cost: > 0 for each combination. */
size_t hn_design_order(const hn_factors *f, const hn_combination *c, const double *cost, size_t n_c, double noise,
                       size_t n_given, size_t most, size_t *chosen);

#endif
