/* hone/quantize.h — a language model in smaller types: a GGUF file is read, its weights are encoded anew, and a GGUF
 * file is written.
 *
 *     hone_quantize_options o = hone_quantize_defaults();
 *     o.type = "q4_K_M";
 *     if (hone_quantize_file("model-f16.gguf", "model-q4_K_M.gguf", &o, &result, &err)) …
 *     hone_quantize_result_free(&result);
 *
 * Scales are searched for: of all that can be written, those whose weights err least in the sum of squares, each square
 * times the importance of its column where a matrix of importances is given. The same input and options give the same
 * bytes, whatever n_jobs is.
 * Units:   bytes, seconds.
 * Errors:  E_IO, E_INPUT (a damaged file; a weight that is infinite or no number: names the tensor and the place),
 *          E_USAGE (an unknown type, a pattern that fits no tensor, an output that is there already), E_UNSUPPORTED (a
 *          type whose values are not read), E_INTERRUPTED (*stop). A file that was there is left as it was.
 */
#ifndef HONE_QUANTIZE_H
#define HONE_QUANTIZE_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_quantize_options {
    size_t size;
    const char *type;               /* as hone_quantize_type gives them; NULL: q4_K_M */
    const char *const *tensor_type; /* "PATTERN=TYPE": tensors whose names a shell pattern fits; the first that does */
    size_t n_tensor_type;
    const char *importance; /* a file as hone_quantize_importance or llama.cpp's llama-imatrix writes it; NULL: none */
    uint32_t n_jobs;        /* threads; 0: processors */
    bool force;             /* an output that is there is replaced */
    bool dry_run;           /* nothing is written: types and sizes alone */
    hone_progress progress; /* stage "quantize", in bytes of the input; before it those of hone_quantize_importance */
    const volatile int *stop;
    const char *importance_text; /* in place of a file: importances from this text; NULL: none */
    size_t n_importance_text;    /* its bytes */
} hone_quantize_options;
static inline hone_quantize_options hone_quantize_defaults(void) {
    hone_quantize_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* The i-th type that a model can be made of ("q8_0", "q4_K_M", …), and what it is; NULL past the end. */
HONE_API const char *hone_quantize_type(size_t i, const char **summary);

typedef struct hone_quantize_tensor {
    const char *name, *from, *to; /* types: "F16", "Q4_K" */
    const char *instead_of;       /* the type that its rows do not fit; NULL: none */
    bool again;                   /* it was in blocks before: what was lost then stays lost */
    bool weighted;                /* by importances */
    uint64_t before_b, after_b;
    double error; /* root mean square error over root mean square; 0 when dry or copied */
} hone_quantize_tensor;

typedef struct hone_quantize_result {
    hone_quantize_tensor *tensor;
    size_t n;
    uint64_t before_b, after_b; /* whole files */
    double time_s;
    void *own;
} hone_quantize_result;
HONE_API void hone_quantize_result_free(hone_quantize_result *r);

/* *result: hone_quantize_result_free, after a success; may be NULL. output may be NULL in a dry run. */
HONE_API hone_rc hone_quantize_file(const char *path, const char *output, const hone_quantize_options *options,
                                    hone_quantize_result *result, hone_err *err);

/* --- importances ----------------------------------------------------------------------------------------------------
 */

typedef struct hone_quantize_importance_options {
    size_t size;
    uint32_t window;        /* tokens that are read together, each window without a past; 0: 512 */
    uint64_t windows;       /* at most; 0: the whole text */
    const char *dataset;    /* name of the text, for the file; NULL: none */
    bool force;             /* an output that is there is replaced */
    uint32_t n_threads;     /* 0: processors */
    const char *compiler;   /* NULL: cc */
    const char *target;     /* NULL: "native" */
    hone_progress progress; /* stages of hone_compile_model; then "text", in tokens */
    const volatile int *stop;
} hone_quantize_importance_options;
static inline hone_quantize_importance_options hone_quantize_importance_defaults(void) {
    hone_quantize_importance_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

typedef struct hone_quantize_importance_result {
    uint64_t tensors, tokens, windows;
    double time_s;
} hone_quantize_importance_result;

/* path: a GGUF file or a folder. Compiles the model with a sum beside each product of a matrix, runs it over a text of
 * n bytes, and writes a GGUF file: NAME.in_sum2, the sum of the squares of what each column is multiplied with, and
 * NAME.counts, how many there were. Experts' matrices are left out. result may be NULL. Errors besides those above: of
 * hone_compile_model. */
HONE_API hone_rc hone_quantize_importance(const char *path, const char *text, size_t n, const char *output,
                                          const hone_quantize_importance_options *options,
                                          hone_quantize_importance_result *result, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
