/* session.c — tokens go in, logits come out; keys and values stay. */
#include "base/err.h"
#include "language/language_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void hn_language_reset(hone_text *m) {
    m->model->reset(m->instance);
    m->n_past = 0;
}

size_t hn_language_keep(hone_text *m, const int32_t *token, size_t n) {
    size_t past = (size_t)m->n_past;
    if (past && past < n && !memcmp(m->past, token, past * sizeof *token)) return past;
    hn_language_reset(m);
    return 0;
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
    m->n_past = 0; /* a run that fails may lose the state */
    return hn_fail(err, HONE_E_FAILED, "'%s': %s", m->path, m->model->error(m->instance));
}

hone_rc hn_language_step(hone_text *m, const int32_t *token, size_t n, size_t n_want, hone_err *err) {
    if ((int64_t)n > m->context - m->n_past)
        return hn_fail(err, HONE_E_LIMIT,
                       "%" PRId64 " tokens and %zu more are too many for a context of %" PRId64
                       "; shorten the text, or ask for a longer context",
                       m->n_past, n, m->context);
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

hone_rc hn_language_feed(hone_text *m, const int32_t *token, size_t n, const volatile int *stop, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t at = 0; !rc && at < n; at += HN_CHUNK) {
        if (stop && *stop) return hn_fail(err, HONE_E_INTERRUPTED, "stopped");
        rc = hn_language_step(m, token + at, n - at < HN_CHUNK ? n - at : HN_CHUNK, 1, err);
    }
    return rc;
}
