/* compose/compose.h — layers of networks, written as primitives: what front ends build models of.
 *
 * On the graph builder of ir/build.h; no file format is known here. Arguments are values, dimensions and numbers; an
 * optional value is 0 where it is absent. Shapes are said as [batch, heads, …]. compose/image.h and compose/signal.h
 * have what images and signals need.
 * Types: floats below 32 bits are computed in f32 (hn_work_type) where a function says "working type"; results have the
 * type of x unless something else is said.
 * Errors: sticky in the graph, as in build.h: a function then gives 0, and takes 0. Functions that can be asked for
 * something impossible take hone_err last: E_UNSUPPORTED (hone needs to know more), E_INPUT (it makes no sense); they
 * give 0 then and leave the graph usable.
 * Threads: one at a time.
 */
#ifndef HN_COMPOSE_H
#define HN_COMPOSE_H

#include "ir/build.h"

/* --- attributes of hn_emit ---------------------------------------------------------------------------------------- */
static inline hn_attr hn_a_int(hn_attr_id id, int64_t i) { return (hn_attr){.id = id, .kind = HN_K_INT, .i = i}; }
static inline hn_attr hn_a_dtype(hone_dtype t) { return (hn_attr){.id = HN_A_DTYPE, .kind = HN_K_DTYPE, .i = t}; }
static inline hn_attr hn_a_word(hn_attr_id id, const char *word) {
    return (hn_attr){.id = id, .kind = HN_K_NAME, .name = word};
}
static inline hn_attr hn_a_ints(hn_attr_id id, size_t n, const int64_t *list) {
    return (hn_attr){.id = id, .kind = HN_K_INTS, .n = (uint32_t)n, .ints = list};
}
static inline hn_attr hn_a_dims(hn_attr_id id, size_t n, const hn_dim *list) {
    return (hn_attr){.id = id, .kind = HN_K_DIMS, .n = (uint32_t)n, .dims = list};
}
static inline hn_attr hn_a_blocks(size_t n, const hn_block *list) {
    return (hn_attr){.id = HN_A_BODY, .kind = HN_K_BLOCKS, .n = (uint32_t)n, .blocks = list};
}

/* --- basics.c: types, sizes, vectors ------------------------------------------------------------------------------ */

/* Working type: f32 for floats below 32 bits, else the type itself. */
hone_dtype hn_work_type(hone_dtype t);
hn_val hn_work(hn_builder *b, hn_val x);
/* Is this dimension one constant, stored to n? Is it the constant n? */
bool hn_dim_known(const hn_builder *b, hn_dim d, int64_t *n);
bool hn_dim_is(const hn_builder *b, hn_dim d, int64_t n);
/* Product of the dimensions from..to-1 of x. */
hn_dim hn_dim_product(hn_builder *b, hn_val x, size_t from, size_t to);
hn_val hn_size_value(hn_builder *b, hn_dim d, hone_dtype t); /* a dimension as a scalar */
hn_val hn_scalar(hn_builder *b, hn_val v);                   /* a value of one element as one of rank 0 */
/* A vector [C] as [1, … C …, 1] of this rank with C at axis; scalars and vectors of one element become scalars. */
hn_val hn_along(hn_builder *b, hn_val v, size_t rank, size_t axis);
hn_val hn_clip(hn_builder *b, hn_val x, hn_val low, hn_val high);
/* true where the index along `axis` of a shape is below n (a value that broadcasts to it). */
hn_val hn_index_below(hn_builder *b, size_t rank, const hn_dim *shape, size_t axis, hn_val n);
hn_val hn_vec_at(hn_builder *b, hn_val v, size_t i);             /* element i of a vector, as a scalar */
hn_val hn_vec_of(hn_builder *b, size_t n, const hn_val *scalar); /* scalars as a vector; at most 2 HN_RANK_MAX */
/* `otherwise`, a vector, with value[k] at axis[k] (negative ones count from the end). */
hn_val hn_vec_spread(hn_builder *b, hn_val axis, hn_val value, hn_val otherwise);

/* --- einsum.c: "bij,bjk->bik", with an ellipsis, repeated labels and without an arrow as numpy has them; in the
 * working type. 0: it is no equation, or does not fit the operands. */
enum { HN_EINSUM_MOST = 32 }; /* operands */
hn_val hn_einsum(hn_builder *b, const char *equation, const hn_val *in, size_t n_in);

/* --- activation.c: of one tensor, in its type; give floats of at least 32 bits (hn_work) ---------------------------
 */

