/* tune/window.c — see window.h. */
#include "tune/window.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

hone_rc hn_window_open(const hone_space *whole, const hone_space *part, size_t at, const double *around,
                       const hone_search_options *options, hn_search_window *out, hone_err *err) {
    hn_search_window w = {.space = part, .n_slots = hone_space_slots(whole), .at = at, .n = hone_space_slots(part)};
    w.around = malloc((w.n_slots + 1) * sizeof *w.around);
    if (!w.around) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    memcpy(w.around, around, w.n_slots * sizeof *w.around);
    hone_rc rc = hone_search_open(part, options, &w.search, err);
    if (rc)
        free(w.around);
    else
        *out = w;
    return rc;
}

void hn_window_close(hn_search_window *w) {
    hone_search_close(w->search);
    free(w->around);
    *w = (hn_search_window){0};
}

static void complete(const hn_search_window *w, double *point) {
    memcpy(point, w->around, w->at * sizeof *point);
    memcpy(point + w->at + w->n, w->around + w->at + w->n, (w->n_slots - w->at - w->n) * sizeof *point);
}

hone_rc hn_window_ask(hn_search_window *w, double *point, hone_err *err) {
    hone_rc rc = hone_search_ask(w->search, point + w->at, err);
    if (!rc) complete(w, point);
    return rc;
}

bool hn_window_holds(const hn_search_window *w, const double *point) {
    for (size_t i = 0; i < w->n_slots; i++) {
        if (i >= w->at && i < w->at + w->n) continue;
        bool absent = isnan(point[i]) && isnan(w->around[i]);
        if (!absent && point[i] != w->around[i]) return false;
    }
    return true;
}

hone_rc hn_window_tell(hn_search_window *w, const double *point, const hone_outcome *seen, uint64_t code,
                       hone_err *err) {
    return hn_window_holds(w, point) ? hone_search_tell_built(w->search, point + w->at, seen, code, err) : HONE_OK;
}

void hn_window_forget(hn_search_window *w, const double *point) { hone_search_forget(w->search, point + w->at); }

hone_rc hn_window_add_seeds(hn_search_window *w, const double *points, size_t n, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = hone_search_add_seeds(w->search, points + i * w->n_slots + w->at, 1, err);
    return rc;
}

bool hn_window_best(const hn_search_window *w, double *point, hone_outcome *seen) {
    if (!hone_search_best(w->search, point + w->at, seen)) return false;
    complete(w, point);
    return true;
}
