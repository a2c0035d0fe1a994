/* config.c — the architectures that are read, and the keys of config.json. */
#include "hf/config.h"
#include "base/err.h"
#include "gguf/arch.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- families --------------------------------------------------------------------------------------------------------
 */

#define MODEL_NAMES                                                                                                    \
    [HN_ROLE_EMBEDDING] = "embed_tokens.weight", [HN_ROLE_OUTPUT_NORM] = "norm.weight",                                \
    [HN_ROLE_OUTPUT] = "lm_head.weight", [HN_ROLE_ATTENTION_NORM] = "layers.%.input_layernorm.weight",                 \
    [HN_ROLE_ATTENTION_OUT] = "layers.%.self_attn.o_proj.weight", [HN_ROLE_DOWN] = "layers.%.mlp.down_proj.weight"
#define THREE_NAMES                                                                                                    \
    [HN_ROLE_QUERY] = "layers.%.self_attn.q_proj.weight", [HN_ROLE_KEY] = "layers.%.self_attn.k_proj.weight",          \
    [HN_ROLE_VALUE] = "layers.%.self_attn.v_proj.weight", [HN_ROLE_QUERY_BIAS] = "layers.%.self_attn.q_proj.bias",     \
    [HN_ROLE_KEY_BIAS] = "layers.%.self_attn.k_proj.bias", [HN_ROLE_VALUE_BIAS] = "layers.%.self_attn.v_proj.bias",    \
    [HN_ROLE_QUERY_NORM] = "layers.%.self_attn.q_norm.weight", [HN_ROLE_KEY_NORM] = "layers.%.self_attn.k_norm.weight"
#define GATED_NAMES [HN_ROLE_GATE] = "layers.%.mlp.gate_proj.weight", [HN_ROLE_UP] = "layers.%.mlp.up_proj.weight"

static const char *const llama_names[HN_ROLES] = {
    MODEL_NAMES, THREE_NAMES, GATED_NAMES, [HN_ROLE_MLP_NORM] = "layers.%.post_attention_layernorm.weight"};
static const char *const gemma_names[HN_ROLES] = {
    MODEL_NAMES,
    THREE_NAMES,
    GATED_NAMES,
    [HN_ROLE_ATTENTION_POST_NORM] = "layers.%.post_attention_layernorm.weight",
    [HN_ROLE_MLP_NORM] = "layers.%.pre_feedforward_layernorm.weight",
    [HN_ROLE_MLP_POST_NORM] = "layers.%.post_feedforward_layernorm.weight"};
static const char *const phi3_names[HN_ROLES] = {
    MODEL_NAMES, [HN_ROLE_QUERY_KEY_VALUE] = "layers.%.self_attn.qkv_proj.weight",
    [HN_ROLE_UP] = "layers.%.mlp.gate_up_proj.weight", [HN_ROLE_MLP_NORM] = "layers.%.post_attention_layernorm.weight"};

/* What old writers stored beside the weights, computed from the configuration. */
static const char *const angles[] = {"layers.*.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq", NULL};

static const hn_hf_arch archs[] = {
    /* type, row of gguf/arch.c, names, ignored, tied, norms from one */
    {"llama", "llama", llama_names, angles, false, false}, {"mistral", "llama", llama_names, angles, false, false},
    {"qwen2", "qwen2", llama_names, angles, false, false}, {"qwen3", "qwen3", llama_names, angles, false, false},
    {"gemma2", "gemma2", gemma_names, angles, true, true}, {"gemma3_text", "gemma3", gemma_names, angles, true, true},
    {"phi3", "phi3", phi3_names, angles, false, false},
};

const hn_hf_arch *hn_hf_arch_at(size_t i) { return i < sizeof archs / sizeof *archs ? &archs[i] : NULL; }

const hn_hf_arch *hn_hf_arch_named(const char *type) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(archs[i].type, type)) return &archs[i];
    return NULL;
}

void hn_hf_tensor(const hn_hf_arch *a, hn_decoder_role role, int64_t layer, char *out, size_t room) {
    const char *name = a->tensor[role] ? a->tensor[role] : "", *percent = strchr(name, '%');
    if (percent)
        snprintf(out, room, "%.*s%" PRId64 "%s", (int)(percent - name), name, layer, percent + 1);
    else
        snprintf(out, room, "%s", name);
}

bool hn_hf_ignored(const hn_hf_arch *a, const char *name) {
    for (size_t i = 0; a->ignored && a->ignored[i]; i++)
        if (!fnmatch(a->ignored[i], name, 0)) return true;
    return false;
}

/* --- keys ------------------------------------------------------------------------------------------------------------
 */

typedef struct keys {
    const json_t *j;
    const hn_hf_arch *a;
    hn_str *lines;
    size_t n;
} keys;

static void refuse(keys *k, const char *fmt, ...) HONE_PRINTF(2, 3);
static void refuse(keys *k, const char *fmt, ...) {
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_str_addf(k->lines, "config.json: %s\n", text);
    k->n++;
}

/* NULL where it is missing or null. */
static const json_t *in(const json_t *j, const char *name) {
    const json_t *x = json_object_get(j, name);
    return json_is_null(x) ? NULL : x;
}

