/* about_decoder.c — what `hone inspect` says of language models, whatever their format. */
#include "front/about_decoder.h"

#include <inttypes.h>

static void say_experts(hn_model_summary *s, const hn_decoder *d) {
    if (!d->experts) return;
    hn_str_addf(&s->facts,
                "\"experts\":%" PRId64 ",\"experts_used\":%" PRId64 ",\"expert_mlp\":%" PRId64
                ",\"shared_mlp\":%" PRId64 ",",
                d->experts, d->experts_used, d->expert_mlp, d->shared_mlp);
    const char *text = hn_format(&s->arena, "%" PRId64 " of %" PRId64 " for a token, each an MLP of %" PRId64,
                                 d->experts_used, d->experts, d->expert_mlp);
    if (d->shared_mlp) text = hn_format(&s->arena, "%s; one of %" PRId64 " for all", text, d->shared_mlp);
    hn_summary_about(s, "experts", text);
}

void hn_summary_decoder(hn_model_summary *s, const hn_decoder *d, const hn_decoder_cost *c) {
    uint64_t per_token = hn_decoder_cache_b(d);
    hn_str_addf(&s->facts,
                "\"layers\":%" PRId64 ",\"width\":%" PRId64 ",\"heads\":%" PRId64 ",\"kv_heads\":%" PRId64
                ",\"head_size\":%" PRId64 ",\"mlp\":%" PRId64 ",\"vocabulary\":%" PRId64 ",\"context\":%" PRId64
                ",\"weights_b\":%" PRIu64 ",\"cache_b_per_token\":%" PRIu64 ",\"weights_read_b_per_token\":%.0f"
                ",\"weights_multiplied_per_token\":%.0f,",
                d->layers, d->width, d->heads, d->kv_heads, d->head_size, d->mlp, d->vocabulary, d->context, c->size_b,
                per_token, c->read_b, c->multiplied);
    hn_summary_about(s, "sizes",
                     hn_format(&s->arena,
                               "%" PRId64 " layers of %" PRId64 ", %" PRId64 " heads of %" PRId64 " on %" PRId64
                               ", MLP %" PRId64,
                               d->layers, d->width, d->heads, d->head_size, d->kv_heads, d->mlp));
    say_experts(s, d);
    hn_summary_about(
        s, "tokens",
        hn_format(&s->arena, "%" PRId64 " in the vocabulary, a context of %" PRId64, d->vocabulary, d->context));
    hn_summary_about(s, "per token",
                     hn_format(&s->arena, "%.1f MiB of weights are read; keys and values take %.1f KiB (f32)",
                               c->read_b / 0x1p20, (double)per_token / 0x1p10));
    const char *text = hn_format(&s->arena, "%.0f MiB of keys and values at the whole context",
                                 (double)per_token * (double)d->context / 0x1p20);
    if (d->context > 4096)
        text = hn_format(&s->arena, "%s, %.0f MiB at 4,096 tokens", text, (double)per_token * 4096.0 / 0x1p20);
    hn_summary_about(s, "memory", text);
}
