/* gguf/arch.h — architectures: how a GGUF file's keys and tensors make a decoder. A new one is a row in arch.c.
 * The names of keys and tensors are those of ggml's converter. */
#ifndef HN_ARCH_H
#define HN_ARCH_H

#include "base/str.h"
#include "compose/decoder.h"
#include "gguf/gguf.h"

typedef struct hn_arch {
    const char *name; /* `general.architecture` */
    const char *summary;
    /* What files do not say, because all models of the family have it; see hn_decoder. */
    bool interleaved, gelu, gelu_exact, layer_norm, ungated, parallel, post_norms, experts_normalised;
    bool learned;            /* positions are embeddings: nothing is turned */
    bool scaled_embedding;   /* times the square root of the width */
    bool scales;             /* `logit_scale` divides, `residual_scale` and `embedding_scale` multiply */
    bool expert_shared;      /* one expert is for all tokens */
    int64_t window_every;    /* where no key says it; 0: all layers have the window, if there is one */
    int64_t window;          /* where no key says it */
    int64_t wide_layers;     /* a model of so many layers has an attention scale of 1 / sqrt(width / heads) */
    double base, base_local; /* of rotary positions where no key says it; 0: 10,000, the same */
    double attention_softcap, logit_softcap; /* where no key says it */
} hn_arch;

/* NULL past the end; NULL: not known. */
const hn_arch *hn_arch_at(size_t i);
const hn_arch *hn_arch_named(const char *name, size_t n);

/* Fills all of *out but `weight` and `arg` from the file's keys. refused (zeroed; the caller's): a line for each key
 * and each tensor that is not read, all of them; a model with such lines must not be built. E_INPUT: a key is missing
 * or makes no sense (names it). */
hone_rc hn_arch_read(const hn_arch *a, const hn_gguf *g, hn_decoder *out, hn_str *refused, hone_err *err);

/* The name of the tensor of a role. layer is ignored by roles of the whole model. */
void hn_arch_tensor(hn_decoder_role role, int64_t layer, char *out, size_t room);
/* The name of one expert's matrix in files that do not stack them; false: no role of experts. */
bool hn_arch_expert_tensor(hn_decoder_role role, int64_t layer, int64_t expert, char *out, size_t room);
/* The role of a tensor of this name; HN_ROLES: none. */
hn_decoder_role hn_arch_role(const hn_decoder *d, const char *name);

#endif
