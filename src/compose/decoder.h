/* compose/decoder.h — language models that predict the next token: embedding, layers of attention and an MLP, or of
 * attention and experts, head.
 *
 * One description covers the families whose layers differ in details alone (GPT-2, Llama, Mistral, Mixtral, Qwen,
 * Gemma, Phi): a number that a model does not have is 0, and a weight that it does not have is not given. A front end
 * fills in the numbers and gives the weights by role.
 *
 * The graph is one step over `tokens` new tokens behind `past` cached ones:
 *   inputs   token i64[tokens]; want i64[wanted]: which of the new tokens' logits are asked for;
 *            past.key.L, past.value.L f32[past, kv heads, size] for each layer L from 0
 *   outputs  logits f32[wanted, vocabulary]; present.key.L, present.value.L f32[past + tokens, kv heads, size]
 *
 * With keys and values in blocks (hn_cache) it is a step over tokens of several sequences:
 *   inputs   token, position, sequence, slot i64[tokens]: each token's place in its sequence, row of `table`, and row
 *            of the pools for its keys and values; table i64[sequences, blocks]: numbers of blocks; want;
 *            past.key.L, past.value.L TYPE[rows, kv heads, size], each block of keys transposed; of q8 also
 *            past.key_scale.L, past.value_scale.L f32[rows, kv heads]
 *   outputs  logits; hidden f32[wanted, width]: the states that they are of, behind the last norm; present.*: the
 *            pools with the new rows in their slots
 *
 * Symbols: tokens, wanted, past, each bounded by the context.
 *
 * Sources: Vaswani et al. 2017; RMS norm: Zhang & Sennrich 2019; rotary positions: Su et al. 2021; gated units: Shazeer
 * 2020; grouped queries: Ainslie et al. 2023. Rotary scaling and experts: compose/rotary.h, compose/experts.h.
 */
#ifndef HN_DECODER_H
#define HN_DECODER_H

#include "compose/cache.h"
#include "compose/compose.h"
#include "compose/packed.h"
#include "compose/rotary.h"

typedef enum hn_decoder_role {                    /* matrices are [results, summed], vectors [elements] */
                               HN_ROLE_EMBEDDING, /* [vocabulary, width] */
                               HN_ROLE_POSITION,  /* learned positions [context, width] */
                               HN_ROLE_OUTPUT_NORM,
                               HN_ROLE_OUTPUT_NORM_BIAS,
                               HN_ROLE_OUTPUT, /* absent: the embedding */
                               HN_ROLE_OUTPUT_BIAS,
                               HN_ROLE_ATTENTION_NORM,
                               HN_ROLE_ATTENTION_NORM_BIAS,
                               HN_ROLE_QUERY,
                               HN_ROLE_KEY,
                               HN_ROLE_VALUE,
                               HN_ROLE_QUERY_KEY_VALUE, /* instead of the three */
                               HN_ROLE_QUERY_BIAS,
                               HN_ROLE_KEY_BIAS,
                               HN_ROLE_VALUE_BIAS,
                               HN_ROLE_QUERY_KEY_VALUE_BIAS,
                               HN_ROLE_QUERY_NORM, /* of each head, or of all of them as one */
                               HN_ROLE_KEY_NORM,
                               HN_ROLE_ATTENTION_OUT,
                               HN_ROLE_ATTENTION_OUT_BIAS,
                               HN_ROLE_ATTENTION_POST_NORM, /* of what is added to the residual */
                               HN_ROLE_MLP_NORM,
                               HN_ROLE_MLP_NORM_BIAS,
                               HN_ROLE_GATE,
                               HN_ROLE_GATE_BIAS,
                               HN_ROLE_UP, /* without a gate of its own: both, the gate first */
                               HN_ROLE_UP_BIAS,
                               HN_ROLE_DOWN,
                               HN_ROLE_DOWN_BIAS,
                               HN_ROLE_MLP_POST_NORM,
                               HN_ROLE_ROUTER,        /* [experts, width]; a layer without it has an MLP */
                               HN_ROLE_EXPERTS_GATE,  /* [experts, MLP of an expert, width] */
                               HN_ROLE_EXPERTS_UP,    /* [experts, MLP of an expert, width] */
                               HN_ROLE_EXPERTS_DOWN,  /* [experts, width, MLP of an expert] */
                               HN_ROLE_SHARED_ROUTER, /* the share of the expert that all tokens have: [width] or [1,
                                                         width]; absent: 1 */
                               HN_ROLE_SHARED_GATE,
                               HN_ROLE_SHARED_UP,
                               HN_ROLE_SHARED_DOWN,
                               HN_ROLE_ROTARY_FACTORS, /* of the model: what the frequencies are divided by, [rotary /
                                                          2] */
                               HN_ROLE_ROTARY_SHORT, /* of HN_ROTARY_LONG: within the original context, and beyond it */
                               HN_ROLE_ROTARY_LONG,
                               HN_ROLES,
} hn_decoder_role;

