/* tests/unit/backend/device_lab.h — kernels for devices, run: OpenCL C by whatever driver is installed (PoCL), CUDA C
 * compiled as C++ for this processor, one thread after the other (kernels whose threads do not wait for each other).
 *
 * device_open, device_build once with the text of all kernels, device_launch for each run, device_close.
 */
#ifndef HN_DEVICE_LAB_H
#define HN_DEVICE_LAB_H

#include "backend/backend.h"
#include "base/str.h"
#include "tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICE_BUFFERS = 24, DEVICE_BLOCKS = 3, DEVICE_KERNELS = 1200 };

typedef struct device_lab {
    const hn_backend *backend;
    hn_str source;
    char dir[64];
    void *so;                                      /* of C++ */
    void *cl, *context, *queue, *device, *program; /* of OpenCL */
    const char *why;                               /* it cannot be opened */
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

/* --- OpenCL ---------------------------------------------------------------------------------------------------------
 */
#define CL(l, type, name) ((type)(uintptr_t)dlsym((l)->cl, name))

static inline bool cl_open(device_lab *l) {
    void *platform = NULL;
    int code = 0;
    l->cl = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!l->cl) return l->why = "libOpenCL.so.1 is not installed", false;
    if (CL(l, int (*)(unsigned, void **, unsigned *), "clGetPlatformIDs")(1, &platform, NULL) ||
        CL(l, int (*)(void *, uint64_t, unsigned, void **, unsigned *), "clGetDeviceIDs")(platform, 0xffffffff, 1,
                                                                                          &l->device, NULL))
        return l->why = "no OpenCL driver is installed", false;
    l->context = CL(l, void *(*)(const intptr_t *, unsigned, void *const *, void *, void *, int *),
                    "clCreateContext")(NULL, 1, &l->device, NULL, NULL, &code);
    if (l->context)
        l->queue =
            CL(l, void *(*)(void *, void *, uint64_t, int *), "clCreateCommandQueue")(l->context, l->device, 0, &code);
    if (!l->queue) l->why = "the OpenCL driver gives no queue";
    return l->queue != NULL;
}

static inline bool cl_build(device_lab *l, const char *options) {
    const char *text = l->source.text;
    int code;
    l->program = CL(l, void *(*)(void *, unsigned, const char **, const size_t *, int *),
                    "clCreateProgramWithSource")(l->context, 1, &text, NULL, &code);
    code = CL(l, int (*)(void *, unsigned, void *const *, const char *, void *, void *),
              "clBuildProgram")(l->program, 1, &l->device, options, NULL, NULL);
    if (!code) return true;
    char *log = calloc(1, 1 << 16);
    CL(l, int (*)(void *, void *, unsigned, size_t, void *, size_t *), "clGetProgramBuildInfo")
    (l->program, l->device, 0x1183, 65535, log, NULL);
    printf("# OpenCL error %d\n# %.6000s\n", code, log);
    free(log);
    return false;
}

typedef struct cl_args {
    device_lab *l;
    void *kernel, *mem[DEVICE_BUFFERS + 2];
    unsigned n, n_mem;
    bool good;
} cl_args;

static inline void cl_arg(cl_args *a, const void *value, size_t size) {
    a->good &=
        !CL(a->l, int (*)(void *, unsigned, size_t, const void *), "clSetKernelArg")(a->kernel, a->n++, size, value);
}
/* Memory behind a gap that the offset leaps. */
static inline void cl_memory(cl_args *a, const void *data, size_t size_b) {
    int code;
    int64_t gap = 64;
    void *m = CL(a->l, void *(*)(void *, uint64_t, size_t, void *, int *),
                 "clCreateBuffer")(a->l->context, 1, size_b + 64 + (size_t)gap, NULL, &code);
    a->mem[a->n_mem++] = m;
    a->good &= m != NULL;
    if (size_b && a->good)
        a->good &= !CL(a->l, int (*)(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *, void *),
                       "clEnqueueWriteBuffer")(a->l->queue, m, 1, (size_t)gap, size_b, data, 0, NULL, NULL);
    cl_arg(a, &m, sizeof m);
    cl_arg(a, &gap, sizeof gap);
}
static inline void cl_get(cl_args *a, unsigned i, void *to, size_t size_b) {
    if (size_b && a->good)
        a->good &= !CL(a->l, int (*)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *),
                       "clEnqueueReadBuffer")(a->l->queue, a->mem[i], 1, 64, size_b, to, 0, NULL, NULL);
}

