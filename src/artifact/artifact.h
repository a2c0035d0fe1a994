/* artifact/artifact.h — models on their way from graph to library, shared by the rooms that make it.
 *
 * A library holds one model per target (instruction set) and version (sizes that --specialize fixes; version 0 takes
 * all sizes). Models of one version share its graph, all share the weights; equal kernels of one target are compiled
 * once. Order: wrap (nothing but kernels, constants, views and control), kernels (distinct bodies become C), layout
 * (memory), weights, source (the C files), build (the compiler), parity, manifest. Owns: everything in the arenas and
 * the versions' graphs. Threads: one at a time.
 */
#ifndef HN_ARTIFACT_H
#define HN_ARTIFACT_H

#include "backend/backend.h"
#include "base/err.h"
#include "base/str.h"
#include "ir/cost.h"
#include "proc/temp.h"
#include "program/program.h"

#include <hone/compile.h>
#include <hone/model.h>
#include <hone/winners.h>

/* Raised when what the text of a schedule means changes; winners of another version are not looked at. */
#define HN_SCHEDULE_VERSION "4"

typedef enum hn_parity_end {
    HN_PARITY_NONE,
    HN_PARITY_SAME,
    HN_PARITY_DIFFERS,
    HN_PARITY_CRASHED,
    HN_PARITY_SKIPPED
} hn_parity_end;
typedef struct hn_parity {
    hn_parity_end end;
    uint32_t n_inputs;       /* sets of inputs on which it was compared with the interpreter */
    double rtol, atol;       /* stated tolerance */
    double max_abs, max_rel; /* worst seen */
    char text[200];          /* what differed, or why it was skipped */
} hn_parity;

/* One distinct body, shared by all its uses. */
typedef struct hn_kernel hn_kernel;
struct hn_kernel {
    hn_block body;
    const char *kind;
    char name[16];
    hn_kernel_code code;
    hn_cost cost;          /* of one call */
    const hn_dim *room;    /* per result, or NULL */
    uint32_t node, n_uses; /* its first use */
    uint32_t index;        /* in the table of its target's kernels */
    uint32_t unit;         /* the C file it is in */
    bool reference;
    bool on_host;           /* of a model for a device: it runs on the host all the same */
    const char *why_host;   /* … because; or NULL */
    const char *cc, *flags; /* of a winner: its compiler ("": the usual one), and flags beyond the usual; NULL: none */
    const char *winner;     /* where its tuned schedule came from; NULL: the schedule is the cost model's choice */
    bool refused;           /* parity refused a winner for this kernel */
    bool direct;            /* parity refused a form of it that rounds more (hn_emit_how.direct) */
    const char *declined;   /* why the fused emitter did not take it, or NULL */
    const char *fallback;   /* why it was replaced after parity, or NULL */
    hn_parity parity;
    char hash[33];         /* of the body's text and kind */
    const hn_kernel *same; /* the kernel of an earlier version whose function serves here, too, or NULL */
};

/* Why a winner of the same kernel cannot be used. */
typedef enum hn_miss { HN_MISS_COMPILER, HN_MISS_DEVICE, HN_MISS_CODE, HN_MISS_OTHER, HN_MISSES } hn_miss;

typedef struct hn_unit { /* one C file */
    char *text;
    size_t n, weight;
    bool stale;
    const char *cc, *flags; /* NULL or "": the usual ones */
} hn_unit;

typedef struct hn_model hn_model;
typedef struct hn_library hn_library;
struct hn_model {
    hn_library *lib;
    hn_arena arena;
    hn_graph *g; /* of its version */
    const hone_compile_options *options;
    uint32_t number; /* in lib->model */
    uint32_t target, version;
    const hn_dialect *dialect;
    hn_machine machine;
    hn_kernel *kernel;
    uint32_t n_kernel, n_uses, n_nodes;
    uint32_t *kernel_of;    /* by node id: index + 1 */
    uint32_t *call;         /* node of every use of a kernel, in the order of the program */
    uint32_t *call_of;      /* by node id: index into call */
    hn_kernel_facts *facts; /* by node id */
    hn_layout layout;
    hn_program program;       /* of both; freed with the library */
    const int64_t *weight_at; /* by number of the constant */
    int64_t scratch_b;        /* of one thread; 0 where open */
    hn_unit *unit;
    uint32_t n_unit;              /* unit 0 holds the model's own part */
    hone_winners *winners;        /* NULL: none are looked at */
    hone_winner key;              /* what all kernels' keys share */
    char family[16];              /* of the usual compiler */
    const char *winners_note;     /* why they are not used, where the user did not ask for that */
    uint32_t n_missed[HN_MISSES]; /* kernels without a usable winner, by reason */
    const char *image_text;       /* machine code for a device: of which text, */
    const char *images;           /* what there is, or why there is none; NULL: the backend makes none */
    uint64_t image_b;
    bool image_stale;
    const char *split; /* how kernels were divided between device and host, and why; NULL: they were not */
};

