/* assess/usual_sizes.h — usual values for symbolic sizes of inputs, and the order in which combinations of them are
 * tried: by how far down their lists they go, all together.   Owns: nothing.   Threads: any. */
#ifndef HN_USUAL_SIZES_H
#define HN_USUAL_SIZES_H

#include <hone/array.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HN_SIZES_FREE = 16, HN_SIZE_VALUES = 160 };

/* Where a symbolic size stands, which says, with its name, what it is of: a batch, a sequence, an image. */
typedef struct hn_size_place {
    const char *name;
    size_t rank, d; /* dimension d of so many */
    hone_dtype dtype;
    int64_t last; /* the last dimension; -1: symbolic */
} hn_size_place;

typedef struct hn_free_size {
    int64_t value[HN_SIZE_VALUES]; /* the most usual first */
    size_t n, at;                  /* at: the one that is tried */
} hn_free_size;
/* The values from low to high; behind usual ones others, for sizes that have to be a multiple or a quotient. */
void hn_size_list(hn_free_size *f, const hn_size_place *place, int64_t low, int64_t high);
void hn_size_add(hn_free_size *f, int64_t x, int64_t low, int64_t high); /* behind them, once */

typedef struct hn_size_search {
    hn_free_size *size;
    size_t n, n_tries, most_tries;
    bool (*holds)(void *arg); /* of the values that stand at `at` */
    void *arg;
} hn_size_search;
/* True: `at` of each size is that of the first combination that holds. */
bool hn_size_search_run(hn_size_search *s);

#endif
