/* model_io.h — what compile, run, bench and verify do alike: models opened, inputs made or read, arrays written. */
#ifndef CLI_MODEL_IO_H
#define CLI_MODEL_IO_H

#include "cli.h"
#include "precision.h"

#include <hone/artifact.h>
#include <hone/compile.h>
#include <hone/import.h>
#include <hone/inputs.h>
#include <hone/model.h>
#include <hone/peer.h>
#include <hone/process.h>

/* The option of every command that runs a model, or prepares one for so many threads. */
#define CLI_THREADS(doc)                                                                                               \
    { "threads", 0, CLI_COUNT, "N", 1, HONE_MODEL_THREADS, doc }

/* --- options that make a library of a model ---------------------------------------------------------------------- */

#define CLI_TOLERANCE_OPTION                                                                                           \
    {                                                                                                                  \
        "tolerance", 0, CLI_TEXT, "X", 0, 0,                                                                           \
            "what a convolution may round, as a part of its results' root mean square, to take fewer "                 \
            "multiplications; else 1e-3 with --relaxed, 0 without"                                                     \
    }

#define CLI_COMPILE_OPTIONS                                                                                            \
    {"target",                                                                                                         \
     't',                                                                                                              \
     CLI_TEXT,                                                                                                         \
     "T,...",                                                                                                          \
     0,                                                                                                                \
     0,                                                                                                                \
     "native, generic, x86-64-v3, x86-64-v4, x86-64-v4-vnni, x86-64-v4-bf16 or aarch64; several: one is chosen when "  \
     "it is loaded"},                                                                                                  \
        {"relaxed", 0, CLI_FLAG, NULL, 0, 0, "allow rewrites that change rounding"}, CLI_TOLERANCE_OPTION,             \
        {"reference", 0, CLI_FLAG, NULL, 0, 0, "every kernel as its plain reference version"},                         \
        {"no-parity", 0, CLI_FLAG, NULL, 0, 0, "do not check kernels against the interpreter"},                        \
        {"symbol", 's', CLI_TEXT, "NAME=RANGE,...", 0, 0, "fix or bound symbolic sizes: batch=1:64,seq=128"},          \
        {"specialize",                                                                                                 \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "NAME=N,...",                                                                                                 \
         0,                                                                                                            \
         0,                                                                                                            \
         "further versions for these sizes: seq=128,512; several after semicolons"},                                   \
        {"cc", 0, CLI_TEXT, "CC", 0, 0, "the C compiler; else cc"},                                                    \
        {"winners",                                                                                                    \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "FILE|URL",                                                                                                   \
         0,                                                                                                            \
         0,                                                                                                            \
         "what tuning found; else HONE_WINNERS, or the user's file (`hone winners`)"},                                 \
        {"no-winners", 0, CLI_FLAG, NULL, 0, 0, "default schedules alone"},                                            \
        {"no-cache", 0, CLI_FLAG, NULL, 0, 0, "compile even what was compiled before"}, {                              \
        "jobs", 'j', CLI_COUNT, "N", 1, 1024, "compilers at once; else one per processor"                              \
    }

/* Where a model runs; a model file is compiled for that. */
#define CLI_PLACE_OPTION                                                                                               \
    {                                                                                                                  \
        "place", 0, CLI_TEXT, "P", 0, 0,                                                                               \
            "where it runs: host, opencl:N, cuda:N (hone devices) or shim; cuda:0+host: split by cost; auto: the "     \
            "best "                                                                                                    \
            "device with the host; else host"                                                                          \
    }

#define CLI_SPLIT_OPTION                                                                                               \
    {                                                                                                                  \
        "split", 0, CLI_TEXT, "PLACE", 0, 0,                                                                           \
            "targets for devices: kernels that this device's figures let expect to be faster on the host run there "   \
            "(auto: the first)"                                                                                        \
    }

#define CLI_STATE_OPTION                                                                                               \
    { "state", 0, CLI_TEXT, "IN=OUT,...", 0, 0, "inputs and outputs that stay in an instance: past.*=present.*" }

#define CLI_STEPS_OPTION(doc)                                                                                          \
    { "steps", 0, CLI_COUNT, "N", 0, 1000000, doc }

