/* engine/sample.h — what models learn from: rows of the history as codes and targets.
 *
 * Up to max_rows rows: all of them, else the best third, the latest third and a fixed random choice of the rest; then
 * the pending points, with the median as their target (constant liar, Ginsbourger et al. 2010). Target: one minimised
 * number per row, on a log scale when all values have one sign, mean 0 and deviation 1 over the feasible rows. Several
 * objectives: augmented Tchebycheff with weights drawn per update (Knowles 2006, ParEGO). Failed or infeasible rows get
 * the 90 % quantile. Owns: its arrays.   Borrows: the view's rows during a call.   Errors: E_NOMEM.
 */
#ifndef HN_SAMPLE_H
#define HN_SAMPLE_H

#include "engine/engine_int.h"

typedef struct hn_sample {
    size_t n, n_told, n_features; /* rows in all; the first n_told were told, the rest are pending */
    unsigned char *code;          /* n * n_features */
    float *target;                /* n */
    bool *feasible;               /* n */
    uint32_t *row;                /* n_told: row of the history */
    uint32_t *order;              /* feasible samples, best first (several objectives: by rank, then crowding) */
    size_t n_feasible;
    /* While base and the history's epoch stay, told rows keep their places and new ones are appended. */
    size_t base;
    /* private */
    size_t n_base;
    size_t room;
    unsigned char *cache; /* codes of all rows */
    size_t cached, cache_room;
    uint64_t epoch;
    double *scratch;
} hn_sample;

void hn_sample_free(hn_sample *s);
hone_rc hn_sample_update(hn_sample *s, const hn_view *v, size_t max_rows, hn_rng *rng, hone_err *err);
/* A sample (zeroed, to be freed) of only the first n rows of the history: for values that must not depend on the time
 * of the request, such as hyper-parameters. */
hone_rc hn_sample_prefix(hn_sample *s, const hn_view *v, size_t n, size_t max_rows, hone_err *err);
/* The point of a sample. */
const double *hn_sample_point(const hn_sample *s, const hn_view *v, size_t i);

#endif
