/* cubin/cubin.h — what a built file's device code says before it runs: per kernel registers, memory, instructions by
 * class, control words, occupancy. Read through cuobjdump and nvdisasm, which run as child processes.
 *
 * A cubin is an ELF file for a GPU. Programs and fatbins hold cubins; PTX is assembled first.
 * Owns: everything in the caller's arena.   Units: bytes, counts, cycles.   Threads: one at a time per arena.
 * Errors: E_TOOL when a tool is missing or fails; E_INPUT when the file holds no device code, or hone cannot read it.
 */
#ifndef HN_CUBIN_H
#define HN_CUBIN_H

#include "base/arena.h"
#include "base/str.h"

/* --- metrics ------------------------------------------------------------------------------------------------------ */

typedef enum hn_code_metric {
#define HN_GPU_METRIC(id, name, fold, unit, what) HN_GPU_##id,
#include "cubin/metric.def"
#define HN_SASS_CLASS(id, metric, what) HN_SASS_##id,
#include "cubin/opcode.def"
    HN_N_CODE_METRICS,
    HN_SASS_FIRST = HN_SASS_GLOBAL_LOAD
} hn_code_metric;

typedef enum hn_code_fold { HN_FOLD_SUM, HN_FOLD_MAX, HN_FOLD_MIN } hn_code_fold;
typedef struct hn_code_metric_info {
    const char *name, *what;
    hn_code_fold fold;
    bool bytes;
} hn_code_metric_info;
const hn_code_metric_info *hn_code_metric_at(hn_code_metric m);
/* HN_N_CODE_METRICS when there is none of that name. */
hn_code_metric hn_code_metric_find(const char *name);

/* --- kernels ------------------------------------------------------------------------------------------------------ */

typedef struct hn_gpu_kernel {
    const char *name;                /* the symbol */
    bool entry;                      /* a kernel; else a function that kernels call */
    unsigned threads;                /* launch bounds: the most threads of a block; 0: not said */
    const char *bound_by;            /* what occupancy is limited by; NULL: not known */
    unsigned barriers;               /* named barriers */
    double value[HN_N_CODE_METRICS]; /* NAN: not known */
    const char **unknown;            /* opcodes that are in no class, each once */
    size_t n_unknown;
    const char *listing; /* its instructions, one a line, where asked for */
    uint64_t code_at;    /* where its code lies in the cubin's file */
} hn_gpu_kernel;

typedef struct hn_cubin {
    const char *file; /* that it came from */
    unsigned sm;      /* 90 */
    hn_gpu_kernel *kernel;
    size_t n;
    bool has_usage; /* registers, stack, shared memory and constants of all kernels stood in the file itself */
} hn_cubin;

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct hn_code_ask {
    const char *dir;     /* for files on the way; must exist */
    unsigned sm;         /* 0: the only one there is; E_INPUT names those there are */
    unsigned threads;    /* of a block, for occupancy; 0: launch bounds, else 256 */
    uint64_t shared_b;   /* dynamic shared memory of a block */
    bool live;           /* live registers too: half a second more for each file */
    bool listing;        /* listings too */
    bool resources_only; /* nothing that needs the instructions */
    const volatile int *stop;
} hn_code_ask;

/* Reads n files together: instructions of all of them are disassembled by one run of nvdisasm where `live` is not asked
 * for, since it starts slowly, and by none where all are of kinds that it told before (opcodes.h). What one file has
 * wrong is in its own error: rc[i] and err[i]; the return code is for what concerns all. text[i] (may be NULL): what
 * the build printed, for spills and warnings of ptxas. */
hone_rc hn_cubin_read_all(const char *const *path, const char *const *text, size_t n, const hn_code_ask *ask,
                          hn_arena *a, hn_cubin *out, hone_rc *rc, hone_err *each, hone_err *err);
hone_rc hn_cubin_read(const char *path, const char *text, const hn_code_ask *ask, hn_arena *a, hn_cubin *out,
                      hone_err *err);

/* Is the name, or pattern with * and ?, meant for this kernel? A C++ kernel goes by its plain name too. */
bool hn_gpu_kernel_is(const hn_gpu_kernel *k, const char *name);
/* The plain name of a mangled one in `a`, namespaces included: "ns::softmax"; the name itself when it is not mangled.
 */
const char *hn_gpu_kernel_plain(hn_arena *a, const char *name);

/* --- parts, pure ----------------------------------------------------------------------------------------------------
 */

/* A cubin's ELF file: kernels with their places, launch bounds, code size, and what they use as far as it says so. Any
 * bytes are safe. E_INPUT. */
hone_rc hn_cubin_elf(const char *data, size_t n, const char *label, hn_arena *a, hn_cubin *out, hone_err *err);
/* Is it such a file? */
bool hn_is_cubin(const char *data, size_t n);

/* Shared memory of a block but for the 1 KiB that the system reserves from 9.0 on in every block that has some, and
 * that cubins and cuobjdump count. */
static inline double hn_shared_own(unsigned sm, double shared_b) {
    return sm >= 90 && shared_b >= 1024 ? shared_b - 1024 : shared_b;
}
/* `cuobjdump -res-usage`: fills registers, stack, local, shared, constants of the kernels that it names. Any text is
 * safe. */
void hn_usage_read(const char *text, size_t n, hn_cubin *io);
/* What ptxas printed: spills of kernels (with -v), warnings. Any text is safe. */
void hn_ptxas_read(const char *text, size_t n, hn_cubin *io);

/* One instruction of a listing with encodings. */
typedef struct hn_sass {
    const char *text; /* "@!P0 LDG.E R0, desc[UR4][R2.64]" */
    uint64_t at;      /* offset in its section, or in the raw file */
    uint64_t word[2];
    unsigned section;
    short live[3]; /* registers, predicates, uniform registers; -1: not shown */
} hn_sass;
typedef struct hn_sass_text {
    hn_sass *line;
    size_t n;
    const char **section; /* names; of a raw file one, "" */
    size_t n_sections;
} hn_sass_text;
/* nvdisasm with -hex, and -plr -lrm count where live registers are asked for. Any text is safe; E_NOMEM. */
hone_rc hn_sass_read(const char *text, size_t n, hn_arena *a, hn_sass_text *out, hone_err *err);

typedef struct hn_control_word {
    unsigned stall, write_barrier, read_barrier, wait_mask, reuse; /* barriers: 7 is none */
    bool yield;
} hn_control_word;
hn_control_word hn_sass_control(uint64_t second_word);
/* The class of an instruction's text; *bytes (may be NULL): what a memory access moves for one thread. */
hn_code_metric hn_sass_class(const char *text, unsigned *bytes);
/* Where its opcode begins, behind a predicate ("@!UP0"). */
const char *hn_sass_opcode(const char *text);
/* Is its opcode in the table? */
bool hn_sass_known(const char *text);
/* Counts the instructions into k; no-operations at the end are padding. */
void hn_sass_count(const hn_sass *line, size_t n, hn_arena *a, hn_gpu_kernel *k);

/* Occupancy of a kernel with so many threads a block and so much shared memory beyond its own. False when the
 * architecture is not in the table. A block that does not fit gives 0. */
typedef struct hn_occupancy {
    unsigned warps, blocks, most_warps;
    const char *limit; /* what more blocks would lack: "registers", "shared memory", "warps", "blocks", "barriers" */
} hn_occupancy;
bool hn_occupancy_of(unsigned sm, unsigned registers, unsigned threads, uint64_t shared_b, unsigned barriers,
                     hn_occupancy *out);
/* "80, 86, …": architectures of the table. */
const char *hn_occupancy_known(void);

#endif