hn_val hn_relu(hn_builder *b, hn_val x); /* any type */
hn_val hn_leaky_relu(hn_builder *b, hn_val x, double alpha);
hn_val hn_elu(hn_builder *b, hn_val x, double alpha);
hn_val hn_selu(hn_builder *b, hn_val x, double alpha, double gamma);
hn_val hn_celu(hn_builder *b, hn_val x, double alpha);
hn_val hn_thresholded_relu(hn_builder *b, hn_val x, double alpha);
hn_val hn_hard_sigmoid(hn_builder *b, hn_val x, double alpha, double beta); /* alpha x + beta, within [0, 1] */
hn_val hn_hard_swish(hn_builder *b, hn_val x);
hn_val hn_softplus(hn_builder *b, hn_val x); /* log(1 + exp(x)) without overflow */
hn_val hn_softsign(hn_builder *b, hn_val x);
hn_val hn_gelu(hn_builder *b, hn_val x, bool tanh); /* by erf, or by the usual approximation with tanh */
hn_val hn_mish(hn_builder *b, hn_val x);
hn_val hn_swish(hn_builder *b, hn_val x, double alpha); /* x sigmoid(alpha x); SiLU with alpha 1 */
hn_val hn_shrink(hn_builder *b, hn_val x, double lambda, double bias);
/* Over one axis, which may be negative; hn_softmax is in ir/build.h. */
hn_val hn_log_softmax(hn_builder *b, hn_val x, int64_t axis);
hn_val hn_hardmax(hn_builder *b, hn_val x, int64_t axis); /* 1 at the first of the largest, else 0 */

/* Activations that a model names by a word: of recurrent cells and of fused operators. */
typedef enum hn_act_kind {
    HN_NAMED_RELU,
    HN_NAMED_TANH,
    HN_NAMED_SIGMOID,
    HN_NAMED_AFFINE,
    HN_NAMED_LEAKY,
    HN_NAMED_THRESHOLDED,
    HN_NAMED_SCALED_TANH,
    HN_NAMED_HARD_SIGMOID,
    HN_NAMED_ELU,
    HN_NAMED_SOFTSIGN,
    HN_NAMED_SOFTPLUS
} hn_act_kind;
typedef struct hn_act {
    hn_act_kind kind;
    int n_params; /* takes alpha; alpha and beta */
    double alpha, beta;
} hn_act;
hn_act hn_act_of(hn_act_kind kind); /* with the usual alpha and beta */
/* "Relu", "LeakyRelu" …, compared without case; false: none of them. */
bool hn_act_named(const char *name, hn_act *out);
hn_val hn_act_emit(hn_builder *b, hn_act a, hn_val x);

/* --- norm.c ------------------------------------------------------------------------------------------------------- */

/* The middle of every norm: (x - mean) * rsqrt(mean((x - mean)^2) + epsilon) over n ascending axes, in the type of x;
 * mean, variance and inv keep the axes as 1. Fusion knows this form. */
typedef struct hn_moments {
    hn_val mean, centred, variance, inv;
} hn_moments;
hn_moments hn_moments_of(hn_builder *b, hn_val x, size_t n, const int64_t *axes, double epsilon);
hn_val hn_normalised(hn_builder *b, hn_moments m);

/* Statistics in the type `stage` (f32 usually), scale and shift in the working type of x; scale and shift (0: none)
 * broadcast to x. *m, if not NULL: what was computed on the way. */
hn_val hn_layer_norm(hn_builder *b, hn_val x, size_t n, const int64_t *axes, hn_val scale, hn_val shift, double epsilon,
                     hone_dtype stage, hn_moments *m);
/* x * rsqrt(mean(x^2) + epsilon) * scale over n axes; the result has the type of scale. */
hn_val hn_rms_norm(hn_builder *b, hn_val x, size_t n, const int64_t *axes, hn_val scale, double epsilon,
                   hone_dtype stage);
/* Over the last axis, all in the type of x; rms: no mean, no shift (0). */
typedef struct hn_row_norm {
    hn_val y, mean, inv; /* mean: 0 for rms */
} hn_row_norm;
hn_row_norm hn_row_norm_of(hn_builder *b, hn_val x, hn_val scale, hn_val shift, bool rms, double epsilon);
/* x [N, C, …] over groups of channels (groups divide C); scale and shift per channel [C] or per group [groups]. */
hn_val hn_group_norm(hn_builder *b, hn_val x, int64_t groups, hn_val scale, hn_val shift, double epsilon,
                     hone_dtype stage);
hn_val hn_instance_norm(hn_builder *b, hn_val x, hn_val scale, hn_val shift, double epsilon); /* x [N, C, spatial…] */
/* Of a trained model, in the type of x: all four broadcast to x. They are joined first: what is left folds into a
 * convolution. */
