/* tune/build.h — recipes built in private folders, several at a time.
 *
 * Each build has a folder of its own, with the workload's sources linked into it; it is the working directory of the
 * build and of every run, and {out} is "./prog" there, so that two builds of one recipe differ in nothing.
 * A build that fails is a result (cls, detail), never an error.
 * Owns: the folder, until hn_build_drop.
 */
#ifndef HN_BUILD_H
#define HN_BUILD_H

#include "base/str.h"
#include "tune/plan.h"

/* The rows of prior.def. */
typedef enum hn_prior {
#define HN_PRIOR(metric, way, grain, far) HN_PRIOR_##metric,
#include "tune/prior.def"
    HN_N_PRIORS
} hn_prior;

typedef struct hn_build {
    hone_outcome_class cls; /* HONE_RUN_OK when it was built */
    char *dir;
    uint64_t made;        /* no two folders that were made have the same number */
    char object_hash[33]; /* of ./prog; "" when it was not built */
    uint64_t code_b, file_b;
    double build_s;             /* compile time, summed over compilations; without training runs */
    size_t n_compiled, n_known; /* objects of a build that was cut (cut_build.h): compiled; taken from those kept */
    double figure[HN_MAX_QUANTITIES]; /* of device code, by slot */
    double prior[HN_N_PRIORS];        /* figures of device code that rank candidates before they are timed */
    char detail[4200];                /* failure: what, and the tail of stderr */
} hn_build;

/* Of all builds: how many were cut into compilations and a link, or run as one command; objects of the former. */
typedef struct hn_object_counts {
    size_t n_cut, n_whole, n_compiled, n_known;
} hn_object_counts;

typedef struct hn_build_config {
    const hone_workload *w;
    const hone_tune_options *options;
    const char *root; /* folder for the private ones */
    int jobs, cpu;
    double *waited_s;          /* time spent waiting for children is added here */
    hn_object_counts *objects; /* builds are counted here; may be NULL */
} hn_build_config;

/* Builds n recipes, at most cfg->jobs processes at once, into folders `root/name[i]`. E_INTERRUPTED when *options->stop
 * became set; then every build is dropped. */
hone_rc hn_build_all(const hn_build_config *cfg, const hn_recipe *recipe, char *const *name, size_t n, hn_build *out,
                     hone_err *err);
/* Builds one after the other as they come, cfg->jobs processes at once, which go on while the caller looks at what is
 * over. Borrows: cfg, and of every build recipe, name and *out until it was given. */
typedef struct hn_builds hn_builds;
hone_rc hn_builds_open(const hn_build_config *cfg, size_t most, hn_builds **out, hone_err *err);
/* One more, behind the others; at most `most` may be under way. Does not wait. */
hone_rc hn_builds_add(hn_builds *s, const hn_recipe *recipe, const char *name, hn_build *out, hone_err *err);
/* Waits until the one that came first is over: its *out is the caller's from then on. There must be one. E_INTERRUPTED
 * as above. */
hone_rc hn_builds_next(hn_builds *s, hone_err *err);
/* Ends and drops what was not given; accepts NULL. */
void hn_builds_close(hn_builds *s);

/* A file or folder of the cache that the options name, else of the user's; malloc'ed, NULL without memory. */
char *hn_build_cache(const hone_tune_options *options, const char *name);
/* What runs, as a key: the object's hash and the parameters that the run command reads. */
uint64_t hn_program_key(const hone_workload *w, const hn_recipe *r, const hn_build *b);
/* Removes the folder (unless keep). */
/* Objects stay in `root` for the builds that follow (cut_build.h), unless compile time is measured. */
void hn_build_drop(hn_build *build, bool keep);

/* The word as sh needs it, in the arena (sticky failure). */
const char *hn_quoted(hn_arena *a, const char *word);
/* Placeholders of a recipe for build, run and train texts. input, output: may be NULL. Appends to out. */
hone_rc hn_recipe_expand(const hone_workload *w, const hn_recipe *r, const char *text, const char *flags,
                         const char *input, const char *output, hn_str *out, hone_err *err);

#endif
