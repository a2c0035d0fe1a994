/* tests/unit/onnx/onnx_memory.h — bytes given to the ONNX front end, whatever they look like. */
#ifndef HN_ONNX_MEMORY_H
#define HN_ONNX_MEMORY_H

#include "onnx/onnx.h"

static inline hone_rc onnx_import(const void *data, size_t n, const hone_import_options *options, hone_graph **out,
                                  char **report, hone_err *err) {
    const hone_import_options none = hone_import_defaults();
    char *lines = NULL;
    hone_rc rc =
        hn_front_onnx.import(&(hn_front_source){.data = data, .n = n}, options ? options : &none, out, &lines, err);
    if (report)
        *report = lines;
    else
        hone_free(lines);
    return rc;
}

#endif
