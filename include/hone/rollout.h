/* hone/rollout.h — a new version of a served model beside the one in use: what decides whether it takes over, and what
 * remembers it.
 *
 * NOW is the version that answers, NEXT the one on trial. hone_rollout_decide is arithmetic alone: no clock, no file,
 * no processes. The store is one SQLite file; what is decided is written there before it is acted on, and after a write
 * returned HONE_OK, kill -9 or a power cut loses nothing of it. Concept, statistics and error budget: docs/rollout.md.
 * Units:   seconds, ratios.   Threads: decide is re-entrant; a store is used by one thread at a time.
 * Errors:  E_INPUT (numbers that cannot be), E_IO (a version cannot be read), E_STORE, E_BUSY (a deployment of the same
 *          model is under way, or another process holds it), E_NOTFOUND, E_NOMEM.
 */
#ifndef HONE_ROLLOUT_H
#define HONE_ROLLOUT_H

#include <hone/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- what decides ---------------------------------------------------------------------------------------------------
 */

typedef struct hone_rollout_rules {
    size_t size;       /* hone_rollout_defaults() sets it */
    double share;      /* of the requests that NEXT answers; 0 with a shadow, in which NOW answers all */
    double margin;     /* 0.01: slower by more than 1 % is too slow */
    double min_gain;   /* promote only what is faster by so much; 0: what is not slower by more than the margin */
    uint64_t pairs;    /* a promotion needs so many runs of both versions on one request */
    uint64_t runs;     /* and so many of NEXT. Without a failure, they exclude a rate of 4.6 / runs at 99 % */
    uint64_t elements; /* and so many compared elements (tokens, of a language model) */
    double age_s;      /* what is undecided by then is held */
    double alpha;      /* chance that a version that is as good as NOW is rolled back, over the whole deployment */
    double tolerance;  /* of outputs: relative, and a tenth of it absolute; of log-probabilities. Negative: the usual */
} hone_rollout_rules;
static inline hone_rollout_rules hone_rollout_defaults(void) {
    hone_rollout_rules r = HONE_ZERO;
    r.size = sizeof r;
    r.share = 0.05, r.margin = 0.01;
    r.pairs = 100, r.runs = 2300, r.elements = 4610; /* 1 of 500 runs, 1 of 1,000 elements, at 99 % */
    r.age_s = 86400, r.alpha = 0.02, r.tolerance = -1;
    return r;
}

/* All of it since the deployment began. */
typedef struct hone_rollout_evidence {
    size_t size;                  /* hone_rollout_no_evidence() sets it */
    const double *log_ratio;      /* log(time of NEXT / time of NOW), one a pair, in the order they were taken */
    size_t n;                     /* A pair: both versions on one request, the first drawn by a fair coin */
    uint64_t compared, elements;  /* answers of both to one request, and elements in them */
    uint64_t differing;           /* of these answers: out of tolerance, and NOW, run again, agreed with itself */
    uint64_t runs_now, runs_next; /* all runs, those of pairs too */
    uint64_t failures_now, failures_next; /* of these: ended with an error, or took longer than allowed */
    uint64_t crashes_now, crashes_next;   /* of these: took the process down. No failures */
    double age_s;
} hone_rollout_evidence;
static inline hone_rollout_evidence hone_rollout_no_evidence(void) {
    hone_rollout_evidence e = HONE_ZERO;
    e.size = sizeof e;
    return e;
}

typedef enum hone_rollout_verdict {
    HONE_ROLLOUT_WAIT,      /* go on */
    HONE_ROLLOUT_PROMOTE,   /* NEXT is to answer everything */
    HONE_ROLLOUT_HOLD,      /* not worse, but not shown fit either: NOW stays; a person decides, or more evidence */
    HONE_ROLLOUT_ROLL_BACK, /* NEXT is to stop at once */
    HONE_N_ROLLOUT_VERDICT
} hone_rollout_verdict;
/* "wait", "promote", "hold", "roll back". */
HONE_API const char *hone_rollout_verdict_name(hone_rollout_verdict verdict);

