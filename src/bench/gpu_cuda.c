/* bench/gpu_cuda.c — the CUDA driver API, opened at run time and declared here (docs.nvidia.com/cuda/cuda-driver-api).
 *
 * A sample is a graph of launches, replayed between two events. The graph runs once more before the first event, so
 * that the replays are queued while it runs and no launch gap is measured. In cold mode each call stands in the graph
 * between event nodes of its own, behind a memset of twice the L2.
 */
#include "gpu_int.h"

#include <math.h>
#include <string.h>

enum {
    COLD_MOST = 32,
    GRAPH_MOST = 1024, /* launches in a graph */
    REPLAYS = 8,       /* aimed at */
    LOG_B = 8192,
    DRIVER_LEAST = 11040,
    ATTR_THREADS = 1,
    ATTR_SHARED = 8,
    ATTR_CLOCK = 13,
    ATTR_L2 = 38,
    ATTR_MAJOR = 75,
    ATTR_MINOR = 76,
    ATTR_SHARED_OPTIN = 97,
    FUNC_THREADS = 0,
    FUNC_SHARED = 1,
    FUNC_DYNAMIC = 8,
    NO_SUCH_PARAMETER = 1,
    CAPTURE_RELAXED = 2,
    RECORD_EXTERNAL = 1,
    JIT_ERROR_LOG = 5,
    JIT_ERROR_LOG_B = 6
};

typedef unsigned long long address;

/* Every function that is used: name, an older name or 0, arguments. */
#define FUNCTIONS(F)                                                                                                   \
    F(cuInit, 0, (unsigned flags))                                                                                     \
    F(cuDriverGetVersion, 0, (int *version))                                                                           \
    F(cuDeviceGetCount, 0, (int *n))                                                                                   \
    F(cuDeviceGet, 0, (int *device, int index))                                                                        \
    F(cuDeviceGetName, 0, (char *name, int n, int device))                                                             \
    F(cuDeviceGetPCIBusId, 0, (char *bus, int n, int device))                                                          \
    F(cuDeviceGetAttribute, 0, (int *value, int attribute, int device))                                                \
    F(cuDevicePrimaryCtxRetain, 0, (void **context, int device))                                                       \
    F(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", (int device))                                         \
    F(cuCtxSetCurrent, 0, (void *context))                                                                             \
    F(cuModuleLoadDataEx, 0, (void **module, const void *image, unsigned n, int *option, void **value))                \
    F(cuModuleGetFunction, 0, (void **function, void *module, const char *name))                                       \
    F(cuModuleUnload, 0, (void *module))                                                                               \
    F(cuFuncGetAttribute, 0, (int *value, int attribute, void *function))                                              \
    F(cuFuncSetAttribute, 0, (void *function, int attribute, int value))                                               \
    F(cuMemGetInfo_v2, 0, (size_t * free_b, size_t * total_b))                                                         \
    F(cuMemAlloc_v2, 0, (address * at, size_t n))                                                                      \
    F(cuMemFree_v2, 0, (address at))                                                                                   \
    F(cuMemcpyHtoD_v2, 0, (address to, const void *from, size_t n))                                                    \
    F(cuMemcpyDtoH_v2, 0, (void *to, address from, size_t n))                                                          \
    F(cuMemsetD8Async, 0, (address at, unsigned char byte, size_t n, void *stream))                                    \
    F(cuStreamCreate, 0, (void **stream, unsigned flags))                                                              \
    F(cuStreamDestroy_v2, 0, (void *stream))                                                                           \
    F(cuStreamSynchronize, 0, (void *stream))                                                                          \
    F(cuStreamBeginCapture_v2, 0, (void *stream, int mode))                                                            \
    F(cuStreamEndCapture, 0, (void *stream, void **graph))                                                             \
    F(cuGraphInstantiateWithFlags, 0, (void **exec, void *graph, unsigned long long flags))                            \
    F(cuGraphLaunch, 0, (void *exec, void *stream))                                                                    \
    F(cuGraphExecDestroy, 0, (void *exec))                                                                             \
    F(cuGraphDestroy, 0, (void *graph))                                                                                \
    F(cuEventCreate, 0, (void **event, unsigned flags))                                                                \
    F(cuEventDestroy_v2, 0, (void *event))                                                                             \
    F(cuEventRecord, 0, (void *event, void *stream))                                                                   \
    F(cuEventRecordWithFlags, 0, (void *event, void *stream, unsigned flags))                                          \
    F(cuEventSynchronize, 0, (void *event))                                                                            \
    F(cuEventElapsedTime, "cuEventElapsedTime_v2", (float *ms, void *from, void *to))                                  \
    F(cuLaunchKernel, 0,                                                                                               \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
       unsigned block_z, unsigned shared_b, void *stream, void **param, void **extra))                                 \
    F(cuGetErrorName, 0, (int code, const char **name))                                                                \
    F(cuGetErrorString, 0, (int code, const char **text))

