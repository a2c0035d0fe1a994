/* backend/backend.c — the table of backends, and their targets. */
#include "backend/backend.h"
#include "device/rank.h"

#include <string.h>

#define HN_BACKEND(name) extern const hn_backend hn_backend_##name;
#include "backend/backends.def"
#undef HN_BACKEND

const hn_backend *const hn_backends[] = {
#define HN_BACKEND(name) &hn_backend_##name,
#include "backend/backends.def"
#undef HN_BACKEND
    NULL};

const hn_dialect *hn_dialect_at(size_t i) {
    for (size_t b = 0; hn_backends[b]; b++)
        for (size_t k = 0; hn_backends[b]->dialects[k]; k++)
            if (i-- == 0) return hn_backends[b]->dialects[k];
    return NULL;
}

const hn_dialect *hn_dialect_named(const char *name) {
    hone_device here;
    const hn_dialect *d;
    if (!name || !strcmp(name, "native")) {
        hone_device_detect(&here);
        name = here.isa;
    }
    for (size_t i = 0; (d = hn_dialect_at(i)); i++)
        if (!strcmp(d->name, name)) return d;
    return NULL;
}

bool hn_runs_here(const hn_dialect *d) {
    const hn_dialect *native = hn_dialect_named("native");
    bool family = native && native->processor && d->processor && !strcmp(native->processor, d->processor);
    return !d->processor || (family && d->rank <= hn_device_rank());
}

bool hn_takes_pairs(const hn_dialect *d) { return d->pairs || (d->fma && !d->backend->layout); }

const hn_dialect *hn_dialect_for_pairs(void) {
    const hn_dialect *d;
    for (size_t i = 0; (d = hn_dialect_at(i)); i++)
        if (d->pairs && hn_runs_here(d)) return d;
    return NULL;
}

hn_machine hn_machine_of(const hn_dialect *d, const hone_device *device) {
    hone_device here;
    if (!device) hone_device_get(&here), device = &here;
    return d->backend->machine(d, device);
}
