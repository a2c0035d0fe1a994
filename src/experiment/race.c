/* experiment/race.c — racing a candidate against the incumbent.
 *
 * One screening sample, then a contender within two standard errors gets interleaved pairs, doubling 1, 2, 4, 8:
 * a fixed number of repeats for every candidate gained nothing on recorded spaces. The standard error pools the
 * residuals of both sides with the known noise (weighing PRIOR_N observations), so that one sample, or equal ones, do
 * not give a standard error of zero. From BOOT_FROM_N samples on a bootstrap interval of the median widens it where the
 * tails are heavy.
 */
#include "experiment/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BOOT_FROM_N = 6, PRIOR_N = 3, BOOT_N = 1000 };
static const double LEAST_SIGMA = 1e-4; /* clocks and counters are not more precise than this */

static size_t to_logs(const double *x, size_t n, double *out) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]) && x[i] > 0) out[k++] = log(x[i]);
    return k;
}

static double squares(const double *x, size_t n) {
    double mean = n > 0 ? hone_stat_mean(x, n) : 0, sum = 0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

/* Standard error of the difference of two medians. A median's error is sqrt(pi / 2) of the mean's for n >= 3. */
static double standard_error(const double *a, size_t n_a, const double *b, size_t n_b, double noise) {
    double freedom = PRIOR_N + (double)(n_a - 1) + (double)(n_b - 1);
    double sigma = sqrt((PRIOR_N * noise * noise + squares(a, n_a) + squares(b, n_b)) / freedom);
    if (sigma < LEAST_SIGMA) sigma = LEAST_SIGMA;
    double share_a = (n_a >= 3 ? M_PI_2 : 1) / (double)n_a, share_b = (n_b >= 3 ? M_PI_2 : 1) / (double)n_b;
    return sigma * sqrt(share_a + share_b);
}

static hone_interval interval(const double *inc, size_t n_inc, const double *cand, size_t n_cand,
                              const hn_race_config *c) {
    double at = hone_stat_median(inc, n_inc), mid = hone_stat_median(cand, n_cand) - at;
    double half = c->n_sigma * standard_error(inc, n_inc, cand, n_cand, c->noise);
    hone_interval out = {mid - half, mid, mid + half};
    if (n_cand >= BOOT_FROM_N) {
        hone_interval boot = hone_stat_bootstrap_median(cand, n_cand, erf(c->n_sigma / M_SQRT2), BOOT_N, c->seed);
        if (boot.lo - at < out.lo) out.lo = boot.lo - at;
        if (boot.hi - at > out.hi) out.hi = boot.hi - at;
    }
    return out;
}

static hn_race_config with_defaults(const hn_race_config *config) {
    hn_race_config c = config ? *config : (hn_race_config){0};
    if (!(c.drop_ratio > 1)) c.drop_ratio = 1.3;
    if (!(c.n_sigma > 0)) c.n_sigma = 2;
    if (!(c.noise > 0)) c.noise = 0.02;
    if (c.most == 0) c.most = 8;
    return c;
}

static hn_race_result decide(const double *inc, size_t n_inc, const double *cand, size_t n_cand,
                             const hn_race_config *c) {
    if (n_cand == 0) return (hn_race_result){HN_RACE_DROP, 0, NAN, {NAN, NAN, NAN}};
    if (n_inc == 0) return (hn_race_result){HN_RACE_KEEP, 0, NAN, {NAN, NAN, NAN}};
    hone_interval d = interval(inc, n_inc, cand, n_cand, c);
    hn_race_result out = {.ratio = exp(d.mid), .ci = {exp(d.lo), exp(d.mid), exp(d.hi)}};
    if (out.ratio > c->drop_ratio || d.lo > 0)
        out.verdict = HN_RACE_DROP;
    else if (d.hi < 0)
        out.verdict = HN_RACE_KEEP;
    else if (n_cand >= c->most)
        out.verdict = HN_RACE_DONE;
    else {
        out.verdict = HN_RACE_MORE;
        out.n_more = n_cand < c->most - n_cand ? n_cand : c->most - n_cand;
    }
    return out;
}

hn_race_result hn_race_decide(const double *incumbent, size_t n_incumbent, const double *candidate, size_t n_candidate,
                              const hn_race_config *config) {
    hn_race_config c = with_defaults(config);
    hn_race_result out = {HN_RACE_DONE, 0, NAN, {NAN, NAN, NAN}};
    double *logs = calloc(n_incumbent + n_candidate + 1, sizeof *logs);
    if (!logs) return out;
    size_t n_inc = to_logs(incumbent, n_incumbent, logs), n_cand = to_logs(candidate, n_candidate, logs + n_inc);
    out = decide(logs, n_inc, logs + n_inc, n_cand, &c);
    free(logs);
    return out;
}

hn_race_verdict hn_race_gains(const double *lead, size_t n_lead, const double *mine, size_t n_mine,
                              const hn_race_config *config) {
    hn_race_config c = with_defaults(config);
    double *logs = calloc(n_lead + n_mine + 1, sizeof *logs);
    if (!logs) return HN_RACE_DONE;
    for (size_t i = 0; i < n_lead; i++) logs[i] = -lead[i];
    for (size_t i = 0; i < n_mine; i++) logs[n_lead + i] = -mine[i];
    hn_race_verdict out = decide(logs, n_lead, logs + n_lead, n_mine, &c).verdict;
    free(logs);
    return out;
}

bool hn_race_gives_up(double cost, double baseline, double limit) { return limit > 0 && cost > limit * baseline; }

size_t hn_race_first(double run_s) { return run_s < 0.01 ? 2 : 1; }
