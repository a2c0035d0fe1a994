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

/* The loop nest of a kernel (docs/loop-nests.md). */
typedef struct hone_program_nest {
    const char *kernel, *kind;
    const char *schedule; /* what made it so; NULL: as lowered */
    const char *text;     /* NULL: it has none, and why */
    const char *why;
} hone_program_nest;
typedef hone_rc hone_program_nest_fn(void *ctx, const hone_program_nest *nest, hone_err *err);
/* The nests of the graph's kernels, as the first of the options' targets has them fused: as lowered, or as the target's
 * default schedules make them. fn is called for each, what it is given lives until it returns; where it fails, so does
 * this. Other failures: those of hone_compile_graph. */
HONE_API hone_rc hone_program_nests(hone_graph *g, const char *name, const hone_compile_options *options,
                                    bool scheduled, hone_program_nest_fn *fn, void *ctx, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