enum { HN_TARGETS_MAX = 8, HN_VERSIONS_MAX = 64, HN_FIXED_MAX = 8 };
/* Sizes that a version is made for. */
typedef struct hn_fixed {
    hn_symbol symbol;
    int64_t value;
    uint32_t input, axis; /* where a run finds the size */
} hn_fixed;
typedef struct hn_version {
    hn_graph *g;
    hn_fixed fixed[HN_FIXED_MAX];
    uint32_t n_fixed; /* 0: the version for all sizes */
} hn_version;

/* What stands of a precision file in the manifest. */
typedef struct hn_library_precision {
    const char *kind, *calibrate, *data; /* kind NULL: the model is as it was */
    uint32_t n_narrow, n_products;
    const char *signer; /* NULL: the choice is not signed */
    uint32_t n_halves;  /* of the narrow ones, in bf16 */
} hn_library_precision;

struct hn_library {
    hn_arena arena;
    const hone_compile_options *options;
    const char *name;   /* of the files, as the user gave it */
    const char *ident;  /* a C identifier made of it */
    const char *query;  /* the function that tells the model: of a C file its own, as programs link several */
    const char *folder; /* where the results go */
    hn_temp temp;
    const char *work;                         /* its path, while it is there */
    const hn_dialect *target[HN_TARGETS_MAX]; /* in the order in which they are preferred */
    hn_version version[HN_VERSIONS_MAX];      /* the one for all sizes first, then those with most sizes fixed */
    hn_model *model;                          /* of target t and version v: model[t * n_version + v] */
    uint32_t n_target, n_version, n_model;
    hn_states states;
    hn_unit entry; /* where there are several models: what chooses among them */
    uint64_t weights_b;
    char weights_hash[33];
    bool weights_file; /* beside the library, not inside */
    char compiler_text[120];
    const char
        *remote_root; /* where the emulator finds the target processor's shared libraries; NULL: no runner is built */
    uint64_t code_b;
    char cache_key[33];                                          /* "": the library is not cached */
    bool cached;                                                 /* the library is an earlier compilation's */
    const char *asked_driver, *driver_problem, *driver_identity; /* hn_target_problem, hn_target_machine */
    hn_library_precision precision;
    double parity_s, compiler_s, passes_s, emit_s, time_s, images_s;
    void (*choose)(hn_model *m, hn_kernel *k); /* may replace k's code, which is the default, by a better one; NULL */
    void (*tamper)(hn_model *m);               /* tests of parity spoil kernels here, when they are emitted; NULL */
};

/* library.c. E_INTERRUPTED after a stop request; hn_progress also reports how far a stage is. */
hone_rc hn_check_stop(const hn_library *l, hone_err *err);
hone_rc hn_progress(const hn_library *l, const char *stage, size_t done, size_t total, hone_err *err);
void hn_library_free(hn_library *l);

/* versions.c: the targets and versions that the options ask for, and the graph of each version with its sizes fixed. */
hone_rc hn_find_targets(hn_library *l, hone_err *err);
hone_rc hn_make_versions(hn_library *l, const hn_graph *g, hone_err *err);
void hn_version_text(const hn_library *l, uint32_t version, hn_str *out); /* "batch=1,seq=128", "" */
/* Why this machine cannot run a target, or NULL where it can, itself or by an emulator. */
const char *hn_target_problem(const hn_library *l, const hn_dialect *d);
/* Of a target for devices: the device that its kernels are checked on, and its driver; "": none. */
const char *hn_target_machine(const hn_library *l, const hn_dialect *d);
const char *hn_library_processor(const hn_library *l); /* "x86-64" …; NULL: of this machine, whatever it is */
/* The program that runs the library's processor here; NULL: this machine does itself; "": there is none. */
const char *hn_library_emulator(const hn_library *l);

/* states.c: l->states as the options name them, in g, where caches get their parameter; then, once g is kernels, nodes
 * that read a cache are moved behind the one that makes its rows. */
hone_rc hn_match_states(const char *const *pattern, size_t n_pattern, const hn_graph *g, hn_arena *a, hn_state **list,
                        uint32_t *n, hone_err *err); /* inputs and outputs by name alone; no caches yet */
hone_rc hn_find_states(hn_library *l, hn_graph *g, hone_err *err);
hone_rc hn_order_states(hn_graph *g, hn_states states, hone_err *err);

/* wrap.c: every node that is left outside a kernel and needs one gets one of its own. */
hone_rc hn_wrap_kernels(hn_graph *g, hone_err *err);

/* kernels.c */
hone_rc hn_kernels_make(hn_model *m, hone_err *err);
/* Replaces the kernel by its reference version. */
hone_rc hn_kernel_refer(hn_model *m, hn_kernel *k, hone_err *err);
/* Of a model for a device: the kernel runs on the host from now on, because. */
hone_rc hn_kernel_to_host(hn_model *m, hn_kernel *k, const char *why, hone_err *err);
/* The work items of a call, at the values of all symbols; false: they cannot be computed. */
bool hn_work_eval(const hn_graph *g, const hn_kernel_code *code, const int64_t *symbol, int64_t *work);
/* Elementary operations of a call, as passed to the runtime. */
int64_t hn_kernel_cost(const hn_model *m, const hn_kernel *k, const int64_t *value);
/* The symbols that a body's nodes define, in order, into list (room for `room`). */
size_t hn_body_symbols(const hn_graph *g, hn_block body, hn_symbol *list, size_t room);

