/* families.c — the architectures of folders: names of tensors by role, and habits that no key says. `%` stands for a
 * layer's number, `#` for an expert's. */
#include "hf/config.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A matrix or a norm, and its bias. */
#define NAMED(role, name) [HN_ROLE_##role] = name ".weight", [HN_ROLE_##role##_BIAS] = name ".bias"

#define MODEL_NAMES [HN_ROLE_EMBEDDING] = "embed_tokens.weight", NAMED(OUTPUT_NORM, "norm"), NAMED(OUTPUT, "lm_head")
#define QKV_NAMES                                                                                                      \
    NAMED(QUERY, "layers.%.self_attn.q_proj"), NAMED(KEY, "layers.%.self_attn.k_proj"),                                \
        NAMED(VALUE, "layers.%.self_attn.v_proj"), [HN_ROLE_QUERY_NORM] = "layers.%.self_attn.q_norm.weight",          \
                                                   [HN_ROLE_KEY_NORM] = "layers.%.self_attn.k_norm.weight"
#define OUT_NAMES NAMED(ATTENTION_OUT, "layers.%.self_attn.o_proj")
#define GATED_NAMES                                                                                                    \
    NAMED(GATE, "layers.%.mlp.gate_proj"), NAMED(UP, "layers.%.mlp.up_proj"), NAMED(DOWN, "layers.%.mlp.down_proj")
#define TWO_NORMS                                                                                                      \
    NAMED(ATTENTION_NORM, "layers.%.input_layernorm"), NAMED(MLP_NORM, "layers.%.post_attention_layernorm")

static const char *const llama_names[HN_ROLES] = {MODEL_NAMES,
                                                  QKV_NAMES,
                                                  OUT_NAMES,
                                                  GATED_NAMES,
                                                  TWO_NORMS,
                                                  [HN_ROLE_ROUTER] = "layers.%.mlp.gate.weight",
                                                  [HN_ROLE_EXPERTS_GATE] = "layers.%.mlp.experts.#.gate_proj.weight",
                                                  [HN_ROLE_EXPERTS_UP] = "layers.%.mlp.experts.#.up_proj.weight",
                                                  [HN_ROLE_EXPERTS_DOWN] = "layers.%.mlp.experts.#.down_proj.weight",
                                                  [HN_ROLE_SHARED_ROUTER] = "layers.%.mlp.shared_expert_gate.weight",
                                                  [HN_ROLE_SHARED_GATE] = "layers.%.mlp.shared_expert.gate_proj.weight",
                                                  [HN_ROLE_SHARED_UP] = "layers.%.mlp.shared_expert.up_proj.weight",
                                                  [HN_ROLE_SHARED_DOWN] =
                                                      "layers.%.mlp.shared_expert.down_proj.weight"};
static const char *const mixtral_names[HN_ROLES] = {
    MODEL_NAMES,
    QKV_NAMES,
    OUT_NAMES,
    TWO_NORMS,
    [HN_ROLE_ROUTER] = "layers.%.block_sparse_moe.gate.weight",
    [HN_ROLE_EXPERTS_GATE] = "layers.%.block_sparse_moe.experts.#.w1.weight",
    [HN_ROLE_EXPERTS_UP] = "layers.%.block_sparse_moe.experts.#.w3.weight",
    [HN_ROLE_EXPERTS_DOWN] = "layers.%.block_sparse_moe.experts.#.w2.weight"};
static const char *const gemma_names[HN_ROLES] = {
    MODEL_NAMES,
    QKV_NAMES,
    OUT_NAMES,
    GATED_NAMES,
    [HN_ROLE_ATTENTION_NORM] = "layers.%.input_layernorm.weight",
    [HN_ROLE_ATTENTION_POST_NORM] = "layers.%.post_attention_layernorm.weight",
    [HN_ROLE_MLP_NORM] = "layers.%.pre_feedforward_layernorm.weight",
    [HN_ROLE_MLP_POST_NORM] = "layers.%.post_feedforward_layernorm.weight"};
