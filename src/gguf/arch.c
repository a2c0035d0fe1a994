/* arch.c — the architectures that are read, and the names of their keys and tensors. */
#include "gguf/arch.h"
#include "base/err.h"
#include "ir/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hn_arch archs[] = {
    {.name = "llama",
     .summary = "Llama 2 and 3, SmolLM2, Mistral, Mixtral, TinyLlama",
     .interleaved = true,
     .experts_normalised = true},
    {.name = "qwen2", .summary = "Qwen2 and Qwen2.5"},
    {.name = "qwen2moe", .summary = "Qwen2 with experts", .expert_shared = true},
    {.name = "qwen3", .summary = "Qwen3", .base = 1e6},
    {.name = "qwen3moe", .summary = "Qwen3 with experts", .base = 1e6, .experts_normalised = true},
    {.name = "gemma", .summary = "Gemma", .gelu = true, .scaled_embedding = true},
    {.name = "gemma2",
     .summary = "Gemma 2",
     .gelu = true,
     .scaled_embedding = true,
     .window_every = 2,
     .window = 4096,
     .wide_layers = 46,
     .attention_softcap = 50,
     .logit_softcap = 30},
    {.name = "gemma3",
     .summary = "Gemma 3",
     .gelu = true,
     .scaled_embedding = true,
     .window_every = 6,
     .window = 1024,
     .wide_layers = 62,
     .base = 1e6,
     .base_local = 10000},
    {.name = "phi2", .summary = "Phi-2", .layer_norm = true, .gelu = true, .ungated = true, .parallel = true},
    {.name = "phi3", .summary = "Phi-3 and Phi-4"},
    {.name = "gpt2", .summary = "GPT-2", .layer_norm = true, .gelu = true, .ungated = true, .learned = true},
    {.name = "gptneox",
     .summary = "GPT-NeoX, Pythia",
     .layer_norm = true,
     .gelu_exact = true,
     .ungated = true,
     .parallel = true},
    {.name = "starcoder2", .summary = "StarCoder2", .layer_norm = true, .gelu = true, .ungated = true},
    {.name = "stablelm", .summary = "StableLM", .layer_norm = true},
    {.name = "olmo2", .summary = "OLMo 2", .post_norms = true},
    {.name = "olmoe", .summary = "OLMoE"},
    {.name = "granite", .summary = "Granite", .interleaved = true, .scales = true},
    {.name = "granitemoe",
     .summary = "Granite with experts",
     .interleaved = true,
     .scales = true,
     .experts_normalised = true},
};

const hn_arch *hn_arch_at(size_t i) { return i < sizeof archs / sizeof *archs ? &archs[i] : NULL; }

const hn_arch *hn_arch_named(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strlen(archs[i].name) == n && !memcmp(archs[i].name, name, n)) return &archs[i];
    return NULL;
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

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
    [HN_ROLE_POSITION] = "position_embd.weight",
    [HN_ROLE_OUTPUT_NORM_BIAS] = "output_norm.bias",
    [HN_ROLE_OUTPUT_BIAS] = "output.bias",
    [HN_ROLE_ATTENTION_NORM_BIAS] = "blk.%.attn_norm.bias",
    [HN_ROLE_QUERY_KEY_VALUE_BIAS] = "blk.%.attn_qkv.bias",
    [HN_ROLE_ATTENTION_OUT_BIAS] = "blk.%.attn_output.bias",
    [HN_ROLE_MLP_NORM_BIAS] = "blk.%.ffn_norm.bias",
    [HN_ROLE_GATE_BIAS] = "blk.%.ffn_gate.bias",
    [HN_ROLE_UP_BIAS] = "blk.%.ffn_up.bias",
    [HN_ROLE_DOWN_BIAS] = "blk.%.ffn_down.bias",
    [HN_ROLE_ROUTER] = "blk.%.ffn_gate_inp.weight",
    [HN_ROLE_EXPERTS_GATE] = "blk.%.ffn_gate_exps.weight",
    [HN_ROLE_EXPERTS_UP] = "blk.%.ffn_up_exps.weight",
    [HN_ROLE_EXPERTS_DOWN] = "blk.%.ffn_down_exps.weight",
    [HN_ROLE_SHARED_ROUTER] = "blk.%.ffn_gate_inp_shexp.weight",
    [HN_ROLE_SHARED_GATE] = "blk.%.ffn_gate_shexp.weight",
    [HN_ROLE_SHARED_UP] = "blk.%.ffn_up_shexp.weight",
    [HN_ROLE_SHARED_DOWN] = "blk.%.ffn_down_shexp.weight",
    [HN_ROLE_ROTARY_SHORT] = "rope_factors_short.weight",
    [HN_ROLE_ROTARY_LONG] = "rope_factors_long.weight",
    [HN_ROLE_ROTARY_FACTORS] = "rope_freqs.weight",
};

