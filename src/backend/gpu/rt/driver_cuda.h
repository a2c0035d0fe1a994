/* rt/driver_cuda.h — NVIDIA's devices: the CUDA driver API and NVRTC, opened at run time and declared here
 * (docs.nvidia.com/cuda). Text carried into artifacts, behind driver.h and cache.h.
 *
 * A module is machine code where there is an image for the device's architecture; else PTX of an earlier one, which the
 * driver compiles; else its text, which NVRTC compiles for the device (kept: cache.h). Queues are streams; a device's
 * primary context is shared with others in the process. HONE_NVRTC names another libnvrtc.
 */
#ifndef HND_DRIVER_CUDA_H
#define HND_DRIVER_CUDA_H

#include "driver.h"

#include "cache.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { HND_CU_ARGS = 512, HND_CU_LEAST = 11040 /* version of the driver */ };

/* Every function of the driver that is used: name, arguments. */
#define HND_CU_FUNCTIONS(F)                                                                                            \
    F(cuInit, (unsigned flags))                                                                                        \
    F(cuDriverGetVersion, (int *version))                                                                              \
    F(cuDeviceGetCount, (int *n))                                                                                      \
    F(cuDeviceGet, (int *device, int index))                                                                           \
    F(cuDeviceGetName, (char *name, int n, int device))                                                                \
    F(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                   \
    F(cuDeviceTotalMem_v2, (size_t * size_b, int device))                                                              \
    F(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    F(cuDevicePrimaryCtxRelease_v2, (int device))                                                                      \
    F(cuCtxSetCurrent, (void *context))                                                                                \
    F(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *option, void **value))                   \
    F(cuModuleGetFunction, (void **function, void *module, const char *name))                                          \
    F(cuModuleUnload, (void *module))                                                                                  \
    F(cuFuncSetAttribute, (void *function, int attribute, int value))                                                  \
    F(cuMemAlloc_v2, (hnd_cu_at * at, size_t n))                                                                       \
    F(cuMemFree_v2, (hnd_cu_at at))                                                                                    \
    F(cuMemcpyHtoDAsync_v2, (hnd_cu_at to, const void *from, size_t n, void *stream))                                  \
    F(cuMemcpyDtoHAsync_v2, (void *to, hnd_cu_at from, size_t n, void *stream))                                        \
    F(cuMemcpyDtoDAsync_v2, (hnd_cu_at to, hnd_cu_at from, size_t n, void *stream))                                    \
    F(cuMemsetD8Async, (hnd_cu_at at, unsigned char byte, size_t n, void *stream))                                     \
    F(cuStreamCreate, (void **stream, unsigned flags))                                                                 \
    F(cuStreamDestroy_v2, (void *stream))                                                                              \
    F(cuStreamSynchronize, (void *stream))                                                                             \
    F(cuStreamBeginCapture_v2, (void *stream, int mode))                                                               \
    F(cuStreamEndCapture, (void *stream, void **graph))                                                                \
    F(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                               \
    F(cuGraphLaunch, (void *exec, void *stream))                                                                       \
    F(cuGraphExecDestroy, (void *exec))                                                                                \
    F(cuGraphDestroy, (void *graph))                                                                                   \
    F(cuEventCreate, (void **event, unsigned flags))                                                                   \
    F(cuEventDestroy_v2, (void *event))                                                                                \
    F(cuEventRecord, (void *event, void *stream))                                                                      \
    F(cuEventSynchronize, (void *event))                                                                               \
    F(cuEventElapsedTime, (float *ms, void *from, void *to))                                                           \
    F(cuLaunchKernel,                                                                                                  \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
       unsigned block_z, unsigned shared_b, void *stream, void **param, void **extra))                                 \
    F(cuGetErrorName, (int code, const char **name))                                                                   \
    F(cuGetErrorString, (int code, const char **text))

typedef unsigned long long hnd_cu_at;
typedef struct hnd_cu_table {
#define F(name, args) int(*name) args;
    HND_CU_FUNCTIONS(F)
#undef F
} hnd_cu_table;

typedef struct hnd_cu_module {
    void *module;
    struct hnd_cu_module *next;
} hnd_cu_module;

typedef struct hnd_cu {
    hnd_cu_table f;
    int device, arch, faulted; /* arch: 90 of sm_90 */
    void *context;
    pthread_mutex_t lock;
    hnd_cu_module *module; /* to unload */
} hnd_cu;

/* --- errors ------------------------------------------------------------------------------------------------------- */

static const struct {
    short code, rc;
} hnd_cu_errors[] = {{1, HND_REFUSED},     {2, HND_NOMEM},       {34, HND_NO_DRIVER},  {46, HND_NO_DRIVER},
                     {100, HND_NO_DRIVER}, {101, HND_NO_DRIVER}, {102, HND_NO_DRIVER}, {200, HND_BUILD},
                     {209, HND_BUILD},     {218, HND_BUILD},     {221, HND_BUILD},     {222, HND_BUILD},
                     {300, HND_BUILD},     {500, HND_BUILD},     {701, HND_REFUSED},   {720, HND_REFUSED},
                     {802, HND_NO_DRIVER}, {803, HND_NO_DRIVER}, {804, HND_NO_DRIVER}, {912, HND_REFUSED}};

HND int hnd_cu_must(hnd_cu *c, int code, const char *what, hnd_err *err) {
    const char *name = NULL, *text = NULL;
    int rc = HND_FAULT;
    if (!code) return 0;
    for (size_t i = 0; i < sizeof hnd_cu_errors / sizeof *hnd_cu_errors; i++)
        if (hnd_cu_errors[i].code == code) rc = hnd_cu_errors[i].rc;
    c->f.cuGetErrorName(code, &name);
    c->f.cuGetErrorString(code, &text);
    if (rc == HND_FAULT) c->faulted = 1;
    return hnd_fail(err, rc, "%s: CUDA error %d, %s: %s", what, code, name ? name : "unknown", text ? text : "no text");
}

/* In front of each call: this thread works on the device, which still answers. */
HND int hnd_cu_enter(hnd_cu *c, hnd_err *err) {
    if (c->faulted) return hnd_fail(err, HND_FAULT, "the device has faulted before");
    return hnd_cu_must(c, c->f.cuCtxSetCurrent(c->context), "choosing the device", err);
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

HND int hnd_cu_open_library(hnd_cu_table *f, hnd_err *err) {
    static const struct {
        const char *name;
        size_t at;
    } symbol[] = {
#define F(name, args) {#name, offsetof(hnd_cu_table, name)},
        HND_CU_FUNCTIONS(F)
#undef F
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return hnd_fail(err, HND_NO_DRIVER, "no CUDA here: libcuda.so.1 cannot be opened (NVIDIA's driver has it)");
    for (size_t i = 0; i < sizeof symbol / sizeof *symbol; i++) {
        void *p = dlsym(library, symbol[i].name);
        if (!p) return hnd_fail(err, HND_NO_DRIVER, "libcuda.so.1 is too old: it has no %s", symbol[i].name);
        memcpy((char *)f + symbol[i].at, &p, sizeof p);
    }
    return 0;
}

/* The driver's library, and how many devices it has. */
HND int hnd_cu_start(hnd_cu *c, int *n, hnd_err *err) {
    int version = 0, rc = hnd_cu_open_library(&c->f, err);
    if (rc) return rc;
    if ((rc = hnd_cu_must(c, c->f.cuInit(0), "starting the CUDA driver", err)) ||
        (rc = hnd_cu_must(c, c->f.cuDriverGetVersion(&version), "starting the CUDA driver", err)) ||
        (rc = hnd_cu_must(c, c->f.cuDeviceGetCount(n), "counting devices", err)))
        return rc;
    if (version < HND_CU_LEAST)
        return hnd_fail(err, HND_NO_DRIVER, "the driver is too old: it offers CUDA %d.%d, and %d.%d is needed",
                        version / 1000, version % 1000 / 10, HND_CU_LEAST / 1000, HND_CU_LEAST % 1000 / 10);
    return *n ? 0 : hnd_fail(err, HND_NO_DRIVER, "the CUDA driver sees no device");
}

HND int hnd_cu_count(hnd_err *err) {
    hnd_cu c = {.faulted = 0};
    int n = 0;
    return hnd_cu_start(&c, &n, err) ? 0 : n;
}

HND int hnd_cu_attribute(const hnd_cu *c, int which) {
    int value = 0;
    return c->f.cuDeviceGetAttribute(&value, which, c->device) ? 0 : value;
}

HND int hnd_cu_choose(hnd_cu *c, int index, hnd_err *err) {
    int n = 0, rc = hnd_cu_start(c, &n, err);
    if (rc) return rc;
    if (index < 0 || index >= n) return hnd_fail(err, HND_NO_DRIVER, "there is no device 'cuda:%d', only %d", index, n);
    rc = hnd_cu_must(c, c->f.cuDeviceGet(&c->device, index), "choosing the device", err);
    c->arch = 10 * hnd_cu_attribute(c, 75) + hnd_cu_attribute(c, 76);
    return rc;
}

HND int hnd_cu_describe(int index, hnd_info *out, hnd_err *err) {
    hnd_cu c = {.faulted = 0};
    int version = 0, rc = hnd_cu_choose(&c, index, err);
    size_t all_b = 0;
    if (rc) return rc;
    *out = (hnd_info){.has = HND_HAS_F64 | HND_HAS_F16 | HND_HAS_ATOMIC64, .lanes = 32};
    c.f.cuDeviceTotalMem_v2(&all_b, c.device);
    c.f.cuDriverGetVersion(&version);
    c.f.cuDeviceGetName(out->name, sizeof out->name, c.device);
    out->memory_b = out->alloc_most_b = all_b;
    out->shared_b = (uint64_t)hnd_cu_attribute(&c, 97);
    out->cache_b = (uint64_t)hnd_cu_attribute(&c, 38);
    out->units = (uint32_t)hnd_cu_attribute(&c, 16);
    out->clock_mhz = (uint32_t)hnd_cu_attribute(&c, 13) / 1000;
    out->threads_most = (uint32_t)hnd_cu_attribute(&c, 1);
    snprintf(out->arch, sizeof out->arch, "sm_%d", c.arch);
    snprintf(out->driver, sizeof out->driver, "%d.%d", version / 1000, version % 1000 / 10);
    snprintf(out->version, sizeof out->version, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    return 0;
}

HND int hnd_cu_open(int index, void **device, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)calloc(1, sizeof *c);
    if (!c) return hnd_fail(err, HND_NOMEM, "out of memory");
    int rc = hnd_cu_choose(c, index, err);
    if (!rc) rc = hnd_cu_must(c, c->f.cuDevicePrimaryCtxRetain(&c->context, c->device), "opening the device", err);
    if (rc) {
        free(c);
        return rc;
    }
    pthread_mutex_init(&c->lock, NULL);
    *device = c;
    return 0;
}

HND void hnd_cu_close(void *device) {
    hnd_cu *c = (hnd_cu *)device;
    if (!c) return;
    c->f.cuCtxSetCurrent(c->context);
    for (hnd_cu_module *m = c->module, *next; m; m = next) {
        next = m->next;
        c->f.cuModuleUnload(m->module);
        free(m);
    }
    c->f.cuDevicePrimaryCtxRelease_v2(c->device);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

HND int hnd_cu_queue(void *device, void **queue, hnd_err *err) {
    enum { NON_BLOCKING = 1 };
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    return rc ? rc : hnd_cu_must(c, c->f.cuStreamCreate(queue, NON_BLOCKING), "making a stream", err);
}

HND void hnd_cu_drop_queue(void *device, void *queue) {
    hnd_cu *c = (hnd_cu *)device;
    if (!queue || hnd_cu_enter(c, NULL)) return;
    c->f.cuStreamSynchronize(queue);
    c->f.cuStreamDestroy_v2(queue);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

HND int hnd_cu_alloc(void *device, int64_t size_b, hnd_at *out, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    hnd_cu_at at = 0;
    char what[80];
    int rc = hnd_cu_enter(c, err);
    snprintf(what, sizeof what, "taking %lld bytes of the device's memory", (long long)size_b);
    if (!rc) rc = hnd_cu_must(c, c->f.cuMemAlloc_v2(&at, size_b < 256 ? 256 : (size_t)size_b), what, err);
    if (!rc) *out = at;
    return rc;
}

HND void hnd_cu_free(void *device, hnd_at at) {
    hnd_cu *c = (hnd_cu *)device;
    if (at && !hnd_cu_enter(c, NULL)) c->f.cuMemFree_v2(at);
}

/* Memory of the caller's may be pinned, when the driver would read it later: so it is waited for. */
HND int hnd_cu_put(void *device, void *queue, hnd_at to, const void *from, int64_t size_b, hnd_err *err) {
    static const char what[] = "copying to the device";
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    if (rc || !size_b) return rc;
    rc = hnd_cu_must(c, c->f.cuMemcpyHtoDAsync_v2(to, from, (size_t)size_b, queue), what, err);
    return rc ? rc : hnd_cu_must(c, c->f.cuStreamSynchronize(queue), what, err);
}

HND int hnd_cu_get(void *device, void *queue, void *to, hnd_at from, int64_t size_b, hnd_err *err) {
    static const char what[] = "copying from the device";
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    if (rc || !size_b) return rc;
    rc = hnd_cu_must(c, c->f.cuMemcpyDtoHAsync_v2(to, from, (size_t)size_b, queue), what, err);
    return rc ? rc : hnd_cu_must(c, c->f.cuStreamSynchronize(queue), what, err);
}

HND int hnd_cu_copy(void *device, void *queue, hnd_at to, hnd_at from, int64_t size_b, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    if (rc || !size_b || to == from) return rc;
    return hnd_cu_must(c, c->f.cuMemcpyDtoDAsync_v2(to, from, (size_t)size_b, queue), "copying on the device", err);
}

HND int hnd_cu_fill(void *device, void *queue, hnd_at to, int byte, int64_t size_b, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    if (rc || !size_b) return rc;
    return hnd_cu_must(c, c->f.cuMemsetD8Async(to, (unsigned char)byte, (size_t)size_b, queue), "filling memory", err);
}

/* --- modules ------------------------------------------------------------------------------------------------------ */

HND int hnd_cu_load_image(hnd_cu *c, const void *image, const char *what, void **module, hnd_err *err) {
    enum { ERROR_LOG = 5, ERROR_LOG_B = 6, LOG_B = 4096 };
    char log[LOG_B] = "", text[400];
    int option[] = {ERROR_LOG, ERROR_LOG_B};
    void *value[] = {log, (void *)(uintptr_t)(LOG_B - 1)}, *made = NULL;
    int code = c->f.cuModuleLoadDataEx(&made, image, 2, option, value);
    log[LOG_B - 1] = 0;
    snprintf(text, sizeof text, "loading %s for sm_%d%s%.250s", what, c->arch, *log ? ": " : "", log);
    int rc = hnd_cu_must(c, code, text, err);
    if (rc) return rc;
    hnd_cu_module *m = (hnd_cu_module *)malloc(sizeof *m);
    if (!m) {
        c->f.cuModuleUnload(made);
        return hnd_fail(err, HND_NOMEM, "out of memory");
    }
    pthread_mutex_lock(&c->lock);
    *m = (hnd_cu_module){made, c->module};
    c->module = m;
    pthread_mutex_unlock(&c->lock);
    *module = made;
    return 0;
}

/* Machine code of the device's own architecture, or of an earlier one of its generation; NULL: there is none. */
HND const hnd_image *hnd_cu_machine_code(const hnd_cu *c, const hnd_source *s) {
    const hnd_image *best = NULL;
    int best_arch = -1;
    for (uint32_t i = 0; i < s->n_image; i++) {
        const char *name = s->image[i].arch;
        if (!name || strncmp(name, "sm_", 3) != 0) continue;
        int arch = atoi(name + 3), only = strchr(name + 3, 'a') != NULL;
        if (arch == c->arch || (!only && arch / 10 == c->arch / 10 && arch < c->arch))
            if (arch > best_arch) best = &s->image[i], best_arch = arch;
    }
    return best;
}

HND const hnd_image *hnd_cu_ptx(const hnd_cu *c, const hnd_source *s) {
    const hnd_image *best = NULL;
    for (uint32_t i = 0; i < s->n_image; i++)
        if (s->image[i].arch && !strcmp(s->image[i].arch, "ptx") && s->image[i].first <= c->arch &&
            (!best || s->image[i].first > best->first))
            best = &s->image[i];
    return best;
}

typedef struct hnd_nvrtc {
    int (*version)(int *major, int *minor);
    int (*create)(void **p, const char *text, const char *name, int n, const char *const *header,
                  const char *const *as);
    int (*compile)(void *p, int n, const char *const *option);
    int (*log_b)(void *p, size_t *n), (*log)(void *p, char *to);
    int (*code_b)(void *p, size_t *n), (*code)(void *p, char *to);
    int (*ptx_b)(void *p, size_t *n), (*ptx)(void *p, char *to);
    int (*destroy)(void **p);
} hnd_nvrtc;

/* NVRTC opens its builtins by name and finds them beside itself, but in programs that put their own dlopen in front
 * (AddressSanitizer's does): so they are opened first. */
HND void hnd_nvrtc_builtins(void *symbol) {
    Dl_info where;
    char pattern[4096];
    glob_t found;
    const char *slash = dladdr(symbol, &where) && where.dli_fname ? strrchr(where.dli_fname, '/') : NULL;
    if (!slash) return;
    snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(slash - where.dli_fname), where.dli_fname);
    if (glob(pattern, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
}

HND int hnd_nvrtc_open(hnd_nvrtc *f, hnd_err *err) {
    static const char *const symbol[] = {"nvrtcVersion",           "nvrtcCreateProgram", "nvrtcCompileProgram",
                                         "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcGetCUBINSize",
                                         "nvrtcGetCUBIN",          "nvrtcGetPTXSize",    "nvrtcGetPTX",
                                         "nvrtcDestroyProgram"};
    const char *set = getenv("HONE_NVRTC"), *cuda = getenv("HONE_CUDA");
    char at[2][4096] = {"", ""};
    snprintf(at[0], sizeof at[0], "%s", set ? set : "");
    if (cuda) snprintf(at[1], sizeof at[1], "%s/lib/libnvrtc.so", cuda);
    const char *const name[] = {
        at[0], at[1], "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof name / sizeof *name && !library; i++)
        if (*name[i]) library = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return hnd_fail(err, HND_BUILD,
                        "the library has no machine code for this device, and libnvrtc.so, which would "
                        "compile it here, cannot be opened");
    for (size_t i = 0; i < sizeof symbol / sizeof *symbol; i++) {
        void *p = dlsym(library, symbol[i]);
        if (!p) return hnd_fail(err, HND_BUILD, "libnvrtc.so has no %s", symbol[i]);
        memcpy((char *)f + i * sizeof p, &p, sizeof p);
        if (!i) hnd_nvrtc_builtins(p);
    }
    return 0;
}

/* The words of a text of options, but the architecture, which is the device's. */
HND int hnd_cu_options(char *text, const char **option, int most) {
    int n = 0;
    char *rest = NULL;
    for (char *p = strtok_r(text, " ", &rest); p && n < most; p = strtok_r(NULL, " ", &rest))
        if (strncmp(p, "--gpu-architecture", 18) != 0 && strncmp(p, "-arch", 5) != 0) option[n++] = p;
    return n;
}

/* arch: "sm_90a", or "compute_90" for PTX alone. */
HND int hnd_nvrtc_run(const hnd_nvrtc *f, void *p, const hnd_source *s, const char *arch, hnd_err *err) {
    char first[60], text[1024], log[300] = "";
    const char *option[32] = {first};
    size_t n = 0;
    snprintf(first, sizeof first, "--gpu-architecture=%s", arch);
    snprintf(text, sizeof text, "%s", s->options ? s->options : "");
    int code = f->compile(p, 1 + hnd_cu_options(text, option + 1, 31), option);
    if (!code) return 0;
    char *all = !f->log_b(p, &n) && n ? (char *)calloc(n + 1, 1) : NULL;
    if (all && !f->log(p, all)) snprintf(log, sizeof log, "%s", strstr(all, "error") ? strstr(all, "error") : all);
    free(all);
    for (char *q = log; *q; q++)
        if (*q == '\n') *q = ' ';
    return hnd_fail(err, HND_BUILD, "NVRTC refuses the text (%d): %s", code, log);
}

/* What a program was compiled to, of the size that one function tells and the other fills; NULL: nothing. */
HND char *hnd_nvrtc_take(void *p, int (*size)(void *p, size_t *n), int (*fill)(void *p, char *to), size_t *n) {
    char *code = !size(p, n) && *n ? (char *)malloc(*n + 1) : NULL;
    if (code && !fill(p, code)) return code;
    free(code);
    return NULL;
}

/* Machine code, or PTX, of a text. To be freed. */
HND int hnd_nvrtc_compile(const hnd_nvrtc *f, const hnd_source *s, const char *arch, char **code, size_t *n,
                          hnd_err *err) {
    void *p = NULL;
    if (f->create(&p, s->text, "kernels.cu", 0, NULL, NULL)) return hnd_fail(err, HND_BUILD, "NVRTC does not start");
    int rc = hnd_nvrtc_run(f, p, s, arch, err), ptx = !strncmp(arch, "compute_", 8);
    if (!rc && !(*code = hnd_nvrtc_take(p, ptx ? f->ptx_b : f->code_b, ptx ? f->ptx : f->code, n)))
        rc = hnd_fail(err, HND_BUILD, "NVRTC gives no %s", ptx ? "PTX" : "machine code");
    f->destroy(&p);
    return rc;
}

HND int hnd_cu_load_text(hnd_cu *c, const hnd_source *s, void **module, hnd_err *err) {
    hnd_nvrtc f;
    hnd_key key;
    hnd_err why = {0, ""};
    char arch[20];
    int version[2] = {0, 0}, rc = 0, missing;
    size_t n = 0;
    if (!s->text) return hnd_fail(err, HND_BUILD, "the library has no code for sm_%d, and no text", c->arch);
    if (!(missing = hnd_nvrtc_open(&f, &why))) f.version(&version[0], &version[1]);
    snprintf(arch, sizeof arch, "sm_%d%s", c->arch, c->arch >= 90 ? "a" : "");
    hnd_key_begin(&key, "cuda");
    hnd_key_add(&key, &c->arch, sizeof c->arch);
    hnd_key_add(&key, version, sizeof version);
    hnd_key_add(&key, s->options ? s->options : "", s->options ? strlen(s->options) : 0);
    hnd_key_add(&key, s->text, s->text_b);
    char *code = (char *)hnd_cache_read(&key, &n);
    if (!code && missing) return hnd_fail(err, missing, "%s", why.text);
    if (!code && !(rc = hnd_nvrtc_compile(&f, s, arch, &code, &n, err))) hnd_cache_write(&key, code, n);
    if (!rc) rc = hnd_cu_load_image(c, code, "what NVRTC made", module, err);
    free(code);
    return rc;
}

HND int hnd_cu_load(void *device, const hnd_source *s, void **module, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    const hnd_image *code = hnd_cu_machine_code(c, s), *ptx = hnd_cu_ptx(c, s);
    int rc = hnd_cu_enter(c, err);
    if (rc) return rc;
    if (code && !(rc = hnd_cu_load_image(c, code->data, "machine code", module, err))) return 0;
    if (rc && rc != HND_BUILD) return rc;
    if (ptx && !(rc = hnd_cu_load_image(c, ptx->data, "PTX", module, err))) return 0;
    if (rc && rc != HND_BUILD) return rc;
    return hnd_cu_load_text(c, s, module, err);
}

HND int hnd_cu_find(void *device, void *module, const char *name, void **kernel, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    char what[120];
    int rc = hnd_cu_enter(c, err);
    snprintf(what, sizeof what, "looking for kernel '%.80s'", name);
    return rc ? rc : hnd_cu_must(c, c->f.cuModuleGetFunction(kernel, module, name), what, err);
}

/* --- launches ----------------------------------------------------------------------------------------------------- */

HND int hnd_cu_launch(void *device, void *queue, const hnd_launch *l, hnd_err *err) {
    enum { DYNAMIC = 8, PLAIN_SHARED_B = 48 << 10 };
    hnd_cu *c = (hnd_cu *)device;
    int64_t value[HND_CU_ARGS];
    void *param[HND_CU_ARGS];
    int rc = hnd_cu_enter(c, err);
    if (rc || l->grid <= 0) return rc;
    if (l->n_arg > HND_CU_ARGS) return hnd_fail(err, HND_REFUSED, "a kernel with %u arguments", l->n_arg);
    for (uint32_t i = 0; i < l->n_arg; i++) value[i] = l->arg[i].value, param[i] = &value[i];
    if (l->shared_b > PLAIN_SHARED_B)
        rc = hnd_cu_must(c, c->f.cuFuncSetAttribute(l->kernel, DYNAMIC, (int)l->shared_b), "asking for shared memory",
                         err);
    return rc ? rc
              : hnd_cu_must(c,
                            c->f.cuLaunchKernel(l->kernel, (unsigned)l->grid, 1, 1, l->threads[0], l->threads[1],
                                                l->threads[2], l->shared_b, queue, param, NULL),
                            "launching a kernel", err);
}

HND int hnd_cu_sync(void *device, void *queue, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    return rc ? rc : hnd_cu_must(c, c->f.cuStreamSynchronize(queue), "running", err);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

HND int hnd_cu_mark(void *device, void *queue, void **mark, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    void *event = NULL;
    int rc = hnd_cu_enter(c, err);
    if (!rc) rc = hnd_cu_must(c, c->f.cuEventCreate(&event, 0), "making an event", err);
    if (!rc && (rc = hnd_cu_must(c, c->f.cuEventRecord(event, queue), "marking a moment", err)))
        c->f.cuEventDestroy_v2(event);
    if (!rc) *mark = event;
    return rc;
}

HND int hnd_cu_between(void *device, void *from, void *to, double *seconds, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    float ms = 0;
    int rc = hnd_cu_enter(c, err);
    if (!rc) rc = hnd_cu_must(c, c->f.cuEventSynchronize(to), "reading the time", err);
    if (!rc) rc = hnd_cu_must(c, c->f.cuEventElapsedTime(&ms, from, to), "reading the time", err);
    if (!rc) *seconds = 1e-3 * (double)ms;
    return rc;
}

HND void hnd_cu_drop_mark(void *device, void *mark) {
    hnd_cu *c = (hnd_cu *)device;
    if (mark && !hnd_cu_enter(c, NULL)) c->f.cuEventDestroy_v2(mark);
}

/* --- recordings: graphs ------------------------------------------------------------------------------------------- */

HND int hnd_cu_record(void *device, void *queue, hnd_err *err) {
    enum { THREAD_LOCAL = 1 };
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    return rc ? rc : hnd_cu_must(c, c->f.cuStreamBeginCapture_v2(queue, THREAD_LOCAL), "capturing a graph", err);
}

HND int hnd_cu_record_end(void *device, void *queue, void **recording, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    void *graph = NULL;
    int rc = hnd_cu_enter(c, err);
    if (!rc) rc = hnd_cu_must(c, c->f.cuStreamEndCapture(queue, &graph), "capturing a graph", err);
    if (!rc) rc = hnd_cu_must(c, c->f.cuGraphInstantiateWithFlags(recording, graph, 0), "making a graph", err);
    if (graph) c->f.cuGraphDestroy(graph);
    return rc;
}

HND int hnd_cu_replay(void *device, void *queue, void *recording, hnd_err *err) {
    hnd_cu *c = (hnd_cu *)device;
    int rc = hnd_cu_enter(c, err);
    return rc ? rc : hnd_cu_must(c, c->f.cuGraphLaunch(recording, queue), "running a graph", err);
}

HND void hnd_cu_drop_recording(void *device, void *recording) {
    hnd_cu *c = (hnd_cu *)device;
    if (recording && !hnd_cu_enter(c, NULL)) c->f.cuGraphExecDestroy(recording);
}

static const hnd_driver hnd_cuda __attribute__((unused)) = {.version = HND_VERSION,
                                                            .name = "cuda",
                                                            .language = "cuda",
                                                            .count = hnd_cu_count,
                                                            .open = hnd_cu_open,
                                                            .close = hnd_cu_close,
                                                            .describe = hnd_cu_describe,
                                                            .queue = hnd_cu_queue,
                                                            .drop_queue = hnd_cu_drop_queue,
                                                            .alloc = hnd_cu_alloc,
                                                            .free = hnd_cu_free,
                                                            .put = hnd_cu_put,
                                                            .get = hnd_cu_get,
                                                            .copy = hnd_cu_copy,
                                                            .fill = hnd_cu_fill,
                                                            .load = hnd_cu_load,
                                                            .find = hnd_cu_find,
                                                            .launch = hnd_cu_launch,
                                                            .sync = hnd_cu_sync,
                                                            .mark = hnd_cu_mark,
                                                            .between = hnd_cu_between,
                                                            .drop_mark = hnd_cu_drop_mark,
                                                            .record = hnd_cu_record,
                                                            .record_end = hnd_cu_record_end,
                                                            .replay = hnd_cu_replay,
                                                            .drop_recording = hnd_cu_drop_recording};

#endif
