/* precision.h — samples from files, and models in 8 bits chosen on them. */
#ifndef CLI_PRECISION_H
#define CLI_PRECISION_H

#include "cli.h"

#include <hone/artifact.h>
#include <hone/compile.h>
#include <hone/mixed.h>
#include <hone/precision.h>
#include <hone/process.h>

#define CLI_PRECISION_OPTIONS                                                                                          \
    {"precision",                                                                                                      \
     0,                                                                                                                \
     CLI_TEXT,                                                                                                         \
     "int8|bf16|mixed|FILE",                                                                                           \
     0,                                                                                                                \
     0,                                                                                                                \
     "products in 8 bits: all, or a front of which are, chosen on --data; in bf16; or as a file says"},                \
        {"data",                                                                                                       \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "FILE|DIR",                                                                                                   \
         0,                                                                                                            \
         0,                                                                                                            \
         "samples: an .npz with an array per input, its first axis the samples, or a folder of such"},                 \
        {"calibrate",                                                                                                  \
         0,                                                                                                            \
         CLI_CHOICE,                                                                                                   \
         "mse|minmax|percentile|entropy",                                                                              \
         0,                                                                                                            \
         0,                                                                                                            \
         "how ranges follow from the values seen; else mse, by least error"},                                          \
        {"percentile", 0, CLI_TEXT, "P", 0, 0, "so many of 100 values lie within the range; else 99.99"},              \
        {"no-smooth", 0, CLI_FLAG, NULL, 0, 0, "columns that stand out stay as they are"},                             \
        {"max-error",                                                                                                  \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "E",                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         "mixed: the most that the point chosen may have; else 0.01, with --metric 1.01 times that of f32"},           \
        {"metric",                                                                                                     \
         0,                                                                                                            \
         CLI_TEXT,                                                                                                     \
         "COMMAND",                                                                                                    \
         0,                                                                                                            \
         0,                                                                                                            \
         "mixed: prints the error of the outputs in the folder that it is given, less for better"},                    \
        {"metric-limit", 0, CLI_SECONDS, "TIME", 0, 0, "mixed: what one call of --metric may take; else 10m"},         \
        {"front", 0, CLI_TEXT, "FILE", 0, 0, "mixed: where evaluated points are kept and looked up; else NAME.front"}, \
    {                                                                                                                  \
        "points", 0, CLI_COUNT, "N", 1, 100000, "mixed: evaluated after each product alone; else 64"                   \
    }

#define CLI_PRECISION_LATENCY_OPTION                                                                                   \
    {                                                                                                                  \
        "prove-latency", 0, CLI_FLAG, NULL, 0, 0,                                                                      \
            "with --precision and --data: time by that of the model of floats, in pairs"                               \
    }

#define CLI_PRECISION_KEY_OPTION                                                                                       \
    { "key", 'k', CLI_TEXT, "PUB", 0, 0, "a public key: a precision file is used only where it is signed with it" }

/* Arrays of samples by input: sample s's input i is a[s * n_inputs + i]. */
typedef struct cli_samples {
    hone_array *a;
    size_t n, n_inputs;
    void **owned; /* what the arrays point into */
    size_t n_owned, owned_room;
} cli_samples;
/* Of a file or all .npz and .npy files of a folder, in the order of their names. Arrays belong to inputs by name, or,
 * where there is one of both, without. An array has the input's shape with the samples along the first axis, or one
 * axis more in front. */
hone_rc cli_samples_read(const char *path, const hone_graph *g, cli_samples *out, hone_err *err);
void cli_samples_free(cli_samples *s);

typedef struct cli_precision {
    bool given;
    char *text;                         /* of the choice */
    hone_precision_samples taken, held; /* borrow what `all` has: chosen on, and held out */
    cli_samples all;
    hone_mixed_front front; /* of --precision mixed; n 0: none */
    hone_precision_summary summary;
    hone_graph *graph; /* the model, imported once, for all that is compiled of it; NULL: nobody needed it */
    hone_temp *temp;   /* where `exact` is */
    char *exact;       /* the library of the model of floats that was run on the samples; NULL: none */
} cli_precision;
/* By the options: *options gets precision. Nothing where --precision is not given. path: the model. */
struct cli_compiling;
hone_rc cli_precision_choose(const cli *c, const char *path, struct cli_compiling *x, cli_precision *out,
                             hone_err *err);
void cli_precision_free(cli_precision *p);
/* hone_compile_model, of the graph where p has it already. */
hone_rc cli_precision_compile(const char *path, const cli_precision *p, const hone_compile_options *o,
                              hone_compile_result *out, hone_err *err);

/* The error of a library in 8 bits against the model of floats, which is compiled for that: on what was held out, or on
 * all samples where nothing was. E_USAGE: there are no samples. */
typedef struct cli_precision_report {
    hone_precision_error *output;
    char **name;
    size_t n, n_samples;
    bool held_out;
    hone_interval latency; /* by that of the model of floats, of n_pairs pairs; 0: not asked for */
    size_t n_pairs;
} cli_precision_report;
hone_rc cli_precision_measure(const cli *c, const char *path, const cli_precision *p, hone_artifact *narrow,
                              cli_precision_report *out, hone_err *err);
/* Of the same samples, beside the model of floats, which is compiled with the same options: --prove-latency. */
hone_rc cli_precision_time(const cli *c, const char *path, const cli_precision *p, hone_artifact *narrow,
                           cli_precision_report *r, hone_err *err);
/* Both, the second where --prove-latency asks for it, of the library that was compiled to `output` ("dir/name"). */
hone_rc cli_precision_judge(const cli *c, const char *path, const char *output, const cli_precision *p,
                            cli_precision_report *out, hone_err *err);
/* E_USAGE: --prove-latency without what it goes with. */
hone_rc cli_precision_check(const cli *c, hone_err *err);
void cli_precision_put(const cli *c, const cli_precision_report *r);
struct cli_json;
void cli_precision_json(cli_json *j, const cli_precision_report *r); /* member `precision` of an object */
/* mixed.c: the search, whose choice is p->text; the front in the output of people (nothing where there is none) and as
 * member `front` of an object. */
hone_rc cli_mixed_choose(const cli *c, double percentile, const struct cli_compiling *x, cli_precision *p,
                         hone_err *err);
void cli_mixed_put(const cli *c, const cli_precision *p);
void cli_mixed_json(struct cli_json *j, const cli_precision *p);

/* metric.c: a hone_mixed_metric that runs a command of the user's. */
enum { CLI_METRIC_LIMIT_S = 600 };
typedef struct cli_metric {
    const char *command;
    const hone_graph *g;
    double limit_s; /* of a call */
    const volatile int *stop;
} cli_metric;
hone_rc cli_metric_ask(void *arg, const hone_array *out, size_t n_outputs, const size_t *index, size_t n, double *error,
                       hone_err *err);
void cli_precision_report_free(cli_precision_report *r);

#endif
