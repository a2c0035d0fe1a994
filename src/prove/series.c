/* prove/series.c — rows of paired values. */
#include "base/err.h"
#include "prove/verdict.h"

#include <stdlib.h>
#include <string.h>

static bool grow(hn_series *s) {
    size_t room = s->room ? 2 * s->room : 32;
    unsigned *variant = realloc(s->variant, room * sizeof *variant);
    if (variant) s->variant = variant;
    double *baseline = realloc(s->baseline, room * s->n_inputs * sizeof *baseline);
    if (baseline) s->baseline = baseline;
    double *tuned = realloc(s->tuned, room * s->n_inputs * sizeof *tuned);
    if (tuned) s->tuned = tuned;
    if (!variant || !baseline || !tuned) return false;
    s->room = room;
    return true;
}

hone_rc hn_series_add(hn_series *s, size_t n_inputs, unsigned variant, const double *baseline, const double *tuned,
                      hone_err *err) {
    s->n_inputs = n_inputs;
    if (s->n == s->room && !grow(s)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    s->variant[s->n] = variant;
    memcpy(s->baseline + s->n * n_inputs, baseline, n_inputs * sizeof *baseline);
    memcpy(s->tuned + s->n * n_inputs, tuned, n_inputs * sizeof *tuned);
    s->n++;
    return HONE_OK;
}

void hn_series_free(hn_series *s) {
    free(s->variant);
    free(s->baseline);
    free(s->tuned);
    *s = (hn_series){0};
}

void hn_evidence_free(hn_evidence *e) {
    for (size_t k = 0; k < HONE_MAX_OBJECTIVES; k++) {
        hn_series_free(&e->goal[k].value);
        hn_series_free(&e->goal[k].tail);
    }
    for (size_t c = 0; c < HONE_MAX_CONSTRAINTS; c++) hn_series_free(&e->bound[c]);
}
