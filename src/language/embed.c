/* embed.c — a vector that stands for a text: the last layer's states, behind the model's last norm, of all tokens on
 * average or of the last one. */
#include "base/err.h"
#include "language/language_int.h"
#include "language/slot.h"

#include <math.h>
#include <stdlib.h>

/* Tokens of a step whose states are wanted: the logits that come with them take memory. */
enum { ROWS = 32 };

struct hn_embedding {
    hone_text_session *session;
    const int32_t *token;
    size_t n, done;
    hone_text_pooling pooling;
    double *sum;
};

void hn_embedding_close(hn_embedding *e) {
    if (!e) return;
    hone_text_session_close(e->session);
    free(e->sum);
    free(e);
}

hone_rc hn_embedding_open(hone_text *m, const int32_t *token, size_t n, hone_text_pooling pooling, hn_embedding **out,
                          hone_err *err) {
    hone_rc rc = hn_language_ready(m, false, true, err);
    if (!rc && !n) rc = hn_fail(err, HONE_E_USAGE, "there are no tokens to embed");
    if (!rc) rc = hn_session_fits(m, 0, n, err);
    if (rc) return rc;
    hn_embedding *e = calloc(1, sizeof *e);
    if (e) e->sum = calloc((size_t)m->width, sizeof *e->sum);
    if (!e || !e->sum) rc = hn_fail(err, HONE_E_NOMEM, "out of memory embedding %zu tokens", n);
    if (!rc) rc = hone_text_session_open(m, &e->session, err);
    if (rc) {
        hn_embedding_close(e);
        return rc;
    }
    e->session->alone = true;
    e->token = token;
    e->n = n;
    e->pooling = pooling;
    *out = e;
    return HONE_OK;
}

static size_t next_n(const hn_embedding *e) {
    size_t left = e->n - e->done, most = e->pooling == HONE_TEXT_MEAN ? ROWS : HN_CHUNK;
    return left < most ? left : most;
}

bool hn_embedding_fits(const hn_embedding *e) {
    const hone_text_session *s = e->session;
    size_t used, most, end = (e->done + next_n(e) + HN_CACHE_BLOCK - 1) / HN_CACHE_BLOCK;
    hn_slot_memory(s->m, &used, &most);
    return end <= s->n_block + (most - used);
}

bool hn_embedding_over(const hn_embedding *e) { return e->done == e->n; }

hone_rc hn_embedding_step(hn_embedding *e, hone_err *err) {
    hone_text *m = e->session->m;
    size_t left = e->n - e->done, n = next_n(e);
    size_t want = e->pooling == HONE_TEXT_MEAN ? n : n == left;
    hone_rc rc = hn_session_step(e->session, e->token + e->done, n, want, err);
    for (size_t i = 0; !rc && i < want; i++)
        for (int64_t k = 0; k < m->width; k++) e->sum[k] += (double)m->hidden[(int64_t)i * m->width + k];
    if (!rc) e->done += n;
    return rc;
}

void hn_embedding_take(const hn_embedding *e, float *out) {
    size_t width = (size_t)e->session->m->width;
    double square = 0;
    for (size_t k = 0; k < width; k++) square += e->sum[k] * e->sum[k];
    for (size_t k = 0; k < width; k++) out[k] = square > 0 ? (float)(e->sum[k] / sqrt(square)) : 0;
}

hone_rc hone_text_embed(hone_text *m, const int32_t *token, size_t n, hone_text_pooling pooling, float *out,
                        hone_err *err) {
    hn_embedding *e = NULL;
    hone_rc rc = hn_embedding_open(m, token, n, pooling, &e, err);
    while (!rc && !hn_embedding_over(e)) rc = hn_embedding_step(e, err);
    if (!rc) hn_embedding_take(e, out);
    hn_embedding_close(e);
    return rc;
}
