/* bench/gpu_opencl.c — OpenCL 1.2, opened at run time and declared here (registry.khronos.org/OpenCL).
 *
 * A sample is the sum of its launches' times from START to END, as profiling events give them. The first launch waits
 * for an event of the host's, which is set when all are queued: nothing is queued while a kernel runs.
 */
#include "gpu_int.h"

#include <math.h>
#include <sched.h>
#include <string.h>

enum {
    BATCH = 512, /* launches queued at once */
    DEVICES_MOST = 64,
    LOG_B = 4096,
    PLATFORM_VERSION = 0x0901,
    PLATFORM_NAME = 0x0902,
    DEVICE_TYPE = 0x1000,
    DEVICE_CACHE_B = 0x101E,
    DEVICE_MEMORY_B = 0x101F,
    DEVICE_LOCAL_B = 0x1023,
    DEVICE_NAME = 0x102B,
    DRIVER_VERSION = 0x102D,
    BUILD_LOG = 0x1183,
    KERNEL_GROUP = 0x11B0,
    KERNEL_LOCAL_B = 0x11B2,
    REGION = 0x1220,
    EVENT_START = 0x1282,
    EVENT_END = 0x1283,
    TYPE_CPU = 2,
    PROFILING = 2,
    NO_PLATFORM = -1001
};
/* More than this of a processor's caches is not rotated over: it would take longer to fill than to measure. */
static const uint64_t cpu_cache_most = 32 << 20;

typedef struct region {
    size_t from, n;
} region;

#define FUNCTIONS(F)                                                                                                   \
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
    F(clGetProgramBuildInfo, int, (void *program, void *device, unsigned what, size_t n, void *to, size_t *have))      \
    F(clCreateKernel, void *, (void *program, const char *name, int *code))                                            \
    F(clGetKernelWorkGroupInfo, int, (void *kernel, void *device, unsigned what, size_t n, void *to, size_t *have))    \
    F(clSetKernelArg, int, (void *kernel, unsigned index, size_t size, const void *value))                             \
    F(clCreateBuffer, void *, (void *context, uint64_t flags, size_t size, void *host, int *code))                     \
    F(clCreateSubBuffer, void *, (void *mem, uint64_t flags, unsigned type, const void *info, int *code))              \
    F(clEnqueueWriteBuffer, int,                                                                                       \
      (void *queue, void *mem, unsigned wait, size_t at, size_t n, const void *from, unsigned n_events,                \
       void *const *after, void **event))                                                                              \
    F(clEnqueueReadBuffer, int,                                                                                        \
      (void *queue, void *mem, unsigned wait, size_t at, size_t n, void *to, unsigned n_events, void *const *after,    \
       void **event))                                                                                                  \
    F(clEnqueueFillBuffer, int,                                                                                        \
      (void *queue, void *mem, const void *pattern, size_t pattern_b, size_t at, size_t n, unsigned n_events,          \
       void *const *after, void **event))                                                                              \
    F(clEnqueueNDRangeKernel, int,                                                                                     \
      (void *queue, void *kernel, unsigned n_dims, const size_t *offset, const size_t *global, const size_t *local,    \
       unsigned n_events, void *const *after, void **event))                                                           \
    F(clCreateUserEvent, void *, (void *context, int *code))                                                           \
    F(clSetUserEventStatus, int, (void *event, int status))                                                            \
    F(clGetEventProfilingInfo, int, (void *event, unsigned what, size_t n, void *to, size_t *have))                    \
    F(clFlush, int, (void *queue))                                                                                     \
    F(clFinish, int, (void *queue))                                                                                    \
    F(clReleaseEvent, int, (void *event))                                                                              \
    F(clReleaseKernel, int, (void *kernel))                                                                            \
    F(clReleaseProgram, int, (void *program))                                                                          \
    F(clReleaseMemObject, int, (void *mem))                                                                            \
    F(clReleaseCommandQueue, int, (void *queue))                                                                       \
    F(clReleaseContext, int, (void *context))

typedef struct opencl_table {
#define F(name, result, args) result(*name) args;
    FUNCTIONS(F)
#undef F
} opencl_table;

static const hn_gpu_symbol symbols[] = {
#define F(name, result, args) {#name, NULL, offsetof(opencl_table, name), false},
    FUNCTIONS(F)
#undef F
};
static const char *const libraries[] = {"libOpenCL.so.1", NULL};

