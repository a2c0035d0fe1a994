/* decoder.c — one step of a language model as primitives. */
#include "compose/decoder.h"
#include "base/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *const role_name[HN_ROLES] = {
    [HN_ROLE_EMBEDDING] = "token embeddings",
    [HN_ROLE_OUTPUT_NORM] = "output norm",
    [HN_ROLE_OUTPUT] = "output weights",
    [HN_ROLE_ATTENTION_NORM] = "attention norm",
    [HN_ROLE_QUERY] = "query weights",
    [HN_ROLE_KEY] = "key weights",
    [HN_ROLE_VALUE] = "value weights",
    [HN_ROLE_QUERY_KEY_VALUE] = "joint query, key and value weights",
    [HN_ROLE_QUERY_BIAS] = "query bias",
    [HN_ROLE_KEY_BIAS] = "key bias",
    [HN_ROLE_VALUE_BIAS] = "value bias",
    [HN_ROLE_QUERY_NORM] = "query norm",
    [HN_ROLE_KEY_NORM] = "key norm",
    [HN_ROLE_ATTENTION_OUT] = "attention output weights",
    [HN_ROLE_ATTENTION_POST_NORM] = "norm behind attention",
    [HN_ROLE_MLP_NORM] = "MLP norm",
    [HN_ROLE_GATE] = "gate weights",
    [HN_ROLE_UP] = "up weights",
    [HN_ROLE_DOWN] = "down weights",
    [HN_ROLE_MLP_POST_NORM] = "norm behind the MLP",
    [HN_ROLE_ROTARY_FACTORS] = "rotary factors",
};

const char *hn_decoder_role_name(hn_decoder_role role) { return role_name[role]; }

typedef struct angles {
    hn_val cosine, sine; /* [1, 1, tokens, rotary / 2] */
} angles;

typedef struct step {
    const hn_decoder *d;
    hn_builder b;
    hone_err *err;
    hone_rc rc;
    hn_dim tokens, past;
    hn_val position, past_value; /* i64 [tokens]; i64 scalar */
    angles far, near;            /* of layers that see all; of those with a window */
} step;

/* --- weights ---------------------------------------------------------------------------------------------------------
 */

/* A weight of this shape (columns 0: a vector); 0 and s->rc where it is missing, unless `optional`, or another shape.
 */
static hn_val weight(step *s, hn_decoder_role role, int64_t layer, int64_t rows, int64_t columns, bool optional) {
    if (s->rc) return 0;
    hn_val v = s->d->weight(s->d->arg, &s->b, role, layer);
    int64_t n = -1, m = 0;
    if (!v && !optional && hn_graph_ok(s->b.g))
        s->rc = hn_fail(s->err, HONE_E_INPUT, "layer %" PRId64 " has no %s", layer, role_name[role]);
    if (!v) return 0;
    bool fits =
        hn_rank(&s->b, v) == (columns ? 2u : 1u) && hn_dim_known(&s->b, hn_dim_of(&s->b, v, 0), &n) && n == rows;
    fits = fits && (!columns || (hn_dim_known(&s->b, hn_dim_of(&s->b, v, 1), &m) && m == columns));
    if (!fits)
        s->rc = hn_fail(s->err, HONE_E_INPUT,
                        "the %s of layer %" PRId64 " are %" PRId64 " x %" PRId64 "; the model's sizes ask for %" PRId64
                        " x %" PRId64,
                        role_name[role], layer, n, m, rows, columns);
    return fits ? v : 0;
}

/* x [.., summed] times a matrix [results, summed]. */
static hn_val product(step *s, hn_val x, hn_val w) {
    static const int64_t lhs[] = {0, 2}, rhs[] = {1, 2}, out[] = {0, 1};
    return x && w ? hn_contract(&s->b, x, w, lhs, rhs, 2, out, hn_dt(&s->b, x)) : 0;
}

static hn_val norm(step *s, hn_val x, hn_val scale) {
    int64_t last = x ? (int64_t)hn_rank(&s->b, x) - 1 : 0;
    return x && scale ? hn_rms_norm(&s->b, x, 1, &last, scale, s->d->norm_epsilon, HONE_F32) : x;
}

static hn_val columns(step *s, hn_val x, int64_t from, int64_t n) {
    return x ? hn_slice_axis(&s->b, x, 1, hn_lit(&s->b, from), hn_lit(&s->b, n), 1) : 0;
}

/* --- positions
 * --------------------------------------------------------------------------------------------------------- */

