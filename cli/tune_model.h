/* tune_model.h — `hone tune MODEL.onnx`: the kernels of a model, tuned. */
#ifndef CLI_TUNE_MODEL_H
#define CLI_TUNE_MODEL_H

#include "model_io.h"

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

#endif
