/* hone/onnx.h — what is ONNX's alone: the operators that hone knows, tensors in files, synthetic models.
 *
 * Errors: as each function says.
 */
#ifndef HONE_ONNX_H
#define HONE_ONNX_H

#include <hone/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ONNX operators that hone knows, as rows "domain", "name", first opset; i from 0. False past the end. */
typedef struct hone_import_operator {
    const char *domain, *name;
    int since, until; /* opsets of this row, both included */
} hone_import_operator;
HONE_API bool hone_import_operator_at(size_t i, hone_import_operator *out);

/* A serialised TensorProto (a file input_0.pb of a test case), fully decoded; data is the caller's: hone_free. */
HONE_API hone_rc hone_import_tensor(const char *path, hone_array *out, hone_err *err);

/* Synthetic models: the graphs of well-known architectures as exporters write them, with random weights, for tests and
 * benchmarks (a model's speed does not depend on its weights' values). Weights are Gaussian, scaled so that activations
 * stay finite; the same arguments always give the same file. */
typedef struct hone_gen_architecture {
    const char *name, *summary;
} hone_gen_architecture;
HONE_API bool hone_gen_architecture_at(size_t i, hone_gen_architecture *out); /* i from 0; false past the end */
typedef struct hone_gen_options {
    size_t size;        /* hone_gen_defaults() sets it */
    int64_t batch, seq; /* sizes written into the model, at least 1; 1 and 128 */
    bool dynamic;       /* symbolic dimensions "batch" and "seq" instead */
} hone_gen_options;
static inline hone_gen_options hone_gen_defaults(void) {
    hone_gen_options o = HONE_ZERO;
    o.size = sizeof o;
    o.batch = 1, o.seq = 128;
    return o;
}
typedef struct hone_gen_summary {
    uint64_t n_parameters, n_nodes, size_b;
} hone_gen_summary;
/* Writes the model to path; memory does not grow with its weights. out: may be NULL. Failures: E_NOTFOUND (no such
 * architecture: names the nearest), E_USAGE (a size), E_IO, E_NOMEM. */
HONE_API hone_rc hone_gen_onnx(const char *architecture, const char *path, const hone_gen_options *options,
                               hone_gen_summary *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