typedef struct cuda_table {
#define F(name, older, args) int(*name) args;
    FUNCTIONS(F)
#undef F
    int (*cuFuncGetParamInfo)(void *function, size_t index, size_t *at, size_t *size_b); /* CUDA 12.4; NULL */
} cuda_table;

static const hn_gpu_symbol symbols[] = {
#define F(name, older, args) {#name, older, offsetof(cuda_table, name), false},
    FUNCTIONS(F)
#undef F
        {"cuFuncGetParamInfo", NULL, offsetof(cuda_table, cuFuncGetParamInfo), true},
};

typedef struct cuda {
    cuda_table f;
    int device;
    void *context, *module, *stream, *from, *to;
    void *graph, *exec; /* of the last plan */
    uint64_t in_graph;  /* calls in it */
    bool graph_cold;
    void *cold_from[COLD_MOST], *cold_to[COLD_MOST];
    address flush;
    size_t flush_b;
    hn_nvml *nvml;
} cuda;

static const char *const libraries[] = {"libcuda.so.1", NULL};

/* --- errors ----------------------------------------------------------------------------------------------------------
 */

static hn_gpu_class class_of(int code) {
    static const struct {
        short code;
        hn_gpu_class cls;
    } row[] = {
        {1, HN_GPU_LAUNCH_REFUSED},   {2, HN_GPU_RUN_CRASH},        {34, HN_GPU_NO_DEVICE},
        {46, HN_GPU_NO_DEVICE},       {100, HN_GPU_NO_DEVICE},      {101, HN_GPU_NO_DEVICE},
        {102, HN_GPU_NO_DEVICE},      {200, HN_GPU_LAUNCH_REFUSED}, {209, HN_GPU_LAUNCH_REFUSED},
        {218, HN_GPU_LAUNCH_REFUSED}, {221, HN_GPU_LAUNCH_REFUSED}, {222, HN_GPU_LAUNCH_REFUSED},
        {300, HN_GPU_LAUNCH_REFUSED}, {500, HN_GPU_LAUNCH_REFUSED}, {700, HN_GPU_MEMORY_FAULT},
        {701, HN_GPU_LAUNCH_REFUSED}, {716, HN_GPU_MEMORY_FAULT},   {717, HN_GPU_MEMORY_FAULT},
        {720, HN_GPU_LAUNCH_REFUSED}, {802, HN_GPU_NO_DEVICE},      {803, HN_GPU_NO_DEVICE},
        {804, HN_GPU_NO_DEVICE},      {912, HN_GPU_LAUNCH_REFUSED},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].code == code) return row[i].cls;
    return HN_GPU_DEVICE_FAULT;
}

