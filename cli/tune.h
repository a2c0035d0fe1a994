/* tune.h — the search as `hone tune` and `hone retune` run it. */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli.h"

#include <hone/tune.h>

/* Options of a search, for the option tables of both. */
#define CLI_SEARCH_OPTIONS                                                                                             \
    {"evals", 'n', CLI_COUNT, "N", 1, 1e9, "evaluations at most (default: the workload's budget)"},                    \
        {"time", 't', CLI_SECONDS, "TIME", 0, 0, "time at most: 90s, 10m, 1h30m (default: the workload's budget)"},    \
        {"engine", 'e', CLI_TEXT, "NAME", 0, 0, "search engine (default: the workload's, else auto)"},                 \
        {"engine-options", 0, CLI_TEXT, "LIST", 0, 0, "options of the engine, name=value separated by commas"},        \
        {"seed", 0, CLI_COUNT, "N", 0, 0, "seed of all random choices (default 0)"},                                   \
        {"jobs", 'j', CLI_COUNT, "N", 1, 1024, "builds side by side (default: one per core)"},                         \
        {"cpu", 0, CLI_COUNT, "N", 0, 4095, "the core to measure on (default: the last usable one)"},                  \
        {"no-canary", 0, CLI_FLAG, NULL, 0, 0, "search even where the canary fails (see `hone canary`)"},              \
        {"keep-builds", 0, CLI_FLAG, NULL, 0, 0, "leave the private build folders, to look at them"},                  \
        {"store", 0, CLI_TEXT, "DIR", 0, 0, "the folder of the record (default .hone beside the workload file)"},      \
        {"quiet", 'q', CLI_FLAG, NULL, 0, 0, "no progress, only the result"}, {                                        \
        "verbose", 'v', CLI_FLAG, NULL, 0, 0, "a line for every trial"                                                 \
    }

/* Searches with the options of the command line, shows progress and prints the result. path: the workload file. seeds:
 * JSON points tried first, NULL-terminated, in a new session that takes up earlier winners too; may be NULL. */
hone_rc cli_tune(cli *c, const hone_workload *workload, const char *path, const char *const *seeds, hone_err *err);

#endif