/* Restores the default version, after a winner was refused. */
hone_rc hn_kernel_plain(hn_model *m, hn_kernel *k, hone_err *err);

/* weights.c: offsets and hash of all models' constants; the file. */
hone_rc hn_weights_lay(hn_library *l, hone_err *err);
hone_rc hn_weights_write(const hn_library *l, const char *path, bool head, hone_err *err);
/* The first 48 bytes of the file, as the library expects them. */
void hn_weights_head(const hn_library *l, char head[64]);

/* lowered.c: m->layout and m->program, from the graph and its kernels; checked in debug builds. Call again after
 * these change. */
hone_rc hn_model_lower(hn_model *m, hone_err *err);
hone_rc hn_model_lower_unplaced(hn_model *m, hone_err *err); /* without memory spaces */
void hn_model_steps(hn_model *m, hn_str *out);               /* hnm_bind, hnm_item_sizes, hnm_steps */

/* source.c, source_profile.c */
hone_rc hn_source_make(hn_model *m, hone_err *err);
hone_rc hn_source_header(const hn_model *m, hn_str *out);
/* The tables and functions of a build that times its kernels (options->profile); else nothing. */
void hn_source_profile(const hn_model *m, hn_str *out);
void hn_source_calls(const hn_model *m, hn_str *out); /* rows of its table of calls */
/* Around launch number `launch` of a hn_model that is timed: hn_program_c's before and after. */
void hn_source_time_begin(void *model, uint32_t launch, hn_str *out);
void hn_source_time_end(void *model, uint32_t launch, hn_str *out);
void hn_source_copy_end(void *model, uint32_t copy, const char *bytes, hn_str *out);
/* Calls of a model in its table: launches, and in builds that are timed copies between memory spaces, too; they are
 * calls of two kernels behind the others, which have no function: to the device, to the host. */
uint32_t hn_source_n_calls(const hn_model *m);
uint32_t hn_source_n_kernels(const hn_model *m, uint32_t n); /* of a table with n of its own */
void hn_source_copy_rows(const hn_model *m, hn_str *out);
/* A function of that name and visibility that calls a kernel, which is static. */
void hn_source_export(hn_str *out, const char *visibility, const char *symbol, const char *kernel);
/* The name by which unit 0 calls it. */
const char *hn_kernel_symbol(const hn_model *m, const hn_kernel *k);
void hn_source_kernel_row(const hn_model *m, const hn_kernel *k, hn_str *out);
void hn_source_port_tables(const hn_library *l, const hn_graph *g, hn_str *out);
/* The tables that reset, fork, save and load work on. */
void hn_source_states(const hn_library *l, const hn_graph *g, hn_str *out);
extern const char hn_source_prelude[];
/* source_device.c: models whose kernels run on a device. */
bool hn_is_on_device(const hn_dialect *d);
bool hn_kernel_on_device(const hn_model *m, const hn_kernel *k);
const hn_dialect *hn_host_dialect(const hn_model *m); /* of what runs on the host */
void hn_source_device_runtime(const hn_model *m, bool drivers, hn_str *out);
void hn_source_device_instance(const hn_model *m, hn_str *out);
hone_rc hn_source_device_kernels(const hn_model *m, uint32_t unit, hn_str *out); /* E_FAILED: an unknown helper */
/* The text of the device's module: what all kernels need, and the kernels; its compiler's options. */
hone_rc hn_source_device_text(const hn_model *m, hn_str *out);
const char *hn_source_device_options(const hn_model *m, hn_arena *a);
/* The tables of slots: constants, items of the arena; of a device, too. */
void hn_source_slots(const hn_model *m, hn_str *out);
/* source_entry.c: the file that chooses among several models. */
hone_rc hn_entry_make(hn_library *l, hone_err *err);
/* Takes the text, which is freed; stale where that, or what compiles it, is not as before. */
hone_rc hn_unit_set(hn_arena *a, hn_unit *u, hn_str *text, const char *cc, const char *flags, hone_err *err);
/* Carried texts (carried.c). */
const char *hn_carried_instance(void);
const char *hn_carried_entry(void);
const char *hn_carried_model_h(void);
const char *hn_carried_part(void);
const char *hn_carried_state(void);
const char *hn_carried_plan(void);
const char *hn_carried_place(void);
const char *hn_carried_remote_order(void);
const char *hn_carried_runner(void);
const char *hn_carried_instance_device(void);
const char *hn_carried_device_driver(void);
const char *hn_carried_driver_cache(void);
const char *hn_carried_driver_opencl(void);
const char *hn_carried_driver_cuda(void);
const char *hn_carried_driver_shim(void);
const char *hn_carried_graph(void);
const char *hn_carried_device(void);

/* manifest.c */
void hn_manifest(const hn_library *l, hn_str *out);
void hn_summary(const hn_library *l, hn_str *out);

#endif