static void must(hone_gpu *g, int code, const char *what) {
    const cuda *c = g->state;
    const char *name = NULL, *text = NULL;
    if (!code) return;
    c->f.cuGetErrorName(code, &name);
    c->f.cuGetErrorString(code, &text);
    hn_gpu_fault(g, class_of(code), "%s: CUDA error %d, %s: %s", what, code, name ? name : "unknown",
                 text ? text : "no text");
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static bool takes(const void *image, size_t size) {
    static const unsigned char fatbin[] = {0x50, 0xED, 0x55, 0xBA}, elf[] = {0x7F, 'E', 'L', 'F'};
    const unsigned char *p = image, *end = p + size;
    if (size > 20 && !memcmp(p, elf, 4)) return p[18] == 190 && p[19] == 0;
    if (size > 4 && !memcmp(p, fatbin, 4)) return true;
    while (p < end && (strchr(" \t\r\n", *p) || *p == '/')) { /* PTX: blanks and comments, then .version */
        if (*p == '/' && (p + 1 == end || p[1] != '/')) return false;
        if (*p == '/') p = memchr(p, '\n', (size_t)(end - p));
        if (!p) return false;
        p++;
    }
    return (size_t)(end - p) > 8 && !memcmp(p, ".version", 8);
}

static double attribute(const cuda *c, int which) {
    int value = 0;
    return c->f.cuDeviceGetAttribute(&value, which, c->device) ? 0 : (double)value;
}

static void describe(const cuda *c, hn_gpu_info *out) {
    int version = 0;
    *out = (hn_gpu_info){.cache_b = (uint64_t)attribute(c, ATTR_L2), .clock_mhz = attribute(c, ATTR_CLOCK) / 1000};
    c->f.cuDeviceGetName(out->name, sizeof out->name, c->device);
    c->f.cuDeviceGetPCIBusId(out->bus, sizeof out->bus, c->device);
    c->f.cuDriverGetVersion(&version);
    snprintf(out->arch, sizeof out->arch, "sm_%.0f%.0f", attribute(c, ATTR_MAJOR), attribute(c, ATTR_MINOR));
    snprintf(out->version, sizeof out->version, "CUDA %d.%d", version / 1000, version % 1000 / 10);
}

/* Opens library and driver. 0, or why there is no device. */
static int start(cuda *c, int *n_devices, char *why, size_t n) {
    int version = 0, code;
    const char *text = NULL;
    if (!hn_gpu_library(libraries, symbols, sizeof symbols / sizeof *symbols, &c->f, why, n)) return -1;
    code = c->f.cuInit(0);
    if (!code) code = c->f.cuDriverGetVersion(&version);
    if (!code) code = c->f.cuDeviceGetCount(n_devices);
    if (code) {
        c->f.cuGetErrorString(code, &text);
        snprintf(why, n, "the CUDA driver does not start: error %d, %s", code, text ? text : "no text");
        return code;
    }
    if (version < DRIVER_LEAST) {
        snprintf(why, n, "the driver is too old: it offers CUDA %d.%d, and %d.%d is needed; install a newer driver",
                 version / 1000, version % 1000 / 10, DRIVER_LEAST / 1000, DRIVER_LEAST % 1000 / 10);
        return -1;
    }
    if (!*n_devices) snprintf(why, n, "the CUDA driver sees no device");
    return *n_devices ? 0 : -1;
}

static void open_device(hone_gpu *g) {
    cuda *c = g->state = hn_gpu_memory(g, 1, sizeof *c);
    char why[400];
    int n = 0;
    size_t free_b = 0, total_b = 0;
    if (start(c, &n, why, sizeof why)) hn_gpu_fault(g, HN_GPU_NO_DEVICE, "%s", why);
    if (g->index >= n) hn_gpu_fault(g, HN_GPU_NO_DEVICE, "there is no device 'cuda:%d', only %d", g->index, n);
    must(g, c->f.cuDeviceGet(&c->device, g->index), "opening the device");
    must(g, c->f.cuDevicePrimaryCtxRetain(&c->context, c->device), "opening the device");
    must(g, c->f.cuCtxSetCurrent(c->context), "opening the device");
    must(g, c->f.cuStreamCreate(&c->stream, 0), "opening the device");
    must(g, c->f.cuEventCreate(&c->from, 0), "opening the device");
    must(g, c->f.cuEventCreate(&c->to, 0), "opening the device");
    must(g, c->f.cuMemGetInfo_v2(&free_b, &total_b), "opening the device");
    describe(c, &g->info);
    g->info.memory_b = free_b;
    c->nvml = hn_nvml_open(g->info.bus, g->info.driver);
}

static void drop_graph(cuda *c) {
    if (c->exec) c->f.cuGraphExecDestroy(c->exec);
    if (c->graph) c->f.cuGraphDestroy(c->graph);
    c->exec = c->graph = NULL;
    c->in_graph = 0;
}

static void close_device(hone_gpu *g) {
    cuda *c = g->state;
    drop_graph(c);
    for (size_t i = 0; i < COLD_MOST && c->cold_from[i]; i++) {
        c->f.cuEventDestroy_v2(c->cold_from[i]);
        c->f.cuEventDestroy_v2(c->cold_to[i]);
    }
    if (c->flush) c->f.cuMemFree_v2(c->flush);
    c->f.cuEventDestroy_v2(c->from);
    c->f.cuEventDestroy_v2(c->to);
    c->f.cuStreamDestroy_v2(c->stream);
    if (c->module) c->f.cuModuleUnload(c->module);
    c->f.cuDevicePrimaryCtxRelease_v2(c->device);
    hn_nvml_close(c->nvml);
    free(c);
}

static bool list(FILE *f, char *why, size_t n_why) {
    cuda c = {0};
    int n = 0;
    if (start(&c, &n, why, n_why)) return false;
    for (int i = 0; i < n; i++) {
        hn_gpu_info info;
        if (c.f.cuDeviceGet(&c.device, i)) continue;
        describe(&c, &info);
        hn_nvml_close(hn_nvml_open(info.bus, info.driver));
        fprintf(f, "cuda\t%d\t%s\t%s\t%s\t%s\n", i, info.name, info.arch, info.driver, info.version);
    }
    return true;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

static void load(hone_gpu *g, const void *image, size_t size, const char *options) {
    cuda *c = g->state;
    char log[LOG_B] = "", *text = hn_gpu_memory(g, size + 1, 1); /* PTX ends with a zero */
    int option[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_B};
    void *value[] = {log, (void *)(uintptr_t)(LOG_B - 1)};
    (void)options;
    memcpy(text, image, size);
    drop_graph(c);
    if (c->module) must(g, c->f.cuModuleUnload(c->module), "unloading");
    int code = c->f.cuModuleLoadDataEx(&c->module, text, 2, option, value);
    free(text);
    log[LOG_B - 1] = 0;
    char what[700];
    snprintf(what, sizeof what, "loading for %s%s%.500s", g->info.arch, *log ? ": " : "", log);
    must(g, code, what);
}

/* A driver takes the arguments at their word: one too few, or too short, is memory of ours that is none of it. */
static void check_arguments(hone_gpu *g, const hn_gpu_launch *l, void *function) {
    const cuda *c = g->state;
    size_t n = 0, at = 0, size_b = 0;
    int code = 0;
    if (!c->f.cuFuncGetParamInfo) return;
    while (!(code = c->f.cuFuncGetParamInfo(function, n, &at, &size_b))) {
        size_t given_b = n >= l->n_args ? size_b : l->arg[n].buffer >= 0 ? sizeof(address) : l->arg[n].size;
        if (given_b != size_b)
            hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED,
                         "kernel '%s': parameter %zu has %zu bytes, and %zu are passed; give it the kernel's type",
                         l->entry, n + 1, size_b, given_b);
        n++;
    }
    if (code == NO_SUCH_PARAMETER && n != l->n_args)
        hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED, "kernel '%s' has %zu parameters, and %zu are passed; pass one for each",
                     l->entry, n, l->n_args);
}

