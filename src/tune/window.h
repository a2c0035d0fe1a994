/* tune/window.h — the part of the space that is searched: everything but the controls of single files, then those
 * alone, around the best point so far. Callers see points of the whole space; the engine sees its part.
 *
 * Owns: the search, the point around it.   Borrows: the spaces.   Errors: those of hone_search.
 */
#ifndef HN_WINDOW_H
#define HN_WINDOW_H

#include <hone/search.h>

typedef struct hn_search_window {
    hone_search *search;
    const hone_space *space; /* of the part */
    double *around;          /* what the rest of the point is */
    size_t n_slots, at, n;   /* of the whole; the part is n slots from `at` on */
} hn_search_window;

/* options->seeds: points of the part. Copies `around`. */
hone_rc hn_window_open(const hone_space *whole, const hone_space *part, size_t at, const double *around,
                       const hone_search_options *options, hn_search_window *out, hone_err *err);
void hn_window_close(hn_search_window *w);

hone_rc hn_window_ask(hn_search_window *w, double *point, hone_err *err);
/* Is the point one of this window, alike outside it? */
bool hn_window_holds(const hn_search_window *w, const double *point);
/* code: as of hone_search_tell_built, 0: not known. */
hone_rc hn_window_tell(hn_search_window *w, const double *point, const hone_outcome *seen, uint64_t code,
                       hone_err *err);
void hn_window_forget(hn_search_window *w, const double *point);
hone_rc hn_window_add_seeds(hn_search_window *w, const double *points, size_t n, hone_err *err);
bool hn_window_best(const hn_search_window *w, double *point, hone_outcome *seen);

#endif
