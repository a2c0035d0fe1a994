/* decoder_attention.c — attention of a decoder's layer over the keys and values so far. */
#include "base/err.h"
#include "compose/decoder_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- positions ------------------------------------------------------------------------------------------------------
 */

static hn_val vector_of(step *s, const float *x, size_t n) {
    hn_tensor t = {.dtype = HONE_F32, .rank = 1, .dim = {(int64_t)n}};
    float *copy = hn_alloc_n(&s->b.g->arena, n ? n : 1, sizeof *x);
    if (!copy) return 0;
    memcpy(copy, x, n * sizeof *x);
    t.data = copy;
    return hn_const(&s->b, &t);
}

/* Factors of this run: those within the original context, or beyond it. With keys and values in blocks it is the
 * session's context that counts, which its table of blocks has room for: what else is computed in a run, and in how
 * many runs, must not matter. Else it is the text so far. */
static hn_val long_factors(step *s) {
    const hn_decoder *d = s->d;
    hn_builder *b = &s->b;
    hn_val near = hn_step_weight(s, HN_ROLE_ROTARY_SHORT, 0, d->rotary / 2, 0, false),
           far = hn_step_weight(s, HN_ROLE_ROTARY_LONG, 0, d->rotary / 2, 0, false);
    double original = d->rotary_scaling.original;
    if (!near || !far || !(original > 0)) return far;
    hn_dim n = d->cache ? hn_dim_mul(b->g->dims, hn_dim_of(b, s->table, 1), hn_lit(b, HN_CACHE_BLOCK))
                        : hn_dim_add(b->g->dims, s->tokens, s->past);
    hn_val within = hn_bin(b, HN_OP_LE, hn_size_value(b, n, HONE_I64), hn_const_i(b, HONE_I64, (int64_t)original));
    return hn_where(b, within, near, far);
}

/* Cosines and sines of the positions times the speeds, divided by factors (0: none). */
static angles angles_of(step *s, const float *speeds, hn_val factors, double length) {
    size_t half = (size_t)s->d->rotary / 2;
    hn_builder *b = &s->b;
    hn_val speed = vector_of(s, speeds, half);
    if (factors) speed = hn_bin(b, HN_OP_DIV, speed, factors);
    hn_dim column[2] = {s->tokens, hn_lit(b, 1)},
           four[4] = {hn_lit(b, 1), hn_lit(b, 1), s->tokens, hn_lit(b, (int64_t)half)};
    hn_val p = hn_reshape(b, hn_cast(b, s->position, HONE_F32), 2, column);
    hn_val angle = hn_reshape(b, hn_bin(b, HN_OP_MUL, p, speed), 4, four);
    angles a = {hn_un(b, HN_OP_COS, angle), hn_un(b, HN_OP_SIN, angle)};
    if (length == 1) return a;
    return (angles){hn_bin_f(b, HN_OP_MUL, a.cosine, length), hn_bin_f(b, HN_OP_MUL, a.sine, length)};
}

void hn_step_angles(step *s) {
    const hn_decoder *d = s->d;
    const hn_rotary_scaling *r = &d->rotary_scaling;
    float speeds[HN_DECODER_ROTARY / 2];
    if (!d->rotary) return;
    double context = (double)d->context;
    bool is_long = r->kind == HN_ROTARY_LONG;
    hn_val factors = is_long ? long_factors(s) : hn_step_weight(s, HN_ROLE_ROTARY_FACTORS, 0, d->rotary / 2, 0, true);
    hn_rotary_speeds(r, d->rotary_base, d->rotary_scale, context, d->rotary, speeds);
    s->far = angles_of(s, speeds, factors, hn_rotary_length(r, d->rotary_scale, context));
    s->near = s->far;
    if (!(d->rotary_base_local > 0)) return;
    hn_rotary_speeds(&(hn_rotary_scaling){0}, d->rotary_base_local, 0, context, d->rotary, speeds);
    s->near = angles_of(s, speeds, 0, 1);
}

bool hn_step_has_window(const hn_decoder *d, int64_t layer) {
    if (d->has_pattern) return d->window > 0 && d->windowed[layer];
    return d->window > 0 && !(d->window_every > 0 && (layer + 1) % d->window_every == 0);
}

/* --- queries, keys, values ------------------------------------------------------------------------------------------
 */

typedef struct heads_of {
    hn_val q, k, v; /* [tokens, heads, size] */
} heads_of;

static hn_val columns(step *s, hn_val x, int64_t from, int64_t n) {
    return x ? hn_slice_axis(&s->b, x, 1, hn_lit(&s->b, from), hn_lit(&s->b, n), 1) : 0;
}

static hn_val as_heads(step *s, hn_val x, int64_t heads) {
    hn_dim shape[3] = {s->tokens, hn_lit(&s->b, heads), hn_lit(&s->b, s->d->head_size)};
    return x ? hn_reshape(&s->b, x, 3, shape) : 0;
}

