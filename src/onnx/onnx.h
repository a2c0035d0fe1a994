/* onnx/onnx.h — an ONNX file taken apart: the model's messages and the numbers of its tensors.
 *
 * Owns: the messages, and mappings of external data, until hn_onnx_close. Tensors borrow from it wherever the bytes
 * can be used as they are.   Threads: one at a time.
 * Errors: E_IO, E_INPUT (damaged or inconsistent: sizes are checked against the file before memory is taken), E_LIMIT,
 * E_UNSUPPORTED (element types that hone lacks), E_NOMEM.
 */
#ifndef HN_ONNX_H
#define HN_ONNX_H

#include "front/front.h"

struct HnOnnx__Model;
struct HnOnnx__Tensor;
struct HnOnnx__SparseTensor;

typedef struct hn_onnx hn_onnx;

extern const hn_front hn_front_onnx; /* import.c */

/* In memory, external data is an error. */
hone_rc hn_onnx_open(const hn_front_source *from, hn_onnx **out, hone_err *err);
void hn_onnx_close(hn_onnx *m); /* accepts NULL */
const struct HnOnnx__Model *hn_onnx_model(const hn_onnx *m);
hn_arena *hn_onnx_arena(hn_onnx *m); /* lives as long as the model */

/* `what` names the tensor in messages ("initializer 'w'"). */
hone_rc hn_onnx_tensor(hn_onnx *m, const struct HnOnnx__Tensor *t, const char *what, hn_tensor *out, hone_err *err);
hone_rc hn_onnx_sparse(hn_onnx *m, const struct HnOnnx__SparseTensor *t, const char *what, hn_tensor *out,
                       hone_err *err);

/* The number of an element type in ONNX (TensorProto.DataType), and back. */
int hn_onnx_dtype(hone_dtype t);
bool hn_dtype_from_onnx(int code, hone_dtype *out);
/* Name of an ONNX element type ("string", "complex64"), for messages. */
const char *hn_onnx_dtype_name(int code);

#endif
