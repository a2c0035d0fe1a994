/* compose/decoder_int.h — a decoder's step while it is written: what the files decoder*.c share. */
#ifndef HN_DECODER_INT_H
#define HN_DECODER_INT_H

#include "compose/decoder.h"

typedef struct angles {
    hn_val cosine, sine; /* [1, 1, tokens, rotary / 2] */
} angles;

typedef struct step {
    const hn_decoder *d;
    hn_builder b;
    hone_err *err;
    hone_rc rc;
    hn_dim tokens, past;
    hn_val position, past_value;  /* i64 [tokens]; i64 scalar */
    hn_val slot, table, sequence; /* of keys and values in blocks */
    hn_dim rows;                  /* of a pool */
    angles far, near;             /* of layers that see all; of those with a window */
} step;

/* --- decoder_weights.c: what is known about a weight's type is known here alone --------------------------------------
 */

/* A weight of this shape (columns 0: a vector); 0 and s->rc where it is missing, unless `optional`, or another shape.
 */
hn_val hn_step_weight(step *s, hn_decoder_role role, int64_t layer, int64_t rows, int64_t columns, bool optional);
/* As above, [experts, rows, columns]. */
hn_val hn_step_experts(step *s, hn_decoder_role role, int64_t layer, int64_t rows, int64_t columns);
/* As above, [1, width] or [width], as [1, width]; 0: none, or an error. */
hn_val hn_step_router(step *s, hn_decoder_role role, int64_t layer);
/* As above, a vector of one of two lengths; 0: none, or an error. */
hn_val hn_step_vector(step *s, hn_decoder_role role, int64_t layer, int64_t n, int64_t or_n);
/* x [.., summed] times a matrix [results, summed], plus a bias (0: none). */
hn_val hn_step_product(step *s, hn_val x, hn_val w, hn_val bias);
/* x [rows, summed] times matrix `expert` of [experts, results, summed]. */
hn_val hn_step_experts_product(step *s, hn_val x, hn_val w, hn_val expert);
/* Rows of an embedding. */
hn_val hn_step_embed(step *s, hn_val table, hn_val row);
/* x normalised over its last axis by the model's kind of norm. The norm is absent: x. */
hn_val hn_step_norm(step *s, hn_val x, hn_val scale, hn_val bias);

/* --- decoder_attention.c ---------------------------------------------------------------------------------------------
 */

bool hn_step_has_window(const hn_decoder *d, int64_t layer);
void hn_step_angles(step *s);
hn_val hn_step_attention(step *s, hn_val x, int64_t layer); /* x is normalised */

/* --- decoder_cache.c: keys and values in blocks ----------------------------------------------------------------------
 */

void hn_step_blocks(step *s); /* the inputs that say where rows are */
/* Puts k and v [tokens, kv heads, size] into the pool; attention of q [tokens, heads, size] over it. */
hn_val hn_step_attend_blocks(step *s, int64_t layer, hn_val q, hn_val k, hn_val v, int64_t window);

/* --- decoder_mlp.c ---------------------------------------------------------------------------------------------------
 */

hn_val hn_step_mlp(step *s, hn_val x, int64_t layer); /* x is normalised; an MLP or experts */

#endif
