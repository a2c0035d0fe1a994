/* tune_model/tune_model_int.h — tuning a model's kernels, shared by its stages.
 *
 * Order: kernels of the default model and their shares (model.c); per kernel a space (space.c), a search that
 * builds ahead and measures one at a time (kernel.c) in a process of its own (lab.c); proof (proof.c).
 * Owns: strings live in the arena of the model; searches, spaces and labs are closed by their kernel.
 * Threads: one at a time.
 */
#ifndef HN_TUNE_MODEL_INT_H
#define HN_TUNE_MODEL_INT_H

#include "artifact/artifact.h"
#include "build/build.h"
#include "experiment/known.h"
#include "precision/precision.h"
#include "proc/proc.h"
#include "proc/temp.h"

#include <hone/tune_model.h>
#include <sys/types.h>

/* --- time (share.c) -------------------------------------------------------------------------------------------
 */

typedef struct hn_prospect {
    double share;   /* of the model's time, in the default kernel */
    double best;    /* time of the best so far / default's: at most 1 */
    double bound;   /* the least that ratio can become, by the roofline; 0: not known */
    double n_since; /* candidates since the last gain */
    double eval_s;  /* seconds per candidate, about */
    bool done;
} hn_prospect;
/* Part of the model's time that a second of search is worth. */
double hn_prospect_worth(const hn_prospect *p);
/* The kernel to search next; n when all are done or worth nothing. */
size_t hn_prospect_next(const hn_prospect *p, size_t n);

/* --- candidates (space.c) -------------------------------------------------------------------------------------
 */

enum { HN_FLAGS_MAX = 256, HN_TUNE_SKETCHES = 12, HN_TUNE_COMPILERS = 4 };
typedef struct hn_setting {
    char schedule[HN_SKETCH_TEXT_MAX];
    const char *cc; /* "": the model's */
    char flags[HN_FLAGS_MAX];
} hn_setting;

typedef struct hn_tune_space {
    hone_space *space;
    hn_sketch_fit fit[HN_TUNE_SKETCHES];
    size_t n_fits;
    const char *cc[HN_TUNE_COMPILERS], *family[HN_TUNE_COMPILERS], *identity[HN_TUNE_COMPILERS];
    size_t n_cc;
    double *seeds;
    size_t n_seeds;
} hn_tune_space;
/* The kernel's code must be the default's. E_UNSUPPORTED: nothing to choose. */
hone_rc hn_tune_space_make(hn_model *m, const hn_kernel *k, hn_tune_space *out, hone_err *err);
void hn_tune_space_free(hn_tune_space *s);
/* Carries a point of one kernel over to another with its sketch: equal flags and compiler, the nearest values of knobs.
 * False: it does not have the sketch. */
bool hn_tune_space_carry(const hn_tune_space *from, const double *point, const hn_tune_space *to, double *out);
void hn_tune_space_setting(const hn_tune_space *s, const double *point, hn_setting *out);

/* --- measuring (lab.c) ----------------------------------------------------------------------------------------
 */

enum { HN_LAB_PAIRS = 64, HN_TEAM_MAX = HONE_MODEL_THREADS };
typedef struct hn_lab_side {
    char path[256];
    int64_t work, scratch_b;
} hn_lab_side;
typedef struct hn_lab_request {
    hn_lab_side side[2]; /* default, candidate */
    uint32_t n_pairs;    /* at most */
    uint32_t n_threads;  /* 0: one */
    double block_s,
        max_s;      /* a measurement is a block of runs at least this long; all of them take no longer than that */
    double give_up; /* ratio beyond which a few pairs are enough; 0: never */
} hn_lab_request;
typedef struct hn_lab_reply {
    hone_outcome_class cls;
    uint32_t n_pairs;
    double time_s[HN_LAB_PAIRS][2]; /* of one run */
    char text[120];
} hn_lab_reply;

