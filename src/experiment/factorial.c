/* experiment/factorial.c — see factorial.h. Updates are those of a Kalman filter with a constant state, which needs no
 * inverse of a matrix. */
#include "experiment/factorial.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { FIT_ROUNDS = 6, PRIOR_N = 3 };
/* What choices do together that the sum of their effects does not say, where nothing is known: 1.5 %. */
static const double prior_lack = 0.015;

size_t hn_factor_term(const hn_factors *f, size_t factor, size_t level) {
    size_t at = 0;
    if (level == 0) return SIZE_MAX;
    for (size_t i = 0; i < factor; i++) at += f->n_levels[i] - 1;
    at += level - 1;
    return at < HN_TERMS ? at : SIZE_MAX;
}

static double prior_variance(const hn_factors *f, size_t factor, size_t level) {
    return f->sd[factor][level] * f->sd[factor][level];
}

/* The terms that a combination has: at most one for each factor. */
static size_t terms_of(const hn_factors *f, const hn_combination *c, size_t term[HN_FACTORS]) {
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        size_t at = hn_factor_term(f, i, c->level[i]);
        if (at != SIZE_MAX) term[n++] = at;
    }
    return n;
}

void hn_effects_begin(const hn_factors *f, hn_effects *out) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 1; k < f->n_levels[i]; k++) {
            size_t at = hn_factor_term(f, i, k);
            if (at == SIZE_MAX) continue;
            out->cov[at][at] = prior_variance(f, i, k);
            out->n = at + 1;
        }
}

/* Covariance of every effect with the combination's prediction; returns the prediction's variance. */
static double gain_of(const hn_effects *e, const size_t *term, size_t n, double with[HN_TERMS]) {
    double v = 0;
    for (size_t k = 0; k < e->n; k++) {
        with[k] = 0;
        for (size_t i = 0; i < n; i++) with[k] += e->cov[k][term[i]];
    }
    for (size_t i = 0; i < n; i++) v += with[term[i]];
    return v > 0 ? v : 0;
}

void hn_effects_see(const hn_factors *f, hn_effects *e, const hn_combination *c, double y, double noise) {
    size_t term[HN_FACTORS], n = terms_of(f, c, term);
    double with[HN_TERMS], miss = y - hn_effects_predict(f, e, c);
    double total = gain_of(e, term, n, with) + noise * noise;
    for (size_t k = 0; k < e->n; k++) e->mean[k] += with[k] * miss / total;
    for (size_t k = 0; k < e->n; k++)
        for (size_t m = 0; m < e->n; m++) e->cov[k][m] -= with[k] * with[m] / total;
}

double hn_effects_predict(const hn_factors *f, const hn_effects *e, const hn_combination *c) {
    size_t term[HN_FACTORS], n = terms_of(f, c, term);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += e->mean[term[i]];
    return sum;
}

double hn_effects_doubt(const hn_factors *f, const hn_effects *e, const hn_combination *c) {
    size_t term[HN_FACTORS], n = terms_of(f, c, term);
    double with[HN_TERMS];
    return sqrt(gain_of(e, term, n, with));
}

/* How many measurements the effects have used up: a term that is known no better than before counts as none. */
static double n_used(const hn_factors *f, const hn_effects *e) {
    double used = 0;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 1; k < f->n_levels[i]; k++) {
            size_t at = hn_factor_term(f, i, k);
            double v = prior_variance(f, i, k);
            if (at != SIZE_MAX && v > 0) used += 1 - e->cov[at][at] / v;
        }
    return used;
}

void hn_effects_fit(const hn_factors *f, const hn_combination *c, const double *y, size_t n, double noise,
                    hn_effects *out) {
    double known = noise * noise, lack = prior_lack * prior_lack;
    for (int round = 0; round < FIT_ROUNDS; round++) {
        double rest = 0;
        hn_effects_begin(f, out);
        for (size_t i = 0; i < n; i++) hn_effects_see(f, out, &c[i], y[i], sqrt(known + lack));
        for (size_t i = 0; i < n; i++) {
            double miss = y[i] - hn_effects_predict(f, out, &c[i]);
            rest += miss * miss;
        }
        double freedom = fmax(0, (double)n - n_used(f, out));
        double variance = (PRIOR_N * (known + prior_lack * prior_lack) + rest) / (PRIOR_N + freedom);
        lack = fmax(variance - known, prior_lack * prior_lack / 4);
    }
}

size_t hn_design_order(const hn_factors *f, const hn_combination *c, const double *cost, size_t n_c, double noise,
                       size_t n_given, size_t most, size_t *chosen) {
    hn_effects e;
    size_t n = 0;
    hn_effects_begin(f, &e);
    for (; n < n_given; n++) hn_effects_see(f, &e, &c[chosen[n]], 0, noise);
    while (n < most) {
        size_t best = SIZE_MAX;
        double best_worth = 0;
        for (size_t i = 0; i < n_c; i++) {
            double doubt = hn_effects_doubt(f, &e, &c[i]), worth = doubt * doubt / cost[i];
            bool taken = false;
            if (worth <= best_worth) continue;
            for (size_t k = 0; k < n && !taken; k++) taken = !memcmp(&c[chosen[k]], &c[i], sizeof *c);
            if (!taken) best = i, best_worth = worth;
        }
        if (best == SIZE_MAX) break;
        chosen[n++] = best;
        hn_effects_see(f, &e, &c[best], 0, noise);
    }
    return n;
}
