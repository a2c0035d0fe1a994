/* session.h — a recorded session as `hone status`, `results` and `best` read it.
 *
 * Owns: a cli_record owns everything it shows, until cli_record_close. Read-only: the store is never changed.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli.h"

#include <hone/record.h>
#include <hone/tune.h>

typedef struct cli_goal {
    char *expr;
    bool maximize;
} cli_goal;

typedef struct cli_record {
    char *dir;      /* of the store */
    char *workload; /* path of the workload file, whether it exists or not */
    hone_store *store;
    hone_session session;
    hone_trials trials;
    hone_effects effects; /* of the big choices */
    char *objects;        /* JSON: how many objects were compiled, how many were known; NULL: not recorded */
    char *unread;         /* JSON: what controls are offered for what the program does not read; NULL: not looked at */
    cli_goal goal[HONE_MAX_OBJECTIVES];
    size_t n_goals;
    const hone_trial *baseline; /* NULL when none was recorded */
    const hone_trial *best;     /* NULL when nothing feasible was measured */
} cli_record;

/* The options --workload and --store, for the option tables of commands that read a record. */
#define CLI_RECORD_OPTIONS                                                                                             \
    {"workload", 'w', CLI_TEXT, "FILE", 0, 0, "the workload file (default hone.yaml)"}, {                              \
        "store", 0, CLI_TEXT, "DIR", 0, 0, "the folder of the record (default .hone beside the workload file)"         \
    }

/* Folder of the record, malloc'ed: --store, else .hone beside the workload file. */
char *cli_store_dir(const cli *c, const char *workload);
/* Opens the store alone; E_NOTFOUND says how to create a record. */
hone_rc cli_store_open(const cli *c, cli_record *out, hone_err *err);
/* Opens the session named by the operand (the newest when there is none), with its trials. */
hone_rc cli_record_open(const cli *c, bool with_samples, cli_record *out, hone_err *err);
/* The session with this number in the store at `dir`. */
hone_rc cli_record_load(const char *dir, int64_t id, cli_record *out, hone_err *err);
void cli_record_close(cli_record *r);

bool cli_feasible(const hone_trial *t);
/* a better than b in the first goal? */
bool cli_better(const cli_record *r, const hone_trial *a, const hone_trial *b);
/* How many times better than the baseline in goal k, NAN where that says nothing. */
double cli_gain(const cli_record *r, const hone_trial *t, size_t k);
/* Trials by class, without the baseline and the race. Returns their number. */
size_t cli_count_classes(const cli_record *r, size_t n_class[HONE_N_CLASSES], size_t *n_reused);
/* "2 build_error, 1 wrong_result", "" when none failed; malloc'ed. */
char *cli_failures_text(const size_t n_class[HONE_N_CLASSES]);
/* The member "effects": what each of the big choices brought. */
void cli_effects_json(cli_json *j, const hone_effects *effects);
/* What a point sets other than the base does: "name=value name=value ..."; plain: only names without a dot, which are
 * not controls of a compiler. base may be NULL. malloc'ed. */
char *cli_point_delta(const char *point, const char *base, bool plain);

/* hone_workload_load with advice on how to create a workload file if there is none. */
hone_rc cli_workload_load(const char *path, hone_workload **out, hone_err *err);

#endif