/* Cores that measure: the first where one thread does. */
typedef struct hn_team {
    int cpu[HN_TEAM_MAX];
    uint32_t n;
} hn_team;

/* A process with the kernel's buffers: real sizes, every use's constants in turn, so that caches hold
 * the same data as in the model. */
typedef struct hn_lab {
    hn_model *m;
    const hn_kernel *k;
    const int64_t *symbol;
    const hn_team *team; /* NULL: one thread, anywhere */
    uint64_t seed;       /* of values and places */
    pid_t pid;
    int fd;
    bool busy;
    double sent_s, limit_s;
} hn_lab;
hone_rc hn_lab_open(hn_lab *l, hn_model *m, const hn_kernel *k, const int64_t *symbol, const hn_team *team,
                    uint64_t seed, hone_err *err);
void hn_lab_close(hn_lab *l);
/* Starts a measurement; limit_s: after which the candidate has hung. */
hone_rc hn_lab_send(hn_lab *l, const hn_lab_request *r, double limit_s, hone_err *err);
/* Waits up to wait_s; true when the measurement has ended, well or not. A process that died is started anew. */
bool hn_lab_poll(hn_lab *l, double wait_s, hn_lab_reply *out);

/* How much longer so many work items take on n threads than an even split of them would, given equal items: at least
 * 1. */
double hn_lab_balance(const hn_model *m, const hn_kernel *k, const int64_t *symbol, int64_t work, uint32_t n_threads);

/* Builds one kernel as a library of its own: DIR/NAME.c, DIR/NAME.so. */
typedef struct hn_lab_how {
    unsigned pad_b; /* code in front of it, to move it */
    int cpu;
    bool lean; /* without the headers of libc: faster; a kernel that needs more than usual does not compile */
} hn_lab_how;
typedef struct hn_lab_build {
    hn_proc *proc;
    hn_proc_spec spec;
    hn_command command;
    char source[64], library[64];
} hn_lab_build;
hone_rc hn_lab_build_start(hn_model *m, const char *dir, const char *name, const hn_kernel_code *code,
                           const char *kernel, const hn_setting *s, hn_lab_how how, hn_arena *a, hn_lab_build *b,
                           hone_err *err);

/* --- one kernel (kernel.c) ------------------------------------------------------------------------------------
 */

typedef struct hn_seen { /* a candidate that was measured */
    char code[33];
    char object[33]; /* hash of the machine code; "" where another run measured it */
    char *json;
    hone_outcome_class cls;
    double ratio, time_s;
    bool judged; /* a proof has tested it */
} hn_seen;

typedef struct hn_tuned {
    hn_kernel *k;
    const char *shape;
    double share, default_s, roof_s; /* of one call */
    uint32_t n_threads;              /* that it is measured with */
    double fastest_s[2]; /* the default's best time beside a candidate, on one thread and on all of them; NAN */
    hone_winner key;
    char trial_id[33], default_code[33];
    hn_tune_space space;
    hone_search *search;
    hn_lab_side dflt; /* its library, once built */
    hn_seen *seen;
    hn_known known;                                     /* by C text and by machine code; ids: index into seen, + 1 */
    size_t n_seen, room_seen, n_new, n_since, n_rounds; /* rounds: how often its search was resumed */
    double *transferred; /* another kernel's best point, tried before the engine is asked again; may be NULL */
    double best;         /* ratio */
    double screen;       /* ratio of the best on one thread */
    double search_s;
    const char *end;                     /* NULL: its search goes on */
    bool stale;                          /* the default's best time has fallen a lot: ratios have to be corrected */
    bool needs_libc;                     /* it does not compile without libc's headers */
    bool opened, proven, winner, is_new; /* proven: there is nothing left to prove */
    hone_winner won;                     /* winner: its row */
    hone_interval seen_gain;             /* of the best candidate that a proof tested; mid 0: of none */
} hn_tuned;

