/* rt/driver_opencl.h — devices of OpenCL 1.2, whose library is opened at run time and declared here
 * (registry.khronos.org). Text carried into artifacts, behind driver.h and cache.h.
 *
 * OpenCL has buffer objects that the host cannot add to. An address is a number out of a range of its own that each
 * buffer is given (never again another's); a table, in order, finds buffer and offset. A kernel takes both:
 * `__global char *base, long offset`; address 0 is a null pointer and 0. Shared memory of a launch is a last argument
 * `__local char *`.
 */
#ifndef HND_OPENCL_H
#define HND_OPENCL_H

#include "driver.h"

#include "cache.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    HND_CL_DEVICES = 64, /* at most, of all platforms */
    HND_CL_PLATFORMS = 16,
    HND_CL_ALIGN = 4096
};

#define HND_CL_FUNCTIONS(F)                                                                                            \
    F(clGetPlatformIDs, int, (unsigned n, void **platform, unsigned *have))                                            \
    F(clGetPlatformInfo, int, (void *platform, unsigned what, size_t n, void *to, size_t *have))                       \
    F(clGetDeviceIDs, int, (void *platform, uint64_t type, unsigned n, void **device, unsigned *have))                 \
    F(clGetDeviceInfo, int, (void *device, unsigned what, size_t n, void *to, size_t *have))                           \
    F(clCreateContext, void *,                                                                                         \
      (const intptr_t *property, unsigned n, void *const *device, void *tell, void *ctx, int *code))                   \
    F(clCreateCommandQueue, void *, (void *context, void *device, uint64_t property, int *code))                       \
    F(clCreateProgramWithSource, void *,                                                                               \
      (void *context, unsigned n, const char **text, const size_t *size, int *code))                                   \
    F(clCreateProgramWithBinary, void *,                                                                               \
      (void *context, unsigned n, void *const *device, const size_t *size, const unsigned char **binary, int *each,    \
       int *code))                                                                                                     \
    F(clBuildProgram, int,                                                                                             \
      (void *program, unsigned n, void *const *device, const char *options, void *tell, void *ctx))                    \
    F(clGetProgramInfo, int, (void *program, unsigned what, size_t n, void *to, size_t *have))                         \
    F(clGetProgramBuildInfo, int, (void *program, void *device, unsigned what, size_t n, void *to, size_t *have))      \
    F(clCreateKernel, void *, (void *program, const char *name, int *code))                                            \
    F(clGetKernelWorkGroupInfo, int, (void *kernel, void *device, unsigned what, size_t n, void *to, size_t *have))    \
    F(clSetKernelArg, int, (void *kernel, unsigned index, size_t size, const void *value))                             \
    F(clCreateBuffer, void *, (void *context, uint64_t flags, size_t size, void *host, int *code))                     \
    F(clEnqueueWriteBuffer, int,                                                                                       \
      (void *queue, void *mem, unsigned wait, size_t at, size_t n, const void *from, unsigned n_events,                \
       void *const *after, void **event))                                                                              \
    F(clEnqueueReadBuffer, int,                                                                                        \
      (void *queue, void *mem, unsigned wait, size_t at, size_t n, void *to, unsigned n_events, void *const *after,    \
       void **event))                                                                                                  \
    F(clEnqueueCopyBuffer, int,                                                                                        \
      (void *queue, void *from, void *to, size_t from_at, size_t to_at, size_t n, unsigned n_events,                   \
       void *const *after, void **event))                                                                              \
    F(clEnqueueFillBuffer, int,                                                                                        \
      (void *queue, void *mem, const void *pattern, size_t pattern_b, size_t at, size_t n, unsigned n_events,          \
       void *const *after, void **event))                                                                              \
    F(clEnqueueNDRangeKernel, int,                                                                                     \
      (void *queue, void *kernel, unsigned n_dims, const size_t *offset, const size_t *global, const size_t *local,    \
       unsigned n_events, void *const *after, void **event))                                                           \
    F(clEnqueueMarkerWithWaitList, int, (void *queue, unsigned n_events, void *const *after, void **event))            \
    F(clWaitForEvents, int, (unsigned n, void *const *event))                                                          \
    F(clGetEventProfilingInfo, int, (void *event, unsigned what, size_t n, void *to, size_t *have))                    \
    F(clFinish, int, (void *queue))                                                                                    \
    F(clReleaseEvent, int, (void *event))                                                                              \
    F(clReleaseKernel, int, (void *kernel))                                                                            \
    F(clReleaseProgram, int, (void *program))                                                                          \
    F(clReleaseMemObject, int, (void *mem))                                                                            \
    F(clReleaseCommandQueue, int, (void *queue))                                                                       \
    F(clReleaseContext, int, (void *context))

