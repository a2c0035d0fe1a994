/* hone/report.h — a recorded session as pictures: what is drawn, and the page that draws it.
 *
 * hone_report_open reads a session with its proofs and computes what the pictures show; hone_report_html makes one
 * self-contained page of it; `hone results --plot` draws the same on a terminal. docs/report.md says how to read them.
 * Owns: a report owns everything it points to, until hone_report_free.   Borrows: the controls and the workload, for as
 * long.   Units: seconds, bytes, ratios; a gain above 1 is better, whatever the direction.
 * Errors: E_NOTFOUND, E_STORE, E_NOMEM.   Invariants: 1 trial[i].trial are the session's trials in order;  2 best never
 * gets worse;  3 box is objective by objective, inputs inside.
 */
#ifndef HONE_REPORT_H
#define HONE_REPORT_H

#include <hone/prove.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_report_goal {
    const char *expr, *metric; /* "p50(latency)", "latency" */
    const char *unit;          /* "s", "B" or "", by the metric's name */
    bool maximize;
} hone_report_goal;

typedef struct hone_report_trial {
    const hone_trial *trial;
    size_t x;                         /* evaluations made with it; the baseline's is 0, the race's that of the last */
    bool search;                      /* one of the evaluations, neither baseline nor race */
    bool feasible;                    /* worked, within all limits, not suspect */
    bool front;                       /* no other feasible one beats it in every objective */
    double gain[HONE_MAX_OBJECTIVES]; /* over the baseline; NAN where there is no ratio */
    double best; /* best feasible one so far in the first objective, see ratios; NAN before there is one */
} hone_report_trial;

/* Values of both sides in one objective on one input. */
typedef struct hone_report_box {
    const char *input; /* "": all of them, or the only one */
    size_t goal;
    bool held_out;
    hone_distribution baseline, tuned; /* in the objective's unit; n = 0: not known */
    hone_interval gain;                /* NANs without a proof */
} hone_report_box;

typedef enum hone_report_standing {
    HONE_UNPROVEN, /* the search claims a gain; nothing was validated */
    HONE_NO_GAIN,  /* nothing beat the baseline, or nothing worked: there is nothing to validate */
    HONE_KEPT,
    HONE_REJECTED,
} hone_report_standing;
HONE_API const char *
hone_report_standing_name(hone_report_standing standing); /* "unproven", "no_gain", "kept", "rejected" */

typedef struct hone_report {
    hone_session session;
    hone_report_goal goal[HONE_MAX_OBJECTIVES];
    size_t n_goals;
    hone_report_trial *trial;
    size_t n_trials, n_search, n_reused, n_class[HONE_N_CLASSES]; /* reused and classes: of the search's */
    bool ratios;             /* the first objective is drawn as gain over the baseline, else (values <= 0) as it is */
    double axis_lo, axis_hi; /* the range of that axis to draw; values beyond it are far worse */
    const hone_report_trial *baseline, *best; /* NULL: none; best: by the race where there was one */
    const hone_proof *proof;                  /* the proof behind `standing`; NULL: none */
    hone_proofs proofs;                       /* all recorded, the newest first */
    hone_report_standing standing;
    const char *verdict; /* one sentence */
    const char *point;   /* JSON of the winner: of the proof, else of the best; NULL: none */
    const char *argv;    /* its flags, shell-quoted; NULL: not known */
    const char *no_argv; /* why argv is not known */
    hone_report_box *box;
    size_t n_boxes;
    bool boxes_proven; /* box holds a proof's values, not the search's own */
    const hone_controls *controls;
    const hone_workload *workload;
    void *block;
} hone_report;

/* The session with this id, or the newest when it is 0. controls: a controls file of it, for the shares of the
 * controls; may be NULL. workload: the file it was recorded with, to render flags that no proof has; may be NULL, and
 * is not used when its hash differs from the recorded one. */
HONE_API hone_rc hone_report_open(hone_store *store, int64_t session, const hone_workload *workload,
                                  const hone_controls *controls, hone_report *out, hone_err *err);
HONE_API void hone_report_free(hone_report *report);
/* A trial worth proving, and the gains that the search measured for its point; NAN: not known. */
typedef struct hone_report_candidate {
    const hone_report_trial *trial;
    double claimed[HONE_MAX_OBJECTIVES];
} hone_report_candidate;
enum { HONE_CANDIDATES_MAX = 100 };
/* The best `most` of a session (0: three), of several objectives those of the Pareto front (0: all): each with a
 * program of its own that is not the baseline's, trials of the closing race first. Gives their number. */
HONE_API size_t hone_report_candidates(const hone_report *report, size_t most,
                                       hone_report_candidate out[HONE_CANDIDATES_MAX]);
/* What the page is drawn from, as JSON (docs/report.md); free with hone_free. Equal records give equal bytes. */
HONE_API hone_rc hone_report_json(const hone_report *report, char **text, hone_err *err);
/* The page: UTF-8, needs nothing but itself; n bytes and a NUL; free with hone_free. */
HONE_API hone_rc hone_report_html(const hone_report *report, char **html, size_t *n, hone_err *err);
/* Writes the page as PATH, atomically: the old file or the new one; *n (may be NULL): its bytes. */
HONE_API hone_rc hone_report_write(const hone_report *report, const char *path, size_t *n, hone_err *err);

/* The page about a profile of a model, written as PATH like a report: its roofline, and its kernels in a table. json:
 * what `hone profile --json` prints (docs/profile.md); sentence: the heading text. */
HONE_API hone_rc hone_report_profile(const char *name, const char *sentence, const char *json, const char *path,
                                     size_t *n, hone_err *err);
/* The same about load on servers: latencies as distributions, tokens a second of each round. json: what `hone load
 * --json` prints (docs/serve.md). */
HONE_API hone_rc hone_report_load(const char *name, const char *sentence, const char *json, const char *path, size_t *n,
                                  hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
