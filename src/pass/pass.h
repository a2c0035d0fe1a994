/* pass/pass.h — graph passes as rows.
 *
 * A pass changes the graph in place (hn_emit into a fresh list, hn_replace, hn_sweep) or builds a new one beside it.
 * The driver (src/pass/driver.c) verifies after each pass in debug builds, checks that print(parse(print(g))) is
 * stable, counts rewrites, times each pass and can stop after any.
 */
#ifndef HN_PASS_H
#define HN_PASS_H

#include "ir/graph.h"

#include <hone/pass.h>

/* How the machine that the graph is for wants its tensors (hn_backend.layout). */
typedef struct hn_layout_facts {
    int64_t panel;        /* columns of a panel of packed weights; 0: constant matrices stay as they are */
    bool channels_last;   /* the channels of images lie next to each other */
    bool halves;          /* products take f16 and bf16 as they are; else they are of f32, behind casts */
    bool pairs;           /* constant weights of bf16 lie in pairs along what is summed over, for products of both */
    bool many_processors; /* few queries over many keys take the keys in parts (split_keys.c) */
} hn_layout_facts;
extern const hn_layout_facts hn_usual_layout; /* src/pass/driver.c; of CPUs */

typedef struct hn_pass_how {
    bool relaxed, bytes;           /* as in hone_pass_options */
    const hn_layout_facts *layout; /* NULL: the usual one */
    double tolerance;              /* of a convolution, by the root mean square of its results; 0: as sums do */
} hn_pass_how;

/* The tolerance of hone_pass_options and hone_compile_options. */
double hn_tolerance_of(bool relaxed, double tolerance);

typedef struct hn_pass_ctx {
    bool relaxed, bytes; /* hn_pass_how */
    const hn_layout_facts *layout;
    double tolerance;
    unsigned have;       /* facts that hold */
    uint64_t n_rewrites; /* the pass adds to it */
} hn_pass_ctx;
enum {                        /* facts a pass needs, or breaks */
       HN_FACT_NO_DEAD = 1,   /* no dead nodes */
       HN_FACT_FOLDED = 2,    /* no pure node over constants alone */
       HN_FACT_CANONICAL = 4, /* commutative inputs ordered, no identity movements */
       HN_FACT_FUSED = 8,     /* only kernels, constants, reshapes, binds and control remain */
       HN_FACT_BYTES = 16,    /* products of bytes have been found; what else is quantised is computed in floats */
};
typedef struct hn_pass {
    const char *name, *summary; /* the name is typed by users: never rename */
    unsigned needs, gives, breaks;
    hone_rc (*run)(hn_graph *g, hn_pass_ctx *ctx, hone_err *err);
} hn_pass;
/* NULL-terminated, in the order of the pipeline; src/pass/registry.c. A fact that a pass needs and that was broken is
 * made again by the first pass that gives it. A pass that rewrote nothing breaks nothing. */
extern const hn_pass *const hn_passes[];
const hn_pass *hn_pass_named(const char *name);

typedef struct hn_pass_stat {
    const char *name;
    uint64_t n_rewrites;
    double time_s;
    uint32_t n_nodes; /* afterwards, in all blocks in use */
} hn_pass_stat;
/* One pass with what it needs, timed, and checked in debug builds. have: facts that hold, updated. */
hone_rc hn_run_pass(hn_graph *g, const hn_pass *p, hn_pass_how how, unsigned *have, hn_pass_stat *stat, hone_err *err);
/* Runs the whole pipeline, or up to and including `after` (NULL: all). stat: NULL or room for as many as there are
 * passes. */
/* Failures: E_NOTFOUND names the nearest pass; after any other the graph can only be freed. */
hone_rc hn_run_passes(hn_graph *g, const char *after, hn_pass_how how, hn_pass_stat *stat, size_t *n_stat,
                      hone_err *err);

/* The last pass, "fuse": partitions every block into `kernel` nodes. Afterwards a block holds only const, kernel,
 * reshape (a view), bind, dims, if, loop. A kernel's body is closed (inputs are its parameters; scalar constants may
 * stay inside), and its KIND is a row of ir/kinds.def. */

#endif