typedef struct hnd_cl_table {
#define F(name, result, args) result(*name) args;
    HND_CL_FUNCTIONS(F)
#undef F
} hnd_cl_table;

typedef struct hnd_cl_range {
    hnd_at at;
    uint64_t size_b;
    void *mem;
} hnd_cl_range;

typedef struct hnd_cl_made { /* a program or a kernel, to release */
    void *program, *kernel;
    struct hnd_cl_made *next;
} hnd_cl_made;

typedef struct hnd_cl {
    hnd_cl_table f;
    void *device, *platform, *context;
    pthread_mutex_t lock; /* of all that follows, and of kernels while they get arguments */
    hnd_cl_range *range;  /* by address */
    size_t n_range, room;
    hnd_at next;
    hnd_cl_made *made;
    int faulted;
} hnd_cl;

/* --- errors ------------------------------------------------------------------------------------------------------- */

static const struct {
    short code, rc;
    const char *text;
} hnd_cl_errors[] = {
    {-1, HND_NO_DRIVER, "no device"},
    {-2, HND_NO_DRIVER, "device not available"},
    {-4, HND_NOMEM, "no memory for the buffer"},
    {-5, HND_REFUSED, "out of resources"},
    {-6, HND_NOMEM, "out of memory"},
    {-11, HND_BUILD, "the program does not build"},
    {-14, HND_FAULT, "a command failed"},
    {-30, HND_REFUSED, "invalid value"},
    {-36, HND_FAULT, "the queue is broken"},
    {-42, HND_BUILD, "the binary is not for this device"},
    {-43, HND_BUILD, "the compiler refuses the options"},
    {-45, HND_BUILD, "the program has nothing for this device"},
    {-46, HND_BUILD, "there is no kernel of that name"},
    {-48, HND_REFUSED, "invalid kernel"},
    {-49, HND_REFUSED, "the kernel has fewer arguments"},
    {-50, HND_REFUSED, "an argument does not fit"},
    {-51, HND_REFUSED, "an argument has another size"},
    {-52, HND_REFUSED, "an argument is missing"},
    {-54, HND_REFUSED, "the work-group is too large or does not fit"},
    {-55, HND_REFUSED, "the work-group is too large in one dimension"},
    {-61, HND_NOMEM, "one buffer cannot be so large"},
    {-63, HND_REFUSED, "invalid global size"},
    {-1001, HND_NO_DRIVER, "no platform is installed"},
    {-9999, HND_FAULT, "the kernel read or wrote where nothing is"},
};