hn_val hn_batch_norm(hn_builder *b, hn_val x, hn_val scale, hn_val shift, hn_val mean, hn_val variance, double epsilon);
/* Of a model that trains: mean and variance of the batch x [N, C, …] over axis 0 and, `spatial`, over 2.. (in *m). */
hn_val hn_batch_norm_trained(hn_builder *b, hn_val x, hn_val scale, hn_val shift, bool spatial, double epsilon,
                             hn_moments *m);
hn_val hn_lp_norm(hn_builder *b, hn_val x, int p, int64_t axis); /* x / norm, 0 where that is 0; p: 1 or 2 */

/* --- attend.c ----------------------------------------------------------------------------------------------------- */

/* [batch, length, heads * size] as [batch, heads, length, size], and back. */
hn_val hn_split_heads(hn_builder *b, hn_val x, int64_t heads);
hn_val hn_merge_heads(hn_builder *b, hn_val x);

/* softmax(q k^T * scale …) v over heads. All operands have rank 4: q [batch, q heads, q length, size], k and v
 * [batch, kv heads, kv length, size]; consecutive heads of q share a head of k and v (grouped queries; one kv head:
 * multi-query). The scores are in the working type of q, in this order: scale, softcap, bias, mask, causal and window,
 * length, softmax. */
typedef struct hn_attend {
    hn_val q, k, v;
    hn_val mask; /* 0, or broadcasts to [batch, q heads, q length, kv length]; bool (false: masked), or added; its last
                    dimension may be shorter: what is missing is masked */
    bool mask_is_whole; /* it is not shorter: needs no check where sizes are not known */
    hn_val bias;        /* 0, or another one to be added, in front of the mask */
    hn_val n_kv;        /* 0, or i64 [batch]: key positions from this on are masked */
    hn_val past;        /* causal: 0, or the i64 position of query 0, a scalar or [batch] */
    double scale;       /* 0: 1 / sqrt(size) */
    double softcap;     /* above 0: scores become softcap * tanh(scores / softcap) */
    double masked;      /* score of masked positions: -infinity, or a large negative number */
    int64_t window;     /* causal: how many last positions are seen; 0: all */
    bool causal;
    bool has_precision;
    hone_dtype precision; /* of the softmax */
    int stage; /* which scores are wanted: 0 after scaling, 1 after softcap, 2 after masks, 3 probabilities; -1 none */
    hn_val scores; /* result: those, of rank 4, in the type of q */
    /* Changes scores or probabilities of rank 4; NULL: none. which: 0 scores, 1 probabilities. 0: it failed */
    hn_val (*change)(void *arg, hn_builder *b, hn_val x, int which);
    void *change_arg;
} hn_attend;
/* [batch, q heads, q length, v size] in the type `out`. E_UNSUPPORTED: numbers of heads that are not known; E_INPUT:
 * kv heads that do not divide q heads. */
hn_val hn_attend_emit(hn_builder *b, hn_attend *a, hone_dtype out, hone_err *err);

/* A padding mask as a bias of the scores, 0 or `masked`, in the type t. mask: integers, [batch] lengths, or
 * [batch, keys] or [batch, queries, keys] that are above 0 where a key is seen. */
hn_val hn_padding_bias(hn_builder *b, hn_val mask, hn_dim keys, double masked, hone_dtype t);

/* Rotary embedding: turns pairs of x [.., size], the first 2 * half elements of the last axis; cosines and sines
 * broadcast to [.., half]. Pairs are (i, i + half), interleaved: (2 i, 2 i + 1). */
hn_val hn_rotate(hn_builder *b, hn_val x, hn_val cosines, hn_val sines, hn_dim half, bool interleaved);
/* x [batch, heads, tokens, size] turned by the angles of each token: rows at [batch, tokens] (integers) of the tables
 * [positions, half]. In the working type of x. */
hn_val hn_rotate_at(hn_builder *b, hn_val x, hn_val cosines, hn_val sines, hn_val at, bool interleaved);

/* A cache of keys or values [batch, heads, length, size]: past (0: none, else no longer than `length`) in front of
 * before[sample] (i64, batch elements), then x [batch, heads, tokens, size], then zeros. */
hn_val hn_kv_append(hn_builder *b, hn_val past, hn_val x, hn_val before, hn_dim length);

/* --- over_time.c: recurrences ------------------------------------------------------------------------------------- */

/* A short recurrence of known length is written out step by step, so that fusion sees it whole; any other becomes a
 * `loop` whose body is one step. */
