/* hone/compile.h — from a graph or an ONNX file to a native library, checked kernel by kernel; and to run, verify and
 * time the result. */
#ifndef HONE_COMPILE_H
#define HONE_COMPILE_H

#include <hone/import.h>
#include <hone/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_emit { HONE_EMIT_SO, HONE_EMIT_C } hone_emit;
typedef struct hone_compile_options {
    const char *output;   /* "dir/model" gives dir/model.so, .h, .weights, .manifest; NULL: the model's name in the
                             working folder */
    const char *target;   /* "native" (NULL), "generic", "x86-64-v3", "x86-64-v4", "aarch64" */
    const char *compiler; /* NULL: cc */
    hone_emit emit;
    bool relaxed;              /* numeric mode */
    bool embed_weights;        /* into the library (.incbin) instead of a side file */
    bool no_parity;            /* skip the check against the interpreter (the manifest says so) */
    bool reference;            /* every kernel as its reference version */
    uint32_t n_jobs;           /* compilers at once; 0: processors */
    const char *const *symbol; /* as hone_import_options */
    size_t n_symbol;
    void (*progress)(void *arg, const char *stage, size_t done, size_t total); /* NULL: none */
    void *progress_arg;
} hone_compile_options;

typedef struct hone_compile_result {
    uint32_t n_kernels, n_distinct, n_fallback,
        n_nodes; /* fallback: kernels replaced by their reference version; see text */
    uint64_t arena_b, lower_bound_b, weights_b, code_b;
    double time_s, import_s, passes_s, emit_s, compiler_s, parity_s; /* the whole, and its stages */
    char *text; /* a summary for people, with each fallback and its reason; hone_free */
} hone_compile_result;

/* Leaves the graph as it is. Failures: those of hone_import_onnx, E_TOOL (the compiler), E_IO. Nothing is left behind by a failed call. */
HONE_API hone_rc hone_compile_onnx(const char *path, const hone_compile_options *options, hone_compile_result *out,
                                   hone_err *err);
HONE_API hone_rc hone_compile_graph(hone_graph *g, const char *name, const hone_compile_options *options,
                                    hone_compile_result *out, hone_err *err);

/* A loaded artifact. */
typedef struct hone_program hone_program;
HONE_API hone_rc hone_program_load(const char *path, uint32_t n_threads, hone_program **out, hone_err *err);
HONE_API const hone_model *hone_program_model(const hone_program *p);
/* out[i].data is the caller's afterwards: hone_free. */
HONE_API hone_rc hone_program_run(hone_program *p, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                                  hone_err *err);
HONE_API void hone_program_free(hone_program *p);

#ifdef __cplusplus
}
#endif
#endif
