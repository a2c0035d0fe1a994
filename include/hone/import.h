/* hone/import.h — model files become graphs, whatever their format.
 *
 * The format is known by a file's content; where that says nothing, by the end of its name. What is unsupported is
 * refused at once and in full: the error says how many nodes, the report lists each with name, operator, opset and
 * reason.
 */
#ifndef HONE_IMPORT_H
#define HONE_IMPORT_H

#include <hone/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The formats; i from 0. False past the end. */
typedef struct hone_import_format {
    const char *name, *summary, *suffix; /* "onnx", "ONNX model", ".onnx" */
} hone_import_format;
HONE_API bool hone_import_format_at(size_t i, hone_import_format *out);
/* Name of the format of a file, or of the one that a file of this name should have; NULL: none of them. A file that is
 * no regular one is not read. */
HONE_API const char *hone_import_format_of(const char *path);

typedef struct hone_import_options {
    size_t size;               /* hone_import_defaults() sets it */
    const char *const *symbol; /* "batch=1:64" or "seq=128" fixes or bounds symbolic dimensions; unknown names are
                                  E_USAGE naming the nearest */
    size_t n_symbol;
    uint64_t max_file_b; /* refuses larger models; 0: no limit */
} hone_import_options;
static inline hone_import_options hone_import_defaults(void) {
    hone_import_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* Reads a model (data in files beside it, too). Failures: E_IO, E_INPUT (damaged, inconsistent or cyclic: names the
 * node; of no known format: lists them), E_LIMIT, E_USAGE (an option), E_UNSUPPORTED (see report), E_NOMEM. report:
 * NULL, or receives a text with one line per refused node (also when the call fails); hone_free.
 */
HONE_API hone_rc hone_import_model(const char *path, const hone_import_options *options, hone_graph **out,
                                   char **report, hone_err *err);
/* As above from memory; data in other files is then an error. */
HONE_API hone_rc hone_import_memory(const void *data, size_t n, const hone_import_options *options, hone_graph **out,
                                    char **report, hone_err *err);

/* What is in the file, as JSON: format, what only that format has, inputs, outputs, parameters, operators with counts
 * and whether hone supports each; hone_free. */
HONE_API hone_rc hone_import_inspect(const char *path, char **json, hone_err *err);

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
