/* tests/helper/fake/cuda.c — a libcuda.so.1 and libnvidia-ml.so.1 without a device, for tests of the GPU harness.
 *
 * It follows the documented contract of the driver API where the harness depends on it: calls before cuInit or without
 * a context fail; an error of a kernel comes with the next synchronisation and stays; while a stream is captured it
 * cannot be waited for; event nodes exist in captures only; the time between events can be read after a
 * synchronisation. Memory is the host's, with a check of every range. Time is counted: a launch takes 10 us, 4 us when
 * all it touches is in a cache of 1 MiB (least recently used), and 7 us pass before work reaches an idle stream.
 * A launch of `planted` takes its fourth argument's tenth more.
 * Kernels are known by name; an image is PTX text that holds the names. HONE_FAKE_LOG: a file for the calls, one a
 * line. HONE_FAKE: words "no_device", "old", "broken_clock", "slow", "recovers", "no_energy", "no_parameters" play what
 * goes wrong.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NOT_INITIALIZED = 3,
    INVALID_VALUE = 1,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900,
    CACHE_B = 1 << 20,
    SHARED_B = 49152,
    SHARED_OPTIN_B = 101376,
    BLOCKS = 4096,
    NODES = 65536
};

typedef unsigned long long address;
#define API(name, args)                                                                                                \
    int name args;                                                                                                     \
    int name args

typedef struct block {
    address at;
    size_t n;
    uint64_t used; /* when it was in use last; 0: not in the cache */
} block;

typedef enum kind { LAUNCH, RECORD, SET } kind;
typedef struct node {
    kind kind;
    int kernel;
    address a, b; /* buffers of a launch; SET: from, bytes */
    int n, steps; /* steps: of `planted`, 0.1 us each */
    void *event;
    unsigned char byte;
} node;

typedef struct graph {
    node *node;
    size_t n;
} graph;

typedef struct event {
    double us;
    bool recorded, done;
} event;

/* All of it belongs to the one device there is. */
static struct {
    bool ready, context, capturing, idle, nvml;
    int sticky, pending; /* the error there is; the one that comes with the next wait */
    double us, mj;
    uint64_t uses;
    unsigned clock_reads;
    block block[BLOCKS];
    size_t n_blocks;
    graph capture;
    event *waits[NODES];
    size_t n_waits;
    char text[1 << 16];
} device = {.idle = true};

static const char *const kernels[] = {"planted", "scale", "behind", "before", "far", "trap", "silent", "spoil", "hang",
                                      "shared", "narrow",
                                      /* of hone's own measurements (backend/gpu/rt/c_rates.h) */
                                      "hnq_none", "hnq_read", "hnq_copy", "hnq_f32", "hnq_f16",
                                      /* of a model: not computed, its addresses are noted */
                                      "k0"};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static bool plays(const char *word) {
    const char *set = getenv("HONE_FAKE");
    return set && strstr(set, word) != NULL;
}

