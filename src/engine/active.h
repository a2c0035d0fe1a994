/* engine/active.h — which genes do something: learnt from points that became the same program.
 *
 * Rows told with a code (hone_search_tell_built) fall into classes of equal code. Values of a gene that rows of one
 * class have are *cleared* in that class: changing the gene among them is presumed to change nothing there (a change
 * that another one cancels is presumed not to happen). Of a number with more values than SPOTS, all between the least
 * and the greatest are. So a mutant that became its parent's program clears all it changed at once. In another class
 * nothing is cleared until it is seen there.
 *
 * Across classes each gene has a *chance* that changing it changes the program: a row and the class of the nearest
 * earlier one differ in a set of genes that are not cleared; when the programs differ, at least one of the set did it.
 * Chances are those of a noisy-or model, one step of expectation and maximisation (Dempster et al. 1977; Vomlel 2006)
 * for each row, over the last of these sets.
 *
 * Two genes that act only together are cleared one by one. They are found by a sweep: half of what is cleared changes
 * at once, so one evaluation tries a quarter of all pairs.
 *
 * A pure function of the rows in their order. Nothing is known, and nothing costs time, while no row has a code.
 * Owns: its arrays.   Borrows: the view during a call.   Errors: E_NOMEM.
 */
#ifndef HN_ACTIVE_H
#define HN_ACTIVE_H

#include "engine/engine_int.h"

enum { HN_ACTIVE_SETS = 256, HN_ACTIVE_CLASSES = 1024 };
/* The chance before anything was seen: about one control in ten does something to a program. */
#define HN_ACTIVE_PRIOR 0.1

typedef struct hn_active_set {
    uint32_t n;
    uint32_t *gene;
    bool differs; /* the programs did */
} hn_active_set;

typedef struct hn_active {
    size_t n_genes, n, room; /* rows looked at */
    uint64_t epoch;
    size_t n_coded;        /* of them with a code */
    unsigned char *level;  /* room * n_genes: codes of genes.h */
    unsigned char *work;   /* n_genes */
    float *chance, *blame; /* n_genes */
    uint32_t *seen;        /* n_genes: sets that hold it */
    /* The last classes: their codes, and for each gene a bit for each level that is cleared. */
    uint64_t code[HN_ACTIVE_CLASSES], *cleared;
    size_t n_classes, class_room; /* n_classes: ever */
    hn_active_set set[HN_ACTIVE_SETS];
    size_t n_sets; /* ever; the last ones are kept */
} hn_active;

void hn_active_free(hn_active *a);
/* Takes in the rows that came since. */
hone_rc hn_active_update(hn_active *a, const hn_genes *genes, const hn_history *history, hone_err *err);
/* The class of programs of this code: by gene, a bit for each level that is cleared. NULL where nothing is known of it.
 */
const uint64_t *hn_active_class(const hn_active *a, uint64_t code);
static inline bool hn_active_cleared(const uint64_t *class, size_t gene, unsigned char level) {
    return class[gene] >> level & 1;
}
/* Is a point presumed to become one of the programs that were seen? */
bool hn_active_seen(const hn_active *a, const hn_genes *genes, const double *x);
/* That a change of the gene changes the program. */
float hn_active_chance(const hn_active *a, size_t gene);

#endif
