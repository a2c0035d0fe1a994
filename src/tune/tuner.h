/* tune/tuner.h — the driver's state, shared by its parts: journal (the record), elite (the best so far), judge (one
 * candidate from build to recorded outcome), final (the closing race), tune (the loop).
 *
 * Invariants: 1 a trial is told to the search only after it is recorded;  2 `known` holds every object measured, by
 * key; 3 waited_s counts all time spent waiting for compilers and programs.
 */
#ifndef HN_TUNER_H
#define HN_TUNER_H

#include "experiment/known.h"
#include "tune/opening.h"
#include "tune/trial.h"
#include "tune/window.h"

#include <hone/machine.h>

/* The best points so far: for one objective the best few with different objects, for several the front. */
enum { HN_ELITE_ONE = 12, HN_ELITE_MOST = 256 };
typedef struct hn_elite_entry {
    double *point;
    uint64_t key;
    double value[HONE_MAX_OBJECTIVES]; /* turned so that lower is better */
} hn_elite_entry;
typedef struct hn_elite {
    hn_elite_entry entry[HN_ELITE_MOST + 1];
    size_t n, n_slots, n_objectives;
} hn_elite;
/* Would a new program with these values be on the front? */
bool hn_elite_takes(const hn_elite *e, const double *value);
/* Takes a feasible result in; points are copied. E_NOMEM only. */
hone_rc hn_elite_add(hn_elite *e, const double *point, uint64_t key, const double *value, hone_err *err);
void hn_elite_free(hn_elite *e);

/* Parts of a search, one after the other. */
typedef enum hn_part { HN_PART_WHOLE, HN_PART_FILES, HN_PART_PASSES } hn_part;

enum { HN_PASSES_MOST = 512 }; /* whose cuts are tried one by one */

/* Cuts of single passes, and what follows from them (pass_search.c). */
typedef struct hn_pass_search {
    const hone_space *space;  /* of the window; NULL: this part has not begun */
    size_t n;                 /* passes */
    double y[HN_PASSES_MOST]; /* log-ratio without pass i; NAN: not told, or it failed */
    double whole;             /* with all of them */
    size_t n_waiting;         /* cuts that are not told yet */
    bool combined;
} hn_pass_search;

typedef struct hn_tuner {
    const hone_workload *w;
    const hone_tune_options *o;
    hn_plan *plan;
    hone_store *store;
    hone_session session;
    hn_search_window window; /* what is searched now */
    hn_part part;            /* which part that is */
    hn_arena arena;          /* strings of the session; paths */
    hn_bench_ctx bench;
    hn_build_config builder;
    hn_object_counts objects; /* of all builds of this run */
    hn_known known;
    hn_elite elite;
    hn_elite served; /* of the points that edited passes can be laid over, before these are searched */
    hone_machine machine;
    const char *gpu; /* the device that kernels run on and what drives it; NULL: the workload has none */
    char *work_dir;  /* private folders of this session */
    double started_s, waited_s;
    size_t most_evals; /* of the search as it goes on now; 0: any number */
    double deadline_s; /* of the search as it goes on now, monotonic; INFINITY when there is no time budget */
    double begin_s, whole_deadline_s; /* of the whole search */
    double end_s;                     /* of the closing race too */
    double trial_s;                   /* what a trial took on average in this run; 0: there was none */
    size_t n_most; /* evaluations there can be: the budget's, or fewer in a small space; 0 when nothing says */
    size_t n_past; /* trials of earlier runs of this session */
    size_t n_trials, n_reused, n_class[HONE_N_CLASSES], n_asked;
    size_t n_asked_before; /* n_asked when this part of the search began */
    hn_opening opening;
    hn_pass_search passes;
    bool hinted;                     /* what a looser contract would bring was looked at */
    double hint_gain;                /* of the baseline under it; 0: nothing to say */
    size_t since_gain;               /* trials since the last improvement */
    double log_ratio;                /* of the last trial's first objective; NAN when it has none */
    double best_log_ratio;           /* of the first objective, lower is better; 0 = as the baseline */
    double best_pass[HN_MAX_PASSES]; /* the incumbent's ratios, lower is better */
    size_t n_best_pass;
    int64_t baseline_trial;
    uint64_t baseline_key; /* of its object */
} hn_tuner;

/* --- journal ------------------------------------------------------------------------------------------------------ */

