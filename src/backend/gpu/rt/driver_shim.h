/* rt/driver_shim.h — the shim as a driver: a library that runs CUDA C on the CPU and checks each access (docs/race.md).
 * Text carried into artifacts, behind driver.h and cache.h.
 *
 * The library is $HONE_SHIM, else hone/shim/hone-shim.so in the user's cache folder, where hone puts it when the place
 * is asked for. Every function here is that library's own.
 */
#ifndef HND_DRIVER_SHIM_H
#define HND_DRIVER_SHIM_H

#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Its driver; NULL with the reason. It is opened again and again: what is loaded stays as it is. */
HND const hnd_driver *hnd_shim_library(hnd_err *err) {
    const char *set = getenv("HONE_SHIM"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[4096];
    if (set && *set)
        snprintf(path, sizeof path, "%s", set);
    else if (cache && *cache)
        snprintf(path, sizeof path, "%s/hone/shim/hone-shim.so", cache);
    else
        snprintf(path, sizeof path, "%s/.cache/hone/shim/hone-shim.so", home ? home : "");
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const hnd_driver *d = h ? (const hnd_driver *)dlsym(h, "hnd_shim_driver") : NULL;
    if (d && d->version == HND_VERSION) return d;
    hnd_fail(err, HND_NO_DRIVER,
             h ? "'%.250s' is of another version of hone" : "no shim '%.250s'; hone verify --place shim puts it there",
             path);
    return NULL;
}

HND int hnd_shim_count(hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->count(err) : 0;
}
HND int hnd_shim_open(int index, void **device, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->open(index, device, err) : HND_NO_DRIVER;
}
HND int hnd_shim_describe(int index, hnd_info *out, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->describe(index, out, err) : HND_NO_DRIVER;
}
HND int hnd_shim_queue(void *device, void **queue, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->queue(device, queue, err) : HND_NO_DRIVER;
}
HND int hnd_shim_alloc(void *device, int64_t size_b, hnd_at *out, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->alloc(device, size_b, out, err) : HND_NO_DRIVER;
}
HND int hnd_shim_put(void *device, void *queue, hnd_at to, const void *from, int64_t size_b, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->put(device, queue, to, from, size_b, err) : HND_NO_DRIVER;
}
HND int hnd_shim_get(void *device, void *queue, void *to, hnd_at from, int64_t size_b, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->get(device, queue, to, from, size_b, err) : HND_NO_DRIVER;
}
HND int hnd_shim_copy(void *device, void *queue, hnd_at to, hnd_at from, int64_t size_b, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->copy(device, queue, to, from, size_b, err) : HND_NO_DRIVER;
}
HND int hnd_shim_fill(void *device, void *queue, hnd_at to, int byte, int64_t size_b, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->fill(device, queue, to, byte, size_b, err) : HND_NO_DRIVER;
}
HND int hnd_shim_load(void *device, const hnd_source *s, void **module, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->load(device, s, module, err) : HND_NO_DRIVER;
}
HND int hnd_shim_find(void *device, void *module, const char *name, void **kernel, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->find(device, module, name, kernel, err) : HND_NO_DRIVER;
}
HND int hnd_shim_launch(void *device, void *queue, const hnd_launch *l, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->launch(device, queue, l, err) : HND_NO_DRIVER;
}
HND int hnd_shim_sync(void *device, void *queue, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->sync(device, queue, err) : HND_NO_DRIVER;
}
HND int hnd_shim_mark(void *device, void *queue, void **mark, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->mark(device, queue, mark, err) : HND_NO_DRIVER;
}
HND int hnd_shim_between(void *device, void *from, void *to, double *seconds, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d ? d->between(device, from, to, seconds, err) : HND_NO_DRIVER;
}
HND int hnd_shim_record(void *device, void *queue, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d && d->record ? d->record(device, queue, err) : HND_NO_DRIVER;
}
HND int hnd_shim_record_end(void *device, void *queue, void **recording, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d && d->record_end ? d->record_end(device, queue, recording, err) : HND_NO_DRIVER;
}
HND int hnd_shim_replay(void *device, void *queue, void *recording, hnd_err *err) {
    const hnd_driver *d = hnd_shim_library(err);
    return d && d->replay ? d->replay(device, queue, recording, err) : HND_NO_DRIVER;
}
HND void hnd_shim_drop_recording(void *device, void *recording) {
    const hnd_driver *d = hnd_shim_library(NULL);
    if (d && d->drop_recording) d->drop_recording(device, recording);
}
HND void hnd_shim_close(void *device) {
    const hnd_driver *d = hnd_shim_library(NULL);
    if (d) d->close(device);
}
HND void hnd_shim_drop_queue(void *device, void *queue) {
    const hnd_driver *d = hnd_shim_library(NULL);
    if (d) d->drop_queue(device, queue);
}
HND void hnd_shim_free(void *device, hnd_at at) {
    const hnd_driver *d = hnd_shim_library(NULL);
    if (d) d->free(device, at);
}
HND void hnd_shim_drop_mark(void *device, void *mark) {
    const hnd_driver *d = hnd_shim_library(NULL);
    if (d) d->drop_mark(device, mark);
}

static const hnd_driver hnd_shim __attribute__((unused)) = {.version = HND_VERSION,
                                                            .name = "shim",
                                                            .language = "cuda",
                                                            .count = hnd_shim_count,
                                                            .open = hnd_shim_open,
                                                            .describe = hnd_shim_describe,
                                                            .queue = hnd_shim_queue,
                                                            .alloc = hnd_shim_alloc,
                                                            .put = hnd_shim_put,
                                                            .get = hnd_shim_get,
                                                            .copy = hnd_shim_copy,
                                                            .fill = hnd_shim_fill,
                                                            .load = hnd_shim_load,
                                                            .find = hnd_shim_find,
                                                            .launch = hnd_shim_launch,
                                                            .sync = hnd_shim_sync,
                                                            .mark = hnd_shim_mark,
                                                            .between = hnd_shim_between,
                                                            .close = hnd_shim_close,
                                                            .drop_queue = hnd_shim_drop_queue,
                                                            .free = hnd_shim_free,
                                                            .drop_mark = hnd_shim_drop_mark,
                                                            .record = hnd_shim_record,
                                                            .record_end = hnd_shim_record_end,
                                                            .replay = hnd_shim_replay,
                                                            .drop_recording = hnd_shim_drop_recording};

#endif