typedef struct opencl {
    opencl_table f;
    void *device, *context, *queue, *program;
    void **kernel; /* to release */
    size_t n_kernels;
    void *flush;
    size_t flush_b;
    void *event[BATCH];
    size_t n_events;
    uint64_t next_set; /* rotation goes on from sample to sample */
} opencl;

/* --- errors ------------------------------------------------------------------------------------------------------- */

static const struct {
    short code;
    hn_gpu_class cls;
    const char *text;
} errors[] = {
    {-1, HN_GPU_NO_DEVICE, "no device"},
    {-2, HN_GPU_NO_DEVICE, "device not available"},
    {-4, HN_GPU_RUN_CRASH, "no memory for the buffer"},
    {-5, HN_GPU_LAUNCH_REFUSED, "out of resources"},
    {-6, HN_GPU_RUN_CRASH, "out of memory"},
    {-11, HN_GPU_LAUNCH_REFUSED, "the program does not build"},
    {-14, HN_GPU_DEVICE_FAULT, "a command failed"},
    {-30, HN_GPU_LAUNCH_REFUSED, "invalid value"},
    {-36, HN_GPU_DEVICE_FAULT, "the queue is broken"},
    {-42, HN_GPU_LAUNCH_REFUSED, "the binary is not for this device"},
    {-43, HN_GPU_LAUNCH_REFUSED, "the compiler refuses the options"},
    {-45, HN_GPU_LAUNCH_REFUSED, "the program has nothing for this device"},
    {-46, HN_GPU_LAUNCH_REFUSED, "there is no kernel of that name"},
    {-48, HN_GPU_LAUNCH_REFUSED, "invalid kernel"},
    {-49, HN_GPU_LAUNCH_REFUSED, "the kernel has fewer arguments"},
    {-50, HN_GPU_LAUNCH_REFUSED, "an argument does not fit"},
    {-51, HN_GPU_LAUNCH_REFUSED, "an argument has another size"},
    {-52, HN_GPU_LAUNCH_REFUSED, "an argument is missing"},
    {-53, HN_GPU_LAUNCH_REFUSED, "invalid number of dimensions"},
    {-54, HN_GPU_LAUNCH_REFUSED, "the work-group is too large or does not fit"},
    {-55, HN_GPU_LAUNCH_REFUSED, "the work-group is too large in one dimension"},
    {-63, HN_GPU_LAUNCH_REFUSED, "invalid global size"},
    {NO_PLATFORM, HN_GPU_NO_DEVICE, "no platform is installed"},
    {-9999, HN_GPU_MEMORY_FAULT, "the kernel read or wrote where nothing is"},
};

