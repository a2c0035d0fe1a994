/* mix.c — the table of mixes. Source: the files that llama.cpp's llama-quantize makes, and its description. */
#include "quantize/mix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const hn_mix mixes[] = {
    {"f32", "F32", NULL, NULL, 0, "32 bits a weight; nothing is lost"},
    {"f16", "F16", NULL, NULL, 1, "16 bits: 11 of precision, up to 65504"},
    {"bf16", "BF16", NULL, NULL, 32, "16 bits: 8 of precision, the range of f32"},
    {"q8_0", "Q8_0", NULL, NULL, 7, "8.5 bits"},
    {"q6_K", "Q6_K", NULL, NULL, 18, "6.6 bits"},
    {"q5_K_M", "Q5_K", "Q6_K", "Q6_K", 17, "5.5 bits; head, half of the value and down weights 6.6"},
    {"q5_1", "Q5_1", NULL, NULL, 9, "6 bits, with minima; the head 6.6"},
    {"q5_0", "Q5_0", NULL, NULL, 8, "5.5 bits; the head 6.6"},
    {"q4_K_M", "Q4_K", "Q6_K", "Q5_K", 15, "4.5 bits; head, half of the value and down weights 6.6 (default)"},
    {"q4_1", "Q4_1", NULL, NULL, 3, "5 bits, with minima; the head 6.6"},
    {"q4_0", "Q4_0", NULL, NULL, 2, "4.5 bits; the head 6.6"},
};

const hn_mix *hn_mix_at(size_t i) { return i < sizeof mixes / sizeof *mixes ? &mixes[i] : NULL; }

const hn_mix *hn_mix_named(const char *name) {
    for (size_t i = 0; hn_mix_at(i); i++)
        if (!strcasecmp(mixes[i].name, name)) return &mixes[i];
    return NULL;
}

static int64_t count_of(const hn_gguf *g, const char *what) {
    hn_gguf_text arch = {"", 0};
    char key[160];
    uint64_t n;
    hn_gguf_string(hn_gguf_find(g, "general.architecture"), &arch);
    snprintf(key, sizeof key, "%.*s.%s", (int)(arch.n < 64 ? arch.n : 64), arch.text, what);
    return hn_gguf_u64(hn_gguf_find(g, key), &n) && n < 1u << 20 ? (int64_t)n : 0;
}

hn_mix_model hn_mix_model_of(const hn_gguf *g) {
    return (hn_mix_model){count_of(g, "block_count"), count_of(g, "expert_count"),
                          hn_gguf_tensor_named(g, "output.weight") != NULL};
}

bool hn_mix_takes(const hn_gguf_tensor *t) {
    static const char *const small[] = {"_norm.weight",       "ffn_gate_inp", "position_embd.weight",
                                        "token_types.weight", "rope_freqs",   "ssm_conv1d",
                                        "shortconv",          "attn_rel_b"};
    size_t n = strlen(t->name);
    if (t->rank < 2 || n < 6 || strcmp(t->name + n - 6, "weight")) return false;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (strstr(t->name, small[i])) return false;
    return true;
}

/* The first and the last eighth of the layers, and every third between. */
static bool gains(int64_t layer, int64_t layers) {
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

static const char *name_of(const hn_mix *m, const hn_mix_model *model, const hn_gguf_tensor *t) {
    int64_t layer = -1;
    char part[64] = "";
    bool head = !strcmp(t->name, model->has_output ? "output.weight" : "token_embd.weight");
    bool blocks = hn_block_type_named(m->type)->elements > 1, eight = model->experts == 8 && m->more;
    if (head && blocks && strcmp(m->type, "Q8_0")) return "Q6_K";
    if (sscanf(t->name, "blk.%" SCNd64 ".%63[a-z_]", &layer, part) != 2) return m->type;
    if (!strcmp(part, "attn_v")) return eight ? "Q8_0" : m->more && gains(layer, model->layers) ? m->more : m->type;
    if (!strcmp(part, "attn_k") && eight) return "Q8_0";
    if (!strcmp(part, "attn_output") && eight) return "Q5_K";
    if (!strcmp(part, "attn_qkv") && m->joint) return m->joint;
    if (!strncmp(part, "ffn_down", 8) && m->more && gains(layer, model->layers)) return m->more;
    return m->type;
}

const hn_block_type *hn_mix_pick(const hn_mix *m, const hn_mix_model *model, const hn_gguf_tensor *t) {
    return hn_block_type_named(name_of(m, model, t));
}

const hn_block_type *hn_mix_fit(const hn_block_type *t, uint64_t columns) {
    static const char *const instead[][2] = {{"Q4_K", "Q5_0"}, {"Q5_K", "Q5_1"}, {"Q6_K", "Q8_0"}};
    if (columns % t->elements == 0) return t;
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
        if (!strcmp(t->name, instead[i][0])) return hn_mix_fit(hn_block_type_named(instead[i][1]), columns);
    return hn_block_type_named("F16");
}
