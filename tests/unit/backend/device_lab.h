/* tests/unit/backend/device_lab.h — kernels for devices, run: OpenCL C by whatever driver is installed (PoCL), CUDA C
 * by the shim; or CUDA C compiled as C++ for this processor, one thread after the other (kernels whose threads do not
 * wait for each other).
 *
 * device_open, device_build once with the text of all kernels, device_launch for each run, device_close.
 */
#ifndef HN_DEVICE_LAB_H
#define HN_DEVICE_LAB_H

#include "backend/backend.h"
#include "backend/gpu/rt/driver_opencl.h"
#include "backend/gpu/rt/driver_shim.h"
#include "base/str.h"
#include "shim/kit.h"
#include "tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What PoCL and its LLVM keep to the end of the process. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void) {
    return "leak:libpocl\nleak:libLLVM\nleak:libOpenCL\n";
}

enum { DEVICE_BUFFERS = 24, DEVICE_BLOCKS = 3, DEVICE_KERNELS = 1200 };

typedef struct device_lab {
    const hn_backend *backend;
    hn_str source;
    char dir[64];
    void *so;                 /* of C++ */
    const hnd_driver *driver; /* else */
    void *device, *queue, *module;
    char why[400]; /* it cannot be opened */
} device_lab;

typedef struct device_job {
    const hn_kernel_code *code;
    const char *name;
    void *buf[DEVICE_BUFFERS];
    size_t size_b[DEVICE_BUFFERS];
    size_t n_buf;
    int64_t *slot; /* [0]: the error slot, then the symbols */
    int64_t begin, end, scratch_b;
} device_job;

/* --- by a driver ----------------------------------------------------------------------------------------------------
 */
static inline bool driver_open(device_lab *l) {
    hnd_err err = {0};
    hone_err why = {0};
    char *folder = NULL;
    if (l->driver == &hnd_shim && hn_shim_folder(&folder, &why)) {
        snprintf(l->why, sizeof l->why, "%.390s", why.text);
        return false;
    }
    free(folder);
    if (l->driver->count(&err) < 1 || l->driver->open(0, &l->device, &err) ||
        l->driver->queue(l->device, &l->queue, &err))
        snprintf(l->why, sizeof l->why, "%s", err.text);
    return l->queue != NULL;
}

static inline bool driver_build(device_lab *l) {
    hnd_err err = {0};
    hnd_source s = {
        .text = l->source.text, .text_b = l->source.n, .options = l->driver == &hnd_opencl ? "-cl-std=CL1.2" : NULL};
    if (!l->driver->load(l->device, &s, &l->module, &err)) return true;
    printf("# %s\n", err.text);
    return false;
}

typedef struct driver_args {
    device_lab *l;
    hnd_at at[DEVICE_BUFFERS + 2];
    hnd_arg arg[2 * DEVICE_BUFFERS];
    uint32_t n_at, n;
    hnd_err err;
} driver_args;

static inline void driver_int(driver_args *a, int64_t x) { a->arg[a->n++] = (hnd_arg){x, 0}; }
static inline void driver_memory(driver_args *a, const void *data, size_t size_b) {
    const hnd_driver *d = a->l->driver;
    hnd_at *at = &a->at[a->n_at++];
    if (!d->alloc(a->l->device, (int64_t)(size_b ? size_b : 1), at, &a->err) && size_b)
        d->put(a->l->device, a->l->queue, *at, data, (int64_t)size_b, &a->err);
    a->arg[a->n++] = (hnd_arg){(int64_t)*at, 1};
}

static inline bool driver_launch(device_lab *l, const device_job *j) {
    const hn_device_code *c = &j->code->device;
    const hnd_driver *d = l->driver;
    size_t room = (size_t)j->scratch_b * DEVICE_BLOCKS * (size_t)(c->block_items ? 1 : c->threads);
    driver_args a = {.l = l};
    hnd_launch launch = {.grid = DEVICE_BLOCKS, .threads = {(uint32_t)c->threads, 1, 1}};
    if (c->cluster) launch.cluster = (uint32_t)c->cluster, launch.grid *= c->cluster;
    launch.shared_b = c->shared_dynamic ? (uint32_t)c->shared_b : 0;
    for (size_t i = 0; i < j->n_buf; i++) driver_memory(&a, j->buf[i], j->size_b[i]);
    for (uint32_t i = 0; i < c->n_symbol; i++) driver_int(&a, j->slot[1 + c->symbol[i]]);
    driver_int(&a, j->begin);
    driver_int(&a, j->end);
    char *noise = malloc(room + 1);
    memset(noise, 0xff, room + 1);
    driver_memory(&a, noise, room);
    driver_memory(&a, j->slot, 8);
    free(noise);
    launch.arg = a.arg;
    launch.n_arg = a.n;
    if (!a.err.rc) d->find(l->device, l->module, j->name, &launch.kernel, &a.err);
    if (!a.err.rc) d->launch(l->device, l->queue, &launch, &a.err);
    if (!a.err.rc) d->sync(l->device, l->queue, &a.err);
    for (size_t i = 0; i < j->n_buf && !a.err.rc; i++)
        if (j->size_b[i]) d->get(l->device, l->queue, j->buf[i], a.at[i], (int64_t)j->size_b[i], &a.err);
    if (!a.err.rc) d->get(l->device, l->queue, j->slot, a.at[j->n_buf + 1], 8, &a.err);
    for (uint32_t i = 0; i < a.n_at; i++) d->free(l->device, a.at[i]);
    if (a.err.rc) printf("# %s: %s\n", j->name, a.err.text);
    return !a.err.rc;
}

