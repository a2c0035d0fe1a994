/* assess/assess_int.h — an instance and its tensors, run again and again: what bench_model.c and profile_model.c share.
 */
#ifndef HN_ASSESS_INT_H
#define HN_ASSESS_INT_H

#include <hone/profile.h>

typedef struct hn_rerun {
    const hone_model *model;
    hone_model_instance *instance;
    hone_model_tensor *in, *out;
    const volatile int *stop;
} hn_rerun;
/* in: one array per input, borrowed until hn_rerun_close, which may follow a failure too. */
hone_rc hn_rerun_open(const hone_model *m, const hone_array *in, const hone_latency_options *options, hn_rerun *out,
                      hone_err *err);
/* One run; *time_s (may be NULL): how long it took. */
hone_rc hn_rerun_once(hn_rerun *x, double *time_s, hone_err *err);
void hn_rerun_close(hn_rerun *x);

#endif
