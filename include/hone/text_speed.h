/* hone/text_speed.h — how fast a language model answers, alone or beside a peer.
 *
 * Units: seconds, tokens per second, bytes. Intervals: the bootstrap's of the median over the rounds, 95 %.
 * Threads: one measurement at a time on a model.   Errors: E_USAGE (no tokens at all), E_LIMIT (the context is too
 * short for them), E_INTERRUPTED, E_NOMEM; those of the peer.
 */
#ifndef HONE_TEXT_SPEED_H
#define HONE_TEXT_SPEED_H

#include <hone/device.h>
#include <hone/stat.h>
#include <hone/text.h>
#include <hone/text_peer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A round: an empty context takes a prompt, then one token after the other behind it. Tokens are drawn at random: a
 * model's speed does not depend on them. */
typedef struct hone_text_speed_options {
    size_t size;
    size_t prompt_tokens, tokens; /* 512 and 128, at least 1 and 1 */
    uint32_t rounds;              /* behind one that warms up; 0: 5 */
    uint64_t seed;                /* of the tokens, and of who begins a round */
    hone_text_peer *peer;         /* NULL: alone. Its turns are interleaved with the model's */
    hone_progress progress;       /* after each round */
    const volatile int *stop;
    double read_b;      /* bytes that a token of the answer reads; 0: the memory's speed is not measured */
    uint32_t n_threads; /* that read them; 0: one */
} hone_text_speed_options;
static inline hone_text_speed_options hone_text_speed_defaults(void) {
    hone_text_speed_options o = HONE_ZERO;
    o.size = sizeof o;
    o.prompt_tokens = 512, o.tokens = 128;
    return o;
}

typedef struct hone_text_rates {
    hone_interval prompt, generation; /* tokens per second */
    hone_interval first_s;            /* from an empty context to the first token; of a peer: the prompt alone */
    uint64_t resident_b;              /* memory of the process behind the last round; 0: not known */
} hone_text_rates;

typedef struct hone_text_speed {
    hone_text_rates mine, peer;                   /* peer: NANs where there was none */
    hone_interval prompt_ratio, generation_ratio; /* rates of mine / peer, of the same round */
    /* Bytes per second that as many threads read, of memory as large as what a token reads, in the same rounds; and the
     * share of them that the answer read, of the same round. NANs: not measured. */
    hone_interval bandwidth, bandwidth_share;
} hone_text_speed;

HONE_API hone_rc hone_text_speed_measure(hone_text *m, const hone_text_speed_options *options, hone_text_speed *out,
                                         hone_err *err);

/* What this machine can read in a second on so many threads, by its table; 0: not measured. */
HONE_API double hone_text_speed_bandwidth(const hone_device *d, uint32_t n_threads);

#ifdef __cplusplus
}
#endif
#endif
