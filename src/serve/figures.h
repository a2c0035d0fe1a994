/* serve/figures.h — what a server counts, as Prometheus reads it.
 *
 * Threads: all functions lock.   Errors: none; what cannot be counted is left out.
 */
#ifndef HN_SERVE_FIGURES_H
#define HN_SERVE_FIGURES_H

#include "base/str.h"

#include <pthread.h>

/* Seconds (or numbers) in buckets. */
enum { HN_BUCKETS = 16, HN_RECENT = 1024, HN_RATE_S = 5 };
typedef struct hn_histogram {
    uint64_t count[HN_BUCKETS + 1];
    double sum;
    float recent[HN_RECENT]; /* the last ones, in a ring */
    uint64_t n;
} hn_histogram;

/* Events of the last seconds, each in its second's place. */
typedef struct hn_rate {
    uint64_t second[2 * HN_RATE_S], n[2 * HN_RATE_S];
} hn_rate;

enum { HN_CODES = 600 };
/* Of one version of a model; of none (calls that name no model) where the name is "". */
typedef struct hn_figures {
    char *name;
    char version[40];
    pthread_mutex_t lock;
    uint64_t answered[HN_CODES]; /* by status */
    uint64_t prompt_tokens, found_tokens, answer_tokens, preempted, cancelled, steps;
    hn_histogram first_s, between_s, whole_s, batch;
    hn_rate tokens_now;
    uint64_t waiting, running, cache_blocks, cache_used;
} hn_figures;

void hn_histogram_add(hn_histogram *h, const double *bounds, double x);
/* Of the last HN_RECENT, as many as are given; NAN where there was none. */
size_t hn_histogram_quantiles(const hn_histogram *h, const double *at, size_t n_at, double *out);
void hn_rate_add(hn_rate *r, double now_s);
double hn_rate_now(const hn_rate *r, double now_s); /* a second, of the last HN_RATE_S whole ones */
extern const double hn_bounds_s[HN_BUCKETS], hn_bounds_batch[HN_BUCKETS];
void hn_figures_labels(hn_str *out, const char *model, const char *version); /* model="…",version="…" */
/* All of n, in the text format 0.0.4. */
void hn_figures_text(hn_figures *const *list, size_t n, hn_str *out);

#endif
