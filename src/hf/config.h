/* hf/config.h — architectures: how config.json and the names of tensors make a decoder. A new one is a row in
 * families.c.
 */
#ifndef HN_HF_CONFIG_H
#define HN_HF_CONFIG_H

#include "base/str.h"
#include "compose/decoder.h"

#include <jansson.h>

typedef enum hn_hf_window {
    HN_HF_WINDOW_NONE,
    HN_HF_WINDOW_KEY,  /* where `sliding_window` is a number */
    HN_HF_WINDOW_USED, /* where `use_sliding_window` says so as well */
} hn_hf_window;

typedef struct hn_hf_arch {
    const char *type;           /* `model_type` */
    const char *gguf;           /* the row of gguf/arch.c with the habits of the family */
    const char *const *tensor;  /* by role: "layers.%.mlp.up_proj.weight"; NULL: the family has none */
    const char *const *ignored; /* tensors that say nothing, up to NULL */
    bool tied;                  /* whether the head is the embedding where `tie_word_embeddings` is missing */
    bool norms_from_one;        /* norms' scales are stored as what is added to 1 */
    bool transposed;            /* layers' matrices are [summed, results] */
    bool head_by_head;          /* joint rows: query, key and value of the first head, those of the second, … */
    bool shares_normalised;     /* of experts, where `norm_topk_prob` is missing */
    hn_hf_window window;
} hn_hf_arch;

/* families.c: NULL past the end; NULL: not known. */
const hn_hf_arch *hn_hf_arch_at(size_t i);
const hn_hf_arch *hn_hf_arch_named(const char *type);
/* The name of the tensor of a role without the prefix "model." or "transformer."; "" where the family has none. expert
 * counts for roles of experts alone. */
void hn_hf_tensor(const hn_hf_arch *a, hn_decoder_role role, int64_t layer, int64_t expert, char *out, size_t room);
bool hn_hf_of_experts(const hn_hf_arch *a, hn_decoder_role role); /* one tensor an expert */
/* The role of a tensor of this name, without a prefix; HN_ROLES: none. */
hn_decoder_role hn_hf_role(const hn_hf_arch *a, const char *name);
bool hn_hf_transposed(const hn_hf_arch *a, hn_decoder_role role);
/* Whether a tensor of this name says nothing that is needed. */
bool hn_hf_ignored(const hn_hf_arch *a, const char *name);

/* A model's numbers. */
typedef struct hn_hf_config {
    const hn_hf_arch *arch;
    hn_decoder d;          /* all but `weight` and `arg` */
    bool tied;             /* the head is the embedding, whatever tensors there are */
    float *rotary_factors; /* of HN_ROTARY_LONG: d.rotary / 2 of short texts, then as many of long ones; else NULL. The
                              caller's, free */
} hn_hf_config;

/* E_INPUT, E_UNSUPPORTED: `lines` has a line for each thing that is missing, makes no sense or is not read; *n counts
 * them. */
hone_rc hn_hf_config_read(const json_t *config, const char *label, hn_hf_config *out, hn_str *lines, size_t *n,
                          hone_err *err);

#endif
