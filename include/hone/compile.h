/* hone/compile.h — from a graph or an ONNX file to a native library, checked kernel by kernel. hone/artifact.h runs the
 * library, hone/verify.h checks it, hone/latency.h and hone/profile.h time it. */
#ifndef HONE_COMPILE_H
#define HONE_COMPILE_H

#include <hone/import.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_emit { HONE_EMIT_SO, HONE_EMIT_C } hone_emit;
typedef struct hone_compile_options {
    size_t size;        /* hone_compile_defaults() sets it */
    const char *output; /* "dir/model" or "dir/model.so" gives dir/model.so, .h, .weights, .manifest; NULL: the model's
                           name in the working folder */
    const char *target; /* NULL: "native", of C "generic"; "x86-64-v3", "x86-64-v4", "aarch64"; several in one
                           library, chosen when it is loaded: "x86-64-v4,x86-64-v3,generic" */
    const char *compiler; /* NULL: cc */
    hone_emit emit;
    bool relaxed;              /* numeric mode */
    bool embed_weights;        /* into the library (.incbin) instead of a side file */
    bool no_parity;            /* skip the check against the interpreter (the manifest says so) */
    bool reference;            /* every kernel as its reference version */
    bool profile;              /* a build that times its kernels: hone_model.profile */
    const char *winners;       /* file of winners (hone/winners.h); NULL: the usual one, if it is there */
    bool no_winners;           /* default schedules alone */
    bool no_cache;             /* compile again even if the same hone and compiler did so before */
    uint32_t n_jobs;           /* compilers at once; 0: processors */
    uint32_t n_threads;        /* threads that will run it, which select among winners; 0: processors */
    const char *const *symbol; /* as hone_import_options */
    size_t n_symbol;
    const char *const *specialize; /* "seq=128,512", "batch=1,seq=128": further versions for these sizes */
    size_t n_specialize;
    const char *const *state; /* "past.*=present.*": these inputs and outputs become state of an instance */
    size_t n_state;
    hone_progress progress;   /* stages: "passes", "kernels", "compile", "parity" */
    const volatile int *stop; /* ends with E_INTERRUPTED */
    const char *cache;        /* as hone_import_options */
    bool exact;               /* as hone_import_options */
    const char *activations;  /* as hone_import_options */
    /* Of models for devices: kernels that are expected to be faster on the host, copies counted, run there. The place
     * whose measured figures decide (hone/places.h): "cuda:0", "auto": the first of the target's driver. NULL: all that
     * can run on the device do. */
    const char *split;
    const char *precision; /* text of a choice of hone/precision.h; NULL: the model as it is. Stands in
                              dir/model.precision afterwards, too */
    double tolerance;      /* as hone_pass_options */
} hone_compile_options;
static inline hone_compile_options hone_compile_defaults(void) {
    hone_compile_options o = HONE_ZERO;
    o.size = sizeof o;
    o.tolerance = -1;
    return o;
}

typedef struct hone_compile_result {
    uint32_t n_kernels, n_distinct, n_fallback,
        n_nodes;        /* fallback: kernels replaced by their reference version; see text */
    uint32_t n_winners; /* distinct kernels whose schedule is a winner's */
    bool cached;        /* the library, and what parity found, come from an earlier compilation */
    uint64_t arena_b, lower_bound_b, weights_b, code_b;
    double time_s, import_s, passes_s, emit_s, compiler_s, parity_s; /* the whole, and its stages */
    char *text; /* a summary for people, with each fallback and its reason; hone_free */
} hone_compile_result;

/* Leaves the graph as it is. Failures: those of hone_import_model, E_TOOL (the compiler), E_IO, E_INTERRUPTED (*stop;
 * running compilers are ended). A failed call leaves no files behind. */
HONE_API hone_rc hone_compile_model(const char *path, const hone_compile_options *options, hone_compile_result *out,
                                    hone_err *err);
HONE_API hone_rc hone_compile_graph(hone_graph *g, const char *name, const hone_compile_options *options,
                                    hone_compile_result *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
