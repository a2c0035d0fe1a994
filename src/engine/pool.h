/* engine/pool.h — candidates for a model to score: fresh, distinct points near the best and anywhere.
 * Owns: its arrays.   Errors: E_NOMEM, E_EMPTY. */
#ifndef HN_POOL_H
#define HN_POOL_H

#include "engine/sample.h"

typedef struct hn_pool {
    size_t n, room, slots, n_features;
    double *x;           /* n * slots */
    unsigned char *code; /* n * n_features */
    uint64_t *hash;
    uint32_t *table; /* hash -> candidate + 1, cleared by `clear` */
    size_t table_n;
    double *work;
} hn_pool;

typedef struct hn_pool_spec {
    size_t centres;    /* best points whose neighbours are tried */
    size_t neighbours; /* at most that many one-gene moves */
    size_t moves;      /* two- and three-gene moves */
    size_t crosses;    /* uniform crossovers of two elite points */
    size_t randoms;
} hn_pool_spec;

void hn_pool_free(hn_pool *p);
hone_rc hn_pool_clear(hn_pool *p, const hn_view *v, size_t most, hone_err *err);
/* Adds x (made canonical) if it is legal, fresh, new to the pool, and there is room. True when added. */
bool hn_pool_offer(hn_pool *p, const hn_view *v, double *x);
/* Uniform crossover by parameter. */
void hn_cross(const hn_genes *g, const double *a, const double *b, hn_rng *rng, double *out);
hone_rc hn_pool_fill(hn_pool *p, const hn_view *v, const hn_sample *s, const hn_pool_spec *spec, hn_rng *rng,
                     hone_err *err);

#endif
