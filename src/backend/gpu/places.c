/* backend/gpu/places.c — the places of hone/places.h: devices with the targets that suit them. */
#include "backend/backend.h"
#include "backend/device.h"
#include "base/str.h"
#include "shim/kit.h"

#include <hone/places.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char shim_target[] = "cuda:sm_80"; /* what the shim has functions for */

static void copy(char *to, size_t n, const char *from) { snprintf(to, n, "%s", from); }

/* Of an NVIDIA device: the target of its own architecture, or the newest one before it. */
static void find_target(const char *place, const char *arch, char target[32]) {
    const hn_dialect *d, *best = NULL;
    size_t n = strcspn(place, ":");
    int own = strncmp(arch, "sm_", 3) ? 0 : atoi(arch + 3), best_arch = -1;
    for (size_t i = 0; (d = hn_dialect_at(i)); i++) {
        if (!d->backend->driver || strncmp(d->backend->driver, place, n) || d->backend->driver[n]) continue;
        const char *sm = strstr(d->name, "sm_");
        int of = sm ? atoi(sm + 3) : 0;
        bool fits = of == own || (of < own && !strchr(sm ? sm + 3 : "", 'a'));
        if (fits && of >= best_arch) best = d, best_arch = of;
    }
    copy(target, 32, best ? best->name : "");
}

static void take(const hn_devices *all, uint32_t i, hone_place *out) {
    const hnd_info *x = &all->info[i];
    *out = (hone_place){.memory_b = x->memory_b,
                        .alloc_most_b = x->alloc_most_b,
                        .shared_b = x->shared_b,
                        .cache_b = x->cache_b,
                        .n_units = x->units,
                        .clock_mhz = x->clock_mhz,
                        .n_threads = x->threads_most,
                        .n_lanes = x->lanes,
                        .has_f64 = (x->has & HND_HAS_F64) != 0,
                        .has_f16 = (x->has & HND_HAS_F16) != 0,
                        .is_cpu = (x->has & HND_IS_CPU) != 0,
                        .shares_host = (x->has & HND_SHARES_HOST) != 0};
    copy(out->name, sizeof out->name, all->place[i]);
    copy(out->device, sizeof out->device, x->name);
    copy(out->arch, sizeof out->arch, x->arch);
    copy(out->driver, sizeof out->driver, x->driver);
    copy(out->version, sizeof out->version, x->version);
    find_target(out->name, out->arch, out->target);
}

hone_rc hone_places_find(hone_place **out, size_t *n, char **why, hone_err *err) {
    hn_devices *all = calloc(1, sizeof *all);
    hn_str reasons = {0};
    hone_rc rc = all ? hn_devices_find(NULL, all, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_place *list = !rc ? calloc(all->n + 1u, sizeof *list) : NULL;
    if (!rc && !list) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (uint32_t i = 0; !rc && i < all->n; i++) take(all, i, &list[i]);
    for (uint32_t i = 0; !rc && i < all->n_why; i++) hn_str_addf(&reasons, "%s%s", i ? "\n" : "", all->why[i]);
    if (!rc) {
        *out = list, *n = all->n;
        if (why) *why = hn_str_take(&reasons);
    }
    hn_str_free(&reasons);
    free(all);
    return rc;
}

static bool is_driver(const char *name) {
    const hn_dialect *d;
    for (size_t i = 0; (d = hn_dialect_at(i)); i++)
        if (d->backend->driver && !strcmp(d->backend->driver, name)) return true;
    return false;
}

/* "opencl:1" */
static hone_rc find_device(const char *name, hone_place *out, hone_err *err) {
    char driver[32], want[64];
    const char *colon = strchr(name, ':');
    size_t n = strcspn(name, ":");
    snprintf(driver, sizeof driver, "%.*s", (int)(n < 31 ? n : 31), name);
    snprintf(want, sizeof want, "%s:%.20s", driver, colon ? colon + 1 : "0");
    if (!is_driver(driver))
        return hn_fail(err, HONE_E_USAGE,
                       "there is no place '%s'; places are host, shim, opencl:N and cuda:N (hone devices)", name);
    hn_devices *all = calloc(1, sizeof *all);
    hone_rc rc = all ? hn_devices_find(driver, all, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    uint32_t i = 0;
    while (!rc && i < all->n && strcmp(all->place[i], want) != 0) i++;
    if (!rc && i < all->n)
        take(all, i, out);
    else if (!rc && all->n_why)
        rc = hn_fail(err, HONE_E_NOTFOUND, "'%s' is not here: %s", name, all->why[0]);
    else if (!rc)
        rc = hn_fail(err, HONE_E_NOTFOUND, "'%s' is not here: %s has %u devices (hone devices)", name, driver, all->n);
    free(all);
    return rc;
}

hone_rc hone_place_find(const char *name, hone_place *out, hone_err *err) {
    hone_place x = {.is_cpu = 1, .shares_host = 1};
    bool host = !strcmp(name, "host"), shim = !strcmp(name, "shim");
    char *folder = NULL;
    if (!host && !shim) return find_device(name, out, err);
    hone_rc rc = shim ? hn_shim_folder(&folder, err) : HONE_OK;
    free(folder);
    if (rc) return rc;
    copy(x.name, sizeof x.name, name);
    copy(x.target, sizeof x.target, host ? "native" : shim_target);
    copy(x.device, sizeof x.device, host ? "the host's processors" : "CUDA kernels as fibres on the host's processors");
    *out = x;
    return HONE_OK;
}

/* The first device that is worth it. */
static hone_rc find_best(hone_place *out, hone_err *err) {
    hone_place *list = NULL, best = {0};
    size_t n = 0;
    hone_rc rc = hone_places_find(&list, &n, NULL, err);
    if (rc) return rc;
    for (size_t i = 0; i < n; i++)
        if (!list[i].is_cpu && (!*best.name || (!strncmp(list[i].name, "cuda", 4) && strncmp(best.name, "cuda", 4))))
            best = list[i];
    free(list);
    if (!*best.name) return hone_place_find("host", out, err);
    *out = best;
    return HONE_OK;
}

hone_rc hone_place_choose(const char *name, hone_place *out, bool *split, hone_err *err) {
    const char *plus = strchr(name, '+');
    char alone[64];
    hone_place p;
    snprintf(alone, sizeof alone, "%.*s", (int)(plus ? plus - name : 63), name);
    if (plus && (strcmp(plus, "+host") != 0 || !strcmp(alone, "host")))
        return hn_fail(err, HONE_E_USAGE, "there is no place '%s'; a device shares its work as in opencl:0+host", name);
    hone_rc rc = !strcmp(name, "auto") ? find_best(&p, err) : hone_place_find(alone, &p, err);
    if (rc) return rc;
    *split = strcmp(p.name, "host") != 0 && (plus || !strcmp(name, "auto"));
    *out = p;
    return HONE_OK;
}