/* Angle k of position p: p / scale * base^(-2 k / rotary) / factor k. */
static angles angles_of(step *s, double base, double scale, hn_val factors) {
    const hn_decoder *d = s->d;
    hn_builder *b = &s->b;
    size_t half = (size_t)d->rotary / 2;
    hn_tensor t = {.dtype = HONE_F32, .rank = 1, .dim = {(int64_t)half}};
    float *at = hn_alloc_n(&b->g->arena, half ? half : 1, sizeof *at);
    for (size_t k = 0; at && k < half; k++)
        at[k] = (float)(pow(base, -2.0 * (double)k / (double)d->rotary) / (scale > 0 ? scale : 1));
    t.data = at;
    hn_val speed = at ? hn_const(b, &t) : 0;
    if (factors) speed = hn_bin(b, HN_OP_DIV, speed, factors);
    hn_dim column[2] = {s->tokens, hn_lit(b, 1)},
           four[4] = {hn_lit(b, 1), hn_lit(b, 1), s->tokens, hn_lit(b, (int64_t)half)};
    hn_val p = hn_reshape(b, hn_cast(b, s->position, HONE_F32), 2, column);
    hn_val angle = hn_reshape(b, hn_bin(b, HN_OP_MUL, p, speed), 4, four);
    return (angles){hn_un(b, HN_OP_COS, angle), hn_un(b, HN_OP_SIN, angle)};
}

static bool has_window(const hn_decoder *d, int64_t layer) {
    return d->window > 0 && !(d->window_every > 0 && (layer + 1) % d->window_every == 0);
}

static void make_angles(step *s) {
    const hn_decoder *d = s->d;
    hn_val factors = weight(s, HN_ROLE_ROTARY_FACTORS, 0, d->rotary / 2, 0, true);
    s->far = angles_of(s, d->rotary_base, d->rotary_scale, factors);
    bool same = !(d->rotary_base_local > 0);
    s->near = same ? s->far : angles_of(s, d->rotary_base_local, 0, 0);
}

/* --- a layer
 * ------------------------------------------------------------------------------------------------------------ */

typedef struct heads_of {
    hn_val q, k, v; /* [tokens, heads, size] */
} heads_of;

static hn_val as_heads(step *s, hn_val x, hn_val bias, int64_t heads) {
    hn_dim shape[3] = {s->tokens, hn_lit(&s->b, heads), hn_lit(&s->b, s->d->head_size)};
    if (bias) x = hn_bin(&s->b, HN_OP_ADD, x, bias);
    return x ? hn_reshape(&s->b, x, 3, shape) : 0;
}

static heads_of project(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    int64_t nq = d->heads * d->head_size, nk = d->kv_heads * d->head_size;
    hn_val all = weight(s, HN_ROLE_QUERY_KEY_VALUE, l, nq + 2 * nk, d->width, true), q, k, v;
    if (all) {
        all = product(s, x, all);
        q = columns(s, all, 0, nq);
        k = columns(s, all, nq, nk);
        v = columns(s, all, nq + nk, nk);
    } else {
        q = product(s, x, weight(s, HN_ROLE_QUERY, l, nq, d->width, false));
        k = product(s, x, weight(s, HN_ROLE_KEY, l, nk, d->width, false));
        v = product(s, x, weight(s, HN_ROLE_VALUE, l, nk, d->width, false));
    }
    heads_of h = {as_heads(s, q, weight(s, HN_ROLE_QUERY_BIAS, l, nq, 0, true), d->heads),
                  as_heads(s, k, weight(s, HN_ROLE_KEY_BIAS, l, nk, 0, true), d->kv_heads),
                  as_heads(s, v, weight(s, HN_ROLE_VALUE_BIAS, l, nk, 0, true), d->kv_heads)};
    h.q = norm(s, h.q, weight(s, HN_ROLE_QUERY_NORM, l, d->head_size, 0, true));
    h.k = norm(s, h.k, weight(s, HN_ROLE_KEY_NORM, l, d->head_size, 0, true));
    return h;
}

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

static hn_val attention(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    bool near = has_window(d, l);
    heads_of h = project(s, x, l);
    hn_attend a = {.scale = d->attention_scale,
                   .softcap = d->attention_softcap,
                   .masked = -INFINITY,
                   .stage = -1,
                   .causal = true,
                   .past = s->past_value,
                   .window = near ? d->window : 0};
    a.q = heads_first(s, turn(s, h.q, near));
    a.k = heads_first(s, cached(s, "key", l, turn(s, h.k, near)));
    a.v = heads_first(s, cached(s, "value", l, h.v));
    if (s->rc || !a.q || !a.k || !a.v) return 0;
    hn_dim shape[2] = {s->tokens, hn_lit(&s->b, d->heads * d->head_size)};
    hn_val y = tokens_first(s, hn_attend_emit(&s->b, &a, HONE_F32, s->err));
    if (!y) return 0;
    y = product(s, hn_reshape(&s->b, y, 2, shape),
                weight(s, HN_ROLE_ATTENTION_OUT, l, d->width, d->heads * d->head_size, false));
    return norm(s, y, weight(s, HN_ROLE_ATTENTION_POST_NORM, l, d->width, 0, true));
}

static hn_val gated_mlp(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    hn_val gate_weights = weight(s, HN_ROLE_GATE, l, d->mlp, d->width, true), gate, up;
    if (gate_weights) {
        gate = product(s, x, gate_weights);
        up = product(s, x, weight(s, HN_ROLE_UP, l, d->mlp, d->width, false));
    } else {
        hn_val both = product(s, x, weight(s, HN_ROLE_UP, l, 2 * d->mlp, d->width, false));
        gate = columns(s, both, 0, d->mlp);
        up = columns(s, both, d->mlp, d->mlp);
    }
    if (!gate || !up) return 0;
    gate = d->gelu ? hn_gelu(&s->b, gate, true) : hn_swish(&s->b, gate, 1);
    hn_val y = product(s, hn_bin(&s->b, HN_OP_MUL, gate, up), weight(s, HN_ROLE_DOWN, l, d->width, d->mlp, false));
    return norm(s, y, weight(s, HN_ROLE_MLP_POST_NORM, l, d->width, 0, true));
}

