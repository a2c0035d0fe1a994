/* engine/genes.h — points as models see them: one gene per slot, as a level code and as a position in 0..1.
 *
 * A gene's *code* (0..63) is what trees split on: exact for up to 63 values, quantised beyond; the last code stands
 * for absent. Its *unit* position is what distances are made of: numbers on their (log) scale, NAN when absent.
 * Literals have no gene. A permutation's gene k is the position of item k.
 * (Products and ratios of two numbers as further features gained nothing on the recorded spaces.)
 *
 * Owns: one arena.   Borrows: the space.   Threads: read-only after building.   Errors: E_NOMEM.
 */
#ifndef HN_GENES_H
#define HN_GENES_H

#include <hone/space.h>

#include "base/arena.h"
#include "base/rng.h"

enum { HN_LEVELS = 64, HN_ABSENT = HN_LEVELS - 1 };

typedef struct hn_feature {
    const hone_param *param;
    size_t slot, index; /* index: of the parameter */
    hone_kind kind;
    size_t item;     /* permutation: which item */
    bool ordered;    /* levels have an order */
    bool optional;   /* may be knocked out */
    size_t n_levels; /* distinct present values; 0 = too many to count (wide int, float) */
    double lo, hi;   /* int, float: ends of the scale (log taken when log) */
    double step;     /* 0: continuous */
} hn_feature;

typedef struct hn_genes {
    hn_arena arena;
    const hone_space *space;
    size_t n, slots; /* genes */
    hn_feature *gene;
    size_t n_free;     /* genes with more than one value */
    size_t *free_gene; /* their numbers */
    bool conditions;   /* some parameter has a condition */
    bool *ordered;     /* per gene */
} hn_genes;

hone_rc hn_genes_new(const hone_space *space, hn_genes **out, hone_err *err);
void hn_genes_free(hn_genes *g);

/* Position in 0..1 of gene k at a point, NAN when absent. */
double hn_genes_unit(const hn_genes *g, size_t k, const double *x);
/* Code of gene k alone. */
void hn_genes_code_one(const hn_genes *g, size_t k, const double *x, unsigned char *code);
/* Codes of a point: n bytes. */
void hn_genes_code(const hn_genes *g, const double *x, unsigned char *code);
/* Unit positions of a point: n floats, -1 when absent. */
void hn_genes_units(const hn_genes *g, const double *x, float *unit);
/* After genes were changed: genes that became active take their default, inactive ones become absent and values off the
 * grid are rounded. */
void hn_genes_settle(const hn_genes *g, double *x);
/* Number of genes in which two points differ. */
size_t hn_genes_distance(const hn_genes *g, const double *a, const double *b);

/* Gives gene k of x another value: uniform over the others (absent among them with the knock-out probability). */
void hn_genes_mutate(const hn_genes *g, size_t k, hn_rng *rng, double *x);
/* As mutate, but a near value with probability 1/2 when the gene is ordered. */
void hn_genes_step(const hn_genes *g, size_t k, hn_rng *rng, double *x);
/* How many single-gene changes gene k offers from x, and the j-th (wide genes: a few, random but near to far). */
size_t hn_genes_n_moves(const hn_genes *g, size_t k, const double *x);
void hn_genes_move(const hn_genes *g, size_t k, size_t j, hn_rng *rng, double *x);
/* Leaps: gene k takes the j-th of its values, however far from the present one: all values or, for a number with many,
 * the ends of its range and a few between, since a compiler's control often has an effect only at the ends; the last is
 * absent. A permutation has one leap: two random items change places. */
size_t hn_genes_n_leaps(const hn_genes *g, size_t k);
void hn_genes_leap(const hn_genes *g, size_t k, size_t j, hn_rng *rng, double *x);

#endif