static const char *const olmo2_names[HN_ROLES] = {
    MODEL_NAMES,
    QKV_NAMES,
    OUT_NAMES,
    GATED_NAMES,
    [HN_ROLE_ATTENTION_POST_NORM] = "layers.%.post_attention_layernorm.weight",
    [HN_ROLE_MLP_POST_NORM] = "layers.%.post_feedforward_layernorm.weight"};
static const char *const phi3_names[HN_ROLES] = {MODEL_NAMES,
                                                 OUT_NAMES,
                                                 TWO_NORMS,
                                                 [HN_ROLE_QUERY_KEY_VALUE] = "layers.%.self_attn.qkv_proj.weight",
                                                 [HN_ROLE_UP] = "layers.%.mlp.gate_up_proj.weight",
                                                 [HN_ROLE_DOWN] = "layers.%.mlp.down_proj.weight"};
static const char *const phi_names[HN_ROLES] = {[HN_ROLE_EMBEDDING] = "embed_tokens.weight",
                                                NAMED(OUTPUT_NORM, "final_layernorm"),
                                                NAMED(OUTPUT, "lm_head"),
                                                QKV_NAMES,
                                                NAMED(ATTENTION_NORM, "layers.%.input_layernorm"),
                                                NAMED(ATTENTION_OUT, "layers.%.self_attn.dense"),
                                                NAMED(UP, "layers.%.mlp.fc1"),
                                                NAMED(DOWN, "layers.%.mlp.fc2")};
static const char *const starcoder2_names[HN_ROLES] = {
    MODEL_NAMES, QKV_NAMES, OUT_NAMES, TWO_NORMS, NAMED(UP, "layers.%.mlp.c_fc"), NAMED(DOWN, "layers.%.mlp.c_proj")};
static const char *const gpt2_names[HN_ROLES] = {[HN_ROLE_EMBEDDING] = "wte.weight",
                                                 [HN_ROLE_POSITION] = "wpe.weight",
                                                 [HN_ROLE_OUTPUT] = "lm_head.weight",
                                                 NAMED(OUTPUT_NORM, "ln_f"),
                                                 NAMED(ATTENTION_NORM, "h.%.ln_1"),
                                                 NAMED(MLP_NORM, "h.%.ln_2"),
                                                 NAMED(QUERY_KEY_VALUE, "h.%.attn.c_attn"),
                                                 NAMED(ATTENTION_OUT, "h.%.attn.c_proj"),
                                                 NAMED(UP, "h.%.mlp.c_fc"),
                                                 NAMED(DOWN, "h.%.mlp.c_proj")};

static const char *const neox_names[HN_ROLES] = {[HN_ROLE_EMBEDDING] = "embed_in.weight",
                                                 [HN_ROLE_OUTPUT] = "embed_out.weight",
                                                 NAMED(OUTPUT_NORM, "final_layer_norm"),
                                                 NAMED(ATTENTION_NORM, "layers.%.input_layernorm"),
                                                 NAMED(MLP_NORM, "layers.%.post_attention_layernorm"),
                                                 NAMED(QUERY_KEY_VALUE, "layers.%.attention.query_key_value"),
                                                 NAMED(ATTENTION_OUT, "layers.%.attention.dense"),
                                                 NAMED(UP, "layers.%.mlp.dense_h_to_4h"),
                                                 NAMED(DOWN, "layers.%.mlp.dense_4h_to_h")};

/* What old writers stored beside the weights, computed from the configuration. */
static const char *const angles[] = {"layers.*.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq", NULL};
static const char *const masks[] = {"h.*.attn.bias", "h.*.attn.masked_bias", NULL};

static const char *const neox_masks[] = {"layers.*.attention.bias", "layers.*.attention.masked_bias",
                                         "layers.*.attention.rotary_emb.inv_freq", NULL};

