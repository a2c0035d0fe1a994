/* figures.c — counters and histograms as text for Prometheus (exposition formats, text-based format 0.0.4). */
#include "serve/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const double hn_bounds_s[HN_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075,
                                        0.1,   0.2,    0.5,   1,    2,    5,    10,   30};
const double hn_bounds_batch[HN_BUCKETS] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};

void hn_histogram_add(hn_histogram *h, const double *bounds, double x) {
    size_t i = 0;
    while (i < HN_BUCKETS && x > bounds[i]) i++;
    h->count[i]++;
    h->sum += x;
    h->recent[h->n++ % HN_RECENT] = (float)x;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

size_t hn_histogram_quantiles(const hn_histogram *h, const double *at, size_t n_at, double *out) {
    float x[HN_RECENT];
    size_t n = h->n < HN_RECENT ? (size_t)h->n : HN_RECENT;
    memcpy(x, h->recent, n * sizeof *x);
    qsort(x, n, sizeof *x, by_size);
    for (size_t i = 0; i < n_at; i++) out[i] = n ? (double)x[(size_t)(at[i] * (double)(n - 1) + 0.5)] : NAN;
    return n;
}

void hn_rate_add(hn_rate *r, double now_s) {
    uint64_t second = (uint64_t)now_s;
    size_t i = second % (2 * HN_RATE_S);
    if (r->second[i] != second) r->n[i] = 0;
    r->second[i] = second;
    r->n[i]++;
}

double hn_rate_now(const hn_rate *r, double now_s) {
    uint64_t second = (uint64_t)now_s, n = 0;
    for (size_t i = 0; i < 2 * HN_RATE_S; i++)
        if (r->second[i] < second && r->second[i] + HN_RATE_S >= second) n += r->n[i];
    return (double)n / HN_RATE_S;
}

typedef struct counter {
    const char *name, *type, *help;
    size_t offset;
} counter;
static const counter counters[] = {
    {"hone_serve_prompt_tokens_total", "counter", "tokens of prompts", offsetof(hn_figures, prompt_tokens)},
    {"hone_serve_cached_tokens_total", "counter", "tokens of prompts that were computed before",
     offsetof(hn_figures, found_tokens)},
    {"hone_serve_answer_tokens_total", "counter", "tokens of answers", offsetof(hn_figures, answer_tokens)},
    {"hone_serve_preemptions_total", "counter", "answers and embeddings that waited for memory of keys and values",
     offsetof(hn_figures, preempted)},
    {"hone_serve_cancelled_total", "counter", "answers nobody waited for any more", offsetof(hn_figures, cancelled)},
    {"hone_serve_steps_total", "counter", "runs of the model", offsetof(hn_figures, steps)},
    {"hone_serve_waiting", "gauge", "requests that wait", offsetof(hn_figures, waiting)},
    {"hone_serve_running", "gauge", "requests under way", offsetof(hn_figures, running)},
    {"hone_serve_cache_blocks", "gauge", "blocks of keys and values there may be", offsetof(hn_figures, cache_blocks)},
    {"hone_serve_cache_blocks_used", "gauge", "blocks of keys and values that requests have",
     offsetof(hn_figures, cache_used)},
};

typedef struct spread {
    const char *name, *help;
    size_t offset;
    const double *bounds;
} spread;
static const spread spreads[] = {
    {"hone_serve_first_token_seconds", "from a request's arrival to its first token", offsetof(hn_figures, first_s),
     hn_bounds_s},
    {"hone_serve_between_tokens_seconds", "from one token of an answer to the next", offsetof(hn_figures, between_s),
     hn_bounds_s},
    {"hone_serve_request_seconds", "from a request's arrival to the end of its answer", offsetof(hn_figures, whole_s),
     hn_bounds_s},
    {"hone_serve_batch_size", "requests in a run of the model", offsetof(hn_figures, batch), hn_bounds_batch},
};

static void label(hn_str *out, const char *text) {
    for (const char *p = text; *p; p++) {
        if (*p == '\n')
            hn_str_add(out, "\\n");
        else {
            if (*p == '"' || *p == '\\') hn_str_add_n(out, "\\", 1);
            hn_str_add_n(out, p, 1);
        }
    }
}

void hn_figures_labels(hn_str *out, const char *model, const char *version) {
    hn_str_add(out, "model=\"");
    label(out, model);
    hn_str_add(out, "\",version=\"");
    label(out, version);
    hn_str_add(out, "\"");
}

static void begin(hn_str *out, const char *name, const char *part, const hn_figures *f) {
    hn_str_addf(out, "%s%s{model=\"", name, part);
    label(out, f->name);
    hn_str_add(out, "\"");
    if (!*f->name) return;
    hn_str_add(out, ",version=\"");
    label(out, f->version);
    hn_str_add(out, "\"");
}

static void put_spread(hn_str *out, const spread *s, hn_figures *f) {
    char text[32];
    const hn_histogram *h = (const hn_histogram *)((const char *)f + s->offset);
    uint64_t sum = 0;
    for (size_t i = 0; i <= HN_BUCKETS; i++) {
        sum += h->count[i];
        begin(out, s->name, "_bucket", f);
        hn_str_addf(out, ",le=\"%s\"} %" PRIu64 "\n", i < HN_BUCKETS ? hn_double_text(s->bounds[i], text) : "+Inf",
                    sum);
    }
    begin(out, s->name, "_sum", f);
    hn_str_addf(out, "} %s\n", hn_double_text(h->sum, text));
    begin(out, s->name, "_count", f);
    hn_str_addf(out, "} %" PRIu64 "\n", sum);
}

void hn_figures_text(hn_figures *const *list, size_t n, hn_str *out) {
    for (size_t i = 0; i < n; i++) pthread_mutex_lock(&list[i]->lock);
    hn_str_add(out, "# HELP hone_serve_requests_total answers by status\n# TYPE hone_serve_requests_total counter\n");
    for (size_t i = 0; i < n; i++)
        for (int code = 0; code < HN_CODES; code++) {
            if (!list[i]->answered[code]) continue;
            begin(out, "hone_serve_requests_total", "", list[i]);
            hn_str_addf(out, ",code=\"%d\"} %" PRIu64 "\n", code, list[i]->answered[code]);
        }
    hn_str_add(out, "# HELP hone_serve_model_info models and their versions\n# TYPE hone_serve_model_info gauge\n");
    for (size_t i = 0; i < n; i++) {
        if (!*list[i]->name) continue;
        begin(out, "hone_serve_model_info", "", list[i]);
        hn_str_add(out, "} 1\n");
    }
    for (size_t k = 0; k < sizeof counters / sizeof *counters; k++) {
        const counter *c = &counters[k];
        hn_str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", c->name, c->help, c->name, c->type);
        for (size_t i = 0; i < n; i++) {
            if (!*list[i]->name) continue;
            begin(out, c->name, "", list[i]);
            hn_str_addf(out, "} %" PRIu64 "\n", *(const uint64_t *)((const char *)list[i] + c->offset));
        }
    }
    for (size_t k = 0; k < sizeof spreads / sizeof *spreads; k++) {
        hn_str_addf(out, "# HELP %s %s\n# TYPE %s histogram\n", spreads[k].name, spreads[k].help, spreads[k].name);
        for (size_t i = 0; i < n; i++)
            if (*list[i]->name) put_spread(out, &spreads[k], list[i]);
    }
    for (size_t i = 0; i < n; i++) pthread_mutex_unlock(&list[i]->lock);
}