static hn_val layer(step *s, hn_val x, int64_t l) {
    hn_val y = attention(s, norm(s, x, weight(s, HN_ROLE_ATTENTION_NORM, l, s->d->width, 0, false)), l);
    if (!y) return 0;
    x = hn_bin(&s->b, HN_OP_ADD, x, y);
    y = gated_mlp(s, norm(s, x, weight(s, HN_ROLE_MLP_NORM, l, s->d->width, 0, false)), l);
    return y ? hn_bin(&s->b, HN_OP_ADD, x, y) : 0;
}

/* --- the whole
 * ---------------------------------------------------------------------------------------------------------- */

static hone_rc check(const hn_decoder *d, hone_err *err) {
    const struct {
        const char *name;
        int64_t value, most;
    } size[] = {
        {"layers", d->layers, 10000},           {"width", d->width, 1 << 24},         {"heads", d->heads, 1 << 16},
        {"kv heads", d->kv_heads, 1 << 16},     {"head size", d->head_size, 1 << 16}, {"MLP", d->mlp, 1 << 26},
        {"vocabulary", d->vocabulary, 1 << 28}, {"context", d->context, 1 << 30},
    };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (size[i].value < 1 || size[i].value > size[i].most)
            return hn_fail(err, HONE_E_INPUT, "the model's %s is %" PRId64 "; 1 to %" PRId64 " are read", size[i].name,
                           size[i].value, size[i].most);
    if (d->heads % d->kv_heads)
        return hn_fail(err, HONE_E_INPUT, "%" PRId64 " heads of queries cannot share %" PRId64 " heads of keys",
                       d->heads, d->kv_heads);
    if (d->rotary < 0 || d->rotary % 2 || d->rotary > d->head_size || d->rotary > 2048)
        return hn_fail(err, HONE_E_INPUT, "%" PRId64 " rotary elements of a head of %" PRId64, d->rotary, d->head_size);
    return HONE_OK;
}

static hn_val input(step *s, const char *name, hn_dim n) {
    hn_type t = {HONE_I64, 1, {n}};
    return hn_param(s->b.g, 0, name, &t);
}

static hn_val head(step *s, hn_val x, hn_val want, hn_val embedding) {
    const hn_decoder *d = s->d;
    hn_val w = weight(s, HN_ROLE_OUTPUT, 0, d->vocabulary, d->width, true);
    x = norm(s, hn_gather(&s->b, x, want, 0), weight(s, HN_ROLE_OUTPUT_NORM, 0, d->width, 0, false));
    x = product(s, x, w ? w : embedding);
    if (x && d->logit_softcap > 0)
        x = hn_bin_f(&s->b, HN_OP_MUL, hn_un(&s->b, HN_OP_TANH, hn_bin_f(&s->b, HN_OP_DIV, x, d->logit_softcap)),
                     d->logit_softcap);
    return x;
}

hone_rc hn_decoder_emit(hn_graph *g, const hn_decoder *d, hone_err *err) {
    step s = {.d = d, .b = {g, 0}, .err = err, .rc = check(d, err)};
    if (s.rc) return s.rc;
    s.tokens = hn_dim_symbol(g->dims, "tokens", 1, d->context);
    s.past = hn_dim_symbol(g->dims, "past", 0, d->context);
    hn_dim wanted = hn_dim_symbol(g->dims, "wanted", 1, d->context);
    hn_val token = input(&s, "token", s.tokens), want = input(&s, "want", wanted);
    s.past_value = hn_size_value(&s.b, s.past, HONE_I64);
    s.position = hn_bin(&s.b, HN_OP_ADD, hn_iota(&s.b, HONE_I64, 1, &s.tokens, 0), s.past_value);
    make_angles(&s);
    hn_val embedding = weight(&s, HN_ROLE_EMBEDDING, 0, d->vocabulary, d->width, false);
    hn_val x = embedding ? hn_gather(&s.b, embedding, token, 0) : 0;
    if (x && d->embedding_scale > 0) x = hn_bin_f(&s.b, HN_OP_MUL, x, d->embedding_scale);
    for (int64_t l = 0; x && l < d->layers; l++) x = layer(&s, x, l);
    x = x ? head(&s, x, want, embedding) : 0;
    if (x) hn_result(g, 0, x, "logits");
    if (s.rc) return s.rc;
    if (!hn_graph_ok(g))
        return g->err.rc ? hn_fail(err, g->err.rc, "%s", g->err.text)
                         : hn_fail(err, HONE_E_NOMEM, "out of memory building a model");
    return x ? HONE_OK : hn_fail(err, HONE_E_FAILED, "the model cannot be built");
}
