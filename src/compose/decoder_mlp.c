/* decoder_mlp.c — what a decoder's layer does behind attention: an MLP, or experts. */
#include "base/err.h"
#include "compose/decoder_int.h"
#include "compose/experts.h"

#include <inttypes.h>

static hn_val columns(step *s, hn_val x, int64_t from, int64_t n) {
    return x ? hn_slice_axis(&s->b, x, 1, hn_lit(&s->b, from), hn_lit(&s->b, n), 1) : 0;
}

static hn_val function(step *s, hn_val x) {
    if (s->d->gelu || s->d->gelu_exact) return hn_gelu(&s->b, x, !s->d->gelu_exact);
    return hn_swish(&s->b, x, 1);
}

static hn_val plain_mlp(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    hn_val up = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_UP, l, d->mlp, d->width, false),
                                hn_step_weight(s, HN_ROLE_UP_BIAS, l, d->mlp, 0, true));
    if (!up) return 0;
    return hn_step_product(s, function(s, up), hn_step_weight(s, HN_ROLE_DOWN, l, d->width, d->mlp, false),
                           hn_step_weight(s, HN_ROLE_DOWN_BIAS, l, d->width, 0, true));
}

static hn_val gated_mlp(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    hn_val gate_weights = hn_step_weight(s, HN_ROLE_GATE, l, d->mlp, d->width, true), gate, up;
    if (gate_weights) {
        gate = hn_step_product(s, x, gate_weights, hn_step_weight(s, HN_ROLE_GATE_BIAS, l, d->mlp, 0, true));
        up = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_UP, l, d->mlp, d->width, false),
                             hn_step_weight(s, HN_ROLE_UP_BIAS, l, d->mlp, 0, true));
    } else {
        hn_val both = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_UP, l, 2 * d->mlp, d->width, false),
                                      hn_step_weight(s, HN_ROLE_UP_BIAS, l, 2 * d->mlp, 0, true));
        gate = columns(s, both, 0, d->mlp);
        up = columns(s, both, d->mlp, d->mlp);
    }
    if (!gate || !up) return 0;
    return hn_step_product(s, hn_bin(&s->b, HN_OP_MUL, function(s, gate), up),
                           hn_step_weight(s, HN_ROLE_DOWN, l, d->width, d->mlp, false),
                           hn_step_weight(s, HN_ROLE_DOWN_BIAS, l, d->width, 0, true));
}

/* --- experts --------------------------------------------------------------------------------------------------------
 */

typedef struct expert_weights {
    step *s;
    hn_val gate, up, down;
} expert_weights;

static hn_val expert_mlp(void *arg, hn_builder *b, hn_val x, hn_val expert) {
    const expert_weights *w = arg;
    step *s = w->s;
    hn_builder outside = s->b;
    s->b = *b;
    hn_val gate = hn_step_experts_product(s, x, w->gate, expert), up = hn_step_experts_product(s, x, w->up, expert);
    hn_val y = gate && up ? hn_bin(&s->b, HN_OP_MUL, function(s, gate), up) : 0;
    y = hn_step_experts_product(s, y, w->down, expert);
    s->b = outside;
    return y;
}

/* The expert that all tokens have, by its share where it has one. */
static hn_val shared_expert(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    hn_builder *b = &s->b;
    hn_val gate = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_SHARED_GATE, l, d->shared_mlp, d->width, false), 0),
           up = hn_step_product(s, x, hn_step_weight(s, HN_ROLE_SHARED_UP, l, d->shared_mlp, d->width, false), 0);
    if (!gate || !up) return 0;
    hn_val y = hn_step_product(s, hn_bin(b, HN_OP_MUL, function(s, gate), up),
                               hn_step_weight(s, HN_ROLE_SHARED_DOWN, l, d->width, d->shared_mlp, false), 0);
    hn_val router = hn_step_router(s, HN_ROLE_SHARED_ROUTER, l);
    if (!y || !router) return y;
    return hn_bin(b, HN_OP_MUL, y, hn_un(b, HN_OP_SIGMOID, hn_step_product(s, x, router, 0)));
}

static hn_val experts(step *s, hn_val x, hn_val router, int64_t l) {
    const hn_decoder *d = s->d;
    expert_weights w = {s, hn_step_experts(s, HN_ROLE_EXPERTS_GATE, l, d->expert_mlp, d->width),
                        hn_step_experts(s, HN_ROLE_EXPERTS_UP, l, d->expert_mlp, d->width),
                        hn_step_experts(s, HN_ROLE_EXPERTS_DOWN, l, d->width, d->expert_mlp)};
    hn_experts e = {.x = x,
                    .scores = hn_step_product(s, x, router, 0),
                    .used = d->experts_used,
                    .normalised = d->experts_normalised,
                    .scale = d->experts_scale,
                    .mlp = expert_mlp,
                    .arg = &w};
    hn_val y = s->rc ? 0 : hn_experts_emit(&s->b, &e);
    if (!y || !d->shared_mlp) return y;
    hn_val shared = shared_expert(s, x, l);
    return shared ? hn_bin(&s->b, HN_OP_ADD, y, shared) : 0;
}

hn_val hn_step_mlp(step *s, hn_val x, int64_t l) {
    const hn_decoder *d = s->d;
    hn_val router = d->experts ? hn_step_weight(s, HN_ROLE_ROUTER, l, d->experts, d->width, true) : 0;
    hn_val y = router ? experts(s, x, router, l) : d->ungated ? plain_mlp(s, x, l) : gated_mlp(s, x, l);
    return hn_step_norm(s, y, hn_step_weight(s, HN_ROLE_MLP_POST_NORM, l, d->width, 0, true), 0);
}
