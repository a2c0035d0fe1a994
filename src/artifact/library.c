/* artifact/library.c — a library while it is built: stop requests, progress, and freeing it. */
#include "artifact/artifact.h"

#include <math.h>

hone_rc hn_check_stop(const hn_library *l, hone_err *err) {
    const volatile int *stop = l->options->stop;
    return stop && *stop ? hn_fail(err, HONE_E_INTERRUPTED, "the compilation was interrupted") : HONE_OK;
}

hone_rc hn_progress(const hn_library *l, const char *stage, size_t done, size_t total, hone_err *err) {
    const hone_progress *to = &l->options->progress;
    hone_event e = {stage, done, total, NAN, NAN, NULL};
    if (to->fn) to->fn(to->arg, &e);
    return hn_check_stop(l, err);
}

void hn_library_free(hn_library *l) {
    hn_temp_free(&l->temp);
    for (uint32_t i = 0; i < l->n_model; i++) {
        hn_program_free(&l->model[i].program);
        hn_arena_free(&l->model[i].arena);
    }
    for (uint32_t v = 0; v < HN_VERSIONS_MAX; v++) hn_graph_free(l->version[v].g);
    hn_arena_free(&l->arena);
}