/* x [tokens, heads * size] as heads, normalised head by head or as a whole, whichever the norm is for. */
static hn_val normed_heads(step *s, hn_val x, hn_decoder_role role, int64_t l, int64_t heads) {
    int64_t size = s->d->head_size, n = 0;
    hn_val scale = hn_step_vector(s, role, l, size, heads * size);
    bool each = scale && hn_dim_known(&s->b, hn_dim_of(&s->b, scale, 0), &n) && n == size;
    if (scale && !each) x = hn_step_norm(s, x, scale, 0);
    x = as_heads(s, x, heads);
    return each ? hn_step_norm(s, x, scale, 0) : x;
}

static heads_of project(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    int64_t nq = d->heads * d->head_size, nk = d->kv_heads * d->head_size;
    hn_val all = hn_step_weight(s, HN_ROLE_QUERY_KEY_VALUE, l, nq + 2 * nk, d->width, true), q, k, v;
    if (all) {
        all = hn_step_product(s, x, all, hn_step_weight(s, HN_ROLE_QUERY_KEY_VALUE_BIAS, l, nq + 2 * nk, 0, true));
        q = columns(s, all, 0, nq);
        k = columns(s, all, nq, nk);
        v = columns(s, all, nq + nk, nk);
    } else {
        q = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_QUERY, l, nq, d->width, false),
                            hn_step_weight(s, HN_ROLE_QUERY_BIAS, l, nq, 0, true));
        k = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_KEY, l, nk, d->width, false),
                            hn_step_weight(s, HN_ROLE_KEY_BIAS, l, nk, 0, true));
        v = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_VALUE, l, nk, d->width, false),
                            hn_step_weight(s, HN_ROLE_VALUE_BIAS, l, nk, 0, true));
    }
    return (heads_of){normed_heads(s, q, HN_ROLE_QUERY_NORM, l, d->heads),
                      normed_heads(s, k, HN_ROLE_KEY_NORM, l, d->kv_heads), as_heads(s, v, d->kv_heads)};
}

/* --- attention ------------------------------------------------------------------------------------------------------
 */

/* [length, heads, size] as [1, heads, length, size], and back. */
static hn_val heads_first(step *s, hn_val x) { return x ? hn_unsqueeze(&s->b, hn_swap(&s->b, x, 0, 1), 0) : 0; }
static hn_val tokens_first(step *s, hn_val x) { return x ? hn_swap(&s->b, hn_squeeze(&s->b, x, 0), 0, 1) : 0; }

static hn_val turn(step *s, hn_val x, bool near) {
    const angles *a = near ? &s->near : &s->far;
    hn_dim half = hn_lit(&s->b, s->d->rotary / 2);
    if (!x || !s->d->rotary) return x;
    return tokens_first(s, hn_rotate(&s->b, heads_first(s, x), a->cosine, a->sine, half, s->d->rotary_interleaved));
}

/* Input past.WHAT.L with the new rows behind it, which is output present.WHAT.L. */
static hn_val cached(step *s, const char *what, int64_t l, hn_val rows) {
    char name[64];
    hn_type t = {HONE_F32, 3, {s->past, hn_lit(&s->b, s->d->kv_heads), hn_lit(&s->b, s->d->head_size)}};
    snprintf(name, sizeof name, "past.%s.%" PRId64, what, l);
    hn_val both[2] = {hn_param(s->b.g, 0, hn_strdup(&s->b.g->arena, name), &t), rows};
    hn_val all = rows ? hn_concat(&s->b, 2, both, 0) : 0;
    snprintf(name, sizeof name, "present.%s.%" PRId64, what, l);
    if (all) hn_result(s->b.g, 0, all, hn_strdup(&s->b.g->arena, name));
    return all;
}

static hn_val attend_grown(step *s, int64_t l, const heads_of *h, bool near) {
    const hn_decoder *d = s->d;
    hn_attend a = {.scale = d->attention_scale,
                   .softcap = d->attention_softcap,
                   .masked = -INFINITY,
                   .stage = -1,
                   .causal = true,
                   .past = s->past_value,
                   .window = near ? d->window : 0};
    a.q = heads_first(s, turn(s, h->q, near));
    a.k = heads_first(s, cached(s, "key", l, turn(s, h->k, near)));
    a.v = heads_first(s, cached(s, "value", l, h->v));
    if (s->rc || !a.q || !a.k || !a.v) return 0;
    return tokens_first(s, hn_attend_emit(&s->b, &a, HONE_F32, s->err));
}

hn_val hn_step_attention(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    bool near = hn_step_has_window(d, l);
    heads_of h = project(s, x, l);
    hn_val y = d->cache ? hn_step_attend_blocks(s, l, turn(s, h.q, near), turn(s, h.k, near), h.v, near ? d->window : 0)
                        : attend_grown(s, l, &h, near);
    if (s->rc || !y) return 0;
    hn_dim shape[2] = {s->tokens, hn_lit(&s->b, d->heads * d->head_size)};
    y = hn_step_product(s, hn_reshape(&s->b, y, 2, shape),
                        hn_step_weight(s, HN_ROLE_ATTENTION_OUT, l, d->width, d->heads * d->head_size, false),
                        hn_step_weight(s, HN_ROLE_ATTENTION_OUT_BIAS, l, d->width, 0, true));
    return hn_step_norm(s, y, hn_step_weight(s, HN_ROLE_ATTENTION_POST_NORM, l, d->width, 0, true), 0);
}