static void note(const char *call) {
    const char *path = getenv("HONE_FAKE_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "%s%s\n", device.capturing ? "captured " : "", call);
    fclose(f);
}

/* What every call begins with. */
static int enter(const char *call, bool needs_context) {
    note(call);
    if (!device.ready) return NOT_INITIALIZED;
    if (device.sticky) return device.sticky;
    return needs_context && !device.context ? INVALID_CONTEXT : 0;
}
#define ENTER(needs_context)                                                                                           \
    do {                                                                                                               \
        int code = enter(__func__, needs_context);                                                                     \
        if (code) return code;                                                                                         \
    } while (0)

/* --- memory ----------------------------------------------------------------------------------------------------------
 */

static block *block_of(address at, size_t n) {
    for (size_t i = 0; i < device.n_blocks; i++) {
        block *b = &device.block[i];
        if (at >= b->at && at - b->at <= b->n && n <= b->n - (at - b->at)) return b;
    }
    return NULL;
}

/* Is the block in the cache? It is afterwards. */
static bool touch(block *b) {
    size_t bytes = b->n;
    if (!b->used) bytes = CACHE_B + 1;
    for (size_t i = 0; i < device.n_blocks; i++)
        if (b->used && device.block[i].used > b->used) bytes += device.block[i].n;
    b->used = ++device.uses;
    return bytes <= CACHE_B;
}

API(cuMemAlloc_v2, (address * at, size_t n)) {
    ENTER(true);
    if (device.n_blocks == BLOCKS) return 2;
    block *b = &device.block[device.n_blocks++];
    *b = (block){(address)(uintptr_t)malloc(n), n, 0};
    *at = b->at;
    return 0;
}

API(cuMemFree_v2, (address at)) {
    ENTER(true);
    for (size_t i = 0; i < device.n_blocks; i++) {
        if (device.block[i].at != at) continue;
        free((void *)(uintptr_t)at);
        device.block[i] = device.block[--device.n_blocks];
        if (!device.n_blocks) note("all memory is free");
        return 0;
    }
    return INVALID_VALUE;
}

static int wait_for_all(void);

API(cuMemcpyHtoD_v2, (address to, const void *from, size_t n)) {
    ENTER(true);
    block *b = block_of(to, n);
    if (device.capturing || !b) return b ? CAPTURE_UNSUPPORTED : INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, from, n);
    touch(b);
    return wait_for_all();
}

API(cuMemcpyDtoH_v2, (void *to, address from, size_t n)) {
    ENTER(true);
    block *b = block_of(from, n);
    if (device.capturing || !b) return b ? CAPTURE_UNSUPPORTED : INVALID_VALUE;
    memcpy(to, (const void *)(uintptr_t)from, n);
    return wait_for_all();
}

/* In the order of the one stream there is. */
API(cuMemcpyHtoDAsync_v2, (address to, const void *from, size_t n, void *stream)) {
    ENTER(true);
    if (device.capturing || stream != &device || !block_of(to, n)) return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}

API(cuMemcpyDtoHAsync_v2, (void *to, address from, size_t n, void *stream)) {
    ENTER(true);
    if (device.capturing || stream != &device || !block_of(from, n)) return INVALID_VALUE;
    memcpy(to, (const void *)(uintptr_t)from, n);
    return 0;
}

API(cuMemcpyDtoDAsync_v2, (address to, address from, size_t n, void *stream)) {
    ENTER(true);
    if (device.capturing || stream != &device || !block_of(from, n) || !block_of(to, n)) return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n);
    return 0;
}

API(cuDeviceTotalMem_v2, (size_t * size_b, int which)) {
    ENTER(false);
    *size_b = (size_t)1 << 30;
    return which ? INVALID_VALUE : 0;
}

API(cuMemGetInfo_v2, (size_t * free_b, size_t *total_b)) {
    ENTER(true);
    *free_b = *total_b = (size_t)1 << 30;
    return 0;
}

/* --- running ---------------------------------------------------------------------------------------------------------
 */

static void compute(const node *x) {
    const float *in = (const float *)(uintptr_t)x->a;
    float *out = (float *)(uintptr_t)x->b;
    const char *name = kernels[x->kernel];
    bool good = block_of(x->a, (size_t)x->n * 4) && block_of(x->b, (size_t)x->n * 4);
    if (!good || !strcmp(name, "far")) {
        device.pending = ILLEGAL_ADDRESS;
        return;
    }
    if (!strncmp(name, "hnq_", 4) || !strcmp(name, "k0")) return;
    if (!strcmp(name, "trap")) device.pending = LAUNCH_FAILED;
    for (int i = 0; i < x->n && strcmp(name, "silent") != 0; i++) out[i] = 2 * in[i];
    if (!strcmp(name, "behind")) memset(out + x->n, 0, 12);
    if (!strcmp(name, "before")) memset(out - 2, 0, 8);
    if (!strcmp(name, "spoil")) memset((void *)(uintptr_t)x->a, 0, 4);
    while (!strcmp(name, "hang")) pause();
}