/* --- CUDA C as C++ --------------------------------------------------------------------------------------------------
 */
static const char cpp_head[] =
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    "#define __device__\n#define __global__\n#define __shared__ static\n#define __launch_bounds__(n)\n"
    "#define __restrict__\nstruct hn_dim3 { int64_t x; };\nstatic hn_dim3 threadIdx, blockIdx, blockDim, gridDim;\n"
    "static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }\n"
    "static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }\n"
    "static inline void atomicExch(unsigned long long *at, unsigned long long x) { *at = x; }\n"
    "static inline float rsqrt(float x) { return (float)(1 / sqrt((double)x)); }\n"
    "static inline double rsqrt(double x) { return 1 / sqrt(x); }\n";

/* A function that launches the kernel, of one type for all. */
static inline void cpp_entry(hn_str *out, const char *name, const hn_kernel_code *code, size_t n_buf) {
    const hn_device_code *d = &code->device;
    hn_str_addf(out,
                "extern \"C\" void x%s(char **b, const int64_t *s, int64_t begin, int64_t end, char *t, char *f) {\n",
                name);
    hn_str_addf(out, "    gridDim.x = %d;\n    blockDim.x = %d;\n", DEVICE_BLOCKS, d->threads);
    hn_str_add(out, "    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)\n"
                    "        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) ");
    hn_str_addf(out, "%s(", name);
    for (size_t i = 0; i < n_buf; i++) hn_str_addf(out, "b[%zu], ", i);
    for (uint32_t i = 0; i < d->n_symbol; i++) hn_str_addf(out, "s[%u], ", 1 + d->symbol[i]);
    hn_str_add(out, "begin, end, t, f);\n}\n");
}

static inline bool cpp_build(device_lab *l) {
    char path[100], cmd[500];
    const char *tmp = getenv("TMPDIR");
    snprintf(l->dir, sizeof l->dir, "%s/hone-device-XXXXXX", tmp && strlen(tmp) < 30 ? tmp : "/tmp");
    if (!mkdtemp(l->dir)) return false;
    snprintf(path, sizeof path, "%s/k.cpp", l->dir);
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fputs(l->source.text ? l->source.text : "", f);
    fclose(f);
    snprintf(
        cmd, sizeof cmd,
        "c++ -O1 -w -ffp-contract=off -fwrapv -fno-strict-aliasing -shared -fPIC -o %s/k.so %s > %s/cc.txt 2>&1 || "
        "{ head -30 %s/cc.txt | sed 's/^/# /'; exit 1; }",
        l->dir, path, l->dir, l->dir);
    fflush(stdout);
    if (system(cmd)) return false;
    snprintf(path, sizeof path, "%s/k.so", l->dir);
    l->so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return l->so != NULL;
}

static inline bool cpp_launch(device_lab *l, const device_job *j) {
    char name[128];
    snprintf(name, sizeof name, "x%s", j->name);
    void (*run)(void *const *, const int64_t *, int64_t, int64_t, char *, void *) =
        (void (*)(void *const *, const int64_t *, int64_t, int64_t, char *, void *))(uintptr_t)dlsym(l->so, name);
    if (!run) return false;
    const hn_device_code *d = &j->code->device;
    size_t size = (size_t)j->scratch_b * (size_t)(d->block_items ? 1 : d->threads) * DEVICE_BLOCKS;
    char *scratch = aligned_alloc(64, (size + 64) / 64 * 64);
    memset(scratch, 0xff, size);
    run(j->buf, j->slot, j->begin, j->end, scratch, j->slot);
    free(scratch);
    return true;
}

/* --- both -----------------------------------------------------------------------------------------------------------
 */
/* driver NULL: CUDA C as C++. False: it cannot run here, l->why. */
static inline bool device_open(device_lab *l, const hn_backend *b, const hnd_driver *driver) {
    *l = (device_lab){.backend = b, .driver = driver};
    return !driver || driver_open(l);
}
static inline bool device_build(device_lab *l, const char *helpers, const hn_str *kernels) {
    hn_str rt = {0};
    if (!l->driver) hn_str_add(&l->source, cpp_head);
    bool good = l->backend->add_runtime(&rt, helpers);
    hn_str_add(&l->source, rt.text ? rt.text : "");
    hn_str_add(&l->source, kernels->text ? kernels->text : "");
    hn_str_free(&rt);
    const char *keep = getenv("HONE_KEEP");
    char path[300];
    snprintf(path, sizeof path, "%s/%s.text", keep ? keep : "", l->backend->name);
    FILE *f = keep ? fopen(path, "w") : NULL;
    if (f) fputs(l->source.text, f), fclose(f);
    return good && (l->driver ? driver_build(l) : cpp_build(l));
}
static inline bool device_launch(device_lab *l, const device_job *j) {
    return l->driver ? driver_launch(l, j) : cpp_launch(l, j);
}
static inline void device_close(device_lab *l) {
    char cmd[100];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", l->dir);
    if (l->dir[0] && system(cmd)) printf("# %s stays\n", l->dir);
    if (l->so) dlclose(l->so);
    if (l->queue) l->driver->drop_queue(l->device, l->queue);
    if (l->driver) l->driver->close(l->device);
    hn_str_free(&l->source);
}

#endif
