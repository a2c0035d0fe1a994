/* quantize/mix.h — which tensor of a model becomes which type. The mixes are those that published files have. */
#ifndef HN_MIX_H
#define HN_MIX_H

#include "gguf/gguf.h"
#include "ir/blocks.h"

typedef struct hn_mix {
    const char *name, *type, *more; /* more: of the tensors that gain most by it; NULL: no mix */
    const char *joint;              /* of joint query, key and value weights; NULL: type */
    uint32_t file_type;             /* general.file_type */
    const char *summary;
} hn_mix;

const hn_mix *hn_mix_at(size_t i);
const hn_mix *hn_mix_named(const char *name); /* upper or lower case */

/* What of the model matters. */
typedef struct hn_mix_model {
    int64_t layers, experts;
    bool has_output; /* a head that is not the embedding */
} hn_mix_model;
hn_mix_model hn_mix_model_of(const hn_gguf *g);

/* Whether a tensor is one that changes its type at all: matrices of products, embeddings; not norms, biases, routers.
 */
bool hn_mix_takes(const hn_gguf_tensor *t);
const hn_block_type *hn_mix_pick(const hn_mix *m, const hn_mix_model *model, const hn_gguf_tensor *t);
/* The type itself, or the nearest larger one whose blocks fit rows of this length. */
const hn_block_type *hn_mix_fit(const hn_block_type *t, uint64_t columns);

#endif