static void run(const node *x) {
    if (x->kind == RECORD) {
        event *e = x->event;
        *e = (event){device.us, true, false};
        if (device.n_waits < NODES) device.waits[device.n_waits++] = e;
        return;
    }
    if (device.idle) device.us += 7;
    device.idle = false;
    if (x->kind == SET) {
        block *b = block_of(x->a, (size_t)x->b);
        memset((void *)(uintptr_t)x->a, x->byte, (size_t)x->b);
        touch(b);
        device.us += 3;
        return;
    }
    block *a = block_of(x->a, 1), *b = block_of(x->b, 1);
    bool in = a && touch(a), out = b && touch(b);
    device.us += (in && out ? 4 : 10) + x->steps / 10.0;
    device.mj += 1;
    compute(x);
}

static void submit(const node *x) {
    if (!device.capturing) {
        run(x);
        return;
    }
    graph *g = &device.capture;
    g->node = realloc(g->node, (g->n + 1) * sizeof *g->node);
    g->node[g->n++] = *x;
}

static int wait_for_all(void) {
    if (device.capturing) return CAPTURE_UNSUPPORTED;
    for (size_t i = 0; i < device.n_waits; i++) device.waits[i]->done = true;
    device.n_waits = 0;
    device.idle = true;
    if (device.pending) device.sticky = device.pending;
    return device.sticky;
}

/* Two buffers and how many numbers; `planted` takes its time, too. */
API(cuFuncGetParamInfo, (void *function, size_t index, size_t *at, size_t *size_b)) {
    ENTER(true);
    const char *name = kernels[(int)(uintptr_t)function - 1];
    if (plays("no_parameters")) return NOT_FOUND;
    if (index >= (strcmp(name, "planted") ? 3 : 4)) return INVALID_VALUE;
    *size_b = index < 2 ? sizeof(address) : sizeof(int);
    *at = index < 3 ? 8 * index : 20;
    return 0;
}

API(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_b, void *stream, void **param, void **extra)) {
    ENTER(true);
    (void)stream;
    if (extra || !grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || shared_b > SHARED_OPTIN_B)
        return INVALID_VALUE;
    node x = {.kind = LAUNCH, .kernel = (int)(uintptr_t)function - 1};
    memcpy(&x.a, param[0], sizeof x.a);
    memcpy(&x.b, param[1], sizeof x.b);
    memcpy(&x.n, param[2], sizeof x.n);
    if (!strcmp(kernels[x.kernel], "k0")) {
        char text[80];
        snprintf(text, sizeof text, "k0 reads 0x%llx and writes 0x%llx", x.a, x.b);
        note(text);
    }
    if (!strcmp(kernels[x.kernel], "planted")) memcpy(&x.steps, param[3], sizeof x.steps);
    submit(&x);
    return 0;
}

API(cuMemsetD8Async, (address at, unsigned char byte, size_t n, void *stream)) {
    ENTER(true);
    (void)stream;
    if (!block_of(at, n)) return INVALID_VALUE;
    submit(&(node){.kind = SET, .a = at, .b = n, .byte = byte});
    return 0;
}

API(cuStreamSynchronize, (void *stream)) {
    ENTER(true);
    (void)stream;
    return wait_for_all();
}

API(cuStreamCreate, (void **stream, unsigned flags)) {
    ENTER(true);
    *stream = &device;
    return flags > 1 ? INVALID_VALUE : 0;
}

API(cuStreamDestroy_v2, (void *stream)) {
    ENTER(true);
    return stream == &device ? 0 : INVALID_HANDLE;
}

/* --- graphs and events -------------------------------------------------------------------------------------------- */

API(cuStreamBeginCapture_v2, (void *stream, int mode)) {
    ENTER(true);
    if (stream != &device || mode < 0 || mode > 2 || device.capturing) return INVALID_VALUE;
    device.capturing = true;
    device.capture = (graph){NULL, 0};
    return 0;
}

