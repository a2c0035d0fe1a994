/* serve/tensor_load.h — requests of the Open Inference Protocol with random inputs, made from a model's metadata.
 *
 * Owns:    a body owns its bytes; free() them.   Errors: E_INPUT (metadata that are none, a type that has no bytes of a
 * fixed size), E_LIMIT (more than HN_TENSOR_MOST_B), E_NOMEM.
 */
#ifndef HN_SERVE_TENSOR_LOAD_H
#define HN_SERVE_TENSOR_LOAD_H

#include <hone/base.h>
#include <jansson.h>

enum { HN_TENSOR_SIZES = 16, HN_TENSOR_MOST_B = 1 << 30 };

typedef struct hn_tensor_body {
    char *bytes; /* JSON, then the inputs' data (the extension for binary tensors) */
    size_t n, n_json;
} hn_tensor_body;

/* Sizes "8,128": the first is that of the first symbolic dimension of each input, and so on; the last one is for all
 * that follow. NULL: 1. Returns their number; 0: they are none. */
size_t hn_tensor_sizes(const char *text, int64_t size[HN_TENSOR_SIZES]);

/* metadata: the answer to GET /v2/models/NAME. most_b: of all inputs together. Floats lie in [-1, 1], whole numbers in
 * 0 … 9, by seed and index alone.
 */
hone_rc hn_tensor_body_make(const json_t *metadata, const int64_t *size, size_t n_size, size_t most_b, uint64_t seed,
                            uint64_t index, hn_tensor_body *out, hone_err *err);

#endif