static void must(hone_gpu *g, int code, const char *what) {
    size_t n = sizeof errors / sizeof *errors, i = 0;
    if (!code) return;
    while (i < n && errors[i].code != code) i++;
    hn_gpu_fault(g, i < n ? errors[i].cls : HN_GPU_DEVICE_FAULT, "%s: OpenCL error %d: %s", what, code,
                 i < n ? errors[i].text : "not known here");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static bool takes(const void *image, size_t size) {
    (void)image;
    return size > 0;
}

static void text_of(int code, char *text) {
    if (code) *text = 0;
    for (char *p = text; *p; p++)
        if (*p == '\t' || *p == '\n') *p = ' ';
}

static uint64_t number(const opencl *c, unsigned what) {
    uint64_t x = 0;
    return c->f.clGetDeviceInfo(c->device, what, sizeof x, &x, NULL) ? 0 : x;
}

static void describe(const opencl *c, void *platform, hn_gpu_info *out) {
    *out = (hn_gpu_info){.cache_b = number(c, DEVICE_CACHE_B), .memory_b = number(c, DEVICE_MEMORY_B)};
    if ((number(c, DEVICE_TYPE) & TYPE_CPU) && out->cache_b > cpu_cache_most) out->cache_b = cpu_cache_most;
    text_of(c->f.clGetDeviceInfo(c->device, DEVICE_NAME, sizeof out->name - 1, out->name, NULL), out->name);
    text_of(c->f.clGetDeviceInfo(c->device, DRIVER_VERSION, sizeof out->driver - 1, out->driver, NULL), out->driver);
    text_of(c->f.clGetPlatformInfo(platform, PLATFORM_NAME, sizeof out->arch - 1, out->arch, NULL), out->arch);
    text_of(c->f.clGetPlatformInfo(platform, PLATFORM_VERSION, sizeof out->version - 1, out->version, NULL),
            out->version);
}

typedef struct found {
    void *device[DEVICES_MOST], *platform[DEVICES_MOST];
    size_t n;
} found;

/* PoCL starts a thread for each processor, however few of them this process may use. */
static void limit_pocl(void) {
    cpu_set_t set;
    char n[16];
    if (sched_getaffinity(0, sizeof set, &set)) return;
    snprintf(n, sizeof n, "%d", CPU_COUNT(&set));
    setenv("POCL_MAX_PTHREAD_COUNT", n, 0);
}

/* All devices of all platforms, in the order of the loader. */
static bool start(opencl *c, found *out, char *why, size_t n_why) {
    void *platform[16];
    unsigned n = 0;
    limit_pocl();
    *out = (found){.n = 0};
    if (!hn_gpu_library(libraries, symbols, sizeof symbols / sizeof *symbols, &c->f, why, n_why)) return false;
    int code = c->f.clGetPlatformIDs(16, platform, &n);
    if (code && code != NO_PLATFORM) {
        snprintf(why, n_why, "clGetPlatformIDs fails with OpenCL error %d", code);
        return false;
    }
    for (unsigned i = 0; !code && i < n && i < 16; i++) {
        unsigned have = 0;
        if (c->f.clGetDeviceIDs(platform[i], 0xFFFFFFFFu, (unsigned)(DEVICES_MOST - out->n), out->device + out->n,
                                &have))
            continue;
        for (; have && out->n < DEVICES_MOST; have--) out->platform[out->n++] = platform[i];
    }
    if (!out->n) snprintf(why, n_why, "OpenCL has no device: no driver is installed (such as pocl-opencl-icd)");
    return out->n > 0;
}

static void open_device(hone_gpu *g) {
    opencl *c = g->state = hn_gpu_memory(g, 1, sizeof *c);
    char why[400];
    found all;
    int code = 0;
    if (!start(c, &all, why, sizeof why)) hn_gpu_fault(g, HN_GPU_NO_DEVICE, "%s", why);
    if ((size_t)g->index >= all.n)
        hn_gpu_fault(g, HN_GPU_NO_DEVICE, "there is no device 'opencl:%d', only %zu", g->index, all.n);
    c->device = all.device[g->index];
    c->context = c->f.clCreateContext(NULL, 1, &c->device, NULL, NULL, &code);
    must(g, code, "opening the device");
    c->queue = c->f.clCreateCommandQueue(c->context, c->device, PROFILING, &code);
    must(g, code, "making a queue");
    describe(c, all.platform[g->index], &g->info);
}

static void drop_kernels(opencl *c) {
    for (size_t i = 0; i < c->n_kernels; i++) c->f.clReleaseKernel(c->kernel[i]);
    free(c->kernel);
    c->kernel = NULL;
    c->n_kernels = 0;
}

static void close_device(hone_gpu *g) {
    opencl *c = g->state;
    drop_kernels(c);
    if (c->flush) c->f.clReleaseMemObject(c->flush);
    if (c->program) c->f.clReleaseProgram(c->program);
    c->f.clReleaseCommandQueue(c->queue);
    c->f.clReleaseContext(c->context);
    free(c);
}

static bool list(FILE *f, char *why, size_t n_why) {
    opencl c = {.n_events = 0};
    found all;
    if (!start(&c, &all, why, n_why)) return false;
    for (size_t i = 0; i < all.n; i++) {
        hn_gpu_info info;
        c.device = all.device[i];
        describe(&c, all.platform[i], &info);
        fprintf(f, "opencl\t%zu\t%s\t%s\t%s\t%s\n", i, info.name, info.arch, info.driver, info.version);
    }
    return true;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

static bool is_source(const void *image, size_t size) {
    return !memchr(image, 0, size < 4096 ? size : 4096) && !hn_gpu_cuda.takes(image, size);
}

static void load(hone_gpu *g, const void *image, size_t size, const char *options) {
    opencl *c = g->state;
    int code = 0, each = 0;
    const char *text = image;
    const unsigned char *binary = image;
    drop_kernels(c);
    if (c->program) c->f.clReleaseProgram(c->program);
    c->program = is_source(image, size)
                     ? c->f.clCreateProgramWithSource(c->context, 1, &text, &size, &code)
                     : c->f.clCreateProgramWithBinary(c->context, 1, &c->device, &size, &binary, &each, &code);
    must(g, code, "loading the program");
    code = c->f.clBuildProgram(c->program, 1, &c->device, options ? options : "", NULL, NULL);
    if (!code) return;
    char log[LOG_B] = "", what[LOG_B + 64];
    size_t have = 0;
    if (!c->f.clGetProgramBuildInfo(c->program, c->device, BUILD_LOG, 0, NULL, &have) && have) {
        char *all = hn_gpu_memory(g, have + 1, 1);
        c->f.clGetProgramBuildInfo(c->program, c->device, BUILD_LOG, have, all, NULL);
        snprintf(log, sizeof log, "%s", all);
        free(all);
    }
    snprintf(what, sizeof what, "building: %.700s", log);
    must(g, code, what);
}

static void check_launch(hone_gpu *g, const hn_gpu_launch *l, void *kernel) {
    const opencl *c = g->state;
    size_t group = 0, block = (size_t)l->block[0] * l->block[1] * l->block[2], local = 0;
    uint64_t fixed = 0, most = number(c, DEVICE_LOCAL_B);
    c->f.clGetKernelWorkGroupInfo(kernel, c->device, KERNEL_GROUP, sizeof group, &group, NULL);
    c->f.clGetKernelWorkGroupInfo(kernel, c->device, KERNEL_LOCAL_B, sizeof fixed, &fixed, NULL);
    for (size_t i = 0; i < l->n_args; i++) local += l->arg[i].buffer < 0 && !l->arg[i].value ? l->arg[i].size : 0;
    if (most && fixed + local > most)
        hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED, "kernel '%s' asks for %llu bytes of local memory, and %s has %llu",
                     l->entry, (unsigned long long)(fixed + local), g->info.name, (unsigned long long)most);
    if (group && block > group)
        hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED, "kernel '%s' is launched in work-groups of %zu, and can have %zu",
                     l->entry, block, group);
    if (l->shared_b)
        hn_bench_die(g->b, "kernel '%s': OpenCL has local arguments instead of shared memory of the launch", l->entry);
}

