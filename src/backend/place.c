/* backend/place.c — what places of this process share: a model's library, whole runs, the clock. */
#include "backend/place.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <string.h>

hone_rc hn_place_library(const hn_place_spec *s, void **library, const hone_model **out, hone_err *err) {
    hone_model_entry *entry = NULL;
    *library = dlopen(s->library, RTLD_NOW | RTLD_LOCAL);
    void *symbol = *library ? dlsym(*library, s->query) : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    if (entry) {
        *out = entry()->targets[s->target];
        return HONE_OK;
    }
    hone_rc rc = hn_fail(err, HONE_E_TOOL, "%s", *library ? "it has no entry" : dlerror());
    if (*library) dlclose(*library);
    *library = NULL;
    return rc;
}

double hn_place_now_s(void *state) {
    (void)state;
    return hn_now_s();
}

hone_model_rc hn_place_run(void *state, const hone_model *m, hone_model_instance *i, const hone_model_tensor *in,
                           hone_model_tensor *out, double *time_s) {
    double start_s = hn_place_now_s(state);
    hone_model_rc rc = m->run(i, in, (size_t)m->n_inputs, out, (size_t)m->n_outputs);
    *time_s = hn_place_now_s(state) - start_s;
    return rc;
}