typedef struct cli_compiling {
    hone_compile_options options;
    char *symbols;       /* the text that options.symbol points into */
    const char **symbol; /* its pieces */
    char *states;
    const char **state;               /* as symbols */
    char *versions;                   /* the text that options.specialize points into */
    const char **specialize;          /* its pieces */
    char place_target[32], place[32]; /* that --place stands for */
    struct {
        const char *engine; /* NULL: the usual one */
        uint64_t seed;
        double budget_s;
    } mixed; /* how --precision mixed is searched (hone/mixed.h); `hone tune` has options for it */
    const cli *c;
    const char *stage; /* progress: the line that is shown */
} cli_compiling;
/* Option --place, where it is given: sets the variable that libraries look at; said: the place and its device. */
hone_rc cli_place_choose(const cli *c, char said[200], hone_err *err);
/* Reads the options above; x stays where it is until cli_compiling_free. Progress goes to a terminal's stderr. */
double cli_tolerance(const cli *c); /* of --tolerance; negative: the usual; NaN: no number from 0 on */
void cli_compiling_set(const cli *c, cli_compiling *x);
/* Those alone that the reading of a model takes (--symbol, --state): no driver is asked for devices, which takes a
 * fork, and a model that is open already may have threads. */
void cli_compiling_read(const cli *c, cli_compiling *x);
void cli_compiling_free(cli_compiling *x);
/* Ends the line of progress. */
void cli_compiling_done(cli_compiling *x);

/* --- a library, compiled for the occasion where a model file is given --------------------------------------------- */

typedef struct cli_model {
    hone_artifact *program;
    const hone_model *model;
    hone_temp *temp;         /* where the library is, or NULL */
    char where[200];         /* with --place: "opencl:0, NVIDIA H200"; else "" */
    cli_precision precision; /* of --precision */
    char *split;             /* how its kernels were divided between the device and the host; NULL: they were not */
    cli_compiling compiling;
} cli_model;
/* What a compilation's summary says of the split, to be freed, or NULL. */
char *cli_split_line(const char *summary);
bool cli_is_model(const char *path); /* of a format that hone imports */
/* Imports a model; unsupported nodes are listed on stderr. */
hone_rc cli_graph_open(const char *path, const cli_compiling *x, hone_graph **out, hone_err *err);
/* The peer of option --against. */
hone_rc cli_peer_open(const cli *c, const char *path, hone_peer **out, hone_err *err);
hone_rc cli_model_open(const cli *c, const char *path, uint32_t n_threads, cli_model *out, hone_err *err);
/* The graph of a model file whose library has state, and the pairs that it was compiled with; graph NULL: there is no
 * state, or the path is a library. Free in any case. */
typedef struct cli_stateful {
    hone_graph *graph;
    cli_compiling compiling; /* its options have the pairs */
} cli_stateful;
hone_rc cli_stateful_open(const cli *c, const char *path, const hone_model *m, cli_stateful *out, hone_err *err);
void cli_stateful_close(cli_stateful *x);
/* A model file as a build that times its kernels, unchecked by parity; E_USAGE for a library. */
hone_rc cli_model_open_timed(const cli *c, const char *path, cli_model *out, hone_err *err);
/* Removes the temporary folder now: what is loaded stays, further instances cannot be made. */
void cli_model_unlink(cli_model *m);
void cli_model_close(cli_model *m); /* removes the temporary folder, too */

/* --- arrays ------------------------------------------------------------------------------------------------------ */

typedef struct cli_arrays {
    hone_array *a;
    char **name; /* NULL where none is known */
    size_t n;
} cli_arrays;
void cli_arrays_free(cli_arrays *x);
/* One .npy or all of an .npz. */
hone_rc cli_arrays_read(const char *path, cli_arrays *out, hone_err *err);
hone_rc cli_arrays_write(const char *path, const cli_arrays *x, hone_err *err);
/* Orders arrays by the names of the model's inputs, or takes them as they stand where they have none. */
hone_rc cli_arrays_match(const hone_model *m, cli_arrays *x, hone_err *err);
/* As hone_inputs_random, with the names of the inputs. */
hone_rc cli_arrays_random(const hone_model *m, const char *sizes, uint64_t seed, cli_arrays *out, hone_err *err);
size_t cli_array_count(const hone_array *a);
/* "f32[4, 8]" in buf. */
const char *cli_array_text(const hone_array *a, char buf[256]);

#endif
