/* onnx/external.h — tensor data in files beside the model, and the private part of hn_onnx.
 *
 * A location is a relative path without `..` that stays below the model's folder after all links are followed. Each
 * file is mapped once.
 */
#ifndef HN_EXTERNAL_H
#define HN_EXTERNAL_H

#include "base/map.h"
#include "onnx/onnx.h"

typedef struct hn_external {
    const char *location;
    hn_mapping map;
    struct hn_external *next;
} hn_external;

struct hn_onnx {
    hn_arena arena;
    const struct HnOnnx__Model *model;
    char *dir;          /* resolved; NULL: the model came from memory */
    uint64_t file_b;    /* size of what was parsed */
    uint64_t widened_b; /* taken beyond the file's size for sparse tensors */
    hn_external *external;
};

/* The bytes that a tensor's external_data names: exactly need_b of them. */
hone_rc hn_external_bytes(hn_onnx *m, const struct HnOnnx__Tensor *t, const char *what, uint64_t need_b,
                          const void **out, hone_err *err);

#endif
