/* backend/backend.h — a kernel's body becomes C.
 *
 * Two emitters give the same function of the same signature:
 *   hn_emit_reference  node by node, scalar, naive loops in row-major order, float sums in double: covers every
 * primitive but control; the fallback. hn_emit_kernel     the fused loop nest under its schedule; may decline with a
 * reason (E_UNSUPPORTED), then the reference is used and the manifest says so.
 *
 * Generated function, for a kernel called NAME:
 *     static void NAME(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch);
 *   buf: inputs in order, then outputs in order, row-major, aligned to their
 * element (what the caller of a model hands in; all else to 64), never overlapping unless the code says
 * in_place is legal; s[i]: value of symbol i of the graph's table;  begin..end: work items of `work` (0 <= begin <= end
 * <= work; any split gives bit-identical results); scratch: scratch_b bytes, private to the call, aligned to 64. No
 * allocation, no locks, no calls but libm and the runtime's static helpers (prefix `hnr_`). An opaque kernel that
 * defines symbols has work = 1 and returns them through `int64_t *` buffers that follow the outputs in buf, one per
 * symbol; a result whose shape they decide has room for the most there can be (every element non-zero, every slice
 * different, every box kept: hn_reference_room) and is filled densely from its start.
 * What is emitted is ASCII; names are made by hone, never taken from a model.
 * Errors: s[-1] is the error slot, writable and 0 before a run: a kernel that meets an index out of range stores
 * HONE_MODEL_INDEX there (relaxed atomic, any work item) and uses a clamped index instead, so memory stays safe; run()
 * returns what it finds. Sizes are the caller's to check: every relation of the dimension table holds, slices stay
 * inside their input, padding is not negative (run() checks what the sizes do not prove). Whoever calls a kernel (run,
 * parity checks, tests) hands a symbol array with that slot in front.
 *
 * The runtime's text (src/backend/cpu/rt, docs/runtime.md) comes before the kernels, by hn_runtime_add.
 */
#ifndef HN_EMIT_H
#define HN_EMIT_H

#include "ir/graph.h"
#include "sketch/sketch.h"

#include <hone/device.h>

typedef struct hn_dialect { /* one row per instruction set in src/backend/cpu/dialects.c; bytes and flags only, never a
                               CPU's name */
    const char *name, *summary; /* native is resolved to one of these: "generic", "x86-64-v3", "x86-64-v4",
                                   "x86-64-v4-vnni", "aarch64" */
    int vector_b;               /* width of a vector register; 0: scalar code */
    int n_registers;
    bool fma;                 /* a multiply-add that rounds once is one instruction */
    bool bytes;               /* products of words' bytes, added up, are one instruction */
    const char *const *flags; /* NULL-terminated: of the C compiler */
    const char *processor;    /* family whose machine code it is, or NULL: of any */
    int rank;                 /* within the family: what a processor of a rank runs are the ranks up to it */
    const char *offered;      /* a C expression: does the processor at hand offer it? */
    const char *compiler;     /* of another family's machines, where no compiler is named; NULL: cc */
    const char *emulator;     /* that runs it on machines of another family, or NULL */
} hn_dialect;
extern const hn_dialect *const hn_dialects[];         /* NULL-terminated */
const hn_dialect *hn_dialect_named(const char *name); /* "native": from CPUID; NULL when unknown */

typedef struct hn_kernel_code {
    const char *text;    /* the C function, with its static tables; in the arena */
    const char *helpers; /* names of runtime parts it needs, blank-separated (files of src/backend/cpu/rt) */
    hn_dim work;         /* number of independent work items; 0: too long an expression, the product of work_by */
    const hn_dim *work_by;
    uint32_t n_work_by;
    hn_dim scratch_b;  /* per call */
    uint64_t in_place; /* bit i: output 0 may share memory with input i (same type, each element read before it is
                          written) */
    const char
        *schedule; /* one line, for the manifest, and input of the same call: "gemm rows=12 cols=2", "reference" */
} hn_kernel_code;

hone_rc hn_emit_reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out,
                          hone_err *err);
/* How a kernel is to be emitted. */
typedef struct hn_emit_how {
    const hn_dialect *dialect;
    hn_machine machine; /* hn_machine_of(dialect, …) */
    bool relaxed;
    const char *schedule; /* text of sketch/sketch.h; NULL: the first sketch that fits, with its cost model's knobs */
} hn_emit_how;
/* A dialect's vectors with a device's caches and rates; NULL: this machine's table (hone_device_get). A device of
 * another instruction set, other vectors, gives usual sizes. */
hn_machine hn_machine_of(const hn_dialect *d, const hone_device *device);

/* E_UNSUPPORTED: the body has no nest, or no sketch could be applied and written. A schedule that is asked for by text
 * is taken or refused (E_INPUT: it does not fit, or its knobs do not), never replaced. */
hone_rc hn_emit_kernel(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_emit_how *how,
                       hn_arena *a, hn_kernel_code *out, hone_err *err);

/* The sketches that fit a body, with their knobs, for the tuner: the default one first. list has room for `room`;
 * returns how many. 0 where the body has no nest. */
typedef struct hn_sketch_fit {
    const hn_sketch *sketch;
    hn_knobs knobs;
} hn_sketch_fit;
size_t hn_emit_sketches(hn_graph *g, hn_block body, const char *kind, const hn_emit_how *how, hn_arena *a,
                        hn_sketch_fit *list, size_t room);

/* For tests of parity alone: the same text with one arithmetic operation of the function's body turned into another (an
 * addition into a subtraction, a product into a sum, an accumulation dropped …), so that it computes something else.
 * `which` counts the operations that can be turned; NULL past the last. In the arena. */
const char *hn_emit_fault(const char *text, const char *name, unsigned which, hn_arena *a);

/* The most elements that output `index` of a body's one symbol-defining node can have, over its other symbols; 0 where
 * the body defines none (then the type says it). */
hn_dim hn_reference_room(hn_graph *g, hn_block body, size_t index);

/* Text of the runtime (src/backend/cpu/rt/NAME.h), carried in the library; NULL when there is no such part. */
const char *hn_runtime_text(const char *name);
/* Appends the parts named (blank-separated, any order, repeats allowed) and those that they need, each once, in the
 * order in which they compile. False: an unknown name. */
struct hn_str;
bool hn_runtime_add(struct hn_str *out, const char *names);

#endif
