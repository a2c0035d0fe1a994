/* hf/to_gguf.h — a folder as what a GGUF file has: tensors by its names, keys, the tokenizer.
 *
 * Families whose GGUF files say all that the folder says: llama, mistral, qwen2, qwen3; tokenizers of byte-level pairs
 * whose cuts are one of text/patterns.def (found by comparing what both make of a text that tells them apart).
 * Owns:    the files' mappings, until hn_hf_gguf_close; tensors point into them.
 * Errors:  those of the folder's readers; E_UNSUPPORTED: another family, or another tokenizer (says what).
 */
#ifndef HN_HF_TO_GGUF_H
#define HN_HF_TO_GGUF_H

#include "gguf/write.h"

typedef struct hn_hf_gguf hn_hf_gguf;

typedef struct hn_hf_gguf_tensor {
    hn_gguf_tensor t;
    uint64_t head; /* rows of a head, whose halves are to be interleaved; 0: rows stay as they are */
} hn_hf_gguf_tensor;

hone_rc hn_hf_gguf_open(const char *folder, hn_hf_gguf **out, hone_err *err);
void hn_hf_gguf_close(hn_hf_gguf *h);
size_t hn_hf_gguf_tensors(const hn_hf_gguf *h);
const hn_hf_gguf_tensor *hn_hf_gguf_tensor_at(const hn_hf_gguf *h, size_t i);
int64_t hn_hf_gguf_layers(const hn_hf_gguf *h);
uint64_t hn_hf_gguf_size_b(const hn_hf_gguf *h);
/* All keys but those that depend on the types of tensors. */
hone_rc hn_hf_gguf_put_keys(const hn_hf_gguf *h, hn_gguf_writer *w, hone_err *err);

#endif