/* A count; `otherwise` -1: it must be there. */
static int64_t count(keys *k, const char *name, int64_t otherwise) {
    const json_t *x = in(k->j, name);
    if (!x && otherwise >= 0) return otherwise;
    if (json_is_integer(x) && json_integer_value(x) >= 0) return json_integer_value(x);
    refuse(k, "'%s' is %s; a count is needed", name, x ? "no count" : "missing");
    return 0;
}

static double number_in(keys *k, const json_t *j, const char *name, double otherwise) {
    const json_t *x = in(j, name);
    if (!x) return otherwise;
    if (json_is_number(x) && isfinite(json_number_value(x))) return json_number_value(x);
    refuse(k, "'%s' is no number", name);
    return otherwise;
}
static double number(keys *k, const char *name, double otherwise) { return number_in(k, k->j, name, otherwise); }

static bool flag(keys *k, const char *name, bool otherwise) {
    const json_t *x = in(k->j, name);
    if (x && !json_is_boolean(x)) refuse(k, "'%s' is neither true nor false", name);
    return json_is_boolean(x) ? json_is_true(x) : otherwise;
}

/* --- positions -------------------------------------------------------------------------------------------------------
 */

/* Llama 3's factors: long waves are divided by `factor`, short ones not at all, between them it goes over linearly.
 * Source: Llama 3.1's reference code and its description in the model card. */
static void factors_of(keys *k, const json_t *s, hn_hf_config *c) {
    double factor = number_in(k, s, "factor", 8), low = number_in(k, s, "low_freq_factor", 1),
           high = number_in(k, s, "high_freq_factor", 4),
           old = number_in(k, s, "original_max_position_embeddings", 8192);
    size_t half = (size_t)c->d.rotary / 2;
    if (!(factor > 0) || !(high > low) || !(old > 0)) {
        refuse(k, "the factors of 'rope_scaling' make no sense");
        return;
    }
    if (c->d.rotary < 2 || c->d.rotary > 65536 || !(c->rotary_factors = malloc(half * sizeof(float)))) return;
    for (size_t i = 0; i < half; i++) {
        double wave = 2 * acos(-1.0) * pow(c->d.rotary_base, 2.0 * (double)i / (double)c->d.rotary);
        double smooth = (old / wave - low) / (high - low);
        smooth = smooth < 0 ? 0 : smooth > 1 ? 1 : smooth;
        c->rotary_factors[i] = (float)(1 / ((1 - smooth) / factor + smooth));
    }
}

static void scaling_of(keys *k, const json_t *s, hn_hf_config *c) {
    const json_t *type = in(s, "rope_type");
    if (!type) type = in(s, "type");
    const char *name = type ? json_string_value(type) : "default";
    if (!name)
        refuse(k, "'rope_scaling' does not say its 'rope_type'");
    else if (!strcmp(name, "linear"))
        c->d.rotary_scale = number_in(k, s, "factor", 1);
    else if (!strcmp(name, "llama3"))
        factors_of(k, s, c);
    else if (strcmp(name, "default") != 0)
        refuse(k, "'rope_scaling' is '%.40s'; 'linear' and 'llama3' are read", name);
}

/* `rope_theta` and `rope_scaling`, or both in `rope_parameters`, which may differ by the kind of layer. */
static void positions(keys *k, hn_hf_config *c) {
    const json_t *both = in(k->j, "rope_parameters"), *full = in(both, "full_attention"),
                 *near = in(both, "sliding_attention"),
                 *scaling = full   ? full
                            : both ? both
                                   : in(k->j, "rope_scaling");
    double share = number(k, "partial_rotary_factor", number_in(k, scaling, "partial_rotary_factor", 1));
    double base = !strcmp(k->a->type, "gemma3_text") ? 1e6 : 10000;
    c->d.rotary = (int64_t)((double)c->d.head_size * (share >= 0 && share <= 1 ? share : 1));
    c->d.rotary_base = number(k, "rope_theta", number_in(k, scaling, "rope_theta", base));
    if (c->d.rotary_base_local > 0)
        c->d.rotary_base_local =
            number(k, "rope_local_base_freq", number_in(k, near, "rope_theta", c->d.rotary_base_local));
    if (scaling) scaling_of(k, scaling, c);
}

/* --- windows ---------------------------------------------------------------------------------------------------------
 */

static bool windowed(const hn_decoder *d, int64_t layer) {
    return d->window > 0 && !(d->window_every > 0 && (layer + 1) % d->window_every == 0);
}