typedef enum hone_rollout_reason { /* names are stored: never rename */
                                   HONE_ROLLOUT_UNDECIDED,
                                   HONE_ROLLOUT_FASTER,     /* promote: shown to be faster */
                                   HONE_ROLLOUT_NOT_SLOWER, /* promote: shown not to be slower by more than the margin
                                                             */
                                   HONE_ROLLOUT_NO_GAIN,    /* hold: shown to be faster by less than min_gain */
                                   HONE_ROLLOUT_AGE,        /* hold: undecided for too long */
                                   HONE_ROLLOUT_SLOWER,     /* roll back: the median, */
                                   HONE_ROLLOUT_TAIL,       /* or the pairs that differ by a quarter and more */
                                   HONE_ROLLOUT_WRONG,      /* roll back: another answer */
                                   HONE_ROLLOUT_FAILS,
                                   HONE_ROLLOUT_CRASHES,
                                   HONE_ROLLOUT_BY_HAND, /* what a person, or the server itself, decided */
                                   HONE_N_ROLLOUT_REASON
} hone_rollout_reason;
HONE_API const char *hone_rollout_reason_name(hone_rollout_reason reason); /* "slower", "by_hand" … */

typedef struct hone_rollout_decision {
    hone_rollout_verdict verdict;
    hone_rollout_reason why;
    hone_interval ratio; /* time of NEXT / time of NOW, median over the pairs; the interval holds at any time, at
                            1 - alpha / 2. NAN and infinite ends while there is too little */
    size_t pairs;
    char text[480]; /* a sentence for people, with the figures */
} hone_rollout_decision;

/* rules NULL: the defaults. Pure: the same evidence gives the same decision. It may be asked after every pair, as often
 * as one likes: the error rates hold over all looks together. E_INPUT: rules or evidence that cannot be. */
HONE_API hone_rc hone_rollout_decide(const hone_rollout_rules *rules, const hone_rollout_evidence *evidence,
                                     hone_rollout_decision *decision, hone_err *err);
/* A decision that evidence did not make; text: why. */
HONE_API hone_rollout_decision hone_rollout_by_hand(hone_rollout_verdict verdict, const char *text);

/* --- what remembers -------------------------------------------------------------------------------------------------
 */

/* A base is the path of a model as it stands on the server's command line (made absolute here). While its content is
 * the same, the version that was promoted last answers in its place; once the file has changed, the file answers. */
typedef struct hone_rollouts hone_rollouts;

/* $XDG_DATA_HOME/hone/rollouts.db, else ~/.local/share/hone/rollouts.db. Free with hone_free; NULL: no memory. */
HONE_API char *hone_rollouts_path(void);
/* path NULL: that file. Created when write is set; else a file that is not there is E_NOTFOUND. */
HONE_API hone_rc hone_rollouts_open(const char *path, bool write, hone_rollouts **out, hone_err *err);
HONE_API void hone_rollouts_close(hone_rollouts *r); /* accepts NULL; gives up what was taken */

typedef enum hone_rollout_state { /* names are stored: never rename */
                                  HONE_ROLLOUT_RUNNING,
                                  HONE_ROLLOUT_HELD,        /* under way like a running one; decisions go on */
                                  HONE_ROLLOUT_PROMOTED,    /* ended: NEXT answers */
                                  HONE_ROLLOUT_ROLLED_BACK, /* ended: NOW answers */
                                  HONE_N_ROLLOUT_STATE
} hone_rollout_state;
HONE_API const char *hone_rollout_state_name(hone_rollout_state state); /* "running", "rolled_back" … */

typedef struct hone_rollout {
    int64_t id;
    const char *base, *base_hash;
    const char *now, *now_hash, *next, *next_hash; /* absolute paths; hashes of their contents */
    bool shadow;                                   /* both run, NOW answers */
    hone_rollout_state state;
    hone_rollout_rules rules;
    double began_s, ended_s;        /* Unix time; 0: not ended */
    const char *why, *text;         /* name of the last decision's reason, and its sentence; "" before */
    hone_rollout_evidence evidence; /* age_s: since it began */
    void *block;
} hone_rollout;
HONE_API void hone_rollout_free(hone_rollout *rollout); /* contents only */

/* Which version answers for a base, and what is under way. */
typedef struct hone_rollout_current {
    const char *path, *hash; /* of the version that answers: the base itself, or what was promoted */
    bool promoted;
    int64_t under_way; /* id of the deployment that runs or is held; 0: none */
    void *block;
} hone_rollout_current;
/* Of a promoted version whose file is gone or has another content, the base is given, and an event says so. */
HONE_API hone_rc hone_rollouts_current(hone_rollouts *r, const char *base, hone_rollout_current *out, hone_err *err);
HONE_API void hone_rollout_current_free(hone_rollout_current *current); /* contents only */

