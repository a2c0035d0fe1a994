/* emit/emit.h — a kernel's body becomes C.
 *
 * Two emitters give the same function of the same signature:
 *   hn_emit_reference  node by node, scalar, naive loops in row-major order, float sums in double: covers every
 * primitive but control; the fallback. hn_emit_kernel     the fused loop nest under its schedule; may decline with a
 * reason (E_UNSUPPORTED), then the reference is used and the manifest says so.
 *
 * Generated function, for a kernel called NAME:
 *     static void NAME(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch);
 *   buf: inputs in order, then outputs in order, row-major, aligned to 64, never overlapping unless the code says
 * in_place is legal; s[i]: value of symbol i of the graph's table;  begin..end: work items of `work` (0 <= begin <= end
 * <= work; any split gives bit-identical results); scratch: scratch_b bytes, private to the call, aligned to 64. No
 * allocation, no locks, no calls but libm and the runtime's static helpers (prefix `hnr_`). An opaque kernel that
 * defines symbols has work = 1 and returns them through `int64_t *` buffers that follow the outputs in buf, one per
 * symbol. What is emitted is ASCII; names are made by hone, never taken from a model.
 */
#ifndef HN_EMIT_H
#define HN_EMIT_H

#include "ir/graph.h"

typedef struct hn_dialect { /* one row per instruction set in src/emit/dialects.c; bytes and flags only, never a CPU's
                               name */
    const char *name, *summary; /* native is resolved to one of these: "generic", "x86-64-v3", "x86-64-v4", "aarch64" */
    int vector_b;               /* width of a vector register; 0: scalar code */
    int n_registers;
    const char *const *flags; /* NULL-terminated: of the C compiler */
} hn_dialect;
extern const hn_dialect *const hn_dialects[];         /* NULL-terminated */
const hn_dialect *hn_dialect_named(const char *name); /* "native": from CPUID; NULL when unknown */

typedef struct hn_kernel_code {
    const char *text;     /* the C function, with its static tables; in the arena */
    const char *helpers;  /* names of runtime parts it needs, blank-separated (files of src/exec/rt) */
    hn_dim work;          /* number of independent work items */
    hn_dim scratch_b;     /* per call */
    uint64_t in_place;    /* bit i: output 0 may share memory with input i (same type, each element read before it is
                             written) */
    const char *schedule; /* one line, for the manifest: "map vector=16", "reference" … */
} hn_kernel_code;

hone_rc hn_emit_reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out,
                          hone_err *err);
hone_rc hn_emit_kernel(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_dialect *d,
                       bool relaxed, hn_arena *a, hn_kernel_code *out, hone_err *err);

/* Text of the runtime (src/exec/rt/NAME), carried in the library; NULL when there is no such part. */
const char *hn_runtime_text(const char *name);

#endif