enum {
    HN_DECODER_PATTERN = 1024, /* layers that a pattern of windows can tell apart */
    HN_DECODER_ROTARY = 2048,  /* elements of a head that can be turned */
};

typedef struct hn_decoder {
    int64_t layers, width, heads, kv_heads, head_size, mlp, vocabulary, context;
    double norm_epsilon;
    int64_t rotary;           /* elements of a head that are turned */
    bool rotary_interleaved;  /* pairs are neighbours; else (i, i + rotary / 2) */
    double rotary_base;       /* theta */
    double rotary_base_local; /* of layers with a window, which then are not scaled either; 0: the same */
    double rotary_scale;      /* the factor of the scaling; 0: none */
    double attention_scale;   /* 0: 1 / sqrt(head size) */
    double attention_softcap, logit_softcap; /* 0: none */
    double embedding_scale;                  /* 0: 1 */
    bool gelu;                               /* the MLP's function: GELU by tanh; else SiLU */
    int64_t window;                          /* last positions that windowed layers see; 0: none has a window */
    int64_t window_every; /* of so many layers in turn the last one sees all; 0: all layers have the window */
    /* A weight as a value of the graph; layer: from 0, of the model itself 0. 0: the model has none. */
    hn_val (*weight)(void *arg, hn_builder *b, hn_decoder_role role, int64_t layer);
    void *arg;

    bool layer_norm;                  /* norms take the mean off; else they are RMS norms */
    bool gelu_exact;                  /* GELU by erf */
    bool ungated;                     /* the MLP is down(function(up)) */
    bool post_norms;                  /* a layer may have no norm in front of attention and MLP, only behind them */
    bool parallel;                    /* attention and MLP both read the layer's input, and are added to it together */
    double residual_scale;            /* of what is added to the residual; 0: 1 */
    double logit_scale;               /* 0: 1 */
    hn_rotary_scaling rotary_scaling; /* its factor is rotary_scale */
    bool has_pattern;                 /* `windowed` says which layers have the window, instead of window_every */
    uint8_t windowed[HN_DECODER_PATTERN];
    int64_t experts, experts_used, expert_mlp, shared_mlp; /* sizes of layers with a router */
    bool experts_normalised;                               /* the shares of the chosen experts add up to one */
    double experts_scale;                                  /* of those shares; 0: 1 */
    hn_cache cache;
    /* Told of each product x [tokens, summed] with a matrix w as `weight` gave it, those of experts left out; NULL: no.
     */
    void (*seen)(void *arg, hn_builder *b, hn_val x, hn_val w);
} hn_decoder;

/* Writes inputs, step and outputs into an empty graph. E_INPUT: numbers that do not fit each other, or a weight that is
 * missing or of another shape (names it). */
hone_rc hn_decoder_emit(hn_graph *g, const hn_decoder *d, hone_err *err);
/* decoder_cost.c: the part of a weight that one new token meets: of an embedding it is a row, unless that is the head
 * as well (`tied`); of experts those that are chosen. */
double hn_decoder_met(const hn_decoder *d, hn_decoder_role role, bool tied);
typedef struct hn_decoder_cost {
    uint64_t size_b;           /* all weights */
    double read_b, multiplied; /* weights that one token reads, in bytes; those it is multiplied with, its logits
                                  included */
} hn_decoder_cost;
/* Adds a weight, or a part of it. matrix: it has two dimensions or more. */
void hn_decoder_count(hn_decoder_cost *c, const hn_decoder *d, hn_decoder_role role, bool tied, uint64_t size_b,
                      uint64_t n_elements, bool matrix);
uint64_t hn_decoder_cache_b(const hn_decoder *d); /* keys and values of one token in all layers */

/* How products with a weight of this role round what they are multiplied with, where the model is told `how`: auto
 * takes two bytes where single bytes were found to cost most. */
hn_activations hn_decoder_activations(hn_activations how, hn_decoder_role role, int64_t layer, int64_t layers);

const char *hn_decoder_role_name(hn_decoder_role role); /* "key weights", for messages */

#endif