HND int hnd_cl_must(hnd_cl *c, int code, const char *what, hnd_err *err) {
    size_t n = sizeof hnd_cl_errors / sizeof *hnd_cl_errors, i = 0;
    if (!code) return 0;
    while (i < n && hnd_cl_errors[i].code != code) i++;
    int rc = i < n ? hnd_cl_errors[i].rc : HND_FAULT;
    if (c && rc == HND_FAULT) c->faulted = 1;
    return hnd_fail(err, rc, "%s: OpenCL error %d: %s", what, code, i < n ? hnd_cl_errors[i].text : "not known here");
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

HND int hnd_cl_open_library(hnd_cl_table *f, hnd_err *err) {
    static const struct {
        const char *name;
        size_t at;
    } symbol[] = {
#define F(name, result, args) {#name, offsetof(hnd_cl_table, name)},
        HND_CL_FUNCTIONS(F)
#undef F
    };
    /* PoCL 3.1 on several threads lets functions that it does not inline share a kernel's local arrays between groups
     * (docs/gpu-compiler.md); its device `basic` has one thread. What the user sets stays. */
    setenv("POCL_DEVICES", "basic", 0);
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return hnd_fail(err, HND_NO_DRIVER,
                        "no OpenCL here: libOpenCL.so.1 cannot be opened (a package such as "
                        "ocl-icd-libopencl1 has it, pocl-opencl-icd a driver)");
    for (size_t i = 0; i < sizeof symbol / sizeof *symbol; i++) {
        void *p = dlsym(library, symbol[i].name);
        if (!p) return hnd_fail(err, HND_NO_DRIVER, "libOpenCL.so.1 is too old: it has no %s", symbol[i].name);
        memcpy((char *)f + symbol[i].at, &p, sizeof p);
    }
    return 0;
}

typedef struct hnd_cl_found {
    void *device[HND_CL_DEVICES], *platform[HND_CL_DEVICES];
    int n;
} hnd_cl_found;

/* All devices of all platforms, in the order of the loader. */
HND int hnd_cl_list(hnd_cl_table *f, hnd_cl_found *out, hnd_err *err) {
    void *platform[HND_CL_PLATFORMS];
    unsigned n = 0;
    int rc = hnd_cl_open_library(f, err);
    out->n = 0;
    if (rc) return rc;
    if ((rc = f->clGetPlatformIDs(HND_CL_PLATFORMS, platform, &n)) && rc != -1001)
        return hnd_cl_must(NULL, rc, "looking for platforms", err);
    for (unsigned i = 0; !rc && i < n && i < HND_CL_PLATFORMS; i++) {
        unsigned have = 0;
        if (f->clGetDeviceIDs(platform[i], 0xFFFFFFFFu, (unsigned)(HND_CL_DEVICES - out->n), out->device + out->n,
                              &have))
            continue;
        for (; have && out->n < HND_CL_DEVICES; have--) out->platform[out->n++] = platform[i];
    }
    if (out->n) return 0;
    return hnd_fail(err, HND_NO_DRIVER, "OpenCL has no device: no driver is installed (such as pocl-opencl-icd)");
}

HND int hnd_cl_count(hnd_err *err) {
    hnd_cl_table f;
    hnd_cl_found all;
    return hnd_cl_list(&f, &all, err) ? 0 : all.n;
}

HND int hnd_cl_choose(hnd_cl *c, int index, hnd_err *err) {
    hnd_cl_found all;
    int rc = hnd_cl_list(&c->f, &all, err);
    if (rc) return rc;
    if (index < 0 || index >= all.n)
        return hnd_fail(err, HND_NO_DRIVER, "there is no device 'opencl:%d', only %d", index, all.n);
    c->device = all.device[index];
    c->platform = all.platform[index];
    return 0;
}

HND uint64_t hnd_cl_number(const hnd_cl *c, unsigned what) {
    uint64_t x = 0;
    return c->f.clGetDeviceInfo(c->device, what, sizeof x, &x, NULL) ? 0 : x;
}

/* A text of a device, or of its platform; without tabs and line ends. */
HND void hnd_cl_text(const hnd_cl *c, int of_platform, unsigned what, char *to, size_t n) {
    char all[8192] = "";
    int code = of_platform ? c->f.clGetPlatformInfo(c->platform, what, sizeof all - 1, all, NULL)
                           : c->f.clGetDeviceInfo(c->device, what, sizeof all - 1, all, NULL);
    snprintf(to, n, "%.*s", (int)n - 1, code ? "" : all);
    for (char *p = to; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
}

HND void hnd_cl_describe_open(const hnd_cl *c, hnd_info *out) {
    enum { CPU = 2 };
    char all[8192] = "";
    *out = (hnd_info){.memory_b = hnd_cl_number(c, 0x101F), .alloc_most_b = hnd_cl_number(c, 0x1010)};
    out->shared_b = hnd_cl_number(c, 0x1023);
    out->cache_b = hnd_cl_number(c, 0x101E);
    out->units = (uint32_t)hnd_cl_number(c, 0x1002);
    out->clock_mhz = (uint32_t)hnd_cl_number(c, 0x100C);
    out->threads_most = (uint32_t)hnd_cl_number(c, 0x1004);
    hnd_cl_text(c, 0, 0x102B, out->name, sizeof out->name);
    hnd_cl_text(c, 0, 0x102D, out->driver, sizeof out->driver);
    hnd_cl_text(c, 1, 0x0902, out->arch, sizeof out->arch);
    hnd_cl_text(c, 1, 0x0901, out->version, sizeof out->version);
    hnd_cl_text(c, 0, 0x1030, all, sizeof all);
    out->has = (strstr(all, "cl_khr_fp64") ? HND_HAS_F64 : 0) | (strstr(all, "cl_khr_fp16") ? HND_HAS_F16 : 0) |
               (strstr(all, "cl_khr_int64_base_atomics") ? HND_HAS_ATOMIC64 : 0) |
               (hnd_cl_number(c, 0x1000) & CPU ? HND_IS_CPU : 0) | (hnd_cl_number(c, 0x1035) ? HND_SHARES_HOST : 0);
    out->lanes = out->has & HND_IS_CPU ? 1 : 32;
}

HND int hnd_cl_describe(int index, hnd_info *out, hnd_err *err) {
    hnd_cl c = {0};
    int rc = hnd_cl_choose(&c, index, err);
    if (!rc) hnd_cl_describe_open(&c, out);
    return rc;
}

HND int hnd_cl_open(int index, void **device, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)calloc(1, sizeof *c);
    int code = 0;
    if (!c) return hnd_fail(err, HND_NOMEM, "out of memory");
    int rc = hnd_cl_choose(c, index, err);
    if (!rc) {
        c->context = c->f.clCreateContext(NULL, 1, &c->device, NULL, NULL, &code);
        rc = hnd_cl_must(NULL, code, "opening the device", err);
    }
    if (rc) {
        free(c);
        return rc;
    }
    c->next = (hnd_at)1 << 40;
    pthread_mutex_init(&c->lock, NULL);
    *device = c;
    return 0;
}

HND void hnd_cl_close(void *device) {
    hnd_cl *c = (hnd_cl *)device;
    if (!c) return;
    for (hnd_cl_made *m = c->made, *next; m; m = next) {
        next = m->next;
        if (m->kernel) c->f.clReleaseKernel(m->kernel);
        if (m->program) c->f.clReleaseProgram(m->program);
        free(m);
    }
    for (size_t i = 0; i < c->n_range; i++) c->f.clReleaseMemObject(c->range[i].mem);
    c->f.clReleaseContext(c->context);
    pthread_mutex_destroy(&c->lock);
    free(c->range);
    free(c);
}

HND int hnd_cl_queue(void *device, void **queue, hnd_err *err) {
    enum { PROFILING = 2 };
    hnd_cl *c = (hnd_cl *)device;
    int code = 0;
    void *q = c->f.clCreateCommandQueue(c->context, c->device, PROFILING, &code);
    int rc = hnd_cl_must(c, code, "making a queue", err);
    if (!rc) *queue = q;
    return rc;
}

HND void hnd_cl_drop_queue(void *device, void *queue) {
    hnd_cl *c = (hnd_cl *)device;
    if (!queue) return;
    c->f.clFinish(queue);
    c->f.clReleaseCommandQueue(queue);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

HND int hnd_cl_alloc(void *device, int64_t size_b, hnd_at *out, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)device;
    int code = 0, rc;
    uint64_t n = size_b < 64 ? 64 : (uint64_t)size_b;
    char what[80];
    snprintf(what, sizeof what, "taking %lld bytes of the device's memory", (long long)size_b);
    if (c->faulted) return hnd_fail(err, HND_FAULT, "the device has faulted before");
    void *mem = c->f.clCreateBuffer(c->context, 1, n, NULL, &code);
    if ((rc = hnd_cl_must(c, code, what, err))) return rc;
    pthread_mutex_lock(&c->lock);
    if (c->n_range == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        hnd_cl_range *more = (hnd_cl_range *)realloc(c->range, room * sizeof *more);
        if (more) c->range = more, c->room = room;
    }
    if (c->n_range < c->room) {
        *out = c->next;
        c->range[c->n_range++] = (hnd_cl_range){c->next, n, mem};
        c->next += (n + 2 * HND_CL_ALIGN - 1) / HND_CL_ALIGN * HND_CL_ALIGN; /* a page between two */
    } else {
        c->f.clReleaseMemObject(mem);
        rc = hnd_fail(err, HND_NOMEM, "out of memory");
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* The range that holds an address, or whose end it is; with the lock held. */
HND hnd_cl_range *hnd_cl_range_of(hnd_cl *c, hnd_at at) {
    size_t low = 0, high = c->n_range;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (c->range[mid].at <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low && at - c->range[low - 1].at <= c->range[low - 1].size_b ? &c->range[low - 1] : NULL;
}

HND void hnd_cl_free(void *device, hnd_at at) {
    hnd_cl *c = (hnd_cl *)device;
    void *mem = NULL;
    if (!at) return;
    pthread_mutex_lock(&c->lock);
    hnd_cl_range *r = hnd_cl_range_of(c, at);
    if (r && r->at == at) {
        mem = r->mem;
        memmove(r, r + 1, (size_t)(c->range + c->n_range - r - 1) * sizeof *r);
        c->n_range--;
    }
    pthread_mutex_unlock(&c->lock);
    if (mem) c->f.clReleaseMemObject(mem);
}

/* Buffer and offset of size_b bytes from an address on; the error names what for. */
HND int hnd_cl_place(hnd_cl *c, hnd_at at, int64_t size_b, const char *what, hnd_cl_range *out, hnd_err *err) {
    *out = (hnd_cl_range){0, 0, NULL};
    if (c->faulted) return hnd_fail(err, HND_FAULT, "the device has faulted before");
    pthread_mutex_lock(&c->lock);
    const hnd_cl_range *r = hnd_cl_range_of(c, at);
    int inside = r && size_b >= 0 && (uint64_t)size_b <= r->size_b - (at - r->at);
    if (inside) *out = (hnd_cl_range){at - r->at, r->size_b, r->mem}; /* `at`: from the buffer's begin */
    pthread_mutex_unlock(&c->lock);
    if (inside) return 0;
    return hnd_fail(err, HND_REFUSED, "%s: no memory of the device has the bytes %#llx to %#llx", what,
                    (unsigned long long)at, (unsigned long long)(at + (uint64_t)size_b));
}

HND int hnd_cl_put(void *device, void *queue, hnd_at to, const void *from, int64_t size_b, hnd_err *err) {
    static const char what[] = "copying to the device";
    hnd_cl *c = (hnd_cl *)device;
    hnd_cl_range r = {0};
    if (!size_b) return 0;
    int rc = hnd_cl_place(c, to, size_b, what, &r, err);
    if (rc) return rc;
    return hnd_cl_must(c, c->f.clEnqueueWriteBuffer(queue, r.mem, 1, r.at, (size_t)size_b, from, 0, NULL, NULL), what,
                       err);
}

HND int hnd_cl_get(void *device, void *queue, void *to, hnd_at from, int64_t size_b, hnd_err *err) {
    static const char what[] = "copying from the device";
    hnd_cl *c = (hnd_cl *)device;
    hnd_cl_range r = {0};
    if (!size_b) return 0;
    int rc = hnd_cl_place(c, from, size_b, what, &r, err);
    if (rc) return rc;
    return hnd_cl_must(c, c->f.clEnqueueReadBuffer(queue, r.mem, 1, r.at, (size_t)size_b, to, 0, NULL, NULL), what,
                       err);
}

HND int hnd_cl_copy(void *device, void *queue, hnd_at to, hnd_at from, int64_t size_b, hnd_err *err) {
    static const char what[] = "copying on the device";
    hnd_cl *c = (hnd_cl *)device;
    hnd_cl_range a = {0}, b = {0};
    int rc;
    if (!size_b || to == from) return 0;
    if ((rc = hnd_cl_place(c, from, size_b, what, &a, err)) || (rc = hnd_cl_place(c, to, size_b, what, &b, err)))
        return rc;
    return hnd_cl_must(c, c->f.clEnqueueCopyBuffer(queue, a.mem, b.mem, a.at, b.at, (size_t)size_b, 0, NULL, NULL),
                       what, err);
}

HND int hnd_cl_fill(void *device, void *queue, hnd_at to, int byte, int64_t size_b, hnd_err *err) {
    static const char what[] = "filling the device's memory";
    hnd_cl *c = (hnd_cl *)device;
    const unsigned char pattern = (unsigned char)byte;
    hnd_cl_range r = {0};
    if (!size_b) return 0;
    int rc = hnd_cl_place(c, to, size_b, what, &r, err);
    if (rc) return rc;
    return hnd_cl_must(c, c->f.clEnqueueFillBuffer(queue, r.mem, &pattern, 1, r.at, (size_t)size_b, 0, NULL, NULL),
                       what, err);
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

HND int hnd_cl_keep(hnd_cl *c, void *program, void *kernel, hnd_err *err) {
    hnd_cl_made *m = (hnd_cl_made *)malloc(sizeof *m);
    if (!m) {
        if (kernel) c->f.clReleaseKernel(kernel);
        if (program) c->f.clReleaseProgram(program);
        return hnd_fail(err, HND_NOMEM, "out of memory");
    }
    pthread_mutex_lock(&c->lock);
    *m = (hnd_cl_made){program, kernel, c->made};
    c->made = m;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

HND int hnd_cl_build_failed(hnd_cl *c, void *program, int code, hnd_err *err) {
    char log[300] = "", *all;
    size_t have = 0;
    if (!c->f.clGetProgramBuildInfo(program, c->device, 0x1183, 0, NULL, &have) && have &&
        (all = (char *)calloc(have + 1, 1))) {
        c->f.clGetProgramBuildInfo(program, c->device, 0x1183, have, all, NULL);
        const char *first = strstr(all, "error");
        snprintf(log, sizeof log, "%s", first ? first : all);
        free(all);
    }
    for (char *p = log; *p; p++)
        if (*p == '\n') *p = ' ';
    return hnd_cl_must(c, code, log[0] ? log : "building", err);
}

/* Binaries are kept by what they were made of: text, options, device and driver. */
HND void hnd_cl_key(const hnd_cl *c, const hnd_source *s, hnd_key *key) {
    hnd_info info;
    hnd_cl_describe_open(c, &info);
    hnd_key_begin(key, "opencl");
    hnd_key_add(key, info.name, strlen(info.name));
    hnd_key_add(key, info.driver, strlen(info.driver));
    hnd_key_add(key, info.version, strlen(info.version));
    hnd_key_add(key, s->options ? s->options : "", s->options ? strlen(s->options) : 0);
    hnd_key_add(key, s->text, s->text_b);
}

HND void *hnd_cl_from_cache(hnd_cl *c, const hnd_key *key, const char *options) {
    size_t n = 0;
    int code = 0, each = 0;
    unsigned char *binary = (unsigned char *)hnd_cache_read(key, &n);
    const unsigned char *const_binary = binary;
    if (!binary) return NULL;
    void *p = c->f.clCreateProgramWithBinary(c->context, 1, &c->device, &n, &const_binary, &each, &code);
    free(binary);
    if (p && (code || each || c->f.clBuildProgram(p, 1, &c->device, options, NULL, NULL))) {
        c->f.clReleaseProgram(p);
        p = NULL;
    }
    return code ? NULL : p;
}

HND void hnd_cl_to_cache(hnd_cl *c, const hnd_key *key, void *program) {
    size_t n = 0;
    if (c->f.clGetProgramInfo(program, 0x1165, sizeof n, &n, NULL) || !n) return;
    unsigned char *binary = (unsigned char *)malloc(n);
    if (binary && !c->f.clGetProgramInfo(program, 0x1166, sizeof binary, &binary, NULL))
        hnd_cache_write(key, binary, n);
    free(binary);
}

HND int hnd_cl_load(void *device, const hnd_source *s, void **module, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)device;
    const char *options = s->options ? s->options : "";
    hnd_key key;
    int code = 0, rc;
    if (!s->text) return hnd_fail(err, HND_BUILD, "an OpenCL program needs its text");
    hnd_cl_key(c, s, &key);
    void *p = hnd_cl_from_cache(c, &key, options);
    if (!p) {
        p = c->f.clCreateProgramWithSource(c->context, 1, (const char **)(uintptr_t)&s->text, &s->text_b, &code);
        if ((rc = hnd_cl_must(c, code, "loading the program", err))) return rc;
        if ((code = c->f.clBuildProgram(p, 1, &c->device, options, NULL, NULL))) {
            rc = hnd_cl_build_failed(c, p, code, err);
            c->f.clReleaseProgram(p);
            return rc;
        }
        hnd_cl_to_cache(c, &key, p);
    }
    if ((rc = hnd_cl_keep(c, p, NULL, err))) return rc;
    *module = p;
    return 0;
}

HND int hnd_cl_find(void *device, void *module, const char *name, void **kernel, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)device;
    char what[120];
    int code = 0, rc;
    void *k = c->f.clCreateKernel(module, name, &code);
    snprintf(what, sizeof what, "looking for kernel '%.80s'", name);
    if ((rc = hnd_cl_must(c, code, what, err)) || (rc = hnd_cl_keep(c, NULL, k, err))) return rc;
    *kernel = k;
    return 0;
}

/* --- launches ----------------------------------------------------------------------------------------------------- */

HND int hnd_cl_set_address(hnd_cl *c, const hnd_launch *l, unsigned i, hnd_at at) {
    const hnd_cl_range *r = at ? hnd_cl_range_of(c, at) : NULL;
    void *mem = r ? r->mem : NULL;
    int64_t offset = r ? (int64_t)(at - r->at) : 0;
    if (at && !r) return -30;
    int code = c->f.clSetKernelArg(l->kernel, i, sizeof mem, &mem);
    return code ? code : c->f.clSetKernelArg(l->kernel, i + 1, sizeof offset, &offset);
}

HND int hnd_cl_launch(void *device, void *queue, const hnd_launch *l, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)device;
    size_t local[3] = {l->threads[0], l->threads[1], l->threads[2]};
    size_t global[3] = {local[0] * (size_t)l->grid, local[1], local[2]};
    unsigned dims = 3, n = 0;
    int code = 0;
    if (c->faulted) return hnd_fail(err, HND_FAULT, "the device has faulted before");
    if (l->grid <= 0) return 0;
    while (dims > 1 && local[dims - 1] == 1) dims--;
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; !code && i < l->n_arg; i++) {
        if (l->arg[i].is_address)
            code = hnd_cl_set_address(c, l, n, (hnd_at)l->arg[i].value), n += 2;
        else
            code = c->f.clSetKernelArg(l->kernel, n++, sizeof l->arg[i].value, &l->arg[i].value);
    }
    if (!code && l->shared_b) code = c->f.clSetKernelArg(l->kernel, n, l->shared_b, NULL);
    if (!code) code = c->f.clEnqueueNDRangeKernel(queue, l->kernel, dims, NULL, global, local, 0, NULL, NULL);
    pthread_mutex_unlock(&c->lock);
    return hnd_cl_must(c, code, "launching a kernel", err);
}

HND int hnd_cl_sync(void *device, void *queue, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)device;
    if (c->faulted) return hnd_fail(err, HND_FAULT, "the device has faulted before");
    return hnd_cl_must(c, c->f.clFinish(queue), "running", err);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

HND int hnd_cl_mark(void *device, void *queue, void **mark, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)device;
    void *event = NULL;
    int rc = hnd_cl_must(c, c->f.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), "marking a moment", err);
    if (!rc) *mark = event;
    return rc;
}