/* Opens the store, begins the session or resumes it. Trials of a resumed one come back in *past (else zeroed). */
hone_rc hn_journal_open(hn_tuner *t, hone_trials *past, hone_err *err);
/* Adds a trial; counts it. */
hone_rc hn_journal_trial(hn_tuner *t, hone_trial *trial, hone_err *err);
void hn_tuner_emit(hn_tuner *t, hone_tune_stage stage, size_t done, size_t total, const hone_trial *trial,
                   const char *text);

/* --- the opening -----------------------------------------------------------------------------------------------------
 */

/* Designs the experiment; its points are the first n_design of t->opening. */
hone_rc hn_opening_begin(hn_tuner *t, hone_err *err);
/* The winners of earlier sessions from number `from` on, below `to`, become the search's next points, where the options
 * ask for them. The best is tried first, the others when it is known how many evaluations the budget has room for. */
hone_rc hn_opening_winners(hn_tuner *t, size_t from, size_t to, hone_err *err);
void hn_opening_close(hn_tuner *t);
/* A point that the search gave: returns the origin to record, "plain" of the experiment, "combined" of what it
 * promises. */
const char *hn_opening_asked(hn_tuner *t, const double *point, const char *origin);
/* The first objective's log-ratio at a point, lower is better; NAN: it failed. */
void hn_opening_told(hn_tuner *t, const double *point, double log_ratio);
/* Has everything of this stage been asked? Then what follows depends on what is told. */
bool hn_opening_waits(const hn_tuner *t);
/* When all of a stage is told: hands the search the next points; at the end records and reports the effects. */
hone_rc hn_opening_go_on(hn_tuner *t, hone_err *err);
/* The search ends: reports what is known of the effects if the opening was cut short. */
hone_rc hn_opening_end(hn_tuner *t, hone_err *err);

/* A workload whose tolerance may admit fast floating point but that does not offer it: measures it once and says what
 * it would bring (hint.c). */
hone_rc hn_hint(hn_tuner *t, hone_err *err);

/* How searches are opened: engine, seed, objectives. */
hone_search_options hn_search_config(const hn_tuner *t);
/* Until when everything but the later parts is searched (parts.c). */
void hn_parts_plan(hn_tuner *t);
/* A later part comes now, around the best point. *begun false: there is nothing in it to search. */
hone_rc hn_part_begin(hn_tuner *t, hn_part part, bool *begun, hone_err *err);
/* The part behind this one that the workload has; HN_PART_WHOLE: there is none. */
hn_part hn_part_next(const hn_tuner *t);
/* A feasible trial: kept where a later part may begin at it. */
hone_rc hn_part_told(hn_tuner *t, const double *point, uint64_t key, const double *value, hone_err *err);
/* The part that a point is of: the last whose parameters it sets. */
hn_part hn_part_of(const hn_plan *plan, const double *point);
/* The window was opened on passes of a target: the first points, what is learned of them, what follows. */
hone_rc hn_passes_open(hn_tuner *t, const hone_space *space, hone_err *err);
void hn_passes_told(hn_tuner *t, const double *point, double log_ratio);
hone_rc hn_passes_go_on(hn_tuner *t, hone_err *err);

/* --- the search ----------------------------------------------------------------------------------------------------
 */

/* Candidates under way at once, at most. */
enum { HN_BATCH_MOST = 16 };
/* Searches until the budget is spent or the space is; *reason: which. */
hone_rc hn_search_loop(hn_tuner *t, const char **reason, hone_err *err);

/* --- one candidate --------------------------------------------------------------------------------------------------
 */

/* Key of what a recipe runs: the object, and the parameters that only the run command sees. */
uint64_t hn_run_key(const hn_tuner *t, const hn_recipe *r, const hn_build *b);
/* Measures (or looks up) a built candidate, records it, tells the search, updates the elite. */
hone_rc hn_judge(hn_tuner *t, const double *point, const char *origin, const hn_recipe *r, const hn_build *b,
                 hone_err *err);
/* Restores the state that a recorded trial led to. */
hone_rc hn_resume_trial(hn_tuner *t, const hone_trial *trial, hone_err *err);

/* --- the closing race ------------------------------------------------------------------------------------------------
 */

hone_rc hn_final(hn_tuner *t, hone_tune_result *out, hone_err *err);
/* The result of an interrupted session: the search's own best, without an interval. */
hone_rc hn_best_so_far(hn_tuner *t, hone_tune_result *out, hone_err *err);

#endif