enum { HN_ALSO_MAX = 8 };
typedef struct hn_tuning {
    const hone_tune_model_options *o;
    hn_narrow_plan plan; /* of options.compile.precision; and the graph that it makes, NULL: the graph as it is */
    hn_graph *narrow;
    hn_library lib;
    hn_model *m; /* of it: there is one target and one version */
    hn_arena a;  /* what outlives them: the result's texts, among others */
    hone_winners *winners;
    hn_temp temp;
    const char *winners_path, *folder; /* folder: temp's path, for builds */
    int64_t *symbol;                   /* behind the error slot */
    char *sizes;                       /* "batch=1,seq=128", for inputs of the whole model */
    const char *also[HN_ALSO_MAX];     /* sizes at which the tuned model must not be slower either */
    size_t n_also;
    hn_tuned *kernel;
    size_t n_kernels;
    hn_team team;
    int build_cpu[64];          /* the other usable cores, then those that measure, while they do not */
    size_t n_build_cpu, n_jobs; /* builds: at once */
    double start_s, end_s, search_s;
    double compile_s; /* the model, without parity */
    size_t n_candidates, n_names, n_proofs;
    double proof_s; /* of all of them */
    bool warned_full;
} hn_tuning;

bool hn_tuning_stopped(const hn_tuning *t);
void hn_tuning_say(const hn_tuning *t, hone_tune_model_stage stage, const hn_tuned *k, const hone_interval *gain,
                   const char *text);
/* Space, search, and what earlier runs measured. Sets k->end where there is nothing to search. */
hone_rc hn_tuned_open(hn_tuning *t, hn_tuned *k, hone_err *err);
void hn_tuned_close(hn_tuned *k);
/* Searches until so long, or until its search ends. */
hone_rc hn_tuned_slice(hn_tuning *t, hn_tuned *k, double until_s, hone_err *err);

/* --- proof (proof.c) ------------------------------------------------------------------------------------------
 */

/* The best few against the default; the best proven one is written to the file of winners. From until_s on it ends with
 * as many builds as a verdict needs; one that could not have them by last_s ends without a verdict. */
hone_rc hn_tuned_prove(hn_tuning *t, hn_tuned *k, double until_s, double last_s, hone_err *err);

/* --- the whole model (check.c) --------------------------------------------------------------------------------
 */

/* Share and time of each default kernel, into t->kernel. g: as the caller gave it, of full precision. */
hone_rc hn_tuning_profile(hn_tuning *t, const hone_graph *g, double max_s, hone_err *err);
/* Tuned against default on n_threads, at each of n sizes of inputs, for max_s each. */
hone_rc hn_tuning_compare(hn_tuning *t, const hone_graph *g, const char *const *sizes, size_t n, uint32_t n_threads,
                          double max_s, hone_interval *gain, hone_err *err);

/* --- language models, with keys and values in blocks (served.c) -----------------------------------------------------
 */

bool hn_served_is(const hn_dims *dims);
/* "tokens=1,past=512,wanted=1" as sizes that all inputs have. E_USAGE. */
hone_rc hn_served_sizes(const hn_dims *dims, const char *text, hn_arena *a, const char **out, hone_err *err);
/* An answer behind 512 tokens; and a prompt, and an answer behind 4,096, as far as the context goes. NULL: no memory.
 */
void hn_served_usual(const hn_dims *dims, hn_arena *a, const char **sizes, const char **also);
/* Those of the model's inputs alone, and (the result) rows of its pools, which are states; 0: it is no such text. */
int64_t hn_served_rows(const char *sizes, char *inputs, size_t n);
/* Tokens in their places: for inputs of the model, and of a kernel of attention. Others stay as they are. */
void hn_served_inputs(const hone_model *m, int64_t rows, hone_array *in);
/* Its pools have so many rows, of zeros. False: no memory. */
bool hn_served_pools(const hone_model *m, hone_model_instance *instance, int64_t rows);
void hn_served_kernel(const hn_model *m, const hn_kernel *k, hn_tensor *in);

#endif
