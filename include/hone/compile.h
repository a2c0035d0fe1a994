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
    const char *target;   /* NULL: "native", of C "generic"; "x86-64-v3", "x86-64-v4", "aarch64"; several in one
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
    bool no_cache;             /* compile even what was compiled before, by the same hone and compiler */
    uint32_t n_jobs;           /* compilers at once; 0: processors */
    uint32_t n_threads;        /* that it is to run on, which decides among winners; 0: processors */
    const char *const *symbol; /* as hone_import_options */
    size_t n_symbol;
    const char *const *specialize; /* "seq=128,512", "batch=1,seq=128": further versions for these sizes */
    size_t n_specialize;
    void (*progress)(void *arg, const char *stage, size_t done, size_t total); /* NULL: none */
    void *progress_arg;
    const volatile int *stop; /* set asynchronously to end with E_INTERRUPTED; NULL: none */
} hone_compile_options;

typedef struct hone_compile_result {
    uint32_t n_kernels, n_distinct, n_fallback,
        n_nodes;        /* fallback: kernels replaced by their reference version; see text */
    uint32_t n_winners; /* distinct kernels whose schedule is a winner's */
    bool cached;        /* the library, and what parity found, come from an earlier compilation */
    uint64_t arena_b, lower_bound_b, weights_b, code_b;
    double time_s, import_s, passes_s, emit_s, compiler_s, parity_s; /* the whole, and its stages */
    char *text; /* a summary for people, with each fallback and its reason; hone_free */
} hone_compile_result;

/* Leaves the graph as it is. Failures: those of hone_import_onnx, E_TOOL (the compiler), E_IO, E_INTERRUPTED (*stop;
 * what runs is ended). Nothing is left behind by a failed call. */
HONE_API hone_rc hone_compile_onnx(const char *path, const hone_compile_options *options, hone_compile_result *out,
                                   hone_err *err);
HONE_API hone_rc hone_compile_graph(hone_graph *g, const char *name, const hone_compile_options *options,
                                    hone_compile_result *out, hone_err *err);

/* A loaded artifact. */
typedef struct hone_artifact hone_artifact;
HONE_API hone_rc hone_artifact_load(const char *path, uint32_t n_threads, hone_artifact **out, hone_err *err);
HONE_API const hone_model *hone_artifact_model(const hone_artifact *p);
/* out[i].data is the caller's afterwards: hone_free. */
HONE_API hone_rc hone_artifact_run(hone_artifact *p, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                                   hone_err *err);
HONE_API void hone_artifact_free(hone_artifact *p);

/* --- arrays: comparing, and NumPy's file format ------------------------------------------------------------------ */

typedef struct hone_array_difference {
    bool same;               /* shape and type agree and no element is outside |got - want| <= atol + rtol * |want| */
    double max_abs, max_rel; /* over pairs of finite elements */
    int64_t n_wrong, at;     /* elements outside; flat index of the worst, -1 where shapes or types differ */
} hone_array_difference;
/* NaN equals NaN, infinities by sign, integers and bools exactly. */
HONE_API hone_rc hone_array_compare(const hone_array *got, const hone_array *want, double rtol, double atol,
                                    hone_array_difference *out, hone_err *err);

/* npy, versions 1 to 3, little-endian, C or Fortran order. Types that NumPy lacks (bf16, 8-bit floats …) are written as
 * unsigned integers of their size. data is the caller's: hone_free. E_INPUT names the label and what is wrong. */
HONE_API hone_rc hone_npy_parse(const void *data, size_t n, const char *label, hone_array *out, hone_err *err);
HONE_API hone_rc hone_npy_read(const char *path, hone_array *out, hone_err *err);
HONE_API hone_rc hone_npy_format(const hone_array *a, void **data, size_t *n, hone_err *err);
HONE_API hone_rc hone_npy_write(const hone_array *a, const char *path, hone_err *err);

/* --- a peer: ONNX Runtime or OpenVINO in a Python process of its own
 * --------------------------------------------------------- */

typedef struct hone_peer hone_peer;
/* Python: $HONE_PYTHON, build/venv/bin/python, python3: the first that imports onnxruntime; E_UNSUPPORTED when none
 * does. n_threads 0: its default. All its optimisations are on. */
HONE_API hone_rc hone_peer_open(const char *onnx, uint32_t n_threads, hone_peer **out, hone_err *err);
/* engine: "onnxruntime", which is the above, or "openvino": in f32, compiled for the sizes of each hone_peer_run. */
HONE_API hone_rc hone_peer_open_as(const char *engine, const char *onnx, uint32_t n_threads, hone_peer **out,
                                   hone_err *err);
HONE_API const char *hone_peer_name(const hone_peer *p); /* "onnxruntime 1.30.0" */
/* As hone_artifact_run. */
HONE_API hone_rc hone_peer_run(hone_peer *p, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                               hone_err *err);
/* Runs the last inputs n times; time_s[i]: of each, by the clock of its process. */
HONE_API hone_rc hone_peer_time(hone_peer *p, size_t n, double *time_s, hone_err *err);
HONE_API void hone_peer_close(hone_peer *p); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
