/* decoder.c — one step of a language model as primitives. */
#include "base/err.h"
#include "compose/decoder_int.h"

#include <inttypes.h>
#include <math.h>

static hn_val normed(step *s, hn_val x, hn_decoder_role scale, hn_decoder_role bias, int64_t l, bool optional) {
    int64_t n = s->d->width;
    hn_val v = hn_step_weight(s, scale, l, n, 0, optional);
    return hn_step_norm(s, x, v, s->d->layer_norm ? hn_step_weight(s, bias, l, n, 0, true) : 0);
}

static hn_val added(step *s, hn_val x, hn_val y) {
    double by = s->d->residual_scale;
    if (!x || !y) return 0;
    return hn_bin(&s->b, HN_OP_ADD, x, by > 0 ? hn_bin_f(&s->b, HN_OP_MUL, y, by) : y);
}

static hn_val layer(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    hn_val y = normed(s, x, HN_ROLE_ATTENTION_NORM, HN_ROLE_ATTENTION_NORM_BIAS, l, d->post_norms), z = x;
    hn_val mid = hn_step_attention(s, y, l);
    if (!mid) return 0;
    x = added(s, x, mid);
    if (!d->parallel) {
        y = normed(s, x, HN_ROLE_MLP_NORM, HN_ROLE_MLP_NORM_BIAS, l, d->post_norms);
    } else { /* both may share one norm */
        hn_val own = normed(s, z, HN_ROLE_MLP_NORM, HN_ROLE_MLP_NORM_BIAS, l, true);
        if (own != z) y = own;
    }
    return added(s, x, hn_step_mlp(s, y, l));
}

/* --- the whole ------------------------------------------------------------------------------------------------------
 */

static hone_rc check(const hn_decoder *d, hone_err *err) {
    const struct {
        const char *name;
        int64_t value, most;
    } size[] = {
        {"number of layers", d->layers, 10000},
        {"width", d->width, 1 << 24},
        {"number of heads", d->heads, 1 << 16},
        {"number of heads of keys", d->kv_heads, 1 << 16},
        {"head size", d->head_size, 1 << 16},
        {"size of the MLP", d->mlp, 1 << 26},
        {"size of the vocabulary", d->vocabulary, 1 << 28},
        {"context", d->context, 1 << 30},
    };
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (size[i].value < 1 || size[i].value > size[i].most)
            return hn_fail(err, HONE_E_INPUT, "the model's %s is %" PRId64 "; 1 to %" PRId64 " are read", size[i].name,
                           size[i].value, size[i].most);
    if (d->heads % d->kv_heads)
        return hn_fail(err, HONE_E_INPUT,
                       "%" PRId64 " heads of queries cannot share %" PRId64 " heads of keys; a multiple is meant",
                       d->heads, d->kv_heads);
    if (d->rotary < 0 || d->rotary % 2 || d->rotary > d->head_size || d->rotary > HN_DECODER_ROTARY)
        return hn_fail(err, HONE_E_INPUT,
                       "rotary positions of %" PRId64 " elements of a head of %" PRId64
                       "; an even number up to its size is read, at most %d",
                       d->rotary, d->head_size, HN_DECODER_ROTARY);
    if (d->rotary && !(d->rotary_base > 0 && isfinite(d->rotary_base) && d->rotary_base_local >= 0 &&
                       isfinite(d->rotary_base_local)))
        return hn_fail(err, HONE_E_INPUT,
                       "rotary positions with a base of %g, and %g in layers with a window; numbers above 0 are meant",
                       d->rotary_base, d->rotary_base_local);
    if (d->has_pattern && d->layers > HN_DECODER_PATTERN)
        return hn_fail(err, HONE_E_INPUT, "a pattern of windows for %" PRId64 " layers; at most %d are read", d->layers,
                       HN_DECODER_PATTERN);
    if (d->experts && (d->experts < 0 || d->experts > 1 << 16 || d->experts_used < 1 || d->experts_used > d->experts))
        return hn_fail(err, HONE_E_INPUT, "%" PRId64 " of %" PRId64 " experts cannot be chosen", d->experts_used,
                       d->experts);
    if (d->experts && (d->expert_mlp < 1 || d->expert_mlp > 1 << 26 || d->shared_mlp < 0 || d->shared_mlp > 1 << 26))
        return hn_fail(err, HONE_E_INPUT, "experts with an MLP of %" PRId64 ", and a shared one of %" PRId64,
                       d->expert_mlp, d->shared_mlp);
    return hn_rotary_check(&d->rotary_scaling, d->rotary_scale, (double)d->context, err);
}

