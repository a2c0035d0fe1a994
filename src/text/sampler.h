/* text/sampler.h — the next token from logits.
 *
 * The steps, in llama.cpp's usual order: bias, penalties, top-k, typical, top-p, min-p, temperature, then a draw; or
 * mirostat instead of the four filters. Temperature 0 takes the largest logit, the lowest id of equals. Repeat:  the
 * same seed, options and logits give the same tokens on every machine: sums run in one order, in double, and the
 *          exponential is computed with additions and multiplications alone.
 * Sources: top-p: Holtzman et al. 2020; typical: Meister et al. 2023; min-p: Nguyen et al. 2024; mirostat 2: Basu et
 * al. 2021; the repetition penalty: Keskar et al. 2019. Owns:    its state.   Threads: one at a time.   Errors: E_USAGE
 * (an option out of range: names it), E_NOMEM.
 */
#ifndef HN_SAMPLER_H
#define HN_SAMPLER_H

#include <hone/base.h>

typedef struct hn_bias {
    int32_t token;
    float add; /* -infinity: never */
} hn_bias;

typedef struct hn_sampling {
    double temperature;                 /* 0: the most likely token */
    int32_t top_k;                      /* 0: all */
    double top_p, min_p, typical_p;     /* 1, 0, 1: all */
    double repeat, frequency, presence; /* 1, 0, 0: none; over the last `penalty_window` tokens */
    int32_t penalty_window;             /* -1: all tokens so far */
    int32_t mirostat;                   /* 0 or 2 */
    double mirostat_tau, mirostat_eta;
    const hn_bias *bias; /* borrowed */
    size_t n_bias;
    uint64_t seed;
    bool plain; /* sort all tokens for each draw: what the quick way is held against */
} hn_sampling;

typedef struct hn_sampler hn_sampler;
hone_rc hn_sampler_new(const hn_sampling *options, size_t vocabulary, hn_sampler **out, hone_err *err);
void hn_sampler_free(hn_sampler *s);

/* A token that stands in the text: of the prompt, or drawn. What penalties count. */
hone_rc hn_sampler_accept(hn_sampler *s, int32_t token, hone_err *err);
/* Draws from logits[vocabulary]; allowed (NULL: all): a bit a token, of a grammar. *logprob (if not NULL): the natural
 * logarithm of the token's probability by the logits as they are. E_EMPTY: no token is allowed. Does not accept. */
hone_rc hn_sampler_pick(hn_sampler *s, const float *logits, const uint64_t *allowed, int32_t *token, double *logprob,
                        hone_err *err);

/* Draws so far for which all tokens were sorted, since sums were too near to each other to tell, or options ask for it
 * (typical-p, mirostat). */
uint64_t hn_sampler_sorted(const hn_sampler *s);

/* The token that the draw after `ahead` further ones would give of these logits, by the penalties of now: a guess that
 * is right where the logits are. Changes nothing. */
hone_rc hn_sampler_guess(hn_sampler *s, const float *logits, const uint64_t *allowed, uint64_t ahead, int32_t *token,
                         hone_err *err);

/* The logarithm of a token's probability is (logit - *top) - *rest. */
void hn_log_partition(const float *logits, size_t n, double *top, double *rest);
/* log(softmax(logits)) of one token, and the n most likely tokens with theirs, the first the most likely. */
double hn_logprob(const float *logits, size_t n, int32_t token);
void hn_most_likely(const float *logits, size_t n, size_t n_top, int32_t *token, double *logprob);

#endif
