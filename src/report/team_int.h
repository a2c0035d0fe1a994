/* report/team_int.h — shared inside this room: a team's report while it is gathered. */
#ifndef HN_TEAM_INT_H
#define HN_TEAM_INT_H

#include "base/arena.h"

#include <hone/team.h>

/* A file or a store that was read already, by its inode: operands may overlap. */
typedef struct hn_team_seen {
    uint64_t device, inode;
} hn_team_seen;

/* What a session is told by as the one that a controls file was made of; of other rows all 0. */
typedef struct hn_team_origin {
    const char *workload_hash, *created;
    int64_t session; /* of its store; 0: none */
} hn_team_origin;

typedef struct hn_team_gathering {
    hn_arena *a;
    hone_team_row *row;
    size_t n_rows, row_room;
    hone_team_problem *problem;
    size_t n_problems, problem_room;
    hn_team_seen *seen;
    size_t n_seen, seen_room;
    hn_team_origin *origin; /* by row */
    size_t origin_room;
} hn_team_gathering;

/* A new row with n goals, filled with what is unknown; origin is copied. NULL: out of memory. */
hone_team_row *hn_team_add(hn_team_gathering *g, size_t n_goals, hn_team_origin origin);
void hn_team_problem(hn_team_gathering *g, const char *where, const char *text);
/* "p50(latency)" is over the metric latency. */
const char *hn_team_metric(hn_arena *a, const char *expr);

/* "12.2.0" of "gcc (Debian 12.2.0-14) 12.2.0": the last word outside parentheses that is a number with dots, else all.
 */
const char *hn_team_version(hn_arena *a, const char *text);

/* team_walk.c: finds controls files, then stores. */
hone_rc hn_team_walk(hn_team_gathering *g, const char *const *path, size_t n, hone_err *err);
/* team_controls.c: a row for the file, or a problem. */
hone_rc hn_team_controls(hn_team_gathering *g, const char *path, hone_err *err);
/* team_store.c: a row for each program and machine whose newest session no controls file among the rows is of. */
hone_rc hn_team_store(hn_team_gathering *g, const char *dir, hone_err *err);

#endif