void hn_arch_tensor(hn_decoder_role role, int64_t layer, char *out, size_t room) {
    const char *name = tensor_name[role], *percent = strchr(name, '%');
    if (percent)
        snprintf(out, room, "%.*s%" PRId64 "%s", (int)(percent - name), name, layer, percent + 1);
    else
        snprintf(out, room, "%s", name);
}

bool hn_arch_expert_tensor(hn_decoder_role role, int64_t layer, int64_t expert, char *out, size_t room) {
    const char *what = role == HN_ROLE_EXPERTS_GATE   ? "gate"
                       : role == HN_ROLE_EXPERTS_UP   ? "up"
                       : role == HN_ROLE_EXPERTS_DOWN ? "down"
                                                      : NULL;
    if (what) snprintf(out, room, "blk.%" PRId64 ".ffn_%s.%" PRId64 ".weight", layer, what, expert);
    return what != NULL;
}

/* Numbers are read where the role's name has them. */
hn_decoder_role hn_arch_role(const hn_decoder *d, const char *name) {
    char want[128];
    long long layer = 0, expert = -1;
    int n = 0;
    if (sscanf(name, "blk.%lld.%n", &layer, &n) < 1 || !n) layer = 0;
    if (layer < 0 || layer >= d->layers) return HN_ROLES;
    const char *number = n ? strchr(name + n, '.') : NULL;
    if (!number || sscanf(number, ".%lld.", &expert) < 1) expert = -1;
    bool one = expert >= 0 && expert < d->experts;
    for (int r = 0; r < HN_ROLES; r++) {
        hn_arch_tensor(r, layer, want, sizeof want);
        if (!strcmp(name, want)) return r;
        if (one && hn_arch_expert_tensor(r, layer, expert, want, sizeof want) && !strcmp(name, want)) return r;
    }
    return HN_ROLES;
}

