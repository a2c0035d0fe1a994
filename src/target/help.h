/* target/help.h — what compilers print about their own options, as rows. Pure functions of text.
 *
 * Lenient: a line that is not understood is skipped, never an error; a text that is not a compiler's help gives no
 * rows. Lines beyond 64 KiB and texts beyond 200,000 rows are cut. Strings live in the arena handed in.
 * Failure: only lack of memory, sticky in the arena.
 */
#ifndef HN_HELP_H
#define HN_HELP_H

#include "base/arena.h"

typedef struct hn_help_row {
    const char *name; /* "-falign-loops", "--param=avg-loop-niter"; clang: "inline-threshold" */
    const char *rest; /* what follows on the line: the value (-Q, -print-all-options) or the description; never NULL */
    const char *type; /* clang: "uint", "int", "value", …; NVIDIA: the long name; else NULL */
    bool takes_value; /* NAME=VALUE */
    double lo, hi;    /* printed range, NAN = not printed */
    const char **value; /* printed enumeration */
    size_t n_values;
} hn_help_row;

typedef struct hn_help {
    hn_help_row *row;
    size_t n, room;
} hn_help;

/* Appends the rows of `gcc [-Q] --help=optimizers|params|target|common` (gcc 4.6 to 15). With -Q `rest` is the
 * setting ("[enabled]", "16", …), else the description. Lists of "known valid arguments" become rows with values. */
void hn_help_gcc(hn_arena *a, const char *text, size_t n, hn_help *out);

/* Appends the rows of `clang -mllvm --help-hidden` or `--help-list-hidden`. */
void hn_help_clang(hn_arena *a, const char *text, size_t n, hn_help *out);

/* Appends the rows of `clang -mllvm -print-all-options`: `rest` is the value in force, "" when it has none. */
void hn_help_clang_values(hn_arena *a, const char *text, size_t n, hn_help *out);

/* Appends the rows of NVIDIA's `nvcc --help` and `ptxas --help`: named "-dlcm", with "--def-load-cache" as `type`. */
void hn_help_nvidia(hn_arena *a, const char *text, size_t n, hn_help *out);

/* The row of this name and kind, NULL if there is none (linear; for repeated use see hn_help_sort). */
const hn_help_row *hn_help_find(const hn_help *help, const char *name, bool takes_value);
/* Sorts by name, then kind, so that hn_help_find is a binary search; keeps the first of equal rows first. */
void hn_help_sort(hn_help *help);

#endif
