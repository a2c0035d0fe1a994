/* engine/mutant.h — mutants of a point in the genes that do something (active.h).
 *
 * A mutant changes genes, drawn by their chances, until so many changes of the program are expected of it; values that
 * are cleared in the point's class are not taken, so a gene that is proven neutral there is not varied again until the
 * point's program changes. A sweep changes half of what is cleared, for genes that act only together.
 * Owns: its array.   Errors: E_NOMEM.   A zeroed one is empty.
 */
#ifndef HN_MUTANT_H
#define HN_MUTANT_H

#include "engine/active.h"

typedef struct hn_move {
    double value;
    uint32_t gene;
    float weight; /* 0: taken */
} hn_move;

typedef struct hn_mutants {
    hn_move *move;
    size_t n, room;
    double total; /* of the weights */
    bool *taken;  /* by gene */
} hn_mutants;

void hn_mutants_free(hn_mutants *m);
/* Lists the moves from a row of the history: into values that are cleared in its class, or into the others. False:
 * there are none, or nothing is known of the row's class. */
hone_rc hn_mutants_list(hn_mutants *m, const hn_view *v, size_t row, bool cleared, hn_rng *rng, double *spare,
                        bool *any, hone_err *err);
/* Takes moves into x until their chances sum up to `expected`, but at least one. */
void hn_mutants_draw(hn_mutants *m, const hn_view *v, double expected, hn_rng *rng, double *x);
/* Takes half of the moves, one for a gene. */
void hn_mutants_sweep(hn_mutants *m, const hn_view *v, hn_rng *rng, double *x);

#endif
