/* bench_text.h — `hone bench` of a language model. */
#ifndef CLI_BENCH_TEXT_H
#define CLI_BENCH_TEXT_H

#include "cli.h"

#define CLI_BENCH_TEXT_OPTIONS                                                                                         \
    {                                                                                                                  \
        "prompt-tokens",                                                                                               \
        0,                                                                                                             \
        CLI_TEXT,                                                                                                      \
        "N,...",                                                                                                       \
        0,                                                                                                             \
        0,                                                                                                             \
        "language models: lengths of the prompt, one row for each; else 512"},                                         \
        {"exact", 0, CLI_FLAG, NULL, 0, 0, "language models: products with packed weights round nothing"},             \
        {"activations",                                                                                                \
         0,                                                                                                            \
         CLI_CHOICE,                                                                                                   \
         "auto|int8|int8x2|float",                                                                                     \
         0,                                                                                                            \
         0,                                                                                                            \
         "language models: what products round the other operand to; else auto"},                                      \
        {"cache-type",                                                                                                 \
         0,                                                                                                            \
         CLI_CHOICE,                                                                                                   \
         "f32|f16|bf16|q8",                                                                                            \
         0,                                                                                                            \
         0,                                                                                                            \
         "language models: how keys and values are kept; else f16"},                                                   \
        {"tokens", 0, CLI_TEXT, "N,...", 0, 0, "language models: lengths of the answer, with each prompt; else 128"},  \
        {"rounds", 0, CLI_COUNT, "N", 1, 100000, "language models: how often it is measured; else 5"}, {               \
        "peer", 0, CLI_TEXT, "PROGRAM", 0, 0,                                                                          \
            "language models: the llama-bench to compare with, or a Python that has the peer's package"                \
    }

/* Is it a language model's file, by its content? */
bool cli_is_language_model(const char *path);
hone_rc cli_bench_text(cli *c, hone_err *err);

#endif
