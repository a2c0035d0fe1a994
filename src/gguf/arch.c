/* arch.c — the architectures that are read, and the names of their keys and tensors. */
#include "gguf/arch.h"
#include "base/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const hn_arch archs[] = {
    /* name, summary, interleaved, gelu, scaled embedding, window every, local base */
    {"llama", "Llama 2 and 3, SmolLM2, Mistral, TinyLlama", true, false, false, 0, 0},
    {"qwen2", "Qwen2 and Qwen2.5", false, false, false, 0, 0},
    {"qwen3", "Qwen3", false, false, false, 0, 0},
    {"gemma2", "Gemma 2", false, true, true, 2, 0},
    {"gemma3", "Gemma 3", false, true, true, 6, 10000},
    {"phi3", "Phi-3", false, false, false, 0, 0},
};

const hn_arch *hn_arch_at(size_t i) { return i < sizeof archs / sizeof *archs ? &archs[i] : NULL; }

const hn_arch *hn_arch_named(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strlen(archs[i].name) == n && !memcmp(archs[i].name, name, n)) return &archs[i];
    return NULL;
}

/* --- keys
 * ---------------------------------------------------------------------------------------------------------------- */

typedef struct keys {
    const hn_arch *a;
    const hn_gguf *g;
    hone_err *err;
    hone_rc rc;
} keys;

static const hn_gguf_pair *key(const keys *k, const char *name, char full[128]) {
    snprintf(full, 128, "%s.%s", k->a->name, name);
    return hn_gguf_find(k->g, full);
}

/* A count; a list of them, one a layer, is taken where all are the same. `otherwise` -1: it must be there. */
static int64_t count(keys *k, const char *name, int64_t otherwise) {
    char full[128];
    const hn_gguf_pair *p = key(k, name, full);
    uint64_t x = 0;
    int64_t first, other;
    if (k->rc) return 0;
    if (!p && otherwise >= 0) return otherwise;
    if (p && p->kind == HN_GGUF_ARRAY && hn_gguf_item_i64(p, 0, &first) && first >= 0) {
        for (uint64_t i = 1; i < p->n; i++)
            if (!hn_gguf_item_i64(p, i, &other) || other != first) {
                k->rc =
                    hn_fail(k->err, HONE_E_UNSUPPORTED, "'%s' differs from layer to layer, which is not read", full);
                return 0;
            }
        return first;
    }
    if (!p || !hn_gguf_u64(p, &x) || x > INT64_MAX)
        k->rc = hn_fail(k->err, HONE_E_INPUT, "'%s' is %s; a count is needed", full, p ? "no count" : "missing");
    return (int64_t)x;
}

static double number(keys *k, const char *name, double otherwise) {
    char full[128];
    const hn_gguf_pair *p = key(k, name, full);
    double x = otherwise;
    if (p && (!hn_gguf_f64(p, &x) || !isfinite(x)) && !k->rc)
        k->rc = hn_fail(k->err, HONE_E_INPUT, "'%s' is no number", full);
    return x;
}

static void refuse(keys *k, const char *name, const char *what) {
    char full[128];
    key(k, name, full);
    if (!k->rc) k->rc = hn_fail(k->err, HONE_E_UNSUPPORTED, "'%s': %s", full, what);
}

/* Linear scaling divides positions; Llama 3's comes as a tensor of factors; others change the angles with the length.
 */
static double rotary_scale(keys *k) {
    char full[128];
    hn_gguf_text type = {0};
    bool named = hn_gguf_string(key(k, "rope.scaling.type", full), &type);
    bool linear = named && type.n == 6 && !memcmp(type.text, "linear", 6),
         none = !named || (type.n == 4 && !memcmp(type.text, "none", 4));
    if (!linear && !none)
        refuse(k, "rope.scaling.type", "this scaling of positions is not read; linear is, and factors in a tensor are");
    if (named && !linear) return 0;
    return number(k, "rope.scaling.factor", number(k, "rope.scale_linear", 0));
}