enum { HN_UNROLL_STEPS = 8, HN_STATES_MAX = 4 };
typedef struct hn_moment {
    hn_val index; /* i64 scalar: 0 … steps-1, counted backwards when reversed */
    int64_t k;    /* the same as a number where written out, else -1 */
} hn_moment;
/* Element `at` of x along its dimension 0, without that dimension. */
hn_val hn_at_time(hn_builder *b, hn_val x, hn_moment at);
/* One step, emitted into b: reads and replaces state[], sets scan[]. A state keeps its type. */
typedef void hn_step_fn(void *arg, hn_builder *b, hn_moment at, hn_val *state, hn_val *scan);
/* Runs `steps` steps, last index first when reversed. state[]: initial values, replaced by the final ones. scan[]:
 * receives [steps, …] with the entry of index i at i, whichever came first. */
void hn_over_time(hn_builder *b, hn_dim steps, bool reversed, size_t n_state, hn_val *state, size_t n_scan,
                  hn_val *scan, hn_step_fn *step, void *arg);

/* --- recurrent.c -------------------------------------------------------------------------------------------------- */

typedef enum hn_cell { HN_CELL_RNN, HN_CELL_GRU, HN_CELL_LSTM } hn_cell;
int64_t hn_cell_gates(hn_cell cell); /* 1, 3 (z, r, h), 4 (i, o, f, c) */
/* One direction of a recurrent layer; all values in the type of x, which is at least f32. */
typedef struct hn_recurrent {
    hn_cell cell;
    const hn_act *act; /* of RNN 1, GRU 2 (gates, hidden), LSTM 3 (gates, cell, hidden) */
    double clip;       /* what goes into an activation stays within [-clip, clip]; infinite: anything */
    bool before_reset; /* GRU: the product with the state comes before the reset gate */
    bool couple;       /* LSTM: the forget gate is 1 - the input gate */
    bool reversed;     /* from the last step to the first */
    hn_val x;          /* [steps, batch, input] */
    hn_val w, r;       /* [gates * hidden, input], [gates * hidden, hidden] */
    hn_val bias;       /* 0, or [2 * gates * hidden]: of w, then of r */
    hn_val peep;       /* LSTM: 0, or [3 * hidden] of the input, output, forget gate */
    hn_val lens;       /* 0, or i64 [batch, 1]: how many steps each sample has */
    hn_dim longest;    /* 0, or as many steps as the longest sample has: those behind are not computed, but 0 */
    hn_val state[2];   /* hidden and (LSTM) cell state [batch, hidden]; 0: zeros. Results: those after the last step */
} hn_recurrent;
hn_val hn_recurrent_emit(hn_builder *b, hn_recurrent *o); /* [steps, batch, hidden] */

/* --- linear_attention.c ------------------------------------------------------------------------------------------- */

/* memory = exp(decay) * memory + key (value - beta-corrected reading)^T, read by the query, token by token. */
typedef struct hn_linear_attention {
    hn_val q, k, v;     /* [batch, tokens, heads * size] */
    hn_val decay, beta; /* 0: none; [batch, tokens, kv heads * (key size or 1)], [batch, tokens, kv heads or 1] */
    hn_val memory;      /* 0: zeros; [batch, kv heads, key size, value size]. Result: after the last token */
    int64_t q_heads, kv_heads; /* kv_heads divides q_heads */
    double scale;              /* 0: 1 / sqrt(key size) */
} hn_linear_attention;
hn_val hn_linear_attend(hn_builder *b, hn_linear_attention *a); /* [batch, tokens, q heads * value size] */

/* --- loss.c ------------------------------------------------------------------------------------------------------- */

typedef enum hn_reduction { HN_REDUCE_MEAN, HN_REDUCE_SUM, HN_REDUCE_NONE } hn_reduction;
/* log_prob [N, C, d…] in the working type, label integers [N, d…], weights [C] or 0, ignored: a label that does not
 * count, or NULL. The mean is over the weights. */
hn_val hn_class_loss(hn_builder *b, hn_val log_prob, hn_val label, hn_val weights, const int64_t *ignored,
                     hn_reduction how);

/* --- window.c: convolutions and pools ----------------------------------------------------------------------------- */

/* A sliding window over the spatial dimensions 2.. of an input [N, C, spatial…]. */
typedef struct hn_window {
    size_t n; /* spatial dimensions */
    int64_t kernel[HN_RANK_MAX], stride[HN_RANK_MAX], dilation[HN_RANK_MAX], inflate[HN_RANK_MAX];
    int64_t pad_high[HN_RANK_MAX]; /* as the model says, without what hn_window_pad_ceil adds; explicit padding only */
    hn_dim low[HN_RANK_MAX], high[HN_RANK_MAX];
    bool ceil;  /* `high` holds more than pad_high */
    bool empty; /* no padding at all */
    int64_t groups;
} hn_window;
/* Padding that gives ceil(input / stride) results; the odd element behind (upper) or in front. */
void hn_window_pad_same(hn_builder *b, hn_val x, hn_window *w, bool upper);
/* Along spatial dimension i, padded by `low` in front and pad_high behind: one more result where a window would begin
 * inside the input or its front padding. */