HND int hnd_cl_between(void *device, void *from, void *to, double *seconds, hnd_err *err) {
    hnd_cl *c = (hnd_cl *)device;
    void *event[2] = {from, to};
    uint64_t ns[2] = {0, 0};
    int code = c->f.clWaitForEvents(2, event);
    for (int i = 0; !code && i < 2; i++)
        code = c->f.clGetEventProfilingInfo(event[i], 0x1283, sizeof ns[i], &ns[i], NULL);
    if (!code) *seconds = ns[1] > ns[0] ? 1e-9 * (double)(ns[1] - ns[0]) : 0;
    return hnd_cl_must(c, code, "reading the time", err);
}

HND void hnd_cl_drop_mark(void *device, void *mark) {
    if (mark) ((hnd_cl *)device)->f.clReleaseEvent(mark);
}

static const hnd_driver hnd_opencl __attribute__((unused)) = {.version = HND_VERSION,
                                                              .name = "opencl",
                                                              .language = "opencl",
                                                              .count = hnd_cl_count,
                                                              .open = hnd_cl_open,
                                                              .close = hnd_cl_close,
                                                              .describe = hnd_cl_describe,
                                                              .queue = hnd_cl_queue,
                                                              .drop_queue = hnd_cl_drop_queue,
                                                              .alloc = hnd_cl_alloc,
                                                              .free = hnd_cl_free,
                                                              .put = hnd_cl_put,
                                                              .get = hnd_cl_get,
                                                              .copy = hnd_cl_copy,
                                                              .fill = hnd_cl_fill,
                                                              .load = hnd_cl_load,
                                                              .find = hnd_cl_find,
                                                              .launch = hnd_cl_launch,
                                                              .sync = hnd_cl_sync,
                                                              .mark = hnd_cl_mark,
                                                              .between = hnd_cl_between,
                                                              .drop_mark = hnd_cl_drop_mark};

#endif
