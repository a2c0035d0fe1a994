/* loop/sketch_attention.h — attention found in a nest as lowered: per query a row of scores, its softmax, its product
 * with the values. Private to the sketches of attention. */
#ifndef HN_SKETCH_ATTENTION_H
#define HN_SKETCH_ATTENTION_H

#include "loop/nest.h"

enum { HN_ATTENTION_LOOPS = HN_RANK_MAX + 2 };

typedef struct hn_attention {
    hn_var outer[HN_ATTENTION_LOOPS]; /* batches and heads: loops around, without the queries' */
    int n_outer;
    hn_var query;
    hn_var key, depth;    /* of the scores: over the keys, over what is summed */
    hn_sv q, k;           /* the factors of their product */
    hn_sv sum, score;     /* the finished sum, and what becomes of it by scale and mask */
    hn_var column, key_v; /* of the product with the values: result columns, keys */
    hn_sv v;              /* the value's factor */
    hn_sv mixed, out;     /* the finished sum, and what becomes of it */
    hn_buf result;
    hn_ix out_at;
} hn_attention;

/* False: the nest is something else. */
bool hn_attention_match(hn_nest *n, hn_attention *out);

#endif