hone_rc hn_arch_read(const hn_arch *a, const hn_gguf *g, hn_decoder *out, hone_err *err) {
    keys k = {a, g, err, HONE_OK};
    char full[128];
    hn_decoder d = {.rotary_interleaved = a->interleaved,
                    .gelu = a->gelu,
                    .window_every = a->window_every,
                    .rotary_base_local = a->base_local};
    const hn_gguf_tensor *embedding = hn_gguf_tensor_named(g, "token_embd.weight");
    d.layers = count(&k, "block_count", -1);
    d.width = count(&k, "embedding_length", -1);
    d.heads = count(&k, "attention.head_count", -1);
    d.kv_heads = count(&k, "attention.head_count_kv", d.heads);
    d.head_size = count(&k, "attention.key_length", d.heads ? d.width / d.heads : 0);
    d.mlp = count(&k, "feed_forward_length", -1);
    d.context = count(&k, "context_length", 2048);
    d.vocabulary = embedding && embedding->rank == 2 ? (int64_t)embedding->dim[0] : count(&k, "vocab_size", -1);
    d.norm_epsilon = number(&k, "attention.layer_norm_rms_epsilon", 1e-6);
    d.rotary = count(&k, "rope.dimension_count", d.head_size);
    d.rotary_base = number(&k, "rope.freq_base", a->base_local > 0 ? 1e6 : 10000);
    d.rotary_scale = rotary_scale(&k);
    d.attention_softcap = number(&k, "attn_logit_softcapping", !strcmp(a->name, "gemma2") ? 50 : 0);
    d.logit_softcap = number(&k, "final_logit_softcapping", !strcmp(a->name, "gemma2") ? 30 : 0);
    d.embedding_scale = a->scaled_embedding ? sqrt((double)d.width) : 0;
    if (a->window_every) d.window = count(&k, "attention.sliding_window", !strcmp(a->name, "gemma2") ? 4096 : 1024);
    if (count(&k, "attention.value_length", d.head_size) != d.head_size)
        refuse(&k, "attention.value_length", "values of another size than keys are not read");
    if (key(&k, "expert_count", full) && count(&k, "expert_count", 0))
        refuse(&k, "expert_count", "mixtures of experts are not read");
    if (key(&k, "attention.scale", full)) d.attention_scale = number(&k, "attention.scale", 0);
    if (k.rc) return k.rc;
    *out = d;
    return HONE_OK;
}

/* --- tensors
 * ------------------------------------------------------------------------------------------------------------- */

static const char *const tensor_name[HN_ROLES] = {
    [HN_ROLE_EMBEDDING] = "token_embd.weight",
    [HN_ROLE_OUTPUT_NORM] = "output_norm.weight",
    [HN_ROLE_OUTPUT] = "output.weight",
    [HN_ROLE_ATTENTION_NORM] = "blk.%.attn_norm.weight",
    [HN_ROLE_QUERY] = "blk.%.attn_q.weight",
    [HN_ROLE_KEY] = "blk.%.attn_k.weight",
    [HN_ROLE_VALUE] = "blk.%.attn_v.weight",
    [HN_ROLE_QUERY_KEY_VALUE] = "blk.%.attn_qkv.weight",
    [HN_ROLE_QUERY_BIAS] = "blk.%.attn_q.bias",
    [HN_ROLE_KEY_BIAS] = "blk.%.attn_k.bias",
    [HN_ROLE_VALUE_BIAS] = "blk.%.attn_v.bias",
    [HN_ROLE_QUERY_NORM] = "blk.%.attn_q_norm.weight",
    [HN_ROLE_KEY_NORM] = "blk.%.attn_k_norm.weight",
    [HN_ROLE_ATTENTION_OUT] = "blk.%.attn_output.weight",
    [HN_ROLE_ATTENTION_POST_NORM] = "blk.%.post_attention_norm.weight",
    [HN_ROLE_MLP_NORM] = "blk.%.ffn_norm.weight",
    [HN_ROLE_GATE] = "blk.%.ffn_gate.weight",
    [HN_ROLE_UP] = "blk.%.ffn_up.weight",
    [HN_ROLE_DOWN] = "blk.%.ffn_down.weight",
    [HN_ROLE_MLP_POST_NORM] = "blk.%.post_ffw_norm.weight",
    [HN_ROLE_ROTARY_FACTORS] = "rope_freqs.weight",
};

void hn_arch_tensor(hn_decoder_role role, int64_t layer, char *out, size_t room) {
    const char *name = tensor_name[role], *percent = strchr(name, '%');
    if (percent)
        snprintf(out, room, "%.*s%" PRId64 "%s", (int)(percent - name), name, layer, percent + 1);
    else
        snprintf(out, room, "%s", name);
}