void hn_window_pad_ceil(hn_builder *b, hn_val x, hn_window *w, int64_t low, size_t i);
/* op: HN_OP_WSUM, HN_OP_WMAX or HN_OP_WARGMAX. */
hn_val hn_window_emit(hn_builder *b, hn_op op, hn_val x, const hn_window *w);
/* weight [M, C / groups, kernel…]; sums in the type `out`. */
hn_val hn_conv_emit(hn_builder *b, hn_val x, hn_val weight, const hn_window *w, hone_dtype out);
/* How many elements count in each window, as a value that broadcasts to the result: a constant where padding is none or
 * counts itself, else the product over the dimensions of sums over windows of ones. What hn_window_pad_ceil adds behind
 * the padding never counts. */
hn_val hn_window_counts(hn_builder *b, hn_val x, const hn_window *w, bool with_pad, hone_dtype t);

/* bias [C], or 0, added to y [N, C, …] in its type. */
hn_val hn_channel_bias(hn_builder *b, hn_val y, hn_val bias);
/* Weights [C, M / groups, kernel…] of a transposed convolution as those of the convolution that it is: [M, C / groups,
 * kernel…] with every kernel mirrored. */
hn_val hn_mirror_weights(hn_builder *b, hn_val w, int64_t groups);
/* x [N, C, …], weight [C, M / groups, kernel…]: a transposed convolution in the type `out`. Behind the result extra[i]
 * elements are added; then it loses low[i] in front and high[i] behind. The rank of x is below HN_RANK_MAX where there
 * are groups. */
hn_val hn_conv_transposed(hn_builder *b, hn_val x, hn_val weight, const hn_window *w, const int64_t *extra,
                          hone_dtype out);
/* Its size along spatial dimension i before it loses anything. */
hn_dim hn_window_full(hn_builder *b, hn_val x, const hn_window *w, int64_t extra, size_t i);
/* Lets it lose `total` along spatial dimension i; the odd element behind (upper) or in front. Below 0: zeros are added
 * behind. */
void hn_window_crop(hn_builder *b, hn_dim total, bool upper, hn_window *w, size_t i);

/* --- quantise.c --------------------------------------------------------------------------------------------------- */

bool hn_is_small_float(hone_dtype t); /* at most 8 bits */
bool hn_is_int(hone_dtype t);         /* with or without a sign; no bool */
/* A scale or zero point of one element for each block of `block` elements along axis, spread over the size of x. */
hn_val hn_spread_blocks(hn_builder *b, hn_val v, hn_val x, size_t axis, int64_t block);
/* x / scale + zero as the type t, divided in the type of scale; saturate: for 8-bit floats. scale and zero (0: none)
 * broadcast to x. */
hn_val hn_quantise(hn_builder *b, hn_val x, hn_val scale, hn_val zero, hone_dtype t, bool saturate);
/* (x - zero) * scale in the type of scale, then cast to t. */
hn_val hn_dequantise(hn_builder *b, hn_val x, hn_val scale, hn_val zero, hone_dtype t);
/* round(x) + zero, saturated to the type t: x is a float value, zero a value that broadcasts to it, or 0. */
hn_val hn_to_quantised(hn_builder *b, hn_val x, hn_val zero, hone_dtype t);
/* x - zero as i32 (as f32 for 8-bit floats, whose zero point is 0); zero may be 0. */
hn_val hn_centred(hn_builder *b, hn_val x, hn_val zero);
/* A parameter of the rows, or columns, of a matrix operand: [M] as [M, 1]; of one element as a scalar; 0 stays 0. */
hn_val hn_per_row(hn_builder *b, hn_val v);
hn_val hn_per_column(hn_builder *b, hn_val v);
/* acc * (sx * sw / sy), rounded, shifted and saturated to the type of `zero`. */
hn_val hn_requantised(hn_builder *b, hn_val acc, hn_val sx, hn_val sw, hn_val sy, hn_val zero);
/* u8 with scale and zero point out of the range of x (f32), which is widened to hold 0. A range of 0 has scale 1. */
typedef struct hn_dynamic {
    hn_val y, scale, zero;
} hn_dynamic;
hn_dynamic hn_quantise_dynamic(hn_builder *b, hn_val x);

#endif
