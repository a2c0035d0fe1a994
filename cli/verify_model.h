/* verify_model.h — the half of `hone verify` that judges models. */
#ifndef CLI_VERIFY_MODEL_H
#define CLI_VERIFY_MODEL_H

#include "model_io.h"

#define CLI_VERIFY_MODEL_OPTIONS                                                                                       \
    {"against", 0, CLI_CHOICE, "onnxruntime|openvino", 0, 0, "hold a model against this instead of the interpreter"},  \
        {"exactness", 0, CLI_FLAG, NULL, 0, 0, "how much rounding hone and a peer add to a model, against double"},    \
        {"inputs", 0, CLI_COUNT, "N", 1, 1000, "random inputs to try a model on; else 3"},                             \
        {"size", 0, CLI_TEXT, "NAME=N,...", 0, 0, "symbolic sizes of a model's inputs; else usual ones"},              \
        {"rtol",                                                                                                       \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "X",                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         "relative tolerance of a model's outputs; else 1e-3 and what their types ask for"},                           \
        {"atol",                                                                                                       \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "X",                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         "absolute tolerance of a model's outputs; else 1e-4 and what their types ask for"},                           \
        CLI_STEPS_OPTION("runs of a model with state for each input, from a reset on; else 4"),                        \
        CLI_THREADS("threads a model runs on; else one per processor")

hone_rc cli_verify_model(cli *c, const char *path, hone_err *err);
hone_rc cli_verify_precision(cli *c, const char *path, hone_err *err);
hone_rc cli_verify_exactness(cli *c, const char *path, hone_err *err);

#endif
