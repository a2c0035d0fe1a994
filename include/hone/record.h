/* hone/record.h — the store: sessions, points, outcomes, samples, environment, in SQLite (WAL) under `.hone/`.
 *
 * A trial is written in one transaction when it is finished: after hone_store_add returns HONE_OK, kill -9 loses
 * nothing. On a full disk the store deletes a reserve file that it keeps for this, writes the trial, and returns
 * E_STORE with `*written` true; nothing finished is lost.
 * One writer per session (E_BUSY names the process that holds it); any number of readers.
 * File format: docs/store.md.   Errors: E_STORE, E_BUSY, E_NOTFOUND, E_MISMATCH, E_NOMEM.
 */
#ifndef HONE_RECORD_H
#define HONE_RECORD_H

#include <hone/search.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_store hone_store;

/* Opens (creates, when write is set) DIR/hone.db. */
HONE_API hone_rc hone_store_open(const char *dir, bool write, hone_store **out, hone_err *err);
HONE_API void hone_store_close(hone_store *store);

/* What a session is: everything that must agree for measurements to be comparable. All strings are required ("" if
 * none); returned ones belong to the store's caller via hone_session_free. */
typedef struct hone_session {
    int64_t id;
    const char *workload;      /* its name */
    const char *workload_hash; /* of the canonical workload text */
    const char *source_hash;   /* of the sources */
    const char *space_hash, *space_text;
    const char *machine_hash, *machine; /* human-readable line */
    const char *compilers;              /* JSON array of fingerprints */
    const char *objectives;             /* JSON array of {"expr":…, "direction":…} */
    const char *engine;
    uint64_t seed;
    const char *state;  /* "running", "interrupted", "finished" (then with the reason) */
    const char *reason; /* why it ended: "evaluations", "seconds", "plateau", "target", "exhausted", "killed", "" */
    double started_s, ended_s; /* Unix time; ended 0 while running */
    int64_t n_trials, n_asked;
    const char *version; /* hone's */
    void *block;
} hone_session;

/* Starts a session; sets session->id. Takes the session's lock. */
HONE_API hone_rc hone_session_begin(hone_store *store, hone_session *session, hone_err *err);
/* Resumes a session that ended or was killed: checks `want` against it and refuses with E_MISMATCH, naming each
 * part that differs, old and new. Engine, seed and version may differ. Takes the session's lock. */
HONE_API hone_rc hone_session_resume(hone_store *store, int64_t id, const hone_session *want, hone_err *err);
HONE_API hone_rc hone_session_end(hone_store *store, int64_t id, const char *state, const char *reason, hone_err *err);
/* The session with this id, or the newest (of `workload`, unless NULL) when id is 0. Free with hone_session_free. */
HONE_API hone_rc hone_session_get(hone_store *store, int64_t id, const char *workload, hone_session *out,
                                  hone_err *err);
HONE_API hone_rc hone_session_list(hone_store *store, hone_session **out, size_t *n, hone_err *err);
HONE_API void hone_session_free(hone_session *session); /* contents only */
HONE_API void hone_session_list_free(hone_session *list, size_t n);

/* One trial. Pointers are borrowed when handed in, and owned by the result of hone_trials_load when handed out. */
struct hone_sample;
typedef struct hone_trial {
    int64_t id;        /* order within the session, from 1 */
    const char *phase; /* "search", "race", "baseline" */
    const char *point; /* JSON (hone_point_to_json) */
    uint64_t point_hash;
    const char *object_hash; /* "" when nothing was built */
    int64_t same_as;         /* earlier trial with the same object, whose samples hold for this one; 0 = none */
    hone_outcome outcome;
    size_t n_objectives, n_constraints;
    const char *origin;          /* hone_search_origin */
    const char *detail;          /* failure: tail of stderr, worst error and where; "" otherwise */
    double build_s, run_s, at_s; /* durations; Unix time of the end */
    int64_t n_asked;             /* asks made by then */
    bool suspect;                /* below the physical floor and not confirmed */
    /* Raw samples: metric name, input name, side (0 candidate, 1 baseline taken beside it), value. */
    const struct hone_sample *sample;
    size_t n_samples;
} hone_trial;
typedef struct hone_sample {
    const char *metric, *input;
    int side;
    double value;
} hone_sample;

/* Appends a trial; sets trial->id. A point whose `search` trial is there already is E_STORE. *written (may be NULL)
 * says whether it is on disk even if an error is returned. */
HONE_API hone_rc hone_trial_add(hone_store *store, int64_t session, hone_trial *trial, bool *written, hone_err *err);
/* All trials of a session in order (samples too when with_samples). Free with hone_trials_free. */
typedef struct hone_trials {
    hone_trial *trial;
    size_t n;
    void *block;
} hone_trials;
HONE_API hone_rc hone_trials_load(hone_store *store, int64_t session, bool with_samples, hone_trials *out,
                                  hone_err *err);
HONE_API void hone_trials_free(hone_trials *trials);

/* What one of the big choices brought in a session, by itself (docs/tuning.md): a main effect of the experiment that a
 * search begins with. Pointers as in hone_trial. */
typedef struct hone_effect {
    const char *choice;          /* "compiler", "fp", "level", "others", or a control's name: stored */
    const char *value, *against; /* what was chosen, and the baseline's; "": absent */
    const char *words;           /* for people: "clang instead of gcc" */
    double gain, lo, hi;         /* of the first objective, > 1 is better, 95 % interval; NAN: it never worked */
    int64_t n_trials, n_failed;  /* trials with this value */
} hone_effect;
typedef struct hone_effects {
    hone_effect *effect;
    size_t n;
    void *block;
} hone_effects;
/* Replaces the effects of the session. */
HONE_API hone_rc hone_session_put_effects(hone_store *store, int64_t session, const hone_effect *effect, size_t n,
                                          hone_err *err);
/* In the order they were put. Free with hone_session_effects_free. */
HONE_API hone_rc hone_session_effects(hone_store *store, int64_t session, hone_effects *out, hone_err *err);
HONE_API void hone_session_effects_free(hone_effects *effects);

/* Further facts of a session, each a JSON text under a name (docs/store.md): "unread", "objects". Replaces the one that
 * is there. */
HONE_API hone_rc hone_session_put_fact(hone_store *store, int64_t session, const char *name, const char *json,
                                       hone_err *err);
/* *json: free with hone_free; NULL when the session has no such fact. */
HONE_API hone_rc hone_session_fact(hone_store *store, int64_t session, const char *name, char **json, hone_err *err);

/* Best points of earlier sessions over an equal space (space_hash), for warm starts: the best of each session, newest
 * first, then the second of each …; ok, within all limits, not suspect, none twice. n JSON texts, NULL-terminated; free
 * with hone_free. */
HONE_API hone_rc hone_store_winners(hone_store *store, const char *space_hash, int64_t except_session, size_t most,
                                    char ***points, size_t *n, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
