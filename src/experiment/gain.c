/* experiment/gain.c — intervals of gains. */
#include "experiment/gain.h"

#include <math.h>

static bool all_equal(const double *z, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (z[i] != z[0]) return false;
    return n > 0;
}

/* Are there two clusters to take a spread from? */
static bool clustered(const unsigned *cluster, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (cluster[i] != cluster[0]) return true;
    return false;
}

hone_interval hn_z_quick(const double *z, const unsigned *cluster, size_t n, double alpha) {
    if (all_equal(z, n)) return (hone_interval){z[0], z[0], z[0]};
    return hone_stat_cluster_t(z, cluster, n, HONE_CENTER_MEDIAN, 1 - alpha);
}

hone_interval hn_z_interval(const double *z, const unsigned *cluster, size_t n, double alpha, uint64_t seed) {
    if (n == 0) return (hone_interval){NAN, NAN, NAN};
    if (all_equal(z, n)) return hn_z_quick(z, cluster, n, alpha);
    hone_interval b = hone_stat_bootstrap_clustered(z, cluster, n, HONE_CENTER_MEDIAN, 1 - alpha, 0, seed);
    if (!clustered(cluster, n)) return b;
    hone_interval t = hn_z_quick(z, cluster, n, alpha);
    return (hone_interval){fmin(b.lo, t.lo), b.mid, fmax(b.hi, t.hi)};
}

hn_finding hn_find(hone_interval x, double at) { return x.lo > at ? HN_ABOVE : x.hi < at ? HN_BELOW : HN_ACROSS; }
