/* rollout/bets.c — mixtures of Bernoulli bets in closed form (Robbins 1970; Howard & Ramdas 2022 for quantiles by
 * signs). */
#include "rollout/bets.h"

#include <math.h>

enum { N_BETS = 15 };

double hn_bet_capital(uint64_t k, uint64_t n, double p) {
    double capital[N_BETS], most = -INFINITY, sum = 0, odds = log(p / (1 - p));
    for (int j = 0; j < N_BETS; j++) {
        double q = 1 / (1 + exp(-(odds + 4 * exp2(-0.5 * j))));
        capital[j] = (double)k * log(q / p) + (double)(n - k) * log((1 - q) / (1 - p));
        most = fmax(most, capital[j]);
    }
    for (int j = 0; j < N_BETS; j++) sum += exp(capital[j] - most);
    return most + log(sum / N_BETS);
}

/* Capital rises with k, since every bet is on more successes. */
uint64_t hn_bet_least(uint64_t n, double p, double alpha) {
    uint64_t lo = 0, hi = n + 1;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (mid <= n && hn_bet_capital(mid, n, p) < -log(alpha))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* "The median is at most m" is refuted when so many values lie above m: that is so for all m below the value that has
 * `least - 1` above it. */
hone_interval hn_bet_median(const double *sorted, size_t n, double alpha) {
    hone_interval x = {-INFINITY, NAN, INFINITY};
    if (!n) return x;
    x.mid = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    uint64_t least = hn_bet_least(n, 0.5, alpha);
    if (least > n) return x;
    x.lo = sorted[n - least];
    x.hi = sorted[least - 1];
    return x;
}