API(cuStreamEndCapture, (void *stream, void **out)) {
    ENTER(true);
    (void)stream;
    if (!device.capturing) return INVALID_VALUE;
    graph *g = malloc(sizeof *g);
    *g = device.capture;
    device.capturing = false;
    *out = g;
    return 0;
}

API(cuGraphInstantiateWithFlags, (void **exec, void *of, unsigned long long flags)) {
    ENTER(true);
    (void)flags;
    const graph *from = of;
    graph *g = malloc(sizeof *g);
    *g = (graph){malloc((from->n + 1) * sizeof *g->node), from->n};
    memcpy(g->node, from->node, from->n * sizeof *g->node);
    *exec = g;
    return 0;
}

API(cuGraphLaunch, (void *exec, void *stream)) {
    ENTER(true);
    const graph *g = exec;
    if (stream != &device || device.capturing) return INVALID_VALUE;
    for (size_t i = 0; i < g->n; i++) run(&g->node[i]);
    return 0;
}

API(cuGraphExecDestroy, (void *exec)) {
    ENTER(true);
    free(((graph *)exec)->node);
    free(exec);
    return 0;
}

API(cuGraphDestroy, (void *of)) {
    ENTER(true);
    graph *g = of;
    free(g->node);
    free(g);
    return 0;
}

API(cuEventCreate, (void **out, unsigned flags)) {
    ENTER(true);
    *out = calloc(1, sizeof(event));
    return flags ? INVALID_VALUE : 0;
}

API(cuEventDestroy_v2, (void *e)) {
    ENTER(true);
    free(e);
    return 0;
}

API(cuEventRecord, (void *e, void *stream)) {
    ENTER(true);
    (void)stream;
    if (device.capturing) return CAPTURE_UNSUPPORTED; /* legal, but then it is no node and has no time */
    submit(&(node){.kind = RECORD, .event = e});
    return 0;
}

API(cuEventRecordWithFlags, (void *e, void *stream, unsigned flags)) {
    ENTER(true);
    (void)stream;
    if (flags != 1 || !device.capturing) return INVALID_VALUE;
    submit(&(node){.kind = RECORD, .event = e});
    return 0;
}

API(cuEventSynchronize, (void *e)) {
    ENTER(true);
    return ((event *)e)->recorded ? wait_for_all() : INVALID_HANDLE;
}

API(cuEventElapsedTime, (float *ms, void *from, void *to)) {
    ENTER(true);
    const event *a = from, *b = to;
    if (!a->recorded || !b->recorded) return INVALID_HANDLE;
    if (!a->done || !b->done) return NOT_READY;
    *ms = plays("broken_clock") ? 0 : (float)(1e-3 * (b->us - a->us));
    return 0;
}

/* --- the device --------------------------------------------------------------------------------------------------- */

API(cuInit, (unsigned flags)) {
    note(__func__);
    if (plays("no_device")) return 100;
    device.ready = true;
    return flags ? INVALID_VALUE : 0;
}

API(cuDriverGetVersion, (int *version)) {
    *version = plays("old") ? 10020 : 13000;
    return 0;
}

API(cuDeviceGetCount, (int *n)) {
    ENTER(false);
    *n = 1;
    return 0;
}

API(cuDeviceGet, (int *out, int index)) {
    ENTER(false);
    *out = 0;
    return index ? 101 : 0;
}

API(cuDeviceGetName, (char *name, int n, int which)) {
    ENTER(false);
    (void)which;
    snprintf(name, (size_t)n, "Fake GPU");
    return 0;
}

API(cuDeviceGetPCIBusId, (char *bus, int n, int which)) {
    ENTER(false);
    (void)which;
    snprintf(bus, (size_t)n, "0000:01:00.0");
    return 0;
}

