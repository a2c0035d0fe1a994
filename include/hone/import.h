/* hone/import.h — model files become graphs, whatever their format.
 *
 * The format is known by a file's content; where that says nothing, by the end of its name. What is unsupported is
 * refused at once and in full: the error says how many nodes, the report lists each with name, operator, opset and
 * reason.
 */
#ifndef HONE_IMPORT_H
#define HONE_IMPORT_H

#include <hone/front.h>
#include <hone/onnx.h>

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

#ifdef __cplusplus
}
#endif
#endif