/* Reads a version's content once, and remembers its hash: what is asked of that file then does not wait for the disk
 * until it changes. For large files, by a store of the same path on a thread of its own. */
HONE_API hone_rc hone_rollouts_read(hone_rollouts *r, const char *path, hone_err *err);

/* Begins a deployment of `next` beside what answers for `base` now, and takes it (as hone_rollouts_take). E_BUSY where
 * one of this base is under way; E_INPUT: next is what answers already. rules NULL: the defaults. */
HONE_API hone_rc hone_rollouts_begin(hone_rollouts *r, const char *base, const char *next, bool shadow,
                                     const hone_rollout_rules *rules, int64_t *id, hone_err *err);
/* Takes up a deployment that is under way, after a restart: this store holds it until it is closed or its process ends,
 * however that ends. E_BUSY: another process holds it. E_MISMATCH: a version's file has changed since it began. */
HONE_API hone_rc hone_rollouts_take(hone_rollouts *r, int64_t id, hone_err *err);
HONE_API hone_rc hone_rollouts_get(hone_rollouts *r, int64_t id, hone_rollout *out, hone_err *err);
/* Adds counts and log-ratios that came since the last call, in one transaction; age_s is not looked at. Batch them: a
 * write waits for the disk. */
HONE_API hone_rc hone_rollouts_add(hone_rollouts *r, int64_t id, const hone_rollout_evidence *more, hone_err *err);
/* What happened, for people: a word ("loaded", "crash") and a sentence. id 0: of no deployment, `base` says of which
 * model; base NULL: the deployment's. body: a JSON value, or NULL. */
HONE_API hone_rc hone_rollouts_event(hone_rollouts *r, int64_t id, const char *base, const char *kind, const char *text,
                                     const char *body, hone_err *err);
/* Writes a decision with the evidence as it is stored: HOLD, PROMOTE or ROLL_BACK. Act on it once this returned: then
 * hone_rollouts_current tells the same, whatever happens to this process. */
HONE_API hone_rc hone_rollouts_conclude(hone_rollouts *r, int64_t id, const hone_rollout_decision *decision,
                                        hone_err *err);
/* Back by hand: a deployment under way is rolled back; without one, the version before the last promotion answers
 * again. E_NOTFOUND: there is neither. */
HONE_API hone_rc hone_rollouts_revert(hone_rollouts *r, const char *base, const char *text, hone_err *err);
/* Deployments, the newest first, with their evidence and events, as a JSON array. base NULL: all; n 0: all. Free with
 * hone_free. */
HONE_API hone_rc hone_rollouts_history(hone_rollouts *r, const char *base, size_t n, char **json, hone_err *err);
/* What happened to a base outside of deployments (a promoted version lost, steps of learning), in order, as a JSON
 * array. Free with hone_free. */
HONE_API hone_rc hone_rollouts_events(hone_rollouts *r, const char *base, char **json, hone_err *err);
/* Removes the versions in `folder` (folders of their own) that nothing can go back to any more: those that no
 * deployment under way has, that answer for no base, are none, and are not what a rollback by hand returns to. may:
 * asked before one goes, with its path; false: it stays; NULL: all may. Links in a version are removed, what they lead
 * to is not. A sweep that was killed is ended by the next. Who makes versions there holds a shared lock (flock) on the
 * folder until their deployment has begun: as long as somebody does, nothing is removed. *n: how many went. A folder
 * that is not there is empty. */
HONE_API hone_rc hone_rollouts_sweep(hone_rollouts *r, const char *folder, bool (*may)(void *arg, const char *path),
                                     void *arg, size_t *n, hone_err *err);
/* One decision, and evidence, as JSON objects: what an admin call answers. Free with hone_free; NULL: no memory. */
HONE_API char *hone_rollout_decision_json(const hone_rollout_decision *decision);
HONE_API char *hone_rollout_evidence_json(const hone_rollout_evidence *evidence);

/* A short name for the content, quick for large files too: 16 hexadecimal digits. Of a file of more than 256 MiB its
 * size, its time and its two ends are hashed, not all. */
HONE_API hone_rc hone_rollout_version_name(const char *path, char name[17], hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
