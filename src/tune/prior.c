/* tune/prior.c — device code as a prior: order and pruning of what is going to be timed. */
#include "base/str.h"
#include "tune/code.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIGNS = 2 }; /* one figure alone misleads: unrolled loops are longer and often faster */

static const struct row {
    const char *name;
    int way;
    double grain, far;
} row[] = {
#define HN_PRIOR(metric, way, grain, far) {#metric, way, grain, far},
#include "tune/prior.def"
};

/* The logarithm of how much worse it is in one row; below 0: better. */
static double behind(const hn_build *base, const hn_build *b, size_t k) {
    double x = b->prior[k] + row[k].grain, y = base->prior[k] + row[k].grain;
    if (x == y) return 0;
    if (!(x > 0) || !(y > 0)) return (x < y) == (row[k].way < 0) ? INFINITY : -INFINITY;
    return row[k].way * log(x / y);
}

/* Rows count alike, each at most once beyond `far`, so that none decides alone. */
static double score(const hn_build *base, const hn_build *b) {
    double sum = 0;
    for (size_t k = 0; k < HN_N_PRIORS; k++) sum += fmax(-1, fmin(1, behind(base, b, k) / log(row[k].far)));
    return sum;
}

void hn_prior_order(const hone_workload *w, const hn_build *base, const hn_build *b, size_t n, size_t *order) {
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        bool ranks = w->code.prior && b[i].cls == HONE_RUN_OK;
        for (;
             ranks && at && b[order[at - 1]].cls == HONE_RUN_OK && score(base, &b[order[at - 1]]) > score(base, &b[i]);
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

bool hn_prior_prunes(const hone_workload *w, const hn_build *base, const hn_build *b, char *why, size_t n_why) {
    size_t signs = 0;
    hn_str s = {0};
    if (!w->code.prior) return false;
    for (size_t k = 0; k < HN_N_PRIORS; k++) {
        if (!(behind(base, b, k) > log(row[k].far))) continue;
        hn_str_addf(&s, "%s%s %.6g (the baseline has %.6g)", signs++ ? ", " : "", row[k].name, b->prior[k],
                    base->prior[k]);
    }
    bool prunes = signs >= SIGNS;
    if (prunes) snprintf(why, n_why, "not timed, since its device code is far worse: %s", s.text ? s.text : "");
    hn_str_free(&s);
    return prunes;
}
