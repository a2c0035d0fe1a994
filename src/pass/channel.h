/* pass/channel.h — factors and summands that depend on one dimension alone, and are constant. */
#ifndef HN_CHANNEL_H
#define HN_CHANNEL_H

#include "pass/rewrite.h"

typedef struct hn_channel {
    const hn_tensor *t; /* its elements, in order */
    hn_tensor one;      /* what t is, where there is one for all: the struct must not move then */
    int64_t n;          /* as many as the dimension is long, or 1 */
} hn_channel;

/* Does v depend on dimension `axis` alone? */
bool hn_channel_of(hn_rewriter *r, hn_val v, size_t axis, hn_channel *out);
double hn_channel_at(const hn_channel *c, int64_t i);

#endif