API(cuDeviceGetAttribute, (int *value, int attribute, int which)) {
    static const int known[][2] = {{8, SHARED_B}, {13, 1980000}, {38, CACHE_B}, {75, 9}, {76, 0}, {97, SHARED_OPTIN_B}};
    ENTER(false);
    (void)which;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == attribute) return *value = known[i][1], 0;
    return INVALID_VALUE;
}

API(cuDevicePrimaryCtxRetain, (void **context, int which)) {
    ENTER(false);
    (void)which;
    *context = &device;
    return 0;
}

API(cuDevicePrimaryCtxRelease_v2, (int which)) {
    ENTER(false);
    return which;
}

API(cuCtxSetCurrent, (void *context)) {
    ENTER(false);
    device.context = context == &device;
    return device.context ? 0 : INVALID_CONTEXT;
}

API(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *option, void **value)) {
    ENTER(true);
    snprintf(device.text, sizeof device.text, "%s", (const char *)image);
    for (unsigned i = 0; i < n; i++)
        if (option[i] == 5 && strstr(device.text, "broken"))
            snprintf(value[i], 64, "line 3: fatal: broken"); /* CU_JIT_ERROR_LOG_BUFFER */
    *module = device.text;
    return strstr(device.text, "broken") ? INVALID_PTX : 0;
}

API(cuModuleUnload, (void *module)) {
    ENTER(true);
    return module == device.text ? 0 : INVALID_HANDLE;
}

API(cuModuleGetFunction, (void **function, void *module, const char *name)) {
    ENTER(true);
    for (uintptr_t i = 0; i < N_KERNELS; i++)
        if (module == device.text && !strcmp(name, kernels[i]) && strstr(device.text, name))
            return *function = (void *)(i + 1), 0;
    return NOT_FOUND;
}

API(cuFuncGetAttribute, (int *value, int attribute, void *function)) {
    ENTER(true);
    const char *name = kernels[(uintptr_t)function - 1];
    if (attribute > 1) return INVALID_VALUE;
    *value = attribute == 1 ? (strcmp(name, "shared") ? 0 : 1024) : strcmp(name, "narrow") ? 1024 : 128;
    return 0;
}

API(cuFuncSetAttribute, (void *function, int attribute, int value)) {
    ENTER(true);
    (void)function;
    return attribute == 8 && value > SHARED_OPTIN_B ? INVALID_VALUE : 0;
}

API(cuGetErrorName, (int code, const char **name)) {
    *name = code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
    return 0;
}

API(cuGetErrorString, (int code, const char **text)) {
    *text = code == 100 ? "no CUDA-capable device is detected" : "an error that is played";
    return 0;
}

/* --- NVML --------------------------------------------------------------------------------------------------------- */

API(nvmlInit_v2, (void)) {
    device.nvml = true;
    return 0;
}

API(nvmlShutdown, (void)) {
    device.nvml = false;
    return 0;
}

API(nvmlSystemGetDriverVersion, (char *text, unsigned n)) {
    snprintf(text, n, "580.65.06");
    return device.nvml ? 0 : 1;
}

API(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, void **out)) {
    *out = &device;
    return strcmp(bus, "0000:01:00.0") ? 6 : 0;
}

API(nvmlDeviceGetClockInfo, (void *of, int type, unsigned *mhz)) {
    note(__func__);
    unsigned at = device.clock_reads++;
    bool slow = plays("slow") || (plays("recovers") && at % 3 == 2);
    *mhz = slow ? 990 : 1980;
    return of == &device && type == 1 ? 0 : 2;
}

API(nvmlDeviceGetCurrentClocksEventReasons, (void *of, unsigned long long *bits)) {
    *bits = plays("slow") ? 0x40 : 0;
    return of == &device ? 0 : 2;
}

API(nvmlDeviceGetTotalEnergyConsumption, (void *of, unsigned long long *mj)) {
    *mj = (unsigned long long)device.mj;
    return of == &device && !plays("no_energy") ? 0 : 3;
}