static const hn_hf_arch archs[] = {
    {.type = "llama", .gguf = "llama", .tensor = llama_names, .ignored = angles},
    {.type = "mistral", .gguf = "llama", .tensor = llama_names, .ignored = angles, .window = HN_HF_WINDOW_KEY},
    {.type = "mixtral",
     .gguf = "llama",
     .tensor = mixtral_names,
     .ignored = angles,
     .window = HN_HF_WINDOW_KEY,
     .shares_normalised = true},
    {.type = "qwen2", .gguf = "qwen2", .tensor = llama_names, .ignored = angles, .window = HN_HF_WINDOW_USED},
    {.type = "qwen2_moe", .gguf = "qwen2moe", .tensor = llama_names, .ignored = angles, .window = HN_HF_WINDOW_USED},
    {.type = "qwen3", .gguf = "qwen3", .tensor = llama_names, .ignored = angles, .window = HN_HF_WINDOW_USED},
    {.type = "qwen3_moe", .gguf = "qwen3moe", .tensor = llama_names, .ignored = angles, .window = HN_HF_WINDOW_USED},
    {.type = "gemma", .gguf = "gemma", .tensor = llama_names, .ignored = angles, .tied = true, .norms_from_one = true},
    {.type = "gemma2",
     .gguf = "gemma2",
     .tensor = gemma_names,
     .ignored = angles,
     .tied = true,
     .norms_from_one = true,
     .window = HN_HF_WINDOW_KEY},
    {.type = "gemma3_text",
     .gguf = "gemma3",
     .tensor = gemma_names,
     .ignored = angles,
     .tied = true,
     .norms_from_one = true,
     .window = HN_HF_WINDOW_KEY},
    {.type = "phi", .gguf = "phi2", .tensor = phi_names, .ignored = angles},
    {.type = "phi3", .gguf = "phi3", .tensor = phi3_names, .ignored = angles, .window = HN_HF_WINDOW_KEY},
    {.type = "gpt2", .gguf = "gpt2", .tensor = gpt2_names, .ignored = masks, .tied = true, .transposed = true},
    {.type = "gpt_neox", .gguf = "gptneox", .tensor = neox_names, .ignored = neox_masks, .head_by_head = true},
    {.type = "starcoder2", .gguf = "starcoder2", .tensor = starcoder2_names, .tied = true, .window = HN_HF_WINDOW_KEY},
    {.type = "stablelm", .gguf = "stablelm", .tensor = llama_names, .ignored = angles},
    {.type = "olmo2", .gguf = "olmo2", .tensor = olmo2_names},
    {.type = "olmoe", .gguf = "olmoe", .tensor = llama_names},
    {.type = "granite", .gguf = "granite", .tensor = llama_names},
};

const hn_hf_arch *hn_hf_arch_at(size_t i) { return i < sizeof archs / sizeof *archs ? &archs[i] : NULL; }

const hn_hf_arch *hn_hf_arch_named(const char *type) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(archs[i].type, type)) return &archs[i];
    return NULL;
}

bool hn_hf_of_experts(const hn_hf_arch *a, hn_decoder_role role) {
    return a->tensor[role] && strchr(a->tensor[role], '#');
}

void hn_hf_tensor(const hn_hf_arch *a, hn_decoder_role role, int64_t layer, int64_t expert, char *out, size_t room) {
    size_t n = 0;
    for (const char *at = a->tensor[role] ? a->tensor[role] : ""; *at && n + 24 < room; at++)
        if (*at == '%' || *at == '#')
            n += (size_t)snprintf(out + n, room - n, "%" PRId64, *at == '%' ? layer : expert);
        else
            out[n++] = *at;
    out[n] = 0;
}

/* Is this the name, with any number for % and #? */
static bool has_form(const char *form, const char *name) {
    for (; *form; form++)
        if (*form == '%' || *form == '#') {
            size_t n = strspn(name, "0123456789");
            if (!n) return false;
            name += n;
        } else if (*form != *name++) {
            return false;
        }
    return !*name;
}

hn_decoder_role hn_hf_role(const hn_hf_arch *a, const char *name) {
    int r = 0;
    while (r < HN_ROLES && !(a->tensor[r] && has_form(a->tensor[r], name))) r++;
    return r;
}

bool hn_hf_transposed(const hn_hf_arch *a, hn_decoder_role role) {
    const char *name = a->tensor[role];
    return a->transposed && name && strchr(name, '%') && !strstr(name, ".ln_");
}

bool hn_hf_ignored(const hn_hf_arch *a, const char *name) {
    for (size_t i = 0; a->ignored && a->ignored[i]; i++)
        if (!fnmatch(a->ignored[i], name, 0)) return true;
    return false;
}
