/* onnx/lower_attention_int.h — the parts of the family hn_lower_attention. */
#ifndef HN_LOWER_ATTENTION_INT_H
#define HN_LOWER_ATTENTION_INT_H

#include "onnx/lower_util.h"

/* softmax(q k^T * scale …) v over heads. All operands have rank 4: q [batch, q heads, q length, size], k and v
 * [batch, kv heads, kv length, size]; heads of k and v are shared by groups of consecutive heads of q. The scores are
 * in the working type of q; the steps are those of ONNX Attention. */
typedef struct hn_attend hn_attend;
struct hn_attend {
    hn_lower *c;
    hn_val q, k, v;
    hn_val mask;  /* 0, or broadcasts to [batch, q heads, q length, kv length]; bool, or added; its last dimension may
                     be shorter: what is missing is masked */
    hn_val bias;  /* 0, or another one to be added */
    hn_val n_kv;  /* 0, or i64 [batch]: key positions from this on are masked */
    hn_val past;  /* causal: 0, or the i64 position of query 0, a scalar or [batch] */
    double scale; /* 0: 1 / sqrt(size) */
    double softcap;
    double masked;  /* score of masked positions: -infinity, or a large negative number */
    int64_t window; /* causal: how many last positions are seen; 0: all */
    bool causal;
    bool has_precision;
    hone_dtype precision; /* of the softmax */
    int stage; /* which scores are wanted: 0 after scaling, 1 after softcap, 2 after masks, 3 probabilities; -1 none */
    hn_val scores; /* result: those, of rank 4, in the type of q */
    /* FlexAttention: changes scores or probabilities of rank 4; NULL: none. which: 0 scores, 1 probabilities */
    hn_val (*change)(hn_attend *a, hn_val x, int which);
};
/* [batch, q heads, q length, v size] in the type `out`; 0 after a failure. */
hn_val hn_attend_emit(hn_attend *a, hone_dtype out);

/* [batch, length, heads * size] as [batch, heads, length, size], and back. */
hn_val hn_split_heads(hn_builder *b, hn_val x, int64_t heads);
hn_val hn_merge_heads(hn_builder *b, hn_val x);

/* Rotates pairs of x [.., size], the first 2 * half elements of the last axis; cosines and sines broadcast to
 * [.., half]. */
hn_val hn_rotate(hn_builder *b, hn_val x, hn_val cosines, hn_val sines, hn_dim half, bool interleaved);

void hn_lower_linear_attention(hn_lower *c); /* lower_attention_linear.c */
void hn_lower_rotary(hn_lower *c);           /* lower_attention_rotary.c */

#endif
