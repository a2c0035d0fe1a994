/* tune_precision.h — `hone tune MODEL --precision`: which products are narrow is chosen first, then the kernels of that
 * version of the model are tuned. */
#ifndef CLI_TUNE_PRECISION_H
#define CLI_TUNE_PRECISION_H

#include "model_io.h"
#include "progress.h"

#define CLI_TUNE_PRECISION_OPTIONS                                                                                     \
    CLI_PRECISION_OPTIONS,                                                                                             \
        {"key", 0, CLI_TEXT, "PUB", 0, 0, "with --precision FILE: it must be signed with this key"},                   \
        CLI_PRECISION_LATENCY_OPTION, {                                                                                \
        "output", 'o', CLI_TEXT, "DIR/NAME", 0, 0,                                                                     \
            "where a choice and its points are written: DIR/NAME.precision, .front; else beside the model"             \
    }

typedef struct cli_tune_choice {
    cli_precision precision; /* .given: is there any? */
    char *file;              /* its text; NULL where none is given */
    bool written;            /* by this run; else it was read */
    char *sizes;             /* of the first sample, where sizes are symbolic: "batch=1"; NULL: none */
    double elapsed_s;
    cli_precision_report report; /* of the tuned model; n 0: there are no samples */
} cli_tune_choice;

/* By the options: *x gets the choice. What is wrong with them is E_USAGE before anything is done. live: shows how far
 * it is. */
hone_rc cli_tune_choose(cli *c, const char *path, cli_compiling *x, cli_live *live, cli_tune_choice *out,
                        hone_err *err);
/* What of `budget_s` kernels have: what is left, and little where nothing is. 0: none was given. */
double cli_tune_left(const cli_tune_choice *k, double budget_s);
/* What the choice costs, of the model as `hone compile` makes it now, where there are samples. */
hone_rc cli_tune_judge(cli *c, const char *path, const cli_compiling *x, cli_tune_choice *k, hone_err *err);
/* For people: what was chosen; what it costs and how to take it. */
void cli_tune_put_choice(const cli *c, const cli_tune_choice *k);
void cli_tune_put_cost(const cli *c, const char *path, const cli_tune_choice *k);
void cli_tune_choice_json(cli_json *j, const cli_tune_choice *k); /* members of an object */
void cli_tune_choice_free(cli_tune_choice *k);

#endif
