/* profile.h — what `hone profile` has seen of a model, and how it is shown. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "cli.h"

#include <hone/device.h>
#include <hone/measure.h>
#include <hone/model.h>

/* A call, or all calls of one kernel. Rates are NAN where nothing is known. */
typedef struct cli_timed {
    const hone_model_call *call; /* the first */
    const hone_model_kernel *kernel;
    uint32_t n_calls;
    int64_t begin_ns;                      /* in the run that is shown */
    int64_t n_launches;                    /* in one run */
    hone_interval time_s;                  /* per run: the median over runs, and its bootstrap interval */
    double shown_s;                        /* in the run that is shown */
    double share;                          /* of the time of all kernels, in the faster half of the runs */
    double flops, bytes;                   /* per run */
    double of_peak, of_bandwidth, of_roof; /* of what this machine was measured to do */
} cli_timed;

typedef struct cli_profile {
    const char *name; /* of the file */
    const hone_model *model;
    uint32_t n_threads, n_runs, n_calls, n_kernels;
    hone_interval run_s;                        /* whole runs */
    double kernels_s;                           /* median over runs of what all calls took */
    double shown_s;                             /* the run whose calls the trace shows: nearest to the median */
    double f32_flops, f64_flops, bandwidth_bps; /* of so many threads; 0: not measured */
    cli_timed *call, *kernel;                   /* in the order of the program; by time */
} cli_profile;

void cli_profile_text(const cli *c, const cli_profile *p, bool calls);
void cli_profile_json(cli *c, const cli_profile *p);
/* Chrome's trace event format: load it at ui.perfetto.dev or chrome://tracing. */
hone_rc cli_profile_trace(const cli_profile *p, const char *path, hone_err *err);

#endif