static hn_val input(step *s, const char *name, hn_dim n) {
    hn_type t = {HONE_I64, 1, {n}};
    return hn_param(s->b.g, 0, name, &t);
}

static hn_val embedded(step *s, hn_val embedding, hn_val token) {
    const hn_decoder *d = s->d;
    hn_val x = hn_step_embed(s, embedding, token);
    if (x && d->embedding_scale > 0) x = hn_bin_f(&s->b, HN_OP_MUL, x, d->embedding_scale);
    hn_val learned = hn_step_weight(s, HN_ROLE_POSITION, 0, d->context, d->width, true);
    return x && learned ? hn_bin(&s->b, HN_OP_ADD, x, hn_step_embed(s, learned, s->position)) : x;
}

/* The logits of the last state x [wanted, width]. */
static hn_val head(step *s, hn_val x, hn_val embedding) {
    const hn_decoder *d = s->d;
    hn_val w = hn_step_weight(s, HN_ROLE_OUTPUT, 0, d->vocabulary, d->width, true);
    x = hn_step_product(s, x, w ? w : embedding, hn_step_weight(s, HN_ROLE_OUTPUT_BIAS, 0, d->vocabulary, 0, true));
    if (x && d->logit_scale > 0) x = hn_bin_f(&s->b, HN_OP_MUL, x, d->logit_scale);
    if (x && d->logit_softcap > 0)
        x = hn_bin_f(&s->b, HN_OP_MUL, hn_un(&s->b, HN_OP_TANH, hn_bin_f(&s->b, HN_OP_DIV, x, d->logit_softcap)),
                     d->logit_softcap);
    return x;
}

hone_rc hn_decoder_emit(hn_graph *g, const hn_decoder *d, hone_err *err) {
    step s = {.d = d, .b = {g, 0}, .err = err, .rc = check(d, err)};
    if (s.rc) return s.rc;
    s.tokens = hn_dim_symbol(g->dims, "tokens", 1, d->context);
    if (!d->cache) s.past = hn_dim_symbol(g->dims, "past", 0, d->context);
    hn_dim wanted = hn_dim_symbol(g->dims, "wanted", 1, d->context);
    hn_val token = input(&s, "token", s.tokens), want = input(&s, "want", wanted);
    if (d->cache) {
        hn_step_blocks(&s);
    } else {
        s.past_value = hn_size_value(&s.b, s.past, HONE_I64);
        s.position = hn_bin(&s.b, HN_OP_ADD, hn_iota(&s.b, HONE_I64, 1, &s.tokens, 0), s.past_value);
    }
    hn_step_angles(&s);
    hn_val embedding = hn_step_weight(&s, HN_ROLE_EMBEDDING, 0, d->vocabulary, d->width, false);
    hn_val x = embedded(&s, embedding, token);
    for (int64_t l = 0; x && l < d->layers; l++) x = layer(&s, x, l);
    if (x) x = normed(&s, hn_gather(&s.b, x, want, 0), HN_ROLE_OUTPUT_NORM, HN_ROLE_OUTPUT_NORM_BIAS, 0, false);
    hn_val state = x;
    x = x ? head(&s, x, embedding) : 0;
    if (x) hn_result(g, 0, x, "logits");
    if (x && d->cache) hn_result(g, 0, state, "hidden");
    if (s.rc) return s.rc;
    if (!hn_graph_ok(g))
        return g->err.rc ? hn_fail(err, g->err.rc, "%s", g->err.text)
                         : hn_fail(err, HONE_E_NOMEM, "out of memory building a model");
    return x ? HONE_OK : hn_fail(err, HONE_E_FAILED, "the model cannot be built");
}
