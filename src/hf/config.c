/* config.c — the keys of config.json. */
#include "hf/config.h"
#include "base/err.h"
#include "gguf/arch.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Names that some families have for the same. */
static const char *const other_name[][2] = {
    {"hidden_size", "n_embd"},
    {"num_hidden_layers", "n_layer"},
    {"num_attention_heads", "n_head"},
    {"intermediate_size", "n_inner"},
    {"max_position_embeddings", "n_positions"},
    {"rms_norm_eps", "layer_norm_epsilon"},
    {"rms_norm_eps", "layer_norm_eps"},
    {"rms_norm_eps", "norm_epsilon"},
    {"num_experts", "num_local_experts"},
    {"hidden_act", "hidden_activation"},
    {"hidden_act", "activation_function"},
    {"partial_rotary_factor", "rotary_pct"},
    {"rope_theta", "rotary_emb_base"},
};

/* NULL where it is missing or null. */
static const json_t *in(const json_t *j, const char *name) {
    const json_t *x = json_object_get(j, name);
    for (size_t i = 0; (!x || json_is_null(x)) && i < sizeof other_name / sizeof *other_name; i++)
        if (!strcmp(other_name[i][0], name)) x = json_object_get(j, other_name[i][1]);
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

/* A list of one factor a pair. */
static void factors_of(keys *k, const json_t *s, const char *name, int64_t n, float *out) {
    const json_t *list = in(s, name);
    bool whole = json_array_size(list) == (size_t)n;
    for (size_t i = 0; whole && i < (size_t)n; i++) {
        const json_t *x = json_array_get(list, i);
        whole = json_is_number(x) && json_number_value(x) > 0 && isfinite(json_number_value(x));
        out[i] = (float)json_number_value(x);
    }
    if (!whole) refuse(k, "'%s' is no list of %" PRId64 " factors", name, n);
}

static void long_factors(keys *k, const json_t *s, hn_hf_config *c) {
    int64_t half = c->d.rotary / 2;
    if (half < 1 || half > 32768 || !(c->rotary_factors = calloc((size_t)half * 2, sizeof(float)))) return;
    factors_of(k, s, "short_factor", half, c->rotary_factors);
    factors_of(k, s, "long_factor", half, c->rotary_factors + half);
}

static void yarn(keys *k, const json_t *s, hn_decoder *d) {
    hn_rotary_scaling *r = &d->rotary_scaling;
    double one = number_in(k, s, "mscale", 0), all = number_in(k, s, "mscale_all_dim", 0);
    const json_t *truncate = in(s, "truncate");
    r->high = number_in(k, s, "beta_fast", 0);
    r->low = number_in(k, s, "beta_slow", 0);
    if (truncate && !json_is_true(truncate)) refuse(k, "'rope_scaling': 'truncate' is read as true alone");
    if (!(r->attention > 0) && one > 0 && all > 0 && d->rotary_scale > 1)
        r->attention = (0.1 * one * log(d->rotary_scale) + 1) / (0.1 * all * log(d->rotary_scale) + 1);
}

static void scaling_of(keys *k, const json_t *s, hn_hf_config *c) {
    static const struct {
        const char *name;
        bool scaled;
        hn_rotary_kind kind;
    } known[] = {{"default", false, HN_ROTARY_LINEAR},   {"linear", true, HN_ROTARY_LINEAR},
                 {"llama3", true, HN_ROTARY_WAVELENGTH}, {"yarn", true, HN_ROTARY_YARN},
                 {"longrope", false, HN_ROTARY_LONG},    {"su", false, HN_ROTARY_LONG}};
    const json_t *type = in(s, "rope_type");
    if (!type) type = in(s, "type");
    const char *name = type ? json_string_value(type) : "default";
    hn_rotary_scaling *r = &c->d.rotary_scaling;
    size_t i = 0, n = sizeof known / sizeof *known;
    while (name && i < n && strcmp(known[i].name, name) != 0) i++;
    if (!name || i == n) {
        refuse(k, "'rope_scaling' is '%.40s'; 'linear', 'llama3', 'yarn' and 'longrope' are read", name ? name : "?");
        return;
    }
    r->kind = known[i].kind;
    if (known[i].kind == HN_ROTARY_LINEAR && !known[i].scaled) return;
    double old = number(k, "original_max_position_embeddings", 0);
    r->original = number_in(k, s, "original_max_position_embeddings", old);
    r->attention = number_in(k, s, "attention_factor", 0);
    double ratio = r->original > 0 ? (double)c->d.context / r->original : 1;
    c->d.rotary_scale = number_in(k, s, "factor", ratio);
    if (known[i].scaled && !(c->d.rotary_scale > 0)) refuse(k, "'rope_scaling': its 'factor' makes no sense");
    if (r->kind == HN_ROTARY_WAVELENGTH) {
        r->low = number_in(k, s, "low_freq_factor", 1);
        r->high = number_in(k, s, "high_freq_factor", 4);
        if (!(r->high > r->low)) refuse(k, "the factors of 'rope_scaling' make no sense");
    }
    if (r->kind == HN_ROTARY_YARN) yarn(k, s, &c->d);
    if (r->kind == HN_ROTARY_LONG) long_factors(k, s, c);
}

/* `rope_theta` and `rope_scaling`, or both in `rope_parameters`, which may differ by the kind of layer. */
static void positions(keys *k, hn_hf_config *c) {
    const json_t *both = in(k->j, "rope_parameters"), *full = in(both, "full_attention"),
                 *near = in(both, "sliding_attention"),
                 *scaling = full   ? full
                            : both ? both
                                   : in(k->j, "rope_scaling");
    double share = number(k, "partial_rotary_factor", number_in(k, scaling, "partial_rotary_factor", 1));
    const hn_arch *habits = hn_arch_named(k->a->gguf, strlen(k->a->gguf));
    double base = habits->base > 0 && !strcmp(k->a->type, "gemma3_text") ? habits->base : 10000;
    c->d.rotary = habits->learned || c->d.head_size > 1 << 16
                      ? 0
                      : (int64_t)((double)c->d.head_size * (share >= 0 && share <= 1 ? share : 1));
    c->d.rotary_base = number(k, "rope_theta", number_in(k, scaling, "rope_theta", base));
    if (c->d.rotary_base_local > 0)
        c->d.rotary_base_local =
            number(k, "rope_local_base_freq", number_in(k, near, "rope_theta", c->d.rotary_base_local));
    const json_t *kind = in(near, "rope_type");
    if (kind && (!json_is_string(kind) || strcmp(json_string_value(kind), "default") != 0))
        refuse(k, "'rope_parameters': scaling of layers with windows is not read");
    if (scaling) scaling_of(k, scaling, c);
}

/* --- windows ---------------------------------------------------------------------------------------------------------
 */

/* What a list says of each layer, or the first layer with a window. */
static void pattern(keys *k, hn_decoder *d) {
    const json_t *kinds = in(k->j, "layer_types");
    int64_t first = count(k, "max_window_layers", d->layers);
    if (kinds && d->layers > HN_DECODER_PATTERN)
        refuse(k, "'layer_types' of more than %d layers is not read", HN_DECODER_PATTERN);
    if (d->layers > HN_DECODER_PATTERN || (!kinds && k->a->window != HN_HF_WINDOW_USED)) return;
    d->has_pattern = true;
    if (kinds && json_array_size(kinds) != (size_t)d->layers)
        refuse(k, "'layer_types' does not say what each of %" PRId64 " layers is", d->layers);
    for (size_t i = 0; i < (size_t)d->layers; i++) {
        const char *kind = json_string_value(json_array_get(kinds, i));
        bool near = kinds ? kind && !strcmp(kind, "sliding_attention") : (int64_t)i >= first;
        d->windowed[i] = near;
        if (!kinds || near || (kind && !strcmp(kind, "full_attention"))) continue;
        refuse(k, "'layer_types': layer %zu is '%.40s'; 'sliding_attention' and 'full_attention' are read", i,
               kind ? kind : "no text");
        return;
    }
}

static void windows(keys *k, hn_decoder *d) {
    bool used = k->a->window != HN_HF_WINDOW_USED || flag(k, "use_sliding_window", false);
    d->window = k->a->window && used ? count(k, "sliding_window", 0) : 0;
    if (d->window_every) d->window_every = count(k, "sliding_window_pattern", d->window_every);
    pattern(k, d);
    if (d->window >= d->context) d->window = 0; /* wider than any text */
}

/* --- the whole -------------------------------------------------------------------------------------------------------
 */

/* The MLP's function. Gemma's files say `gelu` and mean the approximation by tanh. */
static void function_of(keys *k, hn_decoder *d) {
    const json_t *newer = in(k->j, "hidden_activation");
    const char *name = json_string_value(newer ? newer : in(k->j, "hidden_act"));
    if (!name) return;
    bool gelu = !strcmp(name, "gelu"), tanh = !strcmp(name, "gelu_pytorch_tanh") || !strcmp(name, "gelu_new");
    d->gelu = tanh || (gelu && k->a->norms_from_one);
    d->gelu_exact = gelu && !d->gelu;
    if (!d->gelu && !d->gelu_exact && strcmp(name, "silu") != 0)
        refuse(k, "'hidden_act' is '%.40s'; 'silu', 'gelu' and 'gelu_pytorch_tanh' are read", name);
}

/* Keys whose values other than these change what is computed. */
static void check_habits(keys *k) {
    static const char *const off[] = {"use_bidirectional_attention", "scale_attn_by_inverse_layer_idx",
                                      "add_cross_attention", "qk_layernorm", "clip_qkv"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const json_t *x = in(k->j, off[i]);
        if (x && !json_is_false(x)) refuse(k, "'%s' is not read", off[i]);
    }
    if (!flag(k, "scale_attn_weights", true)) refuse(k, "'scale_attn_weights' is read as true alone");
    if (in(k->j, "quantization_config"))
        refuse(k, "'quantization_config': quantised weights are not read from folders; take the model's GGUF file or "
                  "its original weights");
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
    d->mlp = count(k, "intermediate_size", in(k->j, "n_embd") && d->width < 1 << 28 ? 4 * d->width : -1);
    d->context = count(k, "max_position_embeddings", 2048);
    d->vocabulary = count(k, "vocab_size", -1);
    d->norm_epsilon = number(k, "rms_norm_eps", d->layer_norm ? 1e-5 : 1e-6);
}

static void experts(keys *k, hn_decoder *d) {
    d->experts = count(k, "num_experts", 0);
    if (!d->experts) return;
    d->experts_used = count(k, "num_experts_per_tok", -1);
    d->expert_mlp = count(k, "moe_intermediate_size", d->mlp);
    d->shared_mlp = count(k, "shared_expert_intermediate_size", 0);
    d->experts_normalised = flag(k, "norm_topk_prob", k->a->shares_normalised);
}

static void scales(keys *k, hn_decoder *d) {
    const hn_arch *habits = hn_arch_named(k->a->gguf, strlen(k->a->gguf));
    d->embedding_scale = habits->scaled_embedding ? sqrt((double)d->width) : 0;
    d->attention_softcap = number(k, "attn_logit_softcapping", 0);
    d->logit_softcap = number(k, "final_logit_softcapping", 0);
    if (!json_object_get(k->j, "attn_logit_softcapping")) d->attention_softcap = habits->attention_softcap;
    if (!json_object_get(k->j, "final_logit_softcapping")) d->logit_softcap = habits->logit_softcap;
    double scale = number(k, "query_pre_attn_scalar", habits->window_every ? 256 : 0);
    if (scale > 0) d->attention_scale = 1 / sqrt(scale);
    if (!habits->scales) return;
    d->embedding_scale = number(k, "embedding_multiplier", 1);
    d->residual_scale = number(k, "residual_multiplier", 1);
    d->attention_scale = number(k, "attention_multiplier", 1);
    d->logit_scale = 1 / number(k, "logits_scaling", 1);
    if (!(d->logit_scale > 0) || !(d->residual_scale > 0) || !(d->embedding_scale > 0) || !(d->attention_scale > 0))
        refuse(k, "a scale of embeddings, residuals, attention or logits is not above 0");
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
    d->gelu_exact = habits->gelu_exact;
    d->layer_norm = habits->layer_norm;
    d->ungated = habits->ungated;
    d->post_norms = habits->post_norms;
    d->window_every = habits->window_every;
    d->rotary_base_local = habits->base_local;
    d->parallel = flag(&k, "use_parallel_residual", habits->parallel);
    sizes(&k, d);
    experts(&k, d);
    scales(&k, d);
    positions(&k, &c);
    windows(&k, d);
    function_of(&k, d);
    check_habits(&k);
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