static void windows(keys *k, hn_decoder *d) {
    const json_t *kinds = in(k->j, "layer_types");
    bool asked = !strcmp(k->a->type, "qwen2") || !strcmp(k->a->type, "qwen3");
    if (!strcmp(k->a->type, "llama") || (asked && !flag(k, "use_sliding_window", false)))
        d->window = 0;
    else
        d->window = count(k, "sliding_window", 0);
    if (asked && d->window && !kinds && count(k, "max_window_layers", d->layers) < d->layers)
        refuse(k, "'max_window_layers': windows of some layers are read from 'layer_types' alone");
    if (d->window_every) d->window_every = count(k, "sliding_window_pattern", d->window_every);
    if (d->window >= d->context) d->window = 0; /* wider than any text */
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const char *kind = json_string_value(json_array_get(kinds, i));
        bool near = kind && !strcmp(kind, "sliding_attention"), far = kind && !strcmp(kind, "full_attention");
        if ((near || far) && (near == windowed(d, (int64_t)i) || !d->window)) continue;
        refuse(k, "'layer_types': layer %zu is '%.40s', which does not follow the family's pattern of windows", i,
               kind ? kind : "no text");
        return;
    }
}

/* --- the whole -------------------------------------------------------------------------------------------------------
 */

/* Keys whose values other than these change what is computed. */
static void check_habits(keys *k, const hn_decoder *d) {
    const json_t *act = in(k->j, "hidden_activation");
    const char *name = json_string_value(act ? act : in(k->j, "hidden_act"));
    bool gelu = name && (!strcmp(name, "gelu_pytorch_tanh") || !strcmp(name, "gelu_new")),
         silu = name && !strcmp(name, "silu");
    if (name && !(d->gelu ? gelu : silu))
        refuse(k, "'hidden_act' is '%.40s'; '%s' is read for '%s'", name, d->gelu ? "gelu_pytorch_tanh" : "silu",
               k->a->type);
    if (in(k->j, "quantization_config"))
        refuse(k, "'quantization_config': quantised weights are not read from folders; take the model's GGUF file or "
                  "its original weights");
    if (in(k->j, "use_bidirectional_attention") && flag(k, "use_bidirectional_attention", false))
        refuse(k, "'use_bidirectional_attention' is not read");
}

static const char *type_of(const json_t *config) {
    const char *type = json_string_value(json_object_get(config, "model_type"));
    return type ? type : "";
}

static hone_rc unknown(const char *type, const char *label, hone_err *err) {
    hn_str known = {0};
    for (size_t i = 0; hn_hf_arch_at(i); i++) hn_str_addf(&known, "%s%s", i ? ", " : "", hn_hf_arch_at(i)->type);
    hone_rc rc = type[0] ? hn_fail(err, HONE_E_UNSUPPORTED,
                                   "'%s' is of 'model_type' '%.40s', which is not known; those known are %s", label,
                                   type, known.text ? known.text : "?")
                         : hn_fail(err, HONE_E_INPUT, "'%s': config.json has no 'model_type'; those known are %s",
                                   label, known.text ? known.text : "?");
    hn_str_free(&known);
    return rc;
}

static void sizes(keys *k, hn_decoder *d) {
    d->layers = count(k, "num_hidden_layers", -1);
    d->width = count(k, "hidden_size", -1);
    d->heads = count(k, "num_attention_heads", -1);
    d->kv_heads = count(k, "num_key_value_heads", d->heads);
    d->head_size = count(k, "head_dim", d->heads ? d->width / d->heads : 0);
    d->mlp = count(k, "intermediate_size", -1);
    d->context = count(k, "max_position_embeddings", 2048);
    d->vocabulary = count(k, "vocab_size", -1);
    d->norm_epsilon = number(k, "rms_norm_eps", 1e-6);
}

hone_rc hn_hf_config_read(const json_t *config, const char *label, hn_hf_config *out, hn_str *lines, size_t *n,
                          hone_err *err) {
    const hn_hf_arch *a = hn_hf_arch_named(type_of(config));
    if (!a) return unknown(type_of(config), label, err);
    const hn_arch *habits = hn_arch_named(a->gguf, strlen(a->gguf));
    keys k = {config, a, lines, 0};
    hn_hf_config c = {.arch = a};
    hn_decoder *d = &c.d;
    d->gelu = habits->gelu;
    d->window_every = habits->window_every;
    d->rotary_base_local = habits->base_local;
    sizes(&k, d);
    d->embedding_scale = habits->scaled_embedding ? sqrt((double)d->width) : 0;
    positions(&k, &c);
    windows(&k, d);
    check_habits(&k, d);
    bool gemma2 = !strcmp(a->type, "gemma2");
    d->attention_softcap = number(&k, "attn_logit_softcapping", 0);
    d->logit_softcap = number(&k, "final_logit_softcapping", 0);
    if (gemma2 && !json_object_get(config, "attn_logit_softcapping")) d->attention_softcap = 50;
    if (gemma2 && !json_object_get(config, "final_logit_softcapping")) d->logit_softcap = 30;
    double scale = number(&k, "query_pre_attn_scalar", a->norms_from_one ? 256 : 0);
    if (scale > 0) d->attention_scale = 1 / sqrt(scale);
    c.tied = flag(&k, "tie_word_embeddings", a->tied);
    *n = k.n;
    if (k.n) {
        free(c.rotary_factors);
        return hn_fail(err, HONE_E_UNSUPPORTED, "'%s': config.json has %zu things that are missing or not read: %.*s",
                       label, k.n, lines->text ? (int)strcspn(lines->text, "\n") : 0, lines->text ? lines->text : "");
    }
    *out = c;
    return HONE_OK;
}
