/* backend/gpu/devices.c — the devices there are, as a child process finds them. */
#include "backend/gpu/rt/driver.h"

#include "backend/gpu/rt/cache.h"
#include "backend/gpu/rt/driver_cuda.h"
#include "backend/gpu/rt/driver_opencl.h"
#include "backend/gpu/rt/driver_shim.h"

#include "backend/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 60 };

static const hnd_driver *const drivers[] = {&hnd_opencl, &hnd_cuda, NULL};

static void list(const hnd_driver *d, hn_devices *out) {
    hnd_err err = {0, ""};
    int n = d->count(&err);
    if (!n && out->n_why < sizeof out->why / sizeof *out->why)
        snprintf(out->why[out->n_why++], sizeof *out->why, "%s: %.180s", d->name, err.text);
    for (int i = 0; i < n && out->n < HN_DEVICES_MOST; i++) {
        if (d->describe(i, &out->info[out->n], &err)) continue;
        snprintf(out->place[out->n++], sizeof *out->place, "%s:%d", d->name, i);
    }
}

static void list_all(const char *driver, hn_devices *out) {
    const char *place = getenv("HONE_MODEL_PLACE");
    if (driver && !strcmp(driver, "cuda") && place && !strcmp(place, "shim")) { /* which stands in for a device */
        list(&hnd_shim, out);
        return;
    }
    for (size_t i = 0; drivers[i]; i++)
        if (!driver || !strcmp(driver, drivers[i]->name)) list(drivers[i], out);
}

bool hn_drivers_are_open(void) {
    static const char *const name[] = {"libOpenCL.so.1", "libcuda.so.1"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        void *library = dlopen(name[i], RTLD_NOW | RTLD_NOLOAD);
        if (library) return dlclose(library), true;
    }
    return false;
}

hone_rc hn_devices_find(const char *driver, hn_devices *out, hone_err *err) {
    if (hn_drivers_are_open()) {
        list_all(driver, out);
        return HONE_OK;
    }
    hn_devices *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    if (shared == MAP_FAILED) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    pid_t pid = fork();
    if (pid == 0) {
        alarm(LIMIT_S);
        list_all(driver, shared);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    *out = *shared;
    munmap(shared, sizeof *shared);
    if (pid < 0) return hn_fail(err, HONE_E_IO, "cannot fork: %s", strerror(errno));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && out->n_why < sizeof out->why / sizeof *out->why)
        snprintf(out->why[out->n_why++], sizeof *out->why, "a driver has not answered for %d seconds", LIMIT_S);
    else if (status && !out->n_why)
        snprintf(out->why[out->n_why++], sizeof *out->why, "a driver ends the process that asks it for devices");
    return HONE_OK;
}
