/* session.c — tokens go in, logits come out; keys and values stay.
 *
 * A session is a list of tokens. The instance holds keys and values of one list; before a session goes on, the instance
 * is made to hold its tokens: what differs is forgotten, what is missing is computed again.
 */
#include "base/err.h"
#include "language/language_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the instance ----------------------------------------------------------------------------------------------------
 */

static void forget(hone_text *m) {
    m->model->reset(m->instance);
    m->n_past = 0;
}

static hone_model_tensor tensor(void *data, hone_dtype t, size_t rank, const int64_t *dim) {
    hone_model_tensor x = {.data = data, .dtype = (int32_t)t, .rank = (int32_t)rank};
    int64_t n = 1;
    for (size_t d = 0; d < rank; d++) n *= x.dim[d] = dim[d];
    x.size_b = (size_t)n * hone_dtype_size_b(t);
    return x;
}

static hone_rc room_for_logits(hone_text *m, int64_t n, hone_err *err) {
    if (n <= m->n_logits) return HONE_OK;
    float *more = realloc(m->logits, (size_t)(n * m->vocabulary) * sizeof *more);
    if (!more) return hn_fail(err, HONE_E_NOMEM, "out of memory for the logits of %" PRId64 " tokens", n);
    m->logits = more;
    m->n_logits = n;
    return HONE_OK;
}

/* Keys and values are the instance's state: a run writes the new rows behind those that are there. */
static hone_rc run(hone_text *m, int64_t *token, int64_t n, int64_t *want, int64_t n_want, hone_err *err) {
    hone_model_tensor in[2] = {tensor(token, HONE_I64, 1, &n), tensor(want, HONE_I64, 1, &n_want)};
    hone_model_tensor out = tensor(m->logits, HONE_F32, 2, (int64_t[2]){n_want, m->vocabulary});
    if (!m->model->run(m->instance, in, 2, &out, 1)) return HONE_OK;
    hone_rc rc = hn_fail(err, HONE_E_FAILED, "'%s': %s", m->path, m->model->error(m->instance));
    forget(m); /* a run that fails may lose the state */
    return rc;
}

/* Feeds n tokens behind those that the instance has; the logits of the last n_want go to m->logits. */
static hone_rc step(hone_text *m, const int32_t *token, size_t n, size_t n_want, hone_err *err) {
    int64_t *wide = malloc((n + n_want) * sizeof *wide);
    hone_rc rc = wide ? room_for_logits(m, (int64_t)n_want, err)
                      : hn_fail(err, HONE_E_NOMEM, "out of memory running '%s'", m->path);
    for (size_t i = 0; !rc && i < n; i++) {
        wide[i] = token[i];
        if (token[i] < 0 || token[i] >= m->vocabulary)
            rc = hn_fail(err, HONE_E_USAGE, "token %" PRId32 ": the model has %" PRId64, token[i], m->vocabulary);
    }
    for (size_t i = 0; !rc && i < n_want; i++) wide[n + i] = (int64_t)(n - n_want + i);
    if (!rc) rc = run(m, wide, (int64_t)n, wide + n, (int64_t)n_want, err);
    free(wide);
    if (rc) return rc;
    memcpy(m->past + m->n_past, token, n * sizeof *token);
    m->n_past += (int64_t)n;
    return HONE_OK;
}

/* --- sessions --------------------------------------------------------------------------------------------------------
 */

/* Makes the instance hold the session's tokens. */
static hone_rc hold(hone_text_session *s, hone_err *err) {
    hone_text *m = s->m;
    hone_rc rc = HONE_OK;
    if ((size_t)m->n_past > s->n || memcmp(m->past, s->token, (size_t)m->n_past * sizeof *m->past) != 0) forget(m);
    while (!rc && (size_t)m->n_past < s->n) {
        size_t at = (size_t)m->n_past, left = s->n - at;
        rc = step(m, s->token + at, left < HN_CHUNK ? left : HN_CHUNK, 1, err);
    }
    return rc;
}

hone_rc hn_session_step(hone_text_session *s, const int32_t *token, size_t n, size_t n_want, hone_err *err) {
    hone_text *m = s->m;
    if (n > (size_t)m->context - s->n)
        return hn_fail(err, HONE_E_LIMIT,
                       "%zu tokens and %zu more are too many for a context of %" PRId64
                       "; shorten the text, or ask for a longer context",
                       s->n, n, m->context);
    hone_rc rc = hold(s, err);
    if (!rc) rc = step(m, token, n, n_want, err);
    if (rc) return rc;
    memcpy(s->token + s->n, token, n * sizeof *token);
    s->n += n;
    return HONE_OK;
}

hone_rc hn_session_feed(hone_text_session *s, const int32_t *token, size_t n, const volatile int *stop, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t at = 0; !rc && at < n; at += HN_CHUNK) {
        if (stop && *stop) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
        rc = hn_session_step(s, token + at, n - at < HN_CHUNK ? n - at : HN_CHUNK, 1, err);
    }
    return rc;
}

size_t hn_session_keep(hone_text_session *s, const int32_t *token, size_t n) {
    size_t k = 0;
    while (k < s->n && k + 1 < n && s->token[k] == token[k]) k++;
    s->n = k;
    return k;
}

hone_rc hone_text_session_open(hone_text *m, hone_text_session **out, hone_err *err) {
    hone_rc rc = hn_language_ready(m, false, true, err);
    if (rc) return rc;
    hone_text_session *s = calloc(1, sizeof *s);
    if (!s || !(s->token = malloc((size_t)m->context * sizeof *s->token))) {
        free(s);
        return hn_fail(err, HONE_E_NOMEM, "out of memory opening a session of '%s'", m->path);
    }
    s->m = m;
    *out = s;
    return HONE_OK;
}

void hone_text_session_close(hone_text_session *s) {
    if (!s) return;
    free(s->token);
    free(s);
}

hone_rc hone_text_session_feed(hone_text_session *s, const int32_t *token, size_t n, size_t n_want,
                               const float **logits, hone_err *err) {
    if (!n || n_want > n || !n_want)
        return hn_fail(err, HONE_E_USAGE, "logits of %zu of %zu tokens; feed tokens, and ask for 1 to all of them",
                       n_want, n);
    hone_rc rc = HONE_OK;
    size_t kept = s->n, first = n - n_want;
    for (size_t at = 0; !rc && at < first; at += HN_CHUNK)
        rc = hn_session_step(s, token + at, first - at < HN_CHUNK ? first - at : HN_CHUNK, 1, err);
    if (!rc) rc = hn_session_step(s, token + first, n_want, n_want, err);
    if (rc)
        s->n = kept;
    else
        *logits = s->m->logits;
    return rc;
}

hone_rc hone_text_session_fork(const hone_text_session *s, hone_text_session **out, hone_err *err) {
    hone_text_session *other;
    hone_rc rc = hone_text_session_open(s->m, &other, err);
    if (rc) return rc;
    memcpy(other->token, s->token, s->n * sizeof *s->token);
    other->n = s->n;
    *out = other;
    return HONE_OK;
}

hone_rc hone_text_session_truncate(hone_text_session *s, size_t n, hone_err *err) {
    if (n > s->n) return hn_fail(err, HONE_E_USAGE, "a session of %zu tokens cannot be cut to %zu; feed it", s->n, n);
    s->n = n;
    return HONE_OK;
}

const int32_t *hone_text_session_tokens(const hone_text_session *s, size_t *n) {
    *n = s->n;
    return s->token;
}
