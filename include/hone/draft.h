/* hone/draft.h — a first workload file: from a C file, a build command, or a project of make, CMake, Meson or Cargo.
 *
 * What is drafted is tried: built and run twice as its baseline, in a private folder, so that what is handed out works
 * as it stands; what the program prints about its speed is offered as metrics. Errors: as hone_workload_draft;
 * E_NOTFOUND (no project, no such program), E_USAGE (which of several programs?), E_TOOL (make, ninja, cargo is missing
 * or fails), E_BASELINE (a source or header that the build makes is not there yet).
 */
#ifndef HONE_DRAFT_H
#define HONE_DRAFT_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_draft_options {
    size_t size; /* hone_draft_defaults() sets it */
    /* Exactly one of the three. from: a project's folder, or its Makefile, compile_commands.json, build.ninja,
     * Cargo.toml. */
    const char *source, *build, *from;
    const char *program; /* of a project: which of its programs; NULL: that of `run`, or the only one */
    const char *run;     /* how the program is run, as a command for sh; NULL: without arguments */
    const char *metric;  /* "NAME", "maximize NAME": a metric that it prints becomes the objective; NULL: time */
    const char *dir;     /* the folder that the workload file will lie in; NULL: the current one */
    bool no_try;         /* neither build nor run anything */
    const volatile int *stop;
} hone_draft_options;
static inline hone_draft_options hone_draft_defaults(void) {
    hone_draft_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* What the program prints about itself. */
typedef struct hone_draft_metric {
    const char *name;
    double value;    /* of the first run, in base units */
    bool maximize;   /* a guess, from its unit and its name */
    bool is_measure; /* it has a unit of speed or time, or a name of one */
} hone_draft_metric;

typedef struct hone_draft {
    char *text;            /* of the workload file; valid also where `fault` says that it does not work yet */
    bool tried;            /* built and run; false: with no_try, and for what has no program of its own yet */
    char *fault;           /* what did not work and what to do; "": nothing */
    double build_s, run_s; /* of the try */
    hone_draft_metric *metric;
    size_t n_metrics;
    void *block;
    char *changes; /* what is compared where two runs printed different text; "": they printed the same */
} hone_draft;

/* A baseline that fails is no error: see fault. Free with hone_draft_free. */
HONE_API hone_rc hone_draft_make(const hone_draft_options *options, hone_draft *out, hone_err *err);
HONE_API void hone_draft_free(hone_draft *draft);

#ifdef __cplusplus
}
#endif
#endif
