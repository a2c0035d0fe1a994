/* tests/unit/reduce/planted.h — a lab with a planted answer: which parts carry how much, and how noisy a measurement
 * is. For tests and bench/minimize.c. */
#ifndef HN_PLANTED_H
#define HN_PLANTED_H

#include "base/rng.h"
#include "reduce/reduce.h"

#include <string.h>

enum { PLANTED_MOST = 200 };
typedef struct planted {
    size_t n;
    double effect[PLANTED_MOST];  /* log gain of a part */
    size_t partner[PLANTED_MOST]; /* its effect shows only together with this part; SIZE_MAX: always */
    bool dead[PLANTED_MOST];      /* leaves the program as it is */
    bool needed[PLANTED_MOST];    /* without it the program fails */
    size_t parent[PLANTED_MOST];
    double noise, spike; /* standard deviation; share of measurements that are off by 10 to 30 % */
    bool identifies;
    hn_rng rng;
    size_t n_measured, n_builds;
} planted;

static inline planted planted_make(size_t n, double noise, uint64_t seed) {
    planted p = {.n = n, .noise = noise, .rng = hn_rng_make(seed, 0x9a17)};
    for (size_t i = 0; i < n; i++) p.partner[i] = p.parent[i] = SIZE_MAX;
    return p;
}

static inline double planted_gain(const planted *p, const bool *keep) {
    double sum = 0;
    for (size_t i = 0; i < p->n; i++)
        if (keep[i] && (p->partner[i] == SIZE_MAX || keep[p->partner[i]])) sum += p->effect[i];
    return sum;
}

static inline hone_rc planted_measure(void *ctx, const bool *keep, size_t count, double *gain, bool *works,
                                      hone_err *err) {
    planted *p = ctx;
    (void)err;
    for (size_t i = 0; i < p->n; i++)
        if (p->needed[i] && !keep[i]) *works = false;
    for (size_t i = 0; i < count; i++) {
        gain[i] = planted_gain(p, keep) + p->noise * hn_rng_normal(&p->rng);
        if (hn_rng_unit(&p->rng) < p->spike) gain[i] -= 0.1 + 0.2 * hn_rng_unit(&p->rng);
    }
    p->n_measured += count;
    return HONE_OK;
}

static inline hone_rc planted_identify(void *ctx, const bool *keep, size_t k, uint64_t *key, hone_err *err) {
    planted *p = ctx;
    (void)err;
    for (size_t s = 0; s < k; s++) {
        key[s] = 1;
        for (size_t i = 0; i < p->n; i++)
            if (keep[s * p->n + i] && !p->dead[i]) key[s] = hn_mix64(key[s] ^ hn_mix64(i + 77));
        key[s] |= 1;
    }
    p->n_builds += k;
    return HONE_OK;
}

static inline hn_reduce_lab planted_lab(planted *p) {
    hn_reduce_lab lab = {.ctx = p, .n = p->n, .n_gains = 1, .parent = p->parent, .measure = planted_measure};
    if (p->identifies) lab.identify = planted_identify;
    lab.steady = p->noise == 0 && p->spike == 0;
    return lab;
}

/* The parts that matter, at random places; at (may be NULL): which. */
static inline void planted_at_random(planted *p, const double *effect, size_t n, uint64_t seed, size_t *at) {
    hn_rng rng = hn_rng_make(seed, 0x91ace);
    for (size_t i = 0; i < n;) {
        size_t k = (size_t)hn_rng_below(&rng, p->n);
        if (p->effect[k] != 0) continue;
        if (at) at[i] = k;
        p->effect[k] = effect[i++];
    }
}

/* Are exactly the parts with an effect kept? */
static inline bool planted_found(const planted *p, const bool *keep) {
    for (size_t i = 0; i < p->n; i++)
        if (keep[i] != (p->effect[i] > 0)) return false;
    return true;
}

#endif