static void *make_kernel(hone_gpu *g, const hn_gpu_launch *l) {
    opencl *c = g->state;
    char what[300];
    int code = 0;
    void **more = realloc(c->kernel, (c->n_kernels + 1) * sizeof *more);
    if (!more) hn_bench_die(g->b, "out of memory");
    c->kernel = more;
    void *kernel = c->f.clCreateKernel(c->program, l->entry, &code);
    snprintf(what, sizeof what, "looking for kernel '%.200s'", l->entry);
    must(g, code, what);
    c->kernel[c->n_kernels++] = kernel;
    check_launch(g, l, kernel);
    return kernel;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static hn_gpu_mem alloc(hone_gpu *g, size_t size_b) {
    opencl *c = g->state;
    hn_gpu_mem m = {0};
    int code = 0;
    m.object = c->f.clCreateBuffer(c->context, 1, size_b + 2 * HN_GPU_GUARD_B, NULL, &code);
    must(g, code, "taking memory");
    region r = {HN_GPU_GUARD_B, size_b};
    m.part = c->f.clCreateSubBuffer(m.object, 0, REGION, &r, &code);
    must(g, code, "taking memory");
    return m;
}

static void release(hone_gpu *g, hn_gpu_mem *m) {
    opencl *c = g->state;
    if (m->part) c->f.clReleaseMemObject(m->part);
    if (m->object) c->f.clReleaseMemObject(m->object);
    *m = (hn_gpu_mem){0};
}

static size_t offset(ptrdiff_t at) { return (size_t)(at + HN_GPU_GUARD_B); }

static void write_to(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, const void *from, size_t n) {
    opencl *c = g->state;
    must(g, c->f.clEnqueueWriteBuffer(c->queue, m->object, 1, offset(at), n, from, 0, NULL, NULL),
         "copying to the device");
}

static void read_from(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, void *to, size_t n) {
    opencl *c = g->state;
    must(g, c->f.clEnqueueReadBuffer(c->queue, m->object, 1, offset(at), n, to, 0, NULL, NULL),
         "copying from the device");
}

static void fill(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, size_t n, unsigned char byte) {
    opencl *c = g->state;
    must(g, c->f.clEnqueueFillBuffer(c->queue, m->object, &byte, 1, offset(at), n, 0, NULL, NULL), "filling memory");
    must(g, c->f.clFinish(c->queue), "filling memory");
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Launches of one call; the first waits for `after` (may be NULL). Events go to c->event when asked for. */
static void enqueue(hone_gpu *g, size_t set, void *after, bool timed) {
    opencl *c = g->state;
    for (size_t i = 0; i < g->n_launches; i++) {
        const hn_gpu_launch *l = &g->launch[i];
        size_t global[3], local[3];
        unsigned dims = 3;
        while (dims > 1 && l->grid[dims - 1] == 1 && l->block[dims - 1] == 1) dims--;
        for (int k = 0; k < 3; k++) {
            local[k] = l->block[k];
            global[k] = local[k] * l->grid[k];
        }
        for (size_t k = 0; k < l->n_args; k++) {
            const hone_gpu_arg *a = &l->arg[k];
            const void *value = a->buffer >= 0 ? (const void *)&g->buffer[a->buffer].mem[set].part : a->value;
            must(g, c->f.clSetKernelArg(l->kernel, (unsigned)k, a->buffer >= 0 ? sizeof(void *) : a->size, value),
                 l->entry);
        }
        void **event = timed ? &c->event[c->n_events] : NULL;
        must(g,
             c->f.clEnqueueNDRangeKernel(c->queue, l->kernel, dims, NULL, global, local, after ? 1 : 0,
                                         after ? &after : NULL, event),
             l->entry);
        c->n_events += timed;
        after = NULL;
    }
}

static void call(hone_gpu *g, size_t set) {
    opencl *c = g->state;
    enqueue(g, set, NULL, false);
    must(g, c->f.clFinish(c->queue), "running the kernel");
}

static void flush_cache(hone_gpu *g) {
    opencl *c = g->state;
    const unsigned char byte = 1;
    int code = 0;
    if (!c->flush) {
        c->flush_b = g->b->opt.cold_mib > 0 ? (size_t)g->b->opt.cold_mib << 20 : 2 * (size_t)g->info.cache_b;
        if (!c->flush_b) c->flush_b = (size_t)64 << 20;
        c->flush = c->f.clCreateBuffer(c->context, 1, c->flush_b, NULL, &code);
        must(g, code, "taking memory to flush the cache with");
    }
    must(g, c->f.clEnqueueFillBuffer(c->queue, c->flush, &byte, 1, 0, c->flush_b, 0, NULL, NULL), "flushing the cache");
    must(g, c->f.clFinish(c->queue), "flushing the cache");
}

static double add_up(hone_gpu *g) {
    opencl *c = g->state;
    double sum = 0;
    for (size_t i = 0; i < c->n_events; i++) {
        uint64_t from = 0, to = 0;
        must(g, c->f.clGetEventProfilingInfo(c->event[i], EVENT_START, sizeof from, &from, NULL), "reading the time");
        must(g, c->f.clGetEventProfilingInfo(c->event[i], EVENT_END, sizeof to, &to, NULL), "reading the time");
        if (to > from) sum += 1e-9 * (double)(to - from);
        c->f.clReleaseEvent(c->event[i]);
    }
    c->n_events = 0;
    return sum;
}

/* Queues n calls behind an event of ours, lets them run, adds up their times. */
static double batch(hone_gpu *g, uint64_t n) {
    opencl *c = g->state;
    int code = 0;
    void *gate = c->f.clCreateUserEvent(c->context, &code);
    must(g, code, "making an event");
    for (uint64_t i = 0; i < n; i++) enqueue(g, c->next_set++ % g->n_sets, i ? NULL : gate, true);
    must(g, c->f.clFlush(c->queue), "running the kernel");
    must(g, c->f.clSetUserEventStatus(gate, 0), "running the kernel");
    must(g, c->f.clFinish(c->queue), "running the kernel");
    c->f.clReleaseEvent(gate);
    return add_up(g);
}

static void sample(hone_gpu *g, const hn_gpu_plan *plan, hn_gpu_reading *out) {
    uint64_t most = plan->cold ? 1 : BATCH / g->n_launches ? BATCH / g->n_launches : 1;
    double sum = 0;
    if (g->n_launches > BATCH) hn_bench_die(g->b, "a call has %zu launches, more than %d", g->n_launches, BATCH);
    for (uint64_t i = 0; i < plan->calls;) {
        uint64_t n = plan->calls - i < most ? plan->calls - i : most;
        if (plan->cold) flush_cache(g);
        sum += batch(g, n);
        i += n;
    }
    *out = (hn_gpu_reading){.s = sum / (double)plan->calls, .ran = (double)plan->calls};
}

const hn_gpu_api hn_gpu_opencl = {
    .name = "opencl",
    .takes = takes,
    .list = list,
    .open = open_device,
    .close = close_device,
    .load = load,
    .kernel = make_kernel,
    .alloc = alloc,
    .release = release,
    .write = write_to,
    .read = read_from,
    .fill = fill,
    .call = call,
    .sample = sample,
    .energy = NULL,
};
