/* engine/random.c — independent uniform draws: the reference that every other engine is compared with. */
#include "engine/engine_int.h"

enum { TRIES = 200 };

static hone_rc open_random(const hn_view *view, const double *option, void **state, hone_err *err) {
    (void)view, (void)option, (void)err;
    *state = NULL;
    return HONE_OK;
}

static hone_rc ask_random(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin,
                          hone_err *err) {
    (void)state, (void)origin;
    return hn_view_draw_fresh(view, rng, false, TRIES, point, err);
}

static void close_random(void *state) { (void)state; }

const hn_engine hn_engine_random = {
    .version = HN_ENGINE_VERSION,
    .name = "random",
    .summary = "independent uniform draws, never the same point twice",
    .options = "",
    .open = open_random,
    .ask = ask_random,
    .close = close_random,
};
