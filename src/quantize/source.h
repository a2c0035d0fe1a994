/* quantize/source.h — the model that is read: a GGUF file or a Hugging Face folder, as tensors with GGUF's names. */
#ifndef HN_MODEL_SOURCE_H
#define HN_MODEL_SOURCE_H

#include "hf/to_gguf.h"
#include "quantize/mix.h"

typedef struct hn_model_source {
    hn_gguf *file;      /* one of the two */
    hn_hf_gguf *folder; /* its path must outlive it */
} hn_model_source;

hone_rc hn_model_source_open(const char *path, hn_model_source *out, hone_err *err);
void hn_model_source_close(hn_model_source *s);
size_t hn_model_source_tensors(const hn_model_source *s);
const hn_gguf_tensor *hn_model_source_at(const hn_model_source *s, size_t i);
uint64_t hn_model_source_head(const hn_model_source *s, size_t i); /* as head of hn_hf_gguf_tensor */
/* The type that the tensor has where it is not made smaller: its own, of a folder's vectors F32. */
const hn_block_type *hn_model_source_kept(const hn_model_source *s, size_t i);
hn_mix_model hn_model_source_model(const hn_model_source *s);
uint64_t hn_model_source_size_b(const hn_model_source *s);
/* All keys but those that the writer of smaller models writes itself. */
hone_rc hn_model_source_put_keys(const hn_model_source *s, hn_gguf_writer *w, hone_err *err);

#endif