static inline bool cl_launch(device_lab *l, const device_job *j) {
    const hn_device_code *d = &j->code->device;
    size_t threads = (size_t)d->threads, all = threads * DEVICE_BLOCKS;
    size_t slots = d->block_items ? DEVICE_BLOCKS : all;
    int code;
    cl_args a = {.l = l, .good = true};
    a.kernel = CL(l, void *(*)(void *, const char *, int *), "clCreateKernel")(l->program, j->name, &code);
    if (!a.kernel) return printf("# no kernel %s: %d\n", j->name, code), false;
    for (size_t i = 0; i < j->n_buf; i++) cl_memory(&a, j->buf[i], j->size_b[i]);
    for (uint32_t i = 0; i < d->n_symbol; i++) cl_arg(&a, &j->slot[1 + d->symbol[i]], 8);
    cl_arg(&a, &j->begin, 8);
    cl_arg(&a, &j->end, 8);
    char *noise = malloc((size_t)j->scratch_b * slots + 1);
    memset(noise, 0xff, (size_t)j->scratch_b * slots + 1);
    cl_memory(&a, noise, (size_t)j->scratch_b * slots);
    cl_memory(&a, j->slot, 8);
    free(noise);
    code = CL(
        l, int (*)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *),
        "clEnqueueNDRangeKernel")(l->queue, a.kernel, 1, NULL, &all, &threads, 0, NULL, NULL);
    a.good &= !code;
    for (unsigned i = 0; i < j->n_buf; i++) cl_get(&a, i, j->buf[i], j->size_b[i]);
    cl_get(&a, (unsigned)j->n_buf + 1, j->slot, 8);
    for (unsigned i = 0; i < a.n_mem; i++) CL(l, int (*)(void *), "clReleaseMemObject")(a.mem[i]);
    CL(l, int (*)(void *), "clReleaseKernel")(a.kernel);
    if (code) printf("# %s: OpenCL error %d\n", j->name, code);
    return a.good;
}

/* --- CUDA C as C++ --------------------------------------------------------------------------------------------------
 */
static const char cpp_head[] =
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    "#define __device__\n#define __global__\n#define __shared__ static\n#define __launch_bounds__(n)\n"
    "#define __restrict__\nstruct hn_dim3 { int64_t x; };\nstatic hn_dim3 threadIdx, blockIdx, blockDim, gridDim;\n"
    "static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }\n"
    "static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }\n"
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
/* False: it cannot run here, l->why. */
static inline bool device_open(device_lab *l, const hn_backend *b) {
    *l = (device_lab){.backend = b};
    return strcmp(b->name, "opencl") != 0 || cl_open(l);
}
static inline bool device_build(device_lab *l, const char *helpers, const hn_str *kernels) {
    bool cl = l->cl != NULL;
    hn_str rt = {0};
    if (!cl) hn_str_add(&l->source, cpp_head);
    bool good = l->backend->add_runtime(&rt, helpers);
    hn_str_add(&l->source, rt.text ? rt.text : "");
    hn_str_add(&l->source, kernels->text ? kernels->text : "");
    hn_str_free(&rt);
    const char *keep = getenv("HONE_KEEP");
    char path[300];
    snprintf(path, sizeof path, "%s/device.%s", keep ? keep : "", cl ? "cl" : "cu");
    FILE *f = keep ? fopen(path, "w") : NULL;
    if (f) fputs(l->source.text, f), fclose(f);
    return good && (cl ? cl_build(l, "-cl-std=CL1.2") : cpp_build(l));
}
static inline bool device_launch(device_lab *l, const device_job *j) {
    return l->cl ? cl_launch(l, j) : cpp_launch(l, j);
}
static inline void device_close(device_lab *l) {
    char cmd[100];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", l->dir);
    if (l->dir[0] && system(cmd)) printf("# %s stays\n", l->dir);
    if (l->so) dlclose(l->so);
    hn_str_free(&l->source);
}

#endif
