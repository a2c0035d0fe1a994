/* decoder_cost.c — what one new token costs. */
#include "compose/decoder.h"

double hn_decoder_met(const hn_decoder *d, hn_decoder_role role, bool tied) {
    switch (role) {
    case HN_ROLE_EMBEDDING: return tied || d->vocabulary < 1 ? 1 : 1 / (double)d->vocabulary;
    case HN_ROLE_POSITION: return d->context < 1 ? 1 : 1 / (double)d->context;
    case HN_ROLE_EXPERTS_GATE:
    case HN_ROLE_EXPERTS_UP:
    case HN_ROLE_EXPERTS_DOWN: return d->experts > 0 ? (double)d->experts_used / (double)d->experts : 1;
    default: return 1;
    }
}

void hn_decoder_count(hn_decoder_cost *c, const hn_decoder *d, hn_decoder_role role, bool tied, uint64_t size_b,
                      uint64_t n_elements, bool matrix) {
    double met = hn_decoder_met(d, role, tied);
    bool looked_up = role == HN_ROLE_POSITION || (role == HN_ROLE_EMBEDDING && !tied);
    c->size_b += size_b;
    c->read_b += (double)size_b * met;
    if (matrix && !looked_up) c->multiplied += (double)n_elements * met;
}

uint64_t hn_decoder_cache_b(const hn_decoder *d) {
    double n = (double)d->layers * (double)d->kv_heads * (double)d->head_size * 2 * sizeof(float);
    return n < 0x1p60 ? (uint64_t)n : INT64_MAX; /* JSON has no larger one */
}
