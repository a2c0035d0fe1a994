/* engine/trees.h — random forests over level codes (0..63): regression, or classification with targets 0 and 1.
 *
 * A split is a set of levels (a 64-bit mask), so ordered and unordered features, and absence, are one case.
 * Owns: its nodes.   Threads: one at a time.   Errors: E_NOMEM.
 * Deterministic: tree t is grown from the stream (seed, t), whatever was grown before.
 */
#ifndef HN_TREES_H
#define HN_TREES_H

#include <hone/base.h>

typedef struct hn_trees hn_trees;

typedef struct hn_trees_spec {
    size_t n_trees, min_leaf; /* a leaf holds at least min_leaf rows */
    double features;          /* share of the features tried at each split, 40 features at most */
    bool bootstrap;           /* rows drawn with replacement: all when few, half when many */
} hn_trees_spec;

hone_rc hn_trees_new(size_t n_features, const bool *ordered, const hn_trees_spec *spec, hn_trees **out, hone_err *err);
void hn_trees_free(hn_trees *t);
/* Room for n floats, the forest's until the next call: targets of a fit, or deviations of a prediction. */
hone_rc hn_trees_floats(hn_trees *t, size_t n, float **out, hone_err *err);
/* x: n rows of n_features codes. */
hone_rc hn_trees_fit(hn_trees *t, const unsigned char *x, const float *y, size_t n, uint64_t seed, hone_err *err);
/* Mean over trees, and (sd may be NULL) standard deviation: between trees plus within leaves (Hutter et al. 2014). */
void hn_trees_predict(const hn_trees *t, const unsigned char *x, size_t n, float *mean, float *sd);

#endif
