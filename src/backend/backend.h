/* backend/backend.h — backends: what turns a kernel's body into code for a kind of machine.
 *
 * A backend is a folder of this room and a row of backends.def: one const struct that says which targets it has, which
 * nests it takes, how it spells them, and which schedules and layouts suit it. Callers ask by hn_emit_kernel and its
 * like, which do what all backends share: lower the body to a nest, fit and apply a sketch, verify; then the backend
 * prints. docs/how-to-add-a-backend.md.
 *
 * Every backend gives kernels in two ways, of one signature:
 *   reference  node by node, covers every primitive but control; the fallback.
 *   print      the fused loop nest under its schedule; may decline with a reason (E_UNSUPPORTED), then the reference
 *              is used and the manifest says so.
 *
 * A kernel is a function of the type hone_kernel_fn (hone/model.h), called so:
 *   buf: inputs in order, then outputs in order, row-major, aligned to their element (what the caller of a model hands
 *     in; all else to 64), never overlapping unless the code says in_place is legal;
 *   s[i]: value of symbol i of the graph's table;
 *   begin .. end: work items of `work` (0 <= begin <= end <= work; any split gives bit-identical results);
 *   scratch: scratch_b bytes, private to the call, aligned to 64.
 * No allocation, no locks, no calls but libm and the runtime's static helpers (prefix `hnr_`). An opaque kernel that
 * defines symbols has work = 1 and returns them through `int64_t *` buffers that follow the outputs in buf, one per
 * symbol; a result whose shape they decide has room for the most there can be (every element non-zero, every slice
 * different, every box kept: hn_kernel_room) and is filled densely from its start.
 * What is emitted is ASCII; names are made by hone, never taken from a model.
 * Errors: s[-1] is the error slot, writable and 0 before a run: a kernel that meets an index out of range stores
 * HONE_MODEL_INDEX there (relaxed atomic, any work item) and uses a clamped index instead, so memory stays safe; run()
 * returns what it finds. Sizes are the caller's to check: every relation of the dimension table holds, slices stay
 * inside their input, padding is not negative (run() checks what the sizes do not prove). Whoever calls a kernel (run,
 * parity checks, tests) hands a symbol array with that slot in front.
 */
#ifndef HN_BACKEND_H
#define HN_BACKEND_H

#include "backend/place.h"
#include "base/str.h"
#include "ir/graph.h"
#include "pass/pass.h"
#include "sketch/sketch.h"

#include <hone/device.h>

typedef struct hn_backend hn_backend;

/* A target: what --target names. Facts of an instruction set that mean nothing on a backend's machines stay 0. */
typedef struct hn_dialect {
    const hn_backend *backend;
    const char *name,
        *summary; /* "generic", "x86-64-v3" …; stored in artifacts: never rename. Unique in all backends */
    int vector_b; /* width of a vector register; 0: scalar code */
    int n_registers;
    bool fma;                 /* a multiply-add that rounds once is one instruction */
    bool bytes;               /* products of words' bytes, added up, are one instruction */
    bool pairs;               /* likewise products of words' two bf16 */
    const char *const *flags; /* NULL-terminated: of the C compiler */
    const char *relaxed_flag; /* one more of them in relaxed mode; NULL: none */
    const char *processor;    /* family whose machine code it is, or NULL: of any */
    int rank;                 /* within the family: what a processor of a rank runs are the ranks up to it */
    const char *offered;      /* a C expression: does the processor at hand offer it? */
    const char *compiler;     /* of another family's machines, where no compiler is named; NULL: cc */
    const char *emulator;     /* that runs it on machines of another family, or NULL */
} hn_dialect;

/* How a device's kernel is launched (backend/gpu); threads 0: the kernel is a function of the host's.
 * Its parameters, in this order: the buffers; the symbols listed; begin, end; scratch; the error slot. Symbols, begin
 * and end are 64-bit integers; the others pointers into global memory, each a `__global char *` and a 64-bit offset in
 * bytes where the language has no addresses (OpenCL). Any number of blocks, or of clusters of them, is right: each
 * thread (block_items: block; cluster: cluster) takes every n-th item. A thread (block) has scratch_b bytes of scratch
 * of its own, those of thread (block) i at i * scratch_b. */
typedef struct hn_device_code {
    int threads;            /* of a block, in one dimension */
    int cluster;            /* blocks of a cluster, which a work item is then; 0: there are no clusters */
    bool block_items;       /* a work item is a block's, not a thread's */
    bool shared_dynamic;    /* shared memory is given at the launch, else the text declares it */
    int64_t shared_b;       /* shared memory of a block */
    const uint32_t *symbol; /* numbers of the symbols that are handed in */
    uint32_t n_symbol;
} hn_device_code;

typedef struct hn_kernel_code {
    const char *text;    /* the function, with its static tables; in the arena */
    const char *helpers; /* names of the runtime's parts that it needs, blank-separated (hn_backend.add_runtime) */
    hn_dim work;         /* number of independent work items; 0: too long an expression, the product of work_by */
    const hn_dim *work_by;
    uint32_t n_work_by;
    hn_dim scratch_b;  /* per call */
    uint64_t in_place; /* bit i: output 0 may share memory with input i (same type, each element read before it is
                          written) */
    const char
        *schedule; /* one line, for the manifest, and input of the same call: "gemm rows=12 cols=2", "reference" */
    hn_device_code device;
} hn_kernel_code;

