/* assess/assess_int.h — what the files of the room share: words of shapes; an instance and its tensors, run again and
 * again (rerun.c). */
#ifndef HN_ASSESS_INT_H
#define HN_ASSESS_INT_H

#include "backend/place.h"

#include <hone/profile.h>

/* The word of a shape text such as "[batch, 3]" that stands at dimension d. */
enum { HN_WORD_N = 128 };
void hn_dim_word(const char *shape, int32_t d, char out[HN_WORD_N]);

typedef struct hn_rerun {
    const hone_model *model;
    hone_model_instance *instance;
    hone_model_tensor *in, *out;
    const hn_place *place; /* where it runs, and whose clock times it */
    void *place_state;
    struct hn_steps *steps; /* of a model with state and a graph: they drew the inputs; NULL: the caller did */
    void *state;            /* what every run begins with, saved; NULL: there is none */
    size_t state_b;
    const volatile int *stop;
} hn_rerun;
/* in: one array per input, borrowed until hn_rerun_close, which may follow a failure too. Not used (NULL) of a model
 * with state where options name its graph. */
hone_rc hn_rerun_open(const hone_model *m, const hone_array *in, const hone_latency_options *options, hn_rerun *out,
                      hone_err *err);
/* One run; *time_s (may be NULL): how long it took. */
hone_rc hn_rerun_once(hn_rerun *x, double *time_s, hone_err *err);
void hn_rerun_close(hn_rerun *x);

#endif
