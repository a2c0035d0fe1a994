/* tune_model.h — `hone tune MODEL.onnx`: the kernels of a model, tuned. */
#ifndef CLI_TUNE_MODEL_H
#define CLI_TUNE_MODEL_H

#include "model_io.h"
#include "progress.h"
#include "tune_precision.h"

#include <hone/tune_model.h>

/* Options of models alone, for the option table. */
#define CLI_TUNE_MODEL_OPTIONS                                                                                         \
    {"budget", 'b', CLI_SECONDS, "TIME", 0, 0, "time in all: 60s, 5m (of a model; default 1m)"},                       \
        {"target", 0, CLI_TEXT, "T", 0, 0, "instruction set (of a model; default native)"},                            \
        {"symbol", 's', CLI_TEXT, "NAME=RANGE,...", 0, 0, "fix or bound symbolic sizes (of a model)"},                 \
        {"size", 0, CLI_TEXT, "NAME=N,...", 0, 0, "sizes to measure at, where they stay symbolic (of a model)"},       \
        CLI_THREADS("threads that it is to run on (of a model; default: one per processor)"),                          \
        {"kernels", 'k', CLI_TEXT, "LIST", 0, 0, "only these kernels (k1,k4) or kinds (contract) (of a model)"},       \
        {"winners",                                                                                                    \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "FILE|URL",                                                                                                   \
         0,                                                                                                            \
         0,                                                                                                            \
         "where winners are kept (of a model; default: HONE_WINNERS, else the user's file)"},                          \
        {"cc", 0, CLI_TEXT, "CC", 0, 0, "the C compiler (of a model; default cc)"},                                    \
        {"cache-type",                                                                                                 \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "T",                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         "keys and values in a pool of f32, f16 (the default), bf16 or q8, as `hone serve` keeps them; none: in one "  \
         "tensor, as `hone compile` does (of a language model)"},                                                      \
        {"from-traffic",                                                                                               \
         0,                                                                                                            \
         CLI_FLAG,                                                                                                     \
         NULL,                                                                                                         \
         0,                                                                                                            \
         0,                                                                                                            \
         "for the sizes that `hone serve` is asked for, by their times (of a model)"},                                 \
        {"traffic",                                                                                                    \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "FILE",                                                                                                       \
         0,                                                                                                            \
         0,                                                                                                            \
         "with --from-traffic: a store or `hone traffic --json`; else the user's store"},                              \
        {"exhaust",                                                                                                    \
         0,                                                                                                            \
         CLI_FLAG,                                                                                                     \
         NULL,                                                                                                         \
         0,                                                                                                            \
         0,                                                                                                            \
         "search until time ends or all is tried, also where nothing better comes or can come (of a model)"},          \
    {                                                                                                                  \
        "relaxed", 0, CLI_FLAG, NULL, 0, 0, "kernels as `hone compile --relaxed` makes them (of a model)"              \
    }

/* E_USAGE where an option was given that is for the other kind of operand. */
hone_rc cli_tune_check_options(const cli *c, bool model, hone_err *err);
hone_rc cli_tune_model(cli *c, const char *path, hone_err *err);

/* --- parts of it, for --from-traffic (tune_traffic.c) --- */

hone_rc cli_tune_from_traffic(cli *c, const char *path, hone_err *err);
typedef struct cli_tune_sizes {
    double budget_s;
    const char *sizes, *also; /* as hone_tune_model_options */
} cli_tune_sizes;
hone_rc cli_tune_run(cli *c, const char *path, const cli_compiling *x, const cli_tune_sizes *at, cli_live *live,
                     hone_tune_model_result *out, hone_err *err);
/* Progress from the first stage to the last. */
void cli_tune_live(cli_live *live, const cli *c);
/* What `hone chat` and its like have compiled of a language model is made again, where there are new winners. */
hone_rc cli_tune_renew(const char *path, const hone_tune_model_result *m, hone_err *err);
void cli_tune_put_text(const cli *c, const hone_tune_model_result *m);
/* As an object. k: what was chosen before; NULL: nothing. */
void cli_tune_put_json(cli_json *j, const cli_tune_choice *k, const hone_tune_model_result *m);
hone_rc cli_tune_interrupted(hone_err *err);

#endif