/* Says itself what the driver would only call an invalid value. */
static void check_launch(hone_gpu *g, const hn_gpu_launch *l, void *function) {
    const cuda *c = g->state;
    int fixed = 0, threads = 0;
    double most = attribute(c, ATTR_SHARED_OPTIN), plain = attribute(c, ATTR_SHARED);
    uint64_t block = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    c->f.cuFuncGetAttribute(&fixed, FUNC_SHARED, function);
    c->f.cuFuncGetAttribute(&threads, FUNC_THREADS, function);
    if (most < plain) most = plain;
    if (most > 0 && (double)l->shared_b + fixed > most)
        hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED,
                     "kernel '%s' asks for %zu bytes of shared memory a block (%d of them fixed), and %s has %.0f",
                     l->entry, l->shared_b + (size_t)fixed, fixed, g->info.name, most);
    if (threads > 0 && block > (uint64_t)threads)
        hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED,
                     "kernel '%s' is launched with %llu threads a block, and can have %d (registers, launch bounds)",
                     l->entry, (unsigned long long)block, threads);
    if ((double)l->shared_b + fixed > plain)
        must(g, c->f.cuFuncSetAttribute(function, FUNC_DYNAMIC, (int)l->shared_b), "asking for shared memory");
}

static void *kernel(hone_gpu *g, const hn_gpu_launch *l) {
    cuda *c = g->state;
    void *function = NULL;
    char what[300];
    snprintf(what, sizeof what, "looking for kernel '%.200s'", l->entry);
    must(g, c->f.cuModuleGetFunction(&function, c->module, l->entry), what);
    for (size_t i = 0; i < l->n_args; i++)
        if (l->arg[i].buffer < 0 && !l->arg[i].value)
            hn_bench_die(g->b, "kernel '%s': CUDA has no local arguments; shared memory is part of the launch",
                         l->entry);
    check_arguments(g, l, function);
    check_launch(g, l, function);
    drop_graph(c);
    return function;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static hn_gpu_mem alloc(hone_gpu *g, size_t size_b) {
    cuda *c = g->state;
    hn_gpu_mem m = {0};
    must(g, c->f.cuMemAlloc_v2(&m.at, size_b + 2 * HN_GPU_GUARD_B), "taking memory");
    m.at += HN_GPU_GUARD_B;
    return m;
}

static void release(hone_gpu *g, hn_gpu_mem *m) {
    cuda *c = g->state;
    if (m->at) c->f.cuMemFree_v2(m->at - HN_GPU_GUARD_B);
    m->at = 0;
}

static void write_to(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, const void *from, size_t n) {
    cuda *c = g->state;
    must(g, c->f.cuMemcpyHtoD_v2(m->at + (address)at, from, n), "copying to the device");
}

static void read_from(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, void *to, size_t n) {
    cuda *c = g->state;
    must(g, c->f.cuMemcpyDtoH_v2(to, m->at + (address)at, n), "copying from the device");
}

static void fill(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, size_t n, unsigned char byte) {
    cuda *c = g->state;
    must(g, c->f.cuMemsetD8Async(m->at + (address)at, byte, n, c->stream), "filling memory");
    must(g, c->f.cuStreamSynchronize(c->stream), "filling memory");
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static void enqueue(hone_gpu *g, size_t set) {
    cuda *c = g->state;
    for (size_t i = 0; i < g->n_launches; i++) {
        const hn_gpu_launch *l = &g->launch[i];
        static const unsigned char nothing[4096]; /* what an older driver reads when too few are passed */
        address at[HN_GPU_ARGS_MOST];
        void *param[HN_GPU_ARGS_MOST];
        for (size_t k = l->n_args; k < HN_GPU_ARGS_MOST; k++) param[k] = (void *)(uintptr_t)nothing;
        for (size_t k = 0; k < l->n_args; k++) {
            const hone_gpu_arg *a = &l->arg[k];
            if (a->buffer >= 0) at[k] = g->buffer[a->buffer].mem[set].at;
            param[k] = a->buffer >= 0 ? (void *)&at[k] : (void *)(uintptr_t)a->value;
        }
        must(g,
             c->f.cuLaunchKernel(l->kernel, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                                 (unsigned)l->shared_b, c->stream, param, NULL),
             l->entry);
    }
}

static void call(hone_gpu *g, size_t set) {
    cuda *c = g->state;
    enqueue(g, set);
    must(g, c->f.cuStreamSynchronize(c->stream), "running the kernel");
}

static void make_flush(hone_gpu *g) {
    cuda *c = g->state;
    const hn_bench_options *o = &g->b->opt;
    if (c->flush) return;
    c->flush_b = o->cold_mib > 0 ? (size_t)o->cold_mib << 20 : 2 * (size_t)g->info.cache_b;
    if (!c->flush_b) c->flush_b = (size_t)64 << 20;
    must(g, c->f.cuMemAlloc_v2(&c->flush, c->flush_b), "taking memory to flush the cache with");
    for (size_t i = 0; i < COLD_MOST; i++) {
        must(g, c->f.cuEventCreate(&c->cold_from[i], 0), "making an event");
        must(g, c->f.cuEventCreate(&c->cold_to[i], 0), "making an event");
    }
}

static void enqueue_cold(hone_gpu *g, size_t i) {
    cuda *c = g->state;
    must(g, c->f.cuMemsetD8Async(c->flush, (unsigned char)i, c->flush_b, c->stream), "flushing the cache");
    must(g, c->f.cuEventRecordWithFlags(c->cold_from[i], c->stream, RECORD_EXTERNAL), "recording an event");
    enqueue(g, 0);
    must(g, c->f.cuEventRecordWithFlags(c->cold_to[i], c->stream, RECORD_EXTERNAL), "recording an event");
}

static void make_graph(hone_gpu *g, uint64_t calls, bool cold) {
    cuda *c = g->state;
    if (c->exec && c->in_graph == calls && c->graph_cold == cold) return;
    drop_graph(c);
    must(g, c->f.cuStreamBeginCapture_v2(c->stream, CAPTURE_RELAXED), "capturing a graph");
    for (uint64_t i = 0; i < calls; i++) {
        if (cold)
            enqueue_cold(g, i);
        else
            enqueue(g, i % g->n_sets);
    }
    must(g, c->f.cuStreamEndCapture(c->stream, &c->graph), "capturing a graph");
    must(g, c->f.cuGraphInstantiateWithFlags(&c->exec, c->graph, 0), "making a graph");
    c->in_graph = calls;
    c->graph_cold = cold;
}

static void read_clock(const cuda *c, hn_gpu_reading *out) {
    out->clock_known = c->nvml && hn_nvml_clock(c->nvml, &out->clock_mhz, &out->throttle);
}

static void sample_cold(hone_gpu *g, const hn_gpu_plan *plan, hn_gpu_reading *out) {
    cuda *c = g->state;
    uint64_t n = plan->calls < COLD_MOST ? plan->calls : COLD_MOST;
    float ms = 0;
    double sum = 0;
    make_flush(g);
    make_graph(g, n, true);
    must(g, c->f.cuGraphLaunch(c->exec, c->stream), "running the graph");
    read_clock(c, out);
    must(g, c->f.cuStreamSynchronize(c->stream), "running the kernel");
    for (uint64_t i = 0; i < n; i++) {
        must(g, c->f.cuEventElapsedTime(&ms, c->cold_from[i], c->cold_to[i]), "reading the time");
        sum += ms;
    }
    out->s = 1e-3 * sum / (double)n;
    out->ran = (double)n;
}

static void sample(hone_gpu *g, const hn_gpu_plan *plan, hn_gpu_reading *out) {
    cuda *c = g->state;
    *out = (hn_gpu_reading){0};
    if (plan->cold) {
        sample_cold(g, plan, out);
        return;
    }
    uint64_t in_graph = plan->calls / REPLAYS, sets = g->n_sets;
    if (in_graph > GRAPH_MOST) in_graph = GRAPH_MOST;
    in_graph = in_graph < sets ? sets : in_graph / sets * sets;
    uint64_t replays = (plan->calls + in_graph - 1) / in_graph;
    float ms = 0;
    make_graph(g, in_graph, false);
    must(g, c->f.cuGraphLaunch(c->exec, c->stream), "running the graph");
    must(g, c->f.cuEventRecord(c->from, c->stream), "recording an event");
    for (uint64_t i = 0; i < replays; i++) must(g, c->f.cuGraphLaunch(c->exec, c->stream), "running the graph");
    must(g, c->f.cuEventRecord(c->to, c->stream), "recording an event");
    read_clock(c, out);
    must(g, c->f.cuEventSynchronize(c->to), "running the kernel");
    must(g, c->f.cuEventElapsedTime(&ms, c->from, c->to), "reading the time");
    out->s = 1e-3 * ms / (double)(in_graph * replays);
    out->ran = (double)(in_graph * (replays + 1));
}

static double energy(hone_gpu *g) {
    const cuda *c = g->state;
    return c->nvml ? hn_nvml_energy(c->nvml) : NAN;
}

const hn_gpu_api hn_gpu_cuda = {
    .name = "cuda",
    .whole_sets = true,
    .takes = takes,
    .list = list,
    .open = open_device,
    .close = close_device,
    .load = load,
    .kernel = kernel,
    .alloc = alloc,
    .release = release,
    .write = write_to,
    .read = read_from,
    .fill = fill,
    .call = call,
    .sample = sample,
    .energy = energy,
};
