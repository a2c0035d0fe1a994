/* mixed/mixed.h — the search for mixed precision, in parts: the search itself, which knows no model (search.c); points
 * that are kept in a file (kept.c); a program with both versions of each product (switched.c); what a product's time is
 * (price.c); the held-out proof (proof.c). hone_mixed_search (mixed.c) puts them together.
 *
 * Owns: a hn_mixed its arena.   Threads: one at a time.   Errors: E_NOMEM, and those of what is called.
 */
#ifndef HN_MIXED_H
#define HN_MIXED_H

#include "base/arena.h"
#include "calibrate/calibrate.h"

#include <hone/mixed.h>

typedef struct hn_mixed_point {
    bool *narrow;
    uint32_t ranges; /* which way they are taken, an index */
    double error, latency;
    uint64_t weights_b;
} hn_mixed_point;

/* What is searched: n products, each narrow or not, and n_ranges ways. The rest of a point follows from these. */
typedef struct hn_mixed_problem {
    uint32_t n, n_ranges;
    const double *change;        /* of latency where product i is narrow, by that of f32: below 0 is faster */
    const uint64_t *wide, *slim; /* bytes of weights */
    const char *engine;
    uint64_t seed;
    uint32_t n_points;
    /* What is optional is not begun from parts of that time on (search.c); until_s 0: all is. */
    double start_s, until_s;
    bool (*known)(void *arg, const bool *narrow, uint32_t ranges); /* its error takes no time; NULL: none is */
    double (*now_s)(void *arg);                                    /* NULL: the clock */
    double (*proof_s)(void *arg); /* of a point of the front: time for it is left; NULL: 0 */
    /* The error of a point, which may be infinite. */
    hone_rc (*error)(void *arg, const bool *narrow, uint32_t ranges, double *out, hone_err *err);
    void (*told)(void *arg, const char *stage, size_t done, size_t total); /* NULL: nobody */
    void *arg;
} hn_mixed_problem;

typedef struct hn_mixed {
    hn_arena arena;
    const hn_mixed_problem *of;
    hn_mixed_point *point; /* all that were evaluated; [0]: all in f32 */
    size_t n, room;
    uint32_t *order; /* of products, once each was narrow alone: most latency for least error first */
    uint32_t ranges; /* that products alone were tried with: of least error when all are narrow */
    uint32_t n_ranges, n_alone, n_asked; /* ways, products alone and points of the engine that there was time for */
    bool late;                           /* the engine was not asked for all points that it was to be asked for */
} hn_mixed;
/* Will that part of the time be over in more_s? */
bool hn_mixed_late(const hn_mixed_problem *p, double part, double more_s);
/* Each product alone, prefixes of their order, then what the engine asks for. */
hone_rc hn_mixed_run(const hn_mixed_problem *problem, hn_mixed *out, hone_err *err);
void hn_mixed_free(hn_mixed *m);
/* 0, which stays in any case, then indices of points that no other dominates, error ascending, one of equal values; in
 * m's arena. */
hone_rc hn_mixed_front(hn_mixed *m, size_t **front, size_t *n, hone_err *err);

/* --- kept.c --------------------------------------------------------------------------------------------------------
 */

typedef struct hn_kept_point {
    const char *ranges, *narrow; /* "mse", "1011…" */
    double error;
} hn_kept_point;
typedef struct hn_kept {
    hn_arena arena;
    const char *key; /* of what points are of */
    uint32_t n_products;
    double *change; /* as hn_mixed_problem */
    hn_kept_point *point;
    size_t n, room;
} hn_kept;
/* What stands behind the last line end was being written when hone was ended, and is left out. */
hone_rc hn_kept_parse(const char *text, size_t n, const char *label, hn_kept *out, hone_err *err);
/* The file without points, to which they are added line by line. */
void hn_kept_print_head(const hn_kept *k, hn_str *out);
void hn_kept_print_point(const hn_kept_point *p, hn_str *out);
const hn_kept_point *hn_kept_find(const hn_kept *k, const char *ranges, const char *narrow);
hone_rc hn_kept_add(hn_kept *k, const char *ranges, const char *narrow, double error, hone_err *err);
void hn_kept_free(hn_kept *k);

/* --- switched.c ----------------------------------------------------------------------------------------------------
 */

typedef struct hn_switched {
    hn_temp temp;
    hone_artifact *program; /* NULL: not compiled yet */
} hn_switched;
/* g with both versions of the plan's products; inputs are g's, then the switches. */
hone_rc hn_switched_open(const hn_graph *g, const hn_narrow_plan *plan, const hone_precision_options *o,
                         hn_switched *out, hone_err *err);
/* out: one per output, each data the caller's. */
hone_rc hn_switched_run(hn_switched *s, const hone_array *sample, const bool *narrow, size_t n_narrow, hone_array *out,
                        hone_err *err);
void hn_switched_close(hn_switched *s);

/* --- price.c -------------------------------------------------------------------------------------------------------
 */

/* change[i] as in hn_mixed_problem: two builds that time their kernels, of f32 and of all products in bytes. */
hone_rc hn_price_products(const hn_graph *g, const hn_narrow_plan *plan, const hone_array *sample,
                          const hone_precision_options *o, double *change, hone_err *err);

/* --- proof.c -------------------------------------------------------------------------------------------------------
 */

/* The upper end of the mean of n values, one-sided, 95 %; infinite of fewer than two. */
double hn_upper_mean(const double *x, size_t n);

#endif
