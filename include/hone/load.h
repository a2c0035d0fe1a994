/* hone/load.h — load on a server of language models, or of models of tensors: many requests, by a plan, and how long
 * each took.
 *
 *     hone_load_options o = hone_load_defaults();
 *     o.url = "http://127.0.0.1:8000", o.rate = 4, o.n = 100;
 *     hone_load_run(&o, &result, &err);
 *
 * Requests go to /v1/completions as streams. Their prompts, lengths and times follow from the seed alone.
 * Units:   seconds.   Threads: one run at a time for a result.
 * Errors:  E_USAGE (a URL or plan that is none), E_IO (nobody answers; a trace cannot be read or written), E_INPUT (a
 * trace that is none), E_NOMEM, E_INTERRUPTED.
 */
#ifndef HONE_LOAD_H
#define HONE_LOAD_H

#include <hone/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HONE_LOAD_ROUNDS = 64 }; /* at most */
typedef struct hone_load_options {
    size_t size;
    const char *url,
        *against; /* "http://HOST:PORT" or "https://…"; against: a second server, in turns with the first; NULL: none */
    const char *model, *key; /* NULL: the server's only model; no key */
    size_t n;                /* requests of a round; 0: 32 */
    uint32_t rounds;         /* of each server, behind one that warms up; 0: 3 */
    double rate;        /* requests a second, at random times (Poisson), however many are under way; 0: by n_clients */
    uint32_t burst;     /* requests that come at once, with `rate`; 0: 1 */
    uint32_t n_clients; /* without a rate: each sends its next when it has its answer; 0: 1 */
    uint32_t prompt_words, tokens; /* 0: 64 and 64 */
    uint64_t seed;
    const volatile int *stop;
    /* A file of recorded requests, docs/serve.md: their times and lengths in place of n, rate and lengths (n cuts it).
     * Rounds: 1 when 0. The round that warms up sends its first 32 one after another. NULL: none. */
    const char *trace;
    const char *save_trace; /* the first round that counts is written there as such a file; NULL: nowhere */
    hone_progress progress; /* after each round: stage "round" */
    const char *ca;         /* https: a file of certificates in PEM that are trusted; NULL: those of the system */
    bool insecure;          /* https: any certificate will do */
    /* A model of tensors (Open Inference Protocol) in place of completions: its name. Inputs are random, what counts as
     * a token is an answered request, and only whole_s has values. NULL: none. */
    const char *infer;
    const char
        *sizes; /* of it: "8,128" for the symbolic dimensions of each input, the last one for the rest; NULL: 1 */
} hone_load_options;
static inline hone_load_options hone_load_defaults(void) {
    hone_load_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* Of each percentile a 95 % interval from order statistics (Hahn and Meeker 1991, 5.2): it takes the values as
 * independent, and nothing else. NANs: there were none; an end alone: too few values to have it. */
typedef struct hone_load_times {
    double p50, p95, p99;
    hone_interval p50_range, p95_range, p99_range;
    double quantile[101]; /* the percentiles 0 to 100 */
} hone_load_times;

typedef struct hone_load_side {
    size_t n, n_failed, n_tokens;
    hone_load_times first_s, between_s, whole_s; /* over all rounds */
    hone_interval tokens_per_s;                  /* over the rounds: the bootstrap's of the median, 95 % */
    int last_status;                             /* of a request that failed; 0: no answer */
    double rate[HONE_LOAD_ROUNDS];               /* tokens a second of each round */
    size_t n_rounds;
} hone_load_side;

typedef struct hone_load_result {
    hone_load_side mine, peer; /* peer.n is 0 where there was none */
    hone_interval ratio;       /* of tokens a second of the same round, mine / peer; NANs: no peer */
} hone_load_result;

HONE_API hone_rc hone_load_run(const hone_load_options *options, hone_load_result *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
