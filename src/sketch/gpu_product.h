/* sketch/gpu_product.h — sums of products as the sketches `tile` and `mma` see them: rows, columns, batches, and the
 * two factors of each sum; and what both write with them.
 */
#ifndef HN_GPU_PRODUCT_H
#define HN_GPU_PRODUCT_H

#include "nest/chain.h"
#include "nest/device.h"
#include "nest/writer.h"
#include "sketch/gpu.h"

enum { HN_PRODUCT_SUMS = 4, HN_PRODUCT_LOOPS = 8 };

/* One sum of products. */
typedef struct hn_product_sum {
    hn_buf acc;
    hn_sv start, done; /* the first value; the load behind it */
    hn_var var[HN_PRODUCT_LOOPS];
    int n;
    hn_sv whole;         /* what is added: the product, or 0 where conditions do not hold */
    hn_sv product, x, y; /* factors: x by rows, y by columns; the one that conditions speak of is 0 outside of them */
    bool fast_x, fast_y; /* is the factor contiguous along the sum's innermost loop? */
} hn_product_sum;

typedef struct hn_product {
    hn_nest *n;
    hn_chain c;
    hn_var batch[HN_CHAIN_MAX], row[HN_CHAIN_MAX], col[HN_CHAIN_MAX];
    int n_batch, n_row, n_col;
    hn_product_sum s[HN_PRODUCT_SUMS];
    int n_sum;
    hn_st list;          /* the body of the innermost loop */
    int64_t m, k, b, n_; /* rows, steps, batches, columns; 0: not known */
} hn_product;

/* False: the nest is something else. It may intern expressions and definitions, nothing else. */
bool hn_product_match(hn_nest *n, hn_product *p);
/* Threads next to each other write what lies next to each other: the sides change places where rows are contiguous. */
void hn_product_orient(hn_product *p);

/* The loops' variables of element x of all their iterations; gives how many are left behind it (< 0: it is none). */
hn_ix hn_product_spread(hn_writer *w, const hn_var *v, int many, hn_ix x);
hn_ix hn_product_count(hn_nest *n, const hn_var *v, int many);
hn_ix hn_product_tiles(hn_nest *n, hn_ix all, int64_t by); /* rounded up */
/* Conditions on all that was written to the innermost open list behind `from` (0: from its start). */
void hn_product_guard(hn_writer *w, hn_st from, hn_ix a, hn_ix b);
/* The knob `cluster`: blocks that bring tiles for each other, where the machine has them. */
void hn_product_clusters(const hn_machine *m, bool copies, hn_knob *out);
/* Neighbouring blocks of columns, or of rows where there are fewer columns, become clusters (hn_device_cluster). */
bool hn_product_cluster(hn_nest *n, const hn_st blocks[2], int64_t cluster, const char **why);
hn_sv hn_product_zero(hn_writer *w, hn_sv x, hn_ix where); /* x, or 0 where the condition does not hold */

#endif