/* How a kernel is to be emitted. */
typedef struct hn_emit_how {
    const hn_dialect *dialect;
    hn_machine machine; /* hn_machine_of(dialect, …) */
    bool relaxed;
    const char *schedule; /* text of sketch/sketch.h; NULL: the first sketch that fits, with its cost model's knobs */
    struct hn_str *nest;  /* the scheduled nest's text is added here; NULL: it is not wanted */
    bool direct;          /* of forms that round otherwise than the nest, none is the first choice */
} hn_emit_how;

/* A sketch that fits a body, with its knobs for it. */
typedef struct hn_sketch_fit {
    const hn_sketch *sketch;
    hn_knobs knobs;
    bool beside, first; /* of a whole form: the nest's sketches fit, too; it is expected to be faster than they are */
} hn_sketch_fit;

#define HN_BIT(kind) (1u << (kind)) /* of hn_backend.loops and .spaces */
enum { HN_BACKEND_VERSION = 1 };    /* of this struct */

struct hn_backend {
    int version;
    const char *name, *summary;
    const hn_dialect *const *dialects; /* its targets, NULL-terminated */
    const char *driver; /* that runs its kernels on a device ("opencl": backend/gpu/rt); NULL: they are functions of the
                           host's */

    unsigned loops, spaces;           /* which nests it takes: bits of hn_loop_kind and of hn_space */
    const hn_sketch *const *sketches; /* schedules that suit it, the most specific first; NULL-terminated */
    int64_t sum_block;                /* f32 terms that are added one after the other, about: longer sums go in blocks
                                         (nest/schedule.h);                0: any number */

    /* A scheduled, verified nest of those loops and spaces as a function: sets text, helpers and scratch_b of *out.
     * E_UNSUPPORTED: it has no form here. NULL: the backend takes no nests. */
    hone_rc (*print)(hn_nest *n, const char *name, const hn_emit_how *how, hn_kernel_code *out, hone_err *err);
    /* A body that the backend has a form of its own for, without a nest: all of *out. E_UNSUPPORTED, without a message:
     * it has none. NULL: for no body. */
    hone_rc (*whole)(hn_graph *g, hn_block body, const char *name, const hn_emit_how *how, hn_arena *a,
                     hn_kernel_code *out, hone_err *err);
    /* Is it such a body? Then *out are the name of its schedule, as a sketch without functions, and its knobs. */
    bool (*whole_fit)(const hn_graph *g, hn_block body, const hn_machine *m, hn_sketch_fit *out);
    /* The body node by node, of the same meaning: all of *out. */
    hone_rc (*reference)(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out, hone_err *err);
    /* Appends the parts of the runtime's text that are named (blank-separated, any order, repeats allowed) and those
     * that they need, each once, in the order in which they compile. False: an unknown name. */
    bool (*add_runtime)(hn_str *out, const char *names);

    const hn_layout_facts *layout; /* how its kernels want tensors; NULL: as CPUs do */
    const hn_place *here;          /* where this machine runs what is compiled for it */
    const hn_place *emulated;      /* … where an emulator does (hn_dialect.emulator); NULL: none can */
    /* The figures that schedules of this target are made for, on this device. */
    hn_machine (*machine)(const hn_dialect *d, const hone_device *device);
    const struct hn_image_maker *images; /* machine code of its kernels ahead of time (backend/image.h); NULL: none */
};

/* The schedule of convolutions by fewer multiplications (backend/cpu/winograd.c): its first word. */
#define HN_WINOGRAD_SCHEDULE "winograd"
bool hn_is_winograd(const char *schedule);

extern const hn_backend *const hn_backends[]; /* NULL-terminated: the rows of backends.def */
const hn_dialect *hn_dialect_at(size_t i);    /* of all backends, one after the other; NULL past the last */
/* "native": the instruction set of this machine's processor. NULL: unknown. */
const hn_dialect *hn_dialect_named(const char *name);

bool hn_runs_here(const hn_dialect *d); /* does this machine's processor run its code? */
/* Do weights of bf16 lie in pairs for it: multiplied by an instruction, or one by one by multiply-adds of f32? Without,
 * products of bf16 have no tiles. */
bool hn_takes_pairs(const hn_dialect *d);
/* The target that `native` is for models with products of bf16: one with an instruction for their pairs. NULL: this
 * machine has none, they take the usual one. */
const hn_dialect *hn_dialect_for_pairs(void);

/* A target's figures on a device; NULL: this machine's table (hone_device_get). */
hn_machine hn_machine_of(const hn_dialect *d, const hone_device *device);

hone_rc hn_emit_reference(hn_graph *g, hn_block body, const char *name, const hn_dialect *d, hn_arena *a,
                          hn_kernel_code *out, hone_err *err);
/* E_UNSUPPORTED: the body has no nest, or no sketch could be applied and written. A schedule that is asked for by text
 * is taken or refused (E_INPUT: it does not fit, or its knobs do not), never replaced. */
hone_rc hn_emit_kernel(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_emit_how *how,
                       hn_arena *a, hn_kernel_code *out, hone_err *err);

/* The sketches that fit a body, with their knobs, for the tuner: the default one first. list has room for `room`;
 * returns how many. 0 where the body has no nest. */
size_t hn_emit_sketches(hn_graph *g, hn_block body, const char *kind, const hn_emit_how *how, hn_arena *a,
                        hn_sketch_fit *list, size_t room);

/* Do a node's outputs have sizes that it alone decides? Then the most elements that output k of it can have. */
bool hn_defines_sizes(const hn_node *n);
hn_dim hn_most_elements(hn_graph *g, const hn_node *n, size_t k);
/* The most elements that output `index` of a body's one symbol-defining node can have, over its other symbols; 0 where
 * the body defines none (then the type says it). */
hn_dim hn_kernel_room(hn_graph *g, hn_block body, size_t index);

#endif
