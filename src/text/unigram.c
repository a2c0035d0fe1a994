/* unigram.c — a piece of text as the tokens whose scores have the largest sum (Viterbi; Kudo 2018, Kudo & Richardson
 * 2018). A character that is no token costs ten less than the lowest score; several in a row are one token. */
#include "base/err.h"
#include "base/utf8.h"
#include "text/tokenizer_int.h"

#include <stdlib.h>

/* The best way to a byte of the text. */
typedef struct way {
    double score;
    int32_t id;  /* of the last token; -1: unknown */
    size_t from; /* where it begins; SIZE_MAX: there is no way yet */
} way;

/* Sums are kept as narrow as the tokenizer they must agree with keeps them: ties are broken by rounding. */
static double sum(const hn_tokenizer *t, double x, double y) {
    return t->single ? (double)((float)x + (float)y) : x + y;
}

static void offer(way *w, size_t end, size_t from, int32_t id, double score) {
    if (w[end].from != SIZE_MAX && !(score > w[end].score)) return;
    w[end] = (way){score, id, from};
}

static size_t character(const char *text, size_t n) {
    size_t k = hn_utf8_next(text, n, NULL);
    return k ? k : 1;
}

static void go_on(const hn_tokenizer *t, const char *text, size_t n, size_t at, way *w) {
    size_t first = character(text + at, n - at);
    uint64_t hash = HN_HASH_BEGIN;
    bool whole = false;
    for (size_t end = at; end < n && end - at < t->longest;) {
        size_t k = character(text + end, n - end);
        for (size_t i = 0; i < k; i++) hash = hn_hash_byte(hash, text[end + i]);
        end += k;
        int32_t id = hn_vocabulary_find_hashed(t, text + at, end - at, hash);
        if (id < 0 || t->token[id].type != HN_TOKEN_NORMAL) continue;
        whole |= end - at == first;
        offer(w, end, at, id, sum(t, w[at].score, t->token[id].score));
    }
    if (!whole) offer(w, at + first, at, -1, sum(t, w[at].score, sum(t, t->worst, -10)));
}

static hone_rc emit(const hn_tokenizer *t, const char *text, const way *w, size_t n, hn_ids *out, hone_err *err) {
    hone_rc rc = HONE_OK;
    size_t count = 0, *end = malloc((n + 1) * sizeof *end);
    if (!end) return hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n);
    for (size_t at = n; at; at = w[at].from) end[count++] = at;
    while (!rc && count--) {
        const way *k = &w[end[count]];
        size_t to = end[count];
        if (k->id >= 0) {
            hn_ids_add(out, k->id);
            continue;
        }
        while (count && w[end[count - 1]].id < 0) to = end[--count];
        rc = hn_emit_unknown(t, text + k->from, to - k->from, out, err);
    }
    free(end);
    return rc;
}

hone_rc hn_unigram_piece(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err) {
    way *w = malloc((n + 1) * sizeof *w);
    if (!w) return hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n);
    for (size_t i = 0; i <= n; i++) w[i] = (way){0, -1, SIZE_MAX};
    w[0].from = 0;
    for (size_t at = 0; at < n; at += character(text + at, n - at)) go_on(t, text, n, at, w);
    hone_rc rc = emit(t, text, w, n, out, err);
    free(w);
    return rc;
}
