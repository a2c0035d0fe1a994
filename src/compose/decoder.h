/* compose/decoder.h — language models that predict the next token: embedding, layers of attention and a gated MLP,
 * head.
 *
 * One description covers the families whose layers differ in details alone (Llama, Mistral, Qwen, Gemma, Phi): a number
 * that a model does not have is 0, and a weight that it does not have is not given. A front end fills in the numbers
 * and gives the weights by role.
 *
 * The graph is one step over `tokens` new tokens behind `past` cached ones:
 *   inputs   token i64[tokens]; want i64[wanted]: which of the new tokens' logits are asked for;
 *            past.key.L, past.value.L f32[past, kv heads, size] for each layer L from 0
 *   outputs  logits f32[wanted, vocabulary]; present.key.L, present.value.L f32[past + tokens, kv heads, size]
 * Symbols: tokens, wanted, past, each bounded by the context.
 * Sources: Vaswani et al. 2017; RMS norm: Zhang & Sennrich 2019; rotary positions: Su et al. 2021; gated units: Shazeer
 * 2020; grouped queries: Ainslie et al. 2023.
 */
#ifndef HN_DECODER_H
#define HN_DECODER_H

#include "compose/compose.h"

typedef enum hn_decoder_role {                    /* matrices are [results, summed], vectors [elements] */
                               HN_ROLE_EMBEDDING, /* [vocabulary, width] */
                               HN_ROLE_OUTPUT_NORM,
                               HN_ROLE_OUTPUT, /* absent: the embedding */
                               HN_ROLE_ATTENTION_NORM,
                               HN_ROLE_QUERY,
                               HN_ROLE_KEY,
                               HN_ROLE_VALUE,
                               HN_ROLE_QUERY_KEY_VALUE, /* instead of the three */
                               HN_ROLE_QUERY_BIAS,
                               HN_ROLE_KEY_BIAS,
                               HN_ROLE_VALUE_BIAS,
                               HN_ROLE_QUERY_NORM, /* of each head */
                               HN_ROLE_KEY_NORM,
                               HN_ROLE_ATTENTION_OUT,
                               HN_ROLE_ATTENTION_POST_NORM, /* of what is added to the residual */
                               HN_ROLE_MLP_NORM,
                               HN_ROLE_GATE,
                               HN_ROLE_UP, /* without a gate of its own: both, the gate first */
                               HN_ROLE_DOWN,
                               HN_ROLE_MLP_POST_NORM,
                               HN_ROLE_ROTARY_FACTORS, /* of the model: what the frequencies are divided by, [rotary /
                                                          2] */
                               HN_ROLES,
} hn_decoder_role;

typedef struct hn_decoder {
    int64_t layers, width, heads, kv_heads, head_size, mlp, vocabulary, context;
    double norm_epsilon;
    int64_t rotary;           /* elements of a head that are turned */
    bool rotary_interleaved;  /* pairs are neighbours; else (i, i + rotary / 2) */
    double rotary_base;       /* theta */
    double rotary_base_local; /* of layers with a window; 0: the same */
    double rotary_scale; /* positions are divided by it (linear scaling); 0: 1; layers with a window are not scaled */
    double attention_scale;                  /* 0: 1 / sqrt(head size) */
    double attention_softcap, logit_softcap; /* 0: none */
    double embedding_scale;                  /* 0: 1 */
    bool gelu;                               /* the gate's function: GELU by tanh; else SiLU */
    int64_t window;                          /* last positions that windowed layers see; 0: none has a window */
    int64_t window_every; /* of so many layers in turn the last one sees all; 0: all layers have the window */
    /* A weight as a value of the graph; layer: from 0, of the model itself 0. 0: the model has none. */
    hn_val (*weight)(void *arg, hn_builder *b, hn_decoder_role role, int64_t layer);
    void *arg;
} hn_decoder;

/* Writes inputs, step and outputs into an empty graph. E_INPUT: numbers that do not fit each other, or a weight that is
 * missing or of another shape (names it). */
hone_rc hn_decoder_emit(hn_graph *g, const hn_decoder *d, hone_err *err);
const char *hn_decoder_role_name(hn_decoder_role role); /* "key weights", for messages */

#endif
