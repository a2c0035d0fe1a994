/* front/summary.h — what is in a model file, the same for all formats: what `hone inspect` prints.
 *
 * Owns: everything lies in its arena; zero-initialise, free with hn_summary_free. Failure is sticky in the arena.
 * Texts may be anything that stands in the file: printing escapes them.
 */
#ifndef HN_SUMMARY_H
#define HN_SUMMARY_H

#include "base/str.h"
#include "ir/graph.h"

typedef struct hn_summary_dim {
    const char *name; /* NULL: size is the number */
    int64_t size;     /* -1 without a name: not known */
} hn_summary_dim;
typedef struct hn_summary_port {
    const char *name, *type; /* type: "f32", or as the format calls it */
    bool ranked;             /* false: the number of dimensions is not known */
    size_t rank;
    hn_summary_dim *dim;
} hn_summary_port;
typedef struct hn_summary_operator {
    const char *domain, *name; /* domain: "" where the format has none */
    uint64_t count;
    bool function; /* defined by the model itself */
    bool supported;
} hn_summary_operator;

typedef struct hn_model_summary {
    hn_arena arena;
    hn_str facts; /* what only this format has: JSON members, each with a comma behind it */
    hn_str about; /* the same for people: see hn_summary_about */
    hn_summary_port *input, *output;
    size_t n_input, n_output;
    hn_summary_operator *op;
    size_t n_op;
    uint64_t n_nodes, n_tensors, n_elements; /* tensors and elements of parameters */
} hn_model_summary;

/* A line for people: "opsets" and "ai.onnx 17". An empty label continues the one above. */
void hn_summary_about(hn_model_summary *s, const char *label, const char *text);
/* Adds "key":"text", to the facts. */
void hn_summary_fact(hn_model_summary *s, const char *key, const char *text);
/* Ports, operations and constants of a graph: enough for formats that a reader turns into a graph at once. */
void hn_summary_of_graph(const hn_graph *g, hn_model_summary *out);
/* Appends JSON members: "facts…,"about":…,"inputs":… up to "operators":[…]. */
void hn_summary_print(hn_model_summary *s, hn_str *out);
void hn_summary_free(hn_model_summary *s);

#endif
