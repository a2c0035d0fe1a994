/* hone/ir.h — the graph IR of the compiler: read, check, print and run a graph.
 *
 * A graph is immutable for users of this header; hone/import.h makes one of an ONNX model, hone/compile.h a library of
 * it. docs/ir.md describes the text form and lists the operations. Threads: a graph may be read by several threads at
 * once.
 */
#ifndef HONE_IR_H
#define HONE_IR_H

#include <hone/array.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_graph hone_graph;

/* Reads the text form (docs/ir.md) from a file. Failures: E_IO, E_INPUT (path:line:column: …), E_NOMEM. Free with
 * hone_graph_free. */
HONE_API hone_rc hone_graph_read(const char *path, hone_graph **out, hone_err *err);
HONE_API hone_rc hone_graph_parse(const char *text, size_t n, hone_graph **out, hone_err *err);
/* The text form; free with hone_free. */
HONE_API hone_rc hone_graph_print(const hone_graph *g, char **out, hone_err *err);
/* As hone_graph_print, but constants of more than 256 elements go to a side file, raw, which is written to this path;
 * hone_graph_read looks for it beside the text. */
HONE_API hone_rc hone_graph_print_weights(const hone_graph *g, const char *weights, char **out, hone_err *err);
/* Checks every invariant of src/ir/graph.h; E_INPUT names the node. */
HONE_API hone_rc hone_graph_verify(const hone_graph *g, hone_err *err);
HONE_API void hone_graph_free(hone_graph *g); /* accepts NULL */

/* Inputs and outputs: name, element type, and the shape as text such as "[batch, 3, 224, 224]". Strings live as long as
 * the graph. */
typedef struct hone_graph_port {
    const char *name;
    hone_dtype dtype;
    uint32_t rank;
    const char *shape;
    int64_t dim[HONE_RANK_MAX]; /* -1 where symbolic */
} hone_graph_port;
HONE_API size_t hone_graph_inputs(const hone_graph *g);
HONE_API size_t hone_graph_outputs(const hone_graph *g);
HONE_API hone_rc hone_graph_input(const hone_graph *g, size_t i, hone_graph_port *out, hone_err *err);
HONE_API hone_rc hone_graph_output(const hone_graph *g, size_t i, hone_graph_port *out, hone_err *err);

/* Runs the reference interpreter. in[i] belongs to input i. Each out[i].data is the caller's afterwards: hone_free. */
HONE_API hone_rc hone_graph_run(const hone_graph *g, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                                hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
