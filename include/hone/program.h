/* hone/program.h — what a compiled model does in a run, as text (docs/program.md): a list of steps over values that
 * have a memory space and a place. */
#ifndef HONE_PROGRAM_H
#define HONE_PROGRAM_H

#include <hone/compile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_program_counts {
    uint32_t n_values, n_launches, n_copies, n_steps;
    uint64_t arena_b; /* 0 where it depends on symbolic sizes */
} hone_program_counts;

/* The program of a graph for all sizes and the first of the options' targets, with default schedules, verified. *text:
 * hone_free. counts may be NULL. Failures: those of hone_compile_graph; E_FAILED: an invariant does not hold. */
HONE_API hone_rc hone_program_print(hone_graph *g, const char *name, const hone_compile_options *options, char **text,
                                    hone_program_counts *counts, hone_err *err);
/* Reads a file with the text of a program, verifies it, and gives the text as it is printed. E_IO, E_INPUT, E_FAILED.
 */
HONE_API hone_rc hone_program_read(const char *path, char **text, hone_program_counts *counts, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
