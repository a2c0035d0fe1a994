/* gguf/write.h — a GGUF file, version 3, written in one go: keys and tensors are announced, then data follows.
 *
 *     hn_gguf_writer *w = hn_gguf_writer_new();
 *     hn_gguf_put_text(w, "general.architecture", "llama", 5);
 *     hn_gguf_put_tensor(w, "output.weight", type, 2, dim);
 *     rc = hn_gguf_write(w, "model.gguf", fill, arg, &err);
 *
 * Owns:   copies of what it is given, until hn_gguf_writer_free.
 * Errors: lack of memory is sticky and comes out of hn_gguf_write. A key or a tensor put twice is our own bug.
 */
#ifndef HN_GGUF_WRITE_H
#define HN_GGUF_WRITE_H

#include "gguf/gguf.h"

typedef struct hn_gguf_writer hn_gguf_writer;

hn_gguf_writer *hn_gguf_writer_new(void); /* NULL: no memory */
void hn_gguf_writer_free(hn_gguf_writer *w);

/* A pair of another file, as it is. */
void hn_gguf_put_pair(hn_gguf_writer *w, const hn_gguf_pair *p);
void hn_gguf_put_u32(hn_gguf_writer *w, const char *key, uint32_t x);
void hn_gguf_put_i32(hn_gguf_writer *w, const char *key, int32_t x);
void hn_gguf_put_f32(hn_gguf_writer *w, const char *key, float x);
void hn_gguf_put_bool(hn_gguf_writer *w, const char *key, bool x);
void hn_gguf_put_text(hn_gguf_writer *w, const char *key, const char *text, size_t n);
void hn_gguf_put_texts(hn_gguf_writer *w, const char *key, const hn_gguf_text *text, size_t n);
void hn_gguf_put_f32s(hn_gguf_writer *w, const char *key, const float *x, size_t n);
void hn_gguf_put_i32s(hn_gguf_writer *w, const char *key, const int32_t *x, size_t n);

/* dim: outermost first. Its number is the number of those put before. type: a row of blocks.def. */
void hn_gguf_put_tensor(hn_gguf_writer *w, const char *name, uint32_t type, size_t rank, const uint64_t *dim);

/* Bytes of the whole file. */
uint64_t hn_gguf_written_b(const hn_gguf_writer *w);

/* Where a tensor's bytes go, piece by piece, all of them. */
typedef struct hn_gguf_sink hn_gguf_sink;
bool hn_gguf_sink_put(hn_gguf_sink *s, const void *data, size_t n); /* false: the disk is full, or the like */

/* Writes beside the path and renames in the end. fill is asked for each tensor in turn; what it fails with comes out.
 */
hone_rc hn_gguf_write(hn_gguf_writer *w, const char *path,
                      hone_rc (*fill)(void *arg, size_t tensor, hn_gguf_sink *to, hone_err *err), void *arg,
                      hone_err *err);

#endif