static void refuse_tensors(const hn_decoder *d, const hn_gguf *g, hn_str *refused) {
    for (size_t i = 0; i < hn_gguf_tensors(g); i++) {
        const hn_gguf_tensor *t = hn_gguf_tensor_at(g, i);
        const hn_block_type *type = hn_block_type_of(t->type);
        if (hn_arch_role(d, t->name) == HN_ROLES)
            hn_str_addf(refused, "tensor '%s': its part in the model is not known\n", t->name);
        else if (!type->decode)
            hn_str_addf(refused, "tensor '%s': values of type %s are not read; convert the model to another type\n",
                        t->name, type->name);
    }
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

typedef struct keys {
    const hn_arch *a;
    const hn_gguf *g;
    bool *seen;      /* by pair */
    hn_str *refused; /* lines */
    hone_err *err;
    hone_rc rc;
} keys;

static const hn_gguf_pair *key(keys *k, const char *name, char full[128]) {
    snprintf(full, 128, "%s.%s", k->a->name, name);
    const hn_gguf_pair *p = hn_gguf_find(k->g, full);
    if (p) k->seen[p - hn_gguf_pair_at(k->g, 0)] = true;
    return p;
}

static void refuse(keys *k, const char *name, const char *what) {
    hn_str_addf(k->refused, "key '%s.%s': %s\n", k->a->name, name, what);
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
        bool same = true;
        for (uint64_t i = 1; i < p->n; i++) same = same && hn_gguf_item_i64(p, i, &other) && other == first;
        if (!same) refuse(k, name, "it differs from layer to layer");
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

static bool flag(keys *k, const char *name, bool otherwise) {
    char full[128];
    const hn_gguf_pair *p = key(k, name, full);
    bool x = otherwise;
    if (p && !hn_gguf_bool(p, &x) && !k->rc)
        k->rc = hn_fail(k->err, HONE_E_INPUT, "'%s' is neither true nor false", full);
    return x;
}

static bool is(hn_gguf_text t, const char *word) { return t.n == strlen(word) && !memcmp(t.text, word, t.n); }

/* Llama 3's scaling comes as a tensor of factors, that of Phi-3 as two. */
static void read_rotary(keys *k, hn_decoder *d) {
    char full[128];
    const hn_arch *a = k->a;
    hn_gguf_text type = {"none", 4};
    hn_rotary_scaling *r = &d->rotary_scaling;
    d->rotary = a->learned ? 0 : count(k, "rope.dimension_count", d->head_size);
    d->rotary_base = number(k, "rope.freq_base", a->base > 0 ? a->base : 10000);
    d->rotary_base_local = number(k, "rope.freq_base_swa", a->base_local);
    double factor = number(k, "rope.scaling.factor", number(k, "rope.scale_linear", 0)),
           length = number(k, "rope.scaling.attn_factor", 1) * number(k, "rope.scaling.yarn_attn_factor", 1),
           share = number(k, "rope.scaling.yarn_ext_factor", 1);
    bool named = hn_gguf_string(key(k, "rope.scaling.type", full), &type);
    r->original = number(k, "rope.scaling.original_context_length", 0);
    r->high = number(k, "rope.scaling.yarn_beta_fast", 0);
    r->low = number(k, "rope.scaling.yarn_beta_slow", 0);
    if (is(type, "yarn")) {
        r->kind = HN_ROTARY_YARN;
        if (share != 1 && share != -1) refuse(k, "rope.scaling.yarn_ext_factor", "only 1 is read");
        if (length != 1) r->attention = length * hn_rotary_length(r, factor, (double)d->context);
    } else if (is(type, "longrope") || hn_gguf_tensor_named(k->g, "rope_factors_long.weight")) {
        r->kind = HN_ROTARY_LONG;
        if (length != 1) r->attention = length;
    } else if (!is(type, "linear") && !is(type, "none")) {
        refuse(k, "rope.scaling.type", "this scaling of positions is not known; linear, yarn, longrope and none are");
    }
    d->rotary_scale = named && is(type, "none") ? 0 : factor;
}

/* Which layers have the window: a number (of so many the last has none), or true and false for each. */
static void read_windows(keys *k, hn_decoder *d) {
    char full[128];
    const hn_gguf_pair *p = key(k, "attention.sliding_window_pattern", full);
    int64_t x = 0;
    d->window = count(k, "attention.sliding_window", k->a->window);
    d->window_every = k->a->window_every;
    if (!p || k->rc) return;
    if (p->kind != HN_GGUF_ARRAY) {
        d->window_every = count(k, "attention.sliding_window_pattern", 0);
        return;
    }
    d->has_pattern = true;
    bool whole = p->n == (uint64_t)d->layers && p->n <= HN_DECODER_PATTERN;
    for (uint64_t i = 0; whole && i < p->n; i++) {
        whole = hn_gguf_item_i64(p, i, &x);
        d->windowed[i] = x != 0;
    }
    if (!whole)
        k->rc = hn_fail(k->err, HONE_E_INPUT, "'%s' does not say of each of %" PRId64 " layers whether it has a window",
                        full, d->layers);
}

static void read_experts(keys *k, hn_decoder *d) {
    d->experts = count(k, "expert_count", 0);
    d->experts_used = count(k, "expert_used_count", d->experts ? -1 : 0);
    d->expert_mlp = count(k, "expert_feed_forward_length", d->mlp);
    d->shared_mlp = count(k, "expert_shared_feed_forward_length", k->a->expert_shared ? d->mlp : 0);
    d->experts_normalised = flag(k, "expert_weights_norm", k->a->experts_normalised);
    d->experts_scale = number(k, "expert_weights_scale", 0);
    if (count(k, "expert_gating_func", 1) > 1)
        refuse(k, "expert_gating_func", "experts' shares are read as a softmax alone (1)");
}

static void read_scales(keys *k, hn_decoder *d) {
    const hn_arch *a = k->a;
    d->attention_softcap = number(k, "attn_logit_softcapping", a->attention_softcap);
    d->logit_softcap = number(k, "final_logit_softcapping", a->logit_softcap);
    d->attention_scale = number(k, "attention.scale", 0);
    if (a->wide_layers && d->layers == a->wide_layers && d->heads && !(d->attention_scale > 0))
        d->attention_scale = 1 / sqrt((double)d->width / (double)d->heads);
    if (a->scaled_embedding) d->embedding_scale = sqrt((double)d->width);
    if (!a->scales) return;
    double by = number(k, "logit_scale", 0);
    d->logit_scale = by > 0 ? 1 / by : 0;
    d->residual_scale = number(k, "residual_scale", 0);
    d->embedding_scale = number(k, "embedding_scale", 0);
}

/* Keys of the architecture that nobody asked for: some say nothing that a graph needs. */
static void refuse_keys(keys *k) {
    static const char *const idle[] = {"vocab_size", "tensor_data_layout", "rope.scaling.finetuned"};
    size_t n = strlen(k->a->name);
    char full[128];
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) key(k, idle[i], full);
    for (size_t i = 0; i < hn_gguf_pairs(k->g); i++) {
        const char *name = hn_gguf_pair_at(k->g, i)->key;
        if (!strncmp(name, k->a->name, n) && name[n] == '.' && !k->seen[i])
            refuse(k, name + n + 1, "what it says is not known");
    }
}

static void read_all(keys *k, hn_decoder *d) {
    const hn_arch *a = k->a;
    const hn_gguf_tensor *embedding = hn_gguf_tensor_named(k->g, "token_embd.weight");
    d->layers = count(k, "block_count", -1);
    d->width = count(k, "embedding_length", -1);
    d->heads = count(k, "attention.head_count", -1);
    d->kv_heads = count(k, "attention.head_count_kv", d->heads);
    d->head_size = count(k, "attention.key_length", d->heads ? d->width / d->heads : 0);
    d->mlp = count(k, "feed_forward_length", -1);
    d->context = count(k, "context_length", 2048);
    d->vocabulary = embedding && embedding->rank == 2 ? (int64_t)embedding->dim[0] : count(k, "vocab_size", -1);
    d->norm_epsilon =
        number(k, a->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5);
    d->parallel = flag(k, "use_parallel_residual", a->parallel);
    if (count(k, "attention.value_length", d->head_size) != d->head_size)
        refuse(k, "attention.value_length", "values of another size than keys are not read");
    if (!flag(k, "attention.causal", true)) refuse(k, "attention.causal", "only causal attention is read");
    if (!k->rc && d->layers < 1)
        k->rc = hn_fail(k->err, HONE_E_INPUT, "'%s.block_count' is 0; a model has layers", k->a->name);
    read_rotary(k, d);
    read_windows(k, d);
    read_experts(k, d);
    read_scales(k, d);
    if (!k->rc) refuse_keys(k);
}

hone_rc hn_arch_read(const hn_arch *a, const hn_gguf *g, hn_decoder *out, hn_str *refused, hone_err *err) {
    keys k = {a, g, calloc(hn_gguf_pairs(g) + 1, sizeof(bool)), refused, err, HONE_OK};
    hn_decoder d = {.rotary_interleaved = a->interleaved,
                    .gelu = a->gelu,
                    .gelu_exact = a->gelu_exact,
                    .layer_norm = a->layer_norm,
                    .ungated = a->ungated,
                    .post_norms = a->post_norms};
    if (!k.seen) return hn_fail(err, HONE_E_NOMEM, "out of memory reading an architecture");
    read_all(&k, &d);
    free(k.seen);
    if (k.rc) return k.rc;
    refuse_tensors(&d, g, refused);
    if (refused->failed) return hn_fail(err, HONE_E_NOMEM, "out of memory reading an architecture");
    *out = d;
    return HONE_OK;
}
