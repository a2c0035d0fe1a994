/* hone/team.h — what a team has tuned: over many programs and machines what was tuned, what it brought, what is stale.
 *
 * hone_team_open reads controls files and stores, judges each file as hone_check_controls does, and measures nothing;
 * docs/report.md says how to read the result.
 * Owns: a team owns everything it points to, until hone_team_free.   Units: ratios; a gain above 1 is better, whatever
 * the direction.   Errors: E_NOTFOUND (a path that is not there, or nothing was tuned there), E_NOMEM. A file or store
 * that cannot be read is no error but a problem of the result.
 * Invariants: 1 rows are ordered by program, machine, path;  2 each row has at least one goal;  3 every row with a gain
 * is in exactly one group for each of its goals' metrics.
 */
#ifndef HONE_TEAM_H
#define HONE_TEAM_H

#include <hone/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_team_state {
    HONE_TEAM_VALID,     /* proven, and nothing that counts has changed */
    HONE_TEAM_ELSEWHERE, /* proven for another processor; sources and rules are as they were */
    HONE_TEAM_STALE,     /* proven, but what it was proven of has changed */
    HONE_TEAM_UNWRITTEN, /* a store has its proof, and no controls file was found */
    HONE_TEAM_UNPROVEN,  /* a search claims a gain; nothing was validated */
    HONE_TEAM_REJECTED,  /* a validation rejected what was found */
    HONE_TEAM_NO_GAIN,   /* nothing better than the baseline was found */
    HONE_N_TEAM
} hone_team_state;
/* "valid", "elsewhere" …: stored, never renamed. */
HONE_API const char *hone_team_state_name(hone_team_state state);

typedef struct hone_team_goal {
    const char *objective, *metric; /* "p50(latency)", "latency" */
    hone_interval gain;             /* proven; NANs: nothing is */
    double claimed;                 /* by the search; NAN: not known */
} hone_team_goal;

/* A controls file, or the newest session of a program on a machine that no controls file is of. */
typedef struct hone_team_row {
    hone_team_state state;
    const char *program, *machine;
    const char *compiler, *version; /* "gcc", "12.2.0"; "": not known */
    hone_team_goal *goal;
    size_t n_goals;
    const char *when;  /* "2026-01-31", the date of the proof, else of the session */
    const char *where; /* the controls file, or the store's folder */
    int64_t session;   /* of the store; 0: a controls file */
    const char *why;   /* what has changed, or why it was rejected; "": nothing to say */
} hone_team_row;

/* All rows of one machine and compiler that have a gain or a claim in one metric. */
typedef struct hone_team_group {
    const char *machine, *compiler, *version, *metric;
    size_t n, n_holding, n_state[HONE_N_TEAM];
    hone_interval gain; /* geometric mean of those that hold (valid, elsewhere); NANs: none does */
} hone_team_group;

/* A file, a folder or a store that could not be read. */
typedef struct hone_team_problem {
    const char *where, *text;
} hone_team_problem;

typedef struct hone_team {
    hone_team_row *row;
    size_t n_rows;
    hone_team_group *group;
    size_t n_groups;
    hone_team_problem *problem;
    size_t n_problems;
    size_t n_programs, n_machines, n_state[HONE_N_TEAM]; /* distinct names; rows by state */
    const char *sentence;
    void *block;
} hone_team;

/* Paths: controls files; stores; folders, which stand for all controls files and stores in them and below (hidden
 * folders but `.hone` are left out, links to folders are not followed). */
HONE_API hone_rc hone_team_open(const char *const *path, size_t n, hone_team *out, hone_err *err);
HONE_API void hone_team_free(hone_team *team);
/* As JSON (docs/report.md); free with hone_free. Equal teams give equal bytes. */
HONE_API hone_rc hone_team_json(const hone_team *team, char **text, hone_err *err);
/* Writes the page as PATH, as hone_report_write does. */
HONE_API hone_rc hone_team_write(const hone_team *team, const char *path, size_t *n, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
